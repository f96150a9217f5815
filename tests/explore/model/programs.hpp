// SPDX-License-Identifier: BSD-3-Clause
// Programs: how an array is made, and steps by its producer and by others. Who follows the rules
// does in each step what they ask for; a race between two such parties is a fault of the rules.
#ifndef TESTS_EXPLORE_MODEL_PROGRAMS_HPP
#define TESTS_EXPLORE_MODEL_PROGRAMS_HPP

#include <array>
#include <string>
#include <vector>

#include "rules.hpp"

namespace order_model {

enum Keeper : std::uint8_t { kPlain, kReclaims, kStreamOrdered, kForeign };

// Step 1: the producer writes on `work` and says an array; where it says another stream than that,
// it publishes.
struct Beginning {
  Keeper keeper;
  Said said;
  Stream work;
  Stream target;
};

constexpr std::array<const char *, 4> kKeepers = {"an owner that keeps uses", "a RECLAIMS owner",
                                                  "a STREAM_ORDERED owner", "a foreign exporter"};

inline std::vector<Beginning> beginnings() {
  constexpr Stream kHow[][2] = {
      {kLegacy, kLegacy},       {kBlocking1, kLegacy},          {kThread1, kLegacy},
      {kNonBlocking1, kLegacy}, {kThread1, kThread1},           {kBlocking1, kBlocking1},
      {kLegacy, kBlocking1},    {kNonBlocking1, kNonBlocking1}, {kBlocking1, kNonBlocking1}};
  constexpr Keeper kWho[] = {kPlain, kReclaims, kStreamOrdered, kForeign};
  std::vector<Beginning> all;
  for (const Keeper who : kWho) all.push_back({who, kNone, kNonBlocking1, kNonBlocking1});
  for (const Keeper who : kWho) {
    // A dict cannot carry an event.
    if (who != kForeign) all.push_back({who, kEvent, kNonBlocking1, kNonBlocking1});
  }
  for (const auto &[work, target] : kHow) {
    for (const Keeper who : kWho) all.push_back({who, kStream, work, target});
  }
  return all;
}

enum Op : std::uint8_t {
  kUse,           // begin, work, end, by a party with libcai
  kOpen,          // begin and work; others' steps come before the end
  kClose,         // its end
  kText,          // a party without libcai that gets a dict and keeps the text of v3
  kTextHost,      // one whose host waits for the stream, and touches the memory
  kLet,           // begin, work, release_on
  kSame,          // same_stream, and work there
  kSyncHost,      // sync_host, and the host touches the memory
  kWork,          // the producer works on the stream
  kPublishTo,     // the producer publishes a copy: the stream is the target
  kPublishEvent,  // the same with an event
  kDrop,          // the last holder of a published view lets go
  kAlias,         // a second import of an exporter that keeps no uses, from its second byte on
  kOps
};

constexpr std::array<const char *, kOps> kOpNames = {"use",
                                                     "begin",
                                                     "end",
                                                     "use without libcai",
                                                     "host without libcai",
                                                     "use and release_on",
                                                     "same_stream",
                                                     "sync_host",
                                                     "producer on",
                                                     "publish on",
                                                     "publish an event of",
                                                     "drop",
                                                     "import again"};

constexpr bool produces(Op op) {
  return op == kWork || op == kPublishTo || op == kPublishEvent;
}

struct Step {
  Op op;
  std::int8_t array;
  Stream stream;
  bool writes;
};

struct Program {
  Beginning beginning;
  std::vector<Step> steps;
};

enum Outcome : std::uint8_t { kDone, kNotHere, kRefused, kRace };

inline constexpr int kProducer = 0;
inline constexpr int kRelease = -1;
inline constexpr int kTextParties = 64;  // and above: parties without libcai

// A program as it runs.
struct Run {
  Model model;
  Step open = {kClose, -1, kHost, false};
  Act open_act = {};
  std::uint8_t streams = 0;  // that have been named; the second of a kind comes after the first
  std::int8_t parties = 0;
  std::int8_t first = -1;  // the two items that race
  std::int8_t second = -1;

