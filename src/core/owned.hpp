// SPDX-License-Identifier: BSD-3-Clause
// Blocks: an owner, an array, and all that the array points to, in one allocation.
#pragma once

#include <atomic>
#include <cstdint>

#include "cai.h"

namespace cai {

// What is behind it is all that the array points to.
struct Block {
  cai_owner owner;  // first: a pointer to it is a pointer to the block
  std::atomic<uint64_t> holders;
  void (*release)(void *context);
  void *context;
  cai_array array;
};

// A block's cai_owner.release, by which it is known: blocks of another copy of libcai have another
// one, and are left to it.
void release_block(cai_owner *owner);

inline bool is_ours(const cai_owner *owner) noexcept {
  return owner->release == release_block;
}

// Shape and strides of a view, and the address of its first element.
struct Dims {
  uint64_t data = 0;
  int32_t ndim = 0;
  int64_t shape[CAI_MAX_NDIM];
  int64_t strides[CAI_MAX_NDIM];
};

// Makes a block for a view of `array`, which is valid and owned: all but the dims, those of its
// mask if it has one, and `more_flags` is as in the array. NULL if memory is short.
cai_array *new_view(const cai_array &array, const Dims &dims, const Dims &mask,
                    uint32_t more_flags) noexcept;

// Whether this is the very array in a block of this library: valid, since nobody may change it.
inline bool is_own_array(const cai_array &array) noexcept {
  return array.owner && is_ours(array.owner) &&
         &array == &reinterpret_cast<const Block *>(array.owner)->array;
}

// The owner that keeps the uses of an array's memory: the array's own, or what that one holds. NULL
// if the array is borrowed, or the owner is too short to say.
inline cai_owner *keeper_of(const cai_array &array) noexcept {
  cai_owner *owner = array.owner;
  if (owner && owner->struct_size >= sizeof *owner && owner->keeper) owner = owner->keeper;
  return owner && owner->struct_size >= sizeof *owner ? owner : nullptr;
}

// The kernel's id of the calling thread.
uint64_t this_thread() noexcept;

}  // namespace cai
