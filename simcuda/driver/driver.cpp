// SPDX-License-Identifier: BSD-3-Clause
#include "driver.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "array.h"
#include "call.h"
#include "capture.h"
#include "check_report.h"
#include "green.h"
#include "kernel.h"
#include "pool.h"

namespace simcuda {
namespace {

constexpr std::size_t handle_range = std::size_t{1} << 30;

std::atomic<Driver *> the_driver{nullptr};
std::atomic<bool> ending{false};
std::atomic<bool> forked{false};

// Runs with the library's own destructors, after those of the clients.
__attribute__((destructor)) void process_ends() {
  ending = true;
  if (forked) return;
  say_races_at_end();
  say_findings_at_end();
  if (driver()) say_faults_left();
}

}  // namespace

HandleSpace::HandleSpace() {
  void *range =
      mmap(nullptr, handle_range, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) throw std::bad_alloc{};
  begin_ = next_ = reinterpret_cast<std::uintptr_t>(range);
  end_ = begin_ + handle_range;
}

std::uintptr_t HandleSpace::take() {
  std::uintptr_t handle;
  if (!free_.empty() && Settings::get().reuse_handles) {
    handle = free_.back();
    free_.pop_back();
  } else if (next_ < end_) {
    handle = next_;
    live_.push_back(false);
    next_ += handle_stride;
  } else {
    if (free_.empty()) throw std::bad_alloc{};
    handle = free_.front();
    free_.pop_front();
  }
  live_[(handle - begin_) / handle_stride] = true;
  return handle;
}

void HandleSpace::give_back(std::uintptr_t handle) {
  live_[(handle - begin_) / handle_stride] = false;
  free_.push_back(handle);
}

Driver::Driver(const Settings &settings)
    : devices(settings.visible.size()),
      races(settings.races),
      memory(static_cast<int>(settings.visible.size()),
             [this](const AllocationPtr &allocation, std::uintptr_t address, std::size_t size) {
               races.names_freed(allocation, address, size);
             }),
      schedule(settings.policy, settings.quiet, races) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    Device &d = devices[i];
    d.ordinal = static_cast<int>(i);
    d.physical = settings.visible[i];
    d.total = settings.device_memory;
    d.default_pool = std::make_shared<Pool>();
    d.default_pool->device = d.ordinal;
    d.default_pool->is_default = true;
    pools.add(d.default_pool);
    d.current_pool = d.default_pool;
  }
}

Device &Driver::device(CUdevice ordinal) {
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= devices.size())
    throw Refused{CUDA_ERROR_INVALID_DEVICE};
  return devices[static_cast<std::size_t>(ordinal)];
}

std::shared_ptr<Context> Driver::new_context(CUdevice ordinal, unsigned flags,
                                             unsigned api_version) {
  refuse_lost(device(ordinal));
  auto context = std::make_shared<Context>();
  context->device = ordinal;
  context->flags = flags;
  context->api_version = api_version;
  contexts.add(context);
  revive(*context);
  return context;
}

void Driver::revive(Context &context) {
  context.id = ++last_context_id;
  context.alive = true;
  context.error = CUDA_SUCCESS;
  context.legacy = new_stream(contexts.get(context.handle), Stream::Kind::legacy, 0, 0);
}

std::shared_ptr<Stream> Driver::new_stream(std::shared_ptr<Context> context, Stream::Kind kind,
                                           unsigned flags, int priority) {
  auto stream = std::make_shared<Stream>();
  stream->kind = kind;
  stream->id = ++last_stream_id;
  stream->flags = flags;
  stream->priority = priority;
  stream->context = std::move(context);
  if (kind == Stream::Kind::created) stream->made_at = thread_state().site;
  return stream;
}

std::shared_ptr<Context> Driver::retain_primary(CUdevice ordinal) {
  Device &d = device(ordinal);
  refuse_lost(d);
  if (!d.primary) {
    d.primary = new_context(ordinal, 0, 3020);
    d.primary->primary = true;
  } else if (!d.primary->alive) {
    revive(*d.primary);
  }
  ++d.primary_references;
  return d.primary;
}

void Driver::release_primary(CUdevice ordinal, Lock &lock) {
  Device &d = device(ordinal);
  if (d.primary_references == 0) throw Refused{CUDA_ERROR_INVALID_CONTEXT};
  // During this wait, another thread may retain it again.
  if (--d.primary_references == 0 && d.primary->alive && finish_work_of(*d.primary, lock) &&
      d.primary_references == 0)
    end(*d.primary);
  refuse_lost(d);
}

void Driver::tear_down(Context &context, Lock &lock) {
  if (finish_work_of(context, lock)) end(context);
}

