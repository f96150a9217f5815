// SPDX-License-Identifier: BSD-3-Clause
#include "ipc.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

#include "driver.h"

namespace simcuda {
namespace {

// How often a process polls for requests of others, while there is anything to wait for.
constexpr useconds_t look_every_us = 300;
// Records that no other process is known to have waited for. Older ones count as waited for.
constexpr std::size_t most_remembered = 256;

// A process that has ended, but whose parent has not waited for it, is not alive.
bool is_alive(std::int32_t process) {
  if (process == getpid()) return true;
  const int file = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (file < 0) return errno == ENOSYS && kill(process, 0) == 0;
  pollfd ended{file, POLLIN, 0};
  const bool alive = poll(&ended, 1, 0) == 0;
  close(file);
  return alive;
}

// Once its main thread has ended, a process has its files in the folders of the others alone.
int open_file_of(std::int32_t process, std::int32_t file) {
  const std::string of_process = "/proc/" + std::to_string(process);
  const std::string name = "/fd/" + std::to_string(file);
  const auto open_in = [&](const std::string &folder) {
    return open((folder + name).c_str(), O_RDWR | O_CLOEXEC);
  };
  int opened = open_in(of_process);
  std::error_code failed;
  std::filesystem::directory_iterator thread(of_process + "/task", failed);
  for (; opened < 0 && thread != decltype(thread){}; thread.increment(failed)) {
    opened = open_in(thread->path());
  }
  return opened;
}

BoardPtr map_board(int file) {
  void *mapped = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) return nullptr;
  madvise(mapped, sizeof(Board), MADV_DONTFORK);
  return {static_cast<Board *>(mapped), [](Board *board) { munmap(board, sizeof(Board)); }};
}

void raise(std::atomic<std::uint64_t> &value, std::uint64_t to) {
  std::uint64_t now = value;
  while (now < to && !value.compare_exchange_weak(now, to)) {
  }
}

// The next free entry of a board.
template <class Slot, std::size_t count>
Slot &take(Slot (&slots)[count], std::uint32_t &next) {
  for (std::size_t tries = 0; tries < count; ++tries) {
    Slot &slot = slots[next++ % count];
    if (slot.id == 0) return slot;
  }
  throw Refused{CUDA_ERROR_OUT_OF_MEMORY};
}

template <class Share, class Slot>
std::shared_ptr<Share> share_of(const BoardPtr &board, Slot &slot, std::uint64_t id, bool own) {
  auto share = std::make_shared<Share>();
  share->board = board;
  share->slot = &slot;
  share->id = id;
  share->own = own;
  return share;
}

template <class Share, class Slot, std::size_t count>
std::shared_ptr<Share> find(const BoardPtr &board, Slot (&slots)[count], const Ticket &ticket) {
  if (ticket.slot >= count || !ticket.id || !is_alive(board->process)) return nullptr;
  auto share = share_of<Share>(board, slots[ticket.slot], ticket.id, false);
  return share->alive() ? share : nullptr;
}

}  // namespace

bool Event::recorded_elsewhere() const {
  return share && share->slot->recorded != share->last_own;
}

bool EventShare::is_done(std::uint64_t count) const {
  SharedRecord &record = slot->record(count);
  return record.done >= count || !alive() || !is_alive(record.by);
}

BoardPtr Ipc::own_board() {
  if (own_) return own_;
  const int file = memfd_create("simcuda-board", MFD_CLOEXEC);
  if (file < 0) throw Refused{CUDA_ERROR_OUT_OF_MEMORY};
  BoardPtr board = ftruncate(file, sizeof(Board)) == 0 ? map_board(file) : nullptr;
  if (!board || getrandom(&board->nonce, sizeof board->nonce, 0) != sizeof board->nonce) {
    close(file);
    throw Refused{CUDA_ERROR_OUT_OF_MEMORY};
  }
  board->process = getpid();
  board->magic = Board::magic_number;
  own_file_ = file;
  return own_ = board;
}

BoardPtr Ipc::board_of(const Ticket &ticket) {
  if (is_own(ticket)) return own_;
  if (auto known = boards_[ticket.nonce].lock()) return known;
  boards_.erase(ticket.nonce);
  const int file = ticket.process > 0 ? open_file_of(ticket.process, ticket.file) : -1;
  if (file < 0) return nullptr;
  struct stat status;
  BoardPtr board;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
      status.st_size == static_cast<off_t>(sizeof(Board)))
    board = map_board(file);
  close(file);
  if (!board || board->magic != Board::magic_number || board->nonce != ticket.nonce ||
      board->process != ticket.process)
    return nullptr;
  boards_[ticket.nonce] = board;
  return board;
}

