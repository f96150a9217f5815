// SPDX-License-Identifier: BSD-3-Clause
// The driver as a client of libcai uses it, for tests on simcuda: found by name, with no CUDA
// header.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cai.h"
#include "must.h"
#include "uses.hpp"

namespace test {

using Handle = void *;
using Address = std::uint64_t;

// name, arguments
#define TEST_DRIVER_FUNCTIONS(F)                                       \
  F(cuInit, unsigned)                                                  \
  F(cuDevicePrimaryCtxRetain, Handle *, int)                           \
  F(cuDevicePrimaryCtxRelease_v2, int)                                 \
  F(cuDevicePrimaryCtxGetState, int, unsigned *, int *)                \
  F(cuDevicePrimaryCtxReset_v2, int)                                   \
  F(cuCtxCreate_v2, Handle *, unsigned, int)                           \
  F(cuCtxDestroy_v2, Handle)                                           \
  F(cuCtxGetCurrent, Handle *)                                         \
  F(cuCtxSetCurrent, Handle)                                           \
  F(cuCtxPushCurrent_v2, Handle)                                       \
  F(cuCtxPopCurrent_v2, Handle *)                                      \
  F(cuCtxSynchronize)                                                  \
  F(cuStreamCreate, Handle *, unsigned)                                \
  F(cuStreamDestroy_v2, Handle)                                        \
  F(cuStreamSynchronize, Handle)                                       \
  F(cuStreamBeginCapture_v2, Handle, int)                              \
  F(cuStreamEndCapture, Handle, Handle *)                              \
  F(cuStreamIsCapturing, Handle, int *)                                \
  F(cuLaunchHostFunc, Handle, void (*)(void *), void *)                \
  F(cuThreadExchangeStreamCaptureMode, int *)                          \
  F(cuEventCreate, Handle *, unsigned)                                 \
  F(cuEventDestroy_v2, Handle)                                         \
  F(cuEventRecord, Handle, Handle)                                     \
  F(cuGraphDestroy, Handle)                                            \
  F(cuGraphInstantiateWithFlags, Handle *, Handle, unsigned long long) \
  F(cuGraphLaunch, Handle, Handle)                                     \
  F(cuGraphExecDestroy, Handle)                                        \
  F(cuStreamWaitEvent, Handle, Handle, unsigned)                       \
  F(cuMemAlloc_v2, Address *, std::size_t)                             \
  F(cuMemFree_v2, Address)                                             \
  F(cuMemAllocManaged, Address *, std::size_t, unsigned)               \
  F(cuMemHostAlloc, void **, std::size_t, unsigned)                    \
  F(cuMemFreeHost, void *)                                             \
  F(cuMemHostRegister_v2, void *, std::size_t, unsigned)               \
  F(cuMemHostUnregister, void *)                                       \
  F(cuMemHostGetDevicePointer_v2, Address *, void *, unsigned)         \
  F(cuDeviceGetMemPool, Handle *, int)                                 \
  F(cuMemPoolGetAttribute, Handle, int, void *)                        \
  F(cuMemAllocAsync, Address *, std::size_t, Handle)                   \
  F(cuMemFreeAsync, Address, Handle)                                   \
  F(cuMemsetD8Async, Address, unsigned char, std::size_t, Handle)      \
  F(cuMemcpyDtoDAsync_v2, Address, Address, std::size_t, Handle)       \
  F(cuMemcpyDtoH_v2, void *, Address, std::size_t)

// A function of simcuda's, the driver that these tests run on.
template <class Function>
Function driver_function(const char *name) {
  static void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  void *const found = library ? dlsym(library, name) : nullptr;
  if (!found) std::fprintf(stderr, "%s\n", dlerror());
  MUST_HOLD(found);
  return reinterpret_cast<Function>(found);
}

struct Gpu {
#define TEST_MEMBER(name, ...) int (*name)(__VA_ARGS__) = nullptr;
  TEST_DRIVER_FUNCTIONS(TEST_MEMBER)
#undef TEST_MEMBER
  std::uint64_t (*simcuda_calls)(const char *) = nullptr;
  std::int32_t (*simcuda_fail)(const char *, std::uint64_t, std::int32_t) = nullptr;
  void (*simcuda_reset_counts)() = nullptr;
  std::uint64_t (*simcuda_races)() = nullptr;
  std::uint64_t (*simcuda_findings)() = nullptr;
  std::int32_t (*simcuda_busy)(void *, std::uint64_t) = nullptr;

