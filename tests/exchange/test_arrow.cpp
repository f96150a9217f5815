// SPDX-License-Identifier: BSD-3-Clause
// Arrow's columns become arrays, and arrays columns.
#include <functional>

#include "cai/arrow.h"
#include "failing.hpp"
#include "owned.hpp"

namespace test::arrow_tests {
namespace {

static_assert(sizeof(ArrowSchema) == 72 && offsetof(ArrowSchema, release) == 56);
static_assert(sizeof(ArrowArray) == 80 && offsetof(ArrowArray, buffers) == 40 &&
              offsetof(ArrowArray, release) == 64);
static_assert(sizeof(ArrowDeviceArray) == 128 && offsetof(ArrowDeviceArray, device_id) == 80 &&
              offsetof(ArrowDeviceArray, device_type) == 88 &&
              offsetof(ArrowDeviceArray, sync_event) == 96 &&
              offsetof(ArrowDeviceArray, reserved) == 104);

// A producer's column, of int32, that counts how often it is released.
struct Column {
  ArrowSchema schema{};
  ArrowDeviceArray column{};
  const void *buffers[2];
  Handle event = nullptr;
  int released = 0;

  explicit Column(Address data = 0x7F0000000000, Address validity = 0)
      : buffers{handle(validity), handle(data)} {
    schema.format = "i";
    schema.release = [](ArrowSchema *self) { self->release = nullptr; };
    column.array.length = 16;
    column.array.null_count = validity ? -1 : 0;
    column.array.n_buffers = 2;
    column.array.buffers = buffers;
    column.array.private_data = this;
    column.array.release = [](ArrowArray *self) {
      ++static_cast<Column *>(self->private_data)->released;
      self->release = nullptr;
    };
    column.device_type = ARROW_DEVICE_CUDA;
  }
  Column(const Column &) = delete;
  Column &operator=(const Column &) = delete;

