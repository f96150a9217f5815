// SPDX-License-Identifier: BSD-3-Clause
// A context after an error on the device: nothing more runs in it, and every call returns the
// error, until the context is destroyed.

#include "call.h"
#include "check_report.h"
#include "simcuda.h"

namespace simcuda {
bool is_sticky(CUresult error) {
  return error == CUDA_ERROR_ECC_UNCORRECTABLE || error == CUDA_ERROR_ILLEGAL_ADDRESS ||
         error == CUDA_ERROR_LAUNCH_TIMEOUT || error == CUDA_ERROR_ASSERT ||
         (error >= CUDA_ERROR_HARDWARE_STACK_ERROR && error <= CUDA_ERROR_LAUNCH_FAILED);
}

void refuse_failed(const Context &context) {
  const Context &owner = context.parent ? *context.parent : context;
  if (owner.error != CUDA_SUCCESS) throw Refused{owner.error};
}

void lose_device(Driver &driver, Device &device) {
  device.lost = true;
  for (auto &context : driver.contexts.all())
    if (context->device == device.ordinal) context->error = of_lost_device;
  // Its work is over, and callbacks receive the error.
  driver.schedule.demand(driver.schedule.pending_of(
      [&](const Context &context) { return context.device == device.ordinal; }));
}

void refuse_lost(const Device &device) {
  if (device.lost) throw Refused{of_lost_device};
}

void refuse_lost(Driver &driver, const Allocation &allocation) {
  refuse_lost(driver.device(allocation.device));
}

bool may_run(const Operation &operation) {
  return operation.after_errors || owner_of(operation.stream->context)->error == CUDA_SUCCESS;
}

void run_work(const Operation &operation) {
  if (!may_run(operation)) return;
  log_operation(operation);
  try {
    if (operation.run) operation.run();
  } catch (const Faulted &faulted) {
    owner_of(operation.stream->context)->error = faulted.result;
    tell_fault(faulted.sentence, operation);
  } catch (const Refused &refused) {
    owner_of(operation.stream->context)->error = refused.result;
  }
}

void run_kernel(const Operation &operation, Lock &lock) {
  log_operation(operation);
  KernelWork &kernel = *operation.kernel;
  lock.unlock();
  kernel.run(operation);
  lock.lock();
  try {
    kernel.ran(operation);
  } catch (const std::bad_alloc &) {  // the kernel used too much memory to report what it used
    owner_of(operation.stream->context)->error = CUDA_ERROR_OUT_OF_MEMORY;
  }
}

void fail_current(CUresult error) {
  ThreadState &thread = thread_state();
  if (!is_sticky(error) || !driver() || thread.driver_thread || thread.contexts.empty()) return;
  Lock lock(simulator_mutex());
  owner_of(thread.contexts.back())->error = error;
}

}  // namespace simcuda

using namespace simcuda;

SIM_API std::int32_t simcuda_lose_device(std::int32_t ordinal) {
  if (!driver() || process_was_forked()) return CUDA_ERROR_NOT_INITIALIZED;
  return guarded([&] {
    Lock lock(simulator_mutex());
    lose_device(*driver(), driver()->device(ordinal));
  });
}
