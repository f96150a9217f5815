// SPDX-License-Identifier: BSD-3-Clause
#include "device/device.hpp"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "device/primary.hpp"
#include "order/owned.hpp"

namespace cai::device {

void require_device_type(int32_t type) {
  if (type == CAI_DEVICE_CPU || type == CAI_DEVICE_CUDA) return;
  throw Failure(CAI_ERR_VALUE, {}, "%d is not a device type: CAI_DEVICE_CPU or CAI_DEVICE_CUDA",
                static_cast<int>(type));
}

void require_device(cai_device device) {
  require_device_type(device.type);
  if (device.id < 0 || (is_cpu(device) && device.id != 0)) {
    throw Failure(CAI_ERR_VALUE, {}, "%d is not the id of a %s", static_cast<int>(device.id),
                  is_cpu(device) ? "CPU: it has 0" : "GPU: they begin at 0");
  }
}

void require_size(std::uint32_t struct_size) {
  if (struct_size >= 8) return;
  throw Failure(CAI_ERR_ARGUMENT, {}, "out->struct_size is %u, less than 8", struct_size);
}

int32_t count_gpus(const driver::Driver &cu) {
  int count = 0;
  driver::call(cu.cuDeviceGetCount, &count);
  return count;
}

Text::Text(cai_device device) noexcept {
  if (is_cpu(device)) {
    std::snprintf(text, sizeof text, "cpu");
  } else {
    std::snprintf(text, sizeof text, "gpu:%d", static_cast<int>(device.id));
  }
}

namespace {

std::string_view trim(std::string_view text) {
  constexpr const char *blanks = " \t\n\v\f\r";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// Whether a text is `word`, which is lowercase, in any case.
bool is(std::string_view text, std::string_view word) {
  if (text.size() != word.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if ((letter >= 'A' && letter <= 'Z' ? letter + ('a' - 'A') : letter) != word[i]) return false;
  }
  return true;
}

[[noreturn]] void fail_text(const char *text) {
  throw Failure(CAI_ERR_VALUE, {},
                "\"%s\" is not a device: \"cpu\", \"gpu\", \"gpu:1\", \"cuda:1\" or \"gpu:free\"",
                text);
}

cai_device current(int32_t type) {
  if (type == CAI_DEVICE_CPU) return cpu;
  driver::Session session;
  const std::optional<int32_t> found = current_gpu(session);
  if (!found && count_gpus(session.cu) == 0) {
    throw Failure(CAI_ERR_DEVICE, {}, "there is no GPU");
  }
  session.finish();
  return {CAI_DEVICE_CUDA, found.value_or(0)};
}

cai_device numbered(std::string_view number, const char *text) {
  int32_t id = 0;
  const char *const begin = number.data();
  const char *const end = begin + number.size();
  const auto [stop, result] = std::from_chars(begin, end, id);
  if (number.empty() || number[0] == '-' || stop != end) {
    fail_text(text);
  }
  const int32_t count = count_gpus(driver::get());
  if (result == std::errc::result_out_of_range || id >= count) {
    throw Failure(CAI_ERR_DEVICE, {}, "there is no \"%s\": this process sees %d GPU%s", text,
                  static_cast<int>(count), count == 1 ? "" : "s");
  }
  return {CAI_DEVICE_CUDA, id};
}

cai_device parse(const char *text) {
  std::string_view type = trim(text), which;
  const std::size_t colon = type.find(':');
  const bool has_which = colon != std::string_view::npos;
  if (has_which) {
    which = trim(type.substr(colon + 1));
    type = trim(type.substr(0, colon));
  }
  if (is(type, "cpu") && !has_which) return cpu;
  if (!is(type, "gpu") && !is(type, "cuda")) fail_text(text);
  if (!has_which) return current(CAI_DEVICE_CUDA);
  if (!is(which, "free")) return numbered(which, text);
  cai_device freest{};
  cai_error error{};
  if (cai_device_most_free(CAI_DEVICE_CUDA, &freest, &error)) throw Failure(error);
  return freest;
}

void set_current(cai_device device) {
  require_device(device);
  if (is_cpu(device)) return;
  driver::Session session;
  const Primary mine = primary(session, device.id);
  session.finish();
  driver::call(session.cu.cuCtxSetCurrent, mine.context);
}

cai_device_guard enter(cai_device device) {
  require_device(device);
  cai_device_guard guard{device, 0, 0, this_thread()};
  if (is_cpu(device)) return guard;
  driver::Session session;
  const Primary mine = primary(session, device.id);
  guard.context = reinterpret_cast<std::uintptr_t>(mine.context);
  guard.previous = reinterpret_cast<std::uintptr_t>(session.current());
  session.finish();  // after this, the stack is certainly restored or not
  driver::call(session.cu.cuCtxPushCurrent, mine.context);
  return guard;
}

void leave(cai_device_guard &guard) {
  if (guard.thread == 0) throw Failure(CAI_ERR_STATE, {}, "the guard was left already");
  if (guard.thread != this_thread()) {
    throw Failure(CAI_ERR_STATE, {}, "the guard was entered on another thread");
  }
  if (guard.context != 0) {
    driver::Session session;
    const auto context = reinterpret_cast<std::uintptr_t>(session.current());
    if (context != guard.context) {
      throw Failure(CAI_ERR_STATE, {},
                    "the guard's context of %s is not the current one: guards are left in the "
                    "reverse order",
                    Text(guard.device).text);
    }
    driver::CUcontext popped = nullptr;
    driver::call(session.cu.cuCtxPopCurrent, &popped);
  }
  guard.thread = 0;
}

}  // namespace
}  // namespace cai::device

using namespace cai;

cai_status cai_device_parse(const char *text, cai_device *out, cai_error *error) {
  return guard(error, [&] {
    device::require(out, "out");
    *out = device::parse(device::require(text, "text"));
  });
}

cai_status cai_device_format(cai_device which, char *text, cai_error *error) {
  return guard(error, [&] {
    device::require(text, "text");
    device::require_device(which);
    std::memcpy(text, device::Text(which).text, CAI_DEVICE_TEXT_SIZE);
  });
}

cai_status cai_device_count(int32_t type, int32_t *count, cai_error *error) {
  return guard(error, [&] {
    device::require(count, "count");
    device::require_device_type(type);
    int32_t found = 1;
    if (type == CAI_DEVICE_CUDA) {
      try {
        found = device::count_gpus(driver::get());
      } catch (const Failure &failure) {
        if (failure.error().status != CAI_ERR_DRIVER) throw;
        found = 0;
      }
    }
    *count = found;
  });
}

cai_status cai_device_current(int32_t type, cai_device *out, cai_error *error) {
  return guard(error, [&] {
    device::require(out, "out");
    device::require_device_type(type);
    *out = device::current(type);
  });
}

cai_status cai_device_set_current(cai_device which, cai_error *error) {
  return guard(error, [&] { device::set_current(which); });
}

cai_status cai_device_enter(cai_device which, cai_device_guard *guard_, cai_error *error) {
  return guard(error, [&] {
    device::require(guard_, "guard");
    *guard_ = device::enter(which);
  });
}

cai_status cai_device_leave(cai_device_guard *guard_, cai_error *error) {
  return guard(error, [&] { device::leave(*device::require(guard_, "guard")); });
}
