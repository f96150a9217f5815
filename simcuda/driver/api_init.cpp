// SPDX-License-Identifier: BSD-3-Clause
// Initialisation, the version, error names, and finding functions by name.

#include <cstring>

#include "call.h"
#include "table.h"

using namespace simcuda;

namespace {

struct Result {
  CUresult number;
  const char *name, *text;
};
constexpr Result results[] = {
#define RESULT(number, name, text) {number, #name, text},
#include "results.inc"
#undef RESULT
};

const Result &result_of(CUresult number) {
  for (auto &known : results)
    if (known.number == number) return known;
  throw Refused{CUDA_ERROR_INVALID_VALUE};
}

// The newest form of a base name that a client of this version may use. The status says why there
// is none.
const Symbol *look_up(const char *base, int version, bool per_thread, int &status) {
  const int driver_version = Settings::get().driver_version;
  const Symbol *legacy = nullptr;
  const Symbol *flavoured = nullptr;
  bool known = false;
  for (std::size_t i = 0; i < symbol_count; ++i) {
    const Symbol &symbol = symbols[i];
    if (std::strcmp(symbol.base, base) != 0 || symbol.version > driver_version) continue;
    known = true;
    if (symbol.version > version) continue;
    // The newest comes last.
    (symbol.flavour == Flavour::legacy ? legacy : flavoured) = &symbol;
  }
  status = legacy  ? CU_GET_PROC_ADDRESS_SUCCESS
           : known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                   : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return per_thread && flavoured ? flavoured : legacy;
}

CUresult get_proc_address(const char *name, void **function, int version, std::uint64_t flags,
                          int &status) {
  required(name);
  required(function);
  *function = nullptr;
  if (flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM ||
      version > Settings::get().driver_version)
    return CUDA_ERROR_INVALID_VALUE;
  const bool per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (const Symbol *found = look_up(name, version, per_thread, status)) *function = found->function;
  return CUDA_SUCCESS;
}

}  // namespace

SIM_API CUresult cuInit(unsigned flags) {
  return call_without_driver(__func__, {flags},
                             [&] { return flags ? CUDA_ERROR_INVALID_VALUE : initialise(); });
}

SIM_API CUresult cuDriverGetVersion(int *version) {
  return call_without_driver(__func__, {version},
                             [&] { required(version) = Settings::get().driver_version; });
}

SIM_API CUresult cuGetErrorName(CUresult error, const char **text) {
  return call_without_driver(__func__, {error, text}, [&] {
    required(text) = nullptr;
    *text = result_of(error).name;
  });
}

SIM_API CUresult cuGetErrorString(CUresult error, const char **text) {
  return call_without_driver(__func__, {error, text}, [&] {
    required(text) = nullptr;
    *text = result_of(error).text;
  });
}

SIM_API CUresult cuGetProcAddress(const char *name, void **function, int version,
                                  std::uint64_t flags) {
  return call_without_driver(__func__, {name, function, version, flags}, [&] {
    int status = 0;
    void *found = nullptr;
    required(function);  // unchanged if there is none
    const CUresult result = get_proc_address(name, &found, version, flags, status);
    if (result != CUDA_SUCCESS) return result;
    if (status != CU_GET_PROC_ADDRESS_SUCCESS) return CUDA_ERROR_NOT_FOUND;
    *function = found;
    return CUDA_SUCCESS;
  });
}

SIM_API CUresult cuGetProcAddress_v2(const char *name, void **function, int version,
                                     std::uint64_t flags, int *status) {
  return call_without_driver(__func__, {name, function, version, flags, status}, [&] {
    int found = 0;
    const CUresult result = get_proc_address(name, function, version, flags, found);
    if (result == CUDA_SUCCESS && status) *status = found;
    return result;
  });
}

SIM_API CUresult cuModuleGetLoadingMode(int *mode) {
  return call(__func__, {mode}, [&](Session &) { required(mode) = 2; });  // lazy
}
