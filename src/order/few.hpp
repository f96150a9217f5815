// SPDX-License-Identifier: BSD-3-Clause
// A list that is short as a rule: up to 16 items need no allocation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace cai::order {

template <class Item>
class Few {
  static_assert(std::is_trivially_copyable_v<Item>);

 public:
  Few() = default;
  Few(const Few &) = delete;
  Few &operator=(const Few &) = delete;

  void add(const Item &item) {
    if (many_.empty() && size_ < inline_size) {
      few_[size_] = item;
    } else {
      if (many_.empty()) many_.assign(few_, few_ + size_);
      many_.push_back(item);
    }
    ++size_;
  }

  // Adds an item unless `same` is true for one that is there.
  template <class Same>
  void add_unless(const Item &item, Same &&same) {
    if (std::none_of(begin(), end(), same)) add(item);
  }

  template <class Condition>
  void remove_if(Condition &&condition) {
    Item *kept = begin();
    for (Item &item : *this) {
      if (!condition(item)) *kept++ = item;
    }
    size_ = static_cast<std::size_t>(kept - begin());
    if (!many_.empty()) many_.resize(size_);
  }

  Item *begin() noexcept { return many_.empty() ? few_ : many_.data(); }
  Item *end() noexcept { return begin() + size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }

 private:
  static constexpr std::size_t inline_size = 16;

  std::size_t size_ = 0;
  Item few_[inline_size];
  std::vector<Item> many_;  // holds all the items once they are more than fit
};

}  // namespace cai::order