  Run(const RuleBook *book, const Beginning &beginning) {
    model.book = book;
    Owner &owner = model.owners[0];
    owner.foreign = beginning.keeper == kForeign;
    owner.reclaims = beginning.keeper == kReclaims;
    if (beginning.keeper == kStreamOrdered || (owner.foreign && beginning.said == kStream)) {
      owner.freed_on = beginning.target;
    }
    model.owners[1].foreign = true;
    Array &array = model.arrays[0];
    array.there = true;
    array.bytes = {0, 2};
    model.world.work(beginning.work, array.bytes, true, kProducer);
    name(beginning.work);
    array.said = beginning.said;
    if (beginning.said == kNone) {
      model.world.wait(kHost, model.world.tail[beginning.work]);
    } else if (beginning.said == kEvent) {
      array.event = model.world.record(beginning.work);
    } else {
      name(beginning.target);
      array.stream = beginning.target;
      if (owner.foreign && beginning.work != beginning.target) {
        model.world.wait(beginning.target, model.world.record(beginning.work));
      } else if (beginning.work != beginning.target) {
        Act act{0, beginning.work, true};
        act.covered = act.target = beginning.target;
        model.at(kPublish, act);
        owner.copied = owner.differs = true;  // it is a view of one with None, which was released
      }
    }
  }

  void name(Stream stream) {
    if (stream != kHost) streams = static_cast<std::uint8_t>(streams | 1U << stream);
  }

  // Streams of a kind are alike: programs that differ by their names only are one program.
  bool in_turn(Stream stream) const {
    if (stream == kBlocking2) return streams >> kBlocking1 & 1;
    if (stream == kNonBlocking2) return streams >> kNonBlocking1 & 1;
    return true;
  }

  bool work(Stream stream, Bytes bytes, bool writes, int party) {
    const int item = model.world.work(stream, bytes, writes, party);
    const Item &itself = model.world.items[item];
    for (int i = 0; i < item; ++i) {
      const Item &other = model.world.items[i];
      if (!overlap(itself.bytes, other.bytes) || !(itself.writes || other.writes)) continue;
      if (itself.before >> i & 1) continue;
      // A producer must order its own work itself, and a foreign exporter's memory may be used in
      // any way by consumers without an owner.
      if (party <= kProducer && other.party <= kProducer) continue;
      if (party == kRelease && other.party >= kTextParties && model.owners[0].foreign) continue;
      first = static_cast<std::int8_t>(i);
      second = static_cast<std::int8_t>(item);
      return false;
    }
    return true;
  }

  void end(Moment moment, Act &act) {
    model.at(moment, act);
    const Array &array = model.arrays[act.array];
    if (act.keep) {
      const Set event = model.record(act);
      model.keep(array, {event, act.stream, act.covered, act.writes});
    }
  }

  // Who is in the midst of a use is not overtaken by one that conflicts: the rules order what comes
  // after an end, and the callers see to that.
  bool conflicts_with_open(const Array &array, bool writes) const {
    return open.array >= 0 && (writes || open.writes) &&
           overlap(model.arrays[open.array].bytes, array.bytes);
  }

  Outcome step(const Step &step) {
    const Outcome outcome = run(step);
    if (model.full) return kNotHere;
    if (outcome == kDone && model.refused) return kRefused;
    return outcome;
  }

  // Lets everybody go at the end of the program, and frees the memory.
  bool close() {
    Act free{0, kHost, true};
    for (int i = kMaxArrays - 1; i > 0; --i) {
      if (!model.arrays[i].there || model.arrays[i].owner != 0) continue;
      let_view_go(i);
    }
    Act alias{kMaxArrays - 1, kHost, true};
    if (model.arrays[alias.array].there && model.arrays[alias.array].owner) {
      model.at(kLastRelease, alias);
      model.world.host |= alias.event;
    }
    model.at(kLastRelease, free);
    model.world.host |= free.event;
    return work(model.owners[0].freed_on, model.arrays[0].bytes, true, kRelease);
  }

