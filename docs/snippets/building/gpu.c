/* SPDX-License-Identifier: BSD-3-Clause */
#include <cai.h>
#include <cai/memory.h>
#include <stdio.h>

#define MUST(call)                                                             \
  if ((call) != CAI_OK) {                                                      \
    fprintf(stderr, "%s: %s\n", cai_status_name(error.status), error.message); \
    return 1;                                                                  \
  }

/* Every other number of an array on a GPU, written on one stream and read on another. */
int main(void) {
  const cai_device gpu = {CAI_DEVICE_CUDA, 0}, host = {CAI_DEVICE_CPU, 0};
  const cai_dtype f32 = {.kind = 'f', .byteorder = '<', .itemsize = 4};
  const int64_t six = 6, three = 3, last = 2;
  const float value = 7;
  float found = 0;
  cai_error error;

  cai_stream *theirs, *ours;
  MUST(cai_stream_create(gpu, CAI_MODE_ASYNC, 0, &theirs, &error));
  MUST(cai_stream_create(gpu, CAI_MODE_ASYNC, 0, &ours, &error));

  cai_memory *memory, *result;
  const cai_request wanted = {
      .struct_size = sizeof wanted, .kind = CAI_KIND_ASYNC, .size = 24, .stream = theirs};
  MUST(cai_memory_alloc(gpu, &wanted, &memory, &error));
  const cai_request there = {.struct_size = sizeof there, .kind = CAI_KIND_HOST, .size = 12};
  MUST(cai_memory_alloc(host, &there, &result, &error));

  cai_array *x, *view, *y;
  MUST(cai_memory_array(memory, 0, &f32, 1, &six, NULL, &x, &error));
  MUST(cai_memory_array(result, 0, &f32, 1, &three, NULL, &y, &error));
  const cai_slice every_other = {.step = 2,
                                 .kind = CAI_SLICE_RANGE | CAI_SLICE_NO_START | CAI_SLICE_NO_STOP};
  MUST(cai_array_slice(x, &every_other, 1, &view, &error));

  MUST(cai_array_fill(x, &value, theirs, &error)); /* pending on `theirs` */
  MUST(cai_array_copy(view, y, ours,
                      &error)); /* `ours` waits for it: libcai begins the use, and ends it */
  MUST(cai_array_item(y, &last, &found, &error)); /* the host waits for the copy */
  printf("the last of every other number is %g\n", found);

  cai_array_release(view);
  cai_array_release(x);
  cai_array_release(y);
  cai_memory_release(memory); /* each is freed after the work that uses it */
  cai_memory_release(result);
  cai_stream_release(theirs);
  cai_stream_release(ours);
  return 0;
}
