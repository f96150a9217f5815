/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of the process. In functions of atexit(), which run after the main thread's own objects
 * have ended, all but setting the current stream goes on; after the end of the driver, a failure
 * names it. */
#include <cai/memory.h>

#include "check.h"
#include "driver_test.h"

static const cai_device devices[] = {{CAI_DEVICE_CPU, 0}, {CAI_DEVICE_CUDA, 0}};
static cai_array *arrays[2];
static cai_stream_guard guards[2];
static int handlers; /* that have run */

static cai_array *new_array(cai_device device) {
  int64_t shape[] = {4};
  cai_array like, *made = NULL;
  memset(&like, 0, sizeof like);
  like.abi_major = CAI_ABI_MAJOR;
  like.dtype.kind = 'i';
  like.dtype.byteorder = '<';
  like.dtype.itemsize = 4;
  like.ndim = 1;
  like.shape = shape;
  CHECK_OK(cai_array_empty_like(&like, device, NULL, &made, ERR));
  return made;
}

static void use_late(int i) {
  const int32_t seven = 7;
  const int64_t index = 3;
  int32_t value = 0;
  cai_stream *current = NULL;
  cai_array *another = new_array(devices[i]);
  CHECK_OK(cai_array_fill(arrays[i], &seven, NULL, ERR));
  CHECK_OK(cai_array_copy(arrays[i], another, NULL, ERR));
  CHECK_OK(cai_array_item(another, &index, &value, ERR));
  CHECK(value == seven);
  CHECK_OK(cai_stream_current(devices[i], &current, ERR));
  CHECK(current != guards[i].stream);
  cai_stream_release(current);
  cai_array_release(another);
  CHECK_OK(cai_stream_leave(&guards[i], 0, ERR));
  CHECK(guards[i].thread == 0);
  cai_array_release(arrays[i]);
}

static void at_exit(void) {
  for (int i = 0; i < 2; ++i) use_late(i);
  ++handlers;
}

/* A stream's last bytes are written when all destructors have run. */
static ssize_t write_at_last(void *unused, const char *bytes, size_t size) {
  (void)unused, (void)bytes, (void)size;
  CHECK(handlers == 1);
  CHECK_FAILS(CAI_ERR_CUDA, ANY, cai_device_memory(devices[1], NULL, NULL, ERR));
  CHECK(strstr(check_error.message, "CUDA_ERROR_DEINITIALIZED (4)") != NULL);
  _exit(CHECK_RESULT());
}

int main(void) {
  const cookie_io_functions_t functions = {.write = write_at_last};
  FILE *last = fopencookie(NULL, "w", functions);
  MUST_BE(last != NULL && fputs("the end", last) >= 0, 1);
  MUST_BE(atexit(at_exit), 0);
  for (int i = 0; i < 2; ++i) {
    cai_stream *stream = NULL;
    CHECK_OK(cai_stream_create(devices[i], CAI_MODE_ASYNC, 0, &stream, ERR));
    CHECK_OK(cai_stream_enter(stream, &guards[i], ERR));
    cai_stream_release(stream);
    arrays[i] = new_array(devices[i]);
  }
  return 1; /* what is written decides */
}
