// SPDX-License-Identifier: BSD-3-Clause
// The types and constants of the driver that libcai needs, so that it builds without CUDA.
// tests/order/check_driver_types.cpp compares them with CUDA's own header.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cai::driver {

// CUDA's names. Handles belong to the driver and are opaque.
using CUresult = std::int32_t;
using CUdevice = std::int32_t;
using CUdeviceptr = std::uint64_t;
using CUcontext = struct CUctx_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphNode = struct CUgraphNode_st *;
using CUuserObject = struct CUuserObject_st *;
using CUhostFn = void (*)(void *);
using CUstreamCaptureStatus = std::int32_t;
using CUstreamCaptureMode = std::int32_t;
using CUpointer_attribute = std::int32_t;
using CUdevice_attribute = std::int32_t;
using CUmemoryPool = struct CUmemPoolHandle_st *;
using CUmemPool_attribute = std::int32_t;
using CUmemAllocationHandleType = std::int32_t;
using CUarray = struct CUarray_st *;

struct CUuuid {
  char bytes[16];
};

struct CUmemLocation {
  std::int32_t type;
  std::int32_t id;
};

struct CUmemPoolProps {
  std::int32_t allocType;
  std::int32_t handleTypes;
  CUmemLocation location;
  void *win32SecurityAttributes;
  std::size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};

struct CUmemAccessDesc {
  CUmemLocation location;
  std::int32_t flags;
};

// CUDA_MEMCPY3D, and CUDA_MEMCPY3D_PEER, which has contexts in the "reserved" fields.
struct CUmemcpy3D {
  std::size_t srcXInBytes, srcY, srcZ, srcLOD;
  std::uint32_t srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  CUcontext srcContext;
  std::size_t srcPitch, srcHeight;
  std::size_t dstXInBytes, dstY, dstZ, dstLOD;
  std::uint32_t dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  CUcontext dstContext;
  std::size_t dstPitch, dstHeight;
  std::size_t WidthInBytes, Height, Depth;
};

// These are passed by value, too.
struct CUipcMemHandle {
  char reserved[64];
};

struct CUmemPoolPtrExportData {
  unsigned char reserved[64];
};

struct CUarray3D_descriptor {
  std::size_t Width, Height, Depth;
  std::int32_t Format;
  std::uint32_t NumChannels;
  std::uint32_t Flags;
};

// The constants have other names, because some of CUDA's are macros.
inline constexpr CUresult success = 0;
inline constexpr CUresult error_invalid_value = 1;
inline constexpr CUresult error_out_of_memory = 2;
inline constexpr CUresult error_deinitialized = 4;
inline constexpr CUresult error_stub_library = 34;
inline constexpr CUresult error_no_device = 100;
inline constexpr CUresult error_invalid_context = 201;
inline constexpr CUresult error_ecc_uncorrectable = 214;
inline constexpr CUresult error_nvlink_uncorrectable = 220;
inline constexpr CUresult error_contained = 226;
inline constexpr CUresult error_invalid_handle = 400;
inline constexpr CUresult error_not_found = 500;
inline constexpr CUresult error_not_ready = 600;
inline constexpr CUresult error_illegal_address = 700;
inline constexpr CUresult error_launch_timeout = 702;
inline constexpr CUresult error_context_is_destroyed = 709;
inline constexpr CUresult error_assert = 710;
inline constexpr CUresult error_host_memory_already_registered = 712;
inline constexpr CUresult error_hardware_stack = 714;
inline constexpr CUresult error_illegal_instruction = 715;
inline constexpr CUresult error_misaligned_address = 716;
inline constexpr CUresult error_invalid_address_space = 717;
inline constexpr CUresult error_invalid_pc = 718;
inline constexpr CUresult error_launch_failed = 719;
inline constexpr CUresult error_tensor_memory_leak = 721;
inline constexpr CUresult error_capture_invalidated = 901;
inline constexpr CUresult error_capture_implicit = 906;

inline constexpr std::uint64_t stream_legacy = 1;
inline constexpr std::uint64_t stream_per_thread = 2;
inline constexpr std::uint32_t stream_non_blocking = 1;
inline constexpr std::uint32_t event_disable_timing = 2;
inline constexpr std::uint32_t event_wait_external = 1;
inline constexpr std::uint32_t user_object_no_destructor_sync = 1;
inline constexpr std::uint32_t graph_user_object_move = 1;

inline constexpr CUstreamCaptureStatus capture_none = 0;
inline constexpr CUstreamCaptureStatus capture_active = 1;
inline constexpr CUstreamCaptureMode capture_mode_relaxed = 2;

inline constexpr std::uint32_t memory_type_host = 1;
inline constexpr std::uint32_t memory_type_unified = 4;
inline constexpr std::uint32_t host_portable = 1;
inline constexpr std::uint32_t host_mapped = 2;
inline constexpr std::uint32_t host_write_combined = 4;
inline constexpr std::uint32_t attach_global = 1;
inline constexpr std::uint32_t attach_host = 2;
inline constexpr std::uint32_t attach_single = 4;

inline constexpr CUpointer_attribute attribute_context = 1;
inline constexpr CUpointer_attribute attribute_memory_type = 2;
inline constexpr CUpointer_attribute attribute_device_pointer = 3;
inline constexpr CUpointer_attribute attribute_host_pointer = 4;
inline constexpr CUpointer_attribute attribute_is_managed = 8;
inline constexpr CUpointer_attribute attribute_device_ordinal = 9;
inline constexpr CUpointer_attribute attribute_legacy_ipc_capable = 10;
inline constexpr CUpointer_attribute attribute_range_start = 11;
inline constexpr CUpointer_attribute attribute_range_size = 12;
inline constexpr CUpointer_attribute attribute_allowed_handle_types = 14;
inline constexpr CUpointer_attribute attribute_pool = 17;
inline constexpr std::uint32_t ipc_lazy_peer_access = 1;

inline constexpr CUdevice_attribute device_integrated = 18;
inline constexpr CUdevice_attribute device_can_map_host = 19;
inline constexpr CUdevice_attribute device_pci_bus = 33;
inline constexpr CUdevice_attribute device_pci_device = 34;
inline constexpr CUdevice_attribute device_pci_domain = 50;
inline constexpr CUdevice_attribute device_managed_memory = 83;
inline constexpr CUdevice_attribute device_concurrent_managed = 89;
inline constexpr CUdevice_attribute device_pools = 115;
inline constexpr CUdevice_attribute device_pool_handles = 119;
inline constexpr std::int32_t pool_handle_descriptor = 1;
inline constexpr std::int32_t allocation_pinned = 1;
inline constexpr std::int32_t location_device = 1;
inline constexpr std::int32_t access_none = 0;
inline constexpr std::int32_t access_read_write = 3;

inline constexpr CUmemPool_attribute pool_release_threshold = 4;

inline constexpr std::uint64_t get_proc_address_legacy_stream = 1;

}  // namespace cai::driver
