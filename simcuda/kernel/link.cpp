// SPDX-License-Identifier: BSD-3-Clause
// Links programs: visible names are shared, others stay separate.
#include <set>

#include "program.h"

namespace simcuda::kernel {
namespace {

bool is_private(Linkage linkage) {
  return linkage == Linkage::internal;
}

// Not for other modules. A kernel's name is known to all of them, and so is that of a function
// without a body.
bool is_own(const Function &function) {
  return is_private(function.linkage) && function.defined && !function.entry;
}

// The new indices of one program's items in the linked program.
struct Moved {
  std::vector<int> functions, variables, symbols;
  std::vector<int> taken;  // functions whose statements are this program's
};

void move_operand(Operand &operand, const Moved &moved) {
  if (operand.kind == Operand::Kind::variable || operand.kind == Operand::Kind::function)
    operand.index = moved.symbols[operand.index];
  for (Operand &part : operand.parts) move_operand(part, moved);
}

bool replaces(Linkage known, bool known_defined, Linkage fresh, bool fresh_defined,
              std::string_view name) {
  if (!fresh_defined) return false;
  if (!known_defined) return true;
  const auto weak = [](Linkage linkage) {
    return linkage == Linkage::weak || linkage == Linkage::common;
  };
  if (weak(fresh)) return false;
  if (weak(known)) return true;
  throw Invalid(0, "'" + std::string(name.substr(0, 80)) + "' is defined in two modules");
}

class Linker {
 public:
  explicit Linker(const std::vector<std::shared_ptr<const Program>> &programs);
  void add(const Program &from);
  std::shared_ptr<Program> made = std::make_shared<Program>();

 private:
  void place_function(const Function &function, Moved &moved);
  int place_variable(const Variable &variable);
  std::map<std::string_view, std::string_view> rename_private(const Program &from);

  std::map<std::string, int, std::less<>> functions_, variables_;
  std::set<std::string_view> shared_;  // names that are not one module's own
  std::uint32_t files_ = 0;
};

bool is_own(const Program &program, const Symbol &symbol) {
  return symbol.function >= 0 ? is_own(program.functions[symbol.function])
                              : is_private(program.variables[symbol.variable].linkage);
}

Linker::Linker(const std::vector<std::shared_ptr<const Program>> &programs) {
  for (auto &program : programs)
    for (auto &[name, index] : program->symbol_by_name)
      if (!is_own(*program, program->symbols[index])) shared_.insert(name);
}

void Linker::place_function(const Function &function, Moved &moved) {
  const bool by_itself = is_own(function);
  auto known = functions_.find(function.name);
  if (by_itself || known == functions_.end()) {
    const int index = static_cast<int>(made->functions.size());
    made->functions.push_back(function);
    moved.functions.push_back(index);
    moved.taken.push_back(index);
    if (!by_itself) functions_.emplace(function.name, index);
    return;
  }
  const int index = known->second;
  Function &before = made->functions[index];
  if (!before.is_like(function))
    throw Invalid(function.line, "'" + std::string(function.name.substr(0, 80)) +
                                     "' is declared in another way in another module");
  moved.functions.push_back(index);
  if (!replaces(before.linkage, before.defined, function.linkage, function.defined, function.name))
    return;
  before = function;
  moved.taken.push_back(index);
}

int Linker::place_variable(const Variable &variable) {
  auto known = variables_.find(variable.name);
  // An array of no size is the dynamic memory, by any name.
  const bool by_itself =
      is_private(variable.linkage) || (variable.space == Space::shared && variable.size == 0);
  if (by_itself || known == variables_.end()) {
    made->variables.push_back(variable);
    const int index = static_cast<int>(made->variables.size()) - 1;
    if (!by_itself) variables_.emplace(variable.name, index);
    return index;
  }
  Variable &before = made->variables[known->second];
  if (replaces(before.linkage, before.linkage != Linkage::external, variable.linkage,
               variable.linkage != Linkage::external, variable.name))
    before = variable;
  return known->second;
}

// Internal names that are already used: each module has its own $str.
std::map<std::string_view, std::string_view> Linker::rename_private(const Program &from) {
  std::map<std::string_view, std::string_view> renamed;
  for (auto &[name, index] : from.symbol_by_name) {
    if (!is_own(from, from.symbols[index])) continue;
    if (!made->symbol_by_name.contains(name) && !shared_.contains(name)) continue;
    auto fresh = std::make_shared<const std::string>(std::string(name) + "." +
                                                     std::to_string(made->texts.size()));
    renamed.emplace(name, *fresh);
    made->texts.push_back(std::move(fresh));
  }
  return renamed;
}

void Linker::add(const Program &from) {
  if (made->version.empty()) made->version = from.version, made->target = from.target;
  made->texts.insert(made->texts.end(), from.texts.begin(), from.texts.end());
  std::uint32_t last_file = 0;
  for (auto &[number, name] : from.files) {
    made->files[files_ + number] = name;
    last_file = std::max(last_file, number);
  }
  Moved moved;
  const auto renamed = rename_private(from);
  const auto name_of = [&](const std::string &name) {
    auto found = renamed.find(name);
    return found == renamed.end() ? name : std::string(found->second);
  };
  for (const Function &function : from.functions) place_function(function, moved);
  for (Variable variable : from.variables) {
    if (is_private(variable.linkage)) variable.name = name_of(variable.name);
    for (Relocation &relocation : variable.relocations)
      relocation.symbol = name_of(relocation.symbol);
    moved.variables.push_back(place_variable(variable));
  }
  for (const Symbol &symbol : from.symbols) {
    moved.symbols.push_back(static_cast<int>(made->symbols.size()));
    Symbol copy = symbol;
    if (copy.function >= 0) copy.function = moved.functions[copy.function];
    if (copy.variable >= 0) copy.variable = moved.variables[copy.variable];
    made->symbols.push_back(copy);
  }
  for (auto &[name, symbol] : from.symbol_by_name) {
    auto found = renamed.find(name);
    made->symbol_by_name.emplace(found == renamed.end() ? name : found->second,
                                 moved.symbols[symbol]);
  }
  for (int index : moved.taken)
    for (Statement &statement : made->functions[index].statements) {
      if (statement.source_file) statement.source_file += files_;
      for (Operand &operand : statement.operands) move_operand(operand, moved);
    }
  files_ += last_file + 1;
}

}  // namespace

std::shared_ptr<const Program> link_programs(
    const std::vector<std::shared_ptr<const Program>> &programs) {
  Linker linker(programs);
  for (auto &program : programs) linker.add(*program);
  return linker.made;
}

ModulePtr link(const std::vector<ModulePtr> &modules) {
  std::vector<std::shared_ptr<const Program>> programs;
  for (auto &module : modules) programs.push_back(module->program);
  return decode(with_runtime(link_programs(programs)));
}

}  // namespace simcuda::kernel
