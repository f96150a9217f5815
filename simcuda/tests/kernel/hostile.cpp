// SPDX-License-Identifier: BSD-3-Clause
// Texts that are broken in all ways, and kernels that do what they like with memory: an error is
// expected, or success, never a crash.
//
//     hostile FIRST COUNT TEXT...
//
// A case is a number; what has failed is played again by its number.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "module.h"

using namespace simcuda::kernel;

namespace {

using Random = std::mt19937_64;

std::size_t below(Random &random, std::size_t limit) {
  return limit ? random() % limit : 0;
}

constexpr const char *fragments[] = {
    ";",
    ",",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "@",
    "!",
    "%r0",
    "%q0",
    "%p0",
    "_",
    "|",
    "+",
    "-",
    "0",
    "1",
    "-1",
    "4294967295",
    "18446744073709551615",
    "0x",
    "0f00000000",
    "0d7ff8000000000000",
    ".reg",
    ".b8",
    ".b16",
    ".b32",
    ".b64",
    ".b128",
    ".pred",
    ".u8",
    ".s64",
    ".f16",
    ".f16x2",
    ".f32",
    ".f64",
    ".v2",
    ".v4",
    ".v8",
    ".global",
    ".shared",
    ".local",
    ".param",
    ".const",
    ".align",
    ".entry",
    ".func",
    ".loc",
    ".file",
    ".branchtargets",
    ".callprototype",
    "ld",
    "st",
    "mov",
    "call",
    "bra",
    "ret",
    "exit",
    "bar.sync",
    "brx.idx",
    "atom",
    "cvt",
    "tex.2d.v4.f32.f32",
    "sust.b.2d.b32.clamp",
    "[%q0, {%r0, %r1}]",
    ".level",
    ".a2d",
    ".cube",
    ".zero",
    "setp",
    "k",
    "p0",
    "%tid.x",
    "\"",
    "/*",
    "//",
    "\n",
    "<1000000000>",
    "[1000000000000]",
    "= {",
    ".extern",
    ".weak",
    ".alias",
    "~",
    "((((((((",
    ".wide",
    ".lo",
    ".sat",
    ".rn",
    ".approx",
    ".sync",
    ".red",
    "%nothing",
    "..",
    "::",
    "$",
};

std::string mutated(const std::string &text, const std::vector<std::string> &texts,
                    Random &random) {
  std::string out = text;
  const std::size_t changes = 1 + below(random, 4);
  for (std::size_t i = 0; i < changes; ++i) {
    const std::size_t at = below(random, out.size() + 1);
    const std::size_t size =
        std::min(out.size() - at, 1 + below(random, below(random, 4) ? 12 : 400));
    switch (below(random, 9)) {
      case 0:
        out.resize(at);
        break;
      case 1:
        out.erase(at, size);
        break;
      case 2:
        out.insert(at, fragments[below(random, std::size(fragments))]);
        break;
      case 3:
        out.replace(at, size, fragments[below(random, std::size(fragments))]);
        break;
      case 4:
        if (at < out.size()) out[at] = static_cast<char>(random());
        break;
      case 5:
        out.insert(at, out.substr(below(random, out.size() + 1), size));
        break;
      case 6: {
        const std::string &other = texts[below(random, texts.size())];
        out.insert(at, other.substr(below(random, other.size() + 1), size));
        break;
      }
      case 7: {
        // Another number where one stands.
        const std::size_t digit = out.find_first_of("0123456789", at);
        if (digit == out.npos) break;
        const std::size_t end = out.find_first_not_of("0123456789", digit);
        static constexpr const char *numbers[] = {"0",
                                                  "1",
                                                  "2",
                                                  "3",
                                                  "7",
                                                  "8",
                                                  "31",
                                                  "33",
                                                  "255",
                                                  "65536",
                                                  "2147483648",
                                                  "4294967295",
                                                  "9223372036854775807",
                                                  "18446744073709551616"};
        out.replace(digit, std::min(end, out.size()) - digit,
                    numbers[below(random, std::size(numbers))]);
        break;
      }
      default: {
        // Two lines change places.
        const std::size_t line = out.find('\n', at),
                          next = line == out.npos ? line : out.find('\n', line + 1);
        if (next == out.npos) break;
        const std::string one = out.substr(line, next - line);
        out.erase(line, next - line);
        out.insert(std::min(out.size(), below(random, out.size() + 1)), one);
      }
    }
  }
  return out;
}

// Such changes that the text often stays valid: a line twice, or gone, or elsewhere, or with
// another register or number.
std::string altered(const std::string &text, Random &random) {
  std::vector<std::string> lines;
  std::stringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  if (lines.size() < 8) return text;
  const std::size_t changes = 1 + below(random, 5);
  for (std::size_t i = 0; i < changes; ++i) {
    const std::size_t at = 6 + below(random, lines.size() - 6),
                      other = 6 + below(random, lines.size() - 6);
    std::string &line = lines[at];
    switch (below(random, 5)) {
      case 0:
        line.clear();
        break;
      case 1:
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), std::string(lines[other]));
        break;
      case 2:
        std::swap(line, lines[other]);
        break;
      default: {
        const std::size_t digit = line.find_first_of("0123456789", below(random, line.size() + 1));
        if (digit == line.npos) break;
        const std::size_t end = std::min(line.find_first_not_of("0123456789", digit), line.size());
        const bool is_register = digit > 0 && line[digit - 1] != ' ' && line[digit - 1] != '+';
        line.replace(
            digit, end - digit,
            std::to_string(is_register ? below(random, 8) : random() >> below(random, 64)));
      }
    }
  }
  std::string out;
  for (const std::string &line : lines) out += line + '\n';
  return out;
}

