// SPDX-License-Identifier: BSD-3-Clause
// Frees that are pending when a device is reset: none is left, and none frees what came later at
// the same address.
#include <cai/device.h>
#include <cai/dlpack.h>

#include <cstring>
#include <thread>
#include <tuple>

#include "allocations.h"
#include "managers.hpp"
#include "memories.hpp"
#include "owned.hpp"
#include "slow.hpp"

namespace test::resets_tests {
namespace {

constexpr std::uint64_t size = 4096;

// A typical manager: it caches freed memory, and releases it when it is reset.
struct Cache {
  cai_manager *upstream = nullptr;
  std::vector<cai_block> kept;

  static Cache &of(void *self) { return *static_cast<Cache *>(self); }
  static const char *name() {
    static const cai_manager_table made = table();
    static const cai_status registered = cai_manager_register("caching", &made, nullptr);
    EXPECT_EQ(registered, CAI_OK);
    return "caching";
  }

 private:
  static cai_manager_table table() {
    cai_manager_table made{};
    made.struct_size = sizeof made;
    made.version = CAI_MANAGER_VERSION;
    made.name = "caching";
    made.create = [](const void *params, cai_device, cai_manager *upstream, void **self,
                     cai_error *) {
      auto *const cache = static_cast<Cache *>(const_cast<void *>(params));
      cache->upstream = upstream;
      *self = cache;
      return cai_status{CAI_OK};
    };
    made.destroy = [](void *) {};
    made.initialize = [](void *, cai_error *) { return cai_status{CAI_OK}; };
    made.reset = [](void *self, cai_error *error) {
      Cache &cache = of(self);
      for (const cai_block &block : std::exchange(cache.kept, {})) {
        const cai_status status =
            cai_manager_free(cache.upstream, &block, CAI_KIND_DEFAULT, 1, error);
        if (status != CAI_OK) return status;
      }
      return cai_status{CAI_OK};
    };
    made.memalloc = [](void *self, std::uint64_t bytes, std::uint64_t align, std::uint32_t kind,
                       std::uint64_t stream, cai_block *out, cai_error *error) {
      return cai_manager_alloc(of(self).upstream, bytes, align, kind, stream, out, error);
    };
    made.memfree = [](void *self, const cai_block *block, std::uint64_t, cai_error *) {
      of(self).kept.push_back(*block);
      return cai_status{CAI_OK};
    };
    return made;
  }
};

class Resets : public testing::Test {
 protected:
  Resets() { flush(gpu1); }

  // Leaves a block in the cache of a manager.
  void keep_one() {
    const Manager upstream = make("default", gpu1);
    manager_ = make(Cache::name(), gpu1, &cache_, upstream);
    free_block(manager_, test::allocate(static_cast<cai_manager *>(manager_), size));
    EXPECT_EQ(cache_.kept.size(), 1U);
    EXPECT_EQ(usage(gpu1).pending_count, 0U);
  }

