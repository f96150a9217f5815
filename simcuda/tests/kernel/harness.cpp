// SPDX-License-Identifier: BSD-3-Clause
// The engine for Python's ctypes, with memory that the caller owns. Whatever comes back is text, or
// JSON.
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "module.h"

using namespace simcuda::kernel;

#define EXPORT extern "C" [[gnu::visibility("default")]]

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    char buffer[8];
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 32) {
      std::snprintf(buffer, sizeof buffer, "\\u%04x",
                    static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += buffer;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

struct Memory : Environment {
  std::vector<Window> windows;
  std::map<std::uint64_t, Texels> objects;  // textures and surfaces, by handle
  std::map<std::string, std::uint64_t> variables;
  std::vector<std::vector<std::byte>> storage;
  std::vector<std::vector<std::uint64_t>> written;
  std::string printed;
  std::mutex mutex;

  Window find(std::uint64_t address) override {
    std::lock_guard lock(mutex);
    for (const Window &window : windows)
      if (address >= window.begin && address < window.end) return window;
    return {};
  }
  std::string describe(std::uint64_t address) override {
    const Window *nearest = nullptr;
    for (const Window &window : windows)
      if (window.end <= address && (!nearest || window.end > nearest->end)) nearest = &window;
    if (!nearest) return "Nothing lies below it.";
    return "It is " + std::to_string(address - nearest->end) + " bytes behind the end of " +
           std::to_string(nearest->end - nearest->begin) + " bytes.";
  }
  std::uint64_t address_of(const Variable &variable) override { return variables[variable.name]; }
  void print(std::string_view text) override {
    std::lock_guard lock(mutex);
    printed += text;
  }
  const Texels *texels(std::uint64_t handle) override {
    const auto found = objects.find(handle);
    return found == objects.end() ? nullptr : &found->second;
  }
  std::string describe_handle(std::uint64_t) override { return "Nothing has it."; }
  std::uint64_t allocate(std::uint64_t size) override {
    std::lock_guard lock(mutex);
    storage.emplace_back(size);
    add(storage.back().data(), size, true, true);
    return windows.back().begin;
  }
  bool free(std::uint64_t address) override {
    std::lock_guard lock(mutex);
    for (auto window = windows.begin(); window != windows.end(); ++window)
      if (window->begin == address) return windows.erase(window), true;
    return false;
  }
  void add(void *bytes, std::uint64_t size, bool writable, bool tracks) {
    Window window;
    window.begin = reinterpret_cast<std::uintptr_t>(bytes);
    window.end = window.begin + size;
    window.bytes = static_cast<std::byte *>(bytes);
    window.writable = writable;
    if (tracks) window.written = written.emplace_back(size / 64 + 2).data();
    windows.push_back(window);
  }
};

struct Loaded {
  ModulePtr module;
  Memory memory;
};

std::string json_of(const Place &place) {
  return "{\"kernel\":" + quoted(place.kernel) + ",\"function\":" + quoted(place.function) +
         ",\"file\":" + quoted(place.file) + ",\"line\":" + std::to_string(place.line) +
         ",\"ptx_line\":" + std::to_string(place.ptx_line) +
         ",\"instruction\":" + quoted(place.instruction) + "}";
}

std::string json_of(const Thread &thread) {
  std::string out = "[";
  for (auto value : thread.block) out += std::to_string(value) + ",";
  for (auto value : thread.thread) out += std::to_string(value) + ",";
  out.back() = ']';
  return out;
}

std::string json_of(const Outcome &outcome, const std::string &printed) {
  static constexpr const char *faults[] = {
      "illegal_address", "invalid_free",        "misaligned", "trap",
      "assertion",       "illegal_instruction", "invalid_pc", "stack_overflow",
      "invalid_handle",  "outside_surface",     "deadlock",   "limit",
      "stopped"};
  static constexpr const char *kinds[] = {"race", "never_written", "barrier_divergent", "warp_mask",
                                          "mbarrier"};
  static constexpr const char *uses[] = {"reads", "writes", "atomic"};
  std::string out = "{\"instructions\":" + std::to_string(outcome.instructions) +
                    ",\"printed\":" + quoted(printed) + ",\"fault\":";
  if (outcome.fault) {
    const Fault &fault = *outcome.fault;
    out += "{\"kind\":" + quoted(faults[static_cast<int>(fault.kind)]) +
           ",\"place\":" + json_of(fault.place) + ",\"thread\":" + json_of(fault.thread) +
           ",\"address\":" + std::to_string(fault.address) +
           ",\"text\":" + quoted(to_string(fault)) + "}";
  } else {
    out += "null";
  }
  out += ",\"findings\":[";
  for (const Finding &finding : outcome.findings)
    out += "{\"kind\":" + quoted(kinds[static_cast<int>(finding.kind)]) +
           ",\"place\":" + json_of(finding.place) + ",\"thread\":" + json_of(finding.thread) +
           ",\"address\":" + std::to_string(finding.address) +
           ",\"size\":" + std::to_string(finding.size) +
           ",\"count\":" + std::to_string(finding.count) +
           ",\"text\":" + quoted(to_string(finding)) + "},";
  if (out.back() == ',') out.pop_back();
  out += "],\"accesses\":[";
  for (const Access &access : outcome.accesses)
    out += "[" + quoted(uses[static_cast<int>(access.use)]) + "," + std::to_string(access.begin) +
           "," + std::to_string(access.end) + "," + std::to_string(access.parameter) + "],";
  if (out.back() == ',') out.pop_back();
  return out + "]}";
}

void copy_text(const std::string &text, char *to, std::uint64_t size) {
  const std::size_t count = std::min<std::size_t>(text.size(), size - 1);
  std::memcpy(to, text.data(), count);
  to[count] = 0;
}

// Gives the module's variables their memory.
void place_variables(Loaded &loaded) {
  Memory &memory = loaded.memory;
  for (const Variable &variable : loaded.module->variables) {
    // More than enough for any alignment.
    auto &bytes = memory.storage.emplace_back(variable.size + 1024);
    auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
    address = (address + 1023) / 1024 * 1024;
    std::memcpy(reinterpret_cast<void *>(address), variable.bytes.data(), variable.bytes.size());
    memory.variables[variable.name] = address;
    memory.add(reinterpret_cast<void *>(address), variable.size, variable.space != Space::constant,
               false);
  }
  for (const Variable &variable : loaded.module->variables)
    for (const Relocation &relocation : variable.relocations) {
      std::uint64_t value = loaded.module->function_address(relocation.symbol);
      if (auto found = memory.variables.find(relocation.symbol); found != memory.variables.end())
        value = found->second;
      value = (value + static_cast<std::uint64_t>(relocation.addend)) >> relocation.shift;
      std::memcpy(
          reinterpret_cast<std::byte *>(memory.variables[variable.name]) + relocation.offset,
          &value, relocation.size);
    }
}

}  // namespace

// Several texts are linked. Null, and why in `error`, if that fails.
EXPORT void *harness_load(const char *const *texts, std::uint32_t count, char *error,
                          std::uint64_t error_size) {
  try {
    auto loaded = std::make_unique<Loaded>();
    std::vector<ModulePtr> modules;
    for (std::uint32_t i = 0; i < count; ++i) modules.push_back(parse(texts[i]));
    loaded->module = count == 1 ? modules[0] : link(modules);
    place_variables(*loaded);
    return loaded.release();
  } catch (const std::exception &exception) {
    copy_text(exception.what(), error, error_size);
    return nullptr;
  }
}

EXPORT void harness_unload(void *handle) {
  delete static_cast<Loaded *>(handle);
}

EXPORT void harness_describe(void *handle, char *out, std::uint64_t size) {
  const Module &module = *static_cast<Loaded *>(handle)->module;
  std::string text = "{\"version\":" + quoted(module.version) + ",\"kernels\":{";
  for (const Kernel &kernel : module.kernels) {
    text += quoted(kernel.name) + ":{\"shared\":" + std::to_string(kernel.shared_bytes) +
            ",\"local\":" + std::to_string(kernel.local_bytes) +
            ",\"registers\":" + std::to_string(kernel.registers) +
            ",\"max_threads\":" + std::to_string(kernel.max_threads[0]) + ",\"parameters\":[";
    for (const Parameter &parameter : kernel.parameters)
      text += "[" + quoted(parameter.name) + "," + std::to_string(parameter.offset) + "," +
              std::to_string(parameter.size) + "],";
    if (text.back() == ',') text.pop_back();
    text += "]},";
  }
  if (text.back() == ',') text.pop_back();
  text += "},\"variables\":{";
  for (const Variable &variable : module.variables)
    text += quoted(variable.name) + ":" +
            std::to_string(static_cast<Loaded *>(handle)->memory.variables[variable.name]) + ",";
  if (text.back() == ',') text.pop_back();
  text += "},\"unresolved\":[";
  for (const std::string &name : module.unresolved) text += quoted(name) + ",";
  if (text.back() == ',') text.pop_back();
  copy_text(text + "]}", out, size);
}

EXPORT void harness_add_window(void *handle, void *bytes, std::uint64_t size, int writable,
                               int tracks) {
  static_cast<Loaded *>(handle)->memory.add(bytes, size, writable, tracks);
}

EXPORT void harness_drop_windows(void *handle) {
  auto &loaded = *static_cast<Loaded *>(handle);
  loaded.memory.windows.clear();
  loaded.memory.objects.clear();
  for (auto &variable : loaded.module->variables) {
    const std::uint64_t address = loaded.memory.variables[variable.name];
    loaded.memory.add(reinterpret_cast<void *>(address), variable.size,
                      variable.space != Space::constant, false);
  }
}

// `numbers`: the address of the texels, their format, channels, layers, how many levels there are,
// whether it is a surface, whether it is one row of memory, what lies beyond the edges in each
// dimension, whether it is filtered, by normalized coordinates, promoted, of sRGB and filtered
// between levels; then of each level its offset, width, height, depth, pitch and slice. `reals`:
// the border, what is added to a level, and the least and the most that is read.
EXPORT void harness_add_texels(void *handle, std::uint64_t object, const std::uint64_t *numbers,
                               const float *reals) {
  Texels texels;
  texels.channel = static_cast<Channel>(numbers[1]);
  texels.channels = static_cast<unsigned>(numbers[2]);
  texels.layers = static_cast<std::uint32_t>(numbers[3]);
  texels.is_surface = numbers[5];
  texels.linear_memory = numbers[6];
  for (int i = 0; i < 3; ++i) texels.beyond[i] = static_cast<Beyond>(numbers[7 + i]);
  texels.filtered = numbers[10];
  texels.normalized = numbers[11];
  texels.promoted = numbers[12];
  texels.srgb = numbers[13];
  texels.between_levels = numbers[14];
  std::memcpy(texels.border, reals, sizeof texels.border);
  texels.level_bias = reals[4];
  texels.least_level = reals[5];
  texels.most_level = reals[6];
  for (std::uint64_t i = 0; i < numbers[4]; ++i) {
    const std::uint64_t *of = numbers + 15 + 6 * i;
    texels.levels.push_back({numbers[0] + of[0], static_cast<std::uint32_t>(of[1]),
                             static_cast<std::uint32_t>(of[2]), static_cast<std::uint32_t>(of[3]),
                             of[4], of[5]});
  }
  static_cast<Loaded *>(handle)->memory.objects[object] = std::move(texels);
}

// `numbers`: grid, block, dynamic shared memory, cooperative, the limit of instructions, threads,
// and whether races, unwritten bytes, barriers and accesses are looked at.
EXPORT int harness_run(void *handle, const char *name, const std::uint64_t *numbers,
                       const void *parameters, std::uint64_t parameter_bytes, char *out,
                       std::uint64_t size) {
  auto &loaded = *static_cast<Loaded *>(handle);
  try {
    const Kernel *kernel = loaded.module->kernel(name);
    if (!kernel) throw Invalid(0, "there is no such kernel");
    Launch launch;
    for (int i = 0; i < 3; ++i) {
      launch.grid[i] = static_cast<std::uint32_t>(numbers[i]);
      launch.block[i] = static_cast<std::uint32_t>(numbers[3 + i]);
    }
    launch.shared_bytes = static_cast<std::uint32_t>(numbers[6]);
    launch.cooperative = numbers[7];
    launch.most_instructions = numbers[8];
    launch.threads = static_cast<unsigned>(numbers[9]);
    launch.checks = {numbers[10] != 0, numbers[11] != 0, numbers[12] != 0, numbers[13] != 0};
    const auto *bytes = static_cast<const std::byte *>(parameters);
    launch.parameters.assign(bytes, bytes + parameter_bytes);
    loaded.memory.printed.clear();
    const Outcome outcome = run(*loaded.module, *kernel, launch, loaded.memory);
    copy_text(json_of(outcome, loaded.memory.printed), out, size);
    return 0;
  } catch (const std::exception &exception) {
    copy_text(exception.what(), out, size);
    return 1;
  }
}
