/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a GPU for other processes: a server that shares it over a Unix socket, and a client.
 *
 *   share serve PATH N       serves N clients, one after the other, then ends
 *   share use PATH (direct | staged)   reads what is there, and, direct, writes its own process id
 */
#include <cai/memory.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { NUMBERS = 1024 };

static cai_error error;

static void must(cai_status status, const char *what) {
  if (status == CAI_OK) return;
  fprintf(stderr, "%s: %s: %s\n", what, cai_status_name(status), error.message);
  exit(1);
}

static void must_be(int condition, const char *what) {
  if (condition) return;
  perror(what);
  exit(1);
}

/* Sends a handle, and the descriptor that goes with it, if there is one. */
static void send_handle(int talk, const cai_ipc_handle *handle, int fd) {
  struct iovec part = {.iov_base = (void *)(uintptr_t)handle, .iov_len = sizeof *handle};
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(int))];
  } control;
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  memset(&control, 0, sizeof control);
  if (fd >= 0) {
    message.msg_control = &control;
    message.msg_controllen = sizeof control.space;
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
  }
  must_be(sendmsg(talk, &message, MSG_NOSIGNAL) == (ssize_t)sizeof *handle, "sendmsg");
}

static int receive_handle(int talk, cai_ipc_handle *handle) {
  struct iovec part = {.iov_base = handle, .iov_len = sizeof *handle};
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(int))];
  } control;
  struct msghdr message = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = sizeof control.space};
  int fd = -1;
  must_be(recvmsg(talk, &message, MSG_CMSG_CLOEXEC) == (ssize_t)sizeof *handle, "recvmsg");
  if (CMSG_FIRSTHDR(&message)) memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
  return fd;
}

static struct sockaddr_un address_of(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  must_be(strlen(path) < sizeof address.sun_path, path);
  strcpy(address.sun_path, path);
  return address;
}

/* The memory as an array of int32. */
static cai_array *numbers_of(cai_memory *memory) {
  const cai_dtype int32 = {.kind = 'i', .byteorder = '<', .itemsize = 4};
  const int64_t shape[] = {NUMBERS};
  cai_array *array = NULL;
  must(cai_memory_array(memory, 0, &int32, 1, shape, NULL, &array, &error), "array");
  return array;
}

static int32_t first_of(const cai_array *array) {
  const int64_t index[] = {0};
  int32_t number = 0;
  must(cai_array_item(array, index, &number, &error), "item");
  return number;
}

static void serve(const char *path, int clients) {
  const cai_device gpu = {CAI_DEVICE_CUDA, 0};
  const cai_request request = {
      .struct_size = sizeof request, .kind = CAI_KIND_DEFAULT, .size = NUMBERS * sizeof(int32_t)};
  const struct sockaddr_un address = address_of(path);
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  cai_memory *memory = NULL;
  cai_array *numbers;
  int32_t number = 42;
  must(cai_memory_alloc(gpu, &request, &memory, &error), "alloc");
  numbers = numbers_of(memory);
  must(cai_array_fill(numbers, &number, NULL, &error), "fill");
  unlink(path);
  must_be(bind(listener, (const struct sockaddr *)&address, sizeof address) == 0, path);
  must_be(listen(listener, 4) == 0, "listen");
  printf("server: it listens\n");
  fflush(stdout);
  while (clients-- > 0) {
    cai_ipc_handle handle;
    int32_t fd = -1;
    char done;
    const int talk = accept(listener, NULL, NULL);
    must_be(talk >= 0, "accept");
    /* Another process sees what is complete: so wait first. */
    must(cai_array_sync_host(numbers, &error), "sync");
    must(cai_memory_share(memory, &handle, &fd, &error), "share");
    send_handle(talk, &handle, fd);
    if (fd >= 0) close(fd);
    /* The memory must stay until the client has closed it, or has gone. */
    (void)!read(talk, &done, 1);
    close(talk);
    printf("server: the first number is %" PRId32 "\n", first_of(numbers));
    fflush(stdout);
  }
  close(listener);
  unlink(path);
  cai_array_release(numbers);
  cai_memory_release(memory);
}

static void use(const char *path, uint32_t how) {
  const cai_device gpu = {CAI_DEVICE_CUDA, 0};
  const struct sockaddr_un address = address_of(path);
  const int talk = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  cai_ipc_handle handle;
  cai_memory *memory = NULL;
  cai_array *numbers;
  int32_t number = (int32_t)getpid();
  int fd;
  must_be(connect(talk, (const struct sockaddr *)&address, sizeof address) == 0, path);
  fd = receive_handle(talk, &handle);
  must(cai_memory_open(&handle, fd, gpu, NULL, how, &memory, &error), "open");
  if (fd >= 0) close(fd);
  numbers = numbers_of(memory);
  printf("client: the first number is %" PRId32 "\n", first_of(numbers));
  must(cai_array_fill(numbers, &number, NULL, &error), "fill");
  must(cai_array_sync_host(numbers, &error), "sync");
  printf("client: it is %" PRId32 " now\n", first_of(numbers));
  cai_array_release(numbers);
  cai_memory_release(memory);
  must(cai_drain(1, NULL, &error), "drain"); /* closed for certain: the server may free it */
  must_be(write(talk, "", 1) == 1, "write");
  close(talk);
}

int main(int count, char **arguments) {
  if (count == 4 && strcmp(arguments[1], "serve") == 0) {
    serve(arguments[2], atoi(arguments[3]));
  } else if (count == 4 && strcmp(arguments[1], "use") == 0) {
    use(arguments[2], strcmp(arguments[3], "staged") == 0 ? (uint32_t)CAI_OPEN_STAGED
                                                          : (uint32_t)CAI_OPEN_DIRECT);
  } else {
    fprintf(stderr, "usage: share serve PATH N | share use PATH (direct | staged)\n");
    return 2;
  }
  return 0;
}
