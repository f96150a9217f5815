// SPDX-License-Identifier: BSD-3-Clause
// Managers that are classes, for tests of cai::manager and of cai::memory.
#pragma once

#include <cstdlib>

#include "each.hpp"

namespace test {

// The requests that a test's managers received.
struct Asked {
  std::atomic<int> made{0}, alive{0}, out{0}, initialized{0}, resets{0};
  std::atomic<int> hosts{0}, trims{0};
  std::atomic<bool> failing{false};

  static Asked &now() {
    static Asked asked;
    return asked;
  }
  void forget() {
    for (std::atomic<int> *one : {&made, &initialized, &resets, &trims}) *one = 0;
  }
};

// Memory of the manager that it is put around, or of the heap; what it can do is all optional.
class Full {
 public:
  static constexpr const char *name = "test-full";

  Full(cai::device device, cai::manager upstream, const void *params)
      : device_(device), upstream_(std::move(upstream)) {
    if (params) throw std::invalid_argument("it takes no params");
    ++asked().made;
    ++asked().alive;
  }
  Full(const Full &) = delete;
  Full &operator=(const Full &) = delete;
  ~Full() { --asked().alive; }

  void initialize() { ++asked().initialized; }
  void reset() { ++asked().resets; }

  cai_block memalloc(std::uint64_t size, std::uint64_t align, std::uint32_t kind,
                     std::uint64_t stream) {
    fail_if_asked();
    const cai_block block =
        upstream_ ? upstream_.alloc(size, align, kind, stream) : heap(size, align);
    ++asked().out;
    return block;
  }
  void memfree(const cai_block &block, std::uint64_t stream) {
    --asked().out;
    upstream_ ? upstream_.free(block, CAI_KIND_DEFAULT, stream) : to_heap(block);
  }

  cai_block memhostalloc(std::uint64_t size, std::uint64_t align, std::uint32_t, std::uint32_t) {
    fail_if_asked();
    ++asked().hosts;
    return heap(size, align);
  }
  void memhostfree(const cai_block &block) {
    --asked().hosts;
    to_heap(block);
  }

  std::pair<std::uint64_t, std::uint64_t> get_memory_info() { return {123, 456}; }
  void trim(std::uint64_t) {
    fail_if_asked();
    ++asked().trims;
  }

 private:
  static Asked &asked() { return Asked::now(); }
  static void fail_if_asked() {
    if (asked().failing) throw std::runtime_error("the manager is broken");
  }

  static cai_block heap(std::uint64_t size, std::uint64_t align) {
    const auto rounded = static_cast<std::size_t>((size + align - 1) / align * align);
    void *const made = std::aligned_alloc(static_cast<std::size_t>(align), rounded);
    if (!made) throw std::bad_alloc();
    const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(made));
    return {address, address, size, 0};
  }
  static void to_heap(const cai_block &block) {
    std::free(reinterpret_cast<void *>(static_cast<std::uintptr_t>(block.data)));
  }

  cai::device device_;
  cai::manager upstream_;
};

// The names are taken for the life of the process.
inline void register_full() {
  [[maybe_unused]] static const bool once = [] {
    cai::register_manager<Full>();
    return true;
  }();
}

// On the CPU of the heap, on a GPU around the default one.
inline cai::manager full(const cai::device &device) {
  register_full();
  return cai::manager(Full::name, device,
                      device.is_cpu() ? cai::manager() : cai::manager("default", device));
}

}  // namespace test
