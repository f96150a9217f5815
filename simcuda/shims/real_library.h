// SPDX-License-Identifier: BSD-3-Clause
// NVIDIA's own library, which a shim replaces. It is the user's: in a wheel, a Conda environment or
// a CUDA toolkit. It is looked for at the first use.
#pragma once

#include <atomic>

namespace simcuda {

class RealLibrary {
 public:
  // As "libnvrtc", "nvidia-cuda-nvrtc", and "cuda_nvrtc", the folder in the wheels of CUDA 12.
  constexpr RealLibrary(const char *name, const char *package, const char *folder)
      : name_(name), package_(package), folder_(folder) {}

  // Returns null, and prints a line on standard error, if there is no such library or function.
  void *find(const char *function);

 private:
  // No lock: the loader counts references, so threads that come here at once, or after a fork, find
  // the same library.
  void *load();
  void *load_from(const char *folder);

  const char *name_, *package_, *folder_;
  std::atomic<void *> handle_ = nullptr;
  std::atomic<bool> told_ = false;
};

// Calls the library's function of that name and type, or returns `otherwise` if there is none.
template <class Result, class... Parameters, class... Arguments>
Result call(RealLibrary &library, const char *name, Result (*)(Parameters...), Result otherwise,
            Arguments... arguments) {
  auto function = reinterpret_cast<Result (*)(Parameters...)>(library.find(name));
  return function ? function(arguments...) : otherwise;
}

}  // namespace simcuda
