// SPDX-License-Identifier: BSD-3-Clause
// Kernels, and the modules, libraries and images that contain them.
#pragma once

#include "driver.h"
#include "module.h"  // of the engine that executes PTX
#include "simcuda.h"

namespace simcuda {

struct ArgumentPlace {
  std::size_t offset, size;
};

// What a launch executes: a PTX kernel, or one that a test has registered in its place.
struct KernelCode {
  std::string name;
  std::vector<ArgumentPlace> arguments;
  std::size_t argument_bytes = 0;

  kernel::ModulePtr ptx;  // null: a registered kernel
  const kernel::Kernel *kernel = nullptr;

  simcuda_kernel_ranges ranges = nullptr;
  simcuda_kernel_run run = nullptr;
  // A kernel that reports what it uses while it runs.
  simcuda_stand_in_run stand_in = nullptr;
  void *data = nullptr;
};

using KernelCodePtr = std::shared_ptr<const KernelCode>;

// A CUfunction of a module, or a CUkernel of a library: a launch takes either.
struct Function {
  CUfunction handle = nullptr;
  KernelCodePtr code;
  std::weak_ptr<Module> module;
  std::weak_ptr<Library> library;
  std::shared_ptr<Function> of_library;  // the kernel that this is in one context
  std::map<int, int> attributes;         // only those that were set
};

using FunctionPtr = std::shared_ptr<Function>;

// A module's variables of global and constant memory in one context. They exist as long as the
// module or work launched from it does.
struct Globals {
  Globals() = default;
  Globals(const Globals &) = delete;
  Globals &operator=(const Globals &) = delete;
  ~Globals();
  std::map<std::string, AllocationPtr, std::less<>> variables;
};

struct Module {
  CUmodule handle = nullptr;
  std::shared_ptr<Context> context;
  std::map<std::string, FunctionPtr> functions;
  std::shared_ptr<Globals> globals;
  bool of_library = false;
};

// The kernels of an image, and their common code.
struct Image {
  std::vector<KernelCodePtr> kernels;
  kernel::ModulePtr ptx;  // null: registered kernels
};

struct Library {
  CUlibrary handle = nullptr;
  Image image;
  std::map<std::string, FunctionPtr> kernels;
  std::map<const Context *, std::shared_ptr<Module>> modules;
};

// A registered kernel; null if the name is not registered.
KernelCodePtr registered_kernel(std::string_view name);
bool are_kernels_registered();
// Returns the status of simcuda_kernel().
CUresult register_kernel(const char *name, const std::uint32_t *argument_sizes,
                         std::uint32_t argument_count,
                         const std::function<void(KernelCode &)> &complete);

std::shared_ptr<Module> add_module(Session &session, const Image &image,
                                   const std::shared_ptr<Context> &context);
void remove_module(Driver &driver, const std::shared_ptr<Module> &module);
// Modules are destroyed with their context.
void remove_modules_of(Driver &driver, const Context &context);
std::shared_ptr<Library> add_library(Driver &driver, Image image);
void remove_library(Driver &driver, const std::shared_ptr<Library> &library);
// A library's kernels in a context.
std::shared_ptr<Module> module_of(Session &session, Library &library,
                                  const std::shared_ptr<Context> &context);

FunctionPtr function_of(Session &session, CUfunction handle);
FunctionPtr kernel_of(Session &session, CUkernel handle);

// The resources that a kernel needs, and those that the device has.
inline constexpr unsigned multiprocessors = 132;
int attribute_of(const Function &function, int attribute);
void set_attribute(Function &function, int attribute, int value);
// How many blocks fit on a multiprocessor, by threads and bytes of dynamic shared memory.
unsigned resident_blocks(const KernelCode &code, unsigned threads, std::size_t shared_bytes);
// The dynamic shared memory for each block, if that many blocks are on a multiprocessor.
std::size_t available_shared(const Function &function, unsigned blocks, unsigned threads);
// The largest cluster size in blocks, and the required one; 0: none is required.
unsigned most_in_cluster(const Function &function);
unsigned required_in_cluster(const Function &function);
void check_cache_config(int config);

// A module's variable; throws NOT_FOUND.
const AllocationPtr &variable_of(const Module &module, const char *name);
void tell_variable(const Module &module, const char *name, CUdeviceptr *address,
                   std::size_t *bytes);
void tell_parameter(const KernelCode &code, std::size_t index, std::size_t *offset,
                    std::size_t *size);

}  // namespace simcuda
