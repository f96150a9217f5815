// SPDX-License-Identifier: BSD-3-Clause
// Uses of arrays by what they were begun with, so that a test names the end of one by its arrays
// and its stream. An end without a beginning is that of a use whose beginning had nobody wait.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <mutex>
#include <vector>

#include "cai.h"

namespace test {

class Uses {
 public:
  static Uses &all() {
    static Uses uses;
    return uses;
  }

  cai_status begin(const cai_array *const *arrays, std::int32_t count, std::uint64_t stream,
                   const cai_use_options *options, cai_error *error) {
    cai_use use;
    const cai_status status = cai_use_begin(&use, arrays, count, stream, options, error);
    if (status != CAI_OK) return status;
    const Key key = key_of(arrays, count, stream);
    forget(key);
    if (key.arrays.empty()) return cai_use_end(&use, error);
    const std::lock_guard lock(mutex_);
    open_.push_back({key, use});
    return CAI_OK;
  }

  cai_status end(const cai_array *const *arrays, std::int32_t count, std::uint64_t stream,
                 const cai_use_options *options, cai_error *error) {
    const Key key = key_of(arrays, count, stream);
    Open open{key, {}};
    if (!take(key, &open)) {
      cai_use_options how{sizeof how, CAI_ORDER_END, CAI_ACCESS_DEFAULT, 0, nullptr};
      if (options && options->struct_size == sizeof how) {
        how = *options;
        if (how.order == CAI_ORDER_BOTH) how.order = CAI_ORDER_END;
        options = &how;
      }
      if (!options) options = &how;
      const cai_status status = cai_use_begin(&open.use, arrays, count, stream, options, error);
      if (status != CAI_OK) return status;
    }
    const cai_status status = cai_use_end(&open.use, error);
    if (status == CAI_OK) return status;
    const std::lock_guard lock(mutex_);
    open_.push_back(open);  // and it may be tried again
    return status;
  }

 private:
  // Addresses recur from test to test.
  struct Key {
    std::vector<const cai_array *> arrays;
    std::uint64_t stream;
    const testing::TestInfo *test;
    bool operator==(const Key &) const = default;
  };
  struct Open {
    Key key;
    cai_use use;
  };

  static Key key_of(const cai_array *const *arrays, std::int32_t count, std::uint64_t stream) {
    const bool good = arrays && count > 0;
    return {good ? std::vector<const cai_array *>(arrays, arrays + count)
                 : std::vector<const cai_array *>(),
            stream, testing::UnitTest::GetInstance()->current_test_info()};
  }

  bool take(const Key &key, Open *out) {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(open_.begin(), open_.end(), [&](const Open &open) { return open.key == key; });
    if (found == open_.end()) return false;
    *out = *found;
    open_.erase(found);
    return true;
  }

  void forget(const Key &key) {
    Open open{key, {}};
    if (take(key, &open)) static_cast<void>(cai_use_finish(&open.use, 0, nullptr));
  }

  std::mutex mutex_;
  std::list<Open> open_;
};

inline cai_status begin_arrays(const cai_array *const *arrays, std::int32_t count,
                               std::uint64_t stream, const cai_use_options *options,
                               cai_error *error) {
  return Uses::all().begin(arrays, count, stream, options, error);
}

inline cai_status end_arrays(const cai_array *const *arrays, std::int32_t count,
                             std::uint64_t stream, const cai_use_options *options,
                             cai_error *error) {
  return Uses::all().end(arrays, count, stream, options, error);
}

}  // namespace test
