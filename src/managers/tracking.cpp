// SPDX-License-Identifier: BSD-3-Clause
#include "managers/tracking.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/global_lock.hpp"
#include "core/report.hpp"
#include "managers/builtin.hpp"
#include "managers/caller.hpp"
#include "managers/wrapper.hpp"

namespace cai::managers {
namespace {

class Tracking : public Wrapper<Tracking> {
 public:
  static constexpr const char *name = "tracking";
  Counts counts;

  struct Allocation {
    uint64_t number;  // in the order of allocations
    uint64_t address;
    uint64_t size;
    uint32_t kind;
    uint64_t stream;
    double seconds;
    std::string caller;
    bool is_ending = false;  // a call is freeing it
  };

  Tracking(const void *params, cai_device, Manager *upstream)
      : Wrapper(name, upstream), params_(read_params<cai_track_params>(params, name)) {}

  ~Tracking() {
    // Memory that a reset has freed is no leak.
    if (out_.empty() || !upstream_.is_alive()) return;
    uint64_t bytes = 0;
    const Allocation *oldest = &out_.begin()->second;
    for (const auto &[address, each] : out_) {
      bytes += each.size;
      if (each.number < oldest->number) oldest = &each;
    }
    cai_error error;
    fail(&error, CAI_ERR_STATE, {},
         "manager tracking ends with %zu allocations of %llu bytes left, the oldest at 0x%llx%s%s",
         out_.size(), static_cast<unsigned long long>(bytes),
         static_cast<unsigned long long>(oldest->address), oldest->caller.empty() ? "" : " by ",
         oldest->caller.c_str());
    report(error);
  }

  template <class Allocate>
  cai_block give(const Request &wanted, Allocate &&allocate) {
    const Caller caller(params_.caller, params_.context);
    const cai_block block = counted(counts, allocate);
    try {
      const uint64_t address = address_of_block(block, wanted.host);
      Allocation made{0,          address, block.size, wanted.kind, wanted.stream, clock_.seconds(),
                      caller.text};
      const std::lock_guard lock(mutex_);
      made.number = next_++;
      out_.insert_or_assign(address, std::move(made));
    } catch (...) {
      counts.failed();
      wanted.host ? upstream_.memhostfree(block) : upstream_.memfree(block, wanted.stream);
      counts.took_back(block.size);
      throw;
    }
    return block;
  }

  template <class Free>
  void take(const cai_block &block, uint64_t, bool host, Free &&free) {
    const Ending ending = begin_end(address_of_block(block, host));
    try {
      free();
    } catch (...) {  // it is still allocated
      with(ending, [](auto found) { found->second.is_ending = false; });
      throw;
    }
    with(ending, [&](auto found) { out_.erase(found); });
    counts.took_back(ending.size);
  }

  // The oldest first.
  std::vector<Allocation> outstanding() const {
    std::vector<Allocation> all;
    {
      const std::lock_guard lock(mutex_);
      all.reserve(out_.size());
      for (const auto &[address, allocation] : out_) {
        if (!allocation.is_ending) all.push_back(allocation);
      }
    }
    std::sort(all.begin(), all.end(),
              [](const Allocation &a, const Allocation &b) { return a.number < b.number; });
    return all;
  }

 private:
  struct Ending {
    uint64_t address, number, size;
  };

  Ending begin_end(uint64_t address) {
    const std::lock_guard lock(mutex_);
    const auto found = out_.find(address);
    if (found == out_.end() || found->second.is_ending) {
      throw Failure(CAI_ERR_STATE, {}, "0x%llx was freed already, or never allocated",
                    static_cast<unsigned long long>(address));
    }
    Allocation &allocation = found->second;
    allocation.is_ending = true;
    return {address, allocation.number, allocation.size};
  }
  // Unless another thread has received the address since: it may as soon as it is free.
  template <class Body>
  void with(const Ending &ending, Body &&body) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = out_.find(ending.address);
    if (found != out_.end() && found->second.number == ending.number) body(found);
  }

  const cai_track_params params_;
  const Clock clock_;
  mutable GlobalLock mutex_;                      // guards the next two
  std::unordered_map<uint64_t, Allocation> out_;  // by address
  uint64_t next_ = 0;
};

}  // namespace

const Counts &counts_of_tracking(const void *self) noexcept {
  return static_cast<const Tracking *>(self)->counts;
}

constinit const cai_manager_table tracking_table = TableOf<Tracking>::make();

}  // namespace cai::managers

using namespace cai;

cai_status cai_manager_outstanding(const cai_manager *manager,
                                   void (*visit)(void *context, const cai_allocation *allocation),
                                   void *context, cai_error *error) {
  return guard(error, [&] {
    if (!manager || !visit) throw Failure(CAI_ERR_ARGUMENT, {}, "manager or visit is NULL");
    for (const cai_manager *one = manager; one; one = one->upstream()) {
      if (!one->is_of(managers::tracking_table)) continue;
      for (const auto &each : static_cast<managers::Tracking *>(one->self())->outstanding()) {
        const cai_allocation shown{
            sizeof(cai_allocation), each.kind,          each.address, each.size, each.stream,
            each.seconds,           each.caller.c_str()};
        visit(context, &shown);
      }
      return;
    }
    throw Failure(CAI_ERR_UNSUPPORTED, {}, "manager %s tracks nothing, nor does any upstream",
                  manager->name());
  });
}
