// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/arrow_format.hpp"

#include <cstring>

#include "core/error.hpp"
#include "core/text.hpp"
#include "core/typestr.hpp"

namespace cai::exchange {
namespace {

struct Format {
  const char *text;
  uint8_t kind;
  uint32_t itemsize;
};
constexpr Format kFormats[] = {
    {"c", 'i', 1}, {"s", 'i', 2}, {"i", 'i', 4}, {"l", 'i', 8}, {"C", 'u', 1}, {"S", 'u', 2},
    {"I", 'u', 4}, {"L", 'u', 8}, {"e", 'f', 2}, {"f", 'f', 4}, {"g", 'f', 8},
};

}  // namespace

cai_status read_format(const char *format, cai_dtype *out, cai_error *error) noexcept {
  for (const Format &known : kFormats) {
    if (std::strcmp(known.text, format) != 0) continue;
    const auto order = static_cast<uint8_t>(known.itemsize > 1 ? kHostOrder : '|');
    *out = {known.kind, order, 0, 0, known.itemsize, 0};
    return CAI_OK;
  }
  char shown[96];
  copy_printable(shown, sizeof shown, format, std::strlen(format));
  return fail(error, CAI_ERR_UNSUPPORTED, {CAI_ENTRY_TYPESTR},
              "typestr: the column has format '%s', which is not a numeric format", shown);
}

cai_status write_format(const cai_dtype &dtype, const char **out, cai_error *error) noexcept {
  if (is_swapped(dtype)) {
    return fail(error, CAI_ERR_EXPORT, {CAI_ENTRY_TYPESTR},
                "typestr has the byte order '%c', and Arrow has this machine's only",
                dtype.byteorder);
  }
  for (const Format &known : kFormats) {
    if (known.kind != dtype.kind || known.itemsize != dtype.itemsize) continue;
    *out = known.text;
    return CAI_OK;
  }
  char typestr[CAI_TYPESTR_SIZE];
  format_typestr(dtype, typestr);
  return fail(error, CAI_ERR_EXPORT, {CAI_ENTRY_TYPESTR},
              "typestr is '%s', which is not written as a column", typestr);
}

}  // namespace cai::exchange
