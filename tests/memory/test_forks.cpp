// SPDX-License-Identifier: BSD-3-Clause
// Forks while other threads are inside libcai. The child has none of them, so it must wait for
// none.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

#include "cai.h"
#include "managers.hpp"
#include "memories.hpp"
#include "owned.hpp"

// AddressSanitizer's allocator and ThreadSanitizer's record of stacks have locks of their own, for
// which no fork waits: the child may hang there, with or without libcai.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace test::forks_tests {
namespace {

constexpr int children = 30;
constexpr unsigned char seven = 7;

// Two threads that do the same over and over.
class Busy {
 public:
  explicit Busy(std::function<void(int thread)> work) : work_(std::move(work)) {
    for (int i = 0; i < 2; ++i) {
      threads_.emplace_back([this, i] {
        while (!over_) work_(i), begun_ |= 1 << i;
      });
    }
    while (begun_ != 3) std::this_thread::yield();
  }
  Busy(const Busy &) = delete;
  Busy &operator=(const Busy &) = delete;
  ~Busy() {
    over_ = true;
    for (std::thread &thread : threads_) thread.join();
  }

 private:
  const std::function<void(int)> work_;
  std::atomic<bool> over_{false};
  std::atomic<int> begun_{0};
  std::vector<std::thread> threads_;
};

// Says which calls of a child fail. It is plain: GoogleTest has locks, too.
class Checks {
 public:
  void operator()(bool good, const char *what) {
    if (good) return;
    std::fprintf(stderr, "in the child: %s\n", what);
    ++failed_;
  }
  bool passed() const { return failed_ == 0; }

 private:
  int failed_ = 0;
};

#define CHECK(condition) check(condition, #condition)
#define CHECK_STATUS(status, call) check((call) == (status), #call)

// Runs `body` in a child, which then ends with all that runs at its exit.
template <class Body>
void in_child(Body &&body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);  // a hang is a failure
    Checks check;
    body(check);
    std::exit(check.passed() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
}

void on_reset(void *, cai_device) {}

// All that needs neither a GPU nor a thread of the parent.
void use_the_cpu(Checks &check, cai_manager *tracking) {
  cai_manager *manager = nullptr;
  CHECK_STATUS(CAI_OK, cai_manager_of(cpu, &manager, nullptr));
  cai_manager_release(manager);
  CHECK_STATUS(CAI_OK, cai_manager_create("host", nullptr, cpu, nullptr, &manager, nullptr));
  cai_manager_release(manager);
  CHECK_STATUS(CAI_ERR_VALUE,
               cai_manager_create("nobody", nullptr, cpu, nullptr, &manager, nullptr));
  cai_block block{};
  CHECK_STATUS(CAI_OK, cai_manager_alloc(tracking, 64, 0, CAI_KIND_DEFAULT, 0, &block, nullptr));
  CHECK_STATUS(CAI_OK, cai_manager_free(tracking, &block, CAI_KIND_DEFAULT, 0, nullptr));

  const cai_request wanted = request(CAI_KIND_DEFAULT, 64);
  cai_memory *memory = nullptr, *found = nullptr;
  cai_array *array = nullptr;
  const std::int64_t shape = 64, at = 3;
  CHECK_STATUS(CAI_OK, cai_memory_alloc(cpu, &wanted, &memory, nullptr));
  CHECK_STATUS(CAI_OK,
               cai_memory_array(memory, 0, &bytes_type, 1, &shape, nullptr, &array, nullptr));
  CHECK_STATUS(CAI_OK, cai_memory_find(array->data, &found, nullptr, nullptr));
  cai_memory_release(found);
  cai_stream *stream = nullptr;
  CHECK_STATUS(CAI_OK, cai_stream_create(cpu, CAI_MODE_ASYNC, 0, &stream, nullptr));
  CHECK_STATUS(CAI_OK, cai_array_fill(array, &seven, stream, nullptr));
  unsigned char item = 0;
  CHECK_STATUS(CAI_OK, cai_array_item(array, &at, &item, nullptr));
  CHECK(item == seven);
  cai_array_release(array);
  cai_memory_release(memory);
  cai_stream_release(stream);

  cai_usage usage{};
  usage.struct_size = sizeof usage;
  CHECK_STATUS(CAI_OK, cai_memory_usage(cpu, &usage, nullptr));
  CHECK_STATUS(CAI_OK, cai_pending_defer(cpu, 1, nullptr));
  CHECK_STATUS(CAI_OK, cai_pending_defer(cpu, 0, nullptr));
  CHECK_STATUS(CAI_OK, cai_pending_flush(cpu, nullptr));
  CHECK_STATUS(CAI_OK, cai_device_on_reset(on_reset, &usage, nullptr));
  CHECK_STATUS(CAI_OK, cai_device_off_reset(on_reset, &usage, nullptr));
  HostBytes own;
  own.bytes[3] = seven;
  Owned foreign = own.make();
  item = 0;
  CHECK_STATUS(CAI_OK, cai_array_item(foreign, &at, &item, nullptr));
  CHECK(item == seven);
  foreign.release();
  CHECK(foreign.ended());
}

// The parent has threads that do `work`. `known` is memory of the parent's.
void fork_often(const std::function<void(int thread, cai_manager *tracking)> &work,
                cai_memory *known = nullptr) {
  const Manager upstream = make("host", cpu), tracking = make("tracking", cpu, nullptr, upstream);
  const OwnStream stream = make_stream(cpu);
  const Busy busy([&](int thread) { work(thread, tracking); });
  for (int i = 0; i < children && !testing::Test::HasFailure(); ++i) {
    OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 64, stream);
    OwnArray array = array_of(memory, {64});
    ASSERT_EQ(cai_array_fill(array, &seven, stream, nullptr), CAI_OK);
    in_child([&](Checks &check) {
      use_the_cpu(check, tracking);
      cai_memory *found = nullptr;
      if (known) {
        CHECK_STATUS(CAI_OK, cai_memory_find(describe(known).data, &found, nullptr, nullptr));
      }
      cai_memory_release(found);
      array.reset();
      memory.reset();
    });
  }
}

