// SPDX-License-Identifier: BSD-3-Clause
// A list that is usually short: up to `inline_size` items need no allocation, and an empty list
// costs almost nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace cai {

template <class Item, std::size_t inline_size = 16>
class Few {
 public:
  Few() noexcept {}  // NOLINT(modernize-use-equals-default): an item's lifetime begins in add()
  Few(const Few &) = delete;
  Few &operator=(const Few &) = delete;
  ~Few() {
    std::destroy(begin(), end());
    if (items_ != few_) std::allocator<Item>().deallocate(items_, capacity_);
  }

  void add(Item item) {
    if (size_ == capacity_) grow();
    std::construct_at(items_ + size_, std::move(item));
    ++size_;
  }

  // Adds an item unless `same` returns true for an existing one. Returns whether it was added.
  template <class Same>
  bool add_unless(Item item, Same &&same) {
    for (const Item &other : *this) {
      if (same(other)) return false;
    }
    add(std::move(item));
    return true;
  }

  template <class Condition>
  void remove_if(Condition &&condition) {
    Item *const kept = std::remove_if(begin(), end(), condition);
    std::destroy(kept, end());
    size_ = static_cast<std::size_t>(kept - items_);
  }

  Item *begin() noexcept { return items_; }
  Item *end() noexcept { return items_ + size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }

 private:
  static_assert(std::is_nothrow_move_constructible_v<Item>);

  [[gnu::cold, gnu::noinline]] void grow() {
    std::allocator<Item> memory;
    Item *const more = memory.allocate(2 * capacity_);
    std::uninitialized_move(begin(), end(), more);
    std::destroy(begin(), end());
    if (items_ != few_) memory.deallocate(items_, capacity_);
    items_ = more;
    capacity_ *= 2;
  }

  union {
    Item few_[inline_size];
  };
  Item *items_ = few_;
  std::size_t size_ = 0;
  std::size_t capacity_ = inline_size;
};

}  // namespace cai
