// SPDX-License-Identifier: BSD-3-Clause
// The rules of order, as cai.h says them to those who call it: what each party has been told, and
// which records and waits each rule adds, at which moment. Nothing of libcai's code is known here.
//
// A rule is a row of kRules: a function that may be left out. No rule looks at what is ordered
// already (the sets of World); it knows what an array and its owner say.
#ifndef TESTS_EXPLORE_MODEL_RULES_HPP
#define TESTS_EXPLORE_MODEL_RULES_HPP

#include <string_view>

#include "world.hpp"

namespace order_model {

// How an array says its stream. UNSTATED is a stream, 1.
enum Said : std::uint8_t { kNone, kStream, kEvent };

struct Array {
  bool there = false;
  Said said = kNone;
  Stream stream = kHost;
  Set event = 0;  // of kEvent; of a published stream: what was queued there by then
  std::int8_t owner = 0;
  Bytes bytes;
  bool published = false;  // consumers of the owner's other arrays are told its stream
  bool exported = false;   // a consumer that keeps no uses has its dict
  bool used = false;       // uses in order with its stream, which are not kept

  bool same_as(const Array &other) const {
    return said == other.said && stream == other.stream && owner == other.owner &&
           (said != kEvent || event == other.event);
  }
};

struct Owner {
  bool foreign = false;  // an import: the exporter itself keeps no uses
  bool reclaims = false;
  bool copied = false;      // the producer has published a view
  bool differs = false;     // of an array that nobody has any more
  Stream freed_on = kHost;  // STREAM_ORDERED, and foreign: the stream that the memory is freed on
};

struct Kept {
  Set event = 0;
  Stream stream = kHost;
  Stream covered = kHost;  // the array's stream, if it waits for the event
  bool writes = false;
  std::int8_t owner = 0;
  Bytes bytes = {};
  int view = -1;  // the array that comes with the event
};

// What will happen, or has happened, to one array.
struct Act {
  int array;
  Stream stream;  // of the party that acts
  bool writes;
  int thread = 1;
  bool keep = false;       // the owner keeps the use
  Stream covered = kHost;  // the array's stream, once it waits for this act
  bool recorded = false;
  Set event = 0;
  Stream target = kHost;         // of what is published
  bool is_synchronized = false;  // a host may wait for the stream, with nothing queued there
};

enum Moment : std::uint8_t {
  kBefore,      // a party's work on the stream, or the host's, is to come: begin, reclaim, publish,
                // export, a wait of the host
  kEnd,         // the consumer's work is queued, and it ends the use
  kLetGo,       // the consumer's work is queued, and it calls release_on
  kSameStream,  // the consumer works on the array's stream and makes no event
  kExport,      // to a dict
  kPublish,     // `stream` is one of the streams that the producer publishes
  kPublishOwn,  // `stream` is what it publishes a copy on
  kPublishedEvent,  // an event was recorded on `stream`, and a copy comes with it
  kProduce,         // the producer is to work on the stream
  kProduced,        // it has
  kViewEnd,         // the last holder of a published view lets go
  kLastRelease,     // of an owner
  kMoments
};

inline constexpr int kMaxArrays = 5;
inline constexpr int kMaxKept = 16;
inline constexpr int kMaxRules = 32;

struct Model;
using Apply = void (*)(Model &, Act &);

// The rules that are kept, by moment, in the order of kRules.
struct RuleBook {
  Apply at[kMoments][kMaxRules] = {};
};

struct Model {
  World world;
  Array arrays[kMaxArrays];
  Owner owners[2];
  Kept kept[kMaxKept];
  const RuleBook *book = nullptr;
  std::int8_t kept_count = 0;
  std::uint8_t pending = 0;     // the streams, a bit each, of producer's work not yet published
  std::uint8_t waited_for = 0;  // those that an act waits for whatever is kept
  bool as_event = false;        // what is being published is said by an event
  bool full = false;            // there is no room here for such a program
  bool refused = false;         // a status instead of an order: the program ends here, with no harm

  void at(Moment moment, Act &act) {
    for (const Apply *apply = book->at[moment]; *apply; ++apply) (*apply)(*this, act);
  }

  Owner &owner_of(const Array &array) { return owners[array.owner]; }

