// SPDX-License-Identifier: BSD-3-Clause
// What happened, to be drawn: a line of JSON for each call, operation, wait of the host
// and race, in a file of this process's own in the folder SIMCUDA_TRACE_DIR.
// python/simcuda/_events.py reads it. Nothing is done, and nothing looked up, unless that is set.
// Order is the race detector's: where that is off, a trace has calls and no more.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "abi.h"

namespace simcuda {

struct Allocation;
struct Argument;
struct Moment;
struct Operation;
struct Race;
struct Step;

namespace trace {

extern std::atomic<bool> on;

// Opens the file, if the folder is set; refuses the setting if that fails.
void start();

// A call in progress on this thread. It begins with no lock held: where it comes from is asked.
class Call {
 public:
  Call(const char *name, std::initializer_list<Argument> arguments) {
    if (on) begin(name, arguments);
  }
  ~Call() {
    if (number_) end();
  }
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;
  void returns(CUresult result) const;

 private:
  void begin(const char *name, std::initializer_list<Argument> arguments);
  void end() const;

  std::uint64_t number_ = 0, outer_ = 0;  // 0: none
};
// Its number; 0 if there is none, or no trace.
std::uint64_t current_call();

// The rest with the simulator's lock held.
void submitted(const Operation &operation);
// What a kernel has used, known once it has run: so many bytes of an allocation, from there on, and
// how it came to them.
void used(const Operation &operation, const char *effect, const Allocation &allocation,
          std::uintptr_t begin, std::size_t bytes, const std::string &how);
void host_saw(const Moment &moment);
void host_used(const Step &step);
void raced(const Race &race, const std::string &report);
void forgot_races();
// What was found inside a kernel, or ended it.
void found(const Operation &operation, const std::string &report);
// What is wrong with this thread's call in progress; without the lock.
void found_in_call(const std::string &report);

}  // namespace trace
}  // namespace simcuda
