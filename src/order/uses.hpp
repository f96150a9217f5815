// SPDX-License-Identifier: BSD-3-Clause
// Uses that an owner keeps: the streams that have work on its memory, unknown to the array's own
// stream, and how far that work has come.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/few.hpp"
#include "core/fork.hpp"
#include "core/lock.hpp"
#include "core/sizes.hpp"
#include "order/event.hpp"
#include "order/host_uses.hpp"

namespace cai::order {

// The array's stream that waits for a use: to wait for that stream is to wait for the use. Value 0:
// no stream. The stream may be destroyed before the owner, and its handle may recur.
struct Cover {
  std::uint64_t value = 0;
  driver::CUcontext context = nullptr;  // for 1 and 2
  std::uint64_t id = 0;                 // for a handle
  std::uint64_t thread = 0;             // for 2

  static Cover by(driver::Session &session, Stream &stream) {
    if (!stream.is_default()) identify(session, stream);
    return {stream.value, stream.is_default() ? stream.context : nullptr, stream.id,
            thread_of(stream)};
  }
  // Whether it is the stream, as this thread names it.
  bool is(driver::Session &session, Stream &stream) const {
    if (value != stream.value || thread != thread_of(stream)) return false;
    if (stream.is_default()) return context == stream.context;
    identify(session, stream);
    return id == stream.id;
  }

 private:
  static std::uint64_t thread_of(const Stream &stream) noexcept {
    return stream.value == driver::stream_per_thread ? this_thread() : 0;
  }
};

// How the driver is asked whether uses are complete.
enum class Ask {
  in_passing,  // ignores failures; the uses will be queried again
  for_all,     // notes failures
  and_wait,    // notes failures; the host waits for the uses
};

// A kept use to wait for.
struct Conflict {
  Event event;
  StreamKey user;
  Cover cover;
  int32_t index = -1;  // of the array
};

using Conflicts = Few<Conflict, 4>;

// Whether the event was destroyed with its context: the given one, which exists, has its handle.
inline bool went_with_context(const Event &event, driver::CUcontext context,
                              std::uint64_t context_id) noexcept {
  return event.context() == context && event.context_id() != context_id;
}
// The same, by asking the driver: the event's context need not exist.
bool went_with_context(driver::Session &session, const Event &event);

// Makes the host wait for the current context, unless that would invalidate a capture which can be
// seen. Returns whether nothing is pending there any more.
bool wait_for_context(driver::Session &session) noexcept;

// The value of cai_owner.freed_on if no stream is known.
constexpr std::uint64_t no_stream = UINT64_MAX;

// What cai_owner.uses points to.
class Uses {
 public:
  Uses() = default;
  Uses(const Uses &) = delete;
  Uses &operator=(const Uses &) = delete;
  ~Uses();

  // Whether a thread was changing them when this process was forked, which has no such thread: they
  // stay half changed, with their lock held.
  bool are_half_changed() const noexcept {
    return process_ != forks() && (lock_.is_held() || host.is_being_changed());
  }
  // Deletes them, unless they are half changed. They may be null.
  static void drop(Uses *uses) noexcept;

  // Returns whether there are now so many that it pays to prune(). The event is of the user's
  // stream.
  bool keep(const StreamKey &user, const Event &event, bool write, const Cover &cover);

  // The same for a stream that need not be identified. Prunes if that pays.
  void keep(driver::Session &session, Stream &stream, const Event &event, bool write,
            const Cover &cover);

  // Notes a stream that the memory may be freed on, so not while it is being captured.
  void free_on(const Stream &stream);

  // Marks a stream of an array: uses are ordered with it and not kept, so the end of the owner must
  // wait for it. A handle need not be identified; 1 and 2 must be.
  void mark(const Stream &stream);
  // The same for a stream on which work comes that no end reports: when what is pending there is
  // kept, it stays marked, as long as nobody withdraws it.
  void adopt(const Stream &stream);
  bool any_marked();
  // An event that covers all that was ordered with the stream is being kept: from before it is
  // recorded the stream is not marked, so that a use meanwhile marks it again. Returns its mark, if
  // it has one. Then the other one says whether the event is kept; if not, it marks the stream.
  struct Mark {
    bool marked = false, adopted = false;
  };
  Mark begin_keeping(const Stream &stream) noexcept;
  void end_keeping(const Stream &stream, const Mark &before, bool is_kept) noexcept;
  bool is_marked(std::uint64_t handle) const noexcept {
    return marked_handle_.load(std::memory_order_relaxed) == handle;
  }

