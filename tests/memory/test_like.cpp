// SPDX-License-Identifier: BSD-3-Clause
// Arrays made as another one is: fields, and a mask in the same memory.
#include <array>
#include <memory>
#include <string>
#include <thread>

#include "memories.hpp"

namespace test::like_tests {
namespace {

constexpr cai_dtype floats{'f', '<', 0, 0, 4, 0}, swapped_shorts{'i', '>', 0, 0, 2, 0};
constexpr cai_dtype bools{'b', '|', 0, 0, 1, 0}, bits{'t', '|', 0, 0, 1, 0};

// A pattern of shape (2, 3), with a mask of one row:
// [("a", "<f4"), ("", "|V2"), ("c", [("x", ">i2", (3,)), ("y", "<f4")])].
struct Like {
  Like() {
    nested[0].ndim = 1;
    nested[0].shape = &three;
    fields[2].fields = nested;
    fields[2].field_count = 2;
    array.mask = &mask;
    array.descr = fields;
    array.descr_count = 3;
  }
  Like(const Like &) = delete;
  Like &operator=(const Like &) = delete;

  std::int64_t shape[2] = {2, 3}, row = 3, three = 3;
  cai_field nested[2] = {field_of("x", 0, swapped_shorts), field_of("y", 6, floats)};
  cai_field fields[3] = {field_of("a", 0, floats), field_of("", 4, {'V', '|', 0, 0, 2, 0}),
                         field_of("c", 6, {'V', '|', 0, 0, 10, 0})};
  cai_array mask = like_of(bools, 1, &row);
  cai_array array = like_of({'V', '|', 0, 0, 16, 0}, 2, shape);
};

OwnArray empty_like(const cai_array &like, cai_device device, cai_stream *stream = nullptr) {
  const cai_request wanted = request(CAI_KIND_DEFAULT, 0, stream);
  cai_array *made = nullptr;
  cai_error error{};
  EXPECT_EQ(cai_array_empty_like(&like, device, &wanted, &made, &error), CAI_OK) << error.message;
  return OwnArray(made);
}

cai_array mask_of(const cai_array &array) {
  cai_array mask = *array.mask;
  mask.owner = array.owner;
  return mask;
}

template <std::size_t Size>
std::array<unsigned char, Size> item(cai_array array, std::int64_t i, std::int64_t j) {
  array.mask = nullptr;  // else the element might be invalid
  array.flags &= ~std::uint32_t{CAI_FLAG_MASKED};
  const std::int64_t at[] = {i, j};
  std::array<unsigned char, Size> out{};
  cai_error error{};
  EXPECT_EQ(cai_array_item(&array, array.ndim == 2 ? at : at + 1, out.data(), &error), CAI_OK)
      << error.message;
  return out;
}

class Likes : public Memories {};

TEST_F(Likes, HaveFieldsAndAMask) {
  for (const cai_device device : {cpu, gpu0, gpu1}) {
    auto like = std::make_unique<Like>();
    const OwnArray made = empty_like(like->array, device);
    like.reset();  // all of it has been copied
    ASSERT_OK(cai_array_validate(made.get(), error));
    EXPECT_EQ(made->flags, std::uint32_t{CAI_FLAG_MASKED | CAI_FLAG_SWAPPED});
    EXPECT_EQ(made->strides[0], 48);
    ASSERT_EQ(made->descr_count, 3U);
    EXPECT_STREQ(made->descr[0].name, "a");
    EXPECT_EQ(made->descr[1].offset, 4U);
    ASSERT_EQ(made->descr[2].field_count, 2U);
    EXPECT_STREQ(made->descr[2].fields[0].name, "x");
    EXPECT_EQ(made->descr[2].fields[0].shape[0], 3);
    EXPECT_EQ(made->descr[2].fields[0].dtype.byteorder, '>');

    ASSERT_NE(made->mask, nullptr);
    EXPECT_EQ(made->mask->dtype.kind, 'b');
    EXPECT_EQ(made->mask->ndim, 1);
    EXPECT_EQ(made->mask->shape[0], 3);
    EXPECT_EQ(made->mask->stream, made->stream);
    cai_memory *found = nullptr;
    ASSERT_OK(cai_memory_of(made, &found, nullptr, error));
    const OwnMemory memory(found);
    EXPECT_GE(made->mask->data, made->data + 96);
    EXPECT_LE(made->mask->data + 3, describe(memory).data + describe(memory).size);
  }
}

// Lazily, so that a wait that is missing shows, for the elements and for the mask.
TEST_F(Likes, AreMovedWithTheirMask) {
  const Like like;
  const OwnStream first = make_stream(gpu0), second = make_stream(gpu0);
  const OwnArray from = empty_like(like.array, gpu0, first);
  const unsigned char value[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  const unsigned char yes = 1, no = 0;
  ASSERT_OK(cai_array_fill(from, value, first, error));
  const cai_array mask = mask_of(*from);
  ASSERT_OK(cai_array_fill(&mask, &yes, first, error));
  for (const cai_device device : {gpu0, gpu1, cpu}) {
    const OwnArray to = empty_like(*from, device);
    ASSERT_OK(cai_array_copy(from, to, device.type == cpu.type ? nullptr : second.get(), error));
    EXPECT_EQ((item<16>(*to, 1, 2)), std::to_array(value));
    const cai_array moved = mask_of(*to);
    EXPECT_EQ((item<1>(moved, 0, 2))[0], 1);
  }
  ASSERT_OK(cai_array_fill(&mask, &no, second, error));
  const OwnArray to = empty_like(*from, cpu);
  ASSERT_OK(cai_array_copy(from, to, nullptr, error));
  const cai_array moved = mask_of(*to);
  EXPECT_EQ((item<1>(moved, 0, 0))[0], 0);
}

TEST_F(Likes, AreInCOrder) {
  const Like like;
  const std::int64_t transposed[] = {16, 32}, repeated = 0;
  cai_array given = like.array, mask = like.mask;
  mask.strides = &repeated;
  given.strides = transposed;
  given.mask = &mask;
  const OwnArray made = empty_like(given, gpu0);
  EXPECT_EQ(made->strides[0], 48);
  EXPECT_EQ(made->mask->strides[0], 1);  // a place for each element
}

TEST_F(Likes, HaveNoElements) {
  Like like;
  like.shape[1] = 0;
  like.row = 1;
  const OwnArray made = empty_like(like.array, gpu0);
  EXPECT_EQ(made->data, 0U);
  EXPECT_NE(made->mask->data, 0U);
  ASSERT_OK(cai_array_validate(made.get(), error));
}

TEST_F(Likes, OfRowsHaveAPitch) {
  Like like;
  like.array.mask = nullptr;
  const cai_request wanted = request(CAI_KIND_PITCHED, 0);
  cai_array *out = nullptr;
  ASSERT_OK(cai_array_empty_like(&like.array, gpu0, &wanted, &out, error));
  const OwnArray made(out);
  EXPECT_EQ(made->strides[0], 256);
  EXPECT_EQ(made->strides[1], 16);
  cai_memory *found = nullptr;
  ASSERT_OK(cai_memory_of(made, &found, nullptr, error));
  EXPECT_EQ(describe(OwnMemory(found)).rows, 2U);
  like.array.ndim = 0;
  ASSERT_OK(cai_array_empty_like(&like.array, gpu0, &wanted, &out, error));
  const OwnArray scalar(out);
  EXPECT_EQ(scalar->ndim, 0);
  // As many as there may be.
  std::int64_t ones[CAI_MAX_NDIM];
  std::fill(std::begin(ones), std::end(ones), 1);
  like.array.ndim = CAI_MAX_NDIM;
  like.array.shape = ones;
  ASSERT_OK(cai_array_empty_like(&like.array, gpu0, nullptr, &out, error));
  EXPECT_EQ(OwnArray(out)->ndim, CAI_MAX_NDIM);
  like.array.ndim = CAI_MAX_NDIM + 1;
  EXPECT_FAILS(CAI_ERR_VALUE, "ndim is 65",
               cai_array_empty_like(&like.array, gpu0, nullptr, &out, error));
}

TEST_F(Likes, AreOfMemory) {
  const Like like;
  const std::int64_t spread[] = {64, 17};  // the mask's bytes lie between the elements
  cai_array given = like.array, mask = like.mask;
  given.strides = spread;
  const std::int64_t between = 17;
  mask.strides = &between;
  given.mask = &mask;
  const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, 256);
  cai_array *out = nullptr;
  ASSERT_OK(cai_memory_array_like(memory, 8, &given, 24, &out, error));
  const OwnArray made(out);
  EXPECT_EQ(made->data, describe(memory).data + 8);
  EXPECT_EQ(made->mask->data, describe(memory).data + 24);
  EXPECT_EQ(made->strides[1], 17);
  EXPECT_EQ(made->flags & CAI_FLAG_READONLY, 0U);

  cai_array read_only = *made.get();
  read_only.flags |= CAI_FLAG_READONLY;
  cai_memory *found = nullptr;
  ASSERT_OK(cai_memory_of(&read_only, &found, nullptr, error));
  const OwnMemory view(found);
  ASSERT_OK(cai_memory_array_like(view, 8, &given, 24, &out, error));
  const OwnArray unwritable(out);
  EXPECT_NE(unwritable->flags & CAI_FLAG_READONLY, 0U);
  EXPECT_NE(unwritable->mask->flags & CAI_FLAG_READONLY, 0U);
}

// A byte of bits, next to the elements: it is no longer than that.
TEST_F(Likes, HaveMasksOfBits) {
  const std::int64_t eight = 8;
  const cai_array mask = like_of(bits, 1, &eight);
  cai_array like = like_of(bytes_type, 1, &eight);
  like.mask = &mask;
  const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, 16);
  cai_array *out = nullptr;
  ASSERT_OK(cai_memory_array_like(memory, 1, &like, 0, &out, error));
  const OwnArray made(out);
  const unsigned char value = 7;
  ASSERT_OK(cai_array_fill(made, &value, nullptr, error));
  cai_array byte = mask_of(*made);
  const std::int64_t one = 1;
  byte.dtype = bytes_type;
  byte.shape = &one;
  const unsigned char truths = 0x5A;
  ASSERT_OK(cai_array_fill(&byte, &truths, nullptr, error));
  const OwnArray to = empty_like(*made, cpu);
  ASSERT_OK(cai_array_copy(made, to, nullptr, error));
  byte = mask_of(*to);
  byte.dtype = bytes_type;
  byte.shape = &one;
  EXPECT_EQ((item<1>(byte, 0, 0))[0], truths);
  EXPECT_EQ((item<1>(*to, 0, 7))[0], value);
}

// Twelve bits are in two bytes; what has no elements overlaps nothing.
TEST_F(Likes, OverlapTheirMaskOrDoNot) {
  const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, 64);
  const std::int64_t twelve = 12, none[] = {0, 3}, row[] = {1, 3};
  cai_array mask = like_of(bits, 1, &twelve), like = like_of(bytes_type, 1, &twelve);
  like.mask = &mask;
  cai_array *out = nullptr;
  EXPECT_FAILS(CAI_ERR_LAYOUT, "overlaps the elements",
               cai_memory_array_like(memory, 1, &like, 0, &out, error));
  ASSERT_OK(cai_memory_array_like(memory, 2, &like, 0, &out, error));
  cai_array_release(out);
  mask = like_of(bools, 2, row);
  like = like_of(bytes_type, 2, none);
  like.mask = &mask;
  ASSERT_OK(cai_memory_array_like(memory, 1, &like, 1, &out, error));
  cai_array_release(out);
}

