// SPDX-License-Identifier: BSD-3-Clause
// The part of libcuda's binary interface that simcuda implements: types, constants and struct
// layouts, declared here so that it builds without CUDA. tests/driver/check_header.py compares them
// with CUDA's own header, if there is one.
#pragma once

#include <cstddef>
#include <cstdint>

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;

// Handles are opaque tokens, which are never dereferenced, not even here.
using CUcontext = struct CUctx_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUmemoryPool = struct CUmemPoolHandle_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphNode = struct CUgraphNode_st *;
using CUgraphExec = struct CUgraphExec_st *;
using CUgraphConditionalHandle = unsigned long long;
using CUuserObject = struct CUuserObject_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUlibrary = struct CUlib_st *;
using CUkernel = struct CUkern_st *;
using CUgreenCtx = struct CUgreenCtx_st *;
using CUdevResourceDesc = struct CUdevResourceDesc_st *;
using CUarray = struct CUarray_st *;
using CUmipmappedArray = struct CUmipmappedArray_st *;
using CUtexObject = unsigned long long;
using CUsurfObject = unsigned long long;
using CUmemGenericAllocationHandle = unsigned long long;
using CUlinkState = struct CUlinkState_st *;

using CUhostFn = void (*)(void *user_data);
using CUoccupancyB2DSize = std::size_t (*)(int block_size);
using CUstreamCallback = void (*)(CUstream stream, CUresult status, void *user_data);

inline constexpr CUresult CUDA_SUCCESS = 0;
inline constexpr CUresult CUDA_ERROR_INVALID_VALUE = 1;
inline constexpr CUresult CUDA_ERROR_OUT_OF_MEMORY = 2;
inline constexpr CUresult CUDA_ERROR_NOT_INITIALIZED = 3;
inline constexpr CUresult CUDA_ERROR_DEINITIALIZED = 4;
inline constexpr CUresult CUDA_ERROR_STUB_LIBRARY = 34;
inline constexpr CUresult CUDA_ERROR_NO_DEVICE = 100;
inline constexpr CUresult CUDA_ERROR_INVALID_DEVICE = 101;
inline constexpr CUresult CUDA_ERROR_INVALID_IMAGE = 200;
inline constexpr CUresult CUDA_ERROR_INVALID_CONTEXT = 201;
inline constexpr CUresult CUDA_ERROR_MAP_FAILED = 205;
inline constexpr CUresult CUDA_ERROR_NO_BINARY_FOR_GPU = 209;
inline constexpr CUresult CUDA_ERROR_ECC_UNCORRECTABLE = 214;
inline constexpr CUresult CUDA_ERROR_UNSUPPORTED_LIMIT = 215;
inline constexpr CUresult CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217;
inline constexpr CUresult CUDA_ERROR_INVALID_PTX = 218;
inline constexpr CUresult CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY = 224;
inline constexpr CUresult CUDA_ERROR_FILE_NOT_FOUND = 301;
inline constexpr CUresult CUDA_ERROR_OPERATING_SYSTEM = 304;
inline constexpr CUresult CUDA_ERROR_INVALID_HANDLE = 400;
inline constexpr CUresult CUDA_ERROR_ILLEGAL_STATE = 401;
inline constexpr CUresult CUDA_ERROR_NOT_FOUND = 500;
inline constexpr CUresult CUDA_ERROR_NOT_READY = 600;
inline constexpr CUresult CUDA_ERROR_ILLEGAL_ADDRESS = 700;
inline constexpr CUresult CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701;
inline constexpr CUresult CUDA_ERROR_LAUNCH_TIMEOUT = 702;
inline constexpr CUresult CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704;
inline constexpr CUresult CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = 705;
inline constexpr CUresult CUDA_ERROR_CONTEXT_IS_DESTROYED = 709;
inline constexpr CUresult CUDA_ERROR_ASSERT = 710;
inline constexpr CUresult CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712;
inline constexpr CUresult CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713;
inline constexpr CUresult CUDA_ERROR_HARDWARE_STACK_ERROR = 714;
inline constexpr CUresult CUDA_ERROR_ILLEGAL_INSTRUCTION = 715;
inline constexpr CUresult CUDA_ERROR_MISALIGNED_ADDRESS = 716;
inline constexpr CUresult CUDA_ERROR_INVALID_PC = 718;
inline constexpr CUresult CUDA_ERROR_LAUNCH_FAILED = 719;
inline constexpr CUresult CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720;
inline constexpr CUresult CUDA_ERROR_NOT_PERMITTED = 800;
inline constexpr CUresult CUDA_ERROR_NOT_SUPPORTED = 801;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_MERGE = 902;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906;
inline constexpr CUresult CUDA_ERROR_CAPTURED_EVENT = 907;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908;
inline constexpr CUresult CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910;
inline constexpr CUresult CUDA_ERROR_INVALID_CLUSTER_SIZE = 912;
inline constexpr CUresult CUDA_ERROR_INVALID_RESOURCE_TYPE = 914;
inline constexpr CUresult CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION = 915;
inline constexpr CUresult CUDA_ERROR_UNKNOWN = 999;