  // The stream was named to a consumer without the owner, by a dict. Uses of other arrays of the
  // owner wait for it. With `by_view`, they do so until every view that names it has withdrawn it.
  // `outlives`: the memory is not freed in the order of that stream, though other memory of the
  // owner may be.
  void tell(const Stream &stream, bool by_view, bool outlives = false);
  // Withdraws a stream. `thread` is the thread whose 2 it is. Pending work there is kept as a
  // write; if the driver does not record an event, the host waits for it. While the stream is being
  // captured, and if that wait fails, too, the stream stays told.
  void untell(driver::Session &session, const Stream &stream, std::uint64_t thread) noexcept;
  // Takes back a tell() of a view that another thread has told, too, and that counts once.
  void tell_less(const Stream &stream) noexcept;
  // Whether any stream was told other than this one, which is a handle.
  bool any_told_but(std::uint64_t stream) const noexcept {
    const std::uint64_t told = told_.load(std::memory_order_acquire);
    return told != 0 && told != stream;
  }
  // The same for an exporter, before streams differ: it may have told others, on any thread, the
  // stream that the arrays have so far.
  void tell_first(const Stream &first);
  // Whether all others wait for that stream, a handle, by themselves.
  bool is_told(std::uint64_t stream);
  // Adds the told streams other than `own`, the array's stream, and `stream`, which will wait.
  void add_told(std::uint64_t stream, std::uint64_t own, int32_t index, Few<Stream> &out);

  // An array of the owner comes with another stream than the earlier ones. From now on all uses are
  // kept, until agree() was called as often.
  void differ() noexcept { differ_.fetch_add(1, std::memory_order_release); }
  // The stream of the earlier ones, 0 if they had none: the memory is not freed on the later one.
  void say_first(std::uint64_t first) noexcept;
  // Whether it is the stream of the earlier arrays; it must be the stream of an array of the owner.
  bool is_first(std::uint64_t stream);
  void agree() noexcept { differ_.fetch_sub(1, std::memory_order_release); }
  bool streams_differ() const noexcept { return differ_.load(std::memory_order_acquire) != 0; }

  // Uses in a capture: not pending, but other streams in the same capture come after them. A use
  // that the array's stream already comes after need not be kept.
  void keep_captured(std::uint64_t capture, std::uint64_t user, bool write,
                     const std::vector<driver::CUgraphNode> &nodes);
  // Adds the nodes of the capture that a read, or a write, by another stream must come after.
  void add_captured(std::uint64_t capture, std::uint64_t user, bool write,
                    std::vector<driver::CUgraphNode> &out);
  // Takes over the uses of an import that ends, for others; adds the captures that are new.
  void take_captured(Uses &ending, std::vector<std::uint64_t> &captures);
  bool is_in(std::uint64_t capture) const;
  // Adds the captures that the user was in, except its current one, `now` (0: none).
  void add_captures_over(std::uint64_t user, std::uint64_t now, std::vector<std::uint64_t> &over);
  // Returns whether no captures are left.
  bool forget_captures(const std::vector<std::uint64_t> &over);
  bool any_captured() const noexcept { return any_captured_.load(std::memory_order_acquire); }

  // Adds the uses that a read, or a write, conflicts with. Returns whether those are all kept uses:
  // reads do not conflict with each other.
  bool add_conflicts(bool write, int32_t index, Conflicts &out);

  // Whether any uses are kept, except those by the host.
  bool any() const noexcept { return any_.load(std::memory_order_acquire); }

  // Notes that the array's own stream waits for these uses.
  void cover(Conflicts &conflicts, const Cover &stream);

  // Forgets the uses of a context that exists, if they are complete or are waited for here. Uses of
  // an older context with the same handle were destroyed with it.
  void prune(driver::Session &session, driver::CUcontext context, std::uint64_t context_id,
             Ask ask);
  // Forgets all uses: the memory was destroyed with its context.
  void forget() noexcept;
  // Moves all of them to an object that no other thread has. These are not found by address any
  // more.
  void hand_over(Uses &to) noexcept;
  // Those, and streams that keep_marked() would keep while the owner is held.
  std::size_t count();

  HostUses host;        // work of CPU streams
  bool listed = false;  // guarded by the lock in by_address.cpp

