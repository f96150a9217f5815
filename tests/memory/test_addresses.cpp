// SPDX-License-Identifier: BSD-3-Clause
// Pinned memory that the host and the GPU know by two addresses: written-combined, or registered.
#include <cai/arrow.h>
#include <cai/dlpack.h>

#include <algorithm>

#include "memories.hpp"
#include "owned.hpp"
#include "slow.hpp"

namespace test::addresses_tests {
namespace {

constexpr std::int64_t size = 64;

class Addresses : public Memories {
 protected:
  static OwnMemory combined() {
    cai_request wanted = request(CAI_KIND_PINNED, size);
    wanted.flags = CAI_HOST_WRITE_COMBINED;
    cai_memory *made = nullptr;
    cai_error error{};
    EXPECT_EQ(cai_memory_alloc(gpu0, &wanted, &made, &error), CAI_OK) << error.message;
    return OwnMemory(made);
  }
  OwnMemory registered() {
    cai_memory *made = nullptr;
    cai_error error{};
    EXPECT_EQ(
        cai_memory_pin(gpu0, bytes_, size, CAI_KIND_PINNED, 0, nullptr, nullptr, &made, &error),
        CAI_OK)
        << error.message;
    return OwnMemory(made);
  }
  // Runs for memory of both ways.
  template <class Body>
  void for_both(Body &&body) {
    for (const bool by_registering : {false, true}) {
      SCOPED_TRACE(by_registering ? "registered" : "write-combined");
      const OwnMemory memory = by_registering ? registered() : combined();
      const cai_memory_info info = describe(memory);
      ASSERT_NE(info.host, 0U);
      ASSERT_NE(info.host, info.data) << "the test is of no use";
      body(memory.get(), static_cast<unsigned char *>(handle(info.host)));
    }
    ASSERT_OK(cai_drain(1, nullptr, error));
  }