// The tokens of the default streams.
inline constexpr std::uintptr_t CU_STREAM_LEGACY = 1;
inline constexpr std::uintptr_t CU_STREAM_PER_THREAD = 2;

inline constexpr unsigned CU_STREAM_NON_BLOCKING = 1;

inline constexpr unsigned CU_EVENT_BLOCKING_SYNC = 1;
inline constexpr unsigned CU_EVENT_DISABLE_TIMING = 2;
inline constexpr unsigned CU_EVENT_INTERPROCESS = 4;
inline constexpr unsigned CU_EVENT_RECORD_EXTERNAL = 1;
inline constexpr unsigned CU_EVENT_WAIT_EXTERNAL = 1;

inline constexpr unsigned CU_MEMHOSTALLOC_PORTABLE = 1;
inline constexpr unsigned CU_MEMHOSTALLOC_DEVICEMAP = 2;
inline constexpr unsigned CU_MEMHOSTALLOC_WRITECOMBINED = 4;

inline constexpr unsigned CU_MEM_ATTACH_GLOBAL = 1;
inline constexpr unsigned CU_MEM_ATTACH_HOST = 2;
inline constexpr unsigned CU_MEM_ATTACH_SINGLE = 4;

inline constexpr int CU_MEMORYTYPE_HOST = 1;
inline constexpr int CU_MEMORYTYPE_DEVICE = 2;
inline constexpr int CU_MEMORYTYPE_ARRAY = 3;
inline constexpr int CU_MEMORYTYPE_UNIFIED = 4;

inline constexpr int CU_AD_FORMAT_UNSIGNED_INT8 = 1;
inline constexpr int CU_AD_FORMAT_UNSIGNED_INT16 = 2;
inline constexpr int CU_AD_FORMAT_UNSIGNED_INT32 = 3;
inline constexpr int CU_AD_FORMAT_SIGNED_INT8 = 8;
inline constexpr int CU_AD_FORMAT_SIGNED_INT16 = 9;
inline constexpr int CU_AD_FORMAT_SIGNED_INT32 = 10;
inline constexpr int CU_AD_FORMAT_HALF = 16;
inline constexpr int CU_AD_FORMAT_FLOAT = 32;
inline constexpr unsigned CUDA_ARRAY3D_LAYERED = 1;
inline constexpr unsigned CUDA_ARRAY3D_SURFACE_LDST = 2;
inline constexpr unsigned CUDA_ARRAY3D_CUBEMAP = 4;
inline constexpr unsigned CUDA_ARRAY3D_TEXTURE_GATHER = 8;
inline constexpr int CU_RESOURCE_TYPE_ARRAY = 0;
inline constexpr int CU_RESOURCE_TYPE_MIPMAPPED_ARRAY = 1;
inline constexpr int CU_RESOURCE_TYPE_LINEAR = 2;
inline constexpr int CU_RESOURCE_TYPE_PITCH2D = 3;
inline constexpr int CU_TR_ADDRESS_MODE_WRAP = 0;
inline constexpr int CU_TR_ADDRESS_MODE_CLAMP = 1;
inline constexpr int CU_TR_ADDRESS_MODE_MIRROR = 2;
inline constexpr int CU_TR_ADDRESS_MODE_BORDER = 3;
inline constexpr int CU_TR_FILTER_MODE_POINT = 0;
inline constexpr int CU_TR_FILTER_MODE_LINEAR = 1;
inline constexpr unsigned CU_TRSF_READ_AS_INTEGER = 1;
inline constexpr unsigned CU_TRSF_NORMALIZED_COORDINATES = 2;
inline constexpr unsigned CU_TRSF_SRGB = 16;
inline constexpr unsigned CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION = 32;
inline constexpr unsigned CU_TRSF_SEAMLESS_CUBEMAP = 64;
inline constexpr int CU_RES_VIEW_FORMAT_NONE = 0;
inline constexpr int CU_RES_VIEW_FORMAT_FLOAT_4X32 = 24;
inline constexpr int CU_RES_VIEW_FORMAT_UNSIGNED_BC1 = 25;
inline constexpr int CU_RES_VIEW_FORMAT_UNSIGNED_BC7 = 34;

