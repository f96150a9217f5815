// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "parser.h"
#include "refused.h"

namespace simcuda::kernel {
namespace {

constexpr std::size_t most_registers = 1 << 18;  // of a function
constexpr unsigned deepest = 64;                 // nesting of expressions
constexpr int symbol_below = -2;                 // a label's index that means a symbol

struct Level {
  std::string_view mark;
  int level;
};
constexpr Level levels[] = {
    {"||", 1}, {"&&", 2}, {"|", 3},  {"^", 4},  {"&", 5},  {"==", 6},
    {"!=", 6}, {"<", 7},  {"<=", 7}, {">", 7},  {">=", 7}, {"<<", 8},
    {">>", 8}, {"+", 9},  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10},
};

bool has_coordinates(std::string_view root) {
  return root == "tex" || root == "tld4" || root == "suld" || root == "sust" || root == "sured";
}

bool is_component(std::string_view name) {
  return name.size() == 1 && std::string_view("xyzwrgba").find(name[0]) != std::string_view::npos;
}

}  // namespace

// The braces of a function are a scope; so is each pair within.
void Parser::parse_body() {
  text_.expect("{");
  source_line_ = source_file_ = 0;
  const int outermost = scope_;
  for (;;) {
    const Word word = text_.peek();
    if (word.is("{")) {
      text_.take();
      scopes_.push_back({scope_, {}});
      scope_ = static_cast<int>(scopes_.size()) - 1;
    } else if (word.is("}")) {
      text_.take();
      if (scope_ == outermost) break;
      scope_ = scopes_[scope_].parent;
    } else if (word.is(";")) {
      text_.take();
    } else if (word.kind == Word::Kind::dotted) {
      parse_directive_in_body();
    } else if (word.is("@")) {
      text_.take();
      guard_.guard_negated = text_.take_if("!");
      const std::uint32_t line = text_.line();
      const Operand guard = named(text_.name("a predicate"), line);
      if (guard.kind != Operand::Kind::reg || function_->registers[guard.index].type != Type::pred)
        throw Invalid(line, "what guards an instruction must be a predicate");
      guard_.guard = guard.index;
      const Word root = text_.peek();
      parse_instruction(text_.name("an instruction"), root.line);
      guard_ = {};
    } else if (word.kind == Word::Kind::name) {
      text_.take();
      if (text_.take_if(":"))
        parse_label(word.text);
      else
        parse_instruction(word.text, word.line);
    } else {
      text_.refuse("an instruction is expected, not " + text_.here());
    }
  }
  resolve_labels();
}

void Parser::parse_directive_in_body() {
  Space space;
  if (text_.take_if_dotted("reg")) return parse_registers();
  if (text_.take_if_dotted("loc")) return parse_loc();
  const bool external = text_.take_if_dotted("extern");
  if (take_space(space))
    return parse_variable(space, external ? Linkage::external : Linkage::internal);
  parse_function_directives(*function_);
  text_.take_if(";");
}

int Parser::add_register(std::string_view name, Type type) {
  if (function_->registers.size() >= most_registers)
    text_.refuse("a function has at most " + std::to_string(most_registers) + " registers");
  function_->registers.push_back({name, type});
  return static_cast<int>(function_->registers.size()) - 1;
}

void Parser::add_name(std::string_view name, Name value) {
  if (!scopes_[scope_].names.emplace(name, value).second)
    text_.refuse("'" + std::string(name.substr(0, 80)) + "' is there already");
}

void Parser::parse_registers() {
  Declaration declaration = parse_declaration_head();
  do {
    const std::string_view name = text_.name("a register's name");
    if (text_.take_if("<")) {
      const std::uint64_t count = text_.integer("a number of registers");
      text_.expect(">");
      if (declaration.vector != 1) text_.refuse("a vector of registers has one name");
      add_name(name, {Name::Kind::range, -1, count, declaration.type});
    } else {
      const int first = add_register(name, declaration.type);
      for (unsigned i = 1; i < declaration.vector; ++i) add_register(name, declaration.type);
      add_name(name, {Name::Kind::reg, first, 0, Type::none,
                      static_cast<std::uint8_t>(declaration.vector)});
    }
  } while (text_.take_if(","));
  text_.expect(";");
}

