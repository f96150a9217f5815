// SPDX-License-Identifier: BSD-3-Clause
// Every failure in turn, in every public function: functions.def says which there are, and each has
// a scenario. A call that fails says so with a status of those that its header lists, leaves its
// outputs, the current context and the capture mode as they were, and leaves nothing over; and the
// next call does what this one should have done.
#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "allocations.h"
#include "kept.hpp"
#include "scenario.hpp"

namespace test {
namespace {

const char *const functions[] = {
#define FUNCTION(result, name, arguments) #name,
#include "../abi/functions.def"
#undef FUNCTION
};

// Bits of the statuses that the headers list.
const std::map<std::string, unsigned> &documented() {
  static const std::map<std::string, unsigned> all = {
#define DOCUMENTED(name, statuses) {#name, statuses},
#include "documented.inc"
#undef DOCUMENTED
  };
  return all;
}

const std::vector<Scenario> &scenarios() {
  static const std::vector<Scenario> all = [] {
    std::vector<Scenario> found;
    for (const auto &some : {core_scenarios(), order_scenarios(), device_scenarios(),
                             memory_scenarios(), exchange_scenarios(), adaptor_scenarios()}) {
      found.insert(found.end(), some.begin(), some.end());
    }
    return found;
  }();
  return all;
}

std::vector<Scenario> scenarios_of(const std::string &function) {
  std::vector<Scenario> found;
  for (const Scenario &each : scenarios()) {
    if (function == each.function) found.push_back(each);
  }
  return found;
}

// A driver object that cannot be destroyed stays, and nothing more can be done.
bool ends_something(const char *function) {
  for (const char *end : {"Destroy", "Free", "Unregister", "Close", "Release", "Reset"}) {
    if (std::strstr(function, end)) return true;
  }
  return false;
}

// An answer without which there is another good one: nothing is known to be pending or complete.
bool only_asks(const Fault &fault) {
  return fault.kind == Fault::driver && std::strstr(fault.function, "Query");
}

// If the driver returns this error for a wait or a query, the context was destroyed, with all that
// was pending there.
bool says_gone(const Fault &fault) {
  return fault.kind == Fault::driver && fault.status == 201 &&
         (only_asks(fault) || std::strstr(fault.function, "Synchronize") ||
          std::strstr(fault.function, "cuCtxGetId"));
}

class Faults : public testing::TestWithParam<const char *> {
 protected:
  Faults() { Reports::listen(); }

  // At least one of all possible failures has occurred; of a selection of tests, none may.
  static void TearDownTestSuite() {
    if (std::string(GTEST_FLAG_GET(filter)) != "*") return;
    EXPECT_GT(struck_allocations, 200);
    EXPECT_GT(struck_calls, 1000);
  }

  static void run_clean(const Scenario &scenario, Trial &trial) {
    scenario.run(trial);
    settle();
    EXPECT_EQ(trial.attempts(), 1) << "a scenario makes one call";
    EXPECT_EQ(trial.status(), CAI_OK) << trial.error().message;
  }

  // Returns whether the call met the fault. Nothing may be lost.
  static bool run_failing(const Scenario &scenario, const Fault &fault, const std::string &usual) {
    Kept before = Kept::now();
    bool struck = run_once(scenario, fault, usual);
    if (scenario.traits & Scenario::for_ever) return struck;
    // What libcai caches is no leak: a leak adds one each time.
    constexpr int most = 6;
    const bool keeps_objects = fault.kind == Fault::driver && ends_something(fault.function);
    std::set<std::string> lost = grown_since(before, keeps_objects, false);
    for (int times = 1; times <= most && !lost.empty() && !HasFailure(); ++times) {
      before = Kept::now();
      run_once(scenario, fault, usual);
      const std::set<std::string> now = grown_since(before, keeps_objects, times == most);
      std::erase_if(lost, [&](const std::string &each) { return now.count(each) == 0; });
    }
    for (const std::string &each : lost) ADD_FAILURE() << "lost, each time: " << each;
    return struck;
  }

  // Returns whether the call met the fault.
  static bool run_once(const Scenario &scenario, const Fault &fault, const std::string &usual) {
    const int reports = Reports::all().count;
    Trial trial(fault);
    scenario.run(trial);
    settle();
    if (!trial.was_struck()) return false;
    ++(fault.kind == Fault::allocation ? struck_allocations : struck_calls);
    const bool same = trial.told() == usual || says_gone(fault);
    if (trial.status() == CAI_OK) {
      if (!same && Reports::all().count == reports && !only_asks(fault) &&
          !(scenario.traits & Scenario::any_result)) {
        ADD_FAILURE() << "it says that all went well, and has come to\n"
                      << trial.told() << "in the place of\n"
                      << usual;
      }
      return true;
    }
    const auto found = documented().find(scenario.function);
    if (found != documented().end()) {
      EXPECT_TRUE(found->second >> -trial.status() & 1)
          << cai_status_name(trial.status()) << " is not listed: " << trial.error().message;
    }
    if (fault.kind == Fault::allocation) {
      EXPECT_EQ(trial.status(), CAI_ERR_MEMORY) << trial.error().message;
    } else if (trial.status() == CAI_ERR_CUDA || trial.status() == CAI_ERR_MEMORY) {
      EXPECT_EQ(trial.error().native, fault.status) << trial.error().message;
    }
    EXPECT_TRUE(same) << "the second call has come to\n"
                      << trial.told() << "in the place of\n"
                      << usual;
    return true;
  }

