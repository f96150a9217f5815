// SPDX-License-Identifier: BSD-3-Clause
// How memory is given back: in the order of its stream, and after all that uses it.
#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <memory>

#include "core/report.hpp"
#include "device/gpu_stream.hpp"
#include "memory/memory.hpp"
#include "memory/usage.hpp"
#include "order/edge.hpp"
#include "order/owned.hpp"
#include "order/releases.hpp"
#include "order/trace.hpp"

namespace cai::memory {
namespace {

// Those that could not be given back as yet; each has the next one.
constinit std::atomic<cai_memory *> refused{nullptr};

// Whether the calling thread means the same stream by its value.
bool is_named_here(const FreeStream &it) noexcept {
  return it.thread == 0 || it.thread == this_thread();
}

[[noreturn]] void fail_capture() {
  throw Failure(CAI_ERR_CAPTURE, {CAI_ENTRY_STREAM},
                "the stream that frees the memory is being captured");
}

// The stream as the order room takes it. Stream 2 of another thread cannot be named here: the
// legacy stream, which stands for it, comes after it.
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

// A reset has ended the stream, and all that was pending on it.
bool has_ended(const FreeStream &it) noexcept {
  return it.stream.get() && device::is_dead(*it.stream.get());
}

bool is_on_gpu(const FreeStream &it) noexcept {
  return it.stream.get() && !device::is_cpu(it.stream.get()->device) && !has_ended(it);
}

// Of GPUs: those of the host's have claims.
bool has_kept_uses(const cai_memory &memory) {
  const std::uint64_t marked = order::marked_in(order::word_of(&memory));
  if (marked)
    return !is_on_gpu(memory.free_stream) || marked != memory.free_stream.stream.get()->value();
  order::Uses *const uses = order::uses_of(&memory);
  return uses && (uses->any() || uses->any_marked());
}

// Those of published copies, that is, on which there may be work which is in order with them.
// Returns whether an event tells of all that is pending there.
bool keep_streams_of_copies(driver::Session &session, cai_memory &memory) {
  if (order::word_of(&memory) == 0) return true;
  const std::uint64_t freed_on = memory.free_stream.stream.get()->value();
  return order::make_uses_of(&memory).keep_marked(session, freed_on);
}

// Makes the free stream wait for the streams before it and for the uses that are kept; returns it.
std::uint64_t put_in_order(cai_memory &memory) {
  if (!is_on_gpu(memory.free_stream)) return 0;
  if (is_named_here(memory.free_stream) && memory.former_streams.empty() &&
      !has_kept_uses(memory)) {
    return memory.free_stream.stream.get()->value();
  }
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

// Keeps what is pending on the memory's own streams by now as a use; forgets those uses that are
// complete.
void keep_own_streams(cai_memory &memory) {
  driver::Session session;
  const auto keep = [&](const FreeStream &it) {
    if (!is_on_gpu(it)) return;
    order::Stream stream = stream_of(session, it);
    probe(session, stream);
    if (stream.capture) fail_capture();
    // The legacy stream cannot be asked whether the streams that it would wait for are idle.
    if (is_named_here(it) && is_idle(session, stream)) return;
    session.in(stream.context, [&] {
      cai_error error;
      if (cai_owner_used_on(&memory, stream.value, CAI_ACCESS_WRITE, &error) != CAI_OK) {
        throw Failure(error);
      }
    });
  };
  keep(memory.free_stream);
  for (const FreeStream &it : memory.former_streams) keep(it);
  if (memory.free_stream.stream.get()) keep_streams_of_copies(session, memory);
  session.finish();
  std::int64_t left;
  cai_error error;
  if (has_kept_uses(memory) && cai_owner_pending(&memory, 1, &left, &error) != CAI_OK) {
    throw Failure(error);
  }
}

// No event tells of what is pending on the memory's own streams.
void lose_own_streams(cai_memory &memory) {
  order::Uses &uses = order::make_uses_of(&memory);
  const auto lose = [&](const FreeStream &it) {
    if (is_on_gpu(it)) uses.lose({it.stream.get()->value(), nullptr, -1});
  };
  lose(memory.free_stream);
  for (const FreeStream &it : memory.former_streams) lose(it);
}

// From the first one to the last one, of those that could not be given back.
void put_back(cai_memory *first, cai_memory &last) noexcept {
  last.next = refused.load(std::memory_order_relaxed);
  while (!refused.compare_exchange_weak(last.next, first, std::memory_order_release,
                                        std::memory_order_relaxed)) {
  }
}

// A capture forbids it, or there is no memory to remember by what to wait for: some later call will
// try again, as where the driver did not let the manager be asked.
cai_status try_later(cai_memory &memory) noexcept {
  put_back(&memory, memory);
  return CAI_OK;
}

// Gives it back at once: it has gone then, whatever its manager says.
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
  if (status == CAI_ERR_CAPTURE) return try_later(memory);
  if (status != CAI_OK) *error = problem;
  was_asked ? end_life(memory) : put_back(&memory, memory);
  return status;
}

// Nothing that uses it is pending any more.
cai_status give_back_unused(cai_memory &memory, cai_error *error) noexcept {
  return give_back_now(memory, memory.ordered ? driver::stream_legacy : 0, error);
}

void end_put_off(cai_owner *owner) {
  cai_error error;
  if (give_back_unused(*static_cast<cai_memory *>(owner), &error) != CAI_OK) report(error);
}

// Takes the uses, with what is pending on the memory's own streams among them.
std::unique_ptr<order::Uses> take_pending(cai_memory &memory) {
  const bool is_queued =
      is_on_gpu(memory.free_stream) && memory.facts.kind != CAI_KIND_HOST && !memory.at_once;
  // Streams of the CPU have claims instead, and need no driver.
  const bool was_queued =
      std::any_of(memory.former_streams.begin(), memory.former_streams.end(), is_on_gpu);
  if (is_queued || was_queued || has_kept_uses(memory)) {
    try {
      keep_own_streams(memory);
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

cai_status give_back_once_unused(cai_memory &memory, cai_error *error) noexcept {
  std::unique_ptr<order::Uses> uses;
  cai_error problem;
  const cai_status status = guard(&problem, [&] { uses = take_pending(memory); });
  if (status != CAI_OK) {
    if (status != CAI_ERR_CAPTURE) report(problem);
    return try_later(memory);
  }
  // Arrays may outlive what they are of, and keep uses still: those are not waited for.
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
  return give_back_once_unused(memory, error);
}

cai_status give_back(cai_memory &memory, cai_error *error) noexcept {
  if (!memory.is_reachable() || !memory.give_back) return give_back_now(memory, 0, error);
  // The streams of its context have gone with it, and must not be asked.
  if (memory.has_lost_context()) return give_back_now(memory, 0, error);
  const bool in_order = memory.ordered && !has_ended(memory.free_stream);
  return in_order ? give_back_in_order(memory, error) : give_back_once_unused(memory, error);
}

// Takes a claim away; the last one gives the memory back.
cai_status drop_claim(cai_memory &memory, cai_error *error) noexcept {
  if (memory.claims.fetch_sub(1, std::memory_order_acq_rel) != 1) return CAI_OK;
  return give_back(memory, error);
}

void end_claim_of_stream(void *memory) {
  end_claim(*static_cast<cai_memory *>(memory));
}

// What is queued on a stream of the CPU's by now has a claim.
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

void claim_until_passed(cai_memory &memory, cai_stream *stream) {
  claim(memory);
  cai_error error;
  if (cai_stream_attach(stream, end_claim_of_stream, &memory, &error) == CAI_OK) return;
  memory.claims.fetch_sub(1, std::memory_order_relaxed);  // the caller has one still
  throw Failure(error);
}

cai_status let_go(cai_memory &memory, cai_error *error) noexcept {
  const cai_memory_info &facts = memory.facts;
  take_out_of_registry(memory);
  if (memory.counted) count_memory(facts.device, facts.kind, facts.size, -1);
  if (memory.is_reachable()) {
    claim_for(memory, memory.free_stream);
    for (const FreeStream &it : memory.former_streams) claim_for(memory, it);
  }
  return drop_claim(memory, error);
}

void end_life(cai_memory &memory) noexcept {
  if (memory.lives.fetch_sub(1, std::memory_order_acq_rel) == 1) delete &memory;
}

// A manager that calls libcai may hold a lock that it needs for its other memory.
void retry_ends(int most_refusals, driver::Faults *failed) noexcept {
  if (managers::InManager::is_here() || !refused.load(std::memory_order_relaxed)) return;
  cai_memory *memory = refused.exchange(nullptr, std::memory_order_acquire);
  for (int refusals = 0; memory && refusals < most_refusals;) {
    cai_memory *const next = memory->next;
    cai_error error;
    const cai_status status = give_back(*memory, &error);
    const bool is_refused = refused.load(std::memory_order_relaxed) == memory;
    if (is_refused) ++refusals;  // the release has reported why
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
  // The rest comes first the next time.
  cai_memory *last = memory;
  while (last->next) last = last->next;
  put_back(memory, *last);
}

}  // namespace cai::memory
