// SPDX-License-Identifier: BSD-3-Clause
// Arrays of bytes: the programs' memory, and this process's own copies of it, have no other type.
#pragma once

#include <cai.h>

#include <cstdint>

namespace lives {

inline constexpr cai_dtype byte_type{'u', '|', 0, 0, 1, 0};

// One on the host for the contents of `like`, which has one axis. It borrows that axis, and `data`.
inline cai_array bytes_on_host(const cai_array &like, unsigned char *data) {
  static constexpr std::int64_t stride = 1;
  cai_array made{};
  made.abi_major = CAI_ABI_MAJOR;
  made.abi_minor = CAI_ABI_MINOR;
  made.version = CAI_INTERFACE_VERSION;
  made.device_type = CAI_DEVICE_CPU;
  made.stream_kind = CAI_STREAM_NONE;
  made.dtype = byte_type;
  made.ndim = 1;
  made.shape = like.shape;
  made.strides = &stride;
  made.data = reinterpret_cast<std::uintptr_t>(data);
  return made;
}

}  // namespace lives
