// SPDX-License-Identifier: BSD-3-Clause
// For programs about two processes: this one starts itself again, and both talk over a socket.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "driver_test.h"

extern char **environ;

enum { TALK = 3 };  // the descriptor of the second process

typedef struct {
  pid_t id;
  int talk;
} Process;

// The second process has this as its argument.
static inline Process start_other(const char *part) {
  int ends[2];
  Process other;
  MUST_BE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  char *arguments[] = {"other", (char *)(uintptr_t)part, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // A copy under its own number would be closed.
  const int copy = fcntl(ends[1], F_DUPFD_CLOEXEC, TALK + 1);
  posix_spawn_file_actions_adddup2(&actions, copy, TALK);
  MUST_BE(posix_spawn(&other.id, "/proc/self/exe", &actions, NULL, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(copy);
  close(ends[1]);
  other.talk = ends[0];
  return other;
}

static inline void tell(int talk, const void *message, size_t size) {
  MUST_BE(send(talk, message, size, MSG_NOSIGNAL), size);
}

// A process that reads nothing, because the other has ended, ends.
static inline void hear(int talk, void *message, size_t size) {
  MUST_BE(recv(talk, message, size, 0), size);
}

static inline void tell_ready(int talk) {
  tell(talk, "", 1);
}

static inline void hear_ready(int talk) {
  char ready;
  hear(talk, &ready, 1);
}

static inline void send_file(int talk, int file) {
  union {
    struct cmsghdr head;
    char space[CMSG_SPACE(sizeof(int))];
  } control = {{0}};
  char nothing = 0;
  struct iovec data = {&nothing, 1};
  struct msghdr message = {.msg_iov = &data,
                           .msg_iovlen = 1,
                           .msg_control = control.space,
                           .msg_controllen = sizeof control.space};
  control.head.cmsg_level = SOL_SOCKET;
  control.head.cmsg_type = SCM_RIGHTS;
  control.head.cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(&control.head), &file, sizeof file);
  MUST_BE(sendmsg(talk, &message, MSG_NOSIGNAL), 1);
}

static inline int receive_file(int talk) {
  union {
    struct cmsghdr head;
    char space[CMSG_SPACE(sizeof(int))];
  } control;
  char nothing;
  int file = -1;
  struct iovec data = {&nothing, 1};
  struct msghdr message = {.msg_iov = &data,
                           .msg_iovlen = 1,
                           .msg_control = control.space,
                           .msg_controllen = sizeof control.space};
  MUST_BE(recvmsg(talk, &message, MSG_CMSG_CLOEXEC), 1);
  memcpy(&file, CMSG_DATA(&control.head), sizeof file);
  return file;
}

// The other process has ended well.
static inline void join_other(const Process *other) {
  int status = -1;
  MUST_BE(waitpid(other->id, &status, 0), other->id);
  MUST_BE(status, 0);
}

static inline void kill_other(const Process *other) {
  int status = -1;
  MUST_BE(kill(other->id, SIGKILL), 0);
  MUST_BE(waitpid(other->id, &status, 0), other->id);
  MUST_BE(WIFSIGNALED(status), 1);
}

typedef struct {
  unsigned char bytes[64];
} IpcHandle;

enum { PEERS = 1, DISABLE_TIMING = 2, INTERPROCESS = 4 };

#define USE_IPC                                                                 \
  USE(cuIpcGetMemHandle, 4010, IpcHandle *, CUdeviceptr);                       \
  USE(cuIpcOpenMemHandle, 11000, CUdeviceptr *, IpcHandle, unsigned);           \
  USE(cuIpcCloseMemHandle, 4010, CUdeviceptr);                                  \
  USE(cuIpcGetEventHandle, 4010, IpcHandle *, CUevent);                         \
  USE(cuIpcOpenEventHandle, 4010, CUevent *, IpcHandle);                        \
  (void)cuIpcGetMemHandle, (void)cuIpcOpenMemHandle, (void)cuIpcCloseMemHandle, \
      (void)cuIpcGetEventHandle, (void)cuIpcOpenEventHandle

#define USE_SHARED_POOLS                                                                           \
  enum { POSIX_FILE_DESCRIPTOR = 1 };                                                              \
  USE(cuMemPoolCreate, 11020, CUmemoryPool *, const PoolProperties *);                             \
  USE(cuMemPoolDestroy, 11020, CUmemoryPool);                                                      \
  USE(cuMemAllocFromPoolAsync, 11020, CUdeviceptr *, size_t, CUmemoryPool, CUstream);              \
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);                                               \
  USE(cuMemPoolExportToShareableHandle, 11020, void *, CUmemoryPool, int, unsigned long long);     \
  USE(cuMemPoolImportFromShareableHandle, 11020, CUmemoryPool *, void *, int, unsigned long long); \
  USE(cuMemPoolExportPointer, 11020, IpcHandle *, CUdeviceptr);                                    \
  USE(cuMemPoolImportPointer, 11020, CUdeviceptr *, CUmemoryPool, const IpcHandle *);              \
  (void)cuMemPoolCreate, (void)cuMemPoolDestroy, (void)cuMemAllocFromPoolAsync,                    \
      (void)cuMemFreeAsync, (void)cuMemPoolExportToShareableHandle,                                \
      (void)cuMemPoolImportFromShareableHandle, (void)cuMemPoolExportPointer,                      \
      (void)cuMemPoolImportPointer
