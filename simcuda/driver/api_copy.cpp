// SPDX-License-Identifier: BSD-3-Clause
// Copies in one, two and three dimensions. Whether the host waits follows the page "API
// synchronization behavior" in the manual of the driver API.

#include <cstring>

#include "array.h"
#include "call.h"
#include "capture.h"
#include "graph_work.h"
#include "pool.h"

using namespace simcuda;

namespace {

struct Shape {
  std::size_t width, height = 1, depth = 1;
};

// One side of a copy: rows with a pitch, and slices with a slice pitch.
struct Side {
  Place place;
  std::size_t pitch = 0, slice = 0;

  std::size_t row(std::size_t y, std::size_t z) const { return z * slice + y * pitch; }
};

enum class Host { waits, goes_on };

Access access(const Side &side, const Shape &shape, bool write) {
  const Place &place = side.place;
  return {place.allocation, place.address, shape.width, write,
          shape.height,     side.pitch,    shape.depth, side.slice};
}

void copy_rows(const Side &to, const Side &from, const Shape &shape) {
  for (std::size_t z = 0; z < shape.depth; ++z)
    for (std::size_t y = 0; y < shape.height; ++y)
      copy_bytes(to.place, to.row(y, z), from.place, from.row(y, z), shape.width);
}

// Copies pageable memory into a buffer: the client may change it as soon as the call returns.
std::shared_ptr<std::vector<std::byte>> stage(const Side &from, const Shape &shape) {
  auto bytes = std::make_shared<std::vector<std::byte>>(shape.width * shape.height * shape.depth);
  std::byte *out = bytes->data();
  for (std::size_t z = 0; z < shape.depth; ++z)
    for (std::size_t y = 0; y < shape.height; ++y, out += shape.width)
      std::memcpy(out, from.place.bytes + from.row(y, z), shape.width);
  return bytes;
}

// The client's parameters for a copy without pitches.
CUDA_MEMCPY3D parameters_of(const Place &to, const Place &from, std::size_t bytes) {
  CUDA_MEMCPY3D p{};
  p.srcMemoryType = from.on_host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  p.dstMemoryType = to.on_host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  if (from.on_host())
    p.srcHost = reinterpret_cast<const void *>(from.address);
  else
    p.srcDevice = from.address;
  if (to.on_host())
    p.dstHost = reinterpret_cast<void *>(to.address);
  else
    p.dstDevice = to.address;
  p.srcPitch = p.dstPitch = p.WidthInBytes = bytes;
  p.srcHeight = p.dstHeight = p.Height = p.Depth = 1;
  return p;
}

// The memory that a copy uses: what its device can access, or the contexts that it names.
enum class Reach { of_device, of_contexts };

// With the client's parameters, unless they were only two addresses.
void copy(Session &s, const std::shared_ptr<Stream> &stream, const Side &to, const Side &from,
          const Shape &shape, Host host, const CUDA_MEMCPY3D *given = nullptr,
          Reach reach = Reach::of_device) {
  if (shape.width == 0 || shape.height == 0 || shape.depth == 0) return;
  const bool among_devices = !to.place.on_host() && !from.place.on_host();
  for (auto *side : {&to, &from}) {
    if (!side->place.allocation) continue;
    refuse_lost(s.driver, *side->place.allocation);
    if (among_devices && reach == Reach::of_device)
      refuse_inaccessible(*side->place.allocation, stream->context->device);
  }
  if (host == Host::waits) refuse_capturing(*stream);
  std::vector<Access> accesses{access(from, shape, false), access(to, shape, true)};

  const bool staged = from.place.pageable() && !to.place.on_host() && !stream->capture;
  bool wait =
      host == Host::waits && ((owner_of(stream->context)->flags & CU_CTX_SYNC_MEMOPS) ||
                              (to.place.allocation && to.place.allocation->sync_memops) ||
                              (from.place.allocation && from.place.allocation->sync_memops));
  if (from.place.on_host() && to.place.on_host())
    wait = true;
  else if (to.place.on_host())
    wait = wait || host == Host::waits || to.place.pageable();
  else if (from.place.on_host())
    wait = wait || (host == Host::waits && !staged);

  auto operation = std::make_shared<Operation>();
  operation->what = "copy";
  if (staged) {
    // The blocking form waits for the stream before it stages; it does not wait otherwise.
    if (host == Host::waits) s.finish(stream);
    auto bytes = stage(from, shape);
    s.driver.races.host_uses(accesses.front());
    accesses.erase(accesses.begin());
    const Side source{{nullptr, 0, bytes->data()}, shape.width, shape.width * shape.height};
    operation->run = [=] {
      copy_rows(to, source, shape);
      bytes->clear();
    };
  } else {
    operation->run = [=] { copy_rows(to, from, shape); };
  }
  operation->accesses = std::move(accesses);
  if (stream->capture)
    operation->parameters = std::make_shared<const NodeParameters>(NodeParameters{
        given ? *given : parameters_of(to.place, from.place, shape.width), stream->context, {}});
  operation = s.submit(stream, std::move(operation));
  if (wait && operation) s.finish(std::vector<OperationPtr>{operation});
  if (wait || host == Host::goes_on) return;
  for (auto *side : {&to, &from})
    if (side->place.allocation) side->place.allocation->go_on_without(*stream, operation);
}

Side linear(Place place) {
  return {std::move(place)};
}

void copy_linear(Session &s, CUstream stream, Place to, Place from, std::size_t bytes, Host host,
                 Reach reach = Reach::of_device) {
  copy(s, s.stream(stream), linear(std::move(to)), linear(std::move(from)), {bytes}, host, nullptr,
       reach);
}

// A size of 0 is allowed whatever the pointers are.
Place any(Session &s, std::uintptr_t address, std::size_t bytes) {
  return bytes ? s.driver.memory.place(address, bytes) : Place{};
}

Place device(Session &s, CUdeviceptr address, std::size_t bytes) {
  return bytes ? s.driver.memory.device_place(address, bytes) : Place{};
}

struct SideParameters {
  std::size_t x, y, z;
  int type;
  const void *host;
  CUdeviceptr device;
  CUarray array;
  std::size_t pitch, height;
};

constexpr std::size_t most_pitch = 0x7FFFFFFF;  // attribute 11 of the device

// factor * count + more, if that does not overflow.
std::size_t sum(std::size_t factor, std::size_t count, std::size_t more) {
  std::size_t product = 0, result = 0;
  if (__builtin_mul_overflow(factor, count, &product) ||
      __builtin_add_overflow(product, more, &result))
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  return result;
}

// Pitch and height are those of the array.
Side side_of_array(Session &s, const SideParameters &p, const Shape &shape) {
  const auto array = s.driver.arrays.get(p.array);
  if (sum(1, p.x, shape.width) > array->row || sum(1, p.y, shape.height) > array->rows ||
      sum(1, p.z, shape.depth) > array->slices)
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  Side side;
  side.pitch = array->pitch;
  side.slice = array->pitch * array->rows;
  const std::size_t offset = array->offset + side.row(p.y, p.z) + p.x;
  side.place = {array->allocation, array->allocation->address + offset,
                array->allocation->bytes + offset};
  return side;
}

Side side_of(Session &s, const SideParameters &p, const Shape &shape) {
  if (shape.width == 0 || shape.height == 0 || shape.depth == 0) return {};
  if (p.type == CU_MEMORYTYPE_ARRAY) return side_of_array(s, p, shape);
  // Without a pitch the rows are contiguous, and without a height the slices.
  const std::size_t row_end = sum(1, p.x, shape.width), slice_end = sum(1, p.y, shape.height);
  if ((p.pitch && p.pitch < row_end) || (p.height && p.height < slice_end))
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  Side side;
  side.pitch = p.pitch ? p.pitch : row_end;
  side.slice = sum(side.pitch, p.height ? p.height : slice_end, 0);
  // An H100 does not check this, and with a pitch of 2^64 - 8 it goes upwards, by 8 bytes. simcuda
  // reports an error, because the manual forbids it.
  if (side.pitch > most_pitch && shape.height > 1) throw Refused{CUDA_ERROR_INVALID_VALUE};
  const std::size_t span =
      sum(shape.depth - 1, side.slice, sum(shape.height - 1, side.pitch, shape.width));
  const std::size_t offset = sum(p.z, side.slice, sum(p.y, side.pitch, p.x));
  const auto place = [&](std::uintptr_t base) { return sum(1, base, offset); };
  switch (p.type) {
    case CU_MEMORYTYPE_HOST:
      side.place = s.driver.memory.place(place(address_of(p.host)), span);
      return side;
    case CU_MEMORYTYPE_UNIFIED:
      side.place = s.driver.memory.place(place(p.device), span);
      return side;
    case CU_MEMORYTYPE_DEVICE:
      side.place = s.driver.memory.device_place(place(p.device), span);
      return side;
    default:
      throw Refused{CUDA_ERROR_INVALID_VALUE};
  }
}

void copy_3d(Session &s, const CUDA_MEMCPY3D *parameters, const std::shared_ptr<Stream> &stream,
             Host host, Reach reach = Reach::of_device) {
  const CUDA_MEMCPY3D &p = required(parameters);
  const Shape shape{p.WidthInBytes, p.Height, p.Depth};
  const Side from = side_of(s,
                            {p.srcXInBytes, p.srcY, p.srcZ, p.srcMemoryType, p.srcHost, p.srcDevice,
                             p.srcArray, p.srcPitch, p.srcHeight},
                            shape);
  const Side to = side_of(s,
                          {p.dstXInBytes, p.dstY, p.dstZ, p.dstMemoryType, p.dstHost, p.dstDevice,
                           p.dstArray, p.dstPitch, p.dstHeight},
                          shape);
  copy(s, stream, to, from, shape, host, parameters, reach);
}

void copy_2d(Session &s, const CUDA_MEMCPY2D *parameters, CUstream stream, Host host) {
  const CUDA_MEMCPY2D &p = required(parameters);
  CUDA_MEMCPY3D flat{};
  flat.srcXInBytes = p.srcXInBytes;
  flat.srcY = p.srcY;
  flat.srcMemoryType = p.srcMemoryType;
  flat.srcHost = p.srcHost;
  flat.srcDevice = p.srcDevice;
  flat.srcArray = p.srcArray;
  flat.srcPitch = p.srcPitch;
  flat.dstXInBytes = p.dstXInBytes;
  flat.dstY = p.dstY;
  flat.dstMemoryType = p.dstMemoryType;
  flat.dstHost = p.dstHost;
  flat.dstDevice = p.dstDevice;
  flat.dstArray = p.dstArray;
  flat.dstPitch = p.dstPitch;
  flat.WidthInBytes = p.WidthInBytes;
  flat.Height = p.Height;
  flat.Depth = 1;
  copy_3d(s, &flat, s.stream(stream), host);
}

}  // namespace

