/* SPDX-License-Identifier: BSD-3-Clause */
#include <cai.h>

int main(void) {
  const int32_t header = CAI_HEADER_VERSION;
  return cai_version() == header ? 0 : 1;
}
