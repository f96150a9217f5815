// SPDX-License-Identifier: BSD-3-Clause
#include "core/typestr.hpp"

#include <charconv>
#include <cstdint>
#include <cstring>

#include "core/error.hpp"
#include "core/text.hpp"

namespace cai {
namespace {

constexpr uint32_t kBytesPerCodePoint = 4;  // of kind 'U'

constexpr const char *kTimeUnits[] = {"",  "Y",  "M",  "W",  "D",  "h",  "m",
                                      "s", "ms", "us", "ns", "ps", "fs", "as"};
constexpr uint8_t kTimeUnitCount = sizeof kTimeUnits / sizeof *kTimeUnits;

// By CAI_EXT_*, from 1.
constexpr const char *kExtensions[] = {"bfloat16",        "float8_e4m3fn",      "float8_e5m2",
                                       "float8_e4m3fnuz", "float8_e5m2fnuz",    "float8_e4m3",
                                       "float8_e3m4",     "float8_e4m3b11fnuz", "float8_e8m0fnu"};

constexpr uint32_t size_of_extension(uint8_t ext) noexcept {
  return ext == CAI_EXT_BFLOAT16 ? 2 : 1;
}

constexpr uint32_t kAnySize = UINT32_MAX;

// The sizes, in bytes, that NumPy gives a kind: powers of two, so that a sum of them is a set.
constexpr uint32_t sizes_of(uint8_t kind) noexcept {
  switch (kind) {
    case 'b':
    case 't':
      return 1;
    case 'i':
    case 'u':
      return 1 + 2 + 4 + 8;
    case 'f':
      return 2 + 4 + 8 + 16;
    case 'c':
      return 8 + 16 + 32;
    case 'm':
    case 'M':
      return 8;
    case 'S':
    case 'U':
    case 'V':
      return kAnySize;
    default:
      return 0;
  }
}

bool is_known_size(uint8_t kind, uint32_t size) noexcept {
  const uint32_t sizes = sizes_of(kind);
  if (sizes != kAnySize) return (size & sizes) != 0 && (size & (size - 1)) == 0;
  return size != 0 && (kind != 'U' || size % kBytesPerCodePoint == 0);
}

// Both the kind and the size are known.
bool order_matters(uint8_t kind, uint32_t itemsize) noexcept {
  return itemsize > 1 && kind != 'S' && kind != 'V';
}

// Reads a positive decimal number of at most UINT32_MAX; returns 0 if there is none. Reports
// leading zeros.
uint32_t parse_count(const char *&at, const char *end, bool *has_zeros) noexcept {
  if (at != end && *at == '0') *has_zeros = true;
  uint64_t count = 0;
  for (; at != end && *at >= '0' && *at <= '9'; ++at) {
    count = count * 10 + static_cast<uint64_t>(*at - '0');
    if (count > UINT32_MAX) return 0;
  }
  return static_cast<uint32_t>(count);
}

// "[25s]": parses what follows the size of an 'm' or 'M'. Returns what is wrong with it, or NULL.
const char *parse_time(const char *at, const char *end, bool *has_zeros,
                       cai_dtype *dtype) noexcept {
  constexpr const char *no_unit = "ends in no unit of time that is known";
  if (end - at < 2 || *at != '[' || end[-1] != ']') return no_unit;
  ++at;
  --end;
  uint32_t step = 1;
  if (at != end && *at >= '0' && *at <= '9') {
    step = parse_count(at, end, has_zeros);
    if (step == 0 || step > INT32_MAX) return "has a step of time that is not 1 to 2147483647";
  }
  const auto length = static_cast<size_t>(end - at);
  for (uint8_t unit = 1; unit < kTimeUnitCount; ++unit) {
    if (std::strlen(kTimeUnits[unit]) == length && !std::memcmp(kTimeUnits[unit], at, length)) {
      dtype->time_unit = unit;
      dtype->time_step = step;
      return nullptr;
    }
  }
  return no_unit;
}

ParsedTypestr wrong(const char *fault) noexcept {
  return {{}, Spelling::wrong, fault};
}

}  // namespace

ParsedTypestr parse_typestr(const char *text, size_t length) noexcept {
  ParsedTypestr parsed{{}, Spelling::exact, nullptr};
  cai_dtype &dtype = parsed.dtype;
  const char *at = text;
  const char *const end = text + length;

  char order = '\0';
  if (at != end && (*at == '<' || *at == '>' || *at == '|' || *at == '=')) order = *at++;
  if (at == end) return wrong("has no kind");
  dtype.kind = static_cast<uint8_t>(*at++);
  if (dtype.kind == 'O')
    return wrong("is of Python's objects, which have no meaning for C: copy them into numbers");

  bool has_zeros = false;
  uint32_t count = parse_count(at, end, &has_zeros);
  if (count == 0) return wrong("needs a size after its kind, from 1 to 4294967295");
  if (dtype.kind == 'U') {
    if (count > UINT32_MAX / kBytesPerCodePoint) return wrong("is too large");
    count *= kBytesPerCodePoint;
  }
  if (!is_known_size(dtype.kind, count))
    return wrong("has a kind and size that the CUDA Array Interface does not have");
  dtype.itemsize = count;

  if (at != end) {
    const bool is_time = dtype.kind == 'm' || dtype.kind == 'M';
    if (!is_time) return wrong("goes on after its size");
    if (const char *fault = parse_time(at, end, &has_zeros, &dtype)) return wrong(fault);
  }

  if (!order_matters(dtype.kind, dtype.itemsize)) {
    dtype.byteorder = '|';
  } else if (order == '<' || order == '>') {
    dtype.byteorder = static_cast<uint8_t>(order);
  } else {
    dtype.byteorder = static_cast<uint8_t>(kHostOrder);
  }
  if (order == '\0' || order == '=' || (order == '|' && dtype.byteorder != '|')) {
    parsed.spelling = Spelling::loose;
    parsed.fault = order == '\0' ? "gives no byte order"
                                 : "has a byte order that the CUDA Array Interface does not have";
  } else if (has_zeros) {
    parsed.spelling = Spelling::loose;
    parsed.fault = "has zeros before a number";
  }
  return parsed;
}

void format_typestr(const cai_dtype &dtype, char *out) noexcept {
  char *at = out;
  char *const end = out + CAI_TYPESTR_SIZE - 1;
  *at++ = dtype.ext == CAI_EXT_BFLOAT16 ? '<' : static_cast<char>(dtype.byteorder);
  *at++ = static_cast<char>(dtype.kind);
  const uint32_t count = dtype.kind == 'U' ? dtype.itemsize / kBytesPerCodePoint : dtype.itemsize;
  if (count < 10) {
    *at++ = static_cast<char>('0' + count);
  } else {
    at = std::to_chars(at, end, count).ptr;
  }
  if (dtype.time_unit) {
    *at++ = '[';
    if (dtype.time_step != 1) at = std::to_chars(at, end, dtype.time_step).ptr;
    for (const char *unit = kTimeUnits[dtype.time_unit]; *unit; ++unit) *at++ = *unit;
    *at++ = ']';
  }
  *at = '\0';
}

const char *dtype_fault(const cai_dtype &dtype, bool bits_allowed) noexcept {
  if (dtype.kind == 't' && !bits_allowed) return "is of bits, which only a mask may be";
  if (!is_known_size(dtype.kind, dtype.itemsize))
    return "has a kind and size that the CUDA Array Interface does not have";
  if (order_matters(dtype.kind, dtype.itemsize) ? dtype.byteorder != '<' && dtype.byteorder != '>'
                                                : dtype.byteorder != '|') {
    return "has a byte order that does not fit its kind";
  }
  if (dtype.ext != CAI_EXT_NONE) {
    const uint32_t size = size_of_extension(dtype.ext);
    if (dtype.ext > CAI_EXT_FLOAT8_E8M0FNU) return "has an unknown ext";
    if (dtype.kind != 'V' || dtype.itemsize != size) return "has an ext that does not fit its kind";
  }
  if (dtype.time_unit == 0 && dtype.time_step == 0) return nullptr;
  const bool is_time = dtype.kind == 'm' || dtype.kind == 'M';
  if (dtype.time_unit >= kTimeUnitCount || (dtype.time_unit && !is_time)) {
    return "has a time unit that does not fit its kind";
  }
  if (dtype.time_unit ? dtype.time_step < 1 || dtype.time_step > INT32_MAX : dtype.time_step != 0) {
    return "has a time step that does not fit its unit";
  }
  return nullptr;
}

uint8_t extension_named(const char *name, uint32_t itemsize) noexcept {
  uint8_t ext = CAI_EXT_NONE;
  for (const char *const known : kExtensions) {
    ++ext;
    if (size_of_extension(ext) == itemsize && std::strcmp(known, name) == 0) return ext;
  }
  return CAI_EXT_NONE;
}

const char *name_of_extension(uint8_t ext) noexcept {
  return kExtensions[ext - 1];
}

bool same_dtype(const cai_dtype &a, const cai_dtype &b) noexcept {
  return a.kind == b.kind && a.byteorder == b.byteorder && a.ext == b.ext &&
         a.time_unit == b.time_unit && a.itemsize == b.itemsize && a.time_step == b.time_step;
}

}  // namespace cai

using namespace cai;

cai_status cai_dtype_parse(const char *typestr, uint64_t length, cai_dtype *out, cai_error *error) {
  if (!typestr || !out) return fail(error, CAI_ERR_ARGUMENT, {}, "typestr or out is NULL");
  const ParsedTypestr parsed = parse_typestr(typestr, length);
  if (parsed.spelling == Spelling::wrong) {
    char shown[96];
    copy_printable(shown, sizeof shown, typestr, length);
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_TYPESTR}, "typestr '%s' %s", shown, parsed.fault);
  }
  *out = parsed.dtype;
  return CAI_OK;
}

cai_status cai_dtype_format(const cai_dtype *dtype, char *out, cai_error *error) {
  if (!dtype || !out) return fail(error, CAI_ERR_ARGUMENT, {}, "dtype or out is NULL");
  if (const char *fault = dtype_fault(*dtype, true)) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_TYPESTR}, "typestr %s: kind %s, itemsize %u",
                fault, Letter(dtype->kind).c_str(), dtype->itemsize);
  }
  format_typestr(*dtype, out);
  return CAI_OK;
}
