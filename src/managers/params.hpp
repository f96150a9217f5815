// SPDX-License-Identifier: BSD-3-Clause
// Validation of managers' params, and the failures of their allocations.
#pragma once

#include "core/error.hpp"
#include "core/sizes.hpp"
#include "managers/manager.hpp"

namespace cai {

template <>
inline constexpr std::size_t first_size<cai_pool_params> = 40;
template <>
inline constexpr std::size_t first_size<cai_limit_params> = 16;
template <>
inline constexpr std::size_t first_size<cai_log_params> = 48;
template <>
inline constexpr std::size_t first_size<cai_track_params> = 32;
template <>
inline constexpr std::size_t first_size<cai_retry_params> = 32;

}  // namespace cai

namespace cai::managers {

void require_no_params(const void *params, const char *manager);
void require_no_upstream(const Manager *upstream, const char *manager);
// Throws CAI_ERR_VALUE if there is no upstream manager.
Manager &require_upstream(Manager *upstream, const char *manager);

// Throws if params->struct_size is smaller than `least`, the struct's first size, or is not a valid
// size, or if a field is set that this libcai does not know.
void require_known_params(const void *params, std::size_t least, std::size_t known,
                          const char *manager);

// Throws if params->reserved is not 0.
void require_0(uint32_t reserved, const char *manager);

// The params that a caller gave; zeros for NULL.
template <class Params>
Params read_params(const void *params, const char *manager) {
  if (!params) return {};
  require_known_params(params, first_size<Params>, sizeof(Params), manager);
  const Params read = filled_in(*static_cast<const Params *>(params));
  // "pool" looks itself, since its message names its flags, too.
  if constexpr (!std::is_same_v<Params, cai_pool_params>) require_0(read.reserved, manager);
  return read;
}
template <class Params>
Params require_params(const void *params, const char *manager) {
  if (!params) throw Failure(CAI_ERR_VALUE, {}, "manager %s: params is NULL", manager);
  return read_params<Params>(params, manager);
}

// The function that ends the context of the functions in params. The params must have been
// validated.
Companion companion_of(const cai_manager_table &table, const void *params);

// Throws the failure of a driver's allocation: CAI_ERR_MEMORY if there is not enough memory.
[[noreturn]] void fail_allocation(const char *function, driver::CUresult result);

}  // namespace cai::managers