  Cache cache_;
  Manager manager_;
};

TEST_F(Resets, LeaveNothingOfWhatManagersGiveUpPending) {
  keep_one();
  gpu().simcuda_reset_counts();
  ASSERT_OK(cai_device_reset(gpu1, 0, error));
  EXPECT_EQ(usage(gpu1).pending_count, 0U);
  EXPECT_EQ(usage(gpu1).pending_bytes, 0U);
  EXPECT_EQ(calls("cuMemFree"), 1U);
}

TEST_F(Resets, OfTheContextLeaveNothingThatFreesLaterMemory) {
  keep_one();
  ASSERT_OK(cai_device_reset(gpu1, CAI_RESET_CONTEXT, error));
  EXPECT_EQ(usage(gpu1).pending_count, 0U);
  Failures failures;
  {
    std::vector<OwnMemory> later;
    for (int i = 0; i < 4; ++i) later.push_back(allocate(gpu1, CAI_KIND_DEFAULT, size));
    flush(gpu1);
    for (const OwnMemory &memory : later) {
      const OwnArray array = array_of(memory, {static_cast<std::int64_t>(size)});
      ASSERT_OK(cai_array_sync_host(array, error));
      ASSERT_OK(cai_memory_validate(describe(memory).data, size, gpu1, CAI_KIND_DEFAULT, error));
    }
  }
  flush(gpu1);
  EXPECT_EQ(failures.messages, std::vector<std::string>());
}

// Memory from a pool is freed by the reset itself.
TEST_F(Resets, OfTheContextLetMemoryBeFreedOnce) {
  for (const char *const name : {"default", "async", "pool"}) {
    for (const std::uint32_t kind :
         {CAI_KIND_DEFAULT, CAI_KIND_ASYNC, CAI_KIND_MANAGED, CAI_KIND_PINNED}) {
      const Manager manager = make(name, gpu1);
      cai_request wanted = request(kind, size);
      wanted.manager = manager;
      cai_memory *made = nullptr;
      ASSERT_OK(cai_memory_alloc(gpu1, &wanted, &made, error));
      const OwnMemory memory(made);
      ASSERT_OK(cai_device_reset(gpu1, CAI_RESET_CONTEXT, error));
      EXPECT_EQ(cai_memory_free(memory, nullptr), CAI_OK) << name << cai_kind_name(kind);
      EXPECT_FAILS(CAI_ERR_STATE, "freed already", cai_memory_free(memory, error));
    }
  }
}

// What one reset has ended, though references remain, the next one does not end again.
TEST_F(Resets, LeaveManagersAloneThatAreDead) {
  const Manager manager = make("default", gpu1);
  ASSERT_OK(cai_device_reset(gpu1, CAI_RESET_CONTEXT, error));
  const Failures failures;
  ASSERT_OK(cai_device_reset(gpu1, 0, error));
  ASSERT_OK(cai_device_reset(gpu1, CAI_RESET_CONTEXT, error));
  EXPECT_EQ(failures.messages, std::vector<std::string>());
}

// The context takes with it what it has pinned, of any owner.
TEST_F(Resets, EndMemoryOfTheCpuThatAGpuHasPinned) {
  const OwnMemory pinned = allocate(cpu, CAI_KIND_PINNED, size);
  const OwnMemory plain = allocate(cpu, CAI_KIND_DEFAULT, size);
  const OwnArray array = array_of(pinned, {16});
  ASSERT_OK(cai_device_reset(gpu0, CAI_RESET_CONTEXT, error));
  EXPECT_TRUE(describe(pinned).flags & CAI_MEMORY_FREED);
  EXPECT_FALSE(describe(plain).flags & CAI_MEMORY_FREED);
  const unsigned char seven = 7;
  EXPECT_FAILS(CAI_ERR_STATE, "gpu:0 was reset", cai_array_fill(array, &seven, nullptr, error));
}

TEST_F(Resets, NoMemoryIsAllocatedOnAStreamThatTheyHaveEnded) {
  OwnStream streams[] = {make_stream(gpu1, CAI_MODE_DEFAULT), make_stream(gpu1, CAI_MODE_SYNC),
                         make_stream(gpu1, CAI_MODE_ASYNC)};
  ASSERT_OK(cai_device_reset(gpu1, CAI_RESET_CONTEXT, error));
  const std::int64_t shape[] = {16};
  const cai_array like = like_of(bytes_type, 1, shape);
  for (const OwnStream &stream : streams) {
    for (std::uint32_t kind = CAI_KIND_DEFAULT; kind <= CAI_KIND_HOST; ++kind) {
      SCOPED_TRACE(testing::Message() << "mode " << &stream - streams << ", kind " << kind);
      cai_request wanted = request(kind, size, stream);
      if (kind == CAI_KIND_PITCHED || kind == CAI_KIND_PITCHED_MANAGED) wanted.rows = 2;
      if (kind == CAI_KIND_CUDA_ARRAY) wanted.channels = 1, wanted.dtype = bytes_type;
      cai_memory *memory = nullptr;
      EXPECT_FAILS(CAI_ERR_STATE, "ended when gpu:1 was reset",
                   cai_memory_alloc(gpu1, &wanted, &memory, error));
      if (kind == CAI_KIND_CUDA_ARRAY) continue;
      wanted.size = wanted.rows = 0;
      cai_array *array = nullptr;
      EXPECT_FAILS(CAI_ERR_STATE, "ended when gpu:1 was reset",
                   cai_array_empty_like(&like, gpu1, &wanted, &array, error));
    }
  }
  EXPECT_EQ(usage(gpu1).count, 0U);
}

// What managers had to remember of it is released, too.
TEST_F(Resets, KeepNothingOfWhatTheyEnd) {
  static unsigned char bytes[size];
  const auto end_and_count = [&](const char *name) {
    {
      const Manager plain = make("default", gpu1);
      cai_log_params log{};
      log.struct_size = sizeof log;
      log.write = [](void *, const char *, std::uint64_t) {};
      const Manager manager = make(name, gpu1, name[0] == 'l' ? &log : nullptr, plain);
      EXPECT_EQ(cai_manager_install(gpu1, manager, nullptr), CAI_OK);
      cai_memory *pinned = nullptr;
      EXPECT_EQ(
          cai_memory_pin(gpu1, bytes, size, CAI_KIND_PINNED, 0, nullptr, nullptr, &pinned, nullptr),
          CAI_OK);
      const OwnMemory theirs(pinned), ours = allocate(gpu1, CAI_KIND_PINNED, size);
      EXPECT_EQ(cai_device_reset(gpu1, CAI_RESET_CONTEXT, nullptr), CAI_OK);
    }
    flush(gpu1);
    return allocations_kept();
  };
  for (const char *const name : {"statistics", "tracking", "logging"}) {
    SCOPED_TRACE(name);
    end_and_count(name);  // from here on they are counted, and what is made once is there
    const long kept = end_and_count(name);
    EXPECT_EQ(end_and_count(name), kept);
  }
}

TEST_F(Resets, WhatIsDeadIsNotFound) {
  const OwnMemory memory = allocate(gpu1, CAI_KIND_DEFAULT, size);
  ASSERT_OK(cai_device_reset(gpu1, CAI_RESET_CONTEXT, error));
  cai_memory *found = nullptr;
  EXPECT_FAILS(CAI_ERR_DEVICE, "no memory",
               cai_memory_find(describe(memory).data, &found, nullptr, error));
}

// Releases find nothing wrong with what a reset has ended: whatever is kept of it, on any stream.
TEST_F(Resets, EndWhatIsReleasedLater) {
  const Failures failures;
  const auto another = [] {
    cai_stream *made = nullptr;
    EXPECT_EQ(cai_stream_create(gpu1, CAI_MODE_ASYNC, 0, &made, nullptr), CAI_OK);
    return OwnStream(made);
  };
  int released = 0;
  for (const std::uint32_t kind :
       {CAI_KIND_DEFAULT, CAI_KIND_PINNED, CAI_KIND_MANAGED_GLOBAL, CAI_KIND_ASYNC}) {
    const OwnStream first = another(), second = another(), user = another();
    std::vector<OwnMemory> memories;
    for (int i = 0; i < 3; ++i) memories.push_back(allocate(gpu1, kind, size, first));
    ASSERT_OK(cai_memory_set_stream(memories[1], second, error));
    ASSERT_OK(cai_memory_record(memories[2], user, error));
    // Foreign memory is not destroyed with libcai's context: it is still released.
    const OwnMemory outlives = allocate(gpu1, kind, size);
    cai_memory *wrapped = nullptr;
    const auto release = [](void *context) { ++*static_cast<int *>(context); };
    const cai_memory_info its = describe(outlives);
    cai_memory_info info{};
    info.struct_size = sizeof info;
    info.device = gpu1;
    info.kind = kind;
    info.data = its.data;
    info.host = its.host;
    info.size = size;
    ASSERT_OK(cai_memory_wrap(&info, release, &released, &wrapped, error));
    memories.emplace_back(wrapped);
    ASSERT_OK(cai_memory_set_stream(wrapped, second, error));
    const OwnArray array = array_of(memories[0], {16});
    const cai_array *const items[] = {array};
    cai_use use{};
    ASSERT_OK(cai_use_begin(&use, items, 1, cai_stream_value(user), nullptr, error));
    ASSERT_OK(cai_use_end(&use, error));
    ASSERT_OK(cai_device_reset(gpu1, CAI_RESET_CONTEXT, error));
  }
  ASSERT_OK(cai_drain(1, nullptr, error));
  flush(gpu1);
  EXPECT_EQ(released, 4);
  EXPECT_EQ(failures.messages, std::vector<std::string>());
}

// Adds a free while the device is being reset, after everything was flushed: as another thread may.
TEST_F(Resets, ForgetWhatIsAddedTooLate) {
  static int freed;
  freed = 0;
  struct Late : Recorder {
  } recorder;
  const Manager manager = make(recorder, gpu1);
  const auto count = [](void *, cai_error *) {
    ++freed;
    return cai_status{CAI_OK};
  };
  // A free that adds another one, each time it runs: so there is always one more.
  struct Again {
    static cai_status run(void *context, cai_error *error) {
      ++freed;
      return cai_pending_add(gpu1, 0, run, context, error);
    }
  };
  ASSERT_OK(cai_pending_add(gpu1, 8, Again::run, nullptr, error));
  ASSERT_OK(cai_pending_add(gpu1, 8, count, nullptr, error));
  ASSERT_OK(cai_device_reset(gpu1, CAI_RESET_CONTEXT, error));
  const int by_reset = freed;
  EXPECT_GE(by_reset, 2);
  EXPECT_EQ(usage(gpu1).pending_count, 0U);
  flush(gpu1);
  EXPECT_EQ(freed, by_reset);
}

TEST_F(Resets, AWrappedStreamThatHasGoneIsNoHindrance) {
  Handle context = nullptr, handle = nullptr;
  MUST(gpu().cuDevicePrimaryCtxRetain(&context, 1));
  {
    const With with(context);
    MUST(gpu().cuStreamCreate(&handle, 1));
  }
  cai_stream *stream = nullptr;
  ASSERT_OK(cai_stream_wrap(gpu1, value(handle), nullptr, nullptr, &stream, error));
  const OwnStream wrapped(stream);
  ASSERT_OK(cai_stream_set_current(stream, error));
  {
    const With with(context);
    MUST(gpu().cuStreamDestroy_v2(handle));
  }
  char text[32];
  std::snprintf(text, sizeof text, "stream 0x%llx", static_cast<unsigned long long>(value(handle)));
  EXPECT_FAILS(CAI_ERR_CUDA, text, cai_device_synchronize(gpu1, error));
  ASSERT_OK(cai_device_reset(gpu1, 0, error));
  ASSERT_OK(cai_device_synchronize(gpu1, error));
  MUST(gpu().cuDevicePrimaryCtxRelease_v2(1));
}

class ResetsOfContexts : public Memories {
 protected:
  static std::uint64_t objects(const char *type) {
    static const auto count = driver_function<std::uint64_t (*)(const char *)>("simcuda_objects");
    return count(type);
  }
};

// The host may not lose memory that it works on.
TEST_F(ResetsOfContexts, WaitForWorkOfTheHostOnWhatTheyEnd) {
  const std::tuple<cai_device, std::uint32_t> places[] = {
      {gpu0, CAI_KIND_PINNED},         {gpu0, CAI_KIND_MAPPED}, {cpu, CAI_KIND_PINNED},
      {gpu0, CAI_KIND_MANAGED_GLOBAL}, {gpu0, CAI_KIND_HOST},
  };
  for (const auto &[device, kind] : places) {
    for (const bool is_released : {false, true}) {
      SCOPED_TRACE(testing::Message() << kind << is_released);
      Slow slow;
      OwnMemory memory = allocate(device, kind, size);
      OwnArray array = array_of(memory, {size});
      struct Work {
        unsigned char *to;
        bool is_done;
      } work{static_cast<unsigned char *>(handle(describe(memory).host)), false};
      const auto write = [](void *context, cai_error *) {
        auto &mine = *static_cast<Work *>(context);
        std::memset(mine.to, 1, size);
        mine.is_done = true;
        return cai_status{CAI_OK};
      };
      ASSERT_OK(cai_stream_enqueue(slow, write, nullptr, &work, error));
      ASSERT_OK(cai_memory_record(memory, slow, error));
      if (is_released) array.reset(), memory.reset();
      reset(0);
      EXPECT_TRUE(work.is_done || kind == CAI_KIND_HOST);
      ASSERT_OK(cai_stream_synchronize(slow, error));
    }
  }
}

// As NumPy has it: by the host's address, which is not that for kernels.
TEST_F(ResetsOfContexts, WaitForWorkOfTheHostOnImports) {
  cai_request wanted = request(CAI_KIND_PINNED, size);
  wanted.flags = CAI_HOST_WRITE_COMBINED;
  cai_memory *made = nullptr;
  ASSERT_OK(cai_memory_alloc(gpu0, &wanted, &made, error));
  const OwnMemory memory(made);
  Array of_address(describe(memory).host, CAI_STREAM_NONE);
  of_address.array.device_type = CAI_DEVICE_CPU;
  of_address.array.device_id = 0;
  Slow slow(true);
  {
    const Owned import(of_address.array);
    import->owner->flags |= CAI_OWNER_IMPORTED;
    const unsigned char seven = 7;
    ASSERT_OK(cai_array_fill(import, &seven, slow, error));
    slow.let_go();
    reset(0);
    EXPECT_FALSE(slow.is_pending());
    ASSERT_OK(cai_stream_synchronize(slow, error));
  }
}

// The last reference may be the work's: its end asks the driver.
TEST_F(ResetsOfContexts, WaitUntilWorkOfTheHostHasReleasedWhatItUsed) {
  static std::atomic<bool> is_over;
  const OwnMemory memory = allocate(gpu0, CAI_KIND_PINNED, size);
  Array given(describe(memory).data, CAI_STREAM_NONE);
  given.array.device_type = CAI_DEVICE_CUDA_HOST;
  const auto end_slowly = [](void *) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    is_over = true;
  };
  is_over = false;
  cai_array *array = nullptr;
  ASSERT_OK(cai_array_own(&given.array, end_slowly, nullptr, &array, error));
  Slow slow(true);
  const unsigned char seven = 7;
  ASSERT_OK(cai_array_fill(array, &seven, slow, error));
  cai_array_release(array);
  slow.let_go();
  reset(0);
  EXPECT_TRUE(is_over);
}

// Memory that another library has pinned.
TEST_F(ResetsOfContexts, WaitForWorkOfTheHostOnMemoryOfOthers) {
  const auto pin = driver_function<int (*)(void **, std::size_t, unsigned)>("cuMemHostAlloc");
  for (const std::int32_t type : {CAI_DEVICE_CUDA_HOST, CAI_DEVICE_CPU}) {
    SCOPED_TRACE(type);
    const OwnMemory own = allocate(gpu0, CAI_KIND_DEFAULT, size);  // libcai holds the context
    void *bytes = nullptr;
    {
      const With with(primary[0]);
      MUST(pin(&bytes, size, 1));
    }
    Array said(value(bytes), CAI_STREAM_NONE);
    said.array.device_type = type;
    said.array.device_id = 0;
    Slow slow(true);
    const Owned array(said.array);
    const unsigned char seven = 7;
    ASSERT_OK(cai_array_fill(array, &seven, slow, error));
    slow.let_go();
    reset(0);
    EXPECT_FALSE(slow.is_pending());
    ASSERT_OK(cai_stream_synchronize(slow, error));
  }
}

// A pool belongs to the device, and outlives the context.
TEST_F(ResetsOfContexts, LeaveNothingInPools) {
  std::uint64_t free = 0, before = 0;
  for (const char *const name : {"async", "pool", "default"}) {
    SCOPED_TRACE(name);
    const cai_pool_params params{sizeof params, CAI_POOL_INSTALL, 0, UINT64_MAX, 0, 0};
    const bool is_pool = name == std::string("pool");
    ASSERT_OK(cai_device_memory(gpu0, &before, nullptr, error));
    const std::uint64_t pools = objects("CUmemoryPool");
    {
      const Manager manager = test::make(name, gpu0, is_pool ? &params : nullptr);
      cai_request wanted = request(CAI_KIND_ASYNC, 64 << 20);
      if (!is_pool) wanted.kind = name == std::string("async") ? CAI_KIND_DEFAULT : CAI_KIND_ASYNC;
      wanted.manager = manager;
      cai_memory *made = nullptr;
      ASSERT_OK(cai_memory_alloc(gpu0, &wanted, &made, error));
      const OwnMemory memory(made);
      reset(0);
      EXPECT_NE(describe(memory).flags & CAI_MEMORY_FREED, 0U);
      ASSERT_OK(cai_device_memory(gpu0, &free, nullptr, error));
      EXPECT_EQ(free, before);
    }
    EXPECT_EQ(objects("CUmemoryPool"), pools);
  }
}

// The owner of a wrapped stream destroys it while it exists.
TEST_F(ResetsOfContexts, EndTheOwnersOfWrappedStreams) {
  struct Owner {
    Handle stream = nullptr;
    int ended = 0;
  } owner;
  {
    const With with(primary[0]);
    MUST(gpu().cuStreamCreate(&owner.stream, 1));
  }
  const auto end = [](void *context) {
    auto &mine = *static_cast<Owner *>(context);
    EXPECT_EQ(gpu().cuStreamDestroy_v2(mine.stream), 0);
    ++mine.ended;
  };
  cai_stream *wrapped = nullptr;
  ASSERT_OK(cai_stream_wrap(gpu0, value(owner.stream), end, &owner, &wrapped, error));
  reset(0);
  EXPECT_EQ(owner.ended, 1);
  cai_stream_release(wrapped);
  EXPECT_EQ(owner.ended, 1);
}

// Whatever has failed the first time: by then pools may have ended, and the context have gone.
TEST_F(ResetsOfContexts, CanBeTriedAgain) {
  int failures = 0;
  for (const char *const function : {"cuCtxSynchronize", "cuDevicePrimaryCtxReset"}) {
    for (unsigned nth = 1; nth <= 4; ++nth) {
      const Manager manager = test::make("pool", gpu0);
      cai_request wanted = request(CAI_KIND_DEFAULT, size);
      wanted.manager = manager;
      cai_memory *made = nullptr;
      ASSERT_OK(cai_memory_alloc(gpu0, &wanted, &made, error));
      const OwnMemory memory(made);
      MUST(gpu().simcuda_fail(function, nth, 999));
      failures += cai_device_reset(gpu0, CAI_RESET_CONTEXT, nullptr) == CAI_ERR_CUDA;
      MUST(gpu().simcuda_fail(function, 0, 0));
      reset(0);
      EXPECT_NE(describe(memory).flags & CAI_MEMORY_FREED, 0U);
    }
  }
  EXPECT_GE(failures, 3);
}

// The thread of a CPU stream is still in a wait for the GPU, whose work is complete.
TEST_F(ResetsOfContexts, WaitForThreadsThatWaitForTheGpu) {
  const OwnStream host = make_stream(cpu);
  for (int i = 0; i < 200; ++i) {
    const OwnStream stream = make_stream(gpu0);
    const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, size, stream);
    const OwnArray array = array_of(memory, {size});
    const unsigned char seven = 7;
    ASSERT_OK(cai_array_fill(array, &seven, stream, error));
    ASSERT_OK(cai_stream_follow(host, stream, error));
    reset(0);
    ASSERT_OK(cai_stream_synchronize(host, error));
  }
}

