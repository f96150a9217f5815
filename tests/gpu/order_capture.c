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
  OK(cuStreamCreate(&producer, NON_BLOCKING));
  OK(cuStreamCreate(&consumer, NON_BLOCKING));
  OK(cuMemAlloc(&data, SIZE));
  bytes_of(&bytes, data, producer);
  HOLD_UP(producer);
  for (int mode = GLOBAL; mode <= RELAXED; ++mode) {
    OK(cuStreamBeginCapture(consumer, mode));
    EXPECT(begin(&bytes, consumer, CAI_ORDER_BOTH), CAI_ERR_CAPTURE);
    EXPECT(begin(&bytes, consumer, CAI_ORDER_HOST), CAI_ERR_CAPTURE);
    OK(cuStreamIsCapturing(consumer, &status));
    EXPECT(status, ACTIVE);
    OK(cuStreamEndCapture(consumer, &graph));
  }
  open_gate();
  OK(cuStreamSynchronize(producer));
  for (int mode = GLOBAL; mode <= RELAXED; ++mode) {
    OK(cuStreamBeginCapture(producer, mode));
    EXPECT(begin(&bytes, consumer, CAI_ORDER_BOTH), CAI_ERR_CAPTURE);
    EXPECT(cai_array_sync_host(&bytes.array, NULL), CAI_ERR_CAPTURE);
    OK(cuStreamIsCapturing(producer, &status));
    EXPECT(status, ACTIVE);
    OK(cuStreamEndCapture(producer, &graph));
  }
  return 0;
}
