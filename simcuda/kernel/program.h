// SPDX-License-Identifier: BSD-3-Clause
// Parsed PTX: names are resolved, opcodes are not yet examined.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "module.h"

namespace simcuda::kernel {

struct Operand {
  enum class Kind : std::uint8_t {
    sink,       // _
    reg,        // `index` into the function's registers; `second` of p|q
    integer,    // `bits`
    single,     // `bits` of an f32
    real,       // `bits` of an f64
    special,    // `name`: %tid.x
    variable,   // `index` into the program's symbols; `bits` is added
    local,      // `index` into the function's variables: of .local and .param; `bits` is added
    function,   // `index` into the program's symbols
    parameter,  // a kernel's: `bits` is the place among its bytes
    label,      // `index` into the statements
    targets,    // `index` into the lists of labels
    prototype,  // of a call
    vector,     // `parts`
    address,  // `parts` holds what it is relative to, if anything, and coordinates; `bits` is added
    group,    // of a call: `parts`
  };
  Kind kind = Kind::sink;
  bool negated = false;
  int index = -1, second = -1;
  std::uint64_t bits = 0;
  std::string_view name;
  std::vector<Operand> parts;
};

struct Statement {
  std::uint32_t line = 0, source_line = 0, source_file = 0;
  int guard = -1;
  bool guard_negated = false;
  std::string_view root;                    // add
  std::vector<std::string_view> modifiers;  // rn, f32
  std::vector<Operand> operands;
};
std::string opcode_of(const Statement &statement);  // add.rn.f32

struct Register {
  std::string_view name;
  Type type = Type::none;
};

// Of .local, or of .param in the scope of a call or a function.
struct FrameVariable {
  std::string_view name;
  std::uint64_t size = 0;
  std::uint32_t alignment = 1;
  Space space = Space::local;
};

// A parameter or result of a function: a register, a variable of the frame, or, for a kernel, an
// offset among the parameters.
struct Formal {
  bool is_register = false;
  int index = -1;
  std::uint64_t size = 0;
  std::uint32_t alignment = 1;
};

struct Function {
  std::string_view name;
  std::uint32_t line = 0;
  Linkage linkage = Linkage::internal;
  bool entry = false, defined = false;
  std::vector<Formal> parameters, results;
  Kernel kernel;  // of an entry
  std::vector<Register> registers;
  std::vector<FrameVariable> variables;
  std::vector<Statement> statements;
  std::vector<std::vector<int>> label_lists;  // of .branchtargets
  // Declarations of one function have as many parameters and results.
  bool is_like(const Function &other) const {
    return entry == other.entry && parameters.size() == other.parameters.size() &&
           results.size() == other.results.size();
  }
};

// Functions and variables share their names.
struct Symbol {
  std::string_view name;
  int function = -1, variable = -1;
};

struct Program {
  std::vector<std::shared_ptr<const std::string>> texts;  // that all names point into
  std::string version, target;
  std::map<std::uint32_t, std::string> files;
  std::vector<Function> functions;
  std::vector<Variable> variables;
  std::vector<Symbol> symbols;
  std::map<std::string_view, int> symbol_by_name;  // of the module's scope
};

// Parses one text, or several, one after the other.
std::vector<std::shared_ptr<const Program>> parse_programs(std::string_view text);
std::shared_ptr<const Program> link_programs(
    const std::vector<std::shared_ptr<const Program>> &programs);
// Adds those functions of the device runtime that it calls and does not define.
std::shared_ptr<const Program> with_runtime(std::shared_ptr<const Program> program);
ModulePtr decode(std::shared_ptr<const Program> program);

}  // namespace simcuda::kernel
