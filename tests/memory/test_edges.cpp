// SPDX-License-Identifier: BSD-3-Clause
// What is at the edge of what is allowed: nothing at all, the last of its range, other addresses.
#include <algorithm>
#include <cstring>
#include <limits>
#include <thread>

#include "memories.hpp"

namespace test::edges_tests {
namespace {

constexpr std::int64_t size = 64;
constexpr cai_dtype brain{'V', '|', CAI_EXT_BFLOAT16, 0, 2, 0};

class Edges : public Memories {};

// ---- Addresses

OwnMemory make_combined() {
  cai_request wanted = request(CAI_KIND_PINNED, size);
  wanted.flags = CAI_HOST_WRITE_COMBINED | CAI_HOST_PORTABLE;
  cai_memory *made = nullptr;
  cai_error error{};
  EXPECT_EQ(cai_memory_alloc(gpu0, &wanted, &made, &error), CAI_OK) << error.message;
  return OwnMemory(made);
}

// The memory's array, which goes by another address.
cai_array moved(const cai_array *array, Address data) {
  cai_array other = *array;
  other.data = data;
  return other;
}

TEST_F(Edges, APinnedArrayMayGoByTheHostsAddress) {
  const OwnMemory memory = make_combined();
  const cai_memory_info info = describe(memory);
  ASSERT_NE(info.host, info.data) << "the test is of no use";
  const OwnArray array = array_of(memory, {size});
  const cai_array by_host = moved(array, info.host);
  std::uint64_t host = 0;
  ASSERT_OK(cai_array_host(array, &host, error));
  EXPECT_EQ(host, info.host);
  ASSERT_OK(cai_array_host(&by_host, &host, error));
  EXPECT_EQ(host, info.host);
  const unsigned char seven = 7;
  ASSERT_OK(cai_array_fill(&by_host, &seven, nullptr, error));
  ASSERT_OK(cai_array_sync_host(&by_host, error));
  const auto *const bytes = static_cast<const unsigned char *>(handle(info.host));
  EXPECT_EQ(std::count(bytes, bytes + size, seven), size);
}

TEST_F(Edges, AnAddressThatNobodyKnowsIsTheHostsOwn) {
  const OwnMemory memory = make_combined();
  const OwnArray array = array_of(memory, {size});
  std::uint64_t host = 0;
  for (const Address unknown : {Address{4096}, describe(memory).data - size}) {
    const cai_array elsewhere = moved(array, unknown);
    ASSERT_OK(cai_array_host(&elsewhere, &host, error));
    EXPECT_EQ(host, unknown);
  }
}

TEST_F(Edges, TheHostsAddressOfItsOwnMemoryIsTheOneOfTheArray) {
  const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, size);
  const OwnArray array = array_of(memory, {size}), empty = array_of(memory, {0});
  std::uint64_t host = 1;
  ASSERT_OK(cai_array_host(array, &host, error));
  EXPECT_EQ(host, array->data);
  ASSERT_OK(cai_array_host(empty, &host, error));
  EXPECT_EQ(host, 0U);
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "out is NULL", cai_array_host(array, nullptr, error));
  ASSERT_OK(cai_memory_free(memory, error));
  EXPECT_FAILS(CAI_ERR_STATE, "was freed already", cai_array_host(array, &host, error));
}

// ---- Streams

// Another one may not reach the memory of its pool. Of the current streams only its own is
// captured.
TEST_F(Edges, TheGpuWhoseOwnMemoryItIsCopies) {
  const auto nodes_of =
      driver_function<int (*)(Handle, Handle *, std::size_t *)>("cuGraphGetNodes");
  OwnStream before[2];
  const OwnStream streams[] = {make_stream(gpu0), make_stream(gpu1)};
  for (const int device : {0, 1}) {
    cai_stream *current = nullptr;
    ASSERT_OK(cai_stream_current({CAI_DEVICE_CUDA, device}, &current, error));
    before[device] = OwnStream(current);
    ASSERT_OK(cai_stream_set_current(streams[device], error));
  }
  const Handle captured = handle(cai_stream_value(streams[0]));
  const OwnMemory own = allocate(gpu0, CAI_KIND_ASYNC, size);
  const OwnArray owns = array_of(own, {size});
  for (const std::uint32_t kind : {CAI_KIND_MANAGED_GLOBAL, CAI_KIND_PINNED}) {
    const OwnMemory memory = allocate(gpu1, kind, size);
    const OwnArray other = array_of(memory, {size});
    for (const bool to_other : {true, false}) {
      for (const Handle context : primary) {
        const With with(context);
        MUST(gpu().cuCtxSynchronize());
      }
      const With with(primary[0]);
      MUST(gpu().cuStreamBeginCapture_v2(captured, 2));
      ASSERT_OK(cai_array_copy(to_other ? owns : other, to_other ? other : owns, nullptr, error));
      Handle graph = nullptr;
      MUST(gpu().cuStreamEndCapture(captured, &graph));
      std::size_t nodes = 0;
      MUST(nodes_of(graph, nullptr, &nodes));
      EXPECT_GE(nodes, 1U);
      MUST(gpu().cuGraphDestroy(graph));
    }
  }
  for (const OwnStream &stream : before) ASSERT_OK(cai_stream_set_current(stream, error));
}

