// SPDX-License-Identifier: BSD-3-Clause
// What there is of libcai's blocks and of the driver's objects, so that a leak of either shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "allocations.h"
#include "cai/memory.h"
#include "gpu.hpp"
#include "statuses.hpp"

namespace test {

inline constexpr const char *object_types[] = {"CUcontext",   "CUstream",    "CUevent",
                                               "CUdeviceptr", "CUarray",     "CUmemoryPool",
                                               "CUgraph",     "CUgraphExec", "CUuserObject"};

struct Kept {
  std::vector<std::uint64_t> counts;

  static Kept now() {
    static const auto objects = driver_function<std::uint64_t (*)(const char *)>("simcuda_objects");
    Kept kept;
    kept.counts.push_back(static_cast<std::uint64_t>(allocations_kept()));
    for (const char *type : object_types) kept.counts.push_back(objects(type));
    return kept;
  }
  // What there is more of than before.
  std::set<std::string> since(const Kept &before) const {
    std::set<std::string> grown;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] > before.counts[i]) grown.insert(i ? object_types[i - 1] : "libcai's blocks");
    }
    return grown;
  }
};

inline std::ostream &operator<<(std::ostream &out, const Kept &kept) {
  for (std::size_t i = 0; i < kept.counts.size(); ++i) {
    out << (i ? object_types[i - 1] : "blocks") << ' ' << kept.counts[i] << "  ";
  }
  return out;
}

// Completes deferred ends.
inline void settle() {
  cai_error error{};
  EXPECT_EQ(cai_drain(1, nullptr, &error), CAI_OK) << error.message;
#ifdef TEST_MEMORY
  for (const cai_device device : {cpu, gpu0, gpu1}) {
    EXPECT_EQ(cai_pending_flush(device, &error), CAI_OK) << error.message;
  }
#endif
}

}  // namespace test
