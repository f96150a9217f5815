// SPDX-License-Identifier: BSD-3-Clause
// How all parts of the library report failure: fail() where nothing may be thrown, Failure and
// guard() elsewhere.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <exception>
#include <new>

#include "cai.h"

namespace cai {

// Where a failure belongs: the entry of the interface, the axis or array, the CUresult.
struct Where {
  int32_t entry = CAI_ENTRY_NONE;
  int32_t index = -1;
  int32_t native = 0;
};

// Fills in `error`, if it is not NULL, and returns `status`, so that a check is one line: `return
// fail(error, CAI_ERR_VALUE, {CAI_ENTRY_SHAPE, axis}, "shape[%d] is ...", axis)`. The message is
// cut at 239 bytes and is always valid UTF-8.
[[gnu::cold, gnu::format(printf, 4, 5)]] cai_status fail(cai_error *error, cai_status status,
                                                         Where where, const char *format,
                                                         ...) noexcept;
cai_status fail_v(cai_error *error, cai_status status, Where where, const char *format,
                  va_list arguments) noexcept;

// The same as an exception, for code that may throw. It never leaves the library.
class Failure : public std::exception {
 public:
  [[gnu::format(printf, 4, 5)]] Failure(cai_status status, Where where, const char *format, ...);
  explicit Failure(const cai_error &error) : error_(error) {}
  const cai_error &error() const noexcept { return error_; }
  const char *what() const noexcept override { return error_.message; }

 private:
  cai_error error_;
};

// Wraps the body of every exported function that may throw: turns an exception into a status.
template <class Body>
cai_status guard(cai_error *error, Body &&body) noexcept {
  try {
    body();
    return CAI_OK;
  } catch (const Failure &failure) {
    if (error) *error = failure.error();
    return failure.error().status;
  } catch (const std::bad_alloc &) {
    return fail(error, CAI_ERR_MEMORY, {}, "no host memory left");
  } catch (...) {
    return fail(error, CAI_ERR_MEMORY, {}, "an unexpected exception inside libcai");
  }
}

}  // namespace cai
