// SPDX-License-Identifier: BSD-3-Clause
#include "tally.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <string>

#include "process_file.h"

namespace simcuda {
namespace {

constexpr const char *folder = "SIMCUDA_COUNT_DIR";

// If nobody asks, or there is no file, the counts are lost at the end.
Tally &own_tally() {
  static Tally own;
  return own;
}

Tally &shared_tally() {
  const std::string path = process_file(folder, ".counts");
  if (path.empty()) return own_tally();
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return own_tally();
  // Written instead of extended: a page without room on a full disk cannot be accessed.
  const Tally none;
  void *mapped = MAP_FAILED;
  if (write(file, &none, sizeof none) == static_cast<ssize_t>(sizeof none))
    mapped = mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return mapped == MAP_FAILED ? own_tally() : *new (mapped) Tally;
}

}  // namespace

Tally &tally() {
  static Tally &counts = shared_tally();
  return counts;
}

void tally_unsupported(const char *symbol) {
  const std::string path = process_file(folder, ".unsupported");
  if (path.empty()) return;
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return;
  const std::string line = std::string(symbol) + '\n';
  [[maybe_unused]] auto written = write(file, line.data(), line.size());
  close(file);
}

}  // namespace simcuda
