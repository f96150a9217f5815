// SPDX-License-Identifier: BSD-3-Clause
// Failures where nothing may be thrown: the first one is kept, and thrown later.
#pragma once

#include <optional>

#include "driver/driver.hpp"

namespace cai::driver {

class Faults {
 public:
  void note(const cai_error &error) noexcept {
    if (!first_) first_ = error;
  }

  // Calls a function of the driver, and notes its failure.
  template <template <class...> class Kind, class... Arguments>
  bool attempt(const Kind<Arguments...> &function,
               std::type_identity_t<Arguments>... arguments) noexcept {
    const CUresult result = function(arguments...);
    if (result != success) note(failure_of(function.name, result));
    return result == success;
  }

  bool any() const noexcept { return first_.has_value(); }
  const cai_error *first() const noexcept { return first_ ? &*first_ : nullptr; }

  void raise() const {
    if (first_) throw Failure(*first_);
  }

 private:
  std::optional<cai_error> first_;
};

}  // namespace cai::driver
