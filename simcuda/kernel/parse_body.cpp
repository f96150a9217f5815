// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <functional>

#include "parser.h"
#include "refused.h"

namespace simcuda::kernel {
namespace {

constexpr std::size_t most_registers = 1 << 18;  // of a function
constexpr unsigned deepest = 64;                 // nesting of expressions

// How the type of an operator's result follows: from either operand, as in C; from the first one;
// or it is what is stated. PTX would have .u64 of & | ^, too; ptxas has the usual.
enum class Result : std::uint8_t { usual, first, truth, u64 };

struct Operator {
  std::string_view mark;
  int level;
  Result result;
  std::uint64_t (*apply)(Constant, Constant, bool is_unsigned);
};

// For those that differ for signed numbers.
template <class F>
constexpr auto by_sign = [](Constant a, Constant b, bool is_unsigned) -> std::uint64_t {
  if (is_unsigned) return static_cast<std::uint64_t>(F()(a.bits, b.bits));
  return static_cast<std::uint64_t>(
      F()(static_cast<std::int64_t>(a.bits), static_cast<std::int64_t>(b.bits)));
};
template <class F>
constexpr auto by_bits = [](Constant a, Constant b, bool) -> std::uint64_t {
  return static_cast<std::uint64_t>(F()(a.bits, b.bits));
};

// As ptxas does it, a shift goes by the lower 6 bits.
constexpr Operator operators[] = {
    {"||", 1, Result::truth, by_bits<std::logical_or<>>},
    {"&&", 2, Result::truth, by_bits<std::logical_and<>>},
    {"|", 3, Result::usual, by_bits<std::bit_or<>>},
    {"^", 4, Result::usual, by_bits<std::bit_xor<>>},
    {"&", 5, Result::usual, by_bits<std::bit_and<>>},
    {"==", 6, Result::truth, by_bits<std::equal_to<>>},
    {"!=", 6, Result::truth, by_bits<std::not_equal_to<>>},
    {"<", 7, Result::truth, by_sign<std::less<>>},
    {"<=", 7, Result::truth, by_sign<std::less_equal<>>},
    {">", 7, Result::truth, by_sign<std::greater<>>},
    {">=", 7, Result::truth, by_sign<std::greater_equal<>>},
    {"<<", 8, Result::first, [](Constant a, Constant b, bool) { return a.bits << (b.bits & 63); }},
    {">>", 8, Result::first,
     [](Constant a, Constant b, bool) {
       if (a.is_unsigned) return a.bits >> (b.bits & 63);
       return static_cast<std::uint64_t>(static_cast<std::int64_t>(a.bits) >> (b.bits & 63));
     }},
    {"+", 9, Result::usual, by_bits<std::plus<>>},
    {"-", 9, Result::usual, by_bits<std::minus<>>},
    {"*", 10, Result::usual, by_bits<std::multiplies<>>},
    {"/", 10, Result::usual, by_sign<std::divides<>>},
    {"%", 10, Result::u64, by_bits<std::modulus<>>},
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
      scopes_.push_back({scope_, {}, {}});
      scope_ = static_cast<int>(scopes_.size()) - 1;
    } else if (word.is("}")) {
      text_.take();
      if (scope_ == outermost) break;
      scope_ = scopes_[scope_].parent;
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
  if (take_space(space)) return parse_variable(space, Linkage::internal);
  if (text_.take_if_dotted("pragma")) return skip_pragma();
  text_.skip_directive();
}

// Returns the first one's index.
int Parser::add_registers(std::string_view name, Type type, unsigned lanes) {
  const std::size_t first = function_->registers.size();
  if (first + lanes > most_registers)
    text_.refuse("a function has at most " + std::to_string(most_registers) + " registers");
  function_->registers.resize(first + lanes, {name, type});
  return static_cast<int>(first);
}

void Parser::add_name(std::string_view name, Name value) {
  if (!scopes_[scope_].names.emplace(name, value).second) refuse_again(name);
}

void Parser::refuse_again(std::string_view name) const {
  text_.refuse("'" + std::string(name.substr(0, 80)) + "' is there already");
}

void Parser::parse_registers() {
  Declaration declaration = parse_declaration_head();
  do {
    const std::string_view name = text_.name("a register's name");
    if (text_.take_if("<")) {
      const std::uint64_t count = text_.integer("a number of registers");
      text_.expect(">");
      const Range range{count, declaration.type, declaration.vector};
      if (!scopes_[scope_].ranges.emplace(name, range).second) refuse_again(name);
    } else {
      const int first = add_registers(name, declaration.type, declaration.vector);
      add_name(name, {Name::Kind::reg, first, 0, declaration.vector});
    }
  } while (text_.take_if(","));
  text_.expect(";");
}

// Names are looked up from the inner scope outwards. Names of a range (%r<8>) become registers when
// they are first used, since a range may be very large.
const Parser::Name *Parser::find(std::string_view name) {
  for (int scope = scope_; scope >= 0; scope = scopes_[scope].parent) {
    auto &[parent, names, ranges] = scopes_[scope];
    if (auto found = names.find(name); found != names.end()) return &found->second;
    std::uint64_t number = 0, place = 1;
    for (std::size_t digits = 1; digits < name.size() && digits <= 9; ++digits) {
      const char c = name[name.size() - digits];
      if (c < '0' || c > '9') break;
      number += static_cast<std::uint64_t>(c - '0') * place;
      place *= 10;
      if (c == '0' && digits > 1) continue;  // no number begins with 0
      auto found = ranges.find(name.substr(0, name.size() - digits));
      if (found == ranges.end() || number >= found->second.count) continue;
      const auto &[count, type, lanes] = found->second;
      const Name added{Name::Kind::reg, add_registers(name, type, lanes), 0, lanes};
      return &names.emplace(name, added).first->second;
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
    add_name(name, {Name::Kind::targets, static_cast<int>(function_->label_lists.size())});
    function_->label_lists.push_back(std::move(list));
    return;
  }
  if (text_.peek().is_dotted("callprototype") || text_.peek().is_dotted("calltargets")) {
    while (!text_.take_if(";"))
      if (text_.take().kind == Word::Kind::end) text_.refuse("a ';' is missing");
    add_name(name, {Name::Kind::prototype});
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
          for (unsigned i = 0; i < known->lanes; ++i) {
            Operand part;
            part.kind = Operand::Kind::reg;
            part.index = known->index + static_cast<int>(i);
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
      case Name::Kind::symbol:
        operand.kind = Operand::Kind::variable;
        return operand;
      case Name::Kind::targets:
        operand.kind = Operand::Kind::targets;
        return operand;
      case Name::Kind::prototype:
        operand.kind = Operand::Kind::prototype;
        return operand;
      case Name::Kind::label:
        break;
    }
  } else if (auto symbol = program_.symbol_by_name.find(name);
             symbol != program_.symbol_by_name.end()) {
    operand.index = symbol->second;
    operand.kind = program_.symbols[symbol->second].function >= 0 ? Operand::Kind::function
                                                                  : Operand::Kind::variable;
    return operand;
  } else if (name[0] == '%') {
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
      const auto place =
          static_cast<unsigned>(std::string_view("xyzwrgba").find(component.text[0])) % 4;
      if (known->lanes <= 1 || place >= known->lanes)
        text_.refuse("'" + std::string(name) + "' has no such component");
      Operand operand;
      operand.kind = Operand::Kind::reg;
      operand.index = known->index + static_cast<int>(place);
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
  const bool negated = text_.take_if("!");
  if (!at_name()) return parse_number(negated ? "!" : "");
  Operand operand = parse_name_operand();
  operand.negated = negated;
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

Constant Parser::apply(std::string_view unary, Constant to) {
  if (unary == "-") return {~to.bits + 1, to.is_unsigned};
  if (unary == "~") return {~to.bits, true};
  if (unary == "!") return {!to.bits, false};
  return to;
}

Constant Parser::parse_primary(unsigned depth) {
  if (depth > deepest) text_.refuse("an expression is nested too deeply");
  const Word word = text_.take();
  if (word.kind == Word::Kind::integer) return {word.bits, word.is_unsigned};
  if (word.is_name("WARP_SZ")) return {32, false};
  for (std::string_view unary : {"-", "+", "~", "!"})
    if (word.is(unary)) return apply(unary, parse_primary(depth + 1));
  if (word.is("(")) {
    const bool is_signed = text_.take_if_dotted("s64");
    if (is_signed || text_.take_if_dotted("u64")) {
      text_.expect(")");
      return {parse_primary(depth + 1).bits, !is_signed};
    }
    const Constant value = parse_expression(0, depth + 1);
    text_.expect(")");
    return value;
  }
  throw Invalid(word.line,
                "a number is expected, not '" + std::string(word.text.substr(0, 80)) + "'");
}

// Operators that bind at least as tightly as `least`; 0 is ?: itself. A unary one may have been
// read before.
Constant Parser::parse_expression(int least, unsigned depth, std::string_view before) {
  if (depth > deepest) text_.refuse("an expression is nested too deeply");
  Constant left = apply(before, parse_primary(depth));
  for (;;) {
    const Word word = text_.peek();
    const Operator *found = nullptr;
    for (const Operator &each : operators)
      if (word.is(each.mark)) found = &each;
    if (!found || found->level < least) break;
    text_.take();
    const Constant right = parse_expression(found->level + 1, depth + 1);
    const bool either = left.is_unsigned || right.is_unsigned;
    if ((word.is("/") || word.is("%")) && right.bits == 0)
      text_.refuse("a constant is divided by 0");
    if (word.is("/") && !either && ~right.bits == 0 && left.bits == std::uint64_t{1} << 63)
      text_.refuse("a constant is too large");
    left.bits = found->apply(left, right, either);
    switch (found->result) {
      case Result::usual:
        left.is_unsigned = either;
        break;
      case Result::first:
        break;
      case Result::truth:
        left.is_unsigned = false;
        break;
      case Result::u64:
        left.is_unsigned = true;
    }
  }
  if (least == 0 && text_.take_if("?")) {
    const Constant yes = parse_expression(0, depth + 1);
    text_.expect(":");
    const Constant no = parse_expression(0, depth + 1);
    return left.bits ? yes : no;
  }
  return left;
}

// An integer's expression, or a floating-point number. One of 32 bits has its sign among them. A
// unary operator may have been read before.
Operand Parser::parse_number(std::string_view before) {
  Operand operand;
  if (before.empty() && text_.take_if("-")) before = "-";
  const Word word = text_.peek();
  if ((word.kind == Word::Kind::single && before.empty()) ||
      (word.kind == Word::Kind::real && before != "!")) {
    text_.take();
    operand.kind = word.kind == Word::Kind::real ? Operand::Kind::real : Operand::Kind::single;
    operand.bits = word.bits ^ std::uint64_t{!before.empty()} << 63;
    return operand;
  }
  operand.kind = Operand::Kind::integer;
  operand.bits = parse_expression(0, 0, before).bits;
  return operand;
}

}  // namespace simcuda::kernel
