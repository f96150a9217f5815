// SPDX-License-Identifier: BSD-3-Clause
// The options of the compiler in a driver: what it says goes into buffers of the client's. There is
// nothing to optimise here, so that the others change nothing.
#pragma once

#include <string_view>

#include "call.h"

namespace simcuda {

class JitOptions {
 public:
  JitOptions() = default;
  // Refuses numbers that are no option's.
  JitOptions(unsigned count, const int *options, void **values);
  // As much as there is room for, with a zero behind it, and how much that is.
  void info(std::string_view text) { add(info_, text); }
  void error(std::string_view text) { add(error_, text); }

 private:
  struct Log {
    char *buffer = nullptr;
    std::size_t size = 0, used = 0;
    void **filled = nullptr;  // the client's, which is told
  };
  static void add(Log &log, std::string_view text);

  Log info_, error_;
};

}  // namespace simcuda
