// SPDX-License-Identifier: BSD-3-Clause
// Memory of managers beside captures: memory in the order of a captured stream is neither allocated
// nor freed there, by any manager, and is freed once the capture has ended.
#include <atomic>
#include <chrono>
#include <thread>

#include "managers.hpp"
#include "memories.hpp"
#include "owned.hpp"

namespace test::captures_tests {
namespace {

// A manager over the driver that does not know about captures: device memory in the order of the
// stream. It is passed as the params of its own table.
struct Driven {
  std::vector<std::string> calls;
  std::uint64_t out = 0;                 // blocks
  int refusals = 0;                      // of a capture, by the next calls that end something
  std::function<void()> during = [] {};  // runs inside memalloc

  static Driven &of(void *self) { return *static_cast<Driven *>(self); }

  // Notes the call; whether it is refused.
  cai_status ends(const char *call) {
    calls.emplace_back(call);
    if (refusals == 0) return CAI_OK;
    --refusals;
    return CAI_ERR_CAPTURE;
  }

  static cai_manager_table table() {
    cai_manager_table made{};
    made.struct_size = sizeof made;
    made.version = CAI_MANAGER_VERSION;
    made.name = "driven";
    made.create = [](const void *params, cai_device, cai_manager *, void **self, cai_error *) {
      *self = const_cast<void *>(params);
      return cai_status{CAI_OK};
    };
    made.destroy = [](void *) {};
    made.initialize = made.reset = [](void *, cai_error *) { return cai_status{CAI_OK}; };
    made.memalloc = [](void *self, std::uint64_t size, std::uint64_t, std::uint32_t kind,
                       std::uint64_t stream, cai_block *out, cai_error *) {
      of(self).calls.emplace_back(std::string("memalloc ") + cai_kind_name(kind));
      of(self).during();
      Address address = 0;
      MUST(gpu().cuMemAllocAsync(&address, size, handle(stream)));
      *out = {address, 0, size, 0};
      ++of(self).out;
      return cai_status{CAI_OK};
    };
    made.memfree = [](void *self, const cai_block *block, std::uint64_t stream, cai_error *) {
      const cai_status status = of(self).ends("memfree");
      if (status != CAI_OK) return status;
      if (gpu().cuMemFreeAsync(block->data, handle(stream)) != 0) return cai_status{CAI_ERR_CUDA};
      --of(self).out;
      return cai_status{CAI_OK};
    };
    made.mempin = [](void *, void *host, std::uint64_t size, std::uint32_t, std::uint32_t,
                     cai_block *out, cai_error *) {
      const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(host));
      *out = {address, address, size, 0};
      return cai_status{CAI_OK};
    };
    made.memunpin = [](void *self, const cai_block *, cai_error *) {
      return of(self).ends("memunpin");
    };
    return made;
  }
};

Manager make(Driven &driven) {
  static const cai_manager_table table = Driven::table();
  static const cai_status registered = cai_manager_register(table.name, &table, nullptr);
  EXPECT_EQ(registered, CAI_OK);
  return test::make(table.name, gpu0, &driven);
}

class Captures : public Memories {
 protected:
  static void begin(cai_stream *on, int mode = 2) {
    MUST(gpu().cuStreamBeginCapture_v2(handle(cai_stream_value(on)), mode));
  }
  static void end(cai_stream *on) {
    Handle graph = nullptr;
    MUST(gpu().cuStreamEndCapture(handle(cai_stream_value(on)), &graph));
    MUST(gpu().cuGraphDestroy(graph));
  }
  OwnMemory allocate_from(cai_manager *manager, std::uint32_t kind) {
    return allocate_from(manager, kind, stream);
  }
  static OwnMemory allocate_from(cai_manager *manager, std::uint32_t kind, cai_stream *on) {
    cai_request wanted = request(kind, 64, on);
    wanted.manager = manager;
    cai_memory *memory = nullptr;
    cai_error error{};
    EXPECT_EQ(cai_memory_alloc(gpu0, &wanted, &memory, &error), CAI_OK) << error.message;
    return OwnMemory(memory);
  }
  // Foreign memory, pinned; `ended` counts how often it was released.
  static cai_memory *pin(int *ended) {
    static unsigned char bytes[64];
    const auto end = [](void *count) { ++*static_cast<int *>(count); };
    cai_memory *memory = nullptr;
    cai_error error{};
    EXPECT_EQ(
        cai_memory_pin(gpu0, bytes, sizeof bytes, CAI_KIND_PINNED, 0, end, ended, &memory, &error),
        CAI_OK)
        << error.message;
    return memory;
  }
  // This retries whatever a capture has deferred.
  void try_again() { allocate(gpu0, CAI_KIND_DEFAULT, 16, stream).reset(); }
  static std::size_t outstanding(const cai_manager *manager) {
    std::size_t count = 0;
    const auto visit = [](void *context, const cai_allocation *) {
      ++*static_cast<std::size_t *>(context);
    };
    EXPECT_EQ(cai_manager_outstanding(manager, visit, &count, nullptr), CAI_OK);
    return count;
  }

