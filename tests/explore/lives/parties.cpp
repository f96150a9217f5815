// SPDX-License-Identifier: BSD-3-Clause
// What a program may do beside, and the table of all that it may.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "../wide/driver.hpp"
#include "must.h"
#include "world.hpp"

namespace lives {

void World::set_current(const Step &step) {
  current_ = gpu(step[1]).id;
  MUST(cai_device_set_current(gpus[current_], nullptr));
}

void World::find(const Step &step) {
  const Shared found = memory(step[1]);
  if (!found || found->size == 0 || found->whole) return;
  const std::uint64_t data = info_of(found->handle).data, at = step[2] % found->size;
  const bool is_there = found->is_alive() && found->is_found;
  cai_memory *out = nullptr;
  std::uint64_t offset = 0;
  const cai_status status = cai_memory_find(data + at, &out, &offset, nullptr);
  if (is_there && (out != found->handle || offset != at)) blame("memory is not found");
  if (!is_there && out == found->handle) blame("memory is found that is not there");
  if (status == CAI_OK && info_of(out).flags & CAI_MEMORY_FREED) blame("dead memory is found");
  if (out) cai_memory_release(out);
}

void World::share(const Step &step) {
  const Shared found = memory(step[1]);
  if (!found) return;
  cai_status expected = CAI_OK;
  const bool is_plain = found->kind == CAI_KIND_DEFAULT && !is_cpu(found->device) &&
                        !found->is_ordered && !found->root().is_foreign;
  if (!is_plain || found->read_only || found->size == 0) expected = CAI_ERR_UNSUPPORTED;
  if (!found->is_alive()) expected = CAI_ERR_STATE;
  cai_ipc_handle handle{};
  std::int32_t fd = -1;
  if (!must("share", expected, [&](cai_error *error) {
        return cai_memory_share(found->handle, &handle, &fd, error);
      })) {
    return;
  }
  if (handle.size != found->size) blame("a handle says another size");
  cai_memory *out = nullptr;
  must("open", CAI_ERR_STATE, [&](cai_error *error) {
    return cai_memory_open(&handle, fd, found->device, nullptr, CAI_OPEN_AUTO, &out, error);
  });
}

void World::synchronize(const Step &step) {
  if (step[1] % 2) return MUST(cai_drain(step[2] % 2, nullptr, nullptr));
  MUST(cai_stream_synchronize(stream(device(step[2]), step[3]), nullptr));
}

// The child releases all that it has: it must free none of it.
void World::fork_here(const Step &step) {
  if (step[1] % (bystander_ ? 4 : 16)) return;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  if (bystander_) return;  // which may hold a sanitizer's own lock
#endif
  std::fflush(nullptr);
  const pid_t child = fork();
  MUST_HOLD(child >= 0);
  if (child == 0) {
    alarm(20);
    wide::Fault::forget_threads();
    const auto closes = [] {
      return wide::cu().simcuda_calls("cuIpcCloseMemHandle") +
             wide::cu().simcuda_calls("cuMemFree");
    };
    const std::uint64_t before = closes();
    for (const Offer &each : offers_) {
      cai_memory *out = nullptr;
      must("open", CAI_ERR_STATE, [&](cai_error *error) {
        return cai_memory_open(&each.ticket.handle, each.ticket.fd(), gpus[0], nullptr,
                               CAI_OPEN_AUTO, &out, error);
      });
    }
    for (const Array &array : arrays_) cai_array_release(array.handle);
    for (const Shared &memory : memories_) {
      for (; memory->ours > 0; --memory->ours) cai_memory_release(memory->handle);
    }
    if (closes() != before) blame("a forked child closes memory");
    _exit(wrong().empty() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  if (status != 0) blame("a forked child says " + std::to_string(status));
}

// Not beside another thread, which might meet it.
void World::fail(const Step &step) {
  if (bystander_) return;
  constexpr unsigned functions = std::size(wide::kFailWords) - wide::kAllocations;
  sync_cpu();  // what is to be set is known as set
  wide::Failing failing;
  if (step[4] % 2 == 0) failing.what = wide::kAllocations + step[1] % functions;
  failing.nth = 1 + step[2] % 4;
  failing.calls = step[3] % 2;
  fault_.choose(failing);
  may_fail_ = true;
}

// On a stream of the GPU, in each of the driver's modes; or the end of one.
void World::capture(const Step &step) {
  if (captured_) return end_capture();
  sync_cpu();  // whose threads may be asking about the stream, to free: nobody could stop them
               // there
  captured_ = stream(gpu(step[3]), step[1]);
  const auto value = static_cast<std::uintptr_t>(cai_stream_value(captured_));
  // A flush may be about to free memory of the legacy stream, and would use that stream.
  std::unique_lock<std::mutex> paused;
  if (bystander_ && is_captured(nullptr, gpu(step[3]))) paused = bystander_->hold();
  MUST(wide::cu().cuStreamBeginCapture_v2(reinterpret_cast<wide::Handle>(value),
                                          static_cast<int>(step[2] % 3)));
  has_put_off_ = true;
}

// Operations that are drawn more often occur here more often.
const World::Party World::parties[] = {
    {"allocate", &World::allocate, true},
    {"allocate", &World::allocate, true},
    {"allocate", &World::allocate, true},
    {"allocate", &World::allocate, true},
    {"pin", &World::pin, true},
    {"wrap", &World::wrap, true},
    {"own", &World::own, true},
    {"own_on_gpu", &World::own_on_gpu},
    {"own_on_gpu", &World::own_on_gpu},
    {"own_pinned", &World::own_pinned},
    {"lose", &World::lose, false, true},
    {"import", &World::import, true},
    {"import", &World::import, true},
    {"view", &World::view, true},
    {"retain", &World::retain, true},
    {"release", &World::release, true},
    {"release", &World::release, true},
    {"release", &World::release, true},
    {"release", &World::release, true},
    {"free", &World::free, true},
    {"array", &World::array, true},
    {"array", &World::array, true},
    {"array", &World::array, true},
    {"array", &World::array, true},
    {"masked", &World::masked, true},
    {"memory_of", &World::memory_of},
    {"drop", &World::drop, true},
    {"drop", &World::drop, true},
    {"fill", &World::fill},
    {"fill", &World::fill},
    {"fill", &World::fill},
    {"fill", &World::fill},
    {"copy", &World::copy},
    {"copy", &World::copy},
    {"copy", &World::copy},
    {"read", &World::read},
    {"read", &World::read},
    {"read", &World::read},
    {"enqueue", &World::enqueue},
    {"enqueue", &World::enqueue},
    {"delay", &World::delay, true},
    {"delay", &World::delay, true},
    {"fail_behind", &World::fail_behind},
    {"fail_behind", &World::fail_behind},
    {"compare", &World::compare},
    {"hand_out", &World::hand_out, true},
    {"await", &World::await},
    {"record", &World::record},
    {"set_stream", &World::set_stream},
    {"defer", &World::defer, true},
    {"flush", &World::flush},
    {"trim", &World::trim},
    {"install", &World::install, true},
    {"reset", &World::reset, false, true},
    {"set_current", &World::set_current, true},
    {"find", &World::find, true},
    {"find", &World::find, true},
    {"share", &World::share},
    {"open", &World::open, true},
    {"open", &World::open, true},
    {"open", &World::open, true},
    {"let_peer", &World::let_peer, false, true},
    {"let_peer", &World::let_peer, false, true},
    {"synchronize", &World::synchronize},
    {"fork", &World::fork_here},
    {"fail", &World::fail, true},
    {"fail", &World::fail, true},
    {"capture", &World::capture, true},
    {"capture", &World::capture, true},
    {"capture", &World::capture, true},
};

unsigned World::party(const char *name) {
  const auto *const found =
      std::find_if(std::begin(parties), std::end(parties),
                   [&](const Party &each) { return std::strcmp(each.name, name) == 0; });
  MUST_HOLD(found != std::end(parties));
  return static_cast<unsigned>(found - parties);
}

constexpr unsigned turns = 3;

const char *World::name_of(const Step &step) {
  return parties[step[0] % std::size(parties)].name;
}

unsigned World::rest_of(const Step &step) {
  return step[0] / static_cast<unsigned>(std::size(parties)) % turns;
}

unsigned World::party(const char *name, unsigned rest) {
  return party(name) + rest * static_cast<unsigned>(std::size(parties));
}

void World::run(const Program &program) {
  for (const Step &step : program.steps) {
    const Party &party = parties[step[0] % std::size(parties)];
    if (speaks) {
      std::printf("%s %u %u %u %u\n", party.name, step[1], step[2], step[3], step[4]);
      std::fflush(stdout);  // it may be the last
    }
    if (!party.in_captures) end_capture();
    {
      const bool is_alone = party.alone || rest_of(step);
      const Bystander::Turn turn(is_alone ? nullptr : bystander_.get());
      (this->*party.act)(step);
    }
    check();
    if (!wrong().empty()) return;
  }
  close();
}

}  // namespace lives
