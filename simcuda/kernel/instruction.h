// SPDX-License-Identifier: BSD-3-Clause
// PTX in executable form. A register is 32 lanes, one after the other. An operand says where they
// begin: in the function's frame, among the constants, or in the bank of the warp or the launch.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "program.h"

namespace simcuda::kernel {

class Warp;

// Bytes aligned to 64.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::size_t size);
  std::byte *data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte *bytes) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_ = 0;
};

inline constexpr unsigned lanes_of_warp = 32;
inline constexpr std::uint32_t all_lanes = 0xFFFFFFFF;

// The lower two bits name one of these, the others the byte. All are multiples of 64.
enum class Bank : std::uint32_t { frame, constants, warp, launch };

using Place32 = std::uint32_t;
constexpr Place32 place_in(Bank bank, std::uint32_t offset) {
  return offset << 2 | static_cast<std::uint32_t>(bank);
}

// The contents of a warp's bank, and of a launch's, by byte offsets. A value that is the same in
// all lanes is there 32 times, so that it is an operand like any other.
namespace warp_bank {
enum : std::uint32_t {
  tid_x = 0,
  tid_y = 128,
  tid_z = 256,
  warpid = 384,
  ctaid_x = 512,
  ctaid_y = 640,
  ctaid_z = 768,
  size = 896
};
}
namespace launch_bank {
enum : std::uint32_t {
  ntid_x = 0,
  ntid_y = 128,
  ntid_z = 256,
  nctaid_x = 384,
  nctaid_y = 512,
  nctaid_z = 640,
  laneid = 768,
  lanemask_eq = 896,
  lanemask_le = 1024,
  lanemask_lt = 1152,
  lanemask_ge = 1280,
  lanemask_gt = 1408,
  nwarpid = 1536,
  zero = 1664,
  one = 1792,
  total_smem = 1920,
  dynamic_smem = 2048,
  gridid32 = 2176,
  gridid = 2304,
  zero64 = 2560,
  envreg1 = 2816,
  envreg2 = 2944,
  symbols = 3072,
};
}

enum class Flow : std::uint8_t {
  on,       // the next instruction follows
  changes,  // the warp's place or its active lanes may have changed
};

struct Instruction;
using Execute = void (*)(Warp &, const Instruction &, std::uint32_t mask);

struct Instruction {
  Execute run = nullptr;
  Place32 d = 0, a = 0, b = 0, c = 0, e = 0;
  // An offset, a target, a selection: anything known in advance.
  std::uint32_t list = 0;  // its first entry in Body::lists
  std::int64_t immediate = 0;
  std::uint32_t guard = 0;  // byte in the frame, plus 1; 0: none
  std::uint16_t option = 0, option2 = 0;
  std::uint8_t count = 0, size = 0;
  bool guard_negated = false;
  Flow flow = Flow::on;
  Space space = Space::generic;
  bool flag = false, atomic = false;
  bool acquires : 1 = false, releases : 1 = false;  // for atomic instructions
  bool unseen : 1 = false;                          // the old value is not used
  bool overwrites : 1 = false;                      // and the new one does not depend on it
  std::uint32_t cache = 0;  // of instructions that use memory: unique in the module
};

struct Source {
  std::uint32_t line = 0, file = 0, source_line = 0;
  std::uint32_t text = 0;  // index into Code::spellings
};

// Functions that the engine itself provides.
enum class Builtin : std::uint8_t { none, vprintf, assertfail, malloc, free, unresolved };

struct Passed {
  bool is_register = false;
  Place32 place = 0;         // of a register, or a constant
  std::uint32_t offset = 0;  // in the frame's local memory
  std::uint32_t size = 0;
};

struct Call {
  int function = -1;  // -1: given by `pointer`
  Place32 pointer = 0;
  std::vector<Passed> arguments, results;
};

struct Body {
  std::string name;
  bool defined = false, entry = false;
  Builtin builtin = Builtin::none;
  std::vector<Instruction> instructions;
  std::vector<Source> sources;
  std::vector<Place32> lists;  // operands of vectors, targets of brx
  std::vector<Call> calls;
  std::vector<Passed> parameters, results;
  std::uint32_t frame_bytes = 0;
  std::uint32_t local_bytes = 0;
  // What it uses directly.
  std::vector<int> callees, shared;  // functions; variables
  bool calls_pointers = false;
  bool independent_blocks = true;
};

struct SymbolUse {
  int function = -1, variable = -1;
  std::uint64_t addend = 0;
  std::uint32_t offset = 0, bits = 64;  // in the launch's bank
};

// Where a kernel's shared variables are.
struct SharedLayout {
  std::map<int, std::uint32_t> offsets;  // by variable
  std::uint32_t bytes = 0;
};

struct Code {
  std::vector<Body> bodies;  // in the order of Program::functions
  Bytes constants;
  std::vector<SymbolUse> symbols;
  std::uint32_t launch_bytes = launch_bank::symbols;
  std::vector<std::string> spellings;
  std::map<std::string_view, int> function_by_name;
  std::vector<SharedLayout> layouts;  // by function; only for entries
  std::uint32_t caches = 0;
};

inline constexpr std::uint32_t deepest_call = 2000;  // how many are nested at most

// The bytes of each frame: lanes that nothing reads, then carry flags, then registers.
inline constexpr std::uint32_t carry_offset = 512, first_register = 576;

// Functions have addresses that nothing else has.
inline constexpr std::uint64_t function_base = std::uint64_t{5} << 56;
inline constexpr std::uint64_t function_step = 16;
// So does the memory of a block and of a thread, as generic addresses.
inline constexpr std::uint64_t shared_base = std::uint64_t{1} << 56;
inline constexpr std::uint64_t local_base = std::uint64_t{2} << 56;
inline constexpr std::uint64_t param_base = std::uint64_t{3} << 56;
inline constexpr std::uint64_t most_of_window = std::uint64_t{1} << 32;

}  // namespace simcuda::kernel
