// SPDX-License-Identifier: BSD-3-Clause
// Which calls of cai.h have met on arrays of the same memory, one right after the other, and on
// which kinds of streams.
#pragma once

namespace wide {

enum class Call {
  begin,
  end,
  finish,
  abandon,
  reclaim,
  publish,
  publish_event,
  release,
  release_on,
  same_stream,
  sync_host,
  dict,
  pending,
  tensor,
  record,
  count
};

enum class Kind {
  one,
  two,
  twos,  // another thread's 2
  blocking,
  other,  // non-blocking
  captured,
  guest,  // of another context
  none,
  event,
  count
};

struct Last {
  Call call = Call::count;
  Kind on = Kind::count;
};

// `last` is for the memory. The kinds of streams: that of the array, and that of the call; none: no
// stream.
void note_pair(Last &last, Call call, Kind said, Kind on);

// As TAP: whether each pair that the rules permit has met.
bool tell_pairs();

}  // namespace wide
