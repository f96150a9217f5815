// SPDX-License-Identifier: BSD-3-Clause
// The options of the driver's compiler. Its messages go into the client's buffers. Nothing is
// optimised here, so the other options have no effect.
#pragma once

#include <string_view>

#include "call.h"

namespace simcuda {

class JitOptions {
 public:
  JitOptions() = default;
  // Rejects invalid option numbers.
  JitOptions(unsigned count, const int *options, void **values);
  // Copies as much as fits, with a terminating zero; returns the size.
  void info(std::string_view text) { add(info_, text); }
  void error(std::string_view text) { add(error_, text); }

 private:
  struct Log {
    char *buffer = nullptr;
    std::size_t size = 0, used = 0;
    void **filled = nullptr;  // the client's variable, which receives it
  };
  static void add(Log &log, std::string_view text);

  Log info_, error_;
};

}  // namespace simcuda