// Work on a CPU stream resets a GPU on whose memory it works itself: it cannot wait for its own
// end.
TEST_F(ResetsOfContexts, ComeFromWorkOnACpuStream) {
  Slow slow(true);
  OwnMemory memory = allocate(gpu0, CAI_KIND_MANAGED_GLOBAL, size);
  cai_status status = CAI_ERR_STATE;
  const auto work = [](void *context, cai_error *error) {
    *static_cast<cai_status *>(context) = cai_device_reset(gpu0, CAI_RESET_CONTEXT, error);
    return cai_status{CAI_OK};
  };
  MUST(gpu().cuDevicePrimaryCtxRelease_v2(0));
  ASSERT_OK(cai_stream_enqueue(slow, work, nullptr, &status, error));
  ASSERT_OK(cai_memory_record(memory, slow, error));
  slow.let_go();
  ASSERT_OK(cai_stream_synchronize(slow, error));
  MUST(gpu().cuDevicePrimaryCtxRetain(&primary[0], 0));
  EXPECT_EQ(status, CAI_OK);
  EXPECT_NE(describe(memory).flags & CAI_MEMORY_FREED, 0U);
}

// Another GPU's streams and memory, and what the reset before has ended, are left alone.
TEST_F(ResetsOfContexts, LeaveTheOtherGpuAlone) {
  static int ended = 0;
  Handle raw = nullptr;
  {
    const With with(primary[1]);
    MUST(gpu().cuStreamCreate(&raw, 1));
  }
  const auto end = [](void *context) {
    ++ended;
    EXPECT_EQ(gpu().cuStreamDestroy_v2(context), 0);
  };
  cai_stream *wrapped = nullptr;
  ASSERT_OK(cai_stream_wrap(gpu1, value(raw), end, raw, &wrapped, error));
  const OwnMemory other = allocate(gpu1, CAI_KIND_ASYNC, size);
  const OwnMemory dead = allocate(gpu0, CAI_KIND_ASYNC, size);
  for (int times = 0; times < 2; ++times) reset(0);
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(describe(other).flags & CAI_MEMORY_FREED, 0U);
  EXPECT_NE(describe(dead).flags & CAI_MEMORY_FREED, 0U);
  cai_stream_release(wrapped);
  EXPECT_EQ(ended, 1);
}