TEST_F(Edges, AStreamOfAnotherGpuReachesMemoryOfAPool) {
  const OwnStream stream = make_stream(gpu1);
  const OwnMemory own = allocate(gpu0, CAI_KIND_ASYNC, size);
  const OwnArray owns = array_of(own, {2, size / 2});
  for (const std::uint32_t kind : {CAI_KIND_MANAGED_GLOBAL, CAI_KIND_PINNED}) {
    const OwnMemory memory = allocate(gpu1, kind, size);
    const OwnArray other = array_of(memory, {2, size / 2});
    const unsigned char seven = 7;
    unsigned char item = 0;
    ASSERT_OK(cai_array_fill(other, &seven, stream, error));
    ASSERT_OK(cai_array_copy(other, owns, stream, error));
    const std::int64_t last[] = {1, size / 2 - 1};
    ASSERT_OK(cai_array_item(owns, last, &item, error));
    EXPECT_EQ(item, 7);
    const unsigned char eight = 8;
    ASSERT_OK(cai_array_fill(owns, &eight, nullptr, error));
    ASSERT_OK(cai_array_copy(owns, other, stream, error));
    ASSERT_OK(cai_array_item(other, last, &item, error));
    EXPECT_EQ(item, 8);
  }
}

// ---- Nothing

TEST_F(Edges, MemoryOfAnEmptyArrayIsEmpty) {
  const OwnMemory on_host = allocate(cpu, CAI_KIND_DEFAULT, size);
  const OwnMemory pinned = allocate(gpu0, CAI_KIND_PINNED, size);
  const OwnMemory on_device = allocate(gpu0, CAI_KIND_DEFAULT, size);
  for (cai_memory *const memory : {on_host.get(), pinned.get(), on_device.get()}) {
    const OwnArray empty = array_of(memory, {0});
    cai_memory *found = nullptr;
    std::uint64_t offset = 1;
    ASSERT_OK(cai_memory_of(empty, &found, &offset, error));
    const OwnMemory of_empty(found);
    // The array's own memory, or none at all: no byte of it may be accessed through the array.
    EXPECT_EQ(offset, 0U);
  }
}

TEST_F(Edges, WrappedNothingHasNoAddress) {
  cai_memory_info info{};
  info.struct_size = sizeof info;
  info.device = cpu;
  info.kind = CAI_KIND_DEFAULT;
  info.data = 4096;
  cai_memory *made = nullptr;
  ASSERT_OK(cai_memory_wrap(&info, nullptr, nullptr, &made, error));
  const OwnMemory memory(made);
  EXPECT_EQ(describe(memory).data, 0U);
  EXPECT_EQ(describe(memory).size, 0U);
}

TEST_F(Edges, MemoryOfNothingOfSomebodysIsNothing) {
  for (const std::int32_t type : {CAI_DEVICE_CPU, CAI_DEVICE_CUDA, CAI_DEVICE_CUDA_HOST}) {
    Array borrowed(0, CAI_STREAM_NONE);
    borrowed.empty();
    borrowed.array.device_type = type;
    borrowed.array.device_id = 0;
    cai_array *made = nullptr;
    ASSERT_OK(cai_array_own(&borrowed.array, nullptr, nullptr, &made, error));
    const OwnArray empty(made);
    cai_memory *found = nullptr;
    ASSERT_OK(cai_memory_of(empty, &found, nullptr, error));
    const OwnMemory memory(found);
    EXPECT_EQ(describe(memory).data + describe(memory).host + describe(memory).size, 0U) << type;
  }
}

