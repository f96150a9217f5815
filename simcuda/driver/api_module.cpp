// SPDX-License-Identifier: BSD-3-Clause
// Modules and libraries of kernels that tests have registered: see simcuda.h.

#include <cstring>

#include "call.h"
#include "capture.h"
#include "kernel.h"

using namespace simcuda;

namespace {

void load(Session &s, const char *symbol, CUmodule *out, const void *image) {
  refuse_unsafe(s);
  required(out);
  *out = add_module(s, read_image(symbol, image))->handle;
}

FunctionPtr function_of(Session &s, CUfunction handle) {
  return s.driver.functions.get(handle);
}

FunctionPtr kernel_of(Session &s, CUkernel handle) {
  auto kernel = function_of(s, reinterpret_cast<CUfunction>(handle));
  if (!kernel->library.lock()) throw Refused{CUDA_ERROR_INVALID_HANDLE};
  return kernel;
}

const FunctionPtr &named(const std::map<std::string, FunctionPtr> &functions, const char *name) {
  auto found = functions.find(&required(name));
  if (found == functions.end()) throw Refused{CUDA_ERROR_NOT_FOUND};
  return found->second;
}

// A library's kernels in the current context.
std::shared_ptr<Module> module_of(Session &s, Library &library) {
  auto &module = library.modules[owner_of(s.current()).get()];
  if (!module) {
    Code code;
    for (auto &[name, kernel] : library.kernels) code.push_back(kernel->code);
    module = add_module(s, code);
    module->of_library = true;
  }
  return module;
}

void tell_parameter(const KernelCode &code, std::size_t index, std::size_t *offset,
                    std::size_t *size) {
  if (index >= code.argument_sizes.size()) throw Refused{CUDA_ERROR_INVALID_VALUE};
  std::size_t at = 0;
  for (std::size_t i = 0;; ++i) {
    const std::size_t width = code.argument_sizes[i];
    const std::size_t alignment = argument_alignment(width);
    at = (at + alignment - 1) / alignment * alignment;
    if (i == index) break;
    at += width;
  }
  required(offset) = at;
  if (size) *size = code.argument_sizes[index];
}

}  // namespace

SIM_API CUresult cuModuleLoadData(CUmodule *out, const void *image) {
  return call(__func__, {out, image}, [&](Session &s) { load(s, "cuModuleLoadData", out, image); });
}

SIM_API CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned count, int *options,
                                    void **values) {
  return call(__func__, {out, image, count, options, values},
              [&](Session &s) { load(s, "cuModuleLoadDataEx", out, image); });
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
    required(out) = named(s.driver.modules.get(module)->functions, name)->handle;
  });
}

SIM_API CUresult cuModuleGetFunctionCount(unsigned *count, CUmodule module) {
  return call(__func__, {count, module}, [&](Session &s) {
    required(count) = static_cast<unsigned>(s.driver.modules.get(module)->functions.size());
  });
}

SIM_API CUresult cuFuncGetModule(CUmodule *out, CUfunction function) {
  return call(__func__, {out, function}, [&](Session &s) {
    const auto module = function_of(s, function)->module.lock();
    if (!module) throw Refused{CUDA_ERROR_INVALID_HANDLE};
    required(out) = module->handle;
  });
}

SIM_API CUresult cuFuncGetName(const char **name, CUfunction function) {
  return call(__func__, {name, function},
              [&](Session &s) { required(name) = function_of(s, function)->code->name.c_str(); });
}

SIM_API CUresult cuFuncGetParamInfo(CUfunction function, std::size_t index, std::size_t *offset,
                                    std::size_t *size) {
  return call(__func__, {function, index, offset, size}, [&](Session &s) {
    tell_parameter(*function_of(s, function)->code, index, offset, size);
  });
}

SIM_API CUresult cuLibraryLoadData(CUlibrary *out, const void *code, int *options, void **values,
                                   unsigned count, int *library_options, void **library_values,
                                   unsigned library_count) {
  return call(__func__,
              {out, code, options, values, count, library_options, library_values, library_count},
              [&](Session &s) {
                refuse_unsafe(s);
                required(out);
                auto library = std::make_shared<Library>();
                for (auto &kernel : read_image("cuLibraryLoadData", code)) {
                  auto function = std::make_shared<Function>();
                  function->code = kernel;
                  function->library = library;
                  s.driver.functions.add(function);
                  library->kernels[kernel->name] = function;
                }
                *out = s.driver.libraries.add(library);
              });
}

SIM_API CUresult cuLibraryUnload(CUlibrary handle) {
  return call(__func__, {handle}, [&](Session &s) {
    auto library = s.driver.libraries.get(handle);
    for (auto &[context, module] : library->modules) remove_module(s.driver, module);
    for (auto &[name, kernel] : library->kernels) s.driver.functions.remove(kernel->handle);
    s.driver.libraries.remove(handle);
  });
}

SIM_API CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary library, const char *name) {
  return call(__func__, {out, library, name}, [&](Session &s) {
    required(out) =
        reinterpret_cast<CUkernel>(named(s.driver.libraries.get(library)->kernels, name)->handle);
  });
}

SIM_API CUresult cuLibraryGetKernelCount(unsigned *count, CUlibrary library) {
  return call(__func__, {count, library}, [&](Session &s) {
    required(count) = static_cast<unsigned>(s.driver.libraries.get(library)->kernels.size());
  });
}

SIM_API CUresult cuLibraryGetModule(CUmodule *out, CUlibrary library) {
  return call(__func__, {out, library}, [&](Session &s) {
    required(out) = module_of(s, *s.driver.libraries.get(library))->handle;
  });
}

SIM_API CUresult cuKernelGetFunction(CUfunction *out, CUkernel handle) {
  return call(__func__, {out, handle}, [&](Session &s) {
    auto kernel = kernel_of(s, handle);
    auto module = module_of(s, *kernel->library.lock());
    required(out) = module->functions.at(kernel->code->name)->handle;
  });
}

SIM_API CUresult cuKernelGetLibrary(CUlibrary *out, CUkernel kernel) {
  return call(__func__, {out, kernel},
              [&](Session &s) { required(out) = kernel_of(s, kernel)->library.lock()->handle; });
}

SIM_API CUresult cuKernelGetName(const char **name, CUkernel kernel) {
  return call(__func__, {name, kernel},
              [&](Session &s) { required(name) = kernel_of(s, kernel)->code->name.c_str(); });
}

SIM_API CUresult cuKernelGetParamInfo(CUkernel kernel, std::size_t index, std::size_t *offset,
                                      std::size_t *size) {
  return call(__func__, {kernel, index, offset, size}, [&](Session &s) {
    tell_parameter(*kernel_of(s, kernel)->code, index, offset, size);
  });
}
