// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file memory.hpp
 * cai/memory.h for C++20: memory of every kind, arrays of it, and work on arrays.
 *
 * The rules at the head of cai/cai.hpp and cai/device.hpp hold here too.
 */
#ifndef CAI_MEMORY_HPP
#define CAI_MEMORY_HPP

#include <cai/manager.hpp>

#include <unistd.h>
#include <bit>
#include <complex>
#include <cstring>

namespace cai {
inline namespace v1 {

// ---- Types of elements --------------------------------------------------------------------------

namespace detail {

template <class T>
inline constexpr std::uint8_t kind_of = std::is_same_v<T, bool>        ? 'b'
                                        : std::is_same_v<T, std::byte> ? 'u'
                                        : std::is_floating_point_v<T>  ? 'f'
                                        : !std::is_integral_v<T>       ? 0
                                        : std::is_signed_v<T>          ? 'i'
                                                                       : 'u';
template <class T>
inline constexpr std::uint8_t kind_of<std::complex<T>> = 'c';

}  // namespace detail

/** A type that a typestr can express: bool, integers, std::byte, floating point and
 * std::complex. */
template <class T>
concept element = detail::kind_of<T> != 0;

/** The type of an element, in the machine's byte order: `cai::dtype_of<float>`. Since 0.1. */
template <element T>
inline constexpr cai_dtype dtype_of{
    detail::kind_of<T>,
    sizeof(T) == 1 ? std::uint8_t{'|'}
                   : std::uint8_t{std::endian::native == std::endian::little ? '<' : '>'},
    CAI_EXT_NONE,
    CAI_TIME_GENERIC,
    sizeof(T),
    0};

namespace detail {

template <class T>
void check_element(const array &of) {
  const cai_dtype &is = of.dtype();
  constexpr const cai_dtype &want = dtype_of<T>;
  if (is.kind == want.kind && is.itemsize == want.itemsize && is.byteorder == want.byteorder) {
    return;
  }
  cai_error raw = failure(CAI_ERR_VALUE, "");
  raw.entry = CAI_ENTRY_TYPESTR;
  std::snprintf(raw.message, sizeof raw.message,
                "the elements are %c%c%u, and the type asked for is %c%c%u", is.byteorder, is.kind,
                is.itemsize, want.byteorder, want.kind, want.itemsize);
  check(raw.status, raw);
}

inline void check_held(const array &given, const char *what) {
  if (!given) check(CAI_ERR_ARGUMENT, failure(CAI_ERR_ARGUMENT, "%s: no array is held", what));
}

}  // namespace detail

// ---- Memory -------------------------------------------------------------------------------------

/** Reports whether the host may use memory of a kind on a device: cai_is_dereferenceable(). */
inline bool is_dereferenceable(const device &on, std::uint32_t kind) noexcept {
  return cai_is_dereferenceable(on, kind) != 0;
}

/** A request for memory: #cai_request with names and defaults. Since 0.1. */
struct request {
  std::uint64_t size = 0;                /**< bytes; of a row for PITCHED, CUDA_ARRAY */
  std::uint32_t kind = CAI_KIND_DEFAULT; /**< CAI_KIND_* */
  std::uint32_t flags = 0;               /**< CAI_HOST_* */
  std::uint64_t rows = 0;                /**< for PITCHED, PITCHED_MANAGED and CUDA_ARRAY */
  std::uint64_t depth = 0;               /**< for CUDA_ARRAY */
  std::uint64_t align = 0;               /**< bytes; 0: the default */
  std::uint32_t channels = 0;            /**< for CUDA_ARRAY */
  cai_dtype dtype{};                     /**< for CUDA_ARRAY */
  cai::stream stream{};                  /**< empty: the thread's current stream */
  cai::manager manager{};                /**< empty: the device's manager */
};

namespace detail {

// Points into `wanted`.
inline cai_request to_c(const request &wanted) noexcept {
  cai_request raw{};
  raw.struct_size = sizeof raw;
  raw.kind = wanted.kind;
  raw.size = wanted.size;
  raw.rows = wanted.rows;
  raw.depth = wanted.depth;
  raw.align = wanted.align;
  raw.flags = wanted.flags;
  raw.channels = wanted.channels;
  raw.dtype = wanted.dtype;
  raw.stream = wanted.stream.get();
  raw.manager = wanted.manager.get();
  return raw;
}

}  // namespace detail

/** A file descriptor, which the destructor closes; or empty. Since 0.1. */
class descriptor {
 public:
  descriptor() noexcept = default;
  /** Takes over a descriptor; -1: empty. */
  explicit descriptor(int fd) noexcept : fd_(fd) {}
  descriptor(descriptor &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  descriptor &operator=(descriptor other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  /** Its number; -1 if empty. */
  int get() const noexcept { return fd_; }

 private:
  int fd_ = -1;
};

/** Memory for another process, from memory::share(): send both parts. Since 0.1. */
struct shared_memory {
  cai_ipc_handle handle{};
  descriptor fd{}; /**< of the pool; empty for #CAI_IPC_LEGACY */
};

/** Memory of any kind: #cai_memory. The last release frees it in the order of its free stream, and
 * does not wait, but for memory of pin() and where too many frees are pending. A const function
 * does not change which memory the object refers to; it may change the memory. Since 0.1.
 *
 *     const auto memory = cai::memory::alloc(device, {.size = 4096, .kind = CAI_KIND_PINNED});
 *     const cai::array x = memory.to_array<float>({1024});
 */
class memory : public handle<cai_memory, cai_memory_retain, cai_memory_release> {
 public:
  /** An empty object. */
  memory() noexcept = default;

  /** Takes over the caller's reference, as C functions return it; or nullptr. */
  [[nodiscard]] static memory adopt(cai_memory *held) noexcept { return memory(held); }
  /** Adds a reference; the caller keeps its own. */
  [[nodiscard]] static memory retain(cai_memory *held) noexcept { return memory(retained(held)); }

  /** Allocates: cai_memory_alloc(). */
  [[nodiscard]] static memory alloc(const device &on, const request &wanted) {
    const cai_request raw = detail::to_c(wanted);
    return memory(detail::ask<cai_memory *>(cai_memory_alloc, cai_device(on), &raw));
  }

  /** Pins host memory: cai_memory_pin(). The host memory must live until the last reference is
   * released and the uses are complete; the last release waits for the device.
   * @param kind   PINNED or MAPPED
   * @param flags  CAI_HOST_* */
  template <class T, std::size_t Extent>
  [[nodiscard]] static memory pin(const device &on, std::span<T, Extent> host,
                                  std::uint32_t kind = CAI_KIND_PINNED, std::uint32_t flags = 0) {
    return pinned(on, std::as_writable_bytes(host), kind, flags, nullptr, nullptr);
  }
  /** Likewise with an owner that keeps the host memory alive, as in array::own(). */
  template <class T, std::size_t Extent, detail::keepable Owner>
  [[nodiscard]] static memory pin(const device &on, std::span<T, Extent> host, std::uint32_t kind,
                                  std::uint32_t flags, Owner &&owner) {
    return detail::give(std::forward<Owner>(owner), [&](auto release, void *context) {
      return pinned(on, std::as_writable_bytes(host), kind, flags, release, context);
    });
  }

  /** Wraps memory of other code, which must outlive it: cai_memory_wrap(). This function sets
   * struct_size. */
  [[nodiscard]] static memory wrap(const cai_memory_info &info) {
    return wrapped(info, nullptr, nullptr);
  }
  /** Likewise with an owner that keeps the memory alive, as in array::own(). */
  template <detail::keepable Owner>
  [[nodiscard]] static memory wrap(const cai_memory_info &info, Owner &&owner) {
    return detail::give(std::forward<Owner>(owner), [&](auto release, void *context) {
      return wrapped(info, release, context);
    });
  }

  /** Finds the memory around an address, and the bytes from its beginning to the address:
   * cai_memory_find(). */
  [[nodiscard]] static std::pair<memory, std::uint64_t> find(std::uint64_t address) {
    cai_memory *found = nullptr;
    std::uint64_t offset = 0;
    detail::call(cai_memory_find, address, &found, &offset);
    return {memory(found), offset};
  }
  /** Returns the memory of an array, and the bytes before its first element: cai_memory_of(). */
  [[nodiscard]] static std::pair<memory, std::uint64_t> of(const array &held) {
    cai_memory *found = nullptr;
    std::uint64_t offset = 0;
    detail::call(cai_memory_of, held.get(), &found, &offset);
    return {memory(found), offset};
  }
  /** Opens memory of another process: cai_memory_open().
   * @param fd   the descriptor that came with the handle, or -1; still the caller's
   * @param on   may be empty: the thread's current stream of the device
   * @param how  CAI_OPEN_* */
  [[nodiscard]] static memory open(const cai_ipc_handle &handle, int fd, const device &user,
                                   std::uint32_t how = CAI_OPEN_AUTO, const stream &on = {}) {
    return memory(
        detail::ask<cai_memory *>(cai_memory_open, &handle, fd, cai_device(user), on.get(), how));
  }

  /** Its properties: cai_memory_describe(). */
  cai_memory_info info() const {
    return detail::describe<cai_memory_info>(cai_memory_describe, get());
  }
  /** Its address for kernels; 0 if it has none. */
  std::uint64_t data() const { return info().data; }
  /** Bytes in all. */
  std::uint64_t size() const { return info().size; }
  cai::device device() const { return info().device; }

  /** Its bytes for the host, as whole Ts. Use them only once no work on them is pending.
   * @throws error #CAI_ERR_UNSUPPORTED if the host must not use them, or must not write them and T
   *         is not const; #CAI_ERR_STATE if the memory was freed, also by a reset; #CAI_ERR_BOUNDS
   *         if they are misaligned for T; as cai_memory_describe() */
  template <class T = std::byte>
  [[nodiscard]] std::span<T> host() const {
    const cai_memory_info known = info();
    if (known.flags & CAI_MEMORY_FREED) {
      check(CAI_ERR_STATE, detail::failure(CAI_ERR_STATE, "%s", "the memory was freed"));
    }
    if (!std::is_const_v<T> && known.flags & CAI_MEMORY_READONLY) {
      check(CAI_ERR_UNSUPPORTED,
            detail::failure(CAI_ERR_UNSUPPORTED, "%s", "the memory is read-only"));
    }
    if (known.size != 0 && known.host == 0) {
      check(CAI_ERR_UNSUPPORTED,
            detail::failure(CAI_ERR_UNSUPPORTED, "the host must not use memory of the kind %s",
                            cai_kind_name(known.kind)));
    }
    if (known.host % alignof(T) != 0) {
      check(CAI_ERR_BOUNDS,
            detail::failure(CAI_ERR_BOUNDS, "the address %s is no multiple of the type's alignment",
                            std::to_string(known.host).c_str()));
    }
    return {reinterpret_cast<T *>(static_cast<std::uintptr_t>(known.host)),
            static_cast<std::size_t>(known.size) / sizeof(T)};
  }

  /** A view of bytes `start` to `stop`, which holds a reference to the whole: cai_memory_view(). */
  [[nodiscard]] memory view(std::uint64_t start, std::uint64_t stop) const {
    return memory(detail::ask<cai_memory *>(cai_memory_view, get(), start, stop));
  }
  /** Frees it now, even if references to it remain: cai_memory_free(). */
  void free() const { detail::call(cai_memory_free, get()); }
  /** Sets the stream in whose order it is freed: cai_memory_set_stream(). */
  void set_stream(const stream &on) const { detail::call(cai_memory_set_stream, get(), on.get()); }
  /** Keeps it until the work queued on a stream so far is complete: cai_memory_record(). */
  void record(const stream &user) const { detail::call(cai_memory_record, get(), user.get()); }
  /** Makes a handle for another process: cai_memory_share(). */
  [[nodiscard]] shared_memory share() const {
    shared_memory shared;
    std::int32_t fd = -1;
    detail::call(cai_memory_share, get(), &shared.handle, &fd);
    shared.fd = descriptor(fd);
    return shared;
  }

  /** Makes an array of it, which holds a reference to it: cai_memory_array().
   * @param offset   bytes before the first element
   * @param strides  bytes, one for each extent; empty: C order */
  [[nodiscard]] array to_array(const cai_dtype &dtype, std::span<const std::int64_t> shape,
                               std::uint64_t offset = 0,
                               std::span<const std::int64_t> strides = {}) const {
    if (!strides.empty() && strides.size() != shape.size()) {
      check(CAI_ERR_ARGUMENT,
            detail::failure(CAI_ERR_ARGUMENT, "to_array: one stride is needed for each extent"));
    }
    return array::adopt(detail::ask<cai_array *>(cai_memory_array, get(), offset, &dtype,
                                                 detail::count_of(shape), shape.data(),
                                                 strides.empty() ? nullptr : strides.data()));
  }
  template <element T>
  [[nodiscard]] array to_array(std::initializer_list<std::int64_t> shape,
                               std::uint64_t offset = 0) const {
    return to_array(dtype_of<T>, std::span(shape.begin(), shape.size()), offset);
  }
  /** Likewise with the dtype, fields, strides and mask of another array, or of a struct that the
   * caller has filled in: cai_memory_array_like().
   * @param offset       bytes before the first element
   * @param mask_offset  bytes before the first element of the mask, if there is one */
  [[nodiscard]] array to_array_like(const cai_array &like, std::uint64_t offset = 0,
                                    std::uint64_t mask_offset = 0) const {
    return array::adopt(
        detail::ask<cai_array *>(cai_memory_array_like, get(), offset, &like, mask_offset));
  }

 private:
  explicit memory(cai_memory *held) noexcept : handle(held) {}

  static memory pinned(const cai::device &on, std::span<std::byte> host, std::uint32_t kind,
                       std::uint32_t flags, void (*release)(void *), void *context) {
    return memory(detail::ask<cai_memory *>(cai_memory_pin, cai_device(on),
                                            static_cast<void *>(host.data()), host.size(), kind,
                                            flags, release, context));
  }

  static memory wrapped(cai_memory_info info, void (*release)(void *), void *context) {
    info.struct_size = sizeof info;
    return memory(detail::ask<cai_memory *>(cai_memory_wrap, &info, release, context));
  }
};

// ---- Pending frees ------------------------------------------------------------------------------

/** The allocated and the pending memory of a device: cai_memory_usage(). Since 0.1. */
inline cai_usage usage(const device &of) {
  return detail::describe<cai_usage>(cai_memory_usage, cai_device(of));
}

/** Adds a pending free, for managers: cai_pending_add(). `free` is moved or copied to the heap,
 * called once with no arguments, and destroyed; its exception is the failure of that free. Without
 * exceptions, `cai_status free(cai_error *error)` returns its failure. Since 0.1. */
template <detail::keepable Free>
  requires detail::runnable<std::decay_t<Free>>
void add_pending(const device &on, std::uint64_t bytes, Free &&free) {
  using Kept = std::decay_t<Free>;
  auto kept = std::make_unique<Kept>(std::forward<Free>(free));
  const auto run = [](void *context, cai_error *error) {
    const std::unique_ptr<Kept> once(static_cast<Kept *>(context));
    return detail::run(*once, "a pending free", error);
  };
  detail::call(cai_pending_add, cai_device(on), bytes, run, static_cast<void *>(kept.get()));
  static_cast<void>(kept.release());  // the device owns it now
}

/** Runs all pending frees of a device: cai_pending_flush(). Since 0.1. */
inline void flush_pending(const device &on) {
  detail::call(cai_pending_flush, cai_device(on));
}

/** A guard that defers the pending frees of a device from its constructor to end() or its
 * destructor: cai_pending_defer(). Guards nest. Since 0.1. */
class defer_cleanup {
 public:
  explicit defer_cleanup(const device &on) : device_(on) {
    detail::call(cai_pending_defer, cai_device(on), 1);
    deferred_ = true;
  }
  defer_cleanup(const defer_cleanup &) = delete;
  defer_cleanup &operator=(const defer_cleanup &) = delete;
  ~defer_cleanup() {
    cai_error raw;
    if (try_end(&raw) != CAI_OK) detail::report(raw);
  }

  /** Ends the deferral; does nothing if it has ended. Throws the failure of the device's
   * manager. */
  void end() {
    detail::call([this](cai_error *raw) { return try_end(raw); });
  }

 private:
  // The deferral counts as ended, even if the call fails.
  cai_status try_end(cai_error *error) noexcept {
    return std::exchange(deferred_, false) ? cai_pending_defer(device_, 0, error) : CAI_OK;
  }

  device device_;
  bool deferred_ = false;
};

// ---- Work on arrays -----------------------------------------------------------------------------

/** Copies elements, between any devices, in the order of a stream: cai_array_copy().
 * @param on  empty: the thread's current stream */
inline void copy(const array &from, const array &to, const stream &on = {}) {
  detail::call(cai_array_copy, from.get(), to.get(), on.get());
}

/** Sets all elements, in the order of a stream: cai_array_fill().
 * @param value  of the array's own type, else #CAI_ERR_VALUE: `cai::fill(x, 1.0F)`
 * @param on     empty: the thread's current stream */
template <element T>
void fill(const array &all, const T &value, const stream &on = {}) {
  detail::check_held(all, "fill");
  detail::check_element<T>(all);
  detail::call(cai_array_fill, all.get(), static_cast<const void *>(std::addressof(value)),
               on.get());
}

/** Copies one element to the host: cai_array_item(). It waits for pending work on the array; for an
 * array on the CPU, also for the thread's current CPU stream.
 * @param index  one index for each axis, else #CAI_ERR_ARGUMENT
 * @throws error #CAI_ERR_VALUE if T is not the array's own type */
template <element T>
[[nodiscard]] T item(const array &of, std::span<const std::int64_t> index) {
  detail::check_held(of, "item");
  detail::check_element<T>(of);
  if (index.size() != of.shape().size()) {
    check(CAI_ERR_ARGUMENT,
          detail::failure(CAI_ERR_ARGUMENT, "item: one index is needed for each axis"));
  }
  T out{};
  detail::call(cai_array_item, of.get(), index.data(), static_cast<void *>(std::addressof(out)));
  return out;
}
template <element T>
[[nodiscard]] T item(const array &of, std::initializer_list<std::int64_t> index) {
  return item<T>(of, std::span(index.begin(), index.size()));
}

/** Copies the first element to the host, as item() does: cai_array_first(). */
template <element T>
[[nodiscard]] T first(const array &of) {
  detail::check_held(of, "first");
  detail::check_element<T>(of);
  T out{};
  detail::call(cai_array_first, of.get(), static_cast<void *>(std::addressof(out)));
  return out;
}

/** Waits for the current stream of an array's device, and for all pending work on the array;
 * returns the array: cai_array_eval(). */
inline const array &eval(const array &all) {
  detail::check_held(all, "eval");
  detail::call(cai_array_eval, all.get());
  return all;
}

/** Makes an uninitialised array in new memory, like another array or a struct that the caller has
 * filled in, but in C order: cai_array_empty_like().
 *
 *     const cai::array there = cai::empty_like(*here.get(), device);
 *     cai::copy(here, there);  // with its mask
 *
 * @param wanted  only kind, align, flags, stream and manager are used */
[[nodiscard]] inline array empty_like(const cai_array &like, const device &on = {},
                                      const request &wanted = {}) {
  cai_request raw = detail::to_c(wanted);
  raw.size = raw.rows = raw.depth = 0;
  return array::adopt(detail::ask<cai_array *>(cai_array_empty_like, &like, cai_device(on), &raw));
}

/** Makes an uninitialised array in new memory, in C order.
 *
 * @param wanted  only kind, align, flags, stream and manager are used; for the kinds PITCHED and
 *                PITCHED_MANAGED, each row holds the last axis
 * @throws error as cai_array_empty_like() */
[[nodiscard]] inline array empty(std::span<const std::int64_t> shape, const cai_dtype &dtype,
                                 const device &on = {}, const request &wanted = {}) {
  cai_array like{};
  like.abi_major = CAI_ABI_MAJOR;
  like.dtype = dtype;
  like.ndim = detail::count_of(shape);
  like.shape = shape.data();
  return empty_like(like, on, wanted);
}
template <element T>
[[nodiscard]] array empty(std::initializer_list<std::int64_t> shape, const device &on = {},
                          const request &wanted = {}) {
  return empty(std::span(shape.begin(), shape.size()), dtype_of<T>, on, wanted);
}

/** Likewise, and queues a fill of all elements with 0 on the stream. */
[[nodiscard]] inline array zeros(std::span<const std::int64_t> shape, const cai_dtype &dtype,
                                 const device &on = {}, const request &wanted = {}) {
  array made = empty(shape, dtype, on, wanted);
  const std::vector<std::byte> zero(dtype.itemsize);
  detail::call(cai_array_fill, made.get(), static_cast<const void *>(zero.data()),
               wanted.stream.get());
  return made;
}
template <element T>
[[nodiscard]] array zeros(std::initializer_list<std::int64_t> shape, const device &on = {},
                          const request &wanted = {}) {
  return zeros(std::span(shape.begin(), shape.size()), dtype_of<T>, on, wanted);
}

}  // namespace v1
}  // namespace cai

#endif  // CAI_MEMORY_HPP
