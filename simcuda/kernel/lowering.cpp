// SPDX-License-Identifier: BSD-3-Clause
#include "lowering.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace simcuda::kernel {
namespace {

struct Special {
  std::string_view name;
  Bank bank;
  std::uint32_t offset;
  unsigned bits = 32;
};

constexpr Special specials[] = {
    {"%tid.x", Bank::warp, warp_bank::tid_x},
    {"%tid.y", Bank::warp, warp_bank::tid_y},
    {"%tid.z", Bank::warp, warp_bank::tid_z},
    {"%warpid", Bank::warp, warp_bank::warpid},
    {"%ctaid.x", Bank::warp, warp_bank::ctaid_x},
    {"%ctaid.y", Bank::warp, warp_bank::ctaid_y},
    {"%ctaid.z", Bank::warp, warp_bank::ctaid_z},
    {"%ntid.x", Bank::launch, launch_bank::ntid_x},
    {"%ntid.y", Bank::launch, launch_bank::ntid_y},
    {"%ntid.z", Bank::launch, launch_bank::ntid_z},
    {"%nctaid.x", Bank::launch, launch_bank::nctaid_x},
    {"%nctaid.y", Bank::launch, launch_bank::nctaid_y},
    {"%nctaid.z", Bank::launch, launch_bank::nctaid_z},
    {"%laneid", Bank::launch, launch_bank::laneid},
    {"%lanemask_eq", Bank::launch, launch_bank::lanemask_eq},
    {"%lanemask_le", Bank::launch, launch_bank::lanemask_le},
    {"%lanemask_lt", Bank::launch, launch_bank::lanemask_lt},
    {"%lanemask_ge", Bank::launch, launch_bank::lanemask_ge},
    {"%lanemask_gt", Bank::launch, launch_bank::lanemask_gt},
    {"%nwarpid", Bank::launch, launch_bank::nwarpid},
    {"%smid", Bank::launch, launch_bank::zero},
    {"%nsmid", Bank::launch, launch_bank::one},
    {"%total_smem_size", Bank::launch, launch_bank::total_smem},
    {"%dynamic_smem_size", Bank::launch, launch_bank::dynamic_smem},
    {"%reserved_smem_offset_begin", Bank::launch, launch_bank::zero},
    {"%reserved_smem_offset_end", Bank::launch, launch_bank::zero},
    // A block is a cluster of its own.
    {"%is_explicit_cluster", Bank::launch, launch_bank::zero, 1},
    {"%clusterid.x", Bank::warp, warp_bank::ctaid_x},
    {"%clusterid.y", Bank::warp, warp_bank::ctaid_y},
    {"%clusterid.z", Bank::warp, warp_bank::ctaid_z},
    {"%nclusterid.x", Bank::launch, launch_bank::nctaid_x},
    {"%nclusterid.y", Bank::launch, launch_bank::nctaid_y},
    {"%nclusterid.z", Bank::launch, launch_bank::nctaid_z},
    {"%cluster_ctaid.x", Bank::launch, launch_bank::zero},
    {"%cluster_ctaid.y", Bank::launch, launch_bank::zero},
    {"%cluster_ctaid.z", Bank::launch, launch_bank::zero},
    {"%cluster_nctaid.x", Bank::launch, launch_bank::one},
    {"%cluster_nctaid.y", Bank::launch, launch_bank::one},
    {"%cluster_nctaid.z", Bank::launch, launch_bank::one},
    {"%cluster_ctarank", Bank::launch, launch_bank::zero},
    {"%cluster_nctarank", Bank::launch, launch_bank::one},
};

// A register of 8 bits has lanes of 16.
unsigned lane_bits(Type type) {
  return type == Type::pred ? 1 : std::max(16u, bits_of(type));
}

std::string quoted(std::string_view text) {
  return "'" + std::string(text.substr(0, 80)) + "'";
}

void count_mentions(const Operand &operand, std::vector<std::uint32_t> &mentions) {
  if (operand.kind == Operand::Kind::reg) ++mentions[operand.index];
  if (operand.second >= 0) ++mentions[operand.second];
  for (const Operand &part : operand.parts) count_mentions(part, mentions);
}

}  // namespace

std::string opcode_of(const Statement &statement) {
  std::string opcode(statement.root);
  for (auto modifier : statement.modifiers) opcode += "." + std::string(modifier);
  return opcode;
}

void Lowering::refuse(const std::string &why) const {
  throw Invalid(statement_->line, opcode_of(*statement_).substr(0, 160) + ": " + why);
}

