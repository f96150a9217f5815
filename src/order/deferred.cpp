// SPDX-License-Identifier: BSD-3-Clause
#include "order/deferred.hpp"

#include <atomic>
#include <mutex>
#include <utility>

#include "core/fork.hpp"
#include "core/global_lock.hpp"
#include "core/immortal.hpp"
#include "order/owned.hpp"
#include "order/running.hpp"

namespace cai::order::deferred {
namespace {

// In the order in which they were added, but for those that were passed over.
template <class Node>
struct List {
  Node *first = nullptr;
  Node *last = nullptr;

  void push(Node *node) noexcept {
    node->next = nullptr;
    node->previous = last;
    (last ? last->next : first) = node;
    last = node;
  }
  void remove(Node *node) noexcept {
    (node->previous ? node->previous->next : first) = node->next;
    (node->next ? node->next->previous : last) = node->previous;
  }
  void move_to_end(Node *node) noexcept {
    remove(node);
    push(node);
  }
};

struct Lists {
  GlobalLock mutex;  // held for the lists alone
  List<Uses> pending;
  List<Uses> due;
  List<Taken> taken;  // which are on stacks, so not those of the process that was forked
  std::uint64_t process = forks();
  std::int64_t due_count = 0;
  std::uint64_t arrivals = 0;
  std::atomic<std::int64_t> count{0};  // pending and due
  std::atomic<std::uint32_t> answers{0};

  void forget_the_parents() noexcept {
    if (std::exchange(process, forks()) != forks()) taken = {};
  }
  void note_answer() noexcept {
    answers.fetch_add(1);
    answers.notify_all();
  }
};

// Never destroyed: arrays may end as late as the process does.
Lists &lists() {
  return immortal<Lists>();
}

// Whether the survey, if there is one, is yet to ask about it.
bool is_wanted(const Uses &uses, const Survey *survey, std::uint64_t context_id) noexcept {
  return !survey || (survey->includes(uses.release) && !survey->has_asked(uses, context_id));
}

}  // namespace

Survey::Survey() noexcept : last_release_(last_release()) {}

std::int64_t count() noexcept {
  return lists().count.load(std::memory_order_acquire);
}

std::int64_t count_pending() noexcept {
  Lists &all = lists();
  const std::lock_guard lock(all.mutex);
  return all.count.load(std::memory_order_relaxed) - all.due_count;
}

bool any_due() noexcept {
  Lists &all = lists();
  const std::lock_guard lock(all.mutex);
  return all.due_count != 0;
}

void add(Uses *uses) noexcept {
  Lists &all = lists();
  uses->release = number_of_release();
  uses->releaser = this_thread();
  const std::lock_guard lock(all.mutex);
  uses->asker = nullptr;
  uses->arrival = ++all.arrivals;
  all.pending.push(uses);
  all.count.fetch_add(1, std::memory_order_release);
}

Uses *ask_next(driver::CUcontext context, std::uint64_t context_id, bool waits,
               std::int64_t *most_passed, const Survey *survey, Missed *missed) noexcept {
  Lists &all = lists();
  const std::lock_guard lock(all.mutex);
  Missed others;
  Uses *const end = all.pending.last;
  for (Uses *each = all.pending.first; each && *most_passed > 0; --*most_passed) {
    Uses *const next = each == end ? nullptr : each->next;
    all.pending.move_to_end(each);
    if (is_wanted(*each, survey, context_id)) {
      // Who asks about it may hold its lock while the driver answers.
      if (each->asker) {
        others.add(*each);
      } else if (each->pending_in(context) || !each->pending()) {
        each->asker = &all;
        each->is_awaited = waits;
        return each;
      }
    }
    each = next;
  }
  missed->asked |= others.asked;
  missed->awaited |= others.awaited;
  return nullptr;
}

bool ask_lost(const Survey &survey, const void *asker, Missed *missed) noexcept {
  Lists &all = lists();
  const std::lock_guard lock(all.mutex);
  bool any = false;
  for (Uses *each = all.pending.first; each; each = each->next) {
    if (!survey.includes(each->release)) continue;
    if (each->asker) {
      missed->add(*each);
    } else if (each->is_lost_anywhere()) {
      each->asker = asker;
      each->is_awaited = true;
      any = true;
    }
  }
  return any;
}

Uses *next_asked(const void *asker) noexcept {
  Lists &all = lists();
  const std::lock_guard lock(all.mutex);
  Uses *each = all.pending.first;
  while (each && each->asker != asker) each = each->next;
  return each;
}

void put_back(Uses *uses) noexcept {
  Lists &all = lists();
  const std::lock_guard lock(all.mutex);
  uses->asker = nullptr;
  all.note_answer();
}

void make_due(Uses *uses, const void *found_by) noexcept {
  Lists &all = lists();
  const std::lock_guard lock(all.mutex);
  all.pending.remove(uses);
  uses->asker = found_by;
  all.due.push(uses);
  ++all.due_count;
  all.note_answer();
}

Taken::Taken(const void *found_by, const Survey *survey) noexcept {
  Lists &all = lists();
  const std::lock_guard lock(all.mutex);
  const auto is_it = [&](const Uses &uses) {
    return found_by ? uses.asker == found_by : survey->includes(uses.release);
  };
  Uses *each = all.due.first;
  while (each && !is_it(*each)) each = each->next;
  if (!each) return;
  all.due.remove(each);
  --all.due_count;
  all.count.fetch_sub(1, std::memory_order_relaxed);
  uses_ = each;
  release = each->release;
  arrival = each->arrival;
  all.forget_the_parents();
  all.taken.push(this);
}

Taken::~Taken() {
  if (!uses_ || process_ != forks()) return;
  Lists &all = lists();
  const std::lock_guard lock(all.mutex);
  all.taken.remove(this);
}

void put_back_due(Uses *uses) noexcept {
  Lists &all = lists();
  const std::lock_guard lock(all.mutex);
  uses->asker = nullptr;
  uses->arrival = ++all.arrivals;
  all.pending.push(uses);
  all.count.fetch_add(1, std::memory_order_release);
}

std::uint64_t last_arrival() noexcept {
  Lists &all = lists();
  const std::lock_guard lock(all.mutex);
  return all.arrivals;
}

bool any_since(std::uint64_t arrival, const Survey &survey) noexcept {
  Lists &all = lists();
  const std::lock_guard lock(all.mutex);
  all.forget_the_parents();
  const auto any_in = [&](const auto &list) {
    for (const auto *each = list.first; each; each = each->next) {
      if (each->arrival > arrival && survey.includes(each->release)) return true;
    }
    return false;
  };
  return any_in(all.pending) || any_in(all.due) || any_in(all.taken);
}

std::uint32_t count_answers() noexcept {
  return lists().answers.load();
}

void await_answer(std::uint32_t count) noexcept {
  lists().answers.wait(count);
}

}  // namespace cai::order::deferred
