// SPDX-License-Identifier: BSD-3-Clause
#include "driver/driver.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <memory>

namespace cai::driver {
namespace {

// cuGetProcAddress as of CUDA 12.0.
using GetProcAddress = CUresult (*)(const char *, void **, int, std::uint64_t, int *);
using GetErrorText = CUresult (*)(CUresult, const char **);

struct Loaded {
  Driver functions;
  GetErrorText error_name = nullptr;
  GetErrorText error_text = nullptr;
  cai_error error{};  // status is CAI_OK if loading succeeded
};

// Neither a lock nor an initialiser: the first threads may load at once, and one result is used.
constinit std::atomic<const Loaded *> loaded{nullptr};
constinit std::atomic<bool> begun{false};  // a thread has begun to load

class Loader {
 public:
  explicit Loader(Loaded &out) : out_(out) {}

  void load() {
    library_ = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library_) {
      throw Failure(CAI_ERR_DRIVER, {},
                    "no CUDA driver: %s: install NVIDIA's, of CUDA 12.0 or newer, or use simcuda",
                    dlerror());  // NOLINT(concurrency-mt-unsafe): glibc keeps one per thread
    }
    find_ = reinterpret_cast<GetProcAddress>(dlsym(library_, "cuGetProcAddress_v2"));
    if (!find_) {
      throw Failure(CAI_ERR_DRIVER, {},
                    "expected a CUDA driver of 12.0 or newer, got one that is too old: update it");
    }
    out_.error_name = reinterpret_cast<GetErrorText>(find("cuGetErrorName", 6000));
    out_.error_text = reinterpret_cast<GetErrorText>(find("cuGetErrorString", 6000));
    initialise();
#define CAI_DRIVER_FUNCTION(name, version, ...) require(out_.functions.name, version);
#include "driver/functions.inc"
#undef CAI_DRIVER_FUNCTION
#define CAI_DRIVER_OPTIONAL(name, version, ...) take(out_.functions.name, version);
#include "driver/device_functions.inc"
#include "driver/memory_functions.inc"
#undef CAI_DRIVER_OPTIONAL
  }

 private:
  // Null if the driver has no such function.
  void *find(const char *name, int version) {
    void *address = nullptr;
    int found = 0;
    const CUresult result = find_(name, &address, version, get_proc_address_legacy_stream, &found);
    if (result == error_stub_library) fail_initialisation(result);
    return result == success ? address : nullptr;
  }

  template <class... Arguments>
  void require(Function<Arguments...> &function, int version) {
    void *address = find(function.name, version);
    if (!address) missing(function.name, version);
    function.address = reinterpret_cast<CUresult (*)(Arguments...)>(address);
  }

  template <class... Arguments>
  void take(OptionalFunction<Arguments...> &function, int version) {
    void *const address = find(function.name, version);
    function.address = reinterpret_cast<CUresult (*)(Arguments...)>(address);
  }

  [[noreturn]] void missing(const char *name, int version) {
    throw Failure(CAI_ERR_DRIVER, {0, -1, error_not_found},
                  "the CUDA driver%s has no %s of CUDA %d.%d", version_text(), name, version / 1000,
                  version % 1000 / 10);
  }

  void initialise() {
    const auto init = reinterpret_cast<CUresult (*)(unsigned)>(find("cuInit", 2000));
    if (!init) missing("cuInit", 2000);
    if (const CUresult result = init(0)) fail_initialisation(result);
  }

  [[noreturn]] void fail_initialisation(CUresult result) {
    const Where where{0, -1, result};
    if (result == error_no_device) {
      throw Failure(
          CAI_ERR_DRIVER, where,
          "[cuInit] CUDA_ERROR_NO_DEVICE (100): no CUDA device: see what nvidia-smi lists, "
          "and CUDA_VISIBLE_DEVICES");
    }
    if (result == error_stub_library) {
      throw Failure(
          CAI_ERR_DRIVER, where,
          "[cuInit] CUDA_ERROR_STUB_LIBRARY (34): libcuda.so.1 is a stub, not a driver: take "
          "the toolkit's folder stubs out of LD_LIBRARY_PATH");
    }
    throw Failure(CAI_ERR_DRIVER, where, "[cuInit] %s (%d): the CUDA driver%s does not start",
                  name(out_.error_name, result), static_cast<int>(result), version_text());
  }

