// SPDX-License-Identifier: BSD-3-Clause
#include "sharer.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <string>

#include "../memory/memories.hpp"

extern char **environ;

namespace test {
namespace {

constexpr char variable[] = "FAULTS_SHARER";  // the ends of two pipes: to write to, to wait at
constexpr unsigned char byte = 5;

// In the other process: shares, and waits until this one has ended.
class Other {
 public:
  Other() {
    const char *const ends = std::getenv(variable);
    if (!ends) return;
    int out = -1, in = -1;
    MUST_BE(std::sscanf(ends, "%d,%d", &out, &in), 2);
    for (const bool by_pool : {false, true}) share(by_pool, out);
    char end = 0;
    MUST_BE(read(in, &end, 1), 0);
    _exit(0);
  }

 private:
  static void share(bool by_pool, int out) {
    cai_request wanted = request(by_pool ? CAI_KIND_ASYNC : CAI_KIND_DEFAULT, 4096);
    const cai_pool_params params{sizeof params, CAI_POOL_EXPORTABLE, 0, 0, 0, 0};
    if (by_pool) MUST(cai_manager_create("pool", &params, gpu0, nullptr, &wanted.manager, nullptr));
    cai_memory *memory = nullptr;
    MUST(cai_memory_alloc(gpu0, &wanted, &memory, nullptr));
    const std::int64_t shape = 4096;
    cai_array *array = nullptr;
    MUST(cai_memory_array(memory, 0, &bytes_type, 1, &shape, nullptr, &array, nullptr));
    MUST(cai_array_fill(array, &byte, nullptr, nullptr));
    MUST(cai_array_sync_host(array, nullptr));
    Sharer::Shared shared{};
    MUST(cai_memory_share(memory, &shared.handle, &shared.fd, nullptr));
    MUST_BE(write(out, &shared, sizeof shared), sizeof shared);
  }
};

const Other other;

}  // namespace

const Sharer &Sharer::one() {
  static const Sharer sharer;
  return sharer;
}

Sharer::Sharer() {
  int told[2], life[2];
  MUST(pipe2(told, 0));
  MUST(pipe2(life, 0));
  std::vector<char *> environment;
  std::string ends =
      std::string(variable) + "=" + std::to_string(told[1]) + "," + std::to_string(life[0]);
  environment.push_back(ends.data());
  for (char **each = environ; *each; ++each) environment.push_back(*each);
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addclose(&actions, life[1]);  // or it would wait for itself
  char program[] = "/proc/self/exe";
  char *const arguments[] = {program, nullptr};
  pid_t id = 0;
  MUST(posix_spawn(&id, program, &actions, nullptr, arguments, environment.data()));
  posix_spawn_file_actions_destroy(&actions);
  close(told[1]);
  close(life[0]);
  for (Shared *each : {&plain_, &of_pool_}) {
    MUST_BE(read(told[0], each, sizeof *each), sizeof *each);
    if (each->fd < 0) continue;
    const std::string path = "/proc/" + std::to_string(id) + "/fd/" + std::to_string(each->fd);
    each->fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    MUST_HOLD(each->fd >= 0);
  }
  close(told[0]);
}

}  // namespace test
