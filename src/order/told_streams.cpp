// SPDX-License-Identifier: BSD-3-Clause
#include "order/told_streams.hpp"

#include "core/immortal.hpp"

namespace cai::order {
namespace {

struct Readers : Visitors {};

}  // namespace

void Reading::enter() noexcept {
  visit_.emplace(immortal<Readers>());
}

void Reading::leave() noexcept {
  visit_.reset();
}

void await_readers() noexcept {
  static_cast<void>(immortal<Readers>().wait());
}

}  // namespace cai::order
