// SPDX-License-Identifier: BSD-3-Clause
// The descr of an array as a tree of cai_field: its size, copies of it, and its validation.
#pragma once

#include <cstdint>

#include "cai.h"
#include "core/storage.hpp"

namespace cai {

// The bytes of storage that a copy of the tree needs. `fields` must be valid.
uint64_t fields_storage(const cai_field *fields, uint32_t count) noexcept;

// Makes a deep copy. The storage must have fields_storage() bytes.
cai_field *copy_fields(const cai_field *fields, uint32_t count, Storage &storage) noexcept;

// Returns what is wrong with a tree that must fill `itemsize` bytes, as text to follow "descr ";
// NULL if nothing is. Reports the top-level field, and whether any item is in the other byte order.
// Ignores reserved words if the array comes from a newer minor version of the ABI.
const char *fields_fault(const cai_field *fields, uint32_t count, uint32_t itemsize, bool newer,
                         int32_t *index, bool *swapped) noexcept;

// Finds a name or title that two of the fields share, which would make one of them inaccessible;
// NULL if there is none. Returns false if there is not enough memory to find out.
[[nodiscard]] bool find_shared_name(const cai_field *fields, uint32_t count,
                                    const char **name) noexcept;

// Whether fields have the same types and sub-arrays, in the same places; their names may differ.
bool same_types(const cai_field *a, uint32_t a_count, const cai_field *b,
                uint32_t b_count) noexcept;

// The bytes of one field, its sub-array included. Returns false if they do not fit in 32 bits.
[[nodiscard]] bool field_size(const cai_field &field, uint64_t *bytes) noexcept;

// Copies a string; returns NULL if the storage is too small.
char *copy_string(const char *text, uint64_t length, Storage &storage) noexcept;

}  // namespace cai
