// SPDX-License-Identifier: BSD-3-Clause
// Contexts: the primary one of each device, others, and each thread's stack of them.

#include <algorithm>

#include "call.h"
#include "capture.h"

using namespace simcuda;

namespace {

void create(Session &s, CUcontext *out, unsigned flags, CUdevice device) {
  required(out);
  auto context = s.driver.new_context(device, flags, 3020);
  s.thread.contexts.push_back(context);
  *out = context->handle;
}

void end_primary(Session &s, Device &device) {
  if (device.primary && device.primary->alive) s.driver.tear_down(*device.primary, s.lock);
}

// The values of an H100. They are kept and returned, and have no effect.
std::size_t default_limit(int limit) {
  switch (limit) {
    case CU_LIMIT_STACK_SIZE:
      return 1024;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
      return 8650752;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
      return 8388608;
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
      return 2048;
    case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
      return 64;
    case CU_LIMIT_PERSISTING_L2_CACHE_SIZE:
      return 9830400;
    case CU_LIMIT_SHMEM_SIZE:
      return 232448;
    case CU_LIMIT_CIG_ENABLED:
      return 0;
    case CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH:
    case CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED:
      throw Refused{CUDA_ERROR_UNSUPPORTED_LIMIT};
    default:
      throw Refused{CUDA_ERROR_INVALID_VALUE};
  }
}

// The value that results from setting one.
std::size_t limit_for(int limit, std::size_t value) {
  const auto whole = [&](std::size_t piece) { return (value + piece - 1) / piece * piece; };
  default_limit(limit);  // whether there is such a limit
  switch (limit) {
    case CU_LIMIT_STACK_SIZE:
      return whole(16);
    case CU_LIMIT_PRINTF_FIFO_SIZE:
      return std::max<std::size_t>(value, 512 << 10);
    case CU_LIMIT_MALLOC_HEAP_SIZE:
      return std::max<std::size_t>(value, 4 << 20);
    case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
      if (value > 128) throw Refused{CUDA_ERROR_INVALID_VALUE};
      return value;
    case CU_LIMIT_PERSISTING_L2_CACHE_SIZE:
      return whole(3276800);  // a 16th of the cache
    case CU_LIMIT_SHMEM_SIZE:
    case CU_LIMIT_CIG_ENABLED:
      throw Refused{CUDA_ERROR_NOT_PERMITTED};
    default:
      return value;
  }
}

void synchronise(Session &s, const std::shared_ptr<Context> &context) {
  refuse_failed(*context);
  refuse_context_sync(s, *context);
  s.finish([&](const Context &other) { return other.is_within(*context); });
}

}  // namespace

SIM_API CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device) {
  return call(__func__, {out, device}, [&](Session &s) {
    required(out);
    *out = s.driver.retain_primary(device)->handle;
  });
}

SIM_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return call(__func__, {device}, [&](Session &s) { s.driver.release_primary(device, s.lock); });
}

SIM_API CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return call(__func__, {device}, [&](Session &s) {
    Device &d = s.driver.device(device);
    refuse_unsafe(s);
    refuse_lost(d);
    end_primary(s, d);
  });
}

SIM_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
  return call(__func__, {device, flags, active}, [&](Session &s) {
    const Device &d = s.driver.device(device);
    required(flags) = d.primary ? d.primary->flags : 0;
    required(active) = d.primary && d.primary->alive;
  });
}

SIM_API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  return call(__func__, {device, flags}, [&](Session &s) {
    Device &d = s.driver.device(device);
    if (!d.primary) {
      d.primary = s.driver.new_context(device, flags, 3020);
      d.primary->primary = true;
      s.driver.tear_down(*d.primary, s.lock);  // known, but not active
    }
    d.primary->flags = flags;
  });
}

// The first forms, for clients that look symbols up by their plain names.
SIM_API CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return cuDevicePrimaryCtxRelease_v2(device);
}

