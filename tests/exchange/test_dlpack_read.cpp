// SPDX-License-Identifier: BSD-3-Clause
// Tensors become arrays: borrowed, and owned.
#include <functional>

#include "failing.hpp"
#include "tensors.hpp"

namespace test::dlpack_read_tests {
namespace {

using Strides = std::int64_t[CAI_MAX_NDIM];

TEST(Read, AllOfATensor) {
  Tensor t;
  t.tensor.byte_offset = 8;
  Strides strides;
  cai_array a;
  ASSERT_EQ(cai_dlpack_read(&t.tensor, 7, strides, &a, nullptr), CAI_OK);
  EXPECT_EQ(a.abi_major, CAI_ABI_MAJOR);
  EXPECT_EQ(a.flags, std::uint32_t{CAI_FLAG_READONLY});
  EXPECT_EQ(a.owner, nullptr);
  EXPECT_EQ(a.data, 0x7F0000000008U);
  EXPECT_EQ(a.device_type, CAI_DEVICE_CUDA);
  EXPECT_EQ(a.device_id, 1);
  EXPECT_EQ(typestr(a.dtype), "<f4");
  ASSERT_EQ(a.ndim, 2);
  EXPECT_EQ(a.shape, t.tensor.shape);
  EXPECT_EQ(a.strides, strides);
  EXPECT_EQ(a.strides[0], 12);
  EXPECT_EQ(a.strides[1], 4);
  EXPECT_EQ(a.stream_kind, std::uint32_t{CAI_STREAM_STREAM});
  EXPECT_EQ(a.stream, 7U);
  EXPECT_EQ(a.version, 3U);
  EXPECT_EQ(a.mask, nullptr);
  EXPECT_EQ(a.descr, nullptr);
  EXPECT_EQ(cai_array_validate(&a, nullptr), CAI_OK);
}

TEST(Read, Dimensions) {
  Strides strides;
  cai_array a;
  Tensor t;
  t.tensor.strides = nullptr;
  ASSERT_EQ(cai_dlpack_read(&t.tensor, 1, strides, &a, nullptr), CAI_OK);
  EXPECT_EQ(strides[0], 12);
  EXPECT_EQ(strides[1], 4);
  EXPECT_TRUE(a.flags & CAI_FLAG_STRIDES_NONE);

  Tensor scalar;
  scalar.tensor.ndim = 0;
  scalar.tensor.shape = scalar.tensor.strides = nullptr;
  ASSERT_EQ(cai_dlpack_read(&scalar.tensor, 1, nullptr, &a, nullptr), CAI_OK);
  EXPECT_EQ(a.ndim, 0);

  Tensor backwards;
  backwards.strides = {-3, -1};
  ASSERT_EQ(cai_dlpack_read(&backwards.tensor, 1, strides, &a, nullptr), CAI_OK);
  EXPECT_EQ(strides[0], -12);
  EXPECT_EQ(strides[1], -4);

  Tensor wide;
  wide.tensor.ndim = CAI_MAX_NDIM;
  wide.shape.fill(1);
  wide.strides.fill(INT64_MAX);  // of no matter
  ASSERT_EQ(cai_dlpack_read(&wide.tensor, 1, strides, &a, nullptr), CAI_OK);
  EXPECT_EQ(a.ndim, CAI_MAX_NDIM);
}

TEST(Read, NoElements) {
  Strides strides;
  cai_array a;
  for (const Address data : {Address{0}, Address{0x7F0000000000}}) {
    Tensor t(data);
    t.shape = {5, 0};
    t.strides = {INT64_MAX, 1};
    ASSERT_EQ(cai_dlpack_read(&t.tensor, 1, strides, &a, nullptr), CAI_OK);
    EXPECT_EQ(a.data, 0U);
  }
}

TEST(Read, Streams) {
  Strides strides;
  cai_array a;
  Tensor t;
  for (const std::uint64_t stream : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{0x5500}}) {
    ASSERT_EQ(cai_dlpack_read(&t.tensor, stream, strides, &a, nullptr), CAI_OK);
    EXPECT_EQ(a.stream_kind, std::uint32_t{CAI_STREAM_STREAM});
    EXPECT_EQ(a.stream, stream);
  }
  ASSERT_EQ(cai_dlpack_read(&t.tensor, no_order, strides, &a, nullptr), CAI_OK);
  EXPECT_EQ(a.stream_kind, std::uint32_t{CAI_STREAM_UNSTATED});
  EXPECT_EQ(a.stream, 0U);
  EXPECT_EQ(a.version, 2U);
  cai_error error;
  EXPECT_EQ(cai_dlpack_read(&t.tensor, 0, strides, &a, &error), CAI_ERR_ARGUMENT);
  EXPECT_NE(std::strstr(error.message, "stream is 0"), nullptr);

