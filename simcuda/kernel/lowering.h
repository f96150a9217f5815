// SPDX-License-Identifier: BSD-3-Clause
// Turns one statement into an instruction. The families in execute_*.cpp read the modifiers and
// operands they know, and choose the function that executes it. A statement with anything unread is
// rejected.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <tuple>

#include "instruction.h"

namespace simcuda::kernel {

class Lowering;

// One for each family. Returns whether it knows the statement's root.
using Select = bool (*)(Lowering &);

// The families, compiled for one kind of processor.
struct Families {
  Select select[18];
};
const Families &families();

struct Constants {
  std::vector<std::byte> bytes;
  std::map<std::pair<std::uint64_t, unsigned>, std::uint32_t> known;  // bits and width
};

struct ModuleState {
  const Program &program;
  Code &code;
  Constants constants;
  std::map<std::string, std::uint32_t> spellings;
  std::map<std::tuple<int, std::uint64_t, unsigned>, std::uint32_t> symbols;
};

enum class Rounding : std::uint8_t { none, nearest, zero, down, up };

class Lowering {
 public:
  Lowering(ModuleState &module, const Function &function, Body &body,
           const std::vector<std::uint32_t> &places, const std::vector<std::uint32_t> &locals)
      : module_(module), function_(function), body_(body), places_(places), locals_(locals) {}
  void lower(const Statement &statement);

  Instruction out;
  std::string_view root;

  // Modifiers.
  bool take(std::string_view modifier);
  bool take_any(std::initializer_list<std::string_view> modifiers);
  // Reads the next modifier as a type; fails if it is none.
  Type type();
  std::optional<Type> type_if();
  Rounding rounding();          // rn rz rm rp
  Rounding integer_rounding();  // rni rzi rmi rpi
  bool has(std::string_view modifier) const;
  std::optional<std::string_view> next() const;  // the first unread one
  std::string_view take_next();

  // Operands by position, checked against a type.
  std::size_t operands() const { return statement_->operands.size(); }
  const Operand &operand(std::size_t i);
  Place32 read(std::size_t i, Type type) { return read(operand(i), type); }
  Place32 write(std::size_t i, Type type) { return write(operand(i), type); }
  Place32 read(const Operand &operand, Type type);
  Place32 write(const Operand &operand, Type type);
  // Registers that may be wider than the type, as for ld, st and cvt; returns their width in bits.
  Place32 read_wide(const Operand &operand, Type type, unsigned &bits);
  Place32 write_wide(const Operand &operand, Type type, unsigned &bits);
  void expect_operands(std::size_t least, std::size_t most);
  void expect_operands(std::size_t count) { expect_operands(count, count); }
  // d, a, b and c of these types, in this order.
  void bind(Type d, std::initializer_list<Type> sources);
  // [base+offset] into a, immediate, space.
  void bind_address(std::size_t i, Space space);
  std::uint32_t add_list(const std::vector<Place32> &places);
  Place32 constant(std::uint64_t bits, unsigned width);
  Place32 symbol(int index, std::uint64_t addend, unsigned width);
  // Lanes that nothing reads.
  Place32 scratch();
  // Whether only this statement names the register.
  bool unused(const Operand &operand);

  [[noreturn]] void refuse(const std::string &why) const;
  [[noreturn]] void refuse_type(Type type) const;
  [[noreturn]] void refuse_modifier() const;
  const Function &function() const { return function_; }
  ModuleState &module() { return module_; }
  Body &body() { return body_; }
  Type register_type(const Operand &operand) const {
    return function_.registers[static_cast<std::size_t>(operand.index)].type;
  }
  std::uint32_t local_offset(int variable) const {
    return locals_[static_cast<std::size_t>(variable)];
  }
  Passed passed(const Operand &operand, const Passed &formal, bool result);

 private:
  Place32 literal(const Operand &operand, Type type);
  Place32 register_of(const Operand &operand, unsigned &bits);
  std::optional<Place32> special(std::string_view name, unsigned &bits);

  ModuleState &module_;
  const Function &function_;
  Body &body_;
  const std::vector<std::uint32_t> &places_;
  const std::vector<std::uint32_t> &locals_;
  const Statement *statement_ = nullptr;
  std::vector<bool> taken_;
  std::vector<std::uint32_t> mentions_;  // of each register, once it is needed
};

}  // namespace simcuda::kernel
