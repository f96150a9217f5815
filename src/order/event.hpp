// SPDX-License-Identifier: BSD-3-Clause
// Events of libcai's own, for ordering only: counted, and pooled by context. The one place where
// they come from and go to.
#pragma once

#include <utility>

#include "order/stream.hpp"

namespace cai::order {

struct PooledEvent;

// A share of an event. The last one gives the event back to the pool, which calls no driver: a wait
// takes the event's state at the time of the call, so it may be recorded anew as soon as the last
// wait for it is queued.
class Event {
 public:
  Event() = default;
  Event(const Event &other) noexcept;
  Event(Event &&other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Event &operator=(Event other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Event() {
    if (node_) drop();
  }

  // Records a new event on the stream, which must be of the context that it was identified with.
  static Event record(driver::Session &session, Stream &stream);

  explicit operator bool() const noexcept { return node_ != nullptr; }
  bool operator==(const Event &) const = default;
  driver::CUevent handle() const noexcept;
  std::uint64_t context_id() const noexcept;
  driver::CUcontext context() const noexcept;  // may have gone; to be compared only

  // Whether it was recorded after the other one for certain. Threads may record on one stream at
  // the same time, and then nobody knows which came first.
  bool follows(const Event &other) const noexcept;

  // Destroys the event: it was recorded in a capture, and must not serve for anything else. The
  // failure is the session's. For the only share.
  void destroy(driver::Session &session) noexcept;

  // The only share may be given to somebody who calls condemn() once nothing refers to the event
  // any more: let_go() then.
  PooledEvent *node() const noexcept { return node_; }
  PooledEvent *let_go() noexcept { return std::exchange(node_, nullptr); }

 private:
  explicit Event(PooledEvent *node) noexcept : node_(node) {}
  void drop() noexcept;

  PooledEvent *node_ = nullptr;
};

// An event that is not to be used again, from where the driver may not be called: it is destroyed
// by and by.
void condemn(PooledEvent *event) noexcept;

bool any_condemned() noexcept;

// Destroys the condemned events of a context that is alive.
void destroy_condemned(driver::Session &session, std::uint64_t context_id) noexcept;

}  // namespace cai::order