// Uses that are complete keep memory pinned until a call asks.
TEST_F(ResetsOfContexts, AndPinsAreAskedBeforeTheNextPin) {
  alignas(4096) static unsigned char bytes[4096];
  const OwnStream stream = make_stream(gpu0);
  for (int times = 0; times < 3; ++times) {
    cai_memory *made = nullptr;
    ASSERT_OK(cai_memory_pin(gpu0, bytes, sizeof bytes, CAI_KIND_PINNED, 0, nullptr, nullptr, &made,
                             error));
    OwnMemory memory(made);
    ASSERT_OK(cai_memory_record(memory, stream, error));
    MUST(gpu().cuStreamSynchronize(handle(cai_stream_value(stream))));
  }
  cai_memory *twice = nullptr;
  ASSERT_OK(cai_drain(1, nullptr, error));
  const With with(primary[0]);
  const auto pin = driver_function<int (*)(void *, std::size_t, unsigned)>("cuMemHostRegister_v2");
  MUST(pin(bytes, sizeof bytes, 0));  // by another library
  EXPECT_EQ(cai_memory_pin(gpu0, bytes, sizeof bytes, CAI_KIND_PINNED, 0, nullptr, nullptr, &twice,
                           nullptr),
            CAI_ERR_CUDA);
  MUST(gpu().cuMemHostUnregister(bytes));
}

