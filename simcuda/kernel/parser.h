// SPDX-License-Identifier: BSD-3-Clause
// From words to a program. Declarations are in parse.cpp, the bodies of functions in
// parse_body.cpp.
#pragma once

#include <unordered_map>

#include "program.h"
#include "text.h"

namespace simcuda::kernel {

// The value of a constant expression, of type .s64 or .u64.
struct Constant {
  std::uint64_t bits = 0;
  bool is_unsigned = false;
};

class Parser {
 public:
  Parser(Program &program, std::string_view text, std::uint32_t line)
      : program_(program), text_(text, line) {}
  void parse();  // to the end, or to where the next module's text begins
  const Word &next() const { return text_.peek(); }

 private:
  struct Name {
    enum class Kind : std::uint8_t {
      reg,
      frame,
      parameter,
      symbol,
      label,
      targets,
      prototype
    } kind;
    int index = -1;
    std::uint64_t offset = 0;  // of a parameter
    unsigned lanes = 1;        // of a vector of registers
  };
  struct Range {  // %r<8>
    std::uint64_t count;
    Type type;
    unsigned lanes;
  };
  struct Scope {
    int parent = -1;
    std::unordered_map<std::string_view, Name> names;
    std::unordered_map<std::string_view, Range> ranges;
  };
  struct PendingLabel {
    int scope;
    std::string_view name;
    std::uint32_t line;
  };
  struct Declaration {
    std::string_view name;
    std::uint64_t size = 0, row = 0;  // row: of each element of the first dimension
    std::uint32_t alignment = 1;
    Type type = Type::none;
    unsigned vector = 1;
    std::vector<std::uint64_t> dimensions;
    bool managed = false;
  };
  struct Alias {
    std::string_view name, of;
    std::uint32_t line;
  };

  // Declarations.
  void parse_top();
  bool take_space(Space &space);
  void parse_file();
  void parse_alias();
  void define_aliases();
  Function &function_named(std::string_view name, std::uint32_t line);
  void refuse_textures();
  void parse_variable(Space space, Linkage linkage);
  Declaration parse_declaration_head();
  bool parse_attributes();
  void parse_declarator(Declaration &declaration);
  void parse_initialiser(const Declaration &declaration, Variable &variable);
  void parse_elements(const Declaration &declaration, Variable &variable, std::size_t dimension,
                      std::uint64_t begin, std::uint64_t end);
  void parse_element(const Declaration &declaration, Variable &variable, std::uint64_t offset);
  void parse_address_element(Variable &variable, std::uint64_t offset, std::uint32_t size,
                             std::uint32_t shift);
  void declare(Variable variable);
  int add_symbol(std::string_view name, int function, int variable);
  void parse_function(bool entry, Linkage linkage);
  void parse_formals(Function &function, std::vector<Formal> &formals, bool entry);
  void parse_function_directives(Function &function);
  void skip_pragma();
  void parse_dimensions(std::uint32_t (&into)[3]);

  // Bodies.
  void parse_body();
  void parse_directive_in_body();
  void parse_registers();
  void parse_loc();
  void parse_label(std::string_view name);
  void parse_instruction(std::string_view root, std::uint32_t line);
  void parse_call(Statement &statement);
  // A name of anything but a number.
  bool at_name() const {
    return text_.peek().kind == Word::Kind::name && !text_.peek().is_name("WARP_SZ");
  }
  Operand parse_operand(unsigned depth = 0);
  Operand parse_name_operand();
  Operand parse_address();
  Operand parse_group(const char *end);
  Operand named(std::string_view name, std::uint32_t line);
  const Name *find(std::string_view name);
  void add_name(std::string_view name, Name value);
  [[noreturn]] void refuse_again(std::string_view name) const;
  int add_registers(std::string_view name, Type type, unsigned lanes = 1);
  void resolve_labels();

  // Constant expressions.
  std::uint64_t parse_constant() { return parse_expression(0, 0).bits; }
  Operand parse_number(std::string_view before = {});
  Constant parse_expression(int least, unsigned depth, std::string_view before = {});
  static Constant apply(std::string_view unary, Constant to);
  Constant parse_primary(unsigned depth);

  Program &program_;
  Text text_;
  Function *function_ = nullptr;
  std::vector<Scope> scopes_;
  int scope_ = -1;
  std::vector<PendingLabel> pending_;
  std::vector<Alias> aliases_;
  std::uint32_t source_line_ = 0, source_file_ = 0;
  Statement guard_;
};

}  // namespace simcuda::kernel