 private:
  alignas(64) unsigned char bytes_[size] = {};
};

TEST_F(Addresses, TheHostFillsAndCopiesByItsOwn) {
  for_both([](cai_memory *memory, unsigned char *host) {
    const OwnArray array = array_of(memory, {size});
    const OwnStream stream = make_stream(cpu, CAI_MODE_SYNC);
    const unsigned char seven = 7, nine = 9;
    ASSERT_OK(cai_array_fill(array, &seven, stream, error));
    EXPECT_EQ(std::count(host, host + size, 7), size);
    const OwnMemory other = allocate(cpu, CAI_KIND_DEFAULT, size);
    const OwnArray plain = array_of(other, {size});
    ASSERT_OK(cai_array_copy(array, plain, stream, error));
    auto *const copied = static_cast<unsigned char *>(handle(describe(other).host));
    EXPECT_EQ(std::count(copied, copied + size, 7), size);
    ASSERT_OK(cai_array_fill(plain, &nine, stream, error));
    ASSERT_OK(cai_array_copy(plain, array, stream, error));
    EXPECT_EQ(std::count(host, host + size, 9), size);
  });
}

// An array of the host's address is of the same memory: each finds the other's pending work.
TEST_F(Addresses, AnArrayMayBeAtTheHosts) {
  for_both([](cai_memory *memory, unsigned char *host) {
    const OwnArray array = array_of(memory, {size});
    const OwnStream stream = make_stream(cpu);
    cai_array at_host = *array.get();
    at_host.device_type = CAI_DEVICE_CPU;
    at_host.device_id = 0;
    at_host.data = value(host);
    at_host.stream_kind = CAI_STREAM_NONE;
    at_host.stream = 0;
    unsigned char number = 7;
    for (cai_array *const filled : {&at_host, array.get()}) {
      cai_array *const read = filled == array.get() ? &at_host : array.get();
      ASSERT_OK(cai_array_fill(filled, &++number, stream, error));
      const std::int64_t last = size - 1;
      unsigned char found = 0;
      ASSERT_OK(cai_array_item(read, &last, &found, error));
      EXPECT_EQ(found, number);
    }
  });
}

TEST_F(Addresses, TheGpuFillsAndCopiesByItsOwn) {
  for_both([](cai_memory *memory, unsigned char *host) {
    const OwnArray array = array_of(memory, {size});
    const unsigned char seven = 7;
    ASSERT_OK(cai_array_fill(array, &seven, nullptr, error));
    ASSERT_OK(cai_array_sync_host(array, error));
    EXPECT_EQ(std::count(host, host + size, 7), size);
  });
}

TEST_F(Addresses, WorkOfTheHostIsFoundByEither) {
  for_both([](cai_memory *memory, unsigned char *host) {
    const OwnArray array = array_of(memory, {size});
    // As NumPy has it: by the host's address, and no more.
    Array of_address(value(host), CAI_STREAM_NONE);
    of_address.array.device_type = CAI_DEVICE_CPU;
    of_address.array.device_id = 0;
    of_address.array.shape = &size;
    const Owned import(of_address.array);
    import->owner->flags |= CAI_OWNER_IMPORTED;
    const std::int64_t last = size - 1;
    unsigned char byte = 0;
    {
      Slow slow(true);
      const unsigned char seven = 7;
      ASSERT_OK(cai_array_fill(import, &seven, slow, error));
      slow.let_go();
      ASSERT_OK(cai_array_item(array, &last, &byte, error));
      EXPECT_EQ(byte, 7);
    }
    {
      Slow slow(true);
      const unsigned char eight = 8;
      ASSERT_OK(cai_array_fill(array, &eight, slow, error));
      slow.let_go();
      ASSERT_OK(cai_array_item(import, &last, &byte, error));
      EXPECT_EQ(byte, 8);
    }
    const auto write = [](void *bytes, cai_error *) -> cai_status {
      std::fill_n(static_cast<unsigned char *>(bytes), size, static_cast<unsigned char>(9));
      return CAI_OK;
    };
    Slow slow(true);
    ASSERT_OK(cai_stream_enqueue(slow, write, nullptr, host, error));
    ASSERT_OK(cai_memory_record(memory, slow, error));
    slow.let_go();
    ASSERT_OK(cai_array_item(import, &last, &byte, error));
    EXPECT_EQ(byte, 9);
  });
}

TEST_F(Addresses, MemoryIsFoundByEither) {
  const OwnMemory memory = combined();
  const cai_memory_info info = describe(memory);
  for (const Address begin : {info.data, info.host}) {
    cai_memory *out = nullptr;
    std::uint64_t offset = 0;
    ASSERT_OK(cai_memory_find(begin + 5, &out, &offset, error));
    const OwnMemory found(out);
    EXPECT_EQ(found.get(), memory.get());
    EXPECT_EQ(offset, 5U);
  }
  cai_memory *out = nullptr;
  ASSERT_OK(cai_memory_free(memory, error));
  EXPECT_EQ(cai_memory_find(info.host, &out, nullptr, nullptr), CAI_ERR_DEVICE);
}

// What others have pinned has two addresses as well, by which arrays, imports and tensors know it.
TEST_F(Addresses, WorkIsFoundByEitherOfMemoryOfOthers) {
  const auto pin = driver_function<int (*)(void **, std::size_t, unsigned)>("cuMemHostAlloc");
  const auto device_of =
      driver_function<int (*)(Address *, void *, unsigned)>("cuMemHostGetDevicePointer_v2");
  const auto unpin = driver_function<int (*)(void *)>("cuMemFreeHost");
  const With with(primary[0]);
  void *bytes = nullptr;
  Address device = 0;
  MUST(pin(&bytes, size, 4));  // write-combined
  MUST(device_of(&device, bytes, 0));
  ASSERT_NE(device, value(bytes)) << "the test is of no use";
  struct Way {
    Address data;
    std::int32_t type;
    bool is_import;
  };
  const Way ways[] = {
      {device, CAI_DEVICE_CUDA_HOST, true}, {device, CAI_DEVICE_CUDA_HOST, false},
      {device, CAI_DEVICE_CUDA, true},      {value(bytes), CAI_DEVICE_CUDA_HOST, true},
      {value(bytes), CAI_DEVICE_CPU, true}, {value(bytes), CAI_DEVICE_CPU, false}};
  const auto make = [&](const Way &way) {
    Array said(way.data, CAI_STREAM_NONE);
    said.array.device_type = way.type;
    said.array.device_id = 0;
    auto made = std::make_unique<Owned>(said.array);
    if (way.is_import) (*made)->owner->flags |= CAI_OWNER_IMPORTED;
    return made;
  };
  unsigned char number = 0;
  for (const Way &first : ways) {
    for (const Way &second : ways) {
      SCOPED_TRACE(testing::Message() << &first - ways << " and " << &second - ways);
      const auto from = make(first), to = make(second);
      if (first.type != CAI_DEVICE_CUDA) {
        Slow slow(true);
        ASSERT_OK(cai_array_fill(*from, &++number, slow, error));
        slow.let_go();
        ASSERT_OK(cai_array_sync_host(*to, error));
        EXPECT_EQ(static_cast<unsigned char *>(bytes)[size - 1], number);
      }
      if (!first.is_import || !second.is_import) continue;
      if (first.type == CAI_DEVICE_CPU || second.type == CAI_DEVICE_CPU) continue;
      const OwnStream one = make_stream(gpu0), other = make_stream(gpu0);
      ASSERT_OK(cai_array_fill(*from, &++number, one, error));
      ASSERT_OK(cai_array_fill(*to, &++number, other, error));
      MUST(gpu().cuCtxSynchronize());
      EXPECT_EQ(static_cast<unsigned char *>(bytes)[size - 1], number);
    }
  }
  // The one that the driver does not tell is not guessed.
  const auto array = make(ways[0]);
  const OwnStream stream = make_stream(cpu, CAI_MODE_SYNC);
  for (unsigned nth = 1;; ++nth) {
    MUST(gpu().simcuda_fail("cuPointerGetAttributes", nth, 999));
    cai_error error{};
    const cai_status status = cai_array_fill(*array, &++number, stream, &error);
    MUST(gpu().simcuda_fail("cuPointerGetAttributes", 0, 0));
    const unsigned char found = static_cast<unsigned char *>(bytes)[size - 1];
    EXPECT_EQ(found, status == CAI_OK ? number : number - nth);
    EXPECT_TRUE(status == CAI_OK || status == CAI_ERR_CUDA) << error.message;
    if (status == CAI_OK) break;
  }
  MUST(unpin(bytes));
}

// Neither the array of a GPU's own memory nor an import of it waits.
TEST_F(Addresses, WorkOfTheHostIsNotOnMemoryOfAGpu) {
  const OwnStream own = make_stream(gpu0);
  const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, size, own);
  const OwnArray array = array_of(memory, {size});
  const Owned import(describe(memory).data, CAI_STREAM_NONE);
  import->owner->flags |= CAI_OWNER_IMPORTED;
  HostBytes host;
  const Owned x = host.make();
  Slow slow(true);
  ASSERT_OK(cai_array_fill(x, "\x07", slow, error));
  const cai_array *const both[] = {array, import};
  for (const cai_array *const each : both) {
    const std::uint64_t stream = cai_stream_value(own);
    cai_use use;
    ASSERT_OK(cai_use_begin(&use, &each, 1, stream, nullptr, error));
    ASSERT_OK(cai_use_end(&use, error));
  }
  EXPECT_TRUE(slow.is_pending());
}

// A dict of pinned memory says CUDA.
TEST_F(Addresses, TheDriverKnowsWhatTheHostMayUse) {
  for_both([](cai_memory *memory, unsigned char *host) {
    Array said(describe(memory).data, CAI_STREAM_NONE);
    Address found = 0;
    ASSERT_OK(cai_array_host(&said.array, &found, error));
    EXPECT_EQ(found, value(host));
  });
}

// Also by uses on the array's own stream, which need no order with a GPU.
TEST_F(Addresses, WorkOfTheHostIsFoundOnTheOwnStream) {
  for (const std::uint32_t kind : {CAI_KIND_PINNED, CAI_KIND_MAPPED, CAI_KIND_MANAGED_GLOBAL}) {
    SCOPED_TRACE(cai_kind_name(kind));
    const OwnStream own = make_stream(gpu0);
    cai_request wanted = request(kind, size);
    wanted.stream = own;
    cai_memory *made = nullptr;
    ASSERT_OK(cai_memory_alloc(gpu0, &wanted, &made, error));
    const OwnMemory memory(made);
    const OwnArray array = array_of(memory, {size});
    Array of_address(describe(memory).host, CAI_STREAM_NONE);
    of_address.array.device_type = CAI_DEVICE_CPU;
    of_address.array.device_id = 0;
    of_address.array.shape = &size;
    const Owned import(of_address.array);
    import->owner->flags |= CAI_OWNER_IMPORTED;
    unsigned char number = 7;
    for (const bool by_use : {false, true}) {
      Slow slow(true);
      ASSERT_OK(cai_array_fill(import, &number, slow, error));
      slow.let_go();
      if (by_use) {
        const cai_array *const arrays[] = {array};
        cai_use use;
        ASSERT_OK(cai_use_begin(&use, arrays, 1, array->stream, nullptr, error));
        EXPECT_FALSE(slow.is_pending());
        ASSERT_OK(cai_use_end(&use, error));
      }
      ASSERT_OK(cai_array_fill(array, &++number, own, error));
      EXPECT_FALSE(slow.is_pending());
      unsigned char byte = 0;
      ASSERT_OK(cai_array_first(array, &byte, error));
      EXPECT_EQ(byte, number);
    }
  }
}

TEST_F(Addresses, EitherIsValid) {
  for_both([](cai_memory *memory, unsigned char *host) {
    for (const std::uint64_t begin : {describe(memory).data, value(host)}) {
      for (const std::uint64_t start : {0, 1}) {
        ASSERT_OK(cai_memory_validate(begin + start, size - 1, gpu0, CAI_KIND_PINNED, error));
      }
      EXPECT_FAILS(
          CAI_ERR_BOUNDS, "leaves the allocation",
          cai_memory_validate(begin, 2 * std::uint64_t{4096}, gpu0, CAI_KIND_PINNED, error));
    }
  });
}

TEST_F(Addresses, TheyAreToldForViewsAndStrangers) {
  for_both([](cai_memory *memory, unsigned char *host) {
    const OwnArray array = array_of(memory, {size});
    const cai_slice back{0, 0, -1, CAI_SLICE_RANGE | CAI_SLICE_NO_START | CAI_SLICE_NO_STOP, 0};
    cai_array *view = nullptr;
    ASSERT_OK(cai_array_slice(array, &back, 1, &view, error));
    const OwnArray own(view);
    std::uint64_t found = 0;
    ASSERT_OK(cai_array_host(own, &found, error));
    EXPECT_EQ(found, value(host + size - 1));
    // With either address, and an owner that libcai does not know.
    cai_array foreign = *array.get();
    foreign.owner = nullptr;
    for (const std::uint64_t data : {array->data, value(host)}) {
      foreign.data = data;
      ASSERT_OK(cai_array_host(&foreign, &found, error));
      EXPECT_EQ(found, value(host));
    }
  });
}

TEST_F(Addresses, OnlyWhatTheHostMayUseHasOne) {
  const OwnMemory own = allocate(gpu0, CAI_KIND_DEFAULT, size);
  const OwnMemory managed = allocate(gpu0, CAI_KIND_MANAGED_GLOBAL, size);
  const OwnMemory none = allocate(cpu, CAI_KIND_DEFAULT, 0);
  const OwnArray of_own = array_of(own, {size}), of_managed = array_of(managed, {size});
  const OwnArray empty = array_of(none, {0});
  std::uint64_t found = 5;
  EXPECT_FAILS(CAI_ERR_UNSUPPORTED, "device's own", cai_array_host(of_own, &found, error));
  EXPECT_EQ(found, 5U);
  ASSERT_OK(cai_array_host(of_managed, &found, error));
  EXPECT_EQ(found, describe(managed).host);
  ASSERT_OK(cai_array_host(empty, &found, error));
  EXPECT_EQ(found, 0U);
}

TEST_F(Addresses, TensorsAndColumnsGoByTheHosts) {
  for_both([this](cai_memory *memory, unsigned char *host) {
    const OwnArray array = array_of(memory, {size});
    std::fill(host, host + size, 5);
    gpu().simcuda_reset_counts();
    DLManagedTensorVersioned *tensor = nullptr;
    ASSERT_OK(cai_dlpack_write(array, UINT64_MAX, &tensor, error));
    EXPECT_EQ(tensor->dl_tensor.data, static_cast<void *>(host));
    EXPECT_EQ(all_calls(), 0U) << "nothing needs a context, nor a driver";
    cai_array *back = nullptr;
    ASSERT_OK(cai_dlpack_own(tensor, 1, &back, error));
    const OwnArray own(back);
    std::uint64_t found = 0;
    ASSERT_OK(cai_array_host(own, &found, error));
    EXPECT_EQ(found, value(host));
    const unsigned char six = 6;  // by the GPU, which has the other address
    ASSERT_OK(cai_array_fill(own, &six, nullptr, error));
    ASSERT_OK(cai_array_sync_host(own, error));
    EXPECT_EQ(std::count(host, host + size, 6), size);

    const With with(primary[0]);
    ArrowSchema schema{};
    ArrowDeviceArray column{};
    ASSERT_OK(cai_arrow_write(array, 1, &schema, &column, error));
    EXPECT_EQ(column.array.buffers[1], static_cast<const void *>(host));
    column.array.release(&column.array);
    schema.release(&schema);
  });
}

// On a thread without a current context, stream 1 is of the context of the array's memory. The
// driver may say only that the call failed.
TEST_F(Addresses, AColumnWhereNoContextIsCurrent) {
  const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, size);
  const OwnArray array = array_of(memory, {size});
  const unsigned char seven = 7;
  const OwnStream stream = make_stream(gpu0);
  ASSERT_OK(cai_array_fill(array, &seven, stream, error));
  ArrowDeviceArray column{};
  MUST(gpu().simcuda_fail("cuPointerGetAttributes", 1, 999));
  EXPECT_FAILS(CAI_ERR_CUDA, "cuPointerGetAttributes",
               cai_arrow_write(array, 1, nullptr, &column, error));
  EXPECT_EQ(column.array.release, nullptr);
  ASSERT_OK(cai_arrow_write(array, 1, nullptr, &column, error));
  EXPECT_NE(column.sync_event, nullptr);
  column.array.release(&column.array);
}

