// SPDX-License-Identifier: BSD-3-Clause
// What is written is what is there once: random strides, judged byte by byte. A fill or a copy is
// refused if, and only if, elements that it writes share a byte with others; else it writes its
// elements, and nothing beside them.
#include <array>
#include <random>
#include <set>

#include "memories.hpp"

namespace test::overlap_tests {
namespace {

constexpr int programs = 4000;
constexpr std::size_t room = 1024;
using Bytes = std::array<unsigned char, room>;

// An array in a buffer, and where its elements are.
struct Strided {
  std::int64_t shape[4], strides[4];
  cai_array array{};
  std::vector<std::size_t> offsets;  // of each element, in C order

  Strided(std::mt19937 &random, Bytes &bytes, std::uint32_t itemsize, const Strided *same_shape) {
    const auto any = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(random);
    };
    array.abi_major = CAI_ABI_MAJOR;
    array.abi_minor = CAI_ABI_MINOR;
    array.device_type = CAI_DEVICE_CPU;
    array.dtype = {'V', '|', 0, 0, itemsize, 0};
    array.ndim = same_shape ? same_shape->array.ndim : any(0, 4);
    array.shape = shape;
    array.strides = strides;
    array.version = 3;
    array.stream_kind = CAI_STREAM_NONE;
    const std::size_t start = room / 2 + static_cast<std::size_t>(any(-20, 20));
    offsets = {start};
    for (int axis = 0; axis < array.ndim; ++axis) {
      shape[axis] = same_shape ? same_shape->shape[axis] : any(any(0, 9) ? 1 : 0, 4);
      strides[axis] = any(-24, 24);
      std::vector<std::size_t> more;
      for (const std::size_t offset : offsets) {
        for (std::int64_t i = 0; i < shape[axis]; ++i) {
          more.push_back(offset + static_cast<std::size_t>(i * strides[axis]));
        }
      }
      offsets = std::move(more);
    }
    if (!offsets.empty()) array.data = reinterpret_cast<std::uintptr_t>(bytes.data()) + start;
  }
  Strided(const Strided &) = delete;
  Strided &operator=(const Strided &) = delete;

  std::multiset<std::size_t> covered() const {
    std::multiset<std::size_t> all;
    for (const std::size_t offset : offsets) {
      for (std::size_t i = 0; i < array.dtype.itemsize; ++i) all.insert(offset + i);
    }
    return all;
  }
  bool overlaps_itself() const {
    const auto all = covered();
    return std::set<std::size_t>(all.begin(), all.end()).size() != all.size();
  }
  bool overlaps(const Strided &other) const {
    const auto mine = covered();
    for (const std::size_t each : other.covered()) {
      if (mine.count(each)) return true;
    }
    return false;
  }
};

Bytes numbered() {
  Bytes bytes;
  for (std::size_t i = 0; i < room; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + i / 256);
  return bytes;
}

TEST(Overlap, OfWhatIsFilled) {
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < programs; ++i) {
    SCOPED_TRACE(i);
    Bytes bytes = numbered(), expected = bytes;
    const std::uint32_t itemsize = std::array{1U, 2U, 3U, 8U}[random() % 4];
    const Strided to(random, bytes, itemsize, nullptr);
    const unsigned char value[8] = {201, 202, 203, 204, 205, 206, 207, 208};
    cai_error error{};
    const cai_status status = cai_array_fill(&to.array, value, nullptr, &error);
    if (to.overlaps_itself()) {
      ++refused;
      ASSERT_EQ(status, CAI_ERR_LAYOUT);
      ASSERT_EQ(error.entry, CAI_ENTRY_STRIDES);
    } else {
      ASSERT_EQ(status, CAI_OK) << error.message;
      for (const std::size_t at : to.offsets) std::copy_n(value, itemsize, &expected[at]);
    }
    ASSERT_EQ(bytes, expected);
  }
  EXPECT_GT(refused, programs / 20);
  EXPECT_LT(refused, programs - programs / 20);
}

TEST(Overlap, OfWhatIsCopied) {
  std::mt19937 random(2);
  int refused = 0;
  for (int i = 0; i < programs; ++i) {
    SCOPED_TRACE(i);
    Bytes bytes = numbered(), expected = bytes;
    const std::uint32_t itemsize = std::array{1U, 2U, 3U, 8U}[random() % 4];
    const Strided from(random, bytes, itemsize, nullptr), to(random, bytes, itemsize, &from);
    cai_error error{};
    const cai_status status = cai_array_copy(&from.array, &to.array, nullptr, &error);
    if (to.overlaps_itself() || to.overlaps(from)) {
      ++refused;
      ASSERT_EQ(status, CAI_ERR_LAYOUT);
    } else {
      ASSERT_EQ(status, CAI_OK) << error.message;
      for (std::size_t e = 0; e < to.offsets.size(); ++e) {
        std::copy_n(&bytes[from.offsets[e]], itemsize, &expected[to.offsets[e]]);
      }
    }
    ASSERT_EQ(bytes, expected);
  }
  EXPECT_GT(refused, programs / 20);
  EXPECT_LT(refused, programs - programs / 20);
}

