// SPDX-License-Identifier: BSD-3-Clause
// Calls are counted by base name, all versions and flavours together, and what is not implemented
// is refused and counted.
#include "driver_test.h"

int main(void) {
  start();
  USE(cuStreamQuery, 2000, CUstream);
  USE(cuTexRefDestroy, 2000, void *);
  USE(cuStreamSynchronize, 2000, CUstream);
  USE_SIM(uint64_t, simcuda_calls, const char *);
  USE_SIM(uint64_t, simcuda_unsupported, void);
  USE_SIM(void, simcuda_reset_counts, void);
  CUresult (*per_thread)(CUstream);
  *(void **)&per_thread = dlsym(library, "cuStreamQuery_ptsz");
  simcuda_reset_counts();
  MUST_BE(simcuda_calls("cuStreamQuery"), 0);
  MUST(cuStreamQuery(NULL));
  MUST(per_thread(NULL));
  MUST_BE(simcuda_calls("cuStreamQuery"), 2);
  MUST(cuStreamSynchronize(NULL));
  MUST_BE(simcuda_calls(NULL), 3);
  MUST_BE(simcuda_calls("cuNoSuchFunction") == UINT64_MAX, 1);
  MUST_BE(simcuda_unsupported(), 0);
  MUST_BE(cuTexRefDestroy(NULL), NOT_SUPPORTED);
  MUST_BE(simcuda_calls("cuTexRefDestroy"), 1);
  MUST_BE(simcuda_unsupported(), 1);
  return 0;
}