 private:
  Outcome run(const Step &step) {
    if (step.op == kClose) return close_use();
    if (!model.arrays[step.array].there || (step.stream != kHost && !in_turn(step.stream))) {
      return kNotHere;
    }
    for (int i = 0; i < step.array; ++i) {
      if (model.arrays[i].there && model.arrays[i].same_as(model.arrays[step.array])) {
        return kNotHere;  // what one may do with a twin is the same
      }
    }
    name(step.stream);
    const Array &array = model.arrays[step.array];
    Act act{step.array, step.stream, step.writes, step.stream == kThread2 ? 2 : 1};
    if (step.op <= kWork && conflicts_with_open(array, step.writes)) return kNotHere;
    if (produces(step.op) && (step.stream == kThread2 || step.stream == kOtherContext)) {
      return kNotHere;  // publish has no name for them
    }
    switch (step.op) {
      case kUse:
      case kOpen:
      case kLet:
        return use(step, act);
      case kText:
      case kTextHost:
        return use_by_the_text(step, act);
      case kSame:
        return use_on_its_own_stream(step, act);
      case kSyncHost:
        act.writes = true;  // sync_host takes no access
        model.at(kBefore, act);
        return accessed(step, kHost, ++parties);
      case kWork:
        return produce(step, act);
      case kPublishTo:
      case kPublishEvent:
        if (model.owner_of(array).foreign) return kNotHere;
        model.publish(step.array, step.stream, step.op == kPublishTo ? kStream : kEvent);
        return kDone;
      case kDrop:
        if (step.array == 0 || array.owner != 0 || step.array == open.array) return kNotHere;
        let_view_go(step.array);
        return kDone;
      default:
        return import_again(step);
    }
  }

  // Those released later do not have it beside them any more.
  void let_view_go(int number) {
    Act act{number, kHost, true};
    model.at(kViewEnd, act);
    model.arrays[number].there = false;
    model.arrays[number].published = act.keep;
    for (Kept &use : model.kept) {
      if (use.view == number) use.view = -1;
    }
  }

  Outcome accessed(const Step &step, Stream stream, int party) {
    if (model.refused) return kRefused;
    return work(stream, model.arrays[step.array].bytes, step.writes, party) ? kDone : kRace;
  }

  Outcome use(const Step &step, Act &act) {
    if (step.op == kOpen && open.array >= 0) return kNotHere;
    model.at(kBefore, act);
    const Outcome outcome = accessed(step, step.stream, ++parties);
    if (outcome != kDone) return outcome;
    if (step.op == kOpen) {
      open = step;
      open_act = act;
    } else {
      if (step.op == kLet) act.writes = true;  // release_on takes no access
      end(step.op == kLet ? kLetGo : kEnd, act);
    }
    return kDone;
  }

  Outcome close_use() {
    if (open.array < 0) return kNotHere;
    end(kEnd, open_act);
    open.array = -1;
    return kDone;
  }

  Outcome use_by_the_text(const Step &step, Act &act) {
    Stream stream = act.stream;
    const bool foreign = model.owner_of(model.arrays[step.array]).foreign;
    const Said said = model.arrays[step.array].said;
    // A dict has no event; and a foreign exporter's None hands nothing over.
    if (said == kEvent || (said == kNone && foreign)) return kNotHere;
    if (!foreign) {
      const int thread = act.thread;
      act.thread = 1;
      act.writes = true;  // a dict does not say what becomes of it
      model.at(kExport, act);
      act.thread = thread;
      if (model.refused) return kRefused;
    }
    const Array &array = model.arrays[act.array];
    World &world = model.world;
    if (step.op == kTextHost) {
      // No manual says whether a host that waits for stream 1 waits for the blocking streams, and
      // what others than libcai do on them, a foreign exporter's dict does not know.
      if (foreign && array.stream == kLegacy) return kNotHere;
      if (array.said == kStream) world.wait(kHost, world.tail[array.stream]);
      return accessed(step, kHost, kTextParties + ++parties);
    }
    if (array.said == kStream && array.stream == kThread1 && act.thread == 2) return kNotHere;
    if (array.said == kStream && array.stream != stream)
      world.wait(stream, world.record(array.stream));
    const Outcome outcome = accessed(step, stream, kTextParties + ++parties);
    if (outcome != kDone) return outcome;
    if (array.said == kNone) {
      world.wait(kHost, world.record(stream));  // nobody could wait for it later
    } else if (array.stream != stream) {
      world.wait(array.stream, world.record(stream));
    }
    return kDone;
  }

