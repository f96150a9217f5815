// SPDX-License-Identifier: BSD-3-Clause
// The descr of an array as a tree of cai_field: measured, copied, judged.
#pragma once

#include <cstdint>

#include "cai.h"
#include "core/storage.hpp"

namespace cai {

// Bytes of storage that a copy of the tree needs. `fields` must be valid.
uint64_t fields_storage(const cai_field *fields, uint32_t count) noexcept;

// A deep copy, for which the storage has fields_storage() bytes.
cai_field *copy_fields(const cai_field *fields, uint32_t count, Storage &storage) noexcept;

// What is wrong with a tree that must fill `itemsize` bytes, to follow "descr "; NULL if nothing
// is. Tells at which top-level field, and whether any item is in the other byte order. Of a newer
// minor of the ABI, reserved words are not looked at.
const char *fields_fault(const cai_field *fields, uint32_t count, uint32_t itemsize, bool newer,
                         int32_t *index, bool *swapped) noexcept;

// A name that two of the fields share, which would make one of them unreachable; NULL if there is
// none. False if memory is too short to tell.
[[nodiscard]] bool find_shared_name(const cai_field *fields, uint32_t count,
                                    const char **name) noexcept;

// Bytes of one field, its sub-array included; false if they do not fit in 32 bits.
[[nodiscard]] bool field_size(const cai_field &field, uint64_t *bytes) noexcept;

// A string's copy, or NULL if the storage is too small.
char *copy_string(const char *text, uint64_t length, Storage &storage) noexcept;

}  // namespace cai
