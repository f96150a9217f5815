// SPDX-License-Identifier: BSD-3-Clause
// The managers "statistics" and "limiting".
#include "managers/counting.hpp"

#include "core/sizes.hpp"
#include "managers/builtin.hpp"
#include "managers/tracking.hpp"
#include "managers/wrapper.hpp"

namespace cai::managers {
namespace {

struct Statistics : Wrapper<Statistics> {
  static constexpr const char *name = "statistics";
  Counts counts;

  Statistics(const void *params, cai_device, Manager *upstream) : Wrapper(name, upstream) {
    require_no_params(params, name);
  }
  template <class Allocate>
  cai_block give(const Request &, Allocate &&allocate) {
    return counted(counts, allocate);
  }
  template <class Free>
  void take(const cai_block &block, uint64_t, bool, Free &&free) {
    free();
    counts.took_back(block.size);
  }
};

class Limiting : public Wrapper<Limiting> {
 public:
  static constexpr const char *name = "limiting";
  Counts counts;

  Limiting(const void *params, cai_device, Manager *upstream)
      : Wrapper(name, upstream), limit_(require_params<cai_limit_params>(params, name).limit) {}

  template <class Allocate>
  cai_block give(const Request &wanted, Allocate &&allocate) {
    return counted(counts, [&] { return within_limit(wanted, allocate); });
  }
  template <class Free>
  void take(const cai_block &block, uint64_t, bool, Free &&free) {
    free();
    counts.took_back(block.size);
    out_.fetch_sub(block.size, std::memory_order_relaxed);
  }

 private:
  // Bytes are subtracted from the limit first, so that threads together never exceed it.
  void reserve(uint64_t bytes) {
    uint64_t out = out_.load(std::memory_order_relaxed);
    do {
      if (bytes > limit_ - out) {
        throw Failure(CAI_ERR_MEMORY, {}, "%llu of %llu bytes are allocated, which is the limit",
                      static_cast<unsigned long long>(out),
                      static_cast<unsigned long long>(limit_));
      }
    } while (!out_.compare_exchange_weak(out, out + bytes, std::memory_order_relaxed));
  }

  template <class Allocate>
  cai_block within_limit(const Request &wanted, Allocate &&allocate) {
    reserve(wanted.size);
    cai_block block{};
    try {
      block = allocate();
    } catch (...) {
      out_.fetch_sub(wanted.size, std::memory_order_relaxed);
      throw;
    }
    if (block.size == wanted.size) return block;
    try {
      reserve(block.size - wanted.size);  // it allocated more than was asked for
    } catch (...) {
      wanted.host ? upstream_.memhostfree(block) : upstream_.memfree(block, wanted.stream);
      out_.fetch_sub(wanted.size, std::memory_order_relaxed);
      throw;
    }
    return block;
  }

  const uint64_t limit_;
  std::atomic<uint64_t> out_{0};
};

const Counts *counts_of(const Manager &manager) noexcept {
  if (manager.is_of(statistics_table)) return &static_cast<Statistics *>(manager.self())->counts;
  if (manager.is_of(limiting_table)) return &static_cast<Limiting *>(manager.self())->counts;
  if (manager.is_of(tracking_table)) return &counts_of_tracking(manager.self());
  return nullptr;
}

}  // namespace

constinit const cai_manager_table statistics_table = TableOf<Statistics>::make();
constinit const cai_manager_table limiting_table = TableOf<Limiting>::make();

}  // namespace cai::managers

using namespace cai;

cai_status cai_manager_statistics(const cai_manager *manager, cai_statistics *out,
                                  cai_error *error) {
  return guard(error, [&] {
    if (!manager) throw Failure(CAI_ERR_ARGUMENT, {}, "manager is NULL");
    device::require_size(device::require(out, "out")->struct_size);
    for (const cai_manager *one = manager; one; one = one->upstream()) {
      if (const managers::Counts *const counts = managers::counts_of(*one)) {
        return give_out(counts->read(), out);
      }
    }
    throw Failure(CAI_ERR_UNSUPPORTED, {}, "manager %s counts nothing, nor does any upstream",
                  manager->name());
  });
}
