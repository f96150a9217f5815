// SPDX-License-Identifier: BSD-3-Clause
// Compares the types, constants and prototypes of src/driver with CUDA's own header. Only compiled,
// by check_driver_types.py where there is such a header; there is nothing to run.
#include <type_traits>

#include "driver/types.hpp"
// After ours, since they define macros of the functions' names.
#include <cuda.h>
#include <cudaTypedefs.h>

namespace cai::driver {

// Whether two types are passed and stored alike: opaque handles are, under any name; an enum is an
// integer of its size.
template <class A, class B>
constexpr bool alike() {
  if constexpr (std::is_same_v<A, B>) {
    return true;
  } else if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>) {
    using TargetA = std::remove_cv_t<std::remove_pointer_t<A>>;
    using TargetB = std::remove_cv_t<std::remove_pointer_t<B>>;
    if constexpr (std::is_class_v<TargetA> && std::is_class_v<TargetB>) {
      return true;
    } else if constexpr (std::is_void_v<TargetA> || std::is_void_v<TargetB>) {
      return std::is_void_v<TargetA> && std::is_void_v<TargetB>;
    } else {
      return alike<TargetA, TargetB>();
    }
  } else if constexpr (std::is_pointer_v<A> || std::is_pointer_v<B>) {
    return false;
  } else if constexpr (std::is_class_v<A> && std::is_class_v<B>) {
    return sizeof(A) == sizeof(B) && alignof(A) == alignof(B);
  } else if constexpr (std::is_enum_v<A> || std::is_enum_v<B>) {
    return sizeof(A) == sizeof(B) && (std::is_enum_v<A> || std::is_integral_v<A>) &&
           (std::is_enum_v<B> || std::is_integral_v<B>);
  } else {
    return std::is_integral_v<A> && std::is_integral_v<B> && sizeof(A) == sizeof(B) &&
           std::is_signed_v<A> == std::is_signed_v<B>;
  }
}

template <class Ours, class Theirs>
struct AlikeFunctions : std::false_type {};
template <class Result, class... Ours, class TheirResult, class... Theirs>
  requires(sizeof...(Ours) == sizeof...(Theirs))
struct AlikeFunctions<Result (*)(Ours...), TheirResult (*)(Theirs...)>
    : std::bool_constant<alike<Result, TheirResult>() && (... && alike<Ours, Theirs>())> {};

#define CAI_DRIVER_FUNCTION(name, version, ...)                                            \
  static_assert(AlikeFunctions<CUresult (*)(__VA_ARGS__), PFN_##name##_v##version>::value, \
                #name " differs");
#define CAI_DRIVER_OPTIONAL CAI_DRIVER_FUNCTION
#include "driver/device_functions.inc"
#include "driver/functions.inc"
#include "driver/memory_functions.inc"
#undef CAI_DRIVER_OPTIONAL
CAI_DRIVER_FUNCTION(cuInit, 2000, unsigned)
CAI_DRIVER_FUNCTION(cuDriverGetVersion, 2020, int *)
CAI_DRIVER_FUNCTION(cuGetErrorName, 6000, CUresult, const char **)
CAI_DRIVER_FUNCTION(cuGetErrorString, 6000, CUresult, const char **)
CAI_DRIVER_FUNCTION(cuGetProcAddress, 12000, const char *, void **, int, std::uint64_t, int *)
#undef CAI_DRIVER_FUNCTION

// This must tell two forms of one function apart, or the check is worth nothing.
static_assert(!AlikeFunctions<CUresult (*)(CUdevice *), PFN_cuCtxGetDevice_v13000>::value);
static_assert(
    !AlikeFunctions<CUresult (*)(CUstream, CUcontext *), PFN_cuStreamGetCtx_v12050>::value);

static_assert(alike<CUdeviceptr, ::CUdeviceptr>());
static_assert(alike<CUdevice, ::CUdevice>());
static_assert(sizeof(CUcontext) == sizeof(::CUcontext));

#define SAME(ours, theirs) \
  static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs))
