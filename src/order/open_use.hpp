// SPDX-License-Identifier: BSD-3-Clause
// What a cai_use holds between the beginning and the end of a use. It has all that the driver or a
// provider said about the arrays, so the end needs no arrays.
#pragma once

#include <cstdlib>
#include <type_traits>

#include "order/options.hpp"
#include "order/stream.hpp"

namespace cai::order {

// An array, or a mask, that the end must handle.
struct Used {
  cai_owner *owner;           // null: borrowed
  std::uint64_t own;          // the stream that it came with; 0: none that could wait
  driver::CUcontext context;  // of `own`, if that is 1 or 2
  std::int32_t index;         // of the array
  bool write;
  bool is_mask;
  bool is_handed_back;  // whether `own` waits at the end

  Stream stream() const noexcept { return {own, context, index}; }
};

struct OpenUse {
  static constexpr std::int32_t few = 8;
  static constexpr std::uint64_t not_asked = ~std::uint64_t{0};

  std::uint64_t stream;       // the consumer's; 0: no use is open
  driver::CUcontext context;  // of the stream, if it is known
  std::uint64_t capture;      // the id of its capture at the beginning; 0: none;
                              // not_asked: the beginning needed no order, and so no driver
  std::uint64_t thread;       // whose stream 2 it is, if the stream or an array's is 2; else 0
  std::uint64_t fork;         // the stream whose capture this one has joined; 0: none
  driver::CUcontext fork_context;
  Used *many;  // for more than `few`; else null
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
  // Value 0: the stream has joined no capture.
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

// cai_use_begin() for a function whose caller cannot give CAI_USE_*: a failure does not suggest
// them. `flags`: tells_stream, or 0.
cai_status begin_use(cai_use *use, const cai_array *const *arrays, int32_t count,
                     std::uint64_t stream, const cai_use_options &options, cai_error *error,
                     std::uint32_t flags = 0) noexcept;

}  // namespace cai::order
