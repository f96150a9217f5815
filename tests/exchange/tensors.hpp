// SPDX-License-Identifier: BSD-3-Clause
// Tensors of a producer's that knows nothing of libcai.
#pragma once

#include <array>
#include <memory>

#include "cai/dlpack.h"
#include "owned.hpp"

namespace test {

constexpr std::uint64_t no_order = UINT64_MAX;

// float32, 2 by 3, in C order.
struct Tensor {
  std::array<std::int64_t, CAI_MAX_NDIM> shape{2, 3};
  std::array<std::int64_t, CAI_MAX_NDIM> strides{3, 1};
  DLTensor tensor{};

  explicit Tensor(Address data = 0x7F0000000000) {
    tensor.data = handle(data);
    tensor.device = {kDLCUDA, 1};
    tensor.ndim = 2;
    tensor.dtype = {kDLFloat, 32, 1};
    tensor.shape = shape.data();
    tensor.strides = strides.data();
  }
  Tensor(const Tensor &) = delete;
  Tensor &operator=(const Tensor &) = delete;
};

// A managed tensor of either form, that counts how often it is deleted.
template <class Managed>
struct ManagedTensor : Tensor {
  Managed managed{};
  int deleted = 0;

  explicit ManagedTensor(Address data = 0x7F0000000000) : Tensor(data) {
    managed.dl_tensor = tensor;
    managed.manager_ctx = this;
    managed.deleter = [](Managed *self) {
      ++static_cast<ManagedTensor *>(self->manager_ctx)->deleted;
    };
    if constexpr (requires { managed.version; }) managed.version = {1, 3};
  }
};
using Versioned = ManagedTensor<DLManagedTensorVersioned>;
using Legacy = ManagedTensor<DLManagedTensor>;

inline cai_status own(Versioned &tensor, std::uint64_t stream, cai_array **out,
                      cai_error *error = nullptr) {
  return cai_dlpack_own(&tensor.managed, stream, out, error);
}
inline cai_status own(Legacy &tensor, std::uint64_t stream, cai_array **out,
                      cai_error *error = nullptr) {
  return cai_dlpack_own_legacy(&tensor.managed, stream, out, error);
}

// A type as both sides say it.
struct TypePair {
  DLDataType theirs;
  const char *typestr;
  std::uint8_t ext;
};
constexpr TypePair types[] = {
    {{kDLBool, 8, 1}, "|b1", 0},
    {{kDLInt, 8, 1}, "|i1", 0},
    {{kDLInt, 16, 1}, "<i2", 0},
    {{kDLInt, 32, 1}, "<i4", 0},
    {{kDLInt, 64, 1}, "<i8", 0},
    {{kDLUInt, 8, 1}, "|u1", 0},
    {{kDLUInt, 16, 1}, "<u2", 0},
    {{kDLUInt, 32, 1}, "<u4", 0},
    {{kDLUInt, 64, 1}, "<u8", 0},
    {{kDLFloat, 16, 1}, "<f2", 0},
    {{kDLFloat, 32, 1}, "<f4", 0},
    {{kDLFloat, 64, 1}, "<f8", 0},
    {{kDLComplex, 64, 1}, "<c8", 0},
    {{kDLComplex, 128, 1}, "<c16", 0},
    {{kDLBfloat, 16, 1}, "<V2", CAI_EXT_BFLOAT16},
    {{kDLFloat8_e3m4, 8, 1}, "|V1", CAI_EXT_FLOAT8_E3M4},
    {{kDLFloat8_e4m3, 8, 1}, "|V1", CAI_EXT_FLOAT8_E4M3},
    {{kDLFloat8_e4m3b11fnuz, 8, 1}, "|V1", CAI_EXT_FLOAT8_E4M3B11FNUZ},
    {{kDLFloat8_e4m3fn, 8, 1}, "|V1", CAI_EXT_FLOAT8_E4M3FN},
    {{kDLFloat8_e4m3fnuz, 8, 1}, "|V1", CAI_EXT_FLOAT8_E4M3FNUZ},
    {{kDLFloat8_e5m2, 8, 1}, "|V1", CAI_EXT_FLOAT8_E5M2},
    {{kDLFloat8_e5m2fnuz, 8, 1}, "|V1", CAI_EXT_FLOAT8_E5M2FNUZ},
    {{kDLFloat8_e8m0fnu, 8, 1}, "|V1", CAI_EXT_FLOAT8_E8M0FNU},
};

// All bytes of an output before a call that is to fail.
template <class T>
T marked() {
  T out;
  std::memset(static_cast<void *>(&out), 0xA5, sizeof out);
  return out;
}

template <class T>
bool is_marked(const T &out) {
  const T fresh = marked<T>();
  return std::memcmp(&out, &fresh, sizeof out) == 0;
}

}  // namespace test
