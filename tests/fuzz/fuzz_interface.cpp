// SPDX-License-Identifier: BSD-3-Clause
// cai_interface_read() of whole dicts, in both modes, with storage of exactly the size that
// cai_interface_storage() says, and the callback's findings.
#include "input.hpp"

namespace {

struct Count {
  int errors = 0;
  cai_status first = CAI_OK;
};

void take(void *context, const cai_finding *finding) {
  auto &count = *static_cast<Count *>(context);
  MUST_HOLD(finding->struct_size >= sizeof *finding && finding->value && finding->clause &&
            finding->text);
  MUST_HOLD(finding->clause[0] && is_utf8(finding->clause, std::strlen(finding->clause)));
  MUST_HOLD(finding->text[0] && is_utf8(finding->text, std::strlen(finding->text)));
  MUST_HOLD(is_utf8(finding->value, std::strlen(finding->value)));
  MUST_HOLD(finding->entry >= CAI_ENTRY_INTERFACE && finding->entry <= CAI_ENTRY_OFFSET);
  if (finding->severity != CAI_SEVERITY_ERROR) {
    MUST_HOLD(finding->status == CAI_OK);
  } else if (!count.errors++) {
    count.first = finding->status;
  }
}

// An array with an offset is not where its address says.
bool is_absent_or_0(const cai_value &value) {
  return value.form == CAI_FORM_MISSING ||
         ((value.form == CAI_FORM_INT || value.form == CAI_FORM_INDEX) &&
          value.range == CAI_RANGE_INT64 && value.integer == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  fuzz::Input input(data, size);
  fuzz::Values values(input);
  const cai_interface *const in = values.interface(2);
  cai_status verdicts[2];
  for (const std::uint32_t mode : {CAI_LENIENT, CAI_STRICT}) {
    const fuzz::Storage storage(cai_interface_storage(in));
    cai_array array, untouched;
    cai_error error;
    std::memset(&array, 0xA5, sizeof array);
    std::memset(&untouched, 0xA5, sizeof untouched);
    Count count;
    const cai_status status =
        cai_interface_read(in, mode, take, &count, storage.get(), storage.size(), &array, &error);
    verdicts[mode] = status;
    MUST_HOLD(status == count.first);
    if (status) {
      MUST_HOLD(status == CAI_ERR_VALUE || status == CAI_ERR_TYPE);
      MUST_HOLD(std::memcmp(&array, &untouched, sizeof array) == 0);
      fuzz::require_error(status, error);
    } else {
      fuzz::require_round_trip(array);
      MUST_HOLD(in->protocol != CAI_PROTOCOL_HOST || is_absent_or_0(in->offset));
    }
    const cai_status silent = cai_interface_read(in, mode, nullptr, nullptr, storage.get(),
                                                 storage.size(), &array, &error);
    MUST_HOLD(silent == status);
  }
  MUST_HOLD(verdicts[CAI_LENIENT] == CAI_OK ||
            verdicts[CAI_STRICT] != CAI_OK);  // strict takes no more
  return 0;
}
