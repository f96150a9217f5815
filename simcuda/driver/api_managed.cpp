// SPDX-License-Identifier: BSD-3-Clause
// Hints about managed memory. All devices can access it anyway, so hints are only kept and
// returned. A hint about a part of an allocation applies to all of it.

#include <algorithm>
#include <cstring>

#include "call.h"
#include "capture.h"

using namespace simcuda;

namespace {

Allocation &managed_at(Session &s, CUdeviceptr pointer, std::size_t bytes) {
  const auto place = s.driver.memory.device_place(pointer, bytes);
  if (place.allocation->kind != Allocation::Kind::managed) throw Refused{CUDA_ERROR_INVALID_VALUE};
  return *place.allocation;
}

CUmemLocation location_of(CUdevice device) {
  if (device == CU_DEVICE_CPU) return {CU_MEM_LOCATION_TYPE_HOST, 0};
  return {CU_MEM_LOCATION_TYPE_DEVICE, device};
}

void check_place(Session &s, const CUmemLocation &location) {
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE)
    s.driver.device(location.id);
  else if (location.type < CU_MEM_LOCATION_TYPE_HOST ||
           location.type > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
    throw Refused{CUDA_ERROR_INVALID_VALUE};
}

void prefetch(Session &s, CUdeviceptr pointer, std::size_t bytes, const CUmemLocation &location,
              CUstream handle) {
  auto stream = s.stream(handle);
  Allocation &allocation = managed_at(s, pointer, bytes);
  check_place(s, location);
  s.submit(stream, "prefetch", {}, nullptr);
  allocation.prefetched = location;
}

// Ranges of managed memory, and the location of each.
struct Batch {
  const CUdeviceptr *pointers;
  const std::size_t *sizes;
  std::size_t count;
  unsigned long long flags;
  CUstream stream;
  const CUmemLocation *places = nullptr;
  const std::size_t *first_of_place = nullptr;  // of the ranges for that location
  std::size_t place_count = 0;
};

void submit_batch(Session &s, const Batch &batch, bool discards, bool prefetches) {
  required(batch.pointers);
  required(batch.sizes);
  auto stream = s.stream(batch.stream);
  if (!batch.count || batch.flags || stream->kind == Stream::Kind::legacy)
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  std::vector<Place> ranges;
  for (std::size_t i = 0; i < batch.count; ++i) {
    managed_at(s, batch.pointers[i], batch.sizes[i]);
    ranges.push_back(s.driver.memory.device_place(batch.pointers[i], batch.sizes[i]));
  }
  if (prefetches) {
    if (!batch.place_count || batch.place_count > batch.count || required(batch.first_of_place))
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    for (std::size_t i = 0; i < batch.place_count; ++i) {
      check_place(s, (&required(batch.places))[i]);
      const std::size_t first = batch.first_of_place[i];
      if (first >= batch.count || (i && first < batch.first_of_place[i - 1]))
        throw Refused{CUDA_ERROR_INVALID_VALUE};
    }
  }
  // Discarded memory may hold anything, so it is poisoned: a read of it shows, with or without a
  // race.
  std::vector<Access> accesses;
  for (std::size_t i = 0; discards && i < batch.count; ++i)
    accesses.push_back({ranges[i].allocation, ranges[i].address, batch.sizes[i], true});
  std::function<void()> discard;
  if (discards)
    discard = [ranges, sizes = std::vector(batch.sizes, batch.sizes + batch.count)] {
      for (std::size_t i = 0; i < ranges.size(); ++i)
        if (!ranges[i].allocation->dead) std::memset(ranges[i].bytes, fresh_poison, sizes[i]);
    };
  s.submit(stream, discards ? "discard" : "prefetch", std::move(accesses), std::move(discard));
  // If two locations begin with the same range, the first one gets it. On an H200, the last one
  // does not get it either.
  for (std::size_t i = 0, place = 0; prefetches && i < batch.count; ++i) {
    if (i && place + 1 < batch.place_count && i >= batch.first_of_place[place + 1]) ++place;
    ranges[i].allocation->prefetched = batch.places[place];
  }
}

void advise(Session &s, CUdeviceptr pointer, std::size_t bytes, int advice,
            const CUmemLocation &location) {
  Allocation &allocation = managed_at(s, pointer, bytes);
  const int device = location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : CU_DEVICE_CPU;
  switch (advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
      allocation.read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
      return;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
      check_place(s, location);
      allocation.preferred = location;
      return;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
      allocation.preferred = {CU_MEM_LOCATION_TYPE_INVALID, 0};
      return;
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
      check_place(s, location);
      allocation.accessed_by.insert(device);
      return;
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
      check_place(s, location);
      allocation.accessed_by.erase(device);
      return;
    default:
      throw Refused{CUDA_ERROR_INVALID_VALUE};
  }
}

int device_in(const CUmemLocation &location) {
  if (location.type == CU_MEM_LOCATION_TYPE_INVALID) return CU_DEVICE_INVALID;
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : CU_DEVICE_CPU;
}

int attribute_of(const Allocation &allocation, int attribute) {
  switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
      return allocation.read_mostly;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
      return device_in(allocation.preferred);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      return device_in(allocation.prefetched);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
      return allocation.preferred.type;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
      return allocation.preferred.id;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
      return allocation.prefetched.type;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
      return allocation.prefetched.id;
    default:
      throw Refused{CUDA_ERROR_INVALID_VALUE};
  }
}

