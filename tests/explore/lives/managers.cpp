// SPDX-License-Identifier: BSD-3-Clause
#include "managers.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "must.h"

namespace lives {

std::uint64_t Judge::now = 1;

std::string &wrong() {
  static std::string what;
  return what;
}

void blame(std::string what) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (wrong().empty()) wrong() = std::move(what);
}

// What a reentrant manager has from libcai.
static cai_memory *memory_behind(const cai_block &block) {
  return reinterpret_cast<cai_memory *>(static_cast<std::uintptr_t>(block.cookie));
}

Judge::Judge(cai_device device, Way way, std::uint64_t epoch)
    : device_(device), way_(way), epoch_(epoch) {}

cai_manager *Judge::make() {
  static const cai_status registered = cai_manager_register("judge", &table(), nullptr);
  MUST(registered);
  cai_manager *upstream = nullptr, *out = nullptr;
  cai_error error{};
  const bool is_cpu = device_.type == CAI_DEVICE_CPU;
  if (cai_manager_create(is_cpu ? "host" : "default", nullptr, device_, nullptr, &upstream,
                         &error) != CAI_OK ||
      cai_manager_create("judge", this, device_, upstream, &out, &error) != CAI_OK) {
    blame(std::string("no manager: ") + error.message);
  }
  cai_manager_release(upstream);
  return out;
}

cai_status Judge::give(std::uint64_t size, std::uint64_t align, std::uint32_t kind,
                       std::uint64_t stream, cai_block *out, cai_error *error) {
  on_entry();
  const std::lock_guard lock(mutex_);
  if (!is_alive()) blame("a dead manager is asked for memory");
  if (way_ == Way::failing) {
    std::memset(error, 0, sizeof *error);
    error->status = CAI_ERR_MEMORY;
    error->index = -1;
    return CAI_ERR_MEMORY;
  }
  cai_block block{};
  const auto fits = [&](const Kept &kept) {
    return kept.stream == stream && kept.block.size == size && kept.block.data % align == 0;
  };
  for (auto each = kept_.begin(); each != kept_.end() && block.size == 0; ++each) {
    if (!fits(*each)) continue;
    block = each->block;
    kept_.erase(each);
    break;
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
    block = {info.data, info.host, size, reinterpret_cast<std::uintptr_t>(memory)};
  } else if (block.size == 0) {
    const cai_status status =
        cai_manager_alloc(upstream_, size, align, kind, stream, &block, error);
    if (status != CAI_OK) return status;
  }
  if (!blocks_.emplace(block.data, block).second) blame("a block is given that is out");
  bytes_ += block.size;
  *out = block;
  return CAI_OK;
}

cai_status Judge::take(const cai_block *block, std::uint64_t stream, cai_error *error) {
  on_entry();
  const std::lock_guard lock(mutex_);
  if (!is_alive()) blame("memory is freed in another epoch");
  const auto found = blocks_.find(block->data);
  if (found == blocks_.end()) {
    blame("a block is freed that is not out: twice, perhaps");
    return CAI_OK;
  }
  if (found->second.size != block->size) blame("a block comes back with another size");
  bytes_ -= found->second.size;
  blocks_.erase(found);
  if (way_ == Way::reentrant) {
    cai_memory *const memory = memory_behind(*block);
    if (stream) {
      cai_stream *last = nullptr;
      MUST(cai_stream_wrap(device_, stream, nullptr, nullptr, &last, nullptr));
      MUST(cai_memory_set_stream(memory, last, nullptr));
      cai_stream_release(last);
    }
    cai_memory_release(memory);
    return CAI_OK;
  }
  if (way_ == Way::caching) {
    kept_.push_back({*block, stream});
    return CAI_OK;
  }
  if (device_.type == CAI_DEVICE_CPU) {
    // Not given back yet: who uses it still is found out.
    std::memset(reinterpret_cast<void *>(static_cast<std::uintptr_t>(block->host)), poison,
                block->size);
    poisoned_.push_back(*block);
    return CAI_OK;
  }
  return cai_manager_free(upstream_, block, CAI_KIND_DEFAULT, stream, error);
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
  on_entry();
  cai_status first = CAI_OK;
  for (const Kept &kept : std::exchange(kept_, {})) {
    const cai_status status =
        cai_manager_free(upstream_, &kept.block, CAI_KIND_DEFAULT, kept.stream, error);
    if (first == CAI_OK) first = status;
  }
  return first;
}

// The context has gone, so no block comes back.
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
      if (!judge.blocks_.empty()) blame("a manager ends while its memory is out");
      judge.give_up(nullptr);
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
    table.trim = [](void *self, std::uint64_t, cai_error *error) {
      return of(self).give_up(error);
    };
    return table;
  }();
  return made;
}

}  // namespace lives
