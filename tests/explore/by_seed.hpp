// SPDX-License-Identifier: BSD-3-Clause
// Runs random programs of several threads, each by its seed, until one is wrong. What they do
// depends on time, too.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>

#include "cai/device.h"
#include "must.h"
#include "wide/driver.hpp"

namespace by_seed {

inline std::mutex mutex;
inline std::string wrong;                      // first
inline std::atomic<bool> driver_fails{false};  // at times, as the program has it

// Called on any thread.
inline void blame(const std::string &what) {
  const std::lock_guard lock(mutex);
  if (wrong.empty()) wrong = what;
}

// The main function of an explorer. `play(seed)` runs a program, and returns its text. What goes to
// cai_on_failure() is wrong, too.
template <class Play>
int run(int argc, char **argv, const char *name, Play &&play) {
  if (argc != 4 || std::string(argv[1]) != "random") {
    std::fprintf(stderr, "usage: %s random COUNT SEED\n", name);
    return 2;
  }
  const auto hear = [](void *, const cai_error *error) {
    if (!driver_fails) blame(std::string("it is reported that ") + error->message);
  };
  MUST(cai_on_failure(hear, nullptr, nullptr));
  MUST(wide::cu().cuInit(0));
  MUST(cai_device_set_current({CAI_DEVICE_CUDA, 0}, nullptr));
  const std::uint64_t count = std::stoull(argv[2]), first = std::stoull(argv[3]) * 1000000000;
  std::printf("1..1\n");
  for (std::uint64_t seed = first; seed < first + count && wrong.empty(); ++seed) {
    alarm(100);  // a hang is a failure
    wide::cu().simcuda_reseed(seed);
    const std::string program = play(seed);
    if (!wrong.empty()) {
      std::printf("# seed %llu%s: %s\n", static_cast<unsigned long long>(seed), program.c_str(),
                  wrong.c_str());
      std::printf("# hunted %llu programs at random\n",
                  static_cast<unsigned long long>(1 + seed - first));
    }
  }
  std::printf("%s 1 - %s programs\n", wrong.empty() ? "ok" : "not ok", argv[2]);
  return !wrong.empty();
}

}  // namespace by_seed
