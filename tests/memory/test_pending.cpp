// SPDX-License-Identifier: BSD-3-Clause
// What is pending, by Numba's rules; its test_deallocations, in terms of any free. TEST_DEVICE says
// of which device: the same on both.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>

#include "managers.hpp"

namespace test::pending_tests {
namespace {

cai_device tested() {
  const char *name = std::getenv("TEST_DEVICE");
  return name && std::string(name) == "gpu" ? gpu0 : cpu;
}

std::uint64_t capacity() {
  std::uint64_t total = 0;
  EXPECT_EQ(cai_device_memory(tested(), nullptr, &total, nullptr), CAI_OK);
  return total;
}

class Pending : public testing::Test {
 protected:
  Pending() {
    flush(tested());
    EXPECT_EQ(usage(tested()).pending_count, 0U);
  }
  ~Pending() override {
    flush(tested());
    EXPECT_EQ(usage(tested()).pending_count, 0U);
    EXPECT_EQ(usage(tested()).pending_bytes, 0U);
    EXPECT_EQ(usage(tested()).deferred, 0U);
  }

  static cai_status run(void *context, cai_error *) {
    ++*static_cast<int *>(context);
    return CAI_OK;
  }
  void add(std::uint64_t bytes = 0) {
    cai_error error{};
    EXPECT_EQ(cai_pending_add(tested(), bytes, run, &freed, &error), CAI_OK) << error.message;
  }
  static std::uint64_t count() { return usage(tested()).pending_count; }
  static void defer(std::int32_t begin) {
    EXPECT_EQ(cai_pending_defer(tested(), begin, nullptr), CAI_OK);
  }

