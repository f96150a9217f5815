// SPDX-License-Identifier: BSD-3-Clause
#include "memory/usage.hpp"

#include <array>
#include <atomic>

#include "core/error.hpp"
#include "core/sizes.hpp"
#include "device/device.hpp"
#include "device/pending.hpp"
#include "device/slots.hpp"

namespace cai::memory {
namespace {

struct Sum {
  std::atomic<uint64_t> bytes{0}, count{0};

  void add(uint64_t more, int sign) noexcept {
    bytes.fetch_add(sign > 0 ? more : -more, std::memory_order_relaxed);
    count.fetch_add(sign > 0 ? 1 : uint64_t(-1), std::memory_order_relaxed);
  }
};

constinit std::array<Sum, device::most_devices> of_gpus{};
constinit Sum of_cpu{};

}  // namespace

void count_memory(cai_device device, uint32_t kind, uint64_t bytes, int count) noexcept {
  if (!device::is_cpu(device)) of_gpus[static_cast<std::size_t>(device.id)].add(bytes, count);
  // Memory that the host can use is counted for the host, too.
  if (cai_is_dereferenceable(device, kind)) of_cpu.add(bytes, count);
}

}  // namespace cai::memory

using namespace cai;

cai_status cai_memory_usage(cai_device device, cai_usage *out, cai_error *error) {
  return guard(error, [&] {
    const device::PendingCounts pending = device::pending_of(device);
    const memory::Sum &sum = device::is_cpu(device)
                                 ? memory::of_cpu
                                 : memory::of_gpus[static_cast<std::size_t>(device.id)];
    device::require_size(device::require(out, "out")->struct_size);
    const cai_usage usage{sizeof usage,  pending.deferred, sum.bytes, sum.count,
                          pending.bytes, pending.count,    0};
    give_out(usage, out);
  });
}