SIM_API CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return cuDevicePrimaryCtxReset_v2(device);
}

SIM_API CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

SIM_API CUresult cuCtxCreate_v2(CUcontext *out, unsigned flags, CUdevice device) {
  return call(__func__, {out, flags, device}, [&](Session &s) { create(s, out, flags, device); });
}

SIM_API CUresult cuCtxCreate_v3(CUcontext *out, void *affinity, int count, unsigned flags,
                                CUdevice device) {
  return call(__func__, {out, affinity, count, flags, device}, [&](Session &s) {
    // A part of a device is available through MPS alone.
    if (count != 0) throw Refused{CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY};
    create(s, out, flags, device);
  });
}

SIM_API CUresult cuCtxCreate_v4(CUcontext *out, void *parameters, unsigned flags, CUdevice device) {
  return call(__func__, {out, parameters, flags, device}, [&](Session &s) {
    if (parameters) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
    create(s, out, flags, device);
  });
}

SIM_API CUresult cuCtxDestroy_v2(CUcontext handle) {
  return call(__func__, {handle}, [&](Session &s) {
    auto context = s.driver.contexts.get(handle, CUDA_ERROR_INVALID_CONTEXT);
    if (context->primary || context->green || context->removed)
      throw Refused{CUDA_ERROR_INVALID_CONTEXT};
    auto &stack = s.thread.contexts;
    if (!stack.empty() && stack.back() == context) stack.pop_back();
    s.driver.tear_down(*context, s.lock);
    // Called after a wait: another thread may have destroyed the object meanwhile.
    if (context->removed) throw Refused{CUDA_ERROR_INVALID_CONTEXT};
    context->removed = true;
    // The handle stays known as destroyed until it is used again.
    if (Settings::get().reuse_handles)
      s.driver.contexts.remove(handle);
    else
      s.driver.contexts.retire(handle);
    refuse_lost(s.driver.device(context->device));
  });
}

SIM_API CUresult cuCtxGetCurrent(CUcontext *out) {
  return call(__func__, {out}, [&](Session &s) {
    auto &stack = s.thread.contexts;
    required(out) = stack.empty() ? nullptr : stack.back()->handle;
  });
}

SIM_API CUresult cuCtxSetCurrent(CUcontext handle) {
  return call(__func__, {handle}, [&](Session &s) {
    auto &stack = s.thread.contexts;
    if (!handle) {
      if (!stack.empty()) stack.pop_back();
      return;
    }
    auto context = s.driver.contexts.get(handle, CUDA_ERROR_INVALID_CONTEXT);  // or destroyed
    if (stack.empty())
      stack.push_back(context);
    else
      stack.back() = context;
  });
}

SIM_API CUresult cuCtxPushCurrent_v2(CUcontext handle) {
  return call(__func__, {handle}, [&](Session &s) {
    if (!handle) throw Refused{CUDA_ERROR_INVALID_VALUE};
    s.thread.contexts.push_back(s.driver.contexts.get(handle, CUDA_ERROR_INVALID_CONTEXT));
  });
}

SIM_API CUresult cuCtxPopCurrent_v2(CUcontext *out) {
  return call(__func__, {out}, [&](Session &s) {
    auto &stack = s.thread.contexts;
    if (stack.empty()) throw Refused{CUDA_ERROR_INVALID_CONTEXT};
    if (out) *out = stack.back()->handle;
    stack.pop_back();
  });
}

SIM_API CUresult cuCtxGetDevice(CUdevice *device) {
  return call(__func__, {device}, [&](Session &s) { required(device) = s.current()->device; });
}

SIM_API CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext handle) {
  return call(__func__, {device, handle},
              [&](Session &s) { required(device) = s.context(handle)->device; });
}

SIM_API CUresult cuCtxGetId(CUcontext handle, unsigned long long *id) {
  return call(__func__, {handle, id}, [&](Session &s) { required(id) = s.context(handle)->id; });
}