bool Driver::finish_work_of(const Context &context, Lock &lock) {
  // Work of its green contexts uses the memory that ends with it.
  const auto own = [&](const Context &other) { return other.is_within(context); };
  const auto reached = races.reached(own);
  const std::uint64_t id = context.id;
  schedule.finish(schedule.pending_of(own), lock);
  races.host_saw(reached);
  return context.alive && context.id == id;
}

void Driver::end(Context &context) {
  context.alive = false;
  end_green_of(*this, context);
  for (auto &stream : streams.all()) {
    if (stream->context.get() != &context) continue;
    leave_capture(stream);
    stream->destroyed = true;
    races.retire(*stream);
    // A real driver still knows these handles, except for those of the primary context.
    context.primary ? streams.remove(stream->handle) : streams.end_with_context(stream->handle);
  }
  for (auto &event : events.all())
    if (event->context.get() == &context) events.end_with_context(event->handle);
  for (auto &allocation : memory.all()) {
    if (allocation->context.get() != &context) continue;
    discharge(*this, *allocation);
    races.host_frees(*allocation);
    memory.free(*allocation);
  }
  remove_textures_of(*this, context);
  remove_arrays_of(*this, context);
  remove_modules_of(*this, context);
  for (auto &[thread, stream] : context.per_thread) {
    leave_capture(stream);
    races.retire(*stream);
  }
  races.retire(*context.legacy);
  context.blocking.clear();
  context.per_thread.clear();
  context.peers.clear();
  for (auto &other : contexts.all()) other->peers.erase(context.handle);
  context.gate = nullptr;
  context.legacy = nullptr;
}

ThreadState &thread_state() {
  // Kept forever: a thread may call from its last destructors, and this address, which identifies a
  // per-thread stream, must not recur. In static storage of the thread: dynamic storage of an
  // opened library crashes LeakSanitizer.
  thread_local ThreadState *state __attribute__((tls_model("initial-exec"))) = nullptr;
  if (!state) {
    static auto *states = new std::deque<std::unique_ptr<ThreadState>>;
    static auto *mutex = new std::mutex;
    std::lock_guard guard(*mutex);
    state = states->emplace_back(std::make_unique<ThreadState>()).get();
  }
  return *state;
}

void become_driver_thread() {
  thread_state().driver_thread = true;
}

std::mutex &simulator_mutex() {
  static auto *mutex = new std::mutex;
  return *mutex;
}

Driver *driver() {
  return the_driver.load(std::memory_order_acquire);
}
bool process_is_ending() {
  return ending;
}
bool process_was_forked() {
  return forked;
}

CUresult initialise() {
  const Settings &settings = Settings::get();
  if (!settings.enabled) return CUDA_ERROR_STUB_LIBRARY;
  // A child cannot use its parent's driver. A real driver fails, too.
  if (forked) return CUDA_ERROR_NOT_INITIALIZED;
  Lock lock(simulator_mutex());
  if (driver()) return CUDA_SUCCESS;
  read_call_settings();
  if (settings_are_refused()) return CUDA_ERROR_INVALID_VALUE;
  static bool said = !settings.banner;
  if (!said)
    std::fprintf(stderr, "simcuda: a simulation of the CUDA driver for tests; no GPU is used\n");
  said = true;
  if (settings.visible.empty()) return CUDA_ERROR_NO_DEVICE;
  pthread_atfork(nullptr, nullptr, [] { forked = true; });
  the_driver.store(new Driver(settings), std::memory_order_release);
  return CUDA_SUCCESS;
}

std::shared_ptr<Context> Session::current() {
  if (thread.contexts.empty()) throw Refused{CUDA_ERROR_INVALID_CONTEXT};
  auto context = thread.contexts.back();
  if (!context->alive) throw Refused{CUDA_ERROR_CONTEXT_IS_DESTROYED};
  refuse_failed(*context);
  return context;
}

std::shared_ptr<Context> Session::context(CUcontext handle) {
  if (!handle) return current();
  auto found = driver.contexts.get(handle, CUDA_ERROR_INVALID_CONTEXT);
  if (!found->alive) throw Refused{CUDA_ERROR_CONTEXT_IS_DESTROYED};
  return found;
}

std::shared_ptr<Stream> Session::stream(CUstream handle) {
  auto token = reinterpret_cast<std::uintptr_t>(handle);
  if (token == 0) token = thread.per_thread_default ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  if (token == CU_STREAM_LEGACY) return current()->legacy;
  if (token == CU_STREAM_PER_THREAD) {
    auto context = current();
    if (context->green) throw Refused{CUDA_ERROR_INVALID_HANDLE};
    auto &mine = context->per_thread[&thread];
    if (!mine) mine = driver.new_stream(context, Stream::Kind::per_thread, 0, 0);
    return mine;
  }
  auto found = made_stream(handle);
  if (!found->context->alive) throw Refused{CUDA_ERROR_CONTEXT_IS_DESTROYED};
  refuse_failed(*found->context);
  return found;
}

