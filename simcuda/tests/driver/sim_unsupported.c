// SPDX-License-Identifier: BSD-3-Clause
// Who calls what is not implemented is told, once for each function, on standard error.
#include "driver_test.h"

int main(void) {
  int ends[2];
  char text[4096] = "";
  start();
  USE(cuTexRefDestroy, 2000, void *);
  USE(cuModuleGetTexRef, 2000, void **, void *, const char *);
  MUST_BE(pipe(ends), 0);
  const int before = dup(2);
  dup2(ends[1], 2);
  close(ends[1]);
  MUST_BE(cuTexRefDestroy(NULL), NOT_SUPPORTED);
  MUST_BE(cuTexRefDestroy(NULL), NOT_SUPPORTED);
  MUST_BE(cuModuleGetTexRef(NULL, NULL, NULL), NOT_SUPPORTED);
  dup2(before, 2);  // closes the pipe
  MUST_BE(read(ends[0], text, sizeof text - 1) > 0, 1);
  const char *destroy = strstr(text, "cuTexRefDestroy");
  MUST_BE(destroy != NULL && strstr(destroy + 1, "cuTexRefDestroy") == NULL, 1);
  MUST_BE(strstr(text, "cuModuleGetTexRef") != NULL, 1);
  return 0;
}
