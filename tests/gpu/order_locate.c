// SPDX-License-Identifier: BSD-3-Clause
// cai_array_locate() tells device, pool, managed, pinned and registered memory apart, and refuses
// what leaves its allocation and what the driver does not know.
#include "../driver/attributes.h"
#include "order.h"

static cai_location locate(CUdeviceptr data) {
  Bytes bytes;
  cai_location where;
  memset(&where, 0, sizeof where);
  where.struct_size = sizeof where;
  bytes_of(&bytes, data, LEGACY);
  MUST_BE(cai_array_locate(&bytes.array, &where, NULL), CAI_OK);
  return where;
}

static cai_status refusal(CUdeviceptr data) {
  Bytes bytes;
  cai_location where = {.struct_size = sizeof where};
  bytes_of(&bytes, data, LEGACY);
  return cai_array_locate(&bytes.array, &where, NULL);
}

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemHostRegister, 6050, void *, size_t, unsigned);
  USE(cuMemHostGetDevicePointer, 3020, CUdeviceptr *, void *, unsigned);
  enum { LARGE = 2 << 20 };
  static unsigned char unknown[SIZE];
  unsigned char *registered = new_page();
  CUdeviceptr device, pooled, managed, of_registered;
  void *pinned;
  MUST(cuMemAlloc(&device, LARGE));
  MUST(cuMemAllocAsync(&pooled, SIZE, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemAllocManaged(&managed, SIZE, 1));
  MUST(cuMemHostAlloc(&pinned, SIZE, 2));
  MUST(cuMemHostRegister(registered, PAGE, 2));
  MUST(cuMemHostGetDevicePointer(&of_registered, registered, 0));

  cai_location where = locate(device + 8);
  MUST_BE(where.device_type, CAI_DEVICE_CUDA);
  MUST_BE(where.device_id, 0);
  MUST_BE(where.flags, 0);
  MUST_BE(where.base == device, 1);
  MUST_BE(where.device_pointer == device + 8, 1);
  MUST_BE(locate(pooled).device_type, CAI_DEVICE_CUDA);
  where = locate(managed);
  MUST_BE(where.device_type, CAI_DEVICE_CUDA_MANAGED);
  MUST_BE(where.flags, CAI_LOCATION_HOST_ACCESSIBLE | CAI_LOCATION_MANAGED);
  where = locate(address_of(pinned));
  MUST_BE(where.device_type, CAI_DEVICE_CUDA_HOST);
  MUST_BE(where.flags, CAI_LOCATION_HOST_ACCESSIBLE);
  where = locate(of_registered);
  MUST_BE(where.device_type, CAI_DEVICE_CUDA_HOST);
  MUST_BE(where.device_pointer == of_registered, 1);

  MUST_BE(refusal(device + LARGE - SIZE / 2), CAI_ERR_BOUNDS);
  MUST_BE(refusal(address_of(unknown)), CAI_ERR_DEVICE);
  return 0;
}
