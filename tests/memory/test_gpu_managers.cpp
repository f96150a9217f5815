// SPDX-License-Identifier: BSD-3-Clause
// The built-in managers of GPUs, on simcuda: what they ask of the driver, in what order memory is
// freed, captures, resets, and each call of the driver failing in turn.
#include <sys/wait.h>
#include <unistd.h>

#include "gpu.hpp"
#include "managers.hpp"

namespace test::gpu_managers_tests {
namespace {

// Both primary contexts are active, and none is current.
class GpuManagers : public testing::Test {
 protected:
  GpuManagers() {
    MUST(gpu().cuDevicePrimaryCtxRetain(&primary, 0));
    manager_of(gpu0), manager_of(gpu1);
    flush(gpu0), flush(gpu1);
    before_ = Surroundings();
    races_ = gpu().simcuda_races();
    gpu().simcuda_reset_counts();
  }
  ~GpuManagers() override {
    flush(gpu0);
    EXPECT_EQ(usage(gpu0).pending_count, 0U);
    EXPECT_TRUE(Surroundings() == before_) << "the context stack or the capture mode has changed";
    EXPECT_EQ(gpu().simcuda_races(), races_);
    MUST(gpu().cuDevicePrimaryCtxRelease_v2(0));
  }

  Handle stream(unsigned flags = non_blocking) const {
    const With with(primary);
    Handle made = nullptr;
    MUST(gpu().cuStreamCreate(&made, flags));
    return made;
  }
  static cai_block on(cai_manager *manager, Handle stream, std::uint64_t size,
                      std::uint32_t kind = CAI_KIND_DEFAULT, std::uint64_t align = 0) {
    cai_block block{};
    cai_error error{};
    EXPECT_EQ(cai_manager_alloc(manager, size, align, kind, value(stream), &block, &error), CAI_OK)
        << error.message;
    return block;
  }
  static void free_on(cai_manager *manager, Handle stream, const cai_block &block,
                      std::uint32_t kind = CAI_KIND_DEFAULT) {
    cai_error error{};
    EXPECT_EQ(cai_manager_free(manager, &block, kind, value(stream), &error), CAI_OK)
        << error.message;
  }
  void use(const cai_block &block, Handle stream) const {
    const With with(primary);
    MUST(gpu().cuMemsetD8Async(block.data, 1, block.size, stream));
  }
  void synchronize() const {
    const With with(primary);
    MUST(gpu().cuCtxSynchronize());
  }
  std::uint64_t free_memory() const {
    const With with(primary);
    MUST(gpu().cuCtxSynchronize());
    std::uint64_t free = 0;
    EXPECT_EQ(cai_device_memory(gpu0, &free, nullptr, nullptr), CAI_OK);
    return free;
  }

  Handle primary = nullptr;