  // Keeps, as a write, what is pending by now on the streams that are marked, but for `except`,
  // which the caller sees to. One that is being captured stays marked; one on which no event can be
  // recorded is lost, as by lose(). Returns whether none is. While the owner is held, streams that
  // were told stay marked, too: consumers that know them go on working there.
  enum class Owner { held, released };
  bool keep_marked(driver::Session &session, std::uint64_t except,
                   Owner owner_is = Owner::released) noexcept;

  // The rest is for an owner whose last reference was released.

  // The memory is freed in the order of a stream, or (0) of the one that its first array came
  // with: what is in order with that, or covered by it, is not waited for. `differ`: another copy
  // of libcai has published arrays, so that the first stream may not be known.
  void free_in_order(std::uint64_t freed_on, bool differ) noexcept;
  // Likewise, but only marked streams are not waited for. Returns the stream, 0 if it is
  // not known.
  std::uint64_t forget_marks(std::uint64_t freed_on, bool differ) noexcept;
  // Work is pending on the stream that no event covers, until its context was waited for or
  // destroyed. If the context is not known, it is null, and its id 0.
  void lose(const Stream &stream);
  // The same for the streams that keep_marked() has left marked. identify_marked(), to be called
  // first, looks up their contexts.
  void identify_marked(driver::Session &session) noexcept;
  void lose_marked() noexcept;
  // Whether work was lost in an unknown context. find_lost(): the host has waited in all contexts.
  bool is_lost_anywhere() const noexcept;
  void find_lost() noexcept;
  // The same for one context, which may have been destroyed: then its id differs. `waits`: the host
  // waits in it, which is the current one, if work was lost there.
  void find_lost_in(driver::Session &session, driver::CUcontext context, std::uint64_t context_id,
                    bool waits);
  bool pending() const noexcept;
  // Whether a stream that the memory is freed on is being captured: then the graph would free it.
  bool is_any_captured(driver::Session &session) noexcept;
  // Whether that may be this thread's stream 2.
  bool is_freed_on_this_thread() const noexcept;
  bool pending_in(driver::CUcontext context) const noexcept;
  // As prune(), where no other thread has these uses.
  void settle(driver::Session &session, driver::CUcontext context, std::uint64_t context_id,
              Ask ask) noexcept;

  // For the list of deferred ends.
  cai_owner *owner = nullptr;
  void (*end)(cai_owner *owner) = nullptr;
  Uses *next = nullptr, *previous = nullptr;
  const void *asker = nullptr;  // who asks whether it is complete, or has found so
  bool is_awaited = false;      // the asker waits until it is
  std::uint64_t releaser = 0;   // the thread that has deferred it
  std::uint64_t release = 0;    // the number of that release (order/running.hpp)
  std::uint64_t arrival = 0;    // its own number in the list

 private:
  struct Kept {
    Event event;
    Cover cover;
  };
  // The uses on one stream, where each comes after the earlier ones.
  struct Slot {
    StreamKey user;
    Kept write, read;  // the last write, and the last read if that came later

    Kept &last() noexcept { return read.event ? read : write; }
    const Kept &last() const noexcept { return read.event ? read : write; }
  };

  // The last uses on one stream in one capture.
  struct Captured {
    std::uint64_t capture;
    std::uint64_t user;
    std::vector<driver::CUgraphNode> writes, reads;
  };

  // A stream that arrays of the owner come with.
  struct Own {
    Stream stream{};
    std::uint64_t thread = 0;  // whose stream 2 it is
    bool marked = false;
    bool adopted = false;
    bool covered = false;      // although it is marked: by an event, if no work has come since
    int being_kept = 0;        // by threads that are about to keep an event in place of the mark
    std::uint64_t tells = 0;   // the number of the last tell() of it
    bool told = false;         // for good
    bool by_exporter = false;  // likewise, though not by a dict or tensor of libcai's
    int views = 0;             // that tell it to consumers without the owner
    bool outlives = false;     // some of the memory that was told: it is not freed there
    bool freed_on = false;
    std::uint64_t lost = 0;  // by lose(): work is pending there that no event covers

    bool is_told() const noexcept { return told || by_exporter || views > 0; }
    bool has_mark() const noexcept { return marked || being_kept > 0; }
    bool is_unkept() const noexcept {
      return ((marked && !covered) || being_kept > 0) && !is_told();
    }
  };