SIM_API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return call(__func__, {to, from, bytes}, [&](Session &s) {
    copy_linear(s, nullptr, any(s, to, bytes), any(s, from, bytes), bytes, Host::waits);
  });
}

SIM_API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                               CUstream stream) {
  return call(__func__, {to, from, bytes, stream}, [&](Session &s) {
    copy_linear(s, stream, any(s, to, bytes), any(s, from, bytes), bytes, Host::goes_on);
  });
}

SIM_API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, std::size_t bytes) {
  return call(__func__, {to, from, bytes}, [&](Session &s) {
    copy_linear(s, nullptr, device(s, to, bytes), any(s, address_of(from), bytes), bytes,
                Host::waits);
  });
}

SIM_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, std::size_t bytes,
                                      CUstream stream) {
  return call(__func__, {to, from, bytes, stream}, [&](Session &s) {
    copy_linear(s, stream, device(s, to, bytes), any(s, address_of(from), bytes), bytes,
                Host::goes_on);
  });
}

SIM_API CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, std::size_t bytes) {
  return call(__func__, {to, from, bytes}, [&](Session &s) {
    copy_linear(s, nullptr, any(s, address_of(to), bytes), device(s, from, bytes), bytes,
                Host::waits);
  });
}

SIM_API CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, std::size_t bytes,
                                      CUstream stream) {
  return call(__func__, {to, from, bytes, stream}, [&](Session &s) {
    copy_linear(s, stream, any(s, address_of(to), bytes), device(s, from, bytes), bytes,
                Host::goes_on);
  });
}

