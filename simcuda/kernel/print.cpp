// SPDX-License-Identifier: BSD-3-Clause
// Functions that the engine itself provides: printf, assertions, the heap.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "control.h"

namespace simcuda::kernel {
namespace {

constexpr std::size_t longest_text = 1 << 16;

[[noreturn]] void illegal(unsigned lane, std::uint64_t address, const char *what) {
  throw Failed{FaultKind::illegal_address, lane, address, 1, false, Space::generic, what};
}

std::uint64_t argument(const Warp &w, const Call &call, std::size_t n, unsigned lane) {
  std::uint64_t value = 0;
  if (n < call.arguments.size())
    std::memcpy(&value, place_of(w, *w.frame, call.arguments[n], lane),
                std::min<std::size_t>(8, call.arguments[n].size));
  return value;
}

void set_result(const Warp &w, const Call &call, unsigned lane, std::uint64_t value) {
  if (call.results.empty()) return;
  std::memcpy(place_of(w, *w.frame, call.results[0], lane), &value,
              std::min<std::size_t>(8, call.results[0].size));
}

std::string read_text(Warp &w, unsigned lane, std::uint64_t address) {
  std::string text;
  while (text.size() < longest_text) {
    std::uint64_t room;
    const std::byte *bytes = w.worker.memory.reach_one(w, lane, address, room);
    if (!bytes) illegal(lane, address, "A text of printf or assert lies there.");
    const auto *begin = reinterpret_cast<const char *>(bytes);
    const std::size_t size = strnlen(begin, std::min<std::size_t>(room, longest_text));
    text.append(begin, size);
    if (size < room) break;
    address += size;
  }
  return text;
}

// The arguments of one printf, at the alignment of each.
class Arguments {
 public:
  Arguments(Warp &warp, unsigned lane, std::uint64_t address)
      : warp_(warp), lane_(lane), address_(address) {}
  std::uint64_t take(unsigned size) {
    address_ = (address_ + size - 1) / size * size;
    std::uint64_t room, value = 0;
    const std::byte *bytes = warp_.worker.memory.reach_one(warp_, lane_, address_, room);
    if (!bytes || room < size) illegal(lane_, address_, "An argument of printf lies there.");
    std::memcpy(&value, bytes, size);
    address_ += size;
    ++taken_;
    return value;
  }
  std::uint64_t taken() const { return taken_; }

