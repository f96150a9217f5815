// SPDX-License-Identifier: BSD-3-Clause
// A list that is short as a rule: up to `inline_size` items need no allocation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace cai::order {

template <class Item, std::size_t inline_size = 16>
class Few {
 public:
  // Not {}: what is not yet in use need not be zero.
  Few() {}  // NOLINT(modernize-use-equals-default)
  Few(const Few &) = delete;
  Few &operator=(const Few &) = delete;

  void add(Item item) {
    if (many_.empty() && size_ < inline_size) {
      few_[size_] = std::move(item);
    } else {
      if (many_.empty()) many_.assign(few_, few_ + size_);
      many_.push_back(std::move(item));
    }
    ++size_;
  }

  // Adds an item unless `same` is true for one that is there.
  template <class Same>
  void add_unless(Item item, Same &&same) {
    if (std::none_of(begin(), end(), same)) add(std::move(item));
  }

  template <class Condition>
  void remove_if(Condition &&condition) {
    Item *kept = begin();
    for (Item &item : *this) {
      if (condition(item)) continue;
      if (kept != &item) *kept = std::move(item);
      ++kept;
    }
    size_ = static_cast<std::size_t>(kept - begin());
    if (!many_.empty()) many_.resize(size_);
  }

  Item *begin() noexcept { return many_.empty() ? few_ : many_.data(); }
  Item *end() noexcept { return begin() + size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }

 private:
  std::size_t size_ = 0;
  Item few_[inline_size];
  std::vector<Item> many_;  // holds all the items once they are more than fit
};

}  // namespace cai::order
