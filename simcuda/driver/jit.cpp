// SPDX-License-Identifier: BSD-3-Clause
#include "jit.h"

#include <algorithm>

namespace simcuda {
namespace {

constexpr int last_option = 35;

}  // namespace

JitOptions::JitOptions(unsigned count, const int *options, void **values) {
  if (count && (!options || !values)) throw Refused{CUDA_ERROR_INVALID_VALUE};
  for (unsigned i = 0; i < count; ++i) {
    switch (options[i]) {
      case CU_JIT_INFO_LOG_BUFFER:
        info_.buffer = static_cast<char *>(values[i]);
        break;
      case CU_JIT_ERROR_LOG_BUFFER:
        error_.buffer = static_cast<char *>(values[i]);
        break;
      case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
      case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: {
        Log &log = options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES ? info_ : error_;
        log.size = static_cast<unsigned>(address_of(values[i]));
        log.filled = &values[i];
        break;
      }
      case CU_JIT_WALL_TIME:
        values[i] = nullptr;  // a float of 0 milliseconds
        break;
      default:
        if (options[i] < 0 || options[i] > last_option) throw Refused{CUDA_ERROR_INVALID_VALUE};
    }
  }
  add(info_, {});
  add(error_, {});
}

void JitOptions::add(Log &log, std::string_view text) {
  if (!log.filled) return;
  if (log.buffer && log.size) {
    const std::size_t count = std::min(text.size(), log.size - 1 - log.used);
    std::copy_n(text.data(), count, log.buffer + log.used);
    log.used += count;
    log.buffer[log.used] = 0;
  }
  *log.filled = reinterpret_cast<void *>(log.used);
}

}  // namespace simcuda
