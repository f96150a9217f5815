// SPDX-License-Identifier: BSD-3-Clause
// The driver's library, loaded at the first use and never unloaded. Only this folder knows libcuda.
#pragma once

#include <type_traits>

#include "core/error.hpp"
#include "driver/types.hpp"

namespace cai::driver {

// A function of the driver, with its name for errors.
template <class... Arguments>
struct Function {
  const char *name;
  CUresult (*address)(Arguments...);

  CUresult operator()(Arguments... arguments) const noexcept { return address(arguments...); }
};

// A function that the driver may lack. A call of it then fails.
template <class... Arguments>
struct OptionalFunction {
  const char *name;
  CUresult (*address)(Arguments...);

  CUresult operator()(Arguments... arguments) const noexcept {
    return address ? address(arguments...) : error_not_found;
  }
};

struct Driver {
#define CAI_DRIVER_FUNCTION(name, version, ...) Function<__VA_ARGS__> name{#name, nullptr};
#include "driver/functions.inc"
#undef CAI_DRIVER_FUNCTION
#define CAI_DRIVER_OPTIONAL(name, version, ...) OptionalFunction<__VA_ARGS__> name{#name, nullptr};
#include "driver/device_functions.inc"
#include "driver/memory_functions.inc"
#undef CAI_DRIVER_OPTIONAL
};

// The driver, or a Failure with CAI_ERR_DRIVER that says what is wrong. The first answer is used
// for the rest of the process.
const Driver &get();

// Whether get() has been called.
bool is_loaded() noexcept;

// "[cuEventRecord] CUDA_ERROR_INVALID_HANDLE (400): invalid resource handle", with CAI_ERR_CUDA.
cai_error failure_of(const char *function, CUresult result) noexcept;

// Whether a call's error means that the object's context was destroyed, or will never run anything
// again: an error of the device stays until the context is destroyed.
bool says_gone(CUresult result) noexcept;

[[noreturn, gnu::cold]] void fail_call(const char *function, CUresult result);

// Calls a function of the driver and throws its failure.
template <template <class...> class Kind, class... Arguments>
void call(const Kind<Arguments...> &function, std::type_identity_t<Arguments>... arguments) {
  if (const CUresult result = function(arguments...)) fail_call(function.name, result);
}

inline CUstream stream_handle(std::uint64_t value) noexcept {
  return reinterpret_cast<CUstream>(static_cast<std::uintptr_t>(value));
}

inline CUevent event_handle(std::uint64_t value) noexcept {
  return reinterpret_cast<CUevent>(static_cast<std::uintptr_t>(value));
}

}  // namespace cai::driver
