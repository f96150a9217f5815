// SPDX-License-Identifier: BSD-3-Clause
#include "order/event.hpp"

#include "core/global_lock.hpp"
#include "core/immortal.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

namespace cai::order {

namespace {

// A stack of events.
struct Stack {
  PooledEvent *top = nullptr;
  std::size_t size = 0;

  void push(PooledEvent *node) noexcept {
    node->next = top;
    top = node;
    ++size;
  }
  PooledEvent *pop() noexcept {
    PooledEvent *const node = top;
    if (node) {
      top = node->next;
      --size;
    }
    return node;
  }
  void take(Stack &other, std::size_t most) noexcept {
    while (most-- && other.top) push(other.pop());
  }
  // The context is destroyed, and its events with it: the driver is not called.
  void abandon() noexcept {
    while (PooledEvent *const node = pop()) delete node;
  }
};

constexpr std::size_t own_most = 32;      // of a context, kept by a thread for itself
constexpr std::size_t own_contexts = 4;   // contexts that a thread keeps events of
constexpr std::size_t common_most = 256;  // of a context, for all threads
constexpr std::size_t contexts_most = 64;

// What the threads share: events that one thread returned and another can use.
struct Common {
  struct OfContext {
    Stack idle, condemned;
    std::uint64_t used = 0;  // when
  };
  GlobalLock mutex;
  std::map<std::uint64_t, OfContext> contexts;  // by id
  std::uint64_t uses = 0;
  std::atomic<std::size_t> condemned{0};

  OfContext &of(std::uint64_t id) {
    if (!contexts.contains(id) && contexts.size() >= contexts_most) {
      // Usually destroyed by now. One that is in use may be older than many that were reset.
      const auto longest_unused = std::min_element(
          contexts.begin(), contexts.end(),
          [](const auto &a, const auto &b) { return a.second.used < b.second.used; });
      OfContext &gone = longest_unused->second;
      gone.idle.abandon();
      condemned.fetch_sub(gone.condemned.size, std::memory_order_relaxed);
      gone.condemned.abandon();
      contexts.erase(longest_unused);
    }
    OfContext &found = contexts[id];
    found.used = ++uses;
    return found;
  }
};

// Never destroyed: events may be returned as late as the process ends.
Common &common() {
  return immortal<Common>();
}

// The caller holds the lock.
void condemn_in(Common::OfContext &shared, PooledEvent *node) noexcept {
  shared.condemned.push(node);
  common().condemned.fetch_add(1, std::memory_order_relaxed);
}

void give_to_all(Stack &events, std::uint64_t context_id) noexcept {
  try {
    Common &all = common();
    const std::lock_guard lock(all.mutex);
    Common::OfContext &shared = all.of(context_id);
    shared.idle.take(events, events.size);
    while (shared.idle.size > common_most) condemn_in(shared, shared.idle.pop());
  } catch (...) {
    events.abandon();  // no memory for the list: the driver keeps the events until the context ends
  }
}

// The events that a thread keeps for itself: no lock, and no driver call when the thread ends.
class Own {
 public:
  // Null once the thread is ending: other thread-local objects may end later, and return events.
  static Stack *of(std::uint64_t context_id) noexcept {
    Own *own = in_use;
    if (!own) own = begin();
    return own ? &own->in(context_id) : nullptr;
  }

 private:
  struct Slot {
    std::uint64_t context_id = 0;
    Stack idle;
  };
  struct Last {
    ~Last() { of_thread.end(); }
  };

  [[gnu::cold, gnu::noinline]] static Own *begin() noexcept {
    if (of_thread.ended_) return nullptr;
    static thread_local Last last;  // registers the destructor, which runs when the thread ends
    static_cast<void>(last);
    return in_use = &of_thread;
  }

  void end() noexcept {
    for (Slot &slot : slots_) {
      if (slot.idle.top) give_to_all(slot.idle, slot.context_id);
    }
    in_use = nullptr;
    ended_ = true;
  }

  Stack &in(std::uint64_t context_id) noexcept {
    for (Slot &slot : slots_) {
      if (slot.context_id == context_id) return slot.idle;
    }
    Slot &slot = slots_[next_++ % own_contexts];
    if (slot.idle.top) give_to_all(slot.idle, slot.context_id);
    slot.context_id = context_id;
    return slot.idle;
  }

  static thread_local Own of_thread;
  static thread_local Own *in_use;  // from the first use to the thread's end

