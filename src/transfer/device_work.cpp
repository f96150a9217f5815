// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/device_work.hpp"

#include <cstring>

namespace cai::transfer {
namespace {

// The largest pitch that the driver accepts.
constexpr int64_t most_pitch = 0x7FFFFFFF;

void *host_pointer(uint64_t address) noexcept {
  return reinterpret_cast<void *>(static_cast<uintptr_t>(address));
}

std::size_t size(int64_t bytes) noexcept {
  return static_cast<std::size_t>(bytes);
}

// Removes the longest axis for which `fits` returns true from the walk; returns an axis of extent 1
// if there is none.
template <class Fits>
Axis take_longest(Walk &walk, Fits &&fits) {
  int32_t best = -1;
  for (int32_t i = 0; i < walk.count; ++i) {
    if (fits(walk.axes[i]) && (best < 0 || walk.axes[i].extent > walk.axes[best].extent)) best = i;
  }
  if (best < 0) return {1, 0, 0};
  const Axis axis = walk.axes[best];
  walk.remove(best);
  return axis;
}

class Copy {
 public:
  Copy(const driver::Driver &cu, const Side &to, const Side &from, driver::CUstream stream)
      : cu_(cu), to_(to), from_(from), stream_(stream) {}

  void piece(uint64_t to, uint64_t from, std::size_t bytes) const {
    if (to_.context) {
      driver::call(cu_.cuMemcpyPeerAsync, to, to_.context, from, from_.context, bytes, stream_);
    } else if (from_.on_host) {
      driver::call(cu_.cuMemcpyHtoDAsync, to, host_pointer(from), bytes, stream_);
    } else if (to_.on_host) {
      driver::call(cu_.cuMemcpyDtoHAsync, host_pointer(to), from, bytes, stream_);
    } else {
      driver::call(cu_.cuMemcpyAsync, to, from, bytes, stream_);
    }
  }

  // Slices of rows of `run` bytes.
  void box(uint64_t to, uint64_t from, int64_t run, const Axis &rows, const Axis &slices) const {
    driver::CUmemcpy3D box{};
    box.srcMemoryType = type_of(from_);
    box.srcHost = host_pointer(from_.on_host ? from : 0);
    box.srcDevice = from_.on_host ? 0 : from;
    box.srcContext = from_.context;
    box.srcPitch = size(rows.from);
    box.srcHeight = size(slices.extent > 1 ? slices.from / rows.from : rows.extent);
    box.dstMemoryType = type_of(to_);
    box.dstHost = host_pointer(to_.on_host ? to : 0);
    box.dstDevice = to_.on_host ? 0 : to;
    box.dstContext = to_.context;
    box.dstPitch = size(rows.to);
    box.dstHeight = size(slices.extent > 1 ? slices.to / rows.to : rows.extent);
    box.WidthInBytes = size(run);
    box.Height = size(rows.extent);
    box.Depth = size(slices.extent);
    if (to_.context) {
      driver::call(cu_.cuMemcpy3DPeerAsync, &box, stream_);
    } else {
      driver::call(cu_.cuMemcpy3DAsync, &box, stream_);
    }
  }

 private:
  static uint32_t type_of(const Side &side) noexcept {
    return side.on_host ? driver::memory_type_host : driver::memory_type_unified;
  }

  const driver::Driver &cu_;
  const Side &to_;
  const Side &from_;
  driver::CUstream stream_;
};

// Rows of units, which one call of the driver fills.
class Fill {
 public:
  Fill(const driver::Driver &cu, driver::CUstream stream) : cu_(cu), stream_(stream) {}

