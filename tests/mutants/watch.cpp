// SPDX-License-Identifier: BSD-3-Clause
#include "watch.hpp"

#include <dlfcn.h>
#include <execinfo.h>

#include <cstdio>
#include <cstdlib>

#include "intercept.hpp"
#include "must.h"

namespace mutants {

Outcome *outcome;

static int dropped = -1;

bool drops(const char *function) {
  MUST_HOLD(outcome->calls < most_calls);
  Call &call = outcome->call[outcome->calls];
  std::snprintf(call.function, sizeof call.function, "%s", function);
  void *stack[most_frames];
  const int depth = backtrace(stack, most_frames);
  Dl_info program{}, other{};
  dladdr(reinterpret_cast<void *>(&watch), &program);
  for (int i = 0; i < depth; ++i) {
    if (!dladdr(stack[i], &other) || other.dli_fbase != program.dli_fbase) continue;
    // A return address: the call is right before it.
    call.frames[call.depth++] = reinterpret_cast<std::uintptr_t>(stack[i]) -
                                reinterpret_cast<std::uintptr_t>(program.dli_fbase) - 1;
  }
  return outcome->calls++ == dropped;
}

void watch(int index) {
  dropped = index;
}

}  // namespace mutants