SIM_API CUresult cuCtxGetApiVersion(CUcontext handle, unsigned *version) {
  return call(__func__, {handle, version}, [&](Session &s) {
    if (handle && !s.driver.contexts.get(handle, CUDA_ERROR_INVALID_CONTEXT)->alive)
      throw Refused{CUDA_ERROR_INVALID_CONTEXT};
    required(version) = s.context(handle)->api_version;
  });
}

SIM_API CUresult cuCtxGetFlags(unsigned *flags) {
  return call(__func__, {flags},
              [&](Session &s) { required(flags) = s.current()->flags | CU_CTX_MAP_HOST; });
}

SIM_API CUresult cuCtxSetFlags(unsigned flags) {
  return call(__func__, {flags}, [&](Session &s) {
    const unsigned how_to_wait = flags & CU_CTX_SCHED_MASK;
    if ((flags & ~CU_CTX_FLAGS_MASK) || (how_to_wait & (how_to_wait - 1)))
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    owner_of(s.current())->flags = flags;
  });
}

// There is no profiler, so these do nothing.
SIM_API CUresult cuProfilerStart(void) {
  return call(__func__, {}, [&](Session &s) { s.current(); });
}

SIM_API CUresult cuProfilerStop(void) {
  return call(__func__, {}, [&](Session &s) { s.current(); });
}

SIM_API CUresult cuCtxSynchronize(void) {
  return call(__func__, {}, [&](Session &s) { synchronise(s, s.current()); });
}

SIM_API CUresult cuCtxSynchronize_v2(CUcontext handle) {
  return call(__func__, {handle}, [&](Session &s) { synchronise(s, s.context(handle)); });
}

SIM_API CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  return call(__func__, {least, greatest}, [&](Session &s) {
    s.current();
    if (least) *least = 0;
    if (greatest) *greatest = -5;
  });
}

SIM_API CUresult cuCtxGetLimit(std::size_t *value, int limit) {
  return call(__func__, {value, limit}, [&](Session &s) {
    auto context = s.current();
    const std::size_t otherwise = default_limit(limit);
    const auto set = context->limits.find(limit);
    required(value) = set == context->limits.end() ? otherwise : set->second;
  });
}

SIM_API CUresult cuCtxSetLimit(int limit, std::size_t value) {
  return call(__func__, {limit, value}, [&](Session &s) {
    auto context = s.current();
    context->limits[limit] = limit_for(limit, value);
  });
}

SIM_API CUresult cuCtxGetCacheConfig(int *config) {
  return call(__func__, {config},
              [&](Session &s) { required(config) = s.current()->cache_config; });
}

SIM_API CUresult cuCtxSetCacheConfig(int config) {
  return call(__func__, {config}, [&](Session &s) { s.current()->cache_config = config; });
}

SIM_API CUresult cuCtxGetSharedMemConfig(int *config) {
  return call(__func__, {config}, [&](Session &s) {
    const int banks_of_four_bytes = 1;
    s.current();
    required(config) = banks_of_four_bytes;
  });
}

SIM_API CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  return call(__func__, {peer, flags}, [&](Session &s) {
    auto context = owner_of(s.current());
    auto other = s.driver.contexts.get(peer, CUDA_ERROR_INVALID_CONTEXT);
    if (flags) throw Refused{CUDA_ERROR_INVALID_VALUE};
    refuse_failed(*other);
    if (other->device == context->device) throw Refused{CUDA_ERROR_PEER_ACCESS_UNSUPPORTED};
    if (!context->peers.insert(peer).second) throw Refused{CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED};
  });
}

SIM_API CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  return call(__func__, {peer}, [&](Session &s) {
    auto context = owner_of(s.current());
    s.driver.contexts.get(peer, CUDA_ERROR_INVALID_CONTEXT);
    if (!context->peers.erase(peer)) throw Refused{CUDA_ERROR_PEER_ACCESS_NOT_ENABLED};
  });
}
