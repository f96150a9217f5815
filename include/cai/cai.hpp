// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file cai.hpp cai.h for C++20: reference-counted arrays, and uses that end by RAII.
 *
 * The header is compiled into the program that includes it, and calls the C functions. Nothing here
 * is part of the ABI, so do not pass these classes from one library to another: pass `cai_array *`.
 * cai.h documents in full what each function does, and with which status it fails.
 *
 * - Failures throw cai::error. Compiled without exceptions, they print the error to standard error
 *   and abort; there, use the C functions themselves, cai::array::adopt() and
 *   cai::use::try_begin(), which return a #cai_status.
 * - Nothing thrown here ever passes through C code.
 * - Objects are as thread-safe as std::shared_ptr: several threads may hold the same array, each
 *   with its own cai::array.
 */
#ifndef CAI_CAI_HPP
#define CAI_CAI_HPP

#include <cai.h>

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace cai {
// Two libraries in one process may have been compiled with two versions of this header: this name
// changes with the layout of the classes below.
inline namespace v1 {

// ---- Failure ------------------------------------------------------------------------------------

/** Why a call failed: #cai_error as an exception. what() is the name of the status and the message.
 * Since 0.1. */
class error : public std::runtime_error {
 public:
  /** Copies the error. May throw std::bad_alloc. */
  explicit error(const cai_error &raw)
      : std::runtime_error(std::string(cai_status_name(raw.status)) + ": " + raw.message),
        raw_(raw) {}

  /** CAI_ERR_*. */
  cai_status status() const noexcept { return raw_.status; }
  /** The driver's CUresult, or 0. */
  std::int32_t native() const noexcept { return raw_.native; }
  /** CAI_ENTRY_*: the entry at fault, or #CAI_ENTRY_NONE. */
  std::int32_t entry() const noexcept { return raw_.entry; }
  /** The axis, field, item or array at fault, or -1. */
  std::int32_t index() const noexcept { return raw_.index; }
  /** The whole #cai_error, to pass on through C; valid as long as the exception. */
  const cai_error &raw() const noexcept { return raw_; }

 private:
  cai_error raw_;
};

/** Throws `raw` as cai::error if `status` is not #CAI_OK; otherwise `raw` is not read. Since 0.1.
 *
 *     cai_error error;
 *     cai::check(cai_array_validate(x, &error), error);
 */
inline void check(cai_status status, const cai_error &raw) {
  if (status == CAI_OK) return;
#if defined(__cpp_exceptions)
  throw error(raw);
#else
  std::fprintf(stderr, "%s: %s\n", cai_status_name(raw.status), raw.message);
  std::abort();
#endif
}

/** Receives a failure that no call can return: of a guard that ended in a destructor, or of an
 * owner that threw. It runs on the thread where the failure happened, perhaps a thread of libcai or
 * of the driver: it must not throw, call the driver, or block. Since 0.1. */
using failure_hook = void (*)(const cai_error &failure) noexcept;

namespace detail {

inline void print_failure(const cai_error &failure) noexcept {
  std::fprintf(stderr, "libcai: %s: %s\n", cai_status_name(failure.status), failure.message);
}

inline std::atomic<failure_hook> hook{print_failure};

inline void report(const cai_error &failure) noexcept {
  hook.load(std::memory_order_acquire)(failure);
}

inline cai_error failure(cai_status status, const char *format, const char *what = "") noexcept {
  cai_error made{status, 0, CAI_ENTRY_NONE, -1, {}};
  // The caller's format has one %s at most.
  std::snprintf(made.message, sizeof made.message, format, what);
  return made;
}

// Fails the way C functions do; the error may be NULL.
inline cai_status refuse(cai_error *error, cai_status status, const char *message) noexcept {
  if (error) *error = failure(status, "%s", message);
  return status;
}

#if defined(__cpp_exceptions)
// The exception being handled, as a C error; `who` threw it.
inline cai_error caught(const char *who) noexcept {
  cai_error raw{CAI_ERR_ARGUMENT, 0, CAI_ENTRY_NONE, -1, {}};
  try {
    throw;
  } catch (const cai::error &thrown) {
    raw = thrown.raw();
    if (raw.status == CAI_OK) raw.status = CAI_ERR_ARGUMENT;
  } catch (const std::bad_alloc &) {
    raw.status = CAI_ERR_MEMORY;
    std::snprintf(raw.message, sizeof raw.message, "%s: no host memory left", who);
  } catch (const std::exception &thrown) {
    std::snprintf(raw.message, sizeof raw.message, "%s threw: %s", who, thrown.what());
  } catch (...) {
    std::snprintf(raw.message, sizeof raw.message, "%s threw", who);
  }
  return raw;
}
#endif

// Runs `body`, which returns a status to C, and turns its exceptions into a status.
template <class Body>
cai_status as_status(const char *who, cai_error *error, Body &&body) noexcept {
#if defined(__cpp_exceptions)
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    const cai_error raw = caught(who);
    if (error) *error = raw;
    return raw.status;
  }
#else
  static_cast<void>(who), static_cast<void>(error);
  return std::forward<Body>(body)();
#endif
}

// Calls a C function, whose last argument is the error, and throws its failure.
template <class Function, class... Arguments>
void call(Function function, Arguments... arguments) {
  cai_error raw;
  check(function(arguments..., &raw), raw);
}

// Likewise for a function with an output before the error; returns that output.
template <class Out, class Function, class... Arguments>
Out ask(Function function, Arguments... arguments) {
  Out out{};
  cai_error raw;
  check(function(arguments..., &out, &raw), raw);
  return out;
}

// C functions take the number of items as an int32_t, and refuse larger numbers.
template <class Item>
std::int32_t count_of(std::span<Item> items) noexcept {
  constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(items.size() < most ? items.size() : most);
}

// Runs `body`, and reports its exceptions, since no call can return them.
template <class Body>
void run_unheard(const char *who, Body &&body) noexcept {
  cai_error raw{};
  const auto run = [&] {
    std::forward<Body>(body)();
    return CAI_OK;
  };
  if (as_status(who, &raw, run) != CAI_OK) report(raw);
}

// Ends an owner of give(): calls it, if it is callable, and destroys it.
template <class Kept>
void drop(void *context) noexcept {
  run_unheard("an owner", [&] {
    const std::unique_ptr<Kept> kept(static_cast<Kept *>(context));
    if constexpr (std::invocable<Kept &>) static_cast<void>((*kept)());
  });
}

// Moves or copies `owner` to the heap, for a C function that `take(release, context)` calls: it
// takes over the owner, or throws.
template <class Owner, class Take>
auto give(Owner &&owner, Take &&take) {
  using Kept = std::decay_t<Owner>;
  auto kept = std::make_unique<Kept>(std::forward<Owner>(owner));
  auto made = std::forward<Take>(take)(drop<Kept>, static_cast<void *>(kept.get()));
  static_cast<void>(kept.release());  // C owns it now
  return made;
}

template <class Owner>
concept keepable = std::destructible<std::decay_t<Owner>>;

}  // namespace detail

/** Sets the hook for such failures of this header, and by cai_on_failure() for the library's.
 * nullptr, the default: the header prints its failures to standard error, and the library drops its
 * own. The library's failures are those of the whole process; a shared library that is compiled
 * with hidden visibility has a hook of its own for the header's. Any thread. Returns the previous
 * hook. Since 0.1. */
inline failure_hook on_failure(failure_hook hook) noexcept {
  if (!hook) hook = detail::print_failure;
  const auto pass_on = [](void *, const cai_error *failure) { detail::report(*failure); };
  const bool is_set = hook != detail::print_failure;
  const failure_hook before = detail::hook.exchange(hook, std::memory_order_acq_rel);
  cai_error raw;
  if (cai_on_failure(is_set ? pass_on : cai_failure_fn{}, nullptr, &raw) != CAI_OK) {
    detail::report(raw);
  }
  return before == detail::print_failure ? nullptr : before;
}

// ---- Items of an index expression ---------------------------------------------------------------

/** One index, as `a[i]`: removes the axis. Since 0.1. */
constexpr cai_slice index(std::int64_t i) noexcept {
  return {i, 0, 1, CAI_SLICE_INDEX, 0};
}

/** A range, as `a[start:stop:step]`; std::nullopt stands for a bound left out in Python. Since
 * 0.1. */
constexpr cai_slice range(std::optional<std::int64_t> start = {},
                          std::optional<std::int64_t> stop = {}, std::int64_t step = 1) noexcept {
  return {start.value_or(0), stop.value_or(0), step,
          CAI_SLICE_RANGE | (start ? 0 : CAI_SLICE_NO_START) | (stop ? 0 : CAI_SLICE_NO_STOP), 0};
}

/** A new axis of extent 1. Since 0.1. */
inline constexpr cai_slice newaxis{0, 0, 1, CAI_SLICE_NEWAXIS, 0};

/** All axes that the other items leave, as `...`. Since 0.1. */
inline constexpr cai_slice ellipsis{0, 0, 1, CAI_SLICE_ELLIPSIS, 0};

// ---- Arrays -------------------------------------------------------------------------------------

/** A reference to an owned #cai_array, or empty. The destructor releases the reference; a copy adds
 * a reference to the same array. Functions other than those that take and return pointers require
 * that the object is not empty. Since 0.1. */
class array {
 public:
  /** An empty object. */
  array() noexcept = default;

  /** Takes over the caller's reference to an owned array, as C functions return it; or nullptr. */
  [[nodiscard]] static array adopt(cai_array *owned) noexcept { return array(owned); }

  /** Adds a reference to an owned array, or nullptr; the caller keeps its own reference. The struct
   * must be in its owner's block, as all arrays that libcai makes are: not a copy on the stack.
   * Throws #CAI_ERR_ARGUMENT for a borrowed array. */
  [[nodiscard]] static array retain(const cai_array *held) {
    if (held && !held->owner) {
      check(CAI_ERR_ARGUMENT,
            detail::failure(CAI_ERR_ARGUMENT, "a borrowed array cannot be held: own it"));
    }
    cai_array_retain(held);
    return array(const_cast<cai_array *>(held));
  }

  /** Makes an owned array, as cai_array_own(). `owner` is moved or copied to the heap, and ended
   * once, on any thread, when the last reference is released and all kept uses are complete. If it
   * can be called with no arguments, as a lambda that frees, it is called and then destroyed;
   * otherwise, as a std::shared_ptr, it is only destroyed. Its exceptions go to on_failure().
   *
   * @param borrowed  valid; its own owner, if any, is not touched
   * @throws error as cai_array_own(), std::bad_alloc, and exceptions of moving `owner`; `owner` is
   *         then destroyed if it was moved, and never called */
  template <detail::keepable Owner>
  [[nodiscard]] static array own(const cai_array &borrowed, Owner &&owner) {
    return detail::give(std::forward<Owner>(owner), [&](auto release, void *context) {
      return array(detail::ask<cai_array *>(cai_array_own, &borrowed, release, context));
    });
  }

  array(const array &other) noexcept : array_(other.array_) { cai_array_retain(array_); }
  array(array &&other) noexcept : array_(std::exchange(other.array_, nullptr)) {}
  array &operator=(array other) noexcept {
    std::swap(array_, other.array_);
    return *this;
  }
  ~array() { cai_array_release(array_); }

  /** The array, for C functions: borrowed from this object; nullptr if it is empty. */
  const cai_array *get() const noexcept { return array_; }

  /** Returns the reference to the caller, who must call cai_array_release(). The object is then
   * empty. */
  [[nodiscard]] cai_array *release() noexcept { return std::exchange(array_, nullptr); }

  /** Releases the reference now. */
  void reset() noexcept { cai_array_release(std::exchange(array_, nullptr)); }

  explicit operator bool() const noexcept { return array_ != nullptr; }
  const cai_array *operator->() const noexcept { return array_; }
  const cai_array &operator*() const noexcept { return *array_; }

  /** Extents, in elements; valid while the array is held. */
  std::span<const std::int64_t> shape() const noexcept { return dims(array_->shape); }
  /** Steps, in bytes, of any sign; likewise. */
  std::span<const std::int64_t> strides() const noexcept { return dims(array_->strides); }
  /** The type of an element. */
  const cai_dtype &dtype() const noexcept { return array_->dtype; }
  /** Address of the first element; 0 if there are none. */
  std::uint64_t data() const noexcept { return array_->data; }
  /** 1, 2, a CUstream or a CUevent, as `stream_kind` says; 0 for NONE and UNSTATED. */
  std::uint64_t stream() const noexcept { return array_->stream; }
  /** Whether the memory must not be written. */
  bool is_readonly() const noexcept { return (array_->flags & CAI_FLAG_READONLY) != 0; }

  /** A view, as cai_array_slice(): `x.slice({cai::range({}, {}, 2), cai::index(-1)})`. This and the
   * other views throw the failure of their C function. */
  [[nodiscard]] array slice(std::span<const cai_slice> items) const {
    return made(cai_array_slice, items.data(), detail::count_of(items));
  }
  [[nodiscard]] array slice(std::initializer_list<cai_slice> items) const {
    return slice(std::span(items.begin(), items.size()));
  }

  /** A view of another shape, in C order; one extent may be -1: cai_array_reshape(). */
  [[nodiscard]] array reshape(std::span<const std::int64_t> shape) const {
    return made(cai_array_reshape, shape.data(), detail::count_of(shape));
  }
  [[nodiscard]] array reshape(std::initializer_list<std::int64_t> shape) const {
    return reshape(std::span(shape.begin(), shape.size()));
  }

  /** A view with its axes reversed: cai_array_transpose(). */
  [[nodiscard]] array transpose() const { return transposed(nullptr); }

  /** A view whose axis i is axis axes[i] of the array. Throws #CAI_ERR_ARGUMENT also if the number
   * of axes differs from the array's. */
  [[nodiscard]] array transpose(std::span<const std::int32_t> axes) const {
    if (axes.size() != shape().size()) {
      check(
          CAI_ERR_ARGUMENT,
          detail::failure(CAI_ERR_ARGUMENT, "transpose: one axis is needed for each of the array"));
    }
    constexpr std::int32_t no_axes = 0;
    return transposed(axes.empty() ? &no_axes : axes.data());
  }
  [[nodiscard]] array transpose(std::initializer_list<std::int32_t> axes) const {
    return transpose(std::span(axes.begin(), axes.size()));
  }

  /** A read-only view of a larger shape: cai_array_broadcast(). */
  [[nodiscard]] array broadcast(std::span<const std::int64_t> shape) const {
    return made(cai_array_broadcast, shape.data(), detail::count_of(shape));
  }
  [[nodiscard]] array broadcast(std::initializer_list<std::int64_t> shape) const {
    return broadcast(std::span(shape.begin(), shape.size()));
  }

  /** Releases the reference once all work queued on `stream` so far is complete:
   * cai_array_release_on(). The object is then empty. If `stream` is being captured, the graph
   * takes over the reference. Throws the failure of that function, and then keeps the reference. */
  void release_on(std::uint64_t stream) {
    detail::call(cai_array_release_on, array_, stream);
    array_ = nullptr;
  }

  /** Producer's side: returns a view that comes with `target`, which waits for `streams`:
   * cai_array_publish(). `target` must live as long as the view. Throws the failure of that
   * function. */
  [[nodiscard]] array publish(std::span<const std::uint64_t> streams, std::uint64_t target) const {
    return made(cai_array_publish, streams.data(), detail::count_of(streams), target);
  }
  [[nodiscard]] array publish(std::initializer_list<std::uint64_t> streams,
                              std::uint64_t target) const {
    return publish(std::span(streams.begin(), streams.size()), target);
  }

  /** Producer's side: returns a view that comes with an event recorded on `stream`, which may then
   * be destroyed unless it is used again: cai_array_publish_event(). Throws the failure of that
   * function. */
  [[nodiscard]] array publish_event(std::uint64_t stream) const {
    return made(cai_array_publish_event, stream);
  }

  /** Producer's side: call it before work on `stream` that reads or (`access`, CAI_ACCESS_*) writes
   * an array that others may have used: cai_array_reclaim(). Throws the failure of that
   * function. */
  void reclaim(std::uint64_t stream, std::uint32_t access = CAI_ACCESS_DEFAULT) const {
    detail::call(cai_array_reclaim, array_, stream, access);
  }

 private:
  explicit array(cai_array *owned) noexcept : array_(owned) {}

  std::span<const std::int64_t> dims(const std::int64_t *values) const noexcept {
    return {values, static_cast<std::size_t>(array_->ndim)};
  }

  template <class Function, class... Arguments>
  array made(Function function, Arguments... arguments) const {
    return array(detail::ask<cai_array *>(function, array_, arguments...));
  }

  array transposed(const std::int32_t *axes) const { return made(cai_array_transpose, axes); }

  cai_array *array_ = nullptr;
};

// ---- Uses ---------------------------------------------------------------------------------------

/** Options of a use: #cai_use_options with names and defaults. Since 0.1.
 *
 *     cai::use guard(stream, x, y, cai::options{.access = CAI_ACCESS_READ});
 */
struct options {
  std::uint32_t order = CAI_ORDER_BOTH;      /**< CAI_ORDER_* */
  std::uint32_t access = CAI_ACCESS_DEFAULT; /**< CAI_ACCESS_* */
  std::uint32_t flags = 0;                   /**< CAI_USE_* */
  /** One CAI_ACCESS_* for each array, which replaces `access`, or NULL. Read during the call. */
  const std::uint32_t *accesses = nullptr;

  /** The C struct. */
  constexpr operator cai_use_options() const noexcept {
    return {sizeof(cai_use_options), order, access, flags, accesses};
  }
};

namespace detail {

// An array as an argument: a cai::array that is no temporary, or a cai_array by pointer or
// reference.
inline const cai_array *pointer_to(const array &value) noexcept {
  return value.get();
}
inline const cai_array *pointer_to(const cai_array &value) noexcept {
  return &value;
}
inline const cai_array *pointer_to(const cai_array *value) noexcept {
  return value;
}

template <class Argument>
concept lasting_array = requires(Argument &&value) {
  pointer_to(value);
} && (std::is_lvalue_reference_v<Argument> || std::is_pointer_v<std::remove_cvref_t<Argument>>);

// An array with its own access.
struct accessed {
  const cai_array *array;
  std::uint32_t access;
};

inline const cai_array *pointer_to(const accessed &value) noexcept {
  return value.array;
}

template <class Argument>
concept used_array =
    lasting_array<Argument> || std::same_as<std::remove_cvref_t<Argument>, accessed>;

// What an argument says of its use: cai::reads(x) itself, cai::readable by its type.
template <class Argument>
std::uint32_t access_of(const Argument &argument) noexcept {
  if constexpr (std::same_as<Argument, accessed>) {
    return argument.access;
  } else if constexpr (requires { Argument::access; }) {
    return Argument::access;
  } else {
    return CAI_ACCESS_DEFAULT;
  }
}

template <class Argument>
concept options_like = std::same_as<std::remove_cvref_t<Argument>, options>;

template <class... Arguments>
inline constexpr bool arrays_then_options = false;
template <class Last>
inline constexpr bool arrays_then_options<Last> = used_array<Last> || options_like<Last>;
template <class First, class... Others>
  requires(sizeof...(Others) > 0)
inline constexpr bool arrays_then_options<First, Others...> =
    used_array<First> && arrays_then_options<Others...>;

// The arguments of a use: arrays, and cai::options that may come last. `how` points into it.
template <std::size_t most>
struct use_arguments {
  const cai_array *arrays[most] = {};
  std::uint32_t accesses[most] = {};
  std::size_t count = 0;
  options how;

  template <class... Arguments>
  explicit use_arguments(const Arguments &...arguments) noexcept {
    bool each = false;
    const auto take = [&](const auto &argument) {
      if constexpr (options_like<decltype(argument)>) {
        how = argument;
      } else {
        accesses[count] = access_of(argument);
        each = each || accesses[count] != CAI_ACCESS_DEFAULT;
        arrays[count++] = pointer_to(argument);
      }
    };
    (take(arguments), ...);
    if (!each) return;
    for (std::size_t i = 0; i < count; ++i) {
      if (accesses[i] != CAI_ACCESS_DEFAULT) continue;
      accesses[i] = how.accesses ? how.accesses[i] : how.access;
    }
    how.accesses = accesses;
  }
  use_arguments(const use_arguments &) = delete;
  use_arguments &operator=(const use_arguments &) = delete;
};

}  // namespace detail

/** For cai::use: the array is only read, whatever the options say. Since 0.1. */
template <detail::lasting_array Array>
detail::accessed reads(Array &&array) noexcept {
  return {detail::pointer_to(array), CAI_ACCESS_READ};
}

/** For cai::use: the array is written, and may be read. Since 0.1. */
template <detail::lasting_array Array>
detail::accessed writes(Array &&array) noexcept {
  return {detail::pointer_to(array), CAI_ACCESS_WRITE};
}

/** Returns the one stream on which arrays can be used without any event, the producer's own:
 * cai_arrays_same_stream().
 * @return 1, 2 or a CUstream; std::nullopt if no array names a stream
 * @throws error with the failure of that function. Since 0.1. */
[[nodiscard]] inline std::optional<std::uint64_t> same_stream(
    std::span<const cai_array *const> arrays) {
  cai_error raw;
  std::uint64_t stream = 0;
  const bool fits = arrays.size() <= std::numeric_limits<std::int32_t>::max();
  check(fits ? cai_arrays_same_stream(arrays.data(), static_cast<std::int32_t>(arrays.size()),
                                      &stream, &raw)
             : detail::refuse(&raw, CAI_ERR_ARGUMENT, "more arrays than an int32_t counts"),
        raw);
  return stream == 0 ? std::nullopt : std::optional(stream);
}

/** Likewise: `cai::same_stream(x, y)`, with the arrays that cai::use takes, without reads() and
 * writes(). */
template <detail::lasting_array... Arrays>
[[nodiscard]] std::optional<std::uint64_t> same_stream(Arrays &&...arrays) {
  const cai_array *const pointers[] = {detail::pointer_to(arrays)...};
  return same_stream(std::span(pointers));
}

/** A use of arrays on a stream. The constructor begins it, cai_use_begin(); end() or the destructor
 * ends it, cai_use_end(), on every path, exceptions too.
 *
 *     {
 *       cai::use guard(stream, cai::reads(x), cai::writes(y));
 *       launch_my_kernels(stream);  // on this stream, and on no other
 *     }
 *
 * The guard holds no references: the arrays' owners must outlive it. Up to 8 arrays need no
 * allocation, or up to 4 if one has a mask. A guard that was moved from does nothing. The stream
 * must live until the use is over. Since 0.1. */
class use {
 public:
  /** A guard with no open use. */
  use() noexcept = default;

  /** Begins: `cai::use guard(stream, arrays..., options)`. Each array is a cai::array that is no
   * temporary, a `cai_array`, a pointer to one, a cai::readable or cai::writable (cai/python.hpp),
   * or the result of cai::reads() or cai::writes() for one of these. A cai::readable is read, a
   * cai::writable written. cai::options may come last: its `accesses`, or else its `access`, apply
   * to the arrays that do not say theirs.
   * @throws error with the failure of cai_use_begin(); no use is open then */
  template <class... Arguments>
    requires detail::arrays_then_options<Arguments...>
  explicit use(std::uint64_t stream, Arguments &&...arguments) {
    const detail::use_arguments<sizeof...(arguments)> given(arguments...);
    begin_or_throw(std::span(given.arrays, given.count), stream, given.how);
  }

  /** Likewise, for any number of arrays; the span need not outlive the call. */
  use(std::span<const cai_array *const> arrays, std::uint64_t stream, const options &how = {}) {
    begin_or_throw(arrays, stream, how);
  }

  /** Begins without throwing. If the guard has an open use already, it returns #CAI_ERR_ARGUMENT.
   * @param error  may be NULL
   * @return as cai_use_begin() */
  [[nodiscard]] cai_status try_begin(std::span<const cai_array *const> arrays, std::uint64_t stream,
                                     const options &how, cai_error *error) noexcept {
    if (active_) return detail::refuse(error, CAI_ERR_ARGUMENT, "the guard has arrays in use");
    if (arrays.size() > std::numeric_limits<std::int32_t>::max()) {
      return detail::refuse(error, CAI_ERR_ARGUMENT, "more arrays than an int32_t counts");
    }
    const cai_use_options options = how;
    const cai_status status = cai_use_begin(
        &use_, arrays.data(), static_cast<std::int32_t>(arrays.size()), stream, &options, error);
    active_ = status == CAI_OK;
    return status;
  }

  /** Ends the use; does nothing if none is open.
   * @throws error with the failure of cai_use_end(). The use is then still open: end it again, or
   *         the destructor ends it as far as it can */
  void end() {
    cai_error raw;
    check(try_end(&raw), raw);
  }

  /** Likewise, and throws nothing. @param error  may be NULL */
  [[nodiscard]] cai_status try_end(cai_error *error) noexcept {
    return closed(active_ ? cai_use_end(&use_, error) : cai_status{CAI_OK});
  }

  /** Ends a use whose work is complete, or was never queued: cai_use_finish().
   * @param wait  whether the host waits for the stream first
   * @throws error with the failure of that function; the use is then still open */
  void finish(bool wait) {
    cai_error raw;
    check(try_finish(wait, &raw), raw);
  }

  /** Likewise, and throws nothing. @param error  may be NULL */
  [[nodiscard]] cai_status try_finish(bool wait, cai_error *error) noexcept {
    return closed(active_ ? cai_use_finish(&use_, wait, error) : cai_status{CAI_OK});
  }

  /** Whether a use is open. */
  explicit operator bool() const noexcept { return active_; }

  use(const use &) = delete;
  use &operator=(const use &) = delete;
  use(use &&other) noexcept : use_(other.use_), active_(std::exchange(other.active_, false)) {}
  /** Ends this guard's own use first, as the destructor does. */
  use &operator=(use &&other) noexcept {
    if (this != &other) {
      end_somehow();
      use_ = other.use_;
      active_ = std::exchange(other.active_, false);
    }
    return *this;
  }

  /** Ends the use. If that fails, the failure goes to on_failure(), and the host waits for the
   * stream. If the host cannot wait, cai_use_abandon() keeps the memory safe; call cai_drain() with
   * `wait` before other code uses the arrays. */
  ~use() { end_somehow(); }

 private:
  void begin_or_throw(std::span<const cai_array *const> arrays, std::uint64_t stream,
                      const options &how) {
    cai_error raw;
    const cai_status status = try_begin(arrays, stream, how, &raw);
    check(status, raw);
  }

  cai_status closed(cai_status status) noexcept {
    if (status == CAI_OK) active_ = false;
    return status;
  }

  void end_somehow() noexcept {
    cai_error failure;
    if (try_end(&failure) == CAI_OK) return;
    detail::report(failure);
    if (try_finish(true, &failure) == CAI_OK) return;
    if (failure.status != CAI_ERR_CAPTURE) detail::report(failure);
    cai_use_abandon(&use_);
    active_ = false;
  }

  cai_use use_{};
  bool active_ = false;
};

}  // namespace v1
}  // namespace cai

#endif  // CAI_CAI_HPP