  Gpu() {
    const auto find = [](auto &function, const char *name) {
      function = driver_function<std::remove_reference_t<decltype(function)>>(name);
    };
#define TEST_FIND(name, ...) find(name, #name);
    TEST_DRIVER_FUNCTIONS(TEST_FIND)
#undef TEST_FIND
    find(simcuda_calls, "simcuda_calls");
    find(simcuda_fail, "simcuda_fail");
    find(simcuda_reset_counts, "simcuda_reset_counts");
    find(simcuda_races, "simcuda_races");
    find(simcuda_findings, "simcuda_findings");
    find(simcuda_busy, "simcuda_busy");
    MUST(cuInit(0));
  }
};

inline Gpu &gpu() {
  static Gpu loaded;
  return loaded;
}

inline std::uint64_t value(Handle handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}
inline Handle handle(std::uint64_t value) {
  return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(value));
}

// Calls of a driver function since the counts were reset.
inline std::uint64_t calls(const char *name) {
  return gpu().simcuda_calls(name);
}

// Every call that libcai may make.
inline const std::vector<const char *> &driver_functions() {
  static const std::vector<const char *> names = {
#define CAI_DRIVER_FUNCTION(name, version, ...) #name,
#include "driver/functions.inc"
#undef CAI_DRIVER_FUNCTION
#define CAI_DRIVER_OPTIONAL(name, version, ...) #name,
#include "driver/device_functions.inc"
#include "driver/memory_functions.inc"
#undef CAI_DRIVER_OPTIONAL
  };
  return names;
}

inline std::uint64_t all_calls() {
  std::uint64_t sum = 0;
  for (const char *name : driver_functions()) sum += calls(name);
  return sum;
}

inline Handle current() {
  Handle context = nullptr;
  MUST(gpu().cuCtxGetCurrent(&context));
  return context;
}

// The calling thread's stack of contexts, the current one first.
inline std::vector<Handle> context_stack() {
  std::vector<Handle> stack;
  while (Handle context = current()) {
    stack.push_back(context);
    MUST(gpu().cuCtxPopCurrent_v2(&context));
  }
  for (auto context = stack.rbegin(); context != stack.rend(); ++context) {
    MUST(gpu().cuCtxPushCurrent_v2(*context));
  }
  return stack;
}

inline int capture_mode() {
  int mode = 0;
  MUST(gpu().cuThreadExchangeStreamCaptureMode(&mode));
  int mine = mode;
  MUST(gpu().cuThreadExchangeStreamCaptureMode(&mine));
  return mode;
}

inline bool primary_active(int device) {
  unsigned flags = 0;
  int active = 0;
  MUST(gpu().cuDevicePrimaryCtxGetState(device, &flags, &active));
  return active != 0;
}

// What libcai must leave as it was.
struct Surroundings {
  std::vector<Handle> contexts = context_stack();
  int mode = capture_mode();
  bool active[2] = {primary_active(0), primary_active(1)};

  bool operator==(const Surroundings &other) const {
    return contexts == other.contexts && mode == other.mode && active[0] == other.active[0] &&
           active[1] == other.active[1];
  }
};

// With a context current while it lives.
class With {
 public:
  explicit With(Handle context) { MUST(gpu().cuCtxPushCurrent_v2(context)); }
  With(const With &) = delete;
  With &operator=(const With &) = delete;
  ~With() {
    Handle popped = nullptr;
    MUST(gpu().cuCtxPopCurrent_v2(&popped));
  }
};

