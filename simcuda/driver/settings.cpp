// SPDX-License-Identifier: BSD-3-Clause
// Settings from the environment.

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "driver.h"

namespace simcuda {
namespace {

std::atomic<bool> are_bad{false};

bool is_set(const char *name, const char *value) {
  const char *text = std::getenv(name);
  return text && std::strcmp(text, value) == 0;
}

// An empty variable counts as unset.
const char *setting(const char *name) {
  const char *text = std::getenv(name);
  return text && *text ? text : nullptr;
}

long number(const char *name, long otherwise, long least, long most) {
  const char *text = setting(name);
  if (!text) return otherwise;
  char *end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (!*end && value >= least && value <= most) return value;
  refuse_setting(name, text,
                 "is not a number from " + std::to_string(least) + " to " + std::to_string(most));
  return otherwise;
}

Schedule::Policy policy(const char *name) {
  using Kind = Schedule::Policy::Kind;
  const char *text = setting(name);
  if (!text || std::strcmp(text, "lazy") == 0) return {Kind::lazy};
  if (std::strcmp(text, "eager") == 0) return {Kind::eager};
  if (std::strncmp(text, "random:", 7) == 0) {
    const char *end = text + std::strlen(text);
    std::uint64_t seed = 0;
    const auto read = std::from_chars(text + 7, end, seed);
    if (read.ec == std::errc{} && read.ptr == end) return {Kind::random, seed};
  }
  refuse_setting(name, text, "is none of lazy, eager, random:SEED with a number as SEED");
  return {};
}

RaceMode race_mode(const char *name) {
  const char *text = setting(name);
  if (!text || std::strcmp(text, "log") == 0) return RaceMode::log;
  if (std::strcmp(text, "off") == 0) return RaceMode::off;
  if (std::strcmp(text, "count") == 0) return RaceMode::count;
  if (std::strcmp(text, "abort") == 0) return RaceMode::abort;
  refuse_setting(name, text, "is none of off, count, log, abort");
  return RaceMode::log;
}

// Names, separated by commas. Checks that halve a kernel's speed, or worse, must be requested.
kernel::Checks checks(const char *name) {
  kernel::Checks found;
  found.races = false;
  const char *text = setting(name);
  if (!text) return found;
  found.written = found.barriers = false;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    if (item == "race")
      found.races = true;
    else if (item == "init")
      found.written = true;
    else if (item == "sync")
      found.barriers = true;
    else if (item != "memory")  // always checked
      refuse_setting(name, text, "is no list of memory, race, init, sync");
  }
  return found;
}

// As many as this process has processors; more than a few help little.
long default_kernel_threads() {
  constexpr int enough = 8;
  cpu_set_t available;
  if (sched_getaffinity(0, sizeof available, &available) != 0) return 1;
  return std::clamp(CPU_COUNT(&available), 1, enough);
}

// A number, or "GPU-" and the beginning of a UUID; -1: invalid.
int physical_device(std::string_view item, int devices) {
  if (item.starts_with("GPU-")) {
    for (int i = 0; i < devices; ++i)
      if (item.size() > 4 && uuid_text(i).starts_with(item)) return i;
    return -1;
  }
  int number = -1;
  const auto read = std::from_chars(item.data(), item.data() + item.size(), number);
  const bool good = read.ec == std::errc{} && read.ptr == item.data() + item.size();
  return good && number >= 0 && number < devices ? number : -1;
}

std::vector<int> visible_devices(int devices) {
  const char *text = std::getenv("CUDA_VISIBLE_DEVICES");
  std::vector<int> found;
  if (!text) {
    for (int i = 0; i < devices; ++i) found.push_back(i);
    return found;
  }
  // The first invalid entry hides those after it.
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const int device = physical_device(item, devices);
    if (device < 0 || std::count(found.begin(), found.end(), device)) break;
    found.push_back(device);
  }
  return found;
}

Settings read_settings() {
  Settings s{};
  s.enabled = number("SIMCUDA", 0, 0, 1) != 0;
  s.banner = number("SIMCUDA_BANNER", 1, 0, 1) != 0;
  s.reuse_handles = number("SIMCUDA_REUSE_HANDLES", 0, 0, 1) != 0;
  s.driver_version = static_cast<int>(number("SIMCUDA_DRIVER_VERSION", 13000, 11000, 13000));
  s.devices = static_cast<int>(number("SIMCUDA_DEVICES", 2, 0, 16));
  s.visible = visible_devices(s.devices);
  s.two_addresses = number("SIMCUDA_TWO_ADDRESSES", 0, 0, 1) != 0;
  s.device_memory = static_cast<std::uint64_t>(number("SIMCUDA_DEVICE_MIB", 4096, 1, 1 << 20))
                    << 20;
  s.quiet = std::chrono::milliseconds{number("SIMCUDA_QUIET_MS", 20, 0, 3600000)};
  s.policy = policy("SIMCUDA_SCHEDULE");
  s.strict = number("SIMCUDA_STRICT", 0, 0, 1) != 0;
  s.races = race_mode("SIMCUDA_RACES");
  const bool tells = s.races == RaceMode::log || s.races == RaceMode::abort;
  s.call_sites = number("SIMCUDA_CALL_SITES", 1, 0, 1) != 0 && tells;
  s.stale_handles = number("SIMCUDA_STALE_HANDLES", 1, 0, 1) != 0;
  s.gil = number("SIMCUDA_GIL", 0, 0, 1) != 0;
  s.checks = checks("SIMCUDA_CHECK");
  s.kernel_threads =
      static_cast<unsigned>(number("SIMCUDA_KERNEL_THREADS", default_kernel_threads(), 1, 256));
  s.kernel_limit = std::chrono::seconds{number("SIMCUDA_KERNEL_LIMIT", 600, 0, 1 << 30)};
  return s;
}

}  // namespace

void refuse_setting(const char *name, const char *text, const std::string &why) {
  // A program that runs without the simulator need not have valid settings.
  if (!is_set("SIMCUDA", "1") && std::strcmp(name, "SIMCUDA") != 0) return;
  std::fprintf(stderr, "simcuda: %s=%s: %s\n", name, text, why.c_str());
  are_bad = true;
}

CUuuid uuid_of(int physical) {
  CUuuid uuid{};
  std::memcpy(uuid.bytes, "simcuda-device-0", 16);
  uuid.bytes[15] = static_cast<char>('0' + physical);
  return uuid;
}

std::string uuid_text(int physical) {
  std::string text = "GPU-";
  const CUuuid uuid = uuid_of(physical);
  for (int i = 0; i < 16; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits;
  }
  return text;
}

const Settings &Settings::get() {
  static const auto *settings = new Settings(read_settings());  // kept forever, for late callers
  return *settings;
}

bool settings_are_refused() {
  return are_bad;
}

}  // namespace simcuda
