// SPDX-License-Identifier: BSD-3-Clause
// Memory and arrays of the CPU's, where there is no driver.
#include <atomic>
#include <thread>

#include "memories.hpp"
#include "slow.hpp"

namespace test::host_memory_tests {
namespace {

TEST(HostMemory, EveryKind) {
  for (std::uint32_t kind = CAI_KIND_DEFAULT; kind <= CAI_KIND_HOST; ++kind) {
    cai_request wanted = request(kind, 100);
    if (kind == CAI_KIND_PITCHED || kind == CAI_KIND_PITCHED_MANAGED) wanted.rows = 2;
    cai_memory *made = nullptr;
    if (kind == CAI_KIND_CUDA_ARRAY) {
      EXPECT_EQ(cai_memory_alloc(cpu, &wanted, &made, nullptr), CAI_ERR_UNSUPPORTED);
      continue;
    }
    wanted.align = 4096;
    ASSERT_OK(cai_memory_alloc(cpu, &wanted, &made, error));
    const OwnMemory memory(made);
    const cai_memory_info info = describe(memory);
    EXPECT_EQ(info.data % 4096, 0U);
    EXPECT_EQ(info.host, info.data);
    EXPECT_EQ(info.flags, std::uint32_t{CAI_MEMORY_DEREFERENCEABLE});
    std::memset(handle(info.host), 1, info.size);
    cai_memory *found = nullptr;
    std::uint64_t offset = 0;
    ASSERT_OK(cai_memory_find(info.data + 99, &found, &offset, error));
    EXPECT_EQ(found, memory.get());
    EXPECT_EQ(offset, 99U);
    cai_memory_release(found);
  }
}

TEST(HostMemory, ArraysOnAQueue) {
  const OwnStream queue = make_stream(cpu);
  const OwnMemory from_memory = allocate(cpu, CAI_KIND_DEFAULT, 600),
                  to_memory = allocate(cpu, CAI_KIND_DEFAULT, 600);
  const cai_dtype dtype{'i', '<', 0, 0, 2, 0};
  OwnArray from = array_of(from_memory, {10, 30}, dtype);
  cai_array *made = nullptr;
  const std::int64_t shape[] = {10, 30}, strides[] = {2, 20};
  ASSERT_OK(cai_memory_array(to_memory, 0, &dtype, 2, shape, strides, &made, error));
  OwnArray to(made);
  const std::int16_t value = -7;
  ASSERT_OK(cai_array_fill(from, &value, queue, error));
  ASSERT_OK(cai_array_copy(from, to, queue, error));
  from.reset();
  to.reset();
  ASSERT_OK(cai_stream_synchronize(queue, error));
  const auto *const items = static_cast<const std::int16_t *>(handle(describe(to_memory).host));
  for (int i = 0; i < 300; ++i) ASSERT_EQ(items[i], value);
}

TEST(HostMemory, RefusesWhatCannotBe) {
  const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 64);
  const OwnArray all = array_of(memory, {8, 8});
  const auto part = [&](std::uint64_t offset, std::int64_t extent, std::int64_t stride) {
    cai_array *made = nullptr;
    cai_error problem{};
    EXPECT_EQ(cai_memory_array(memory, offset, &bytes_type, 1, &extent, &stride, &made, &problem),
              CAI_OK)
        << problem.message;
    return OwnArray(made);
  };
  const OwnArray even = part(0, 8, 2), odd = part(1, 8, 2), dense = part(4, 8, 1),
                 same = part(3, 4, 0);
  const std::int64_t four = 4;
  cai_array *short_array = nullptr;
  ASSERT_OK(cai_memory_array(memory, 32, &bytes_type, 1, &four, nullptr, &short_array, error));
  const OwnArray four_bytes(short_array);
  cai_error problem{};
  EXPECT_EQ(cai_array_copy(even, odd, nullptr, &problem), CAI_OK) << problem.message;
  EXPECT_EQ(cai_array_copy(even, dense, nullptr, &problem), CAI_ERR_LAYOUT);
  EXPECT_EQ(cai_array_copy(even, even, nullptr, &problem), CAI_ERR_LAYOUT);
  EXPECT_EQ(cai_array_copy(four_bytes, same, nullptr, &problem), CAI_ERR_LAYOUT);
  EXPECT_EQ(cai_array_copy(even, four_bytes, nullptr, &problem), CAI_ERR_VALUE);
  EXPECT_EQ(problem.entry, CAI_ENTRY_SHAPE);
  EXPECT_EQ(cai_array_copy(all, even, nullptr, &problem), CAI_ERR_VALUE);
  EXPECT_EQ(cai_array_copy(nullptr, even, nullptr, &problem), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_array_fill(even, nullptr, nullptr, &problem), CAI_ERR_ARGUMENT);
  cai_array read_only = *odd.get();
  read_only.flags |= CAI_FLAG_READONLY;
  EXPECT_EQ(cai_array_copy(even, &read_only, nullptr, &problem), CAI_ERR_VALUE);
  const std::int64_t index[] = {7, -9};
  unsigned char byte = 5;
  EXPECT_EQ(cai_array_item(all, index, &byte, &problem), CAI_ERR_ARGUMENT);
  EXPECT_EQ(problem.index, 1);
  EXPECT_EQ(byte, 5);
}

// Without a driver, none knows of it: of whatever kind it is, it is of the heap.
TEST(HostMemory, IsValidWithoutADriver) {
  for (std::uint32_t kind = CAI_KIND_DEFAULT; kind <= CAI_KIND_HOST; ++kind) {
    if (kind == CAI_KIND_CUDA_ARRAY) continue;
    SCOPED_TRACE(kind);
    cai_request wanted = request(kind, 64);
    if (kind == CAI_KIND_PITCHED || kind == CAI_KIND_PITCHED_MANAGED) wanted.rows = 1;
    cai_memory *made = nullptr;
    ASSERT_OK(cai_memory_alloc(cpu, &wanted, &made, error));
    const OwnMemory memory(made);
    ASSERT_OK(cai_memory_validate(describe(memory).data, 64, cpu, kind, error));
  }
}

// A later read returns the failure of the thread's stream.
TEST(HostMemory, IsNotReadAfterWorkThatFailed) {
  const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 64);
  const OwnArray array = array_of(memory, {64});
  cai_stream *found = nullptr;
  ASSERT_OK(cai_stream_current(cpu, &found, error));
  const OwnStream before(found), stream = make_stream(cpu);
  ASSERT_OK(cai_stream_set_current(stream, error));
  ASSERT_OK(cai_stream_enqueue(stream, fail_work, nullptr, nullptr, error));
  unsigned char byte = 3;
  EXPECT_FAILS(CAI_ERR_STATE, "the work has failed", cai_array_first(array, &byte, error));
  EXPECT_EQ(byte, 3);
  ASSERT_OK(cai_array_first(array, &byte, error));
  ASSERT_OK(cai_stream_set_current(before, error));
}

