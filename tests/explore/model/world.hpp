// SPDX-License-Identifier: BSD-3-Clause
// What CUDA orders, and nothing else: streams of each kind, records, waits, and the items of work
// that touch memory. libcai and its rules are not mentioned here.
#ifndef TESTS_EXPLORE_MODEL_WORLD_HPP
#define TESTS_EXPLORE_MODEL_WORLD_HPP

#include <cstdint>

namespace order_model {

// A set of items of work, a bit for each: a vector clock that is exact. An event is the set of the
// items that its record came after.
using Set = std::uint32_t;

// Two streams of each kind where the second one can matter. thread_1 and thread_2 are "2", as two
// threads say it; other_context is the legacy stream of a second context, "1" there.
enum Stream : std::int8_t {
  kHost = -1,  // for waits: the host waits
  kLegacy,
  kThread1,
  kThread2,
  kBlocking1,
  kBlocking2,
  kNonBlocking1,
  kNonBlocking2,
  kOtherContext,
  kStreams
};

struct StreamKind {
  const char *name;
  int context;
  bool legacy;
  bool blocking;  // a per-thread default stream is a blocking one
};

inline constexpr StreamKind kKinds[kStreams] = {
    {"1", 0, true, false},
    {"2 (of thread 1)", 0, false, true},
    {"2 (of thread 2)", 0, false, true},
    {"blocking B1", 0, false, true},
    {"blocking B2", 0, false, true},
    {"non-blocking N1", 0, false, false},
    {"non-blocking N2", 0, false, false},
    {"1 of another context", 1, true, false},
};

constexpr const char *name_of(Stream stream) {
  return stream == kHost ? "the host" : kKinds[stream].name;
}

// Whether the driver itself orders the two streams: the legacy stream and a blocking one of its
// context.
constexpr bool in_implicit_order(Stream a, Stream b) {
  if (a == kHost || b == kHost || kKinds[a].context != kKinds[b].context) return false;
  return (kKinds[a].legacy && kKinds[b].blocking) || (kKinds[a].blocking && kKinds[b].legacy);
}

struct Bytes {
  std::uint8_t begin = 0;
  std::uint8_t end = 0;
};

constexpr bool overlap(Bytes a, Bytes b) {
  return a.begin < b.end && b.begin < a.end;
}

inline constexpr int kMaxItems = 12;

struct Item {
  Set before = 0;  // all that is ordered before it
  Bytes bytes;
  bool writes = false;
  std::int8_t party = 0;
  Stream stream = kHost;
};

struct World {
  Set tail[kStreams] = {};  // what later work on each stream comes after
  Set host = 0;             // what the host has waited for; it comes before all that is issued next
  Item items[kMaxItems];
  std::int8_t count = 0;
  std::int16_t records = 0;
  std::int16_t waits = 0;

  // Any operation is issued on the stream: it comes after the stream's earlier ones and, of the
  // legacy stream and the blocking streams of one context, after the other's. It is only by being
  // issued that an operation on the legacy stream orders two blocking streams.
  constexpr Set issue(Stream stream) {
    Set before = host | tail[stream];
    for (int i = 0; i < kStreams; ++i) {
      if (in_implicit_order(stream, static_cast<Stream>(i))) before |= tail[i];
    }
    return tail[stream] = before;
  }

  constexpr Set record(Stream stream) {
    ++records;
    return issue(stream);
  }

  constexpr void wait(Stream stream, Set event) {
    ++waits;
    if (stream == kHost) {
      host |= event;
    } else {
      tail[stream] = issue(stream) | event;
    }
  }

  // Queues work that touches memory, or has the host touch it. Returns its number.
  constexpr int work(Stream stream, Bytes bytes, bool writes, int party) {
    const Set itself = Set{1} << count;
    const Set before = stream == kHost ? host : issue(stream);
    items[count] = {before, bytes, writes, static_cast<std::int8_t>(party), stream};
    (stream == kHost ? host : tail[stream]) |= itself;
    return count++;
  }
};

}  // namespace order_model

#endif  // TESTS_EXPLORE_MODEL_WORLD_HPP
