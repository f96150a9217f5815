// SPDX-License-Identifier: BSD-3-Clause
// cai_array_locate() for every kind of memory, and at its bounds.
#include <algorithm>

#include "gpu.hpp"

namespace test::locate_tests {
namespace {

class Locate : public OnGpu {
 protected:
  static cai_status locate(const Array &array, cai_location &where, cai_error *error = nullptr) {
    where = {};
    where.struct_size = sizeof where;
    return cai_array_locate(&array.array, &where, error);
  }

  static cai_location located(const Array &array) {
    cai_location where{};
    cai_error error{};
    EXPECT_EQ(locate(array, where, &error), CAI_OK) << error.message;
    return where;
  }
};

TEST_F(Locate, DeviceMemory) {
  const Address data = memory();
  const Array array(data + 8, CAI_STREAM_NONE);
  Array part(data + 8, CAI_STREAM_NONE);
  part.shape[0] = count - 8;
  gpu().simcuda_reset_counts();
  const cai_location where = located(part);
  EXPECT_EQ(calls("cuPointerGetAttributes"), 1U);
  EXPECT_EQ(where.flags, 0U);
  EXPECT_EQ(where.device_type, CAI_DEVICE_CUDA);
  EXPECT_EQ(where.device_id, 0);
  EXPECT_EQ(where.context, value(context0));
  EXPECT_EQ(where.device_pointer, data + 8);
  EXPECT_EQ(where.base, data);
  EXPECT_GE(where.size, static_cast<std::uint64_t>(count));
}

TEST_F(Locate, OtherDevice) {
  const Array array(memory(context1), CAI_STREAM_NONE);
  const cai_location where = located(array);
  EXPECT_EQ(where.device_id, 1);
  EXPECT_EQ(where.context, value(context1));
  EXPECT_EQ(where.base, array.array.data);
}

TEST_F(Locate, NoCurrentContext) {
  const Array here(memory(), CAI_STREAM_NONE);
  const Array foreign(0x1000, CAI_STREAM_NONE);
  Handle popped = nullptr;
  MUST(gpu().cuCtxPopCurrent_v2(&popped));
  const cai_location where = located(here);
  EXPECT_EQ(where.device_pointer, here.array.data);
  EXPECT_EQ(where.context, value(context0));
  cai_location none{};
  EXPECT_EQ(locate(foreign, none), CAI_ERR_DEVICE);
  EXPECT_EQ(current(), nullptr);
  MUST(gpu().cuCtxPushCurrent_v2(context0));
}

TEST_F(Locate, ManagedMemory) {
  Address data = 0;
  MUST(gpu().cuMemAllocManaged(&data, static_cast<std::size_t>(count), 1));
  const Array array(data, CAI_STREAM_NONE);
  const cai_location where = located(array);
  EXPECT_EQ(where.device_type, CAI_DEVICE_CUDA_MANAGED);
  EXPECT_EQ(where.flags,
            static_cast<unsigned>(CAI_LOCATION_HOST_ACCESSIBLE | CAI_LOCATION_MANAGED));
  EXPECT_EQ(where.device_pointer, data);
  EXPECT_EQ(where.base, data);
  MUST(gpu().cuMemFree_v2(data));
}

TEST_F(Locate, PinnedMemory) {
  void *data = nullptr;
  MUST(gpu().cuMemHostAlloc(&data, static_cast<std::size_t>(count), 0));
  Array array(reinterpret_cast<std::uintptr_t>(data), CAI_STREAM_NONE);
  array.array.device_type = CAI_DEVICE_CUDA_HOST;
  const cai_location where = located(array);
  EXPECT_EQ(where.device_type, CAI_DEVICE_CUDA_HOST);
  EXPECT_EQ(where.flags, static_cast<unsigned>(CAI_LOCATION_HOST_ACCESSIBLE));
  EXPECT_EQ(where.device_pointer, array.array.data);
  Array longer(array.array.data, CAI_STREAM_NONE);
  longer.shape[0] = static_cast<std::int64_t>(where.size) + 1;
  cai_location none{};
  EXPECT_EQ(locate(longer, none), CAI_ERR_BOUNDS);
  MUST(gpu().cuMemFreeHost(data));
}

// Its host uses an array of pinned memory where the driver says, if the array comes with the
// device's address.
TEST_F(Locate, PinnedMemoryForTheHost) {
  void *data = nullptr;
  MUST(gpu().cuMemHostAlloc(&data, static_cast<std::size_t>(count), 2));
  Address on_device = 0;
  MUST(gpu().cuMemHostGetDevicePointer_v2(&on_device, data, 0));
  const auto host = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(data));
  for (const Address address : {on_device, Address{host}}) {
    Array array(address, CAI_STREAM_NONE);
    array.array.device_type = CAI_DEVICE_CUDA_HOST;
    std::uint64_t found = 0;
    cai_error error{};
    EXPECT_EQ(cai_array_host(&array.array, &found, &error), CAI_OK) << error.message;
    EXPECT_EQ(found, host);
  }
  MUST(gpu().cuMemFreeHost(data));
}

TEST_F(Locate, RegisteredMemory) {
  alignas(4096) static unsigned char bytes[4096];
  MUST(gpu().cuMemHostRegister_v2(bytes, sizeof bytes, 2));
  Address device = 0;
  MUST(gpu().cuMemHostGetDevicePointer_v2(&device, bytes, 0));
  const Array on_host(reinterpret_cast<std::uintptr_t>(bytes) + 16, CAI_STREAM_NONE);
  cai_location where = located(on_host);
  EXPECT_EQ(where.device_type, CAI_DEVICE_CUDA_HOST);
  EXPECT_EQ(where.flags, static_cast<unsigned>(CAI_LOCATION_HOST_ACCESSIBLE));
  EXPECT_EQ(where.device_pointer, device + 16);
  EXPECT_EQ(where.size, sizeof bytes);

  const Array on_device(device + 16, CAI_STREAM_NONE);
  where = located(on_device);
  EXPECT_EQ(where.device_pointer, device + 16);
  // If the two addresses differ, the host cannot use the device's.
  const bool one_address = device == reinterpret_cast<std::uintptr_t>(bytes);
  EXPECT_EQ(where.flags, one_address ? static_cast<unsigned>(CAI_LOCATION_HOST_ACCESSIBLE) : 0U);

  Array longer(on_host.array.data, CAI_STREAM_NONE);
  longer.shape[0] = sizeof bytes - 16;
  EXPECT_EQ(locate(longer, where), CAI_OK);
  longer.shape[0] += 1;
  EXPECT_EQ(locate(longer, where), CAI_ERR_BOUNDS);
  MUST(gpu().cuMemHostUnregister(bytes));
}

TEST_F(Locate, PoolMemory) {
  Address data = 0;
  MUST(gpu().cuMemAllocAsync(&data, static_cast<std::size_t>(count), nullptr));
  MUST(gpu().cuCtxSynchronize());
  const Array array(data, CAI_STREAM_NONE);
  const cai_location where = located(array);
  EXPECT_EQ(where.device_type, CAI_DEVICE_CUDA);
  EXPECT_EQ(where.context, 0U);
  EXPECT_EQ(where.device_pointer, data);
  MUST(gpu().cuMemFreeAsync(data, nullptr));
  MUST(gpu().cuCtxSynchronize());
}

TEST_F(Locate, Bounds) {
  const Address data = memory();
  cai_location where = located(Array(data, CAI_STREAM_NONE));
  const auto size = static_cast<std::int64_t>(where.size);
  const auto bounds = [&](Address first, std::int64_t extent, std::int64_t stride) {
    Array array(first, CAI_STREAM_NONE);
    array.shape[0] = extent;
    array.strides[0] = stride;
    cai_error error{};
    const cai_location before{sizeof before, 7, 7, 7, 7, 7, 7, 7};
    cai_location out = before;
    const cai_status status = cai_array_locate(&array.array, &out, &error);
    if (status != CAI_OK) {
      EXPECT_EQ(std::memcmp(&out, &before, sizeof out), 0);
      EXPECT_NE(std::string(error.message).find("0x"), std::string::npos);
    }
    return status;
  };
  EXPECT_EQ(bounds(data, size, 1), CAI_OK);
  EXPECT_EQ(bounds(data, size + 1, 1), CAI_ERR_BOUNDS);
  EXPECT_EQ(bounds(data + 1, size, 1), CAI_ERR_BOUNDS);
  EXPECT_EQ(bounds(data + static_cast<Address>(size) - 1, size, -1), CAI_OK);
  EXPECT_EQ(bounds(data + static_cast<Address>(size) - 1, size + 1, -1), CAI_ERR_BOUNDS);
  EXPECT_EQ(bounds(data, 2, -1), CAI_ERR_BOUNDS);
  EXPECT_EQ(bounds(data, 1'000'000, 0), CAI_OK);
  EXPECT_EQ(bounds(data, 2, size - 1), CAI_OK);
  EXPECT_EQ(bounds(data, 2, size), CAI_ERR_BOUNDS);
  EXPECT_EQ(bounds(data, 2, INT64_MAX / 2), CAI_ERR_BOUNDS);
  EXPECT_EQ(bounds(data, 2, -(1 << 30)), CAI_ERR_BOUNDS);
}

TEST_F(Locate, UnknownPointers) {
  cai_location where{};
  cai_error error{};
  const Array foreign(0x1000, CAI_STREAM_NONE);
  EXPECT_EQ(locate(foreign, where, &error), CAI_ERR_DEVICE);
  EXPECT_NE(std::string(error.message).find("0x1000"), std::string::npos) << error.message;
  EXPECT_EQ(error.entry, CAI_ENTRY_DATA);
  int on_stack = 0;
  const Array host(reinterpret_cast<std::uintptr_t>(&on_stack), CAI_STREAM_NONE);
  EXPECT_EQ(locate(host, where), CAI_ERR_DEVICE);
  const Address data = memory();
  MUST(gpu().cuMemFree_v2(data));
  const Array freed(data, CAI_STREAM_NONE);
  EXPECT_EQ(locate(freed, where), CAI_ERR_DEVICE);
}

TEST_F(Locate, FillsNoMoreThanTheCallerHas) {
  const Array array(memory(), CAI_STREAM_NONE);
  struct {
    cai_location where;
    std::uint64_t after;
  } out{};
  for (const std::uint32_t size : {8U, 16U, 24U, 48U, 56U}) {
    std::memset(&out, 0xab, sizeof out);
    out.where.struct_size = size;
    EXPECT_EQ(cai_array_locate(&array.array, &out.where, nullptr), CAI_OK);
    EXPECT_EQ(out.where.struct_size, size);
    const auto *bytes = reinterpret_cast<const unsigned char *>(&out);
    for (std::size_t i = std::min<std::size_t>(size, sizeof(cai_location)); i < sizeof out; ++i) {
      EXPECT_EQ(bytes[i], 0xab);
    }
    if (size >= 16) {
      EXPECT_EQ(out.where.device_id, 0);
    }
  }
}

}  // namespace
}  // namespace test::locate_tests
