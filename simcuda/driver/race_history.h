// SPDX-License-Identifier: BSD-3-Clause
// The last uses of an allocation's bytes, as far as later uses must be compared with them.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "abi.h"
#include "call_site.h"
#include "race_clock.h"

namespace simcuda {

// A stream, or a branch of a graph launched there; or the host.
struct Line {
  std::string name;  // "blocking stream 0x... of context 0x..."
  Site made_at = 0;
};

// The part of an operation, or of a use by the host, that a report needs, and its place in logical
// time. It outlives the operation.
struct Step {
  Moment moment;
  std::uint64_t number = 0;  // the number of the operation; 0: the host itself
  bool tells_late = false;   // it reports its uses when it runs
  const char *call = "";
  std::string what;
  std::shared_ptr<const Line> line;
  Site site = 0;     // of the call
  Site made_at = 0;  // of the call that made the graph node

  bool by_host() const { return number == 0; }
};

using StepPtr = std::shared_ptr<const Step>;

// Updates are atomic: they race with reads and writes, but not with each other.
enum class Effect { reads, writes, updates, allocates, frees, names };

struct Use {
  StepPtr step;
  Effect effect;
  std::shared_ptr<const std::string> detail = nullptr;  // for the report: by which code, and where

  bool operator==(const Use &) const = default;
};

// The uses of some bytes that later uses have not replaced. A use replaces an earlier one that it
// comes after: work that comes after the later use comes after the earlier one, too. So each lane
// has at most one writer, one reader and one updater, and in addition those that may race with work
// that has not reported its uses yet.
struct Uses {
  std::vector<Use> writers, readers, updaters;

  bool empty() const { return writers.empty() && readers.empty() && updaters.empty(); }

  bool operator==(const Uses &) const = default;
};

// Bytes with the same uses are one segment.
class History {
 public:
  using UsesPtr = std::shared_ptr<const Uses>;  // null: no uses
  using Change = std::function<UsesPtr(const UsesPtr &, std::uintptr_t begin, std::uintptr_t end)>;

  // Replaces the uses of the bytes from `begin` to `end`; calls `change` once for each segment.
  void change(std::uintptr_t begin, std::uintptr_t end, const Change &change);
  // Replaces all uses. Due when the history has grown much since the last time.
  void sweep(const Change &change);
  bool sweep_is_due() const { return segments_.size() > limit_; }
  std::size_t size() const { return segments_.size(); }

  StepPtr freed;  // set once the memory was freed

 private:
  struct Segment {
    std::uintptr_t end;
    UsesPtr uses;
  };
  using Segments = std::map<std::uintptr_t, Segment>;

  void split(std::uintptr_t at);
  Segments::iterator join_before(Segments::iterator segment);

  Segments segments_;
  std::size_t limit_ = 1024;
};

}  // namespace simcuda
