/* SPDX-License-Identifier: BSD-3-Clause */
/* Frameworks free until the very end of the process: in functions of atexit(), and in destructors
 * after the driver has gone. Nothing of that is a failure, and nothing crashes. */
#include <cai/adaptors.h>

#include "adaptors.h"
#include "driver_test.h"

static void *blocks[3];

static void check_quiet(void) {
  if (told) {
    fprintf(stderr, "told at the end: %s\n", last_told.message);
    _exit(1);
  }
}

static void at_exit(void) {
  cai_torch_record_stream(blocks[0], NULL);
  cai_torch_free(blocks[0], BYTES, 0, NULL);
  check_quiet();
}

__attribute__((destructor)) static void last(void) {
  cai_torch_free(blocks[1], BYTES, 0, PER_THREAD);
  cai_cupy_free(NULL, blocks[2], 1);
  cai_torch_reset();
  check_quiet();
}

int main(void) {
  atexit(at_exit); /* before the driver is loaded, so after the driver's own */
  start();
  CHECK_OK(cai_on_failure(hear, NULL, ERR));
  blocks[0] = cai_torch_alloc(BYTES, 0, NULL);
  blocks[1] = cai_torch_alloc(BYTES, 0, PER_THREAD);
  blocks[2] = cai_cupy_alloc(NULL, BYTES, 1);
  CHECK(blocks[0] && blocks[1] && blocks[2]);
  return CHECK_RESULT();
}
