// SPDX-License-Identifier: BSD-3-Clause
// usage: fuzz_NAME FOLDER COUNT
//
// Runs a fuzz target over every file of a folder, so that what a fuzzer once found stays fixed
// where there is no fuzzer; then over CAI_FUZZ_RUNS (COUNT) more inputs, random bytes and
// variations of the files, drawn from CAI_FUZZ_SEED (1) and the same in every run. Speaks TAP, one
// point a file; no file at all is a failure. An input that fails is written to stderr in
// hexadecimal.

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);
extern "C" [[gnu::weak]] int LLVMFuzzerInitialize(int *argc, char ***argv);

namespace {

using Bytes = std::vector<std::uint8_t>;

const Bytes *current;

void show() {
  if (!current) return;
  for (const std::uint8_t byte : *current) std::fprintf(stderr, "%02x", byte);
  std::fputs("  <- the input that failed\n", stderr);
}

void show_and_die(int) {
  show();
  std::_Exit(1);
}

void run(const Bytes &input) {
  // An exact allocation, so that a sanitizer sees a read one byte too far.
  Bytes copy(input);
  copy.shrink_to_fit();
  current = &input;
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
  current = nullptr;
}

long number_of(const char *variable, const char *otherwise) {
  const char *const said = std::getenv(variable);
  return std::atol(said ? said : otherwise);
}

Bytes variation(const std::vector<Bytes> &seeds, std::mt19937 &random) {
  const auto below = [&](std::size_t bound) { return bound ? random() % bound : 0; };
  Bytes input;
  if (below(3) != 0) input = seeds[below(seeds.size())];
  if (input.empty()) input.resize(below(160));
  for (std::size_t n = below(3) ? 1 + below(8) : input.size(); n > 0 && !input.empty(); --n) {
    input[below(input.size())] = static_cast<std::uint8_t>(random());
  }
  if (below(4) == 0) input.resize(below(input.size() + 1));
  while (below(4) != 0) input.push_back(static_cast<std::uint8_t>(random()));
  return input;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::puts("Bail out! a folder and a count are needed");
    return 1;
  }
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(argv[1])) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    std::puts("Bail out! no inputs");
    return 1;
  }
  if (LLVMFuzzerInitialize) LLVMFuzzerInitialize(&argc, &argv);
  std::atexit(show);
  std::signal(SIGABRT, show_and_die);
  std::printf("1..%zu\n", files.size() + 1);
  std::vector<Bytes> seeds;
  for (const auto &path : files) {
    std::ifstream file(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    run(seeds.back());
    std::printf("ok %zu - %s\n", seeds.size(), path.filename().c_str());
    std::fflush(stdout);
  }
  const long runs = number_of("CAI_FUZZ_RUNS", argv[2]);
  // Its sequence is the same everywhere.
  std::mt19937 random(static_cast<std::mt19937::result_type>(number_of("CAI_FUZZ_SEED", "1")));
  for (long i = 0; i < runs; ++i) {
    const Bytes input = variation(seeds, random);
    run(input);
  }
  std::printf("ok %zu - %ld variations\n", files.size() + 1, runs);
  return 0;
}
