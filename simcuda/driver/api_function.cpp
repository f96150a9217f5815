// SPDX-License-Identifier: BSD-3-Clause
// Functions: their attributes, and the resources of the device that they need.

#include <cstring>

#include "call.h"
#include "kernel.h"

using namespace simcuda;

namespace {

void check_flags(unsigned flags) {
  const unsigned disable_caching_override = 1;
  if (flags & ~disable_caching_override) throw Refused{CUDA_ERROR_INVALID_VALUE};
}

void tell_resident(Session &s, int *count, CUfunction function, int threads, std::size_t shared) {
  const auto found = function_of(s, function);
  if (threads <= 0) throw Refused{CUDA_ERROR_INVALID_VALUE};
  const int allowed = attribute_of(*found, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  const unsigned blocks =
      shared > static_cast<std::size_t>(allowed)
          ? 0
          : resident_blocks(*found->code, static_cast<unsigned>(threads), shared);
  required(count) = static_cast<int>(blocks);
}

// By the launch's attribute, or by what the kernel requires; 0: the launch has no clusters.
unsigned cluster_blocks(const Function &function, const CUlaunchConfig &c) {
  const unsigned wanted = required_in_cluster(function);
  const unsigned grid[] = {c.gridDimX, c.gridDimY, c.gridDimZ};
  unsigned blocks = wanted;
  if (c.numAttrs) required(c.attrs);
  for (unsigned i = 0; i < c.numAttrs; ++i) {
    if (c.attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    unsigned sizes[3];
    std::memcpy(sizes, c.attrs[i].value, sizeof sizes);
    blocks = 1;
    for (int axis = 0; axis < 3; ++axis) {
      const unsigned size = sizes[axis];
      if (size == 0 || grid[axis] % size || size > most_in_cluster(function) / blocks)
        throw Refused{CUDA_ERROR_INVALID_CLUSTER_SIZE};
      blocks *= size;
    }
  }
  if (wanted && blocks != wanted) throw Refused{CUDA_ERROR_INVALID_CLUSTER_SIZE};
  return blocks;
}

// Clusters are not executed as such: there are as many as there is room for blocks. A GPU may have
// fewer, since each cluster lies within one of its groups of multiprocessors.
void tell_clusters(Session &s, int *count, CUfunction handle, const CUlaunchConfig *config) {
  required(count);
  const auto &c = required(config);
  const auto function = function_of(s, handle);
  const unsigned blocks = cluster_blocks(*function, c);
  if (!blocks) {
    *count = 0;
    return;
  }
  const unsigned threads = c.blockDimX * c.blockDimY * c.blockDimZ;
  *count = static_cast<int>(resident_blocks(*function->code, threads, c.sharedMemBytes) *
                            multiprocessors / blocks);
}

// The largest block among those with the most active threads on a multiprocessor.
void tell_block_size(Session &s, int *least_grid, int *block, CUfunction handle,
                     CUoccupancyB2DSize shared_of, std::size_t shared, int limit) {
  required(least_grid);
  required(block);
  const auto function = function_of(s, handle);
  const int most = attribute_of(*function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  if (limit < 0) throw Refused{CUDA_ERROR_INVALID_VALUE};
  const int first = limit ? std::min(limit, most) : most;
  s.lock.unlock();  // the client's function may call anything
  unsigned busiest = 0, blocks = 0;
  for (int size = first; size > 0; size = (size - 1) / 32 * 32) {
    const std::size_t dynamic = shared_of ? shared_of(size) : shared;
    const auto threads = static_cast<unsigned>(size);
    const unsigned resident = resident_blocks(*function->code, threads, dynamic);
    if (resident * threads <= busiest) continue;
    busiest = resident * threads;
    blocks = resident;
    *block = size;
  }
  if (!busiest) throw Refused{CUDA_ERROR_INVALID_VALUE};
  *least_grid = static_cast<int>(blocks * multiprocessors);
}

}  // namespace

SIM_API CUresult cuFuncGetModule(CUmodule *out, CUfunction function) {
  return call(__func__, {out, function}, [&](Session &s) {
    const auto module = function_of(s, function)->module.lock();
    if (!module) throw Refused{CUDA_ERROR_INVALID_HANDLE};
    required(out) = module->handle;
  });
}

SIM_API CUresult cuFuncGetName(const char **name, CUfunction function) {
  return call(__func__, {name, function}, [&](Session &s) {
    required(function);
    required(name) = function_of(s, function)->code->name.c_str();
  });
}

SIM_API CUresult cuFuncGetParamInfo(CUfunction function, std::size_t index, std::size_t *offset,
                                    std::size_t *size) {
  return call(__func__, {function, index, offset, size}, [&](Session &s) {
    tell_parameter(*function_of(s, function)->code, index, offset, size);
  });
}

SIM_API CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function) {
  return call(__func__, {value, attribute, function}, [&](Session &s) {
    required(value) = attribute_of(*function_of(s, function), attribute);
  });
}

SIM_API CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  return call(__func__, {function, attribute, value},
              [&](Session &s) { set_attribute(*function_of(s, function), attribute, value); });
}

SIM_API CUresult cuFuncSetCacheConfig(CUfunction function, int config) {
  return call(__func__, {function, config}, [&](Session &s) {
    function_of(s, function);
    check_cache_config(config);
  });
}

SIM_API CUresult cuFuncLoad(CUfunction function) {
  return call(__func__, {function}, [&](Session &s) { function_of(s, function); });
}

SIM_API CUresult cuFuncIsLoaded(int *state, CUfunction function) {
  return call(__func__, {state, function}, [&](Session &s) {
    const int loaded = 1;
    function_of(s, function);
    required(state) = loaded;
  });
}

SIM_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *count, CUfunction function,
                                                             int threads, std::size_t shared) {
  return call(__func__, {count, function, threads, shared},
              [&](Session &s) { tell_resident(s, count, function, threads, shared); });
}

