// SPDX-License-Identifier: BSD-3-Clause
// A library that exports a manager, a class, as CAI_MEMORY_MANAGER and cai_manager_create() take
// it.
#include <cai/manager.hpp>

namespace {

struct Upstream {
  static constexpr const char *name = "test-library";

  Upstream(cai::device, cai::manager upstream) : upstream_(std::move(upstream)) {}

  cai_block memalloc(std::uint64_t size, std::uint64_t align, std::uint32_t kind,
                     std::uint64_t stream) {
    return upstream_.alloc(size, align, kind, stream);
  }
  void memfree(const cai_block &block, std::uint64_t stream) {
    upstream_.free(block, CAI_KIND_DEFAULT, stream);
  }

 private:
  cai::manager upstream_;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const cai_manager_table cai_manager_table_export =
    cai::manager_table_for<Upstream>();
