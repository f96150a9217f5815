// SPDX-License-Identifier: BSD-3-Clause
// Arrays become tensors.
#include <thread>

#include "failing.hpp"
#include "tensors.hpp"

namespace test::dlpack_write_tests {
namespace {

cai_status write(const cai_array *array, std::uint64_t stream, DLManagedTensorVersioned **out,
                 cai_error *error = nullptr) {
  return cai_dlpack_write(array, stream, out, error);
}
cai_status write(const cai_array *array, std::uint64_t stream, DLManagedTensor **out,
                 cai_error *error = nullptr) {
  return cai_dlpack_write_legacy(array, stream, out, error);
}

// float32, 2 by 3, on device 1, with nothing pending.
struct Plain : Array {
  std::int64_t dims[CAI_MAX_NDIM] = {2, 3}, steps[CAI_MAX_NDIM] = {12, 4};

  Plain() : Array(0x7F0000000000, CAI_STREAM_NONE) {
    array.device_id = 1;
    array.dtype = {'f', '<', 0, 0, 4, 0};
    array.ndim = 2;
    array.shape = dims;
    array.strides = steps;
  }
};

template <class Managed>
class Write : public testing::Test {};
using Forms = testing::Types<DLManagedTensorVersioned, DLManagedTensor>;
TYPED_TEST_SUITE(Write, Forms);

TYPED_TEST(Write, AllOfAnArray) {
  Plain plain;
  const Owned array(plain.array);
  TypeParam *t = nullptr;
  ASSERT_EQ(write(array, 1, &t), CAI_OK);
  const DLTensor &tensor = t->dl_tensor;
  EXPECT_EQ(value(tensor.data), 0x7F0000000000U);
  EXPECT_EQ(tensor.byte_offset, 0U);
  EXPECT_EQ(tensor.device.device_type, kDLCUDA);
  EXPECT_EQ(tensor.device.device_id, 1);
  EXPECT_EQ(tensor.dtype.code, kDLFloat);
  EXPECT_EQ(tensor.dtype.bits, 32);
  EXPECT_EQ(tensor.dtype.lanes, 1);
  ASSERT_EQ(tensor.ndim, 2);
  EXPECT_EQ(tensor.shape[0], 2);
  EXPECT_EQ(tensor.shape[1], 3);
  EXPECT_EQ(tensor.strides[0], 3);
  EXPECT_EQ(tensor.strides[1], 1);
  t->deleter(t);
}

TYPED_TEST(Write, HoldsTheArray) {
  Plain plain;
  Owned array(plain.array);
  TypeParam *first = nullptr, *second = nullptr;
  ASSERT_EQ(write(array, 1, &first), CAI_OK);
  ASSERT_EQ(write(array, no_order, &second), CAI_OK);
  array.release();
  first->deleter(first);
  EXPECT_FALSE(array.ended());
  std::thread([&] { second->deleter(second); }).join();
  EXPECT_TRUE(array.ended());
}

TYPED_TEST(Write, Dimensions) {
  TypeParam *t = nullptr;
  {
    Plain plain;
    plain.array.ndim = 0;
    const Owned array(plain.array);
    ASSERT_EQ(write(array, 1, &t), CAI_OK);
    EXPECT_EQ(t->dl_tensor.ndim, 0);
    t->deleter(t);
  }
  {
    Plain plain;
    plain.dims[1] = 0;
    plain.array.data = 0;
    plain.steps[0] = 5;  // of no matter
    const Owned array(plain.array);
    ASSERT_EQ(write(array, 1, &t), CAI_OK);
    EXPECT_EQ(t->dl_tensor.data, nullptr);
    t->deleter(t);
  }
  {
    Plain plain;
    plain.dims[0] = 1;
    plain.steps[0] = 5;  // likewise
    plain.steps[1] = -8;
    const Owned array(plain.array);
    ASSERT_EQ(write(array, 1, &t), CAI_OK);
    EXPECT_EQ(t->dl_tensor.strides[1], -2);
    t->deleter(t);
  }
}

TYPED_TEST(Write, Types) {
  for (const TypePair &type : types) {
    Plain plain;
    ASSERT_EQ(cai_dtype_parse(type.typestr, std::strlen(type.typestr), &plain.array.dtype, nullptr),
              CAI_OK);
    plain.array.dtype.ext = type.ext;
    plain.steps[1] = plain.array.dtype.itemsize;
    plain.steps[0] = 3 * plain.steps[1];
    const Owned array(plain.array);
    TypeParam *t = nullptr;
    ASSERT_EQ(write(array, 1, &t), CAI_OK) << type.typestr;
    EXPECT_EQ(std::memcmp(&t->dl_tensor.dtype, &type.theirs, sizeof type.theirs), 0);
    t->deleter(t);
  }
}

TYPED_TEST(Write, RefusesWhatATensorCannotSay) {
  const auto refuses = [](Plain &plain, std::int32_t entry, const char *says,
                          cai_status expected = CAI_ERR_EXPORT) {
    const Owned array(plain.array);
    auto *const before = reinterpret_cast<TypeParam *>(&plain);
    TypeParam *t = before;
    cai_error error{};
    EXPECT_EQ(write(array, 1, &t, &error), expected) << says;
    EXPECT_EQ(error.entry, entry) << error.message;
    EXPECT_NE(std::strstr(error.message, says), nullptr) << error.message;
    EXPECT_EQ(t, before);
  };
  for (const char *typestr : {"<M8[s]", "<m8", "|S4", "<U1", "|V4", "<f16", "<c32"}) {
    Plain plain;
    ASSERT_EQ(cai_dtype_parse(typestr, std::strlen(typestr), &plain.array.dtype, nullptr), CAI_OK);
    plain.steps[1] = plain.array.dtype.itemsize;
    plain.steps[0] = 3 * plain.steps[1];
    refuses(plain, CAI_ENTRY_TYPESTR, typestr);
  }
  Plain swapped;
  swapped.array.dtype.byteorder = '>';
  swapped.array.flags = CAI_FLAG_SWAPPED;
  refuses(swapped, CAI_ENTRY_TYPESTR, "'>'");
  Plain bits;
  bits.array.dtype = {'t', '|', 0, 0, 1, 0};
  bits.steps[0] = 3;
  bits.steps[1] = 1;
  refuses(bits, CAI_ENTRY_TYPESTR, "t1");
  Plain uneven;
  uneven.steps[0] = 13;
  refuses(uneven, CAI_ENTRY_STRIDES, "13");
  Plain masked;
  Plain mask;
  mask.array.dtype = {'b', '|', 0, 0, 1, 0};
  masked.mask(mask);
  refuses(masked, CAI_ENTRY_MASK, "mask");
  Plain rocm;
  rocm.array.device_type = CAI_DEVICE_ROCM;
  refuses(rocm, CAI_ENTRY_DATA, "10", CAI_ERR_DEVICE);
}

TYPED_TEST(Write, Arguments) {
  Plain plain;
  TypeParam *t = nullptr;
  const Owned array(plain.array);
  cai_error error{};
  EXPECT_EQ(write(nullptr, 1, &t), CAI_ERR_ARGUMENT);
  EXPECT_EQ(write(array, 1, static_cast<TypeParam **>(nullptr)), CAI_ERR_ARGUMENT);
  EXPECT_EQ(write(array, 0, &t, &error), CAI_ERR_ARGUMENT);
  EXPECT_EQ(write(&plain.array, 1, &t, &error), CAI_ERR_ARGUMENT);
  EXPECT_NE(std::strstr(error.message, "borrowed"), nullptr);
  cai_array broken = *array.get();
  broken.data = 0;
  EXPECT_EQ(write(&broken, 1, &t, &error), CAI_ERR_VALUE);
  EXPECT_EQ(error.entry, CAI_ENTRY_DATA);
  broken.abi_major = 9;
  broken.flags = CAI_FLAG_READONLY;
  EXPECT_EQ(write(&broken, 1, &t, &error), CAI_ERR_VERSION);
  EXPECT_EQ(t, nullptr);
}

TYPED_TEST(Write, Host) {
  std::int64_t numbers[6] = {};
  Plain plain;
  plain.array.data = value(numbers);
  plain.array.device_type = CAI_DEVICE_CPU;
  plain.array.device_id = 0;
  const Owned array(plain.array);
  TypeParam *t = nullptr;
  for (const std::uint64_t stream : {std::uint64_t{0}, std::uint64_t{1}, no_order}) {
    ASSERT_EQ(write(array, stream, &t), CAI_OK);
    EXPECT_EQ(t->dl_tensor.device.device_type, kDLCPU);
    EXPECT_EQ(t->dl_tensor.data, static_cast<void *>(numbers));
    t->deleter(t);
  }
}

TYPED_TEST(Write, NoMemory) {
  Plain plain;
  const Owned array(plain.array);
  TypeParam *t = nullptr;
  with_each_failing([&] { return write(array, 1, &t); }, [&] { EXPECT_EQ(t, nullptr); });
  ASSERT_NE(t, nullptr);
  t->deleter(t);
}

TEST(WriteReadOnly, SaidOrRefused) {
  Plain plain;
  plain.array.flags = CAI_FLAG_READONLY;
  const Owned array(plain.array);
  DLManagedTensorVersioned *versioned = nullptr;
  ASSERT_EQ(write(array, 1, &versioned), CAI_OK);
  EXPECT_EQ(versioned->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
  EXPECT_EQ(versioned->version.major, 1U);
  EXPECT_EQ(versioned->version.minor, 3U);
  versioned->deleter(versioned);
  DLManagedTensor *legacy = nullptr;
  cai_error error{};
  EXPECT_EQ(write(array, 1, &legacy, &error), CAI_ERR_EXPORT);
  EXPECT_EQ(error.entry, CAI_ENTRY_DATA);
  EXPECT_EQ(legacy, nullptr);
}

TEST(Lend, AllOfAnArray) {
  Plain plain;
  std::int64_t strides[CAI_MAX_NDIM];
  DLTensor tensor;
  ASSERT_EQ(cai_dlpack_lend(&plain.array, strides, &tensor, nullptr), CAI_OK);
  EXPECT_EQ(value(tensor.data), 0x7F0000000000U);
  EXPECT_EQ(tensor.device.device_id, 1);
  EXPECT_EQ(tensor.dtype.bits, 32);
  EXPECT_EQ(tensor.shape, plain.dims);
  EXPECT_EQ(tensor.strides, strides);
  EXPECT_EQ(strides[0], 3);
  cai_array back;
  std::int64_t bytes[CAI_MAX_NDIM];
  ASSERT_EQ(cai_dlpack_read(&tensor, 1, bytes, &back, nullptr), CAI_OK);
  EXPECT_EQ(back.data, plain.array.data);
  EXPECT_EQ(bytes[0], 12);
}

TEST(Lend, Refuses) {
  std::int64_t strides[CAI_MAX_NDIM];
  auto tensor = marked<DLTensor>();
  const auto refuses = [&](const Plain &plain, cai_status status, std::int32_t entry) {
    cai_error error{};
    EXPECT_EQ(cai_dlpack_lend(&plain.array, strides, &tensor, &error), status) << error.message;
    EXPECT_EQ(error.entry, entry) << error.message;
    EXPECT_TRUE(is_marked(tensor));
  };
  Plain read_only;
  read_only.array.flags = CAI_FLAG_READONLY;
  refuses(read_only, CAI_ERR_EXPORT, CAI_ENTRY_DATA);
  Plain uneven;
  uneven.steps[0] = 13;
  refuses(uneven, CAI_ERR_EXPORT, CAI_ENTRY_STRIDES);
  Plain broken;
  broken.array.ndim = -1;
  refuses(broken, CAI_ERR_VALUE, CAI_ENTRY_SHAPE);
  Plain newer;
  newer.array.abi_major = 9;
  refuses(newer, CAI_ERR_VERSION, CAI_ENTRY_INTERFACE);
  Plain plain;
  EXPECT_EQ(cai_dlpack_lend(nullptr, strides, &tensor, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_dlpack_lend(&plain.array, nullptr, &tensor, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_dlpack_lend(&plain.array, strides, nullptr, nullptr), CAI_ERR_ARGUMENT);
  plain.array.ndim = 0;  // which has no strides
  EXPECT_EQ(cai_dlpack_lend(&plain.array, nullptr, &tensor, nullptr), CAI_OK);
  EXPECT_EQ(tensor.ndim, 0);
}

TEST(RoundTrip, TheSameArray) {
  Plain plain;
  plain.steps[0] = -12;
  plain.array.flags = CAI_FLAG_READONLY;
  Owned array(plain.array);
  DLManagedTensorVersioned *t = nullptr;
  ASSERT_EQ(write(array, 1, &t), CAI_OK);
  cai_array *back = nullptr;
  ASSERT_EQ(cai_dlpack_own(t, 1, &back, nullptr), CAI_OK);
  array.release();
  EXPECT_FALSE(array.ended());
  EXPECT_EQ(back->data, plain.array.data);
  EXPECT_EQ(back->flags, std::uint32_t{CAI_FLAG_READONLY});
  EXPECT_EQ(back->shape[1], 3);
  EXPECT_EQ(back->strides[0], -12);
  cai_array_release(back);
  EXPECT_TRUE(array.ended());
}

class WriteOnGpu : public OnGpu {
 protected:
  DLManagedTensorVersioned *written(const cai_array *array, std::uint64_t on) {
    DLManagedTensorVersioned *t = nullptr;
    cai_error error{};
    EXPECT_EQ(write(array, on, &t, &error), CAI_OK) << error.message;
    return t;
  }
};

// No driver call if nothing is pending, the consumer asks for no order, or works there anyway.
TEST_F(WriteOnGpu, NoCalls) {
  const std::uint64_t own = value(stream()), theirs = value(stream());
  Array none(memory(), CAI_STREAM_NONE), pending(memory(), CAI_STREAM_STREAM, own);
  none.array.device_id = pending.array.device_id = 0;
  const Owned idle(none.array), busy(pending.array);
  gpu().simcuda_reset_counts();
  auto *const of_idle = written(idle, theirs);
  for (auto *const t : {written(busy, no_order), written(busy, own)}) t->deleter(t);
  EXPECT_EQ(all_calls(), 0U);
  of_idle->deleter(of_idle);  // from here on the stream may go
  EXPECT_EQ(calls("cuEventRecord"), 1U);
}

TEST_F(WriteOnGpu, AsksForTheDevice) {
  const With with(context1);
  const Owned array(memory(context1), CAI_STREAM_NONE);
  ASSERT_EQ(array->device_id, -1);
  auto *const t = written(array, 1);
  EXPECT_EQ(t->dl_tensor.device.device_id, 1);
  t->deleter(t);
  const Owned unknown(0x1000, CAI_STREAM_NONE);
  DLManagedTensorVersioned *none = nullptr;
  EXPECT_EQ(write(unknown, 1, &none), CAI_ERR_DEVICE);
  EXPECT_EQ(none, nullptr);
}

// The consumer's stream comes after the producer's work, and later uses after the consumer's.
TEST_F(WriteOnGpu, Ordered) {
  const std::uint64_t own = value(stream()), theirs = value(stream()), later = value(stream());
  const Owned array(memory(), CAI_STREAM_STREAM, own);
  DLManagedTensorVersioned *t = nullptr;
  EXPECT_EQ(races([&] {
              fill(array->data, 1, own);
              t = written(array, theirs);
              fill(array->data, 2, theirs);
              EXPECT_EQ(begin_use({array}, later), CAI_OK);
              fill(array->data, 3, later);
              EXPECT_EQ(end_use({array}, later), CAI_OK);
            }),
            0U);
  t->deleter(t);
  // Without it, there are.
  EXPECT_GT(races([&] {
              fill(array->data, 1, own);
              t = written(array, no_order);
              fill(array->data, 2, theirs);
            }),
            0U);
  t->deleter(t);
}

// Threads take tensors of one array, and let them go, each on a stream of its own.
TEST_F(WriteOnGpu, Threads) {
  constexpr int each = 50;
  const std::uint64_t own = value(stream());
  const std::uint64_t streams[] = {value(stream()), value(stream()), value(stream())};
  Owned array(memory(), CAI_STREAM_STREAM, own);
  fill(array->data, 1, own);
  std::vector<std::thread> threads;
  for (const std::uint64_t mine : streams) {
    threads.emplace_back([&, mine] {
      const With with(context0);
      for (int round = 0; round < each; ++round) {
        DLManagedTensorVersioned *const t = written(array, mine);
        cai_array *back = nullptr;
        EXPECT_EQ(cai_dlpack_own(t, mine, &back, nullptr), CAI_OK);
        cai_array_release(back);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  array.release();
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  EXPECT_TRUE(array.ended());
  finish();
}

// An array that came with None, and was used since.
TEST_F(WriteOnGpu, AfterKeptUses) {
  const std::uint64_t before = value(stream()), theirs = value(stream());
  const Owned array(memory(), CAI_STREAM_NONE);
  DLManagedTensorVersioned *t = nullptr;
  EXPECT_EQ(races([&] {
              EXPECT_EQ(begin_use({array}, before), CAI_OK);
              fill(array->data, 1, before);
              EXPECT_EQ(end_use({array}, before), CAI_OK);
              t = written(array, theirs);
              fill(array->data, 2, theirs);
            }),
            0U);
  t->deleter(t);
}

// A consumer with libcai leaves the event out between stream 1 and a blocking one, so stream 1 must
// come after the producer's by more than that.
TEST_F(WriteOnGpu, ForStream1BetweenBlockingStreams) {
  const std::uint64_t own = value(stream(0)), theirs = value(stream(0));
  const Owned array(memory(), CAI_STREAM_STREAM, own);
  cai_array *back = nullptr;
  EXPECT_EQ(races([&] {
              fill(array->data, 1, own);
              EXPECT_EQ(cai_dlpack_own(written(array, 1), 1, &back, nullptr), CAI_OK);
              EXPECT_EQ(begin_use({back}, theirs), CAI_OK);
              fill(array->data, 2, theirs);
              EXPECT_EQ(end_use({back}, theirs), CAI_OK);
            }),
            0U);
  cai_array_release(back);
}

// Two C consumers, which know only their own tensor.
TEST_F(WriteOnGpu, TensorsOfOneMemoryFindEachOthersUses) {
  const std::uint64_t own = value(stream()), first = value(stream()), second = value(stream());
  const Owned array(memory(), CAI_STREAM_STREAM, own);
  cai_array *one = nullptr, *two = nullptr;
  EXPECT_EQ(races([&] {
              fill(array->data, 1, own);
              EXPECT_EQ(cai_dlpack_own(written(array, first), first, &one, nullptr), CAI_OK);
              EXPECT_EQ(cai_dlpack_own(written(array, second), second, &two, nullptr), CAI_OK);
              for (const std::uint64_t on : {first, value(stream())}) {  // one that was asked for
                EXPECT_EQ(begin_use({one}, on), CAI_OK);
                fill(array->data, 2, on);
                EXPECT_EQ(end_use({one}, on), CAI_OK);
                EXPECT_EQ(begin_use({two}, second), CAI_OK);
                fill(array->data, 3, second);
                EXPECT_EQ(end_use({two}, second), CAI_OK);
              }
            }),
            0U);
  cai_array_release(one);
  cai_array_release(two);
}

// The consumer's own owner keeps what it does next to stream 1: others wait for 1 by an event.
TEST_F(WriteOnGpu, AfterTheUserOfATensorForStream1) {
  const std::uint64_t own = value(stream(0)), theirs = value(stream(0));
  for (const std::uint64_t said : {own, std::uint64_t{1}}) {
    SCOPED_TRACE(said);
    const Owned array(memory(), CAI_STREAM_STREAM, said);
    cai_array *back = nullptr;
    EXPECT_EQ(races([&] {
                EXPECT_EQ(cai_dlpack_own(written(array, 1), 1, &back, nullptr), CAI_OK);
                EXPECT_EQ(begin_use({back}, theirs), CAI_OK);
                fill(array->data, 1, theirs);
                EXPECT_EQ(end_use({back}, theirs), CAI_OK);
                EXPECT_EQ(begin_use({array}, own), CAI_OK);
                fill(array->data, 2, own);
                EXPECT_EQ(end_use({array}, own), CAI_OK);
              }),
              0U);
    cai_array_release(back);
  }
}

// An exporter frees in its own order, not in that of a tensor's stream.
TEST_F(WriteOnGpu, OfAnImportThatCameWithNone) {
  for (const std::uint64_t theirs : {std::uint64_t{1}, std::uint64_t{2}, value(stream())}) {
    SCOPED_TRACE(theirs);
    Owned array(memory(), CAI_STREAM_NONE);
    const Address data = array->data;
    array->owner->flags |= CAI_OWNER_IMPORTED;
    EXPECT_EQ(races([&] {
                auto *const t = written(array, theirs);
                array.release();
                fill(data, 1, theirs);
                t->deleter(t);
                static_cast<void>(cai_drain(0, nullptr, nullptr));
                if (array.ended()) fill(data, 2, value(stream()));
                finish();
              }),
              0U);
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
    EXPECT_TRUE(array.ended());
  }
}

// An export that cannot be ordered leaves nothing behind.
TEST_F(WriteOnGpu, Faults) {
  const std::uint64_t own = value(stream()), theirs = value(stream());
  Owned array(memory(), CAI_STREAM_STREAM, own);
  DLManagedTensorVersioned *t = nullptr;
  cai_error error{};
  constexpr int invalid_handle = 400;
  fill(array->data, 1, own);
  ASSERT_EQ(gpu().simcuda_fail("cuStreamWaitEvent", 1, invalid_handle), 0);
  EXPECT_EQ(write(array, theirs, &t, &error), CAI_ERR_CUDA);
  EXPECT_EQ(error.native, invalid_handle);
  EXPECT_EQ(t, nullptr);
  array.release();
  EXPECT_TRUE(array.ended());
  finish();
}

// If its end cannot be recorded, later uses still wait for the stream.
TEST_F(WriteOnGpu, FaultAtTheEnd) {
  const std::uint64_t own = value(stream()), theirs = value(stream()), later = value(stream());
  const Owned array(memory(), CAI_STREAM_STREAM, own);
  constexpr int unknown = 999;
  EXPECT_EQ(races([&] {
              auto *const t = written(array, theirs);
              fill(array->data, 1, theirs);
              ASSERT_EQ(gpu().simcuda_fail("cuEventRecord", 1, unknown), 0);
              t->deleter(t);
              EXPECT_EQ(begin_use({array}, later), CAI_OK);
              fill(array->data, 2, later);
              EXPECT_EQ(end_use({array}, later), CAI_OK);
            }),
            0U);
}

}  // namespace
}  // namespace test::dlpack_write_tests
