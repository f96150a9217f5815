// SPDX-License-Identifier: BSD-3-Clause
// Executable graphs: making, launching and updating them.

#include "call.h"
#include "capture.h"

using namespace simcuda;

namespace {

void instantiate(Session &s, CUgraphExec *out, CUgraph graph, std::uint64_t flags) {
  required(out);
  *out = simcuda::instantiate(s, graph_of(s, graph), flags)->handle;
}

CUgraphNode handle_of(const GraphNodePtr &node) {
  return node ? node->handle : nullptr;
}

// Nothing needs to be uploaded: this only takes its place in the order.
void upload(Session &s, GraphExec &exec, CUstream handle) {
  auto stream = s.stream(handle);
  refuse_capturing(*stream);
  auto operation = std::make_shared<Operation>();
  operation->what = "graph upload";
  if (exec.last) operation->waits_for.push_back(exec.last);
  s.submit(stream, std::move(operation));
}

UpdateResult update(Session &s, CUgraphExec exec, CUgraph graph) {
  return simcuda::update(*s.driver.graph_execs.get(exec, CUDA_ERROR_INVALID_VALUE),
                         *s.driver.graphs.get(graph, CUDA_ERROR_INVALID_VALUE));
}

}  // namespace

SIM_API CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph graph, CUgraphNode *error_node,
                                    char *log, std::size_t log_size) {
  return call(__func__, {out, graph, error_node, log, log_size}, [&](Session &s) {
    if (error_node) *error_node = handle_of(unfit(*graph_of(s, graph), 0).node);
    if (log && log_size) *log = '\0';
    instantiate(s, out, graph, 0);
  });
}

SIM_API CUresult cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph, CUgraphNode *error_node,
                                       char *log, std::size_t log_size) {
  return cuGraphInstantiate(out, graph, error_node, log, log_size);
}

SIM_API CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph,
                                             unsigned long long flags) {
  return call(__func__, {out, graph, flags},
              [&](Session &s) { instantiate(s, out, graph, flags); });
}

SIM_API CUresult cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph graph,
                                              CUDA_GRAPH_INSTANTIATE_PARAMS *parameters) {
  return call(__func__, {out, graph, parameters}, [&](Session &s) {
    auto &p = required(parameters);
    const Unfit found = unfit(*graph_of(s, graph), p.flags);
    p.hErrNode_out = handle_of(found.node);
    // If nothing more is known, the call's own result describes the error.
    p.result_out = found.result ? found.result : CUDA_GRAPH_INSTANTIATE_ERROR;
    instantiate(s, out, graph, p.flags);
    if (p.flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) upload(s, *exec_of(s, *out), p.hUploadStream);
    p.result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  });
}

SIM_API CUresult cuGraphExecGetFlags(CUgraphExec exec, std::uint64_t *flags) {
  return call(__func__, {exec, flags},
              [&](Session &s) { required(flags) = exec_of(s, exec)->flags; });
}

SIM_API CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  return call(__func__, {exec, stream}, [&](Session &s) { upload(s, *exec_of(s, exec), stream); });
}

SIM_API CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  return call(__func__, {exec, stream},
              [&](Session &s) { launch(s, exec_of(s, exec), s.stream(stream)); });
}

SIM_API CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return call(__func__, {handle}, [&](Session &s) {
    const EndsHere ends_here(s.thread);
    exec_of(s, handle);
    s.driver.graph_execs.remove(handle);
  });
}

SIM_API CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *error_node,
                                   int *result) {
  return call(__func__, {exec, graph, error_node, result}, [&](Session &s) {
    required(result);
    const auto found = update(s, exec, graph);
    *result = found.result;
    if (error_node) *error_node = handle_of(found.node);
    return found.result ? CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE : CUDA_SUCCESS;
  });
}

SIM_API CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
                                      CUgraphExecUpdateResultInfo *info) {
  return call(__func__, {exec, graph, info}, [&](Session &s) {
    required(info);
    const auto found = update(s, exec, graph);
    *info = {found.result, handle_of(found.node), nullptr};
    return found.result ? CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE : CUDA_SUCCESS;
  });
}
