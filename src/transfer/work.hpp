// SPDX-License-Identifier: BSD-3-Clause
// Ordered work on arrays: what copying, filling and reading have in common.
#pragma once

#include <memory>
#include <optional>

#include "cai/memory.h"
#include "core/few.hpp"
#include "device/gpu_stream.hpp"
#include "memory/memory.hpp"
#include "transfer/walk.hpp"

namespace cai::transfer {

// Validates an array to work on. Rejects bits, too, which this code does not support. The array may
// have a mask.
void require_workable(const cai_array *array, const char *name);
void require_writable(const cai_array &array, const char *name);

// Throws CAI_ERR_CAPTURE if a GPU's stream is being captured.
void require_not_capturing(cai_stream &stream, const char *why);

// The device of an array's memory. Asks the driver if the array does not say.
cai_device device_of(const cai_array &array);

inline bool is_of_host(const cai_array &array) noexcept {
  return array.device_type == CAI_DEVICE_CPU;
}

// Whether the host may use it at any time.
inline bool is_for_host(const cai_array &array) noexcept {
  return is_of_host(array) || array.device_type == CAI_DEVICE_CUDA_HOST;
}

// Whether a stream may do the work on an array: it is of the device that does it, or of the device
// that the memory was made for. The host works on memory for the host.
bool serves(const cai_stream &stream, const cai_array &array, cai_device its_device) noexcept;

// An array in use by work.
struct Use {
  const cai_array *array;
  uint32_t access;
};

// The number of arrays that work uses at most.
inline constexpr int32_t most_used = 2;

// Claims of the arrays' memory for as long as a call lasts: other threads may free it meanwhile.
// Throws CAI_ERR_STATE if it was freed.
class Claims {
 public:
  Claims(const Use *uses, int32_t count);

 private:
  std::optional<memory::Claim> all_[most_used];
};

// Work on the host. It holds what it uses, since an array may be a copy of the struct.
class HostWork {
 public:
  HostWork() = default;
  HostWork(const HostWork &) = delete;
  HostWork &operator=(const HostWork &) = delete;
  virtual ~HostWork();

  virtual void run() noexcept = 0;
  void hold(const cai_array &array);

 private:
  void hold_memory_at(const cai_array &part);
  void hold_claimed(cai_memory &memory);
  void hold_context(int32_t gpu);

  // Those of masks, too. A reset waits for the work of a context until nothing is held any more.
  Few<cai_memory *, 4> memories_;  // with claims
  Few<cai_owner *, 2> owners_;
  Few<int32_t, 4> contexts_;  // by their GPUs: some memory ends with them
};

// Does the work in the order of a CPU stream, after what is pending on the arrays; their owners
// keep it. If an array is borrowed, or its owner keeps nothing here, the work is done before the
// call returns.
void work_on_host(cai_stream &stream, std::unique_ptr<HostWork> work, const Use *uses,
                  int32_t count);

// Sets all elements of an array, which has some, and no mask: by work of the host; or on a GPU's
// stream, where the array must be as_gpu_finds() returns it. If it is in host memory, the host
// waits for the stream and fills it at once.
std::unique_ptr<HostWork> fill_by_host(const cai_array &array, const void *value);
cai_array as_gpu_finds(const cai_array &array);
void queue_fill(driver::Session &session, driver::CUstream stream, const cai_array &found,
                const void *value);

// Queues work on a GPU stream between the beginning and the end of all uses: calls `queue(session,
// stream)` with the stream's context current. The host waits for it if an array is in host memory.
template <class Queue>
void work_on_gpu(cai_stream &stream, const Use *uses, int32_t count, Queue &&queue);

// ---- Implementation

// The parts of work_on_gpu().
class GpuWork {
 public:
  GpuWork(cai_stream &stream, const Use *uses, int32_t count);

  template <class Queue>
  void run(Queue &&queue) {
    session_.in(stream_.context, [&] {
      begin();
      session_.use_relaxed_mode();
      const cai_status status =
          guard(&problem_, [&] { std::forward<Queue>(queue)(session_, stream_.handle()); });
      end(status);
    });
    session_.finish();
  }

 private:
  void begin();
  void end(cai_status status);

  const Claims claims_;  // end after the session
  driver::Session session_;
  order::Stream stream_;
  const Use *uses_;
  int32_t count_;
  cai_use use_{};
  bool waits_ = false;
  cai_error problem_{};
};

template <class Queue>
void work_on_gpu(cai_stream &stream, const Use *uses, int32_t count, Queue &&queue) {
  GpuWork(stream, uses, count).run(std::forward<Queue>(queue));
}

}  // namespace cai::transfer
