// SPDX-License-Identifier: BSD-3-Clause
// libcai asks dlsym() for cuGetProcAddress, and that for all else. The program is linked with
// --wrap=dlsym, so both can be answered here; nothing in libcai knows.
#include "intercept.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <type_traits>
#include <unordered_set>

extern "C" void *__real_dlsym(void *library, const char *name);

namespace mutants {
namespace {

int (*real_record)(void *, void *);
int (*real_wait)(void *, void *, unsigned);
int (*real_synchronize_stream)(void *);
int (*real_synchronize_event)(void *);
int (*real_query_stream)(void *);
int (*real_query_event)(void *);
int (*real_update)(void *, void **, std::size_t, unsigned);
int (*real_synchronize_context)();

// Events whose record was dropped.
std::mutex mutex;
std::unordered_set<void *> unrecorded;
std::atomic<bool> any_unrecorded{false};

void note(void *event, bool is_recorded) {
  if (is_recorded && !any_unrecorded) return;
  const std::lock_guard lock(mutex);
  is_recorded ? static_cast<void>(unrecorded.erase(event))
              : static_cast<void>(unrecorded.insert(event));
  any_unrecorded = !unrecorded.empty();
}

bool is_unrecorded(void *event) {
  if (!any_unrecorded) return false;
  const std::lock_guard lock(mutex);
  return unrecorded.count(event) != 0;
}

// An event of the pool may hold an older record, so that a wait would still have an effect: after a
// dropped record, it holds none.
int record(void *event, void *stream) {
  const bool drop = drops("cuEventRecord");
  note(event, !drop);
  return drop ? 0 : real_record(event, stream);
}

int wait(void *stream, void *event, unsigned flags) {
  return drops("cuStreamWaitEvent") || is_unrecorded(event) ? 0 : real_wait(stream, event, flags);
}

int synchronize_stream(void *stream) {
  return drops("cuStreamSynchronize") ? 0 : real_synchronize_stream(stream);
}

int synchronize_event(void *event) {
  return drops("cuEventSynchronize") || is_unrecorded(event) ? 0 : real_synchronize_event(event);
}

// A query that says yes orders, too: the host goes on after what is complete. Dropped, it says yes.
int query_stream(void *stream) {
  return drops("cuStreamQuery") ? 0 : real_query_stream(stream);
}

int query_event(void *event) {
  return drops("cuEventQuery") || is_unrecorded(event) ? 0 : real_query_event(event);
}

// The nodes to come need not come after these.
int update_dependencies(void *stream, void **nodes, std::size_t count, unsigned flags) {
  return drops("cuStreamUpdateCaptureDependencies") ? 0 : real_update(stream, nodes, count, flags);
}

int synchronize_context() {
  return drops("cuCtxSynchronize") ? 0 : real_synchronize_context();
}

static int (*get_proc_address)(const char *, void **, int, std::uint64_t, int *);

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
  replace("cuStreamUpdateCaptureDependencies", real_update, update_dependencies);
  replace("cuCtxSynchronize", real_synchronize_context, synchronize_context);
  return result;
}

}  // namespace

}  // namespace mutants

extern "C" void *__wrap_dlsym(void *library, const char *name) {
  void *const found = __real_dlsym(library, name);
  if (!found || std::strcmp(name, "cuGetProcAddress_v2") != 0) return found;
  mutants::get_proc_address = reinterpret_cast<decltype(mutants::get_proc_address)>(found);
  return reinterpret_cast<void *>(&mutants::get_watched);
}
