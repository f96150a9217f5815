// SPDX-License-Identifier: BSD-3-Clause
// Uses that an owner keeps: which streams have work on its memory that the array's own stream need
// not know of, and how far that work has come.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/few.hpp"
#include "core/lock.hpp"
#include "core/sizes.hpp"
#include "order/event.hpp"
#include "order/host_uses.hpp"

namespace cai::order {

// The array's stream that waits for a use, so that waiting for that stream is waiting for the use.
// Value 0: no stream. It may be destroyed before the owner, and its handle recur.
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
  // As this thread means the stream.
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
  in_passing,  // a failure is not the caller's affair; they will be asked about again
  for_all,     // a failure is noted
  and_wait,    // likewise; the host waits for them
};

// A kept use to wait for.
struct Conflict {
  Event event;
  StreamKey user;
  Cover cover;
  int32_t index = -1;  // of the array
};

using Conflicts = Few<Conflict, 4>;

// Whether the event went with its context: this one, which is alive, has the handle by now.
inline bool went_with_context(const Event &event, driver::CUcontext context,
                              std::uint64_t context_id) noexcept {
  return event.context() == context && event.context_id() != context_id;
}
// Likewise, by the driver's word: its context need not be one that is known to be alive.
bool went_with_context(driver::Session &session, const Event &event);

// The host waits for all of the current context: whether nothing is pending there any more.
bool wait_for_context(driver::Session &session) noexcept;

// What cai_owner.freed_on says where no stream is known.
constexpr std::uint64_t no_stream = UINT64_MAX;

// What cai_owner.uses points to.
class Uses {
 public:
  Uses() = default;
  Uses(const Uses &) = delete;
  Uses &operator=(const Uses &) = delete;
  ~Uses();

  // Returns whether they are so many by now that it pays to prune(). The event is of the user's
  // stream.
  bool keep(const StreamKey &user, const Event &event, bool write, const Cover &cover);

  // Likewise, of a stream that need not be identified; prunes, in passing, if that pays.
  void keep(driver::Session &session, Stream &stream, const Event &event, bool write,
            const Cover &cover);

  // A stream that the memory may be freed on, so not while it is being captured.
  void free_on(const Stream &stream);

  // Uses that are ordered with a stream that arrays come with, and are not kept: the end of the
  // owner must wait for that stream. A handle need not be identified, 1 and 2 must be.
  void mark(const Stream &stream);
  bool any_marked();
  // An event that is kept tells of all that was in order with the stream.
  void unmark(const Stream &stream) noexcept;
  bool is_marked(std::uint64_t handle) const noexcept {
    return marked_handle_.load(std::memory_order_relaxed) == handle;
  }

  // A consumer without the owner was told the stream, by a dict: uses of other arrays of the owner
  // wait for it, until every view that names it, `by_view`, has taken it back. `outlives`: the
  // memory is not freed in the order of that stream, though other memory of the owner may be.
  void tell(const Stream &stream, bool by_view, bool outlives = false);
  // The thread is the one whose 2 the stream is. What is pending there by now is kept as a write;
  // while it is being captured, that cannot be, and the stream stays told.
  void untell(driver::Session &session, const Stream &stream, std::uint64_t thread) noexcept;
  // Whether any was, but for one, which is a handle.
  bool any_told_but(std::uint64_t stream) const noexcept {
    // In this order: when the others go, the one that is left is there already.
    if (told_others_.load(std::memory_order_acquire)) return true;
    const std::uint64_t told = told_handle_.load(std::memory_order_acquire);
    return told != 0 && told != stream;
  }
  // Likewise of an exporter, before streams differ: it may have told others, on any thread, the
  // stream that the arrays come with so far.
  void tell_first(const Stream &first);
  // Whether everybody else waits for that stream, a handle, by itself.
  bool is_told(std::uint64_t stream);
  // Adds those that are not `own`, the array's stream, nor `stream`, which is to wait.
  void add_told(std::uint64_t stream, std::uint64_t own, int32_t index, Few<Stream> &out);