#define EXPECT_REFUSED(status, in_entry, text, call)                                          \
  do {                                                                                        \
    cai_error problem{}, *const error = &problem;                                             \
    EXPECT_EQ(call, status);                                                                  \
    EXPECT_EQ(problem.entry, in_entry) << problem.message;                                    \
    EXPECT_NE(std::string(problem.message).find(text), std::string::npos) << problem.message; \
  } while (false)

TEST_F(Likes, AreRefused) {
  const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, 128);
  cai_array *out = nullptr;
  const auto of = [&](const Like &like, std::uint64_t mask_offset, cai_error *error) {
    return cai_memory_array_like(memory, 0, &like.array, mask_offset, &out, error);
  };
  const auto make = [&](const cai_array &like, const cai_request *wanted, cai_error *error) {
    return cai_array_empty_like(&like, gpu0, wanted, &out, error);
  };
  Like like;
  EXPECT_REFUSED(CAI_ERR_ARGUMENT, CAI_ENTRY_NONE, "like",
                 cai_memory_array_like(memory, 0, nullptr, 0, &out, error));
  EXPECT_REFUSED(CAI_ERR_ARGUMENT, CAI_ENTRY_NONE, "out",
                 cai_memory_array_like(memory, 0, &like.array, 0, nullptr, error));
  EXPECT_REFUSED(CAI_ERR_ARGUMENT, CAI_ENTRY_NONE, "NULL",
                 cai_array_empty_like(nullptr, gpu0, nullptr, &out, error));
  EXPECT_REFUSED(CAI_ERR_ARGUMENT, CAI_ENTRY_NONE, "out",
                 cai_array_empty_like(&like.array, gpu0, nullptr, nullptr, error));
  EXPECT_REFUSED(CAI_ERR_LAYOUT, CAI_ENTRY_MASK, "overlaps the elements", of(like, 95, error));
  EXPECT_REFUSED(CAI_ERR_BOUNDS, CAI_ENTRY_MASK, "mask: bytes", of(like, 126, error));

  cai_request wanted = request(CAI_KIND_PITCHED, 0);
  EXPECT_REFUSED(CAI_ERR_UNSUPPORTED, CAI_ENTRY_MASK, "rows", make(like.array, &wanted, error));
  wanted.kind = CAI_KIND_CUDA_ARRAY;
  EXPECT_REFUSED(CAI_ERR_UNSUPPORTED, CAI_ENTRY_NONE, "CUDA array",
                 make(like.array, &wanted, error));
  wanted = request(CAI_KIND_DEFAULT, 96);
  EXPECT_REFUSED(CAI_ERR_VALUE, CAI_ENTRY_NONE, "size", make(like.array, &wanted, error));
  wanted.struct_size = 1;
  EXPECT_REFUSED(CAI_ERR_ARGUMENT, CAI_ENTRY_NONE, "struct_size", make(like.array, &wanted, error));

  const auto both = [&](cai_status status, std::int32_t entry, const char *text) {
    EXPECT_REFUSED(status, entry, text, of(like, 100, error));
    EXPECT_REFUSED(status, entry, text, make(like.array, nullptr, error));
  };
  like.row = 2;
  both(CAI_ERR_VALUE, CAI_ENTRY_MASK, "does not broadcast");
  like.row = -1;
  both(CAI_ERR_VALUE, CAI_ENTRY_MASK, "mask: shape");
  like.row = 3;
  like.mask.ndim = 65;
  both(CAI_ERR_VALUE, CAI_ENTRY_MASK, "mask: ndim is 65");
  like.mask.ndim = 1;
  like.mask.dtype = {'V', '|', 0, 0, 1, 0};
  both(CAI_ERR_VALUE, CAI_ENTRY_MASK, "neither true nor false");
  like.mask.dtype = bools;
  like.shape[0] = -2;
  both(CAI_ERR_VALUE, CAI_ENTRY_SHAPE, "shape[0]");
  like.shape[0] = std::int64_t{1} << 60;
  both(CAI_ERR_VALUE, CAI_ENTRY_SHAPE, "too many elements");
  like.shape[0] = 2;
  like.fields[2].offset = 4;
  both(CAI_ERR_VALUE, CAI_ENTRY_DESCR, "descr has an offset");
  like.fields[2].offset = 6;
  like.array.descr_count = 0;
  both(CAI_ERR_VALUE, CAI_ENTRY_DESCR, "descr_count is 0");
  like.array.descr_count = 3;
  like.array.shape = nullptr;
  both(CAI_ERR_ARGUMENT, CAI_ENTRY_SHAPE, "shape is NULL");
  like.array.shape = like.shape;
  like.array.flags = std::uint32_t{1} << 30;
  both(CAI_ERR_VERSION, CAI_ENTRY_INTERFACE, "critical flags");
  like.array.flags = 0;
  like.array.abi_major = 0;
  both(CAI_ERR_VERSION, CAI_ENTRY_INTERFACE, "ABI major");
  EXPECT_EQ(out, nullptr);
}

