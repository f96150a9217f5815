// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file cccl.hpp
 * A device's memory manager as a memory resource of CCCL (`cuda::mr`), and so of RMM.
 *
 * Header-only, as cai.hpp. It needs CCCL 3.0 or newer, CUDA's headers, and a host C++ compiler or
 * nvcc; it needs no CUDA library. Of PyPI's wheels these are nvidia-cuda-cccl, nvidia-cuda-runtime
 * and nvidia-cuda-crt, which has the crt/host_defines.h that the others include. For CCCL 3.0 and
 * 3.1, define LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE, which they require.
 *
 *     cai::memory_resource pool{0};                   // GPU 0, its libcai manager
 *     cuda::mr::any_resource<cuda::mr::device_accessible> any{pool};
 *     rmm::mr::set_per_device_resource(rmm::cuda_device_id{0}, pool);
 *
 * The concept changed its names between releases: today allocate(stream, bytes, alignment) is the
 * stream-ordered one and allocate_sync(bytes, alignment) the other; in 3.0 they were
 * allocate_async(bytes, alignment, stream) and allocate(bytes, alignment). The class has both.
 */
#ifndef CAI_CCCL_HPP
#define CAI_CCCL_HPP

#include <cai/memory.h>
#include <cai/cai.hpp>
#include <cuda/memory_resource>
#include <cuda/stream_ref>

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

