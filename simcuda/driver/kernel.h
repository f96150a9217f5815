// SPDX-License-Identifier: BSD-3-Clause
// Kernels that tests register, the modules and libraries that clients find them in, and launches.
#pragma once

#include <algorithm>

#include "driver.h"
#include "simcuda.h"

namespace simcuda {

struct KernelCode {
  std::string name;
  std::vector<std::uint32_t> argument_sizes;
  simcuda_kernel_ranges ranges;
  simcuda_kernel_run run;
};

// A CUfunction of a module, or a CUkernel of a library: a launch takes either.
struct Function {
  CUfunction handle = nullptr;
  std::shared_ptr<const KernelCode> code;
  std::weak_ptr<Module> module;
  std::weak_ptr<Library> library;
};

using FunctionPtr = std::shared_ptr<Function>;

struct Module {
  CUmodule handle = nullptr;
  std::shared_ptr<Context> context;
  std::map<std::string, FunctionPtr> functions;
  bool of_library = false;
};

struct Library {
  CUlibrary handle = nullptr;
  std::map<std::string, FunctionPtr> kernels;
  std::map<const Context *, std::shared_ptr<Module>> modules;
};

using Code = std::vector<std::shared_ptr<const KernelCode>>;

// The kernels that an image names; refuses what is no image of ours.
Code read_image(const char *symbol, const void *image);
std::shared_ptr<Module> add_module(Session &session, const Code &code);
void remove_module(Driver &driver, const std::shared_ptr<Module> &module);
// Modules go with their context.
void remove_modules_of(Driver &driver, const Context &context);

// Arguments in one buffer lie at multiples of this.
inline std::size_t argument_alignment(std::size_t size) {
  return std::min<std::size_t>(size & (~size + 1), 16);
}

struct LaunchShape {
  std::uint32_t grid[3], block[3], shared_bytes;
};

void launch_kernel(Session &session, const std::shared_ptr<Stream> &stream, CUfunction function,
                   const LaunchShape &shape, void **parameters, void **extra);

}  // namespace simcuda
