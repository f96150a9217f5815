// SPDX-License-Identifier: BSD-3-Clause
// What the threads of a program did with streams of the CPU, and when; and what is wrong with it.
// It is judged once all is over, by what must have come before what: calls that overlap may have
// taken effect in either order.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace queues {

using Time = std::uint64_t;  // 0: it has not happened
Time tick();                 // later ones are greater

struct Call {
  Time begin = 0, end = 0;
};

struct Work {
  std::size_t number = 0, stream = 0;
  std::optional<std::size_t> block;  // a copy to that, by a program of one thread
  bool fails = false;
  unsigned pause = 0;
  Call asked;
  bool is_queued = false;  // not, if the call returned a failure
  std::atomic<Time> started{0}, ended{0};
  std::atomic<int> ends{0};
};

struct Stream {
  Time released = 0;  // when its release began
};

// What a thread did: calls that succeeded, and in `told` those that returned a failure of work.
struct Log {
  struct Told {  // of the failure, by a call for the streams or the block, or by the hook
    std::size_t work;
    Call call;
    std::vector<std::size_t> streams;
    std::optional<std::size_t> block;
    bool by_hook;
  };
  struct Join {  // a stream came after another one, or after an event
    std::size_t stream;
    std::optional<std::size_t> other, event;
    Call call;
  };
  struct Record {
    std::size_t event, stream;
    Call call;
  };
  struct Use {  // of a block, by all work of the stream so far
    std::size_t block, stream;
    Call call;
  };
  struct Seen {  // by the host: all work of one of these is over
    std::optional<std::size_t> stream, event, block;
    Call call;
  };
  std::vector<Told> told;
  std::vector<Join> joins;
  std::vector<Record> records;
  std::vector<Use> uses;
  std::vector<Seen> seen;

  void add(const Log &other);
};

// What is wrong, or "".
std::string judge(const std::vector<const Work *> &works, const std::vector<Stream> &streams,
                  const Log &log);

}  // namespace queues
