// SPDX-License-Identifier: BSD-3-Clause
// The steps of programs: their names, what their numbers are, and how they are drawn and written.
//
//   begin 0 N1 2 none none w both - ; end 0 event
//
// A step is its name and its operands, words or numbers. It says which array, use or capture it is
// of, or makes, and is left out where the rules forbid it by then. So every part of a program is a
// program, and it means the same whatever the alphabet gets: what is added goes to the end of a
// list of words, or of operands, whose absence is their first word.
#pragma once

#include <random>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "parties.hpp"

namespace wide {

using Program = std::vector<Step>;

// Usually one that the world allows. Those that were last used together are likelier.
class Drawer {
 public:
  explicit Drawer(std::uint64_t seed) : draw_(seed) {}
  unsigned number(unsigned below) { return static_cast<unsigned>(draw_() % below); }
  // A program; and its next step.
  void begin();
  Step step(const World &world);

 private:
  unsigned operand(const World &world, const struct Operand &of);
  unsigned chosen(std::span<const char *const> words, std::string alternatives);
  unsigned array(const World &world);
  unsigned stream(const World &world, bool is_outsider);
  template <class All, class WeightOf>
  unsigned draw_by(const All &all, const WeightOf &weight_of);

  std::mt19937_64 draw_;
  unsigned last_ = 0;  // the array
  unsigned theme_ = 0;
  std::istringstream first_;  // the steps that are left of how it begins
};

void run_step(World &world, const Step &step);

std::string text_of(const Program &program);
// Dies of what is no program.
Program program_of(const std::string &text);
// The operand with less said, or the same.
Step simpler(Step step, std::size_t operand);

}  // namespace wide
