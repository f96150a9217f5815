// SPDX-License-Identifier: BSD-3-Clause
// The resources that a kernel needs on a multiprocessor of compute capability 9.0, and how many of
// its blocks fit there.

#include <algorithm>

#include "image.h"

namespace simcuda {
namespace {

constexpr int most_threads = 1024;  // of a block
constexpr int most_shared = kernel::most_shared_bytes, most_shared_opt_in = 232448;
constexpr unsigned resident_warps = 64, most_resident_blocks = 32;
constexpr std::size_t registers_of_multiprocessor = 65536, registers_at_once = 256;
constexpr std::size_t shared_of_multiprocessor = 233472, shared_reserved = 1024;
constexpr std::size_t shared_at_once = 128;

std::size_t whole(std::size_t size, std::size_t unit) {
  return (size + unit - 1) / unit * unit;
}

int constant_bytes(const kernel::Module &ptx) {
  std::uint64_t bytes = 0;
  for (const kernel::Variable &variable : ptx.variables)
    if (variable.space == kernel::Space::constant) bytes += variable.size;
  return static_cast<int>(bytes);
}

int own_attribute(const KernelCode &code, int attribute);

// A compiler limits registers so that a block of the largest size fits.
std::uint32_t registers_of(const KernelCode &code) {
  const auto threads =
      static_cast<std::size_t>(own_attribute(code, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  const std::size_t of_warp = registers_of_multiprocessor / whole((threads + 31) / 32, 4);
  const auto most =
      static_cast<std::uint32_t>(of_warp / registers_at_once * registers_at_once / 32);
  return std::clamp(code.kernel->registers, 1u, std::min(most, 255u));
}

// For a kernel as it was compiled.
int own_attribute(const KernelCode &code, int attribute) {
  const kernel::Kernel *kernel = code.kernel;
  const auto number = [](std::uint32_t value) { return static_cast<int>(value); };
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: {
      if (!kernel) return most_threads;
      std::uint64_t stated = 1;
      const auto &sizes =
          kernel->required_threads[0] ? kernel->required_threads : kernel->max_threads;
      if (!sizes[0]) return most_threads;
      for (std::uint32_t size : sizes) stated *= std::max(size, 1u);
      return static_cast<int>(std::min<std::uint64_t>(stated, most_threads));
    }
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return kernel ? number(kernel->shared_bytes) : 0;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      return code.ptx ? constant_bytes(*code.ptx) : 0;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return kernel ? number(kernel->local_bytes) : 0;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return kernel ? number(registers_of(code)) : 0;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      return code.ptx ? number(architecture_of(code.ptx->target)) : 90;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return 90;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return most_shared - own_attribute(code, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return -1;
    default:
      return 0;
  }
}

}  // namespace

int attribute_of(const Function &function, int attribute) {
  if (attribute < 0 || attribute > CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE)
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  for (const Function *each = &function; each; each = each->of_library.get()) {
    const auto set = each->attributes.find(attribute);
    if (set != each->attributes.end()) return set->second;
  }
  return own_attribute(*function.code, attribute);
}

void set_attribute(Function &function, int attribute, int value) {
  const int shared = own_attribute(*function.code, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      if (value < 0 || value > most_shared_opt_in - shared) throw Refused{CUDA_ERROR_INVALID_VALUE};
      break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      if (value < -1 || value > 100) throw Refused{CUDA_ERROR_INVALID_VALUE};
      break;
    default:
      if (attribute < CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH ||
          attribute > CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE)
        throw Refused{CUDA_ERROR_INVALID_VALUE};
  }
  function.attributes[attribute] = value;
}

unsigned resident_blocks(const KernelCode &code, unsigned threads, std::size_t shared_bytes) {
  // Does not check what the kernel itself allows.
  if (threads == 0 || threads > most_threads) return 0;
  const unsigned warps = (threads + 31) / 32;
  const auto registers =
      static_cast<std::size_t>(own_attribute(code, CU_FUNC_ATTRIBUTE_NUM_REGS)) * 32;
  std::size_t blocks = std::min(most_resident_blocks, resident_warps / warps);
  if (registers)
    blocks = std::min(blocks, registers_of_multiprocessor /
                                  (whole(registers, registers_at_once) * whole(warps, 4)));
  const auto own =
      static_cast<std::size_t>(own_attribute(code, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  const std::size_t shared = whole(own + shared_bytes + shared_reserved, shared_at_once);
  return static_cast<unsigned>(std::min(blocks, shared_of_multiprocessor / shared));
}

std::size_t available_shared(const Function &function, unsigned blocks, unsigned threads) {
  const KernelCode &code = *function.code;
  if (resident_blocks(code, threads, 0) < blocks) throw Refused{CUDA_ERROR_INVALID_VALUE};
  const std::size_t each = shared_of_multiprocessor / blocks / shared_at_once * shared_at_once;
  const auto own =
      static_cast<std::size_t>(own_attribute(code, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  const int allowed = attribute_of(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  return std::min(each - own, static_cast<std::size_t>(allowed));
}

unsigned required_in_cluster(const Function &function) {
  unsigned blocks = 1;
  for (const int attribute :
       {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
        CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH})
    blocks *= static_cast<unsigned>(attribute_of(function, attribute));
  return blocks;
}

unsigned most_in_cluster(const Function &function) {
  constexpr unsigned portable = 8, not_portable = 16;
  if (const unsigned blocks = required_in_cluster(function)) return blocks;
  return attribute_of(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) ? not_portable
                                                                                     : portable;
}

void check_cache_config(int config) {
  const int prefer_equal = 3;
  if (config < 0 || config > prefer_equal) throw Refused{CUDA_ERROR_INVALID_VALUE};
}

void tell_parameter(const KernelCode &code, std::size_t index, std::size_t *offset,
                    std::size_t *size) {
  if (index >= code.arguments.size() || !offset) throw Refused{CUDA_ERROR_INVALID_VALUE};
  *offset = code.arguments[index].offset;
  if (size) *size = code.arguments[index].size;
}

}  // namespace simcuda