  // An array of the owner comes with another stream than the earlier ones, `first` being theirs, 0
  // if they had none: then all uses are kept, until as many have gone.
  void differ(std::uint64_t first) noexcept;
  // Likewise, where no use need be kept for it: the memory is not freed on the later stream.
  void say_first(std::uint64_t first) noexcept;
  // Whether it is the one that the earlier arrays come with, if it is that of one of them.
  bool is_first(std::uint64_t stream);
  void agree() noexcept { differ_.fetch_sub(1, std::memory_order_release); }
  bool streams_differ() const noexcept { return differ_.load(std::memory_order_acquire) != 0; }

  // Uses in a capture, which are not pending, but which others in the same one come after. One that
  // comes after what the array's stream has there need not be kept.
  void keep_captured(std::uint64_t capture, std::uint64_t user, bool write,
                     const std::vector<driver::CUgraphNode> &nodes);
  // Adds the nodes of the capture that a read, or a write, by another stream comes after.
  void add_captured(std::uint64_t capture, std::uint64_t user, bool write,
                    std::vector<driver::CUgraphNode> &out);
  // Those of an import that ends, for others; adds the captures that are not among them yet.
  void take_captured(Uses &ending, std::vector<std::uint64_t> &captures);
  bool is_in(std::uint64_t capture) const;
  // Adds the captures that the user was in, but for the one that it is in by now (0: none).
  void add_captures_over(std::uint64_t user, std::uint64_t now, std::vector<std::uint64_t> &over);
  // Returns whether there are no others.
  bool forget_captures(const std::vector<std::uint64_t> &over);
  bool any_captured() const noexcept { return any_captured_.load(std::memory_order_acquire); }

  // Adds what a read, or a write, conflicts with. Returns whether all that is kept is there now:
  // reads do not conflict with each other.
  bool add_conflicts(bool write, int32_t index, Conflicts &out);

  // Whether any are kept; but for the host's.
  bool any() const noexcept { return any_.load(std::memory_order_acquire); }

  // The array's own stream has been made to wait for these uses.
  void cover(Conflicts &conflicts, const Cover &stream);

  // Forgets the uses of a context that is alive, if they are complete, or get waited for. Uses of
  // an older context with the same handle have gone with it.
  void prune(driver::Session &session, driver::CUcontext context, std::uint64_t context_id,
             Ask ask);
  // All of them: the memory has gone with its context.
  void forget() noexcept;
  // Moves all of them to an object that no other thread has. These are not found by address any
  // more.
  void hand_over(Uses &to) noexcept;
  // Those, and streams that keep_marked() would keep while the owner is held.
  std::size_t count();

  HostUses host;        // work of the CPU's streams
  bool listed = false;  // under the lock of by_address.cpp

  // Keeps, as a write, what is pending by now on the streams that are marked, but for `except`,
  // which the caller sees to. One that is being captured stays marked; one on which no event can be
  // recorded is lost, as by lose(). Returns whether none is. While the owner is held, streams that
  // were told stay marked, too: consumers that know them go on working there.
  enum class Owner { held, released };
  bool keep_marked(driver::Session &session, std::uint64_t except,
                   Owner owner_is = Owner::released) noexcept;

  // From here on for an owner whose last reference was released.

