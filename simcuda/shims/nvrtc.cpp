// SPDX-License-Identifier: BSD-3-Clause
// libnvrtc for its clients: NVIDIA's own, except that after compiling for a GPU (sm_90) it returns
// the intermediate PTX as the cubin.
#include <cstddef>

#include "real_library.h"

namespace {

using simcuda::RealLibrary;

RealLibrary real{"libnvrtc", "nvidia-cuda-nvrtc", "cuda_nvrtc"};

using Result = int;
using Program = struct ProgramOfNvrtc *;
constexpr Result internal_error = 11;

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))
#define REAL(name, ...) simcuda::call(real, #name, name, internal_error __VA_OPT__(, ) __VA_ARGS__)
#define FORWARD(name, parameters, ...)            \
  EXPORT Result name parameters {                 \
    return REAL(name __VA_OPT__(, ) __VA_ARGS__); \
  }

FORWARD(nvrtcVersion, (int *major, int *minor), major, minor)
FORWARD(nvrtcGetNumSupportedArchs, (int *count), count)
FORWARD(nvrtcGetSupportedArchs, (int *archs), archs)
FORWARD(nvrtcCreateProgram,
        (Program * program, const char *source, const char *name, int count,
         const char *const *headers, const char *const *names),
        program, source, name, count, headers, names)
FORWARD(nvrtcDestroyProgram, (Program * program), program)
FORWARD(nvrtcCompileProgram, (Program program, int count, const char *const *options), program,
        count, options)
FORWARD(nvrtcGetPTXSize, (Program program, std::size_t *size), program, size)
FORWARD(nvrtcGetPTX, (Program program, char *ptx), program, ptx)
FORWARD(nvrtcGetLTOIRSize, (Program program, std::size_t *size), program, size)
FORWARD(nvrtcGetLTOIR, (Program program, char *ir), program, ir)
FORWARD(nvrtcGetNVVMSize, (Program program, std::size_t *size), program, size)
FORWARD(nvrtcGetNVVM, (Program program, char *ir), program, ir)
FORWARD(nvrtcGetOptiXIRSize, (Program program, std::size_t *size), program, size)
FORWARD(nvrtcGetOptiXIR, (Program program, char *ir), program, ir)
FORWARD(nvrtcGetTileIRSize, (Program program, std::size_t *size), program, size)
FORWARD(nvrtcGetTileIR, (Program program, char *ir), program, ir)
FORWARD(nvrtcGetProgramLogSize, (Program program, std::size_t *size), program, size)
FORWARD(nvrtcGetProgramLog, (Program program, char *log), program, log)
FORWARD(nvrtcAddNameExpression, (Program program, const char *expression), program, expression)
FORWARD(nvrtcGetLoweredName, (Program program, const char *expression, const char **name), program,
        expression, name)
FORWARD(nvrtcGetPCHHeapSize, (std::size_t *size), size)
FORWARD(nvrtcSetPCHHeapSize, (std::size_t size), size)
FORWARD(nvrtcGetPCHCreateStatus, (Program program), program)
FORWARD(nvrtcGetPCHHeapSizeRequired, (Program program, std::size_t *size), program, size)
FORWARD(nvrtcSetFlowCallback, (Program program, int (*callback)(void *, void *), void *payload),
        program, callback, payload)
FORWARD(nvrtcInstallBundledHeaders, (const char *path, unsigned flags, const char **log), path,
        flags, log)
FORWARD(nvrtcGetBundledHeadersInfo, (void *info, const char **log), info, log)
FORWARD(nvrtcRemoveBundledHeaders, (const char *path, const char **log), path, log)

EXPORT const char *nvrtcGetErrorString(Result result) {
  return simcuda::call(real, "nvrtcGetErrorString", nvrtcGetErrorString,
                       "NVRTC_ERROR_INTERNAL_ERROR: simcuda has found no NVRTC", result);
}

// The size of what replaces the cubin. 0: there is no cubin, as after compiling for compute_90 or
// to LTO-IR, or no PTX to replace it.
static std::size_t size_of_ptx(Program program, std::size_t size_of_cubin) {
  std::size_t size = 0;
  return size_of_cubin > 0 && nvrtcGetPTXSize(program, &size) == 0 && size > 1 ? size : 0;
}

EXPORT Result nvrtcGetCUBINSize(Program program, std::size_t *size) {
  Result result = REAL(nvrtcGetCUBINSize, program, size);
  if (result == 0)
    if (std::size_t ptx = size_of_ptx(program, *size)) *size = ptx;
  return result;
}

EXPORT Result nvrtcGetCUBIN(Program program, char *cubin) {
  std::size_t size = 0;
  if (cubin && REAL(nvrtcGetCUBINSize, program, &size) == 0 && size_of_ptx(program, size))
    return nvrtcGetPTX(program, cubin);
  return REAL(nvrtcGetCUBIN, program, cubin);
}
