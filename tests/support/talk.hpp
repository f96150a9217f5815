// SPDX-License-Identifier: BSD-3-Clause
// For programs of two processes: one starts itself again, and both talk over a socket.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "must.h"

extern char **environ;

namespace test {

inline constexpr int talk_of_other = 3;  // the socket, as the started process knows it

// Each message carries a descriptor, or none. False: there is nobody to send it to.
inline bool try_send(int talk, const void *message, std::size_t length, int fd) {
  iovec part{const_cast<void *>(message), length};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof fd)] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (fd >= 0) {
    header.msg_control = space;
    header.msg_controllen = sizeof space;
    cmsghdr *const control = CMSG_FIRSTHDR(&header);
    *control = {CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
    std::memcpy(CMSG_DATA(control), &fd, sizeof fd);
  }
  return sendmsg(talk, &header, MSG_NOSIGNAL) == static_cast<ssize_t>(length);
}

inline void send_all(int talk, const void *message, std::size_t length, int fd) {
  MUST_HOLD(try_send(talk, message, length, fd));
}

// False: the other process has ended. Without a descriptor `fd` becomes -1; it may be null.
inline bool receive_all(int talk, void *message, std::size_t length, int *fd) {
  iovec part{message, length};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof *fd)] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = space;
  header.msg_controllen = sizeof space;
  if (recvmsg(talk, &header, MSG_CMSG_CLOEXEC) != static_cast<ssize_t>(length)) return false;
  const cmsghdr *const control = CMSG_FIRSTHDR(&header);
  if (fd) *fd = -1;
  if (fd && control) std::memcpy(fd, CMSG_DATA(control), sizeof *fd);
  return true;
}

struct Started {
  pid_t id = 0;
  int talk = -1;
};

// Starts this program again with an argument, and with these variables before its own.
inline Started start_again(std::string argument, std::vector<std::string> variables = {}) {
  int ends[2];
  MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
  // Under the number that it is to get, it would be closed.
  const int far = fcntl(ends[1], F_DUPFD_CLOEXEC, talk_of_other + 1);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, far, talk_of_other);
  std::vector<char *> environment;
  for (std::string &variable : variables) environment.push_back(variable.data());
  for (char **each = environ; *each; ++each) environment.push_back(*each);
  environment.push_back(nullptr);
  char program[] = "/proc/self/exe";
  char *const arguments[] = {program, argument.data(), nullptr};
  Started made;
  MUST(posix_spawn(&made.id, program, &actions, nullptr, arguments, environment.data()));
  posix_spawn_file_actions_destroy(&actions);
  close(far);
  close(ends[1]);
  made.talk = ends[0];
  return made;
}

}  // namespace test
