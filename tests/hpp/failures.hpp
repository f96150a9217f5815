// SPDX-License-Identifier: BSD-3-Clause
// What went to cai::on_failure() while it lives.
#pragma once

#include <cai/cai.hpp>
#include <mutex>
#include <vector>

namespace test {

class Failures {
 public:
  Failures() : before_(cai::on_failure(note)) { seen().clear(); }
  Failures(const Failures &) = delete;
  Failures &operator=(const Failures &) = delete;
  ~Failures() { cai::on_failure(before_); }

  // As long as threads of the library's may add to them.
  static std::size_t count() {
    const std::lock_guard lock(mutex());
    return seen().size();
  }

  static std::vector<cai_error> &seen() {
    static std::vector<cai_error> all;
    return all;
  }

 private:
  static void note(const cai_error &failure) noexcept {
    const std::lock_guard lock(mutex());
    seen().push_back(failure);
  }
  static std::mutex &mutex() {
    static std::mutex guards_seen;
    return guards_seen;
  }

  cai::failure_hook before_;
};

}  // namespace test
