// SPDX-License-Identifier: BSD-3-Clause
#include "peer.hpp"

#include <sys/wait.h>

#include <cstdlib>
#include <cstring>

#include "../wide/driver.hpp"
#include "bytes.hpp"
#include "must.h"
#include "talk.hpp"

namespace lives {
namespace {

cai_array *bytes_of(cai_memory *memory, std::uint64_t start, std::uint64_t stop) {
  const auto extent = static_cast<std::int64_t>(stop - start);
  cai_array *made = nullptr;
  MUST(cai_memory_array(memory, start, &byte_type, 1, &extent, nullptr, &made, nullptr));
  return made;
}

// What the other process has. It answers once all that it was told to do is done.
class Lender {
 public:
  void allocate(const Peer::Wish &wish) {
    cai_request request{};
    request.struct_size = sizeof request;
    request.kind = wish.of_pool ? CAI_KIND_ASYNC : CAI_KIND_DEFAULT;
    request.size = wish.size;
    if (wish.of_pool) request.manager = pool_of(wish);
    cai_memory *&memory = memories_[wish.place];
    MUST_HOLD(!memory);
    MUST(cai_memory_alloc({CAI_DEVICE_CUDA, wish.gpu}, &request, &memory, nullptr));
    set(memory, 0, wish.size, wish.value);
  }

  // A part is shared as a view.
  void share(const Peer::Wish &wish, cai_ipc_handle &handle, int &fd) const {
    cai_memory *view = nullptr;
    MUST(cai_memory_view(memories_[wish.place], wish.start, wish.stop, &view, nullptr));
    MUST(cai_memory_share(view, &handle, &fd, nullptr));
    cai_memory_release(view);
  }

  void set(const Peer::Wish &wish) const {
    set(memories_[wish.place], wish.start, wish.stop, wish.value);
  }

  void tell(const Peer::Wish &wish, unsigned char *out) const {
    cai_array *const from = bytes_of(memories_[wish.place], 0, wish.size);
    const cai_array to = bytes_on_host(*from, out);
    MUST(cai_array_copy(from, &to, nullptr, nullptr));
    cai_array_release(from);
  }

  void free(unsigned place) {
    cai_memory_release(std::exchange(memories_[place], nullptr));
    finish();
  }

  void forget() {
    for (cai_memory *&memory : memories_) cai_memory_release(std::exchange(memory, nullptr));
    finish();
    wide::cu().simcuda_forget();
  }

 private:
  // Others learn of a free once it is done.
  static void finish() {
    for (const std::int32_t gpu : {0, 1}) {
      MUST(cai_pending_flush({CAI_DEVICE_CUDA, gpu}, nullptr));
      MUST(cai_device_synchronize({CAI_DEVICE_CUDA, gpu}, nullptr));
    }
  }

  static void set(cai_memory *memory, std::uint64_t start, std::uint64_t stop,
                  unsigned char value) {
    cai_array *const array = bytes_of(memory, start, stop);
    MUST(cai_array_fill(array, &value, nullptr, nullptr));
    MUST(cai_array_sync_host(array, nullptr));
    cai_array_release(array);
  }

  // Memory of one pool and of several is told apart by those who open it.
  cai_manager *pool_of(const Peer::Wish &wish) {
    cai_manager *&pool = pools_[wish.gpu];
    if (wish.of_new_pool) cai_manager_release(std::exchange(pool, nullptr));
    if (pool) return pool;
    const cai_pool_params params{sizeof params, CAI_POOL_EXPORTABLE, 0, 0, 0, 0};
    MUST(cai_manager_create("pool", &params, {CAI_DEVICE_CUDA, wish.gpu}, nullptr, &pool, nullptr));
    return pool;
  }

  cai_memory *memories_[Peer::places] = {};
  cai_manager *pools_[2] = {};
};

}  // namespace

int Peer::serve() {
  Lender lender;
  for (Wish wish{}; test::receive_all(test::talk_of_other, &wish, sizeof wish, nullptr);) {
    Answer answer{};
    int fd = -1;
    switch (wish.what) {
      case Wish::allocate:
        lender.allocate(wish);
        [[fallthrough]];
      case Wish::share:
        lender.share(wish, answer.handle, fd);
        break;
      case Wish::set:
        lender.set(wish);
        break;
      case Wish::tell:
        lender.tell(wish, answer.bytes);
        break;
      case Wish::free:
        lender.free(wish.place);
        break;
      case Wish::forget:
        lender.forget();
        break;
    }
    // Who has asked may have ended meanwhile.
    if (!test::try_send(test::talk_of_other, &answer, sizeof answer, fd)) break;
    if (fd >= 0) close(fd);
  }
  return 0;
}

Peer::Answer Peer::ask(const Wish &wish, int *fd) {
  if (!id_) {
    const test::Started made = test::start_again("peer");
    id_ = made.id;
    talk_ = made.talk;
  }
  test::send_all(talk_, &wish, sizeof wish, -1);
  Answer answer{};
  MUST_HOLD(test::receive_all(talk_, &answer, sizeof answer, fd));
  return answer;
}

Ticket Peer::share(const Wish &wish) {
  int fd = -1;
  const Answer answer = ask(wish, &fd);
  return {answer.handle, fd};
}

void Peer::set(unsigned place, std::uint64_t start, std::uint64_t stop, unsigned char value) {
  Wish wish{Wish::set, place};
  wish.start = start;
  wish.stop = stop;
  wish.value = value;
  ask(wish);
}

std::vector<unsigned char> Peer::bytes(unsigned place, std::uint64_t size) {
  Wish wish{Wish::tell, place};
  wish.size = size;
  const Answer answer = ask(wish);
  return {answer.bytes, answer.bytes + size};
}

void Peer::free(unsigned place) {
  ask({Wish::free, place});
}

void Peer::forget() {
  if (id_) ask({Wish::forget});
}

void Peer::end() {
  if (!id_) return;
  close(std::exchange(talk_, -1));
  int status = -1;
  waitpid(std::exchange(id_, 0), &status, 0);
  MUST(status);
}

}  // namespace lives
