// SPDX-License-Identifier: BSD-3-Clause
// Events of libcai's own, for ordering only: counted, and pooled by context. The one place where
// they come from and go to.
#pragma once

#include <atomic>
#include <utility>

#include "order/stream.hpp"

namespace cai::order {

struct PooledEvent {
  driver::CUevent event;
  driver::CUcontext context;
  std::uint64_t context_id;
  // By the count of its stream's records: those that had ended when this one began, and its own
  // end.
  std::uint64_t before = 0, ended = 0;
  std::atomic<std::uint32_t> shares{1};
  PooledEvent *next = nullptr;
};

// A share of an event. The last one gives the event back to the pool, which calls no driver: a wait
// takes the event's state at the time of the call, so it may be recorded anew as soon as the last
// wait for it is queued.
class Event {
 public:
  Event() = default;
  Event(const Event &other) noexcept : node_(other.node_) {
    if (node_) node_->shares.fetch_add(1, std::memory_order_relaxed);
  }
  Event(Event &&other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Event &operator=(Event other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Event() {
    if (node_ && node_->shares.fetch_sub(1, std::memory_order_acq_rel) == 1) give_back(node_);
  }

  // Records a new event on the stream, which must be of the context that it was identified with.
  static Event record(driver::Session &session, Stream &stream);

  explicit operator bool() const noexcept { return node_ != nullptr; }
  bool operator==(const Event &) const = default;
  driver::CUevent handle() const noexcept { return node_->event; }
  std::uint64_t context_id() const noexcept { return node_->context_id; }
  // May have gone; to be compared only.
  driver::CUcontext context() const noexcept { return node_->context; }

  // Whether it was recorded after the other one of the same stream, for certain. Threads may record
  // on one stream at the same time, and then it is not known which came first.
  bool follows(const Event &other) const noexcept { return node_->before >= other.node_->ended; }

  // Destroys the event: it was recorded in a capture, and must not serve for anything else. The
  // failure is the session's. For the only share.
  void destroy(driver::Session &session) noexcept;

  // The only share may be given to code that calls condemn() once nothing refers to the event
  // any more: let_go() then.
  PooledEvent *node() const noexcept { return node_; }
  PooledEvent *let_go() noexcept { return std::exchange(node_, nullptr); }

 private:
  explicit Event(PooledEvent *node) noexcept : node_(node) {}
  static void give_back(PooledEvent *node) noexcept;

  PooledEvent *node_ = nullptr;
};

// An event that is not to be used again, from where the driver may not be called: it is destroyed
// by and by.
void condemn(PooledEvent *event) noexcept;

bool any_condemned() noexcept;

// Destroys the condemned events of a context that is alive.
void destroy_condemned(driver::Session &session, std::uint64_t context_id) noexcept;

}  // namespace cai::order
