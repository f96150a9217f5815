// SPDX-License-Identifier: BSD-3-Clause
// Memory, arrays and streams for tests: ended at the end of the scope.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "cai/device.h"
#include "cai/memory.h"
#include "gpu.hpp"
#include "statuses.hpp"

namespace test {

// Ends a handle by its own function.
template <class T, void (*end)(T *)>
class Handed {
 public:
  Handed() = default;
  explicit Handed(T *handle) : handle_(handle) {}
  Handed(Handed &&other) noexcept : handle_(other.let_go()) {}
  Handed &operator=(Handed other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Handed() {
    if (handle_) end(handle_);
  }
  T *get() const { return handle_; }
  operator T *() const { return handle_; }  // NOLINT(google-explicit-constructor)
  T *operator->() const { return handle_; }
  T *let_go() { return std::exchange(handle_, nullptr); }
  void reset() { *this = Handed(); }

 private:
  T *handle_ = nullptr;
};

inline void end_array(cai_array *array) {
  cai_array_release(array);
}

using OwnStream = Handed<cai_stream, cai_stream_release>;
using OwnMemory = Handed<cai_memory, cai_memory_release>;
using OwnArray = Handed<cai_array, end_array>;

inline cai_request request(std::uint32_t kind, std::uint64_t size, cai_stream *stream = nullptr) {
  cai_request made{};
  made.struct_size = sizeof made;
  made.kind = kind;
  made.size = size;
  made.stream = stream;
  return made;
}

inline OwnMemory allocate(cai_device device, std::uint32_t kind, std::uint64_t size,
                          cai_stream *stream = nullptr) {
  const cai_request wanted = request(kind, size, stream);
  cai_memory *memory = nullptr;
  cai_error error{};
  EXPECT_EQ(cai_memory_alloc(device, &wanted, &memory, &error), CAI_OK) << error.message;
  return OwnMemory(memory);
}

inline OwnStream make_stream(cai_device device, std::uint32_t mode = CAI_MODE_ASYNC) {
  cai_stream *stream = nullptr;
  cai_error error{};
  EXPECT_EQ(cai_stream_create(device, mode, 0, &stream, &error), CAI_OK) << error.message;
  return OwnStream(stream);
}

inline cai_memory_info describe(const cai_memory *memory) {
  cai_memory_info info{};
  info.struct_size = sizeof info;
  cai_error error{};
  EXPECT_EQ(cai_memory_describe(memory, &info, &error), CAI_OK) << error.message;
  return info;
}

inline constexpr cai_dtype bytes_type{'u', '|', 0, 0, 1, 0};

inline OwnArray array_of(cai_memory *memory, std::vector<std::int64_t> shape,
                         const cai_dtype &dtype = bytes_type) {
  cai_array *array = nullptr;
  cai_error error{};
  EXPECT_EQ(cai_memory_array(memory, 0, &dtype, static_cast<std::int32_t>(shape.size()),
                             shape.data(), nullptr, &array, &error),
            CAI_OK)
      << error.message;
  return OwnArray(array);
}

// A struct that a caller fills in as a pattern for an array.
inline cai_array like_of(const cai_dtype &dtype, std::int32_t ndim, const std::int64_t *shape) {
  cai_array like{};
  like.abi_major = CAI_ABI_MAJOR;
  like.dtype = dtype;
  like.ndim = ndim;
  like.shape = shape;
  return like;
}

inline cai_field field_of(const char *name, std::uint64_t offset, const cai_dtype &dtype) {
  cai_field field{};
  field.name = name;
  field.offset = offset;
  field.dtype = dtype;
  return field;
}

// The primary contexts of both devices, neither of them current. Each test restores its
// surroundings, and leaves no race.
class Memories : public testing::Test {
 protected:
  Memories() {
    for (int device = 0; device < 2; ++device) {
      MUST(gpu().cuDevicePrimaryCtxRetain(&primary[device], device));
    }
    before_ = Surroundings();
    races_ = gpu().simcuda_races();
    findings_ = gpu().simcuda_findings();
    gpu().simcuda_reset_counts();
  }
  ~Memories() override {
    for (const Handle context : primary) {
      const With with(context);
      EXPECT_EQ(gpu().cuCtxSynchronize(), 0);
    }
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
    EXPECT_EQ(gpu().simcuda_races(), races_) << "races";
    EXPECT_EQ(gpu().simcuda_findings(), findings_) << "uses of destroyed streams";
    EXPECT_TRUE(Surroundings() == before_) << "the context stack or the capture mode has changed";
    for (int device = 0; device < 2; ++device) MUST(gpu().cuDevicePrimaryCtxRelease_v2(device));
  }

  // A GPU's context goes, and the next one is there.
  void reset(int device) {
    MUST(gpu().cuDevicePrimaryCtxRelease_v2(device));
    ASSERT_OK(cai_device_reset({CAI_DEVICE_CUDA, device}, CAI_RESET_CONTEXT, error));
    MUST(gpu().cuDevicePrimaryCtxRetain(&primary[device], device));
  }

  Handle primary[2] = {};
  std::uint64_t races_ = 0;     // that were expected
  std::uint64_t findings_ = 0;  // likewise

 private:
  Surroundings before_{};
};

}  // namespace test
