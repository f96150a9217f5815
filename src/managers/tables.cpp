// SPDX-License-Identifier: BSD-3-Clause
#include "managers/tables.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <string>

#include "core/error.hpp"
#include "core/global_lock.hpp"
#include "core/immortal.hpp"
#include "core/sizes.hpp"
#include "managers/builtin.hpp"

namespace cai::managers {
namespace {

constexpr const cai_manager_table *built_in[] = {
    &default_table,    &async_table,    &pool_table,    &managed_table,  &host_table,
    &statistics_table, &limiting_table, &logging_table, &tracking_table, &retrying_table};

struct Registered {
  GlobalLock mutex;
  std::map<std::string, const cai_manager_table *> tables;

  static Registered &get() { return immortal<Registered>(); }
};

// Throws unless the table has all functions that its version requires.
void require_table(const cai_manager_table &table, const char *name) {
  if (table.version != CAI_MANAGER_VERSION) {
    throw Failure(CAI_ERR_VERSION, {},
                  "manager %.80s has interface version %u, and libcai needs %d", name,
                  table.version, CAI_MANAGER_VERSION);
  }
  constexpr std::size_t least = offsetof(cai_manager_table, memhostalloc);
  if (table.struct_size < least) {
    throw Failure(CAI_ERR_VALUE, {}, "manager %.80s: struct_size is %u, less than %zu", name,
                  table.struct_size, least);
  }
  const cai_manager_table known = filled_in(table);
  const auto require = [&](bool there, const char *what) {
    if (!there) throw Failure(CAI_ERR_VALUE, {}, "manager %.80s has no %s", name, what);
  };
  require(known.name, "name");
  require(known.create, "create");
  require(known.destroy, "destroy");
  require(known.initialize, "initialize");
  require(known.reset, "reset");
  require(known.memalloc, "memalloc");
  require(known.memfree, "memfree");
  const auto pair = [&](bool first, bool second, const char *both) {
    if (first != second) {
      throw Failure(CAI_ERR_VALUE, {}, "manager %.80s has only one of %s", name, both);
    }
  };
  pair(known.memhostalloc, known.memhostfree, "memhostalloc and memhostfree");
  pair(known.mempin, known.memunpin, "mempin and memunpin");
  pair(known.open_ipc_handle, known.close_ipc_handle, "open_ipc_handle and close_ipc_handle");
}

// "/path/lib.so" or "/path/lib.so:symbol"
const cai_manager_table &load(const char *name) {
  std::string path = name, symbol = "cai_manager_table_export";
  if (const std::size_t colon = path.find(':', path.rfind('/')); colon != std::string::npos) {
    symbol = path.substr(colon + 1);
    path.resize(colon);
    if (symbol.empty()) {
      throw Failure(CAI_ERR_VALUE, {}, "manager %.100s names no symbol after the colon", name);
    }
  }
  // Never closed: its functions may be on any thread's stack.
  void *const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc keeps one per thread
    throw Failure(CAI_ERR_VALUE, {}, "manager %.80s cannot be loaded: %s", name, dlerror());
  }
  const void *const table = dlsym(library, symbol.c_str());
  if (!table) {
    throw Failure(CAI_ERR_VALUE, {}, "manager %.100s: the library exports no %.80s", name,
                  symbol.c_str());
  }
  return *static_cast<const cai_manager_table *>(table);
}

const cai_manager_table *known(const char *name) {
  for (const cai_manager_table *table : built_in) {
    if (std::strcmp(table->name, name) == 0) return table;
  }
  if (std::strcmp(name, "unified") == 0) return &managed_table;  // other libraries' name
  Registered &registered = Registered::get();
  const std::lock_guard lock(registered.mutex);
  const auto found = registered.tables.find(name);
  return found == registered.tables.end() ? nullptr : found->second;
}

bool is_name(const char *text) noexcept {
  for (const char *c = text; *c; ++c) {
    const bool alphanumeric =
        (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
    if (!alphanumeric && *c != '_' && *c != '-' && *c != '.') return false;
  }
  return *text != '\0';
}

}  // namespace

const cai_manager_table &find_table(const char *name) {
  if (std::strchr(name, '/')) {
    const cai_manager_table &table = load(name);
    require_table(table, name);
    return table;
  }
  if (const cai_manager_table *table = known(name)) return *table;
  throw Failure(CAI_ERR_VALUE, {}, "there is no manager \"%.100s\"", name);
}

bool is_built_in(const cai_manager_table &table) noexcept {
  return std::any_of(std::begin(built_in), std::end(built_in),
                     [&](const cai_manager_table *each) { return each->create == table.create; });
}

}  // namespace cai::managers

using namespace cai;

cai_status cai_manager_register(const char *name, const cai_manager_table *table,
                                cai_error *error) {
  return guard(error, [&] {
    if (!name || !table) throw Failure(CAI_ERR_ARGUMENT, {}, "name or table is NULL");
    if (!managers::is_name(name)) {
      throw Failure(CAI_ERR_VALUE, {},
                    "\"%.100s\" is not a valid manager name: letters, digits, '_', '-' and '.' are",
                    name);
    }
    managers::require_table(*table, name);
    if (managers::known(name)) {
      throw Failure(CAI_ERR_VALUE, {}, "a manager \"%.100s\" is already registered", name);
    }
    auto &registered = managers::Registered::get();
    const std::lock_guard lock(registered.mutex);
    if (!registered.tables.try_emplace(name, table).second) {
      throw Failure(CAI_ERR_VALUE, {}, "a manager \"%.100s\" is already registered", name);
    }
  });
}
