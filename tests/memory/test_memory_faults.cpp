// SPDX-License-Identifier: BSD-3-Clause
// Each call of the driver, and each allocation, fails in turn: it is told, outputs are as they
// were, nothing is lost, and the next call does what this one should have done.
#include <functional>

#include "failing.hpp"
#include "memories.hpp"
#include "owned.hpp"

namespace test::memory_faults_tests {
namespace {

struct Scene {
  OwnStream first = make_stream(gpu0), second = make_stream(gpu0);
  OwnMemory memory = allocate(gpu0, CAI_KIND_ASYNC, 4096, first);
  OwnMemory other = allocate(gpu1, CAI_KIND_DEFAULT, 4096);
  OwnArray array = array_of(memory, {64, 64}), far = array_of(other, {64, 64});
  OwnArray foreign;

  Scene() {
    cai_array borrowed = *array.get();
    borrowed.owner = nullptr;
    cai_array *made = nullptr;
    EXPECT_EQ(cai_array_own(&borrowed, nullptr, nullptr, &made, nullptr), CAI_OK);
    foreign = OwnArray(made);
  }
};

struct Scenario {
  const char *name;
  std::function<cai_status(Scene &, cai_error *)> run;
};

// A function that makes memory: on failure the output must be unchanged.
template <class Make>
cai_status making(Make &&make) {
  cai_memory *const untouched = reinterpret_cast<cai_memory *>(16);
  cai_memory *out = untouched;
  const cai_status status = make(&out);
  EXPECT_EQ(status != CAI_OK, out == untouched);
  if (status == CAI_OK) cai_memory_release(out);
  return status;
}

std::vector<Scenario> scenarios() {
  std::vector<Scenario> all = {
      {"pin",
       [](Scene &, cai_error *error) {
         // What a failure leaves pinned cannot be pinned again: so other memory each time, forever.
         static auto *const pages = new std::vector<std::unique_ptr<unsigned char[]>>;
         pages->push_back(std::make_unique<unsigned char[]>(4096));
         return making([&](cai_memory **out) {
           return cai_memory_pin(gpu0, pages->back().get(), 4096, CAI_KIND_PINNED, 0, nullptr,
                                 nullptr, out, error);
         });
       }},
      {"view",
       [](Scene &s, cai_error *error) {
         return making(
             [&](cai_memory **out) { return cai_memory_view(s.memory, 1, 2, out, error); });
       }},
      {"of",
       [](Scene &s, cai_error *error) {
         return making(
             [&](cai_memory **out) { return cai_memory_of(s.foreign, out, nullptr, error); });
       }},
      {"array",
       [](Scene &s, cai_error *error) {
         cai_array *out = nullptr;
         const cai_status status =
             cai_memory_array(s.memory, 0, &bytes_type, 0, nullptr, nullptr, &out, error);
         EXPECT_EQ(status == CAI_OK, out != nullptr);
         cai_array_release(out);
         return status;
       }},
      {"copy",
       [](Scene &s, cai_error *error) { return cai_array_copy(s.array, s.far, s.second, error); }},
      {"fill",
       [](Scene &s, cai_error *error) {
         const unsigned char byte = 1;
         return cai_array_fill(s.array, &byte, s.second, error);
       }},
      {"item",
       [](Scene &s, cai_error *error) {
         const std::int64_t index[] = {0, 0};
         unsigned char byte = 0;
         return cai_array_item(s.far, index, &byte, error);
       }},
      {"record",
       [](Scene &s, cai_error *error) { return cai_memory_record(s.memory, s.second, error); }},
      {"share",
       [](Scene &s, cai_error *error) {
         cai_ipc_handle handle{};
         std::int32_t fd = 17;
         const cai_status status = cai_memory_share(s.other, &handle, &fd, error);
         EXPECT_EQ(fd, status == CAI_OK ? -1 : 17);
         return status;
       }},
      {"validate",
       [](Scene &s, cai_error *error) {
         return cai_memory_validate(describe(s.memory).data, 4096, gpu0, CAI_KIND_ASYNC, error);
       }},
  };
  for (const std::uint32_t kind : {CAI_KIND_DEFAULT, CAI_KIND_ASYNC, CAI_KIND_PINNED,
                                   CAI_KIND_MAPPED, CAI_KIND_MANAGED, CAI_KIND_CUDA_ARRAY}) {
    all.push_back({cai_kind_name(kind), [kind](Scene &s, cai_error *error) {
                     cai_request wanted = request(kind, 1024, s.first);
                     if (kind == CAI_KIND_CUDA_ARRAY) {
                       wanted.channels = 1;
                       wanted.dtype = bytes_type;
                     }
                     return making([&](cai_memory **out) {
                       return cai_memory_alloc(gpu0, &wanted, out, error);
                     });
                   }});
  }
  return all;
}

class MemoryFaults : public Memories {
 protected:
  MemoryFaults() {
    const auto count = [](void *reports, const cai_error *) { ++*static_cast<int *>(reports); };
    EXPECT_EQ(cai_on_failure(count, &reports_, nullptr), CAI_OK);
  }
  ~MemoryFaults() override { EXPECT_EQ(cai_on_failure(nullptr, nullptr, nullptr), CAI_OK); }

