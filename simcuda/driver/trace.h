// SPDX-License-Identifier: BSD-3-Clause
// A trace for drawings: a line of JSON for each call, operation, wait of the host and race, in a
// file of this process in the folder SIMCUDA_TRACE_DIR. python/simcuda/_events.py reads it. Costs
// nothing unless that is set. The order comes from the race detector: without it, a trace has only
// calls.
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

// Opens the file if the folder is set. A failure makes the setting invalid.
void start();

// A call in progress on this thread. No lock may be held when it begins, as it finds the call site.
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
// Its number; 0 if there is no call, or no trace.
std::uint64_t current_call();

// The rest needs the simulator's lock.
void submitted(const Operation &operation);
// What a kernel has used, known after it has run: bytes of an allocation, and through which
// parameter.
void used(const Operation &operation, const char *effect, const Allocation &allocation,
          std::uintptr_t begin, std::size_t bytes, const std::string &how);
void host_saw(const Moment &moment);
void host_used(const Step &step);
void raced(const Race &race, const std::string &report);
void forgot_races();
// A finding in a kernel, or its fault.
void found(const Operation &operation, const std::string &report);
// What is wrong with this thread's call in progress; without the lock.
void found_in_call(const std::string &report);

}  // namespace trace
}  // namespace simcuda