// The primary context of a device, active while it lives.
struct Primary {
  explicit Primary(int which) : device(which) {
    MUST(gpu().cuDevicePrimaryCtxRetain(&context, device));
  }
  Primary(const Primary &) = delete;
  Primary &operator=(const Primary &) = delete;
  ~Primary() { MUST(gpu().cuDevicePrimaryCtxRelease_v2(device)); }
  int device;
  Handle context = nullptr;
};

// Work on a stream that is pending until the gate opens, whatever the schedule.
class Gate {
 public:
  explicit Gate(std::uint64_t stream) {
    const auto pass = [](void *data) {
      const std::unique_ptr<Open> open(static_cast<Open *>(data));
      (*open)->wait(false);
    };
    MUST(gpu().cuLaunchHostFunc(handle(stream), pass, new Open(open_)));
  }
  Gate(const Gate &) = delete;
  Gate &operator=(const Gate &) = delete;
  ~Gate() { open(); }

  void open() {
    *open_ = true;
    open_->notify_all();
  }

 private:
  using Open = std::shared_ptr<std::atomic<bool>>;  // the work may go by later than the gate goes

  Open open_ = std::make_shared<std::atomic<bool>>(false);
};

constexpr std::int64_t count = 64;  // elements, bytes, of every array here
constexpr unsigned blocking = 0;
constexpr unsigned non_blocking = 1;

// A one-dimensional array of bytes.
struct Array {
  std::int64_t shape[1] = {count};
  std::int64_t strides[1] = {1};
  cai_array array{};

  Array(Address data, std::uint32_t kind, std::uint64_t stream = 0) {
    array.abi_major = CAI_ABI_MAJOR;
    array.abi_minor = CAI_ABI_MINOR;
    array.data = data;
    array.device_type = CAI_DEVICE_CUDA;
    array.device_id = -1;
    array.dtype = {'u', '|', 0, 0, 1, 0};
    array.ndim = 1;
    array.shape = shape;
    array.strides = strides;
    array.stream = stream;
    array.stream_kind = kind;
    array.version = kind == CAI_STREAM_UNSTATED ? 2 : 3;
  }
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;

  Array &empty() {
    shape[0] = 0;
    array.data = 0;
    return *this;
  }
  Array &mask(Array &other) {
    array.mask = &other.array;
    array.flags |= CAI_FLAG_MASKED;
    return *this;
  }
};

inline std::vector<const cai_array *> pointers(const std::vector<Array *> &arrays) {
  std::vector<const cai_array *> list;
  for (const Array *array : arrays) list.push_back(&array->array);
  return list;
}

inline cai_status begin_use(const std::vector<Array *> &arrays, std::uint64_t stream,
                            cai_error *error = nullptr, const cai_use_options *options = nullptr) {
  const auto list = pointers(arrays);
  return begin_arrays(list.data(), static_cast<std::int32_t>(list.size()), stream, options, error);
}

// Without an end: an array that came with an event, and has no owner, has none.
inline cai_status begin_only(const std::vector<Array *> &arrays, std::uint64_t stream,
                             cai_error *error = nullptr, std::uint32_t flags = 0) {
  const cai_use_options options{sizeof options, CAI_ORDER_BEGIN, CAI_ACCESS_DEFAULT, flags,
                                nullptr};
  return begin_use(arrays, stream, error, &options);
}

inline cai_status end_use(const std::vector<Array *> &arrays, std::uint64_t stream,
                          cai_error *error = nullptr, const cai_use_options *options = nullptr) {
  const auto list = pointers(arrays);
  return end_arrays(list.data(), static_cast<std::int32_t>(list.size()), stream, options, error);
}

inline cai_use_options order(std::uint32_t value) {
  return {sizeof(cai_use_options), value, CAI_ACCESS_DEFAULT, 0, nullptr};
}

