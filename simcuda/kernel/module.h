// SPDX-License-Identifier: BSD-3-Clause
// The engine that executes PTX: what its caller sees. It knows nothing of the driver, and nothing
// is global in it. `parse` makes a module of text, `run` executes one of its kernels, with memory
// that an Environment finds.
//
// Floating-point arithmetic is rounded exactly as PTX says. The functions that PTX itself calls
// approximate (ex2, lg2, sin, cos, tanh, rsqrt, rcp.approx, div.approx, sqrt.approx) are within the
// error that it documents, mostly far nearer; they differ from a GPU in the last digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report.h"
#include "text.h"
#include "types.h"

namespace simcuda::kernel {

struct Program;  // as it was parsed
struct Code;     // as it is executed

enum class Linkage : std::uint8_t { internal, visible, weak, common, external };

struct Parameter {
  std::string name;
  std::uint32_t offset = 0, size = 0, alignment = 1;
};

// Bytes of a variable that are the address of a symbol: bits `shift` and up of address + addend.
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
  std::vector<std::byte> bytes;  // what it holds at first; zeros follow
  std::vector<Relocation> relocations;
};

// Of a thread, of a block without what its launch adds, and of a module: as on hardware.
constexpr std::uint32_t most_local_bytes = 512 << 10, most_shared_bytes = 48 << 10,
                        most_constant_bytes = 64 << 10;

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  std::uint32_t parameter_bytes = 0;
  std::uint32_t shared_bytes = 0;  // static
  std::uint32_t local_bytes = 0;   // of one thread, without what calls through pointers need
  std::uint32_t registers = 0;     // of 32 bits, as many as a compiler would hardly need more
  // Blocks show each other nothing but what they load and store: no atomic operations in global
  // memory, no strong loads and stores, no fences, no printf, no malloc. The order in which they
  // run does not matter then.
  bool independent_blocks = false;
  // 0: not stated.
  std::uint32_t max_threads[3] = {}, required_threads[3] = {}, min_blocks = 0, max_registers = 0;
};

class Module {
 public:
  std::string version, target;
  std::vector<Kernel> kernels;
  std::vector<Variable> variables;      // of global and constant memory, defined here
  std::vector<std::string> unresolved;  // functions and variables that only a linker can find
  const Kernel *kernel(std::string_view name) const;
  const Variable *variable(std::string_view name) const;
  // A function's address, the same in every context: for relocations. 0: there is no such function.
  std::uint64_t function_address(std::string_view name) const;

  std::shared_ptr<const Program> program;
  std::shared_ptr<const Code> code;
};

using ModulePtr = std::shared_ptr<const Module>;

// Throws Invalid. Text in which another .version follows is of several modules, which are linked.
ModulePtr parse(std::string_view text);
// One module of several, in which what was extern in one is what another one defines.
ModulePtr link(const std::vector<ModulePtr> &modules);

// Memory that a kernel can reach at one address, up to where something else begins.
struct Window {
  std::uint64_t begin = 0, end = 0;  // addresses; empty: nothing is there
  std::byte *bytes = nullptr;        // of `begin`
  bool writable = true;
  // A bit for each byte, set once it is written; kept by the caller, set by the engine. Null: all
  // of it counts as written. The first bit is that of `begin`, which lies at a multiple of 8.
  std::uint64_t *written = nullptr;
};

// What the engine asks of its caller, from several threads if the blocks run on several.
class Environment {
 public:
  virtual ~Environment() = default;
  virtual Window find(std::uint64_t address) = 0;
  // What to say of an address that no window has, or that is not writable: "it was freed ...".
  virtual std::string describe(std::uint64_t address) = 0;
  // Of a global or constant variable of the module, in this context.
  virtual std::uint64_t address_of(const Variable &variable) = 0;
  virtual void print(std::string_view text) = 0;
  // True: the kernel is to end now. Asked from time to time.
  virtual bool stopped() { return false; }
  // Memory of the device's heap, for malloc in a kernel; 0: there is none.
  virtual std::uint64_t allocate(std::uint64_t) { return 0; }
  virtual bool free(std::uint64_t) { return false; }
};

struct Checks {
  bool races = true;    // between threads of the launch, on shared and global memory
  bool written = true;  // reads of bytes that nobody wrote
  bool barriers = true;
  bool accesses = true;  // the ranges that were read and written are wanted
};

struct Launch {
  std::uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  std::uint32_t shared_bytes = 0;  // dynamic
  bool cooperative = false;
  std::vector<std::byte> parameters;
  std::uint64_t most_instructions = 0;  // of all threads together; 0: no limit
  unsigned threads = 1;                 // that execute blocks, at most, if these are independent
  std::uint64_t grid_id = 0;
  Checks checks;
};

struct Outcome {
  // Of several blocks' the first one's. Blocks behind it may have run or not.
  std::optional<Fault> fault;
  std::vector<Finding> findings;  // by block, and in a block as they were found
  std::vector<Access> accesses;
  std::vector<Place> places;       // of the accesses
  std::uint64_t instructions = 0;  // of all threads together
  std::uint64_t findings_left_out = 0;
};

// Executes a kernel of the module. Throws Invalid only where the launch does not fit the kernel.
Outcome run(const Module &module, const Kernel &kernel, const Launch &launch,
            Environment &environment);

}  // namespace simcuda::kernel
