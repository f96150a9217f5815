// SPDX-License-Identifier: BSD-3-Clause
// What fails on the way, a call of the driver or an allocation, whichever it is: each once, with no
// event there yet that could be taken for a new one. It is told; nothing is lost; and the next call
// does what this one should have done.
#include <functional>

#include "failing.hpp"
#include "owned.hpp"

namespace test::faults_tests {
namespace {

// A place where nothing has happened yet: streams, arrays, owners, and no event in any pool.
struct Scene {
  Handle context = nullptr;
  std::uint64_t producer = 0, consumer = 0, other = 0;
  std::unique_ptr<Array> of_stream, legacy, none;
  std::unique_ptr<Owned> owned, kept, fresh;
  std::unique_ptr<Producer> old;
  std::unique_ptr<Array> of_old;

  Scene() {
    MUST(gpu().cuCtxCreate_v2(&context, 0, 0));  // is current from here on
    for (std::uint64_t *each : {&producer, &consumer, &other}) {
      Handle made = nullptr;
      MUST(gpu().cuStreamCreate(&made, non_blocking));
      *each = value(made);
    }
    of_stream = std::make_unique<Array>(memory(), CAI_STREAM_STREAM, producer);
    legacy = std::make_unique<Array>(memory(), CAI_STREAM_STREAM, 1);
    none = std::make_unique<Array>(memory(), CAI_STREAM_NONE);
    owned = std::make_unique<Owned>(memory(), CAI_STREAM_STREAM, producer);
    kept = std::make_unique<Owned>(memory(), CAI_STREAM_NONE);
    fresh = std::make_unique<Owned>(memory(), CAI_STREAM_NONE);
    old = std::make_unique<Producer>(0, 24);
    of_old = std::make_unique<Array>(memory(), CAI_STREAM_NONE);
    of_old->array.owner = old->owner();
  }
  Scene(const Scene &) = delete;
  Scene &operator=(const Scene &) = delete;

  // Everything ends once, and no event is left over.
  ~Scene() {
    MUST(gpu().cuCtxSynchronize());
    owned.reset();
    kept.reset();
    fresh.reset();
    old.reset();
    MUST(gpu().cuCtxDestroy_v2(context));
  }

  // Some use is kept, on a stream of its own.
  void keep() { EXPECT_EQ(end_use({*kept}, other), CAI_OK); }

