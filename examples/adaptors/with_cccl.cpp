// SPDX-License-Identifier: BSD-3-Clause
// CCCL's memory resources, from the libcai manager of the device.
#include <cai/cccl.hpp>

#include <cstdio>

int main() {
  cuda::mr::any_resource<cuda::mr::device_accessible> resource{cai::memory_resource{0}};
  const cuda::stream_ref stream{cudaStreamLegacy};
  void *const block = resource.allocate(stream, 4096, 256);
  std::printf("4096 bytes at %p\n", block);
  resource.deallocate(stream, block, 4096, 256);
}
