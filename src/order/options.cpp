// SPDX-License-Identifier: BSD-3-Clause
#include "order/options.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "core/error.hpp"
#include "core/sizes.hpp"

namespace cai::order {
namespace {

// Which of two values a variable has; the first one if it is unset or empty.
bool second_of(const char *name, const char *first, const char *second) {
  const char *const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): once, and early
  if (!value || !*value || std::strcmp(value, first) == 0) return false;
  if (std::strcmp(value, second) == 0) return true;
  throw Failure(CAI_ERR_ARGUMENT, {}, "the environment has %s=%s, which is neither %s nor %s", name,
                value, first, second);
}

}  // namespace

Environment Environment::read() {
  const Environment found{!second_of("CAI_SYNC", "1", "0"),
                          second_of("CAI_NONE", "none", "legacy")};
  trace = second_of("CAI_TRACE", "0", "1") ? Trace::on : Trace::off;
  quiet = found.sync && trace == Trace::off;
  return found;
}

Options read_given_options(const cai_use_options &options) {
  constexpr uint32_t least = offsetof(cai_use_options, access);
  const uint32_t size = options.struct_size;
  if (size < least || size > most_size) {
    throw Failure(CAI_ERR_ARGUMENT, {}, "options->struct_size is %u, and not %u to %u", size, least,
                  most_size);
  }
  const cai_use_options known = filled_in(options);
  constexpr uint32_t all_flags = CAI_USE_EXTERNAL | CAI_USE_FORK;
  if (known.flags & ~all_flags) {
    throw Failure(CAI_ERR_ARGUMENT, {},
                  "options->flags is 0x%x, of which this libcai does not know 0x%x", known.flags,
                  known.flags & ~all_flags);
  }
  if (asks_for_more(&options, sizeof known, size)) {
    throw Failure(CAI_ERR_ARGUMENT, {},
                  "options has %u bytes, of which this libcai knows %zu: one beyond is not 0", size,
                  sizeof known);
  }
  if (known.order > CAI_ORDER_HOST) {
    throw Failure(CAI_ERR_ARGUMENT, {}, "options->order is %u, and not a CAI_ORDER_*", known.order);
  }
  require_access(known.access, "options->access");
  const bool has_accesses = size >= sizeof known;  // the whole pointer
  const bool has_flags = size >= offsetof(cai_use_options, accesses);
  return {known.order, known.access, known.flags | (has_flags ? takes_flags : 0),
          has_accesses ? known.accesses : nullptr};
}

void require_access(uint32_t access, const char *name) {
  if (access > CAI_ACCESS_WRITE) {
    throw Failure(CAI_ERR_ARGUMENT, {}, "%s is %u, and not a CAI_ACCESS_*", name, access);
  }
}

void fail_write(int32_t index) {
  throw Failure(
      CAI_ERR_VALUE, {CAI_ENTRY_DATA, index},
      "data: expected memory that may be written, for CAI_ACCESS_WRITE, got an array that is "
      "marked read-only: copy it, or ask for CAI_ACCESS_READ");
}

}  // namespace cai::order
