// SPDX-License-Identifier: BSD-3-Clause
// Events of libcai's own, for ordering only: reference-counted, and pooled by context. They are
// created and destroyed here alone.
#pragma once

#include <atomic>
#include <utility>

#include "order/stream.hpp"

namespace cai::order {

struct PooledEvent {
  driver::CUevent event;
  driver::CUcontext context;
  std::uint64_t context_id;
  // The number of finished calls of record() for the stream: when this one began, and when it had
  // finished.
  std::uint64_t before = 0, ended = 0;
  std::atomic<std::uint32_t> shares{1};
  PooledEvent *next = nullptr;
};

// A reference to an event. The last one returns the event to the pool, without a driver call: a
// wait uses the event's state at the time of the call, so the event may be recorded again as soon
// as the last wait for it is queued.
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

  // The same if another thread may begin to capture the stream: empty if it is being captured, and
  // no capture is harmed, but for those of blocking streams if this is the legacy one.
  static Event record_unless_captured(driver::Session &session, Stream &stream);

  explicit operator bool() const noexcept { return node_ != nullptr; }
  bool operator==(const Event &) const = default;
  driver::CUevent handle() const noexcept { return node_->event; }
  std::uint64_t context_id() const noexcept { return node_->context_id; }
  // May have been destroyed; only to be compared.
  driver::CUcontext context() const noexcept { return node_->context; }

  // Whether this event was certainly recorded after the other one, on the same stream. If threads
  // record on one stream at the same time, their order is unknown.
  bool follows(const Event &other) const noexcept { return node_->before >= other.node_->ended; }

  // Destroys the event: it was recorded in a capture, and must not be used again. Failures are
  // noted in the session. This must be the only reference.
  void destroy(driver::Session &session) noexcept;

  // Gives up the only reference, to a caller that calls condemn() once nothing refers to the event
  // any more.
  PooledEvent *node() const noexcept { return node_; }
  PooledEvent *let_go() noexcept { return std::exchange(node_, nullptr); }

 private:
  explicit Event(PooledEvent *node) noexcept : node_(node) {}
  static void give_back(PooledEvent *node) noexcept;

  PooledEvent *node_ = nullptr;
};

// Takes an event that must not be used again, where the driver may not be called. It is destroyed
// later.
void condemn(PooledEvent *event) noexcept;

bool any_condemned() noexcept;

// Destroys the condemned events of a context that exists, and forgets those of older contexts with
// the same handle.
void destroy_condemned(driver::Session &session, driver::CUcontext context,
                       std::uint64_t context_id) noexcept;

}  // namespace cai::order
