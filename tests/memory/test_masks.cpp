// SPDX-License-Identifier: BSD-3-Clause
// Copies and fills of arrays with masks: the mask goes along, and is never lost.
#include <cstring>
#include <string>

#include "memories.hpp"
#include "slow.hpp"

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

class Masks : public Memories {
 protected:
  void synchronize_all() const {
    for (const Handle context : primary) {
      const With with(context);
      MUST(gpu().cuCtxSynchronize());
    }
  }

  // Ends the stream's capture.
  static void expect_nodes(cai_stream *stream, std::size_t expected) {
    static const auto nodes_of =
        driver_function<int (*)(Handle, Handle *, std::size_t *)>("cuGraphGetNodes");
    Handle graph = nullptr;
    std::size_t nodes = 0;
    MUST(gpu().cuStreamEndCapture(handle(cai_stream_value(stream)), &graph));
    MUST(nodes_of(graph, nullptr, &nodes));
    EXPECT_EQ(nodes, expected);
    MUST(gpu().cuGraphDestroy(graph));
  }
};

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

// Any stream of either array's device copies both, or fills the mask: where the mask is on another
// GPU, between what the stream has done and what it does next. Another stream is refused first.
TEST_F(Masks, GoAlongOnStreamsOfEitherDevice) {
  const cai_device devices[] = {cpu, gpu0, gpu1};
  const OwnStream streams[] = {make_stream(cpu), make_stream(gpu0), make_stream(gpu1)};
  for (int from_at = 0; from_at < 3; ++from_at) {
    for (int to_at = 0; to_at < 3; ++to_at) {
      for (int at = 0; at < 3; ++at) {
        for (const char *const typestr : {"|b1", static_cast<const char *>(nullptr)}) {
          const int sum = from_at + to_at;
          const bool serves = at == 0 ? sum == 0 : at == from_at || at == to_at;
          Masked from(devices[from_at], {2, 3}, typestr, {2, 3});
          Masked to(devices[to_at], {2, 3}, "|b1", {2, 3});
          Masked::put(from.elements_in, six);
          if (typestr) Masked::put(from.mask_in, truths);
          Masked::put(to.elements_in, Bytes(6, 9));
          Masked::put(to.mask_in, Bytes(6, 0));
          SCOPED_TRACE(testing::Message()
                       << from_at << " to " << to_at << " by " << at << (typestr ? " masked" : ""));
          cai_error error{};
          EXPECT_EQ(cai_array_copy(&from.array, &to.array, streams[at], &error),
                    serves ? CAI_OK : CAI_ERR_DEVICE)
              << error.message;
          EXPECT_EQ(Masked::get(to.elements_in, 6), serves ? six : Bytes(6, 9));
          const Bytes copied = typestr ? truths : Bytes(6, 1);
          EXPECT_EQ(Masked::get(to.mask_in, 6), serves ? copied : Bytes(6, 0));
        }
      }
    }
  }
}

// The host fills a mask on the CPU for a GPU's stream: after pending work on it, and before the
// call returns.
TEST_F(Masks, OnTheCpuAreFilledInOrder) {
  const OwnStream stream = make_stream(gpu0);
  Masked from(gpu0, {6}, nullptr, {}), to(cpu, {6}, "|b1", {6});
  Masked::put(from.elements_in, six);
  Slow slow;
  ASSERT_OK(cai_array_fill(to.mask_elements, "", slow, error));
  ASSERT_OK(cai_array_fill(&from.array, "\x05", stream, error));
  ASSERT_OK(cai_array_copy(&from.array, &to.array, stream, error));
  EXPECT_FALSE(slow.is_pending());
  const auto *const elements = reinterpret_cast<const unsigned char *>(to.array.data);
  const auto *const mask = reinterpret_cast<const unsigned char *>(to.mask.data);
  EXPECT_EQ(Bytes(elements, elements + 6), Bytes(6, 5));
  EXPECT_EQ(Bytes(mask, mask + 6), Bytes(6, 1));
}

