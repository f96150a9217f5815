// SPDX-License-Identifier: BSD-3-Clause
// What processes share. Each process that shares something keeps a board: a file in memory that
// says what there is. A handle names the process, its board and a place there; the process that
// opens it finds the board, and memory itself, under /proc/PID/fd. So nothing is left when a
// process ends, however it does.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <tuple>

#include "objects.h"
#include "race.h"
#include "schedule.h"

namespace simcuda {

// An id is never used again; 0: there is nothing any more.
struct SharedMemory {
  std::atomic<std::uint64_t> id;
  std::uint64_t offset, size, pool;
  std::int32_t file, device;  // the device as the machine counts
};

struct SharedPool {
  std::atomic<std::uint64_t> id;
  std::int32_t device;
};

// An event counts its records: the last one is its state. As many as this may be under way at once.
inline constexpr std::size_t most_records = 64;

struct SharedRecord {
  std::atomic<std::uint64_t> done, wanted;  // counts of records
  std::atomic<std::int32_t> by;             // the process
};

struct SharedEvent {
  std::atomic<std::uint64_t> id, claimed, recorded;
  // The last record that another process has given work to wait for, and that its work or its host
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

// What a handle holds: 64 bytes for a client, of any origin.
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

// A place on a board. The process that made it takes it back.
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
  std::uint64_t last_own = 0;  // of this process's records

  // Whether all that the record came after is done, or its process has ended.
  bool is_done(std::uint64_t count) const;
};

// Memory that another process shares, mapped here.
struct Import {
  AllocationPtr allocation;
  unsigned opened = 1;
};

// All of it with the simulator's lock held.
class Ipc {
 public:
  Ipc(Schedule &schedule, Races &races) : schedule_(schedule), races_(races) {}

  std::shared_ptr<MemoryShare> offer(const Allocation &allocation, int file, std::uint64_t offset,
                                     int device, std::uint64_t pool);
  std::shared_ptr<PoolShare> offer_pool(int device);
  std::shared_ptr<EventShare> offer_event(int device);

  // Of what this process shares.
  Ticket ticket_of(const MemoryShare &share) const;
  Ticket ticket_of(const PoolShare &share) const;
  Ticket ticket_of(const EventShare &share) const;
  // What a ticket names; null: nothing, or not any more.
  std::shared_ptr<MemoryShare> find_memory(const Ticket &ticket);
  std::shared_ptr<PoolShare> find_pool(const Ticket &ticket);
  std::shared_ptr<EventShare> find_event(const Ticket &ticket);
  // Whether the process that a ticket is from has ended.
  static bool has_ended(const Ticket &ticket);
  // An event of such a process: nothing is left to wait for.
  static std::shared_ptr<EventShare> ended_event(const Ticket &ticket, int device);
  bool is_own(const Ticket &ticket) const { return own_ && ticket.nonce == own_->nonce; }
  // The file that shared memory lies in, to be closed by the caller; -1: it is gone.
  static int open_file(const MemoryShare &share);

  // Makes an operation a record that all can see. Waits where too many are under way: before that,
  // all that could refuse the operation has been asked.
  void record(const std::shared_ptr<EventShare> &share, const OperationPtr &operation, Lock &lock);
  // Makes an operation that is to be submitted wait for another process's last record.
  void wait(const std::shared_ptr<EventShare> &share, const OperationPtr &operation);
  // The host asks for that record, or waits for it.
  bool query(const EventShare &share);
  void synchronise(const EventShare &share, Lock &lock);

  // The host goes on after work that other processes have waited for: they may have told it.
  void learn();

  // What is mapped for a context, or (null) for a pool.
  Import *find_import(const MemoryShare &share, const Context *context);
  void remember(const MemoryShare &share, const Context *context, AllocationPtr allocation);
  // Whether another context of the device has opened handles from that process and that device.
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
  std::map<std::uint64_t, std::weak_ptr<Board>> boards_;  // of others, by nonce
  std::map<ImportKey, Import> imports_;  // by the board's nonce and the id; some have ended
  std::size_t most_imports_ = 64;        // before those are swept out
  std::uint64_t last_id_ = 0;
  std::uint32_t next_memory_ = 0, next_pool_ = 0, next_event_ = 0;
  std::deque<Record> records_;  // of this process, that no other is known to have waited for
  std::vector<Record> waits_;   // for records of others
  std::condition_variable wake_;
  bool thread_started_ = false;
};

}  // namespace simcuda
