// SPDX-License-Identifier: BSD-3-Clause
// The interface of the engine that executes PTX. It does not depend on the driver, and has no
// global state. `parse` makes a module from text. `run` executes one of its kernels, with memory
// that an Environment finds.
//
// Floating-point arithmetic is rounded exactly as PTX defines. The functions that PTX itself calls
// approximate (ex2, lg2, sin, cos, tanh, rsqrt, rcp.approx, div.approx, sqrt.approx) are within the
// documented error, usually far below it. Their last digits differ from a GPU's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report.h"
#include "texels.h"
#include "text.h"
#include "types.h"

namespace simcuda::kernel {

struct Program;  // parsed
struct Code;     // executable

enum class Linkage : std::uint8_t { internal, visible, weak, common, external };

struct Parameter {
  std::string name;
  std::uint32_t offset = 0, size = 0, alignment = 1;
};

// Bytes of a variable that hold the address of a symbol: address + addend, shifted right by
// `shift`.
struct Relocation {
  std::uint64_t offset = 0;
  std::uint32_t size = 8, shift = 0;
  std::string symbol;
  std::int64_t addend = 0;
};

struct Variable {
  std::string name;
  Space space = Space::global;
  Linkage linkage = Linkage::internal;
  bool managed = false;
  std::uint64_t size = 0;
  std::uint32_t alignment = 1;
  std::vector<std::byte> bytes;  // initial values; the rest is zeros
  std::vector<Relocation> relocations;
};

// For a thread, for a block without dynamic memory, and for a module: as on hardware.
constexpr std::uint32_t most_local_bytes = 512 << 10, most_shared_bytes = 48 << 10,
                        most_constant_bytes = 64 << 10;

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  std::uint32_t parameter_bytes = 0;
  std::uint32_t shared_bytes = 0;  // static
  std::uint32_t local_bytes = 0;   // for one thread, without calls through pointers
  std::uint32_t registers = 0;     // of 32 bits; a compiler would rarely need more
  // Blocks affect each other only through loads and stores: no atomic operations in global memory,
  // no strong loads and stores, no fences, no printf, no malloc. Then the order in which they run
  // does not matter.
  bool independent_blocks = false;
  // 0: not stated.
  std::uint32_t max_threads[3] = {}, required_threads[3] = {}, min_blocks = 0, max_registers = 0;
};

class Module {
 public:
  std::string version, target;
  std::vector<Kernel> kernels;
  std::vector<Variable> variables;      // of global and constant memory, defined here
  std::vector<std::string> unresolved;  // functions and variables that a linker must find
  const Kernel *kernel(std::string_view name) const;
  const Variable *variable(std::string_view name) const;
  // A function's address, the same in every context, for relocations. 0: the symbol is a variable.
  std::uint64_t function_address(std::string_view name) const;

  std::shared_ptr<const Program> program;
  std::shared_ptr<const Code> code;
};

using ModulePtr = std::shared_ptr<const Module>;

// Throws Invalid. Text with another .version directive is several modules, which are linked.
ModulePtr parse(std::string_view text);
// Links modules into one: definitions in one resolve the extern declarations of others.
ModulePtr link(const std::vector<ModulePtr> &modules);

// Memory that a kernel can access from one address on, up to the next allocation.
struct Window {
  std::uint64_t begin = 0, end = 0;  // addresses; empty: no memory
  std::byte *bytes = nullptr;        // at `begin`
  bool writable = true;
  // A bit for each byte, set once it is written; the caller owns them, and the engine sets them.
  // Null: all bytes count as written. The first bit is that of `begin`, which must be a multiple of
  // 8.
  std::uint64_t *written = nullptr;
};

// Functions of the caller, which several threads call if blocks run on several.
class Environment {
 public:
  virtual ~Environment() = default;
  virtual Window find(std::uint64_t address) = 0;
  // Describes an address in no window, or a read-only one: "it was freed ...".
  virtual std::string describe(std::uint64_t address) = 0;
  // The address of a global or constant variable of the module, in this context.
  virtual std::uint64_t address_of(const Variable &variable) = 0;
  virtual void print(std::string_view text) = 0;
  // Returns true if the kernel must end now. Called from time to time.
  virtual bool stopped() { return false; }
  // Allocates from the device's heap, for malloc in a kernel; 0: there is no memory.
  virtual std::uint64_t allocate(std::uint64_t) { return 0; }
  virtual bool free(std::uint64_t) { return false; }
  // What the handle of a texture or of a surface leads to, as long as the launch runs; null:
  // nothing that it can use, for the reason that the second says: a sentence.
  virtual const Texels *texels(std::uint64_t) { return nullptr; }
  virtual std::string describe_handle(std::uint64_t) { return {}; }
};

struct Checks {
  bool races = true;    // between threads of the launch, on shared and global memory
  bool written = true;  // reads of bytes that were not written
  bool barriers = true;
  bool accesses = true;  // whether the ranges that were read and written are needed
};

struct Launch {
  std::uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  std::uint32_t shared_bytes = 0;  // dynamic
  bool cooperative = false;
  std::vector<std::byte> parameters;
  std::uint64_t most_instructions = 0;  // for all threads together; 0: no limit
  unsigned threads = 1;  // the most threads that execute blocks, if these are independent
  std::uint64_t grid_id = 0;
  Checks checks;
};

struct Outcome {
  // If several blocks fault, the first block's. Later blocks may or may not have run.
  std::optional<Fault> fault;
  std::vector<Finding> findings;  // by block, and within a block in the order found
  std::vector<Access> accesses;
  std::vector<Place> places;       // of the accesses
  std::uint64_t instructions = 0;  // of all threads together
  std::uint64_t findings_left_out = 0;
};

// Executes a kernel of the module. Throws Invalid only if the launch does not fit the kernel.
Outcome run(const Module &module, const Kernel &kernel, const Launch &launch,
            Environment &environment);

}  // namespace simcuda::kernel
