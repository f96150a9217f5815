// SPDX-License-Identifier: BSD-3-Clause
// Devices: what they are and what they can do.

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "call.h"

using namespace simcuda;

namespace {

struct DeviceAttribute {
  int number;
  int value;
};

// Those that are not 0. A compute capability of 9.0, with the limits that go with it.
constexpr DeviceAttribute device_attributes[] = {
    {1, 1024},                                               // max threads per block
    {2, 1024},        {3, 1024},    {4, 64},                 // max block dimensions
    {5, 2147483647},  {6, 65535},   {7, 65535},              // max grid dimensions
    {8, 49152},                                              // shared memory per block
    {9, 65536},                                              // constant memory
    {10, 32},                                                // warp size
    {11, 2147483647},                                        // max pitch
    {12, 65536},                                             // registers per block
    {13, 1000000},                                           // clock rate
    {14, 512},                                               // texture alignment
    {15, 1},                                                 // GPU overlap
    {16, 132},                                               // multiprocessors
    {19, 1},                                                 // can map host memory
    {21, 131072},     {22, 131072}, {23, 65536}, {30, 512},  // surface alignment
    {31, 1},                                                 // concurrent kernels
    {36, 1000000},                                           // memory clock rate
    {37, 256},                                               // memory bus width
    {38, 4194304},                                           // L2 cache
    {39, 2048},                                              // threads per multiprocessor
    {40, 2},                                                 // async engines
    {41, 1},                                                 // unified addressing
    {51, 32},                                                // texture pitch alignment
    {75, 9},          {76, 0},                               // compute capability
    {78, 1},                                                 // stream priorities
    {79, 1},          {80, 1},                               // L1 caches
    {81, 233472},                                            // shared memory per multiprocessor
    {82, 65536},                                             // registers per multiprocessor
    {83, 1},                                                 // managed memory
    {89, 1},                                                 // concurrent managed access
    {90, 1},                                                 // compute preemption
    {91, 0},       // host pointers of registered memory are *not* the device's: see README.md
    {95, 1},       // cooperative launch
    {97, 232448},  // opt-in shared memory per block
    {99, 1},       // host register
    {103, 1},      // handles that are descriptors
    {106, 32},     // blocks per multiprocessor
    {111, 1024},   // reserved shared memory per block
    {115, 1},      // memory pools
    {119, 1},      // what they can be shared as: descriptors
    {120, 1},      // cluster launch
    {125, 1},      // events between processes
    {129, 1},      // unified function pointers
    {130, 0},         {131, -1},    {134, -1},  // no NUMA
};
// By the versions whose headers have been read; a driver in between is taken for the older one.
int last_device_attribute() {
  const Settings &settings = Settings::get();
  if (settings.is_since(13000)) return 147;
  if (settings.is_since(12080)) return 143;
  return settings.is_since(12040) ? 134 : 124;
}

int pci_bus(const Device &device) {
  return device.physical + 1;
}

}  // namespace

SIM_API CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  return call(__func__, {device, ordinal},
              [&](Session &s) { required(device) = s.driver.device(ordinal).ordinal; });
}

SIM_API CUresult cuDeviceGetCount(int *count) {
  return call(__func__, {count},
              [&](Session &s) { required(count) = static_cast<int>(s.driver.devices.size()); });
}

SIM_API CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  return call(__func__, {name, length, device}, [&](Session &s) {
    const Device &d = s.driver.device(device);
    if (length < 1) throw Refused{CUDA_ERROR_INVALID_VALUE};
    std::snprintf(&required(name), static_cast<std::size_t>(length), "simcuda simulated device %d",
                  d.physical);
  });
}

SIM_API CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
  return call(__func__, {uuid, device},
              [&](Session &s) { required(uuid) = uuid_of(s.driver.device(device).physical); });
}

SIM_API CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
  return call(__func__, {uuid, device},
              [&](Session &s) { required(uuid) = uuid_of(s.driver.device(device).physical); });
}

SIM_API CUresult cuDeviceTotalMem_v2(std::size_t *bytes, CUdevice device) {
  return call(__func__, {bytes, device},
              [&](Session &s) { required(bytes) = s.driver.device(device).total; });
}

SIM_API CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
  return call(__func__, {value, attribute, device}, [&](Session &s) {
    Device &d = s.driver.device(device);
    if (attribute < 1 || attribute > last_device_attribute())
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    auto known = std::find_if(std::begin(device_attributes), std::end(device_attributes),
                              [&](auto &a) { return a.number == attribute; });
    const int pci_bus_attribute = 33;
    if (attribute == pci_bus_attribute)
      required(value) = pci_bus(d);
    else
      required(value) = known == std::end(device_attributes) ? 0 : known->value;
  });
}

SIM_API CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device) {
  return call(__func__, {major, minor, device}, [&](Session &s) {
    s.driver.device(device);
    required(major) = 9;
    required(minor) = 0;
  });
}

SIM_API CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice device) {
  return call(__func__, {id, length, device}, [&](Session &s) {
    const int least = 13;
    if (length < least) throw Refused{CUDA_ERROR_INVALID_VALUE};
    std::snprintf(&required(id), static_cast<std::size_t>(length), "0000:%02X:00.0",
                  pci_bus(s.driver.device(device)));
  });
}

SIM_API CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *id) {
  return call(__func__, {device, id}, [&](Session &s) {
    unsigned domain = 0, bus = 0, slot = 0;
    const bool full = std::sscanf(&required(id), "%x:%x:%x", &domain, &bus, &slot) == 3;
    if (!full) {  // without the domain
      domain = 0;
      if (std::sscanf(id, "%x:%x", &bus, &slot) != 2) throw Refused{CUDA_ERROR_INVALID_VALUE};
    }
    for (auto &d : s.driver.devices)
      if (static_cast<unsigned>(pci_bus(d)) == bus && domain == 0 && slot == 0) {
        required(device) = d.ordinal;
        return;
      }
    throw Refused{CUDA_ERROR_INVALID_DEVICE};
  });
}

SIM_API CUresult cuDeviceCanAccessPeer(int *yes, CUdevice device, CUdevice peer) {
  return call(__func__, {yes, device, peer}, [&](Session &s) {
    required(yes) = s.driver.device(device).ordinal != s.driver.device(peer).ordinal;
  });
}

SIM_API CUresult cuDeviceGetP2PAttribute(int *value, int attribute, CUdevice source,
                                         CUdevice destination) {
  return call(__func__, {value, attribute, source, destination}, [&](Session &s) {
    const int access_supported = 2;
    if (s.driver.device(source).ordinal == s.driver.device(destination).ordinal || attribute < 1 ||
        attribute > 4)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    required(value) = attribute == access_supported;
  });
}

SIM_API CUresult cuMemGetInfo_v2(std::size_t *free, std::size_t *total) {
  return call(__func__, {free, total}, [&](Session &s) {
    const Device &d = s.driver.device(s.current()->device);
    required(free) = d.total - d.used;
    required(total) = d.total;
  });
}
