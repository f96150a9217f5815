// SPDX-License-Identifier: BSD-3-Clause
// Threads that use one array at the same time.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "cai/dlpack.h"
#include "failing.hpp"
#include "owned.hpp"

namespace test::threads_tests {
namespace {

// The kernel may reuse the id of a thread that has ended: the start time distinguishes the two.
TEST(ThreadIds, DoNotRecur) {
  constexpr unsigned bits = 22;
  const std::uint64_t first = cai_this_thread();
  EXPECT_EQ(cai_this_thread(), first);
  EXPECT_EQ(first & ((1U << bits) - 1), static_cast<std::uint64_t>(::syscall(SYS_gettid)));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the times are hundredths
  std::uint64_t second = 0;
  std::thread([&] { second = cai_this_thread(); }).join();
  EXPECT_GT(second >> bits, first >> bits);
}

class Threads : public OnGpu {};

// Two end uses on one stream. Which of their events is the newer one only the driver knows; here
// the older one is kept last. (The first thread can be held where it allocates what is to keep its
// use.)
TEST_F(Threads, EndUsesOfOneStream) {
  const Owned first(memory(), CAI_STREAM_STREAM, value(stream()));
  const Owned array(memory(), CAI_STREAM_NONE);
  const Address to[] = {memory(), memory()};
  const std::uint64_t consumer = value(stream());
  bool done = false;
  const auto once_the_event_is_recorded = [&] {
    if (calls("cuStreamWaitEvent") == 0 || std::exchange(done, true)) return;
    std::thread([&] {
      const With with(context0);
      copy(to[1], array->data, consumer);
      EXPECT_EQ(end_use({array}, consumer), CAI_OK);
    }).join();
  };
  EXPECT_EQ(races([&] {
              copy(to[0], array->data, consumer);
              gpu().simcuda_reset_counts();
              with_told_new(once_the_event_is_recorded,
                            [&] { EXPECT_EQ(end_use({first, array}, consumer), CAI_OK); });
              EXPECT_TRUE(done);
              const std::uint64_t writer = value(stream());
              EXPECT_EQ(cai_array_reclaim(array, writer, CAI_ACCESS_WRITE, nullptr), CAI_OK);
              fill(array->data, 1, writer);
            }),
            0U);
}

// Each on a stream of its own, and on one that they share; then a write comes.
TEST_F(Threads, ReadWhatSomebodyWritesLater) {
  constexpr int rounds = 50;
  const cai_use_options read = access(CAI_ACCESS_READ);
  const std::uint64_t producer = value(stream()), shared = value(stream());
  const Owned arrays[] = {Owned(memory(), CAI_STREAM_NONE),
                          Owned(memory(), CAI_STREAM_STREAM, producer)};
  const std::uint64_t own[] = {value(stream()), value(stream()), value(stream())};
  const Address to[] = {memory(), memory(), memory()};
  const auto use = [&](const Owned &array, std::uint64_t on, Address sink) {
    EXPECT_EQ(begin_use({array}, on, nullptr, &read), CAI_OK);
    copy(sink, array->data, on);
    EXPECT_EQ(end_use({array}, on, nullptr, &read), CAI_OK);
  };
  EXPECT_EQ(races([&] {
              std::vector<std::thread> threads;
              for (std::size_t i = 0; i < std::size(own); ++i) {
                threads.emplace_back([&, i] {
                  const With with(context0);
                  for (int round = 0; round < rounds; ++round) {
                    for (const Owned &array : arrays) use(array, own[i], to[i]);
                    for (const Owned &array : arrays) {
                      EXPECT_EQ(begin_use({array}, shared, nullptr, &read), CAI_OK);
                      EXPECT_EQ(end_use({array}, shared, nullptr, &read), CAI_OK);
                    }
                  }
                });
              }
              for (std::thread &thread : threads) thread.join();
              const std::uint64_t writer = value(stream());
              for (const Owned &array : arrays) {
                EXPECT_EQ(begin_use({array}, writer), CAI_OK);
                fill(array->data, 1, writer);
                EXPECT_EQ(end_use({array}, writer), CAI_OK);
              }
            }),
            0U);
}

// One has a tensor for a stream of its own, which it works on, and destroys once the deleter has
// returned; the other one begins a use meanwhile. Their work does not overlap.
TEST_F(Threads, BeginsAUseWhileATensorGoes) {
  constexpr int rounds = 300;
  const Owned array(memory(), CAI_STREAM_STREAM, value(stream()));
  const std::uint64_t consumer = value(stream());
  std::mutex work;
  std::atomic<bool> done{false};
  const auto lend = [&] {
    const With with(context0);
    for (int round = 0; round < rounds; ++round) {
      const Handle mine = stream();
      DLManagedTensorVersioned *tensor = nullptr;
      {
        const std::lock_guard lock(work);
        EXPECT_EQ(cai_dlpack_write(array, value(mine), &tensor, nullptr), CAI_OK);
        fill(array->data, 1, value(mine));
      }
      tensor->deleter(tensor);
      MUST(gpu().cuStreamDestroy_v2(mine));
    }
    done = true;
  };
  EXPECT_EQ(races([&] {
              std::thread other(lend);
              while (!done) {
                const std::lock_guard lock(work);
                cai_error error{};
                EXPECT_EQ(begin_use({array}, consumer, &error), CAI_OK) << error.message;
                fill(array->data, 2, consumer);
                EXPECT_EQ(end_use({array}, consumer, &error), CAI_OK) << error.message;
              }
              other.join();
            }),
            0U);
}

}  // namespace
}  // namespace test::threads_tests
