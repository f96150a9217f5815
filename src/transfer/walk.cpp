// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/walk.hpp"

#include <algorithm>

#include "exchange/host_address.hpp"

namespace cai::transfer {

Walk walk_over(const cai_array &to, const cai_array &from) noexcept {
  Walk walk;
  walk.to = to.data;
  walk.from = from.data;
  walk.run = static_cast<int64_t>(to.dtype.itemsize);
  for (int32_t i = 0; i < to.ndim; ++i) {
    if (to.shape[i] == 1) continue;
    Axis axis{to.shape[i], to.strides[i], from.strides[i]};
    if (axis.to < 0) {
      walk.to += static_cast<uint64_t>(axis.to * (axis.extent - 1));
      walk.from += static_cast<uint64_t>(axis.from * (axis.extent - 1));
      axis.to = -axis.to;
      axis.from = -axis.from;
    }
    walk.axes[walk.count++] = axis;
  }
  std::stable_sort(walk.axes, walk.axes + walk.count,
                   [](const Axis &a, const Axis &b) { return a.to > b.to; });
  for (int32_t outer = walk.count - 2; outer >= 0; --outer) {
    Axis &here = walk.axes[outer];
    const Axis &inner = walk.axes[outer + 1];
    if (here.to != inner.to * inner.extent || here.from != inner.from * inner.extent) continue;
    here = {here.extent * inner.extent, inner.to, inner.from};
    walk.remove(outer + 1);
  }
  if (walk.count > 0) {
    const Axis &inner = walk.axes[walk.count - 1];
    if (inner.to == walk.run && inner.from == walk.run) {
      walk.run *= inner.extent;
      --walk.count;
    }
  }
  return walk;
}

Walk walk_on_host(const cai_array &to, const cai_array &from) {
  return walk_over(exchange::as_host_finds(to), exchange::as_host_finds(from));
}

}  // namespace cai::transfer