SIM_API CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return call(__func__, {to, from, bytes}, [&](Session &s) {
    copy_linear(s, nullptr, device(s, to, bytes), device(s, from, bytes), bytes, Host::waits);
  });
}

SIM_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                                      CUstream stream) {
  return call(__func__, {to, from, bytes, stream}, [&](Session &s) {
    copy_linear(s, stream, device(s, to, bytes), device(s, from, bytes), bytes, Host::goes_on);
  });
}

SIM_API CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                              CUcontext from_context, std::size_t bytes) {
  return call(__func__, {to, to_context, from, from_context, bytes}, [&](Session &s) {
    // Serialised with all work of the contexts involved, before and after: here, by finishing it
    // all.
    for (auto &context : {s.current(), s.context(to_context), s.context(from_context)}) {
      refuse_context_sync(s, *context);
      s.finish([&](const Context &other) { return &other == context.get(); });
    }
    copy_linear(s, nullptr, device(s, to, bytes), device(s, from, bytes), bytes, Host::waits,
                Reach::of_contexts);
    s.finish(s.stream(nullptr));
  });
}

SIM_API CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                   CUcontext from_context, std::size_t bytes, CUstream stream) {
  return call(__func__, {to, to_context, from, from_context, bytes, stream}, [&](Session &s) {
    s.context(to_context);
    s.context(from_context);
    copy_linear(s, stream, device(s, to, bytes), device(s, from, bytes), bytes, Host::goes_on,
                Reach::of_contexts);
  });
}

