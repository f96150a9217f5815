// SPDX-License-Identifier: BSD-3-Clause
// Frees memory: in the order of its stream, and after all uses.
#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <memory>

#include "core/report.hpp"
#include "device/gpu_stream.hpp"
#include "device/queue.hpp"
#include "driver/host_function.hpp"
#include "memory/memory.hpp"
#include "memory/registry.hpp"
#include "memory/usage.hpp"
#include "order/edge.hpp"
#include "order/owned.hpp"
#include "order/releases.hpp"
#include "order/running.hpp"
#include "order/trace.hpp"

namespace cai::memory {
namespace {

// Memory that could not be freed yet, linked by `next`.
constinit std::atomic<cai_memory *> refused{nullptr};

// Whether the stream's value means the same stream on the calling thread.
bool is_named_here(const FreeStream &it) noexcept {
  return it.thread == 0 || it.thread == this_thread();
}

[[noreturn]] void fail_capture() {
  throw Failure(CAI_ERR_CAPTURE, {CAI_ENTRY_STREAM},
                "the stream that frees the memory is being captured");
}

// The stream for order's functions. Another thread's stream 2 cannot be named here. The legacy
// stream, which comes after it, stands for it.
order::Stream stream_of(driver::Session &session, const FreeStream &it) {
  cai_stream &stream = *it.stream.get();
  if (!is_named_here(it)) {
    order::Stream legacy{driver::stream_legacy, device::primary(session, stream.device.id).context,
                         -1};
    identify(session, legacy);
    return legacy;
  }
  return device::gpu_stream(stream).stream();
}

// Whether a reset has destroyed the stream and all its pending work.
bool has_ended(const FreeStream &it) noexcept {
  return device::is_dead(*it.stream.get());
}

bool is_on_gpu(const FreeStream &it) noexcept {
  return it.stream.get() && !device::is_cpu(it.stream.get()->device) && !has_ended(it);
}

// Of GPU streams: work of CPU streams has claims.
bool has_kept_uses(const cai_memory &memory) {
  const std::uint64_t marked = order::marked_in(order::word_of(&memory));
  if (marked)
    return !is_on_gpu(memory.free_stream) || marked != memory.free_stream.stream.get()->value();
  order::Uses *const uses = order::uses_of(&memory);
  // The marks first: an event takes the place of one, and is kept before the mark goes.
  return uses && (uses->any_marked() || uses->any());
}

// Keeps the pending work on streams of published copies, where other work may be ordered with them.
// Returns whether events cover all of it.
bool keep_streams_of_copies(driver::Session &session, cai_memory &memory) {
  if (order::word_of(&memory) == 0) return true;
  const std::uint64_t freed_on = memory.free_stream.stream.get()->value();
  return order::make_uses_of(&memory).keep_marked(session, freed_on);
}

// Whether the free stream need not wait for anything.
bool is_in_order(const cai_memory &memory) {
  return is_named_here(memory.free_stream) && memory.former_streams.empty() &&
         !has_kept_uses(memory);
}

// Makes the free stream wait for the former streams and for the kept uses. Returns it.
std::uint64_t put_in_order(cai_memory &memory) {
  if (!is_on_gpu(memory.free_stream)) return 0;
  if (is_in_order(memory)) return memory.free_stream.stream.get()->value();
  driver::Session session;
  if (!keep_streams_of_copies(session, memory)) {
    throw Failure(CAI_ERR_CUDA, {CAI_ENTRY_STREAM},
                  "no event could be recorded on a stream that the memory was published on");
  }
  order::Stream stream = stream_of(session, memory.free_stream);
  if (!memory.former_streams.empty() || has_kept_uses(memory)) {
    probe(session, stream);
    if (stream.capture) fail_capture();
    for (const FreeStream &it : memory.former_streams) {
      if (has_ended(it)) continue;
      order::Stream before = stream_of(session, it);
      probe(session, before);
      const order::Edge edge = edge_between(session, before, stream, order::Way::forth, 0);
      order::Event event;
      order::order(session, before, stream, edge, event);
    }
    session.in(stream.context, [&] {
      cai_error error;
      if (cai_owner_await_uses(&memory, stream.value, CAI_ACCESS_WRITE, &error) != CAI_OK) {
        throw Failure(error);
      }
    });
  }
  session.finish();
  return stream.value;
}

// The first free of memory; or one that follows frees that a capture prevented, or comes from the
// thread of a CPU stream. Another thread may be about to capture the memory's streams then, and
// most calls for a stream would end that capture.
enum class Try { first, again, again_and_wait };

// Keeps what is pending on a stream of the memory as a use, or waits for it. Harms no capture that
// another thread begins on the stream meanwhile.
void keep_beside_captures(driver::Session &session, cai_memory &memory, order::Stream &stream,
                          Try which) {
  order::Event event = order::Event::record_unless_captured(session, stream);
  if (!event) fail_capture();
  session.use_relaxed_mode();
  const driver::CUresult result = which == Try::again_and_wait
                                      ? session.cu.cuEventSynchronize(event.handle())
                                      : session.cu.cuEventQuery(event.handle());
  if (result == driver::error_invalid_value) {
    event.destroy(session);
    fail_capture();
  }
  if (result == driver::success) return;
  order::make_uses_of(&memory).keep(session, stream, event, true, {});
}

// Keeps what is pending on the memory's own streams as a use. Forgets completed uses.
void keep_own_streams(cai_memory &memory, Try which) {
  driver::Session session;
  const auto keep = [&](const FreeStream &it) {
    if (!is_on_gpu(it)) return;
    order::Stream stream = stream_of(session, it);
    probe(session, stream);
    if (stream.capture) fail_capture();
    if (which != Try::first) return keep_beside_captures(session, memory, stream, which);
    // The legacy stream is not queried: that does not show whether the streams it waits for are
    // idle.
    if (is_named_here(it) && is_idle(session, stream)) return;
    session.in(stream.context, [&] {
      cai_error error;
      if (cai_owner_used_on(&memory, stream.value, CAI_ACCESS_WRITE, &error) != CAI_OK) {
        throw Failure(error);
      }
    });
  };
  if (!memory.has_left_streams) {
    keep(memory.free_stream);
    for (const FreeStream &it : memory.former_streams) keep(it);
    if (memory.free_stream.stream.get()) keep_streams_of_copies(session, memory);
  }
  session.finish();
  const int32_t ask = which == Try::again_and_wait ? 2 : 1;
  std::int64_t left;
  cai_error error;
  if (has_kept_uses(memory) && cai_owner_pending(&memory, ask, &left, &error) != CAI_OK) {
    throw Failure(error);
  }
}

// The stream of the array that it is memory of is being captured. That may last longer than the
// memory's own streams live.
void leave_own_streams(cai_memory &memory) noexcept {
  if (!memory.found_by) return;
  const auto keep = [&] { keep_own_streams(memory, Try::first); };
  memory.has_left_streams = guard(nullptr, keep) == CAI_OK;
}

// Notes that no event covers what is pending on the memory's own streams.
void lose_own_streams(cai_memory &memory) {
  order::Uses &uses = order::make_uses_of(&memory);
  const auto lose = [&](const FreeStream &it) {
    if (is_on_gpu(it)) uses.lose({it.stream.get()->value(), nullptr, -1});
  };
  lose(memory.free_stream);
  for (const FreeStream &it : memory.former_streams) lose(it);
}

// Puts back the list of memory from `first` to `last` that could not be freed.
void put_back(cai_memory *first, cai_memory &last) noexcept {
  last.next = refused.load(std::memory_order_relaxed);
  while (!refused.compare_exchange_weak(last.next, first, std::memory_order_release,
                                        std::memory_order_relaxed)) {
  }
}

// Called if a capture or a host function forbids the free, if there is no memory to note what to
// wait for, or if the driver failed before the manager was called. A later call tries again.
cai_status try_later(cai_memory &memory) noexcept {
  put_back(&memory, memory);
  return CAI_OK;
}

// Frees the memory now. Afterwards it counts as freed, whatever its manager returned.
cai_status give_back_now(cai_memory &memory, std::uint64_t stream, cai_error *error) noexcept {
  bool was_asked = true;
  cai_error problem;
  const cai_status status = guard(&problem, [&] {
    try {
      if (memory.give_back && memory.is_reachable()) memory.give_back(memory, stream);
    } catch (const managers::NotAsked &) {
      was_asked = false;
      throw;
    }
  });
  if (status == CAI_ERR_CAPTURE) {
    leave_own_streams(memory);
    return try_later(memory);
  }
  if (status != CAI_OK) *error = problem;
  was_asked ? end_life(memory) : put_back(&memory, memory);
  return status;
}

// Called when no use is pending any more, so that any stream will do. The legacy stream would harm
// a blocking stream that another thread is about to capture.
cai_status give_back_unused(cai_memory &memory, cai_error *error) noexcept {
  memory.unused = true;
  return give_back_now(memory, memory.ordered ? driver::stream_per_thread : 0, error);
}

void end_put_off(cai_owner *owner) {
  cai_error error;
  if (give_back_unused(*static_cast<cai_memory *>(owner), &error) != CAI_OK) report(error);
}

// Takes the uses, and adds what is pending on the memory's own streams.
std::unique_ptr<order::Uses> take_pending(cai_memory &memory, Try which) {
  const bool is_queued =
      is_on_gpu(memory.free_stream) && memory.facts.kind != CAI_KIND_HOST && !memory.at_once;
  // CPU streams have claims instead, and need no driver.
  const bool was_queued =
      std::any_of(memory.former_streams.begin(), memory.former_streams.end(), is_on_gpu);
  if (is_queued || was_queued || has_kept_uses(memory)) {
    try {
      keep_own_streams(memory, which);
    } catch (const Failure &failure) {
      const cai_status status = failure.error().status;
      if (status == CAI_ERR_CAPTURE || status == CAI_ERR_MEMORY) throw;
      report(failure.error());
      lose_own_streams(memory);
    }
  }
  const bool is_held = memory.holders.load(std::memory_order_acquire) != 0;
  return is_held ? order::take_kept(&memory) : order::take_uses(&memory);
}

cai_status give_back_once_unused(cai_memory &memory, Try which, cai_error *error) noexcept {
  std::unique_ptr<order::Uses> uses;
  cai_error problem;
  const cai_status status = guard(&problem, [&] { uses = take_pending(memory, which); });
  if (status != CAI_OK) {
    if (status != CAI_ERR_CAPTURE) report(problem);
    return try_later(memory);
  }
  // Arrays may outlive their memory and still have kept uses. Those are not waited for.
  if (uses && uses->pending()) {
    uses->owner = &memory;
    uses->end = end_put_off;
    order::put_off(uses.release());
    return CAI_OK;
  }
  uses.reset();
  return give_back_unused(memory, error);
}

cai_status give_back_in_order(cai_memory &memory, cai_error *error) noexcept {
  const order::trace::Call call("cai_memory_free", order::trace::owner(&memory));
  std::uint64_t stream = 0;
  cai_error problem;
  const cai_status status = guard(&problem, [&] { stream = put_in_order(memory); });
  if (status == CAI_OK) return give_back_now(memory, stream, error);
  if (status == CAI_ERR_CAPTURE) return try_later(memory);
  report(problem);
  return give_back_once_unused(memory, Try::first, error);
}

cai_status give_back(cai_memory &memory, Try which, cai_error *error) noexcept {
  if (!memory.is_reachable() || !memory.give_back) return give_back_now(memory, 0, error);
  // The owner of wrapped memory may call the driver.
  const bool needs_driver = memory.epoch != 0 || memory.release_foreign || has_kept_uses(memory);
  if (needs_driver && driver::InHostFunction::is_here()) return try_later(memory);
  // The streams of its context were destroyed with it, and must not be queried.
  if (memory.has_lost_context()) return give_back_now(memory, 0, error);
  if (memory.unused) return give_back_unused(memory, error);
  const bool has_order = memory.ordered && !has_ended(memory.free_stream);
  if (has_order && which == Try::first) return give_back_in_order(memory, error);
  return give_back_once_unused(memory, which, error);
}

// Removes a claim. The last one frees the memory.
cai_status drop_claim(cai_memory &memory, cai_error *error) noexcept {
  if (memory.claims.fetch_sub(1, std::memory_order_acq_rel) != 1) return CAI_OK;
  // The thread of a CPU stream works beside a program that does not know when.
  const bool may_be_asked = !device::Queue::is_any_here() || is_in_order(memory);
  return give_back(memory, may_be_asked ? Try::first : Try::again, error);
}

void end_claim_of_stream(void *claimed) {
  cai_memory &memory = *static_cast<cai_memory *>(claimed);
  const bool ends_with_context = memory.epoch != 0;
  const std::int32_t ordinal = memory.epoch_gpu;
  end_claim(memory);
  if (ends_with_context) device::end_host_work(ordinal);
}

// Adds a claim for the work that is queued on a CPU stream now.
void claim_for(cai_memory &memory, const FreeStream &it) noexcept {
  cai_stream *const stream = it.stream.get();
  if (!stream || !device::is_cpu(stream->device) || stream->mode != CAI_MODE_ASYNC) return;
  cai_error error;
  if (guard(&error, [&] { claim_until_passed(memory, stream); }) == CAI_OK) return;
  if (cai_stream_synchronize(stream, nullptr) != CAI_OK) report(error);
}

}  // namespace

FreeStream::FreeStream(device::HeldStream its_stream) noexcept : stream(std::move(its_stream)) {
  if (stream.get() && stream.get()->value() == driver::stream_per_thread) thread = this_thread();
}

void claim(cai_memory &memory) {
  std::uint64_t claims = memory.claims.load(std::memory_order_relaxed);
  do {
    if (claims == 0) {
      throw Failure(CAI_ERR_STATE, {}, "the memory at 0x%" PRIx64 " was freed already",
                    memory.facts.data);
    }
  } while (!memory.claims.compare_exchange_weak(claims, claims + 1, std::memory_order_relaxed));
}

void end_claim(cai_memory &memory) noexcept {
  cai_error error;
  if (drop_claim(memory, &error) != CAI_OK) report(error);
}

cai_memory *claim_at(std::uint64_t address) noexcept {
  std::uint64_t offset = 0;
  const HeldMemory found(look_up(address, &offset));
  cai_memory *const memory = found.get();
  if (!memory) return nullptr;
  return guard(nullptr, [&] { claim(*memory); }) == CAI_OK ? memory : nullptr;
}

void claim_until_passed(cai_memory &memory, cai_stream *stream) {
  claim(memory);
  if (memory.epoch) device::begin_host_work(memory.epoch_gpu);
  cai_error error;
  if (cai_stream_attach(stream, end_claim_of_stream, &memory, &error) == CAI_OK) return;
  end_claim_of_stream(&memory);  // the caller still has one
  throw Failure(error);
}

cai_status let_go(cai_memory &memory, cai_error *error) noexcept {
  const cai_memory_info &facts = memory.facts;
  take_out_of_registry(memory);
  if (memory.counted) count_memory(facts.device, facts.kind, facts.size, -1);
  if (memory.is_reachable()) {
    // A cai_memory_set_stream() that found the memory alive has ended after this; a later one
    // fails.
    {
      const std::lock_guard lock(memory.lock);
    }
    claim_for(memory, memory.free_stream);
    for (const FreeStream &it : memory.former_streams) claim_for(memory, it);
  }
  return drop_claim(memory, error);
}

void end_life(cai_memory &memory) noexcept {
  // A thread of the parent was changing it when this process was forked.
  if (!memory.is_reachable() && memory.lock.is_held()) return;
  if (memory.lives.fetch_sub(1, std::memory_order_acq_rel) == 1) delete &memory;
}

// Not within a manager, which may hold a lock that it needs to free other memory.
void retry_ends(int most_refusals, bool waits, driver::Faults *failed) noexcept {
  if (managers::InManager::is_here() || driver::InHostFunction::is_here()) return;
  if (!refused.load(std::memory_order_relaxed)) return;
  const order::Running running(order::Runs::end);
  const driver::Sparing sparing;
  cai_memory *memory = refused.exchange(nullptr, std::memory_order_acquire);
  for (int refusals = 0; memory && refusals < most_refusals;) {
    cai_memory *const next = memory->next;
    cai_error error;
    const Try which = waits ? Try::again_and_wait : Try::again;
    const cai_status status = give_back(*memory, which, &error);
    const bool is_refused = refused.load(std::memory_order_relaxed) == memory;
    if (is_refused) ++refusals;  // the release has reported it
    if (status != CAI_OK) {
      if (failed) {
        failed->note(error);
      } else if (!is_refused) {
        report(error);
      }
    }
    memory = next;
  }
  if (!memory) return;
  // The rest comes first next time.
  cai_memory *last = memory;
  while (last->next) last = last->next;
  put_back(memory, *last);
}

}  // namespace cai::memory
