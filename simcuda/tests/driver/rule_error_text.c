// SPDX-License-Identifier: BSD-3-Clause
// Rule: cuGetErrorString gives the text that the runtime's cudaGetErrorString gives for the number.
// Source: assumed, the texts that clients print; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  open_driver();
  USE(cuGetErrorString, 6000, CUresult, const char **);
  static const struct {
    CUresult status;
    const char *text;
  } known[] = {
      {SUCCESS, "no error"},
      {INVALID_VALUE, "invalid argument"},
      {OUT_OF_MEMORY, "out of memory"},
      {NOT_INITIALIZED, "initialization error"},
      {DEINITIALIZED, "driver shutting down"},
      {100, "no CUDA-capable device is detected"},
      {INVALID_DEVICE, "invalid device ordinal"},
      {INVALID_CONTEXT, "invalid device context"},
      {209, "no kernel image is available for execution on the device"},
      {218, "a PTX JIT compilation failed"},
      {INVALID_HANDLE, "invalid resource handle"},
      {NOT_FOUND, "named symbol not found"},
      {NOT_READY, "device not ready"},
      {ILLEGAL_ADDRESS, "an illegal memory access was encountered"},
      {716, "misaligned address"},
      {LAUNCH_FAILED, "unspecified launch failure"},
      {NOT_SUPPORTED, "operation not supported"},
      {CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"},
      {999, "unknown error"},
  };
  const char *text = NULL;
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    MUST(cuGetErrorString(known[i].status, &text));
    found(known[i].text, text, known[i].text);
  }
  MUST_BE(cuGetErrorString(-1, &text), INVALID_VALUE);
  MUST_BE(text == NULL, 1);
  return 0;
}
