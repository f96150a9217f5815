// SPDX-License-Identifier: BSD-3-Clause
// Orders one stream after another: by an event if needed, and within the limits of graph capture.
#pragma once

#include "order/event.hpp"
#include "order/options.hpp"

namespace cai::order {

// The stream that waits: the consumer's, before its work; a view's; one named to a consumer without
// the owner; or the producer's, at the end of a use. The distinction matters in a capture, and
// where a host may wait for that stream.
enum class Way { forth, published, told, back };

enum class Edge {
  none,      // already in order
  event,     // by an event from the pool
  within,    // by an edge of the graph that is being captured; both streams are in the capture then
  external,  // the graph waits, at each launch, for an event outside
};

// What is needed for `to` to come after the work on `from`. Both have been probed. Throws
// CAI_ERR_CAPTURE if a capture allows nothing, and says what would help. Queries the driver, but
// changes nothing. `flags` are those of Options.
Edge edge_between(driver::Session &session, Stream &from, Stream &to, Way way, uint32_t flags);

// Adds the edge. If an event of the pool is already recorded for `from`, it is used, and left for
// others.
void order(driver::Session &session, Stream &from, Stream &to, Edge edge, Event &event);

// Whether a stream that is not being captured has no pending work.
bool is_idle(driver::Session &session, Stream &stream);

// Makes the stream wait for a foreign event.
void wait(driver::Session &session, Stream &stream, driver::CUevent event, uint32_t flags = 0);

// Whether an event is pending. A capturing stream cannot wait for such an event.
bool is_pending(driver::Session &session, driver::CUevent event);

// Gives `context` to the graph that the stream is being captured into. `destroy` is called with it
// once, when the graph and all that was made from it are destroyed; it must not call the driver. On
// failure `context` stays the caller's.
void give_to_graph(driver::Session &session, const driver::Capture &capture,
                   void (*destroy)(void *context), void *context);

}  // namespace cai::order
