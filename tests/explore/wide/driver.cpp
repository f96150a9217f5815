// SPDX-License-Identifier: BSD-3-Clause
#include "driver.hpp"

#include <dlfcn.h>

#include "must.h"

namespace wide {

Driver::Driver() {
  void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  MUST_HOLD(library);
#define FIND(name, result, ...)                                            \
  name = reinterpret_cast<result (*)(__VA_ARGS__)>(dlsym(library, #name)); \
  MUST_HOLD(name);
  FUNCTIONS(FIND)
#undef FIND
}

Driver &cu() {
  static Driver driver;
  return driver;
}

std::uint64_t host_waits() {
  return host_waits_for_streams() + cu().simcuda_calls("cuEventSynchronize") +
         cu().simcuda_calls("cuCtxSynchronize");
}

std::uint64_t host_waits_for_streams() {
  return cu().simcuda_calls("cuStreamSynchronize");
}

}  // namespace wide
