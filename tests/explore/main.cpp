// SPDX-License-Identifier: BSD-3-Clause
// The explorer as a program:
//
//   explore [hpp | copies] ...  as explore.cpp says, through cai.h, cai.hpp, or two copies of
//   libcai
#include <string_view>

#include "copies.h"
#include "explore.h"
#include "hpp.hpp"

int main(int argc, char **argv) {
  const std::string_view through = argc > 1 ? argv[1] : "";
  if (through == "hpp" || through == "copies") {
    play_through(through == "hpp" ? &by_hpp : &by_copies);
    if (through == "copies") allow_more_order();  // an owner is told of all uses by the other copy
    --argc;
    ++argv;
  }
  return explore(argc, argv);
}
