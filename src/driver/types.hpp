// SPDX-License-Identifier: BSD-3-Clause
// The few types and constants of the driver that libcai needs, so that building needs no CUDA.
// tests/order/check_driver_types.cpp compares them with CUDA's own header.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cai::driver {

// Under CUDA's names; the handles are the driver's, and never looked into.
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

// The constants have names of their own, since CUDA's are macros in part.
inline constexpr CUresult success = 0;
inline constexpr CUresult error_stub_library = 34;
inline constexpr CUresult error_no_device = 100;
inline constexpr CUresult error_invalid_context = 201;
inline constexpr CUresult error_not_found = 500;
inline constexpr CUresult error_not_ready = 600;
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

inline constexpr CUpointer_attribute attribute_context = 1;
inline constexpr CUpointer_attribute attribute_memory_type = 2;
inline constexpr CUpointer_attribute attribute_device_pointer = 3;
inline constexpr CUpointer_attribute attribute_host_pointer = 4;
inline constexpr CUpointer_attribute attribute_is_managed = 8;
inline constexpr CUpointer_attribute attribute_device_ordinal = 9;
inline constexpr CUpointer_attribute attribute_range_start = 11;
inline constexpr CUpointer_attribute attribute_range_size = 12;

inline constexpr std::uint64_t get_proc_address_legacy_stream = 1;

}  // namespace cai::driver