void Lowering::refuse_type(Type type) const {
  refuse("not with the type ." + std::string(name_of(type)));
}

void Lowering::refuse_modifier() const {
  refuse("." + std::string(next().value_or("")) + " is not supported here");
}

bool Lowering::take(std::string_view modifier) {
  for (std::size_t i = 0; i < taken_.size(); ++i)
    if (!taken_[i] && statement_->modifiers[i] == modifier) return taken_[i] = true;
  return false;
}

bool Lowering::take_any(std::initializer_list<std::string_view> modifiers) {
  return std::any_of(modifiers.begin(), modifiers.end(), [&](auto each) { return take(each); });
}

bool Lowering::has(std::string_view modifier) const {
  for (std::size_t i = 0; i < taken_.size(); ++i)
    if (!taken_[i] && statement_->modifiers[i] == modifier) return true;
  return false;
}

std::optional<std::string_view> Lowering::next() const {
  for (std::size_t i = 0; i < taken_.size(); ++i)
    if (!taken_[i]) return statement_->modifiers[i];
  return {};
}

std::string_view Lowering::take_next() {
  auto name = next();
  if (!name) refuse("a modifier is missing");
  take(*name);
  return *name;
}

std::optional<Type> Lowering::type_if() {
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    if (taken_[i]) continue;
    const Type found = type_named(statement_->modifiers[i]);
    if (found == Type::none) continue;
    taken_[i] = true;
    return found;
  }
  return {};
}

Type Lowering::type() {
  auto found = type_if();
  if (!found) refuse("a type is missing");
  return *found;
}

Rounding Lowering::rounding() {
  if (take("rn")) return Rounding::nearest;
  if (take("rz")) return Rounding::zero;
  if (take("rm")) return Rounding::down;
  if (take("rp")) return Rounding::up;
  return Rounding::none;
}

Rounding Lowering::integer_rounding() {
  if (take("rni")) return Rounding::nearest;
  if (take("rzi")) return Rounding::zero;
  if (take("rmi")) return Rounding::down;
  if (take("rpi")) return Rounding::up;
  return Rounding::none;
}

const Operand &Lowering::operand(std::size_t i) {
  if (i >= operands()) refuse("an operand is missing");
  return statement_->operands[i];
}

void Lowering::expect_operands(std::size_t least, std::size_t most) {
  if (operands() < least || operands() > most)
    refuse("it takes " + std::to_string(least) +
           (most > least ? " to " + std::to_string(most) : "") + " operands, not " +
           std::to_string(operands()));
}

void Lowering::bind(Type d, std::initializer_list<Type> sources) {
  expect_operands(1 + sources.size());
  out.d = write(0, d);
  Place32 *const places[] = {&out.a, &out.b, &out.c};
  std::size_t i = 0;
  for (Type source : sources) {
    *places[i] = read(i + 1, source);
    ++i;
  }
}

Place32 Lowering::scratch() {
  return place_in(Bank::frame, 0);
}

bool Lowering::unused(const Operand &operand) {
  if (operand.kind == Operand::Kind::sink) return true;
  if (mentions_.empty()) {
    mentions_.resize(function_.registers.size());
    for (const Statement &statement : function_.statements) {
      if (statement.guard >= 0) ++mentions_[statement.guard];
      for (const Operand &each : statement.operands) count_mentions(each, mentions_);
    }
    for (const Formal &result : function_.results)
      if (result.is_register) ++mentions_[result.index];
  }
  return operand.kind == Operand::Kind::reg && mentions_[operand.index] == 1;
}

Place32 Lowering::constant(std::uint64_t bits, unsigned width) {
  if (width < 64) bits &= (std::uint64_t{1} << width) - 1;
  Constants &constants = module_.constants;
  auto [known, fresh] = constants.known.try_emplace({bits, width}, 0);
  if (fresh) {
    // A predicate is a mask of all lanes.
    const std::size_t lane = width == 1 ? 4 : width / 8;
    const std::size_t lanes = width == 1 ? 1 : lanes_of_warp;
    if (width == 1) bits = bits ? all_lanes : 0;
    known->second = static_cast<std::uint32_t>(constants.bytes.size());
    constants.bytes.resize((known->second + lane * lanes + 63) / 64 * 64);
    for (std::size_t i = 0; i < lanes; ++i)
      std::memcpy(constants.bytes.data() + known->second + i * lane, &bits, lane);
  }
  return place_in(Bank::constants, known->second);
}

