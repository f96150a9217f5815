// SPDX-License-Identifier: BSD-3-Clause
// Threads that hand one array around, as tensors and as columns, each on a stream of its own.
#include <thread>
#include <vector>

#include "cai/arrow.h"
#include "cai/dlpack.h"
#include "owned.hpp"

namespace test::exchange_threads_tests {
namespace {

constexpr int rounds = 50;

class ExchangeThreads : public OnGpu {
 protected:
  // Reads the array on `stream`, in order, and releases it while the copy is pending.
  static void read_and_release(cai_array *array, std::uint64_t stream, Address to) {
    const cai_use_options reads = access(CAI_ACCESS_READ);
    EXPECT_EQ(begin_use({array}, stream, nullptr, &reads), CAI_OK);
    copy(to, array->data, stream);
    EXPECT_EQ(end_use({array}, stream, nullptr, &reads), CAI_OK);
    cai_array_release(array);
  }

  static void by_tensor(const cai_array *array, std::uint64_t stream, Address to) {
    DLManagedTensorVersioned *tensor = nullptr;
    cai_array *mine = nullptr;
    ASSERT_EQ(cai_dlpack_write(array, stream, &tensor, nullptr), CAI_OK);
    ASSERT_EQ(cai_dlpack_own(tensor, stream, &mine, nullptr), CAI_OK);
    read_and_release(mine, stream, to);
  }

  static void by_column(const cai_array *array, std::uint64_t stream, Address to) {
    ArrowSchema schema;
    ArrowDeviceArray column;
    cai_array *mine = nullptr;
    ASSERT_EQ(cai_arrow_write(array, stream, &schema, &column, nullptr), CAI_OK);
    ASSERT_EQ(cai_arrow_own(&schema, &column, &mine, nullptr), CAI_OK);
    schema.release(&schema);
    read_and_release(mine, stream, to);
  }
};

TEST_F(ExchangeThreads, HandOneArrayAround) {
  const std::uint64_t producer = value(stream());
  Owned array(memory(), CAI_STREAM_STREAM, producer);
  const std::uint64_t own[] = {value(stream()), value(stream()), value(stream())};
  const Address to[] = {memory(), memory(), memory()};
  EXPECT_EQ(races([&] {
              fill(array->data, 1, producer);
              std::vector<std::thread> threads;
              for (std::size_t i = 0; i < std::size(own); ++i) {
                cai_array_retain(array);
                threads.emplace_back([&, i] {
                  const With with(context0);
                  for (int round = 0; round < rounds; ++round) {
                    by_tensor(array, own[i], to[i]);
                    by_column(array, own[i], to[i]);
                  }
                  cai_array_release(array);
                });
              }
              for (std::thread &thread : threads) thread.join();
            }),
            0U);
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  EXPECT_FALSE(array.ended());
}

// The last reference to a tensor of an array of a tensor is released on another thread.
TEST_F(ExchangeThreads, TheLastHolderIsAnotherThread) {
  const std::uint64_t on = value(stream());
  for (int round = 0; round < rounds; ++round) {
    Owned array(memory(), CAI_STREAM_NONE);
    DLManagedTensorVersioned *tensor = nullptr;
    cai_array *again = nullptr;
    ASSERT_EQ(cai_dlpack_write(array, on, &tensor, nullptr), CAI_OK);
    ASSERT_EQ(cai_dlpack_own(tensor, on, &again, nullptr), CAI_OK);
    std::thread other([&] { cai_array_release(again); });
    array.release();
    other.join();
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
    EXPECT_TRUE(array.ended());
  }
}

}  // namespace
}  // namespace test::exchange_threads_tests