  // Fills all pieces of the walk with one unit of 1, 2 or 4 bytes.
  void pieces(Walk walk, const unsigned char *value, int64_t unit) const {
    const int64_t run = walk.run;
    // The array does not overlap itself, so no step is shorter than the run.
    const Axis rows = take_longest(walk, [](const Axis &axis) { return axis.to <= most_pitch; });
    uint32_t word = 0;
    std::memcpy(&word, value, size(unit));
    const std::size_t pitch = size(rows.to), width = size(run / unit), height = size(rows.extent);
    for_each_piece(walk, [&](uint64_t at, uint64_t) {
      const auto half = static_cast<unsigned short>(word);
      const auto byte = static_cast<unsigned char>(word);
      if (height == 1) {
        if (unit == 4) return driver::call(cu_.cuMemsetD32Async, at, word, width, stream_);
        if (unit == 2) return driver::call(cu_.cuMemsetD16Async, at, half, width, stream_);
        return driver::call(cu_.cuMemsetD8Async, at, byte, width, stream_);
      }
      if (unit == 4)
        return driver::call(cu_.cuMemsetD2D32Async, at, pitch, word, width, height, stream_);
      if (unit == 2)
        return driver::call(cu_.cuMemsetD2D16Async, at, pitch, half, width, height, stream_);
      driver::call(cu_.cuMemsetD2D8Async, at, pitch, byte, width, height, stream_);
    });
  }

 private:
  const driver::Driver &cu_;
  driver::CUstream stream_;
};

// The largest of 4, 2 and 1 bytes that divides the item, the address and all steps.
int64_t unit_of(const Walk &walk, uint32_t itemsize) noexcept {
  uint64_t all = walk.to | itemsize;
  for (int32_t i = 0; i < walk.count; ++i) all |= static_cast<uint64_t>(walk.axes[i].to);
  return all % 4 == 0 ? 4 : all % 2 == 0 ? 2 : 1;
}

// Whether an item is a repetition of its first `unit` bytes.
bool repeats(const unsigned char *item, uint32_t itemsize, int64_t unit) noexcept {
  return std::memcmp(item, item + unit, itemsize - size(unit)) == 0;
}

}  // namespace

void copy_on_device(const driver::Driver &cu, const Walk &walk, const Side &to, const Side &from,
                    driver::CUstream stream) {
  const Copy copy(cu, to, from, stream);
  Walk outer = walk;
  const int64_t run = walk.run;
  const auto is_pitch = [run](int64_t pitch) { return pitch >= run && pitch <= most_pitch; };
  const Axis rows = take_longest(
      outer, [&](const Axis &axis) { return is_pitch(axis.to) && is_pitch(axis.from); });
  if (rows.extent == 1) {
    return for_each_piece(outer, [&](uint64_t a, uint64_t b) { copy.piece(a, b, size(walk.run)); });
  }
  const auto is_slice = [&rows](int64_t step, int64_t pitch) {
    return step % pitch == 0 && step / pitch >= rows.extent;
  };
  const Axis slices = take_longest(outer, [&](const Axis &axis) {
    return is_slice(axis.to, rows.to) && is_slice(axis.from, rows.from);
  });
  for_each_piece(outer, [&](uint64_t a, uint64_t b) { copy.box(a, b, run, rows, slices); });
}

void fill_on_device(const driver::Driver &cu, const Walk &walk, const void *item, uint32_t itemsize,
                    driver::CUstream stream) {
  const Fill fill(cu, stream);
  const auto *const bytes = static_cast<const unsigned char *>(item);
  const int64_t most = unit_of(walk, itemsize);
  for (int64_t unit = 1; unit <= most; unit *= 2) {
    if (repeats(bytes, itemsize, unit)) return fill.pieces(walk, bytes, unit);
  }
  // One unit of the item at a time, in all items.
  Walk units = walk;
  const int64_t items = walk.run / itemsize;
  if (items > 1) units.axes[units.count++] = {items, itemsize, itemsize};
  units.run = most;
  for (int64_t offset = 0; offset < itemsize; offset += most) {
    fill.pieces(units, bytes + offset, most);
    units.to += static_cast<uint64_t>(most);
  }
}

}  // namespace cai::transfer
