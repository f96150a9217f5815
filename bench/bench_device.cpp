// SPDX-License-Identifier: BSD-3-Clause
// Streams of the CPU: what it takes to hand a piece of work over.
#include <benchmark/benchmark.h>

#include "bench.hpp"
#include "cai/device.h"

namespace {

using bench::check;

cai_status nothing(void *, cai_error *) {
  return CAI_OK;
}

cai_stream *stream_of(std::uint32_t mode) {
  cai_stream *made = nullptr;
  cai_error error;
  check(cai_stream_create({CAI_DEVICE_CPU, 0}, mode, 0, &made, &error), error);
  return made;
}

void enqueue(benchmark::State &state, std::uint32_t mode) {
  cai_stream *const stream = stream_of(mode);
  cai_error error;
  for (auto _ : state) check(cai_stream_enqueue(stream, nothing, nullptr, nullptr, &error), error);
  check(cai_stream_synchronize(stream, &error), error);
  cai_stream_release(stream);
}
BENCHMARK_CAPTURE(enqueue, async, CAI_MODE_ASYNC)->UseRealTime();
BENCHMARK_CAPTURE(enqueue, sync, CAI_MODE_SYNC);

// The thread sleeps, and has to be woken.
void enqueue_and_synchronize(benchmark::State &state) {
  cai_stream *const stream = stream_of(CAI_MODE_ASYNC);
  cai_error error;
  for (auto _ : state) {
    check(cai_stream_enqueue(stream, nothing, nullptr, nullptr, &error), error);
    check(cai_stream_synchronize(stream, &error), error);
  }
  cai_stream_release(stream);
}
BENCHMARK(enqueue_and_synchronize)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
