// SPDX-License-Identifier: BSD-3-Clause
// Arrays in use: the hand-over from the producers' streams to the consumer's, and back.
#include <algorithm>
#include <cinttypes>

#include "driver/capture.hpp"
#include "order/event.hpp"
#include "order/producers.hpp"

namespace cai::order {
namespace {

uint32_t order_of(const cai_use_options *options) {
  if (!options) return CAI_ORDER_BOTH;
  constexpr uint32_t known = sizeof(cai_use_options);
  constexpr uint32_t limit = 4096;  // beyond that it is no struct but an uninitialised number
  const uint32_t size = options->struct_size;
  if (size < known || size > limit) {
    throw Failure(CAI_ERR_ARGUMENT, {},
                  "options->struct_size is %u, and not sizeof(cai_use_options)", size);
  }
  const auto *bytes = reinterpret_cast<const unsigned char *>(options);
  if (std::any_of(bytes + known, bytes + size, [](unsigned char byte) { return byte != 0; })) {
    throw Failure(CAI_ERR_ARGUMENT, {},
                  "options asks for something that this libcai is too old for");
  }
  if (options->order > CAI_ORDER_HOST) {
    throw Failure(CAI_ERR_ARGUMENT, {}, "options->order is %u, and not a CAI_ORDER_*",
                  options->order);
  }
  return options->order;
}

void check_stream(std::uint64_t stream) {
  if (stream == 0) {
    throw Failure(CAI_ERR_ARGUMENT, {},
                  "stream is 0, which is never a stream: 1 is the legacy default stream");
  }
}

void refuse_capturing(driver::Session &session, Stream &stream) {
  for_array(stream.index, [&] {
    with(session, stream, [&] { driver::refuse_capturing(session.cu, stream.value); });
  });
}

void refuse_capturing(driver::Session &session, Few<Stream> &streams) {
  for (Stream &stream : streams) refuse_capturing(session, stream);
}

void wait(driver::Session &session, Stream &stream, driver::CUevent event) {
  with(session, stream,
       [&] { driver::must(session.cu.cuStreamWaitEvent, stream.handle(), event, 0U); });
}

void synchronize(driver::Session &session, Stream &stream) {
  with(session, stream, [&] { driver::must(session.cu.cuStreamSynchronize, stream.handle()); });
}

// The host waits for the streams and the events.
void wait_on_host(driver::Session &session, Few<Stream> &streams, Few<Event> &events) {
  for (Stream &stream : streams) {
    for_array(stream.index, [&] { synchronize(session, stream); });
  }
  for (const Event &event : events) {
    for_array(event.index, [&] {
      driver::must(session.cu.cuEventSynchronize, driver::event_handle(event.value));
    });
  }
}

// Leaves the streams that need a wait, once nobody concerned is found capturing.
void leave_unordered(driver::Session &session, Stream &consumer, OnFailure on_failure,
                     Few<Stream> &producers, bool also_events) {
  producers.remove_if([&](const Stream &producer) { return same(producer, consumer); });
  if (producers.empty() && !also_events) return;
  refuse_capturing(session, consumer);
  producers.remove_if([&](Stream &producer) {
    return !attempt(session, on_failure, producer.index,
                    [&] { refuse_capturing(session, producer); });
  });
  producers.remove_if([&](Stream &producer) {
    bool in_order = false;
    return !attempt(session, on_failure, producer.index, [&] {
      in_order = implicitly_ordered(session, producer, consumer);
    }) || in_order;
  });
}

void begin(Demand &demand, std::uint64_t stream, uint32_t order) {
  const bool on_host = order == CAI_ORDER_HOST;
  if (!on_host) {
    // Told apart here, the commonest case of all needs no driver.
    demand.handles.remove_if([&](const Stream &producer) { return producer.value == stream; });
  }
  if (demand.empty()) return;

  driver::Session session;
  Stream consumer = consumer_of(session, stream);
  Few<Stream> producers;
  resolve(session, demand, OnFailure::stop, producers);
  if (on_host) {
    refuse_capturing(session, consumer);
    refuse_capturing(session, producers);
    wait_on_host(session, producers, demand.events);
  } else {
    leave_unordered(session, consumer, OnFailure::stop, producers, !demand.events.empty());
    for (Stream &producer : producers) {
      for_array(producer.index, [&] {
        session.in(context_of(session, producer), [&] {
          OrderEvent event(session);
          event.record(producer);
          wait(session, consumer, event.handle());
        });
      });
    }
    for (const Event &event : demand.events) {
      for_array(event.index, [&] { wait(session, consumer, driver::event_handle(event.value)); });
    }
  }
  session.finish();
}

// Makes every producer wait for the consumer, even if one of them cannot.
void order_back(driver::Session &session, Stream &consumer, Few<Stream> &producers) {
  session.in(context_of(session, consumer), [&] {
    OrderEvent event(session);
    event.record(consumer);
    for (Stream &producer : producers) {
      attempt(session, OnFailure::go_on, producer.index,
              [&] { wait(session, producer, event.handle()); });
    }
  });
}

void end(Demand &demand, std::uint64_t stream, uint32_t order) {
  if (order == CAI_ORDER_HOST) {
    if (demand.empty()) return;
    driver::Session session;
    Stream consumer = consumer_of(session, stream);
    refuse_capturing(session, consumer);
    synchronize(session, consumer);
    session.finish();
    return;
  }
  demand.handles.remove_if([&](const Stream &producer) { return producer.value == stream; });
  if (!demand.streams_empty()) {
    driver::Session session;
    Stream consumer = consumer_of(session, stream);
    Few<Stream> producers;
    resolve(session, demand, OnFailure::go_on, producers);
    leave_unordered(session, consumer, OnFailure::go_on, producers, false);
    if (!producers.empty()) order_back(session, consumer, producers);
    session.finish();
  }
  if (!demand.events.empty()) {
    const Event &event = *demand.events.begin();
    throw Failure(
        CAI_ERR_ORDER, {CAI_ENTRY_STREAM, event.index},
        "event 0x%" PRIx64
        " has no stream that could wait: synchronise the consumer's stream before letting "
        "go of the array",
        event.value);
  }
}

std::uint64_t same_stream(Demand &demand) {
  if (!demand.events.empty()) {
    const Event &event = *demand.events.begin();
    throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM, event.index},
                  "event 0x%" PRIx64 " is no stream to work on", event.value);
  }
  if (demand.streams_empty()) return 0;