std::shared_ptr<MemoryShare> Ipc::offer(const Allocation &allocation, int file,
                                        std::uint64_t offset, int device, std::uint64_t pool) {
  SharedMemory &slot = take(own_board()->memory, next_memory_);
  slot.file = file;
  slot.offset = offset;
  slot.size = allocation.size;
  slot.device = device;
  slot.pool = pool;
  slot.id = ++last_id_;
  return share_of<MemoryShare>(own_, slot, slot.id, true);
}

std::shared_ptr<PoolShare> Ipc::offer_pool(int device) {
  SharedPool &slot = take(own_board()->pools, next_pool_);
  slot.device = device;
  slot.id = ++last_id_;
  return share_of<PoolShare>(own_, slot, slot.id, true);
}

std::shared_ptr<EventShare> Ipc::offer_event(int device) {
  SharedEvent &slot = take(own_board()->events, next_event_);
  slot.device = device;
  slot.claimed = slot.recorded = slot.awaited = slot.seen = 0;
  for (auto &record : slot.records) record.done = record.wanted = 0;
  slot.id = ++last_id_;
  return share_of<EventShare>(own_, slot, slot.id, true);
}

Ticket Ipc::ticket_of(const MemoryShare &share) const {
  return {share.board->nonce,
          share.id,
          share.board->process,
          own_file_,
          Ticket::Kind::memory,
          static_cast<std::uint32_t>(share.slot - share.board->memory),
          {}};
}

Ticket Ipc::ticket_of(const PoolShare &share) const {
  return {share.board->nonce,
          share.id,
          share.board->process,
          own_file_,
          Ticket::Kind::pool,
          static_cast<std::uint32_t>(share.slot - share.board->pools),
          {}};
}

Ticket Ipc::ticket_of(const EventShare &share) const {
  return {share.board->nonce,
          share.id,
          share.board->process,
          own_file_,
          Ticket::Kind::event,
          static_cast<std::uint32_t>(share.slot - share.board->events),
          {}};
}

std::shared_ptr<MemoryShare> Ipc::find_memory(const Ticket &ticket) {
  const auto board = ticket.kind == Ticket::Kind::memory ? board_of(ticket) : nullptr;
  return board ? find<MemoryShare>(board, board->memory, ticket) : nullptr;
}

std::shared_ptr<PoolShare> Ipc::find_pool(const Ticket &ticket) {
  const auto board = ticket.kind == Ticket::Kind::pool ? board_of(ticket) : nullptr;
  return board ? find<PoolShare>(board, board->pools, ticket) : nullptr;
}

std::shared_ptr<EventShare> Ipc::find_event(const Ticket &ticket) {
  const auto board = ticket.kind == Ticket::Kind::event ? board_of(ticket) : nullptr;
  return board ? find<EventShare>(board, board->events, ticket) : nullptr;
}

bool Ipc::has_ended(const Ticket &ticket) {
  return ticket.process > 0 && !is_alive(ticket.process);
}

std::shared_ptr<EventShare> Ipc::ended_event(const Ticket &ticket, int device) {
  if (ticket.kind != Ticket::Kind::event || !ticket.id || !has_ended(ticket)) return nullptr;
  auto board = std::make_shared<Board>();  // that no other process sees
  SharedEvent &slot = board->events[0];
  slot.device = device;
  slot.id = ticket.id;
  return share_of<EventShare>(board, slot, ticket.id, false);
}

int Ipc::open_file(const MemoryShare &share) {
  const int file = open_file_of(share.board->process, share.slot->file);
  struct stat status;
  const std::uint64_t end = share.slot->offset + share.slot->size;
  if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
      static_cast<std::uint64_t>(status.st_size) >= end)
    return file;
  if (file >= 0) close(file);
  return -1;
}

Import *Ipc::find_import(const MemoryShare &share, const Context *context) {
  auto found = imports_.find({share.board->nonce, share.id, context});
  return found == imports_.end() || found->second.allocation->dead ? nullptr : &found->second;
}

void Ipc::remember(const MemoryShare &share, const Context *context, AllocationPtr allocation) {
  imports_[{share.board->nonce, share.id, context}] = Import{std::move(allocation)};
  if (imports_.size() <= most_imports_) return;
  std::erase_if(imports_, [](auto &import) { return import.second.allocation->dead; });
  most_imports_ = 64 + 2 * imports_.size();
}

