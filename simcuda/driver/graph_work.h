// SPDX-License-Identifier: BSD-3-Clause
// The work of each type of node, from the client's parameters.
#pragma once

#include "graph.h"

namespace simcuda {

NodeWorkPtr copy_work(Session &session, const std::shared_ptr<Context> &context,
                      const CUDA_MEMCPY3D *parameters);
NodeWorkPtr memset_work(Session &session, const std::shared_ptr<Context> &context,
                        const CUDA_MEMSET_NODE_PARAMS *parameters);
NodeWorkPtr host_work(const CUDA_HOST_NODE_PARAMS *parameters);
NodeWorkPtr kernel_work(Session &session, const std::shared_ptr<Context> &context,
                        const CUDA_KERNEL_NODE_PARAMS_v2 *parameters);
// In the context of the previous work, unless another one is named.
NodeWorkPtr kernel_work(Session &session, const NodeWork &before,
                        const CUDA_KERNEL_NODE_PARAMS_v2 *parameters);
NodeWorkPtr named_work(const char *what);

}  // namespace simcuda
