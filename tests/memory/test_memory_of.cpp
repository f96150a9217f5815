// SPDX-License-Identifier: BSD-3-Clause
// Memory of a foreign array: it loses neither the read-only mark nor work that is pending. No
// driver.
#include <cai/arrow.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "owned.hpp"
#include "slow.hpp"

namespace test::memory_of_tests {
namespace {

constexpr unsigned char seven = 7, eight = 8;
constexpr std::int64_t size = 64;

// Bytes of an owner's that libcai knows by their array only.
class Bytes {
 public:
  OwnArray make(std::uint32_t flags = 0) {
    cai_array array{};
    array.abi_major = CAI_ABI_MAJOR;
    array.abi_minor = CAI_ABI_MINOR;
    array.flags = flags;
    array.version = 3;
    array.stream_kind = CAI_STREAM_NONE;
    array.device_type = CAI_DEVICE_CPU;
    array.dtype = bytes_type;
    array.ndim = 1;
    array.shape = &size;
    array.strides = &step_;
    array.data = value(bytes);
    cai_array *owned = nullptr;
    const auto end = [](void *self) { ++static_cast<Bytes *>(self)->ends; };
    EXPECT_EQ(cai_array_own(&array, end, this, &owned, nullptr), CAI_OK);
    return OwnArray(owned);
  }
  unsigned char bytes[size] = {};
  int ends = 0;