// Names are looked up from the inner scope outwards. Names of a range (%r<8>) become registers when
// they are first used, since a range may be very large.
const Parser::Name *Parser::find(std::string_view name) {
  for (int scope = scope_; scope >= 0; scope = scopes_[scope].parent) {
    auto &names = scopes_[scope].names;
    auto found = names.find(name);
    if (found != names.end() && found->second.kind != Name::Kind::range) return &found->second;
    std::uint64_t number = 0, place = 1;
    for (std::size_t digits = 1; digits < name.size() && digits <= 9; ++digits) {
      const char c = name[name.size() - digits];
      if (c < '0' || c > '9') break;
      number += static_cast<std::uint64_t>(c - '0') * place;
      place *= 10;
      if (c == '0' && digits > 1) continue;  // no number begins with 0
      auto range = names.find(name.substr(0, name.size() - digits));
      if (range == names.end() || range->second.kind != Name::Kind::range) continue;
      if (number >= range->second.offset) continue;
      const int index = add_register(name, range->second.type);
      return &names.emplace(name, Name{Name::Kind::reg, index}).first->second;
    }
  }
  return nullptr;
}

void Parser::parse_loc() {
  // `.loc` has no semicolon. The first word after the three numbers shows what follows.
  source_file_ = static_cast<std::uint32_t>(text_.integer("a file's number"));
  source_line_ = static_cast<std::uint32_t>(text_.integer("a line"));
  text_.integer("a column");
  while (text_.take_if(",")) {
    const std::string_view what = text_.name("'function_name' or 'inlined_at'");
    if (what == "function_name") {
      text_.name("a label");
      if (text_.take_if("+")) text_.integer("a number");
    } else if (what == "inlined_at") {
      for (int i = 0; i < 3; ++i) text_.integer("a number");
    } else {
      text_.refuse("'" + std::string(what) + "' is not known after .loc");
    }
  }
}

void Parser::parse_label(std::string_view name) {
  if (text_.take_if_dotted("branchtargets")) {
    std::vector<int> list;
    do {
      list.push_back(static_cast<int>(pending_.size()));
      const std::uint32_t at = text_.line();
      pending_.push_back({scope_, text_.name("a label"), at});
    } while (text_.take_if(","));
    text_.expect(";");
    add_name(name, {Name::Kind::label, static_cast<int>(function_->label_lists.size())});
    function_->label_lists.push_back(std::move(list));
    return;
  }
  if (text_.peek().is_dotted("callprototype") || text_.peek().is_dotted("calltargets")) {
    while (!text_.take_if(";"))
      if (text_.take().kind == Word::Kind::end) text_.refuse("a ';' is missing");
    add_name(name, {Name::Kind::label, 0});
    return;
  }
  add_name(name, {Name::Kind::label, static_cast<int>(function_->statements.size())});
}

