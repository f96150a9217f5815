// SPDX-License-Identifier: BSD-3-Clause
// Memset. The blocking forms wait only for memory that the host can read: host and managed memory.

#include "call.h"
#include "capture.h"
#include "graph_work.h"
#include "pool.h"

using namespace simcuda;

namespace {

struct Fill {
  CUdeviceptr to;
  std::size_t pitch;
  std::uint32_t value;
  unsigned element;           // bytes
  std::size_t width, height;  // elements and rows
};

void fill(Session &s, const Fill &f, const std::shared_ptr<Stream> &stream, bool host_waits) {
  if (f.width == 0 || f.height == 0) return;
  if (host_waits) refuse_capturing(*stream);
  std::size_t row = 0, before_last = 0, span = 0;
  if (__builtin_mul_overflow(f.width, std::size_t{f.element}, &row) ||
      __builtin_mul_overflow(f.pitch, f.height - 1, &before_last) ||
      __builtin_add_overflow(before_last, row, &span))
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (f.to % f.element || (f.height > 1 && (f.pitch < row || f.pitch % f.element)))
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  const Place place = s.driver.memory.device_place(f.to, span);
  refuse_lost(s.driver, *place.allocation);
  const Allocation &allocation = *place.allocation;
  if (allocation.mapping || (allocation.pool && allocation.pool->kind == MemoryKind::host))
    refuse_inaccessible(allocation, stream->context->device);
  const Access written{place.allocation, place.address, row, true, f.height, f.pitch};
  auto operation = std::make_shared<Operation>();
  operation->what = "memset";
  operation->accesses = {written};
  operation->run = [=] {
    for (std::size_t y = 0; y < f.height; ++y)
      fill_bytes(place, y * f.pitch, f.value, f.element, f.width);
  };
  if (stream->capture)
    operation->parameters = std::make_shared<const NodeParameters>(NodeParameters{
        CUDA_MEMSET_NODE_PARAMS{f.to, f.pitch, f.value, f.element, f.width, f.height},
        stream->context,
        {}});
  operation = s.submit(stream, std::move(operation));
  if (!host_waits) return;
  if (place.host_visible() || place.allocation->sync_memops ||
      (owner_of(stream->context)->flags & CU_CTX_SYNC_MEMOPS))
    s.finish(std::vector<OperationPtr>{operation});
  else
    place.allocation->go_on_without(*stream, operation);
}

void fill(Session &s, const Fill &f, CUstream stream, bool host_waits) {
  fill(s, f, s.stream(stream), host_waits);
}

}  // namespace

SIM_API CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, std::size_t count) {
  return call(__func__, {to, value, count},
              [&](Session &s) { fill(s, {to, 0, value, 1, count, 1}, nullptr, true); });
}

SIM_API CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, std::size_t count) {
  return call(__func__, {to, value, count},
              [&](Session &s) { fill(s, {to, 0, value, 2, count, 1}, nullptr, true); });
}

SIM_API CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, std::size_t count) {
  return call(__func__, {to, value, count},
              [&](Session &s) { fill(s, {to, 0, value, 4, count, 1}, nullptr, true); });
}

SIM_API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count,
                                 CUstream stream) {
  return call(__func__, {to, value, count, stream},
              [&](Session &s) { fill(s, {to, 0, value, 1, count, 1}, stream, false); });
}

SIM_API CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, std::size_t count,
                                  CUstream stream) {
  return call(__func__, {to, value, count, stream},
              [&](Session &s) { fill(s, {to, 0, value, 2, count, 1}, stream, false); });
}

SIM_API CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count,
                                  CUstream stream) {
  return call(__func__, {to, value, count, stream},
              [&](Session &s) { fill(s, {to, 0, value, 4, count, 1}, stream, false); });
}

SIM_API CUresult cuMemsetD2D8_v2(CUdeviceptr to, std::size_t pitch, unsigned char value,
                                 std::size_t width, std::size_t height) {
  return call(__func__, {to, pitch, value, width, height},
              [&](Session &s) { fill(s, {to, pitch, value, 1, width, height}, nullptr, true); });
}

SIM_API CUresult cuMemsetD2D16_v2(CUdeviceptr to, std::size_t pitch, unsigned short value,
                                  std::size_t width, std::size_t height) {
  return call(__func__, {to, pitch, value, width, height},
              [&](Session &s) { fill(s, {to, pitch, value, 2, width, height}, nullptr, true); });
}

SIM_API CUresult cuMemsetD2D32_v2(CUdeviceptr to, std::size_t pitch, unsigned value,
                                  std::size_t width, std::size_t height) {
  return call(__func__, {to, pitch, value, width, height},
              [&](Session &s) { fill(s, {to, pitch, value, 4, width, height}, nullptr, true); });
}

SIM_API CUresult cuMemsetD2D8Async(CUdeviceptr to, std::size_t pitch, unsigned char value,
                                   std::size_t width, std::size_t height, CUstream stream) {
  return call(__func__, {to, pitch, value, width, height, stream},
              [&](Session &s) { fill(s, {to, pitch, value, 1, width, height}, stream, false); });
}

SIM_API CUresult cuMemsetD2D16Async(CUdeviceptr to, std::size_t pitch, unsigned short value,
                                    std::size_t width, std::size_t height, CUstream stream) {
  return call(__func__, {to, pitch, value, width, height, stream},
              [&](Session &s) { fill(s, {to, pitch, value, 2, width, height}, stream, false); });
}

SIM_API CUresult cuMemsetD2D32Async(CUdeviceptr to, std::size_t pitch, unsigned value,
                                    std::size_t width, std::size_t height, CUstream stream) {
  return call(__func__, {to, pitch, value, width, height, stream},
              [&](Session &s) { fill(s, {to, pitch, value, 4, width, height}, stream, false); });
}

NodeWorkPtr simcuda::memset_work(Session &s, const std::shared_ptr<Context> &context,
                                 const CUDA_MEMSET_NODE_PARAMS *parameters) {
  const auto &p = required(parameters);
  if ((p.elementSize != 1 && p.elementSize != 2 && p.elementSize != 4) || !p.width || !p.height)
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  return node_work(context, [&](auto &stream) {
    fill(s, {p.dst, p.pitch, p.value, p.elementSize, p.width, p.height}, stream, false);
  });
}
