// SPDX-License-Identifier: BSD-3-Clause
// The properties of devices: identity, capabilities, memory.
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "core/sizes.hpp"
#include "device/device.hpp"
#include "device/primary.hpp"

namespace cai::device {
namespace {

struct Memory {
  std::uint64_t free, total;
};

// The memory that the machine can provide without swapping: caches count as free.
Memory memory_of_machine() {
  struct sysinfo machine{};
  if (sysinfo(&machine)) throw Failure(CAI_ERR_MEMORY, {}, "the machine's memory is not known");
  Memory memory{std::uint64_t{machine.freeram} * machine.mem_unit,
                std::uint64_t{machine.totalram} * machine.mem_unit};
  std::ifstream info("/proc/meminfo");
  std::uint64_t kibibytes = 0;
  for (std::string word; info >> word;) {
    if (word == "MemAvailable:" && info >> kibibytes) memory.free = kibibytes * 1024;
  }
  return memory;
}

Memory memory_of(cai_device device) {
  require_device(device);
  if (is_cpu(device)) return memory_of_machine();
  driver::Session session;
  const Primary mine = primary(session, device.id);
  std::size_t free = 0, total = 0;
  session.in(mine.context, [&] { driver::call(session.cu.cuMemGetInfo, &free, &total); });
  session.finish();
  return {free, total};
}

cai_device most_free(int32_t type) {
  if (type == CAI_DEVICE_CPU) return cpu;
  const int32_t count = count_gpus(driver::get());
  if (count == 0) throw Failure(CAI_ERR_DEVICE, {}, "there is no GPU");
  cai_device best{CAI_DEVICE_CUDA, 0};
  std::uint64_t most = 0;
  for (int32_t id = 0; id < count; ++id) {
    const std::uint64_t free = memory_of({CAI_DEVICE_CUDA, id}).free;
    if (free > most) {
      most = free;
      best.id = id;
    }
  }
  return best;
}

// What a GPU answers without a context.
class Gpu {
 public:
  explicit Gpu(cai_device device) : cu_(driver::get()) {
    require_gpu(cu_, device.id);
    driver::call(cu_.cuDeviceGet, &device_, device.id);
  }

  std::int32_t attribute(driver::CUdevice_attribute which) const {
    int value = 0;
    driver::call(cu_.cuDeviceGetAttribute, &value, which, device_);
    return value;
  }

  void describe(cai_device_info &info) const {
    constexpr struct {
      driver::CUdevice_attribute attribute;
      std::uint32_t flag;
    } abilities[] = {
        {driver::device_can_map_host, CAI_DEVICE_MAPS_HOST},
        {driver::device_managed_memory, CAI_DEVICE_MANAGED_MEMORY},
        {driver::device_concurrent_managed, CAI_DEVICE_CONCURRENT_MANAGED},
        {driver::device_pools, CAI_DEVICE_POOLS},
        {driver::device_integrated, CAI_DEVICE_INTEGRATED},
    };
    for (const auto &[which, flag] : abilities) {
      if (attribute(which)) info.flags |= flag;
    }
    if (attribute(driver::device_pool_handles) & driver::pool_handle_descriptor) {
      info.flags |= CAI_DEVICE_POOLS_BY_DESCRIPTOR;
    }
    info.pci_domain = attribute(driver::device_pci_domain);
    info.pci_bus = attribute(driver::device_pci_bus);
    info.pci_slot = attribute(driver::device_pci_device);
    const driver::CUuuid id = uuid();
    std::memcpy(info.uuid, id.bytes, sizeof info.uuid);
    std::size_t total = 0;
    driver::call(cu_.cuDeviceTotalMem, &total, device_);
    info.total = total;
    driver::call(cu_.cuDeviceGetName, info.name, static_cast<int>(sizeof info.name), device_);
    info.name[sizeof info.name - 1] = 0;
  }

  driver::CUuuid uuid() const {
    driver::CUuuid id{};
    driver::call(cu_.cuDeviceGetUuid, &id, device_);
    return id;
  }

  driver::CUdevice device() const { return device_; }

