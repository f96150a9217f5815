// SPDX-License-Identifier: BSD-3-Clause
// Turns a program into code: frames, calls, and the shared memory of each kernel.
#include <algorithm>
#include <set>

#include "allocate.h"
#include "control.h"
#include "lowering.h"
#include "refused.h"
#include "spoken.h"

namespace simcuda::kernel {
namespace {

constexpr std::pair<std::string_view, Builtin> builtins[] = {
    {"vprintf", Builtin::vprintf},
    {"__assertfail", Builtin::assertfail},
    {"malloc", Builtin::malloc},
    {"free", Builtin::free},
};

std::uint32_t aligned(std::uint32_t value, std::uint32_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Errors that NVIDIA's assembler rejects, too.
void check_size(std::string_view name, int line, std::uint64_t size, std::uint64_t most,
                const char *what) {
  if (size > most)
    throw Invalid(line, "'" + spoken(std::string(name)) + "' wants " + std::to_string(size) +
                            " bytes of " + what + " memory: there are " + std::to_string(most));
}

// Variables of different scopes of a call could share memory. There are few, so they do not.
std::vector<std::uint32_t> lay_out_locals(const Function &function, Body &body) {
  std::vector<std::uint32_t> offsets;
  std::uint64_t at = 0;
  for (const FrameVariable &variable : function.variables) {
    const std::uint64_t alignment = std::max(1u, variable.alignment);
    at = (at + alignment - 1) / alignment * alignment;
    offsets.push_back(static_cast<std::uint32_t>(at));
    at += variable.size;
    check_size(function.name, function.line, at, most_local_bytes, "local");
  }
  body.local_bytes = aligned(static_cast<std::uint32_t>(at), 16);
  return offsets;
}

std::vector<Passed> formals(const std::vector<Formal> &list,
                            const std::vector<std::uint32_t> &places,
                            const std::vector<std::uint32_t> &locals) {
  std::vector<Passed> made;
  for (const Formal &formal : list) {
    Passed passed;
    passed.is_register = formal.is_register;
    passed.size = static_cast<std::uint32_t>(formal.size);
    if (formal.is_register)
      passed.place = place_in(Bank::frame, places[formal.index]);
    else if (formal.index >= 0)  // no kernel's
      passed.offset = locals[formal.index];
    made.push_back(passed);
  }
  return made;
}

void decode_function(ModuleState &module, int index) {
  const Function &function = module.program.functions[index];
  Body &body = module.code.bodies[index];
  body.name = std::string(function.name);
  body.defined = function.defined;
  body.entry = function.entry;
  const auto locals = lay_out_locals(function, body);
  if (!function.defined) {
    if (const auto feature = refused_function(function.name); !feature.empty())
      throw Invalid(function.line, std::string(feature) + " are not executed: '" +
                                       std::string(function.name.substr(0, 80)) + "'");
    body.independent_blocks = false;
    body.builtin = Builtin::unresolved;
    for (auto &[name, builtin] : builtins)
      if (name == function.name) body.builtin = builtin;
    return;
  }
  std::uint32_t frame_bytes = 0;
  const auto places = allocate_registers(function, frame_bytes);
  body.frame_bytes = frame_bytes;
  body.parameters = formals(function.parameters, places, locals);
  body.results = formals(function.results, places, locals);
  Lowering lowering(module, function, body, places, locals);
  body.instructions.reserve(function.statements.size() + 1);
  for (const Statement &statement : function.statements) lowering.lower(statement);
  // A thread that reaches the end of a function returns.
  Statement end;
  end.line = function.statements.empty() ? function.line : function.statements.back().line;
  end.root = "ret";
  lowering.lower(end);
  std::sort(body.shared.begin(), body.shared.end());
  body.shared.erase(std::unique(body.shared.begin(), body.shared.end()), body.shared.end());
  std::sort(body.callees.begin(), body.callees.end());
  body.callees.erase(std::unique(body.callees.begin(), body.callees.end()), body.callees.end());
}

// The functions that an entry may call. A call through a pointer may reach any function whose
// address is taken anywhere, in the table of a variable, too.
std::set<int> reach(const Program &program, const Code &code, int entry) {
  std::set<int> reached{entry};
  bool pointers = false;
  std::vector<int> open{entry};
  const auto add = [&](int function) {
    if (function >= 0 && reached.insert(function).second) open.push_back(function);
  };
  while (!open.empty()) {
    const Body &body = code.bodies[open.back()];
    open.pop_back();
    for (const Call &call : body.calls) add(call.function);
    for (int callee : body.callees) add(callee);
    if (body.calls_pointers && !pointers) {
      pointers = true;
      for (const Variable &variable : program.variables)
        for (const Relocation &relocation : variable.relocations)
          add(program.symbols[program.symbol_by_name.at(relocation.symbol)].function);
      for (const SymbolUse &use : code.symbols) add(use.function);
    }
  }
  return reached;
}

// The deepest stack without recursion; with recursion, that of one round.
// Calls are never nested more deeply than that.
std::uint32_t local_depth(const Code &code, int function, std::map<int, std::uint32_t> &known,
                          unsigned depth) {
  auto [found, fresh] = known.try_emplace(function, 0);
  if (!fresh || depth > deepest_call) return found->second;
  std::uint32_t deepest = 0;
  for (const Call &call : code.bodies[function].calls)
    if (call.function >= 0)
      deepest = std::max(deepest, local_depth(code, call.function, known, depth + 1));
  return known[function] = code.bodies[function].local_bytes + deepest;
}

void lay_out_shared(const Program &program, Code &code, int entry, const std::set<int> &reached,
                    Kernel &kernel) {
  SharedLayout &layout = code.layouts[entry];
  std::vector<int> dynamic;
  std::uint64_t at = 0;
  for (int function : reached)
    for (int index : code.bodies[function].shared) {
      if (layout.offsets.contains(index)) continue;
      const Variable &variable = program.variables[index];
      if (variable.linkage == Linkage::external && variable.size == 0) {
        dynamic.push_back(index);
        layout.offsets[index] = 0;
        continue;
      }
      const std::uint64_t alignment = std::max(1u, variable.alignment);
      at = (at + alignment - 1) / alignment * alignment;
      layout.offsets[index] = static_cast<std::uint32_t>(at);
      at += variable.size;
      check_size(kernel.name, program.functions[entry].line, at, most_shared_bytes,
                 "static shared");
    }
  // The launch's dynamic memory begins where the strictest alignment of its names requires.
  std::uint32_t strictest = 16;
  for (int index : dynamic) strictest = std::max(strictest, program.variables[index].alignment);
  kernel.shared_bytes = static_cast<std::uint32_t>(at);
  layout.bytes = dynamic.empty() ? kernel.shared_bytes : aligned(kernel.shared_bytes, strictest);
  for (int index : dynamic) layout.offsets[index] = layout.bytes;
}

bool in_variables_of_driver(const Variable &variable) {
  return variable.space != Space::shared && variable.linkage != Linkage::external;
}

}  // namespace

ModulePtr decode(std::shared_ptr<const Program> program) {
  auto made = std::make_shared<Module>();
  auto code = std::make_shared<Code>();
  code->bodies.resize(program->functions.size());
  code->layouts.resize(program->functions.size());
  ModuleState state{*program, *code, {}, {}, {}};
  for (int i = 0; i < static_cast<int>(program->functions.size()); ++i) decode_function(state, i);
  for (int i = 0; i < static_cast<int>(program->functions.size()); ++i)
    code->function_by_name[program->functions[i].name] = i;
  code->constants = Bytes(state.constants.bytes.size());
  std::copy(state.constants.bytes.begin(), state.constants.bytes.end(), code->constants.data());

  made->version = program->version;
  made->target = program->target;
  for (int i = 0; i < static_cast<int>(program->functions.size()); ++i) {
    const Function &function = program->functions[i];
    if (!function.entry || !function.defined) continue;
    Kernel kernel = function.kernel;
    const std::set<int> reached = reach(*program, *code, i);
    lay_out_shared(*program, *code, i, reached, kernel);
    kernel.independent_blocks = std::all_of(reached.begin(), reached.end(), [&](int index) {
      return code->bodies[index].independent_blocks;
    });
    std::map<int, std::uint32_t> known;
    kernel.local_bytes = local_depth(*code, i, known, 0);
    kernel.registers = registers_wanted(function);
    if (kernel.max_registers > 0)
      kernel.registers = std::min(kernel.registers, kernel.max_registers);
    made->kernels.push_back(std::move(kernel));
  }
  std::uint64_t constants = 0;
  for (const Variable &variable : program->variables) {
    if (!in_variables_of_driver(variable)) continue;
    if (variable.space == Space::constant)
      check_size(variable.name, 0, constants += variable.size, most_constant_bytes, "constant");
    made->variables.push_back(variable);
  }
  for (const Body &body : code->bodies)
    if (body.builtin == Builtin::unresolved) made->unresolved.push_back(body.name);
  for (const Variable &variable : program->variables)
    if (variable.linkage == Linkage::external && variable.space != Space::shared)
      made->unresolved.push_back(variable.name);
  made->program = std::move(program);
  made->code = std::move(code);
  return made;
}

ModulePtr parse(std::string_view text) {
  auto programs = parse_programs(text);
  return decode(with_runtime(programs.size() == 1 ? programs[0] : link_programs(programs)));
}

const Kernel *Module::kernel(std::string_view name) const {
  for (const Kernel &kernel : kernels)
    if (kernel.name == name) return &kernel;
  return nullptr;
}

const Variable *Module::variable(std::string_view name) const {
  for (const Variable &variable : variables)
    if (variable.name == name) return &variable;
  return nullptr;
}

std::uint64_t Module::function_address(std::string_view name) const {
  const int function = program->symbols[program->symbol_by_name.at(name)].function;
  if (function < 0) return 0;
  return function_base + (static_cast<std::uint64_t>(function) + 1) * function_step;
}

}  // namespace simcuda::kernel