  cai_array *own() {
    cai_array *array = nullptr;
    cai_error error{};
    EXPECT_EQ(cai_arrow_own(&schema, &column, &array, &error), CAI_OK) << error.message;
    return array;
  }
};

TEST(OwnColumn, AllOfIt) {
  Column c;
  c.column.array.offset = 3;
  c.column.device_id = 1;
  c.column.reserved[2] = 7;  // pyarrow leaves these as they were
  cai_array *a = c.own();
  EXPECT_EQ(c.column.array.release, nullptr);
  EXPECT_EQ(a->data, 0x7F000000000CU);
  EXPECT_EQ(a->flags, std::uint32_t{CAI_FLAG_READONLY});
  EXPECT_EQ(a->device_type, CAI_DEVICE_CUDA);
  EXPECT_EQ(a->device_id, 1);
  EXPECT_EQ(typestr(a->dtype), "<i4");
  ASSERT_EQ(a->ndim, 1);
  EXPECT_EQ(a->shape[0], 16);
  EXPECT_EQ(a->strides[0], 4);
  EXPECT_EQ(a->stream_kind, std::uint32_t{CAI_STREAM_NONE});
  EXPECT_EQ(a->mask, nullptr);
  c.column = {};  // it has been moved, and its private_data stays good
  EXPECT_EQ(c.released, 0);
  cai_array_release(a);
  EXPECT_EQ(c.released, 1);
  EXPECT_NE(c.schema.release, nullptr);
}

TEST(OwnColumn, Formats) {
  const std::pair<const char *, const char *> formats[] = {
      {"c", "|i1"}, {"C", "|u1"}, {"s", "<i2"}, {"S", "<u2"}, {"i", "<i4"}, {"I", "<u4"},
      {"l", "<i8"}, {"L", "<u8"}, {"e", "<f2"}, {"f", "<f4"}, {"g", "<f8"}};
  for (const auto &[format, expected] : formats) {
    Column c;
    c.schema.format = format;
    cai_array *a = c.own();
    EXPECT_EQ(typestr(a->dtype), expected);
    // And back.
    ArrowSchema schema{};
    ArrowDeviceArray column{};
    ASSERT_EQ(cai_arrow_write(a, 1, &schema, &column, nullptr), CAI_OK);
    EXPECT_STREQ(schema.format, format);
    schema.release(&schema);
    column.array.release(&column.array);
    cai_array_release(a);
  }
  for (const char *format : {"n", "b", "z", "u", "U", "vu", "d:19,10", "w:42", "tdD", "tss:", "tDs",
                             "+l", "+s", "+us:4,8", "", "ii", "\xff"}) {
    Column c;
    c.schema.format = format;
    cai_array *a = nullptr;
    cai_error error{};
    EXPECT_EQ(cai_arrow_own(&c.schema, &c.column, &a, &error), CAI_ERR_UNSUPPORTED) << format;
    EXPECT_EQ(error.entry, CAI_ENTRY_TYPESTR);
    if (*format != '\xff') {
      EXPECT_NE(std::strstr(error.message, format), nullptr);
    }
    EXPECT_EQ(c.released, 0);
    EXPECT_NE(c.column.array.release, nullptr);
  }
}

TEST(OwnColumn, Validity) {
  {
    Column c(0x7F0000000000, 0x7F0000001000);
    c.column.array.offset = 16;
    cai_array *a = c.own();
    ASSERT_NE(a->mask, nullptr);
    EXPECT_EQ(a->flags, std::uint32_t{CAI_FLAG_READONLY | CAI_FLAG_MASKED});
    EXPECT_EQ(a->mask->data, 0x7F0000001002U);
    EXPECT_EQ(a->mask->dtype.kind, 't');
    EXPECT_EQ(a->mask->shape[0], 16);
    EXPECT_EQ(cai_array_validate(a, nullptr), CAI_OK);
    cai_array_release(a);
  }
  {
    Column c(0x7F0000000000, 0x7F0000001000);
    c.column.array.null_count = 0;  // the bitmap says nothing
    c.column.array.offset = 3;
    cai_array *a = c.own();
    EXPECT_EQ(a->mask, nullptr);
    cai_array_release(a);
  }
  {
    Column c;
    c.column.array.null_count = -1;  // not known, but there is no bitmap
    cai_array *a = c.own();
    EXPECT_EQ(a->mask, nullptr);
    cai_array_release(a);
  }
  {
    Column c(0x7F0000000000, 0x7F0000001000);
    c.column.array.offset = 3;
    cai_array *a = nullptr;
    cai_error error{};
    EXPECT_EQ(cai_arrow_own(&c.schema, &c.column, &a, &error), CAI_ERR_UNSUPPORTED);
    EXPECT_EQ(error.entry, CAI_ENTRY_MASK);
    EXPECT_NE(std::strstr(error.message, "offset 3"), nullptr);
    EXPECT_EQ(c.released, 0);
  }
}

TEST(OwnColumn, NoElements) {
  Column c(0);
  c.column.array.length = 0;
  cai_array *a = c.own();
  EXPECT_EQ(a->data, 0U);
  EXPECT_EQ(a->shape[0], 0);
  cai_array_release(a);
  Column masked(0x7F0000000000, 0x7F0000001000);
  masked.column.array.length = 0;
  a = masked.own();
  EXPECT_EQ(a->mask->data, 0U);
  cai_array_release(a);
}

TEST(OwnColumn, BadColumns) {
  static ArrowSchema other_schema;
  static ArrowArray other_array;
  const struct {
    const char *what;
    std::function<void(Column &)> spoil;
    cai_status status;
    std::int32_t entry;
  } bad[] = {
      {"length", [](Column &c) { c.column.array.length = -1; }, CAI_ERR_VALUE, CAI_ENTRY_SHAPE},
      {"length too large", [](Column &c) { c.column.array.length = INT64_MAX; }, CAI_ERR_VALUE,
       CAI_ENTRY_SHAPE},
      {"offset", [](Column &c) { c.column.array.offset = -1; }, CAI_ERR_VALUE, CAI_ENTRY_OFFSET},
      {"offset too large", [](Column &c) { c.column.array.offset = INT64_MAX; }, CAI_ERR_VALUE,
       CAI_ENTRY_OFFSET},
      {"null_count -2", [](Column &c) { c.column.array.null_count = -2; }, CAI_ERR_VALUE,
       CAI_ENTRY_MASK},
      {"null_count 17", [](Column &c) { c.column.array.null_count = 17; }, CAI_ERR_VALUE,
       CAI_ENTRY_MASK},
      {"null_count, no bitmap", [](Column &c) { c.column.array.null_count = 1; }, CAI_ERR_VALUE,
       CAI_ENTRY_MASK},
      {"a bitmap at the end of the address space",
       [](Column &c) {
         c.buffers[0] = handle(UINT64_MAX - 1);
         c.column.array.null_count = -1;
         c.column.array.offset = 80;
       },
       CAI_ERR_VALUE, CAI_ENTRY_MASK},
      {"n_buffers", [](Column &c) { c.column.array.n_buffers = 1; }, CAI_ERR_VALUE, CAI_ENTRY_DATA},
      {"buffers", [](Column &c) { c.column.array.buffers = nullptr; }, CAI_ERR_VALUE,
       CAI_ENTRY_DATA},
      {"values", [](Column &c) { c.buffers[1] = nullptr; }, CAI_ERR_VALUE, CAI_ENTRY_DATA},
      {"device_id", [](Column &c) { c.column.device_id = -2; }, CAI_ERR_VALUE, CAI_ENTRY_DATA},
      {"device_id too large", [](Column &c) { c.column.device_id = INT64_C(1) << 31; },
       CAI_ERR_VALUE, CAI_ENTRY_DATA},
      {"device", [](Column &c) { c.column.device_type = ARROW_DEVICE_ROCM; }, CAI_ERR_DEVICE,
       CAI_ENTRY_DATA},
      {"event", [](Column &c) { c.column.sync_event = &c.event; }, CAI_ERR_VALUE, CAI_ENTRY_STREAM},
      {"event of the host's",
       [](Column &c) {
         c.event = &c;
         c.column.sync_event = &c.event;
         c.column.device_type = ARROW_DEVICE_CPU;
       },
       CAI_ERR_VALUE, CAI_ENTRY_STREAM},
      {"children", [](Column &c) { c.column.array.n_children = 1; }, CAI_ERR_UNSUPPORTED,
       CAI_ENTRY_TYPESTR},
      {"the schema's children", [](Column &c) { c.schema.n_children = 1; }, CAI_ERR_UNSUPPORTED,
       CAI_ENTRY_TYPESTR},
      {"dictionary", [](Column &c) { c.column.array.dictionary = &other_array; },
       CAI_ERR_UNSUPPORTED, CAI_ENTRY_TYPESTR},
      {"the schema's dictionary", [](Column &c) { c.schema.dictionary = &other_schema; },
       CAI_ERR_UNSUPPORTED, CAI_ENTRY_TYPESTR},
      {"no format", [](Column &c) { c.schema.format = nullptr; }, CAI_ERR_ARGUMENT, 0},
      {"a released schema", [](Column &c) { c.schema.release = nullptr; }, CAI_ERR_ARGUMENT, 0},
  };
  for (const auto &[what, spoil, status, entry] : bad) {
    Column c;
    spoil(c);
    const ArrowDeviceArray before = c.column;
    auto *a = reinterpret_cast<cai_array *>(&c);
    cai_error error{};
    EXPECT_EQ(cai_arrow_own(&c.schema, &c.column, &a, &error), status) << what;
    EXPECT_EQ(error.entry, entry) << what << ": " << error.message;
    EXPECT_EQ(a, reinterpret_cast<cai_array *>(&c));
    EXPECT_EQ(c.released, 0);
    EXPECT_EQ(std::memcmp(&before, &c.column, sizeof before), 0) << what;
    EXPECT_EQ(cai_arrow_own(&c.schema, &c.column, &a, nullptr), status);
  }
  Column c;
  cai_array *a = nullptr;
  EXPECT_EQ(cai_arrow_own(nullptr, &c.column, &a, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_arrow_own(&c.schema, nullptr, &a, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_arrow_own(&c.schema, &c.column, nullptr, nullptr), CAI_ERR_ARGUMENT);
}

TEST(OwnColumn, NoMemory) {
  Column c;
  cai_array *a = nullptr;
  with_each_failing([&] { return cai_arrow_own(&c.schema, &c.column, &a, nullptr); },
                    [&] { EXPECT_NE(c.column.array.release, nullptr); });
  ASSERT_NE(a, nullptr);
  cai_array_release(a);
  EXPECT_EQ(c.released, 1);
}

// 16 float32 with nothing pending, on device 1.
struct Plain : Array {
  std::int64_t length = 16, step = 4;

  Plain() : Array(0x7F0000000000, CAI_STREAM_NONE) {
    array.device_id = 1;
    array.dtype = {'f', '<', 0, 0, 4, 0};
    array.shape = &length;
    array.strides = &step;
  }
};
struct Bits : Plain {
  Bits() {
    array.dtype = {'t', '|', 0, 0, 1, 0};
    step = 1;
  }
};

TEST(WriteColumn, AllOfIt) {
  Plain plain;
  Owned array(plain.array);
  ArrowSchema schema{};
  ArrowDeviceArray column{};
  ASSERT_EQ(cai_arrow_write(array, 1, &schema, &column, nullptr), CAI_OK);
  EXPECT_STREQ(schema.format, "f");
  EXPECT_EQ(schema.flags, 0);
  EXPECT_EQ(schema.n_children, 0);
  EXPECT_EQ(column.array.length, 16);
  EXPECT_EQ(column.array.null_count, 0);
  EXPECT_EQ(column.array.offset, 0);
  ASSERT_EQ(column.array.n_buffers, 2);
  EXPECT_EQ(column.array.buffers[0], nullptr);
  EXPECT_EQ(value(const_cast<void *>(column.array.buffers[1])), 0x7F0000000000U);
  EXPECT_EQ(column.device_id, 1);
  EXPECT_EQ(column.device_type, ARROW_DEVICE_CUDA);
  EXPECT_EQ(column.sync_event, nullptr);
  EXPECT_EQ(column.reserved[0] | column.reserved[1] | column.reserved[2], 0);
  array.release();
  // Moved, as Arrow moves.
  ArrowDeviceArray moved = column;
  column.array.release = nullptr;
  EXPECT_FALSE(array.ended());
  moved.array.release(&moved.array);
  EXPECT_EQ(moved.array.release, nullptr);
  EXPECT_TRUE(array.ended());
  schema.release(&schema);
  EXPECT_EQ(schema.release, nullptr);
}

TEST(WriteColumn, Masked) {
  Plain plain;
  Bits bits;
  bits.array.data = 0x7F0000001000;
  plain.mask(bits);
  const Owned array(plain.array);
  ArrowSchema schema{};
  ArrowDeviceArray column{};
  ASSERT_EQ(cai_arrow_write(array, 1, &schema, &column, nullptr), CAI_OK);
  EXPECT_EQ(schema.flags, ARROW_FLAG_NULLABLE);
  EXPECT_EQ(column.array.null_count, -1);
  EXPECT_EQ(value(const_cast<void *>(column.array.buffers[0])), 0x7F0000001000U);
  column.array.release(&column.array);
}

TEST(WriteColumn, RefusesWhatAColumnCannotSay) {
  const auto refuses = [](const cai_array &borrowed, std::int32_t entry, const char *says,
                          cai_status expected = CAI_ERR_EXPORT) {
    const Owned array(borrowed);
    ArrowSchema schema{};
    ArrowDeviceArray column{};
    cai_error error{};
    EXPECT_EQ(cai_arrow_write(array, 1, &schema, &column, &error), expected) << says;
    EXPECT_EQ(error.entry, entry) << error.message;
    EXPECT_NE(std::strstr(error.message, says), nullptr) << error.message;
    EXPECT_EQ(schema.release, nullptr);
    EXPECT_EQ(column.array.release, nullptr);
  };
  for (const char *typestr : {"|b1", "<c8", "<f16", "<M8[s]", "|S4", "<U1", "|V4"}) {
    Plain plain;
    ASSERT_EQ(cai_dtype_parse(typestr, std::strlen(typestr), &plain.array.dtype, nullptr), CAI_OK);
    plain.step = plain.array.dtype.itemsize;
    refuses(plain.array, CAI_ENTRY_TYPESTR, typestr);
  }
  Plain swapped;
  swapped.array.dtype.byteorder = '>';
  swapped.array.flags = CAI_FLAG_SWAPPED;
  refuses(swapped.array, CAI_ENTRY_TYPESTR, "'>'");
  Plain scalar;
  scalar.array.ndim = 0;
  refuses(scalar.array, CAI_ENTRY_SHAPE, "0 dimensions");
  Plain spread;
  spread.step = 8;
  refuses(spread.array, CAI_ENTRY_STRIDES, "8");
  Plain bytes_masked, bytes;
  bytes.array.dtype = {'b', '|', 0, 0, 1, 0};
  bytes.step = 1;
  bytes_masked.mask(bytes);
  refuses(bytes_masked.array, CAI_ENTRY_MASK, "bytes");
  Plain repeated;
  Bits bit;
  bit.length = 1;
  repeated.mask(bit);
  refuses(repeated.array, CAI_ENTRY_MASK, "(1,)");
  bit.array.ndim = 0;
  refuses(repeated.array, CAI_ENTRY_MASK, "()");
  Plain rocm;
  rocm.array.device_type = CAI_DEVICE_ROCM;
  refuses(rocm.array, CAI_ENTRY_DATA, "10", CAI_ERR_DEVICE);
}

TEST(OwnColumn, ThatBeginsBeyondTheAddresses) {
  Column c(UINT64_MAX - 3);
  c.column.array.offset = 1;
  cai_array *array = nullptr;
  cai_error error{};
  EXPECT_EQ(cai_arrow_own(&c.schema, &c.column, &array, &error), CAI_ERR_VALUE);
  EXPECT_NE(std::strstr(error.message, "offset"), nullptr) << error.message;
  EXPECT_EQ(array, nullptr);
  EXPECT_EQ(c.released, 0);
  c.column.array.release(&c.column.array);
}

TEST(WriteColumn, Arguments) {
  Plain plain;
  const Owned array(plain.array);
  ArrowDeviceArray column{};
  cai_error error{};
  EXPECT_EQ(cai_arrow_write(nullptr, 1, nullptr, &column, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_arrow_write(array, 1, nullptr, nullptr, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_arrow_write(array, 0, nullptr, &column, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_arrow_write(&plain.array, 1, nullptr, &column, &error), CAI_ERR_ARGUMENT);
  EXPECT_NE(std::strstr(error.message, "borrowed"), nullptr);
  cai_array broken = *array.get();
  broken.ndim = -1;
  EXPECT_EQ(cai_arrow_write(&broken, 1, nullptr, &column, &error), CAI_ERR_VALUE);
  EXPECT_EQ(error.entry, CAI_ENTRY_SHAPE);
  EXPECT_EQ(column.array.release, nullptr);
}

TEST(WriteColumn, NoMemory) {
  Plain plain;
  const Owned array(plain.array);
  ArrowDeviceArray column{};
  with_each_failing([&] { return cai_arrow_write(array, 1, nullptr, &column, nullptr); },
                    [&] { EXPECT_EQ(column.array.release, nullptr); });
  ASSERT_NE(column.array.release, nullptr);
  column.array.release(&column.array);
}

class ColumnOnGpu : public OnGpu {};

// A column's event is waited for, and the column stays until uses of it are complete.
TEST_F(ColumnOnGpu, Event) {
  const std::uint64_t theirs = value(stream()), mine = value(stream());
  Column c(memory());
  c.column.device_type = ARROW_DEVICE_CUDA;
  MUST(gpu().cuEventCreate(&c.event, 2));
  cai_array *a = nullptr;
  EXPECT_EQ(races([&] {
              fill(value(const_cast<void *>(c.buffers[1])), 1, theirs);
              MUST(gpu().cuEventRecord(c.event, handle(theirs)));
              c.column.sync_event = &c.event;
              a = c.own();
              EXPECT_EQ(a->stream_kind, std::uint32_t{CAI_STREAM_EVENT});
              EXPECT_EQ(a->stream, value(c.event));
              c.column.sync_event = nullptr;
              EXPECT_EQ(begin_use({a}, mine, nullptr), CAI_OK);
              Address to = memory();
              copy(to, a->data, mine);
            }),
            0U);
  Gate gate(mine);
  ASSERT_EQ(end_use({a}, mine), CAI_OK);
  cai_array_release(a);
  EXPECT_EQ(left_after_drain(), 1);
  EXPECT_EQ(c.released, 0);
  gate.open();
  EXPECT_EQ(left_after_drain(1), 0);
  EXPECT_EQ(c.released, 1);
  MUST(gpu().cuEventDestroy_v2(c.event));
}

// A consumer that knows nothing of libcai waits for the event.
TEST_F(ColumnOnGpu, WrittenWithAnEvent) {
  const std::uint64_t own = value(stream()), before = value(stream()), theirs = value(stream());
  const Owned array(memory(), CAI_STREAM_STREAM, own);
  ArrowDeviceArray column{};
  EXPECT_EQ(
      races([&] {
        fill(array->data, 1, own);
        EXPECT_EQ(begin_use({array}, before), CAI_OK);
        fill(array->data, 2, before);
        EXPECT_EQ(end_use({array}, before), CAI_OK);
        cai_error error{};
        ASSERT_EQ(cai_arrow_write(array, own, nullptr, &column, &error), CAI_OK) << error.message;
        ASSERT_NE(column.sync_event, nullptr);
        MUST(gpu().cuStreamWaitEvent(handle(theirs), *static_cast<Handle *>(column.sync_event), 0));
        fill(array->data, 3, theirs);
      }),
      0U);
  column.array.release(&column.array);
}

// With no event of the driver's where nothing is pending.
TEST_F(ColumnOnGpu, NoCalls) {
  Array none(memory(), CAI_STREAM_NONE);
  none.array.device_id = 0;
  const Owned array(none.array);
  ArrowDeviceArray column{};
  gpu().simcuda_reset_counts();
  ASSERT_EQ(cai_arrow_write(array, 1, nullptr, &column, nullptr), CAI_OK);
  EXPECT_EQ(column.sync_event, nullptr);
  EXPECT_EQ(all_calls(), 0U);
  column.array.release(&column.array);
}

// Uses that a producer's own owner keeps come before the event, too.
TEST_F(ColumnOnGpu, KeptByTheOwnerItself) {
  static std::uint64_t asked;
  asked = 0;
  Producer producer;
  producer.owner()->used_on = [](cai_owner *, std::uint64_t, std::uint32_t, cai_error *) {
    return cai_status{CAI_OK};
  };
  producer.owner()->await_uses = [](cai_owner *, std::uint64_t on, std::uint32_t, cai_error *) {
    EXPECT_EQ(calls("cuEventRecord"), 0U);
    asked = on;
    return cai_status{CAI_OK};
  };
  const std::uint64_t mine = value(stream());
  Array array(memory(), CAI_STREAM_NONE);
  array.array.owner = producer.owner();
  ArrowDeviceArray column{};
  gpu().simcuda_reset_counts();
  cai_error error{};
  ASSERT_EQ(cai_arrow_write(&array.array, mine, nullptr, &column, &error), CAI_OK) << error.message;
  EXPECT_EQ(asked, mine);
  EXPECT_EQ(calls("cuEventRecord"), 1U);
  EXPECT_NE(column.sync_event, nullptr);
  column.array.release(&column.array);
  producer.owner()->used_on = nullptr;
  producer.owner()->await_uses = nullptr;
}

TEST_F(ColumnOnGpu, Faults) {
  const std::uint64_t own = value(stream()), mine = value(stream());
  Owned array(memory(), CAI_STREAM_STREAM, own);
  ArrowDeviceArray column{};
  cai_error error{};
  constexpr int invalid_handle = 400;
  ASSERT_EQ(gpu().simcuda_fail("cuEventRecord", 1, invalid_handle), 0);
  EXPECT_EQ(cai_arrow_write(array, mine, nullptr, &column, &error), CAI_ERR_CUDA);
  EXPECT_EQ(error.native, invalid_handle);
  EXPECT_EQ(column.array.release, nullptr);
  array.release();
  EXPECT_TRUE(array.ended());
}

}  // namespace
}  // namespace test::arrow_tests
