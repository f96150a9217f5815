// SPDX-License-Identifier: BSD-3-Clause
// cai_dtype_parse() of any bytes; what it takes, cai_dtype_format() says, and that is canonical.
// And cai_dtype_format() of any struct: what it says, cai_dtype_parse() takes.
#include "input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  cai_dtype dtype, again;
  cai_error error;
  char text[CAI_TYPESTR_SIZE + 1], twice[CAI_TYPESTR_SIZE];
  text[CAI_TYPESTR_SIZE] = '#';
  const auto *chars = reinterpret_cast<const char *>(data);
  const cai_status status = cai_dtype_parse(data ? chars : "", size, &dtype, &error);
  if (status == CAI_OK) {
    MUST_HOLD(dtype.itemsize != 0 && dtype.ext == CAI_EXT_NONE);
    MUST_HOLD(cai_dtype_format(&dtype, text, &error) == CAI_OK);
    MUST_HOLD(cai_dtype_parse(text, std::strlen(text), &again, &error) == CAI_OK);
    MUST_HOLD(std::memcmp(&dtype, &again, sizeof dtype) == 0);
    MUST_HOLD(cai_dtype_format(&again, twice, &error) == CAI_OK);
    MUST_HOLD(std::strcmp(text, twice) == 0);
  } else {
    fuzz::require_error(status, error);
    MUST_HOLD(status == CAI_ERR_VALUE && error.entry == CAI_ENTRY_TYPESTR);
  }

  if (size >= sizeof dtype) {
    std::memcpy(&dtype, data, sizeof dtype);
    const cai_status formatted = cai_dtype_format(&dtype, text, &error);
    if (formatted == CAI_OK) {
      MUST_HOLD(std::memchr(text, 0, CAI_TYPESTR_SIZE) != nullptr);
      MUST_HOLD(cai_dtype_parse(text, std::strlen(text), &again, &error) == CAI_OK);
      if (dtype.ext == CAI_EXT_NONE) {
        MUST_HOLD(cai_dtype_format(&again, twice, &error) == CAI_OK &&
                  std::strcmp(text, twice) == 0);
        MUST_HOLD(std::memcmp(&dtype, &again, sizeof dtype) == 0);
      }
    } else {
      fuzz::require_error(formatted, error);
    }
  }
  MUST_HOLD(text[CAI_TYPESTR_SIZE] == '#');
  return 0;
}
