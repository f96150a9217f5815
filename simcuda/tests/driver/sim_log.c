// SPDX-License-Identifier: BSD-3-Clause
// SIMCUDA_LOG gets a line for each call, with its result, and one for each operation that runs.
#include "driver_test.h"

int main(void) {
  char path[] = "/tmp/simcuda-log-XXXXXX";
  const int file = mkstemp(path);
  MUST_BE(file >= 0, 1);
  close(file);
  setenv("SIMCUDA_LOG", path, 1);
  start();
  USE_MEMORY;
  USE_STREAMS;
  CUdeviceptr data;
  MUST(cuMemAlloc(&data, 16));
  MUST(cuMemsetD8Async(data, 3, 16, LEGACY));
  MUST_BE(cuMemsetD8Async(data, 3, 17, LEGACY), INVALID_VALUE);
  MUST(cuStreamSynchronize(LEGACY));

  char text[65536] = "", expected[128];
  FILE *log = fopen(path, "r");
  MUST_BE(log != NULL, 1);
  text[fread(text, 1, sizeof text - 1, log)] = '\0';
  fclose(log);
  unlink(path);
  snprintf(expected, sizeof expected, "cuMemsetD8Async(%#llx, 3, 16, 0x1) = 0\n", data);
  const char *submitted = strstr(text, expected);
  MUST_BE(submitted != NULL, 1);
  const char *ran = strstr(text, " memset on stream ");
  MUST_BE(ran != NULL && ran > submitted, 1);
  MUST_BE(strstr(text, ", 17, 0x1) = 1\n") != NULL, 1);
  return 0;
}