 private:
  static Address memory() {
    Address made = 0;
    MUST(gpu().cuMemAlloc_v2(&made, static_cast<std::size_t>(count)));
    return made;
  }
};

struct Scenario {
  const char *name;
  std::function<void(Scene &)> before;
  std::function<cai_status(Scene &, cai_error *)> run;
  std::function<void(Scene &)> taken = nullptr;  // a holder, by the call that succeeds
};

void nothing(Scene &) {}

std::vector<Scenario> scenarios() {
  const auto keep = [](Scene &scene) { scene.keep(); };
  return {
      {"begin", keep,
       [](Scene &s, cai_error *error) {
         return begin_use({&s.of_stream->array, &s.legacy->array, *s.kept}, s.consumer, error);
       }},
      {"end", keep,
       [](Scene &s, cai_error *error) {
         return end_use({*s.owned, &s.legacy->array, *s.fresh}, s.consumer, error);
       }},
      {"end on 1", nothing,
       [](Scene &s, cai_error *error) { return end_use({*s.owned, *s.fresh}, 1, error); }},
      {"reclaim", keep,
       [](Scene &s, cai_error *error) {
         return cai_array_reclaim(*s.kept, s.consumer, CAI_ACCESS_WRITE, error);
       }},
      {"sync", keep,
       [](Scene &s, cai_error *error) { return cai_array_sync_host(*s.kept, error); }},
      {"publish", keep,
       [](Scene &s, cai_error *error) {
         const std::uint64_t streams[] = {s.producer, 1};
         cai_array *view = nullptr;
         const cai_status status = cai_array_publish(*s.kept, streams, 2, s.consumer, &view, error);
         EXPECT_EQ(view != nullptr, status == CAI_OK);
         cai_array_release(view);
         return status;
       }},
      {"publish event", nothing,
       [](Scene &s, cai_error *error) {
         cai_array *view = nullptr;
         const cai_status status = cai_array_publish_event(*s.owned, s.consumer, &view, error);
         EXPECT_EQ(view != nullptr, status == CAI_OK);
         cai_array_release(view);
         return status;
       }},
      {"release on", nothing,
       [](Scene &s, cai_error *error) { return cai_array_release_on(*s.fresh, s.consumer, error); },
       [](Scene &s) { s.fresh->gone(); }},
      {"release on, of an old owner", nothing,
       [](Scene &s, cai_error *error) {
         return cai_array_release_on(&s.of_old->array, s.consumer, error);
       },
       [](Scene &s) { s.old->gone(); }},
      {"used on", nothing,
       [](Scene &s, cai_error *error) {
         return cai_owner_used_on((*s.fresh)->owner, s.consumer, CAI_ACCESS_WRITE, error);
       }},
      {"await uses", keep,
       [](Scene &s, cai_error *error) {
         return cai_owner_await_uses((*s.kept)->owner, s.consumer, CAI_ACCESS_WRITE, error);
       }},
      {"await uses, host", keep,
       [](Scene &s, cai_error *error) {
         return cai_owner_await_uses((*s.kept)->owner, 0, CAI_ACCESS_WRITE, error);
       }},
      {"drain",
       [keep](Scene &s) {
         keep(s);
         s.kept->release();
       },
       [](Scene &, cai_error *error) { return cai_drain(1, nullptr, error); }},
  };
}

class Faults : public OnGpu {
 protected:
  // After a failed call, the same objects serve another one, which succeeds.
  static void run_again(const Scenario &scenario, Scene &scene) {
    cai_error error{};
    ASSERT_EQ(scenario.run(scene, &error), CAI_OK) << error.message;
    if (scenario.taken) scenario.taken(scene);
  }
};

TEST_F(Faults, OfEveryCallOfTheDriver) {
  std::size_t injected = 0;
  for (const Scenario &scenario : scenarios()) {
    std::vector<std::uint64_t> counts;
    {
      Scene scene;
      scenario.before(scene);
      gpu().simcuda_reset_counts();
      run_again(scenario, scene);
      for (const char *name : driver_functions()) counts.push_back(calls(name));
    }
    for (std::size_t f = 0; f < counts.size(); ++f) {
      const char *name = driver_functions()[f];
      for (std::uint64_t nth = 1; nth <= counts[f]; ++nth) {
        for (const std::int32_t status : {999, 709, 400}) {
          SCOPED_TRACE(std::string(scenario.name) + ": " + name + " " + std::to_string(nth) +
                       " fails with " + std::to_string(status));
          Scene scene;
          scenario.before(scene);
          const Surroundings before;
          MUST(gpu().simcuda_fail(name, nth, status));
          cai_error error{};
          const cai_status result = scenario.run(scene, &error);
          ++injected;
          ASSERT_TRUE(Surroundings() == before);
          MUST(gpu().simcuda_fail(name, 0, 0));
          if (std::strcmp(name, "cuEventQuery") == 0 && result == CAI_OK) continue;
          // That a context was destroyed is an answer: uses there are not waited for.
          const bool says_gone = std::strcmp(name, "cuCtxGetId") == 0 && status == 709;
          if (says_gone && result == CAI_OK) continue;
          ASSERT_EQ(result, CAI_ERR_CUDA);
          EXPECT_EQ(error.native, status);
          EXPECT_EQ(std::string(error.message).rfind("[" + std::string(name) + "]", 0), 0U)
              << error.message;
          run_again(scenario, scene);
        }
      }
    }
  }
  EXPECT_GT(injected, 200U);
}

TEST_F(Faults, OfEveryAllocation) {
  long failed = 0;
  for (const Scenario &scenario : scenarios()) {
    for (long nth = 0;; ++nth) {
      SCOPED_TRACE(std::string(scenario.name) + ": allocation " + std::to_string(nth));
      Scene scene;
      scenario.before(scene);
      const Surroundings before;
      cai_error error{};
      cai_status result = CAI_OK;
      const long seen = with_failing_new(nth, [&] { result = scenario.run(scene, &error); });
      ASSERT_TRUE(Surroundings() == before);
      if (seen <= nth) {
        ASSERT_EQ(result, CAI_OK) << error.message;
        if (scenario.taken) scenario.taken(scene);
        break;
      }
      ++failed;
      // If it can do without, it does.
      if (result == CAI_OK) {
        if (scenario.taken) scenario.taken(scene);
        continue;
      }
      ASSERT_EQ(result, CAI_ERR_MEMORY) << error.message;
      run_again(scenario, scene);
    }
  }
  EXPECT_GT(failed, 10);
}

}  // namespace
}  // namespace test::faults_tests