  // The values alone tell most streams apart; two defaults may still be of two contexts.
  const Demand::Default *const defaults = demand.defaults.begin();
  const std::uint64_t value =
      demand.defaults.empty() ? demand.handles.begin()->value : defaults->value;
  const auto differs = [&](std::uint64_t other, int32_t index) {
    if (other == value) return;
    throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM, index},
                  "the arrays come with different streams, 0x%" PRIx64 " and 0x%" PRIx64, value,
                  other);
  };
  for (const Stream &stream : demand.handles) differs(stream.value, stream.index);
  for (const Demand::Default &array : demand.defaults) differs(array.value, array.index);
  if (demand.defaults.size() < 2) return value;

  driver::Session session;
  Few<Stream> streams;
  resolve(session, demand, OnFailure::stop, streams);
  session.finish();
  if (streams.size() > 1) {
    throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM, streams.begin()[1].index},
                  "the arrays come with stream %d of different contexts", static_cast<int>(value));
  }
  return value;
}

void sync_host(Demand &demand) {
  if (demand.empty()) return;
  driver::Session session;
  Few<Stream> producers;
  resolve(session, demand, OnFailure::stop, producers);
  refuse_capturing(session, producers);
  wait_on_host(session, producers, demand.events);
  session.finish();
}

}  // namespace
}  // namespace cai::order

using namespace cai;

cai_status cai_arrays_begin_use(const cai_array *const *arrays, int32_t count, uint64_t stream,
                                const cai_use_options *options, cai_error *error) {
  return guard(error, [&] {
    const uint32_t order = order::order_of(options);
    order::check_stream(stream);
    order::Demand demand;
    order::collect_all(arrays, count, demand);
    if (order == CAI_ORDER_END || order == CAI_ORDER_NONE) return;
    order::begin(demand, stream, order);
  });
}

cai_status cai_arrays_end_use(const cai_array *const *arrays, int32_t count, uint64_t stream,
                              const cai_use_options *options, cai_error *error) {
  return guard(error, [&] {
    const uint32_t order = order::order_of(options);
    order::check_stream(stream);
    order::Demand demand;
    order::collect_all(arrays, count, demand);
    if (order == CAI_ORDER_BEGIN || order == CAI_ORDER_NONE) return;
    order::end(demand, stream, order);
  });
}

cai_status cai_arrays_same_stream(const cai_array *const *arrays, int32_t count, uint64_t *out,
                                  cai_error *error) {
  return guard(error, [&] {
    if (!out) throw Failure(CAI_ERR_ARGUMENT, {}, "out is NULL");
    order::Demand demand;
    order::collect_all(arrays, count, demand);
    *out = order::same_stream(demand);
  });
}

cai_status cai_array_sync_host(const cai_array *array, cai_error *error) {
  return guard(error, [&] {
    order::Demand demand;
    order::collect(array, -1, demand);
    order::sync_host(demand);
  });
}
