// SPDX-License-Identifier: BSD-3-Clause
#include "launch.h"

#include <algorithm>
#include <cstring>

#include "call.h"
#include "execution.h"
#include "pool.h"
#include "stand_in.h"
#include "virtual_memory.h"

namespace simcuda {
namespace {

constexpr unsigned most_threads = 1024, most_in_z = 64;  // of a block
constexpr unsigned most_blocks_beside = 65535;           // in y and z

void check_shape(const LaunchShape &shape) {
  std::uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (!shape.grid[i] || !shape.block[i] || shape.grid[i] > (i ? most_blocks_beside : 0x7fffffffu))
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    threads *= std::min(shape.block[i], most_threads + 1);
  }
  if (threads > most_threads || shape.block[2] > most_in_z) throw Refused{CUDA_ERROR_INVALID_VALUE};
}

void check_fits(const Function &function, const LaunchShape &shape) {
  const auto most = [&](int attribute) {
    return static_cast<unsigned>(attribute_of(function, attribute));
  };
  const unsigned threads = shape.block[0] * shape.block[1] * shape.block[2];
  const std::uint32_t *required = function.code->kernel->required_threads;
  if (threads > most(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) ||
      (required[0] && !std::equal(required, required + 3, shape.block)) ||
      shape.shared_bytes > most(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES))
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (!shape.cooperative) return;
  std::uint64_t blocks = 1;
  for (auto count : shape.grid) blocks *= count;
  if (blocks >
      std::uint64_t{resident_blocks(*function.code, threads, shape.shared_bytes)} * multiprocessors)
    throw Refused{CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE};
}

// The arguments in one buffer.
struct Packed {
  const std::byte *bytes = nullptr;
  std::size_t size = 0;
};

Packed read_extra(void **extra) {
  const std::uintptr_t end = 0, buffer_pointer = 1, buffer_size = 2;
  Packed packed;
  for (; address_of(*extra) != end; extra += 2) {
    if (address_of(extra[0]) == buffer_pointer)
      packed.bytes = static_cast<const std::byte *>(extra[1]);
    else if (address_of(extra[0]) == buffer_size)
      std::memcpy(&packed.size, &required(static_cast<const char *>(extra[1])), sizeof packed.size);
    else
      throw Refused{CUDA_ERROR_INVALID_VALUE};
  }
  return packed;
}

void take_arguments(KernelLaunch &launch, void **parameters, void **extra) {
  const KernelCode &code = *launch.code;
  if (parameters && extra) throw Refused{CUDA_ERROR_INVALID_VALUE};
  launch.bytes.resize(code.argument_bytes);
  if (extra) {
    const Packed packed = read_extra(extra);
    if (code.argument_bytes) {
      if (!packed.bytes || packed.size < code.argument_bytes)
        throw Refused{CUDA_ERROR_INVALID_VALUE};
      // Unchanged if the end of a structure has bytes that belong to no parameter.
      if (packed.size > code.argument_bytes) throw Refused{CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES};
      std::memcpy(launch.bytes.data(), packed.bytes, code.argument_bytes);
    }
  }
  for (std::size_t i = 0; i < code.arguments.size(); ++i) {
    std::byte *at = launch.bytes.data() + code.arguments[i].offset;
    launch.pointers.push_back(at);
    if (extra) continue;
    if (!parameters || !parameters[i]) throw Refused{CUDA_ERROR_INVALID_VALUE};
    std::memcpy(at, parameters[i], code.arguments[i].size);
  }
}

void find_named(const Driver &driver, KernelLaunch &launch) {
  for (const ArgumentPlace &argument : launch.code->arguments)
    for (std::size_t at = (argument.offset + 7) / 8 * 8; at + 8 <= argument.offset + argument.size;
         at += 8) {
      std::uint64_t address;
      std::memcpy(&address, launch.bytes.data() + at, sizeof address);
      // The handle of a texture may lead to an address.
      const auto texture = driver.textures.find(reinterpret_cast<TextureHandle>(address));
      if (texture && !texture->array) address = texture->texels.levels[0].address;
      auto allocation = driver.memory.find(address);
      if (allocation && !allocation->free_submitted) launch.named.push_back(std::move(allocation));
    }
}

}  // namespace

bool in_reach(const Context &context, const Allocation &allocation) {
  if (allocation.mapping) return is_accessible(*allocation.mapping, context.device);
  if (allocation.pool && allocation.pool->kind == MemoryKind::host)
    return is_accessible(*allocation.pool, context.device);
  if (allocation.kind != Allocation::Kind::device || allocation.device == context.device ||
      (allocation.is_opened_handle() && allocation.context.get() == &context))
    return true;
  if (allocation.pool) return is_accessible(*allocation.pool, context.device);
  return allocation.context && context.peers.contains(allocation.context->handle);
}

Operation kernel_operation(Session &session, const Stream &stream, CUfunction handle,
                           const LaunchShape &shape, void **parameters, void **extra) {
  auto function = session.driver.functions.get(handle);
  const auto context = owner_of(stream.context);
  const auto library = function->library.lock();
  const auto module = library ? module_of(session, *library, context) : function->module.lock();
  if (!module || module->context != context) throw Refused{CUDA_ERROR_INVALID_HANDLE};
  check_shape(shape);
  auto launch = std::make_shared<KernelLaunch>();
  launch->handle = handle;
  launch->is_library_kernel = library != nullptr;
  launch->code = function->code;
  launch->context = context;
  launch->globals = module->globals;
  launch->shape = shape;
  take_arguments(*launch, parameters, extra);

  Operation operation;
  operation.what = "kernel";
  operation.launch = launch;
  if (launch->code->ptx) check_fits(*function, shape);
  if (launch->code->ptx || launch->code->stand_in) {
    find_named(session.driver, *launch);
    session.driver.schedule.need_kernel_thread();
  } else {
    prepare_registered(session, operation);
  }
  return operation;
}

void begin_kernel(Operation &operation) {
  if (!operation.launch) return;
  if (operation.launch->code->ptx)
    operation.kernel = std::make_shared<Execution>(operation.launch);
  else if (operation.launch->code->stand_in)
    operation.kernel = std::make_shared<StandIn>(operation.launch);
}

}  // namespace simcuda
