// SPDX-License-Identifier: BSD-3-Clause
// What a cai_use holds between the beginning of a use and its end. All that the driver or a
// provider was asked about an array at the beginning is here, so the end asks for no array again.
#pragma once

#include <cstdlib>
#include <type_traits>

#include "order/options.hpp"
#include "order/stream.hpp"

namespace cai::order {

// An array, or a mask, that the end has something to do with.
struct Used {
  cai_owner *owner;           // null: borrowed
  std::uint64_t own;          // the stream that it came with; 0: none that could wait
  driver::CUcontext context;  // of `own`, if that is 1 or 2
  std::int32_t index;         // of the array
  bool write;
  bool is_mask;
  bool is_handed_back;  // `own` waits at the end

  Stream stream() const noexcept { return {own, context, index}; }
};

struct OpenUse {
  static constexpr std::int32_t few = 8;
  static constexpr std::uint64_t not_asked = ~std::uint64_t{0};

  std::uint64_t stream;       // the consumer's; 0: not open
  driver::CUcontext context;  // of that, as far as it is known
  std::uint64_t capture;      // the id of the one that it was in at the beginning; 0: none;
                              // not_asked: the beginning needed no order, and so no driver
  std::uint64_t thread;       // if the stream or an array's is 2, whose; else 0
  std::uint64_t fork;         // the stream whose capture this one was taken into; 0: none
  driver::CUcontext fork_context;
  Used *many;  // beyond a few; null
  std::int32_t count;
  std::uint32_t flags;  // CAI_USE_*
  bool is_on_host;      // CAI_ORDER_HOST
  Used used[few];

  Used *begin() noexcept { return many ? many : used; }
  Used *end() noexcept { return begin() + count; }
  const Used *begin() const noexcept { return many ? many : used; }
  const Used *end() const noexcept { return begin() + count; }

  void open(std::uint64_t consumer, std::int32_t used_count) noexcept {
    stream = consumer;
    context = nullptr;
    capture = not_asked;
    thread = 0;
    fork = 0;
    many = nullptr;
    count = used_count;
    flags = 0;
    is_on_host = false;
  }
  // Value 0: from none.
  void fork_from(const Stream &from) noexcept {
    fork = from.value;
    fork_context = from.context;
    if (fork == driver::stream_per_thread) thread = this_thread();
  }
  void clear() noexcept {
    stream = 0;
    fork = 0;
    many = nullptr;
    count = 0;
  }
  void close() noexcept {
    if (many) std::free(many);
    clear();
  }

  static OpenUse &of(cai_use *use) noexcept { return *reinterpret_cast<OpenUse *>(use); }
};

static_assert(sizeof(OpenUse) <= sizeof(cai_use) && alignof(OpenUse) <= alignof(cai_use));
static_assert(std::is_trivially_copyable_v<OpenUse> &&
              std::is_trivially_default_constructible_v<OpenUse>);

// cai_use_begin(), for a function that takes no CAI_USE_* from its caller: a failure advises none.
// `flags`: tells_stream, or 0.
cai_status begin_use(cai_use *use, const cai_array *const *arrays, int32_t count,
                     std::uint64_t stream, const cai_use_options &options, cai_error *error,
                     std::uint32_t flags = 0) noexcept;

}  // namespace cai::order
