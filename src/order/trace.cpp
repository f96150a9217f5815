// SPDX-License-Identifier: BSD-3-Clause
#include "order/trace.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <utility>

#include "order/owned.hpp"

namespace cai::order::trace {
namespace {

// A line, cut if it is too long.
class Line {
 public:
  [[gnu::format(printf, 2, 3)]] void add(const char *format, ...) noexcept {
    va_list arguments;
    va_start(arguments, format);
    const int added = std::vsnprintf(text_ + size_, room - size_, format, arguments);
    va_end(arguments);
    // It fails only for wide characters.
    size_ = std::min(size_ + static_cast<std::size_t>(added), room - 1);
  }

  void add(const Side &side) noexcept {
    switch (side.kind) {
      case Side::stream:
        if (side.value == 0) return add("no stream");
        if (side.value == driver::stream_legacy) return add("legacy");
        if (side.value == driver::stream_per_thread) return add("per-thread");
        return add("0x%" PRIx64, side.value);
      case Side::event:
        return add("event 0x%" PRIx64, side.value);
      case Side::owner:
        if (side.value == 0) return add("the owner");
        return add("owner 0x%" PRIx64, side.value);
      case Side::host:
        return add("host");
      case Side::host_work:
        return add("host's work");
      case Side::theirs:
        return add("the arrays' streams");
    }
  }

  // In one write, so that lines of several threads are not mixed.
  void write() noexcept {
    text_[size_++] = '\n';
    while (::write(STDERR_FILENO, text_, size_) < 0 && errno == EINTR) {
    }
    size_ = 0;
  }

 private:
  static constexpr std::size_t room = 400;
  char text_[room + 1];  // and the line's end
  std::size_t size_ = 0;
};

// When a use of an array ends, only its owner is known. Null if the owner is not a block of this
// library.
const cai_array *array_of(OpenUse &use, std::int32_t index) noexcept {
  for (const Used &used : use) {
    if (used.index != index || !used.owner || !is_ours(used.owner)) continue;
    return &reinterpret_cast<const Block *>(used.owner)->array;
  }
  return nullptr;
}

}  // namespace

constinit thread_local Call *Call::innermost = nullptr;

void Call::enter(const Facts &facts) noexcept {
  // Invalid variables are reported by the calls that they concern.
  static_cast<void>(guard(nullptr, [] { static_cast<void>(Environment::get()); }));
  if (!on()) return;
  facts_ = facts;
  facts_.outer = std::exchange(innermost, this);
  is_entered_ = true;
}

void Call::leave() noexcept {
  innermost = facts_.outer;
}

void write(Of of, Side waits, Side before, const char *what) noexcept {
  const int error_before = errno;
  Call::Facts *const call = Call::innermost ? &Call::innermost->facts_ : nullptr;
  Line line;
  const auto begin = [&] {
    line.add("cai: %" PRIu64 " %s: ", kernel_id(this_thread()), call ? call->function : "libcai");
  };
  if (call && !call->has_spoken) {
    call->has_spoken = true;
    begin();
    line.add("called");
    if (call->arrays) line.add(" for %d array%s", call->count, call->count == 1 ? "" : "s");
    if (call->given.kind != Side::host) {
      line.add(" with ");
      line.add(call->given);
    }
    line.write();
  }
  begin();
  if (of.index == all_arrays.index) {
    line.add("all arrays: ");
  } else {
    const cai_array *array = call ? call->array : nullptr;
    const bool is_of_many = of.index >= 0 && call && (call->arrays || call->use);
    if (is_of_many && call->arrays) array = call->arrays[of.index];
    if (is_of_many && call->use) array = array_of(*call->use, of.index);
    const bool is_mask = of.part && array && of.part == array->mask;
    if (of.part) array = of.part;
    if (array || is_of_many) line.add("array");
    if (is_of_many) line.add(" %d", of.index);
    if (is_mask) line.add("'s mask");
    if (array) line.add(" at 0x%" PRIx64, array->data);
    if (array || is_of_many) line.add(": ");
  }
  line.add(waits);
  line.add(" after ");
  line.add(before);
  line.add(": %s", what);
  line.write();
  errno = error_before;
}

}  // namespace cai::order::trace