  Slot slots_[own_contexts];
  std::size_t next_ = 0;
  bool ended_ = false;
};

constinit thread_local Own Own::of_thread;
constinit thread_local Own *Own::in_use = nullptr;

// Counts the finished calls of record() for a stream. A few streams share one counter; not all, so
// that threads with streams of their own do not contend for its cache line.
struct alignas(64) Records {
  std::atomic<std::uint64_t> ended{0};

  static Records &of(const Stream &stream) noexcept {
    static constinit Records all[64];
    return all[(stream.is_default() ? stream.context_id : stream.id) % std::size(all)];
  }
};

PooledEvent *take(std::uint64_t context_id) {
  Common &all = common();
  Stack *const mine = Own::of(context_id);
  if (!mine) {
    const std::lock_guard lock(all.mutex);
    return all.of(context_id).idle.pop();
  }
  if (PooledEvent *const node = mine->pop()) return node;
  const std::lock_guard lock(all.mutex);
  mine->take(all.of(context_id).idle, own_most / 2);
  return mine->pop();
}

void destroy_node(driver::Session &session, PooledEvent *node) noexcept {
  session.faults.attempt(session.cu.cuEventDestroy, node->event);
  delete node;
}

}  // namespace

void Event::give_back(PooledEvent *node) noexcept {
  node->shares.store(1, std::memory_order_relaxed);
  Stack *const mine = Own::of(node->context_id);
  if (!mine) {
    Stack one;
    one.push(node);
    return give_to_all(one, node->context_id);
  }
  if (mine->size >= own_most) {
    Stack half;
    half.take(*mine, own_most / 2);
    give_to_all(half, node->context_id);
  }
  mine->push(node);
}

Event Event::record(driver::Session &session, Stream &stream) {
  identify(session, stream);
  Event event(take(stream.context_id));
  if (!event) {
    session.use_relaxed_mode();
    if (any_condemned()) destroy_condemned(session, stream.context, stream.context_id);
    auto node = std::make_unique<PooledEvent>();
    session.in(stream.context, [&] {
      driver::call(session.cu.cuEventCreate, &node->event, driver::event_disable_timing);
      node->context = stream.context;
      node->context_id = stream.context_id;
      event.node_ = node.release();
    });
  }
  Records &records = Records::of(stream);
  event.node_->before = records.ended.load(std::memory_order_acquire);
  with(session, stream,
       [&] { driver::call(session.cu.cuEventRecord, event.handle(), stream.handle()); });
  event.node_->ended = records.ended.fetch_add(1, std::memory_order_acq_rel) + 1;
  return event;
}

Event Event::record_unless_captured(driver::Session &session, Stream &stream) {
  Event event;
  try {
    event = record(session, stream);
  } catch (const Failure &failure) {
    if (failure.error().native != driver::error_capture_implicit) throw;
    return {};
  }
  // To ask for an event that was recorded in a capture ends the capture; once that is over, it is
  // an error. So the stream is asked first.
  probe(session, stream);
  if (stream.capture) event.destroy(session);
  return event;
}

void Event::destroy(driver::Session &session) noexcept {
  try {
    session.use_relaxed_mode();
  } catch (const Failure &failure) {
    session.faults.note(failure.error());
  }
  destroy_node(session, let_go());
}

void condemn(PooledEvent *node) noexcept {
  try {
    Common &all = common();
    const std::lock_guard lock(all.mutex);
    condemn_in(all.of(node->context_id), node);
  } catch (...) {
    delete node;
  }
}

bool any_condemned() noexcept {
  return common().condemned.load(std::memory_order_relaxed) != 0;
}

void destroy_condemned(driver::Session &session, driver::CUcontext context,
                       std::uint64_t context_id) noexcept {
  Stack condemned;
  {
    Common &all = common();
    const std::lock_guard lock(all.mutex);
    for (auto &[id, shared] : all.contexts) {
      if (!shared.condemned.top || shared.condemned.top->context != context) continue;
      all.condemned.fetch_sub(shared.condemned.size, std::memory_order_relaxed);
      if (id == context_id) {
        std::swap(condemned, shared.condemned);
      } else {
        shared.condemned.abandon();  // an older context had the same handle
      }
    }
  }
  while (PooledEvent *const node = condemned.pop()) destroy_node(session, node);
}

}  // namespace cai::order
