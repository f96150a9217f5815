// SPDX-License-Identifier: BSD-3-Clause
// The memory that devices hold for graphs.

#include "call.h"
#include "graph.h"

using namespace simcuda;

SIM_API CUresult cuDeviceGetGraphMemAttribute(CUdevice device, int attribute, void *value) {
  return call(__func__, {device, attribute, value}, [&](Session &s) {
    const Device &d = s.driver.device(device);
    const std::uint64_t known[] = {d.graph_used, d.graph_used_high, d.graph_reserved,
                                   d.graph_reserved_high};
    if (attribute < CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT ||
        attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    required(static_cast<std::uint64_t *>(value)) = known[attribute];
  });
}

// Only the high marks can be set, and only to 0, which resets them.
SIM_API CUresult cuDeviceSetGraphMemAttribute(CUdevice device, int attribute, void *value) {
  return call(__func__, {device, attribute, value}, [&](Session &s) {
    Device &d = s.driver.device(device);
    if (required(static_cast<std::uint64_t *>(value)) != 0) throw Refused{CUDA_ERROR_INVALID_VALUE};
    if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)
      d.graph_used_high = d.graph_used;
    else if (attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
      d.graph_reserved_high = d.graph_reserved;
    else
      throw Refused{CUDA_ERROR_INVALID_VALUE};
  });
}

SIM_API CUresult cuDeviceGraphMemTrim(CUdevice device) {
  return call(__func__, {device}, [&](Session &s) { trim_graph_memory(s.driver.device(device)); });
}
