// SPDX-License-Identifier: BSD-3-Clause
// Rule: What was advised of managed memory, and where it was prefetched to last, can be asked for.
// Source: cuda.h, cuMemAdvise and cuMemRangeGetAttribute
#include "driver_test.h"

enum { READ_MOSTLY = 1, PREFERRED = 2, ACCESSED_BY = 3, PREFETCHED = 4 };
enum { PREFERRED_TYPE = 5, PREFETCHED_TYPE = 7, NOWHERE = 0, OF_DEVICE = 1, OF_HOST = 2 };
enum { SET_MOSTLY = 1, UNSET_MOSTLY, SET_PREFERRED, UNSET_PREFERRED, SET_ACCESSED, UNSET_ACCESSED };
enum { CPU = -1, NO_DEVICE = -2, SIZE = 1 << 16 };

static CUdeviceptr data;

// What a driver says since CUDA 12.2.
static void must_be_at(int of_type, int type, int id) {
  USE(cuMemRangeGetAttributes, 8000, void **, size_t *, int *, size_t, CUdeviceptr, size_t);
  int said[] = {99, 99}, attributes[] = {of_type, of_type + 1};
  size_t sizes[] = {sizeof *said, sizeof *said};
  if (!is_since(12020)) return;
  MUST(cuMemRangeGetAttributes((void *[]){said, said + 1}, sizes, attributes, 2, data, SIZE));
  MUST_BE(said[0], type);
  if (type == OF_DEVICE) MUST_BE(said[1], id);  // else it says nothing
}

static int asked(int attribute) {
  USE(cuMemRangeGetAttribute, 8000, void *, size_t, int, CUdeviceptr, size_t);
  int value = 99;
  MUST(cuMemRangeGetAttribute(&value, sizeof value, attribute, data, SIZE));
  return value;
}

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  USE(cuMemAdvise, 8000, CUdeviceptr, size_t, int, CUdevice);
  USE(cuMemPrefetchAsync, 8000, CUdeviceptr, size_t, CUdevice, CUstream);
  USE(cuMemRangeGetAttribute, 8000, void *, size_t, int, CUdeviceptr, size_t);
  USE(cuMemRangeGetAttributes, 8000, void **, size_t *, int *, size_t, CUdeviceptr, size_t);
  USE(cuDeviceGetAttribute, 2000, int *, int, CUdevice);
  enum { CONCURRENT = 89 };
  CUdeviceptr plain;
  int concurrent = 0, value = 0, devices[3] = {9, 9, 9}, mostly = 9, preferred = 9;
  MUST(cuDeviceGetAttribute(&concurrent, CONCURRENT, 0));
  if (!concurrent) {
    printf("skipped: host and device cannot use managed memory at once\n");
    return 77;
  }
  MUST(cuMemAllocManaged(&data, SIZE, 1));
  MUST(cuMemAlloc(&plain, SIZE));
  MUST_BE(asked(READ_MOSTLY), 0);
  MUST_BE(asked(PREFERRED), NO_DEVICE);
  MUST_BE(asked(PREFETCHED), NO_DEVICE);
  MUST(cuMemAdvise(data, SIZE, SET_MOSTLY, 0));
  MUST_BE(asked(READ_MOSTLY), 1);
  MUST(cuMemAdvise(data, SIZE, UNSET_MOSTLY, 0));
  MUST_BE(asked(READ_MOSTLY), 0);
  MUST(cuMemAdvise(data, SIZE, SET_PREFERRED, CPU));
  MUST_BE(asked(PREFERRED), CPU);
  must_be_at(PREFERRED_TYPE, OF_HOST, 0);
  MUST(cuMemAdvise(data, SIZE, SET_PREFERRED, 0));
  MUST_BE(asked(PREFERRED), 0);
  must_be_at(PREFERRED_TYPE, OF_DEVICE, 0);
  must_be_at(PREFETCHED_TYPE, NOWHERE, 0);
  MUST(cuMemAdvise(data, SIZE, SET_ACCESSED, 0));
  MUST(cuMemRangeGetAttribute(devices, sizeof devices, ACCESSED_BY, data, SIZE));
  MUST_BE(devices[0], 0);
  MUST_BE(devices[1], NO_DEVICE);
  MUST_BE(devices[2], NO_DEVICE);
  MUST(cuMemAdvise(data, SIZE, UNSET_ACCESSED, 0));
  MUST(cuMemRangeGetAttribute(devices, sizeof devices, ACCESSED_BY, data, SIZE));
  MUST_BE(devices[0], NO_DEVICE);
  MUST(cuMemPrefetchAsync(data, SIZE, 0, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST_BE(asked(PREFETCHED), 0);
  must_be_at(PREFETCHED_TYPE, OF_DEVICE, 0);
  MUST(cuMemPrefetchAsync(data, SIZE, CPU, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST_BE(asked(PREFETCHED), CPU);
  must_be_at(PREFETCHED_TYPE, OF_HOST, 0);
  void *values[] = {&mostly, &preferred};
  size_t sizes[] = {sizeof mostly, sizeof preferred};
  int attributes[] = {READ_MOSTLY, PREFERRED};
  MUST(cuMemRangeGetAttributes(values, sizes, attributes, 2, data, SIZE));
  MUST_BE(mostly, 0);
  MUST_BE(preferred, 0);
  MUST(cuMemAdvise(data, SIZE, UNSET_PREFERRED, 0));
  MUST_BE(asked(PREFERRED), NO_DEVICE);

  MUST_BE(cuMemRangeGetAttribute(&value, sizeof value, READ_MOSTLY, plain, SIZE), INVALID_VALUE);
  MUST_BE(cuMemRangeGetAttribute(&value, 3, READ_MOSTLY, data, SIZE), INVALID_VALUE);
  MUST_BE(cuMemRangeGetAttribute(&value, 0, READ_MOSTLY, data, SIZE), INVALID_VALUE);
  MUST_BE(cuMemRangeGetAttribute(devices, 8, READ_MOSTLY, data, SIZE), INVALID_VALUE);
  MUST_BE(cuMemRangeGetAttribute(NULL, sizeof value, READ_MOSTLY, data, SIZE), INVALID_VALUE);
  MUST_BE(cuMemRangeGetAttribute(&value, sizeof value, 99, data, SIZE), INVALID_VALUE);
  MUST_BE(cuMemRangeGetAttributes(values, sizes, attributes, 0, data, SIZE), INVALID_VALUE);
  MUST_BE(cuMemAdvise(data, SIZE, 99, 0), INVALID_VALUE);
  MUST_BE(cuMemAdvise(data, SIZE, SET_PREFERRED, 1000), INVALID_DEVICE);
  MUST_BE(cuMemPrefetchAsync(data, SIZE, 1000, LEGACY), INVALID_DEVICE);
  MUST(cuMemFree(data));
  MUST(cuMemFree(plain));
  return 0;
}
