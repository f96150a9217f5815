// SPDX-License-Identifier: BSD-3-Clause
// A setting that cannot be read stops cuInit, and a line on standard error names it.
#include <sys/wait.h>

#include "driver_test.h"

// The result of cuInit with this setting; its message goes to `text`.
static int init_with(const char *name, const char *value, char *text, size_t size) {
  int ends[2];
  MUST_BE(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    setenv(name, value, 1);
    open_driver();
    USE(cuInit, 2000, unsigned);
    const CUresult result = cuInit(0);
    _exit(result == cuInit(0) ? result : 99);  // and again
  }
  close(ends[1]);
  size_t length = 0;
  ssize_t got;
  while (length + 1 < size && (got = read(ends[0], text + length, size - 1 - length)) > 0)
    length += (size_t)got;
  text[length] = '\0';
  close(ends[0]);
  int status = 0;
  MUST_BE(waitpid(child, &status, 0), child);
  MUST_BE(WIFEXITED(status), 1);
  return WEXITSTATUS(status);
}

int main(void) {
  static const char *const bad[][2] = {
      {"SIMCUDA_SCHEDULE", "foo"},         {"SIMCUDA_DEVICES", "two"},
      {"SIMCUDA_DEVICES", "17"},           {"SIMCUDA_QUIET_MS", "-1"},
      {"SIMCUDA_DRIVER_VERSION", "13.0"},  {"SIMCUDA_DEVICE_MIB", "0"},
      {"SIMCUDA_FAIL", "cuMemAlloc:1"},    {"SIMCUDA_FAIL", "cuNothing:1:2"},
      {"SIMCUDA_FAIL", "cuMemAlloc:0:2"},  {"SIMCUDA_LOG", "/nowhere/at/all.log"},
      {"SIMCUDA_REUSE_HANDLES", "maybe"},  {"SIMCUDA_SCHEDULE", "random"},
      {"SIMCUDA_SCHEDULE", "random:"},     {"SIMCUDA_SCHEDULE", "random:1x"},
      {"SIMCUDA_SCHEDULE", "random:-1"},   {"SIMCUDA_SCHEDULE", "random:99999999999999999999"},
      {"SIMCUDA_FAIL", "cuMemAlloc:1:2x"}, {"SIMCUDA_RACES", "all"},
      {"SIMCUDA_STRICT", "yes"},           {"SIMCUDA_KERNEL_THREADS", "0"},
      {"SIMCUDA_KERNEL_THREADS", "257"},   {"SIMCUDA_TWO_ADDRESSES", "2"},
  };
  char text[4096], again[4096];
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    MUST_BE(init_with(bad[i][0], bad[i][1], text, sizeof text), INVALID_VALUE);
    const char *said = strstr(text, bad[i][0]);
    MUST_BE(said != NULL && strstr(said, bad[i][1]) != NULL, 1);
    MUST_BE(strstr(said + 1, bad[i][0]) == NULL, 1);  // once
  }
  MUST_BE(init_with("SIMCUDA", "yes", text, sizeof text), STUB_LIBRARY);
  MUST_BE(strstr(text, "SIMCUDA=yes") != NULL, 1);
  MUST_BE(init_with("SIMCUDA", "0", again, sizeof again), STUB_LIBRARY);
  MUST_BE(strlen(again), 0);
  MUST_BE(init_with("SIMCUDA_DEVICES", "0", again, sizeof again), 100);
  MUST_BE(init_with("SIMCUDA_BANNER", "1", text, sizeof text), SUCCESS);
  MUST_BE(strncmp(text, "simcuda: a simulation", 21), 0);
  MUST_BE(strchr(text, '\n') == text + strlen(text) - 1, 1);  // once
  // Valid settings are accepted silently; an empty one counts as unset.
  MUST_BE(init_with("SIMCUDA_SCHEDULE", "", text, sizeof text), SUCCESS);
  MUST_BE(strlen(text), 0);
  MUST_BE(init_with("SIMCUDA_LOG", "", text, sizeof text), SUCCESS);
  MUST_BE(strlen(text), 0);
  MUST_BE(init_with("SIMCUDA_SCHEDULE", "lazy", text, sizeof text), SUCCESS);
  MUST_BE(init_with("SIMCUDA_SCHEDULE", "eager", text, sizeof text), SUCCESS);
  MUST_BE(init_with("SIMCUDA_SCHEDULE", "random:18446744073709551615", text, sizeof text), SUCCESS);
  MUST_BE(init_with("SIMCUDA_RACES", "count", text, sizeof text), SUCCESS);
  MUST_BE(init_with("SIMCUDA_FAIL", "cuMemAlloc:1:2,cuMemFree:3:4", text, sizeof text), SUCCESS);
  MUST_BE(strlen(text), 0);
  return 0;
}