namespace cai {
inline namespace v1 {

/** Out of memory: the exception that code of CCCL and RMM catches, with libcai's error. Since
 * 0.1. */
class out_of_memory : public std::bad_alloc {
 public:
  /** Copies the error. */
  explicit out_of_memory(const cai_error &raw) noexcept : raw_(raw) {}
  const char *what() const noexcept override { return raw_.message; }
  const cai_error &raw() const noexcept { return raw_; }

 private:
  cai_error raw_;
};

namespace detail {

struct memory_release {
  void operator()(cai_memory *memory) const noexcept { cai_memory_release(memory); }
};
using memory_holder = std::unique_ptr<cai_memory, memory_release>;

// What the resources have allocated, by address. cai_memory_find() does not find all of it: not
// what a manager allocates inside of its own functions, and not what a reset has freed.
class allocated_memory {
 public:
  // One in the process, even if a library is compiled with hidden visibility: it may free what
  // another one has allocated. Never destroyed: a resource may be used as late as the process ends.
  __attribute__((visibility("default"))) static allocated_memory &all() {
    static auto &all = *new allocated_memory;
    return all;
  }

  // A reset freed the previous memory at the address; `memory` releases it after the lock.
  void add(std::uint64_t address, memory_holder &memory) {
    const std::lock_guard lock(mutex_);
    std::swap(by_address_[address], memory);
  }

  // Empty if there is none.
  memory_holder take(std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    auto found = by_address_.extract(address);
    return found ? std::move(found.mapped()) : nullptr;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, memory_holder> by_address_;
};

}  // namespace detail

/** A memory resource that allocates one kind of memory (CAI_KIND_*) from one libcai manager. Copies
 * use the same manager. Two resources are equal if each can free the memory of the other. All
 * functions may be called by several threads at a time. Allocation throws cai::out_of_memory if
 * memory is short; for other failures it throws cai::error. Since 0.1. */
template <std::uint32_t Kind>
class memory_resource_of {
 public:
  static constexpr std::size_t default_alignment = 256;

  /** Allocates from the GPU's current manager, see cai_manager_of(). */
  explicit memory_resource_of(std::int32_t device)
      : memory_resource_of(of_device({CAI_DEVICE_CUDA, device})) {}

  /** Allocates from a manager; adds a reference to it. */
  explicit memory_resource_of(cai_manager *manager) : manager_(retained(manager)) {
    cai_error error;
    cai_stream *made = nullptr;
    const cai_device device = cai_manager_device(manager);
    check(cai_stream_create(device, CAI_MODE_ASYNC, 0, &made, &error), error);
    own_.reset(made, cai_stream_release);
    check(cai_stream_wrap(device, 1, nullptr, nullptr, &made, &error), error);
    legacy_.reset(made, cai_stream_release);
  }

  // ---- In the order of a stream ----

  /** Allocates for the stream, and for work ordered after it. Returns nullptr for 0 bytes. */
  void *allocate(::cuda::stream_ref stream, std::size_t bytes,
                 std::size_t alignment = default_alignment) {
    return give(wrapped(stream).get(), bytes, alignment);
  }

  /** Frees memory of this resource, or of an equal one. Failures go to cai::on_failure(). If the
   * memory was allocated on another stream, which is being captured, it is freed in the order of
   * that stream once the capture has ended, and after the work on this one. If this stream cannot
   * be waited for, since it is being captured, too, the memory is never freed: that is a failure.
   */
  void deallocate(::cuda::stream_ref stream, void *pointer, std::size_t,
                  std::size_t = default_alignment) noexcept {
    take(pointer, value_of(stream));
  }

  void *allocate_async(std::size_t bytes, std::size_t alignment, ::cuda::stream_ref stream) {
    return allocate(stream, bytes, alignment);
  }
  void *allocate_async(std::size_t bytes, ::cuda::stream_ref stream) {
    return allocate(stream, bytes);
  }
  void deallocate_async(void *pointer, std::size_t bytes, std::size_t alignment,
                        ::cuda::stream_ref stream) noexcept {
    deallocate(stream, pointer, bytes, alignment);
  }
  void deallocate_async(void *pointer, std::size_t bytes, ::cuda::stream_ref stream) noexcept {
    deallocate(stream, pointer, bytes);
  }

  // ---- Without a stream ----

  /** Allocates memory that any stream may use at once. */
  void *allocate_sync(std::size_t bytes, std::size_t alignment = default_alignment) {
    void *const pointer = give(own_.get(), bytes, alignment);
    cai_error error;
    if (const cai_status status = cai_stream_synchronize(own_.get(), &error)) {
      take(pointer, cai_stream_value(own_.get()));
      check(status, error);
    }
    return pointer;
  }

  /** Frees memory that is no longer in use, in the order of the legacy default stream. */
  void deallocate_sync(void *pointer, std::size_t, std::size_t = default_alignment) noexcept {
    take(pointer, 1);
  }

  void *allocate(std::size_t bytes, std::size_t alignment = default_alignment) {
    return allocate_sync(bytes, alignment);
  }
  void deallocate(void *pointer, std::size_t bytes,
                  std::size_t alignment = default_alignment) noexcept {
    deallocate_sync(pointer, bytes, alignment);
  }

  /** The manager; the resource holds a reference to it. */
  cai_manager *manager() const noexcept { return manager_.get(); }

  friend bool operator==(const memory_resource_of &a, const memory_resource_of &b) noexcept {
    return a.manager_ == b.manager_;
  }

  friend void get_property(const memory_resource_of &, ::cuda::mr::device_accessible) noexcept {}
  friend void get_property(const memory_resource_of &, ::cuda::mr::host_accessible) noexcept
    requires(Kind != CAI_KIND_DEFAULT && Kind != CAI_KIND_ASYNC)
  {}
#if CCCL_VERSION >= 3002000
  using default_queries = ::cuda::std::conditional_t<
      Kind == CAI_KIND_DEFAULT || Kind == CAI_KIND_ASYNC,
      ::cuda::mr::properties_list<::cuda::mr::device_accessible>,
      ::cuda::mr::properties_list<::cuda::mr::device_accessible, ::cuda::mr::host_accessible>>;
#endif

 private:
  using manager_holder = std::shared_ptr<cai_manager>;
  using stream_holder = std::shared_ptr<cai_stream>;

  explicit memory_resource_of(const manager_holder &manager) : memory_resource_of(manager.get()) {}

  static manager_holder of_device(cai_device device) {
    cai_error error;
    cai_manager *manager = nullptr;
    check(cai_manager_of(device, &manager, &error), error);
    return {manager, cai_manager_release};
  }

  static manager_holder retained(cai_manager *manager) {
    cai_manager_retain(manager);
    return {manager, cai_manager_release};
  }

  static std::uint64_t value_of(::cuda::stream_ref stream) noexcept {
    const auto value = reinterpret_cast<std::uintptr_t>(stream.get());
    return value ? value : 1;  // the legacy default stream has two names
  }

  stream_holder wrapped(::cuda::stream_ref stream) const {
    return value_of(stream) == 1 ? legacy_ : wrapped(value_of(stream));
  }

  stream_holder wrapped(std::uint64_t value) const {
    cai_error error;
    cai_stream *made = nullptr;
    check(
        cai_stream_wrap(cai_manager_device(manager_.get()), value, nullptr, nullptr, &made, &error),
        error);
    return {made, cai_stream_release};
  }

  void *give(cai_stream *stream, std::size_t bytes, std::size_t alignment) {
    if (bytes == 0) return nullptr;
    cai_request request{};
    request.struct_size = sizeof request;
    request.kind = Kind;
    request.size = bytes;
    request.align = alignment;
    request.stream = stream;
    request.manager = manager_.get();
    cai_error error;
    cai_memory *made = nullptr;
    const cai_status status =
        cai_memory_alloc(cai_manager_device(manager_.get()), &request, &made, &error);
    if (status == CAI_ERR_MEMORY) throw out_of_memory(error);
    check(status, error);
    detail::memory_holder memory(made);
    cai_memory_info info{};
    info.struct_size = sizeof info;
    check(cai_memory_describe(made, &info, &error), error);
    detail::allocated_memory::all().add(info.data, memory);
    return reinterpret_cast<void *>(static_cast<std::uintptr_t>(info.data));
  }

  static void take(void *pointer, std::uint64_t stream) noexcept {
    if (!pointer) return;
    detail::memory_holder memory = detail::allocated_memory::all().take(
        static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer)));
    if (!memory) {
      return detail::report(detail::failure(
          CAI_ERR_STATE, "the memory was freed already, or is not of a memory resource"));
    }
    cai_error error;
    if (free_after(memory.get(), stream, &error) == CAI_OK) return;
    // Work on the stream may still use the memory, and nothing would wait for it.
    static_cast<void>(memory.release());
    detail::report(error);
  }

  // Has the memory freed after the work on the stream. If its previous stream is being captured, it
  // is still freed in the order of that one, and the work counts as a use.
  static cai_status free_after(cai_memory *memory, std::uint64_t stream,
                               cai_error *error) noexcept {
    cai_memory_info info{};
    info.struct_size = sizeof info;
    cai_status status = cai_memory_describe(memory, &info, error);
    if (status != CAI_OK || info.stream == stream || (info.flags & CAI_MEMORY_FREED)) return status;
    cai_stream *order = nullptr;
    status = cai_stream_wrap(info.device, stream, nullptr, nullptr, &order, error);
    if (status != CAI_OK) return status;
    status = cai_memory_set_stream(memory, order, nullptr);
    if (status != CAI_OK) status = cai_memory_record(memory, order, error);
    cai_stream_release(order);
    return status;
  }

  manager_holder manager_;
  stream_holder own_;  // for allocation without a stream: nothing else is ever queued on it
  stream_holder legacy_;
};

/** The GPU's own memory. Since 0.1. */
using memory_resource = memory_resource_of<CAI_KIND_DEFAULT>;
/** Memory that migrates. Since 0.1. */
using managed_memory_resource = memory_resource_of<CAI_KIND_MANAGED_GLOBAL>;
/** Host memory, which kernels use in place. Since 0.1. */
using mapped_memory_resource = memory_resource_of<CAI_KIND_MAPPED>;

}  // namespace v1
}  // namespace cai

#endif  // CAI_CCCL_HPP
