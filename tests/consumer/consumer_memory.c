/* SPDX-License-Identifier: BSD-3-Clause */
#include <cai/memory.h>

int main(void) {
  const cai_device cpu = {CAI_DEVICE_CPU, 0};
  cai_request request = {sizeof request};
  cai_memory *memory = 0;
  request.kind = CAI_KIND_DEFAULT;
  request.size = 64;
  if (cai_memory_alloc(cpu, &request, &memory, 0) != CAI_OK) return 1;
  cai_memory_release(memory);
  return 0;
}
