// SPDX-License-Identifier: BSD-3-Clause
// Uses that an owner keeps: which streams have work on its memory that the array's own stream need
// not know of, and how far that work has come.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "core/sizes.hpp"
#include "order/event.hpp"
#include "order/few.hpp"
#include "order/host_uses.hpp"
#include "order/lock.hpp"

namespace cai::order {

// The array's stream that waits for a use, so that whoever waits for that stream waits for the use
// as well. Value 0: there is none. It lives as long as the array, so its handle says enough.
struct Cover {
  std::uint64_t value = 0;
  driver::CUcontext context = nullptr;  // for 1 and 2

  static Cover by(const Stream &stream) noexcept {
    return {stream.value, stream.is_default() ? stream.context : nullptr};
  }
  bool is(const Stream &stream) const noexcept {
    return value == stream.value && (!stream.is_default() || context == stream.context);
  }
};

// How the driver is asked whether uses are complete.
enum class Ask {
  in_passing,  // a failure is not the caller's affair; they will be asked about again
  for_all,     // a failure is noted
  and_wait,    // likewise; the host waits for them
};

// A kept use that somebody has to wait for.
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

// What cai_owner.uses points to.
class Uses {
 public:
  Uses() = default;
  Uses(const Uses &) = delete;
  Uses &operator=(const Uses &) = delete;

  // Returns whether they are so many by now that it pays to prune(). The event is of the user's
  // stream.
  bool keep(const StreamKey &user, const Event &event, bool write, const Cover &cover);

  // A stream on which others were sent to work by way of a dict: it must be asked how far it is.
  void keep_open(const Stream &stream);

  // An event that an array came with: it lives as long as the owner.
  void hold(Event event);

  // Adds what a read, or a write, conflicts with; but for what one of two streams covers: `stream`,
  // which is to wait, and `own`, which it waits for anyway.
  void add_conflicts(bool write, std::uint64_t stream, std::uint64_t own, int32_t index,
                     Conflicts &out, Few<Stream> &streams) {
    const std::uint64_t covering = covering_.load(std::memory_order_acquire);
    if (covering && (covering == own || covering == stream)) return;
    add_uncovered(write, stream, own, index, out, streams);
  }

  bool any();  // kept, open ones too; but for the host's
  // Whether there are open ones, but for one stream; which is a handle.
  bool any_open_but(std::uint64_t stream) const noexcept {
    const std::uint64_t open = open_handle_.load(std::memory_order_acquire);
    return open != 0 && open != stream;
  }
  // Likewise, that the array's stream does not wait for; 0: it has none.
  bool any_uncovered(std::uint64_t own);

  // The array's own stream has been made to wait for these uses.
  void cover(Conflicts &conflicts, const Stream &stream);

  // Forgets the uses of a context that is alive, if they are complete, or get waited for. Uses of
  // an older context with the same handle have gone with it.
  void prune(driver::Session &session, driver::CUcontext context, std::uint64_t context_id,
             Ask ask);
  std::size_t count();

  HostUses host;  // work of the CPU's streams

  // From here on for an owner that has lost its last holder.

  bool pending() const noexcept;
  bool pending_in(driver::CUcontext context) const noexcept;
  // As prune(), with nobody else left.
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

  struct Open {
    Stream stream;
    std::uint64_t thread;  // whose 2 it is
  };

  void add_uncovered(bool write, std::uint64_t stream, std::uint64_t own, int32_t index,
                     Conflicts &out, Few<Stream> &streams);
  void sum_up() noexcept;  // with the lock held, once anything has changed

  Lock lock_;  // never held while the driver is called, save where nobody else is left
  std::vector<Slot> slots_;
  std::vector<Open> open_;
  std::vector<Event> held_;

  // For those who need no more, and so no lock.
  static constexpr std::uint64_t no_handle = UINT64_MAX;
  std::atomic<std::uint64_t> open_handle_{0};  // the one that is open; 0: nothing; or no_handle
  std::atomic<std::uint64_t> covering_{0};     // the handle that covers all that is kept; 0: none
};

// Whether an owner keeps uses; and does so here, or with functions of its own.
inline bool keeps_uses(const cai_owner *owner) noexcept {
  return is_whole(owner) && owner->used_on && owner->await_uses;
}
inline bool keeps_here(const cai_owner *owner) noexcept {
  return keeps_uses(owner) && owner->used_on == cai_owner_used_on;
}
// Whether `uses` is what is kept here, though used_on may do something before.
inline bool stores_here(const cai_owner *owner) noexcept {
  return keeps_uses(owner) && owner->await_uses == cai_owner_await_uses;
}
inline bool keeps_by_itself(const cai_owner *owner) noexcept {
  return keeps_uses(owner) && owner->used_on != cai_owner_used_on;
}

// What an owner that keeps its uses here has kept; null if nothing, or made at need.
inline Uses *uses_of(const cai_owner *owner) noexcept {
  return static_cast<Uses *>(__atomic_load_n(&owner->uses, __ATOMIC_ACQUIRE));
}
Uses &make_uses(cai_owner *owner);
inline Uses &make_uses_of(cai_owner *owner) {
  Uses *const uses = uses_of(owner);
  return uses ? *uses : make_uses(owner);
}

// Whether there may be kept uses by now: one with functions of its own has to be asked.
inline bool may_have_kept(const cai_owner *owner) noexcept {
  return keeps_uses(owner) && (owner->used_on != cai_owner_used_on || uses_of(owner));
}

// Whether copies of an owner's array came to have other streams than this one, the array's: whoever
// waits for one of them does not know what is in order with another.
inline bool has_other_streams(const cai_owner *owner, std::uint64_t own) noexcept {
  Uses *const uses = keeps_here(owner) ? uses_of(owner) : nullptr;
  return uses && uses->any_open_but(own);
}

}  // namespace cai::order