Operand Parser::named(std::string_view name, std::uint32_t line) {
  Operand operand;
  operand.name = name;
  if (const Name *known = find(name)) {
    operand.index = known->index;
    switch (known->kind) {
      case Name::Kind::reg:
        operand.kind = Operand::Kind::reg;
        if (known->lanes > 1) {
          operand.kind = Operand::Kind::vector;
          for (int i = 0; i < known->lanes; ++i) {
            Operand part;
            part.kind = Operand::Kind::reg;
            part.index = known->index + i;
            operand.parts.push_back(part);
          }
        }
        return operand;
      case Name::Kind::frame:
        operand.kind = Operand::Kind::local;
        return operand;
      case Name::Kind::parameter:
        operand.kind = Operand::Kind::parameter;
        operand.bits = known->offset;
        return operand;
      case Name::Kind::label:
        if (known->index <= symbol_below) {
          operand.kind = Operand::Kind::variable;
          operand.index = symbol_below - known->index;
          return operand;
        }
        break;
      case Name::Kind::range:
        break;
    }
  }
  auto symbol = program_.symbol_by_name.find(name);
  if (symbol != program_.symbol_by_name.end() && !find(name)) {
    operand.index = symbol->second;
    operand.kind = program_.symbols[symbol->second].function >= 0 ? Operand::Kind::function
                                                                  : Operand::Kind::variable;
    return operand;
  }
  if (name[0] == '%' || name == "WARP_SZ") {
    operand.kind = Operand::Kind::special;
    return operand;
  }
  // It may be a later label.
  operand.kind = Operand::Kind::label;
  operand.index = static_cast<int>(pending_.size());
  pending_.push_back({scope_, name, line});
  return operand;
}

void Parser::resolve_labels() {
  std::vector<int> targets;
  for (const PendingLabel &pending : pending_) {
    int target = -1;
    for (int scope = pending.scope; scope >= 0 && target < 0; scope = scopes_[scope].parent) {
      auto found = scopes_[scope].names.find(pending.name);
      if (found != scopes_[scope].names.end() && found->second.kind == Name::Kind::label)
        target = found->second.index;
    }
    if (target < 0)
      throw Invalid(pending.line, "'" + std::string(pending.name.substr(0, 80)) + "' is not known");
    targets.push_back(target);
  }
  for (Statement &statement : function_->statements)
    for (Operand &operand : statement.operands)
      if (operand.kind == Operand::Kind::label) operand.index = targets[operand.index];
  for (auto &list : function_->label_lists)
    for (int &label : list) label = targets[label];
}

Operand Parser::parse_name_operand() {
  if (text_.peek().kind != Word::Kind::name)
    text_.refuse("a name is expected, not " + text_.here());
  const Word word = text_.take();
  if (word.text == "_") {
    Operand sink;
    if (text_.take_if("|")) {
      const Operand second = named(text_.name("a predicate"), word.line);
      if (second.kind != Operand::Kind::reg) text_.refuse("a register is expected behind '|'");
      sink.second = second.index;
    }
    return sink;
  }
  std::string_view name = word.text;
  if (text_.peek().kind == Word::Kind::dotted && is_component(text_.peek().text)) {
    const Word component = text_.take();
    const Name *known = find(name);
    if (known && known->kind == Name::Kind::reg) {
      const auto place = static_cast<int>(std::string_view("xyzwrgba").find(component.text[0])) % 4;
      if (known->lanes <= 1 || place >= known->lanes)
        text_.refuse("'" + std::string(name) + "' has no such component");
      Operand operand;
      operand.kind = Operand::Kind::reg;
      operand.index = known->index + place;
      return operand;
    }
    name = {name.data(), static_cast<std::size_t>(component.text.data() + 1 - name.data())};
  }
  Operand operand = named(name, word.line);
  if (operand.kind == Operand::Kind::reg && text_.take_if("|")) {
    if (text_.peek().is_name("_")) {
      text_.take();
    } else {
      const Operand second = named(text_.name("a predicate"), word.line);
      if (second.kind != Operand::Kind::reg) text_.refuse("a register is expected behind '|'");
      operand.second = second.index;
    }
  }
  if (operand.kind == Operand::Kind::variable || operand.kind == Operand::Kind::local ||
      operand.kind == Operand::Kind::parameter) {
    if (text_.take_if("+")) operand.bits += parse_constant();
    if (text_.take_if("-")) operand.bits -= parse_constant();
  }
  return operand;
}