Place32 Lowering::symbol(int index, std::uint64_t addend, unsigned width) {
  const Symbol &symbol = module_.program.symbols[index];
  auto [known, fresh] = module_.symbols.try_emplace({index, addend, width}, 0);
  if (fresh) {
    Code &code = module_.code;
    known->second = code.launch_bytes;
    code.symbols.push_back({symbol.function, symbol.variable, addend, known->second, width});
    code.launch_bytes += width / 8 * lanes_of_warp;
  }
  if (symbol.variable >= 0 && module_.program.variables[symbol.variable].space == Space::shared)
    body_.shared.push_back(symbol.variable);
  if (symbol.function >= 0) body_.callees.push_back(symbol.function);
  return place_in(Bank::launch, known->second);
}

std::optional<Place32> Lowering::special(std::string_view name, unsigned &bits) {
  for (const Special &special : specials)
    if (special.name == name) {
      bits = special.bits;
      return place_in(special.bank, special.offset);
    }
  for (int i = 0; i < 32; ++i)
    if (name == "%envreg" + std::to_string(i)) {
      bits = 32;
      // The address of a cooperative launch's barrier.
      return place_in(Bank::launch, i == 1   ? launch_bank::envreg1
                                    : i == 2 ? launch_bank::envreg2
                                             : launch_bank::zero);
    }
  return {};
}

Place32 Lowering::literal(const Operand &operand, Type type) {
  const unsigned width = type == Type::pred ? 1 : std::max(16u, bits_of(type));
  if (width > 64) refuse("a number cannot be of 128 bits");
  if (operand.kind == Operand::Kind::integer) {
    if (is_real(type)) refuse("an integer cannot be of the type ." + std::string(name_of(type)));
    return constant(type == Type::pred ? operand.bits != 0 : operand.bits, width);
  }
  const bool single = operand.kind == Operand::Kind::single;
  if (single && width == 32) return constant(operand.bits, 32);
  if (!single && (type == Type::f64 || type == Type::b64)) return constant(operand.bits, 64);
  if (!single && type == Type::f32) {
    const auto value = static_cast<float>(std::bit_cast<double>(operand.bits));
    return constant(std::bit_cast<std::uint32_t>(value), 32);
  }
  refuse("a floating-point number cannot be of the type ." + std::string(name_of(type)));
}

Place32 Lowering::register_of(const Operand &operand, unsigned &bits) {
  bits = lane_bits(register_type(operand));
  return place_in(Bank::frame, places_[operand.index]);
}

Place32 Lowering::read(const Operand &operand, Type type) {
  const unsigned wanted = lane_bits(type);
  if (operand.negated && type != Type::pred) refuse("only a predicate can be negated");
  unsigned bits = 0;
  Place32 place = 0;
  switch (operand.kind) {
    case Operand::Kind::reg:
      place = register_of(operand, bits);
      break;
    case Operand::Kind::integer:
    case Operand::Kind::single:
    case Operand::Kind::real:
      return literal(operand, type);
    case Operand::Kind::special:
      if (auto found = special(operand.name, bits)) {
        place = *found;
        break;
      }
      if (operand.name == "%gridid") {
        bits = wanted;
        place = place_in(Bank::launch, wanted == 64 ? launch_bank::gridid : launch_bank::gridid32);
        break;
      }
      refuse(quoted(operand.name) + " is not known");
    case Operand::Kind::variable:
    case Operand::Kind::function:
      if (wanted != 32 && wanted != 64)
        refuse("the address of " + quoted(operand.name) + " has 32 or 64 bits");
      return symbol(operand.index, operand.bits, wanted);
    case Operand::Kind::parameter:
      return constant(operand.bits, wanted);
    default:
      refuse("an operand is of a kind that does not fit here");
  }
  if (bits != wanted)
    refuse(quoted(operand.name) + " has " + std::to_string(bits) + " bits, and " +
           std::to_string(wanted) + " are expected");
  return place;
}

Place32 Lowering::write(const Operand &operand, Type type) {
  if (operand.kind == Operand::Kind::sink) return scratch();
  if (operand.kind != Operand::Kind::reg || operand.negated)
    refuse("the result must go to a register");
  unsigned bits = 0;
  const Place32 place = register_of(operand, bits);
  if (bits != lane_bits(type))
    refuse(quoted(operand.name) + " has " + std::to_string(bits) + " bits, and " +
           std::to_string(lane_bits(type)) + " are expected");
  return place;
}

