// SPDX-License-Identifier: BSD-3-Clause
// Modules and libraries, and the variables of modules in the driver's memory.

#include <algorithm>
#include <cstring>

#include "kernel.h"
#include "spoken.h"

namespace simcuda {
namespace {

AllocationPtr allocate(Driver &driver, const kernel::Variable &variable,
                       const std::shared_ptr<Context> &context) {
  const auto kind = variable.managed ? Allocation::Kind::managed : Allocation::Kind::device;
  const auto size = std::max<std::size_t>(variable.size, 1);
  if (size > driver.device(context->device).total) throw Refused{CUDA_ERROR_OUT_OF_MEMORY};
  auto allocation = driver.memory.allocate(kind, context->device, size, CU_MEM_ATTACH_GLOBAL);
  allocation->context = context;
  allocation->of_module = true;
  allocation->variable = kernel::spoken(variable.name);
  allocation->written = nullptr;  // the rest of a variable is 0
  allocation->constant = variable.space == kernel::Space::constant;
  std::memset(allocation->bytes, 0, size);
  std::copy(variable.bytes.begin(), variable.bytes.end(), allocation->bytes);
  return allocation;
}

// The bytes of an address that a relocation stands for.
void relocate(const Globals &globals, const kernel::Module &ptx, const kernel::Variable &variable) {
  std::byte *bytes = globals.variables.at(variable.name)->bytes;
  for (const kernel::Relocation &relocation : variable.relocations) {
    std::uint64_t value = ptx.function_address(relocation.symbol);
    const auto found = globals.variables.find(relocation.symbol);
    if (found != globals.variables.end()) value = found->second->address;
    value = (value + static_cast<std::uint64_t>(relocation.addend)) >> relocation.shift;
    std::memcpy(bytes + relocation.offset, &value, relocation.size);
  }
}

std::shared_ptr<Globals> make_globals(Driver &driver, const kernel::Module &ptx,
                                      const std::shared_ptr<Context> &context) {
  auto globals = std::make_shared<Globals>();
  for (const kernel::Variable &variable : ptx.variables)
    globals->variables.emplace(variable.name, allocate(driver, variable, context));
  for (const kernel::Variable &variable : ptx.variables) relocate(*globals, ptx, variable);
  return globals;
}

FunctionPtr add_function(Driver &driver, const KernelCodePtr &code) {
  auto function = std::make_shared<Function>();
  function->code = code;
  driver.functions.add(function);
  return function;
}

}  // namespace

Globals::~Globals() {
  for (auto &[name, allocation] : variables)
    if (!allocation->dead) driver()->memory.free(*allocation);  // else destroyed with its context
}

std::shared_ptr<Module> add_module(Session &session, const Image &image,
                                   const std::shared_ptr<Context> &context) {
  // While PTX was compiled, another thread may have destroyed it.
  if (!context->alive) throw Refused{CUDA_ERROR_CONTEXT_IS_DESTROYED};
  auto module = std::make_shared<Module>();
  module->context = context;
  if (image.ptx) module->globals = make_globals(session.driver, *image.ptx, context);
  for (auto &code : image.kernels) {
    auto function = add_function(session.driver, code);
    function->module = module;
    module->functions[code->name] = function;
  }
  session.driver.modules.add(module);
  return module;
}

void remove_module(Driver &driver, const std::shared_ptr<Module> &module) {
  for (auto &[name, function] : module->functions) driver.functions.remove(function->handle);
  driver.modules.remove(module->handle);
}

void remove_modules_of(Driver &driver, const Context &context) {
  for (auto &library : driver.libraries.all()) library->modules.erase(&context);
  for (auto &module : driver.modules.all())
    if (module->context.get() == &context) remove_module(driver, module);
}

std::shared_ptr<Library> add_library(Driver &driver, Image image) {
  auto library = std::make_shared<Library>();
  for (auto &code : image.kernels) {
    auto kernel = add_function(driver, code);
    kernel->library = library;
    library->kernels[code->name] = kernel;
  }
  library->image = std::move(image);
  driver.libraries.add(library);
  return library;
}

void remove_library(Driver &driver, const std::shared_ptr<Library> &library) {
  for (auto &[context, module] : library->modules) remove_module(driver, module);
  for (auto &[name, kernel] : library->kernels) driver.functions.remove(kernel->handle);
  driver.libraries.remove(library->handle);
}

std::shared_ptr<Module> module_of(Session &session, Library &library,
                                  const std::shared_ptr<Context> &context) {
  auto &module = library.modules[context.get()];
  if (!module) {
    module = add_module(session, library.image, context);
    module->of_library = true;
    for (auto &[name, function] : module->functions)
      function->of_library = library.kernels.at(name);
  }
  return module;
}

const AllocationPtr &variable_of(const Module &module, const char *name) {
  if (!name) throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (!module.globals) throw Refused{CUDA_ERROR_NOT_FOUND};
  const auto found = module.globals->variables.find(name);
  if (found == module.globals->variables.end()) throw Refused{CUDA_ERROR_NOT_FOUND};
  return found->second;
}

void tell_variable(const Module &module, const char *name, CUdeviceptr *address,
                   std::size_t *bytes) {
  const AllocationPtr &variable = variable_of(module, name);
  if (address) *address = variable->address;
  if (bytes) *bytes = variable->size;
}

FunctionPtr function_of(Session &session, CUfunction handle) {
  return session.driver.functions.get(handle);
}

FunctionPtr kernel_of(Session &session, CUkernel handle) {
  auto kernel = function_of(session, reinterpret_cast<CUfunction>(handle));
  if (!kernel->library.lock()) throw Refused{CUDA_ERROR_INVALID_HANDLE};
  return kernel;
}

}  // namespace simcuda
