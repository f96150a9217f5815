// SPDX-License-Identifier: BSD-3-Clause
// What only the rooms above know. Each sets its function before there is anything to know.
#pragma once

#include <atomic>
#include <optional>

#include "driver/context.hpp"

namespace cai::order {

// Memory that the library has pinned, by its two addresses and its size in bytes.
struct Pinned {
  std::uint64_t device, host, size;
};

struct Above {
  // Whether a stream that is current on the calling thread is being captured.
  std::atomic<bool (*)(driver::Session &session) noexcept> is_current_captured{nullptr};
  // Whether the owner's memory was of a context that a reset has destroyed.
  std::atomic<bool (*)(const cai_owner &keeper) noexcept> has_lost_context{nullptr};
  // The memory that the array goes by an address of: the device's, or (of an array that
  // another library handed back) the host's.
  std::atomic<std::optional<Pinned> (*)(const cai_array &array) noexcept> find_pinned{nullptr};
};
inline constinit Above above;

// False where that is not known.
template <class Argument>
bool ask(const std::atomic<bool (*)(Argument &) noexcept> &question, Argument &argument) noexcept {
  const auto answer = question.load(std::memory_order_acquire);
  return answer && answer(argument);
}

}  // namespace cai::order