  // The memory is given back in the order of a stream, or (0) of the one that its first array came
  // with: what is in order with that, or covered by it, is not waited for.
  void free_in_order(std::uint64_t freed_on) noexcept;
  // Likewise, but only marked streams are not waited for. Returns the stream, 0 if it is
  // not known.
  std::uint64_t forget_marks(std::uint64_t freed_on) noexcept;
  // Something is pending on the stream of which no event tells, until its context has been waited
  // for, or has gone. What is not known of the context is null, or 0.
  void lose(const Stream &stream);
  // The same of the streams that keep_marked() has left marked, and finds out their contexts first.
  void identify_marked(driver::Session &session) noexcept;
  void lose_marked() noexcept;
  // Whether that is so of a context that is not known; and the host has waited in all there are.
  bool is_lost_anywhere() const noexcept;
  void find_lost() noexcept;
  // The same of one context, which may have gone: its id is another one then.
  bool is_lost_in(driver::CUcontext context);
  void find_lost_in(driver::CUcontext context, std::uint64_t context_id, bool is_over);
  bool pending() const noexcept;
  // Whether a stream that the memory is freed on is being captured: it would be freed in the graph.
  bool is_any_captured(driver::Session &session) noexcept;
  bool pending_in(driver::CUcontext context) const noexcept;
  // As prune(), where no other thread has these uses.
  void settle(driver::Session &session, driver::CUcontext context, std::uint64_t context_id,
              Ask ask) noexcept;

  // For the list of those whose end is put off.
  cai_owner *owner = nullptr;
  void (*end)(cai_owner *owner) = nullptr;
  Uses *next = nullptr;

 private:
  struct Kept {
    Event event;
    Cover cover;
  };
  // The uses on one stream, where each comes after those before.
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
    std::uint64_t thread = 0;  // whose 2 it is
    bool marked = false;
    bool told = false;         // for good
    bool by_exporter = false;  // likewise, though not by a dict or tensor of libcai's
    int views = 0;             // that tell it to consumers without the owner
    bool outlives = false;     // some of the memory that was told: it is not freed there
    bool freed_on = false;
    bool lost = false;  // work is pending there, of which no event tells

    bool is_told() const noexcept { return told || by_exporter || views > 0; }
    bool is_unkept() const noexcept { return marked && !is_told(); }
  };

  void leave_lists() noexcept;
  // These, with the lock held.
  Own *find_own(const Stream &stream, std::uint64_t thread) noexcept;
  Own &own(const Stream &stream);
  void sum_up() noexcept;  // once anything has changed
  void sum_up_told() noexcept;

  // Those of streams of which `is_over` says so are lost no more.
  template <class IsOver>
  void find_lost(const IsOver &is_over) noexcept;

  enum class Recorded { yes, not_now, no_memory, never };
  // Keeps, as a write, what is pending on a stream by now. Where that can never be, finds out what
  // the driver says of the stream's context.
  Recorded keep_pending(driver::Session &session, Own &on) noexcept;

  Lock lock_;  // not held while the driver is called, unless no other thread has these uses
  std::vector<Slot> slots_;
  std::vector<Own> own_;
  std::vector<Captured> captured_;
  std::optional<std::uint64_t> first_;  // once later arrays have come with another

  // To be read without the lock.
  std::atomic<bool> any_{false};
  std::atomic<std::uint64_t> told_handle_{0};  // the handle that was told first; 0: none
  std::atomic<bool> told_others_{false};       // and others
  std::atomic<bool> any_captured_{false};
  std::atomic<std::uint64_t> differ_{0};
  std::atomic<std::uint64_t> marked_handle_{0};  // the one that was marked last
};

// Whether an owner keeps uses; and does so here, or with functions of its own.
inline bool keeps_uses(const cai_owner *owner) noexcept {
  return is_whole(owner) && owner->used_on && owner->await_uses;
}
inline bool keeps_here(const cai_owner *owner) noexcept {
  return keeps_uses(owner) && owner->used_on == cai_owner_used_on;
}
// Whether `uses` is what is kept here, though used_on may do something before: then marks, and what
// was told, are here, too.
inline bool stores_here(const cai_owner *owner) noexcept {
  return keeps_uses(owner) && owner->await_uses == cai_owner_await_uses;
}
inline bool keeps_by_itself(const cai_owner *owner) noexcept {
  return keeps_uses(owner) && owner->used_on != cai_owner_used_on;
}
// Whether the owner alone knows what streams its arrays come with, so that it is told of all uses.
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

