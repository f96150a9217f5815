// SPDX-License-Identifier: BSD-3-Clause
// What copies take and refuse beyond their rules: sizes of 0, places that are found by address
// alone, levels, what does not fit; and memory of the host on both sides.
#include "arrays.h"

enum { UNIFIED = 4, SIZE = 64 };

static void check_shapes(void) {
  USE_MEMORY;
  USE_ARRAYS;
  CUdeviceptr from, to;
  unsigned char bytes[SIZE] = {0};
  MUST(cuMemAlloc(&from, SIZE));
  MUST(cuMemAlloc(&to, SIZE));
  for (int i = 0; i < SIZE; ++i) bytes[i] = (unsigned char)i;
  MUST(cuMemcpyHtoD(from, bytes, SIZE));

  // No rows or no slices: nothing is looked at.
  const Copy2D no_rows = {{.type = DEVICE}, {.type = DEVICE}, 8, 0};
  MUST(cuMemcpy2D(&no_rows));
  Copy3D nothing = {{.type = DEVICE}, {.type = DEVICE}, 8, 0, 1};
  MUST(cuMemcpy3D(&nothing));
  nothing.height = 1;
  nothing.depth = 0;
  MUST(cuMemcpy3D(&nothing));

  // The address says where it is.
  const Copy2D by_address = {
      {.type = UNIFIED, .device = from, .pitch = 16}, {.type = UNIFIED, .device = to}, 8, 1};
  MUST(cuMemcpy2D(&by_address));
  memset(bytes, 0, SIZE);
  MUST(cuMemcpyDtoH(bytes, to, 8));
  MUST_BE(bytes[7], 7);

  // A pitch of 0 is that of rows without a gap, a height of 0 that of such slices.
  Copy2D rows = {
      {.type = DEVICE, .device = from, .pitch = 16}, {.type = DEVICE, .device = to}, 8, 2};
  MUST(cuMemcpy2D(&rows));
  MUST(cuMemcpyDtoH(bytes, to, 16));
  MUST_BE(bytes[7] == 7 && bytes[8] == 16 && bytes[15] == 23, 1);
  // Upwards is impossible: an H100 does it anyway, but the manual forbids it.
  // Nor may a pitch be more than the device's attribute says.
  rows.from.pitch = (size_t)1 << 31;
  MUST_BE(cuMemcpy2D(&rows), INVALID_VALUE);
  rows.from.pitch = (size_t)-8;
  rows.from.device = from + 32;
  MUST_BE(cuMemcpy2D(&rows), INVALID_VALUE);
  const Copy3D good = {{.type = DEVICE, .device = from, .pitch = 8, .height = 2},
                       {.type = DEVICE, .device = to, .pitch = 8, .height = 2},
                       8,
                       2,
                       2};
  MUST(cuMemcpy3D(&good));
  Copy3D copy = good;
  copy.to.height = 0;
  MUST(cuMemcpy3D(&copy));
  copy = good;
  copy.from.level = 1;  // which nobody looks at where there are no levels
  MUST(cuMemcpy3D(&copy));
  copy = good;
  copy.to.level = 1;
  MUST(cuMemcpy3D(&copy));
  copy = good;
  copy.from.height = (size_t)1 << 61;  // slices 2^64 bytes apart, which an H100's driver takes
  MUST_BE(cuMemcpy3D(&copy), INVALID_VALUE);
  // Beyond the end of the address space, by x or by z. An H100's driver wraps around, and copies
  // what is before `from`: that belongs to no one, and fails here.
  copy = good;
  copy.from.x = SIZE_MAX - 4;
  MUST_BE(cuMemcpy3D(&copy), INVALID_VALUE);
  copy = good;
  copy.from.z = SIZE_MAX / 2;
  MUST_BE(cuMemcpy3D(&copy), INVALID_VALUE);

  // An array ends in all three dimensions.
  const Array3DDescriptor cube = {8, 2, 2, UINT8, 1, 0};
  CUarray array;
  MUST(cuArray3DCreate(&array, &cube));
  const Copy3D into = {{.type = DEVICE, .device = from, .pitch = 8, .height = 2},
                       {.type = ARRAY, .array = array},
                       8,
                       2,
                       2};
  MUST(cuMemcpy3D(&into));
  for (int beyond = 0; beyond < 3; ++beyond) {
    copy = into;
    *(beyond == 0 ? &copy.to.x : beyond == 1 ? &copy.to.y : &copy.to.z) = 1;
    MUST_BE(cuMemcpy3D(&copy), INVALID_VALUE);
  }
  MUST(cuArrayDestroy(array));
  MUST(cuMemFree(to));
  MUST(cuMemFree(from));
}

