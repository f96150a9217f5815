// SPDX-License-Identifier: BSD-3-Clause
#include <cai/cai.hpp>

int main() {
  cai_array host{};
  host.abi_major = CAI_ABI_MAJOR;
  host.data = 0x1000;
  host.device_type = CAI_DEVICE_CPU;
  host.dtype = {'f', '<', 0, 0, 4, 0};
  host.stream_kind = CAI_STREAM_NONE;
  host.version = 3;
  int ended = 0;
  {
    const cai::array array = cai::array::own(host, [&] { ++ended; });
    const cai::use guard(1, array);
  }
  return ended == 1 ? 0 : 1;
}