  // One record for all that an act needs it for.
  Set record(Act &act) {
    if (!act.recorded) act.event = world.record(act.stream);
    act.recorded = true;
    return act.event;
  }

  // A stream's later use comes after its earlier ones, and replaces them; a read replaces no write.
  void keep(const Array &array, Kept use) {
    use.owner = array.owner;
    use.bytes = array.bytes;
    std::int8_t left = 0;
    for (int i = 0; i < kept_count; ++i) {
      if (!stands_for(use, kept[i]) || (kept[i].writes && !use.writes)) kept[left++] = kept[i];
    }
    kept_count = left;
    if (kept_count == kMaxKept) {
      full = true;
      return;
    }
    kept[kept_count++] = use;
  }

  static bool stands_for(const Kept &later, const Kept &use) {
    return later.owner == use.owner && later.stream == use.stream;
  }

  // 2 means the stream of the thread that names it: on another thread it would be another stream.
  static Stream stream_of(const Array &array, const Act &act) {
    return array.stream == kThread1 && act.thread == 2 ? kThread2 : array.stream;
  }

  // Whether arrays of one owner come with different streams.
  bool streams_differ(int owner) const {
    if (owners[owner].differs) return true;
    const Array *first = nullptr;
    for (const Array &array : arrays) {
      if (!array.there || array.owner != owner) continue;
      if (first && !first->same_as(array)) return true;
      if (!first) first = &array;
    }
    return false;
  }

  void wait_for_stream(const Act &act, Stream stream) {
    if (act.stream == stream) return;
    const bool is_published = waited_for >> stream & 1;  // which waits anyway
    const bool is_told = stream == kLegacy && !is_published && is_told_legacy(act.array);
    const bool is_awaited = act.is_synchronized || is_told;
    if (!is_awaited && in_implicit_order(act.stream, stream)) return;
    world.wait(act.stream, world.record(stream));
  }

  // A consumer that was told 1 may have left out the event between 1 and a blocking stream, and
  // keeps this in an owner of its own.
  bool is_told_legacy(int array) const {
    for (const Array &other : arrays) {
      const bool is_told = other.there && other.exported && other.stream == kLegacy;
      if (is_told && other.said == kStream && other.owner == arrays[array].owner) return true;
    }
    return false;
  }

  // The streams, a bit each, that other arrays of the owner were exported with.
  unsigned told_streams(int array) const {
    unsigned streams = 0;
    for (const Array &other : arrays) {
      if (&other == &arrays[array] || !other.there || !other.exported) continue;
      if (other.owner == arrays[array].owner) streams |= 1U << other.stream;
    }
    return streams;
  }

  void wait_for(Kept &use, const Act &act) {
    const Array &array = arrays[act.array];
    if (!use.writes && !act.writes) return;
    for (const Kept *later = &use + 1; act.writes && later < kept + kept_count; ++later) {
      if (stands_for(*later, use)) return;
    }
    if (use.covered != kHost && use.covered == act.stream) return;
    if (use.stream == act.stream) return;
    if (array.said == kStream && use.stream == array.stream) return;
    const unsigned others = waited_for | told_streams(act.array);
    if (others >> use.stream & 1) return;
    if (use.covered != kHost && (others >> use.covered & 1)) return;
    if (array.said == kStream && use.covered == array.stream) return;
    if (use.view == act.array) return;
    world.wait(act.stream, use.event);
    if (array.said == kStream && array.stream == act.stream) use.covered = act.stream;
  }

