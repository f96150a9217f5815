/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program cannot go on without: where it is not so, it says what there was, and ends. For
 * what is to be counted, so that the program goes on, there are check.h in C and GoogleTest. */
#ifndef MUST_H
#define MUST_H

#include <stdio.h>
#include <stdlib.h>

#define MUST_BE(call, expected) \
  must_be((long long)(call), (long long)(expected), #call, __FILE__, __LINE__)
#define MUST(call) MUST_BE(call, 0) /* a status or a result, of which 0 is success */
#define MUST_HOLD(condition) MUST_BE(!!(condition), 1)

static inline void must_be(long long got, long long expected, const char *call, const char *file,
                           int line) {
  if (got == expected) return;
  fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", file, line, call, got, expected);
  exit(EXIT_FAILURE);
}

#endif /* MUST_H */
