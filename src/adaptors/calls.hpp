// SPDX-License-Identifier: BSD-3-Clause
// How the adaptors call the public interface, and report failures where no status can be returned.
#pragma once

#include <memory>
#include <utility>

#include "cai/adaptors.h"
#include "core/error.hpp"
#include "core/report.hpp"

namespace cai::adaptors {

// Calls a function of the public interface and throws its failure. The error is the last argument.
template <class... Parameters, class... Arguments>
void call(cai_status (*function)(Parameters...), Arguments &&...arguments) {
  cai_error error;
  if (function(std::forward<Arguments>(arguments)..., &error) != CAI_OK) throw Failure(error);
}

struct Release {
  void operator()(cai_stream *stream) const noexcept { cai_stream_release(stream); }
  void operator()(cai_memory *memory) const noexcept { cai_memory_release(memory); }
  void operator()(cai_manager *manager) const noexcept { cai_manager_release(manager); }
};

// A reference to a handle.
template <class Handle>
using Held = std::unique_ptr<Handle, Release>;

// Runs the body of a function that cannot return a status: reports what it throws. At the end of a
// process the driver is unloaded first, and then there is nothing to report.
template <class Body>
void reporting(Body &&body) noexcept {
  constexpr int32_t deinitialized = 4;  // CUDA_ERROR_DEINITIALIZED
  cai_error error;
  if (guard(&error, std::forward<Body>(body)) != CAI_OK && error.native != deinitialized) {
    report(error);
  }
}

}  // namespace cai::adaptors