// Fields that wrapped memory leaves out follow from the rest; the host's address only on the host.
TEST_F(Edges, WrappedMemoryIsOneRow) {
  cai_memory_info info{};
  info.struct_size = sizeof info;
  info.kind = CAI_KIND_PINNED;
  info.data = 4096;
  info.size = 64;
  info.pitch = 128;
  for (const cai_device device : {cpu, gpu0}) {
    info.device = device;
    cai_memory *made = nullptr;
    ASSERT_OK(cai_memory_wrap(&info, nullptr, nullptr, &made, error));
    const OwnMemory memory(made);
    EXPECT_EQ(describe(memory).row, 64U);
    EXPECT_EQ(describe(memory).pitch, 128U);
    EXPECT_EQ(describe(memory).rows, 1U);
    EXPECT_EQ(describe(memory).host, device.type == CAI_DEVICE_CPU ? 4096U : 0U);
    const OwnArray array = array_of(memory, {64});
    std::uint64_t host = 0;
    ASSERT_OK(cai_array_host(array, &host, error));
    EXPECT_EQ(host, 4096U);  // as nobody knows better
  }
}

TEST_F(Edges, ADeviceBeyondAllIsNone) {
  EXPECT_FAILS(CAI_ERR_DEVICE, "there is no gpu:256",
               cai_pending_flush({CAI_DEVICE_CUDA, 256}, error));
}

// Fields of a type with the other byte order than the machine's.
TEST_F(Edges, FieldsOfWhatIsSwapped) {
  const cai_dtype big{'c', '>', 0, 0, 8, 0}, part{'f', '>', 0, 0, 4, 0};
  const cai_field fields[] = {field_of("real", 0, part), field_of("imag", 4, part)};
  const std::int64_t shape[] = {4};
  cai_array like = like_of(big, 1, shape);
  like.descr = fields;
  like.descr_count = 2;
  cai_array *made = nullptr;
  ASSERT_OK(cai_array_empty_like(&like, cpu, nullptr, &made, error));
  const OwnArray array(made);
  EXPECT_TRUE(array->flags & CAI_FLAG_SWAPPED);
  EXPECT_EQ(array->descr_count, 2U);
  ASSERT_OK(cai_array_validate(array, error));
}

// Its stream is a thread's own: arrays of it come with that of one thread.
TEST_F(Edges, MemoryOfAThreadsStream) {
  const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, size);
  const auto take_mine = [&] {
    cai_stream *made = nullptr;
    ASSERT_OK(cai_stream_wrap(gpu0, 2, nullptr, nullptr, &made, error));
    const OwnStream mine(made);
    ASSERT_OK(cai_memory_set_stream(memory, mine, error));
  };
  take_mine();
  for (int twice = 0; twice < 2; ++twice) {
    const OwnArray array = array_of(memory, {size});
    EXPECT_EQ(array->stream, 2U);
    EXPECT_EQ(array->owner->keeper->thread, cai_this_thread());
  }
  std::thread([&] {
    take_mine();
    cai_array *made = nullptr;
    const std::int64_t shape[] = {size};
    EXPECT_FAILS(CAI_ERR_ORDER, "arrays of it have that of thread",
                 cai_memory_array(memory, 0, &bytes_type, 1, shape, nullptr, &made, error));
  }).join();
  take_mine();
  EXPECT_EQ(array_of(memory, {size})->stream, 2U);
}

// The value 2 is another stream there, in whose order the memory would be.
TEST_F(Edges, AThreadsStreamIsNotTakenOnAnother) {
  cai_stream *made = nullptr;
  ASSERT_OK(cai_stream_wrap(gpu0, 2, nullptr, nullptr, &made, error));
  const OwnStream mine(made);
  const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, size);
  std::thread([&] {
    for (const std::uint32_t kind : {CAI_KIND_DEFAULT, CAI_KIND_ASYNC, CAI_KIND_PINNED}) {
      const cai_request wanted = request(kind, size, mine);
      cai_memory *out = nullptr;
      EXPECT_FAILS(CAI_ERR_STATE, "the stream is 2 of thread",
                   cai_memory_alloc(gpu0, &wanted, &out, error));
    }
    EXPECT_FAILS(CAI_ERR_STATE, "the stream is 2 of thread",
                 cai_memory_set_stream(memory, mine, error));
  }).join();
  allocate(gpu0, CAI_KIND_ASYNC, size, mine).reset();
  ASSERT_OK(cai_memory_set_stream(memory, mine, error));
}