TEST(HostForks, WhileManagersAreAskedFor) {
  fork_often([](int, cai_manager *) { static_cast<void>(manager_of(cpu)); });
}

TEST(HostForks, WhileManagersAreMade) {
  fork_often([](int, cai_manager *) {
    const Manager made = make("host", cpu);
    cai_manager *none = nullptr;
    static_cast<void>(cai_manager_create("nobody", nullptr, cpu, nullptr, &none, nullptr));
  });
}

TEST(HostForks, WhileManagersTrack) {
  fork_often([](int, cai_manager *tracking) { free_block(tracking, allocate(tracking, 64)); });
}

TEST(HostForks, WhileMemoryIsAllocated) {
  const OwnMemory known = allocate(cpu, CAI_KIND_DEFAULT, 64);
  const std::uint64_t address = describe(known).data;
  const auto work = [&](int, cai_manager *) {
    static_cast<void>(allocate(cpu, CAI_KIND_DEFAULT, 64));
    for (int i = 0; i < 20; ++i) {
      cai_memory *found = nullptr;
      EXPECT_EQ(cai_memory_find(address, &found, nullptr, nullptr), CAI_OK);
      cai_memory_release(found);
    }
  };
  fork_often(work, known);
}

TEST(HostForks, WhileFreesAreDeferred) {
  fork_often([](int, cai_manager *) {
    EXPECT_EQ(cai_pending_defer(cpu, 1, nullptr), CAI_OK);
    EXPECT_EQ(cai_pending_defer(cpu, 0, nullptr), CAI_OK);
    static_cast<void>(usage(cpu));
  });
}

TEST(HostForks, WhileFreesRun) {
  fork_often([](int, cai_manager *) {
    const auto free = [](void *, cai_error *) {
      std::this_thread::yield();
      return cai_status{CAI_OK};
    };
    EXPECT_EQ(cai_pending_add(cpu, 1, free, nullptr, nullptr), CAI_OK);
    EXPECT_EQ(cai_pending_flush(cpu, nullptr), CAI_OK);
  });
}

TEST(HostForks, WhileFunctionsAreAddedForResets) {
  fork_often([](int thread, cai_manager *) {
    static char contexts[2];
    EXPECT_EQ(cai_device_on_reset(on_reset, &contexts[thread], nullptr), CAI_OK);
    EXPECT_EQ(cai_device_off_reset(on_reset, &contexts[thread], nullptr), CAI_OK);
  });
}

// libcai finds by address what work is pending on the bytes.
TEST(HostForks, WhileStreamsWork) {
  HostBytes bytes[2];
  const OwnStream streams[] = {make_stream(cpu), make_stream(cpu)};
  fork_often([&](int thread, cai_manager *) {
    const Owned array = bytes[thread].make();
    EXPECT_EQ(cai_array_fill(array, &seven, streams[thread], nullptr), CAI_OK);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(cai_array_sync_host(array, nullptr), CAI_OK);
  });
}

