// SPDX-License-Identifier: BSD-3-Clause
// What managers are made with, judged; and how their allocations fail.
#pragma once

#include <algorithm>
#include <cstring>

#include "core/error.hpp"
#include "memory/manager.hpp"

namespace cai::memory {

void refuse_params(const void *params, const char *manager);
void refuse_upstream(const Manager *upstream, const char *manager);
// Throws CAI_ERR_VALUE unless there is one.
Manager &need_upstream(Manager *upstream, const char *manager);

// Throws for a params->struct_size that is no size of such a struct, and where something is set
// that this libcai does not know.
void check_params(const void *params, std::size_t known, const char *manager);

// The params that a caller gave; zeros for NULL.
template <class Params>
Params read_params(const void *params, const char *manager) {
  Params read{};
  if (!params) return read;
  check_params(params, sizeof read, manager);
  std::memcpy(&read, params, sizeof read);
  return read;
}
template <class Params>
Params need_params(const void *params, const char *manager) {
  if (!params) throw Failure(CAI_ERR_VALUE, {}, "manager %s: params is NULL", manager);
  return read_params<Params>(params, manager);
}

// Gives a caller as much of a struct as it has room for, by the struct_size that it has set.
template <class Struct>
void give_out(Struct known, Struct *out, const char *name) {
  device::judge_size(device::given(out, name)->struct_size);
  const uint32_t size = out->struct_size;
  known.struct_size = size;
  std::memcpy(out, &known, std::min<std::size_t>(size, sizeof known));
}

// What ends the context of the functions that params give a manager of such a table. The params
// have been judged.
Companion companion_of(const cai_manager_table &table, const void *params);

// Throws what an allocation of the driver's says: CAI_ERR_MEMORY if there is not so much.
[[noreturn]] void fail_allocation(const char *function, driver::CUresult result);

}  // namespace cai::memory