 private:
  static constexpr std::int64_t step_ = 1;
};

OwnMemory memory_of(const cai_array *array) {
  cai_memory *found = nullptr;
  cai_error error{};
  EXPECT_EQ(cai_memory_of(array, &found, nullptr, &error), CAI_OK) << error.message;
  return OwnMemory(found);
}

bool is_read_only(const cai_memory *memory) {
  return describe(memory).flags & CAI_MEMORY_READONLY;
}

void expect_not_written(cai_memory *memory) {
  EXPECT_TRUE(is_read_only(memory));
  const OwnArray array = array_of(memory, {4});
  EXPECT_TRUE(array->flags & CAI_FLAG_READONLY);
  EXPECT_FAILS(CAI_ERR_VALUE, "read-only", cai_array_fill(array, &seven, nullptr, error));
  cai_memory *part = nullptr;
  ASSERT_OK(cai_memory_view(memory, 1, 3, &part, error));
  const OwnMemory view(part);
  EXPECT_TRUE(is_read_only(view));
  EXPECT_TRUE(array_of(view, {2})->flags & CAI_FLAG_READONLY);
}

TEST(HostMemoryOf, AReadOnlyArrayStaysSo) {
  Bytes bytes;
  const OwnArray array = bytes.make(CAI_FLAG_READONLY);
  const OwnMemory memory = memory_of(array);
  expect_not_written(memory);
  EXPECT_TRUE(is_read_only(memory_of(array_of(memory, {4}))));
  EXPECT_FALSE(is_read_only(memory_of(bytes.make())));
}

// Code that still has an array of the memory may ask the keeper of the one that it was found by.
TEST(HostMemoryOf, HoldsTheArrayUntilNobodyHasTheMemory) {
  Bytes bytes;
  {
    OwnMemory memory = memory_of(bytes.make());
    const OwnArray array = array_of(memory, {4});
    ASSERT_OK(cai_memory_free(memory, error));
    ASSERT_OK(cai_array_sync_host(array, error));
    memory = {};
    ASSERT_OK(cai_array_sync_host(array, error));
    EXPECT_EQ(bytes.ends, 0);
  }
  EXPECT_EQ(bytes.ends, 1);
}

// The array is the parent's: its owner is not told of its end in a child.
TEST(HostMemoryOf, AChildGivesNoArrayBack) {
  Bytes bytes;
  OwnArray array = bytes.make();
  OwnMemory memory = memory_of(array);
  array.reset();
  const pid_t child = fork();
  if (child == 0) {
    memory.reset();
    _exit(bytes.ends);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  memory.reset();
  EXPECT_EQ(bytes.ends, 1);
}

TEST(HostMemoryOf, AReadOnlyArrayOfOurOwnMemoryGivesAView) {
  const OwnMemory whole = allocate(cpu, CAI_KIND_DEFAULT, size);
  const OwnArray array = array_of(whole, {size});
  cai_array marked = *array.get();
  marked.flags |= CAI_FLAG_READONLY;
  const OwnMemory memory = memory_of(&marked);
  EXPECT_TRUE(describe(memory).flags & CAI_MEMORY_VIEW);
  EXPECT_EQ(describe(memory).size, describe(whole).size);
  expect_not_written(memory);
  EXPECT_FALSE(is_read_only(whole));
  EXPECT_EQ(memory_of(array).get(), whole.get());
}

TEST(HostMemoryOf, WrappedMemoryMayBeMarked) {
  alignas(64) unsigned char bytes[size] = {};
  cai_memory_info info{};
  info.struct_size = sizeof info;
  info.flags = CAI_MEMORY_READONLY;
  info.kind = CAI_KIND_HOST;
  info.device = cpu;
  info.data = info.host = value(static_cast<void *>(bytes));
  info.size = size;
  cai_memory *made = nullptr;
  ASSERT_OK(cai_memory_wrap(&info, nullptr, nullptr, &made, error));
  const OwnMemory memory(made);
  expect_not_written(memory);
  info.flags = CAI_MEMORY_FREED;
  EXPECT_FAILS(CAI_ERR_VALUE, "flags", cai_memory_wrap(&info, nullptr, nullptr, &made, error));
}

TEST(HostMemoryOf, WorkOnTheArrayComesBeforeTheMemorys) {
  Bytes bytes;
  const OwnArray array = bytes.make();
  for (const bool is_first : {true, false}) {
    SCOPED_TRACE(is_first);
    OwnMemory memory = is_first ? OwnMemory() : memory_of(array);
    const Slow slow;
    ASSERT_OK(cai_array_fill(array, is_first ? &seven : &eight, slow, error));
    if (is_first) memory = memory_of(array);
    const OwnArray again = array_of(memory, {size});
    unsigned char last = 0;
    const std::int64_t at = -1;
    ASSERT_OK(cai_array_item(again, &at, &last, error));
    EXPECT_EQ(last, is_first ? seven : eight);
    EXPECT_FALSE(slow.is_pending());
  }
}

TEST(HostMemoryOf, WorkOnTheMemoryComesBeforeTheArrays) {
  Bytes bytes;
  const OwnArray array = bytes.make();
  for (const bool is_released : {true, false}) {
    SCOPED_TRACE(is_released);
    std::fill(std::begin(bytes.bytes), std::end(bytes.bytes), 0);
    OwnMemory memory = memory_of(array);
    const Slow slow;
    ASSERT_OK(cai_array_fill(array_of(memory, {size}), &seven, slow, error));
    if (is_released) memory.reset();
    ASSERT_OK(cai_array_sync_host(array, error));
    EXPECT_FALSE(slow.is_pending());
    EXPECT_EQ(std::count(std::begin(bytes.bytes), std::end(bytes.bytes), seven), size);
  }
}

// The host waits for the work; no one else needs to be told.
TEST(HostMemoryOf, AColumnOfWhatIsPendingNeedsNoDriver) {
  Bytes bytes;
  const OwnArray array = bytes.make();
  const Slow slow;
  ASSERT_OK(cai_array_fill(array, &seven, slow, error));
  ArrowDeviceArray column{};
  ASSERT_OK(cai_arrow_write(array, 1, nullptr, &column, error));
  EXPECT_FALSE(slow.is_pending());
  EXPECT_EQ(column.sync_event, nullptr);
  EXPECT_EQ(bytes.bytes[size - 1], seven);
  column.array.release(&column.array);
}

TEST(HostMemoryOf, WhatIsRecordedIsTheArraysToo) {
  Bytes bytes;
  const OwnArray array = bytes.make();
  const OwnMemory memory = memory_of(array);
  const Slow slow;
  ASSERT_OK(cai_memory_record(memory, slow, error));
  ASSERT_OK(cai_array_sync_host(array, error));
  EXPECT_FALSE(slow.is_pending());
}

// An owner that keeps uses by itself cannot keep the host's work: the host waits, and receives its
// failure.
TEST(HostMemoryOf, WhatIsRecordedIsDoneWhereNobodyKeepsIt) {
  Bytes bytes;
  const OwnArray array = bytes.make();
  array->owner->used_on = [](cai_owner *, std::uint64_t, std::uint32_t, cai_error *) {
    return CAI_OK + 0;
  };
  array->owner->await_uses = array->owner->used_on;
  {
    const OwnMemory memory = memory_of(array);
    const Slow slow;
    ASSERT_OK(cai_memory_record(memory, slow, error));
    EXPECT_FALSE(slow.is_pending());
    ASSERT_OK(cai_stream_enqueue(slow, fail_work, nullptr, nullptr, error));
    EXPECT_FAILS(CAI_ERR_STATE, "the work has failed", cai_memory_record(memory, slow, error));
  }
}

}  // namespace
}  // namespace test::memory_of_tests
