// SPDX-License-Identifier: BSD-3-Clause
// What the structs of arrays show at once: whether they may be used, and whether a use needs any
// order. Most uses do not, and then no driver is called. So all of this is inline.
#pragma once

#include "core/layout.hpp"
#include "driver/types.hpp"
#include "order/by_address.hpp"
#include "order/options.hpp"
#include "order/owned.hpp"
#include "order/uses.hpp"

namespace cai::order {

[[noreturn, gnu::cold]] void fail_device(const cai_array &array, int32_t index);
[[noreturn, gnu::cold]] void fail_null(int32_t index);
[[noreturn, gnu::cold]] void fail_freed(const cai_array &array, int32_t index);
// Validates an array that is not in a block of this library.
void require_valid_stranger(const cai_array &array, int32_t index);

inline bool is_cudas(const cai_array &array) noexcept {
  switch (array.device_type) {
    case CAI_DEVICE_CPU:
    case CAI_DEVICE_CUDA:
    case CAI_DEVICE_CUDA_HOST:
    case CAI_DEVICE_CUDA_MANAGED:
      return true;
    default:
      return false;
  }
}

// Validates an array and its mask; `index` is its position in the call, or -1.
inline void require_valid(const cai_array *array, int32_t index) {
  if (!array) fail_null(index);
  if (!is_own_array(*array)) require_valid_stranger(*array, index);
  if (!is_cudas(*array)) fail_device(*array, index);
  if (array->mask && !is_cudas(*array->mask)) fail_device(*array->mask, index);
}

// For calls that begin with an array. Calls that end a use, or only wait, accept freed memory.
inline void require_not_freed(const cai_array &array, int32_t index) {
  if (is_freed(array)) fail_freed(array, index);
}

[[noreturn, gnu::cold]] void fail_list(int32_t count);

inline void require_all_valid(const cai_array *const *arrays, int32_t count,
                              const Options &options) {
  if (count < 0 || (count > 0 && !arrays)) fail_list(count);
  for (int32_t index = 0; index < count; ++index) {
    require_valid(arrays[index], index);
    require_not_freed(*arrays[index], index);
    if (options.accesses)
      for_array(index, [&] { require_access(options.accesses[index], "an access"); });
    static_cast<void>(writes(*arrays[index], options.access_of(index), index));  // or rejects it
  }
}

// Whether an array, or a mask, can have pending work on a GPU at all.
inline bool may_be_pending(const cai_array &array) noexcept {
  return array.device_type != CAI_DEVICE_CPU && !has_no_elements(array);
}

// Whether the host may use the array's memory, too: the dict of a GPU's memory does not say.
inline bool may_be_of_host(const cai_array &array, const cai_owner *keeper) noexcept {
  return array.device_type != CAI_DEVICE_CUDA || is_import(keeper);
}

// Whether CPU streams may still have work on the array's memory.
inline bool may_have_host_work(const cai_array &array) noexcept {
  const cai_owner *const keeper = host_keeper_of(array.owner);
  if (any_on_host() && may_be_of_host(array, keeper)) return true;
  if (array.device_type == CAI_DEVICE_CPU && stores_by_itself(keeper)) return true;
  const Uses *const uses = keeps_here(keeper) ? uses_of(keeper) : nullptr;
  return uses && uses->host.any();
}

// Whether the array states that there is nothing to wait for, and libcai trusts that.
inline bool states_none(const cai_array &array) {
  return array.stream_kind == CAI_STREAM_NONE && !Environment::get().distrust_none;
}

// Whether the array certainly came with this stream: 1 and 2 have more than one meaning.
inline bool is_on(const cai_array &array, std::uint64_t stream) noexcept {
  return array.stream == stream && array.stream_kind == CAI_STREAM_STREAM &&
         stream > driver::stream_per_thread;
}

template <class Condition>
bool of_both(const cai_array &array, Condition &&holds) {
  return holds(array) && (!array.mask || holds(*array.mask));
}

template <class Condition>
bool of_either(const cai_array &array, Condition &&holds) {
  return holds(array) || (array.mask && holds(*array.mask));
}

// A mask has memory and a stream of its own. What is done for an array is done for its mask, too.
template <class Body>
void for_each_part(const cai_array &array, Body &&body) {
  body(array);
  if (array.mask) body(*array.mask);
}

// Whether a use of the array on `stream` (0: by the host) needs no order with a GPU, before or
// after. The extents are checked last: that takes longest.
inline bool nothing_on_gpu_before(const cai_array &array, std::uint64_t stream) {
  return of_both(array, [&](const cai_array &part) {
    if (part.device_type == CAI_DEVICE_CPU) return true;
    const cai_owner *const keeper = keeper_of(part);
    const bool on = is_on(part, stream);
    if ((on || states_none(part)) && !may_have_kept(keeper, on ? stream : 0) &&
        !(is_import(keeper) && any_imports()) && !any_captured(part)) {
      return true;
    }
    return has_no_elements(part);
  });
}

// An array and its mask have one owner. If it is asked about the GPU, the answer holds for all
// uses.
inline bool nothing_before(const cai_array &array, std::uint64_t stream) {
  if (may_have_host_work(array)) return false;
  return nothing_on_gpu_before(array, stream);
}

// Whether an array is this library's own, and so valid, and its struct alone says the rest. Its
// keeper must not say that it was freed.
inline bool is_plain(const cai_array *array) noexcept {
  return array && is_own_array(*array) && !array->mask && is_cudas(*array);
}

// Whether neither a GPU nor the host can have work on a plain array, so that no use is kept.
inline bool is_out_of_sight(const cai_array &array) noexcept {
  return array.device_type == CAI_DEVICE_CPU ? !may_have_host_work(array) : has_no_elements(array);
}

// Whether a plain array came with the stream, a handle, and a use there needs no order until it
// ends: the commonest case. Its keeper usually stores only a word.
inline bool is_in_order(const cai_array &array, const cai_owner *keeper,
                        std::uint64_t stream) noexcept {
  if (!is_on(array, stream) || !stores_here(keeper)) return false;
  if (is_import(keeper) && (is_asked(keeper) || any_imports())) return false;
  if (any_on_host() && may_be_of_host(array, keeper)) return false;
  if (any_captured(array) || has_flag(keeper, CAI_OWNER_STREAMS_DIFFER)) return false;
  const std::uintptr_t word = word_of(keeper);
  if (is_word(word)) return told_in(word) == 0 || told_in(word) == stream;
  return !has_kept(word, stream) && !streams_differ(word);
}

inline bool nothing_before(const cai_array *const *arrays, int32_t count, std::uint64_t stream) {
  for (int32_t index = 0; index < count; ++index) {
    if (!nothing_before(*arrays[index], stream)) return false;
  }
  return true;
}

}  // namespace cai::order
