// SPDX-License-Identifier: BSD-3-Clause
#include "process_file.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>

namespace simcuda {

std::string process_file(const char *variable, const char *suffix) {
  const char *folder = std::getenv(variable);
  if (!folder || !*folder) return {};
  static const auto started = std::chrono::steady_clock::now().time_since_epoch().count();
  return std::string(folder) + '/' + std::to_string(getpid()) + '-' + std::to_string(started) +
         suffix;
}

}  // namespace simcuda
