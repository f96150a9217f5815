// SPDX-License-Identifier: BSD-3-Clause
#include "order/owned.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <new>

#include "core/error.hpp"
#include "core/fields.hpp"
#include "core/storage.hpp"
#include "driver/host_function.hpp"
#include "order/published.hpp"
#include "order/releases.hpp"

namespace cai {
namespace {

Block *block_of(cai_owner *owner) noexcept {
  return reinterpret_cast<Block *>(owner);
}

void retain_block(cai_owner *owner) {
  // A new reference is always made from an existing one, which provides the ordering.
  block_of(owner)->holders.fetch_add(1, std::memory_order_relaxed);
}

void end_block(cai_owner *owner) {
  Block *const block = block_of(owner);
  void (*const release)(void *) = block->release;
  void *const context = block->context;
  block->~Block();
  std::free(block);
  if (release) release(context);
}

void release_parent(void *parent) {
  auto *const owner = static_cast<cai_owner *>(parent);
  owner->release(owner);
}

bool is_view(const cai_owner *owner) noexcept {
  return is_ours(owner) && reinterpret_cast<const Block *>(owner)->release == release_parent;
}

// The owner that keeps the uses. A view of another library names its keeper, as ours do.
cai_owner *keeper_of_root(cai_owner *owner) noexcept {
  return is_whole(owner) && owner->keeper ? owner->keeper : owner;
}

// Fills in all but the array: to zero what is then overwritten would take longer than malloc().
Block *new_block(uint64_t extra) noexcept {
  void *const memory = std::malloc(sizeof(Block) + extra);
  if (!memory) return nullptr;
  auto *const block = new (memory) Block;  // not zeroed: the array is written anyway
  block->owner = keeping_owner(retain_block, release_block);
  block->holders.store(1, std::memory_order_relaxed);
  block->release = nullptr;
  block->context = nullptr;
  return block;
}

Storage storage_of(Block *block, uint64_t extra) noexcept {
  return {block + 1, extra};
}

uint64_t dims_storage(int32_t ndim) noexcept {
  return uint64_t{2} * static_cast<uint64_t>(ndim) * sizeof(int64_t);
}

// Stores shape and strides one after the other. The storage was sized for them.
void store_dims(cai_array *array, int32_t ndim, const int64_t *shape, const int64_t *strides,
                Storage &storage) noexcept {
  const auto count = static_cast<uint64_t>(ndim);
  auto *const dims = storage.take<int64_t>(2 * count);
  if (count) {
    std::memcpy(dims, shape, count * sizeof *dims);
    std::memcpy(dims + count, strides, count * sizeof *dims);
  }
  array->ndim = ndim;
  array->shape = dims;
  array->strides = dims + count;
}

// Fields that a newer minor version may have added are not understood here, so they are not copied.
void forget_unknown(cai_array *array) noexcept {
  constexpr uint32_t known =
      CAI_FLAG_STRIDES_NONE | CAI_FLAG_READONLY | CAI_FLAG_MASKED | CAI_FLAG_SWAPPED;
  array->abi_minor = CAI_ABI_MINOR;
  array->flags &= known;
  array->reserved1 = 0;
  array->reserved0 = array->reserved2 = array->reserved3 = 0;
}

// A view shares the descr of its root.
void store_view(cai_array *view, const cai_array &array, const Dims &dims, cai_owner *owner,
                Storage &storage) noexcept {
  *view = array;
  forget_unknown(view);
  view->owner = owner;
  view->flags &= ~uint32_t{CAI_FLAG_STRIDES_NONE};
  view->data = dims.data;
  store_dims(view, dims.ndim, dims.shape, dims.strides, storage);
}

uint64_t copy_storage(const cai_array &array) noexcept {
  return dims_storage(array.ndim) +
         (array.descr ? fields_storage(array.descr, array.descr_count) : 0);
}

// Copies one array and what it points to, except the mask.
void store_copy(cai_array *copy, const cai_array &array, cai_owner *owner,
                Storage &storage) noexcept {
  *copy = array;
  forget_unknown(copy);
  copy->owner = owner;
  store_dims(copy, array.ndim, array.shape, array.strides, storage);
  copy->descr = array.descr ? copy_fields(array.descr, array.descr_count, storage) : nullptr;
}

// The kernel reuses the id of a thread that has ended, but not together with its start time, in
// hundredths of a second since boot. Without /proc the id alone must do.
uint64_t find_this_thread() noexcept {
  constexpr int bits_of_id = 22;  // the kernel's ids are below 2^22
  const auto id = static_cast<uint64_t>(::syscall(SYS_gettid));
  const int file = ::open("/proc/thread-self/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return id;
  char line[1024];
  const ssize_t size = ::read(file, line, sizeof line - 1);
  ::close(file);
  line[size > 0 ? size : 0] = 0;
  const char *at = std::strrchr(line, ')');  // ends the name, which may contain anything
  constexpr int fields_between = 20;         // the time is the 22nd field, the name the 2nd
  for (int i = 0; at && i < fields_between; ++i) at = std::strchr(at + 1, ' ');
  return at ? std::strtoull(at, nullptr, 10) << bits_of_id | id : id;
}

}  // namespace

cai_owner *root_of(cai_owner *owner) noexcept {
  return is_view(owner) ? static_cast<cai_owner *>(block_of(owner)->context) : owner;
}

void *context_of(cai_owner *owner, void (*release)(void *context)) noexcept {
  cai_owner *const root = root_of(owner);
  return is_ours(root) && block_of(root)->release == release ? block_of(root)->context : nullptr;
}

Dims dims_of(const cai_array &array) noexcept {
  Dims dims;
  dims.data = array.data;
  dims.ndim = array.ndim;
  std::copy_n(array.shape, array.ndim, dims.shape);
  std::copy_n(array.strides, array.ndim, dims.strides);
  return dims;
}

cai_array *new_view(const cai_array &array, const Dims &dims, const Dims &mask, uint32_t more_flags,
                    const Hold *hold) noexcept {
  uint64_t extra = dims_storage(dims.ndim);
  if (array.mask) extra += sizeof(cai_array) + dims_storage(mask.ndim);
  Block *const block = new_block(extra);
  if (!block) return nullptr;
  cai_owner *const root = root_of(array.owner);
  if (!hold) root->retain(root);
  block->release = hold ? hold->release : release_parent;
  block->context = hold ? hold->context : root;
  block->owner.keeper = keeper_of_root(root);
  if (block->owner.keeper != root) block->owner.uses = root->uses;
  block->owner.used_on = nullptr;
  block->owner.await_uses = nullptr;

  Storage storage = storage_of(block, extra);
  cai_array *const view = &block->array;
  store_view(view, array, dims, &block->owner, storage);
  view->flags |= more_flags;
  if (array.mask) {
    auto *const mask_view = storage.take<cai_array>(1);
    store_view(mask_view, *array.mask, mask, &block->owner, storage);
    view->mask = mask_view;
  }
  return view;
}

cai_status own_valid(const cai_array &valid, void (*release)(void *context), void *context,
                     cai_array **out, cai_error *error) noexcept {
  const cai_array *const mask = valid.mask;
  uint64_t extra = copy_storage(valid);
  if (mask) extra += sizeof(cai_array) + copy_storage(*mask);
  Block *const block = new_block(extra);
  if (!block) return fail(error, CAI_ERR_MEMORY, {}, "no host memory left for an array");
  Storage storage = storage_of(block, extra);
  cai_array *const array = &block->array;
  store_copy(array, valid, &block->owner, storage);
  if (mask) {
    auto *const mask_copy = storage.take<cai_array>(1);
    store_copy(mask_copy, *mask, &block->owner, storage);
    array->mask = mask_copy;
  }
  block->release = release;
  block->context = context;
  if (is_of_thread(*array) || (array->mask && is_of_thread(*array->mask))) {
    block->owner.thread = this_thread();
  }
  if (array->stream_kind == CAI_STREAM_STREAM) block->owner.freed_on = array->stream;
  *out = array;
  return CAI_OK;
}

void release_block(cai_owner *owner) {
  Block *const block = block_of(owner);
  if (block->holders.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // The root of a view keeps the uses of its memory.
  if (!block->owner.keeper) return cai_owner_end(owner, end_block);
  // The end of a published view asks the driver about its stream.
  const bool is_published = block->release != release_parent && order::published_by(owner);
  if (is_published && driver::InHostFunction::is_here()) {
    return order::end_in_later_call(owner, end_block);
  }
  end_block(owner);
}

uint64_t this_thread() noexcept {
  thread_local uint64_t id = 0;
  if (!id) id = find_this_thread();
  return id;
}

cai_status validate_not_freed(const cai_array &array, cai_error *error) noexcept {
  if (!is_freed(array)) return CAI_OK;
  return fail(error, CAI_ERR_STATE, {CAI_ENTRY_DATA},
              "data: the memory at 0x%" PRIx64 " was freed already, or its device reset",
              array.data);
}

}  // namespace cai

using namespace cai;

// The macros of these names are for callers of the header.
void(cai_array_retain)(const cai_array *array) {
  cai_array_retain_1(array);
}

void(cai_array_release)(const cai_array *array) {
  cai_array_release_1(array);
}

uint32_t(cai_array_refuses)(const cai_array *array, uint32_t understood) {
  return cai_array_refuses_1(array, understood);
}

int64_t(cai_array_contiguous_nbytes)(const cai_array *array) {
  return cai_array_contiguous_nbytes_1(array);
}

uint64_t cai_this_thread(void) {
  return this_thread();
}

cai_status cai_owner_init(cai_owner *owner, void (*retain)(cai_owner *self),
                          void (*release)(cai_owner *self), cai_error *error) {
  if (!owner || !retain || !release) {
    return fail(error, CAI_ERR_ARGUMENT, {}, "owner, retain or release is NULL");
  }
  *owner = keeping_owner(retain, release);
  return CAI_OK;
}

cai_status cai_array_own(const cai_array *borrowed, void (*release)(void *context), void *context,
                         cai_array **out, cai_error *error) {
  if (!borrowed || !out) return fail(error, CAI_ERR_ARGUMENT, {}, "borrowed or out is NULL");
  if (const cai_status status = cai_array_validate(borrowed, error)) return status;
  return own_valid(*borrowed, release, context, out, error);
}
