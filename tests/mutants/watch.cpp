// SPDX-License-Identifier: BSD-3-Clause
// libcai asks dlsym() for cuGetProcAddress, and that for all else. The program is linked with
// --wrap=dlsym, so both can be answered here; nothing in libcai knows.
#include "watch.hpp"

#include <dlfcn.h>
#include <execinfo.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "must.h"

extern "C" void *__real_dlsym(void *library, const char *name);

namespace mutants {

Outcome *outcome;

namespace {

int dropped = -1;
void *unrecorded;  // the event of a record that was dropped

// Whether this very call is to be dropped.
bool drops(const char *function) {
  MUST_HOLD(outcome->calls < most_calls);
  Call &call = outcome->call[outcome->calls];
  std::snprintf(call.function, sizeof call.function, "%s", function);
  void *stack[most_frames];
  const int depth = backtrace(stack, most_frames);
  Dl_info program{}, other{};
  dladdr(reinterpret_cast<void *>(&watch), &program);
  for (int i = 0; i < depth; ++i) {
    if (!dladdr(stack[i], &other) || other.dli_fbase != program.dli_fbase) continue;
    // A return address: the call is right before it.
    call.frames[call.depth++] = reinterpret_cast<std::uintptr_t>(stack[i]) -
                                reinterpret_cast<std::uintptr_t>(program.dli_fbase) - 1;
  }
  return outcome->calls++ == dropped;
}

int (*real_record)(void *, void *);
int (*real_wait)(void *, void *, unsigned);
int (*real_synchronize_stream)(void *);
int (*real_synchronize_event)(void *);
int (*real_query_stream)(void *);
int (*real_query_event)(void *);

// An event of the pool may hold an older record, by which a wait would still do some good: after a
// record that was dropped, it holds none.
int record(void *event, void *stream) {
  const bool drop = drops("cuEventRecord");
  if (drop) unrecorded = event;
  if (!drop && event == unrecorded) unrecorded = nullptr;
  return drop ? 0 : real_record(event, stream);
}

int wait(void *stream, void *event, unsigned flags) {
  return drops("cuStreamWaitEvent") || event == unrecorded ? 0 : real_wait(stream, event, flags);
}

int synchronize_stream(void *stream) {
  return drops("cuStreamSynchronize") ? 0 : real_synchronize_stream(stream);
}

int synchronize_event(void *event) {
  return drops("cuEventSynchronize") || event == unrecorded ? 0 : real_synchronize_event(event);
}

// A query that says yes orders, too: the host goes on after what is complete. Dropped, it says yes.
int query_stream(void *stream) {
  return drops("cuStreamQuery") ? 0 : real_query_stream(stream);
}

int query_event(void *event) {
  return drops("cuEventQuery") || event == unrecorded ? 0 : real_query_event(event);
}

int (*get_proc_address)(const char *, void **, int, std::uint64_t, int *);

int get_watched(const char *name, void **function, int version, std::uint64_t flags, int *status) {
  const int result = get_proc_address(name, function, version, flags, status);
  const auto replace = [&](const char *watched, auto &real, auto *ours) {
    if (std::strcmp(name, watched) != 0) return;
    real = reinterpret_cast<std::remove_reference_t<decltype(real)>>(*function);
    *function = reinterpret_cast<void *>(ours);
  };
  replace("cuEventRecord", real_record, record);
  replace("cuStreamWaitEvent", real_wait, wait);
  replace("cuStreamSynchronize", real_synchronize_stream, synchronize_stream);
  replace("cuEventSynchronize", real_synchronize_event, synchronize_event);
  replace("cuStreamQuery", real_query_stream, query_stream);
  replace("cuEventQuery", real_query_event, query_event);
  return result;
}

}  // namespace

void watch(int index) {
  dropped = index;
}

}  // namespace mutants

extern "C" void *__wrap_dlsym(void *library, const char *name) {
  void *const found = __real_dlsym(library, name);
  if (!found || std::strcmp(name, "cuGetProcAddress_v2") != 0) return found;
  mutants::get_proc_address = reinterpret_cast<decltype(mutants::get_proc_address)>(found);
  return reinterpret_cast<void *>(&mutants::get_watched);
}
