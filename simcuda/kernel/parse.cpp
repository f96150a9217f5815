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

std::uint64_t aligned(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace

void Parser::parse() {
  if (!text_.take_if_dotted("version")) text_.refuse(".version is expected, not " + text_.here());
  program_.version = std::string(text_.take().text);
  while (text_.peek().kind != Word::Kind::end && !text_.peek().is_dotted("version")) parse_top();
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
    program_.target = std::string(text_.name("a target"));
    while (text_.take_if(",")) text_.name("a target");
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
}

void Parser::parse_file() {
  const auto number = static_cast<std::uint32_t>(text_.integer("a file's number"));
  if (text_.peek().kind != Word::Kind::string) text_.refuse("a file's name is expected");
  program_.files[number] = std::string(text_.take().text);
  while (text_.take_if(",")) text_.integer("a number");
}

void Parser::parse_alias() {
  const std::string_view name = text_.name("a function's name");
  text_.expect(",");
  const std::string_view of = text_.name("a function's name");
  text_.expect(";");
  auto found = program_.symbol_by_name.find(of);
  if (found == program_.symbol_by_name.end() || program_.symbols[found->second].function < 0)
    text_.refuse("'" + std::string(of) + "' is no function");
  const int function = program_.symbols[found->second].function;
  auto known = program_.symbol_by_name.find(name);
  if (known == program_.symbol_by_name.end())
    add_symbol(name, function, -1, true);
  else
    program_.symbols[known->second].function = function;
}

void Parser::refuse_textures() {
  for (std::string_view name : {"texref", "samplerref", "surfref", "tex"})
    if (text_.peek().is_dotted(name))
      text_.refuse(std::string(refused_references) + " are not executed: ." + std::string(name));
}

int Parser::add_symbol(std::string_view name, int function, int variable, bool module_scope) {
  const int index = static_cast<int>(program_.symbols.size());
  program_.symbols.push_back({name, function, variable});
  if (module_scope) program_.symbol_by_name[name] = index;
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
    } else if (text_.take_if_dotted("v8")) {
      made.vector = 8;
    } else if (text_.take_if_dotted("attribute")) {
      text_.expect("(");
      while (!text_.take_if(")")) {
        if (text_.peek().kind == Word::Kind::end) text_.refuse("a ')' is missing");
        made.managed |= text_.take().is_dotted("managed");
      }
    } else if (text_.take_if_dotted("ptr")) {
      Space ignored;
      take_space(ignored);
    } else {
      break;
    }
    if (made.type != Type::none && text_.peek().kind != Word::Kind::dotted) break;
  }
  const auto read_type = [&] {
    if (text_.peek().kind != Word::Kind::dotted) return;
    refuse_textures();
    const Type type = type_named(text_.peek().text);
    if (type == Type::none) text_.refuse(text_.here() + " is no type");
    made.type = type;
    text_.take();
  };
  read_type();
  if (made.type == Type::none) text_.refuse("a type is expected, not " + text_.here());
  // Attributes may follow the type, too: .param .u64 .ptr .global .align 4 name.
  if (text_.take_if_dotted("ptr")) {
    Space ignored;
    take_space(ignored);
    if (text_.take_if_dotted("align")) text_.integer("an alignment");
  }
  if (!aligned_by_hand) made.alignment = std::max(1u, bytes_of(made.type)) * made.vector;
  return made;
}

