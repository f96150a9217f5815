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
  EXPECT(cai_array_locate(&bytes.array, &where, NULL), CAI_OK);
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
  OK(cuMemAlloc(&device, LARGE));
  OK(cuMemAllocAsync(&pooled, SIZE, LEGACY));
  OK(cuStreamSynchronize(LEGACY));
  OK(cuMemAllocManaged(&managed, SIZE, 1));
  OK(cuMemHostAlloc(&pinned, SIZE, 2));
  OK(cuMemHostRegister(registered, PAGE, 2));
  OK(cuMemHostGetDevicePointer(&of_registered, registered, 0));

  cai_location where = locate(device + 8);
  EXPECT(where.device_type, CAI_DEVICE_CUDA);
  EXPECT(where.device_id, 0);
  EXPECT(where.flags, 0);
  EXPECT(where.base == device, 1);
  EXPECT(where.device_pointer == device + 8, 1);
  EXPECT(locate(pooled).device_type, CAI_DEVICE_CUDA);
  where = locate(managed);
  EXPECT(where.device_type, CAI_DEVICE_CUDA_MANAGED);
  EXPECT(where.flags, CAI_LOCATION_HOST_ACCESSIBLE | CAI_LOCATION_MANAGED);
  where = locate(address_of(pinned));
  EXPECT(where.device_type, CAI_DEVICE_CUDA_HOST);
  EXPECT(where.flags, CAI_LOCATION_HOST_ACCESSIBLE);
  where = locate(of_registered);
  EXPECT(where.device_type, CAI_DEVICE_CUDA_HOST);
  EXPECT(where.device_pointer == of_registered, 1);

  EXPECT(refusal(device + LARGE - SIZE / 2), CAI_ERR_BOUNDS);
  EXPECT(refusal(address_of(unknown)), CAI_ERR_DEVICE);
  return 0;
}
