// SPDX-License-Identifier: BSD-3-Clause
// What processes share. Each process that shares something has a board: a file in memory with an
// entry for each shared object. A handle names the process, its board and an entry. The process
// that opens the handle finds the board, and the memory itself, in /proc/PID/fd. So nothing is left
// when a process ends, in whatever way.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <tuple>

#include "objects.h"
#include "race.h"
#include "schedule.h"

namespace simcuda {

// Ids are never used again; 0: the entry is free.
struct SharedMemory {
  std::atomic<std::uint64_t> id;
  std::uint64_t offset, size, pool;
  std::int32_t file, device;  // by the machine's number
};

struct SharedPool {
  std::atomic<std::uint64_t> id;
  std::int32_t device;
};

// An event counts its records; the last one is its state. At most this many can be unfinished.
inline constexpr std::size_t most_records = 64;

struct SharedRecord {
  std::atomic<std::uint64_t> done, wanted;  // counts of records
  std::atomic<std::int32_t> by;             // the process
};

struct SharedEvent {
  std::atomic<std::uint64_t> id, claimed, recorded;
  // The last record that work of another process waits for, and the last that its work or its host
  // has waited for.
  std::atomic<std::uint64_t> awaited, seen;
  std::int32_t device;
  SharedRecord records[most_records];

  SharedRecord &record(std::uint64_t count) { return records[count % most_records]; }
};

struct Board {
  static constexpr std::uint64_t magic_number = 0x6472616f626d6973;  // "simboard"

  std::uint64_t magic, nonce;
  std::int32_t process;
  SharedMemory memory[32768];
  SharedPool pools[1024];
  SharedEvent events[2048];
};

// The contents of a handle: 64 bytes from a client, which may be anything.
struct Ticket {
  enum class Kind : std::uint32_t { memory = 0x6d656d31, event = 0x65767431, pool = 0x706f6f31 };

  std::uint64_t nonce;
  std::uint64_t id;
  std::int32_t process, file;  // where the board is
  Kind kind;
  std::uint32_t slot;
  std::uint8_t unused[32];
};
static_assert(sizeof(Ticket) == 64);

using BoardPtr = std::shared_ptr<Board>;

// An entry of a board. The process that made it frees it.
template <class Slot>
struct Shared {
  BoardPtr board;
  Slot *slot = nullptr;
  std::uint64_t id = 0;
  bool own = false;

  Shared() = default;
  Shared(const Shared &) = delete;
  Shared &operator=(const Shared &) = delete;
  ~Shared() {
    if (own) slot->id = 0;
  }
  bool alive() const { return slot->id == id; }
};

struct MemoryShare : Shared<SharedMemory> {};
struct PoolShare : Shared<SharedPool> {};

struct EventShare : Shared<SharedEvent> {
  std::uint64_t last_own = 0;  // of this process

  // Whether all work before the record is complete, or its process has ended.
  bool is_done(std::uint64_t count) const;
};

// Memory that another process shares, mapped here.
struct Import {
  AllocationPtr allocation;
  unsigned opened = 1;
};

// The simulator's lock must be held for all of it.
class Ipc {
 public:
  Ipc(Schedule &schedule, Races &races) : schedule_(schedule), races_(races) {}

  std::shared_ptr<MemoryShare> offer(const Allocation &allocation, int file, std::uint64_t offset,
                                     int device, std::uint64_t pool);
  std::shared_ptr<PoolShare> offer_pool(int device);
  std::shared_ptr<EventShare> offer_event(int device);

  // For objects that this process shares.
  Ticket ticket_of(const MemoryShare &share) const;
  Ticket ticket_of(const PoolShare &share) const;
  Ticket ticket_of(const EventShare &share) const;
  // The object that a ticket names; null if it does not exist, or not any more.
  std::shared_ptr<MemoryShare> find_memory(const Ticket &ticket);
  std::shared_ptr<PoolShare> find_pool(const Ticket &ticket);
  std::shared_ptr<EventShare> find_event(const Ticket &ticket);
  // Whether the process of a ticket has ended.
  static bool has_ended(const Ticket &ticket);
  // An event of such a process, with nothing to wait for.
  static std::shared_ptr<EventShare> ended_event(const Ticket &ticket, int device);
  bool is_own(const Ticket &ticket) const { return own_ && ticket.nonce == own_->nonce; }
  // A descriptor of the file with the shared memory, which the caller must close; -1: it is gone.
  static int open_file(const MemoryShare &share);

  // Makes an operation a record that all processes can see. Waits if too many are unfinished, so
  // all checks that can fail must have been done.
  void record(const std::shared_ptr<EventShare> &share, const OperationPtr &operation, Lock &lock);
  // Makes an operation wait for another process's last record. Must be called before it is
  // submitted.
  void wait(const std::shared_ptr<EventShare> &share, const OperationPtr &operation);
  // The host queries that record, or waits for it.
  bool query(const EventShare &share);
  void synchronise(const EventShare &share, Lock &lock);

  // Orders the host after work that other processes have waited for: they may have told it.
  void learn();

  // The memory that is mapped for a context, or, for null, a pool.
  Import *find_import(const MemoryShare &share, const Context *context);
  void remember(const MemoryShare &share, const Context *context, AllocationPtr allocation);
  // Whether another context of the device has opened handles of that process and that device.
  bool other_context_opened(const MemoryShare &share, const Context &context) const;

 private:
  using ImportKey = std::tuple<std::uint64_t, std::uint64_t, const Context *>;

  struct Record {
    std::shared_ptr<EventShare> share;
    std::uint64_t count;
    OperationPtr operation;
  };

  BoardPtr own_board();
  BoardPtr board_of(const Ticket &ticket);
  void start_thread();
  void work();
  bool advance();

  Schedule &schedule_;
  Races &races_;
  BoardPtr own_;
  int own_file_ = -1;
  std::map<std::uint64_t, std::weak_ptr<Board>> boards_;  // of other processes, by nonce
  std::map<ImportKey, Import> imports_;  // by the board's nonce and the id; some have ended
  std::size_t most_imports_ = 64;        // before the ended ones are removed
  std::uint64_t last_id_ = 0;
  std::uint32_t next_memory_ = 0, next_pool_ = 0, next_event_ = 0;
  std::deque<Record> records_;  // of this process, and not known to be waited for by another
  std::vector<Record> waits_;   // for records of other processes
  std::condition_variable wake_;
  bool thread_started_ = false;
};

}  // namespace simcuda
