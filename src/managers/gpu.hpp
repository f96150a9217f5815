// SPDX-License-Identifier: BSD-3-Clause
// The managers of a GPU's memory: "default", "async", "managed" and, in pool.cpp, "pool". They
// differ in where they take the memory of a kind from.
#pragma once

#include "managers/manager.hpp"

namespace cai::managers {

// Throws CAI_ERR_CAPTURE if the stream is being captured. The context of 1 and 2 must be current.
void require_uncaptured(const driver::Driver &cu, uint64_t stream, const char *why);

// Why memory in the order of a stream is neither allocated nor freed in a capture.
inline constexpr const char *why_no_alloc = "what is allocated in one belongs to the graph";
inline constexpr const char *why_no_free = "only the graph's own memory can be freed in it";

class Gpu {
 public:
  // Where memory comes from; in the low bits of a block's cookie, below the driver's address.
  enum Source : uint64_t { plain = 1, ordered = 2, managed = 3 };

  Gpu(const char *name, cai_device device, const Manager *upstream);

  void memfree(const cai_block &block, uint64_t stream) const;
  // The device's current pool.
  void trim(uint64_t keep) const;

 protected:
  cai_block give_plain(uint64_t size, uint64_t align) const;
  // Of the stream alone, or, of all kinds but MANAGED, everybody's.
  cai_block give_managed(uint64_t size, uint64_t align, uint32_t kind, uint64_t stream) const;
  // From `pool`, or from the device's current one.
  cai_block give_ordered(uint64_t size, uint64_t align, uint64_t stream,
                         driver::CUmemoryPool pool = nullptr) const;

  int attribute(driver::CUdevice_attribute which) const;
  void require(bool there, const char *what) const;
  void require_pools() const { require(has_pools_, "stream-ordered memory"); }
  void require_managed() const { require(has_managed_, "managed memory"); }
  // Whether the device was not reset since.
  bool is_alive() const noexcept;
  cai_device device() const noexcept { return device_; }
  driver::CUdevice handle() const noexcept { return handle_; }

 private:
  const cai_device device_;
  driver::CUdevice handle_ = 0;
  std::uint64_t epoch_ = 0;
  bool has_pools_ = false, has_managed_ = false;
};

inline bool is_managed(uint32_t kind) noexcept {
  return kind == CAI_KIND_MANAGED || kind == CAI_KIND_MANAGED_GLOBAL;
}

}  // namespace cai::managers
