// SPDX-License-Identifier: BSD-3-Clause
#include "managers.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "../wide/driver.hpp"
#include "must.h"

namespace lives {

std::uint64_t Judge::now[2] = {1, 1};

std::string &wrong() {
  static std::string what;
  return what;
}

void blame(std::string what) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (wrong().empty()) wrong() = std::move(what);
}

// What a reentrant manager holds of libcai.
static cai_memory *memory_behind(const cai_block &block) {
  return reinterpret_cast<cai_memory *>(static_cast<std::uintptr_t>(block.cookie));
}

// A manager's failure, without a message.
static cai_status say(cai_status status, cai_error *error) {
  if (!error) return status;
  std::memset(error, 0, sizeof *error);
  error->status = status;
  error->index = -1;
  return status;
}

// As the driver takes it.
static wide::Handle handle_of(std::uint64_t stream) {
  return reinterpret_cast<wide::Handle>(static_cast<std::uintptr_t>(stream));
}

// Whether a request there would become part of a graph, or be rejected.
static bool is_captured(std::uint64_t stream) {
  int status = 0;
  return wide::cu().cuStreamIsCapturing(handle_of(stream), &status) != 0 || status != 0;
}

// Runs `body` in a way that spares the captures of others, as a manager must see to by itself.
template <class Body>
static int relaxed(Body &&body) {
  int mode = 2;
  MUST(wide::cu().cuThreadExchangeStreamCaptureMode(&mode));
  const int result = body();
  MUST(wide::cu().cuThreadExchangeStreamCaptureMode(&mode));
  return result;
}

// Memory of the driver's in the order of a stream: for ASYNC libcai has looked whether that is
// being captured; for the rest the manager looks by itself.
static constexpr std::uint64_t ordered = std::uint64_t{1} << 63,
                               looks = ordered >> 1;  // of cookies

Judge::Judge(cai_device device, Way way, std::uint64_t epoch, const char *upstream)
    : device_(device),
      way_(way),
      epoch_(epoch),
      upstream_name_(upstream                        ? upstream
                     : device.type == CAI_DEVICE_CPU ? "host"
                                                     : "default") {}

cai_manager *Judge::make() {
  static const cai_status registered = cai_manager_register("judge", &table(), nullptr);
  MUST(registered);
  cai_manager *upstream = nullptr, *out = nullptr;
  cai_error error{};
  if (cai_manager_create(upstream_name_, nullptr, device_, nullptr, &upstream, &error) != CAI_OK ||
      cai_manager_create("judge", this, device_, upstream, &out, &error) != CAI_OK) {
    blame(std::string("no manager: ") + error.message);
  }
  cai_manager_release(upstream);
  return out;
}

cai_status Judge::give(std::uint64_t size, std::uint64_t align, std::uint32_t kind,
                       std::uint64_t stream, cai_block *out, cai_error *error) {
  const Pause pause = on_entry();
  const std::lock_guard lock(mutex_);
  if (!is_alive()) blame("a dead manager is asked for memory");
  if (way_ == Way::failing) return say(CAI_ERR_MEMORY, error);
  cai_block block{};
  const cai_status status = get(size, align, kind, stream, &block, error);
  if (status != CAI_OK) return status;
  if (!blocks_.emplace(block.data, block).second) blame("a block is given that is out");
  bytes_ += block.size;
  *out = block;
  return CAI_OK;
}

cai_status Judge::get(std::uint64_t size, std::uint64_t align, std::uint32_t kind,
                      std::uint64_t stream, cai_block *out, cai_error *error) {
  const auto fits = [&](const Kept &kept) {
    return kept.stream == stream && kept.block.size == size && kept.block.data % align == 0;
  };
  const auto found = std::find_if(kept_.begin(), kept_.end(), fits);
  if (found != kept_.end()) {
    *out = found->block;
    kept_.erase(found);
    return CAI_OK;
  }
  if (way_ == Way::driver && (kind == CAI_KIND_ASYNC || kind == CAI_KIND_DEFAULT)) {
    const std::uint64_t cookie = ordered | (kind == CAI_KIND_ASYNC ? 0 : looks);
    if (cookie & looks && is_captured(stream)) return say(CAI_ERR_CAPTURE, error);
    wide::Address address = 0;
    if (relaxed([&] { return wide::cu().cuMemAllocAsync(&address, size, handle_of(stream)); }) !=
        0) {
      return say(CAI_ERR_CUDA, error);
    }
    *out = {address, 0, size, cookie};
    return CAI_OK;
  }
  if (way_ == Way::reentrant) {
    cai_request request{};
    request.struct_size = sizeof request;
    request.kind = kind;
    request.size = size;
    request.align = align;
    request.manager = upstream_;
    cai_memory *memory = nullptr;
    cai_status status = CAI_OK;
    if (stream) status = cai_stream_wrap(device_, stream, nullptr, nullptr, &request.stream, error);
    if (status == CAI_OK) status = cai_memory_alloc(device_, &request, &memory, error);
    cai_stream_release(request.stream);
    if (status != CAI_OK) return status;
    cai_memory_info info{};
    info.struct_size = sizeof info;
    MUST(cai_memory_describe(memory, &info, nullptr));
    *out = {info.data, info.host, size, reinterpret_cast<std::uintptr_t>(memory)};
    return CAI_OK;
  }
  return cai_manager_alloc(upstream_, size, align, kind, stream, out, error);
}