bool Ipc::other_context_opened(const MemoryShare &share, const Context &context) const {
  return std::any_of(imports_.begin(), imports_.end(), [&](auto &import) {
    const Allocation &other = *import.second.allocation;
    return !other.dead && other.context && other.context.get() != &context &&
           other.context->device == context.device && other.share->board == share.board &&
           other.share->slot->device == share.slot->device;
  });
}

void Ipc::record(const std::shared_ptr<EventShare> &share, const OperationPtr &operation,
                 Lock &lock) {
  SharedEvent &event = *share->slot;
  const std::uint64_t count = event.claimed.fetch_add(1) + 1;
  SharedRecord &record = event.record(count);
  if (count > most_records) {
    const std::uint64_t oldest = count - most_records;
    raise(record.wanted, oldest);
    while (!share->is_done(oldest)) {
      lock.unlock();
      usleep(look_every_us);
      lock.lock();
    }
  }
  record.by = getpid();
  raise(event.recorded, count);
  share->last_own = count;
  operation->after_errors = true;  // a process that waits for it must not wait forever
  operation->run = [share, count] { share->slot->record(count).done = count; };
  records_.push_back({share, count, operation});
  if (records_.size() > most_remembered &&
      records_.front().operation->state == Operation::State::done) {
    races_.host_saw({records_.front().operation});
    records_.pop_front();
  }
  start_thread();
}

void Ipc::wait(const std::shared_ptr<EventShare> &share, const OperationPtr &operation) {
  const std::uint64_t count = share->slot->recorded;
  raise(share->slot->awaited, count);
  // The record may come after work of this process that the other one waits for.
  for (auto &mine : records_)
    if (mine.share->slot->awaited >= mine.count && mine.operation->step)
      operation->reached.push_back(mine.operation->step->moment);
  operation->run = [share, count] { raise(share->slot->seen, count); };
  operation->external = !share->is_done(count);
  if (!operation->external) return;
  waits_.push_back({share, count, operation});
  start_thread();
}

bool Ipc::query(const EventShare &share) {
  const std::uint64_t count = share.slot->recorded;
  raise(share.slot->record(count).wanted, count);
  if (!share.is_done(count)) return false;
  raise(share.slot->awaited, count);
  raise(share.slot->seen, count);
  learn();
  return true;
}

void Ipc::synchronise(const EventShare &share, Lock &lock) {
  const std::uint64_t count = share.slot->recorded;
  raise(share.slot->record(count).wanted, count);
  while (!share.is_done(count)) {
    lock.unlock();
    usleep(look_every_us);
    lock.lock();
  }
  raise(share.slot->awaited, count);
  raise(share.slot->seen, count);
  learn();
}

void Ipc::learn() {
  std::erase_if(records_, [&](const Record &mine) {
    if (mine.share->slot->seen < mine.count) return false;
    races_.host_saw({mine.operation});
    return true;
  });
}

void Ipc::start_thread() {
  if (thread_started_) {
    wake_.notify_all();
    return;
  }
  const SignalsHeld held;
  std::thread([this] { work(); }).detach();  // as the driver's own thread
  thread_started_ = true;
}

// Whether anything between processes is unfinished.
bool Ipc::advance() {
  std::vector<OperationPtr> wanted;
  bool under_way = !waits_.empty();
  for (auto &mine : records_) {
    if (mine.operation->state == Operation::State::done) continue;
    under_way = true;
    if (mine.share->slot->record(mine.count).wanted >= mine.count) wanted.push_back(mine.operation);
  }
  schedule_.demand(wanted);
  std::vector<OperationPtr> ended;
  std::erase_if(waits_, [&](const Record &theirs) {
    if (theirs.operation->demanded)
      raise(theirs.share->slot->record(theirs.count).wanted, theirs.count);
    if (!theirs.share->is_done(theirs.count)) return false;
    ended.push_back(theirs.operation);
    return true;
  });
  for (auto &operation : ended) schedule_.release(operation);
  return under_way;
}

// On a thread of its own: the driver's may be in a host function that waits for another process.
void Ipc::work() {
  become_driver_thread();
  Lock lock(simulator_mutex());
  for (;;) {
    if (!advance()) {
      wake_.wait(lock);
      continue;
    }
    lock.unlock();
    usleep(look_every_us);
    lock.lock();
  }
}

}  // namespace simcuda