// So many steps of different lengths that not all sums are tried: a possible overlap is rejected.
TEST(Overlap, OfWhatTakesTooLongToFindOut) {
  constexpr std::int32_t axes = 24;
  std::mt19937_64 random(3);
  std::int64_t shape[axes], strides[axes];
  for (int axis = 0; axis < axes; ++axis) {
    shape[axis] = 2;
    strides[axis] = (std::int64_t{1} << 50) + static_cast<std::int64_t>(random() >> 14);
  }
  cai_array array{};
  array.abi_major = CAI_ABI_MAJOR;
  array.abi_minor = CAI_ABI_MINOR;
  array.data = 0x10000000;
  array.device_type = CAI_DEVICE_CPU;
  array.dtype = {'u', '|', 0, 0, 1, 0};
  array.ndim = axes;
  array.shape = shape;
  array.strides = strides;
  array.stream_kind = CAI_STREAM_NONE;
  array.version = 3;
  const unsigned char byte = 1;
  cai_error error{};
  EXPECT_EQ(cai_array_fill(&array, &byte, nullptr, &error), CAI_ERR_LAYOUT) << error.message;
}

// Elements between each other's are distinguished by the longest steps, in few tries.
TEST(Overlap, OfColumnsBetweenColumns) {
  constexpr std::int64_t columns = 400, row = 2 * columns;
  const std::int64_t shape[] = {2, columns}, strides[] = {row, 2};
  std::array<unsigned char, 2 * row> bytes{};
  for (std::size_t i = 0; i < bytes.size(); i += 2) bytes[i] = static_cast<unsigned char>(i / 2);
  cai_array from{};
  from.abi_major = CAI_ABI_MAJOR;
  from.abi_minor = CAI_ABI_MINOR;
  from.data = reinterpret_cast<std::uintptr_t>(bytes.data());
  from.device_type = CAI_DEVICE_CPU;
  from.dtype = bytes_type;
  from.ndim = 2;
  from.shape = shape;
  from.strides = strides;
  from.stream_kind = CAI_STREAM_NONE;
  from.version = 3;
  cai_array to = from;
  ++to.data;
  ASSERT_OK(cai_array_copy(&from, &to, nullptr, error));
  for (std::size_t i = 0; i < bytes.size(); i += 2) ASSERT_EQ(bytes[i + 1], bytes[i]);
}

// Pitched memory has arrays with its rows, also without elements.
TEST(Overlap, OfRows) {
  cai_request wanted = request(CAI_KIND_PITCHED_MANAGED, 100);
  wanted.rows = 3;
  cai_memory *made = nullptr;
  ASSERT_OK(cai_memory_alloc(gpu0, &wanted, &made, error));
  const OwnMemory memory(made);
  const OwnArray rows = array_of(memory, {3, 100}), none = array_of(memory, {3, 0, 4});
  EXPECT_EQ(rows->device_type, CAI_DEVICE_CUDA_MANAGED);
  EXPECT_EQ(rows->strides[0], static_cast<std::int64_t>(describe(memory).pitch));
  EXPECT_EQ(none->data, 0U);
  const auto pitch = static_cast<std::int64_t>(describe(memory).pitch);
  EXPECT_EQ(array_of(memory, {3, pitch})->strides[0], pitch);  // the padding, too
  wanted.size = 256;
  ASSERT_OK(cai_memory_alloc(gpu0, &wanted, &made, error));
  EXPECT_EQ(describe(OwnMemory(made)).pitch, 256U);
  const std::int64_t longer[] = {2, pitch + 1};
  cai_array *out = nullptr;
  cai_error problem{};
  EXPECT_EQ(cai_memory_array(memory, 0, &bytes_type, 2, longer, nullptr, &out, &problem),
            CAI_ERR_BOUNDS);
  EXPECT_NE(std::string(problem.message).find("does not fit in the pitch"), std::string::npos);
  EXPECT_EQ(problem.index, 1);
  cai_memory *found = nullptr;
  std::uint64_t offset = 7;
  ASSERT_OK(cai_memory_of(none, &found, &offset, error));
  EXPECT_EQ(found, memory.get());
  EXPECT_EQ(offset, 0U);
  cai_memory_release(found);
}

// An array of no real memory, without elements or not dereferenced.
TEST(Overlap, OfNothing) {
  std::int64_t shape[] = {0}, strides[] = {1};
  cai_array borrowed{};
  borrowed.abi_major = CAI_ABI_MAJOR;
  borrowed.abi_minor = CAI_ABI_MINOR;
  borrowed.device_type = CAI_DEVICE_CPU;
  borrowed.dtype = bytes_type;
  borrowed.ndim = 1;
  borrowed.shape = shape;
  borrowed.strides = strides;
  borrowed.version = 3;
  borrowed.stream_kind = CAI_STREAM_NONE;
  cai_array *owned = nullptr;
  ASSERT_OK(cai_array_own(&borrowed, nullptr, nullptr, &owned, error));
  const OwnArray empty(owned);
  cai_memory *made = nullptr;
  std::uint64_t offset = 7;
  ASSERT_OK(cai_memory_of(empty, &made, &offset, error));
  const OwnMemory memory(made);
  EXPECT_EQ(describe(memory).size, 0U);
  EXPECT_EQ(describe(memory).data, 0U);
  EXPECT_EQ(offset, 0U);
  const unsigned char value = 7;
  ASSERT_OK(cai_array_fill(empty, &value, nullptr, error));
  ASSERT_OK(cai_array_copy(empty, empty, nullptr, error));
}

}  // namespace
}  // namespace test::overlap_tests