// cai_owner.uses is null, a pointer to Uses, or as long as no more is known than one marked stream,
// its handle: shifted by two bits, and odd; the other bit says that it was told. So what is in
// order anyway allocates nothing.
inline std::uintptr_t word_of(const cai_owner *owner) noexcept {
  return reinterpret_cast<std::uintptr_t>(__atomic_load_n(&owner->uses, __ATOMIC_ACQUIRE));
}
// A pointer of the user's half of addresses: what no driver hands out needs more.
constexpr bool fits_in_word(std::uint64_t handle) noexcept {
  return handle >> 62 == 0;
}
constexpr std::uintptr_t word_of_mark(std::uint64_t handle, bool told = false) noexcept {
  return static_cast<std::uintptr_t>(handle) << 2 | (told ? 3 : 1);
}
constexpr bool is_word(std::uintptr_t word) noexcept {
  return word == 0 || word & 1;
}
constexpr std::uint64_t marked_in(std::uintptr_t word) noexcept {
  return word & 1 ? word >> 2 : 0;
}
constexpr std::uint64_t told_in(std::uintptr_t word) noexcept {
  return (word & 3) == 3 ? word >> 2 : 0;
}

// What an owner that keeps its uses here has kept; null if nothing, or made at need.
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

// Marks a stream that is a handle; where an exporter's memory is freed after it, that is not
// needed.
void mark_anew(cai_owner *owner, std::uint64_t handle);
inline void mark(cai_owner *owner, std::uint64_t handle) {
  if (!stores_here(owner) || is_freed_as_said(owner)) return;
  if (marked_in(word_of(owner)) == handle) return;
  const Uses *const uses = uses_of(owner);
  if (!uses || !uses->is_marked(handle)) mark_anew(owner, handle);
}

// Tells, as Uses::tell(). Of a handle nothing is allocated for it, as a rule.
void tell(cai_owner *owner, const Stream &stream);

// Marks any, as Uses::mark().
inline void mark(cai_owner *owner, const Stream &stream) {
  if (is_freed_as_said(owner)) return;
  stream.is_default() ? make_uses_of(owner).mark(stream) : mark(owner, stream.value);
}

// What the next one says, of an owner's word.
inline bool has_kept(std::uintptr_t word, std::uint64_t own) noexcept {
  if (word & 1) return told_in(word) && told_in(word) != own;
  const auto *const uses = reinterpret_cast<const Uses *>(word);
  return uses && (uses->any() || uses->any_told_but(own) || uses->host.any());
}

// Whether a stream that waits for `own`, the array's stream (0: none), may have to wait for kept
// uses, or for told streams. An owner with functions of its own has to be asked.
inline bool may_have_kept(const cai_owner *owner, std::uint64_t own) noexcept {
  return stores_here(owner) ? has_kept(word_of(owner), own) : keeps_uses(owner);
}

// Whether uses are kept that a stream may have to wait for.
inline bool has_kept_uses(const cai_owner *keeper) noexcept {
  if (!keeper || word_of(keeper) == 0) return false;
  if (!stores_here(keeper)) return true;
  const Uses *const uses = uses_of(keeper);
  return uses && (uses->any() || uses->streams_differ());
}

// Whether the arrays' stream is one that the exporter was asked for: other imports come with other
// streams.
inline bool is_asked(const cai_owner *owner) noexcept {
  constexpr std::uint32_t asked = CAI_OWNER_IMPORTED | CAI_OWNER_ASKED;
  return (flags_of(*owner).load(std::memory_order_relaxed) & asked) == asked;
}

// Whether arrays of the memory come with different streams: waiting for one of them is not waiting
// for work that is ordered with another.
inline bool streams_differ(std::uintptr_t word) noexcept {
  return word && !(word & 1) && reinterpret_cast<const Uses *>(word)->streams_differ();
}
inline bool streams_differ(const cai_owner *owner) noexcept {
  return stores_here(owner) && (is_asked(owner) || streams_differ(word_of(owner)));
}

}  // namespace cai::order