inline constexpr int CU_STREAM_CAPTURE_STATUS_NONE = 0;
inline constexpr int CU_STREAM_CAPTURE_STATUS_ACTIVE = 1;
inline constexpr int CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2;
inline constexpr int CU_STREAM_CAPTURE_MODE_GLOBAL = 0;
inline constexpr int CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1;
inline constexpr int CU_STREAM_CAPTURE_MODE_RELAXED = 2;

inline constexpr unsigned CU_STREAM_ADD_CAPTURE_DEPENDENCIES = 0;
inline constexpr unsigned CU_STREAM_SET_CAPTURE_DEPENDENCIES = 1;

inline constexpr int CU_GRAPH_NODE_TYPE_KERNEL = 0;
inline constexpr int CU_GRAPH_NODE_TYPE_MEMCPY = 1;
inline constexpr int CU_GRAPH_NODE_TYPE_MEMSET = 2;
inline constexpr int CU_GRAPH_NODE_TYPE_HOST = 3;
inline constexpr int CU_GRAPH_NODE_TYPE_GRAPH = 4;
inline constexpr int CU_GRAPH_NODE_TYPE_EMPTY = 5;
inline constexpr int CU_GRAPH_NODE_TYPE_WAIT_EVENT = 6;
inline constexpr int CU_GRAPH_NODE_TYPE_EVENT_RECORD = 7;
inline constexpr int CU_GRAPH_NODE_TYPE_MEM_ALLOC = 10;
inline constexpr int CU_GRAPH_NODE_TYPE_MEM_FREE = 11;
inline constexpr std::uint64_t CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH = 1;
inline constexpr std::uint64_t CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD = 2;
inline constexpr std::uint64_t CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH = 4;
inline constexpr std::uint64_t CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY = 8;
inline constexpr int CU_GRAPH_NODE_TYPE_CONDITIONAL = 13;
inline constexpr unsigned CU_GRAPH_COND_ASSIGN_DEFAULT = 1;
inline constexpr int CU_GRAPH_COND_TYPE_IF = 0;
inline constexpr int CU_GRAPH_COND_TYPE_WHILE = 1;
inline constexpr int CU_GRAPH_COND_TYPE_SWITCH = 2;
inline constexpr int CUDA_GRAPH_INSTANTIATE_SUCCESS = 0;
inline constexpr int CUDA_GRAPH_INSTANTIATE_ERROR = 1;
inline constexpr int CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE = 2;
inline constexpr int CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED = 3;
inline constexpr int CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED = 5;
inline constexpr int CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE = 0;
inline constexpr int CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE = 1;
inline constexpr int CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT = 0;
inline constexpr int CU_GRAPH_MEM_ATTR_USED_MEM_HIGH = 1;
inline constexpr int CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT = 2;
inline constexpr int CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH = 3;
inline constexpr unsigned CU_USER_OBJECT_NO_DESTRUCTOR_SYNC = 1;
inline constexpr unsigned CU_GRAPH_USER_OBJECT_MOVE = 1;

inline constexpr int CU_DEV_RESOURCE_TYPE_SM = 1;
inline constexpr unsigned CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING = 1;
inline constexpr unsigned CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE = 2;
inline constexpr unsigned CU_GREEN_CTX_DEFAULT_STREAM = 1;