TEST_F(Edges, AStreamOfNeitherSideDoesNotCopy) {
  const OwnMemory from = allocate(gpu0, CAI_KIND_DEFAULT, size);
  const OwnMemory to = allocate(gpu0, CAI_KIND_DEFAULT, size);
  const OwnStream theirs = make_stream(gpu1);
  const OwnArray source = array_of(from, {size}), target = array_of(to, {size});
  EXPECT_FAILS(CAI_ERR_DEVICE,
               "expected a stream that copies from gpu:0 to gpu:0, got one of gpu:1",
               cai_array_copy(source, target, theirs, error));
  const OwnMemory on_host = allocate(cpu, CAI_KIND_DEFAULT, size);
  const OwnStream of_cpu = make_stream(cpu);
  EXPECT_FAILS(CAI_ERR_DEVICE, "expected a stream that copies from cpu to gpu:0, got one of cpu",
               cai_array_copy(array_of(on_host, {size}), target, of_cpu, error));
}

// Nor does a GPU work on memory that the driver does not know.
TEST_F(Edges, PinnedMemoryThatNobodyKnowsIsNotFilled) {
  Array borrowed(4096, CAI_STREAM_NONE);
  borrowed.array.device_type = CAI_DEVICE_CUDA_HOST;
  borrowed.array.device_id = 0;
  const OwnStream stream = make_stream(gpu0);
  const unsigned char seven = 7;
  EXPECT_FAILS(CAI_ERR_CUDA, "cuMemset", cai_array_fill(&borrowed.array, &seven, stream, error));
}

// The driver is asked about host memory, too, and its failure is returned.
TEST_F(Edges, WhatTheDriverSaysOfTheHostsMemory) {
  const OwnMemory memory = allocate(cpu, CAI_KIND_HOST, size);
  const Address data = describe(memory).data;
  ASSERT_OK(cai_memory_validate(data, size, cpu, CAI_KIND_HOST, error));
  MUST(gpu().simcuda_fail("cuPointerGetAttributes", 1, 999));
  EXPECT_FAILS(CAI_ERR_CUDA, "cuPointerGetAttributes",
               cai_memory_validate(data, size, cpu, CAI_KIND_HOST, error));
}

TEST_F(Edges, NothingIsRetainedAndReleased) {
  cai_memory_retain(nullptr);
  cai_memory_release(nullptr);
  cai_manager_retain(nullptr);
  cai_manager_release(nullptr);
  EXPECT_EQ(cai_manager_name(nullptr), nullptr);
  EXPECT_EQ(cai_manager_device(nullptr).type, 0);
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "out is NULL", cai_memory_find(4096, nullptr, nullptr, error));
  cai_manager *manager = nullptr;
  ASSERT_OK(cai_manager_of(gpu0, &manager, error));
  const cai_block nothing{};
  ASSERT_OK(cai_manager_free(manager, &nothing, CAI_KIND_DEFAULT, 1, error));
  cai_manager_release(manager);
}

// ---- Items

TEST_F(Edges, AnItemOfAnyByteOrderIsBroughtFromAnyMemory) {
  const cai_dtype big{'f', '>', 0, 0, 4, 0};
  const unsigned char one[] = {0x3f, 0x80, 0, 0};
  const std::int64_t shape[] = {2};
  const std::uint32_t kinds[] = {CAI_KIND_DEFAULT, CAI_KIND_ASYNC,  CAI_KIND_MANAGED,
                                 CAI_KIND_PINNED,  CAI_KIND_MAPPED, CAI_KIND_PITCHED};
  for (const cai_device device : {cpu, gpu0}) {
    for (const std::uint32_t kind : kinds) {
      const cai_array like = like_of(big, 1, shape);
      const cai_request wanted = request(kind, 0);
      cai_array *made = nullptr;
      if (cai_array_empty_like(&like, device, &wanted, &made, nullptr) != CAI_OK) {
        EXPECT_EQ(device.type, CAI_DEVICE_CPU) << kind;  // which has not all of them
        continue;
      }
      const OwnArray array(made);
      ASSERT_OK(cai_array_fill(array, one, nullptr, error));
      unsigned char item[4] = {}, first[4] = {};
      const std::int64_t last = -1;
      ASSERT_OK(cai_array_item(array, &last, item, error));
      ASSERT_OK(cai_array_first(array, first, error));
      EXPECT_EQ(std::memcmp(item, one, sizeof one), 0) << kind;
      EXPECT_EQ(std::memcmp(first, one, sizeof one), 0) << kind;
    }
  }
}