  void leave_lists() noexcept;
  // These, with the lock held.
  Own *find_own(const Stream &stream, std::uint64_t thread) noexcept;
  Own &own(const Stream &stream);
  // Before an event is recorded in place of a mark: a use meanwhile marks the stream again.
  // `stays`: a stream that was adopted stays marked.
  void start_keeping(Own &it, bool stays = false) noexcept;
  void sum_up() noexcept;  // called after each change
  void sum_up_told() noexcept;

  void lose(Own &it) noexcept { it.lost = ++losses_; }
  // Work lost where `is_over` returns true is complete.
  template <class IsOver>
  void find_lost(const IsOver &is_over) noexcept;

  static constexpr std::uint64_t several_told = UINT64_MAX;

  static Stream stream_to_name(const Own &own) noexcept;
  enum class Recorded { yes, not_now, no_memory, never };
  // Keeps what is pending on a stream as a write. If that will never be possible, asks the driver
  // about the stream's context.
  Recorded keep_pending(driver::Session &session, Own &on) noexcept;

  Lock lock_;  // not held while the driver is called, unless no other thread has these uses
  std::vector<Slot> slots_;
  std::vector<Own> own_;
  std::uint64_t tells_ = 0;
  std::uint64_t losses_ = 0;
  std::vector<Captured> captured_;
  std::optional<std::uint64_t> first_;  // set once later arrays have come with another stream

  // To be read without the lock.
  std::atomic<bool> any_{false}, any_captured_{false};
  // The handle that was told; 0: none; several_told: more than one, or a default stream.
  std::atomic<std::uint64_t> told_{0};
  std::atomic<std::uint64_t> differ_{0};
  std::atomic<std::uint64_t> marked_handle_{0};  // the last marked handle