cai_status Judge::take(const cai_block *block, std::uint64_t stream, cai_error *error) {
  const Pause pause = on_entry();
  const std::lock_guard lock(mutex_);
  if (!is_alive()) blame("memory is freed in another epoch");
  const auto found = blocks_.find(block->data);
  if (found == blocks_.end()) {
    blame("a block is freed that is not out: twice, perhaps");
    return CAI_OK;
  }
  if (found->second.size != block->size) blame("a block comes back with another size");
  const cai_status status = pass_on(*block, stream, error);
  if (status != CAI_OK) return status;
  bytes_ -= found->second.size;
  blocks_.erase(found);
  return CAI_OK;
}

// Gives it to whom it came from; what that refuses is out still.
cai_status Judge::pass_on(const cai_block &block, std::uint64_t stream, cai_error *error) {
  if (way_ == Way::losing) return say(CAI_ERR_CUDA, error);
  if (way_ == Way::driver && block.cookie & ordered) {
    if (block.cookie & looks && is_captured(stream)) return say(CAI_ERR_CAPTURE, error);
    const bool done =
        relaxed([&] { return wide::cu().cuMemFreeAsync(block.data, handle_of(stream)); }) == 0;
    return done ? CAI_OK : say(CAI_ERR_CUDA, error);
  }
  if (way_ == Way::reentrant) {
    cai_memory *const memory = memory_behind(block);
    if (stream) {
      cai_stream *last = nullptr;
      MUST(cai_stream_wrap(device_, stream, nullptr, nullptr, &last, nullptr));
      const cai_status status = cai_memory_set_stream(memory, last, error);
      cai_stream_release(last);
      if (status == CAI_ERR_CAPTURE) return status;
      MUST(status);
    }
    cai_memory_release(memory);
    return CAI_OK;
  }
  if (way_ == Way::caching) {
    kept_.push_back({block, stream});
    return CAI_OK;
  }
  if (device_.type == CAI_DEVICE_CPU) {
    // Not freed yet, so that later uses are found.
    std::memset(reinterpret_cast<void *>(static_cast<std::uintptr_t>(block.host)), poison,
                block.size);
    poisoned_.push_back(block);
    return CAI_OK;
  }
  return cai_manager_free(upstream_, &block, CAI_KIND_DEFAULT, stream, error);
}

// Only what the driver counts, so that others may open it beside.
cai_status Judge::open(const cai_ipc_handle &handle, cai_block *out, cai_error *error) {
  const Pause pause = on_entry();
  const std::lock_guard lock(mutex_);
  if (!is_alive()) blame("a dead manager is asked to open memory");
  if (handle.kind != CAI_IPC_LEGACY) return say(CAI_ERR_UNSUPPORTED, error);
  constexpr unsigned lazily = 1;
  wide::IpcHandle its;
  std::memcpy(its.bytes, handle.data, sizeof its.bytes);
  wide::Address base = 0;
  if (relaxed([&] { return wide::cu().cuIpcOpenMemHandle_v2(&base, its, lazily); }) != 0) {
    return say(CAI_ERR_CUDA, error);
  }
  std::size_t size = 0;
  MUST(wide::cu().cuMemGetAddressRange_v2(nullptr, &size, base));
  const bool is_within = handle.offset < size;
  opened_[++opens_] = base;
  *out = {base + (is_within ? handle.offset : 0), 0, is_within ? size - handle.offset : 0, opens_};
  return CAI_OK;
}

