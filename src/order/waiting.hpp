// SPDX-License-Identifier: BSD-3-Clause
// Makes a stream, or the host, wait for all that arrays need.
#pragma once

#include "order/edge.hpp"
#include "order/producers.hpp"
#include "order/trace.hpp"

namespace cai::order {

// A producer's stream, and an event recorded there before anything waited.
struct Recorded {
  Stream stream;
  Event event;
  bool is_waited_for = false;
};

// Returns null if nothing was recorded on the stream.
Recorded *find(Few<Recorded> &recorded, const Stream &stream);

// Makes the stream wait for the producers, and for the rest of the demand except its keepers.
// `flags` are those of Options. `recorded` may be null; its events are used. `forked_from` is
// needed with CAI_USE_FORK, and receives the producer's stream whose capture the stream has joined.
// `way` is not `back`.
void wait_for_all(driver::Session &session, Stream &stream, Few<Stream> &producers, Demand &demand,
                  std::uint32_t flags, Few<Recorded> *recorded = nullptr,
                  Stream *forked_from = nullptr, Way way = Way::forth);

// may_follow_captured(): whether uses in captures are kept. follow_captured(): makes the stream,
// which has been probed, come after those in its own capture that conflict.
bool may_follow_captured(const cai_array *const *arrays, int32_t count) noexcept;
void follow_captured(driver::Session &session, Stream &stream, const cai_array *const *arrays,
                     int32_t count, const Wanted &wanted);
// The same for the uses of one owner.
void follow_captured(driver::Session &session, Stream &stream, Uses &uses, bool write);
// Keeps, for others in the stream's capture, what it has done there so far.
void keep_captured(driver::Session &session, Stream &stream, Uses &uses, bool write);

// If the array's own stream is the one that has waited for kept uses: a wait for it then covers
// them.
void cover_if_own(driver::Session &session, const cai_array &array, Stream &waiting,
                  Conflicts &conflicts);

// The same for the host, once no more code needs the streams.
void wait_on_host(driver::Session &session, Few<Stream> &producers, Demand &demand,
                  Reading &reading);

// Adds the unfinished work of CPU streams on the memory of the array, or its mask, that a read, or
// a write, must come after. Waits for what an owner keeps by itself.
void add_host_work(const cai_array &array, bool write, HostPoints &out);
// Keeps such work in the owner. Others find that of an import by address.
void keep_host_work(const cai_array &array, const HostPoint &point, bool write);
// The same for a write of `size` bytes of the owner's memory, at the host's address.
void keep_host_work(cai_owner &owner, std::uint64_t data, std::uint64_t size,
                    const HostPoint &point);
void await_points(HostPoints &points, trace::Of of);

// Makes the host wait for all such work. Must be called before a session.
void await_host_work(const cai_array &array, bool write);

// Makes the host wait for all other pending work on the array, and for all kept uses.
void sync_host(const cai_array &array);

// The error that an owner's function reported, for an array. The function may have left the error
// unset.
cai_error error_of_keeper(cai_error said, cai_status status, int32_t index) noexcept;

// After the session: owners that keep uses by themselves make the stream wait, or the host (0).
void await_keepers(Demand &demand, std::uint64_t stream);

// Throws CAI_ERR_CAPTURE if a stream is being captured.
void require_not_capturing(driver::Session &session, Stream &stream, const char *what_to_do);

}  // namespace cai::order
