// SPDX-License-Identifier: BSD-3-Clause
// Start, version, error names, and finding functions by name.

#include <cctype>
#include <cstring>
#include <string>

#include "call.h"
#include "table.h"

using namespace simcuda;

namespace {

struct ResultName {
  CUresult result;
  const char *name;
};
constexpr ResultName result_names[] = {
#define RESULT(number, name) {number, #name},
#include "result_names.inc"
#undef RESULT
};

const ResultName &result_name(CUresult result) {
  for (auto &known : result_names)
    if (known.result == result) return known;
  throw Refused{CUDA_ERROR_INVALID_VALUE};
}

// "CUDA_ERROR_OUT_OF_MEMORY" is described as "out of memory".
std::string describe(std::string_view name) {
  const std::string_view prefix = "CUDA_ERROR_";
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  std::string words(name);
  for (char &c : words)
    c = c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return words;
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
    *text = result_name(error).name;
  });
}

SIM_API CUresult cuGetErrorString(CUresult error, const char **text) {
  return call_without_driver(__func__, {error, text}, [&] {
    required(text) = nullptr;
    // The caller keeps the pointer: every description lives as long as the process.
    static auto *descriptions = [] {
      auto *all = new std::unordered_map<CUresult, std::string>;
      for (auto &known : result_names) all->emplace(known.result, describe(known.name));
      return all;
    }();
    *text = descriptions->at(result_name(error).result).c_str();
  });
}

SIM_API CUresult cuGetProcAddress(const char *name, void **function, int version,
                                  std::uint64_t flags) {
  return call_without_driver(__func__, {name, function, version, flags}, [&] {
    int status = 0;
    const CUresult result = get_proc_address(name, function, version, flags, status);
    return result == CUDA_SUCCESS && status != CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_ERROR_NOT_FOUND
                                                                           : result;
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