  Outcome use_on_its_own_stream(const Step &step, Act &act) {
    const Array &array = model.arrays[step.array];
    if (array.said != kStream) return kNotHere;
    act.stream = array.stream;
    act.writes = true;  // same_stream takes no access
    model.at(kSameStream, act);
    return accessed(step, array.stream, ++parties);
  }

  Outcome produce(const Step &step, Act &act) {
    const Array &array = model.arrays[step.array];
    if (model.owner_of(array).foreign) return produce_by_the_text(step);
    model.at(kProduce, act);
    const Outcome outcome = accessed(step, step.stream, kProducer);
    if (outcome != kDone) return outcome;
    model.pending = static_cast<std::uint8_t>(model.pending | 1U << step.stream);
    model.at(kProduced, act);
    return kDone;
  }

  Outcome produce_by_the_text(const Step &step) {
    const Array &array = model.arrays[step.array];
    if (array.said != kStream || step.array != 0) return kNotHere;
    World &world = model.world;
    if (step.stream != array.stream) world.wait(step.stream, world.record(array.stream));
    const Outcome outcome = accessed(step, step.stream, kProducer);
    if (step.stream != array.stream) world.wait(array.stream, world.record(step.stream));
    return outcome;
  }

  Outcome import_again(const Step &step) {
    Array &alias = model.arrays[kMaxArrays - 1];
    if (step.array != 0 || !model.owners[0].foreign || alias.there) return kNotHere;
    alias = model.arrays[0];
    alias.owner = 1;
    alias.bytes.begin = 1;
    alias.exported = alias.used = false;
    return kDone;
  }
};

constexpr bool on_streams(Op op) {
  return op != kClose && op != kTextHost && op != kSame && op != kSyncHost && op != kDrop &&
         op != kAlias;
}

constexpr bool accesses(Op op) {
  return op <= kWork && op != kClose;
}

// Every step that there can be.
inline std::vector<Step> alphabet() {
  std::vector<Step> all;
  for (int i = 0; i < kOps; ++i) {
    const Op op = static_cast<Op>(i);
    for (int array = 0; array < (op == kClose || op == kAlias ? 1 : kMaxArrays); ++array) {
      for (int stream = 0; stream < (on_streams(op) ? kStreams : 1); ++stream) {
        for (int writes = 0; writes < (accesses(op) ? 2 : 1); ++writes) {
          all.push_back({op, static_cast<std::int8_t>(array),
                         on_streams(op) ? static_cast<Stream>(stream) : kHost, writes != 0});
        }
      }
    }
  }
  return all;
}

inline std::string said_by(const Array &array) {
  if (array.said == kNone) return "NONE";
  if (array.said == kEvent) return "an event";
  return name_of(array.stream);
}

inline std::string sentence(const Beginning &beginning) {
  std::string text = std::string("array 0 of ") + kKeepers[beginning.keeper] + ", written on " +
                     name_of(beginning.work) + ", says ";
  if (beginning.said == kNone) return text + "NONE";
  if (beginning.said == kEvent) return text + "an event";
  return text + name_of(beginning.target);
}

inline std::string sentence(const Step &step) {
  std::string text = kOpNames[step.op];
  if (step.op != kClose && step.op != kAlias) text += " array " + std::to_string(step.array);
  if (on_streams(step.op)) text += std::string(", ") + name_of(step.stream);
  if (accesses(step.op)) text += step.writes ? ", writes" : ", reads";
  return text;
}

}  // namespace order_model

#endif  // TESTS_EXPLORE_MODEL_PROGRAMS_HPP
