// SPDX-License-Identifier: BSD-3-Clause
#include "refused.h"

#include <algorithm>

namespace simcuda::kernel {
namespace {

struct Refused {
  std::string_view feature;
  std::string_view root;      // empty: any
  std::string_view modifier;  // empty: any
};

constexpr std::string_view matrices = "matrix instructions", bulk = "bulk copies and tensor maps",
                           clusters = "clusters", stacks = "stack allocations",
                           asynchronous = "asynchronous stores and reductions",
                           multicast = "multicast addresses",
                           video = "video instructions of single numbers";

// docs/kernels.md lists them for readers.
constexpr Refused table[] = {
    {matrices, "mma", ""},
    {matrices, "wmma", ""},
    {matrices, "wgmma", ""},
    {matrices, "tcgen05", ""},
    {matrices, "ldmatrix", ""},
    {matrices, "stmatrix", ""},
    {matrices, "movmatrix", ""},
    {bulk, "", "bulk"},
    {bulk, "", "tensormap"},
    {bulk, "tensormap", ""},
    {asynchronous, "st", "async"},
    {asynchronous, "red", "async"},
    {clusters, "barrier", "cluster"},
    {clusters, "mbarrier", "cluster"},
    {clusters, "mbarrier", "shared::cluster"},
    {clusters, "mapa", ""},
    {clusters, "getctarank", ""},
    {clusters, "clusterlaunchcontrol", ""},
    {multicast, "multimem", ""},
    {stacks, "alloca", ""},
    {stacks, "stacksave", ""},
    {stacks, "stackrestore", ""},
    {video, "vadd", ""},
    {video, "vsub", ""},
    {video, "vabsdiff", ""},
    {video, "vmin", ""},
    {video, "vmax", ""},
    {video, "vshl", ""},
    {video, "vshr", ""},
    {video, "vmad", ""},
    {video, "vset", ""},
};

}  // namespace

std::string_view refused_feature(std::string_view root,
                                 const std::vector<std::string_view> &modifiers) {
  for (const Refused &each : table)
    if ((each.root.empty() || each.root == root) &&
        (each.modifier.empty() ||
         std::find(modifiers.begin(), modifiers.end(), each.modifier) != modifiers.end()))
      return each.feature;
  return {};
}

std::string_view refused_function(std::string_view name) {
  for (std::string_view begin : {"__cudaCDP2", "cudaGetParameterBuffer", "cudaLaunchDevice"})
    if (name.starts_with(begin)) return "launches from the device";
  return {};
}

}  // namespace simcuda::kernel
