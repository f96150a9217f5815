// SPDX-License-Identifier: BSD-3-Clause
// The few functions of the CUDA driver that the module calls, found when they are first needed: so
// it is built without CUDA, and filters arrays on the CPU where there is no driver.
#ifndef IMAGEFILTERS_DRIVER_H
#define IMAGEFILTERS_DRIVER_H

#include <dlfcn.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace imagefilters {

using CUresult = int;  // 0 is success
using CUcontext = struct CUctx_st *;
using CUstream = struct CUstream_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;

#define IMAGEFILTERS_DRIVER(F)                                                               \
  F(cuStreamGetCtx, (CUstream, CUcontext *))                                                 \
  F(cuCtxPushCurrent_v2, (CUcontext))                                                        \
  F(cuCtxPopCurrent_v2, (CUcontext *))                                                       \
  F(cuCtxGetId, (CUcontext, unsigned long long *))                                           \
  F(cuModuleLoadData, (CUmodule *, const void *))                                            \
  F(cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                             \
  F(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
                     unsigned, CUstream, void **, void **))

struct driver {
#define IMAGEFILTERS_MEMBER(name, parameters) CUresult(*name) parameters;
  IMAGEFILTERS_DRIVER(IMAGEFILTERS_MEMBER)
#undef IMAGEFILTERS_MEMBER

  driver() {
    void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error("no CUDA driver");
#define IMAGEFILTERS_FIND(name, parameters)                               \
  name = reinterpret_cast<CUresult(*) parameters>(dlsym(library, #name)); \
  if (!name) throw std::runtime_error("the CUDA driver is too old: it has no " #name "()");
    IMAGEFILTERS_DRIVER(IMAGEFILTERS_FIND)
#undef IMAGEFILTERS_FIND
  }

  static const driver &get() {
    static const driver loaded;
    return loaded;
  }
};

// Throws if a call has failed.
inline void check(CUresult result, const char *call) {
  if (result != 0) {
    throw std::runtime_error(std::string(call) + "() failed: CUresult " + std::to_string(result));
  }
}

}  // namespace imagefilters

#endif