// A CPU stream does both later, and the owners keep both.
TEST_F(Masks, OnTheCpuGoAlongLater) {
  for (const char *const typestr : {"|b1", static_cast<const char *>(nullptr)}) {
    Masked from(cpu, {6}, typestr, {6}), to(cpu, {6}, "|b1", {6});
    Masked::put(from.elements_in, six);
    if (typestr) Masked::put(from.mask_in, truths);
    Masked::put(to.elements_in, Bytes(6, 9));
    Masked::put(to.mask_in, Bytes(6, 0));
    Slow slow(true);
    ASSERT_OK(cai_array_copy(&from.array, &to.array, slow, error));
    EXPECT_TRUE(slow.is_pending());
    slow.let_go();
    ASSERT_OK(cai_array_sync_host(&to.array, error));
    EXPECT_EQ(Masked::get(to.elements_in, 6), six);
    EXPECT_EQ(Masked::get(to.mask_in, 6), typestr ? truths : Bytes(6, 1));
  }
}

// An array without elements may have a mask with some., whose mask has some.
TEST_F(Masks, OfNothingAreFilled) {
  const OwnStream stream = make_stream(gpu0);
  for (const cai_device device : {cpu, gpu0, gpu1}) {
    Masked from(gpu0, {0, 3}, nullptr, {}), to(device, {0, 3}, "|b1", {3});
    Masked::put(to.mask_in, Bytes(3, 0));
    ASSERT_OK(cai_array_copy(&from.array, &to.array, stream, error));
    EXPECT_EQ(Masked::get(to.mask_in, 3), Bytes(3, 1));
  }
}

// The other GPU's stream fills it after what was on the stream, and before what comes there.
TEST_F(Masks, OfAnotherGpuAreFilledInTheStreamsOrder) {
  const OwnStream stream = make_stream(gpu0), other = make_stream(gpu1);
  Masked from(gpu0, {6}, nullptr, {}), to(gpu1, {6}, "|b1", {6});
  Masked::put(from.elements_in, six);
  Masked::put(to.mask_in, Bytes(6, 0));
  const auto raw = [](const OwnStream &of) { return handle(cai_stream_value(of)); };
  Handle event = nullptr;
  {
    const With with(primary[1]);
    MUST(gpu().cuEventCreate(&event, 2));
    MUST(gpu().cuMemsetD8Async(to.mask.data, 7, 6, raw(other)));
    MUST(gpu().cuEventRecord(event, raw(other)));
  }
  // libcai does not know of this work: the stream alone comes after it, and then before the next.
  MUST(gpu().cuStreamWaitEvent(raw(stream), event, 0));
  ASSERT_OK(cai_array_copy(&from.array, &to.array, stream, error));
  EXPECT_EQ(Masked::get(to.mask_in, 6), Bytes(6, 1));
  ASSERT_OK(cai_array_copy(&from.array, &to.array, stream, error));
  Handle after = nullptr;
  {
    const With with(primary[0]);
    MUST(gpu().cuEventCreate(&after, 2));
    MUST(gpu().cuEventRecord(after, raw(stream)));
  }
  {
    const With with(primary[1]);
    MUST(gpu().cuStreamWaitEvent(raw(other), after, 0));
    MUST(gpu().cuMemsetD8Async(to.mask.data, 3, 6, raw(other)));
    MUST(gpu().cuStreamSynchronize(raw(other)));
  }
  EXPECT_EQ(Masked::get(to.mask_in, 6), Bytes(6, 3));
  for (const Handle each : {event, after}) MUST(gpu().cuEventDestroy_v2(each));

  const With with(primary[0]);
  MUST(gpu().cuStreamBeginCapture_v2(raw(stream), 2));
  EXPECT_FAILS(CAI_ERR_CAPTURE, "two GPUs copy the elements and the mask",
               cai_array_copy(&from.array, &to.array, stream, error));
  expect_nodes(stream, 0);
}