Operand Parser::parse_group(const char *end) {
  Operand operand;
  operand.kind = Operand::Kind::group;
  if (text_.take_if(end)) return operand;
  do operand.parts.push_back(parse_operand(1));
  while (text_.take_if(","));
  text_.expect(end);
  return operand;
}

Operand Parser::parse_address() {
  Operand operand;
  operand.kind = Operand::Kind::address;
  text_.expect("[");
  if (text_.peek().kind == Word::Kind::name) {
    Operand base = parse_name_operand();
    if (base.kind == Operand::Kind::label || base.kind == Operand::Kind::special ||
        base.kind == Operand::Kind::vector || base.kind == Operand::Kind::sink)
      text_.refuse("'" + std::string(base.name.substr(0, 80)) + "' is no address");
    operand.bits = base.bits;
    base.bits = 0;
    operand.parts.push_back(std::move(base));
    if (text_.take_if("+")) operand.bits += parse_constant();
    if (text_.take_if("-")) operand.bits -= parse_constant();
    // Of a texture or a surface: [handle, {x, y}].
    while (text_.take_if(",")) {
      if (operand.parts.size() == 3) text_.refuse("there is too much in the brackets");
      operand.parts.push_back(parse_operand(1));
    }
  } else {
    operand.bits = parse_constant();
  }
  text_.expect("]");
  return operand;
}

Operand Parser::parse_operand(unsigned depth) {
  const Word word = text_.peek();
  if (word.is("{") && depth < 2) {
    text_.take();
    Operand operand;
    operand.kind = Operand::Kind::vector;
    do operand.parts.push_back(parse_operand(2));
    while (text_.take_if(","));
    text_.expect("}");
    return operand;
  }
  if (word.is("[") && depth == 0) return parse_address();
  if (word.is("!")) {
    text_.take();
    Operand operand = parse_name_operand();
    operand.negated = true;
    return operand;
  }
  if (word.kind == Word::Kind::name) return parse_name_operand();
  Operand operand;
  bool minus = false;
  if (word.is("-")) {
    text_.take();
    minus = true;
  }
  const Word number = text_.peek();
  if (number.kind == Word::Kind::single || number.kind == Word::Kind::real) {
    text_.take();
    operand.kind = number.kind == Word::Kind::single ? Operand::Kind::single : Operand::Kind::real;
    operand.bits = number.bits;
    if (minus) operand.bits ^= std::uint64_t{1} << (number.kind == Word::Kind::single ? 31 : 63);
    return operand;
  }
  operand.kind = Operand::Kind::integer;
  operand.bits = minus ? ~parse_primary(0) + 1 : parse_constant();
  return operand;
}

void Parser::parse_instruction(std::string_view root, std::uint32_t line) {
  Statement statement;
  statement.line = line;
  statement.source_line = source_line_;
  statement.source_file = source_file_;
  statement.guard = guard_.guard;
  statement.guard_negated = guard_.guard_negated;
  statement.root = root;
  while (text_.peek().kind == Word::Kind::dotted) statement.modifiers.push_back(text_.take().text);
  // Before the operands, which may be of another kind.
  if (const auto feature = refused_feature(root, statement.modifiers); !feature.empty())
    throw Invalid(line, std::string(feature) + " are not executed: " + opcode_of(statement));
  if (root == "call") {
    parse_call(statement);
  } else if (!text_.peek().is(";")) {
    do {
      if (statement.operands.size() == 16) text_.refuse("an instruction has too many operands");
      statement.operands.push_back(parse_operand());
      const Operand &operand = statement.operands.back();
      if (operand.kind == Operand::Kind::address && operand.parts.size() > 1 &&
          !has_coordinates(root))
        throw Invalid(line, opcode_of(statement) + ": an address has no coordinates");
    } while (text_.take_if(","));
  }
  text_.expect(";");
  function_->statements.push_back(std::move(statement));
}

