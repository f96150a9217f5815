// SPDX-License-Identifier: BSD-3-Clause
// Devices: their properties.

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

// The attributes that are not 0: those of an H100, except for features that simcuda lacks. They do
// not identify the device.
constexpr DeviceAttribute device_attributes[] = {
    {1, 1024},                                   // threads of a block
    {2, 1024},        {3, 1024},    {4, 64},     // sizes of a block
    {5, 2147483647},  {6, 65535},   {7, 65535},  // sizes of a grid
    {8, 49152},                                  // shared memory of a block
    {9, 65536},                                  // constant memory
    {10, 32},                                    // warp size
    {11, 2147483647},                            // pitch
    {12, 65536},                                 // registers of a block
    {13, 1980000},                               // clock rate
    {14, 512},                                   // alignment of textures
    {15, 1},                                     // overlap
    {16, 132},                                   // multiprocessors
    {19, 1},                                     // host memory can be mapped
    {21, 131072},     {22, 131072}, {23, 65536}, {24, 16384},   {25, 16384},
    {26, 16384},      {27, 32768},  {28, 32768}, {29, 2048},  // sizes of textures
    {30, 512},                                                // alignment of surfaces
    {31, 1},                                                  // concurrent kernels
    {32, 1},                                                  // ECC
    {36, 2619000},                                            // memory clock rate
    {37, 5120},                                               // memory bus width
    {38, 52428800},                                           // L2 cache
    {39, 2048},                                               // threads of a multiprocessor
    {40, 3},                                                  // copy engines
    {41, 1},                                                  // unified addressing
    {42, 32768},      {43, 2048},   {44, 1},                  // sizes of layered textures
    {45, 32768},      {46, 32768},                // sizes of textures that can be gathered
    {47, 8192},       {48, 8192},   {49, 32768},  // other sizes of textures of three dimensions
    {51, 32},                                     // alignment of the pitch of textures
    {52, 32768},      {53, 32768},  {54, 2046},   // sizes of cubes
    {55, 32768},      {56, 131072}, {57, 65536}, {58, 16384},   {59, 16384},
    {60, 16384},      {61, 32768},  {62, 2048},  {63, 32768},   {64, 32768},
    {65, 2048},       {66, 32768},  {67, 32768}, {68, 2046},     // sizes of surfaces
    {69, 268435456},  {70, 131072}, {71, 65000}, {72, 2097120},  // sizes of linear textures
    {73, 32768},      {74, 32768},                               // sizes of textures with mipmaps
    {75, 9},          {76, 0},                                   // compute capability
    {77, 32768},                   // sizes of textures with mipmaps of one dimension
    {78, 1},                       // stream priorities
    {79, 1},          {80, 1},     // L1 caches
    {81, 233472},                  // shared memory of a multiprocessor
    {82, 65536},                   // registers of a multiprocessor
    {83, 1},                       // managed memory
    {87, 2},                       // single to double precision
    {89, 1},                       // concurrent managed access
    {90, 1},                       // compute preemption
    {95, 1},                       // cooperative launch
    {97, 232448},                  // shared memory of a block that opts in
    {99, 1},                       // host register
    {102, 1},                      // virtual memory management
    {103, 1},                      // handles that are descriptors
    {106, 32},                     // blocks of a multiprocessor
    {108, 32768000},               // persisting L2 cache
    {109, 134217728},              // access policy window
    {111, 1024},                   // reserved shared memory of a block
    {113, 1},                      // read-only host memory can be registered
    {115, 1},                      // memory pools
    {116, 1},                      // GPUDirect RDMA
    {117, 1},         {118, 100},  // how its writes are flushed and ordered
    {119, 1},                      // what pools can be shared as: descriptors
    {120, 1},                      // cluster launch
    {125, 1},                      // events between processes
    {126, 4},                      // memory synchronisation domains
    {129, 1},                      // unified function pointers
    {130, 0},         {131, -1},   // no NUMA node of its own
    {142, 1},         {144, 1},    // pools on the host
};
// By the versions whose headers have been read. A driver in between counts as the older one.
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
    const int pci_bus_attribute = 33, one_address_attribute = 91;
    if (attribute == pci_bus_attribute)
      required(value) = pci_bus(d);
    else if (attribute == one_address_attribute)
      required(value) = !Settings::get().two_addresses;
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