inline constexpr int CU_MEM_ALLOCATION_TYPE_PINNED = 1;
inline constexpr int CU_MEM_ALLOCATION_TYPE_MANAGED = 2;
inline constexpr int CU_MEM_HANDLE_TYPE_NONE = 0;
inline constexpr int CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1;
inline constexpr unsigned CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS = 1;
inline constexpr int CU_MEM_LOCATION_TYPE_INVALID = 0;
inline constexpr int CU_MEM_LOCATION_TYPE_DEVICE = 1;
inline constexpr int CU_MEM_LOCATION_TYPE_HOST = 2;
inline constexpr int CU_MEM_LOCATION_TYPE_HOST_NUMA = 3;
inline constexpr int CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT = 4;
inline constexpr int CU_MEM_ACCESS_FLAGS_PROT_NONE = 0;
inline constexpr int CU_MEM_ACCESS_FLAGS_PROT_READ = 1;
inline constexpr int CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3;

inline constexpr int CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0;
inline constexpr int CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1;
inline constexpr int CU_MEM_ADVISE_SET_READ_MOSTLY = 1;
inline constexpr int CU_MEM_ADVISE_UNSET_READ_MOSTLY = 2;
inline constexpr int CU_MEM_ADVISE_SET_PREFERRED_LOCATION = 3;
inline constexpr int CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION = 4;
inline constexpr int CU_MEM_ADVISE_SET_ACCESSED_BY = 5;
inline constexpr int CU_MEM_ADVISE_UNSET_ACCESSED_BY = 6;
inline constexpr int CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY = 1;
inline constexpr int CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION = 2;
inline constexpr int CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY = 3;
inline constexpr int CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION = 4;
inline constexpr int CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE = 5;
inline constexpr int CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID = 6;
inline constexpr int CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE = 7;
inline constexpr int CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID = 8;
inline constexpr int CU_DEVICE_CPU = -1;
inline constexpr int CU_DEVICE_INVALID = -2;
inline constexpr unsigned CU_CTX_SCHED_MASK = 7;
inline constexpr unsigned CU_CTX_MAP_HOST = 8;
inline constexpr unsigned CU_CTX_SYNC_MEMOPS = 128;
inline constexpr unsigned CU_CTX_FLAGS_MASK = 255;

inline constexpr int CU_LIMIT_STACK_SIZE = 0;
inline constexpr int CU_LIMIT_PRINTF_FIFO_SIZE = 1;
inline constexpr int CU_LIMIT_MALLOC_HEAP_SIZE = 2;
inline constexpr int CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH = 3;
inline constexpr int CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT = 4;
inline constexpr int CU_LIMIT_MAX_L2_FETCH_GRANULARITY = 5;
inline constexpr int CU_LIMIT_PERSISTING_L2_CACHE_SIZE = 6;
inline constexpr int CU_LIMIT_SHMEM_SIZE = 7;
inline constexpr int CU_LIMIT_CIG_ENABLED = 8;
inline constexpr int CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED = 9;
inline constexpr int CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1;
inline constexpr int CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC = 2;
inline constexpr int CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3;
inline constexpr int CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4;
inline constexpr int CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5;
inline constexpr int CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH = 6;
inline constexpr int CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7;
inline constexpr int CU_MEMPOOL_ATTR_USED_MEM_HIGH = 8;

inline constexpr int CU_POINTER_ATTRIBUTE_CONTEXT = 1;
inline constexpr int CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2;
inline constexpr int CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3;
inline constexpr int CU_POINTER_ATTRIBUTE_HOST_POINTER = 4;
inline constexpr int CU_POINTER_ATTRIBUTE_P2P_TOKENS = 5;
inline constexpr int CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6;
inline constexpr int CU_POINTER_ATTRIBUTE_BUFFER_ID = 7;
inline constexpr int CU_POINTER_ATTRIBUTE_IS_MANAGED = 8;
inline constexpr int CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9;
inline constexpr int CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE = 10;
inline constexpr int CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11;
inline constexpr int CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12;
inline constexpr int CU_POINTER_ATTRIBUTE_MAPPED = 13;
inline constexpr int CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES = 14;
inline constexpr int CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE = 15;
inline constexpr int CU_POINTER_ATTRIBUTE_ACCESS_FLAGS = 16;
inline constexpr int CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE = 17;
inline constexpr int CU_POINTER_ATTRIBUTE_MAPPING_SIZE = 18;
inline constexpr int CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR = 19;
inline constexpr int CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID = 20;
inline constexpr int CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE = 21;

