// SPDX-License-Identifier: BSD-3-Clause
#include "history.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace queues {

Time tick() {
  static std::atomic<Time> last{0};
  return ++last;
}

void Log::add(const Log &other) {
  const auto append = [](auto &to, const auto &from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(told, other.told);
  append(joins, other.joins);
  append(records, other.records);
  append(uses, other.uses);
  append(seen, other.seen);
}

namespace {

bool comes_before(const Call &a, const Call &b) {
  return a.end < b.begin;
}

class Judge {
 public:
  Judge(const std::vector<const Work *> &works, const std::vector<Stream> &streams, const Log &log)
      : works_(works), streams_(streams), log_(log) {
    for (std::size_t stream = 0; stream < streams.size(); ++stream) {
      Queue &queue = queues_.emplace_back();
      for (const Work *const work : works) {
        if (work->stream == stream && work->is_queued) queue.push_back(work);
      }
      std::stable_sort(queue.begin(), queue.end(),
                       [](const Work *a, const Work *b) { return a->ended < b->ended; });
    }
  }

  std::string run() {
    for (const Work *const work : works_) follow_failure(*work);
    for (const Work *const work : works_) judge_ends(*work);
    for (const Log::Told &each : log_.told) judge_told(each);
    if (!wrong_.empty()) return wrong_;
    for (const Queue &queue : queues_) judge_queue(queue);
    for (const Work *const work : works_) judge_before(*work);
    for (const Log::Seen &each : log_.seen) judge_seen(each);
    return wrong_;
  }

 private:
  using Queue = std::vector<const Work *>;
  using Works = std::set<const Work *>;
  // Where a failure is told: on the stream of the work, or of a copy that waited for it, and took
  // it.
  struct Place {
    const Work *of;
    std::size_t stream;
    Time since;
  };

  static bool has_failed(const Work &work) { return work.fails && work.started; }

  const Log::Told *told(const Work &work) const {
    const auto found = std::find_if(log_.told.begin(), log_.told.end(), [&](const Log::Told &each) {
      return each.work == work.number;
    });
    return found == log_.told.end() ? nullptr : &*found;
  }

  // The places of the failure of work.
  void follow_failure(const Work &work) {
    if (!has_failed(work)) return;
    std::vector<Place> &places = places_[&work];
    places.push_back({&work, work.stream, work.asked.begin});
    for (const Work *const copy : works_) {
      if (copy->block && is_recorded(places, *copy->block, copy->asked.end, copy->stream))
        places.push_back({copy, copy->stream, copy->asked.begin});
    }
  }

  // Whether it is waited for by what waits for a block at some time, on another stream.
  bool is_recorded(const std::vector<Place> &places, std::size_t block, Time at,
                   std::optional<std::size_t> stream = {}) const {
    return std::any_of(log_.uses.begin(), log_.uses.end(), [&](const Log::Use &use) {
      return use.block == block && use.call.begin < at && use.stream != stream &&
             std::any_of(
                 places.begin(), places.end(),
                 [&](const Place &place) {
                   return place.stream == use.stream && place.since < use.call.end;
                 });
    });
  }

  // Whether a copy may have taken a failure that is not of its stream.
  bool may_fail(const Work &copy) const {
    return std::any_of(places_.begin(), places_.end(), [&](const auto &each) {
      return std::any_of(each.second.begin() + 1, each.second.end(),
                         [&](const Place &place) { return place.of == &copy; });
    });
  }

  // When the stream of the work may have been rid of its failure at the earliest.
  Call taken(const Work &failed) const {
    Call when = told(failed)->call;
    const std::vector<Place> &places = places_.at(&failed);
    if (places.size() > 1) when.begin = std::min(when.begin, places[1].since);
    return when;
  }

  void judge_ends(const Work &work) {
    const auto times =
        std::count_if(log_.told.begin(), log_.told.end(),
                      [&](const Log::Told &each) { return each.work == work.number; });
    if (work.ends != work.is_queued) blame("the end is not called once, of work", work);
    if (work.started && !work.is_queued) blame("it runs though it was refused, work", work);
    if (times != has_failed(work)) blame("a failure is not told once, of work", work);
  }

  // Who is told: a call for the stream, or one that waits for the work, or for what it dropped; or
  // the hook, of a stream that was released.
  void judge_told(const Log::Told &each) {
    const std::vector<Place> &places = places_[works_[each.work]];
    const auto is_told = [&](const Place &place) {
      const Time released = streams_[place.stream].released;
      return each.by_hook ? released && released < each.call.end
                          : std::count(each.streams.begin(), each.streams.end(), place.stream) > 0;
    };
    if (std::any_of(places.begin(), places.end(), is_told)) return;
    if (each.block && is_recorded(places, *each.block, each.call.end)) return;
    blame("another thread is told of the failure of work", *works_[each.work]);
  }

  // In the order in which it was done.
  void judge_queue(const Queue &queue) {
    const Work *last_run = nullptr;
    bool taken_here = false;  // since then, the failure of another stream's work
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const Work &work = *queue[i];
      for (std::size_t k = 0; k < i; ++k) {
        if (comes_before(work.asked, queue[k]->asked)) blame("after later work comes", work);
      }
      if (!work.started) {
        taken_here |= work.block && may_fail(work);
        taken_here |= std::any_of(works_.begin(), works_.end(), [&](const Work *each) {
          return each->block && !each->is_queued && each->stream == work.stream &&
                 comes_before(each->asked, work.asked) && may_fail(*each);
        });
        if (taken_here) continue;
        if (!last_run || !has_failed(*last_run)) {
          blame("nothing failed before dropped work", work);
        } else if (comes_before(told(*last_run)->call, work.asked)) {
          blame("for a failure that was told before is dropped work", work);
        }
        continue;
      }
      for (std::size_t k = 0; k < i; ++k) {
        if (has_failed(*queue[k]) && comes_before(work.asked, taken(*queue[k])))
          blame("behind a failure that was not told yet runs work", work);
      }
      taken_here = false;
      last_run = &work;
    }
  }

  void judge_before(const Work &work) {
    if (!work.is_queued) return;
    Works before;
    for (const Log::Join &join : log_.joins) {
      if (join.stream == work.stream && comes_before(join.call, work.asked)) add(join, before);
    }
    if (work.block && work.started) add_uses(*work.block, work.asked, before);
    const Time begin = work.started ? work.started : work.ended;
    for (const Work *const each : before) {
      if (each->ended > begin) blame("too early is work", work);
    }
  }

  void add_queued(std::size_t stream, const Call &call, Works &out) const {
    for (const Work *const work : queues_[stream]) {
      if (comes_before(work->asked, call)) out.insert(work);
    }
  }
  // All work that is over once what a call began to wait for at some time is.
  void add(std::size_t stream, const Call &call, Works &out) const {
    add_queued(stream, call, out);
    for (const Log::Join &join : log_.joins) {
      if (join.stream == stream && comes_before(join.call, call)) add(join, out);
    }
  }
  void add(const Log::Join &join, Works &out) const {
    if (join.other) return add(*join.other, join.call, out);
    add_event(*join.event, join.call, out);
  }
  void add_uses(std::size_t block, const Call &call, Works &out) const {
    for (const Log::Use &use : log_.uses) {
      if (use.block == block && comes_before(use.call, call)) add(use.stream, use.call, out);
    }
  }
  // If the event was recorded meanwhile, it is not known after what.
  void add_event(std::size_t event, const Call &call, Works &out) const {
    const Log::Record *last = nullptr;
    for (const Log::Record &record : log_.records) {
      if (record.event != event || comes_before(call, record.call)) continue;
      if (!comes_before(record.call, call)) return;
      if (!last || comes_before(last->call, record.call)) last = &record;
    }
    if (last) add(last->stream, last->call, out);
  }

  void judge_seen(const Log::Seen &seen) {
    Works over, its_own;  // of whose failures it tells
    if (seen.event) add_event(*seen.event, seen.call, over);
    if (seen.stream) {
      add(*seen.stream, seen.call, over);
      add_queued(*seen.stream, seen.call, its_own);
    }
    if (seen.block) {
      add_uses(*seen.block, seen.call, over);
      for (const Log::Use &use : log_.uses) {
        if (use.block == *seen.block && comes_before(use.call, seen.call))
          add_queued(use.stream, use.call, its_own);
      }
    }
    for (const Work *const work : over) {
      if (work->ended > seen.call.end) blame("what is seen to be over is not: work", *work);
    }
    for (const Work *const work : its_own) {
      if (has_failed(*work) && comes_before(seen.call, taken(*work)))
        blame("a call that waits for it does not tell of the failure of work", *work);
    }
  }

  void blame(const char *what, const Work &work) {
    if (wrong_.empty()) wrong_ = std::string(what) + " " + std::to_string(work.number);
  }

  const std::vector<const Work *> &works_;
  const std::vector<Stream> &streams_;
  const Log &log_;
  std::vector<Queue> queues_;
  std::map<const Work *, std::vector<Place>> places_;
  std::string wrong_;
};

}  // namespace

std::string judge(const std::vector<const Work *> &works, const std::vector<Stream> &streams,
                  const Log &log) {
  return Judge(works, streams, log).run();
}

}  // namespace queues
