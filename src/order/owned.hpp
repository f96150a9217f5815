// SPDX-License-Identifier: BSD-3-Clause
// Blocks: an owner, an array, and all that the array points to, in one allocation.
#pragma once

#include <atomic>
#include <cstdint>

#include "cai.h"
#include "core/sizes.hpp"

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

// Others may look while one is set.
inline std::atomic_ref<uint32_t> flags_of(const cai_owner &owner) noexcept {
  return std::atomic_ref<uint32_t>(const_cast<cai_owner &>(owner).flags);
}
inline bool has_flag(const cai_owner *owner, uint32_t flag) noexcept {
  return flags_of(*owner).load(std::memory_order_relaxed) & flag;
}

// Says that an owner, which keeps no uses as yet, is of memory that others may import, too, and of
// whose order of freeing is not known.
inline void mark_import(cai_owner &owner) noexcept {
  owner.flags |= CAI_OWNER_IMPORTED;
  owner.freed_on = UINT64_MAX;
}

// Shape and strides of a view, and the address of its first element.
struct Dims {
  uint64_t data = 0;
  int32_t ndim = 0;
  int64_t shape[CAI_MAX_NDIM];
  int64_t strides[CAI_MAX_NDIM];
};

// cai_array_own() of an array that is known to be valid.
cai_status own_valid(const cai_array &valid, void (*release)(void *context), void *context,
                     cai_array **out, cai_error *error) noexcept;

// What a view's end does, in the place of letting go of what the view was made of.
struct Hold {
  void (*release)(void *context);
  void *context;
};

// Makes a block for a view of `array`, which is valid and owned: all but the dims, those of its
// mask if it has one, and `more_flags` is as in the array. It holds the root of the array's owner,
// or, with a `hold`, what that one does. NULL if memory is short; then nothing is held.
cai_array *new_view(const cai_array &array, const Dims &dims, const Dims &mask, uint32_t more_flags,
                    const Hold *hold = nullptr) noexcept;

// What a view of something in this owner's block must hold. A view of a view holds what that one
// holds, so that a chain of views is never longer than one, and its end never deeper; but for one
// with a Hold of its own, which is held itself.
cai_owner *root_of(cai_owner *owner) noexcept;

// The context of the block's Hold, or of the one that the view's root has, if its release is this
// one; else NULL.
void *context_of(cai_owner *owner, void (*release)(void *context)) noexcept;

// Shape, strides and address as they are.
Dims dims_of(const cai_array &array) noexcept;

// Whether this is the very array in a block of this library: valid, since it must not be changed.
inline bool is_own_array(const cai_array &array) noexcept {
  return array.owner && is_ours(array.owner) &&
         &array == &reinterpret_cast<const Block *>(array.owner)->array;
}

// The owner that keeps the uses of an array's memory: the array's own, or what that one holds. NULL
// if the array is borrowed, or the owner is too short to say.
inline cai_owner *keeper_of(cai_owner *owner) noexcept {
  if (is_whole(owner) && owner->keeper) owner = owner->keeper;
  return is_whole(owner) ? owner : nullptr;
}
inline cai_owner *keeper_of(const cai_array &array) noexcept {
  return keeper_of(array.owner);
}

// Whether memory was freed while references remain: by the flag of its own keeper, or of the keeper
// of the array that it was found by.
inline bool is_freed(const cai_owner &keeper) noexcept {
  return has_flag(&keeper, CAI_OWNER_FREED) ||
         (keeper.keeper && has_flag(keeper.keeper, CAI_OWNER_FREED));
}
inline bool is_freed(const cai_array &array) noexcept {
  const cai_owner *const keeper = keeper_of(array);
  return keeper && is_freed(*keeper);
}
// CAI_ERR_STATE if so.
cai_status validate_not_freed(const cai_array &array, cai_error *error) noexcept;

// The mask of an array that has one, as an array of the same owner, whom a mask need not name.
inline cai_array mask_of(const cai_array &array) noexcept {
  cai_array mask = *array.mask;
  mask.owner = array.owner;
  return mask;
}

// Whether the keeper leaves some uses to another one: its memory is a foreign array's.
inline bool leaves_to_another(const cai_owner *keeper) noexcept {
  return keeper && keeper->keeper;
}

// The owner that keeps the host's own work on an array: memory of a foreign array leaves that to
// the keeper of the array's uses.
inline cai_owner *host_keeper_of(cai_owner *owner) noexcept {
  return keeper_of(keeper_of(owner));
}

// cai_this_thread(), and what the kernel calls a thread, for messages.
uint64_t this_thread() noexcept;
constexpr uint64_t kernel_id(uint64_t thread) noexcept {
  return thread & ((uint64_t{1} << 22) - 1);
}

// Whether the array's stream is a thread's own.
inline bool is_of_thread(const cai_array &array) noexcept {
  constexpr uint64_t per_thread_stream = 2;
  return array.stream_kind == CAI_STREAM_STREAM && array.stream == per_thread_stream;
}

// The owner's word on whose stream 2 its arrays came with: that of the first one who says it.
inline std::atomic_ref<uint64_t> thread_said_by(const cai_owner *owner) noexcept {
  return std::atomic_ref<uint64_t>(const_cast<cai_owner *>(owner)->thread);
}

// Whether the array came with another thread's stream 2, which cannot be named on this thread.
inline bool is_of_another_thread(const cai_array &array) noexcept {
  if (!is_of_thread(array)) return false;
  const cai_owner *const keeper = keeper_of(array);
  if (!keeper) return false;
  const uint64_t thread = thread_said_by(keeper).load(std::memory_order_relaxed);
  return thread && thread != this_thread();
}

}  // namespace cai
