// SPDX-License-Identifier: BSD-3-Clause
#include "order/provider.hpp"

#include <atomic>
#include <cinttypes>
#include <cstring>
#include <memory>

#include "core/error.hpp"
#include "core/sizes.hpp"
#include "driver/types.hpp"

namespace cai::order {
namespace {

// A list that only grows, at its end, and so is read without a lock.
struct Registered {
  cai_stream_provider provider;
  std::atomic<Registered *> next{nullptr};
};
constinit std::atomic<Registered *> first{nullptr};

}  // namespace

uint64_t provided_stream(const cai_array &array) {
  Registered *item = first.load(std::memory_order_acquire);
  for (; item; item = item->next.load(std::memory_order_acquire)) {
    uint64_t stream = 0;
    if (!item->provider.current(item->provider.context, &array, &stream)) continue;
    if (stream == 0) {
      throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM},
                    "a stream provider returned stream 0, which is never a stream");
    }
    return stream;
  }
  return driver::stream_legacy;
}

}  // namespace cai::order

using namespace cai;

cai_status cai_provide_streams(const cai_stream_provider *provider, cai_error *error) {
  return guard(error, [&] {
    if (!provider) throw Failure(CAI_ERR_ARGUMENT, {}, "provider is NULL");
    if (provider->struct_size < first_size<cai_stream_provider>) {
      throw Failure(CAI_ERR_ARGUMENT, {}, "provider->struct_size is %u, less than %zu",
                    provider->struct_size, first_size<cai_stream_provider>);
    }
    // A later header may define this field, and this library would ignore it.
    if (provider->reserved != 0) {
      throw Failure(CAI_ERR_ARGUMENT, {}, "provider->reserved is %u, and not 0",
                    provider->reserved);
    }
    if (!provider->current) throw Failure(CAI_ERR_ARGUMENT, {}, "provider->current is NULL");
    auto item = std::make_unique<order::Registered>();
    item->provider = filled_in(*provider);
    std::atomic<order::Registered *> *end = &order::first;
    order::Registered *there = nullptr;
    while (!end->compare_exchange_weak(there, item.get(), std::memory_order_acq_rel)) {
      if (there) end = &there->next;
      there = nullptr;
    }
    static_cast<void>(item.release());  // it stays for the life of the process
  });
}