inline constexpr int CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0;
inline constexpr int CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1;
inline constexpr int CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2;
inline constexpr int CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3;
inline constexpr int CU_FUNC_ATTRIBUTE_NUM_REGS = 4;
inline constexpr int CU_FUNC_ATTRIBUTE_PTX_VERSION = 5;
inline constexpr int CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6;
inline constexpr int CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8;
inline constexpr int CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9;
inline constexpr int CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH = 11;
inline constexpr int CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE = 15;
inline constexpr int CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT = 12;
inline constexpr int CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH = 13;
inline constexpr int CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14;
inline constexpr int CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2;
inline constexpr int CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4;
inline constexpr int CU_COREDUMP_ENABLE_ON_EXCEPTION = 1;
inline constexpr int CU_COREDUMP_TRIGGER_HOST = 2;
inline constexpr int CU_COREDUMP_ENABLE_USER_TRIGGER = 4;
inline constexpr int CU_COREDUMP_FILE = 5;
inline constexpr int CU_COREDUMP_PIPE = 6;
inline constexpr int CU_COREDUMP_GENERATION_FLAGS = 7;
inline constexpr int CU_JIT_WALL_TIME = 2;
inline constexpr int CU_JIT_INFO_LOG_BUFFER = 3;
inline constexpr int CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4;
inline constexpr int CU_JIT_ERROR_LOG_BUFFER = 5;
inline constexpr int CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6;
inline constexpr int CU_JIT_INPUT_CUBIN = 0;
inline constexpr int CU_JIT_INPUT_PTX = 1;
inline constexpr int CU_JIT_INPUT_FATBINARY = 2;
inline constexpr int CU_JIT_INPUT_NVVM = 5;

inline constexpr int CU_GET_PROC_ADDRESS_SUCCESS = 0;
inline constexpr int CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1;
inline constexpr int CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2;
inline constexpr std::uint64_t CU_GET_PROC_ADDRESS_LEGACY_STREAM = 1;
inline constexpr std::uint64_t CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM = 2;

struct CUuuid {
  char bytes[16];
};
struct CUipcMemHandle {
  char reserved[64];
};
struct CUipcEventHandle {
  char reserved[64];
};
struct CUmemPoolPtrExportData {
  unsigned char reserved[64];
};
struct CUmemLocation {
  int type, id;
};
struct CUmemAccessDesc {
  CUmemLocation location;
  int flags;
};

struct CUmemPoolProps {
  int allocType, handleTypes;
  CUmemLocation location;
  void *win32SecurityAttributes;
  std::size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};

struct CUmemAllocationProp {
  int type, requestedHandleTypes;
  CUmemLocation location;
  void *win32HandleMetaData;
  unsigned char allocFlags[8];
};

struct CUDA_ARRAY_DESCRIPTOR {
  std::size_t Width, Height;
  int Format;
  unsigned NumChannels;
};

struct CUDA_ARRAY3D_DESCRIPTOR {
  std::size_t Width, Height, Depth;
  int Format;
  unsigned NumChannels, Flags;
};

union CUresource {
  CUarray hArray;
  CUmipmappedArray hMipmappedArray;
  struct {
    CUdeviceptr devPtr;
    int format;
    unsigned numChannels;
    std::size_t sizeInBytes;
  } linear;
  struct {
    CUdeviceptr devPtr;
    int format;
    unsigned numChannels;
    std::size_t width, height, pitchInBytes;
  } pitch2D;
  int reserved[32];
};

struct CUDA_RESOURCE_DESC {
  int resType;
  CUresource res;
  unsigned flags;
};

struct CUDA_TEXTURE_DESC {
  int addressMode[3];
  int filterMode;
  unsigned flags, maxAnisotropy;
  int mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  float borderColor[4];
  int reserved[12];
};

struct CUDA_RESOURCE_VIEW_DESC {
  int format;
  std::size_t width, height, depth;
  unsigned firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
  unsigned reserved[16];
};

struct CUDA_MEMCPY2D {
  std::size_t srcXInBytes, srcY;
  int srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  std::size_t srcPitch;
  std::size_t dstXInBytes, dstY;
  int dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  std::size_t dstPitch;
  std::size_t WidthInBytes, Height;
};