TEST(HostMemory, IsFoundWhateverItsSize) {
  std::vector<OwnMemory> all;
  for (const std::uint64_t size : {1U, 1000U, 60'000U, 1U << 16, 1U << 17, 1U << 20, 100U << 20}) {
    const int count = size > 1 << 20 ? 1 : 20;
    for (int i = 0; i < count; ++i) all.push_back(allocate(cpu, CAI_KIND_HOST, size));
  }
  const auto found_at = [](Address address, std::uint64_t expected_offset) {
    cai_memory *found = nullptr;
    std::uint64_t offset = 0;
    if (cai_memory_find(address, &found, &offset, nullptr) != CAI_OK) return OwnMemory();
    EXPECT_EQ(offset, expected_offset);
    return OwnMemory(found);
  };
  for (OwnMemory &memory : all) {
    const cai_memory_info info = describe(memory);
    for (const std::uint64_t offset : {std::uint64_t{0}, info.size / 2, info.size - 1}) {
      EXPECT_EQ(found_at(info.data + offset, offset).get(), memory.get());
    }
    memory.reset();
    for (const std::uint64_t offset : {std::uint64_t{0}, info.size - 1}) {
      EXPECT_EQ(found_at(info.data + offset, 0).get(), nullptr);
    }
  }
}

TEST(HostMemory, IsFoundByManyThreadsWhileItComesAndGoes) {
  std::atomic<bool> stop{false};
  const OwnMemory stays = allocate(cpu, CAI_KIND_DEFAULT, 1000);
  const Address data = describe(stays).data;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        cai_memory *found = nullptr;
        std::uint64_t offset = 0;
        ASSERT_EQ(cai_memory_find(data + 500, &found, &offset, nullptr), CAI_OK);
        ASSERT_EQ(found, stays.get());
        ASSERT_EQ(offset, 500U);
        cai_memory_release(found);
        const OwnMemory mine = allocate(cpu, CAI_KIND_HOST, 100);
        ASSERT_EQ(cai_memory_find(describe(mine).data, &found, &offset, nullptr), CAI_OK);
        ASSERT_EQ(found, mine.get());
        cai_memory_release(found);
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  stop = true;
  for (std::thread &thread : threads) thread.join();
}

}  // namespace
}  // namespace test::host_memory_tests
