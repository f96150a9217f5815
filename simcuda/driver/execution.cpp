// SPDX-License-Identifier: BSD-3-Clause
#include "execution.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "check_report.h"

namespace simcuda {
namespace {

CUresult status_of(kernel::FaultKind kind) {
  switch (kind) {
    case kernel::FaultKind::illegal_address:
    case kernel::FaultKind::invalid_free:
    case kernel::FaultKind::invalid_handle:
    case kernel::FaultKind::stack_overflow:  // as an H100 reports it
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    case kernel::FaultKind::misaligned:
      return CUDA_ERROR_MISALIGNED_ADDRESS;
    case kernel::FaultKind::assertion:
      return CUDA_ERROR_ASSERT;
    case kernel::FaultKind::illegal_instruction:
      return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case kernel::FaultKind::invalid_pc:
      return CUDA_ERROR_INVALID_PC;
    case kernel::FaultKind::deadlock:
    case kernel::FaultKind::limit:
    case kernel::FaultKind::stopped:
      return CUDA_ERROR_LAUNCH_TIMEOUT;
    case kernel::FaultKind::trap:
    case kernel::FaultKind::outside_surface:
      break;
  }
  return CUDA_ERROR_LAUNCH_FAILED;
}

}  // namespace

std::shared_ptr<LaunchWork> Execution::again() const {
  const std::shared_ptr<Execution> other(new Execution(static_cast<const LaunchWork &>(*this)));
  other->share(*patience_);
  return other;
}

void Execution::run(const Operation &operation) {
  own_patience_.begin();
  try {
    execute(operation.id);
    write_printed();
    for (kernel::Finding &finding : outcome_.findings) finding.memory = memory_of(finding);
    tell_findings(outcome_.findings, outcome_.findings_left_out, operation);
    const bool out_of_time = patience_->is_out_of_time();
    if (out_of_time && outcome_.fault) outcome_.fault->detail = Patience::end_of_time();
    const bool told_elsewhere =
        outcome_.fault && !out_of_time && outcome_.fault->kind == kernel::FaultKind::stopped;
    if (outcome_.fault && !told_elsewhere) tell_fault(*outcome_.fault, operation);
  } catch (const std::exception &error) {
    has_failed_ = true;
    std::fprintf(stderr, "simcuda: kernel %s: %s\n", name().c_str(), error.what());
  }
}

void Execution::execute(std::uint64_t grid_id) {
  const Settings &settings = Settings::get();
  kernel::Launch launch;
  std::copy_n(launch_->shape.grid, 3, launch.grid);
  std::copy_n(launch_->shape.block, 3, launch.block);
  launch.shared_bytes = launch_->shape.shared_bytes;
  launch.cooperative = launch_->shape.cooperative;
  launch.parameters = launch_->bytes;
  launch.grid_id = grid_id;
  launch.threads = settings.kernel_threads;
  launch.checks = settings.checks;
  launch.checks.accesses = settings.races != RaceMode::off;
  outcome_ = kernel::run(*launch_->code->ptx, *launch_->code->kernel, launch, *this);
}

std::uint64_t Execution::nanoseconds() const {
  constexpr std::uint64_t instructions_at_once = 1024;  // a nanosecond for so many
  return outcome_.instructions / instructions_at_once;
}

// With the simulator's lock held again.
void Execution::ran(const Operation &operation) {
  for (auto &[address, memory] : found_) --memory.allocation->kernels;
  for (auto &allocation : freed_) driver()->memory.give_back(*allocation);
  auto &error = launch_->context->error;
  if (error == CUDA_SUCCESS && outcome_.fault) error = status_of(outcome_.fault->kind);
  if (error == CUDA_SUCCESS && has_failed_) error = CUDA_ERROR_LAUNCH_FAILED;
  std::vector<Races::Used> used;
  for (const kernel::Access &access : outcome_.accesses) {
    const auto found = std::prev(found_.upper_bound(access.begin));
    const Found &memory = found->second;
    const Effect effect = access.use == kernel::Use::reads    ? Effect::reads
                          : access.use == kernel::Use::writes ? Effect::writes
                                                              : Effect::updates;
    if (used.empty() || used.back().allocation != memory.allocation || used.back().effect != effect)
      used.push_back({memory.allocation,
                      memory.history,
                      effect,
                      std::make_shared<const std::string>(describe_use(access)),
                      {}});
    const std::size_t begin = access.begin - memory.window.begin;
    used.back().ranges.emplace_back(begin, begin + (access.end - access.begin));
  }
  driver()->races.ran(operation, used);
  if (!outcome_.fault || outcome_.fault->kind != kernel::FaultKind::illegal_address) return;
  const kernel::Fault &fault = *outcome_.fault;
  if (const auto allocation = driver()->memory.freed(fault.address))
    driver()->races.uses_freed(operation, allocation, fault.address, fault.size,
                               fault.write ? Effect::writes : Effect::reads);
}

// "by parameter 2 (out), "; empty if not exactly one parameter leads there.
std::string Execution::parameter_of(const kernel::Access &access) const {
  if (access.parameter < 0) return {};
  const auto &parameters = launch_->code->kernel->parameters;
  const std::string &parameter = parameters[static_cast<std::size_t>(access.parameter)].name;
  std::string text = "by parameter " + std::to_string(access.parameter + 1);
  // A compiler numbers what has no name.
  if (!parameter.starts_with(launch_->code->name + "_param_")) text += " (" + parameter + ')';
  return text + ", ";
}

// " by parameter 2 (out), first in fill, line 7 of its PTX (st.global.u32)"
std::string Execution::describe_use(const kernel::Access &access) const {
  return ' ' + parameter_of(access) + "first " + to_string(outcome_.places[access.place]);
}

// "by parameter 2 (out), in the 256 bytes of device memory at 0x..."
std::string Execution::memory_of(const kernel::Finding &finding) {
  if (finding.space != kernel::Space::global) return {};
  Lock lock(simulator_mutex());
  const Found *memory = found_at(finding.address);
  if (!memory) return {};  // the kernel has freed it since
  std::string parameter;
  for (const kernel::Access &access : outcome_.accesses)
    if (access.begin <= finding.address && finding.address < access.end)
      parameter = parameter_of(access);
  return parameter + "in " + describe_memory(*memory->allocation) + '\n' +
         where(*memory->allocation);
}

const Execution::Found *Execution::found_at(std::uint64_t address) const {
  const auto after = found_.upper_bound(address);
  if (after == found_.begin() || address >= std::prev(after)->second.window.end) return nullptr;
  return &std::prev(after)->second;
}

kernel::Window Execution::find(std::uint64_t address) {
  Lock lock(simulator_mutex());
  if (const Found *memory = found_at(address)) return memory->window;
  const Seen seen = seen_at(address);
  if (!seen.allocation || !in_reach(*launch_->context, *seen.allocation)) return {};
  return add(seen);
}

const kernel::Window &Execution::add(const Seen &seen) {
  const auto &[allocation, history] = seen;
  Found found;
  found.allocation = allocation;
  found.history = history;
  kernel::Window &window = found.window;
  window.begin = allocation->device_address();
  window.end = window.begin + allocation->size;
  window.bytes = allocation->bytes;
  window.writable = !allocation->constant;
  if (is_gone(*allocation)) {
    found.lost = std::make_unique<std::byte[]>(allocation->size);
    std::memset(found.lost.get(), freed_poison, allocation->size);
    window.bytes = found.lost.get();
  } else if (allocation->written && !allocation->share) {
    found.written = allocation->written->bits(allocation->size);
    window.written = static_cast<std::uint64_t *>(found.written->data());
  }
  ++allocation->kernels;
  return found_.emplace(window.begin, std::move(found)).first->second.window;
}

// An array has an address that nobody else knows.
const kernel::Texels *Execution::texels(std::uint64_t handle) {
  Lock lock(simulator_mutex());
  auto object = texture_of(handle);
  if (!object) return nullptr;
  const AllocationPtr &array = object->array;
  if (array && !found_.contains(array->address)) add({array, driver()->races.history_of(*array)});
  textures_.push_back(object);
  return &object->texels;
}

std::string Execution::describe_handle(std::uint64_t handle) {
  Lock lock(simulator_mutex());
  return describe_unusable_handle(handle);
}

std::string Execution::describe(std::uint64_t address) {
  Lock lock(simulator_mutex());
  return describe_unusable(address);
}

std::uint64_t Execution::address_of(const kernel::Variable &variable) {
  return launch_->globals->variables.at(variable.name)->address;
}

void Execution::print(std::string_view text) {
  constexpr std::size_t enough = 1 << 16;
  std::lock_guard guard(mutex_);
  printed_ += text;
  if (printed_.size() > enough) write_printed();
}

void Execution::write_printed() {
  if (printed_.empty() || process_is_ending()) return;
  std::fwrite(printed_.data(), 1, printed_.size(), stdout);
  std::fflush(stdout);
  printed_.clear();
}

bool Execution::stopped() {
  patience_->goes_on();
  return patience_->is_over(*launch_->context);
}

// Memory that kernels allocate lives until they free it, or their context ends.
std::uint64_t Execution::allocate(std::uint64_t size) {
  Lock lock(simulator_mutex());
  const auto &context = launch_->context;
  if (size == 0 || size > driver()->device(context->device).total) return 0;
  try {
    auto allocation = driver()->memory.allocate(Allocation::Kind::device, context->device, size, 0);
    allocation->context = context;
    allocation->of_module = allocation->of_heap = true;
    return allocation->address;
  } catch (const std::bad_alloc &) {
    return 0;
  }
}

bool Execution::free(std::uint64_t address) {
  Lock lock(simulator_mutex());
  const auto allocation = driver()->memory.find_base(address);
  if (!allocation || !allocation->of_heap || allocation->context != launch_->context) return false;
  // The address is not found any more, but earlier uses of it are still reported: it is nobody
  // else's until the end of the launch.
  driver()->memory.free(*allocation, Memory::Address::kept);
  freed_.push_back(allocation);
  if (const auto found = found_.find(address); found != found_.end())
    found->second.window.end = address;
  return true;
}

}  // namespace simcuda