  // Runs `body` in new contexts: no events, managers or current streams are left from earlier
  // calls. Returns what it leaves.
  template <class Body>
  static Kept left_in_new_contexts(Body &&body) {
    for (const cai_device gpu : {gpu0, gpu1}) {
      EXPECT_EQ(cai_device_reset(gpu, CAI_RESET_CONTEXT, nullptr), CAI_OK);
    }
    const Kept before = Kept::now();
    body();
    for (const cai_device gpu : {gpu0, gpu1}) {
      EXPECT_EQ(cai_device_synchronize(gpu, nullptr), CAI_OK);
    }
    Kept left = Kept::now();
    for (std::size_t i = 0; i < left.counts.size(); ++i) {
      left.counts[i] -= std::min(left.counts[i], before.counts[i]);
    }
    return left;
  }

  // The same as run_failing(), in new contexts: a reset would end what a failure has left, so that
  // is compared with what is left without one.
  static bool run_anew(const Scenario &scenario, const Fault &fault, const std::string &told,
                       const Kept &usual) {
    bool struck = false;
    const Kept left = left_in_new_contexts([&] { struck = run_once(scenario, fault, told); });
    if (fault.kind == Fault::driver && ends_something(fault.function)) return struck;
    std::set<std::string> more = left.since(usual);
    // Those that libcai keeps: of the last 64 contexts, for the next uses, and one for each GPU.
    for (const char *kept : {"libcai's blocks", "CUevent", "CUcontext"}) more.erase(kept);
    EXPECT_EQ(more, std::set<std::string>());
    return struck;
  }

  // Calls `body` with every failure of every call of the driver that a clean run has made.
  template <class Body>
  static void for_each_call(const Scenario &scenario, const Trial &clean, Body &&body) {
    for (std::size_t f = 0; f < clean.driver_calls().size(); ++f) {
      for (std::uint64_t nth = 1; nth <= clean.driver_calls()[f]; ++nth) {
        for (const int status : {2, 201, 999}) {
          const char *const name = driver_functions()[f];
          SCOPED_TRACE(std::string(scenario.name) + ": " + name + " " + std::to_string(nth) +
                       " fails with " + std::to_string(status));
          body(Fault{Fault::driver, name, nth, status});
          if (HasFatalFailure()) return;
        }
      }
    }
  }

 private:
  static inline int struck_allocations = 0, struck_calls = 0;

  // A stream of the CPU's ends when its thread does, soon after it was released: that is waited for
  // before the verdict.
  static std::set<std::string> grown_since(const Kept &before, bool keeps_objects,
                                           bool is_verdict) {
    for (int times = 0;; ++times) {
      std::set<std::string> grown = Kept::now().since(before);
      if (keeps_objects) {
        std::erase_if(grown, [](const std::string &each) { return each.rfind("CU", 0) == 0; });
      }
      if (grown.empty() || times == (is_verdict ? 2000 : 3)) return grown;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
};

TEST_P(Faults, HaveAScenario) {
  EXPECT_FALSE(scenarios_of(GetParam()).empty())
      << GetParam() << " has no scenario: add one in tests/faults";
}

TEST_P(Faults, OfEveryAllocation) {
  for (const Scenario &scenario : scenarios_of(GetParam())) {
    Trial first, second;
    run_clean(scenario, first);  // loads what later ones have
    run_clean(scenario, second);
    for (std::uint64_t nth = 1; nth <= static_cast<std::uint64_t>(first.allocations()) + 1; ++nth) {
      SCOPED_TRACE(std::string(scenario.name) + ": allocation " + std::to_string(nth));
      if (!run_failing(scenario, {Fault::allocation, nullptr, nth, 0}, second.told())) break;
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(Faults, OfEveryAllocationInNewContexts) {
  for (const Scenario &scenario : scenarios_of(GetParam())) {
    Trial clean;
    const Kept usual = left_in_new_contexts([&] { run_clean(scenario, clean); });
    for (std::uint64_t nth = 1; nth <= static_cast<std::uint64_t>(clean.allocations()) + 1; ++nth) {
      SCOPED_TRACE(std::string(scenario.name) + ": allocation " + std::to_string(nth));
      if (!run_anew(scenario, {Fault::allocation, nullptr, nth, 0}, clean.told(), usual)) break;
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(Faults, OfEveryCallOfTheDriver) {
  for (const Scenario &scenario : scenarios_of(GetParam())) {
    Trial first, second;
    run_clean(scenario, first);
    run_clean(scenario, second);
    for_each_call(scenario, second,
                  [&](const Fault &fault) { run_failing(scenario, fault, second.told()); });
  }
}

TEST_P(Faults, OfEveryCallOfTheDriverInNewContexts) {
  for (const Scenario &scenario : scenarios_of(GetParam())) {
    Trial clean;
    const Kept usual = left_in_new_contexts([&] { run_clean(scenario, clean); });
    for_each_call(scenario, clean,
                  [&](const Fault &fault) { run_anew(scenario, fault, clean.told(), usual); });
  }
}

INSTANTIATE_TEST_SUITE_P(Every, Faults, testing::ValuesIn(functions),
                         [](const auto &each) { return std::string(each.param); });

// No scenario is of a function that there is not.
TEST(Scenarios, AreOfFunctions) {
  for (const Scenario &each : scenarios()) {
    EXPECT_TRUE(std::any_of(std::begin(functions), std::end(functions), [&](const char *name) {
      return std::strcmp(name, each.function) == 0;
    })) << each.function;
  }
}

}  // namespace
}  // namespace test
