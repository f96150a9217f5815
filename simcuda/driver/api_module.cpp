// SPDX-License-Identifier: BSD-3-Clause
// Modules: loading them, and finding functions and variables by name.

#include "call.h"
#include "capture.h"
#include "image.h"

using namespace simcuda;

namespace {

void load(Session &s, const char *symbol, CUmodule *out, const void *image, unsigned count = 0,
          const int *options = nullptr, void **values = nullptr) {
  refuse_unsafe(s);
  required(out);
  const auto context = owner_of(s.current());
  JitOptions jit(count, options, values);
  *out = add_module(s, load_image(s, symbol, image, jit), context)->handle;
}

const FunctionPtr &named(const Module &module, const char *name) {
  auto found = module.functions.find(&required(name));
  if (found == module.functions.end()) throw Refused{CUDA_ERROR_NOT_FOUND};
  return found->second;
}

}  // namespace

SIM_API CUresult cuModuleLoad(CUmodule *out, const char *path) {
  return call(__func__, {out, path}, [&](Session &s) {
    refuse_unsafe(s);
    required(out);
    const auto context = owner_of(s.current());
    JitOptions none;
    *out = add_module(s, load_file(s, "cuModuleLoad", path, none), context)->handle;
  });
}

SIM_API CUresult cuModuleLoadData(CUmodule *out, const void *image) {
  return call(__func__, {out, image}, [&](Session &s) { load(s, "cuModuleLoadData", out, image); });
}

SIM_API CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned count, int *options,
                                    void **values) {
  return call(__func__, {out, image, count, options, values}, [&](Session &s) {
    load(s, "cuModuleLoadDataEx", out, image, count, options, values);
  });
}

SIM_API CUresult cuModuleLoadFatBinary(CUmodule *out, const void *image) {
  return call(__func__, {out, image},
              [&](Session &s) { load(s, "cuModuleLoadFatBinary", out, image); });
}

SIM_API CUresult cuModuleUnload(CUmodule handle) {
  return call(__func__, {handle}, [&](Session &s) {
    auto module = s.driver.modules.get(handle);
    if (module->of_library) throw Refused{CUDA_ERROR_NOT_PERMITTED};
    remove_module(s.driver, module);
  });
}

SIM_API CUresult cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name) {
  return call(__func__, {out, module, name}, [&](Session &s) {
    required(out) = named(*s.driver.modules.get(module), name)->handle;
  });
}

SIM_API CUresult cuModuleGetFunctionCount(unsigned *count, CUmodule module) {
  return call(__func__, {count, module}, [&](Session &s) {
    required(count) = static_cast<unsigned>(s.driver.modules.get(module)->functions.size());
  });
}

SIM_API CUresult cuModuleEnumerateFunctions(CUfunction *out, unsigned room, CUmodule module) {
  return call(__func__, {out, room, module}, [&](Session &s) {
    required(out);
    for (auto &[name, function] : s.driver.modules.get(module)->functions) {
      if (room-- == 0) break;
      *out++ = function->handle;
    }
  });
}

SIM_API CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, std::size_t *bytes, CUmodule module,
                                      const char *name) {
  return call(__func__, {address, bytes, module, name}, [&](Session &s) {
    tell_variable(*s.driver.modules.get(module), name, address, bytes);
  });
}