SAME(success, CUDA_SUCCESS);
SAME(error_out_of_memory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(error_deinitialized, CUDA_ERROR_DEINITIALIZED);
SAME(error_stub_library, CUDA_ERROR_STUB_LIBRARY);
SAME(error_no_device, CUDA_ERROR_NO_DEVICE);
SAME(error_invalid_context, CUDA_ERROR_INVALID_CONTEXT);
SAME(error_ecc_uncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
SAME(error_nvlink_uncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE);
SAME(error_invalid_handle, CUDA_ERROR_INVALID_HANDLE);
SAME(error_not_found, CUDA_ERROR_NOT_FOUND);
SAME(error_not_ready, CUDA_ERROR_NOT_READY);
SAME(error_illegal_address, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(error_launch_timeout, CUDA_ERROR_LAUNCH_TIMEOUT);
SAME(error_context_is_destroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
SAME(error_assert, CUDA_ERROR_ASSERT);
SAME(error_host_memory_already_registered, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
SAME(error_hardware_stack, CUDA_ERROR_HARDWARE_STACK_ERROR);
SAME(error_illegal_instruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
SAME(error_misaligned_address, CUDA_ERROR_MISALIGNED_ADDRESS);
SAME(error_invalid_address_space, CUDA_ERROR_INVALID_ADDRESS_SPACE);
SAME(error_invalid_pc, CUDA_ERROR_INVALID_PC);
SAME(error_launch_failed, CUDA_ERROR_LAUNCH_FAILED);
#if CUDA_VERSION >= 12080
SAME(error_contained, CUDA_ERROR_CONTAINED);
SAME(error_tensor_memory_leak, CUDA_ERROR_TENSOR_MEMORY_LEAK);
#endif
SAME(event_wait_external, CU_EVENT_WAIT_EXTERNAL);
SAME(user_object_no_destructor_sync, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
SAME(graph_user_object_move, CU_GRAPH_USER_OBJECT_MOVE);
SAME(error_capture_implicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
SAME(stream_non_blocking, CU_STREAM_NON_BLOCKING);
SAME(event_disable_timing, CU_EVENT_DISABLE_TIMING);
SAME(capture_none, CU_STREAM_CAPTURE_STATUS_NONE);
SAME(capture_active, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME(capture_mode_relaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(memory_type_host, CU_MEMORYTYPE_HOST);
SAME(attribute_context, CU_POINTER_ATTRIBUTE_CONTEXT);
SAME(attribute_memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(attribute_device_pointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
SAME(attribute_host_pointer, CU_POINTER_ATTRIBUTE_HOST_POINTER);
SAME(attribute_is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED);
SAME(attribute_device_ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME(attribute_range_start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
SAME(attribute_range_size, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
SAME(device_integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED);
SAME(device_can_map_host, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
SAME(device_pci_bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
SAME(device_pci_device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
SAME(device_pci_domain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
SAME(device_managed_memory, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
SAME(device_concurrent_managed, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
SAME(device_pools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SAME(device_pool_handles, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES);
SAME(pool_handle_descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
SAME(pool_release_threshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
SAME(allocation_pinned, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME(location_device, CU_MEM_LOCATION_TYPE_DEVICE);
SAME(access_none, CU_MEM_ACCESS_FLAGS_PROT_NONE);
SAME(access_read_write, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
SAME(memory_type_unified, CU_MEMORYTYPE_UNIFIED);
SAME(attribute_legacy_ipc_capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE);
SAME(attribute_allowed_handle_types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES);
SAME(attribute_pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE);
SAME(ipc_lazy_peer_access, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);

// Structs that are passed as they are.
static_assert(sizeof(CUmemcpy3D) == sizeof(CUDA_MEMCPY3D));
static_assert(sizeof(CUmemcpy3D) == sizeof(CUDA_MEMCPY3D_PEER));
static_assert(offsetof(CUmemcpy3D, srcPitch) == offsetof(CUDA_MEMCPY3D_PEER, srcPitch));
static_assert(offsetof(CUmemcpy3D, dstContext) == offsetof(CUDA_MEMCPY3D_PEER, dstContext));
static_assert(offsetof(CUmemcpy3D, Depth) == offsetof(CUDA_MEMCPY3D, Depth));
static_assert(sizeof(CUarray3D_descriptor) == sizeof(CUDA_ARRAY3D_DESCRIPTOR));
static_assert(offsetof(CUarray3D_descriptor, Format) == offsetof(CUDA_ARRAY3D_DESCRIPTOR, Format));
static_assert(sizeof(CUipcMemHandle) == sizeof(::CUipcMemHandle));
static_assert(sizeof(CUmemPoolPtrExportData) == sizeof(::CUmemPoolPtrExportData));
SAME(host_portable, CU_MEMHOSTALLOC_PORTABLE);
SAME(host_mapped, CU_MEMHOSTALLOC_DEVICEMAP);
SAME(host_write_combined, CU_MEMHOSTALLOC_WRITECOMBINED);
SAME(host_portable, CU_MEMHOSTREGISTER_PORTABLE);
SAME(host_mapped, CU_MEMHOSTREGISTER_DEVICEMAP);
SAME(attach_global, CU_MEM_ATTACH_GLOBAL);
SAME(attach_host, CU_MEM_ATTACH_HOST);
SAME(attach_single, CU_MEM_ATTACH_SINGLE);
SAME(get_proc_address_legacy_stream, CU_GET_PROC_ADDRESS_LEGACY_STREAM);

// The two default streams are macros with a cast to a pointer, which no constant expression can
// hold.
#define TEXT(macro) TEXT_OF(macro)
#define TEXT_OF(...) #__VA_ARGS__
constexpr bool equal(const char *a, const char *b) {
  for (; *a && *a == *b; ++a, ++b) {
  }
  return *a == *b;
}
static_assert(stream_legacy == 1 && equal(TEXT(CU_STREAM_LEGACY), "((CUstream)0x1)"));
static_assert(stream_per_thread == 2 && equal(TEXT(CU_STREAM_PER_THREAD), "((CUstream)0x2)"));

}  // namespace cai::driver
