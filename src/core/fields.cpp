// SPDX-License-Identifier: BSD-3-Clause
#include "core/fields.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>

#include "core/checked.hpp"
#include "core/text.hpp"
#include "core/typestr.hpp"

namespace cai {
namespace {

uint64_t string_storage(const char *text) noexcept {
  return text ? round_up8(std::strlen(text) + 1) : 0;
}

struct Inspection {
  bool newer;
  uint32_t fields_left = CAI_MAX_DESCR_FIELDS;
  bool swapped = false;

  const char *inspect(const cai_field &field, int depth) noexcept;
  const char *inspect(const cai_field *fields, uint32_t count, uint64_t itemsize, int depth,
                      int32_t *index) noexcept;
};

const char *Inspection::inspect(const cai_field &field, int depth) noexcept {
  if (!field.name) return "has a field whose name is NULL";
  if (!is_utf8(field.name, std::strlen(field.name))) return "has a name that is not UTF-8";
  if (field.title && !is_utf8(field.title, std::strlen(field.title))) {
    return "has a title that is not UTF-8";
  }
  if (field.reserved != 0 && !newer) return "has a reserved word that is not 0";
  if (field.ndim < 0 || field.ndim > CAI_MAX_NDIM) return "has a sub-array of too many dimensions";
  if (field.ndim > 0 && !field.shape) return "has a sub-array whose shape is NULL";
  if (dtype_fault(field.dtype, false)) return "has a field of an invalid type";
  swapped = swapped || is_swapped(field.dtype);
  if (field.field_count == 0) return field.fields ? "has nested fields without a count" : nullptr;
  if (!field.fields) return "has nested fields that are NULL";
  if (field.dtype.kind != 'V' || field.dtype.ext)
    return "has nested fields in a type that is not V";
  return inspect(field.fields, field.field_count, field.dtype.itemsize, depth + 1, nullptr);
}

const char *Inspection::inspect(const cai_field *fields, uint32_t count, uint64_t itemsize,
                                int depth, int32_t *index) noexcept {
  if (depth >= CAI_MAX_DESCR_DEPTH) return "is nested too deep";
  if (count > fields_left) return "has too many fields";
  fields_left -= count;
  uint64_t offset = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (index) *index = static_cast<int32_t>(i);
    if (const char *fault = inspect(fields[i], depth)) return fault;
    uint64_t bytes;
    if (!field_size(fields[i], &bytes)) return "has a field that is too large";
    if (fields[i].offset != offset) return "has an offset that is not the sum of the sizes before";
    offset += bytes;
  }
  if (index) *index = -1;
  const char *shared;
  if (find_shared_name(fields, count, &shared) && shared) return "uses a name or title twice";
  return offset == itemsize ? nullptr : "does not add up to the item size";
}

}  // namespace

bool find_shared_name(const cai_field *fields, uint32_t count, const char **name) noexcept {
  *name = nullptr;
  const char *few[64];  // enough for most descrs, so that validating allocates nothing
  const size_t most = 2 * size_t{count};
  std::unique_ptr<const char *[]> many;
  if (most > std::size(few)) many.reset(new (std::nothrow) const char *[most]);
  const char **const names = most > std::size(few) ? many.get() : few;
  if (!names) return false;
  const char **end = names;
  for (uint32_t i = 0; i < count; ++i) {
    if (*fields[i].name) *end++ = fields[i].name;
    if (fields[i].title) *end++ = fields[i].title;
  }
  std::sort(names, end, [](const char *a, const char *b) { return std::strcmp(a, b) < 0; });
  const char **const twin = std::adjacent_find(
      names, end, [](const char *a, const char *b) { return !std::strcmp(a, b); });
  if (twin != end) *name = *twin;
  return true;
}

bool same_types(const cai_field *a, uint32_t a_count, const cai_field *b,
                uint32_t b_count) noexcept {
  return std::equal(a, a + a_count, b, b + b_count, [](const cai_field &x, const cai_field &y) {
    return same_dtype(x.dtype, y.dtype) &&
           std::equal(x.shape, x.shape + x.ndim, y.shape, y.shape + y.ndim) &&
           same_types(x.fields, x.field_count, y.fields, y.field_count);
  });
}

bool field_size(const cai_field &field, uint64_t *bytes) noexcept {
  int64_t size = field.dtype.itemsize;
  for (int32_t axis = 0; axis < field.ndim; ++axis) {
    if (field.shape[axis] < 0 || !multiply(size, field.shape[axis], &size)) return false;
  }
  *bytes = static_cast<uint64_t>(size);
  return size <= UINT32_MAX;
}

const char *fields_fault(const cai_field *fields, uint32_t count, uint32_t itemsize, bool newer,
                         int32_t *index, bool *swapped) noexcept {
  Inspection inspection{newer};
  const char *const fault = inspection.inspect(fields, count, itemsize, 0, index);
  *swapped = inspection.swapped;
  return fault;
}

uint64_t fields_storage(const cai_field *fields, uint32_t count) noexcept {
  uint64_t bytes = count * sizeof(cai_field);
  for (uint32_t i = 0; i < count; ++i) {
    const cai_field &field = fields[i];
    bytes += string_storage(field.name) + string_storage(field.title) +
             static_cast<uint64_t>(field.ndim) * sizeof(int64_t) +
             fields_storage(field.fields, field.field_count);
  }
  return bytes;
}

char *copy_string(const char *text, uint64_t length, Storage &storage) noexcept {
  char *const copy = storage.take<char>(length + 1);
  if (!copy) return nullptr;
  std::memcpy(copy, text, length);
  copy[length] = '\0';
  return copy;
}

cai_field *copy_fields(const cai_field *fields, uint32_t count, Storage &storage) noexcept {
  auto *const copies = storage.take<cai_field>(count);
  for (uint32_t i = 0; i < count; ++i) {
    const cai_field &field = fields[i];
    cai_field &copy = copies[i];
    copy = field;
    copy.reserved = 0;
    copy.name = copy_string(field.name, std::strlen(field.name), storage);
    if (field.title) copy.title = copy_string(field.title, std::strlen(field.title), storage);
    copy.shape = nullptr;
    if (field.ndim > 0) {
      const auto ndim = static_cast<uint64_t>(field.ndim);
      auto *const shape = storage.take<int64_t>(ndim);
      std::memcpy(shape, field.shape, ndim * sizeof *shape);
      copy.shape = shape;
    }
    if (field.field_count > 0) {
      copy.fields = copy_fields(field.fields, field.field_count, storage);
    }
  }
  return copies;
}

}  // namespace cai
