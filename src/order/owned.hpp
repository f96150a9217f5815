// SPDX-License-Identifier: BSD-3-Clause
// Blocks: an owner, an array, and all that the array points to, in one allocation.
#pragma once

#include <atomic>
#include <cstdint>

#include "cai.h"
#include "core/sizes.hpp"

namespace cai {

// What the array points to follows.
struct Block {
  cai_owner owner;  // first: a pointer to it is a pointer to the block
  std::atomic<uint64_t> holders;
  void (*release)(void *context);
  void *context;
  cai_array array;
};

// A block's cai_owner.release, which identifies it: blocks of another copy of libcai have another
// one, and belong to that copy.
void release_block(cai_owner *owner);

inline bool is_ours(const cai_owner *owner) noexcept {
  return owner->release == release_block;
}

// An owner that keeps its uses here, and has none yet.
inline cai_owner keeping_owner(void (*retain)(cai_owner *self),
                               void (*release)(cai_owner *self)) noexcept {
  return {.struct_size = sizeof(cai_owner),
          .flags = 0,
          .retain = retain,
          .release = release,
          .used_on = cai_owner_used_on,
          .await_uses = cai_owner_await_uses,
          .uses = nullptr,
          .thread = 0,
          .keeper = nullptr,
          .freed_on = 0};
}

// Other threads may read while one is set.
inline std::atomic_ref<uint32_t> flags_of(const cai_owner &owner) noexcept {
  return std::atomic_ref<uint32_t>(const_cast<cai_owner &>(owner).flags);
}
inline bool has_flag(const cai_owner *owner, uint32_t flag) noexcept {
  return flags_of(*owner).load(std::memory_order_relaxed) & flag;
}

// Marks an owner that keeps no uses yet: its memory may be imported by others, too, and the order
// in which it is freed is unknown.
inline void mark_import(cai_owner &owner) noexcept {
  owner.flags |= CAI_OWNER_IMPORTED;
  owner.freed_on = UINT64_MAX;
}

// The shape and strides of a view, and the address of its first element.
struct Dims {
  uint64_t data = 0;
  int32_t ndim = 0;
  int64_t shape[CAI_MAX_NDIM];
  int64_t strides[CAI_MAX_NDIM];
};

// cai_array_own() of an array that is known to be valid.
cai_status own_valid(const cai_array &valid, void (*release)(void *context), void *context,
                     cai_array **out, cai_error *error) noexcept;

// What the end of a view calls instead of releasing what the view was made from.
struct Hold {
  void (*release)(void *context);
  void *context;
};

// Makes a block for a view of `array`, which must be valid and owned. The view has the given dims,
// those of its mask if it has one, and `more_flags`; the rest is as in the array. It holds the root
// of the array's owner or, if `hold` is given, its context. NULL if there is not enough memory;
// then it holds nothing.
cai_array *new_view(const cai_array &array, const Dims &dims, const Dims &mask, uint32_t more_flags,
                    const Hold *hold = nullptr) noexcept;

// The owner that a view of something in this owner's block must hold. A view of a view holds what
// the inner view holds, so that a chain of views is never longer than one and its end never
// recurses. An inner view with its own Hold is held itself.
cai_owner *root_of(cai_owner *owner) noexcept;

// The context of the block's Hold, or of the Hold of the view's root, if its release is `release`;
// else NULL.
void *context_of(cai_owner *owner, void (*release)(void *context)) noexcept;

// The array's shape, strides and address.
Dims dims_of(const cai_array &array) noexcept;

// Whether this is the array in a block of this library: then it is valid, as nobody may change it.
inline bool is_own_array(const cai_array &array) noexcept {
  return array.owner && is_ours(array.owner) &&
         &array == &reinterpret_cast<const Block *>(array.owner)->array;
}

// The owner that keeps the uses of an array's memory: the array's own, or the one that it names.
// NULL if the array is borrowed, or the owner is too short to name one.
inline cai_owner *keeper_of(cai_owner *owner) noexcept {
  if (is_whole(owner) && owner->keeper) owner = owner->keeper;
  return is_whole(owner) ? owner : nullptr;
}
inline cai_owner *keeper_of(const cai_array &array) noexcept {
  return keeper_of(array.owner);
}

// Whether memory was freed while it still had references: by the flag of its own keeper, or of the
// keeper of the array from which it was looked up.
inline bool is_freed(const cai_owner &keeper) noexcept {
  return has_flag(&keeper, CAI_OWNER_FREED) ||
         (keeper.keeper && has_flag(keeper.keeper, CAI_OWNER_FREED));
}
inline bool is_freed(const cai_array &array) noexcept {
  const cai_owner *const keeper = keeper_of(array);
  return keeper && is_freed(*keeper);
}
// Returns CAI_ERR_STATE if so.
cai_status validate_not_freed(const cai_array &array, cai_error *error) noexcept;

// The mask of an array as an array of the same owner, which the mask itself need not name.
inline cai_array mask_of(const cai_array &array) noexcept {
  cai_array mask = *array.mask;
  mask.owner = array.owner;
  return mask;
}

// The owner that keeps the host's work on an array. Memory of a foreign array leaves that to the
// keeper of the array's uses.
inline cai_owner *host_keeper_of(cai_owner *owner) noexcept {
  return keeper_of(keeper_of(owner));
}

// cai_this_thread(), and the kernel's id of a thread, for messages.
uint64_t this_thread() noexcept;
constexpr uint64_t kernel_id(uint64_t thread) noexcept {
  return thread & ((uint64_t{1} << 22) - 1);
}

// Whether the array's stream is a thread's default stream (2).
inline bool is_of_thread(const cai_array &array) noexcept {
  constexpr uint64_t per_thread_stream = 2;
  return array.stream_kind == CAI_STREAM_STREAM && array.stream == per_thread_stream;
}

// The owner's record of whose stream 2 its arrays came with: the first thread that set it.
inline std::atomic_ref<uint64_t> thread_said_by(const cai_owner *owner) noexcept {
  return std::atomic_ref<uint64_t>(const_cast<cai_owner *>(owner)->thread);
}

// Whether the array came with another thread's stream 2, which this thread cannot name.
inline bool is_of_another_thread(const cai_array &array) noexcept {
  if (!is_of_thread(array)) return false;
  const cai_owner *const keeper = keeper_of(array);
  if (!keeper) return false;
  const uint64_t thread = thread_said_by(keeper).load(std::memory_order_relaxed);
  return thread && thread != this_thread();
}

}  // namespace cai