// Two contexts that are nobody's primary one, of device 0 and 1, the first being current; and each
// test leaves its surroundings as they were, and no race that it did not count.
class OnGpu : public testing::Test {
 protected:
  OnGpu() {
    MUST(gpu().cuCtxCreate_v2(&context0, 0, 0));
    Handle popped = nullptr;
    MUST(gpu().cuCtxPopCurrent_v2(&popped));
    MUST(gpu().cuCtxCreate_v2(&context1, 0, 1));
    MUST(gpu().cuCtxPopCurrent_v2(&popped));
    MUST(gpu().cuCtxPushCurrent_v2(context0));
    before_ = Surroundings();
    expected_races_ = gpu().simcuda_races();
    expected_findings_ = gpu().simcuda_findings();
    gpu().simcuda_reset_counts();
  }

  ~OnGpu() override {
    EXPECT_EQ(gpu().simcuda_races(), expected_races_) << "races that nobody counted";
    if (!may_use_stale_streams_) {
      EXPECT_EQ(gpu().simcuda_findings(), expected_findings_) << "uses of destroyed streams";
    }
    EXPECT_TRUE(Surroundings() == before_) << "the context stack or the capture mode has changed";
    MUST(gpu().cuCtxDestroy_v2(context1));
    MUST(gpu().cuCtxDestroy_v2(context0));
  }

  Handle stream(unsigned flags = non_blocking, Handle context = nullptr) {
    const With with(context ? context : context0);
    Handle made = nullptr;
    MUST(gpu().cuStreamCreate(&made, flags));
    return made;
  }

  Address memory(Handle context = nullptr) {
    const With with(context ? context : context0);
    Address made = 0;
    MUST(gpu().cuMemAlloc_v2(&made, static_cast<std::size_t>(count)));
    MUST(gpu().cuMemsetD8Async(made, 0, static_cast<std::size_t>(count), nullptr));
    MUST(gpu().cuCtxSynchronize());
    return made;
  }

  static void fill(Address data, unsigned char byte, std::uint64_t on) {
    MUST(gpu().cuMemsetD8Async(data, byte, static_cast<std::size_t>(count), handle(on)));
  }

  static void copy(Address to, Address from, std::uint64_t on) {
    MUST(gpu().cuMemcpyDtoDAsync_v2(to, from, static_cast<std::size_t>(count), handle(on)));
  }

  // The host waits for all work of the two contexts.
  void finish() const {
    for (const Handle context : {context0, context1}) {
      const With with(context);
      MUST(gpu().cuCtxSynchronize());
    }
  }

  // How many races there are in what `body` queues. simcuda finds them by what orders the work,
  // whenever it runs.
  template <class Body>
  std::uint64_t races(Body &&body) {
    finish();
    const std::uint64_t before = gpu().simcuda_races();
    std::forward<Body>(body)();
    finish();
    const std::uint64_t found = gpu().simcuda_races() - before;
    expected_races_ += found;
    return found;
  }

  // The contents of memory once a stream has finished.
  static int read(Address data, std::uint64_t after) {
    MUST(gpu().cuStreamSynchronize(handle(after)));
    return read(data);
  }

  static int read(Address data) {
    std::vector<unsigned char> bytes(static_cast<std::size_t>(count));
    MUST(gpu().cuMemcpyDtoH_v2(bytes.data(), data, bytes.size()));
    for (const unsigned char byte : bytes) {
      if (byte != bytes.front()) return -1;
    }
    return bytes.front();
  }

  // For deliberate errors of a test: a real driver may crash.
  void use_stale_streams() { may_use_stale_streams_ = true; }

  Handle context0 = nullptr;
  Handle context1 = nullptr;

 private:
  bool may_use_stale_streams_ = false;
  std::uint64_t expected_findings_ = 0;
  Surroundings before_{};
  std::uint64_t expected_races_ = 0;
};

}  // namespace test