void tell_attribute(const Allocation &allocation, void *data, std::size_t size, int attribute) {
  if (!data || !size || size % sizeof(int)) throw Refused{CUDA_ERROR_INVALID_VALUE};
  const auto store = [&](std::size_t i, int value) {
    std::memcpy(static_cast<char *>(data) + i * sizeof value, &value, sizeof value);
  };
  if (attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY) {
    auto device = allocation.accessed_by.begin();
    for (std::size_t i = 0; i < size / sizeof(int); ++i)
      store(i, device == allocation.accessed_by.end() ? CU_DEVICE_INVALID : *device++);
    return;
  }
  const int value = attribute_of(allocation, attribute);
  if (size != sizeof value) throw Refused{CUDA_ERROR_INVALID_VALUE};
  store(0, value);
}

CUresult prefetch_batch(const char *symbol, const Batch &batch, bool discards) {
  return call(symbol,
              {batch.pointers, batch.sizes, batch.count, batch.places, batch.first_of_place,
               batch.place_count, batch.flags, batch.stream},
              [&](Session &s) { submit_batch(s, batch, discards, true); });
}

}  // namespace

SIM_API CUresult cuMemPrefetchAsync(CUdeviceptr pointer, std::size_t bytes, CUdevice device,
                                    CUstream stream) {
  return call(__func__, {pointer, bytes, device, stream},
              [&](Session &s) { prefetch(s, pointer, bytes, location_of(device), stream); });
}

SIM_API CUresult cuMemPrefetchAsync_v2(CUdeviceptr pointer, std::size_t bytes,
                                       CUmemLocation location, unsigned flags, CUstream stream) {
  return call(__func__, {pointer, bytes, location.type, location.id, flags, stream},
              [&](Session &s) {
                if (flags) throw Refused{CUDA_ERROR_INVALID_VALUE};
                prefetch(s, pointer, bytes, location, stream);
              });
}

SIM_API CUresult cuMemPrefetchBatchAsync(CUdeviceptr *pointers, std::size_t *sizes,
                                         std::size_t count, CUmemLocation *places,
                                         std::size_t *first_of_place, std::size_t place_count,
                                         unsigned long long flags, CUstream stream) {
  return prefetch_batch(
      __func__, {pointers, sizes, count, flags, stream, places, first_of_place, place_count},
      false);
}

SIM_API CUresult cuMemDiscardBatchAsync(CUdeviceptr *pointers, std::size_t *sizes,
                                        std::size_t count, unsigned long long flags,
                                        CUstream stream) {
  return call(__func__, {pointers, sizes, count, flags, stream}, [&](Session &s) {
    submit_batch(s, {pointers, sizes, count, flags, stream}, true, false);
  });
}

SIM_API CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *pointers, std::size_t *sizes,
                                                   std::size_t count, CUmemLocation *places,
                                                   std::size_t *first_of_place,
                                                   std::size_t place_count,
                                                   unsigned long long flags, CUstream stream) {
  return prefetch_batch(
      __func__, {pointers, sizes, count, flags, stream, places, first_of_place, place_count}, true);
}

SIM_API CUresult cuMemAdvise(CUdeviceptr pointer, std::size_t bytes, int advice, CUdevice device) {
  return call(__func__, {pointer, bytes, advice, device},
              [&](Session &s) { advise(s, pointer, bytes, advice, location_of(device)); });
}

SIM_API CUresult cuMemAdvise_v2(CUdeviceptr pointer, std::size_t bytes, int advice,
                                CUmemLocation location) {
  return call(__func__, {pointer, bytes, advice, location.type, location.id},
              [&](Session &s) { advise(s, pointer, bytes, advice, location); });
}

SIM_API CUresult cuMemRangeGetAttribute(void *data, std::size_t size, int attribute,
                                        CUdeviceptr pointer, std::size_t bytes) {
  return call(__func__, {data, size, attribute, pointer, bytes}, [&](Session &s) {
    tell_attribute(managed_at(s, pointer, bytes), data, size, attribute);
  });
}

SIM_API CUresult cuMemRangeGetAttributes(void **data, std::size_t *sizes, int *attributes,
                                         std::size_t count, CUdeviceptr pointer,
                                         std::size_t bytes) {
  return call(__func__, {data, sizes, attributes, count, pointer, bytes}, [&](Session &s) {
    required(data);
    required(sizes);
    required(attributes);
    if (!count) throw Refused{CUDA_ERROR_INVALID_VALUE};
    const Allocation &allocation = managed_at(s, pointer, bytes);
    for (std::size_t i = 0; i < count; ++i)
      tell_attribute(allocation, data[i], sizes[i], attributes[i]);
  });
}