// The copy would be bytes, and numbers in other places or the other byte order.
TEST_F(Likes, OfOtherTypesAreNoPlaceForACopy) {
  const Like like;
  const OwnArray from = empty_like(like.array, cpu);
  const auto copy_to = [&](const Like &given, cai_error *error) {
    return cai_array_copy(from, empty_like(given.array, cpu), nullptr, error);
  };
  Like other;
  other.fields[0].name = "another";
  other.nested[1].title = "title";
  ASSERT_OK(copy_to(other, error));
  const auto is_refused = [&](const auto &change) {
    Like it;
    change(it);
    EXPECT_REFUSED(CAI_ERR_VALUE, CAI_ENTRY_DESCR, "different types", copy_to(it, error));
  };
  is_refused([](Like &it) { it.fields[0].dtype.byteorder = '>'; });
  is_refused([](Like &it) { it.fields[0].dtype.kind = 'i'; });
  is_refused([](Like &it) { it.nested[0].dtype.byteorder = '<'; });
  static constexpr std::int64_t column[] = {3, 1};
  is_refused([](Like &it) { it.nested[0].ndim = 2, it.nested[0].shape = column; });
  is_refused([](Like &it) {
    it.nested[0].dtype.itemsize = 6;
    it.nested[0].dtype.kind = 'V';
    it.nested[0].dtype.byteorder = '|';
    it.nested[0].ndim = 0;
  });
  is_refused(
      [](Like &it) { it.array.descr_count = 1, it.fields[0].dtype = {'V', '|', 0, 0, 16, 0}; });
  // Bytes without fields may be of any type.
  other.array.descr = nullptr;
  other.array.descr_count = 0;
  ASSERT_OK(copy_to(other, error));
}

// Its stream is a thread's own, and an array that could not be made does not say whose.
TEST_F(Likes, ThatFailSayNothingOfTheStream) {
  const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, 128);
  const auto take_mine = [&] {
    cai_stream *made = nullptr;
    ASSERT_OK(cai_stream_wrap(gpu0, 2, nullptr, nullptr, &made, error));
    ASSERT_OK(cai_memory_set_stream(memory, OwnStream(made), error));
  };
  cai_array *out = nullptr;
  Like like;
  take_mine();
  EXPECT_FAILS(CAI_ERR_LAYOUT, "overlaps",
               cai_memory_array_like(memory, 0, &like.array, 95, &out, error));
  like.array.descr_count = 0;
  EXPECT_FAILS(CAI_ERR_VALUE, "descr_count",
               cai_memory_array_like(memory, 0, &like.array, 100, &out, error));
  like.array.descr_count = 3;
  std::thread([&] {
    take_mine();
    ASSERT_OK(cai_memory_array_like(memory, 0, &like.array, 100, &out, error));
    EXPECT_EQ(OwnArray(out)->owner->keeper->thread, cai_this_thread());
  }).join();
}

}  // namespace
}  // namespace test::like_tests
