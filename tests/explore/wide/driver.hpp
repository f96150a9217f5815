// SPDX-License-Identifier: BSD-3-Clause
// The driver, as the parties call it: simcuda's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wide {

using Handle = void *;
using Address = std::uint64_t;
struct IpcHandle {
  unsigned char bytes[64];
};

#define FUNCTIONS(F)                                                        \
  F(cuInit, int, unsigned)                                                  \
  F(cuDevicePrimaryCtxRetain, int, Handle *, int)                           \
  F(cuDevicePrimaryCtxRelease_v2, int, int)                                 \
  F(cuDevicePrimaryCtxReset_v2, int, int)                                   \
  F(cuCtxCreate_v2, int, Handle *, unsigned, int)                           \
  F(cuCtxDestroy_v2, int, Handle)                                           \
  F(cuCtxGetCurrent, int, Handle *)                                         \
  F(cuCtxSetCurrent, int, Handle)                                           \
  F(cuCtxSynchronize, int)                                                  \
  F(cuMemAlloc_v2, int, Address *, std::size_t)                             \
  F(cuMemAllocAsync, int, Address *, std::size_t, Handle)                   \
  F(cuMemFree_v2, int, Address)                                             \
  F(cuMemFreeAsync, int, Address, Handle)                                   \
  F(cuMemGetAddressRange_v2, int, Address *, std::size_t *, Address)        \
  F(cuIpcOpenMemHandle_v2, int, Address *, IpcHandle, unsigned)             \
  F(cuIpcCloseMemHandle, int, Address)                                      \
  F(cuMemHostAlloc, int, void **, std::size_t, unsigned)                    \
  F(cuMemHostGetDevicePointer_v2, int, Address *, void *, unsigned)         \
  F(cuMemFreeHost, int, void *)                                             \
  F(cuMemsetD8Async, int, Address, unsigned char, std::size_t, Handle)      \
  F(cuMemcpyDtoDAsync_v2, int, Address, Address, std::size_t, Handle)       \
  F(cuStreamWaitEvent, int, Handle, Handle, unsigned)                       \
  F(cuEventCreate, int, Handle *, unsigned)                                 \
  F(cuEventRecord, int, Handle, Handle)                                     \
  F(cuEventDestroy_v2, int, Handle)                                         \
  F(cuEventSynchronize, int, Handle)                                        \
  F(cuStreamCreate, int, Handle *, unsigned)                                \
  F(cuStreamDestroy_v2, int, Handle)                                        \
  F(cuStreamSynchronize, int, Handle)                                       \
  F(cuStreamIsCapturing, int, Handle, int *)                                \
  F(cuStreamBeginCapture_v2, int, Handle, int)                              \
  F(cuStreamEndCapture, int, Handle, Handle *)                              \
  F(cuThreadExchangeStreamCaptureMode, int, int *)                          \
  F(cuGraphInstantiateWithFlags, int, Handle *, Handle, unsigned long long) \
  F(cuGraphLaunch, int, Handle, Handle)                                     \
  F(cuGraphExecDestroy, int, Handle)                                        \
  F(cuGraphDestroy, int, Handle)                                            \
  F(simcuda_calls, std::uint64_t, const char *)                             \
  F(simcuda_races, std::uint64_t)                                           \
  F(simcuda_findings, std::uint64_t)                                        \
  F(simcuda_objects, std::uint64_t, const char *)                           \
  F(simcuda_fail, std::int32_t, const char *, std::uint64_t, std::int32_t)  \
  F(simcuda_forget, void)                                                   \
  F(simcuda_reseed, void, std::uint64_t)

struct Driver {
#define MEMBER(name, result, ...) result (*name)(__VA_ARGS__) = nullptr;
  FUNCTIONS(MEMBER)
#undef MEMBER

  Driver();
};

Driver &cu();

inline constexpr int kRelaxed = 2;
inline constexpr unsigned kNonBlocking = 1;

// How often the host has waited for work; and that, for the work on one stream.
std::uint64_t host_waits();
std::uint64_t host_waits_for_streams();

}  // namespace wide
