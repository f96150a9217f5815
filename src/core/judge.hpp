// SPDX-License-Identifier: BSD-3-Clause
// Collects the results of reading an interface: the status, its error, and the lint's findings.
#pragma once

#include <cstdint>

#include "cai.h"

namespace cai {

class Judge {
 public:
  Judge(uint32_t mode, cai_finding_fn on_finding, void *context, cai_error *error) noexcept
      : strict_(mode == CAI_STRICT), on_finding_(on_finding), context_(context), error_(error) {}

  // The status of the first error reported, or CAI_OK.
  cai_status verdict() const noexcept { return verdict_; }

  // Whether the caller wants advice.
  bool listens() const noexcept { return on_finding_ != nullptr; }

  // Reports a value that no mode accepts. `format` follows the name of the entry, and shows the
  // value.
  [[gnu::cold, gnu::noinline, gnu::format(printf, 7, 8)]] void error(
      cai_status status, int32_t entry, int32_t index, const cai_value &value, const char *clause,
      const char *format, ...) noexcept;

  // Reports a value that has a clear meaning but breaks the text: an error if strict, else a
  // warning.
  [[gnu::cold, gnu::noinline, gnu::format(printf, 7, 8)]] void lenience(
      cai_status status, int32_t entry, int32_t index, const cai_value &value, const char *clause,
      const char *format, ...) noexcept;

  // Reports a valid value that is probably a mistake.
  [[gnu::cold, gnu::noinline, gnu::format(printf, 6, 7)]] void advice(int32_t entry, int32_t index,
                                                                      const cai_value &value,
                                                                      const char *clause,
                                                                      const char *format,
                                                                      ...) noexcept;

  // Reports a failure of the call itself, such as a lack of memory: no finding about the interface.
  [[gnu::cold, gnu::noinline]] void abandon(cai_status status, const char *message) noexcept;

  // While one exists, all findings belong to the mask.
  class WithinMask {
   public:
    explicit WithinMask(Judge &judge) noexcept : judge_(judge) { judge_.in_mask_ = true; }
    ~WithinMask() { judge_.in_mask_ = false; }
    WithinMask(const WithinMask &) = delete;
    WithinMask &operator=(const WithinMask &) = delete;

   private:
    Judge &judge_;
  };

 private:
  struct Remark;
  void report(const Remark &remark, const char *format, __builtin_va_list arguments) noexcept;

  bool strict_;
  bool in_mask_ = false;
  cai_status verdict_ = CAI_OK;
  cai_finding_fn on_finding_;
  void *context_;
  cai_error *error_;
};

}  // namespace cai
