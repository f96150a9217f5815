// SPDX-License-Identifier: BSD-3-Clause
#include "managers/params.hpp"

#include "managers/builtin.hpp"

namespace cai::managers {

void require_no_params(const void *params, const char *manager) {
  if (params) throw Failure(CAI_ERR_VALUE, {}, "manager %s takes no params", manager);
}

void require_no_upstream(const Manager *upstream, const char *manager) {
  if (upstream) {
    throw Failure(CAI_ERR_VALUE, {}, "manager %s wraps no other manager, and upstream is %s",
                  manager, upstream->name());
  }
}

Manager &require_upstream(Manager *upstream, const char *manager) {
  if (upstream) return *upstream;
  throw Failure(CAI_ERR_VALUE, {}, "manager %s wraps another manager, and upstream is NULL",
                manager);
}

void require_known_params(const void *params, std::size_t least, std::size_t known,
                          const char *manager) {
  uint32_t size = 0;
  std::memcpy(&size, params, sizeof size);
  if (size < least || size > most_size) {
    throw Failure(CAI_ERR_VALUE, {}, "manager %s: params->struct_size is %u, and not %zu to %u",
                  manager, size, least, most_size);
  }
  if (asks_for_more(params, known, size)) {
    throw Failure(CAI_ERR_VALUE, {},
                  "manager %s: params has %u bytes, of which this libcai knows %zu: one beyond is "
                  "not 0",
                  manager, size, known);
  }
}

void require_0(uint32_t reserved, const char *manager) {
  if (reserved == 0) return;
  throw Failure(CAI_ERR_VALUE, {}, "manager %s: params->reserved is %u, and not 0", manager,
                reserved);
}

Companion companion_of(const cai_manager_table &table, const void *params) {
  const auto in = [](const auto &read) { return Companion{read.destroy, read.context}; };
  if (&table == &logging_table) return in(read_params<cai_log_params>(params, table.name));
  if (&table == &tracking_table) return in(read_params<cai_track_params>(params, table.name));
  if (&table == &retrying_table) return in(read_params<cai_retry_params>(params, table.name));
  return {};
}

void fail_allocation(const char *function, driver::CUresult result) {
  cai_error error = driver::failure_of(function, result);
  if (result == driver::error_out_of_memory) error.status = CAI_ERR_MEMORY;
  throw Failure(error);
}

}  // namespace cai::managers
