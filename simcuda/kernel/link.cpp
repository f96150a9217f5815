// SPDX-License-Identifier: BSD-3-Clause
// Links programs: visible names are shared, others stay separate.
#include "program.h"

namespace simcuda::kernel {
namespace {

bool is_private(Linkage linkage) {
  return linkage == Linkage::internal;
}

// The new indices of one program's items in the linked program.
struct Moved {
  std::vector<int> functions, variables, symbols;
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
  void add(const Program &from);
  std::shared_ptr<Program> made = std::make_shared<Program>();

 private:
  int place_function(const Function &function);
  int place_variable(const Variable &variable);
  std::map<std::string_view, std::string_view> rename_private(const Program &from);

  std::map<std::string, int, std::less<>> functions_, variables_;
  std::uint32_t files_ = 0;
};

int Linker::place_function(const Function &function) {
  const bool by_itself = is_private(function.linkage) && function.defined && !function.entry;
  auto known = functions_.find(function.name);
  if (by_itself || known == functions_.end()) {
    made->functions.push_back(function);
    const int index = static_cast<int>(made->functions.size()) - 1;
    if (!by_itself) functions_.emplace(function.name, index);
    return index;
  }
  Function &before = made->functions[known->second];
  if (before.parameters.size() != function.parameters.size() ||
      before.results.size() != function.results.size())
    throw Invalid(function.line, "'" + std::string(function.name.substr(0, 80)) +
                                     "' is declared in another way in another module");
  if (replaces(before.linkage, before.defined, function.linkage, function.defined, function.name))
    before = function;
  return known->second;
}

int Linker::place_variable(const Variable &variable) {
  auto known = variables_.find(variable.name);
  const bool by_itself = is_private(variable.linkage) || variable.space == Space::shared;
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
    const Symbol &symbol = from.symbols[index];
    const bool is_own = symbol.function >= 0
                            ? is_private(from.functions[symbol.function].linkage) &&
                                  from.functions[symbol.function].defined &&
                                  !from.functions[symbol.function].entry
                            : is_private(from.variables[symbol.variable].linkage);
    if (!is_own || !made->symbol_by_name.contains(name)) continue;
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
  for (const Function &function : from.functions)
    moved.functions.push_back(place_function(function));
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
  // A definition that was taken over counts as defined here.
  for (std::size_t i = 0; i < from.functions.size(); ++i) {
    Function &function = made->functions[moved.functions[i]];
    if (!from.functions[i].defined ||
        function.statements.data() == from.functions[i].statements.data())
      continue;
    if (function.name.data() != from.functions[i].name.data()) continue;  // another one was kept
    for (Statement &statement : function.statements) {
      if (statement.source_file) statement.source_file += files_;
      for (Operand &operand : statement.operands) move_operand(operand, moved);
    }
  }
  files_ += last_file + 1;
}

}  // namespace

std::shared_ptr<const Program> link_programs(
    const std::vector<std::shared_ptr<const Program>> &programs) {
  Linker linker;
  for (auto &program : programs) linker.add(*program);
  return linker.made;
}

ModulePtr link(const std::vector<ModulePtr> &modules) {
  std::vector<std::shared_ptr<const Program>> programs;
  for (auto &module : modules) programs.push_back(module->program);
  return decode(with_runtime(link_programs(programs)));
}

}  // namespace simcuda::kernel
