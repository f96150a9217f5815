// SPDX-License-Identifier: BSD-3-Clause
// Another process, which has memory of its own on the GPUs and shares it. It is this program,
// started again once a program first opens memory, and it stays for the next ones.
#pragma once

#include <cai/memory.h>
#include <unistd.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace lives {

// A handle of its memory, and the descriptor that came with it, or -1.
class Ticket {
 public:
  Ticket() = default;
  Ticket(const cai_ipc_handle &its_handle, int its_fd) : handle(its_handle), fd_(its_fd) {}
  Ticket(Ticket &&other) noexcept : handle(other.handle), fd_(std::exchange(other.fd_, -1)) {}
  Ticket &operator=(Ticket &&other) noexcept {
    std::swap(handle, other.handle);
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Ticket() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }

  cai_ipc_handle handle{};

 private:
  int fd_ = -1;
};

class Peer {
 public:
  static constexpr unsigned places = 4;             // for memory
  static constexpr std::uint64_t most_bytes = 128;  // of each

  // What it is told to do, at a place.
  struct Wish {
    enum What : std::uint32_t { allocate, share, set, tell, free, forget } what;
    std::uint32_t place = 0;
    std::int32_t gpu = 0;
    bool of_pool = false;  // which can be exported; else plain memory
    bool of_new_pool = false;
    std::uint64_t size = 0;             // of what is allocated
    std::uint64_t start = 0, stop = 0;  // of what is shared, or set
    unsigned char value = 0;
  };

  Peer() = default;
  Peer(const Peer &) = delete;
  Peer &operator=(const Peer &) = delete;
  ~Peer() { end(); }

  // Shares a part of what it has, or of what it is to allocate before, all of the same value.
  Ticket share(const Wish &wish);
  void set(unsigned place, std::uint64_t start, std::uint64_t stop, unsigned char value);
  std::vector<unsigned char> bytes(unsigned place, std::uint64_t size);
  void free(unsigned place);
  // Frees all that it has.
  void forget();
  // Ends the process; the next wish starts another one.
  void end();

  // The other process's part.
  static int serve();

 private:
  struct Answer {
    cai_ipc_handle handle;
    unsigned char bytes[most_bytes];
  };

  Answer ask(const Wish &wish, int *fd = nullptr);

  pid_t id_ = 0;
  int talk_ = -1;
};

}  // namespace lives