struct CUDA_MEMCPY3D {
  std::size_t srcXInBytes, srcY, srcZ, srcLOD;
  int srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  void *srcReserved;
  std::size_t srcPitch, srcHeight;
  std::size_t dstXInBytes, dstY, dstZ, dstLOD;
  int dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  void *dstReserved;
  std::size_t dstPitch, dstHeight;
  std::size_t WidthInBytes, Height, Depth;
};

struct CUDA_MEMCPY3D_PEER {
  std::size_t srcXInBytes, srcY, srcZ, srcLOD;
  int srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  CUcontext srcContext;
  std::size_t srcPitch, srcHeight;
  std::size_t dstXInBytes, dstY, dstZ, dstLOD;
  int dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  CUcontext dstContext;
  std::size_t dstPitch, dstHeight;
  std::size_t WidthInBytes, Height, Depth;
};

struct CUdevSmResource {
  unsigned smCount, minSmPartitionSize, smCoscheduledAlignment, flags;
};

struct CUdevResource {
  int type;
  unsigned char _internal_padding[92];
  unsigned char _oversize[40];  // CUdevSmResource, for that type
  void *nextResource;           // from CUDA 13.1 on
};

struct CUgraphEdgeData {
  unsigned char from_port, to_port, type;
  unsigned char reserved[5];
};

struct CUDA_GRAPH_INSTANTIATE_PARAMS {
  std::uint64_t flags;
  CUstream hUploadStream;
  CUgraphNode hErrNode_out;
  int result_out;
};

struct CUDA_MEMSET_NODE_PARAMS {
  CUdeviceptr dst;
  std::size_t pitch;
  unsigned value, elementSize;
  std::size_t width, height;
};

struct CUDA_KERNEL_NODE_PARAMS_v1 {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  void **kernelParams;
  void **extra;
};

struct CUDA_KERNEL_NODE_PARAMS_v2 {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  void **kernelParams;
  void **extra;
  CUkernel kern;
  CUcontext ctx;
};

struct CUgraphExecUpdateResultInfo {
  int result;
  CUgraphNode errorNode, errorFromNode;
};

struct CUlaunchAttribute {
  int id;
  char pad[4];
  char value[64];
};

struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute *attrs;
  unsigned numAttrs;
};

struct CUDA_MEM_ALLOC_NODE_PARAMS {
  CUmemPoolProps poolProps;
  const CUmemAccessDesc *accessDescs;
  std::size_t accessDescCount, bytesize;
  CUdeviceptr dptr;
};

struct CUDA_HOST_NODE_PARAMS {
  CUhostFn fn;
  void *userData;
};

struct CUDA_CONDITIONAL_NODE_PARAMS {
  CUgraphConditionalHandle handle;
  int type;
  unsigned size;
  CUgraph *phGraph_out;
  CUcontext ctx;
};

// The parameters of cuGraphAddNode: the same for each type, with a context.
struct CUgraphNodeParams {
  int type;
  int reserved0[3];
  union {
    long long reserved1[29];
    CUDA_KERNEL_NODE_PARAMS_v2 kernel;
    struct {
      int flags, reserved;
      CUcontext copyCtx;
      CUDA_MEMCPY3D copyParams;
    } memcpy;
    struct {
      CUDA_MEMSET_NODE_PARAMS fill;
      CUcontext ctx;
    } memset;
    CUDA_HOST_NODE_PARAMS host;
    struct {
      CUgraph graph;
      int ownership;
    } graph;
    CUevent event;  // of a record or a wait
    CUDA_MEM_ALLOC_NODE_PARAMS alloc;
    CUdeviceptr free;
    CUDA_CONDITIONAL_NODE_PARAMS conditional;
  };
  long long reserved2;
};

static_assert(sizeof(CUgraphNodeParams) == 256);
static_assert(sizeof(CUdevResource) == 144);
static_assert(sizeof(CUmemPoolProps) == 88 && sizeof(CUDA_MEMCPY2D) == 128 &&
              sizeof(CUDA_MEMCPY3D) == 200 && sizeof(CUDA_MEMCPY3D_PEER) == 200);

// Exported, and found by simcuda/generate.py: the generated table refers to each of these by name,
// and defines a per-thread variant of each if the symbol table has one.
#define SIM_API extern "C" __attribute__((visibility("default")))
