// SPDX-License-Identifier: BSD-3-Clause
// The base of managers that wrap another one. They handle device and host allocations alike.
//
//   struct Example : Wrapper<Example> {
//     template <class Allocate> cai_block give(const Request &wanted, Allocate &&allocate);
//     template <class Free> void take(const cai_block &block, uint64_t stream, bool host, Free
//     &&free);
//   };
#pragma once

#include "managers/params.hpp"

namespace cai::managers {

struct Request {
  uint64_t size;
  uint32_t kind;
  uint64_t stream;  // 0 for host memory
  bool host;        // allocated by memhostalloc
};

// The address that every block has: host memory need not be the device's.
inline uint64_t address_of_block(const cai_block &block, bool host) noexcept {
  return host ? block.host : block.data;
}

template <class Derived>
class Wrapper {
 public:
  Wrapper(const Wrapper &) = delete;
  Wrapper &operator=(const Wrapper &) = delete;

  cai_block memalloc(uint64_t size, uint64_t align, uint32_t kind, uint64_t stream) {
    return derived().give(Request{size, kind, stream, false},
                          [&] { return upstream_.memalloc(size, align, kind, stream); });
  }
  void memfree(const cai_block &block, uint64_t stream) {
    derived().take(block, stream, false, [&] { upstream_.memfree(block, stream); });
  }
  cai_block memhostalloc(uint64_t size, uint64_t align, uint32_t kind, uint32_t flags) {
    return derived().give(Request{size, kind, 0, true},
                          [&] { return upstream_.memhostalloc(size, align, kind, flags); });
  }
  void memhostfree(const cai_block &block) {
    derived().take(block, 0, true, [&] { upstream_.memhostfree(block); });
  }

 protected:
  ~Wrapper() = default;
  Manager &upstream_;

 private:
  friend Derived;
  Wrapper(const char *name, Manager *upstream) : upstream_(require_upstream(upstream, name)) {}

  Derived &derived() noexcept { return static_cast<Derived &>(*this); }
};

}  // namespace cai::managers