// Work that had ended when the parent forked is over in the child, too, and so is its failure.
TEST(HostForks, AfterWorkHasFailed) {
  const OwnStream stream = make_stream(cpu);
  OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 64);
  const OwnArray array = array_of(memory, {64});
  std::atomic<bool> may_run{false}, is_over{false};
  const cai_work_fn fails = [](void *gate, cai_error *) {
    static_cast<std::atomic<bool> *>(gate)->wait(false);
    return cai_status{CAI_ERR_BOUNDS};
  };
  const auto ends = [](void *flag) {
    static_cast<std::atomic<bool> *>(flag)->store(true);
    static_cast<std::atomic<bool> *>(flag)->notify_one();
  };
  ASSERT_EQ(cai_stream_enqueue(stream, fails, nullptr, &may_run, nullptr), CAI_OK);
  ASSERT_EQ(cai_memory_record(memory, stream, nullptr), CAI_OK);
  ASSERT_EQ(cai_stream_enqueue(stream, fails, ends, &is_over, nullptr), CAI_OK);  // is dropped
  may_run = true;
  may_run.notify_one();
  is_over.wait(false);
  in_child(
      [&](Checks &check) { CHECK_STATUS(CAI_ERR_BOUNDS, cai_array_sync_host(array, nullptr)); });
  EXPECT_EQ(cai_stream_synchronize(stream, nullptr), CAI_ERR_BOUNDS);
}

// ---- GPUs ---------------------------------------------------------------------------------------

class GpuForks : public Memories {
 protected:
  // Runs `body` often, each time in a child whose parent has threads that do `work`.
  template <class Body>
  void fork_often(const std::function<void(int thread)> &work, Body &&body) {
    const Busy busy([&](int thread) {
      const With with(primary[0]);
      work(thread);
    });
    for (int i = 0; i < children && !HasFailure(); ++i) body();
  }
};

TEST_F(GpuForks, WhileMemoryIsAllocatedAndUsed) {
  const OwnStream streams[3] = {make_stream(gpu0), make_stream(gpu0), make_stream(gpu0)};
  const auto use = [&](cai_stream *stream, std::uint32_t kind) {
    OwnMemory memory = allocate(gpu0, kind, 64, stream);
    const OwnArray array = array_of(memory, {64});
    EXPECT_EQ(cai_array_fill(array, &seven, stream, nullptr), CAI_OK);
    return memory;
  };
  fork_often(
      [&](int thread) {
        for (const std::uint32_t kind : {CAI_KIND_ASYNC, CAI_KIND_DEFAULT, CAI_KIND_PINNED}) {
          static_cast<void>(use(streams[thread], kind));
        }
        EXPECT_EQ(cai_pending_flush(gpu0, nullptr), CAI_OK);
        EXPECT_EQ(cai_drain(0, nullptr, nullptr), CAI_OK);
      },
      [&] {
        OwnMemory memories[] = {use(streams[2], CAI_KIND_ASYNC), use(streams[2], CAI_KIND_DEFAULT),
                                use(streams[2], CAI_KIND_PINNED)};
        in_child([&](Checks &check) {
          cai_memory *memory = nullptr;
          const cai_request wanted = request(CAI_KIND_DEFAULT, 64);
          CHECK_STATUS(CAI_ERR_STATE, cai_memory_alloc(gpu0, &wanted, &memory, nullptr));
          CHECK_STATUS(CAI_OK, cai_memory_alloc(cpu, &wanted, &memory, nullptr));
          cai_memory_release(memory);
          for (OwnMemory &each : memories) each.reset();
          cai_usage usage{};
          usage.struct_size = sizeof usage;
          CHECK_STATUS(CAI_OK, cai_memory_usage(gpu0, &usage, nullptr));
          const cai_status flushed = cai_pending_flush(gpu0, nullptr);
          CHECK(flushed == (usage.pending_count ? CAI_ERR_STATE : CAI_OK));
        });
      });
}

// The thread that was looking at the uses of the array is not there. The producer's code runs all
// the same.
TEST_F(GpuForks, WhileAnArrayIsUsed) {
  const OwnStream streams[] = {make_stream(gpu0), make_stream(gpu0)};
  const With with(primary[0]);
  Address data = 0;
  MUST(gpu().cuMemAlloc_v2(&data, count));
  Array array(data, CAI_STREAM_STREAM, cai_stream_value(streams[0]));
  array.array.device_id = 0;
  Owned shared(array.array);
  shared->owner->flags |= CAI_OWNER_STREAM_ORDERED;
  shared->owner->freed_on = cai_stream_value(streams[0]);
  const cai_array *const one = shared;
  cai_use use;
  MUST(cai_use_begin(&use, &one, 1, cai_stream_value(streams[1]), nullptr, nullptr));
  MUST(cai_use_end(&use, nullptr));
  MUST(cai_owner_used_on(one->owner, cai_stream_value(streams[1]), CAI_ACCESS_WRITE, nullptr));
  fork_often(
      [&](int) {
        std::int64_t left = 0;
        for (int i = 0; i < 100; ++i) {
          ASSERT_EQ(cai_owner_pending(one->owner, 0, &left, nullptr), CAI_OK);
        }
      },
      [&] {
        in_child([&](Checks &check) {
          shared.release();
          CHECK(shared.ended());
        });
      });
  shared.release();
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  EXPECT_TRUE(shared.ended());
  MUST(gpu().cuMemFree_v2(data));
}

}  // namespace
}  // namespace test::forks_tests
#endif