  // A copy of the struct whose stream is `target`, or an event recorded there. Returns its index.
  int publish(int original, Stream target, Said said) {
    int place = 1;
    while (place < kMaxArrays && (arrays[place].there || arrays[place].published)) ++place;
    if (place == kMaxArrays) {
      full = true;
      return original;
    }
    Act act{original, target, true};
    if (said == kStream) at(kPublishOwn, act);
    waited_for = pending;
    as_event = said == kEvent;
    // Ahead of the waits: a later event on a stream in order with the target comes after them.
    Act published[kStreams];
    for (int i = 0; i < kStreams; ++i) {
      published[i] = {original, static_cast<Stream>(i), true};
      published[i].covered = published[i].target = target;
      if ((pending >> i & 1) && !(as_event && i == target)) record(published[i]);
    }
    at(kBefore, act);
    waited_for = 0;
    for (int i = 0; i < kStreams; ++i) {
      if (pending >> i & 1) at(kPublish, published[i]);
    }
    pending = 0;
    Array &view = arrays[place];
    view = arrays[original];
    view.said = said;
    view.stream = said == kEvent ? kHost : target;
    view.event = said == kEvent ? world.record(target) : world.tail[target];
    view.published = true;
    owner_of(view).copied = true;
    view.exported = view.used = false;
    if (said == kEvent) {
      Act event{place, target, true, 1, false, kHost, true, view.event};
      at(kPublishedEvent, event);
    }
    return place;
  }
};

// ---- Before work: begin, reclaim, publish, export, and the host ---------------------------------

inline void refuse_another_threads_2(Model &m, Act &act) {
  const Array &array = m.arrays[act.array];
  if (array.said == kStream && array.stream == kThread1 && act.thread == 2) m.refused = true;
}

inline void wait_for_the_array(Model &m, Act &act) {
  const Array &array = m.arrays[act.array];
  if (array.said == kEvent) m.world.wait(act.stream, array.event);
  if (array.said == kStream && act.stream != kHost) {
    m.wait_for_stream(act, Model::stream_of(array, act));
  }
}

// cuStreamSynchronize waits for the stream's own work.
inline void host_waits_for_the_stream(Model &m, Act &act) {
  const Array &array = m.arrays[act.array];
  if (act.stream != kHost || array.said != kStream) return;
  m.world.wait(kHost, m.world.tail[array.stream]);
}

inline void host_waits_for_an_event(Model &m, Act &act) {
  const Array &array = m.arrays[act.array];
  if (act.stream != kHost || array.said != kStream) return;
  m.world.wait(kHost, m.world.record(array.stream));
}

inline void wait_for_kept_uses(Model &m, Act &act) {
  for (int i = 0; i < m.kept_count; ++i) {
    if (m.kept[i].owner == m.arrays[act.array].owner) m.wait_for(m.kept[i], act);
  }
}

inline void find_kept_uses_by_address(Model &m, Act &act) {
  const Array &array = m.arrays[act.array];
  if (!m.owner_of(array).foreign) return;
  for (int i = 0; i < m.kept_count; ++i) {
    Kept &use = m.kept[i];
    if (use.owner != array.owner && overlap(use.bytes, array.bytes)) m.wait_for(use, act);
  }
}

inline void wait_for_what_is_published(Model &m, Act &act) {
  const Array &array = m.arrays[act.array];
  for (const Array &other : m.arrays) {
    if (&other == &array || !other.published || other.owner != array.owner) continue;
    if (other.said == kEvent || (other.stream == kThread1 && act.thread == 2)) {
      m.world.wait(act.stream, other.event);
    } else if (act.stream == kHost) {
      m.world.wait(kHost, m.world.tail[other.stream]);
    } else if (array.said != kStream || array.stream != other.stream) {
      m.wait_for_stream(act, other.stream);
    }
  }
}

inline void refuse_a_published_2(Model &m, Act &act) {
  const Array &array = m.arrays[act.array];
  for (const Array &other : m.arrays) {
    if (&other == &array || !other.published || other.owner != array.owner) continue;
    if (other.stream == kThread1 && act.thread == 2 && array.said != kNone) m.refused = true;
  }
}

inline void wait_for_what_is_exported(Model &m, Act &act) {
  const Array &array = m.arrays[act.array];
  unsigned waited_for = m.waited_for;  // those are published
  for (const Array &other : m.arrays) {
    if (&other == &array || !other.there || !other.exported || other.owner != array.owner) continue;
    if (array.said == kStream && array.stream == other.stream) continue;
    if (waited_for >> other.stream & 1) continue;
    waited_for |= 1U << other.stream;
    if (other.stream == kThread1 && act.thread == 2) {
      m.refused = true;
    } else if (act.stream == kHost) {
      m.world.wait(kHost, m.world.record(other.stream));
    } else {
      m.wait_for_stream(act, other.stream);
    }
  }
}

// ---- After work: the end of a use ---------------------------------------------------------------

inline bool in_order(const Array &array, const Act &act) {
  const Stream stream = Model::stream_of(array, act);
  return array.said == kStream && (stream == act.stream || in_implicit_order(stream, act.stream));
}

inline void hand_back(Model &m, Act &act) {
  const Array &array = m.arrays[act.array];
  if (array.said != kStream || m.owner_of(array).reclaims || in_order(array, act)) return;
  m.world.wait(Model::stream_of(array, act), m.record(act));
  act.covered = array.stream;
}

// The driver orders a blocking stream's next work behind stream 1, but no host that waits for the
// stream as it is.
inline bool only_by_stream_1(const Array &array, const Act &act) {
  return kKinds[act.stream].legacy && in_order(array, act) &&
         Model::stream_of(array, act) != act.stream;
}

inline void hand_back_from_stream_1(Model &m, Act &act) {
  const Array &array = m.arrays[act.array];
  if (!only_by_stream_1(array, act) || m.owner_of(array).reclaims) return;
  m.world.wait(Model::stream_of(array, act), m.record(act));
  act.covered = array.stream;
}

inline void keep_from_stream_1(Model &m, Act &act) {
  const Array &array = m.arrays[act.array];
  if (only_by_stream_1(array, act) && m.owner_of(array).reclaims) act.keep = true;
}

inline void keep_what_is_not_in_order(Model &m, Act &act) {
  const Array &array = m.arrays[act.array];
  const bool freed_in_order = m.owner_of(array).freed_on != kHost && act.covered != kHost;
  if (!in_order(array, act) && !freed_in_order) act.keep = true;
}

inline void keep_where_no_stream_waits(Model &m, Act &act) {
  const Array &array = m.arrays[act.array];
  if (!in_order(array, act) && (array.said != kStream || m.owner_of(array).reclaims)) {
    act.keep = true;
  }
}

inline void keep_on_stream_1(Model &m, Act &act) {
  const Array &array = m.arrays[act.array];
  if (array.said == kStream && array.stream == kLegacy && act.stream != kLegacy &&
      in_order(array, act)) {
    act.keep = true;
  }
}

inline void keep_where_streams_differ(Model &m, Act &act) {
  if (m.streams_differ(m.arrays[act.array].owner)) act.keep = true;
}

inline void keep_what_is_handed_back(Model &m, Act &act) {
  const Owner &owner = m.owner_of(m.arrays[act.array]);
  if (act.covered != kHost && (owner.foreign || act.covered != owner.freed_on)) act.keep = true;
}

inline void keep_what_is_let_go(Model &, Act &act) {
  act.keep = true;
}

inline void mark_the_rest(Model &m, Act &act) {
  Array &array = m.arrays[act.array];
  if (!act.keep && in_order(array, act) && !m.owner_of(array).foreign) array.used = true;
}

// ---- On the array's own stream ------------------------------------------------------------------

inline void refuse_same_stream_after_kept_uses(Model &m, Act &act) {
  const Array &array = m.arrays[act.array];
  for (int i = 0; i < m.kept_count; ++i) {
    if (m.kept[i].owner == array.owner && m.kept[i].covered != array.stream) m.refused = true;
  }
  for (const Array &other : m.arrays) {
    if (&other == &array || !other.published || other.owner != array.owner) continue;
    if (other.said == kEvent || other.stream != array.stream) m.refused = true;
  }
}

inline void same_stream_waits(Model &m, Act &act) {
  m.at(kBefore, act);
}

inline void refuse_same_stream_where_streams_differ(Model &m, Act &act) {
  if (m.streams_differ(m.arrays[act.array].owner)) m.refused = true;
}

// ---- Dicts --------------------------------------------------------------------------------------

inline void export_none_as_1_after_uses(Model &m, Act &act) {
  const Array &array = m.arrays[act.array];
  if (array.said != kNone) return;
  bool any = false;
  for (int i = 0; i < m.kept_count; ++i) any |= m.kept[i].owner == array.owner;
  for (const Array &other : m.arrays) any |= other.published && other.owner == array.owner;
  if (!any) return;
  act.array = m.publish(act.array, kLegacy, kStream);
}

inline void synchronize_what_is_exported(Model &, Act &act) {
  act.is_synchronized = true;
}

inline void exported_stream_waits(Model &m, Act &act) {
  if (m.refused || m.arrays[act.array].said != kStream) return;
  act.stream = m.arrays[act.array].stream;
  m.at(kBefore, act);
  // Stream 1 gets an operation after the work for which earlier consumers of 1 left out the event.
  const bool is_told = act.stream == kLegacy && m.is_told_legacy(act.array);
  if (act.is_synchronized && is_told) m.world.wait(act.stream, m.world.record(act.stream));
}

inline void remember_what_is_exported(Model &m, Act &act) {
  if (!m.refused && m.arrays[act.array].said == kStream) m.arrays[act.array].exported = true;
}

inline void mark_what_is_exported(Model &m, Act &act) {
  if (!m.refused && m.arrays[act.array].said == kStream) m.arrays[act.array].used = true;
}

// ---- Producers ----------------------------------------------------------------------------------

inline void published_stream_waits(Model &m, Act &act) {
  const Stream target = act.covered;
  if (target == act.stream) return;
  if (in_implicit_order(target, act.stream)) {
    act.covered = kHost;
    return;
  }
  m.world.wait(target, m.record(act));
}

// A host may wait for the target, which is not after stream 1 then: neither if that is published,
// nor if it is the array's own.
inline void publish_from_stream_1(Model &m, Act &act) {
  const Array &array = m.arrays[act.array];
  if (act.target != kHost) {
    if (act.covered != kHost || !kKinds[act.stream].legacy) return;
    act.covered = act.target;
    return m.world.wait(act.target, m.record(act));
  }
  if (array.said != kStream || !kKinds[array.stream].legacy) return;
  if (m.pending >> array.stream & 1) return;                           // it is published anyway
  if (array.stream == kLegacy && m.is_told_legacy(act.array)) return;  // likewise
  if (in_implicit_order(array.stream, act.stream)) {
    m.world.wait(act.stream, m.world.record(array.stream));
  }
}

inline void keep_what_is_published_as_1(Model &m, Act &act) {
  if (act.covered == kHost) m.keep(m.arrays[act.array], {m.record(act), act.stream, kHost, true});
}

inline void keep_what_is_published(Model &m, Act &act) {
  if (act.stream == act.covered && m.as_event) return;  // which is kept itself
  m.keep(m.arrays[act.array], {m.record(act), act.stream, act.covered, true});
}

inline void keep_its_own_work_as_1(Model &m, Act &act) {
  const Array &array = m.arrays[act.array];
  if (array.said != kStream || !kKinds[act.stream].legacy || array.stream == act.stream) return;
  if (!in_implicit_order(array.stream, act.stream)) return;
  m.keep(array, {m.world.record(array.stream), array.stream, array.stream, true});
}

// The event comes after what is marked on its stream, which may be destroyed now; but consumers of
// a dict that says the stream still work there.
inline void keep_a_published_event(Model &m, Act &act) {
  const Array &array = m.arrays[act.array];
  m.keep(array, {act.event, act.stream, kHost, true, 0, {}, act.array});
  const auto is_there = [&](const Array &other) {
    return other.owner == array.owner && other.said == kStream && other.stream == act.stream;
  };
  for (const Array &other : m.arrays) {
    if (is_there(other) && other.there && other.exported) return;
  }
  for (Array &other : m.arrays) {
    if (is_there(other)) other.used = false;
  }
}

inline bool on_its_own_stream(Model &m, const Act &act) {
  const Array &array = m.arrays[act.array];
  return array.said == kStream && array.stream == act.stream;
}

inline void reclaim(Model &m, Act &act) {
  if (!on_its_own_stream(m, act) || m.owner_of(m.arrays[act.array]).reclaims) m.at(kBefore, act);
}

inline void reclaim_after_a_copy(Model &m, Act &act) {
  const Owner &owner = m.owner_of(m.arrays[act.array]);
  if (on_its_own_stream(m, act) && owner.copied && !owner.reclaims) m.at(kBefore, act);
}

inline void publish_again(Model &m, const Act &act) {
  const Array &array = m.arrays[act.array];
  if (on_its_own_stream(m, act) && !m.streams_differ(array.owner)) {
    m.pending = static_cast<std::uint8_t>(m.pending & ~(1U << act.stream));
    return;
  }
  const Stream target = array.said == kStream ? array.stream : act.stream;
  const Said said = array.said == kEvent ? kEvent : kStream;
  m.publish(act.array, target, said);
}

inline void publish_after_writing(Model &m, Act &act) {
  if (act.writes) publish_again(m, act);
}

inline void publish_after_reading(Model &m, Act &act) {
  if (!act.writes) publish_again(m, act);
}

// ---- Ends ---------------------------------------------------------------------------------------

inline void remember_for_ever(Model &, Act &act) {
  act.keep = true;
}

// Memory that is freed on the stream itself needs no record. But the end of a view does, for
// consumers of the other arrays, unless another view was exported with its stream.
inline void record_what_is_marked(Model &m, Act &act) {
  const Array &array = m.arrays[act.array];
  if (!array.used || (!array.published && m.owner_of(array).freed_on == array.stream)) return;
  for (const Array &other : m.arrays) {
    const bool is_exported = &other != &array && other.there && other.published && other.exported;
    const bool is_its_stream = other.owner == array.owner && other.stream == array.stream;
    if (array.published && is_exported && is_its_stream) return;
  }
  m.keep(array, {m.world.record(array.stream), array.stream, kHost, true});
}

// The end is deferred until the host has found them complete.
inline void end_after_kept_uses(Model &m, Act &act) {
  for (int i = 0; i < m.kept_count; ++i) {
    const Owner &owner = m.owners[m.kept[i].owner];
    const bool waits = owner.freed_on == kHost || m.kept[i].covered != owner.freed_on;
    if (waits || owner.foreign) act.event |= m.kept[i].event;
  }
}

// ---- The table ----------------------------------------------------------------------------------

// Which rules there are: as documented before, as the issue decided them, and as they are.
enum Edition : std::uint8_t { kWas = 1, kDecided = 2, kNow = 4, kAll = 7 };

struct Rule {
  std::string_view name;
  Apply apply;
  std::uint16_t moments;
  std::uint8_t editions;
  std::string_view words;
};

constexpr std::uint16_t on(Moment a) {
  return static_cast<std::uint16_t>(1U << a);
}
constexpr std::uint16_t on(Moment a, Moment b) {
  return static_cast<std::uint16_t>(on(a) | on(b));
}

inline constexpr Rule kRules[] = {
    {"refuse-2", refuse_another_threads_2, on(kBefore), kAll, "a 2 is refused on another thread"},
    {"wait-stream", wait_for_the_array, on(kBefore), kAll,
     "who begins waits for the array's stream or event"},
    {"host-stream", host_waits_for_the_stream, on(kBefore), kWas | kDecided,
     "the host waits for the array's stream"},
    {"host-event", host_waits_for_an_event, on(kBefore), kNow,
     "the host waits for an event that is recorded on the array's stream"},
    {"wait-kept", wait_for_kept_uses, on(kBefore), kAll,
     "who begins waits for kept uses that conflict"},
    {"wait-address", find_kept_uses_by_address, on(kBefore), kDecided | kNow,
     "and, of exporters that keep none, for those of the same bytes"},
    {"wait-published", wait_for_what_is_published, on(kBefore), kWas | kDecided,
     "who begins waits for every stream and event that the owner has published"},
    {"refuse-published-2", refuse_a_published_2, on(kBefore), kWas,
     "a 2 that was published is refused on another thread"},
    {"wait-exported", wait_for_what_is_exported, on(kBefore), kNow,
     "who begins waits for the other streams that arrays of the owner were exported with, as dicts"},
    {"hand-back", hand_back, on(kEnd), kAll,
     "at the end the array's stream waits, but for RECLAIMS"},
    {"hand-back-let-go", hand_back, on(kLetGo), kNow, "release_on is an end, too"},
    {"hand-back-from-1", hand_back_from_stream_1, on(kEnd, kLetGo), kNow,
     "a blocking stream, or 2, waits for a use on 1, too: a host may wait for it"},
    {"keep-unordered", keep_what_is_not_in_order, on(kEnd), kWas,
     "what is not in order with the array's stream is kept"},
    {"keep-no-stream", keep_where_no_stream_waits, on(kEnd), kDecided | kNow,
     "a use is kept where no stream waits for it: NONE, an event, RECLAIMS"},
    {"keep-stream-1", keep_on_stream_1, on(kEnd), kDecided | kNow,
     "a use of an array on 1 by a blocking stream, or 2, is kept"},
    {"keep-from-1", keep_from_stream_1, on(kEnd), kNow, "where it reclaims, that use is kept"},
    {"keep-differ", keep_where_streams_differ, on(kEnd), kDecided | kNow,
     "every use is kept while arrays of the owner come with different streams"},
    {"keep-handed-back", keep_what_is_handed_back, on(kEnd), kDecided | kNow,
     "so is what the array's stream waits for, unless the memory is freed on that"},
    {"keep-let-go", keep_what_is_let_go, on(kLetGo), kAll, "release_on keeps the use"},
    {"mark", mark_the_rest, on(kEnd, kSameStream), kDecided | kNow,
     "uses that are not kept, and in order with the array's stream, are marked"},
    {"same-refuse-kept", refuse_same_stream_after_kept_uses, on(kSameStream), kWas,
     "same_stream is refused where the array's stream does not wait for a kept use"},
    {"same-wait", same_stream_waits, on(kSameStream), kDecided | kNow,
     "same_stream makes the array's stream wait for kept uses"},
    {"same-refuse-differ", refuse_same_stream_where_streams_differ, on(kSameStream), kNow,
     "same_stream is refused while arrays of the owner come with different streams"},
    {"export-none", export_none_as_1_after_uses, on(kExport), kAll,
     "NONE leaves as 1, in a dict, where uses are kept"},
    {"export-host", synchronize_what_is_exported, on(kExport), kNow,
     "a host may wait for the stream that a dict says: it waits whatever the driver orders"},
    {"export-wait", exported_stream_waits, on(kExport), kAll,
     "the stream that a dict says waits for kept uses first"},
    {"export-remember", remember_what_is_exported, on(kExport), kNow,
     "what was exported as a dict is remembered as long as the view lives"},
    {"export-mark", mark_what_is_exported, on(kExport), kNow, "and counts as marked"},
    {"publish-wait", published_stream_waits, on(kPublish), kAll,
     "the target waits for the streams that are published"},
    {"publish-from-1", publish_from_stream_1, on(kPublish, kPublishOwn), kNow,
     "whatever the driver orders, for stream 1: a host may wait for the target"},
    {"publish-keep-1", keep_what_is_published_as_1, on(kPublish), kDecided,
     "work of blocking streams that is published as 1 is kept as a write"},
    {"publish-keep", keep_what_is_published, on(kPublish), kNow,
     "what is published is kept as a write"},
    {"publish-keep-event", keep_a_published_event, on(kPublishedEvent), kNow, "an event, too"},
    {"publish-keep-own-1", keep_its_own_work_as_1, on(kPublishOwn), kNow,
     "so is what is pending on a blocking stream of the array's own, where a copy says 1"},
    {"reclaim", reclaim, on(kProduce), kAll,
     "the producer reclaims before it works on another stream, or after it said RECLAIMS"},
    {"reclaim-copied", reclaim_after_a_copy, on(kProduce), kNow,
     "and on any stream once it has published a copy"},
    {"publish-again", publish_after_writing, on(kProduced), kDecided | kNow,
     "the producer that wrote there publishes again"},
    {"publish-again-read", publish_after_reading, on(kProduced), kNow, "or read there"},
    {"record-marked", record_what_is_marked, on(kViewEnd, kLastRelease), kDecided | kNow,
     "the last release of a view or owner records once on a stream that is marked, and keeps that"},
    {"end-kept", end_after_kept_uses, on(kLastRelease), kAll,
     "the owner ends once all kept uses are complete"},
    {"never-forget", remember_for_ever, on(kViewEnd), kWas,
     "what was published is waited for after the view has gone, too"},
};
inline constexpr int kRuleCount = sizeof(kRules) / sizeof(kRules[0]);

using Rules = std::uint64_t;  // a bit for each row of kRules

constexpr Rules rules_of(Edition edition) {
  Rules rules = 0;
  for (int i = 0; i < kRuleCount; ++i) {
    if (kRules[i].editions & edition) rules |= Rules{1} << i;
  }
  return rules;
}

constexpr RuleBook book_of(Rules rules) {
  RuleBook book;
  for (int moment = 0; moment < kMoments; ++moment) {
    int count = 0;
    for (int i = 0; i < kRuleCount; ++i) {
      if ((rules >> i & 1) && (kRules[i].moments >> moment & 1)) {
        book.at[moment][count++] = kRules[i].apply;
      }
    }
  }
  return book;
}

}  // namespace order_model

#endif  // TESTS_EXPLORE_MODEL_RULES_HPP
