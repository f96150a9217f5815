// SPDX-License-Identifier: BSD-3-Clause
// The managers of GPU memory: "default", "async", "managed" and, in pool.cpp, "pool". They differ
// in the source of each kind of memory.
#pragma once

#include "managers/manager.hpp"

namespace cai::managers {

// Throws CAI_ERR_CAPTURE if the stream is being captured. The context of 1 and 2 must be current.
void require_uncaptured(const driver::Driver &cu, uint64_t stream, const char *why);

// Why stream-ordered memory is neither allocated nor freed in a capture.
inline constexpr const char *why_no_alloc = "what is allocated in one belongs to the graph";
inline constexpr const char *why_no_free = "only the graph's own memory can be freed in it";

class Gpu {
 public:
  // The source of memory, in the low bits of a block's cookie, below the driver's address.
  enum Source : uint64_t { plain = 1, ordered = 2, managed = 3 };

  Gpu(const char *name, cai_device device, const Manager *upstream);

  void memfree(const cai_block &block, uint64_t stream) const;
  // Trims the device's current pool.
  void trim(uint64_t keep) const;

 protected:
  cai_block give_plain(uint64_t size, uint64_t align) const;
  // CAI_KIND_MANAGED memory is attached to the stream alone; other kinds are for all streams.
  cai_block give_managed(uint64_t size, uint64_t align, uint32_t kind, uint64_t stream) const;
  // From `pool`, or from the device's current pool.
  cai_block give_ordered(uint64_t size, uint64_t align, uint64_t stream,
                         driver::CUmemoryPool pool = nullptr) const;

  int attribute(driver::CUdevice_attribute which) const;
  void require(bool there, const char *what) const;
  void require_pools() const { require(has_pools_, "stream-ordered memory"); }
  void require_managed() const { require(has_managed_, "managed memory"); }
  // Whether the device has not been reset since.
  bool is_alive() const noexcept;
  cai_device device() const noexcept { return device_; }
  driver::CUdevice handle() const noexcept { return handle_; }

 private:
  const cai_device device_;
  driver::CUdevice handle_ = 0;
  std::uint64_t epoch_ = 0;
  bool has_pools_ = false, has_managed_ = false;
};

// Releases the cached memory of a pool, down to `keep` bytes.
void trim_pool(const driver::Driver &cu, driver::CUmemoryPool pool, uint64_t keep);

inline bool is_managed(uint32_t kind) noexcept {
  return kind == CAI_KIND_MANAGED || kind == CAI_KIND_MANAGED_GLOBAL;
}

}  // namespace cai::managers