cai_status Judge::close(const cai_block &block, cai_error *error) {
  const Pause pause = on_entry();
  const std::lock_guard lock(mutex_);
  if (!is_alive()) blame("memory is closed in another epoch");
  const auto found = opened_.find(block.cookie);
  if (found == opened_.end()) {
    blame("memory is closed that is not open: twice, perhaps");
    return CAI_OK;
  }
  const wide::Address base = found->second;
  opened_.erase(found);
  const bool done = relaxed([&] { return wide::cu().cuIpcCloseMemHandle(base); }) == 0;
  return done ? CAI_OK : say(CAI_ERR_CUDA, error);
}

bool Judge::has_out(const cai_statistics &counts) {
  const std::lock_guard lock(mutex_);
  return counts.bytes == bytes_ && counts.count == blocks_.size();
}

bool Judge::has_out(const std::vector<cai_allocation> &allocations) {
  const std::lock_guard lock(mutex_);
  return allocations.size() == blocks_.size() &&
         std::all_of(allocations.begin(), allocations.end(), [&](const cai_allocation &each) {
           const auto found = blocks_.find(each.data);
           return found != blocks_.end() && found->second.size == each.size;
         });
}

void Judge::look_at_what_came_back() {
  for (const cai_block &block : std::exchange(poisoned_, {})) {
    const auto *const bytes =
        reinterpret_cast<const unsigned char *>(static_cast<std::uintptr_t>(block.host));
    if (!std::all_of(bytes, bytes + block.size,
                     [](unsigned char byte) { return byte == poison; })) {
      blame("memory is used after it was freed");
    }
    MUST(cai_manager_free(upstream_, &block, CAI_KIND_DEFAULT, 0, nullptr));
  }
}

cai_status Judge::give_up(cai_error *error) {
  const Pause pause = on_entry();
  cai_status first = CAI_OK;
  for (const Kept &kept : std::exchange(kept_, {})) {
    const cai_status status =
        cai_manager_free(upstream_, &kept.block, CAI_KIND_DEFAULT, kept.stream, error);
    if (first == CAI_OK) first = status;
  }
  return first;
}

// The context was destroyed, so no block is freed.
void Judge::forget_blocks() {
  for (const auto &[address, block] : std::exchange(blocks_, {})) {
    if (way_ == Way::reentrant) cai_memory_release(memory_behind(block));
  }
}

const cai_manager_table &Judge::table() {
  static const cai_manager_table made = [] {
    cai_manager_table table{};
    table.struct_size = sizeof table;
    table.version = CAI_MANAGER_VERSION;
    table.name = "judge";
    table.create = [](const void *params, cai_device, cai_manager *upstream, void **self,
                      cai_error *) {
      auto *const judge = static_cast<Judge *>(const_cast<void *>(params));
      judge->upstream_ = upstream;
      ++judge->made;
      *self = judge;
      return cai_status{CAI_OK};
    };
    table.destroy = [](void *self) {
      Judge &judge = of(self);
      ++judge.destroyed;
      if (!judge.is_alive()) return judge.forget_blocks();
      if (!judge.blocks_.empty() && !judge.loses()) blame("a manager ends while its memory is out");
      if (judge.has_open()) blame("a manager ends while memory is open");
      judge.give_up(nullptr);
      if (!judge.loses()) return;
      MUST(wide::cu().cuCtxSynchronize());
      for (const auto &[address, block] : judge.blocks_) {
        cai_manager_free(judge.upstream_, &block, CAI_KIND_DEFAULT, 1, nullptr);
      }
    };
    table.initialize = [](void *, cai_error *) { return cai_status{CAI_OK}; };
    table.reset = [](void *self, cai_error *error) { return of(self).give_up(error); };
    table.memalloc = [](void *self, std::uint64_t size, std::uint64_t align, std::uint32_t kind,
                        std::uint64_t stream, cai_block *out, cai_error *error) {
      return of(self).give(size, align, kind, stream, out, error);
    };
    table.memfree = [](void *self, const cai_block *block, std::uint64_t stream, cai_error *error) {
      return of(self).take(block, stream, error);
    };
    table.open_ipc_handle = [](void *self, const cai_ipc_handle *handle, std::int32_t,
                               std::uint64_t, cai_block *out,
                               cai_error *error) { return of(self).open(*handle, out, error); };
    table.close_ipc_handle = [](void *self, const cai_block *block, std::uint64_t,
                                cai_error *error) { return of(self).close(*block, error); };
    table.trim = [](void *self, std::uint64_t, cai_error *error) {
      return of(self).give_up(error);
    };
    return table;
  }();
  return made;
}

}  // namespace lives
