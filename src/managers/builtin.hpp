// SPDX-License-Identifier: BSD-3-Clause
// Managers written as classes: their tables, and the list of those that are built in.
//
//   struct Example {
//     static constexpr const char *name = "example";
//
//     Example(const void *params, cai_device device, Manager *upstream);
//
//     cai_block memalloc(uint64_t size, uint64_t align, uint32_t kind, uint64_t stream);
//
//     void memfree(const cai_block &block, uint64_t stream);
//   };
//
// and any other functions of the table that it has. Each may throw a Failure.
#pragma once

#include "core/error.hpp"
#include "managers/manager.hpp"

namespace cai::managers {

template <class Class>
struct TableOf {
  static cai_status create(const void *params, cai_device device, Manager *upstream, void **self,
                           cai_error *error) {
    return guard(error, [&] { *self = new Class(params, device, upstream); });
  }
  static void destroy(void *self) { delete static_cast<Class *>(self); }
  // initialize and reset need nothing: after a reset, each block either is alive and will still be
  // freed, or is dead with the manager.
  static cai_status nothing(void *, cai_error *) { return CAI_OK; }
  static cai_status memalloc(void *self, uint64_t size, uint64_t align, uint32_t kind,
                             uint64_t stream, cai_block *out, cai_error *error) {
    return guard(error, [&] { *out = of(self).memalloc(size, align, kind, stream); });
  }
  static cai_status memfree(void *self, const cai_block *block, uint64_t stream, cai_error *error) {
    return guard(error, [&] { of(self).memfree(*block, stream); });
  }
  static cai_status memhostalloc(void *self, uint64_t size, uint64_t align, uint32_t kind,
                                 uint32_t flags, cai_block *out, cai_error *error) {
    return guard(error, [&] { *out = of(self).memhostalloc(size, align, kind, flags); });
  }
  static cai_status memhostfree(void *self, const cai_block *block, cai_error *error) {
    return guard(error, [&] { of(self).memhostfree(*block); });
  }
  static cai_status mempin(void *self, void *host, uint64_t size, uint32_t kind, uint32_t flags,
                           cai_block *out, cai_error *error) {
    return guard(error, [&] { *out = of(self).mempin(host, size, kind, flags); });
  }
  static cai_status memunpin(void *self, const cai_block *block, cai_error *error) {
    return guard(error, [&] { of(self).memunpin(*block); });
  }
  static cai_status trim(void *self, uint64_t keep, cai_error *error) {
    return guard(error, [&] { of(self).trim(keep); });
  }

  static constexpr cai_manager_table make() noexcept {
    cai_manager_table table{};
    table.struct_size = sizeof table;
    table.version = CAI_MANAGER_VERSION;
    table.name = Class::name;
    table.create = create;
    table.destroy = destroy;
    table.initialize = nothing;
    table.reset = nothing;
    table.memalloc = memalloc;
    table.memfree = memfree;
    if constexpr (requires { &Class::memhostalloc; }) {
      table.memhostalloc = memhostalloc;
      table.memhostfree = memhostfree;
    }
    if constexpr (requires { &Class::mempin; }) {
      table.mempin = mempin;
      table.memunpin = memunpin;
    }
    if constexpr (requires { &Class::trim; }) table.trim = trim;
    return table;
  }

 private:
  static Class &of(void *self) { return *static_cast<Class *>(self); }
};

extern const cai_manager_table default_table, async_table, pool_table, managed_table, host_table,
    statistics_table, limiting_table, logging_table, tracking_table, retrying_table;

// Destroys the pool of a manager of pool_table. A reset does so before it destroys the context.
void end_pool(void *self) noexcept;

}  // namespace cai::managers
