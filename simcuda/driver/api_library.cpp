// SPDX-License-Identifier: BSD-3-Clause
// Libraries, which exist in all contexts, and their kernels.

#include "call.h"
#include "capture.h"
#include "image.h"

using namespace simcuda;

namespace {

std::shared_ptr<Library> library_of(Session &s, CUlibrary handle) {
  return s.driver.libraries.get(handle);
}

std::shared_ptr<Module> module_here(Session &s, Library &library) {
  return module_of(s, library, owner_of(s.current()));
}

CUkernel handle_of(const Function &kernel) {
  return reinterpret_cast<CUkernel>(kernel.handle);
}

// The options say how long the library's bytes stay valid. They have no effect here.
void check_options(const int *options, void **values, unsigned count) {
  const int last = 1;
  if (count && (!options || !values)) throw Refused{CUDA_ERROR_INVALID_VALUE};
  for (unsigned i = 0; i < count; ++i)
    if (options[i] < 0 || options[i] > last) throw Refused{CUDA_ERROR_INVALID_VALUE};
}

}  // namespace

SIM_API CUresult cuLibraryLoadData(CUlibrary *out, const void *code, int *options, void **values,
                                   unsigned count, int *library_options, void **library_values,
                                   unsigned library_count) {
  return call(__func__,
              {out, code, options, values, count, library_options, library_values, library_count},
              [&](Session &s) {
                refuse_unsafe(s);
                required(out);
                check_options(library_options, library_values, library_count);
                JitOptions jit(count, options, values);
                auto image = load_image(s, "cuLibraryLoadData", code, jit);
                *out = add_library(s.driver, std::move(image))->handle;
              });
}

SIM_API CUresult cuLibraryLoadFromFile(CUlibrary *out, const char *path, int *options,
                                       void **values, unsigned count, int *library_options,
                                       void **library_values, unsigned library_count) {
  return call(__func__,
              {out, path, options, values, count, library_options, library_values, library_count},
              [&](Session &s) {
                refuse_unsafe(s);
                required(out);
                check_options(library_options, library_values, library_count);
                JitOptions jit(count, options, values);
                auto image = load_file(s, "cuLibraryLoadFromFile", path, jit);
                *out = add_library(s.driver, std::move(image))->handle;
              });
}

SIM_API CUresult cuLibraryUnload(CUlibrary handle) {
  return call(__func__, {handle},
              [&](Session &s) { remove_library(s.driver, library_of(s, handle)); });
}

SIM_API CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary library, const char *name) {
  return call(__func__, {out, library, name}, [&](Session &s) {
    const auto &kernels = library_of(s, library)->kernels;
    auto found = kernels.find(&required(name));
    if (found == kernels.end()) throw Refused{CUDA_ERROR_NOT_FOUND};
    required(out) = handle_of(*found->second);
  });
}

SIM_API CUresult cuLibraryGetKernelCount(unsigned *count, CUlibrary library) {
  return call(__func__, {count, library}, [&](Session &s) {
    required(count) = static_cast<unsigned>(library_of(s, library)->kernels.size());
  });
}

SIM_API CUresult cuLibraryEnumerateKernels(CUkernel *out, unsigned room, CUlibrary library) {
  return call(__func__, {out, room, library}, [&](Session &s) {
    required(out);
    for (auto &[name, kernel] : library_of(s, library)->kernels) {
      if (room-- == 0) break;
      *out++ = handle_of(*kernel);
    }
  });
}

SIM_API CUresult cuLibraryGetModule(CUmodule *out, CUlibrary library) {
  return call(__func__, {out, library},
              [&](Session &s) { required(out) = module_here(s, *library_of(s, library))->handle; });
}

SIM_API CUresult cuLibraryGetGlobal(CUdeviceptr *address, std::size_t *bytes, CUlibrary library,
                                    const char *name) {
  return call(__func__, {address, bytes, library, name}, [&](Session &s) {
    tell_variable(*module_here(s, *library_of(s, library)), name, address, bytes);
  });
}

SIM_API CUresult cuLibraryGetManaged(CUdeviceptr *address, std::size_t *bytes, CUlibrary library,
                                     const char *name) {
  return call(__func__, {address, bytes, library, name}, [&](Session &s) {
    const auto module = module_here(s, *library_of(s, library));
    if (variable_of(*module, name)->kind != Allocation::Kind::managed)
      throw Refused{CUDA_ERROR_NOT_FOUND};
    tell_variable(*module, name, address, bytes);
  });
}

SIM_API CUresult cuKernelGetFunction(CUfunction *out, CUkernel handle) {
  return call(__func__, {out, handle}, [&](Session &s) {
    auto kernel = kernel_of(s, handle);
    auto module = module_here(s, *kernel->library.lock());
    required(out) = module->functions.at(kernel->code->name)->handle;
  });
}

SIM_API CUresult cuKernelGetLibrary(CUlibrary *out, CUkernel kernel) {
  return call(__func__, {out, kernel},
              [&](Session &s) { required(out) = kernel_of(s, kernel)->library.lock()->handle; });
}

SIM_API CUresult cuKernelGetName(const char **name, CUkernel kernel) {
  return call(__func__, {name, kernel}, [&](Session &s) {
    required(kernel);
    required(name) = kernel_of(s, kernel)->code->name.c_str();
  });
}

SIM_API CUresult cuKernelGetParamInfo(CUkernel kernel, std::size_t index, std::size_t *offset,
                                      std::size_t *size) {
  return call(__func__, {kernel, index, offset, size}, [&](Session &s) {
    s.current();
    tell_parameter(*kernel_of(s, kernel)->code, index, offset, size);
  });
}

SIM_API CUresult cuKernelGetAttribute(int *value, int attribute, CUkernel kernel, CUdevice device) {
  return call(__func__, {value, attribute, kernel, device}, [&](Session &s) {
    s.driver.device(device);
    required(value) = attribute_of(*kernel_of(s, kernel), attribute);
  });
}

SIM_API CUresult cuKernelSetAttribute(int attribute, int value, CUkernel kernel, CUdevice device) {
  return call(__func__, {attribute, value, kernel, device}, [&](Session &s) {
    s.driver.device(device);
    set_attribute(*kernel_of(s, kernel), attribute, value);
  });
}

SIM_API CUresult cuKernelSetCacheConfig(CUkernel kernel, int config, CUdevice device) {
  return call(__func__, {kernel, config, device}, [&](Session &s) {
    s.driver.device(device);
    kernel_of(s, kernel);
    check_cache_config(config);
  });
}