 private:
  Warp &warp_;
  unsigned lane_;
  std::uint64_t address_, taken_ = 0;
};

template <class T>
void append(std::string &out, const std::string &directive, T value) {
  // The directive was parsed and rebuilt, so it fits the value.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
  const std::size_t before = out.size();
  const int size = std::snprintf(nullptr, 0, directive.c_str(), value);
  out.resize(before + static_cast<std::size_t>(size) + 1);
  std::snprintf(out.data() + before, out.size() - before, directive.c_str(), value);
  out.pop_back();
#pragma GCC diagnostic pop
}

// A directive that begins after a '%'; returns its length, 0 if it is invalid.
std::size_t directive(Warp &w, unsigned lane, std::string_view rest, Arguments &arguments,
                      std::string &out) {
  std::string made = "%";
  std::size_t at = 0;
  const auto is = [&](std::string_view set) {
    return at < rest.size() && set.find(rest[at]) != set.npos;
  };
  while (is("-+ #0")) made += rest[at++];
  for (const bool precision : {false, true}) {
    if (precision) {
      if (!is(".")) break;
      made += rest[at++];
    }
    if (is("*")) {
      const auto value = static_cast<std::int32_t>(arguments.take(4));
      ++at;
      if (precision && value < 0)
        made.pop_back();  // counts as none
      else
        made += std::to_string(std::clamp(value, -9999, 9999));
      continue;
    }
    std::string digits;
    while (is("0123456789")) digits += rest[at++];
    made += digits.size() > 4 ? "9999" : digits;
  }
  // An argument of h or hh is passed as one of 32 bits.
  unsigned size = 4, bits = 32;
  while (is("hlLzjtq")) {
    const bool is_short = rest[at++] == 'h';
    size = is_short ? 4 : 8;
    bits = is_short ? std::max(bits / 2, 8u) : 64;
  }
  const unsigned unshown = 64 - bits;
  if (at == rest.size()) return 0;
  const char kind = rest[at++];
  switch (kind) {
    case 'd':
    case 'i':
      append(out, made + "lld", static_cast<long long>(arguments.take(size) << unshown) >> unshown);
      return at;
    case 'u':
    case 'x':
    case 'X':
    case 'o':
      append(out, made + "ll" + kind,
             static_cast<unsigned long long>(arguments.take(size) << unshown) >> unshown);
      return at;
    case 'c':
      append(out, made + 'c', static_cast<int>(arguments.take(4)));
      return at;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
      append(out, made + kind, std::bit_cast<double>(arguments.take(8)));
      return at;
    case 'p':
      append(out, made + 'p', reinterpret_cast<void *>(arguments.take(8)));
      return at;
    case 's': {
      const std::uint64_t address = arguments.take(8);
      const std::string text = address ? read_text(w, lane, address) : "(null)";
      if (made == "%")
        out += text;
      else
        append(out, made + 's', text.c_str());
      return at;
    }
    default:
      return 0;
  }
}

std::string formatted(Warp &w, unsigned lane, std::uint64_t format, Arguments &arguments) {
  const std::string text = read_text(w, lane, format);
  std::string out;
  for (std::size_t at = 0; at < text.size() && out.size() < longest_text; ++at) {
    if (text[at] != '%') {
      out += text[at];
    } else if (at + 1 < text.size() && text[at + 1] == '%') {
      out += '%';
      ++at;
    } else {
      const std::size_t size =
          directive(w, lane, std::string_view(text).substr(at + 1), arguments, out);
      if (!size) out += '%';
      at += size;
    }
  }
  return out;
}

[[noreturn]] void assertion(Warp &w, unsigned lane, const Call &call) {
  const Thread thread = w.thread_of(lane);
  const auto triple = [](const std::uint32_t (&of)[3]) {
    return "[" + std::to_string(of[0]) + "," + std::to_string(of[1]) + "," + std::to_string(of[2]) +
           "]";
  };
  const std::string message = read_text(w, lane, argument(w, call, 0, lane));
  w.worker.launch.environment.print(
      read_text(w, lane, argument(w, call, 1, lane)) + ":" +
      std::to_string(argument(w, call, 2, lane)) + ": " +
      read_text(w, lane, argument(w, call, 3, lane)) + ": block: " + triple(thread.block) +
      ", thread: " + triple(thread.thread) + " Assertion `" + message + "` failed.\n");
  throw Failed{FaultKind::assertion, lane, 0, 0, false, Space::generic, message};
}

}  // namespace

void call_builtin(Warp &w, std::uint32_t mask, const Call &call, const Body &body) {
  Environment &environment = w.worker.launch.environment;
  for (; mask; mask &= mask - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    switch (body.builtin) {
      case Builtin::vprintf: {
        const std::uint64_t format = argument(w, call, 0, lane);
        Arguments arguments(w, lane, argument(w, call, 1, lane));
        if (format) environment.print(formatted(w, lane, format, arguments));
        // Not as in C: how many arguments it has read.
        set_result(w, call, lane, format ? arguments.taken() : ~std::uint64_t{0});
        break;
      }
      case Builtin::assertfail:
        assertion(w, lane, call);
      case Builtin::malloc:
        set_result(w, call, lane, environment.allocate(argument(w, call, 0, lane)));
        break;
      case Builtin::free: {
        const std::uint64_t address = argument(w, call, 0, lane);
        if (address && !environment.free(address))
          throw Failed{FaultKind::invalid_free,
                       lane,
                       address,
                       0,
                       true,
                       Space::generic,
                       "No memory of malloc begins there, or it was freed before."};
        w.worker.memory.forget(address);
        break;
      }
      default:
        throw Failed{FaultKind::invalid_pc,
                     lane,
                     0,
                     0,
                     false,
                     Space::generic,
                     "No module defines the function '" + body.name + "'."};
    }
  }
}

}  // namespace simcuda::kernel