Place32 Lowering::read_wide(const Operand &operand, Type type, unsigned &bits) {
  bits = lane_bits(type);
  if (operand.kind == Operand::Kind::special && special(operand.name, bits)) {
    if (bits < bits_of(type)) refuse(quoted(operand.name) + " has too few bits");
    return *special(operand.name, bits);
  }
  if (operand.kind != Operand::Kind::reg) return read(operand, type);
  const Place32 place = register_of(operand, bits);
  if (bits < bits_of(type))
    refuse(quoted(operand.name) + " has " + std::to_string(bits) + " bits, and at least " +
           std::to_string(bits_of(type)) + " are expected");
  return place;
}

Place32 Lowering::write_wide(const Operand &operand, Type type, unsigned &bits) {
  bits = lane_bits(type);
  if (operand.kind != Operand::Kind::reg) return write(operand, type);
  const Place32 place = register_of(operand, bits);
  if (bits < bits_of(type))
    refuse(quoted(operand.name) + " has " + std::to_string(bits) + " bits, and at least " +
           std::to_string(bits_of(type)) + " are expected");
  return place;
}

std::uint32_t Lowering::add_list(const std::vector<Place32> &places) {
  const auto first = static_cast<std::uint32_t>(body_.lists.size());
  body_.lists.insert(body_.lists.end(), places.begin(), places.end());
  return first;
}

void Lowering::bind_address(std::size_t i, Space space) {
  const Operand &address = operand(i);
  if (address.kind != Operand::Kind::address) refuse("an address in brackets is expected");
  out.immediate = static_cast<std::int64_t>(address.bits);
  // The parameters of a device function are on its thread's stack.
  out.space = space == Space::param && !function_.entry ? Space::local : space;
  out.option = 64;
  out.a = place_in(Bank::launch, launch_bank::zero64);
  out.flag = false;
  out.cache = module_.code.caches++;
  if (address.parts.empty()) return;
  const Operand &base = address.parts[0];
  switch (base.kind) {
    case Operand::Kind::reg: {
      unsigned bits;
      out.a = register_of(base, bits);
      if (bits != 64 && bits != 32) refuse("an address has 32 or 64 bits");
      out.option = static_cast<std::uint16_t>(bits);
      return;
    }
    case Operand::Kind::variable:
      out.a = symbol(base.index, 0, 64);
      return;
    case Operand::Kind::parameter:
      if (space != Space::param) refuse("a parameter lies in parameter memory");
      return;
    case Operand::Kind::local:
      if (space != Space::local && space != Space::param)
        refuse(quoted(base.name) + " lies in local memory");
      out.space = Space::local;
      out.flag = true;  // relative to the frame
      out.immediate += locals_[base.index];
      return;
    default:
      refuse("this is no address");
  }
}

// An argument must have the size of its parameter.
Passed Lowering::passed(const Operand &given, const Passed &formal, bool result) {
  Passed made;
  made.size = formal.size;
  if (given.kind == Operand::Kind::local) {
    const FrameVariable &variable = function_.variables[given.index];
    if (formal.size && variable.size < formal.size)
      refuse(quoted(given.name) + " is smaller than the parameter");
    made.size = formal.size ? formal.size : static_cast<std::uint32_t>(variable.size);
    made.offset = locals_[given.index];
    return made;
  }
  made.is_register = true;
  // If the function is not known, its parameters are compared with these at the call.
  if (!made.size) {
    unsigned bits = 32;
    if (given.kind == Operand::Kind::reg) register_of(given, bits);
    made.size = bits / 8;
  }
  // As with ptxas: predicates and numbers of 8 or 16 bits are passed in memory only.
  if (made.size != 4 && made.size != 8) refuse("a register cannot hold this parameter");
  const Type type = made.size == 4 ? Type::b32 : Type::b64;
  made.place = result ? write(given, type) : read(given, type);
  return made;
}

void Lowering::lower(const Statement &statement) {
  statement_ = &statement;
  root = statement.root;
  taken_.assign(statement.modifiers.size(), false);
  out = {};
  bool known = false;
  for (Select select : families().select)
    if (select(*this)) {
      known = true;
      break;
    }
  if (!known) refuse("this instruction is not supported");
  if (next()) refuse_modifier();
  if (statement.guard >= 0) {
    out.guard = places_[statement.guard] + 1;
    out.guard_negated = statement.guard_negated;
  }
  const std::string spelling = opcode_of(statement);
  auto [text, fresh] = module_.spellings.try_emplace(
      spelling, static_cast<std::uint32_t>(module_.code.spellings.size()));
  if (fresh) module_.code.spellings.push_back(spelling);
  body_.sources.push_back(
      {statement.line, statement.source_file, statement.source_line, text->second});
  body_.instructions.push_back(out);
}

}  // namespace simcuda::kernel
