// SPDX-License-Identifier: BSD-3-Clause
// Rule: Several ranges of managed memory are prefetched, or discarded, at once, each range to its
// place.
// Source: cuda.h, cuMemPrefetchBatchAsync, cuMemDiscardBatchAsync
#include "graphs.h"

enum { PREFETCHED = 4, CPU = -1, SIZE = 1 << 16, RANGES = 3 };

static int place_of(CUdeviceptr data) {
  USE(cuMemRangeGetAttribute, 8000, void *, size_t, int, CUdeviceptr, size_t);
  int value = 99;
  MUST(cuMemRangeGetAttribute(&value, sizeof value, PREFETCHED, data, SIZE));
  return value;
}

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  USE(cuDeviceGetAttribute, 2000, int *, int, CUdevice);
  USE(cuMemPrefetchBatchAsync, 13000, CUdeviceptr *, size_t *, size_t, Location *, size_t *, size_t,
      unsigned long long, CUstream);
  USE(cuMemDiscardBatchAsync, 13000, CUdeviceptr *, size_t *, size_t, unsigned long long, CUstream);
  USE(cuMemDiscardAndPrefetchBatchAsync, 13000, CUdeviceptr *, size_t *, size_t, Location *,
      size_t *, size_t, unsigned long long, CUstream);
  enum { CONCURRENT = 89 };
  CUdeviceptr data[RANGES], plain;
  CUstream stream;
  int concurrent = 0;
  size_t sizes[RANGES] = {SIZE, SIZE, SIZE}, first[2] = {0, 1};
  Location places[3] = {{2, 0}, {1, 0}, {2, 0}};
  MUST(cuDeviceGetAttribute(&concurrent, CONCURRENT, 0));
  if (!concurrent) {
    printf("skipped: host and device cannot use managed memory at once\n");
    return 77;
  }
  for (int i = 0; i < RANGES; ++i) MUST(cuMemAllocManaged(&data[i], SIZE, 1));
  MUST(cuMemAlloc(&plain, SIZE));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemPrefetchBatchAsync(data, sizes, RANGES, places, first, 2, 0, stream));
  MUST(cuStreamSynchronize(stream));
  MUST_BE(place_of(data[0]), CPU);
  MUST_BE(place_of(data[1]), 0);
  MUST_BE(place_of(data[2]), 0);
  first[1] = 2;  // the first place has two
  MUST(cuMemPrefetchBatchAsync(data, sizes, RANGES, places, first, 2, 0, stream));
  MUST_BE(place_of(data[1]), CPU);
  MUST_BE(place_of(data[2]), 0);
  first[1] = 1;
  MUST(cuMemDiscardAndPrefetchBatchAsync(data, sizes, RANGES, places, first, 1, 0, stream));
  MUST(cuStreamSynchronize(stream));
  MUST_BE(place_of(data[2]), CPU);

  // Discarded memory may hold anything, and later writes stay.
  unsigned char byte = 0;
  MUST(cuMemDiscardBatchAsync(data, sizes, RANGES, 0, stream));
  MUST(cuMemsetD8Async(data[1], 5, SIZE, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(&byte, data[1] + SIZE - 1, 1));
  MUST_BE(byte, 5);

  first[0] = 1;
  MUST_BE(cuMemPrefetchBatchAsync(data, sizes, RANGES, places, first, 1, 0, stream), INVALID_VALUE);
  first[0] = first[1] = 0;  // it is not said which of them gets the range
  MUST(cuMemPrefetchBatchAsync(data, sizes, RANGES, places, first, 2, 0, stream));
  MUST(cuStreamSynchronize(stream));
  first[0] = 0;
  size_t descending[] = {0, 2, 1};
  MUST_BE(cuMemPrefetchBatchAsync(data, sizes, RANGES, places, descending, 3, 0, stream),
          INVALID_VALUE);
  first[1] = RANGES;
  MUST_BE(cuMemPrefetchBatchAsync(data, sizes, RANGES, places, first, 2, 0, stream), INVALID_VALUE);
  MUST_BE(cuMemPrefetchBatchAsync(data, sizes, 1, places, first, 2, 0, stream), INVALID_VALUE);
  MUST_BE(cuMemPrefetchBatchAsync(data, sizes, 1, places, first, 0, 0, stream), INVALID_VALUE);
  MUST_BE(cuMemPrefetchBatchAsync(data, sizes, 1, NULL, first, 1, 0, stream), INVALID_VALUE);
  MUST_BE(cuMemPrefetchBatchAsync(data, sizes, 1, places, first, 1, 1, stream), INVALID_VALUE);
  MUST_BE(cuMemPrefetchBatchAsync(data, sizes, 1, places, first, 1, 0, NULL), INVALID_VALUE);
  MUST_BE(cuMemDiscardBatchAsync(NULL, sizes, 1, 0, stream), INVALID_VALUE);
  MUST_BE(cuMemDiscardBatchAsync(data, NULL, 1, 0, stream), INVALID_VALUE);
  MUST_BE(cuMemDiscardBatchAsync(&plain, sizes, 1, 0, stream), INVALID_VALUE);
  sizes[1] = SIZE + 1;
  MUST_BE(cuMemDiscardBatchAsync(data, sizes, 2, 0, stream), INVALID_VALUE);
  return 0;
}
