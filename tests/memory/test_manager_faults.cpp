// SPDX-License-Identifier: BSD-3-Clause
// Each allocation of libcai's fails in turn while managers are made, put around others, allocate,
// free, share and open; and each call of the driver while they share and open (test_gpu_managers
// has the rest). It is told, outputs are as they were, nothing is lost, and the next call does what
// this one should have done.
#include <dirent.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <sstream>

#include "failing.hpp"
#include "gpu.hpp"
#include "managers.hpp"
#include "opener.hpp"

namespace test::manager_faults_tests {
namespace {

constexpr std::uint64_t wanted = 1 << 20;  // seen in what the device has left

template <class T>
T *untouched() {
  return reinterpret_cast<T *>(16);
}

// ---- Managers made, with the params that have most to do ----------------------------------------

cai_status make_one(const char *name, cai_device device, cai_manager *upstream, Manager &out,
                    cai_error *error) {
  static const cai_pool_params pool{
      sizeof pool, CAI_POOL_EXPORTABLE | CAI_POOL_INSTALL, 4096, 0, 0, 0};
  static const cai_limit_params limiting{sizeof limiting, 0, 2 * wanted};
  static constexpr auto write = [](void *, const char *, std::uint64_t) {};
  static constexpr auto caller = [](void *, char *text, std::uint64_t size) {
    std::snprintf(text, size, "faults.cpp:1");
  };
  static constexpr auto retry = [](void *, std::uint64_t, std::uint64_t attempt) {
    return std::int32_t{attempt == 0};
  };
  static const cai_log_params logging{sizeof logging, 0, nullptr, write, caller, nullptr, 0};
  static const cai_track_params tracking{sizeof tracking, 0, caller, nullptr, 0};
  static const cai_retry_params retrying{sizeof retrying, 0, retry, nullptr, nullptr};
  const std::string is = name;
  const void *const params = is == "pool"       ? static_cast<const void *>(&pool)
                             : is == "limiting" ? static_cast<const void *>(&limiting)
                             : is == "logging"  ? static_cast<const void *>(&logging)
                             : is == "tracking" ? static_cast<const void *>(&tracking)
                             : is == "retrying" ? static_cast<const void *>(&retrying)
                                                : nullptr;
  cai_manager *made = untouched<cai_manager>();
  const cai_status status = cai_manager_create(name, params, device, upstream, &made, error);
  EXPECT_EQ(status != CAI_OK, made == untouched<cai_manager>());
  if (status == CAI_OK) out = Manager(made);
  return status;
}

// Allocates and frees; what could not be freed is freed the second time.
cai_status allocate_and_free(cai_manager *manager, std::uint32_t kind, cai_error *error) {
  const std::uint64_t stream = usual_stream(cai_manager_device(manager));
  cai_block block{1, 2, 3, 4};
  cai_status status = cai_manager_alloc(manager, wanted, 4096, kind, stream, &block, error);
  if (status != CAI_OK) {
    EXPECT_EQ(block.data + block.host + block.size + block.cookie, 10U);
    return status;
  }
  status = cai_manager_free(manager, &block, kind, stream, error);
  if (status != CAI_OK) free_block(manager, block, kind);
  return status;
}

// ---- Memory of another process: the parent, by a manager that asks for nothing of it ------------

cai_ipc_handle handle_of_parent() {
  cai_ipc_handle handle{};
  handle.struct_size = sizeof handle;
  handle.kind = CAI_IPC_LEGACY;
  handle.size = 64;
  handle.process = static_cast<std::uint64_t>(getppid());
  std::ifstream file("/proc/" + std::to_string(handle.process) + "/stat");
  std::string stat((std::istreambuf_iterator<char>(file)), {});
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string field;
  for (int i = 3; i < 22; ++i) fields >> field;
  fields >> handle.process_start;
  cai_device_info info{};
  info.struct_size = sizeof info;
  EXPECT_EQ(cai_device_describe(gpu0, &info, nullptr), CAI_OK);
  std::memcpy(handle.uuid, info.uuid, sizeof handle.uuid);
  return handle;
}

cai_status open_and_release(cai_error *error) {
  static const cai_ipc_handle handle = handle_of_parent();
  Opener opener;
  cai_manager *made = nullptr;
  cai_status status = cai_manager_create(Opener::name(), &opener, gpu0, nullptr, &made, error);
  if (status != CAI_OK) return status;
  const Manager manager(made), before = manager_of(gpu0);
  EXPECT_EQ(cai_manager_install(gpu0, manager, nullptr), CAI_OK);
  cai_memory *out = untouched<cai_memory>();
  status = cai_memory_open(&handle, -1, gpu0, nullptr, CAI_OPEN_DIRECT, &out, error);
  EXPECT_EQ(status != CAI_OK, out == untouched<cai_memory>());
  if (status == CAI_OK) cai_memory_release(out);
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  EXPECT_EQ(opener.opens, opener.closes);
  EXPECT_EQ(cai_manager_install(gpu0, before, nullptr), CAI_OK);
  return status;
}

// Of an exportable pool: a descriptor, or none.
cai_status share_by_descriptor(cai_error *error) {
  Manager pool;
  cai_status status = make_one("pool", gpu0, nullptr, pool, error);
  if (status != CAI_OK) return status;
  cai_request request{};
  request.struct_size = sizeof request;
  request.kind = CAI_KIND_ASYNC;
  request.size = wanted;
  request.manager = pool;
  cai_memory *memory = untouched<cai_memory>();
  status = cai_memory_alloc(gpu0, &request, &memory, error);
  EXPECT_EQ(status != CAI_OK, memory == untouched<cai_memory>());
  if (status != CAI_OK) return status;
  cai_ipc_handle handle{};
  std::int32_t fd = -17;
  status = cai_memory_share(memory, &handle, &fd, error);
  EXPECT_EQ(status == CAI_OK, fd >= 0);
  EXPECT_EQ(status == CAI_OK, handle.size == wanted);
  if (fd >= 0) close(fd);
  cai_memory_release(memory);
  return status;
}

// A release has no caller, and the block must not be freed again.
cai_status allocate_and_release(std::uint32_t kind, cai_error *error) {
  cai_request request{};
  request.struct_size = sizeof request;
  request.kind = kind;
  request.size = wanted;
  cai_memory *memory = untouched<cai_memory>();
  const cai_status status = cai_memory_alloc(gpu0, &request, &memory, error);
  EXPECT_EQ(status != CAI_OK, memory == untouched<cai_memory>());
  if (status == CAI_OK) cai_memory_release(memory);
  return status;
}

// ---- The scenarios ------------------------------------------------------------------------------

struct Scenario {
  std::string name;
  std::function<cai_status(cai_error *)> run;
};

std::vector<Scenario> scenarios() {
  std::vector<Scenario> all;
  for (const char *name : {"default", "async", "pool", "managed"}) {
    for (const std::uint32_t kind : {CAI_KIND_DEFAULT, CAI_KIND_ASYNC, CAI_KIND_MANAGED,
                                     CAI_KIND_PINNED, CAI_KIND_MAPPED, CAI_KIND_HOST}) {
      all.push_back({std::string(name) + ", " + cai_kind_name(kind), [=](cai_error *error) {
                       Manager manager;
                       const cai_status made = make_one(name, gpu0, nullptr, manager, error);
                       return made == CAI_OK ? allocate_and_free(manager, kind, error) : made;
                     }});
    }
  }
  for (const std::uint32_t kind : {CAI_KIND_DEFAULT, CAI_KIND_ASYNC, CAI_KIND_MANAGED,
                                   CAI_KIND_PINNED, CAI_KIND_MAPPED, CAI_KIND_HOST}) {
    all.push_back({std::string("released, ") + cai_kind_name(kind),
                   [=](cai_error *error) { return allocate_and_release(kind, error); }});
  }
  for (const cai_device device : {cpu, gpu0}) {
    for (const char *name : {"statistics", "limiting", "logging", "tracking", "retrying"}) {
      for (const std::uint32_t kind : {CAI_KIND_DEFAULT, CAI_KIND_HOST}) {
        all.push_back(
            {std::string(name) + " around another, " + cai_kind_name(kind), [=](cai_error *error) {
               Manager base, around;
               cai_status status = make_one(device.type == CAI_DEVICE_CPU ? "host" : "default",
                                            device, nullptr, base, error);
               if (status != CAI_OK) return status;
               Manager counting;
               status = make_one("statistics", device, base, counting, error);
               if (status != CAI_OK) return status;
               status = make_one(name, device, counting, around, error);
               if (status != CAI_OK) return status;
               status = allocate_and_free(around, kind, error);
               EXPECT_EQ(statistics(counting).count, 0U);
               EXPECT_EQ(statistics(around).count, 0U);
               return status;
             }});
      }
    }
  }
  all.push_back({"the device's own, anew", [](cai_error *error) {
                   EXPECT_EQ(cai_manager_install(gpu1, nullptr, nullptr), CAI_OK);
                   cai_manager *out = untouched<cai_manager>();
                   const cai_status status = cai_manager_of(gpu1, &out, error);
                   EXPECT_EQ(status != CAI_OK, out == untouched<cai_manager>());
                   if (status == CAI_OK) cai_manager_release(out);
                   return status;
                 }});
  all.push_back({"register", [](cai_error *error) {
                   static int number = 0;
                   const std::string name = "a-name-that-is-long-" + std::to_string(number);
                   const cai_status status =
                       cai_manager_register(name.c_str(), &recorder_table, error);
                   number += status == CAI_OK;
                   return status;
                 }});
  all.push_back({"defer", [](cai_error *error) {
                   cai_status status = cai_pending_defer(gpu0, 1, error);
                   if (status == CAI_OK) status = cai_pending_defer(gpu0, 0, error);
                   EXPECT_EQ(usage(gpu0).deferred, 0U);
                   return status;
                 }});
  all.push_back({"share by a descriptor", share_by_descriptor});
  all.push_back({"open by a manager", open_and_release});
  return all;
}

// ---- What must be as it was ---------------------------------------------------------------------

int open_descriptors() {
  DIR *const folder = opendir("/proc/self/fd");
  int count = 0;
  while (readdir(folder)) ++count;
  closedir(folder);
  return count;
}

class ManagerFaults : public testing::Test {
 protected:
  ManagerFaults() {
    for (int device = 0; device < 2; ++device) {
      MUST(gpu().cuDevicePrimaryCtxRetain(&primary_[device], device));
    }
    manager_of(gpu0), manager_of(gpu1);
  }
  ~ManagerFaults() override {
    for (int device = 0; device < 2; ++device) MUST(gpu().cuDevicePrimaryCtxRelease_v2(device));
  }