// call (results), function, (arguments), prototype: always the first operands, in this order.
void Parser::parse_call(Statement &statement) {
  Operand none;
  none.kind = Operand::Kind::group;
  statement.operands.assign(3, none);
  if (text_.take_if("(")) {
    statement.operands[0] = parse_group(")");
    text_.expect(",");
  }
  statement.operands[1] = parse_operand();
  if (!text_.take_if(",")) return;
  if (text_.take_if("(")) {
    statement.operands[2] = parse_group(")");
    if (!text_.take_if(",")) return;
  }
  statement.operands.push_back(parse_operand());
}

std::uint64_t Parser::parse_constant() {
  return parse_expression(1, 0);
}

std::uint64_t Parser::parse_primary(unsigned depth) {
  if (depth > deepest) text_.refuse("an expression is nested too deeply");
  const Word word = text_.peek();
  if (word.kind == Word::Kind::integer) return text_.take().bits;
  if (word.is_name("WARP_SZ")) {
    text_.take();
    return 32;
  }
  text_.take();
  if (word.is("-")) return ~parse_primary(depth + 1) + 1;
  if (word.is("+")) return parse_primary(depth + 1);
  if (word.is("~")) return ~parse_primary(depth + 1);
  if (word.is("!")) return !parse_primary(depth + 1);
  if (word.is("(")) {
    // A cast to .s64 or .u64 changes no bit.
    if (text_.take_if_dotted("s64") || text_.take_if_dotted("u64")) {
      text_.expect(")");
      return parse_primary(depth + 1);
    }
    const std::uint64_t value = parse_expression(0, depth + 1);
    text_.expect(")");
    return value;
  }
  throw Invalid(word.line,
                "a number is expected, not '" + std::string(word.text.substr(0, 80)) + "'");
}

// Operators that bind at least as tightly as `least`; 0 is ?: itself.
std::uint64_t Parser::parse_expression(int least, unsigned depth) {
  if (depth > deepest) text_.refuse("an expression is nested too deeply");
  std::uint64_t left = parse_primary(depth);
  for (;;) {
    const Word word = text_.peek();
    const Level *found = nullptr;
    if (word.kind == Word::Kind::mark)
      for (const Level &level : levels)
        if (word.is(level.mark)) found = &level;
    if (!found || found->level < least) break;
    text_.take();
    const std::uint64_t right = parse_expression(found->level + 1, depth + 1);
    const auto l = static_cast<std::int64_t>(left), r = static_cast<std::int64_t>(right);
    const std::string_view mark = found->mark;
    if ((mark == "/" || mark == "%") && (right == 0 || (r == -1 && l == INT64_MIN)))
      text_.refuse("a constant is divided by 0, or too large");
    if (mark == "||")
      left = left || right;
    else if (mark == "&&")
      left = left && right;
    else if (mark == "|")
      left |= right;
    else if (mark == "^")
      left ^= right;
    else if (mark == "&")
      left &= right;
    else if (mark == "==")
      left = left == right;
    else if (mark == "!=")
      left = left != right;
    else if (mark == "<")
      left = l < r;
    else if (mark == "<=")
      left = l <= r;
    else if (mark == ">")
      left = l > r;
    else if (mark == ">=")
      left = l >= r;
    else if (mark == "<<")
      left = right < 64 ? left << right : 0;
    else if (mark == ">>")
      left = right < 64 ? left >> right : 0;
    else if (mark == "+")
      left += right;
    else if (mark == "-")
      left -= right;
    else if (mark == "*")
      left *= right;
    else if (mark == "/")
      left = static_cast<std::uint64_t>(l / r);
    else
      left = static_cast<std::uint64_t>(l % r);
  }
  if (least == 0 && text_.take_if("?")) {
    const std::uint64_t yes = parse_expression(0, depth + 1);
    text_.expect(":");
    const std::uint64_t no = parse_expression(0, depth + 1);
    return left ? yes : no;
  }
  return left;
}

}  // namespace simcuda::kernel
