// SPDX-License-Identifier: BSD-3-Clause
// What every entry point does around its own work: counts the call, rejects errors, injects faults,
// takes the lock, and logs.
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
// Stores the thread's call site, if reports or a trace need it. No lock may be held.
void find_site(const Entry &entry);
// Report that the call was given a destroyed object, or the GIL is held. No lock may be held.
void tell_stale(const Entry &entry);
void tell_gil(const Entry &entry);
// Counts the call. If this does not return SUCCESS, that is the call's result, and its work is not
// done.
CUresult admit(Entry &entry, bool needs_driver);
// Runs what the call has left for this thread to do.
void call_client(ThreadState &thread);
void log_call(const char *symbol, Arguments arguments, CUresult result);
void log_operation(const Operation &operation);
// At the end: reports which faults of SIMCUDA_FAIL have not occurred.
void say_faults_left();
// Reads SIMCUDA_FAIL, and opens SIMCUDA_LOG and the trace, if not done yet.
void read_call_settings();
// The body of an entry point that simcuda does not implement.
CUresult unsupported(const char *symbol);
// Reports and counts that, once for each; for entry points that are implemented in part.
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
  } catch (...) {  // for example, no thread could be started
    return CUDA_ERROR_UNKNOWN;
  }
}

// An entry point that uses the driver: body(Session&) returns void or a CUresult. Not noexcept:
// Python may end the thread while it is asked for its frames.
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

// An entry point that works before cuInit, too.
template <class Body>
CUresult call_without_driver(const char *symbol, Arguments arguments, const Body &body) noexcept {
  CUresult result = admit(entry_of_symbol(symbol), false);
  if (result == CUDA_SUCCESS) result = guarded(body);
  log_call(symbol, arguments, result);
  return result;
}

// Most output parameters must not be null.
template <class T>
T &required(T *pointer) {
  if (!pointer) throw Refused{CUDA_ERROR_INVALID_VALUE};
  return *pointer;
}

inline std::uintptr_t address_of(const void *pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

// In a per-thread variant of an entry point, stream 0 means CU_STREAM_PER_THREAD.
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