std::shared_ptr<Stream> Session::made_stream(CUstream handle) {
  if (!driver.streams.find(handle) && !driver.streams.went_with_context(handle))
    note_stale("stream", reinterpret_cast<std::uintptr_t>(handle));
  return driver.streams.get(handle);
}

std::shared_ptr<Event> Session::made_event(CUevent handle) {
  if (!driver.events.find(handle) && !driver.events.went_with_context(handle))
    note_stale("event", reinterpret_cast<std::uintptr_t>(handle));
  return driver.events.get(handle);
}

void Session::note_stale(const char *what, std::uintptr_t handle) {
  if (!driver.handles.has_given(handle)) return;
  thread.stale = handle;
  thread.stale_of = what;
  thread.stale_lives = driver.handles.is_live(handle);
}

std::shared_ptr<Event> Session::event(CUevent handle) {
  auto found = made_event(handle);
  if (found->share && !found->share->alive()) throw Refused{CUDA_ERROR_INVALID_HANDLE};
  return found;
}

OperationPtr Session::submit(const std::shared_ptr<Stream> &stream, OperationPtr operation) {
  operation->stream = stream;
  if (stream->capture) {
    capture_operation(*stream, std::move(*operation));
    return nullptr;
  }
  refuse_implicit(*stream);
  begin_kernel(*operation);
  driver.schedule.submit(operation);
  return operation;
}

OperationPtr Session::submit(const std::shared_ptr<Stream> &stream, const char *what,
                             std::vector<Access> accesses, std::function<void()> run,
                             bool after_errors) {
  auto operation = std::make_shared<Operation>();
  operation->what = what;
  operation->accesses = std::move(accesses);
  operation->run = std::move(run);
  operation->after_errors = after_errors;
  return submit(stream, std::move(operation));
}

namespace {

using Contexts = std::vector<std::shared_ptr<Context>>;

// Only streams with unfinished work: finished operations do not know their streams any more.
Contexts contexts_of(const std::vector<OperationPtr> &operations) {
  Contexts found;
  for (auto &operation : operations)
    if (operation->stream) found.push_back(operation->stream->context);
  return found;
}

void refuse_failed(const Contexts &contexts) {
  for (auto &context : contexts) refuse_failed(*context);
}

}  // namespace

void Session::finish(const std::vector<OperationPtr> &operations) {
  const auto contexts = contexts_of(operations);
  driver.schedule.finish(operations, lock);
  release_unused(driver);
  driver.races.host_saw(operations);
  refuse_failed(contexts);
}

bool Session::query(const std::vector<OperationPtr> &operations) {
  const auto contexts = contexts_of(operations);
  const bool done = driver.schedule.query(operations, lock);
  refuse_failed(contexts);
  if (done) driver.races.host_saw(operations);
  return done;
}

void Session::finish(const Races::Chosen &chosen) {
  // Before the lock is released: what others submit meanwhile is not waited for.
  const auto reached = driver.races.reached(chosen);
  const auto pending = driver.schedule.pending_of(chosen);
  const auto contexts = contexts_of(pending);
  driver.schedule.finish(pending, lock);
  for (auto &context : driver.contexts.all())
    if (chosen(*context)) driver.schedule.host_waited(*context);
  release_unused(driver);
  driver.races.host_saw(reached);
  refuse_failed(contexts);
}

void Session::finish_device(int device) {
  const auto chosen = [&](const Context &context) { return context.device == device; };
  // The documentation does not promise this, so in strict mode it orders nothing.
  if (Settings::get().strict)
    driver.schedule.finish(driver.schedule.pending_of(chosen), lock);
  else
    finish(chosen);
}

void Session::finish(const std::shared_ptr<Stream> &stream) {
  refuse_capturing(*stream);
  refuse_implicit(*stream);
  const auto seen = promised(*stream);
  driver.schedule.finish(driver.schedule.awaited(*stream), lock);
  release_unused(driver);
  driver.races.host_saw(seen);
  simcuda::refuse_failed(*stream->context);
}

bool Session::query(const std::shared_ptr<Stream> &stream) {
  const bool done = driver.schedule.query(driver.schedule.awaited(*stream), lock);
  simcuda::refuse_failed(*stream->context);
  if (done) driver.races.host_saw(promised(*stream));
  return done;
}

// No document says that to wait for the legacy stream is to wait for its blocking streams, too.
std::vector<OperationPtr> Session::promised(Stream &stream) const {
  if (stream.kind != Stream::Kind::legacy || !Settings::get().strict)
    return driver.schedule.awaited(stream);
  return stream.tail ? std::vector<OperationPtr>{stream.tail} : std::vector<OperationPtr>{};
}

}  // namespace simcuda
