// SPDX-License-Identifier: BSD-3-Clause
// The caller, as code above libcai names it; and the time since creation.
#pragma once

#include <chrono>
#include <cstring>

#include "cai/memory.h"
#include "core/text.hpp"

namespace cai::managers {

struct Caller {
  Caller(cai_caller_fn ask, void *context) noexcept {
    if (!ask) return;
    char said[sizeof text] = "";
    ask(context, said, sizeof said - 1);
    copy_printable(text, sizeof text, said, strnlen(said, sizeof said - 1));
  }
  char text[256] = "";
};

class Clock {
 public:
  double seconds() const noexcept {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace cai::managers