  t.tensor.device = {kDLCPU, 0};
  for (const std::uint64_t stream : {std::uint64_t{0}, std::uint64_t{1}, no_order}) {
    ASSERT_EQ(cai_dlpack_read(&t.tensor, stream, strides, &a, nullptr), CAI_OK);
    EXPECT_EQ(a.stream_kind, std::uint32_t{CAI_STREAM_NONE});
  }
}

TEST(Read, Types) {
  Strides strides;
  cai_array a;
  for (const TypePair &type : types) {
    Tensor t;
    t.tensor.dtype = type.theirs;
    ASSERT_EQ(cai_dlpack_read(&t.tensor, 1, strides, &a, nullptr), CAI_OK) << type.typestr;
    EXPECT_EQ(typestr(a.dtype), type.typestr);
    EXPECT_EQ(a.dtype.ext, type.ext);
    EXPECT_EQ(a.dtype.itemsize * 8, type.theirs.bits);
  }
}

TEST(Read, TypesThatNoArrayHas) {
  const struct {
    DLDataType type;
    const char *says;
  } refused[] = {
      {{kDLFloat, 32, 4}, "vector"},
      {{kDLFloat, 32, 0}, "vector"},
      {{kDLInt, 4, 1}, "no whole bytes"},
      {{kDLUInt, 1, 1}, "no whole bytes"},
      {{kDLBool, 1, 1}, "no whole bytes"},
      {{kDLFloat6_e2m3fn, 6, 1}, "no whole bytes"},
      {{kDLFloat6_e3m2fn, 6, 1}, "6 bits"},
      {{kDLFloat4_e2m1fn, 4, 1}, "code 17"},
      {{kDLOpaqueHandle, 64, 1}, "opaque handle"},
      {{kDLFloat, 128, 1}, "128 bits"},
      {{kDLFloat, 8, 1}, "code 2"},
      {{kDLInt, 128, 1}, "128 bits"},
      {{kDLInt, 24, 1}, "24 bits"},
      {{kDLInt, 0, 1}, "0 bits"},
      {{kDLComplex, 32, 1}, "code 5"},
      {{kDLBool, 16, 1}, "code 6"},
      {{kDLBfloat, 32, 1}, "code 4"},
      {{kDLFloat8_e4m3, 16, 1}, "code 8"},
      {{18, 8, 1}, "code 18"},
      {{255, 8, 1}, "code 255"},
  };
  for (const auto &[type, says] : refused) {
    Tensor t;
    t.tensor.dtype = type;
    Strides strides;
    auto a = marked<cai_array>();
    cai_error error{};
    EXPECT_EQ(cai_dlpack_read(&t.tensor, 1, strides, &a, &error), CAI_ERR_UNSUPPORTED) << says;
    EXPECT_EQ(error.entry, CAI_ENTRY_TYPESTR);
    EXPECT_NE(std::strstr(error.message, says), nullptr) << error.message;
    EXPECT_TRUE(is_marked(a));
  }
}

TEST(Read, Devices) {
  Strides strides;
  const struct {
    std::int32_t type, id, becomes;
  } taken[] = {{kDLCPU, 0, 0}, {kDLCUDA, 3, 3}, {kDLCUDAHost, 0, -1}, {kDLCUDAManaged, 0, -1}};
  for (const auto &[type, id, becomes] : taken) {
    Tensor t;
    std::memcpy(&t.tensor.device.device_type, &type, sizeof type);
    t.tensor.device.device_id = id;
    cai_array a;
    ASSERT_EQ(cai_dlpack_read(&t.tensor, 1, strides, &a, nullptr), CAI_OK);
    EXPECT_EQ(a.device_type, type);
    EXPECT_EQ(a.device_id, becomes);
  }
  for (const std::int32_t type : {0, 4, 10, 12, 18, 77, -1}) {
    Tensor t;
    std::memcpy(&t.tensor.device.device_type, &type, sizeof type);
    auto a = marked<cai_array>();
    cai_error error{};
    EXPECT_EQ(cai_dlpack_read(&t.tensor, 1, strides, &a, &error), CAI_ERR_DEVICE);
    EXPECT_EQ(error.entry, CAI_ENTRY_DATA);
    EXPECT_NE(std::strstr(error.message, std::to_string(type).c_str()), nullptr);
    EXPECT_TRUE(is_marked(a));
  }
}

struct Bad {
  const char *what;
  std::function<void(Tensor &)> spoil;
  std::int32_t entry;
};
const Bad bad[] = {
    {"ndim -1", [](Tensor &t) { t.tensor.ndim = -1; }, CAI_ENTRY_SHAPE},
    {"ndim 65", [](Tensor &t) { t.tensor.ndim = CAI_MAX_NDIM + 1; }, CAI_ENTRY_SHAPE},
    {"ndim INT32_MAX", [](Tensor &t) { t.tensor.ndim = INT32_MAX; }, CAI_ENTRY_SHAPE},
    {"shape NULL", [](Tensor &t) { t.tensor.shape = nullptr; }, CAI_ENTRY_SHAPE},
    {"extent -1", [](Tensor &t) { t.shape[1] = -1; }, CAI_ENTRY_SHAPE},
    {"extent -1, no strides", [](Tensor &t) { t.shape[1] = -1, t.tensor.strides = nullptr; },
     CAI_ENTRY_SHAPE},
    {"shape too large", [](Tensor &t) { t.shape = {INT64_MAX, 3}; }, CAI_ENTRY_SHAPE},
    {"shape too large, no strides",
     [](Tensor &t) { t.shape = {INT64_MAX, 3}, t.tensor.strides = nullptr; }, CAI_ENTRY_SHAPE},
    {"strides too large", [](Tensor &t) { t.strides[0] = INT64_MAX / 2; }, CAI_ENTRY_STRIDES},
    {"strides too small", [](Tensor &t) { t.strides[1] = INT64_MIN; }, CAI_ENTRY_STRIDES},
    {"extent too far", [](Tensor &t) { t.strides[0] = INT64_MAX / 4; }, CAI_ENTRY_STRIDES},
    {"beyond the address space", [](Tensor &t) { t.tensor.data = handle(UINT64_MAX - 8); },
     CAI_ENTRY_DATA},
    {"data NULL", [](Tensor &t) { t.tensor.data = nullptr; }, CAI_ENTRY_DATA},
    {"data NULL, byte_offset 8",
     [](Tensor &t) { t.tensor.data = nullptr, t.tensor.byte_offset = 8; }, CAI_ENTRY_DATA},
    {"byte_offset too large", [](Tensor &t) { t.tensor.byte_offset = UINT64_MAX; }, CAI_ENTRY_DATA},
    {"device -2", [](Tensor &t) { t.tensor.device.device_id = -2; }, CAI_ENTRY_DATA},
};

TEST(Read, BadTensors) {
  for (const Bad &each : bad) {
    Tensor t;
    each.spoil(t);
    Strides strides;
    auto a = marked<cai_array>();
    cai_error error{};
    EXPECT_EQ(cai_dlpack_read(&t.tensor, 1, strides, &a, &error), CAI_ERR_VALUE) << each.what;
    EXPECT_EQ(error.entry, each.entry) << each.what << ": " << error.message;
    EXPECT_TRUE(is_marked(a)) << each.what;
    EXPECT_EQ(cai_dlpack_read(&t.tensor, 1, strides, &a, nullptr), CAI_ERR_VALUE);
  }
}

TEST(Read, Null) {
  Tensor t;
  Strides strides;
  cai_array a;
  EXPECT_EQ(cai_dlpack_read(nullptr, 1, strides, &a, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_dlpack_read(&t.tensor, 1, nullptr, &a, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_dlpack_read(&t.tensor, 1, strides, nullptr, nullptr), CAI_ERR_ARGUMENT);
  cai_array *owned = nullptr;
  Versioned versioned;
  Legacy legacy;
  EXPECT_EQ(cai_dlpack_own(nullptr, 1, &owned, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_dlpack_own(&versioned.managed, 1, nullptr, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_dlpack_own_legacy(nullptr, 1, &owned, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_dlpack_own_legacy(&legacy.managed, 1, nullptr, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(versioned.deleted + legacy.deleted, 0);
}

template <class Managed>
class Own : public testing::Test {};
using Forms = testing::Types<Versioned, Legacy>;
TYPED_TEST_SUITE(Own, Forms);

TYPED_TEST(Own, DeletesOnceAtTheLastRelease) {
  TypeParam t;
  t.managed.dl_tensor.byte_offset = 8;
  cai_array *a = nullptr;
  ASSERT_EQ(own(t, 7, &a), CAI_OK);
  EXPECT_EQ(a->data, 0x7F0000000008U);
  EXPECT_EQ(a->flags, 0U);
  EXPECT_NE(a->shape, t.tensor.shape);
  EXPECT_EQ(a->strides[0], 12);
  EXPECT_EQ(a->stream, 7U);
  EXPECT_EQ(typestr(a->dtype), "<f4");
  cai_array_retain(a);
  cai_array_release(a);
  EXPECT_EQ(t.deleted, 0);
  cai_array_release(a);
  EXPECT_EQ(t.deleted, 1);
}

TYPED_TEST(Own, NoDeleter) {
  TypeParam t;
  t.managed.deleter = nullptr;
  cai_array *a = nullptr;
  ASSERT_EQ(own(t, 1, &a), CAI_OK);
  cai_array_release(a);
}

TYPED_TEST(Own, TakesNothingOnFailure) {
  for (const Bad &each : bad) {
    TypeParam t;
    each.spoil(t);
    t.managed.dl_tensor = t.tensor;
    auto *a = reinterpret_cast<cai_array *>(&t);
    cai_error error{};
    EXPECT_EQ(own(t, 1, &a, &error), CAI_ERR_VALUE) << each.what;
    EXPECT_EQ(error.entry, each.entry) << each.what << ": " << error.message;
    EXPECT_EQ(a, reinterpret_cast<cai_array *>(&t));
    EXPECT_EQ(t.deleted, 0);
  }
}

TYPED_TEST(Own, NoMemory) {
  TypeParam t;
  cai_array *a = nullptr;
  with_each_failing([&] { return own(t, 1, &a); }, [&] { EXPECT_EQ(t.deleted, 0); });
  ASSERT_NE(a, nullptr);
  cai_array_release(a);
  EXPECT_EQ(t.deleted, 1);
}

TEST(OwnVersioned, Flags) {
  Versioned t;
  t.managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  cai_array *a = nullptr;
  ASSERT_EQ(own(t, 1, &a), CAI_OK);
  EXPECT_EQ(a->flags, std::uint32_t{CAI_FLAG_READONLY});
  cai_array_release(a);
  // Copied, padded, and what later minors may say.
  t.managed.flags = ~std::uint64_t{DLPACK_FLAG_BITMASK_READ_ONLY};
  t.managed.version.minor = 99;
  ASSERT_EQ(own(t, 1, &a), CAI_OK);
  EXPECT_EQ(a->flags, 0U);
  cai_array_release(a);
  EXPECT_EQ(t.deleted, 2);
}

TEST(OwnVersioned, AnotherMajor) {
  for (const std::uint32_t major : {0U, 2U}) {
    Versioned t;
    t.managed.version.major = major;
    // The rest of it must not be read.
    std::memset(static_cast<void *>(&t.managed.dl_tensor), 0xA5, sizeof(DLTensor));
    cai_array *a = nullptr;
    cai_error error{};
    EXPECT_EQ(own(t, 1, &a, &error), CAI_ERR_VERSION);
    EXPECT_EQ(error.entry, CAI_ENTRY_VERSION);
    EXPECT_EQ(a, nullptr);
    EXPECT_EQ(t.deleted, 0);
  }
}

class OwnOnGpu : public OnGpu {};

// The consumer waits for the stream that the tensor is ready for, and that one for the consumer.
TEST_F(OwnOnGpu, OrderedBothWays) {
  const std::uint64_t named = value(stream()), mine = value(stream());
  Versioned t(memory());
  t.managed.dl_tensor.dtype = {kDLUInt, 8, 1};
  t.managed.dl_tensor.device.device_id = 0;
  t.shape = {1, count};
  t.strides = {count, 1};
  cai_array *a = nullptr;
  ASSERT_EQ(own(t, named, &a), CAI_OK);
  EXPECT_EQ(races([&] {
              fill(a->data, 1, named);
              EXPECT_EQ(begin_use({a}, mine), CAI_OK);
              fill(a->data, 2, mine);
              EXPECT_EQ(end_use({a}, mine), CAI_OK);
              fill(a->data, 3, named);
            }),
            0U);
  cai_array_release(a);
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  EXPECT_EQ(t.deleted, 1);
}

// The deleter is not called before kept uses are complete.
TEST_F(OwnOnGpu, DeletedAfterTheUses) {
  const std::uint64_t named = value(stream()), mine = value(stream());
  Legacy t(memory());
  t.managed.dl_tensor.dtype = {kDLUInt, 8, 1};
  t.shape = {1, count};
  t.strides = {count, 1};
  cai_array *a = nullptr;
  ASSERT_EQ(own(t, named, &a), CAI_OK);
  ASSERT_EQ(begin_use({a}, mine), CAI_OK);
  Gate gate(mine);
  ASSERT_EQ(end_use({a}, mine), CAI_OK);
  cai_array_release(a);
  EXPECT_EQ(cai_drain(0, nullptr, nullptr), CAI_OK);
  EXPECT_EQ(t.deleted, 0);
  gate.open();
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  EXPECT_EQ(t.deleted, 1);
}

}  // namespace
}  // namespace test::dlpack_read_tests
