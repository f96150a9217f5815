// SPDX-License-Identifier: BSD-3-Clause
// Copies and fills of arrays with masks: the mask goes along, and is never lost.
#include <cstring>
#include <string>

#include "memories.hpp"

namespace test::mask_tests {
namespace {

using Bytes = std::vector<unsigned char>;
using Extents = std::vector<std::int64_t>;

cai_dtype type_of(const char *typestr) {
  cai_dtype dtype{};
  EXPECT_EQ(cai_dtype_parse(typestr, std::strlen(typestr), &dtype, nullptr), CAI_OK) << typestr;
  return dtype;
}

// An array of bytes, with a mask in memory of its own, unless the mask's typestr is null.
struct Masked {
  Masked(cai_device device, Extents shape, const char *mask_type, Extents mask_shape)
      : elements_in(allocate(device, CAI_KIND_DEFAULT, 64)),
        mask_in(allocate(device, CAI_KIND_DEFAULT, 256)),
        elements(array_of(elements_in, shape)) {
    array = *elements.get();
    if (!mask_type) return;
    cai_dtype dtype = type_of(mask_type);
    of_bits = dtype.kind == 't';
    shape_of_mask = mask_shape;
    if (of_bits) dtype = bytes_type;
    mask_elements = array_of(mask_in, std::move(mask_shape), dtype);
    mask = *mask_elements.get();
    mask.dtype = type_of(mask_type);
    if (mask.dtype.byteorder == '>') mask.flags |= CAI_FLAG_SWAPPED;
    mask.owner = nullptr;
    array.mask = &mask;
    array.flags |= CAI_FLAG_MASKED;
    cai_error error{};
    EXPECT_EQ(cai_array_validate(&array, &error), CAI_OK) << error.message;
  }
  Masked(const Masked &) = delete;
  Masked &operator=(const Masked &) = delete;

  static void put(const OwnMemory &memory, const Bytes &bytes) {
    move(memory, const_cast<unsigned char *>(bytes.data()), bytes.size(), true);
  }
  static Bytes get(const OwnMemory &memory, std::size_t size) {
    Bytes bytes(size);
    move(memory, bytes.data(), size, false);
    return bytes;
  }

  OwnMemory elements_in, mask_in;
  OwnArray elements, mask_elements;
  Extents shape_of_mask;
  bool of_bits = false;
  cai_array array{}, mask{};

