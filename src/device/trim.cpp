// SPDX-License-Identifier: BSD-3-Clause
// Releases the cached memory of a GPU's current pool.
#include "device/device.hpp"
#include "device/primary.hpp"

namespace cai::device {
namespace {

template <class Body>
void with_pool(cai_device device, Body &&body) {
  require_device(device);
  if (is_cpu(device)) return;
  driver::Session session;
  const Primary mine = primary(session, device.id);
  int has_pools = 0;
  driver::call(session.cu.cuDeviceGetAttribute, &has_pools, driver::device_pools, mine.device);
  if (!has_pools) {
    throw Failure(CAI_ERR_UNSUPPORTED, {}, "%s has no pools of memory", Text(device).text);
  }
  driver::CUmemoryPool pool = nullptr;
  driver::call(session.cu.cuDeviceGetMemPool, &pool, mine.device);
  session.use_relaxed_mode();
  std::forward<Body>(body)(session.cu, pool);
  session.finish();
}

}  // namespace
}  // namespace cai::device

using namespace cai;

cai_status cai_device_set_cache(cai_device which, uint64_t bytes, cai_error *error) {
  return guard(error, [&] {
    device::with_pool(which, [&](const driver::Driver &cu, driver::CUmemoryPool pool) {
      std::uint64_t threshold = bytes;
      driver::call(cu.cuMemPoolSetAttribute, pool, driver::pool_release_threshold, &threshold);
    });
  });
}

cai_status cai_device_trim_cache(cai_device which, uint64_t keep, cai_error *error) {
  return guard(error, [&] {
    device::with_pool(which, [&](const driver::Driver &cu, driver::CUmemoryPool pool) {
      driver::call(cu.cuMemPoolTrimTo, pool, static_cast<std::size_t>(keep));
    });
  });
}
