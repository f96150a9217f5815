// SPDX-License-Identifier: BSD-3-Clause
// For programs that look at what a process says when it ends.
#pragma once

#include <sys/wait.h>

#include "driver_test.h"

// The standard error and the exit status of a separate program.
static char said[1 << 17];

static inline void run_apart(void (*program)(void)) {
  int ends[2];
  MUST_BE(pipe(ends), 0);
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 2);
    program();
    exit(0);
  }
  close(ends[1]);
  size_t length = 0;
  ssize_t count;
  while ((count = read(ends[0], said + length, sizeof said - 1 - length)) > 0)
    length += (size_t)count;
  said[length] = 0;
  close(ends[0]);
  int status = 0;
  MUST_BE(waitpid(child, &status, 0), child);
  if (status) fputs(said, stderr);
  MUST_BE(status, 0);
}

static inline void must_say(const char *part) {
  if (strstr(said, part)) return;
  fprintf(stderr, "\"%s\" is not in:\n%s", part, said);
  exit(1);
}