// Events are kept for later uses, of each context. One that lives may be older than many that were
// reset.
TEST_F(ResetsOfContexts, LoseNoEventsOfAnotherGpu) {
  const auto use = [](cai_device device, int times) {
    std::thread([=] {
      const OwnStream stream = make_stream(device);
      std::vector<OwnMemory> memories;
      for (int i = 0; i < times; ++i) {
        memories.push_back(allocate(device, CAI_KIND_DEFAULT, size));
        EXPECT_EQ(cai_memory_record(memories.back(), stream, nullptr), CAI_OK);
      }
      memories.clear();
      EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
      EXPECT_EQ(cai_pending_flush(device, nullptr), CAI_OK);
    }).join();
  };
  std::uint64_t before = 0;
  for (int i = 0; i < 120; ++i) {
    use(gpu0, 40);
    use(gpu1, 1);
    reset(1);
    if (i == 60) before = objects("CUevent");
  }
  EXPECT_LT(objects("CUevent"), before + 100);
}

// What says a stream to a consumer: a view whose dict was written, or a tensor.
class Told {
 public:
  Told(const cai_array *array, std::uint64_t stream, bool by_dict) {
    if (!by_dict) {
      MUST(cai_dlpack_write(array, stream, &tensor_, nullptr));
      return;
    }
    alignas(8) unsigned char storage[1024];
    cai_interface dict{};
    dict.struct_size = sizeof dict;
    MUST(cai_array_publish(array, nullptr, 0, stream, &view_, nullptr));
    MUST(cai_interface_write(view_, 3, storage, sizeof storage, &dict, nullptr));
  }
  void let_go() const {
    if (view_) cai_array_release(view_);
    if (tensor_) tensor_->deleter(tensor_);
  }

