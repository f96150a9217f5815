// SPDX-License-Identifier: BSD-3-Clause
// Functions of higher layers that this one needs. Each layer sets its own before the first use.
#pragma once

#include <atomic>
#include <optional>

#include "driver/context.hpp"

namespace cai::order {

// Memory that the library has pinned: its two addresses and its size in bytes.
struct Pinned {
  std::uint64_t device, host, size;
};

struct Above {
  // Whether a current stream of the calling thread is being captured.
  std::atomic<bool (*)(driver::Session &session) noexcept> is_current_captured{nullptr};
  // Whether a stream of the current context that the library has a handle for is being captured.
  std::atomic<bool (*)(driver::Session &session) noexcept> is_any_captured{nullptr};
  // Whether a reset has destroyed the context of the owner's memory.
  std::atomic<bool (*)(const cai_owner &keeper) noexcept> has_lost_context{nullptr};
  // The pinned memory that contains the array's address. That is a device address, or a host
  // address if the array comes from a consumer that was given that one.
  std::atomic<std::optional<Pinned> (*)(const cai_array &array) noexcept> find_pinned{nullptr};
  // Tries again to free memory that could not be freed yet; it may hold arrays.
  std::atomic<void (*)() noexcept> free_again{nullptr};
};
inline constinit Above above;

// False if the question has no function.
template <class Argument>
bool ask(const std::atomic<bool (*)(Argument &) noexcept> &question, Argument &argument) noexcept {
  const auto answer = question.load(std::memory_order_acquire);
  return answer && answer(argument);
}

}  // namespace cai::order
