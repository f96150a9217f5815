// SPDX-License-Identifier: BSD-3-Clause
#include "managers/builtin.hpp"
#include "managers/wrapper.hpp"

namespace cai::managers {
namespace {

class Retrying : public Wrapper<Retrying> {
 public:
  static constexpr const char *name = "retrying";

  Retrying(const void *params, cai_device, Manager *upstream)
      : Wrapper(name, upstream), params_(require_params<cai_retry_params>(params, name)) {
    if (!params_.retry) throw Failure(CAI_ERR_VALUE, {}, "manager retrying: params->retry is NULL");
  }

  template <class Allocate>
  cai_block give(const Request &wanted, Allocate &&allocate) {
    for (uint64_t attempt = 0;; ++attempt) {
      try {
        return allocate();
      } catch (const Failure &failure) {
        if (failure.error().status != CAI_ERR_MEMORY) throw;
        if (!params_.retry(params_.context, wanted.size, attempt)) throw;
      }
    }
  }
  template <class Free>
  void take(const cai_block &, uint64_t, bool, Free &&free) {
    free();
  }

 private:
  const cai_retry_params params_;
};

}  // namespace

constinit const cai_manager_table retrying_table = TableOf<Retrying>::make();

}  // namespace cai::managers