 private:
  cai_array *view_ = nullptr;
  DLManagedTensorVersioned *tensor_ = nullptr;
};

// Whoever was told a stream may let the array go after the stream has gone.
TEST_F(ResetsOfContexts, DestroyTheStreamsOfTensorsAndDicts) {
  for (const bool by_dict : {false, true}) {
    const OwnStream own = make_stream(gpu0), consumer = make_stream(gpu0);
    const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, size, own);
    const OwnArray array = array_of(memory, {size});
    const Told told(array, cai_stream_value(consumer), by_dict);
    reset(0);
    told.let_go();
  }
}

// The same without a reset, of memory that was freed and still waits for the host: what is pending
// on the consumer's stream is kept then, after which the program may destroy the stream.
TEST_F(ResetsOfContexts, AreNotWhatFreesMemoryWithViews) {
  for (const bool by_dict : {false, true}) {
    Slow slow(true);
    const OwnStream own = make_stream(gpu0);
    const With with(primary[0]);
    Handle consumer = nullptr;
    MUST(gpu().cuStreamCreate(&consumer, non_blocking));
    const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, size, own);
    const OwnArray array = array_of(memory, {size});
    const Told told(array, value(consumer), by_dict);
    MUST(gpu().cuMemsetD8Async(array->data, 7, size, consumer));
    ASSERT_OK(cai_memory_record(memory, slow, error));
    ASSERT_OK(cai_memory_free(memory, error));
    told.let_go();
    MUST(gpu().cuStreamDestroy_v2(consumer));
    slow.let_go();
    ASSERT_OK(cai_stream_synchronize(slow, error));
  }
}

}  // namespace
}  // namespace test::resets_tests