// The GPU of two masks copies them, if that of the elements cannot.
TEST_F(Masks, MayBeOnAnotherGpuThanTheElements) {
  const OwnStream stream = make_stream(gpu0);
  for (cai_stream *const given : {stream.get(), static_cast<cai_stream *>(nullptr)}) {
    Masked from(gpu0, {6}, "|b1", {6}), to(gpu0, {6}, "|b1", {6});
    Masked from_there(gpu1, {6}, "|b1", {6}), to_there(gpu1, {6}, "|b1", {6});
    Masked::put(from.elements_in, six);
    Masked::put(from_there.mask_in, truths);
    Masked::put(to_there.mask_in, Bytes(6, 0));
    synchronize_all();
    cai_array source = from.array, target = to.array;
    source.owner = target.owner = nullptr;
    source.mask = &from_there.mask;
    target.mask = &to_there.mask;
    ASSERT_OK(cai_array_copy(&source, &target, given, error));
    synchronize_all();
    EXPECT_EQ(Masked::get(to.elements_in, 6), six);
    EXPECT_EQ(Masked::get(to_there.mask_in, 6), truths);
  }
}

// What refuses the mask's stream has not touched the elements.
TEST_F(Masks, AreAskedBeforeTheElementsGo) {
  const OwnStream stream = make_stream(gpu0), of_mask = make_stream(gpu0);
  Masked from(gpu0, {6}, "|b1", {6}), to(gpu0, {6}, "|b1", {6});
  Masked::put(from.elements_in, six);
  Masked::put(from.mask_in, truths);
  Masked::put(to.elements_in, Bytes(6, 9));
  Masked::put(to.mask_in, Bytes(6, 0));
  const auto raw = [](const OwnStream &of) { return handle(cai_stream_value(of)); };
  cai_array array = from.array;
  from.mask.owner = array.owner = nullptr;
  array.stream_kind = from.mask.stream_kind = CAI_STREAM_STREAM;
  array.stream = cai_stream_value(stream);
  from.mask.stream = cai_stream_value(of_mask);
  const auto refuses = [&](cai_status status, const char *text) {
    cai_error error{};
    EXPECT_EQ(cai_array_copy(&array, &to.array, stream, &error), status) << error.message;
    EXPECT_EQ(error.entry, CAI_ENTRY_STREAM);
    EXPECT_EQ(error.index, 0);
    EXPECT_EQ(std::string(error.message).rfind("mask: ", 0), 0U) << error.message;
    EXPECT_NE(std::string(error.message).find(text), std::string::npos) << error.message;
  };
  {
    const With with(primary[0]);
    for (const OwnStream *each : {&stream, &of_mask}) {
      MUST(gpu().cuStreamBeginCapture_v2(raw(*each), 2));
    }
    refuses(CAI_ERR_CAPTURE, "into another: nothing can order the two");
    for (const OwnStream *each : {&stream, &of_mask}) expect_nodes(*each, 0);
    MUST(gpu().cuStreamBeginCapture_v2(raw(of_mask), 2));
    refuses(CAI_ERR_CAPTURE, "is not: capture it too");
    expect_nodes(of_mask, 0);
  }
  Handle event = nullptr;
  {
    const With with(primary[0]);
    MUST(gpu().cuEventCreate(&event, 2));
    MUST(gpu().cuEventRecord(event, raw(of_mask)));
  }
  from.mask.stream_kind = CAI_STREAM_EVENT;
  from.mask.stream = reinterpret_cast<std::uintptr_t>(event);
  refuses(CAI_ERR_ORDER, "has no stream that could wait at the end");
  MUST(gpu().cuEventDestroy_v2(event));
  EXPECT_EQ(Masked::get(to.elements_in, 6), Bytes(6, 9));
  EXPECT_EQ(Masked::get(to.mask_in, 6), Bytes(6, 0));
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

// There are no elements, whose copy would refuse the stream.
TEST_F(Masks, OfAGpuAreNotFilledByTheCpu) {
  const OwnStream stream = make_stream(cpu);
  Masked from(gpu0, {0, 3}, nullptr, {}), to(gpu0, {0, 3}, "|b1", {3});
  Masked::put(to.mask_in, {5, 5, 5});
  EXPECT_FAILS(CAI_ERR_DEVICE, "a stream that fills a mask on gpu:0, got one of cpu",
               cai_array_copy(&from.array, &to.array, stream, error));
  EXPECT_EQ(Masked::get(to.mask_in, 3), (Bytes{5, 5, 5}));
}

}  // namespace
}  // namespace test::mask_tests
