// SPDX-License-Identifier: BSD-3-Clause
// The time between events is that of the work between them: one after the other on a stream, side
// by side on two.
#include "ptx.h"
#include "simcuda.h"

// Counts to a number.
static const char text[] = PTX_HEADER
    ".visible .entry count(.param .u32 to)\n"
    "{\n"
    "  .reg .b32 %i, %n; .reg .pred %p;\n"
    "  ld.param.u32 %n, [to];\n"
    "  mov.u32 %i, 0;\n"
    "AGAIN:\n"
    "  add.u32 %i, %i, 1;\n"
    "  setp.lt.u32 %p, %i, %n;\n"
    "  @%p bra AGAIN;\n"
    "  ret;\n"
    "}\n";

static CUevent timed(CUstream stream) {
  USE_EVENTS;
  CUevent event;
  MUST(cuEventCreate(&event, 0));
  MUST(cuEventRecord(event, stream));
  return event;
}

static double milliseconds(CUevent from, CUevent to) {
  USE(cuEventElapsedTime, 2000, float *, CUevent, CUevent);
  USE_EVENTS;
  float elapsed;
  MUST(cuEventSynchronize(from));
  MUST(cuEventSynchronize(to));
  MUST(cuEventElapsedTime(&elapsed, from, to));
  return elapsed;
}

int main(void) {
  start();
  USE_STREAMS;
  USE_EVENTS;
  FIND_SIM(simcuda_busy);
  const uint64_t ten = 10000000;
  CUstream one, two;
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, NON_BLOCKING));

  CUevent begin = timed(one);
  MUST(simcuda_busy(one, ten));
  MUST(simcuda_busy(one, ten));
  CUevent end = timed(one);
  const double in_order = milliseconds(begin, end);
  MUST_BE(in_order >= 20 && in_order < 21, 1);

  begin = timed(one);
  MUST(cuStreamWaitEvent(two, begin, 0));
  MUST(simcuda_busy(one, ten));
  MUST(simcuda_busy(two, ten));
  MUST(cuStreamWaitEvent(one, timed(two), 0));
  const double side_by_side = milliseconds(begin, timed(one));
  MUST_BE(side_by_side >= 10 && side_by_side < 11, 1);

  // What the host submits after it has waited comes after that.
  begin = timed(one);
  MUST(cuStreamSynchronize(one));
  MUST_BE(milliseconds(begin, timed(two)) > 0, 1);
  MUST(simcuda_busy(one, ten));
  begin = timed(one);
  finish_all();
  MUST_BE(milliseconds(begin, timed(two)) > 0, 1);

  // A kernel takes longer, the more it does.
  const CUfunction count = function_in(module_of(text), "count");
  unsigned few = 10000, many = 1000000;
  begin = timed(one);
  MUST(launch(count, 1, 32, one, ARGUMENTS(&few)));
  const CUevent between = timed(one);
  MUST(launch(count, 1, 32, one, ARGUMENTS(&many)));
  end = timed(one);
  MUST_BE(milliseconds(between, end) > 10 * milliseconds(begin, between), 1);
  return 0;
}
