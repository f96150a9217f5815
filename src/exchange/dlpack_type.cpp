// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/dlpack_type.hpp"

#include <array>

#include "core/error.hpp"
#include "core/typestr.hpp"

namespace cai::exchange {
namespace {

// The kind of a code, and the sizes in bytes that mean the same in both: powers of two, so that a
// sum of them is a set. Larger floats are C's long double here, which is no IEEE format on most
// machines, but is one in DLPack.
struct Meaning {
  uint8_t kind = 0, ext = CAI_EXT_NONE;
  uint32_t sizes = 0;  // none: an array cannot have this type

  bool has_size(uint32_t bytes) const noexcept {
    return (bytes & sizes) != 0 && (bytes & (bytes - 1)) == 0;
  }
};

constexpr int kCodes = kDLFloat8_e8m0fnu + 1;
constexpr auto kMeanings = [] {
  std::array<Meaning, kCodes> by_code{};
  by_code[kDLInt] = {'i', CAI_EXT_NONE, 1 + 2 + 4 + 8};
  by_code[kDLUInt] = {'u', CAI_EXT_NONE, 1 + 2 + 4 + 8};
  by_code[kDLFloat] = {'f', CAI_EXT_NONE, 2 + 4 + 8};
  by_code[kDLBfloat] = {'V', CAI_EXT_BFLOAT16, 2};
  by_code[kDLComplex] = {'c', CAI_EXT_NONE, 8 + 16};
  by_code[kDLBool] = {'b', CAI_EXT_NONE, 1};
  by_code[kDLFloat8_e3m4] = {'V', CAI_EXT_FLOAT8_E3M4, 1};
  by_code[kDLFloat8_e4m3] = {'V', CAI_EXT_FLOAT8_E4M3, 1};
  by_code[kDLFloat8_e4m3b11fnuz] = {'V', CAI_EXT_FLOAT8_E4M3B11FNUZ, 1};
  by_code[kDLFloat8_e4m3fn] = {'V', CAI_EXT_FLOAT8_E4M3FN, 1};
  by_code[kDLFloat8_e4m3fnuz] = {'V', CAI_EXT_FLOAT8_E4M3FNUZ, 1};
  by_code[kDLFloat8_e5m2] = {'V', CAI_EXT_FLOAT8_E5M2, 1};
  by_code[kDLFloat8_e5m2fnuz] = {'V', CAI_EXT_FLOAT8_E5M2FNUZ, 1};
  by_code[kDLFloat8_e8m0fnu] = {'V', CAI_EXT_FLOAT8_E8M0FNU, 1};
  return by_code;
}();

[[gnu::cold, gnu::noinline]] cai_status fault(const DLDataType &type, cai_error *error) noexcept {
  const char *const why = type.lanes != 1                ? ": a vector"
                          : type.bits % 8 != 0           ? ": items that are no whole bytes"
                          : type.code == kDLOpaqueHandle ? ": an opaque handle"
                                                         : "";
  return fail(error, CAI_ERR_UNSUPPORTED, {CAI_ENTRY_TYPESTR},
              "typestr cannot express a tensor's type of code %d, %d bits and %d lanes%s",
              type.code, type.bits, type.lanes, why);
}

}  // namespace

cai_status read_type(const DLDataType &type, cai_dtype *out, cai_error *error) noexcept {
  const uint32_t bytes = type.bits / 8;
  const bool whole = type.lanes == 1 && type.bits % 8 == 0 && type.code < kCodes;
  if (!whole || !kMeanings[type.code].has_size(bytes)) return fault(type, error);
  const Meaning &meaning = kMeanings[type.code];
  const bool has_order = bytes > 1 && meaning.ext == CAI_EXT_NONE;
  const auto order = static_cast<uint8_t>(has_order ? kHostOrder : '|');
  *out = {meaning.kind, order, meaning.ext, 0, bytes, 0};
  return CAI_OK;
}

cai_status write_type(const cai_dtype &dtype, DLDataType *out, cai_error *error) noexcept {
  if (is_swapped(dtype)) {
    return fail(error, CAI_ERR_EXPORT, {CAI_ENTRY_TYPESTR},
                "typestr has the byte order '%c', and DLPack has this machine's only",
                dtype.byteorder);
  }
  for (uint8_t code = 0; code < kCodes; ++code) {
    const Meaning &meaning = kMeanings[code];
    if (meaning.kind != dtype.kind || meaning.ext != dtype.ext) continue;
    if (!meaning.has_size(dtype.itemsize)) break;
    *out = {code, static_cast<uint8_t>(dtype.itemsize * 8), 1};
    return CAI_OK;
  }
  char typestr[CAI_TYPESTR_SIZE];
  format_typestr(dtype, typestr);
  return fail(error, CAI_ERR_EXPORT, {CAI_ENTRY_TYPESTR},
              "typestr is '%s', a type that DLPack lacks", typestr);
}

}  // namespace cai::exchange
