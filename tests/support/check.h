/* SPDX-License-Identifier: BSD-3-Clause */
/* The assertions of the tests in plain C. A failed check is printed, counted, and the program goes
 * on; main() ends with CHECK_RESULT(). Calls of the library pass ERR as their cai_error, so that
 * the rules of cai_error are checked at every call: all of it on failure, none of it on success. */
#ifndef CHECK_H
#define CHECK_H

#include <cai.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "must.h"
#include "utf8.h"

static cai_error check_error;
static const char *check_context = ""; /* what a loop is at, for the message */
static int check_failures;

#define ERR (&check_error)
#define ANY (-1000) /* no demand on a status or an entry */

#define CHECK(condition) check_that(!!(condition), #condition, __FILE__, __LINE__)
#define CHECK_OK(call) (check_arm(), check_ok((call), #call, __FILE__, __LINE__))
#define CHECK_FAILS(status, entry, call) \
  (check_arm(), check_fails((status), (entry), (call), #call, __FILE__, __LINE__))
#define CHECK_RESULT() (check_failures ? EXIT_FAILURE : EXIT_SUCCESS)

static inline int check_that(int holds, const char *what, const char *file, int line) {
  if (!holds) {
    __atomic_fetch_add(&check_failures, 1, __ATOMIC_RELAXED);
    fprintf(stderr, "%s:%d: [%s] failed: %s\n", file, line, check_context, what);
  }
  return holds;
}

/* 1 if all bytes are still what check_arm() and other fillings with 0xA5 left. */
static inline int check_untouched(const void *memory, size_t size) {
  const unsigned char *bytes = (const unsigned char *)memory;
  size_t i;
  for (i = 0; i < size; ++i)
    if (bytes[i] != 0xA5) return 0;
  return 1;
}

static inline void check_arm(void) {
  memset(&check_error, 0xA5, sizeof check_error);
}

static inline int check_ok(cai_status status, const char *call, const char *file, int line) {
  if (status == CAI_OK)
    return check_that(check_untouched(ERR, sizeof *ERR), "error untouched", file, line);
  fprintf(stderr, "status %d: %.239s\n", status, check_error.message);
  return check_that(0, call, file, line);
}

static inline int check_fails(cai_status wanted, int32_t entry, cai_status status, const char *call,
                              const char *file, int line) {
  size_t length;
  if (status == CAI_OK || (wanted != ANY && status != wanted) || check_error.status != status ||
      (entry != ANY && check_error.entry != entry)) {
    fprintf(stderr, "status %d, wanted %d; error: status %d, entry %d, wanted %d\n", status, wanted,
            check_error.status, check_error.entry, entry);
    return check_that(0, call, file, line);
  }
  if (!check_that(memchr(check_error.message, 0, sizeof check_error.message) != NULL,
                  "message ends in NUL", file, line))
    return 0;
  length = strlen(check_error.message);
  return check_that(length > 0, "message says something", file, line) &
         check_that(is_utf8(check_error.message, length), "message is UTF-8", file, line) &
         check_that(check_error.native != (int32_t)0xA5A5A5A5, "native is written", file, line) &
         check_that(check_error.index >= -1, "index is written", file, line);
}

#endif /* CHECK_H */
