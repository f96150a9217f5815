// SPDX-License-Identifier: BSD-3-Clause
// Memory that graphs allocate.
#include <algorithm>
#include <cstring>
#include <utility>

#include "graph.h"
#include "pool.h"
#include "written.h"

namespace simcuda {
namespace {

// Devices hold memory for graphs in pieces of this size.
constexpr std::uint64_t chunk = 2u << 20;

void poison(const AllocationPtr &allocation, int value) {
  std::memset(allocation->bytes, value, allocation->size);
  if (allocation->written) allocation->written->clear();
}

Access whole(const AllocationPtr &allocation, Access::Life life) {
  Access access{allocation, allocation->address, allocation->size, true};
  access.life = life;
  return access;
}

// The device holds at least as much as is used.
void reserve(Device &device, std::uint64_t bytes) {
  device.used = device.used - device.graph_reserved + bytes;
  device.graph_reserved = bytes;
  device.graph_reserved_high = std::max(device.graph_reserved_high, bytes);
}

std::uint64_t whole_chunks(std::uint64_t bytes) {
  return (bytes + chunk - 1) / chunk * chunk;
}

// A child graph keeps the memory that it was made with, and gets no more.
void refuse_child(const Graph &graph) {
  if (graph.of_node && !graph.body_of) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
}

bool takes_of_device(const GraphNode &node) {
  return node.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
         node.memory->allocation->kind == MemoryKind::device;
}

Device &device_of(Driver &driver, const GraphMemory &memory) {
  return driver.device(memory.allocation->device);
}

// The bytes that a launch allocates and the device does not hold yet.
std::map<int, std::uint64_t> lacking(const GraphPlan &plan) {
  std::map<int, std::uint64_t> bytes;
  for (auto &step : plan.steps)
    if (takes_of_device(*step.node) && !step.node->memory->backed)
      bytes[step.node->memory->allocation->device] += step.node->memory->allocation->size;
  return bytes;
}

}  // namespace

GraphMemory::~GraphMemory() {
  Device &device = device_of(*driver(), *this);
  if (device.graph_memory.erase(this)) device.graph_idle += backed;
  driver()->memory.free(*allocation);
}

GraphNodePtr add_allocation(Session &session, Graph &graph,
                            const std::vector<GraphNodePtr> &depends_on,
                            CUDA_MEM_ALLOC_NODE_PARAMS &parameters) {
  refuse_child(graph);
  const auto &properties = parameters.poolProps;
  const bool on_device = properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  const auto kind = properties.allocType == CU_MEM_ALLOCATION_TYPE_MANAGED ? MemoryKind::managed
                    : on_device                                            ? MemoryKind::device
                                                                           : MemoryKind::host;
  auto allocation = session.driver.memory.allocate(kind, on_device ? properties.location.id : 0,
                                                   parameters.bytesize, 0);
  allocation->of_graph = true;
  auto memory = std::make_shared<GraphMemory>(allocation);
  allocation->graph = memory;
  poison(allocation, freed_poison);  // there is no memory before the launch
  parameters.dptr = allocation->address;
  NodeParameters given{parameters, nullptr, {}};
  given.access.assign(parameters.accessDescs, parameters.accessDescs + parameters.accessDescCount);
  Operation operation;
  operation.what = "allocate";
  operation.accesses = {whole(allocation, Access::Life::begins)};
  operation.run = [allocation] { poison(allocation, fresh_poison); };
  operation.parameters = std::make_shared<const NodeParameters>(std::move(given));
  const auto node = add_node(session.driver, graph, depends_on, node_work(std::move(operation)));
  node->memory = memory;
  memory->allocated_by = node;
  return node;
}

GraphNodePtr add_free(Graph &graph, const std::vector<GraphNodePtr> &depends_on,
                      const AllocationPtr &allocation) {
  refuse_child(graph);
  auto memory = allocation->graph.lock();
  const auto is_here = [&](const std::weak_ptr<GraphNode> &weak) {
    const auto node = weak.lock();
    return node && node->graph == &graph;
  };
  if (!memory || memory->freed_in_graph ||
      std::any_of(memory->freed_by.begin(), memory->freed_by.end(), is_here))
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  const bool own = is_here(memory->allocated_by);
  if (own && !memory->freed_by.empty()) throw Refused{CUDA_ERROR_INVALID_VALUE};
  memory->freed_in_graph = own;
  Operation operation;
  operation.what = "free";
  operation.accesses = {whole(allocation, Access::Life::ends)};
  operation.run = [allocation] { poison(allocation, freed_poison); };
  const auto node = add_node(*driver(), graph, depends_on, node_work(std::move(operation)));
  node->memory = memory;
  memory->freed_by.push_back(node);
  return node;
}

void free_graph_memory(Session &session, const std::shared_ptr<Stream> &stream,
                       const AllocationPtr &allocation) {
  auto memory = allocation->graph.lock();
  if (memory->freed_in_graph || !memory->outstanding) throw Refused{CUDA_ERROR_INVALID_VALUE};
  memory->last_use = session.submit(
      stream, "free", {whole(allocation, Access::Life::ends)},
      [memory] { poison(memory->allocation, freed_poison); }, true);
  allocation->free_submitted = true;
  memory->outstanding = nullptr;
}

// Those that an earlier launch allocated and nobody has freed since.
std::vector<AllocationPtr> unfreed(const GraphPlan &plan) {
  std::vector<AllocationPtr> found;
  for (auto &step : plan.steps)
    if (step.node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && step.node->memory->outstanding)
      found.push_back(step.node->memory->allocation);
  return found;
}

void back_memory(Session &session, const GraphPlan &plan) {
  Driver &driver = session.driver;
  for (auto &[ordinal, bytes] : lacking(plan)) {
    Device &device = driver.device(ordinal);
    const std::uint64_t idle = std::min(device.graph_idle, bytes);
    const std::uint64_t reserved =
        std::max(device.graph_reserved, whole_chunks(device.graph_used + bytes - idle));
    make_room(session, device, reserved - device.graph_reserved);
  }
  // Another thread may have launched meanwhile.
  for (auto &[ordinal, bytes] : lacking(plan)) {
    Device &device = driver.device(ordinal);
    // Memory that destroyed graphs have left is used first.
    const std::uint64_t idle = std::min(device.graph_idle, bytes);
    device.graph_idle -= idle;
    device.graph_used += bytes - idle;
    device.graph_used_high = std::max(device.graph_used_high, device.graph_used);
    reserve(device, std::max(device.graph_reserved, whole_chunks(device.graph_used)));
  }
  for (auto &step : plan.steps) {
    if (!takes_of_device(*step.node)) continue;
    GraphMemory &memory = *step.node->memory;
    memory.backed = memory.allocation->size;
    device_of(driver, memory).graph_memory.insert(&memory);
  }
}

void note_memory(const GraphNode &node, const OperationPtr &operation) {
  if (!node.memory) return;
  const bool allocates = node.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  node.memory->allocation->free_submitted = !allocates;
  node.memory->outstanding = allocates ? node.memory : nullptr;
  node.memory->last_use = operation;
  // New memory, perhaps at an old address. Earlier uses of the address still count.
  auto &history = node.memory->allocation->history;
  if (allocates && history && history->freed) history = nullptr;
}

void trim_graph_memory(Device &device) {
  device.graph_used -= std::exchange(device.graph_idle, 0);
  std::erase_if(device.graph_memory, [&](GraphMemory *memory) {
    if (memory->outstanding || memory->last_use->state != Operation::State::done) return false;
    device.graph_used -= std::exchange(memory->backed, 0);
    return true;
  });
  reserve(device, whole_chunks(device.graph_used));
}

}  // namespace simcuda
