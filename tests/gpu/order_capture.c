// SPDX-License-Identifier: BSD-3-Clause
// With work pending across the border of a capture libcai refuses, and the capture lives on.
#include "order.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_CAPTURE;
  USE_GATE;
  CUgraph graph = NULL;
  CUstream producer, consumer;
  CUdeviceptr data;
  Bytes bytes;
  int status = NONE;
  MUST(cuStreamCreate(&producer, NON_BLOCKING));
  MUST(cuStreamCreate(&consumer, NON_BLOCKING));
  MUST(cuMemAlloc(&data, SIZE));
  bytes_of(&bytes, data, producer);
  HOLD_UP(producer);
  for (int mode = GLOBAL; mode <= RELAXED; ++mode) {
    MUST(cuStreamBeginCapture(consumer, mode));
    MUST_BE(begin(&bytes, consumer, CAI_ORDER_BOTH), CAI_ERR_CAPTURE);
    MUST_BE(begin(&bytes, consumer, CAI_ORDER_HOST), CAI_ERR_CAPTURE);
    MUST(cuStreamIsCapturing(consumer, &status));
    MUST_BE(status, ACTIVE);
    MUST(cuStreamEndCapture(consumer, &graph));
  }
  open_gate();
  MUST(cuStreamSynchronize(producer));
  for (int mode = GLOBAL; mode <= RELAXED; ++mode) {
    MUST(cuStreamBeginCapture(producer, mode));
    MUST_BE(begin(&bytes, consumer, CAI_ORDER_BOTH), CAI_ERR_CAPTURE);
    MUST_BE(cai_array_sync_host(&bytes.array, NULL), CAI_ERR_CAPTURE);
    MUST(cuStreamIsCapturing(producer, &status));
    MUST_BE(status, ACTIVE);
    MUST(cuStreamEndCapture(producer, &graph));
  }
  return 0;
}
