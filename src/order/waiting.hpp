// SPDX-License-Identifier: BSD-3-Clause
// A stream, or the host, waits for all that arrays ask for.
#pragma once

#include "order/edge.hpp"
#include "order/producers.hpp"
#include "order/trace.hpp"

namespace cai::order {

// A producer's stream, and the event that was recorded there before anybody waited.
struct Recorded {
  Stream stream;
  Event event;
  bool is_waited_for = false;
};

// Returns null if nothing was recorded there.
Recorded *find(Few<Recorded> &recorded, const Stream &stream);

// Makes the stream wait for the producers, and for the rest of the demand but its keepers. `flags`
// are those of Options; `recorded` may be null, and has events that are taken; `forked_from` is
// wanted with CAI_USE_FORK, and gets the producer's stream whose capture the stream has joined.
// `way` is forth, or on.
void wait_for_all(driver::Session &session, Stream &stream, Few<Stream> &producers, Demand &demand,
                  std::uint32_t flags, Few<Recorded> *recorded = nullptr,
                  Stream *forked_from = nullptr, Way way = Way::forth);

// Whether uses within a capture are kept; and, once the stream is probed, makes it come after those
// in its own one that conflict.
bool may_follow_captured(const cai_array *const *arrays, int32_t count) noexcept;
void follow_captured(driver::Session &session, Stream &stream, const cai_array *const *arrays,
                     int32_t count, const Wanted &wanted);
// Likewise, after those of one owner.
void follow_captured(driver::Session &session, Stream &stream, Uses &uses, bool write);
// Keeps, for others in the capture that the stream is in, what it has done there by now.
void keep_captured(driver::Session &session, Stream &stream, Uses &uses, bool write);

// The array's own stream has waited for kept uses, if it is the one that did: what waits for it
// need not wait for them.
void cover_if_own(driver::Session &session, const cai_array &array, Stream &waiting,
                  Conflicts &conflicts);

// The host waits, likewise, once the streams are not needed any more.
void wait_on_host(driver::Session &session, Few<Stream> &producers, Demand &demand,
                  Reading &reading);

// Adds what streams of the CPU's have yet to do on the memory of the array, or its mask, and a
// read, or a write, comes after.
void add_host_work(const cai_array &array, bool write, HostPoints &out);
// Keeps such work. The owner does so here; others find that of an import by address.
void keep_host_work(const cai_array &array, const HostPoint &point, bool write);
void await_points(HostPoints &points, trace::Of of);

// The host waits for all of that. Before a session.
void await_host_work(const cai_array &array, bool write);

// The host waits for all else that is pending on the array, and for all uses that are kept.
void sync_host(const cai_array &array);

// What a function of an owner's own has said, about an array. It may have left the error as it was.
cai_error error_of_keeper(cai_error said, cai_status status, int32_t index) noexcept;

// After the session: owners that keep uses by themselves make the stream wait, or the host (0).
void await_keepers(Demand &demand, std::uint64_t stream);

// Throws CAI_ERR_CAPTURE if a stream is being captured.
void require_not_capturing(driver::Session &session, Stream &stream, const char *what_to_do);

}  // namespace cai::order
