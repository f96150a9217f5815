// SPDX-License-Identifier: BSD-3-Clause
// Another process, which shares memory: this program, started again.
#pragma once

#include "cai/memory.h"

namespace test {

class Sharer {
 public:
  struct Shared {
    cai_ipc_handle handle;
    int fd;
  };

  // The one that all scenarios use; it ends with this process.
  static const Sharer &one();

  // 4096 bytes of GPU 0.
  const Shared &shared(bool by_pool) const { return by_pool ? of_pool_ : plain_; }

 private:
  Sharer();

  Shared plain_{}, of_pool_{};
};

}  // namespace test
