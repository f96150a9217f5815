// SPDX-License-Identifier: BSD-3-Clause
// What callers attach to a GPU stream: functions, and objects that it keeps.
#include "device/gpu_stream.hpp"
#include "driver/host_function.hpp"
#include "order/releases.hpp"

namespace cai::device {
namespace {

// A callback that a caller attaches, in the form of an owner, as order needs it. It runs with the
// last release.
class Attachment : public cai_owner {
 public:
  Attachment(void (*end)(void *context), void *context)
      : cai_owner{sizeof(cai_owner), 0,       one_more, one_less, nullptr,
                  nullptr,           nullptr, 0,        nullptr,  0},
        end_(end),
        context_(context) {}

 private:
  static Attachment *of(cai_owner *owner) noexcept { return static_cast<Attachment *>(owner); }
  static void one_more(cai_owner *owner) { of(owner)->holders_.fetch_add(1); }
  static void one_less(cai_owner *owner) {
    if (of(owner)->holders_.fetch_sub(1) > 1) return;
    const std::unique_ptr<Attachment> mine(of(owner));
    mine->end_(mine->context_);
  }

  void (*const end_)(void *context);
  void *const context_;
  std::atomic<int> holders_{1};
};

// A function that the driver will run. The code that queued it may cancel it before it has begun; a
// graph may run it more than once.
class HostWork {
 public:
  HostWork(cai_work_fn work, void *context, std::shared_ptr<Failures> failures)
      : work_(work), context_(context), failures_(std::move(failures)) {}
  HostWork(const HostWork &) = delete;
  HostWork &operator=(const HostWork &) = delete;

  // Called on the driver's thread.
  void run_here() noexcept {
    const driver::InHostFunction here;
    State before = State::waiting;
    if (!state_.compare_exchange_strong(before, State::begun) && before == State::called_off) {
      return;
    }
    if (const std::optional<cai_error> failure = run(work_, context_)) failures_->note(*failure);
    order::Uses *const uses = after_.exchange(passed());
    if (uses && uses != passed()) order::put_off(uses);
  }

  bool call_off() noexcept {
    State before = State::waiting;
    return state_.compare_exchange_strong(before, State::called_off);
  }

  // Ends `uses`, which have nothing pending, after the work.
  void end_after(std::unique_ptr<order::Uses> uses) noexcept {
    order::Uses *before = nullptr;
    order::Uses *const mine = uses.release();
    if (!after_.compare_exchange_strong(before, mine)) order::put_off(mine);
  }

 private:
  enum class State { waiting, begun, called_off };

  // The value of `after_` once the work is done: an address that is never read.
  static order::Uses *passed() noexcept {
    static char mark;
    return reinterpret_cast<order::Uses *>(&mark);
  }

  const cai_work_fn work_;
  void *const context_;
  const std::shared_ptr<Failures> failures_;
  std::atomic<State> state_{State::waiting};
  std::atomic<order::Uses *> after_{nullptr};
};

using Shared = std::shared_ptr<HostWork>;

// Queues the work. The driver, or the graph that is being captured, then holds a reference to it.
void launch(driver::Session &session, order::Stream &stream, const Shared &work) {
  auto theirs = std::make_unique<Shared>(work);
  driver::CUhostFn run_once = [](void *context) {
    const std::unique_ptr<Shared> mine(static_cast<Shared *>(context));
    (*mine)->run_here();
  };
  driver::CUhostFn run_again = [](void *context) { (*static_cast<Shared *>(context))->run_here(); };
  Shared *const context = theirs.get();
  if (stream.capture) {
    order::give_to_graph(
        session, stream.capture, [](void *share) { delete static_cast<Shared *>(share); }, context);
    static_cast<void>(theirs.release());
  }
  order::with(session, stream, [&] {
    driver::call(session.cu.cuLaunchHostFunc, stream.handle(),
                 stream.capture ? run_again : run_once, context);
    static_cast<void>(theirs.release());
  });
}

void keep(driver::Session &session, order::Uses &uses, order::Stream &stream) {
  uses.keep(stream.key(), order::Event::record(session, stream), true, {});
}

}  // namespace

void GpuStream::enqueue(cai_work_fn work, void (*done)(void *context), void *its_context) {
  raise_failure();
  if (!work) {
    if (done) attach(done, its_context);
    return;
  }
  auto attachment = done ? std::make_unique<Attachment>(done, its_context) : nullptr;
  auto holder = done ? order::new_holder(attachment.get()) : nullptr;
  const auto shared = std::make_shared<HostWork>(work, its_context, failures_);

  order::Ending ending;
  driver::Session session;
  order::Stream mine = stream();
  order::probe(session, mine);
  if (mine.capture && done) {
    throw Failure(
        CAI_ERR_CAPTURE, {CAI_ENTRY_STREAM},
        "`done` is given, and the stream is being captured: a graph may run the work again");
  }
  cai_error error;
  const cai_status status = guard(&error, [&] {
    launch(session, mine, shared);
    if (holder) keep(session, *holder, mine);
    order::look(session, mine, ending);
    session.finish();
  });
  if (status != CAI_OK) {
    if (shared->call_off()) throw Failure(error);
    failures_->note(error);  // the work runs, so it was queued; the next call reports this
  }
  if (!holder) return;
  static_cast<void>(attachment.release());
  // If no event could be recorded, the work itself says when it is done.
  holder->pending() ? order::put_off(holder.release()) : shared->end_after(std::move(holder));
}

void GpuStream::attach(void (*end)(void *context), void *its_context) {
  auto attachment = std::make_unique<Attachment>(end, its_context);
  order::Ending ending;
  driver::Session session;
  order::Stream mine = stream();
  order::probe(session, mine);
  if (mine.capture) {
    session.finish();  // after this it is certain who owns the attachment
    order::hold_for_graph(session, mine.capture, attachment.get());
    cai_owner *const owner = attachment.release();
    return owner->release(owner);
  }
  std::unique_ptr<order::Uses> holder = order::new_holder(attachment.get());
  keep(session, *holder, mine);
  order::look(session, mine, ending);
  session.finish();
  static_cast<void>(attachment.release());
  order::put_off(holder.release());
}

}  // namespace cai::device
