// SPDX-License-Identifier: BSD-3-Clause
#include "managers/kinds.hpp"

#include <array>
#include <cstring>
#include <string_view>

#include "core/error.hpp"
#include "core/text.hpp"

namespace cai::managers {
namespace {

constexpr std::array<const char *, 11> names = {
    "none",    "default",        "async",      "pitched", "pitched_managed", "pinned", "mapped",
    "managed", "managed_global", "cuda_array", "host"};

// Other names, as other libraries use them.
struct Alias {
  const char *name;
  uint32_t kind;
};
constexpr Alias aliases[] = {{"unified", CAI_KIND_MANAGED},
                             {"unified_global", CAI_KIND_MANAGED_GLOBAL},
                             {"pitched_unified", CAI_KIND_PITCHED_MANAGED}};

bool is_blank(char c) noexcept {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Independent of the locale.
bool equal_but_for_case(std::string_view text, std::string_view name) noexcept {
  if (text.size() != name.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (lower != name[i]) return false;
  }
  return true;
}

}  // namespace
}  // namespace cai::managers

using namespace cai;

const char *cai_kind_name(uint32_t kind) {
  return kind < managers::names.size() ? managers::names[kind] : nullptr;
}

cai_status cai_kind_parse(const char *text, uint32_t *kind, cai_error *error) {
  if (!text || !kind) return fail(error, CAI_ERR_ARGUMENT, {}, "text or kind is NULL");
  const std::string_view wanted = managers::trimmed(text);
  for (uint32_t i = 0; i < managers::names.size(); ++i) {
    if (managers::equal_but_for_case(wanted, managers::names[i])) {
      *kind = i;
      return CAI_OK;
    }
  }
  for (const auto &[name, its_kind] : managers::aliases) {
    if (!managers::equal_but_for_case(wanted, name)) continue;
    *kind = its_kind;
    return CAI_OK;
  }
  return fail(error, CAI_ERR_VALUE, {}, "there is no kind of memory \"%.100s\"", text);
}

int32_t cai_is_dereferenceable(cai_device device, uint32_t kind) {
  if (kind == CAI_KIND_NONE || kind == CAI_KIND_CUDA_ARRAY || kind >= managers::names.size()) {
    return 0;
  }
  if (device.type == CAI_DEVICE_CPU) return 1;
  return device.type == CAI_DEVICE_CUDA &&
         (managers::is_host_kind(kind) || kind == CAI_KIND_MANAGED ||
          kind == CAI_KIND_MANAGED_GLOBAL || kind == CAI_KIND_PITCHED_MANAGED);
}