void Parser::parse_declarator(Declaration &declaration) {
  declaration.name = text_.name("a name");
  declaration.elements = 1;
  declaration.dimensions.clear();
  while (text_.take_if("[")) {
    std::uint64_t dimension = 0;
    if (!text_.take_if("]")) {
      dimension = parse_constant();
      text_.expect("]");
    }
    if (declaration.dimensions.size() == 8 || dimension > most_bytes ||
        (dimension && declaration.elements > most_bytes / dimension))
      text_.refuse("'" + std::string(declaration.name.substr(0, 80)) + "' is too large");
    declaration.elements *= dimension;
    declaration.dimensions.push_back(dimension);
  }
  declaration.size = declaration.elements * bytes_of(declaration.type) * declaration.vector;
  if (declaration.size > most_bytes)
    text_.refuse("'" + std::string(declaration.name.substr(0, 80)) + "' is too large");
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
      if (text_.take_if("=")) parse_initialiser(declaration, variable);
      const int index = static_cast<int>(program_.variables.size());
      if (function_) {
        program_.variables.push_back(std::move(variable));
        const int symbol = add_symbol(declaration.name, -1, index, false);
        add_name(declaration.name, {Name::Kind::label, -2 - symbol});
      } else {
        declare(std::move(variable));
        // The key in the table points into the text, not into the variable.
        if (!program_.symbol_by_name.contains(declaration.name))
          add_symbol(declaration.name, -1, index, true);
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
  if (known.linkage != Linkage::external && known.linkage != Linkage::common &&
      known.linkage != Linkage::weak)
    text_.refuse("'" + variable.name + "' is there already");
  known = std::move(variable);
}

void Parser::parse_initialiser(const Declaration &declaration, Variable &variable) {
  // Only stated values are kept; the rest is zeros.
  if (text_.peek().is("{") && declaration.size == 0 && !declaration.dimensions.empty()) {
    std::uint64_t row = std::uint64_t{bytes_of(declaration.type)} * declaration.vector;
    for (std::size_t i = 1; i < declaration.dimensions.size(); ++i)
      if (__builtin_mul_overflow(row, declaration.dimensions[i], &row)) row = 0;
    if (row == 0) text_.refuse("an array of no size has no initial value");
    // As many rows as are stated.
    parse_elements(declaration, variable, 0, 0, most_initial_bytes);
    variable.size = (variable.bytes.size() + row - 1) / row * row;
    if (row > most_bytes || variable.size > most_bytes)
      text_.refuse("'" + variable.name + "' is too large");
  } else if (text_.peek().is("{"))
    parse_elements(declaration, variable, 0, 0, variable.size);
  else if (declaration.size >= bytes_of(declaration.type))
    parse_element(declaration, variable, 0);
}

void Parser::parse_elements(const Declaration &declaration, Variable &variable,
                            std::size_t dimension, std::uint64_t begin, std::uint64_t end) {
  const std::uint32_t line = text_.line();
  text_.expect("{");
  const std::uint64_t element = bytes_of(declaration.type);
  std::uint64_t row = element;  // bytes of what an inner pair of braces contains
  for (std::size_t i = dimension + 1; i < declaration.dimensions.size(); ++i)
    row *= declaration.dimensions[i];
  if (dimension < declaration.dimensions.size()) row *= declaration.vector;
  std::uint64_t at = begin;
  while (!text_.take_if("}")) {
    if (text_.peek().is("{")) {
      at = begin + (row ? aligned(at - begin, row) : 0);
      if (dimension > declaration.dimensions.size() || row == 0 || at >= end)
        throw Invalid(line, "'" + variable.name + "' has more initial values than elements");
      parse_elements(declaration, variable, dimension + 1, at, std::min(end, at + row));
      at += row;
    } else {
      if (at + element > end)
        throw Invalid(line, "'" + variable.name + "' has more initial values than elements");
      parse_element(declaration, variable, at);
      at += element;
    }
    if (text_.take_if(",")) continue;
    text_.expect("}");
    break;
  }
}

void Parser::parse_element(const Declaration &declaration, Variable &variable,
                           std::uint64_t offset) {
  const std::uint32_t size = bytes_of(declaration.type);
  if (offset + size > most_initial_bytes) text_.refuse("'" + variable.name + "' is too large");
  if (variable.bytes.size() < offset + size) variable.bytes.resize(offset + size);
  if (text_.peek().kind == Word::Kind::name)
    return parse_address_element(variable, offset, size, 0);
  std::uint64_t bits;
  const bool minus = is_real(declaration.type) && text_.take_if("-");
  const Word word = text_.peek();
  if (word.kind == Word::Kind::single || word.kind == Word::Kind::real) {
    text_.take();
    double value = word.kind == Word::Kind::single
                       ? std::bit_cast<float>(static_cast<std::uint32_t>(word.bits))
                       : std::bit_cast<double>(word.bits);
    if (minus) value = -value;
    if (declaration.type == Type::f32)
      bits = word.kind == Word::Kind::single && !minus
                 ? word.bits
                 : std::bit_cast<std::uint32_t>(static_cast<float>(value));
    else
      bits = word.kind == Word::Kind::single && declaration.type != Type::f64
                 ? word.bits
                 : std::bit_cast<std::uint64_t>(value);
  } else {
    bits = parse_constant();
    if (text_.peek().is("(")) {
      // 0xFF00(symbol): these bits of its address.
      if (bits == 0) text_.refuse("a mask of an address cannot be 0");
      const auto shift = static_cast<std::uint32_t>(std::countr_zero(bits));
      text_.take();
      parse_address_element(variable, offset, size, shift);
      return text_.expect(")");
    }
    if (minus) bits = ~bits + 1;
  }
  std::memcpy(variable.bytes.data() + offset, &bits, std::min<std::size_t>(size, sizeof bits));
}

void Parser::parse_address_element(Variable &variable, std::uint64_t offset, std::uint32_t size,
                                   std::uint32_t shift) {
  std::string_view name = text_.name("a name");
  Relocation relocation{offset, std::min(size, 8u), shift, {}, 0};
  if (name == "generic" && text_.take_if("(")) {
    name = text_.name("a name");
    if (text_.take_if("+")) relocation.addend += static_cast<std::int64_t>(parse_constant());
    text_.expect(")");
  }
  if (text_.take_if("+")) relocation.addend += static_cast<std::int64_t>(parse_constant());
  if (text_.take_if("-")) relocation.addend -= static_cast<std::int64_t>(parse_constant());
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
    } else {
      text_.take();
      while (text_.peek().kind != Word::Kind::end && text_.peek().kind != Word::Kind::dotted &&
             !text_.peek().is("{") && !text_.peek().is(";") && !text_.peek().is("("))
        text_.take();
      if (text_.take_if("(")) {
        while (!text_.take_if(")")) {
          if (text_.peek().kind == Word::Kind::end) text_.refuse("a ')' is missing");
          text_.take();
        }
      } else if (text_.peek().is(";") && !function.statements.empty()) {
        text_.take();
      }
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
      formal.index = add_register(declaration.name, declaration.type);
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
  if (text_.take_if_dotted("attribute")) {
    text_.expect("(");
    while (!text_.take_if(")"))
      if (text_.take().kind == Word::Kind::end) text_.refuse("a ')' is missing");
  }
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
    add_symbol(made.name, index, -1, true);
  } else {
    index = program_.symbols[found->second].function;
    if (index < 0) text_.refuse("'" + std::string(made.name) + "' is a variable already");
    const Function &known = program_.functions[index];
    if (known.entry != entry || known.parameters.size() != made.parameters.size() ||
        known.results.size() != made.results.size())
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
