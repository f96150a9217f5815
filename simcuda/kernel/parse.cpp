// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <cstring>

#include "parser.h"
#include "refused.h"

namespace simcuda::kernel {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;  // of a variable
constexpr std::uint64_t most_initial_bytes = std::uint64_t{1} << 28;
constexpr std::uint64_t most_parameter_bytes = 32764;
constexpr std::size_t most_dimensions = 16;

std::uint64_t aligned(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace

void Parser::parse() {
  if (!text_.take_if_dotted("version")) text_.refuse(".version is expected, not " + text_.here());
  program_.version = std::string(text_.take().text);
  while (text_.peek().kind != Word::Kind::end && !text_.peek().is_dotted("version")) parse_top();
  define_aliases();
}

bool Parser::take_space(Space &space) {
  static constexpr std::pair<std::string_view, Space> spaces[] = {
      {"global", Space::global}, {"const", Space::constant}, {"shared", Space::shared},
      {"local", Space::local},   {"param", Space::param},
  };
  for (auto &[name, its_space] : spaces)
    if (text_.take_if_dotted(name)) {
      space = its_space;
      return true;
    }
  return false;
}

void Parser::parse_top() {
  if (text_.take_if(";")) return;
  if (text_.peek().kind != Word::Kind::dotted)
    text_.refuse("a directive is expected, not " + text_.here());
  Linkage linkage = Linkage::internal;
  for (;;) {
    if (text_.take_if_dotted("visible"))
      linkage = Linkage::visible;
    else if (text_.take_if_dotted("extern"))
      linkage = Linkage::external;
    else if (text_.take_if_dotted("weak"))
      linkage = Linkage::weak;
    else if (text_.take_if_dotted("common"))
      linkage = Linkage::common;
    else
      break;
  }
  Space space;
  if (text_.take_if_dotted("entry")) return parse_function(true, linkage);
  if (text_.take_if_dotted("func")) return parse_function(false, linkage);
  if (take_space(space)) {
    if (space == Space::local || space == Space::param)
      text_.refuse("variables of " + std::string(name_of(space)) +
                   " memory belong inside a function");
    return parse_variable(space, linkage);
  }
  if (text_.take_if_dotted("target")) {
    // Beside the architecture there may be texmode_unified, debug and the like.
    do {
      const std::string_view name = text_.name("a target");
      if (program_.target.empty() || name.starts_with("sm_")) program_.target = std::string(name);
    } while (text_.take_if(","));
    return;
  }
  if (text_.take_if_dotted("address_size")) {
    if (text_.integer("64") != 64) text_.refuse("only addresses of 64 bits are supported");
    return;
  }
  if (text_.take_if_dotted("file")) return parse_file();
  if (text_.take_if_dotted("alias")) return parse_alias();
  refuse_textures();
  text_.skip_directive();
  // Braces often have a line of their own.
  if (text_.peek().is("{")) text_.skip_block();
}

void Parser::parse_file() {
  const auto number = static_cast<std::uint32_t>(text_.integer("a file's number"));
  if (text_.peek().kind != Word::Kind::string) text_.refuse("a file's name is expected");
  program_.files[number] = std::string(text_.take().text);
  while (text_.take_if(",")) text_.integer("a number");
}

void Parser::parse_alias() {
  Alias alias;
  alias.line = text_.line();
  alias.name = text_.name("a function's name");
  text_.expect(",");
  alias.of = text_.name("a function's name");
  text_.expect(";");
  aliases_.push_back(alias);
}

// An alias was declared, and becomes a function like any other. What it stands for may be defined
// behind it.
void Parser::define_aliases() {
  for (const Alias &alias : aliases_) {
    Function &made = function_named(alias.name, alias.line);
    const Function &of = function_named(alias.of, alias.line);
    if (made.defined)
      throw Invalid(alias.line, "'" + std::string(alias.name) + "' is there already");
    if (!of.defined || of.entry || !made.is_like(of))
      throw Invalid(alias.line, "'" + std::string(alias.name) + "' cannot stand for '" +
                                    std::string(alias.of) + "'");
    const auto name = made.name;
    const Linkage linkage = made.linkage;
    made = of;
    made.name = name;
    made.linkage = linkage;
  }
}

Function &Parser::function_named(std::string_view name, std::uint32_t line) {
  auto found = program_.symbol_by_name.find(name);
  if (found == program_.symbol_by_name.end() || program_.symbols[found->second].function < 0)
    throw Invalid(line, "'" + std::string(name) + "' is no function");
  return program_.functions[program_.symbols[found->second].function];
}

void Parser::refuse_textures() {
  for (std::string_view name : {"texref", "samplerref", "surfref", "tex"})
    if (text_.peek().is_dotted(name))
      text_.refuse(std::string(refused_references) + " are not executed: ." + std::string(name));
}

int Parser::add_symbol(std::string_view name, int function, int variable) {
  const int index = static_cast<int>(program_.symbols.size());
  program_.symbols.push_back({name, function, variable});
  program_.symbol_by_name[name] = index;
  return index;
}

// Everything before the name: alignment, vector, type, attributes.
Parser::Declaration Parser::parse_declaration_head() {
  Declaration made;
  bool aligned_by_hand = false;
  for (;;) {
    if (text_.take_if_dotted("align")) {
      const std::uint64_t alignment = text_.integer("an alignment");
      if (!std::has_single_bit(alignment) || alignment > 1024)
        text_.refuse("an alignment is a power of two up to 1024");
      made.alignment = static_cast<std::uint32_t>(alignment);
      aligned_by_hand = true;
    } else if (text_.take_if_dotted("v2")) {
      made.vector = 2;
    } else if (text_.take_if_dotted("v4")) {
      made.vector = 4;
    } else if (text_.take_if_dotted("attribute")) {
      made.managed |= parse_attributes();
    } else {
      break;
    }
  }
  if (text_.peek().kind != Word::Kind::dotted)
    text_.refuse("a type is expected, not " + text_.here());
  refuse_textures();
  made.type = type_named(text_.peek().text);
  if (made.type == Type::none) text_.refuse(text_.here() + " is no type");
  text_.take();
  // Of what a parameter points to: .param .u64 .ptr .global .align 4 name.
  if (text_.take_if_dotted("ptr")) {
    Space ignored;
    take_space(ignored);
    if (text_.take_if_dotted("align")) text_.integer("an alignment");
  }
  if (!aligned_by_hand) made.alignment = std::max(1u, bytes_of(made.type)) * made.vector;
  return made;
}

// .attribute(.managed, .unified(1, 2)). Returns whether .managed is one of them.
bool Parser::parse_attributes() {
  bool managed = false;
  text_.expect("(");
  for (unsigned depth = 1; depth;) {
    const Word word = text_.take();
    if (word.kind == Word::Kind::end) text_.refuse("a ')' is missing");
    if (word.is("(")) ++depth;
    if (word.is(")")) --depth;
    managed |= word.is_dotted("managed");
  }
  return managed;
}

void Parser::parse_declarator(Declaration &declaration) {
  declaration.name = text_.name("a name");
  declaration.dimensions.clear();
  declaration.row = std::uint64_t{bytes_of(declaration.type)} * declaration.vector;
  declaration.size = declaration.row;
  const auto refuse = [&] {
    text_.refuse("'" + std::string(declaration.name.substr(0, 80)) + "' is too large");
  };
  const auto times = [&](std::uint64_t a, std::uint64_t b) {
    if (b && a > most_bytes / b) refuse();
    return a * b;
  };
  std::uint64_t rows = 1;
  while (text_.take_if("[")) {
    std::uint64_t dimension = 0;
    if (!text_.take_if("]")) {
      dimension = parse_constant();
      text_.expect("]");
    }
    // The first one may be left out: then there are as many rows as are stated.
    if (declaration.dimensions.empty())
      rows = dimension;
    else
      declaration.row = times(declaration.row, dimension);
    declaration.size = times(rows, declaration.row);
    declaration.dimensions.push_back(dimension);
    if (declaration.dimensions.size() > most_dimensions) refuse();
  }
}

void Parser::parse_variable(Space space, Linkage linkage) {
  Declaration declaration = parse_declaration_head();
  if (declaration.type == Type::pred) text_.refuse("a variable cannot be a predicate");
  do {
    parse_declarator(declaration);
    if (space == Space::local || space == Space::param) {
      if (declaration.size > 16 << 20)
        text_.refuse("'" + std::string(declaration.name.substr(0, 80)) + "' is too large");
      add_name(declaration.name,
               {Name::Kind::frame, static_cast<int>(function_->variables.size())});
      function_->variables.push_back(
          {declaration.name, declaration.size, declaration.alignment, space});
    } else {
      Variable variable;
      variable.name = std::string(declaration.name);
      variable.space = space;
      variable.linkage = linkage;
      variable.managed = declaration.managed;
      variable.alignment = declaration.alignment;
      variable.size = declaration.size;
      if (text_.take_if("=")) {
        if (space == Space::shared || linkage == Linkage::external)
          text_.refuse("'" + variable.name + "' has no initial value here");
        parse_initialiser(declaration, variable);
      }
      const int index = static_cast<int>(program_.variables.size());
      if (function_) {
        // Other scopes may have variables of this name.
        auto name =
            std::make_shared<const std::string>(variable.name + ":" + std::to_string(index));
        program_.texts.push_back(name);
        variable.name = *name;
        program_.variables.push_back(std::move(variable));
        add_name(declaration.name, {Name::Kind::symbol, add_symbol(*name, -1, index)});
      } else {
        declare(std::move(variable));
        // The key in the table points into the text, not into the variable.
        if (!program_.symbol_by_name.contains(declaration.name))
          add_symbol(declaration.name, -1, index);
      }
    }
  } while (text_.take_if(","));
  text_.expect(";");
}

void Parser::declare(Variable variable) {
  auto found = program_.symbol_by_name.find(variable.name);
  if (found == program_.symbol_by_name.end()) {
    program_.variables.push_back(std::move(variable));
    return;
  }
  const Symbol &symbol = program_.symbols[found->second];
  if (symbol.variable < 0) text_.refuse("'" + variable.name + "' is a function already");
  Variable &known = program_.variables[symbol.variable];
  if (known.space != variable.space)
    text_.refuse("'" + variable.name + "' is in " + std::string(name_of(known.space)) +
                 " memory already");
  if (variable.linkage == Linkage::external) return;
  if (known.linkage != Linkage::external) text_.refuse("'" + variable.name + "' is there already");
  known = std::move(variable);
}

// Only stated values are kept; the rest is zeros.
void Parser::parse_initialiser(const Declaration &declaration, Variable &variable) {
  if (declaration.dimensions.empty() && declaration.vector == 1)
    return parse_element(declaration, variable, 0);
  const bool counted = variable.size == 0;
  if (counted && declaration.row == 0) text_.refuse("an array of no size has no initial value");
  parse_elements(declaration, variable, 0, 0, counted ? most_initial_bytes : variable.size);
  if (counted) variable.size = aligned(variable.bytes.size(), declaration.row);
}

// There are braces for each dimension, and those of a vector.
void Parser::parse_elements(const Declaration &declaration, Variable &variable,
                            std::size_t dimension, std::uint64_t begin, std::uint64_t end) {
  const std::uint32_t line = text_.line();
  text_.expect("{");
  std::uint64_t size = bytes_of(declaration.type);  // of what lies between two commas
  for (std::size_t i = dimension + 1; i < declaration.dimensions.size(); ++i)
    size *= declaration.dimensions[i];
  if (dimension < declaration.dimensions.size()) size *= declaration.vector;
  const bool innermost = dimension + 1 == declaration.dimensions.size() + (declaration.vector != 1);
  for (std::uint64_t at = begin; !text_.take_if("}"); at += size) {
    if (at + size > end)
      throw Invalid(line, "'" + variable.name + "' has more initial values than elements");
    if (innermost)
      parse_element(declaration, variable, at);
    else
      parse_elements(declaration, variable, dimension + 1, at, at + size);
    if (text_.take_if(",")) continue;
    text_.expect("}");
    break;
  }
}

void Parser::parse_element(const Declaration &declaration, Variable &variable,
                           std::uint64_t offset) {
  const Type type = declaration.type;
  const std::uint32_t size = bytes_of(type);
  if (is_real(type) && type != Type::f32 && type != Type::f64)
    text_.refuse("no number is of the type ." + std::string(name_of(type)));
  if (offset + size > most_initial_bytes) text_.refuse("'" + variable.name + "' is too large");
  variable.bytes.resize(offset + size);
  if (at_name()) {
    if (is_real(type) || size < 4)
      text_.refuse("an address is not of the type ." + std::string(name_of(type)));
    return parse_address_element(variable, offset, std::min(size, 8u), 0);
  }
  const Operand number = parse_number();
  std::uint64_t bits = number.bits;
  if (number.kind == Operand::Kind::integer && text_.take_if("(")) {
    // 0xFF00(symbol): this byte of its address.
    const auto shift = static_cast<std::uint32_t>(std::countr_zero(bits));
    if (!bits || shift % 8 || bits >> shift != 0xFF)
      text_.refuse("a mask of an address is of one byte");
    parse_address_element(variable, offset, 1, shift);
    return text_.expect(")");
  }
  if (number.kind == Operand::Kind::integer
          ? is_real(type)
          : is_integer(type) || (size != 4 && size != 8) ||
                (number.kind == Operand::Kind::single && size == 8))
    text_.refuse("this number is not of the type ." + std::string(name_of(type)));
  if (number.kind == Operand::Kind::real && size == 4)
    bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
  std::memcpy(variable.bytes.data() + offset, &bits, std::min<std::size_t>(size, sizeof bits));
}

void Parser::parse_address_element(Variable &variable, std::uint64_t offset, std::uint32_t size,
                                   std::uint32_t shift) {
  std::string_view name = text_.name("a name");
  Relocation relocation{offset, size, shift, {}, 0};
  if (name == "generic" && text_.take_if("(")) {
    name = text_.name("a name");
    text_.expect(")");
  }
  if (text_.take_if("+")) relocation.addend = static_cast<std::int64_t>(parse_constant());
  const Name *inner = function_ ? find(name) : nullptr;
  if (inner && inner->kind == Name::Kind::symbol) name = program_.symbols[inner->index].name;
  if (!program_.symbol_by_name.contains(name))
    text_.refuse("'" + std::string(name.substr(0, 80)) + "' has no address");
  relocation.symbol = std::string(name);
  variable.relocations.push_back(std::move(relocation));
}

void Parser::parse_dimensions(std::uint32_t (&into)[3]) {
  into[0] = into[1] = into[2] = 1;
  for (int i = 0; i < 3; ++i) {
    into[i] = static_cast<std::uint32_t>(text_.integer("a number of threads"));
    if (!text_.take_if(",")) return;
  }
}

// The semicolon is its own, in front of a function's body, too.
void Parser::skip_pragma() {
  while (text_.peek().kind == Word::Kind::string || text_.peek().is(",")) text_.take();
  text_.expect(";");
}

void Parser::parse_function_directives(Function &function) {
  while (text_.peek().kind == Word::Kind::dotted) {
    if (text_.take_if_dotted("maxntid")) {
      parse_dimensions(function.kernel.max_threads);
    } else if (text_.take_if_dotted("reqntid")) {
      parse_dimensions(function.kernel.required_threads);
    } else if (text_.take_if_dotted("minnctapersm")) {
      function.kernel.min_blocks = static_cast<std::uint32_t>(text_.integer("a number of blocks"));
    } else if (text_.take_if_dotted("maxnreg")) {
      function.kernel.max_registers =
          static_cast<std::uint32_t>(text_.integer("a number of registers"));
    } else if (text_.take_if_dotted("reqnctapercluster")) {
      std::uint32_t cluster[3];
      parse_dimensions(cluster);
      if (cluster[0] != 1 || cluster[1] != 1 || cluster[2] != 1)
        text_.refuse("clusters are not executed: .reqnctapercluster");
    } else if (text_.take_if_dotted("pragma")) {
      skip_pragma();
    } else {
      text_.take();
      while (text_.peek().kind != Word::Kind::end && text_.peek().kind != Word::Kind::dotted &&
             !text_.peek().is("{") && !text_.peek().is(";"))
        text_.take();
    }
  }
}

void Parser::parse_formals(Function &function, std::vector<Formal> &formals, bool entry) {
  formals.clear();
  if (!text_.take_if("(")) return;
  while (!text_.take_if(")")) {
    const bool is_register = text_.take_if_dotted("reg");
    if (!is_register && !text_.take_if_dotted("param"))
      text_.refuse(".param is expected, not " + text_.here());
    Declaration declaration = parse_declaration_head();
    parse_declarator(declaration);
    Formal formal;
    formal.size = declaration.size;
    formal.alignment = declaration.alignment;
    if (is_register) {
      if (entry || declaration.vector != 1 || !declaration.dimensions.empty())
        text_.refuse("'" + std::string(declaration.name) + "' cannot be a register");
      formal.is_register = true;
      formal.index = add_registers(declaration.name, declaration.type);
      add_name(declaration.name, {Name::Kind::reg, formal.index});
    } else if (entry) {
      Kernel &kernel = function.kernel;
      const std::uint64_t offset = aligned(kernel.parameter_bytes, declaration.alignment);
      if (offset + declaration.size > most_parameter_bytes)
        text_.refuse("a kernel has at most " + std::to_string(most_parameter_bytes) +
                     " bytes of parameters");
      kernel.parameters.push_back(
          {std::string(declaration.name), static_cast<std::uint32_t>(offset),
           static_cast<std::uint32_t>(declaration.size), declaration.alignment});
      kernel.parameter_bytes = static_cast<std::uint32_t>(offset + declaration.size);
      add_name(declaration.name, {Name::Kind::parameter, -1, offset});
    } else {
      if (declaration.size > 1 << 20) text_.refuse("a parameter is too large");
      formal.index = static_cast<int>(function.variables.size());
      function.variables.push_back(
          {declaration.name, declaration.size, declaration.alignment, Space::param});
      if (declaration.name != "_") add_name(declaration.name, {Name::Kind::frame, formal.index});
    }
    formals.push_back(formal);
    if (!text_.take_if(",")) {
      text_.expect(")");
      break;
    }
  }
}

void Parser::parse_function(bool entry, Linkage linkage) {
  Function made;
  made.line = text_.line();
  made.entry = entry;
  made.linkage = linkage;
  made.kernel = {};
  function_ = &made;
  scopes_.assign(1, {});
  scope_ = 0;
  pending_.clear();
  if (text_.take_if_dotted("attribute")) parse_attributes();
  if (!entry) parse_formals(made, made.results, false);
  made.name = text_.name("a function's name");
  made.kernel.name = std::string(made.name);
  parse_formals(made, made.parameters, entry);
  parse_function_directives(made);
  // The symbol is added before the body, which may call the function itself.
  auto found = program_.symbol_by_name.find(made.name);
  int index;
  if (found == program_.symbol_by_name.end()) {
    index = static_cast<int>(program_.functions.size());
    program_.functions.emplace_back();
    add_symbol(made.name, index, -1);
  } else {
    index = program_.symbols[found->second].function;
    if (index < 0) text_.refuse("'" + std::string(made.name) + "' is a variable already");
    const Function &known = program_.functions[index];
    if (!known.is_like(made))
      text_.refuse("'" + std::string(made.name) + "' was declared in another way before");
  }
  if (text_.peek().is("{")) {
    if (program_.functions[index].defined)
      text_.refuse("'" + std::string(made.name) + "' is there already");
    made.defined = true;
    Function &place = program_.functions[index];
    place.name = made.name;
    place.entry = entry;
    place.parameters = made.parameters;
    place.results = made.results;
    parse_body();
    program_.functions[index] = std::move(made);
  } else {
    if (text_.peek().kind == Word::Kind::end) text_.refuse("'{' is expected, not " + text_.here());
    text_.take_if(";");
    if (!program_.functions[index].defined) program_.functions[index] = std::move(made);
  }
  function_ = nullptr;
  scope_ = -1;
}

std::vector<std::shared_ptr<const Program>> parse_programs(std::string_view text) {
  auto whole = std::make_shared<const std::string>(text);
  std::vector<std::shared_ptr<const Program>> programs;
  std::string_view rest = *whole;
  for (std::uint32_t line = 1; programs.empty() || !rest.empty();) {
    auto program = std::make_shared<Program>();
    program->texts.push_back(whole);
    Parser parser(*program, rest, line);
    parser.parse();
    programs.push_back(std::move(program));
    const Word &next = parser.next();
    line = next.line;
    rest.remove_prefix(next.kind == Word::Kind::end ? rest.size()
                                                    : next.text.data() - rest.data() - 1);
  }
  return programs;
}

}  // namespace simcuda::kernel
