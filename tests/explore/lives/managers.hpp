// SPDX-License-Identifier: BSD-3-Clause
// Managers that judge how they are called: each block is freed once, by who gave it, in its own
// epoch. One keeps what is freed for later, one takes its memory from libcai itself, one from the
// driver, in the order of streams; one fails, and one frees nothing.
#pragma once

#include <cai/memory.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace lives {

enum class Way { plain, caching, reentrant, failing, driver, losing };

// The first error; empty if there is none.
std::string &wrong();
void blame(std::string what);

// Called where a party's function begins: what is to fail in libcai must not fail here, as long as
// what this returns is held.
using Pause = std::unique_lock<std::recursive_mutex>;
inline Pause (*on_entry)() = [] { return Pause(); };

inline constexpr unsigned char poison = 0xEE;

class Judge {
 public:
  Judge(cai_device device, Way way, std::uint64_t epoch, const char *upstream = nullptr);
  Judge(const Judge &) = delete;
  Judge &operator=(const Judge &) = delete;

  // A manager of this judge, with one reference.
  cai_manager *make();

  std::uint64_t out() const { return bytes_; }
  bool has_out(const cai_statistics &counts);
  bool has_out(const std::vector<cai_allocation> &allocations);
  bool has_open() const { return !opened_.empty(); }
  bool fails() const { return way_ == Way::failing; }
  bool loses() const { return way_ == Way::losing; }
  bool is_alive() const { return device_.type == CAI_DEVICE_CPU || epoch_ == now[device_.id]; }
  // Once all of its memory has come back: nobody has touched that since.
  void look_at_what_came_back();
  int made = 0, destroyed = 0;
  static std::uint64_t now[2];  // the epochs of the GPUs' contexts

 private:
  struct Kept {
    cai_block block;
    std::uint64_t stream;
  };

  static Judge &of(void *self) { return *static_cast<Judge *>(self); }
  static const cai_manager_table &table();
  cai_status give(std::uint64_t size, std::uint64_t align, std::uint32_t kind, std::uint64_t stream,
                  cai_block *out, cai_error *error);
  cai_status get(std::uint64_t size, std::uint64_t align, std::uint32_t kind, std::uint64_t stream,
                 cai_block *out, cai_error *error);
  cai_status take(const cai_block *block, std::uint64_t stream, cai_error *error);
  cai_status pass_on(const cai_block &block, std::uint64_t stream, cai_error *error);
  // Other processes' memory.
  cai_status open(const cai_ipc_handle &handle, cai_block *out, cai_error *error);
  cai_status close(const cai_block &block, cai_error *error);
  cai_status give_up(cai_error *error);
  void forget_blocks();

  const cai_device device_;
  const Way way_;
  const std::uint64_t epoch_;
  const char *const upstream_name_;
  cai_manager *upstream_ = nullptr;
  std::map<std::uint64_t, cai_block> blocks_;      // that are out, by address
  std::map<std::uint64_t, std::uint64_t> opened_;  // where the driver has it, by number
  std::uint64_t opens_ = 0;
  std::vector<Kept> kept_;
  std::vector<cai_block> poisoned_;
  std::atomic<std::uint64_t> bytes_{0};
  std::mutex mutex_;  // frees come from streams of the CPU's, too
};

}  // namespace lives