TEST_F(Edges, NothingHasNoFirstElement) {
  const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, size);
  const OwnArray empty = array_of(memory, {3, 0});
  unsigned char item = 7;
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "no elements", cai_array_first(empty, &item, error));
  EXPECT_EQ(item, 7);
}

TEST_F(Edges, RowsMayBeEmpty) {
  for (const std::uint32_t kind : {CAI_KIND_PITCHED, CAI_KIND_PITCHED_MANAGED}) {
    for (const std::vector<std::int64_t> &shape :
         {std::vector<std::int64_t>{3, 0}, {2, 3, 0}, {0, 3}}) {
      const cai_array like =
          like_of(bytes_type, static_cast<std::int32_t>(shape.size()), shape.data());
      const cai_request wanted = request(kind, 0);
      cai_array *made = nullptr;
      ASSERT_OK(cai_array_empty_like(&like, gpu0, &wanted, &made, error));
      const OwnArray array(made);
      EXPECT_EQ(array->data, 0U);
    }
  }
}

// ---- Requests

TEST_F(Edges, ManagedRowsAreMadeLikeAnArray) {
  const std::int64_t shape[] = {3, 5};
  const cai_array like = like_of(bytes_type, 2, shape);
  cai_request wanted = request(CAI_KIND_PITCHED_MANAGED, 0);
  cai_array *made = nullptr;
  ASSERT_OK(cai_array_empty_like(&like, gpu0, &wanted, &made, error));
  const OwnArray array(made);
  EXPECT_EQ(array->device_type, CAI_DEVICE_CUDA_MANAGED);
  EXPECT_GE(array->strides[0], 5);
}

TEST_F(Edges, AnArraysSizeIsNotRequested) {
  const cai_array like = like_of(bytes_type, 1, &size);
  for (std::uint64_t cai_request::*const field :
       {&cai_request::size, &cai_request::rows, &cai_request::depth}) {
    cai_request wanted = request(CAI_KIND_DEFAULT, 0);
    wanted.*field = 1;
    cai_array *made = nullptr;
    EXPECT_FAILS(CAI_ERR_VALUE, "request sets a size",
                 cai_array_empty_like(&like, gpu0, &wanted, &made, error));
    EXPECT_EQ(made, nullptr);
  }
}

TEST_F(Edges, CudaArraysHaveNoItemsOfExtensions) {
  cai_request wanted = request(CAI_KIND_CUDA_ARRAY, 4);
  wanted.channels = 1;
  wanted.dtype = {'f', '<', 0, 0, 2, 0};
  wanted.dtype.ext = CAI_EXT_BFLOAT16;
  cai_memory *made = nullptr;
  EXPECT_FAILS(CAI_ERR_VALUE, "dtype", cai_memory_alloc(gpu0, &wanted, &made, error));
  wanted.dtype = brain;
  EXPECT_FAILS(CAI_ERR_VALUE, "dtype", cai_memory_alloc(gpu0, &wanted, &made, error));
}

TEST_F(Edges, MorePinnedBytesThanCanBeCountedAreRefused) {
  constexpr std::uint64_t too_many = std::numeric_limits<std::uint64_t>::max() - 4096;
  cai_manager *manager = nullptr;
  ASSERT_OK(cai_manager_of(gpu0, &manager, error));
  cai_block block{};
  EXPECT_FAILS(CAI_ERR_MEMORY, "the size in bytes overflows",
               cai_manager_alloc(manager, too_many, 1 << 20, CAI_KIND_PINNED, 0, &block, error));
  EXPECT_EQ(block.host, 0U);
  cai_manager_release(manager);
}

TEST_F(Edges, KindsAndNamesHaveNoControlCharacters) {
  std::uint32_t kind = 0;
  EXPECT_FAILS(CAI_ERR_VALUE, "", cai_kind_parse("\x01pinned", &kind, error));
  ASSERT_OK(cai_kind_parse("\tpinned ", &kind, error));
  EXPECT_EQ(kind, CAI_KIND_PINNED);
  cai_device device{};
  EXPECT_FAILS(CAI_ERR_VALUE, "", cai_device_parse("1pu", &device, error));
}

}  // namespace
}  // namespace test::edges_tests