struct Memory : Environment {
  alignas(64) std::byte bytes[4096] = {};
  std::uint64_t written[65] = {};
  std::size_t printed = 0;
  Texels objects[3];  // each of them by every fourth address

  Memory() {
    for (Texels &each : objects) each.levels = {{begin(), 8, 4, 2, 64, 256}};
    objects[0].channel = Channel::f32;
    objects[0].channels = 2;
    objects[0].filtered = true;
    objects[0].beyond[1] = Beyond::border;
    objects[1].is_surface = true;
    objects[1].channel = Channel::u16;
    objects[1].channels = 4;
    objects[2].channel = Channel::s8;
    objects[2].layers = 6;
    objects[2].normalized = objects[2].promoted = objects[2].between_levels = true;
    objects[2].beyond[0] = Beyond::mirror;
    objects[2].most_level = 7;
    objects[2].levels.push_back({begin() + 2048, 4, 2, 1, 64, 256});
    // Its end lies beyond the memory.
    objects[2].levels.push_back({begin() + 4032, 2, 1, 1, 64, 256});
  }
  const Texels *texels(std::uint64_t handle) override {
    const std::uint64_t which = (handle - begin()) / 16 % 4;
    return handle - begin() < sizeof bytes && which < std::size(objects) ? &objects[which]
                                                                         : nullptr;
  }
  std::string describe_handle(std::uint64_t) override { return "Nothing has it."; }
  std::uint64_t begin() const { return reinterpret_cast<std::uintptr_t>(bytes); }
  Window find(std::uint64_t address) override {
    Window window;
    if (address - begin() >= sizeof bytes) return window;
    window.begin = begin();
    window.end = begin() + sizeof bytes;
    window.bytes = bytes;
    window.written = written;
    return window;
  }
  std::string describe(std::uint64_t) override { return "Nothing lies there."; }
  std::uint64_t address_of(const Variable &) override { return begin() + 1024; }
  void print(std::string_view text) override { printed += text.size(); }
};

// Whether anything was executed.
bool play(const std::string &text, Random &random) {
  ModulePtr module;
  try {
    module = parse(text);
    if (below(random, 8) == 0) module = link({module, module});
  } catch (const Invalid &) {
    return false;
  }
  for (const Kernel &kernel : module->kernels) {
    Memory memory;
    Launch launch;
    launch.block[0] = static_cast<std::uint32_t>(1 + below(random, 70));
    launch.grid[0] = static_cast<std::uint32_t>(1 + below(random, 3));
    launch.shared_bytes = static_cast<std::uint32_t>(below(random, 300));
    launch.cooperative = below(random, 4) == 0;
    launch.most_instructions = 200'000;
    launch.parameters.resize(kernel.parameter_bytes);
    for (std::size_t at = 0; at + 8 <= launch.parameters.size(); at += 8) {
      const std::uint64_t value =
          below(random, 4) ? memory.begin() + below(random, 4096) / 16 * 16 : random();
      std::memcpy(launch.parameters.data() + at, &value, sizeof value);
    }
    try {
      const Outcome outcome = run(*module, kernel, launch, memory);
      if (outcome.fault && to_string(*outcome.fault).empty()) std::abort();
      for (const Finding &finding : outcome.findings)
        if (to_string(finding).empty()) std::abort();
    } catch (const Invalid &) {
    }
  }
  return true;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc < 4) return std::cerr << "usage: hostile FIRST COUNT TEXT...\n", 2;
  const auto first = std::strtoull(argv[1], nullptr, 10),
             count = std::strtoull(argv[2], nullptr, 10);
  std::vector<std::string> texts;
  for (int i = 3; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    texts.push_back(text.str());
  }
  std::uint64_t executed = 0;
  for (std::uint64_t number = first; number < first + count; ++number) {
    Random random(number);
    // So that a crash tells its number.
    if (std::getenv("HOSTILE_VERBOSE")) std::cerr << number << '\n';
    std::string text = texts[below(random, texts.size())];
    if (number < texts.size())
      text = texts[number];
    else
      text = number % 2 ? mutated(text, texts, random) : altered(text, random);
    if (std::getenv("HOSTILE_SHOW")) std::cout << text;
    executed += play(text, random);
  }
  std::cout << count << " passed, 0 failed\n" << executed << " of them were valid\n";
}
