// SPDX-License-Identifier: BSD-3-Clause
// NVIDIA's own library, which a shim of the same name stands before. It is the user's: of a wheel,
// a Conda environment or a CUDA toolkit, looked for when something of it is first needed.
#pragma once

#include <atomic>

namespace simcuda {

class RealLibrary {
 public:
  // As "libnvrtc", "nvidia-cuda-nvrtc", and "cuda_nvrtc" for the folder of the wheels of CUDA 12.
  constexpr RealLibrary(const char *name, const char *package, const char *folder)
      : name_(name), package_(package), folder_(folder) {}

  // Null, and a line on standard error, if there is no such library or it lacks the function.
  void *find(const char *function);

 private:
  // The loader keeps count: threads that come here at once, or after a fork, find the same library.
  // So there is no lock.
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
