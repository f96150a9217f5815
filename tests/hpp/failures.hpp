// SPDX-License-Identifier: BSD-3-Clause
// What went to cai::on_failure() while it lives.
#pragma once

#include <cai/cai.hpp>
#include <vector>

namespace test {

class Failures {
 public:
  Failures() : before_(cai::on_failure(note)) { seen().clear(); }
  Failures(const Failures &) = delete;
  Failures &operator=(const Failures &) = delete;
  ~Failures() { cai::on_failure(before_); }

  static std::vector<cai_error> &seen() {
    static std::vector<cai_error> all;
    return all;
  }

 private:
  static void note(const cai_error &failure) noexcept { seen().push_back(failure); }

  cai::failure_hook before_;
};

}  // namespace test