// Nor is memory of others exported, if the driver fails to say where the host finds it.
TEST_F(Addresses, NeitherATensorNorAColumnIsMadeWithoutTheHosts) {
  const With with(primary[0]);
  void *host = nullptr;
  MUST(gpu().cuMemHostAlloc(&host, size, 0));
  Array pinned(reinterpret_cast<Address>(host), CAI_STREAM_NONE);
  pinned.array.device_type = CAI_DEVICE_CUDA_HOST;
  {
    const Owned array(pinned.array);
    DLManagedTensorVersioned *tensor = nullptr;
    MUST(gpu().simcuda_fail("cuPointerGetAttributes", 1, 999));
    EXPECT_FAILS(CAI_ERR_CUDA, "cuPointerGetAttributes",
                 cai_dlpack_write(array, UINT64_MAX, &tensor, error));
    EXPECT_EQ(tensor, nullptr);
    ArrowDeviceArray column{};
    MUST(gpu().simcuda_fail("cuPointerGetAttributes", 1, 999));
    EXPECT_FAILS(CAI_ERR_CUDA, "cuPointerGetAttributes",
                 cai_arrow_write(array, 1, nullptr, &column, error));
    EXPECT_EQ(column.array.release, nullptr);
    ASSERT_OK(cai_arrow_write(array, 1, nullptr, &column, error));
    EXPECT_EQ(column.array.buffers[1], host);
    column.array.release(&column.array);
  }
  MUST(gpu().cuMemFreeHost(host));
}