 private:
  Surroundings before_{};
  std::uint64_t races_ = 0;
};

const char *const builtin[] = {"default", "async", "pool", "managed"};
constexpr std::uint32_t kinds[] = {
    CAI_KIND_DEFAULT, CAI_KIND_ASYNC,  CAI_KIND_MANAGED, CAI_KIND_MANAGED_GLOBAL,
    CAI_KIND_PINNED,  CAI_KIND_MAPPED, CAI_KIND_HOST};

TEST_F(GpuManagers, EachGivesEachKindOnAnyStreamAndWaitsForNothing) {
  for (const char *name : builtin) {
    const Manager manager = make(name, gpu0);
    EXPECT_STREQ(cai_manager_name(manager), name);
    for (const std::uint32_t kind : kinds) {
      for (const Handle at : {handle(1), handle(2), stream(), stream(blocking)}) {
        for (const std::uint64_t align : {0U, 1U, 256U, 4096U, 1U << 20}) {
          SCOPED_TRACE(std::string(name) + " " + cai_kind_name(kind));
          const cai_block block = on(manager, at, 1000, kind, align);
          const std::uint64_t begin = kind == CAI_KIND_HOST ? block.host : block.data;
          EXPECT_EQ(begin % (align ? align : 256), 0U);
          EXPECT_EQ(block.size, 1000U);
          if (cai_is_dereferenceable(gpu0, kind)) {
            EXPECT_NE(block.host, 0U);
          }
          if (kind != CAI_KIND_HOST) use(block, at);
          free_on(manager, at, block, kind);
        }
      }
    }
  }
}

TEST_F(GpuManagers, NothingLeaks) {
  for (const char *name : builtin) {
    for (const std::uint32_t kind : kinds) {
      const Manager manager = make(name, gpu0);
      flush(gpu0);
      const std::uint64_t before = free_memory();
      for (int i = 0; i < 15; ++i) free_block(manager, allocate(manager, 1 << 16, kind), kind);
      flush(gpu0);
      EXPECT_EQ(free_memory(), before) << name << " " << cai_kind_name(kind);
    }
  }
}

TEST_F(GpuManagers, PlainMemoryIsFreedWithMoreOfIt) {
  const Manager manager = make("default", gpu0);
  for (int i = 0; i < 10; ++i) free_block(manager, allocate(manager, 100));
  EXPECT_EQ(calls("cuMemFree"), 0U);
  EXPECT_EQ(usage(gpu0).pending_bytes, 1000U);
  synchronize();
  free_block(manager, allocate(manager, 100));
  EXPECT_EQ(calls("cuMemFree"), 10U);
  EXPECT_EQ(usage(gpu0).pending_bytes, 100U);
}

// However many are pending: the driver would wait for the device. Pinned memory has no stream: it
// is seen that a blocking one is busy.
TEST_F(GpuManagers, NoFreeWaitsForABusyDevice) {
  for (const std::uint32_t kind :
       {CAI_KIND_DEFAULT, CAI_KIND_MANAGED_GLOBAL, CAI_KIND_PINNED, CAI_KIND_MAPPED}) {
    const bool pinned = kind == CAI_KIND_PINNED || kind == CAI_KIND_MAPPED;
    flush(gpu0);
    gpu().simcuda_reset_counts();
    const Manager manager = make("default", gpu0);
    const Handle at = stream(pinned ? blocking : non_blocking);
    const char *const frees = pinned ? "cuMemFreeHost" : "cuMemFree";
    {
      const With with(primary);
      MUST(gpu().simcuda_busy(at, std::uint64_t{1} << 50));  // until a call waits
    }
    constexpr std::uint64_t many = 200;
    for (std::uint64_t i = 0; i < many; ++i) {
      const cai_block block = on(manager, at, 100, kind);
      if (!pinned) use(block, at);
      free_on(manager, at, block, kind);
    }
    for (const char *call :
         {frees, "cuCtxSynchronize", "cuEventSynchronize", "cuStreamSynchronize"}) {
      EXPECT_EQ(calls(call), 0U) << call << " for " << cai_kind_name(kind);
    }
    EXPECT_EQ(usage(gpu0).pending_count, many);
    for (std::uint64_t i = 0; i < many / 4; ++i) {  // one of these looks
      synchronize();
      free_on(manager, at, on(manager, at, 100, kind), kind);
    }
    EXPECT_GE(calls(frees), many) << cai_kind_name(kind);
  }
}

TEST_F(GpuManagers, ManagedMemoryIsFreedAfterItsStream) {
  const Manager manager = make("managed", gpu0);
  const Handle at = stream();
  const cai_block block = on(manager, at, 100, CAI_KIND_MANAGED);
  EXPECT_EQ(calls("cuStreamAttachMemAsync"), 1U);
  Gate gate(value(at));
  use(block, at);
  free_on(manager, at, block, CAI_KIND_MANAGED);  // waits for nothing: the gate is shut
  EXPECT_EQ(calls("cuMemFree"), 0U);
  gate.open();
  flush(gpu0);
  EXPECT_EQ(calls("cuMemFree"), 1U);
  on(manager, handle(1), 100, CAI_KIND_MANAGED);
  EXPECT_EQ(calls("cuStreamAttachMemAsync"), 1U);  // of a default stream, everybody's
}

TEST_F(GpuManagers, WantOfMemoryFlushesAndAsksOnceMore) {
  const Manager manager = make("default", gpu0);
  constexpr std::int32_t out_of_memory = 2;
  free_block(manager, allocate(manager, 100));
  EXPECT_EQ(usage(gpu0).pending_count, 1U);
  MUST(gpu().simcuda_fail("cuMemAlloc", 1, out_of_memory));
  const cai_block block = allocate(manager, 100);
  EXPECT_EQ(calls("cuMemAlloc"), 3U);
  EXPECT_EQ(calls("cuMemFree"), 1U);
  free_block(manager, block);
  std::uint64_t total = 0;
  EXPECT_EQ(cai_device_memory(gpu0, nullptr, &total, nullptr), CAI_OK);
  const cai_error error = allocation_failure(manager, total * 2);
  EXPECT_EQ(error.status, CAI_ERR_MEMORY);
  EXPECT_EQ(error.native, 2);
  EXPECT_TRUE(contains(error.message, std::to_string(total * 2) + " bytes on gpu:0 from manager "
                                                                  "default"))
      << error.message;
  for (const char *name : builtin) {
    const Manager each = make(name, gpu0);
    EXPECT_EQ(allocation_failure(each, ~0ULL - 10, CAI_KIND_DEFAULT, 4096).status, CAI_ERR_MEMORY);
  }
}

TEST_F(GpuManagers, StreamZeroIsRefused) {
  const Manager manager = manager_of(gpu0);
  EXPECT_STREQ(cai_manager_name(manager), "default");
  cai_block block{};
  cai_error error{};
  EXPECT_EQ(cai_manager_alloc(manager, 1, 0, CAI_KIND_DEFAULT, 0, &block, &error), CAI_ERR_VALUE);
  EXPECT_EQ(refusal("host", gpu0).first, CAI_ERR_UNSUPPORTED);
  EXPECT_EQ(refusal("default", {CAI_DEVICE_CUDA, 77}).first, CAI_ERR_DEVICE);
  const Manager other = make("default", gpu1);
  EXPECT_EQ(refusal("statistics", gpu0, nullptr, other).first, CAI_ERR_VALUE);
}

TEST_F(GpuManagers, PrimaryContextIsCurrentForTheManager) {
  Recorder recorder;
  const Manager manager = make(recorder, gpu1);
  Handle expected = nullptr, seen = nullptr;
  MUST(gpu().cuDevicePrimaryCtxRetain(&expected, 1));
  recorder.during = [&] { seen = current(); };
  const With other(primary);
  free_block(manager, allocate(manager, 1));
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(current(), primary);
  MUST(gpu().cuDevicePrimaryCtxRelease_v2(1));
}

// ---- The pool -----------------------------------------------------------------------------------

TEST_F(GpuManagers, APoolIsInstalledUntilItEnds) {
  const auto uses_pool = [&](bool own) {
    const With with(primary);
    // All allocations come from the pool, whose maximum is small.
    Address address = 0;
    const int result = gpu().cuMemAllocAsync(&address, 64 << 20, nullptr);
    EXPECT_EQ(result, own ? 2 : 0);
    if (result == 0) MUST(gpu().cuMemFreeAsync(address, nullptr));
  };
  cai_pool_params params{sizeof params, CAI_POOL_INSTALL, 1 << 20, 32 << 20, 0, 0};
  uses_pool(false);
  {
    const Manager manager = make("pool", gpu0, &params);
    uses_pool(true);
    EXPECT_EQ(allocation_failure(manager, 64 << 20).native, 2);
    const cai_block block = allocate(manager, 1000);
    EXPECT_EQ(cai_manager_trim(manager, 0, nullptr), CAI_OK);
    free_block(manager, block);
  }
  uses_pool(false);
  EXPECT_EQ(calls("cuMemPoolDestroy"), 1U);
}

// Peers with access to a pool have none to the next pool, which may get the same object.
TEST_F(GpuManagers, APoolTakesAccessBackAsItEnds) {
  struct Location {
    int type, id;
  };
  struct Access {
    Location location;
    int flags;
  };
  constexpr int device_location = 1, read_write = 3;
  const auto set_access =
      driver_function<int (*)(Handle, const Access *, std::size_t)>("cuMemPoolSetAccess");
  const auto get_access =
      driver_function<int (*)(int *, Handle, const Location *)>("cuMemPoolGetAccess");
  const Location peer{device_location, 1};
  const Access given{peer, read_write};
  const cai_pool_params params{sizeof params, CAI_POOL_INSTALL, 0, 0, 0, 0};
  for (const bool gives : {true, false, false}) {
    const Manager manager = make("pool", gpu0, &params);
    Handle pool = nullptr;
    MUST(gpu().cuDeviceGetMemPool(&pool, 0));
    int flags = -1;
    MUST(get_access(&flags, pool, &peer));
    EXPECT_EQ(flags, 0);
    if (gives) {
      MUST(set_access(pool, &given, 1));
    }
  }
  EXPECT_EQ(calls("cuMemPoolSetAccess"), 2U);  // the one here, and one that takes it back
  EXPECT_EQ(calls("cuMemPoolDestroy"), 3U);
}

// A pool that ends restores the former one, whatever that is.
TEST_F(GpuManagers, PoolsThatAreInstalledOneInAnother) {
  const auto current = [] {
    Handle pool = nullptr;
    MUST(gpu().cuDeviceGetMemPool(&pool, 0));
    return pool;
  };
  const cai_pool_params params{sizeof params, CAI_POOL_INSTALL, 0, 0, 0, 0};
  const Handle usual = current();
  {
    const Manager outer = make("pool", gpu0, &params);
    const Handle of_outer = current();
    {
      const Manager inner = make("pool", gpu0, &params);
      EXPECT_NE(current(), of_outer);
    }
    EXPECT_EQ(current(), of_outer);
  }
  EXPECT_EQ(current(), usual);
}

// Who asks for no alignment gets that of GPUs, or of the host.
TEST_F(GpuManagers, AreAskedForAnAlignment) {
  for (const cai_device device : {gpu0, cpu}) {
    Recorder recorder;
    const Manager manager = make(recorder, device);
    for (const std::uint64_t align : {0, 1, 4096}) {
      cai_request wanted = request(CAI_KIND_DEFAULT, 8);
      wanted.manager = manager;
      wanted.align = align;
      cai_memory *made = nullptr;
      ASSERT_OK(cai_memory_alloc(device, &wanted, &made, error));
      const OwnMemory memory(made);
      const std::uint64_t usual = device.type == CAI_DEVICE_CPU ? 64 : 256;
      EXPECT_EQ(recorder.count("memalloc 8 " + std::to_string(align ? align : usual) + " "), 1U);
    }
    flush(gpu0);
  }
}

TEST_F(GpuManagers, PoolParams) {
  cai_pool_params params{sizeof params, CAI_POOL_EXPORTABLE, 0, 0, UINT64_MAX, 0};
  cai_device_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(cai_device_describe(gpu0, &info, nullptr), CAI_OK);
  if (info.flags & CAI_DEVICE_POOLS_BY_DESCRIPTOR) {
    const Manager manager = make("pool", gpu0, &params);
    free_block(manager, allocate(manager, 100));
  } else {
    EXPECT_EQ(refusal("pool", gpu0, &params).first, CAI_ERR_UNSUPPORTED);
  }
  params.flags = 4;
  EXPECT_EQ(refusal("pool", gpu0, &params).first, CAI_ERR_VALUE);
  // From a later libcai, without any further request.
  union {
    cai_pool_params known;
    unsigned char bytes[4097];
  } later{{4096, 0, 0, 0, UINT64_MAX, 0}};
  const Manager large = make("pool", gpu0, &later.known);
  later.known.struct_size = 4097;
  EXPECT_EQ(refusal("pool", gpu0, &later.known).first, CAI_ERR_VALUE);
  params.flags = 0, params.reserved = 1;
  EXPECT_EQ(refusal("pool", gpu0, &params).first, CAI_ERR_VALUE);
  params.reserved = 0, params.initial = params.maximum = 2 << 20;
  static_cast<void>(make("pool", gpu0, &params));
  params.initial = 2, params.maximum = 1;
  EXPECT_EQ(refusal("pool", gpu0, &params).first, CAI_ERR_VALUE);
  EXPECT_EQ(refusal("pool", cpu).first, CAI_ERR_UNSUPPORTED);
}

// ---- Captures -----------------------------------------------------------------------------------

TEST_F(GpuManagers, ACaptureComesToNoHarm) {
  for (const int mode : {0, 1, 2}) {  // global, by thread, relaxed
    for (const unsigned flags : {blocking, non_blocking}) {
      const Handle at = stream(flags), other = stream();
      const Manager manager = make("default", gpu0), async = make("async", gpu0);
      const cai_block before = on(async, other, 100), plain = on(manager, other, 100);
      MUST(gpu().cuStreamBeginCapture_v2(at, mode));
      cai_error error{};
      cai_block block{};
      for (const std::uint32_t kind : {CAI_KIND_ASYNC, CAI_KIND_MANAGED}) {
        EXPECT_EQ(cai_manager_alloc(manager, 10, 0, kind, value(at), &block, &error),
                  CAI_ERR_CAPTURE)
            << error.message;
      }
      EXPECT_EQ(cai_manager_free(async, &before, CAI_KIND_DEFAULT, value(at), &error),
                CAI_ERR_CAPTURE);
      for (const std::uint32_t kind :
           {CAI_KIND_DEFAULT, CAI_KIND_MANAGED_GLOBAL, CAI_KIND_PINNED}) {
        for (int i = 0; i < 12; ++i) free_on(manager, at, on(manager, at, 10, kind), kind);
      }
      free_on(manager, at, plain);
      if (flags == blocking) {
        EXPECT_EQ(cai_pending_flush(gpu0, &error), CAI_ERR_CAPTURE);
        EXPECT_EQ(usage(gpu0).pending_count, 37U);
      }
      Handle graph = nullptr;
      MUST(gpu().cuStreamEndCapture(at, &graph));
      MUST(gpu().cuGraphDestroy(graph));
      free_on(async, other, before);
      flush(gpu0);
    }
  }
}

// ---- Pins ---------------------------------------------------------------------------------------

TEST_F(GpuManagers, PinnedForTheCpu) {
  const Manager manager = manager_of(cpu);
  const cai_block block = allocate(manager, 100, CAI_KIND_PINNED);
  EXPECT_EQ(calls("cuMemHostAlloc"), 1U);
  free_block(manager, block, CAI_KIND_PINNED);
  flush(gpu0);
  EXPECT_EQ(calls("cuMemFreeHost"), 1U);
}

TEST_F(GpuManagers, PinnedForTheCpuComesOfWhatIsPendingOnTheGpu) {
  constexpr std::int32_t out_of_memory = 2;
  const Manager manager = manager_of(cpu);
  free_block(manager, allocate(manager, 100, CAI_KIND_PINNED), CAI_KIND_PINNED);
  EXPECT_EQ(usage(gpu0).pending_count, 1U);
  MUST(gpu().simcuda_fail("cuMemHostAlloc", 1, out_of_memory));
  const cai_block block = allocate(manager, 100, CAI_KIND_PINNED);
  EXPECT_EQ(usage(gpu0).pending_count, 0U);
  EXPECT_EQ(calls("cuMemFreeHost"), 1U);
  free_block(manager, block, CAI_KIND_PINNED);
  flush(gpu0);
}

// ---- Resets -------------------------------------------------------------------------------------

TEST_F(GpuManagers, StreamsAreDestroyedWithWhatIsPending) {
  const auto end_one = [] { static_cast<void>(make_stream(gpu0)); };
  end_one();
  EXPECT_EQ(calls("cuStreamDestroy"), 0U);
  EXPECT_EQ(usage(gpu0).pending_count, 1U);
  EXPECT_EQ(usage(gpu0).pending_bytes, 0U);
  flush(gpu0);
  EXPECT_EQ(calls("cuStreamDestroy"), 1U);
  for (std::uint64_t i = 1; i <= 10; ++i) {
    end_one();
    EXPECT_EQ(usage(gpu0).pending_count, i);
  }
  end_one();
  EXPECT_EQ(usage(gpu0).pending_count, 0U);
}

// Frees by other calls have no caller: the failure is reported, and all stays for the next time.
TEST_F(GpuManagers, WhatIsDueStaysWhereTheDriverDoesNotAnswer) {
  const Failures failures;
  flush(gpu0);
  int freed = 0;
  const auto free = [](void *context, cai_error *) {
    ++*static_cast<int *>(context);
    return cai_status{CAI_OK};
  };
  for (int i = 0; i < 10; ++i) ASSERT_OK(cai_pending_add(gpu0, 0, free, &freed, error));
  MUST(gpu().simcuda_fail("cuStreamGetCaptureInfo", 1, 999));
  ASSERT_OK(cai_pending_add(gpu0, 0, free, &freed, error));
  EXPECT_EQ(freed, 0);
  ASSERT_EQ(failures.messages.size(), 1U);
  EXPECT_TRUE(contains(failures.messages.front().c_str(), "cuStreamGetCaptureInfo"));
  flush(gpu0);
  EXPECT_EQ(freed, 11);
}

TEST_F(GpuManagers, AResetResetsManagersAndFreesWhatIsPending) {
  Recorder recorder;
  const Manager manager = make(recorder, gpu0), plain = make("default", gpu0);
  const cai_block out = allocate(plain, 100);
  free_block(plain, allocate(plain, 100));
  EXPECT_EQ(usage(gpu0).pending_count, 1U);
  ASSERT_EQ(cai_device_reset(gpu0, 0, nullptr), CAI_OK);
  EXPECT_EQ(usage(gpu0).pending_count, 0U);
  EXPECT_EQ(recorder.calls, std::vector<std::string>({"create", "reset"}));
  free_block(plain, out);  // it is alive
  free_block(manager, allocate(manager, 1));
  EXPECT_EQ(recorder.count("initialize"), 1U);
}

TEST_F(GpuManagers, AfterItsContextWasResetAManagerIsDead) {
  const Manager before = manager_of(gpu1);
  const Manager tracking = make("tracking", gpu1, nullptr, before);
  const cai_block plain = allocate(tracking, 100), ordered = allocate(before, 8, CAI_KIND_ASYNC),
                  pinned = allocate(before, 8, CAI_KIND_PINNED);
  const cai_pool_params params{sizeof params, CAI_POOL_INSTALL, 0, 0, 0, 0};
  Manager pool = make("pool", gpu1, &params);
  free_block(before, allocate(before, 100));
  ASSERT_EQ(cai_device_reset(gpu1, CAI_RESET_CONTEXT, nullptr), CAI_OK);
  EXPECT_EQ(usage(gpu1).pending_count, 0U);
  gpu().simcuda_reset_counts();
  free_block(tracking, plain);
  free_block(before, ordered, CAI_KIND_ASYNC);
  free_block(before, pinned, CAI_KIND_PINNED);
  pool.end();
  for (const char *name : {"cuMemFree", "cuMemFreeAsync", "cuMemFreeHost", "cuMemPoolDestroy"}) {
    EXPECT_EQ(calls(name), 0U) << name;
  }
  const cai_error error = allocation_failure(before, 100);
  EXPECT_EQ(error.status, CAI_ERR_STATE);
  EXPECT_TRUE(contains(error.message, "gpu:1 was reset")) << error.message;
  EXPECT_EQ(cai_manager_install(gpu1, before, nullptr), CAI_ERR_STATE);
  EXPECT_EQ(refusal("statistics", gpu1, nullptr, before).first, CAI_ERR_STATE);
  const Manager after = manager_of(gpu1);
  EXPECT_NE(static_cast<cai_manager *>(after), static_cast<cai_manager *>(before));
  free_block(after, allocate(after, 100));
  flush(gpu1);
}

// ---- A child ------------------------------------------------------------------------------------

TEST_F(GpuManagers, AChildIsToldSoAndDoesNotHang) {
  const cai_pool_params params{sizeof params, CAI_POOL_INSTALL, 0, 0, 0, 0};
  Manager plain = make("default", gpu0), pool = make("pool", gpu0, &params),
          tracking = make("tracking", gpu0, nullptr, pool), host = make("host", cpu);
  const cai_block of_plain = allocate(plain, 100), of_pool = allocate(tracking, 100),
                  of_host = allocate(host, 100);
  free_block(plain, allocate(plain, 100));
  EXPECT_EQ(usage(gpu0).pending_count, 1U);
  const pid_t child = fork();
  if (child == 0) {
    alarm(600);  // a hang is a failure
    gpu().simcuda_reset_counts();
    const auto refused = [](cai_status status, const cai_error &error) {
      EXPECT_EQ(status, CAI_ERR_STATE);
      EXPECT_TRUE(contains(error.message, "forked")) << error.message;
    };
    cai_error error{};
    cai_block block{};
    cai_manager *made = nullptr;
    std::uint64_t free = 0;
    for (const Manager *const each : {&plain, &pool, &tracking}) {
      cai_manager *const manager = *each;
      refused(cai_manager_alloc(manager, 1, 0, CAI_KIND_DEFAULT, 1, &block, &error), error);
      refused(cai_manager_memory(manager, &free, nullptr, &error), error);
      refused(cai_manager_trim(manager, 0, &error), error);
    }
    refused(cai_manager_free(plain, &of_plain, CAI_KIND_DEFAULT, 1, &error), error);
    refused(cai_manager_free(tracking, &of_pool, CAI_KIND_DEFAULT, 1, &error), error);
    for (const char *name : builtin) {
      refused(cai_manager_create(name, nullptr, gpu0, nullptr, &made, &error), error);
    }
    refused(cai_pending_flush(gpu0, &error), error);
    free_block(host, of_host);  // the CPU is still there
    free_block(host, allocate(host, 100));
    tracking.end(), pool.end(), plain.end(), host.end();
    EXPECT_EQ(all_calls(), 0U);
    _exit(HasFailure() ? 1 : 0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  free_block(plain, of_plain);
  free_block(tracking, of_pool);
  free_block(host, of_host);
}

// ---- Each call of the driver fails in turn ------------------------------------------------------

const std::vector<const char *> &all_functions() {
  static const std::vector<const char *> names = {
#define CAI_DRIVER_FUNCTION(name, version, ...) #name,
#define CAI_DRIVER_OPTIONAL CAI_DRIVER_FUNCTION
#include "driver/device_functions.inc"
#include "driver/functions.inc"
#include "driver/memory_functions.inc"
#undef CAI_DRIVER_OPTIONAL
#undef CAI_DRIVER_FUNCTION
  };
  return names;
}

TEST_F(GpuManagers, EachCallOfTheDriverFailsInTurn) {
  std::size_t injected = 0;
  const auto round = [&](const char *name, std::uint32_t kind, cai_error *error) {
    const cai_pool_params pool{sizeof pool, CAI_POOL_INSTALL, 4096, 0, 0, 0};
    const bool is_pool = std::string(name) == "pool";
    cai_manager *made = nullptr;
    cai_status status =
        cai_manager_create(name, is_pool ? &pool : nullptr, gpu0, nullptr, &made, error);
    if (status != CAI_OK) return status;
    const Manager manager(made);
    cai_block block{};
    status = cai_manager_alloc(manager, 100, 4096, kind, 1, &block, error);
    if (status != CAI_OK) return status;
    // Whatever fails there, nobody frees it again: that is seen by what memory is left.
    status = cai_manager_free(manager, &block, kind, 1, error);
    return status != CAI_OK ? status : cai_pending_flush(gpu0, error);
  };
  for (const char *name : builtin) {
    for (const std::uint32_t kind : kinds) {
      cai_error error{};
      ASSERT_EQ(round(name, kind, &error), CAI_OK) << error.message;
      gpu().simcuda_reset_counts();
      ASSERT_EQ(round(name, kind, &error), CAI_OK) << error.message;
      std::vector<std::uint64_t> counts;
      for (const char *function : all_functions()) counts.push_back(calls(function));
      const std::uint64_t before = free_memory();
      for (std::size_t f = 0; f < counts.size(); ++f) {
        const char *const function = all_functions()[f];
        // A failed free is final: the driver is not called twice.
        const bool frees = std::strcmp(function, "cuMemFree") == 0 ||
                           std::strcmp(function, "cuMemFreeAsync") == 0 ||
                           std::strcmp(function, "cuMemFreeHost") == 0 ||
                           std::strcmp(function, "cuMemPoolDestroy") == 0;
        for (std::uint64_t nth = 1; nth <= counts[f] && !frees; ++nth) {
          SCOPED_TRACE(std::string(name) + " " + cai_kind_name(kind) + ": " + function + " " +
                       std::to_string(nth));
          const Surroundings surroundings;
          MUST(gpu().simcuda_fail(function, nth, 999));
          const cai_status status = round(name, kind, &error);
          MUST(gpu().simcuda_fail(function, 0, 0));
          ++injected;
          ASSERT_TRUE(Surroundings() == surroundings);
          if (status != CAI_OK) {
            EXPECT_EQ(status, CAI_ERR_CUDA) << error.message;
            EXPECT_EQ(error.native, 999);
          }
          flush(gpu0);
        }
      }
      EXPECT_EQ(free_memory(), before) << name << " " << cai_kind_name(kind);
    }
  }
  EXPECT_GT(injected, 200U);
}

}  // namespace
}  // namespace test::gpu_managers_tests
