// SPDX-License-Identifier: BSD-3-Clause
// One stream after another: by an event where it takes one, and as a graph capture allows.
#pragma once

#include "order/event.hpp"
#include "order/options.hpp"

namespace cai::order {

// The stream that waits: the consumer's, for its work; a view's; one that is told to a consumer
// without the owner; or the producer's, in turn. It matters in a capture, and where a host may wait
// for that stream.
enum class Way { forth, published, told, back };

enum class Edge {
  none,      // in order as it is
  event,     // by an event of the pool
  within,    // by an edge of the graph that is being captured; both streams are in the capture then
  external,  // the graph waits, at each launch, for an event outside
};

// What it takes for `to` to come after what is on `from`, both probed. Throws CAI_ERR_CAPTURE where
// a capture allows nothing, and says what would help; asks the driver, but changes nothing. `flags`
// are those of Options.
Edge edge_between(driver::Session &session, Stream &from, Stream &to, Way way, uint32_t flags);

// Puts the edge there. An event of the pool may be there for `from` already, and is left for
// others.
void order(driver::Session &session, Stream &from, Stream &to, Edge edge, Event &event);

// Whether nothing is pending on a stream that is not being captured.
bool is_idle(driver::Session &session, Stream &stream);

// Makes the stream wait for a foreign event.
void wait(driver::Session &session, Stream &stream, driver::CUevent event, uint32_t flags = 0);

// Whether an event is pending, that a capturing stream cannot wait for.
bool is_pending(driver::Session &session, driver::CUevent event);

// Gives `context` to the graph that the stream is being captured into: `destroy` is called with it
// once, when the graph and all that was made of it have gone; there the driver may not be called.
// On failure `context` stays the caller's.
void give_to_graph(driver::Session &session, const driver::Capture &capture,
                   void (*destroy)(void *context), void *context);

}  // namespace cai::order