SIM_API CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *parameters) {
  return call(__func__, {parameters},
              [&](Session &s) { copy_2d(s, parameters, nullptr, Host::waits); });
}

SIM_API CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *parameters) {
  return call(__func__, {parameters},
              [&](Session &s) { copy_2d(s, parameters, nullptr, Host::waits); });
}

SIM_API CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *parameters, CUstream stream) {
  return call(__func__, {parameters, stream},
              [&](Session &s) { copy_2d(s, parameters, stream, Host::goes_on); });
}

SIM_API CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *parameters) {
  return call(__func__, {parameters},
              [&](Session &s) { copy_3d(s, parameters, s.stream(nullptr), Host::waits); });
}

SIM_API CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *parameters, CUstream stream) {
  return call(__func__, {parameters, stream},
              [&](Session &s) { copy_3d(s, parameters, s.stream(stream), Host::goes_on); });
}

SIM_API CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *parameters, CUstream stream) {
  return call(__func__, {parameters, stream}, [&](Session &s) {
    const CUDA_MEMCPY3D_PEER &p = required(parameters);
    s.context(p.srcContext);
    s.context(p.dstContext);
    // This struct has contexts where the other one has reserved words. Here the addresses are
    // enough.
    CUDA_MEMCPY3D plain;
    static_assert(sizeof plain == sizeof p);
    std::memcpy(static_cast<void *>(&plain), &p, sizeof plain);
    plain.srcReserved = plain.dstReserved = nullptr;
    copy_3d(s, &plain, s.stream(stream), Host::goes_on, Reach::of_contexts);
  });
}

NodeWorkPtr simcuda::copy_work(Session &s, const std::shared_ptr<Context> &context,
                               const CUDA_MEMCPY3D *parameters) {
  const CUDA_MEMCPY3D &p = required(parameters);
  if (!p.WidthInBytes || !p.Height || !p.Depth) throw Refused{CUDA_ERROR_INVALID_VALUE};
  return node_work(context, [&](auto &stream) { copy_3d(s, parameters, stream, Host::goes_on); });
}
