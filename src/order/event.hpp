// SPDX-License-Identifier: BSD-3-Clause
// Events of libcai's own, for ordering only. The one place where they come from and go to.
#pragma once

#include "driver/context.hpp"
#include "order/producers.hpp"

namespace cai::order {

// An event of the current context. It may go as soon as the last wait for it is queued: a wait
// takes the event's state at the time of the call, and the driver keeps what it needs.
class OrderEvent {
 public:
  explicit OrderEvent(driver::Session &session) : session_(session) {
    driver::must(session_.cu.cuEventCreate, &event_, driver::event_disable_timing);
  }
  OrderEvent(const OrderEvent &) = delete;
  OrderEvent &operator=(const OrderEvent &) = delete;
  ~OrderEvent() { session_.faults.attempt(session_.cu.cuEventDestroy, event_); }

  // The stream must be of the context that was current when the event was made.
  void record(const Stream &stream) {
    driver::must(session_.cu.cuEventRecord, event_, stream.handle());
  }

  driver::CUevent handle() const noexcept { return event_; }

 private:
  driver::Session &session_;
  driver::CUevent event_ = nullptr;
};

}  // namespace cai::order
