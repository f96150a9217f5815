// SPDX-License-Identifier: BSD-3-Clause
#include "order/event.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

namespace cai::order {

struct PooledEvent {
  driver::CUevent event;
  driver::CUcontext context;
  std::uint64_t context_id;
  std::uint64_t recording = 0, recorded = 0;  // when, in the order of all records of the process
  std::atomic<std::uint32_t> shares{1};
  PooledEvent *next = nullptr;
};

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
  // The context has gone, and the events with it: there is nothing to tell the driver.
  void abandon() noexcept {
    while (PooledEvent *const node = pop()) delete node;
  }
};

constexpr std::size_t own_most = 32;      // of a context, kept by a thread for itself
constexpr std::size_t own_contexts = 4;   // that a thread keeps events of
constexpr std::size_t common_most = 256;  // of a context, for all threads
constexpr std::size_t contexts_most = 64;

// What the threads share: where events wait that one thread gave back and another one needs.
struct Common {
  struct OfContext {
    Stack idle, condemned;
  };
  std::mutex mutex;
  std::map<std::uint64_t, OfContext> contexts;  // by id
  std::atomic<std::size_t> condemned{0};

  OfContext &of(std::uint64_t id) {
    if (!contexts.contains(id) && contexts.size() >= contexts_most) {
      // Ids only grow, so the least is the oldest context; as a rule it has gone long ago.
      OfContext &oldest = contexts.begin()->second;
      oldest.idle.abandon();
      condemned.fetch_sub(oldest.condemned.size, std::memory_order_relaxed);
      oldest.condemned.abandon();
      contexts.erase(contexts.begin());
    }
    return contexts[id];
  }
};

// Never destroyed: events come back until the very end of the process.
Common &common() {
  static auto *const made = new Common;
  return *made;
}

// With the lock held.
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
    events.abandon();  // no memory for the list: the driver keeps them till the context ends
  }
}

// What a thread keeps for itself. It needs no lock, and no driver when the thread ends.
class Own {
 public:
  Own() = default;
  Own(const Own &) = delete;
  Own &operator=(const Own &) = delete;
  ~Own() {
    for (Slot &slot : slots_) {
      if (slot.idle.top) give_to_all(slot.idle, slot.context_id);
    }
    ended = true;
  }

  Stack &of(std::uint64_t context_id) noexcept {
    for (Slot &slot : slots_) {
      if (slot.context_id == context_id) return slot.idle;
    }
    Slot &slot = slots_[next_++ % own_contexts];
    if (slot.idle.top) give_to_all(slot.idle, slot.context_id);
    slot.context_id = context_id;
    return slot.idle;
  }

  static thread_local bool ended;  // other thread-local objects may end later, and hold events

 private:
  struct Slot {
    std::uint64_t context_id = 0;
    Stack idle;
  };
  Slot slots_[own_contexts];
  std::size_t next_ = 0;
};

std::atomic<std::uint64_t> records{0};

thread_local bool Own::ended = false;
thread_local Own own;

PooledEvent *take(std::uint64_t context_id) {
  Common &all = common();
  if (Own::ended) {
    const std::lock_guard lock(all.mutex);
    return all.of(context_id).idle.pop();
  }
  Stack &mine = own.of(context_id);
  if (PooledEvent *const node = mine.pop()) return node;
  const std::lock_guard lock(all.mutex);
  mine.take(all.of(context_id).idle, own_most / 2);
  return mine.pop();
}

void give_back(PooledEvent *node) noexcept {
  const std::uint64_t context_id = node->context_id;
  if (Own::ended) {
    Stack one;
    one.push(node);
    return give_to_all(one, context_id);
  }
  Stack &mine = own.of(context_id);
  if (mine.size >= own_most) {
    Stack half;
    half.take(mine, own_most / 2);
    give_to_all(half, context_id);
  }
  mine.push(node);
}

void destroy_node(driver::Session &session, PooledEvent *node) noexcept {
  session.faults.attempt(session.cu.cuEventDestroy, node->event);
  delete node;
}

}  // namespace

Event::Event(const Event &other) noexcept : node_(other.node_) {
  if (node_) node_->shares.fetch_add(1, std::memory_order_relaxed);
}

void Event::drop() noexcept {
  if (node_->shares.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    node_->shares.store(1, std::memory_order_relaxed);
    give_back(node_);
  }
}

Event Event::record(driver::Session &session, Stream &stream) {
  identify(session, stream);
  Event event(take(stream.context_id));
  if (!event) {
    session.relax();
    if (any_condemned()) destroy_condemned(session, stream.context_id);
    auto node = std::make_unique<PooledEvent>();
    session.in(stream.context, [&] {
      driver::must(session.cu.cuEventCreate, &node->event, driver::event_disable_timing);
      node->context = stream.context;
      node->context_id = stream.context_id;
      event.node_ = node.release();
    });
  }
  event.node_->recording = ++records;
  with(session, stream,
       [&] { driver::must(session.cu.cuEventRecord, event.handle(), stream.handle()); });
  event.node_->recorded = ++records;
  return event;
}

bool Event::follows(const Event &other) const noexcept {
  return node_->recording > other.node_->recorded;
}

driver::CUevent Event::handle() const noexcept {
  return node_->event;
}

std::uint64_t Event::context_id() const noexcept {
  return node_->context_id;
}

driver::CUcontext Event::context() const noexcept {
  return node_->context;
}

void Event::destroy(driver::Session &session) noexcept {
  try {
    session.relax();
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

void destroy_condemned(driver::Session &session, std::uint64_t context_id) noexcept {
  Stack condemned;
  {
    Common &all = common();
    const std::lock_guard lock(all.mutex);
    const auto found = all.contexts.find(context_id);
    if (found == all.contexts.end()) return;
    std::swap(condemned, found->second.condemned);
    all.condemned.fetch_sub(condemned.size, std::memory_order_relaxed);
  }
  while (PooledEvent *const node = condemned.pop()) destroy_node(session, node);
}

}  // namespace cai::order