// Freed memory is not exported.
TEST_F(Addresses, TensorsAndColumnsAreNotOfWhatWasFreed) {
  for_both([this](cai_memory *memory, unsigned char *) {
    const OwnArray array = array_of(memory, {size});
    ASSERT_OK(cai_memory_free(memory, error));
    DLManagedTensorVersioned *tensor = nullptr;
    EXPECT_FAILS(CAI_ERR_STATE, "freed already",
                 cai_dlpack_write(array, UINT64_MAX, &tensor, error));
    EXPECT_EQ(tensor, nullptr);
    const With with(primary[0]);
    ArrowDeviceArray column{};
    EXPECT_FAILS(CAI_ERR_STATE, "freed already",
                 cai_arrow_write(array, 1, nullptr, &column, error));
    EXPECT_EQ(column.array.release, nullptr);
  });
}

TEST_F(Addresses, CopiesOntoItselfAreSeenByEither) {
  const OwnMemory memory = registered();
  const OwnArray array = array_of(memory, {size});
  cai_array plain = *array.get();  // the host's bytes, as a foreign array of them
  plain.owner = nullptr;
  plain.device_type = CAI_DEVICE_CPU;
  plain.device_id = 0;
  plain.stream_kind = CAI_STREAM_NONE;
  plain.stream = 0;
  plain.data = describe(memory).host;
  const OwnStream stream = make_stream(cpu, CAI_MODE_SYNC);
  EXPECT_FAILS(CAI_ERR_LAYOUT, "overlap", cai_array_copy(array, &plain, stream, error));
}