// With no bytes to copy, addresses mean nothing.
static void check_nothing(void) {
  USE(cuMemcpy, 4000, CUdeviceptr, CUdeviceptr, size_t);
  USE(cuMemcpyAsync, 4000, CUdeviceptr, CUdeviceptr, size_t, CUstream);
  USE(cuMemcpyHtoDAsync, 3020, CUdeviceptr, const void *, size_t, CUstream);
  MUST(cuMemcpy(1, 2, 0));
  MUST(cuMemcpyAsync(1, 2, 0, LEGACY));
  MUST(cuMemcpyHtoDAsync(3, NULL, 0, LEGACY));
  MUST_BE(cuMemcpy(0, 0, 1), INVALID_VALUE);
}

// From host to host a copy has been done when it returns, whatever its form and memory.
static void check_host_to_host(void) {
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemFreeHost, 2000, void *);
  USE(cuMemcpyAsync, 4000, CUdeviceptr, CUdeviceptr, size_t, CUstream);
  USE(cuMemcpyHtoDAsync, 3020, CUdeviceptr, const void *, size_t, CUstream);
  static unsigned char mine[SIZE] = "mine", other[SIZE];
  CUdeviceptr data;
  CUgraph graph = NULL;
  CUgraphExec exec;
  CUstream stream;
  void *locked;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemHostAlloc(&locked, SIZE, 0));
  MUST(cuMemcpyAsync((uintptr_t)locked, (uintptr_t)mine, SIZE, stream));
  MUST_BE(strcmp(locked, "mine"), 0);
  MUST(cuMemcpyAsync((uintptr_t)other, (uintptr_t)locked, SIZE, stream));
  MUST_BE(strcmp((char *)other, "mine"), 0);

  // In a capture nothing is read before the launch.
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST(cuMemcpyHtoDAsync(data, mine, SIZE, stream));
  MUST(cuMemcpyAsync((uintptr_t)other, data, SIZE, stream));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  strcpy((char *)mine, "late");
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  MUST_BE(strcmp((char *)other, "late"), 0);
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
  MUST(cuMemFree(data));
  MUST(cuMemFreeHost(locked));
  MUST(cuStreamDestroy(stream));
}

// A node does something: it has a size.
static void check_nodes(CUcontext context) {
  USE_MEMORY;
  USE_GRAPHS;
  typedef struct {
    CUdeviceptr to;
    size_t pitch;
    unsigned value, element;
    size_t width, height;
  } Fill;
  USE(cuGraphAddMemcpyNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
      const Copy3D *, CUcontext);
  USE(cuGraphAddMemsetNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
      const Fill *, CUcontext);
  CUdeviceptr data;
  CUgraph graph;
  CUgraphNode node = NULL, nodes[8];
  size_t count = 8;
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuGraphCreate(&graph, 0));
  const Copy3D good = {
      {.type = DEVICE, .device = data}, {.type = DEVICE, .device = data + 32}, 8, 1, 1};
  for (int which = 0; which < 3; ++which) {
    Copy3D empty = good;
    *(which == 0 ? &empty.width : which == 1 ? &empty.height : &empty.depth) = 0;
    MUST_BE(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &empty, context), INVALID_VALUE);
  }
  MUST(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &good, context));
  for (unsigned element = 1; element <= 4; element *= 2) {
    const Fill fill = {data, 0, 7, element, 4, 1};
    MUST(cuGraphAddMemsetNode(&node, graph, NULL, 0, &fill, context));
  }
  const Fill no_width = {data, 0, 7, 1, 0, 1}, no_height = {data, 0, 7, 1, 4, 0};
  MUST_BE(cuGraphAddMemsetNode(&node, graph, NULL, 0, &no_width, context), INVALID_VALUE);
  MUST_BE(cuGraphAddMemsetNode(&node, graph, NULL, 0, &no_height, context), INVALID_VALUE);
  MUST(cuGraphGetNodes(graph, nodes, &count));
  MUST_BE(count, 4);
  MUST(cuGraphDestroy(graph));
  MUST(cuMemFree(data));
}

int main(void) {
  const CUcontext context = start();
  check_shapes();
  check_nothing();
  check_host_to_host();
  check_nodes(context);
  return 0;
}