 private:
  const driver::Driver &cu_;
  driver::CUdevice device_ = 0;
};

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

cai_device_info describe(cai_device device) {
  require_device(device);
  cai_device_info info{};
  if (is_cpu(device)) {
    info.total = memory_of(device).total;
    std::snprintf(info.name, sizeof info.name, "%s", cpu_name().c_str());
  } else {
    Gpu(device).describe(info);
  }
  return info;
}

std::string summary(cai_device device) {
  const cai_device_info info = describe(device);
  const Memory memory = memory_of(device);
  std::string text = std::string(Text(device).text) + ": " + info.name + "\n";
  char line[128];
  const auto add = [&](const char *format, auto... values) {
    std::snprintf(line, sizeof line, format, values...);
    text += line;
  };
  if (!is_cpu(device)) {
    const std::uint8_t *const id = info.uuid;
    add("  uuid %02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x\n", id[0],
        id[1], id[2], id[3], id[4], id[5], id[6], id[7], id[8], id[9], id[10], id[11], id[12],
        id[13], id[14], id[15]);
    add("  pci %04x:%02x:%02x\n", static_cast<unsigned>(info.pci_domain),
        static_cast<unsigned>(info.pci_bus), static_cast<unsigned>(info.pci_slot));
  }
  add("  memory %.1f GiB, %.1f GiB free\n", static_cast<double>(memory.total) / (1 << 30),
      static_cast<double>(memory.free) / (1 << 30));
  constexpr struct {
    std::uint32_t flag;
    const char *name;
  } abilities[] = {
      {CAI_DEVICE_MAPS_HOST, "uses pinned host memory in place"},
      {CAI_DEVICE_MANAGED_MEMORY, "managed memory"},
      {CAI_DEVICE_CONCURRENT_MANAGED, "managed memory shared with the host at work"},
      {CAI_DEVICE_POOLS, "stream-ordered memory"},
      {CAI_DEVICE_POOLS_BY_DESCRIPTOR, "pools shared by descriptor"},
      {CAI_DEVICE_INTEGRATED, "shares the host's memory"},
  };
  for (const auto &[flag, name] : abilities) {
    if (info.flags & flag) add("  %s\n", name);
  }
  return text;
}

cai_device find(const std::uint8_t *uuid) {
  const int32_t count = count_gpus(driver::get());
  for (int32_t id = 0; id < count; ++id) {
    const cai_device device{CAI_DEVICE_CUDA, id};
    if (std::memcmp(Gpu(device).uuid().bytes, uuid, 16) == 0) return device;
  }
  throw Failure(CAI_ERR_DEVICE, {}, "none of the %d GPUs here has the uuid %02x%02x%02x%02x-...",
                static_cast<int>(count), uuid[0], uuid[1], uuid[2], uuid[3]);
}

bool can_access(cai_device device, cai_device peer) {
  require_device(device);
  require_device(peer);
  if (is_cpu(device) && is_cpu(peer)) return true;
  const auto check = [](cai_device each) {
    if (!is_cpu(each)) require_gpu(driver::get(), each.id);
  };
  check(device);
  check(peer);
  if (same(device, peer)) return true;
  if (is_cpu(device) || is_cpu(peer)) return false;
  int yes = 0;
  driver::call(driver::get().cuDeviceCanAccessPeer, &yes, Gpu(device).device(), Gpu(peer).device());
  return yes != 0;
}

}  // namespace
}  // namespace cai::device

using namespace cai;

cai_status cai_device_describe(cai_device which, cai_device_info *out, cai_error *error) {
  return guard(error, [&] {
    device::require_size(device::require(out, "out")->struct_size);
    give_out(device::describe(which), out);
  });
}

cai_status cai_device_summary(cai_device which, char *text, uint64_t size, uint64_t *length,
                              cai_error *error) {
  return guard(error, [&] {
    if (size > 0) device::require(text, "text");
    const std::string lines = device::summary(which);
    if (size > 0) {
      const std::size_t cut = std::min<std::size_t>(lines.size(), size - 1);
      std::memcpy(text, lines.data(), cut);
      text[cut] = 0;
    }
    if (length) *length = lines.size();
  });
}

cai_status cai_device_find(const uint8_t *uuid, cai_device *out, cai_error *error) {
  return guard(error, [&] {
    device::require(out, "out");
    *out = device::find(device::require(uuid, "uuid"));
  });
}

cai_status cai_device_memory(cai_device which, uint64_t *free, uint64_t *total, cai_error *error) {
  return guard(error, [&] {
    const device::Memory memory = device::memory_of(which);
    if (free) *free = memory.free;
    if (total) *total = memory.total;
  });
}

cai_status cai_device_most_free(int32_t type, cai_device *out, cai_error *error) {
  return guard(error, [&] {
    device::require(out, "out");
    device::require_device_type(type);
    *out = device::most_free(type);
  });
}

cai_status cai_device_can_access(cai_device which, cai_device peer, int32_t *yes,
                                 cai_error *error) {
  return guard(error, [&] {
    device::require(yes, "yes");
    *yes = device::can_access(which, peer);
  });
}