SIM_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *count, CUfunction function, int threads, std::size_t shared, unsigned flags) {
  return call(__func__, {count, function, threads, shared, flags}, [&](Session &s) {
    check_flags(flags);
    tell_resident(s, count, function, threads, shared);
  });
}

SIM_API CUresult cuOccupancyMaxPotentialBlockSize(int *least_grid, int *block, CUfunction function,
                                                  CUoccupancyB2DSize shared_of, std::size_t shared,
                                                  int limit) {
  return call(__func__,
              {least_grid, block, function, reinterpret_cast<void *>(shared_of), shared, limit},
              [&](Session &s) {
                tell_block_size(s, least_grid, block, function, shared_of, shared, limit);
              });
}

SIM_API CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *least_grid, int *block,
                                                           CUfunction function,
                                                           CUoccupancyB2DSize shared_of,
                                                           std::size_t shared, int limit,
                                                           unsigned flags) {
  return call(
      __func__,
      {least_grid, block, function, reinterpret_cast<void *>(shared_of), shared, limit, flags},
      [&](Session &s) {
        check_flags(flags);
        tell_block_size(s, least_grid, block, function, shared_of, shared, limit);
      });
}

SIM_API CUresult cuOccupancyAvailableDynamicSMemPerBlock(std::size_t *bytes, CUfunction function,
                                                         int blocks, int threads) {
  return call(__func__, {bytes, function, blocks, threads}, [&](Session &s) {
    const auto found = function_of(s, function);
    if (blocks <= 0 || threads <= 0) throw Refused{CUDA_ERROR_INVALID_VALUE};
    required(bytes) =
        available_shared(*found, static_cast<unsigned>(blocks), static_cast<unsigned>(threads));
  });
}

SIM_API CUresult cuOccupancyMaxPotentialClusterSize(int *blocks, CUfunction function,
                                                    const CUlaunchConfig *config) {
  return call(__func__, {blocks, function, config}, [&](Session &s) {
    const auto found = function_of(s, function);
    cluster_blocks(*found, required(config));
    required(blocks) = static_cast<int>(most_in_cluster(*found));
  });
}

SIM_API CUresult cuOccupancyMaxActiveClusters(int *count, CUfunction function,
                                              const CUlaunchConfig *config) {
  return call(__func__, {count, function, config},
              [&](Session &s) { tell_clusters(s, count, function, config); });
}