  // " 13.0", or nothing if the driver does not report a version.
  const char *version_text() {
    int version = 0;
    const auto get = reinterpret_cast<CUresult (*)(int *)>(find("cuDriverGetVersion", 2020));
    if (!get || get(&version) != success || version <= 0) return "";
    std::snprintf(version_, sizeof version_, " %d.%d", version / 1000, version % 1000 / 10);
    return version_;
  }

 public:
  static const char *text(GetErrorText function, CUresult result) noexcept {
    const char *found = nullptr;
    return function && function(result, &found) == success ? found : nullptr;
  }

  // At the end of the process the driver names nothing any more, not even what its calls return.
  static const char *name(GetErrorText function, CUresult result) noexcept {
    if (const char *const found = text(function, result)) return found;
    return result == error_deinitialized ? "CUDA_ERROR_DEINITIALIZED" : "unknown error";
  }

 private:
  Loaded &out_;
  void *library_ = nullptr;  // stays open: its functions may be on any thread's stack
  GetProcAddress find_ = nullptr;
  char version_[32] = "";
};

// The driver works only in the process that loaded it, not in a forked child.
constinit Loaded forked{};

void in_child() noexcept {
  const Loaded *const found = loaded.load(std::memory_order_relaxed);
  const bool is_none = found && found->error.status != CAI_OK;
  if (!begun.load(std::memory_order_relaxed) || is_none) return;
  fail(&forked.error, CAI_ERR_STATE, {},
       "this process was forked from one that had used CUDA: start it anew (spawn)");
  loaded.store(&forked, std::memory_order_release);
}

// As libcai is loaded: a thread may fork while another one loads the driver.
[[maybe_unused]] const int added = pthread_atfork(nullptr, nullptr, in_child);

const Loaded &load_once() {
  if (const Loaded *found = loaded.load(std::memory_order_acquire)) return *found;
  auto mine = std::make_unique<Loaded>();
  begun.store(true, std::memory_order_relaxed);
  try {
    Loader(*mine).load();
  } catch (const Failure &failure) {
    mine->error = failure.error();
  }
  const Loaded *theirs = nullptr;
  if (loaded.compare_exchange_strong(theirs, mine.get(), std::memory_order_acq_rel)) {
    return *mine.release();
  }
  return *theirs;
}

}  // namespace

const Driver &get() {
  const Loaded &found = load_once();
  if (found.error.status != CAI_OK) throw Failure(found.error);
  return found.functions;
}

bool is_loaded() noexcept {
  return loaded.load(std::memory_order_acquire) != nullptr;
}

cai_error failure_of(const char *function, CUresult result) noexcept {
  const Loaded &found = *loaded.load(std::memory_order_acquire);  // the function that failed
  const char *text = Loader::text(found.error_text, result);
  cai_error error;
  fail(&error, CAI_ERR_CUDA, {0, -1, result}, "[%s] %s (%d)%s%s", function,
       Loader::name(found.error_name, result), static_cast<int>(result), text ? ": " : "",
       text ? text : "");
  return error;
}

bool says_gone(CUresult result) noexcept {
  switch (result) {
    case error_deinitialized:
    case error_invalid_context:
    case error_context_is_destroyed:
    case error_invalid_handle:
    // This and later errors are the device's.
    case error_ecc_uncorrectable:
    case error_nvlink_uncorrectable:
    case error_contained:
    case error_illegal_address:
    case error_launch_timeout:
    case error_assert:
    case error_hardware_stack:
    case error_illegal_instruction:
    case error_misaligned_address:
    case error_invalid_address_space:
    case error_invalid_pc:
    case error_launch_failed:
    case error_tensor_memory_leak:
      return true;
    default:
      return false;
  }
}

void fail_call(const char *function, CUresult result) {
  throw Failure(failure_of(function, result));
}

}  // namespace cai::driver