  OwnStream stream = make_stream(gpu0);
  Failures failures;
};

constexpr const char *built_in[] = {"async", "pool"};
constexpr const char *wrappers[] = {"", "statistics", "tracking"};

TEST_F(Captures, SomebodysOwnManagerIsNotAskedForMemoryInOrder) {
  for (const std::uint32_t mode : {CAI_MODE_ASYNC, CAI_MODE_SYNC}) {
    for (const int how : {0, 1, 2}) {  // global, by thread, relaxed
      for (const std::string wrapper : wrappers) {
        stream = make_stream(gpu0, mode);
        Driven driven;
        Manager manager = make(driven);
        if (!wrapper.empty()) manager = test::make(wrapper.c_str(), gpu0, nullptr, manager);
        const std::uint64_t on = cai_stream_value(stream), other = mode == CAI_MODE_SYNC ? 1 : on;
        cai_block block{}, made{};
        ASSERT_OK(cai_manager_alloc(manager, 64, 0, CAI_KIND_ASYNC, on, &block, error));
        driven.calls.clear();
        begin(stream, how);
        for (const std::uint64_t asked : {on, other}) {  // the legacy stream is a part of it, too
          EXPECT_FAILS(CAI_ERR_CAPTURE, "captured",
                       cai_manager_alloc(manager, 64, 0, CAI_KIND_ASYNC, asked, &made, error));
          EXPECT_FAILS(CAI_ERR_CAPTURE, "captured",
                       cai_manager_free(manager, &block, CAI_KIND_ASYNC, asked, error));
        }
        EXPECT_TRUE(driven.calls.empty());
        end(stream);
        if (!wrapper.empty()) {
          EXPECT_EQ(statistics(manager).count, 1U);
        }
        ASSERT_OK(cai_manager_free(manager, &block, CAI_KIND_ASYNC, on, error));
        EXPECT_EQ(driven.out, 0U);
      }
    }
  }
  EXPECT_TRUE(failures.messages.empty());
}

TEST_F(Captures, SomebodysOwnManagerIsAskedForOtherMemoryAndOnOtherStreams) {
  Driven driven;
  const Manager manager = make(driven);
  const OwnStream other = make_stream(gpu0);
  begin(stream);
  cai_block block{};
  ASSERT_OK(
      cai_manager_alloc(manager, 64, 0, CAI_KIND_ASYNC, cai_stream_value(other), &block, error));
  ASSERT_OK(cai_manager_free(manager, &block, CAI_KIND_ASYNC, cai_stream_value(other), error));
  ASSERT_OK(
      cai_manager_alloc(manager, 64, 0, CAI_KIND_DEFAULT, cai_stream_value(stream), &block, error));
  ASSERT_OK(cai_manager_free(manager, &block, CAI_KIND_DEFAULT, cai_stream_value(stream), error));
  end(stream);
  EXPECT_EQ(driven.calls,
            std::vector<std::string>({"memalloc async", "memfree", "memalloc default", "memfree"}));
}

TEST_F(Captures, MemoryOfSomebodysOwnManagerComesBackLater) {
  Driven driven;
  const Manager manager = make(driven);
  for (const std::uint32_t kind : {CAI_KIND_ASYNC, CAI_KIND_DEFAULT, CAI_KIND_MANAGED_GLOBAL}) {
    OwnMemory memory = allocate_from(manager, kind);
    begin(stream);
    memory.reset();
    try_again();
    EXPECT_EQ(driven.out, 1U);
    end(stream);
    try_again();
    EXPECT_EQ(driven.out, 0U);
  }
  EXPECT_TRUE(failures.messages.empty());
}

// Memory released in a capture is not retried over and over there; a flush frees all of it.
TEST_F(Captures, MuchThatIsPutOffIsTriedAFewAtATime) {
  constexpr std::uint64_t count = 100, most = 40;
  std::vector<OwnMemory> all;
  Driven driven;
  const Manager manager = make(driven);
  for (std::uint64_t i = 0; i < count; ++i) {
    all.push_back(allocate_from(manager, CAI_KIND_DEFAULT));
  }
  begin(stream);
  all.clear();
  gpu().simcuda_reset_counts();
  try_again();
  EXPECT_LE(calls("cuStreamGetCaptureInfo"), most);
  end(stream);
  try_again();
  EXPECT_EQ(driven.out, 0U);

  const OwnStream other = make_stream(gpu0);
  for (std::uint64_t i = 0; i < count; ++i) {
    all.push_back(allocate_from(manager, CAI_KIND_DEFAULT, i ? stream : other));
  }
  begin(stream), begin(other);
  all.clear();
  end(other);
  for (std::uint64_t i = 0; i < count; ++i) try_again();
  EXPECT_EQ(driven.out, count - 1);  // its turn has come
  end(stream);
  ASSERT_OK(cai_pending_flush(gpu0, error));
  EXPECT_EQ(driven.out, 0U);
}

// Memory that was released in a capture while work was pending: a flush waits for that work, and a
// reset frees it while its context is there.
TEST_F(Captures, WrappedMemoryIsReleasedByAFlushAndBeforeAReset) {
  struct Wrapped {
    Address data = 0;
    int released = 0;
  };
  const With with(primary[0]);
  for (const bool resets : {false, true}) {
    Wrapped wrapped;
    MUST(gpu().cuMemAlloc_v2(&wrapped.data, 64));
    cai_memory_info info{};
    info.struct_size = sizeof info;
    info.device = gpu0;
    info.kind = CAI_KIND_DEFAULT;
    info.data = wrapped.data;
    info.size = 64;
    const auto release = [](void *context) {
      Wrapped &it = *static_cast<Wrapped *>(context);
      MUST(gpu().cuMemFree_v2(it.data));
      ++it.released;
    };
    cai_memory *memory = nullptr;
    ASSERT_OK(cai_memory_wrap(&info, release, &wrapped, &memory, error));
    ASSERT_OK(cai_memory_set_stream(memory, stream, error));
    MUST(gpu().cuMemsetD8Async(wrapped.data, 1, 64, handle(cai_stream_value(stream))));
    begin(stream);
    cai_memory_release(memory);
    end(stream);
    EXPECT_EQ(wrapped.released, 0);
    if (resets) {
      ASSERT_OK(cai_device_reset(gpu0, 0, error));
    } else {
      ASSERT_OK(cai_pending_flush(gpu0, error));
    }
    EXPECT_EQ(wrapped.released, 1);
  }
  EXPECT_TRUE(failures.messages.empty());
}

// cuMemFree() in a release, while the releasing thread captures elsewhere.
TEST_F(Captures, AReleaseMayFreeWhateverItsThreadCaptures) {
  const With with(primary[0]);
  static unsigned char bytes[64];
  const auto release = [](void *data) {
    MUST(gpu().cuMemFree_v2(std::exchange(*static_cast<Address *>(data), 0)));
  };
  for (const int mode : {0, 1, 2}) {
    for (const bool pins : {false, true}) {
      Address data = 0;
      MUST(gpu().cuMemAlloc_v2(&data, 64));
      cai_memory_info info{};
      info.struct_size = sizeof info;
      info.device = gpu0;
      info.kind = CAI_KIND_DEFAULT;
      info.data = data;
      info.size = 64;
      cai_memory *memory = nullptr;
      ASSERT_OK(
          pins ? cai_memory_pin(gpu0, bytes, 64, CAI_KIND_PINNED, 0, release, &data, &memory, error)
               : cai_memory_wrap(&info, release, &data, &memory, error));
      begin(stream, mode);
      cai_memory_release(memory);
      EXPECT_EQ(data, 0U) << "it was not freed";
      end(stream);
    }
  }
  EXPECT_TRUE(failures.messages.empty());
}

// A thread flushes what earlier captures have put off, while another captures the same stream.
TEST_F(Captures, AFlushHarmsNoCaptureThatBeginsMeanwhile) {
  const OwnStream other = make_stream(gpu0);
  std::atomic<bool> is_over{false};
  std::atomic<int> flushes{0};
  std::thread flushing([&] {
    for (; !is_over; ++flushes) {
      cai_error problem;
      const cai_status status = cai_pending_flush(gpu0, &problem);
      EXPECT_TRUE(status == CAI_OK || status == CAI_ERR_CAPTURE) << problem.message;
    }
  });
  for (int i = 0; i < 1000; ++i) {
    OwnMemory memory = allocate(gpu0, i / 2 % 2 ? CAI_KIND_DEFAULT : CAI_KIND_ASYNC, 64, stream);
    if (i % 2) MUST(cai_memory_record(memory, other, nullptr));
    begin(stream);
    memory.reset();
    end(stream);
    begin(stream);
    for (const int before = flushes; flushes < before + 2;) std::this_thread::yield();
    end(stream);
  }
  is_over = true;
  flushing.join();
  ASSERT_OK(cai_pending_flush(gpu0, error));
  ASSERT_OK(cai_drain(1, nullptr, error));  // the thread has left events
  EXPECT_TRUE(failures.messages.empty());
}

// The flush waits for another thread, which ends the capture: then it frees, and says no more of
// it.
TEST_F(Captures, OneThatEndsDuringAFlushIsNoFailureOfIt) {
  const OwnStream blocking = make_stream(gpu0, CAI_MODE_SYNC);
  struct Capturing {
    cai_stream *on;
    std::atomic<bool> runs{false}, may_end{false};
    static cai_status free(void *context, cai_error *) {
      auto &self = *static_cast<Capturing *>(context);
      self.runs = true;
      while (!self.may_end) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      end(self.on);
      return CAI_OK;
    }
  } capturing{blocking};
  ASSERT_OK(cai_pending_add(gpu0, 0, Capturing::free, &capturing, error));
  std::thread other([] { EXPECT_EQ(cai_pending_flush(gpu0, nullptr), CAI_OK); });
  while (!capturing.runs) std::this_thread::yield();
  int freed = 0;
  const auto count = [](void *context, cai_error *) {
    ++*static_cast<int *>(context);
    return cai_status{CAI_OK};
  };
  ASSERT_OK(cai_pending_add(gpu0, 0, count, &freed, error));
  begin(blocking);  // relaxed: any thread may end it
  capturing.may_end = true;
  ASSERT_OK(cai_pending_flush(gpu0, error));
  EXPECT_EQ(freed, 1);
  other.join();
}

// Another thread has begun to capture a blocking stream since the legacy stream was asked.
TEST_F(Captures, OneThatBeginsMeanwhilePutsOffMemoryOfTheLegacyStream) {
  const OwnStream blocking = make_stream(gpu0, CAI_MODE_SYNC);
  OwnMemory memory = allocate(gpu0, CAI_KIND_ASYNC, 64);
  begin(blocking);
  memory.reset();
  end(blocking);
  gpu().simcuda_reset_counts();
  MUST(gpu().simcuda_fail("cuEventRecord", 1, 906));
  ASSERT_OK(cai_pending_flush(gpu0, error));
  EXPECT_EQ(calls("cuEventRecord"), 1U);
  EXPECT_EQ(calls("cuMemFreeAsync"), 0U);
  ASSERT_OK(cai_pending_flush(gpu0, error));
  EXPECT_EQ(calls("cuMemFreeAsync"), 1U);
  EXPECT_TRUE(failures.messages.empty());
}

// A free asks its own stream whether the device is idle, and not the legacy one.
TEST_F(Captures, OfABlockingStreamComeToNoHarmByFreesOnAnother) {
  const OwnStream blocking = make_stream(gpu0, CAI_MODE_SYNC);
  std::atomic<bool> is_over{false};
  std::thread freeing([&] {
    for (int i = 0; i < 20000; ++i) allocate(gpu0, CAI_KIND_DEFAULT, 64, stream).reset();
    is_over = true;
  });
  for (int i = 0; !is_over; ++i) {
    begin(blocking, i % 3);
    end(blocking);
  }
  freeing.join();
  EXPECT_TRUE(failures.messages.empty());
}

// The program does not know when the thread of a CPU stream frees what it has filled.
TEST_F(Captures, ComeToNoHarmByTheThreadOfACpuStream) {
  const OwnStream cpu_stream = make_stream(cpu), blocking = make_stream(gpu0, CAI_MODE_SYNC);
  constexpr unsigned char seven = 7;
  for (int i = 0; i < 2000; ++i) {
    const OwnStream &its = i / 3 % 2 ? blocking : stream;
    OwnMemory memory = allocate(gpu0, CAI_KIND_PINNED, 64, its);
    OwnArray array = array_of(memory, {64});
    ASSERT_OK(cai_array_fill(array, &seven, its, error));
    ASSERT_OK(cai_array_fill(array, &seven, cpu_stream, error));
    array.reset();
    memory.reset();
    begin(its, i % 3);
    if (i % 2) std::this_thread::sleep_for(std::chrono::microseconds(i % 60));
    end(its);
    ASSERT_OK(cai_drain(1, nullptr, error));
  }
  ASSERT_OK(cai_stream_synchronize(cpu_stream, error));
  EXPECT_TRUE(failures.messages.empty());
}

// If a manager checks for captures itself, libcai does not.
TEST_F(Captures, TheDriverIsAskedOnce) {
  for (const char *const base : built_in) {
    const Manager manager = test::make("statistics", gpu0, nullptr, test::make(base, gpu0));
    for (const std::uint32_t kind : {CAI_KIND_ASYNC, CAI_KIND_DEFAULT}) {
      gpu().simcuda_reset_counts();
      OwnMemory memory = allocate_from(manager, kind);
      EXPECT_EQ(calls("cuStreamGetCaptureInfo"), 1U);
      memory.reset();
      EXPECT_EQ(calls("cuStreamGetCaptureInfo"), 2U);
    }
  }
}

// No event covers it there: a race in what the manual does not promise.
TEST_F(Captures, WhatWasQueuedBeforeComesBeforeTheFree) {
  for (const std::uint32_t kind : {CAI_KIND_DEFAULT, CAI_KIND_MANAGED_GLOBAL}) {
    OwnMemory memory = allocate(gpu0, kind, 64, stream);
    {
      const With with(primary[0]);
      MUST(gpu().cuMemsetD8Async(describe(memory).data, 1, 64, handle(cai_stream_value(stream))));
    }
    const std::uint64_t pending = usage(gpu0).pending_count;
    begin(stream);
    memory.reset();
    EXPECT_EQ(usage(gpu0).pending_count, pending);
    ASSERT_OK(cai_pending_flush(gpu0, error));
    end(stream);
    ASSERT_OK(cai_pending_flush(gpu0, error));
  }
}

TEST_F(Captures, AFailureToLeaveTheThreadsModeRuinsNone) {
  const char *const function = "cuThreadExchangeStreamCaptureMode";
  for (const std::uint32_t kind : {CAI_KIND_DEFAULT, CAI_KIND_MANAGED_GLOBAL, CAI_KIND_PINNED}) {
    for (std::uint64_t nth = 1; nth < 6; ++nth) {
      begin(stream, 0);
      MUST(gpu().simcuda_fail(function, nth, 999));
      const cai_request wanted = request(kind, 64);
      cai_memory *memory = nullptr;
      cai_error error{};
      const cai_status status = cai_memory_alloc(gpu0, &wanted, &memory, &error);
      MUST(gpu().simcuda_fail(function, 0, 0));
      EXPECT_EQ(status == CAI_OK, memory != nullptr) << error.message;
      cai_memory_release(memory);
      end(stream);
    }
  }
}

// A manager that allocates other kinds in stream order checks by itself, and is called again.
TEST_F(Captures, WhatAManagerRefusesToFreeIsTriedAgain) {
  Driven driven;
  const Manager manager = make(driven);
  OwnMemory memory = allocate_from(manager, CAI_KIND_DEFAULT);
  driven.refusals = 2;
  memory.reset();
  try_again();
  EXPECT_EQ(driven.out, 1U);
  ASSERT_OK(cai_pending_flush(gpu0, error));
  EXPECT_EQ(driven.out, 0U);
  EXPECT_TRUE(failures.messages.empty());
}

TEST_F(Captures, WhatIsPutOffIsKnownToWhoeverCountsIt) {
  static const cai_limit_params params{sizeof params, 0, 100};
  for (const char *const base : built_in) {
    for (const char *const wrapper : {"statistics", "limiting", "tracking"}) {
      const bool limits = std::string(wrapper) == "limiting", tracks = *wrapper == 't';
      const Manager manager =
          test::make(wrapper, gpu0, limits ? &params : nullptr, test::make(base, gpu0));
      OwnMemory memory = allocate_from(manager, CAI_KIND_DEFAULT);
      begin(stream);
      memory.reset();
      EXPECT_EQ(statistics(manager).bytes, 64U);
      if (tracks) {
        EXPECT_EQ(outstanding(manager), 1U);
      }
      end(stream);
      try_again();
      EXPECT_EQ(statistics(manager).bytes, 0U);
      if (tracks) {
        EXPECT_EQ(outstanding(manager), 0U);
      }
      allocate_from(manager, CAI_KIND_DEFAULT).reset();  // within the limit again
    }
  }
  EXPECT_TRUE(failures.messages.empty());
}

TEST_F(Captures, WhatStaysPinnedIsNotReleased) {
  Driven driven;
  const Manager before = manager_of(gpu0), manager = make(driven);
  ASSERT_OK(cai_manager_install(gpu0, manager, error));
  int ended = 0;
  cai_memory *const memory = pin(&ended);
  driven.refusals = 1;
  cai_memory_release(memory);
  EXPECT_EQ(driven.calls, std::vector<std::string>({"memunpin"}));
  EXPECT_EQ(ended, 0);
  ASSERT_OK(cai_pending_flush(gpu0, error));
  EXPECT_EQ(driven.calls, std::vector<std::string>({"memunpin", "memunpin"}));
  EXPECT_EQ(ended, 1);
  ASSERT_OK(cai_manager_install(gpu0, before, error));
}

// Retried by other calls, and rejected again: this is not reported, since nothing is lost.
TEST_F(Captures, WhatIsRefusedAgainIsStillKept) {
  Driven driven;
  const Manager manager = make(driven);
  OwnMemory memory = allocate_from(manager, CAI_KIND_DEFAULT);
  driven.refusals = 2;
  memory.reset();
  EXPECT_EQ(driven.refusals, 1);
  try_again();
  EXPECT_EQ(driven.refusals, 0);
  EXPECT_EQ(driven.out, 1U);
  try_again();
  EXPECT_EQ(driven.out, 0U);
  EXPECT_TRUE(failures.messages.empty());
}

// After its context was reset, a manager is not asked to take back what it has pinned itself.
TEST_F(Captures, WhatAManagerHasPinnedGoesWithItsContext) {
  Driven driven;
  const Manager manager = make(driven);
  ASSERT_OK(cai_manager_install(gpu0, manager, error));
  int ended = 0;
  cai_memory *const memory = pin(&ended);
  stream.reset();
  reset(0);
  driven.calls.clear();
  cai_memory_release(memory);
  EXPECT_TRUE(driven.calls.empty());
  EXPECT_EQ(ended, 1);
  ASSERT_OK(cai_manager_install(gpu0, nullptr, error));
}

// What kept a free from the manager's context may be a failure of earlier work, which surfaces
// once: it is reported, and the free is tried again. The caller receives the result of that.
TEST_F(Captures, AFreeThatIsTriedAgainTellsOfItself) {
  Driven driven;
  const Manager manager = make(driven);
  const std::uint64_t on = cai_stream_value(stream);
  cai_block block{};
  ASSERT_OK(cai_manager_alloc(manager, 64, 0, CAI_KIND_ASYNC, on, &block, error));
  const auto free = [&](cai_error *said) {
    MUST(gpu().simcuda_fail("cuCtxPushCurrent", 1, 999));
    return cai_manager_free(manager, &block, CAI_KIND_ASYNC, on, said);
  };
  begin(stream);
  EXPECT_FAILS(CAI_ERR_CAPTURE, "captured", free(error));
  end(stream);
  EXPECT_EQ(failures.messages.size(), 1U);
  driven.refusals = 1;
  EXPECT_EQ(free(nullptr), CAI_ERR_CAPTURE);
  EXPECT_EQ(failures.messages.size(), 2U);
  EXPECT_EQ(driven.out, 1U);
  ASSERT_OK(free(error));
  EXPECT_EQ(failures.messages.size(), 3U);
  EXPECT_EQ(driven.out, 0U);
  for (const std::string &message : failures.messages)
    EXPECT_TRUE(contains(message.c_str(), "cuCtxPushCurrent"));
}

// It may hold a lock of its own, which to free takes.
TEST_F(Captures, NothingIsTriedAgainInsideOfAManager) {
  Driven driven;
  const Manager manager = make(driven);
  OwnMemory memory = allocate_from(manager, CAI_KIND_ASYNC);
  begin(stream);
  memory.reset();
  end(stream);
  driven.calls.clear();
  driven.during = [&] {
    EXPECT_EQ(driven.calls, std::vector<std::string>({"memalloc async"}));
    allocate(gpu0, CAI_KIND_DEFAULT, 16, stream).reset();
    EXPECT_EQ(driven.calls, std::vector<std::string>({"memalloc async"}));
  };
  cai_block block{};
  ASSERT_OK(
      cai_manager_alloc(manager, 64, 0, CAI_KIND_ASYNC, cai_stream_value(stream), &block, error));
  ASSERT_OK(cai_manager_free(manager, &block, CAI_KIND_ASYNC, cai_stream_value(stream), error));
  try_again();
  EXPECT_EQ(driven.out, 0U);
}

// Memory of a foreign array is released while its stream is captured: what was pending there
// before, and what arrays of it were used for, come before the array's next use, and its end.
TEST_F(Captures, TheUseOfSomebodysArrayEndsInACaptureThatItDidNotBeginIn) {
  constexpr std::int64_t size = 64;
  const unsigned char seven = 7;
  const With with(primary[0]);
  cai_stream *before = nullptr;
  ASSERT_OK(cai_stream_current(gpu0, &before, error));
  ASSERT_OK(cai_stream_set_current(stream, error));
  const OwnStream user = make_stream(gpu0), next = make_stream(gpu0);
  for (const bool is_first : {true, false}) {   // the memory goes before its array
    for (const bool is_used : {true, false}) {  // the given array, after that
      for (const int mode : {0, 1, 2}) {
        SCOPED_TRACE(testing::Message() << is_first << is_used << mode);
        Address data = 0;
        MUST(gpu().cuMemAlloc_v2(&data, size));
        Owned given(data, CAI_STREAM_NONE, 0, [&] { MUST(gpu().cuMemFree_v2(data)); });
        cai_memory *found = nullptr;
        ASSERT_OK(cai_memory_of(given, &found, nullptr, error));
        OwnMemory memory(found);
        OwnArray array = array_of(memory, {size});
        ASSERT_OK(cai_array_fill(array, &seven, user, error));
        begin(stream, mode);
        if (is_first) memory.reset();
        array.reset();
        memory.reset();
        end(stream);
        if (is_used) ASSERT_OK(cai_array_fill(given, &seven, next, error));
        given.release();
      }
    }
  }
  ASSERT_OK(cai_stream_set_current(before, error));
  cai_stream_release(before);
}

// Memory of a foreign array is released while the array's stream is captured. From then on the
// program may destroy the memory's own stream, and the array's once the array is released.
TEST_F(Captures, MemoryOfSomebodysArrayNeedsNoStreamThatGoesMeanwhile) {
  constexpr std::int64_t size = 64;
  const unsigned char seven = 7;
  const With with(primary[0]);
  cai_stream *before = nullptr;
  ASSERT_OK(cai_stream_current(gpu0, &before, error));
  const OwnStream user = make_stream(gpu0);
  for (const int mode : {0, 1, 2}) {
    for (const bool asks : {false, true}) {  // another call tries while the capture goes on
      SCOPED_TRACE(testing::Message() << mode << asks);
      Handle own = nullptr, arrays = nullptr;
      MUST(gpu().cuStreamCreate(&own, non_blocking));
      MUST(gpu().cuStreamCreate(&arrays, non_blocking));
      Address data = 0;
      MUST(gpu().cuMemAlloc_v2(&data, size));
      Owned given(data, CAI_STREAM_STREAM, value(arrays), [&] { MUST(gpu().cuMemFree_v2(data)); });
      cai_stream *wrapped = nullptr;
      ASSERT_OK(cai_stream_wrap(gpu0, value(own), nullptr, nullptr, &wrapped, error));
      ASSERT_OK(cai_stream_set_current(wrapped, error));
      cai_memory *found = nullptr;
      ASSERT_OK(cai_memory_of(given, &found, nullptr, error));
      OwnMemory memory(found);
      ASSERT_OK(cai_stream_set_current(before, error));
      cai_stream_release(wrapped);
      OwnArray array = array_of(memory, {size});
      ASSERT_OK(cai_array_fill(array, &seven, user, error));
      if (asks) ASSERT_OK(cai_stream_synchronize(user, error));
      MUST(gpu().cuStreamBeginCapture_v2(arrays, mode));
      array.reset();
      memory.reset();
      MUST(gpu().cuStreamDestroy_v2(own));
      if (asks) ASSERT_OK(cai_drain(0, nullptr, error));
      if (asks) ASSERT_OK(cai_pending_flush(gpu0, error));
      Handle graph = nullptr;
      MUST(gpu().cuStreamEndCapture(arrays, &graph));
      MUST(gpu().cuGraphDestroy(graph));
      given.release();
      MUST(gpu().cuStreamDestroy_v2(arrays));
    }
  }
  cai_stream_release(before);
}

}  // namespace
}  // namespace test::captures_tests
