// SPDX-License-Identifier: BSD-3-Clause
#include "debug_information.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace simcuda {
namespace {

constexpr int seconds = 20;  // for a module with much debug information

// The output of a program, run without the client's loader settings; empty if it cannot be run or
// takes too long.
std::string output_of(const char *program, char *const arguments[]) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const char *path = std::getenv("PATH");
  std::string search = std::string("PATH=") + (path ? path : "/usr/bin:/bin");
  char *environment[] = {search.data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawnp(&child, program, &files, nullptr, arguments, environment);
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
  std::string text;
  bool ended = failed != 0;
  pollfd end{ends[0], POLLIN, 0};
  while (!ended) {
    const int ready = poll(&end, 1, seconds * 1000);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    char part[4096];
    const auto length = read(ends[0], part, sizeof part);
    ended = length <= 0;
    if (!ended) text.append(part, static_cast<std::size_t>(length));
  }
  close(ends[0]);
  if (failed) return {};
  if (!ended) kill(child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return ended ? text : std::string();
}

}  // namespace

DebugInformation debug_information(const Frame &native) {
  if (!native.file.starts_with('/')) return {};
  std::string file = native.file;
  char offset[24];
  std::snprintf(offset, sizeof offset, "%#llx", static_cast<unsigned long long>(native.place));
  char program[] = "addr2line", options[] = "-fCie";
  char *const arguments[] = {program, options, file.data(), offset, nullptr};
  std::istringstream output(output_of(program, arguments));
  DebugInformation found;
  // A function, then "FILE:LINE", perhaps with more after it; "??" and 0 if not known.
  for (std::string function, place;
       std::getline(output, function) && std::getline(output, place);) {
    const auto colon = place.rfind(':');
    if (colon == std::string::npos) continue;
    const auto line = std::strtoull(place.c_str() + colon + 1, nullptr, 10);
    if (line) found.lines.push_back({place.substr(0, colon), line, function});
    if (found.function.empty() && function != "??") found.function = function;
  }
  return found;
}

}  // namespace simcuda