 private:
  // By libcai's own copy of arrays without masks.
  static void move(const OwnMemory &memory, unsigned char *bytes, std::size_t size, bool in) {
    const auto extent = static_cast<std::int64_t>(size);
    const OwnArray there = array_of(memory, {extent});
    cai_array here = *there.get();
    here.owner = nullptr;
    here.data = reinterpret_cast<std::uintptr_t>(bytes);
    here.device_type = CAI_DEVICE_CPU;
    here.device_id = 0;
    here.stream_kind = CAI_STREAM_NONE;
    here.stream = 0;
    cai_error error{};
    EXPECT_EQ(in ? cai_array_copy(&here, there, nullptr, &error)
                 : cai_array_copy(there, &here, nullptr, &error),
              CAI_OK)
        << error.message;
    EXPECT_EQ(cai_array_sync_host(&here, &error), CAI_OK);
    const OwnStream current = [] {
      cai_stream *stream = nullptr;
      EXPECT_EQ(cai_stream_current(cpu, &stream, nullptr), CAI_OK);
      return OwnStream(stream);
    }();
    EXPECT_EQ(cai_stream_synchronize(current, nullptr), CAI_OK);
  }
};

const Bytes six{1, 2, 3, 4, 5, 6};
const Bytes truths{1, 0, 1, 0, 0, 1};

class Masks : public Memories {};

TEST_F(Masks, GoAlong) {
  for (const cai_device from_device : {cpu, gpu0, gpu1}) {
    for (const cai_device to_device : {cpu, gpu0}) {
      Masked from(from_device, {2, 3}, "|b1", {2, 3}), to(to_device, {2, 3}, "|b1", {2, 3});
      Masked::put(from.elements_in, six);
      Masked::put(from.mask_in, truths);
      ASSERT_OK(cai_array_copy(&from.array, &to.array, nullptr, error));
      EXPECT_EQ(Masked::get(to.elements_in, 6), six);
      EXPECT_EQ(Masked::get(to.mask_in, 6), truths);
    }
  }
}

TEST_F(Masks, AreRepeated) {
  for (const cai_device device : {cpu, gpu0}) {
    Masked to(device, {2, 3}, "|b1", {2, 3});
    Masked row(device, {2, 3}, "|b1", {3}), column(device, {2, 3}, "|b1", {2, 1});
    Masked::put(row.mask_in, {1, 0, 1});
    Masked::put(column.mask_in, {0, 1});
    ASSERT_OK(cai_array_copy(&row.array, &to.array, nullptr, error));
    EXPECT_EQ(Masked::get(to.mask_in, 6), (Bytes{1, 0, 1, 1, 0, 1}));
    ASSERT_OK(cai_array_copy(&column.array, &to.array, nullptr, error));
    EXPECT_EQ(Masked::get(to.mask_in, 6), (Bytes{0, 0, 0, 1, 1, 1}));
    EXPECT_FAILS(CAI_ERR_VALUE, "has shape (2, 3), which does not fit to's, (3,)",
                 cai_array_copy(&to.array, &row.array, nullptr, error));
  }
}

// All is valid in an array that has no mask: the other's becomes true, whatever its type.
TEST_F(Masks, BecomeTrue) {
  const std::pair<const char *, Bytes> ones[] = {
      {"|b1", {1}},
      {"|u1", {1}},
      {">i4", {0, 0, 0, 1}},
      {"<u8", {1, 0, 0, 0, 0, 0, 0, 0}},
      {"<f2", {0, 0x3C}},
      {"<f4", {0, 0, 0x80, 0x3F}},
      {">f4", {0x3F, 0x80, 0, 0}},
      {"<f8", {0, 0, 0, 0, 0, 0, 0xF0, 0x3F}},
      {"<c8", {0, 0, 0x80, 0x3F, 0, 0, 0, 0}},
      {">c16", {0x3F, 0xF0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
  };
  for (const auto &[typestr, one] : ones) {
    for (const cai_device device : {cpu, gpu0}) {
      Masked from(device, {4}, nullptr, {}), to(device, {4}, typestr, {4});
      Masked::put(to.mask_in, Bytes(4 * one.size(), 0));
      ASSERT_OK(cai_array_copy(&from.array, &to.array, nullptr, error));
      Bytes all;
      for (int i = 0; i < 4; ++i) all.insert(all.end(), one.begin(), one.end());
      EXPECT_EQ(Masked::get(to.mask_in, all.size()), all) << typestr;
    }
  }
  Masked from(cpu, {3}, nullptr, {}), to(cpu, {3}, "<f16", {3});
  Masked::put(to.mask_in, Bytes(48, 0));
  ASSERT_OK(cai_array_copy(&from.array, &to.array, nullptr, error));
  long double read[3];
  std::memcpy(read, Masked::get(to.mask_in, 48).data(), sizeof read);
  EXPECT_EQ(read[2], 1.0L);
}

TEST_F(Masks, OfFloatsGoAlong) {
  for (const char *const typestr : {"<f4", ">f8", "<c8", "<i2"}) {
    Masked from(gpu0, {2, 2}, typestr, {2, 2}), to(cpu, {2, 2}, typestr, {2, 2});
    Bytes bytes(4 * from.mask.dtype.itemsize);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(7 * i);
    Masked::put(from.mask_in, bytes);
    ASSERT_OK(cai_array_copy(&from.array, &to.array, nullptr, error));
    EXPECT_EQ(Masked::get(to.mask_in, bytes.size()), bytes) << typestr;
  }
}

TEST_F(Masks, OfBitsAreCopiedInBytes) {
  for (const cai_device device : {cpu, gpu0}) {
    Masked from(device, {2, 8}, "|t1", {2, 8}), to(device, {2, 8}, "|t1", {2, 8});
    Masked none(device, {2, 8}, nullptr, {});
    Masked::put(from.mask_in, {0xA5, 0x3C});
    Masked::put(to.mask_in, {0, 0, 0x77});
    ASSERT_OK(cai_array_copy(&from.array, &to.array, nullptr, error));
    EXPECT_EQ(Masked::get(to.mask_in, 3), (Bytes{0xA5, 0x3C, 0x77}));
    ASSERT_OK(cai_array_copy(&none.array, &to.array, nullptr, error));
    EXPECT_EQ(Masked::get(to.mask_in, 3), (Bytes{0xFF, 0xFF, 0x77}));
    Masked row(device, {2, 8}, "|t1", {8}), one(device, {2, 8}, "|t1", {1, 8});
    for (Masked *const other : {&row, &one}) {  // bits are not repeated
      EXPECT_FAILS(CAI_ERR_VALUE, "does not fit to's",
                   cai_array_copy(&other->array, &to.array, nullptr, error));
    }
    Masked six_from(device, {6}, "|t1", {6}), six_to(device, {6}, "|t1", {6});
    EXPECT_FAILS(CAI_ERR_UNSUPPORTED, "mask: its bits end within a byte",
                 cai_array_copy(&six_from.array, &six_to.array, nullptr, error));
    to.mask.data = to.array.data++;  // its second byte is the first element's
    EXPECT_FAILS(CAI_ERR_LAYOUT, "overlaps elements",
                 cai_array_copy(&from.array, &to.array, nullptr, error));
  }
}

TEST_F(Masks, AreNotLost) {
  Masked from(cpu, {2, 3}, "|b1", {2, 3}), to(cpu, {2, 3}, "|b1", {2, 3});
  Masked none(cpu, {2, 3}, nullptr, {}), other(cpu, {2, 3}, "|u1", {2, 3});
  const Bytes before(6, 9);
  const auto refuses = [&](cai_status status, const char *text, const cai_array &target) {
    cai_error error{};
    EXPECT_EQ(cai_array_copy(&from.array, &target, nullptr, &error), status);
    EXPECT_EQ(error.entry, CAI_ENTRY_MASK);
    EXPECT_NE(std::string(error.message).find(text), std::string::npos) << error.message;
  };
  Masked::put(from.elements_in, six);
  for (Masked *const target : {&to, &none, &other}) Masked::put(target->elements_in, before);
  refuses(CAI_ERR_VALUE, "to has none: it would be lost which elements are valid", none.array);
  refuses(CAI_ERR_VALUE, "different types", other.array);
  to.mask.flags |= CAI_FLAG_READONLY;
  refuses(CAI_ERR_VALUE, "that of to is read-only", to.array);
  to.mask.flags &= ~std::uint32_t{CAI_FLAG_READONLY};
  static constexpr std::int64_t repeated[] = {0, 1};
  const std::int64_t *const strides = to.mask.strides;
  to.mask.strides = repeated;
  refuses(CAI_ERR_LAYOUT, "elements of to's mask overlap", to.array);
  to.mask.strides = strides;
  const std::uint64_t data = to.mask.data;
  to.mask.data = to.array.data;
  refuses(CAI_ERR_LAYOUT, "overlaps elements", to.array);
  to.mask.data = from.mask.data;
  refuses(CAI_ERR_LAYOUT, "from and to overlap", to.array);
  to.mask.data = from.array.data;
  refuses(CAI_ERR_LAYOUT, "that of to overlaps elements", to.array);
  to.mask.data = data;
  const std::uint64_t its = from.mask.data;
  from.mask.data = to.array.data;
  refuses(CAI_ERR_LAYOUT, "from and to overlap", to.array);
  from.mask.data = its;
  for (Masked *const target : {&to, &none, &other}) {
    EXPECT_EQ(Masked::get(target->elements_in, 6), before);
  }
  EXPECT_FAILS(CAI_ERR_UNSUPPORTED, "the element may be invalid",
               cai_array_item(&from.array, strides, nullptr, error));
}

TEST_F(Masks, StayWhereAllIsFilled) {
  for (const cai_device device : {cpu, gpu0}) {
    for (const char *const typestr : {"|b1", "|t1"}) {
      Masked array(device, {2, 3}, typestr, {2, 3});
      Masked::put(array.mask_in, truths);
      ASSERT_OK(cai_array_fill(&array.array, "\x07", nullptr, error));
      EXPECT_EQ(Masked::get(array.elements_in, 6), Bytes(6, 7));
      EXPECT_EQ(Masked::get(array.mask_in, 6), truths);
    }
  }
}

TEST_F(Masks, OfNothing) {
  Masked from(cpu, {0, 3}, "|b1", {3}), to(cpu, {0, 3}, "|b1", {3});
  Masked::put(from.mask_in, {1, 0, 1});
  Masked::put(to.mask_in, {0, 0, 0});
  ASSERT_OK(cai_array_copy(&from.array, &to.array, nullptr, error));
  EXPECT_EQ(Masked::get(to.mask_in, 3), (Bytes{1, 0, 1}));
}

}  // namespace
}  // namespace test::mask_tests