  int reports_ = 0;  // of failures that could not be returned

  static cai_usage usage() {
    cai_usage out{};
    out.struct_size = sizeof out;
    EXPECT_EQ(cai_memory_usage(gpu0, &out, nullptr), CAI_OK);
    return out;
  }

  static void run_again(const Scenario &scenario, Scene &scene) {
    cai_error problem{};
    EXPECT_EQ(scenario.run(scene, &problem), CAI_OK) << problem.message;
  }
};

TEST_F(MemoryFaults, OfEveryDriverCall) {
  unsigned injected = 0, told = 0;
  for (const Scenario &scenario : scenarios()) {
    std::vector<std::uint64_t> counts;
    {
      Scene scene;
      run_again(scenario, scene);  // the first call loads what later ones have
      gpu().simcuda_reset_counts();
      run_again(scenario, scene);
      for (const char *name : driver_functions()) counts.push_back(calls(name));
    }
    for (std::size_t f = 0; f < counts.size(); ++f) {
      const char *const name = driver_functions()[f];
      for (std::uint64_t nth = 1; nth <= counts[f]; ++nth) {
        SCOPED_TRACE(std::string(scenario.name) + ": " + name + " " + std::to_string(nth));
        Scene scene;
        run_again(scenario, scene);
        const cai_usage before = usage();
        const Surroundings around;
        MUST(gpu().simcuda_fail(name, nth, 400));
        cai_error error{};
        reports_ = 0;
        gpu().simcuda_reset_counts();
        const cai_status status = scenario.run(scene, &error);
        const bool reached = calls(name) >= nth;  // libcai keeps events: a call may not come again
        MUST(gpu().simcuda_fail(name, 0, 0));
        ASSERT_TRUE(Surroundings() == around);
        EXPECT_EQ(usage().count, before.count);
        if (!reached) continue;
        ++injected;
        if (status != CAI_OK) {
          ++told;
          EXPECT_EQ(status, CAI_ERR_CUDA) << error.message;
          EXPECT_EQ(error.native, 400);
        } else if (!std::strstr(name, "Query") && !std::strstr(name, "GetDevicePointer")) {
          // Those two have one more good answer: nothing pending, and no address for kernels.
          EXPECT_GT(reports_, 0);
        }
        run_again(scenario, scene);
      }
    }
  }
  EXPECT_GT(injected, 60U);
  EXPECT_GT(told, injected / 2);
}

TEST_F(MemoryFaults, OfEveryAllocation) {
  long failed = 0;
  for (const Scenario &scenario : scenarios()) {
    for (long nth = 0;; ++nth) {
      SCOPED_TRACE(std::string(scenario.name) + ": allocation " + std::to_string(nth));
      Scene scene;
      run_again(scenario, scene);
      const cai_usage before = usage();
      const Surroundings around;
      cai_error error{};
      cai_status status = CAI_OK;
      const long seen = with_failing_new(nth, [&] { status = scenario.run(scene, &error); });
      ASSERT_TRUE(Surroundings() == around);
      EXPECT_EQ(usage().count, before.count);
      if (seen <= nth) {
        EXPECT_EQ(status, CAI_OK) << error.message;
        break;
      }
      ++failed;
      if (status != CAI_OK) {
        EXPECT_EQ(status, CAI_ERR_MEMORY) << error.message;
      }
      run_again(scenario, scene);
    }
  }
  EXPECT_GT(failed, 10);
}

// Memory that is released beside a capture of other code while the driver fails `function`: the
// capture is intact, and the memory is freed once what was queued on its streams is complete, by
// `wait` at the latest.
void release_beside_a_capture(Handle primary, const char *function, int failures, int wait) {
  SCOPED_TRACE(function);
  const OwnStream first = make_stream(gpu0), second = make_stream(gpu0);
  OwnMemory memory = allocate(gpu0, CAI_KIND_ASYNC, 4096, first);
  const With with(primary);
  Gate gate(cai_stream_value(first));
  MUST(gpu().cuMemsetD8Async(describe(memory).data, 1, 4096, handle(cai_stream_value(first))));
  ASSERT_OK(cai_memory_set_stream(memory, second, error));
  Handle theirs = nullptr, graph = nullptr;
  MUST(gpu().cuStreamCreate(&theirs, non_blocking));
  MUST(gpu().cuStreamBeginCapture_v2(theirs, 0));
  for (int nth = 1; nth <= failures; ++nth) MUST(gpu().simcuda_fail(function, nth, 999));
  memory.reset();
  MUST(gpu().simcuda_fail(function, 0, 0));
  EXPECT_EQ(gpu().cuStreamEndCapture(theirs, &graph), 0) << "the capture was ruined";
  MUST(gpu().cuGraphDestroy(graph));
  std::int64_t left = 0;
  gate.open();
  MUST(gpu().cuStreamSynchronize(handle(cai_stream_value(first))));
  ASSERT_OK(cai_drain(wait, &left, error));
  EXPECT_EQ(left, 0);
  MUST(gpu().cuStreamDestroy_v2(theirs));
}

TEST_F(MemoryFaults, WhatCannotBePutInOrderRuinsNobodysCapture) {
  release_beside_a_capture(primary[0], "cuStreamWaitEvent", 1, 0);
  EXPECT_EQ(reports_, 1);
  release_beside_a_capture(primary[0], "cuEventRecord", 20, 1);
  EXPECT_EQ(reports_, 3) << "neither in order, nor by an event";
}

// Whatever fails at its end, the memory of a fill that is queued stays until it is complete.
TEST_F(MemoryFaults, AFillThatCannotBeEndedIsGivenUp) {
  const OwnStream theirs = make_stream(gpu0), ours = make_stream(gpu0);
  const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, 64, theirs);
  const OwnArray array = array_of(memory, {64});
  cai_array borrowed = *array.get();
  borrowed.owner = nullptr;
  borrowed.stream = cai_stream_value(theirs);
  borrowed.stream_kind = CAI_STREAM_STREAM;
  int given_up = 0;
  for (const char *const name : driver_functions()) {
    for (std::uint64_t nth = 1;; ++nth) {
      SCOPED_TRACE(std::string(name) + ": " + std::to_string(nth));
      Owned foreign(borrowed);
      Gate gate(cai_stream_value(ours));
      gpu().simcuda_reset_counts();
      MUST(gpu().simcuda_fail(name, nth, 999));
      const unsigned char seven = 7;
      const cai_status status = cai_array_fill(foreign, &seven, ours, nullptr);
      MUST(gpu().simcuda_fail(name, 0, 0));
      const bool is_queued = calls("cuMemsetD8Async") > 0, is_over = calls(name) < nth;
      foreign.release();
      EXPECT_FALSE(is_queued && foreign.ended());
      given_up += is_queued && status != CAI_OK;
      gate.open();
      if (is_over) break;
    }
  }
  EXPECT_GE(given_up, 3);
}

}  // namespace
}  // namespace test::memory_faults_tests