  struct State {
    std::uint64_t free = 0, pending = 0, out = 0;
    int descriptors = open_descriptors();
    bool operator==(const State &) const = default;
  };
  State state() const {
    State now;
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
    flush(gpu0);
    const With with(primary_[0]);
    MUST(gpu().cuCtxSynchronize());
    EXPECT_EQ(cai_device_memory(gpu0, &now.free, nullptr, nullptr), CAI_OK);
    now.pending = usage(gpu0).pending_count;
    now.out = calls("cuMemAlloc") + calls("cuMemAllocManaged") + calls("cuMemHostAlloc") -
              calls("cuMemFree") - calls("cuMemFreeHost");
    return now;
  }

 private:
  Handle primary_[2] = {};
};

TEST_F(ManagerFaults, OfEveryAllocation) {
  long failed = 0;
  for (const Scenario &scenario : scenarios()) {
    const auto run_again = [&] {
      cai_error problem{};
      EXPECT_EQ(scenario.run(&problem), CAI_OK) << problem.message;
    };
    run_again();  // the first call loads what later ones have
    const State before = state();
    for (long nth = 0;; ++nth) {
      SCOPED_TRACE(scenario.name + ": allocation " + std::to_string(nth));
      const Surroundings around;
      cai_error error{};
      cai_status status = CAI_OK;
      const long seen = with_failing_new(nth, [&] { status = scenario.run(&error); });
      ASSERT_TRUE(Surroundings() == around);
      EXPECT_TRUE(state() == before);
      if (seen <= nth) {
        EXPECT_EQ(status, CAI_OK) << error.message;
        break;
      }
      ++failed;
      if (status != CAI_OK) {
        EXPECT_EQ(status, CAI_ERR_MEMORY) << error.message;
      }
      run_again();
    }
  }
  EXPECT_GT(failed, 100);
}

TEST_F(ManagerFaults, OfEveryCallOfTheDriver) {
  std::size_t injected = 0;
  const Scenario all[] = {{"share by a descriptor", share_by_descriptor},
                          {"open by a manager", open_and_release}};
  for (const Scenario &scenario : all) {
    cai_error error{};
    for (int i = 0; i < 2; ++i) {  // the first call loads what later ones have
      gpu().simcuda_reset_counts();
      ASSERT_EQ(scenario.run(&error), CAI_OK) << error.message;
    }
    std::vector<std::uint64_t> counts;
    for (const char *function : driver_functions()) counts.push_back(calls(function));
    for (std::size_t f = 0; f < counts.size(); ++f) {
      const char *const function = driver_functions()[f];
      // A failed free is final: the driver is not called twice.
      if (std::strstr(function, "Free") || std::strstr(function, "Destroy")) continue;
      for (std::uint64_t nth = 1; nth <= counts[f]; ++nth) {
        SCOPED_TRACE(scenario.name + ": " + function + " " + std::to_string(nth));
        const Surroundings around;
        const State before = state();
        const Failures releases;  // that failed: what they were to free is lost for good
        MUST(gpu().simcuda_fail(function, nth, 400));
        const cai_status status = scenario.run(&error);
        MUST(gpu().simcuda_fail(function, 0, 0));
        ++injected;
        ASSERT_TRUE(Surroundings() == around);
        EXPECT_TRUE(state() == before || !releases.messages.empty());
        if (status != CAI_OK) {
          EXPECT_EQ(status, CAI_ERR_CUDA) << error.message;
          EXPECT_EQ(error.native, 400);
        }
        EXPECT_EQ(scenario.run(&error), CAI_OK) << error.message;
      }
    }
  }
  EXPECT_GT(injected, 30U);
}

}  // namespace
}  // namespace test::manager_faults_tests
