// SPDX-License-Identifier: BSD-3-Clause
// A manager that opens other processes' memory by a way of its own. It is given as the params of
// its own table.
#pragma once

#include <cai/memory.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace test {

struct Opener {
  std::atomic<int> opens{0}, closes{0};
  std::atomic<bool> fails{false};
  std::atomic<int> refusals{0};  // of the next closes, for a capture

  // That it has been registered by.
  static const char *name() {
    static const cai_manager_table made = table();
    static const cai_status registered = cai_manager_register(made.name, &made, nullptr);
    EXPECT_EQ(registered, CAI_OK);
    return made.name;
  }

 private:
  static Opener &of(void *self) { return *static_cast<Opener *>(self); }

  static cai_manager_table table() {
    cai_manager_table made{};
    made.struct_size = sizeof made;
    made.version = CAI_MANAGER_VERSION;
    made.name = "opener";
    made.create = [](const void *params, cai_device, cai_manager *, void **self, cai_error *) {
      *self = const_cast<void *>(params);
      return cai_status{CAI_OK};
    };
    made.destroy = [](void *) {};
    made.initialize = made.reset = [](void *, cai_error *) { return cai_status{CAI_OK}; };
    made.memalloc = [](void *, std::uint64_t, std::uint64_t, std::uint32_t, std::uint64_t,
                       cai_block *, cai_error *) { return cai_status{CAI_ERR_UNSUPPORTED}; };
    made.memfree = [](void *, const cai_block *, std::uint64_t, cai_error *) {
      return cai_status{CAI_OK};
    };
    made.open_ipc_handle = [](void *self, const cai_ipc_handle *handle, std::int32_t, std::uint64_t,
                              cai_block *out, cai_error *) {
      if (of(self).fails) return cai_status{CAI_ERR_CUDA};
      const auto number = static_cast<std::uint64_t>(++of(self).opens);
      std::this_thread::yield();
      *out = {number << 32, 0, handle->size, number};
      return cai_status{CAI_OK};
    };
    made.close_ipc_handle = [](void *self, const cai_block *block, std::uint64_t, cai_error *) {
      EXPECT_EQ(block->data, block->cookie << 32);
      if (of(self).refusals > 0) {
        --of(self).refusals;
        return cai_status{CAI_ERR_CAPTURE};
      }
      ++of(self).closes;
      return cai_status{CAI_OK};
    };
    return made;
  }
};

}  // namespace test