TEST_F(Addresses, MemoryOfAStrangersArrayHasBoth) {
  alignas(64) unsigned char bytes[size] = {};
  const With with(primary[0]);
  MUST(gpu().cuMemHostRegister_v2(bytes, size, 0));
  Address data = 0;
  MUST(gpu().cuMemHostGetDevicePointer_v2(&data, bytes, 0));
  for (const bool backwards : {false, true}) {
    SCOPED_TRACE(backwards);
    cai_array array{};
    array.abi_major = CAI_ABI_MAJOR;
    array.abi_minor = CAI_ABI_MINOR;
    array.version = 3;
    array.stream_kind = CAI_STREAM_NONE;
    array.device_type = CAI_DEVICE_CUDA_HOST;
    array.dtype = bytes_type;
    const std::int64_t extent = size, step = backwards ? -1 : 1;
    array.ndim = 1;
    array.shape = &extent;
    array.strides = &step;
    array.data = backwards ? data + size - 1 : data;
    cai_array *owned = nullptr;
    ASSERT_OK(cai_array_own(&array, nullptr, nullptr, &owned, error));
    const OwnArray own(owned);
    cai_memory *found = nullptr;
    ASSERT_OK(cai_memory_of(own, &found, nullptr, error));
    const OwnMemory memory(found);
    EXPECT_EQ(describe(memory).data, data);
    EXPECT_EQ(describe(memory).host, value(static_cast<void *>(bytes)));
  }
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  MUST(gpu().cuMemHostUnregister(bytes));
}

}  // namespace
}  // namespace test::addresses_tests
