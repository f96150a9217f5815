// SPDX-License-Identifier: BSD-3-Clause
// The conditions of conditional nodes. The nodes are made with all others.

#include "call.h"
#include "conditional.h"

using namespace simcuda;

SIM_API CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *out, CUgraph handle,
                                                CUcontext context, unsigned value, unsigned flags) {
  return call(__func__, {out, handle, context, value, flags}, [&](Session &s) {
    required(out);
    if (flags & ~CU_GRAPH_COND_ASSIGN_DEFAULT) throw Refused{CUDA_ERROR_INVALID_VALUE};
    auto graph = graph_of(s, handle);
    if (!context) throw Refused{CUDA_ERROR_INVALID_CONTEXT};
    const auto at_launch = flags ? std::optional<std::uint32_t>(value) : std::nullopt;
    auto condition = std::make_shared<Condition>(s.context(context), at_launch);
    *out = condition->memory->address;
    graph->conditions.push_back(std::move(condition));
  });
}