  const std::uint64_t process_ = forks();
};

// Whether an owner keeps uses; keeps_here(): by libcai's functions.
inline bool keeps_uses(const cai_owner *owner) noexcept {
  return is_whole(owner) && owner->used_on && owner->await_uses;
}
inline bool keeps_here(const cai_owner *owner) noexcept {
  return keeps_uses(owner) && owner->used_on == cai_owner_used_on;
}
// Whether `uses` holds what is kept, marked and told, although the owner's own used_on may run
// before libcai's.
inline bool stores_here(const cai_owner *owner) noexcept {
  return keeps_uses(owner) && owner->await_uses == cai_owner_await_uses;
}
inline bool keeps_by_itself(const cai_owner *owner) noexcept {
  return keeps_uses(owner) && owner->used_on != cai_owner_used_on;
}
// Whether only the owner knows what streams its arrays come with. Then it is told of all uses.
inline bool stores_by_itself(const cai_owner *owner) noexcept {
  return keeps_uses(owner) && owner->await_uses != cai_owner_await_uses;
}

// Whether the memory is an exporter's that frees it after what is queued on the stream that was
// said.
inline bool is_freed_as_said(const cai_owner *owner) noexcept {
  return has_flag(owner, CAI_OWNER_IMPORTED) && owner->freed_on != no_stream;
}

// Whether the memory may be freed on the stream that its arrays came with.
inline bool is_freed_on_a_stream(const cai_owner *owner) noexcept {
  return has_flag(owner, CAI_OWNER_STREAM_ORDERED) || is_freed_as_said(owner);
}

// cai_owner.uses is null or a pointer to Uses. While only one marked stream is known, it is the
// stream's handle, shifted left by three bits, with bit 0 set; bit 1 says that the stream was told,
// and bit 2 that it was adopted. So a use that is in order allocates nothing.
constexpr std::uintptr_t told_bit = 2, adopted_bit = 4;
inline std::uintptr_t word_of(const cai_owner *owner) noexcept {
  return reinterpret_cast<std::uintptr_t>(__atomic_load_n(&owner->uses, __ATOMIC_ACQUIRE));
}
// Handles are pointers in the user half of the address space: no driver returns a larger one.
constexpr bool fits_in_word(std::uint64_t handle) noexcept {
  return handle >> 61 == 0;
}
constexpr std::uintptr_t word_of_mark(std::uint64_t handle) noexcept {
  return static_cast<std::uintptr_t>(handle) << 3 | 1;
}
constexpr bool is_word(std::uintptr_t word) noexcept {
  return word == 0 || word & 1;
}
constexpr std::uint64_t marked_in(std::uintptr_t word) noexcept {
  return word & 1 ? word >> 3 : 0;
}
constexpr std::uint64_t told_in(std::uintptr_t word) noexcept {
  return word & told_bit ? marked_in(word) : 0;
}
constexpr std::uint64_t adopted_in(std::uintptr_t word) noexcept {
  return word & adopted_bit ? marked_in(word) : 0;
}

// The Uses of an owner that keeps them here; null if it has none. make_uses_of() makes them.
inline Uses *uses_of(const cai_owner *owner) noexcept {
  const std::uintptr_t word = word_of(owner);
  return word & 1 ? nullptr : reinterpret_cast<Uses *>(word);
}
Uses &make_uses(cai_owner *owner);
inline Uses &make_uses_of(cai_owner *owner) {
  Uses *const uses = uses_of(owner);
  return uses ? *uses : make_uses(owner);
}
// Takes it out of an owner without other references.
std::unique_ptr<Uses> take_uses(cai_owner *owner);
// Takes what is kept out of an owner whose arrays others still have: on other threads they may be
// looking at it, so it stays until the owner has no references, empty. Throws std::bad_alloc.
std::unique_ptr<Uses> take_kept(cai_owner *owner);
// Ends it there: nothing of it is pending any more, or is to be waited for.
void drop_uses(cai_owner *owner) noexcept;

// Marks a stream that is a handle. Not needed if an exporter's memory is freed after that stream.
void mark_anew(cai_owner *owner, std::uint64_t handle);
inline void mark(cai_owner *owner, std::uint64_t handle) {
  if (!stores_here(owner) || is_freed_as_said(owner)) return;
  if (marked_in(word_of(owner)) == handle) return;
  const Uses *const uses = uses_of(owner);
  if (!uses || !uses->is_marked(handle)) mark_anew(owner, handle);
}

// Tells a stream, as Uses::tell(). For a handle this usually allocates nothing.
void tell(cai_owner *owner, const Stream &stream);

// Marks a stream as adopted, as Uses::adopt(). Likewise.
void adopt(cai_owner *owner, const Stream &stream);

// Marks any stream, as Uses::mark().
inline void mark(cai_owner *owner, const Stream &stream) {
  if (is_freed_as_said(owner)) return;
  stream.is_default() ? make_uses_of(owner).mark(stream) : mark(owner, stream.value);
}

// may_have_kept() for an owner's word.
inline bool has_kept(std::uintptr_t word, std::uint64_t own) noexcept {
  if (word & 1) return told_in(word) && told_in(word) != own;
  const auto *const uses = reinterpret_cast<const Uses *>(word);
  // What is told first: who withdraws a stream has kept its work before.
  return uses && (uses->any_told_but(own) || uses->any() || uses->host.any());
}

// Whether a stream that waits for `own`, the array's stream (0: none), may have to wait for kept
// uses or told streams, too. An owner with functions of its own must be asked.
inline bool may_have_kept(const cai_owner *owner, std::uint64_t own) noexcept {
  return stores_here(owner) ? has_kept(word_of(owner), own) : keeps_uses(owner);
}

// Whether uses are kept that a stream may have to wait for.
inline bool has_kept_uses(const cai_owner *keeper) noexcept {
  if (!keeper) return false;
  if (has_flag(keeper, CAI_OWNER_STREAMS_DIFFER)) return true;
  if (word_of(keeper) == 0) return false;
  if (!stores_here(keeper)) return true;
  const Uses *const uses = uses_of(keeper);
  return uses && (uses->any() || uses->streams_differ());
}

// Whether the exporter was asked for the arrays' stream. Then other imports come with other
// streams.
inline bool is_asked(const cai_owner *owner) noexcept {
  constexpr std::uint32_t asked = CAI_OWNER_IMPORTED | CAI_OWNER_ASKED;
  return (flags_of(*owner).load(std::memory_order_relaxed) & asked) == asked;
}

// Whether arrays of the memory come with different streams. To wait for one of them is not to wait
// for work that is ordered with another.
inline bool streams_differ(std::uintptr_t word) noexcept {
  return word && !(word & 1) && reinterpret_cast<const Uses *>(word)->streams_differ();
}
inline bool streams_differ(const cai_owner *owner) noexcept {
  return stores_here(owner) && (is_asked(owner) || has_flag(owner, CAI_OWNER_STREAMS_DIFFER) ||
                                streams_differ(word_of(owner)));
}

}  // namespace cai::order
