// SPDX-License-Identifier: BSD-3-Clause
// The explorer as a program:
//
//   explore [hpp] ...  as explore.cpp says, through cai.h or through cai.hpp
#include <string_view>

#include "explore.h"
#include "hpp.hpp"

int main(int argc, char **argv) {
  if (argc > 1 && std::string_view(argv[1]) == "hpp") {
    play_through(&by_hpp);
    --argc;
    ++argv;
  }
  return explore(argc, argv);
}