  int freed = 0;
};

TEST_F(Pending, TenStayAndTheEleventhFreesAll) {
  for (std::uint64_t i = 1; i <= 10; ++i) {
    add();
    EXPECT_EQ(count(), i);
    EXPECT_EQ(freed, 0);
  }
  add();
  EXPECT_EQ(count(), 0U);
  EXPECT_EQ(freed, 11);
}

// Two that overlap, begun with different managers: which one an end is of it does not say.
TEST_F(Pending, NoManagerIsToldOfAnEndTooEarly) {
  struct Deferring : Recorder {
    static const char *name() {
      static const cai_manager_table made = [] {
        cai_manager_table table = Recorder::table();
        table.name = "deferring";
        table.defer_cleanup = [](void *self, std::int32_t enter, cai_error *error) {
          return of(self).result(error, enter ? "defer" : "resume");
        };
        return table;
      }();
      static const cai_status registered = cai_manager_register(made.name, &made, nullptr);
      EXPECT_EQ(registered, CAI_OK);
      return made.name;
    }
  };
  Deferring first, second;
  Manager one = make(Deferring::name(), tested(), static_cast<Recorder *>(&first));
  Manager two = make(Deferring::name(), tested(), static_cast<Recorder *>(&second));
  const Manager before = manager_of(tested());
  ASSERT_OK(cai_manager_install(tested(), one, error));
  defer(1);
  defer(1);
  ASSERT_OK(cai_manager_install(tested(), two, error));
  defer(1);
  EXPECT_EQ(first.count("defer"), 2U);
  EXPECT_EQ(second.count("defer"), 1U);
  defer(0);  // perhaps the end of one's, perhaps of two's
  EXPECT_EQ(first.count("resume"), 0U);
  EXPECT_EQ(second.count("resume"), 0U);
  defer(0);
  EXPECT_EQ(first.count("resume"), 1U);
  EXPECT_EQ(second.count("resume"), 0U);
  defer(0);
  EXPECT_EQ(first.count("resume"), 2U);
  EXPECT_EQ(second.count("resume"), 1U);
  EXPECT_FAILS(CAI_ERR_STATE, "deferred", cai_pending_defer(tested(), 0, error));
  ASSERT_OK(cai_manager_install(tested(), before, error));
}

TEST_F(Pending, AFifthOfTheMemoryStaysAndOneByteMoreFreesAll) {
  const std::uint64_t most = capacity() / 5;
  add(most / 2);
  add(most - most / 2);
  EXPECT_EQ(usage(tested()).pending_bytes, most);
  EXPECT_EQ(freed, 0);
  add(1);
  EXPECT_EQ(freed, 3);
  EXPECT_EQ(usage(tested()).pending_bytes, 0U);
}

TEST_F(Pending, NothingIsFreedWhileItIsDeferred) {
  defer(1);
  for (int i = 0; i < 30; ++i) add(capacity());
  EXPECT_EQ(count(), 30U);
  flush(tested());
  EXPECT_EQ(count(), 30U);
  defer(1);
  add();
  defer(0);
  EXPECT_EQ(usage(tested()).deferred, 1U);
  add();
  EXPECT_EQ(freed, 0);
  std::thread([&] { defer(0); }).join();  // any thread ends it
  EXPECT_EQ(freed, 0);                    // which frees nothing by itself
  add();
  EXPECT_EQ(freed, 33);
}

TEST_F(Pending, HoweverManyAreFreedOnceAndInTheirOrder) {
  struct Numbered {
    std::vector<int> *order;
    int number;
    static cai_status free(void *context, cai_error *) {
      const Numbered &me = *static_cast<Numbered *>(context);
      me.order->push_back(me.number);
      return CAI_OK;
    }
  };
  for (const int many : {1024, 1025, 5000}) {  // the room they are kept in grows, and stays
    std::vector<int> order, expected;
    std::vector<Numbered> items;
    for (int i = 0; i < many; ++i) items.push_back({&order, i}), expected.push_back(i);
    defer(1);
    for (Numbered &item : items) {
      ASSERT_EQ(cai_pending_add(tested(), 1, Numbered::free, &item, nullptr), CAI_OK);
    }
    EXPECT_EQ(count(), static_cast<std::uint64_t>(many));
    defer(0);
    flush(tested());
    EXPECT_EQ(order, expected);
    EXPECT_EQ(count(), 0U);
  }
}

TEST_F(Pending, AnEndWithoutABeginning) {
  cai_error error{};
  EXPECT_EQ(cai_pending_defer(tested(), 0, &error), CAI_ERR_STATE);
  for (const std::int32_t number : {2, -1}) {
    EXPECT_EQ(cai_pending_defer(tested(), number, &error), CAI_ERR_VALUE);
  }
  EXPECT_EQ(cai_pending_add(tested(), 1, nullptr, nullptr, &error), CAI_ERR_ARGUMENT);
}

struct Failing {
  int *freed;
  int number;
  static cai_status free(void *context, cai_error *error) {
    const Failing &me = *static_cast<Failing *>(context);
    ++*me.freed;
    if (me.number % 2 == 0) return CAI_OK;
    *error = cai_error{};
    error->status = CAI_ERR_CUDA;
    std::snprintf(error->message, sizeof error->message, "number %d", me.number);
    return CAI_ERR_CUDA;
  }
};

TEST_F(Pending, OneThatFailsDoesNotKeepTheOthers) {
  std::vector<Failing> items;
  for (int i = 0; i < 10; ++i) items.push_back({&freed, i});
  for (Failing &item : items) {
    ASSERT_EQ(cai_pending_add(tested(), 7, Failing::free, &item, nullptr), CAI_OK);
  }
  cai_error error{};
  EXPECT_EQ(cai_pending_flush(tested(), &error), CAI_ERR_CUDA);
  EXPECT_STREQ(error.message, "number 1");
  EXPECT_EQ(freed, 10);
  EXPECT_EQ(usage(tested()).pending_bytes, 0U);

  const Failures failures;
  Failing last{&freed, 11};
  for (Failing &item : items) {
    ASSERT_EQ(cai_pending_add(tested(), 7, Failing::free, &item, nullptr), CAI_OK);
  }
  ASSERT_EQ(cai_pending_add(tested(), 7, Failing::free, &last, nullptr), CAI_OK);
  EXPECT_EQ(freed, 21);
  EXPECT_EQ(failures.messages, std::vector<std::string>({"number 1"}));
}

TEST_F(Pending, AFreeMayDoAnything) {
  struct Again {
    int left = 30;
    static cai_status free(void *context, cai_error *error) {
      Again &me = *static_cast<Again *>(context);
      usage(tested());
      flush(tested());
      return me.left-- > 0 ? cai_pending_add(tested(), 1, free, context, error)
                           : cai_status{CAI_OK};
    }
  } again;
  ASSERT_EQ(cai_pending_add(tested(), 1, Again::free, &again, nullptr), CAI_OK);
  while (count()) flush(tested());
  EXPECT_EQ(again.left, -1);
}

TEST_F(Pending, OfManyThreads) {
  std::atomic<int> runs{0};
  const auto count_run = [](void *context, cai_error *) {
    ++*static_cast<std::atomic<int> *>(context);
    return cai_status{CAI_OK};
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(cai_pending_add(tested(), 3, count_run, &runs, nullptr), CAI_OK);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  flush(tested());
  EXPECT_EQ(runs, 8000);
}

// A free that runs `body` and says how far it is.
struct Running {
  std::function<void()> body;
  std::atomic<bool> runs{false}, is_over{false};

  static cai_status free(void *context, cai_error *) {
    Running &me = *static_cast<Running *>(context);
    me.runs = true;
    me.body();
    me.is_over = true;
    return CAI_OK;
  }
  void add() { ASSERT_EQ(cai_pending_add(tested(), 1, free, this, nullptr), CAI_OK); }
  // On a thread that flushes; returns once the free runs.
  std::thread begin() {
    add();
    std::thread other([] { flush(tested()); });
    await(runs);
    return other;
  }
  static void await(const std::atomic<bool> &what) {
    while (!what) std::this_thread::yield();
  }
};

TEST_F(Pending, AFlushWaitsForTheFreesOfOtherThreads) {
  Running slow{[] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }};
  std::thread other = slow.begin();
  flush(tested());
  EXPECT_TRUE(slow.is_over);
  other.join();
}

TEST_F(Pending, AResetWaitsForTheFreesOfOtherThreads) {
  Running slow{[] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }};
  std::thread other = slow.begin();
  EXPECT_EQ(cai_device_reset(tested(), 0, nullptr), CAI_OK);
  EXPECT_TRUE(slow.is_over);
  other.join();
}

TEST_F(Pending, NoFlushWithinAFreeWaitsForOtherFrees) {
  std::atomic<int> both{0};
  const auto meet = [&] {
    ++both;
    while (both != 2) std::this_thread::yield();
    flush(tested());
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  };
  Running one{meet}, two{meet};
  std::thread other = one.begin();
  two.add();
  flush(tested());
  other.join();
  EXPECT_TRUE(one.is_over && two.is_over);
}

// A manager may hold a lock that its frees need.
TEST_F(Pending, NoFlushByAManagerWaitsForFrees) {
  struct Locking : Recorder {
    static const char *name() {
      static const cai_manager_table made = [] {
        cai_manager_table table = Recorder::table();
        table.name = "locking";
        table.memalloc = [](void *self, auto... rest) {
          flush(tested());
          return Recorder::table().memalloc(self, rest...);
        };
        return table;
      }();
      static const cai_status registered = cai_manager_register(made.name, &made, nullptr);
      EXPECT_EQ(registered, CAI_OK);
      return made.name;
    }
  };
  Recorder recorder;
  const Manager manager = make(Locking::name(), tested(), &recorder);
  std::mutex mutex;
  Running locking{[&] { const std::lock_guard lock(mutex); }};
  std::thread other;
  {
    const std::lock_guard lock(mutex);
    other = locking.begin();
    free_block(manager, allocate(manager, 8));
  }
  other.join();
  EXPECT_TRUE(locking.is_over);
}

// The free may wait for that work.
TEST_F(Pending, NoFlushByWorkOfACpuStreamWaitsForFrees) {
  const OwnStream stream = make_stream(cpu);
  Running waiting{[&] { EXPECT_EQ(cai_stream_synchronize(stream, nullptr), CAI_OK); }};
  const auto work = [](void *runs, cai_error *) {
    Running::await(*static_cast<std::atomic<bool> *>(runs));
    flush(tested());
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
    return cai_status{CAI_OK};
  };
  ASSERT_EQ(cai_stream_enqueue(stream, work, nullptr, &waiting.runs, nullptr), CAI_OK);
  waiting.begin().join();
  EXPECT_TRUE(waiting.is_over);
}

// Nor by work that runs within the call which queues it.
TEST_F(Pending, NoFlushByWorkThatRunsAtOnceWaitsForFrees) {
  const OwnStream stream = make_stream(cpu, CAI_MODE_DEFAULT);
  struct Work {
    Running waiting{[this] { Running::await(is_done); }};
    std::atomic<bool> is_done{false};
    static cai_status run(void *, cai_error *) {
      flush(tested());
      EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
      return CAI_OK;
    }
    static void done(void *context) { static_cast<Work *>(context)->is_done = true; }
  } work;
  std::thread other = work.waiting.begin();
  EXPECT_EQ(cai_stream_enqueue(stream, Work::run, Work::done, &work, nullptr), CAI_OK);
  other.join();
  EXPECT_TRUE(work.waiting.is_over);
}

TEST_F(Pending, IsFlushedForWantOfMemoryUnlessDeferred) {
  Recorder recorder;
  const Manager base = make(recorder, tested());
  const Manager manager = make("statistics", tested(), nullptr, base);
  add();
  recorder.out_of_memory = 1;
  free_block(manager, allocate(manager, 10));
  EXPECT_EQ(freed, 1);
  EXPECT_EQ(recorder.count("memalloc"), 2U);
  defer(1);
  add();
  recorder.out_of_memory = 2;
  EXPECT_EQ(allocation_failure(manager, 10).status, CAI_ERR_MEMORY);
  EXPECT_EQ(freed, 1);
  defer(0);
}

}  // namespace
}  // namespace test::pending_tests
