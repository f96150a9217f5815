// SPDX-License-Identifier: BSD-3-Clause
// What every entry point does around its own work: count, refuse what must be refused, inject
// faults, take the lock, log.
#pragma once

#include <initializer_list>
#include <new>
#include <type_traits>

#include "driver.h"
#include "trace.h"

namespace simcuda {

// One argument of a call, for the log.
struct Argument {
  template <class T>
  Argument(T *p) : value(reinterpret_cast<std::uintptr_t>(p)), hex(true) {}
  template <class T>
    requires std::is_integral_v<T>
  Argument(T v)
      : value(static_cast<std::uint64_t>(v)),
        hex(sizeof(T) == sizeof(CUdeviceptr) && std::is_same_v<T, CUdeviceptr>) {}
  std::uint64_t value;
  bool hex;
};
using Arguments = std::initializer_list<Argument>;

struct Entry;  // the counters of one base name

Entry &entry_of_symbol(const char *symbol);
const char *base_name(const Entry &entry);
// Keeps where this thread calls from, if reports or a trace are to say it. With no lock held.
void find_site(const Entry &entry);
// Reports that the call was given what is destroyed. With no lock held.
void tell_stale(const Entry &entry);
// Counts the call; anything but SUCCESS is its result, and its work is not done.
CUresult admit(Entry &entry, bool needs_driver);
// What the call has left for this thread to do.
void call_client(ThreadState &thread);
void log_call(const char *symbol, Arguments arguments, CUresult result);
void log_operation(const Operation &operation);
// At the end: which of those of SIMCUDA_FAIL have not struck.
void say_faults_left();
// Reads SIMCUDA_FAIL, and opens SIMCUDA_LOG and the trace, unless that has been done.
void read_call_settings();
// What an entry point does that simcuda does not implement.
CUresult unsupported(const char *symbol);
// Says so, once for each, and counts; for entry points that are implemented in part.
void note_unsupported(const char *symbol);

template <class Body>
CUresult guarded(const Body &body) noexcept {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
      body();
      return CUDA_SUCCESS;
    } else {
      return body();
    }
  } catch (const Refused &refused) {
    return refused.result;
  } catch (const std::bad_alloc &) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (...) {  // the system gives no thread, say
    return CUDA_ERROR_UNKNOWN;
  }
}

// An entry point that works on the driver: body(Session&) returns void or a CUresult.
// Not noexcept: while Python is asked for its frames, it may end the thread.
template <class Body>
CUresult call(const char *symbol, Arguments arguments, const Body &body) {
  Entry &entry = entry_of_symbol(symbol);
  CUresult result = admit(entry, true);
  find_site(entry);
  const trace::Call traced(base_name(entry), arguments);
  if (result == CUDA_SUCCESS) {
    result = guarded([&] {
      thread_state().call = base_name(entry);
      Session session(thread_state());
      return body(session);
    });
    if (thread_state().stale) tell_stale(entry);
    call_client(thread_state());
  } else {
    fail_current(result);
  }
  traced.returns(result);
  log_call(symbol, arguments, result);
  return result;
}

// One that works before cuInit, too.
template <class Body>
CUresult call_without_driver(const char *symbol, Arguments arguments, const Body &body) noexcept {
  CUresult result = admit(entry_of_symbol(symbol), false);
  if (result == CUDA_SUCCESS) result = guarded(body);
  log_call(symbol, arguments, result);
  return result;
}

// Most output parameters may not be null.
template <class T>
T &required(T *pointer) {
  if (!pointer) throw Refused{CUDA_ERROR_INVALID_VALUE};
  return *pointer;
}

inline std::uintptr_t address_of(const void *pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

// In a per-thread flavour of an entry point stream 0 means CU_STREAM_PER_THREAD.
class PerThreadDefault {
 public:
  PerThreadDefault() : thread_(thread_state()), before_(thread_.per_thread_default) {
    thread_.per_thread_default = true;
  }
  ~PerThreadDefault() { thread_.per_thread_default = before_; }
  PerThreadDefault(const PerThreadDefault &) = delete;
  PerThreadDefault &operator=(const PerThreadDefault &) = delete;

 private:
  ThreadState &thread_;
  bool before_;
};

}  // namespace simcuda
