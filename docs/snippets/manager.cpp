// SPDX-License-Identifier: BSD-3-Clause
// A library that exports a manager, as docs/howto/cpp.rst shows it.
#include <cai/manager.hpp>

#include <cstdint>
#include <utility>

namespace {

class telling {
 public:
  static constexpr const char *name = "telling";

  // libcai passes no upstream manager if it makes the manager itself.
  telling(cai::device of, cai::manager upstream)
      : upstream_(upstream ? std::move(upstream)
                           : cai::manager(of.is_cpu() ? "host" : "default", of)) {}

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

// [export
// Visible, also in a library that is compiled with -fvisibility=hidden.
extern "C" __attribute__((visibility("default"))) const cai_manager_table cai_manager_table_export =
    cai::manager_table_for<telling>();
// export]
