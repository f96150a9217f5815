// SPDX-License-Identifier: BSD-3-Clause
// Memory of another process: who opens it, and what that process does meanwhile.
#include <unistd.h>

#include <cstring>

#include "../wide/driver.hpp"
#include "must.h"
#include "world.hpp"

namespace lives {
namespace {

// It stays for the next programs: to start it takes longer than they do.
Peer &peer() {
  static Peer only;
  return only;
}
bool has_peer = false;  // this program

constexpr std::size_t most_offers = 8;

// What becomes of a handle on its way: one thing at a time.
struct Forgery {
  // `size`: of the memory that it names.
  void (*change)(cai_ipc_handle &it, std::uint64_t size, std::uint64_t by);
  cai_status expected;
  // What libcai has done by then: nothing yet, read the handle, found its process and device, or
  // opened the memory.
  enum { never, read, found, opened } when;
};
constexpr Forgery forgeries[] = {
    {[](auto &it, auto size, auto by) { it.size += size + by; }, CAI_ERR_VALUE, Forgery::opened},
    {[](auto &it, auto, auto by) { it.size = INT64_MAX - by; }, CAI_ERR_VALUE, Forgery::opened},
    {[](auto &it, auto size, auto by) { it.offset = size + by; }, CAI_ERR_VALUE, Forgery::opened},
    {[](auto &it, auto, auto by) { it.offset = INT64_MAX - by; }, CAI_ERR_VALUE, Forgery::opened},
    {[](auto &it, auto size, auto) { it.offset = size - it.size + 1; }, CAI_ERR_VALUE,
     Forgery::opened},
    {[](auto &it, auto, auto) { it.size = 0; }, CAI_ERR_VALUE, Forgery::read},
    {[](auto &it, auto, auto) { it.reserved2 = 1; }, CAI_ERR_VALUE, Forgery::read},
    {[](auto &it, auto, auto) { it.process = static_cast<std::uint64_t>(getpid()); }, CAI_ERR_STATE,
     Forgery::found},
    {[](auto &it, auto, auto) { ++it.process_start; }, CAI_ERR_STATE, Forgery::found},
    {[](auto &it, auto, auto) { it.uuid[3] ^= 1; }, CAI_ERR_DEVICE, Forgery::found},
};

void name(cai_device owner, cai_ipc_handle &it) {
  cai_device_info info{};
  info.struct_size = sizeof info;
  MUST(cai_device_describe(owner, &info, nullptr));
  std::memcpy(it.uuid, info.uuid, sizeof info.uuid);
}

}  // namespace

// Half of all offers are those that there are.
Offer *World::offer_for(const Step &step) {
  const bool is_full = offers_.size() >= most_offers;
  if (offers_.empty() || (step[1] % 4 == 0 && !is_full)) return lend(step);
  const Offer &found = offers_[step[1] / 4 % offers_.size()];
  const bool is_there = !found.of->is_freed && !found.of->has_ended;
  if (step[1] % 4 == 1 && !is_full && is_there) {
    return lend_part(found.of, step, {Peer::Wish::share, found.of->place});
  }
  return &offers_[step[1] / 4 % offers_.size()];
}

// New memory of the other process.
Offer *World::lend(const Step &step) {
  bool taken[Peer::places] = {};
  for (const Offer &each : offers_) {
    if (!each.of->is_freed && !each.of->has_ended) taken[each.of->place] = true;
  }
  const auto *const place = std::find(std::begin(taken), std::end(taken), false);
  if (place == std::end(taken)) return offers_.empty() ? nullptr : &offers_.front();
  auto lent = std::make_shared<Lent>();
  lent->place = static_cast<unsigned>(place - taken);
  lent->gpu = gpu(step[4] / 2).id;
  lent->is_of_pool = step[4] % 2;
  Peer::Wish wish{Peer::Wish::allocate, lent->place, lent->gpu, lent->is_of_pool};
  wish.of_new_pool = step[4] / 4 % 4 == 0;
  wish.size = 16 + step[3] % 100;
  wish.value = static_cast<unsigned char>(step[2]);
  lent->bytes = std::make_shared<Bytes>(wish.size, wish.value);
  has_peer = true;
  return lend_part(lent, step, wish);
}

// Mostly all of it.
Offer *World::lend_part(const std::shared_ptr<Lent> &lent, const Step &step, Peer::Wish wish) {
  Offer made;
  made.of = lent;
  made.start = step[3] % 3 ? 0 : step[3] / 3 % 8;
  made.stop = lent->bytes->size() - (step[3] % 4 ? 0 : step[4] % 8);
  wish.start = made.start;
  wish.stop = made.stop;
  made.ticket = peer().share(wish);
  const cai_ipc_handle &handle = made.ticket.handle;
  if (handle.size != made.stop - made.start || handle.offset != made.start ||
      (made.ticket.fd() >= 0) != lent->is_of_pool) {
    blame("a handle says another size, or another way");
  }
  offers_.push_back(std::move(made));
  return &offers_.back();
}

// Memory that was opened in place on a device, and still is.
const Memory *World::opened(const Lent &lent, cai_device device) const {
  const auto is_it = [&](const Memory &root) {
    return root.lent.get() == &lent && are_same(root.device, device) && root.is_alive();
  };
  for (const Shared &each : memories_) {
    if (is_it(each->root())) return &each->root();
  }
  for (const Array &each : arrays_) {
    if (each.memory && is_it(*each.memory)) return each.memory.get();
  }
  return nullptr;
}

bool World::is_open(const Lent &lent) const {
  return std::any_of(std::begin(gpus), std::end(gpus),
                     [&](cai_device gpu) { return opened(lent, gpu); });
}

// Two handles of the same memory do not see each other's uses, nor does a copy of it see either's:
// the program waits between them, by the host. In captures none is used.
void World::use_alone(Lent *lent, unsigned user) {
  if (!lent || captured_) return;
  const unsigned before = std::exchange(lent->user, user);
  if (before != Lent::nobody && (before != user || user == Lent::a_copy)) finish_gpus();
}

// All that this process has queued is done, and all that waits for that.
void World::settle() {
  end_capture();
  for (int i = 0; i < 2; ++i) {
    sync_cpu();
    finish_gpus();
    MUST(cai_drain(1, nullptr, nullptr));
  }
}

// How a step calls cai_memory_open(), and what that says. The last thing that it looks at comes
// first here, since what comes later takes its place.
World::Opening World::opening_of(const Step &step, const Offer &offer) const {
  const Lent &lent = *offer.of;
  Opening it{offer.of, offer.start, offer.stop, offer.ticket.handle};
  it.how = 1 + step[2] % 3;
  it.on_gpu = gpu(step[2] / 3);
  it.device = step[4] % 64 == 63 ? cpu : it.on_gpu;
  const bool names_other = count_of_gpus_ == 2 && step[4] % 16 == 6;
  const cai_device named = gpus[names_other ? 1 - lent.gpu : lent.gpu];
  const Manager *const opener = installed(it.is_staged() ? named : it.on_gpu);
  it.judge = opener ? opener->judge : nullptr;
  if (lent.is_freed) it.expected = CAI_ERR_CUDA;
  if (it.judge && lent.is_of_pool) it.expected = CAI_ERR_UNSUPPORTED;

  Forgery forgery{};
  if (it.expected == CAI_OK && step[4] % 4 == 0) {
    forgery = forgeries[step[4] / 4 % std::size(forgeries)];
    forgery.change(it.handle, lent.bytes->size(), step[3] % 3);
  } else if (step[4] % 16 == 2) {
    // Within the memory that it names a handle may say what it likes.
    it.handle.offset = it.start = 0;
    it.handle.size = it.stop = lent.bytes->size();
  } else if (names_other) {
    // The driver knows whose the memory is.
    name(named, it.handle);
  }
  if (forgery.when == Forgery::opened) it.expected = forgery.expected;
  if (step[3] % 2) it.on = stream_or_dead(it.on_gpu, step[3] / 2);
  if (it.is_staged() && is_captured(it.on.handle, it.on_gpu)) it.expected = CAI_ERR_CAPTURE;
  if (it.on.is_dead) it.expected = CAI_ERR_STATE;
  if (step[4] % 64 == 31) {
    it.on = {stream(cpu, step[3]), cpu, 0};
    it.expected = CAI_ERR_VALUE;
  }
  if (forgery.when == Forgery::found) it.expected = forgery.expected;
  if (lent.has_ended) it.expected = CAI_ERR_STATE;
  if (forgery.when == Forgery::read) it.expected = forgery.expected;
  if (is_cpu(it.device)) it.expected = CAI_ERR_DEVICE;
  return it;
}

void World::open(const Step &step) {
  if (memories_.size() >= most) return;
  const Offer *const offer = offer_for(step);
  if (!offer) return;
  const Opening it = opening_of(step, *offer);
  const bool is_staged = it.is_staged();
  if (is_staged && it.expected == CAI_OK) {
    if (it.of->user != Lent::nobody) end_capture();
    use_alone(it.of.get(), Lent::a_copy);
    it.of->user = Lent::a_copy;  // in a capture, too
  }
  const Memory *const already = is_staged ? nullptr : opened(*it.of, it.on_gpu);
  const auto count = [] { return wide::cu().simcuda_calls("cuIpcOpenMemHandle"); };
  const std::uint64_t allocations = wide::cu().simcuda_objects("CUdeviceptr"), opens = count();
  cai_memory *out = nullptr;
  const bool done = ask("open", it.expected, [&](cai_error *error) {
    return cai_memory_open(&it.handle, offer->ticket.fd(), it.device, it.on.handle, it.how, &out,
                           error);
  });
  if (!done) {
    const bool is_more = wide::cu().simcuda_objects("CUdeviceptr") > allocations;
    if (is_more && !is_staged && !fault_.has_struck()) blame("what was not opened is open");
    return;
  }
  if (already) {
    const std::uint64_t before = info_of(already->handle).data - already->start;
    if (info_of(out).data - it.start != before) blame("memory is opened anew that is open");
    if (!it.judge && !already->judge && count() != opens) blame("a handle is opened twice");
  }
  is_staged ? add_copy(out, it) : add_opened(out, it);
}

void World::add_opened(cai_memory *handle, const Opening &it) {
  Memory made;
  made.device = it.on_gpu;
  made.home = it.on_gpu.id;
  made.epoch = Judge::now[made.home];
  made.bytes = it.of->bytes;
  made.start = it.start;
  made.size = it.stop - it.start;
  made.is_foreign = true;
  made.lent = it.of;
  made.opening = openings_++;
  made.judge = it.judge;
  add(handle, std::move(made));
}

// New memory of the device's manager.
void World::add_copy(cai_memory *handle, const Opening &it) {
  const Manager *const usual = installed(it.on_gpu);
  const auto at = [&](std::uint64_t i) {
    return it.of->bytes->begin() + static_cast<std::ptrdiff_t>(i);
  };
  Memory made;
  made.device = it.on_gpu;
  made.home = it.on_gpu.id;
  made.epoch = Judge::now[made.home];
  made.bytes = std::make_shared<Bytes>(at(it.start), at(it.stop));
  made.size = it.stop - it.start;
  made.is_counted = made.is_found = true;
  made.is_ordered = usual && usual->is_ordered;
  made.is_of_pool = made.is_ordered && !usual->judge;
  add(handle, std::move(made));
}

// The other process goes on with its memory, as it may: once this one is done with it.
void World::let_peer(const Step &step) {
  if (offers_.empty()) return;
  const std::shared_ptr<Lent> lent = offers_[step[1] % offers_.size()].of;
  if (lent->is_freed || lent->has_ended) return;
  Bytes &bytes = *lent->bytes;
  settle();
  lent->user = Lent::nobody;
  if (step[2] % 32 == 0) return end_peer();
  switch (step[2] % 3) {
    case 0: {
      const std::uint64_t start = step[3] % bytes.size();
      const std::uint64_t stop = start + 1 + step[3] / 8 % (bytes.size() - start);
      const auto value = static_cast<unsigned char>(step[4]);
      peer().set(lent->place, start, stop, value);
      std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(start),
                bytes.begin() + static_cast<std::ptrdiff_t>(stop), value);
      return;
    }
    case 1: {
      const std::vector<unsigned char> found = peer().bytes(lent->place, bytes.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (bytes[i] == unknown || bytes[i] == found[i]) continue;
        return blame("the other process finds " + std::to_string(found[i]) + ", not " +
                     std::to_string(bytes[i]));
      }
      return;
    }
    default:
      if (is_open(*lent)) return;
      peer().free(lent->place);
      lent->is_freed = true;
  }
}

void World::end_peer() {
  const auto is_used = [&](const Offer &each) {
    return !each.of->is_freed && !each.of->has_ended && is_open(*each.of);
  };
  if (std::any_of(offers_.begin(), offers_.end(), is_used)) return;
  peer().end();
  for (const Offer &each : offers_) each.of->has_ended = true;
}

// For the next program.
void World::forget_peer() {
  if (std::exchange(has_peer, false)) peer().forget();
}

}  // namespace lives
