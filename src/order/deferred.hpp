// SPDX-License-Identifier: BSD-3-Clause
// The uses whose end is deferred: those that may be pending, those that are due, which any thread
// may end, and those whose end runs.
#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "core/fork.hpp"
#include "order/uses.hpp"

namespace cai::order::deferred {

// What a drain asks about: what was released before it, or by what ends then; each once in each
// context, whatever other threads ask and release meanwhile.
class Survey {
 public:
  Survey() noexcept;
  bool includes(std::uint64_t release) const noexcept { return release <= last_release_; }
  bool has_asked(const Uses &uses, std::uint64_t context_id) const noexcept {
    return asked_.count({context_id, uses.arrival}) != 0;
  }
  void note_asked(const Uses &uses, std::uint64_t context_id) {
    asked_.emplace(context_id, uses.arrival);
  }

 private:
  std::uint64_t last_release_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> asked_;
};

// Those that are pending or due, and those that are pending; whether any is due.
std::int64_t count() noexcept;
std::int64_t count_pending() noexcept;
bool any_due() noexcept;

void add(Uses *uses) noexcept;

// Whether another thread was asking about some.
struct Missed {
  bool asked = false;    // and has the answer soon
  bool awaited = false;  // and waits for the GPU meanwhile

  void add(const Uses &uses) noexcept { (uses.is_awaited ? awaited : asked) = true; }
};

// For a thread that asks whether some are complete: returns the oldest that is pending in the
// context, or nowhere, and that the survey, unless it is null, has not asked about. No other thread
// asks about it until it is put back, or due. Those that are passed over move to the end of the
// list, and `most_passed` is reduced by their number. Null: there is none; `missed` then counts.
Uses *ask_next(driver::CUcontext context, std::uint64_t context_id, bool waits,
               std::int64_t *most_passed, const Survey *survey, Missed *missed) noexcept;

// The same for those whose context is not known: marks all that the survey includes as asked about
// by `asker`, and returns whether there are any. next_asked() returns them one by one.
bool ask_lost(const Survey &survey, const void *asker, Missed *missed) noexcept;
Uses *next_asked(const void *asker) noexcept;

void put_back(Uses *uses) noexcept;
void make_due(Uses *uses, const void *found_by) noexcept;

// One that was due: one that `found_by` has found, or, for null, any that the survey includes. It
// is in no list of uses. Its end runs until this is destroyed.
class Taken {
 public:
  Taken(const void *found_by, const Survey *survey) noexcept;
  Taken(const Taken &) = delete;
  Taken &operator=(const Taken &) = delete;
  ~Taken();
  Uses *uses() const noexcept { return uses_; }  // null: there is none

  std::uint64_t release = 0, arrival = 0;  // those of the uses
  Taken *next = nullptr, *previous = nullptr;

 private:
  Uses *uses_ = nullptr;
  const std::uint64_t process_ = forks();
};

// Puts it back, as pending.
void put_back_due(Uses *uses) noexcept;

// The number of the last one that was added; and whether the survey includes any that was added
// after that, and has not ended.
std::uint64_t last_arrival() noexcept;
bool any_since(std::uint64_t arrival, const Survey &survey) noexcept;

// How many were put back, or made due, so far; and a wait for one more.
std::uint32_t count_answers() noexcept;
void await_answer(std::uint32_t count) noexcept;

}  // namespace cai::order::deferred
