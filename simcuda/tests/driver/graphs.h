// SPDX-License-Identifier: BSD-3-Clause
// What nodes of graphs are told, for the rules about them.
#pragma once

#include "driver_test.h"

typedef struct {  // CUDA_MEMSET_NODE_PARAMS
  CUdeviceptr to;
  size_t pitch;
  unsigned value, element;
  size_t width, height;
} Fill;

typedef struct {  // CUDA_MEMCPY3D
  size_t from_x, from_y, from_z, from_level;
  int from_type;
  const void *from_host;
  CUdeviceptr from;
  void *from_array, *from_reserved;
  size_t from_pitch, from_height;
  size_t to_x, to_y, to_z, to_level;
  int to_type;
  void *to_host;
  CUdeviceptr to;
  void *to_array, *to_reserved;
  size_t to_pitch, to_height;
  size_t width, height, depth;
} Copy;

typedef struct {  // CUDA_HOST_NODE_PARAMS
  void (*function)(void *);
  void *data;
} HostCall;

typedef struct {
  int type, id;
} Location;

typedef struct {
  Location location;
  int flags;
} MemoryAccess;

typedef struct {  // CUDA_MEM_ALLOC_NODE_PARAMS
  PoolProperties pool;
  const MemoryAccess *access;
  size_t access_count, size;
  CUdeviceptr address;
} Allocation;

typedef struct {  // CUgraphNodeParams, of most types
  int type, reserved[3];
  union {
    long long all[29];
    struct {
      int flags, reserved;
      CUcontext context;
      Copy copy;
    } copy;
    struct {
      Fill fill;
      CUcontext context;
    } fill;
    HostCall host;
    struct {
      CUgraph graph;
      int ownership;
    } child;
    CUevent event;
    Allocation allocation;
    CUdeviceptr free;
  } of;
  long long last;
} Node;

typedef struct {  // CUgraphNodeParams, of a conditional node
  int type, reserved[3];
  unsigned long long handle;
  int kind;
  unsigned size;
  CUgraph *bodies;
  CUcontext context;
  long long rest[26];
} Choice;

enum { ON_HOST = 1, ON_DEVICE = 2 };
enum { IF = 0, WHILE = 1, SWITCH = 2, ASSIGN_DEFAULT = 1 };

static inline Choice choice_of(unsigned long long handle, int kind, unsigned size) {
  return (Choice){.type = 13, .handle = handle, .kind = kind, .size = size};
}

static inline Fill fill_of(CUdeviceptr to, unsigned value, size_t width) {
  return (Fill){to, 0, value, 1, width, 1};
}

static inline Copy copy_of(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return (Copy){.from_type = ON_DEVICE,
                .from = from,
                .from_pitch = bytes,
                .from_height = 1,
                .to_type = ON_DEVICE,
                .to = to,
                .to_pitch = bytes,
                .to_height = 1,
                .width = bytes,
                .height = 1,
                .depth = 1};
}

static inline Allocation allocation_of(size_t size) {
  return (Allocation){.pool = {.type = 1, .location_type = 1}, .size = size};
}

#define USE_NODES                                                                            \
  USE(cuGraphAddEmptyNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t);      \
  USE(cuGraphAddMemsetNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,      \
      const Fill *, CUcontext);                                                              \
  USE(cuGraphAddMemcpyNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,      \
      const Copy *, CUcontext);                                                              \
  USE(cuGraphAddHostNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,        \
      const HostCall *);                                                                     \
  USE(cuGraphAddChildGraphNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,  \
      CUgraph);                                                                              \
  USE(cuGraphAddEventRecordNode, 11010, CUgraphNode *, CUgraph, const CUgraphNode *, size_t, \
      CUevent);                                                                              \
  (void)cuGraphAddEmptyNode, (void)cuGraphAddMemsetNode, (void)cuGraphAddMemcpyNode,         \
      (void)cuGraphAddHostNode, (void)cuGraphAddChildGraphNode, (void)cuGraphAddEventRecordNode

#define USE_CONDITIONAL_NODES                                                                    \
  USE(cuGraphConditionalHandleCreate, 12030, unsigned long long *, CUgraph, CUcontext, unsigned, \
      unsigned);                                                                                 \
  USE(cuGraphAddNode, 12020, CUgraphNode *, CUgraph, const CUgraphNode *, size_t, Choice *);     \
  (void)cuGraphConditionalHandleCreate, (void)cuGraphAddNode

#define USE_MEMORY_NODES                                                                  \
  USE(cuGraphAddMemAllocNode, 11040, CUgraphNode *, CUgraph, const CUgraphNode *, size_t, \
      Allocation *);                                                                      \
  USE(cuGraphAddMemFreeNode, 11040, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,  \
      CUdeviceptr);                                                                       \
  (void)cuGraphAddMemAllocNode, (void)cuGraphAddMemFreeNode
