// SPDX-License-Identifier: BSD-3-Clause
// Rule: Memory of a pool belongs to no context, other memory to the one that was current.
// Source: assumed; to be checked on a GPU
#include "attributes.h"

static CUcontext context;

static void ask(const char *kind, CUdeviceptr data, const char *assumed) {
  const uint64_t told = attributes_of(data).of[CONTEXT];
  found(kind,
        !told                         ? "none"
        : told == address_of(context) ? "the current one"
                                      : "another",
        assumed);
}

int main(void) {
  context = start();
  USE_STREAMS;
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemHostRegister, 6050, void *, size_t, unsigned);
  unsigned char *registered = new_page();
  CUdeviceptr pooled, managed;
  void *pinned;
  MUST(cuMemAllocAsync(&pooled, 64, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemAllocManaged(&managed, 64, 1));
  MUST(cuMemHostAlloc(&pinned, 64, 2));
  MUST(cuMemHostRegister(registered, PAGE, 2));
  ask("pool", pooled, "none");
  ask("managed", managed, "the current one");
  ask("pinned", address_of(pinned), "the current one");
  ask("registered", address_of(registered), "the current one");
  return 0;
}
