// SPDX-License-Identifier: BSD-3-Clause
// What stays from program to program: the context, its streams and memory, and the threads. And a
// second context that comes and goes, a guest.
#pragma once

#include "cai/device.h"
#include "driver.hpp"
#include "threads.hpp"

namespace wide {

// Stream 1; stream 2 of each thread; two blocking ones, four non-blocking ones; and 2 of a thread
// that has ended, which nobody can name any more. The guest has two, a blocking and a non-blocking
// one; and so has libcai, which made them.
enum {
  kLegacy,
  kPerThread,
  kFirstHandle = kPerThread + 2,
  kFirstOfGuest = kFirstHandle + 6,
  kFirstOfLibcai = kFirstOfGuest + 2,
  kStreams = kFirstOfLibcai + 2,
  kGone = kStreams
};
constexpr bool is_of_guest(int stream) {
  return stream >= kFirstOfGuest && stream < kFirstOfLibcai;
}
// Those of a set of streams.
constexpr unsigned of_guest(unsigned streams) {
  return streams & ((1U << kFirstOfLibcai) - (1U << kFirstOfGuest));
}
inline constexpr int kNamed = kStreams - 1;  // by one thread, whose 2 is its own
constexpr bool is_blocking(int stream) {
  return (stream >= kPerThread && stream < kFirstHandle + 2) || stream == kFirstOfLibcai;
}
inline constexpr const char *kStreamNames[kStreams + 1] = {"1",
                                                           "2",
                                                           "2 of thread 1",
                                                           "B1",
                                                           "B2",
                                                           "N1",
                                                           "N2",
                                                           "N3",
                                                           "N4",
                                                           "G1",
                                                           "G2",
                                                           "L1",
                                                           "L2",
                                                           "2 of a thread that has ended"};
constexpr bool is_per_thread(int stream) {
  return stream == kPerThread || stream == kPerThread + 1;
}
inline constexpr int kBlocks = 4;
inline constexpr int kPoolBlock = kBlocks - 2;   // of no context, as the driver has it
inline constexpr int kGuestBlock = kBlocks - 1;  // is there with the guest
inline constexpr std::size_t kBytes = 2;         // and as many for a mask

struct Machine {
  Handle context = nullptr, guest = nullptr;
  Handle streams[kStreams + 1];
  cai_stream *made[2];           // by libcai
  Handle free_stream = nullptr;  // on which memory is written once it is free
  Address blocks[kBlocks] = {};
  Address scratch = 0;

  Threads threads;

  Machine();
  // Another context, with all that is in it: the streams 2 of threads that have ended are no more.
  void renew();
  // The guest: with no work, no events.
  void open_guest();
  void end_guest();
  void make_stream(int i);
  std::uint64_t value(int stream) const {
    return reinterpret_cast<std::uintptr_t>(streams[stream]);
  }
  // Runs `body`, which calls the driver, where the stream has its name.
  template <class Body>
  void on(int stream, const Body &body) {
    if (is_per_thread(stream)) return threads.run(stream - kPerThread, body);
    is_of_guest(stream) ? in_guest(body) : body();
  }
  template <class Body>
  void in_guest(const Body &body) {
    in(guest, body);
  }
  // With the context current, whichever is.
  template <class Body>
  void in(Handle wanted, const Body &body) {
    const Handle before = set_current(wanted);
    body();
    set_current(before);
  }

 private:
  void make();
  static Handle set_current(Handle context);  // returns what was
};

Machine &machine();

}  // namespace wide
