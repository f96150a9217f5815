// SPDX-License-Identifier: BSD-3-Clause
// Settings for dumps after a fault. They are kept and returned: simcuda reports faults, and never
// dumps.

#include <cstring>

#include "call.h"

using namespace simcuda;

namespace {

constexpr std::size_t most_characters = 1023;

bool is_text(int attribute) {
  return attribute == CU_COREDUMP_FILE || attribute == CU_COREDUMP_PIPE;
}

std::size_t size_of(int attribute) {
  if (is_text(attribute)) return most_characters + 1;
  if (attribute == CU_COREDUMP_GENERATION_FLAGS && Settings::get().is_since(12050))
    return sizeof(int);
  if (attribute < CU_COREDUMP_ENABLE_ON_EXCEPTION || attribute > CU_COREDUMP_ENABLE_USER_TRIGGER)
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  return sizeof(bool);
}

// As bytes; texts without their terminator. A driver chooses names when it dumps, and returns none.
std::string default_of(int attribute) {
  if (is_text(attribute)) return {};
  return std::string(size_of(attribute), attribute == CU_COREDUMP_TRIGGER_HOST ? 1 : 0);
}

void set(CoredumpSettings &settings, int attribute, const void *value, std::size_t *size) {
  const std::size_t wanted = size_of(attribute);
  const std::size_t given = required(size);
  const char *bytes = static_cast<const char *>(value);
  if (!value) {
    *size = wanted;
  } else if (is_text(attribute)) {
    const std::size_t length = strnlen(bytes, given);
    if (length > most_characters) throw Refused{CUDA_ERROR_INVALID_VALUE};
    settings[attribute].assign(bytes, length);
  } else {
    if (given < wanted) throw Refused{CUDA_ERROR_INVALID_VALUE};
    settings[attribute].assign(bytes, wanted);
  }
}

// The first of these that was set.
void get(std::initializer_list<const CoredumpSettings *> all, int attribute, void *value,
         std::size_t *size) {
  const std::size_t wanted = size_of(attribute);
  const std::size_t room = required(size);
  if (!value) {
    *size = wanted;
    return;
  }
  std::string found = default_of(attribute);
  for (auto *settings : all)
    if (const auto told = settings->find(attribute); told != settings->end()) {
      found = told->second;
      break;
    }
  const std::size_t bytes = found.size() + is_text(attribute);
  if (room < bytes) throw Refused{CUDA_ERROR_INVALID_VALUE};
  std::memcpy(value, found.c_str(), bytes);
}

}  // namespace

SIM_API CUresult cuCoredumpSetAttribute(int attribute, void *value, std::size_t *size) {
  return call(__func__, {attribute, value, size},
              [&](Session &s) { set(owner_of(s.current())->coredump, attribute, value, size); });
}

SIM_API CUresult cuCoredumpSetAttributeGlobal(int attribute, void *value, std::size_t *size) {
  return call(__func__, {attribute, value, size},
              [&](Session &s) { set(s.driver.coredump, attribute, value, size); });
}

SIM_API CUresult cuCoredumpGetAttribute(int attribute, void *value, std::size_t *size) {
  return call(__func__, {attribute, value, size}, [&](Session &s) {
    get({&owner_of(s.current())->coredump, &s.driver.coredump}, attribute, value, size);
  });
}

SIM_API CUresult cuCoredumpGetAttributeGlobal(int attribute, void *value, std::size_t *size) {
  return call(__func__, {attribute, value, size},
              [&](Session &s) { get({&s.driver.coredump}, attribute, value, size); });
}
