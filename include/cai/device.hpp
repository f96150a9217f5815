// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file device.hpp cai/device.h for C++20: devices, streams and events, and RAII guards.
 *
 * The rules at the head of cai/cai.hpp hold here too. Beside them:
 *
 * - cai/device.h documents in full what each function does, and with which status it fails.
 *   Failures throw cai::error; the failure of a guard's destructor goes to cai::on_failure().
 * - An empty object returns #CAI_ERR_ARGUMENT, like a NULL in C.
 * - A guard cannot be moved, and must be left on the thread that made it.
 */
#ifndef CAI_DEVICE_HPP
#define CAI_DEVICE_HPP

#include <cai/device.h>
#include <cai/cai.hpp>

#include <algorithm>
#include <tuple>
#include <vector>

namespace cai {
inline namespace v1 {

namespace detail {

// A text for C, which would ignore everything after a NUL.
inline const char *c_text(const std::string &text) {
  if (text.find('\0') != std::string::npos) {
    check(CAI_ERR_VALUE, failure(CAI_ERR_VALUE, "a NUL inside of a text: %s", text.c_str()));
  }
  return text.c_str();
}

// A callable as work: `work()`, which may throw, or `cai_status work(cai_error *error)`.
template <class Work>
concept runnable = std::invocable<Work &> || std::is_invocable_r_v<cai_status, Work &, cai_error *>;

template <runnable Work>
cai_status run(Work &work, const char *who, cai_error *error) noexcept {
  return as_status(who, error, [&]() -> cai_status {
    if constexpr (std::is_invocable_r_v<cai_status, Work &, cai_error *>) {
      return work(error);
    } else {
      static_cast<void>(work());
      return CAI_OK;
    }
  });
}

// A struct that C fills in up to the size that the caller knows.
template <class Info, class Function, class... Arguments>
Info describe(Function function, Arguments... arguments) {
  Info out{};
  out.struct_size = sizeof out;
  call(function, arguments..., &out);
  return out;
}

}  // namespace detail

// ---- Devices ------------------------------------------------------------------------------------

/** An amount of memory, in bytes. Since 0.1. */
struct memory_amount {
  std::uint64_t free = 0;
  std::uint64_t total = 0;
};

/** The CPU or a GPU: #cai_device with functions. A plain value; only functions that need the device
 * check that it exists. Since 0.1. */
class device {
 public:
  /** The CPU. */
  constexpr device() noexcept = default;
  constexpr device(const cai_device &raw) noexcept : raw_(raw) {}
  constexpr operator cai_device() const noexcept { return raw_; }

  static constexpr device cpu() noexcept { return {}; }
  static constexpr device gpu(std::int32_t ordinal) noexcept {
    return cai_device{CAI_DEVICE_CUDA, ordinal};
  }

  /** Parses "cpu", "gpu", "gpu:1", "cuda:1" or "gpu:free": cai_device_parse(). */
  [[nodiscard]] static device parse(const std::string &text) {
    return detail::ask<cai_device>(cai_device_parse, detail::c_text(text));
  }
  /** Writes "cpu" or "gpu:1": cai_device_format(). */
  [[nodiscard]] std::string format() const {
    char text[CAI_DEVICE_TEXT_SIZE];
    detail::call(cai_device_format, raw_, text);
    return text;
  }

  constexpr bool is_cpu() const noexcept { return raw_.type == CAI_DEVICE_CPU; }
  constexpr bool is_gpu() const noexcept { return raw_.type == CAI_DEVICE_CUDA; }
  /** #CAI_DEVICE_CPU or #CAI_DEVICE_CUDA. */
  constexpr std::int32_t type() const noexcept { return raw_.type; }
  /** The ordinal; 0 for the CPU. */
  constexpr std::int32_t id() const noexcept { return raw_.id; }
  friend constexpr bool operator==(const device &a, const device &b) noexcept {
    return a.raw_.type == b.raw_.type && a.raw_.id == b.raw_.id;
  }

  /** The number of devices of a type; 0 GPUs without a driver. */
  static std::int32_t count(std::int32_t type = CAI_DEVICE_CUDA) {
    return detail::ask<std::int32_t>(cai_device_count, type);
  }
  /** All devices of a type, by ordinal. */
  [[nodiscard]] static std::vector<device> all(std::int32_t type = CAI_DEVICE_CUDA) {
    std::vector<device> found;
    const std::int32_t many = count(type);
    for (std::int32_t id = 0; id < many; ++id) found.push_back(cai_device{type, id});
    return found;
  }
  /** The calling thread's current device: cai_device_current(). */
  [[nodiscard]] static device current(std::int32_t type = CAI_DEVICE_CUDA) {
    return detail::ask<cai_device>(cai_device_current, type);
  }
  /** The device with the most free memory: cai_device_most_free(). */
  [[nodiscard]] static device most_free(std::int32_t type = CAI_DEVICE_CUDA) {
    return detail::ask<cai_device>(cai_device_most_free, type);
  }
  /** The GPU with a UUID, cai_device_info.uuid: cai_device_find(). */
  [[nodiscard]] static device find(std::span<const std::uint8_t, 16> uuid) {
    return detail::ask<cai_device>(cai_device_find, uuid.data());
  }

  /** Makes it the thread's current device: cai_device_set_current(). For a scope, use
   * cai::device_guard. */
  void set_current() const { detail::call(cai_device_set_current, raw_); }

  /** Its properties: cai_device_describe(). */
  cai_device_info info() const {
    return detail::describe<cai_device_info>(cai_device_describe, raw_);
  }
  /** A few lines for people: cai_device_summary(). */
  [[nodiscard]] std::string summary() const {
    std::uint64_t length = 0;
    detail::call(cai_device_summary, raw_, nullptr, std::uint64_t{0}, &length);
    std::string text(length + 1, '\0');  // of the NUL, too
    detail::call(cai_device_summary, raw_, text.data(), text.size(), &length);
    text.resize(std::min<std::size_t>(length, text.size() - 1));
    return text;
  }
  /** cai_device_memory() */
  memory_amount memory() const {
    memory_amount amount;
    detail::call(cai_device_memory, raw_, &amount.free, &amount.total);
    return amount;
  }
  /** Whether its kernels can be given access to the peer's memory: cai_device_can_access(). */
  bool can_access(const device &peer) const {
    return detail::ask<std::int32_t>(cai_device_can_access, raw_, peer.raw_) != 0;
  }

  /** Waits for all queued work: cai_device_synchronize(). */
  void synchronize() const { detail::call(cai_device_synchronize, raw_); }
  /** cai_device_reset(). @param flags  CAI_RESET_* */
  void reset(std::uint32_t flags = 0) const { detail::call(cai_device_reset, raw_, flags); }
  /** Adds a callback of every reset: cai_device_on_reset(). */
  static void on_reset(void (*callback)(void *context, cai_device) noexcept, void *context) {
    detail::call(cai_device_on_reset, callback, context);
  }
  /** Removes a callback: cai_device_off_reset(). */
  static void off_reset(void (*callback)(void *context, cai_device) noexcept, void *context) {
    detail::call(cai_device_off_reset, callback, context);
  }

  /** Sets how many bytes of freed memory the current pool caches: cai_device_set_cache(). */
  void set_cache(std::uint64_t bytes) const { detail::call(cai_device_set_cache, raw_, bytes); }
  /** Releases cached memory down to `keep` bytes: cai_device_trim_cache(). */
  void trim_cache(std::uint64_t keep = 0) const { detail::call(cai_device_trim_cache, raw_, keep); }

 private:
  cai_device raw_{CAI_DEVICE_CPU, 0};
};

/** A guard that makes a device current from its constructor, cai_device_enter(), to leave() or its
 * destructor, cai_device_leave(). Since 0.1. */
class device_guard {
 public:
  /** An empty guard. */
  device_guard() noexcept = default;
  explicit device_guard(const device &entered) { detail::call(cai_device_enter, entered, &raw_); }
  device_guard(const device_guard &) = delete;
  device_guard &operator=(const device_guard &) = delete;
  ~device_guard() {
    cai_error raw;
    if (try_leave(&raw) != CAI_OK) detail::report(raw);
  }

  /** Leaves the device; does nothing if the guard is empty. Throws the failure of
   * cai_device_leave(); the device is then still entered. */
  void leave() {
    detail::call([this](cai_error *raw) { return try_leave(raw); });
  }

  /** Enters without throwing. If the guard is not empty, it returns #CAI_ERR_STATE.
   * @param error  may be NULL */
  [[nodiscard]] cai_status try_enter(const device &entered, cai_error *error) noexcept {
    if (*this) return detail::refuse(error, CAI_ERR_STATE, "the guard was entered already");
    return cai_device_enter(entered, &raw_, error);
  }
  /** Leaves without throwing. @param error may be NULL */
  [[nodiscard]] cai_status try_leave(cai_error *error) noexcept {
    return *this ? cai_device_leave(&raw_, error) : CAI_OK;
  }

  /** Whether the guard is entered. */
  explicit operator bool() const noexcept { return raw_.thread != 0; }

 private:
  cai_device_guard raw_{};
};

// ---- Streams ------------------------------------------------------------------------------------

/** A reference to a reference-counted C object, or empty: the base of cai::stream, cai::event,
 * cai::manager and cai::memory. A copy adds a reference to the same object. Since 0.1. */
template <class Raw, void (*retain_raw)(Raw *), void (*release_raw)(Raw *)>
class handle {
 public:
  /** An empty object. */
  handle() noexcept = default;
  handle(const handle &other) noexcept : raw_(other.raw_) { retain_raw(raw_); }
  handle(handle &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  handle &operator=(handle other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~handle() { release_raw(raw_); }

  /** The object, for C functions: borrowed; nullptr if empty. */
  Raw *get() const noexcept { return raw_; }
  /** Returns the reference to the caller, who must release it by C's function. The object is then
   * empty. */
  [[nodiscard]] Raw *release() noexcept { return std::exchange(raw_, nullptr); }
  /** Releases the reference now. */
  void reset() noexcept { release_raw(std::exchange(raw_, nullptr)); }

  explicit operator bool() const noexcept { return raw_ != nullptr; }
  /** Whether both refer to the same C object. */
  friend bool operator==(const handle &a, const handle &b) noexcept { return a.raw_ == b.raw_; }

 protected:
  // Takes over a reference.
  explicit handle(Raw *held) noexcept : raw_(held) {}
  // Adds a reference.
  static Raw *retained(Raw *held) noexcept {
    retain_raw(held);
    return held;
  }

 private:
  Raw *raw_ = nullptr;
};

class event;

/** A queue of ordered work, on a GPU or on the CPU: #cai_stream. A const function does not change
 * which stream the object refers to; it may queue work. Since 0.1. */
class stream : public handle<cai_stream, cai_stream_retain, cai_stream_release> {
 public:
  /** An empty object. */
  stream() noexcept = default;
  /** Creates a stream: cai_stream_create(). @param mode CAI_MODE_* */
  explicit stream(const cai::device &on, std::uint32_t mode = CAI_MODE_ASYNC,
                  std::int32_t priority = 0)
      : handle(detail::ask<cai_stream *>(cai_stream_create, cai_device(on), mode, priority)) {}

  /** Takes over the caller's reference, as C functions return it; or nullptr. */
  [[nodiscard]] static stream adopt(cai_stream *held) noexcept { return stream(held); }
  /** Adds a reference; the caller keeps its own. */
  [[nodiscard]] static stream retain(cai_stream *held) noexcept { return stream(retained(held)); }

  /** The calling thread's current stream of a device: cai_stream_current(). */
  [[nodiscard]] static stream current(const cai::device &of) {
    return stream(detail::ask<cai_stream *>(cai_stream_current, cai_device(of)));
  }

  /** A handle for a stream of other code, which must outlive it: cai_stream_wrap(). */
  [[nodiscard]] static stream wrap(const cai::device &on, std::uint64_t value) {
    return stream(
        detail::ask<cai_stream *>(cai_stream_wrap, cai_device(on), value, nullptr, nullptr));
  }
  /** Likewise with an owner that keeps the stream alive, as in array::own(): it is ended once
   * libcai no longer needs the stream. */
  template <detail::keepable Owner>
  [[nodiscard]] static stream wrap(const cai::device &on, std::uint64_t value, Owner &&owner) {
    return detail::give(std::forward<Owner>(owner), [&](auto release, void *context) {
      return stream(
          detail::ask<cai_stream *>(cai_stream_wrap, cai_device(on), value, release, context));
    });
  }

  /** 1, 2 or a CUstream, for cai::use and kernels; 0 on the CPU: cai_stream_value(). */
  std::uint64_t value() const noexcept { return cai_stream_value(get()); }
  /** Its properties: cai_stream_describe(). */
  cai_stream_info info() const {
    return detail::describe<cai_stream_info>(cai_stream_describe, get());
  }
  cai::device device() const { return info().device; }

  /** Makes it the thread's current stream of its device. For a scope, use cai::stream_guard. */
  void set_current() const { detail::call(cai_stream_set_current, get()); }

  /** Sets the limit of threads that work on a CPU stream reads: cai_stream_set_thread_limit(). */
  void set_thread_limit(std::int32_t threads) const {
    detail::call(cai_stream_set_thread_limit, get(), threads);
  }
  std::int32_t thread_limit() const { return info().thread_limit; }

  /** Queues work: cai_stream_enqueue(). `work` is moved or copied to the heap, called once with no
   * arguments, and destroyed; it is only destroyed if it is dropped because earlier work failed.
   * Its exception becomes a failure of the stream, which the next enqueue(), is_busy(),
   * synchronize() or follow() throws once as cai::error, or this call if the stream works at once.
   * If there is no such call, the failure goes to on_failure(). Without exceptions, `cai_status
   * work(cai_error *error)` returns its failure.
   *
   * On a GPU stream `work` must not call the driver, and is destroyed on another thread than the
   * one it runs on; the stream must not be captured (#CAI_ERR_CAPTURE). */
  template <detail::keepable Work>
    requires detail::runnable<std::decay_t<Work>>
  void enqueue(Work &&work) const {
    using Kept = std::decay_t<Work>;
    auto kept = std::make_unique<Kept>(std::forward<Work>(work));
    const auto run = [](void *context, cai_error *error) {
      return detail::run(*static_cast<Kept *>(context), "work on a stream", error);
    };
    detail::call(cai_stream_enqueue, get(), run, destroy<Kept>, static_cast<void *>(kept.get()));
    static_cast<void>(kept.release());  // the stream owns it now
  }

  /** Keeps objects, such as a std::shared_ptr, until the work queued on the stream so far is
   * complete: cai_stream_attach(). They are moved or copied to the heap, and destroyed, not
   * called. */
  template <detail::keepable... Objects>
    requires(sizeof...(Objects) > 0)
  void attach(Objects &&...objects) const {
    using Kept = std::tuple<std::decay_t<Objects>...>;
    auto kept = std::make_unique<Kept>(std::forward<Objects>(objects)...);
    detail::call(cai_stream_attach, get(), destroy<Kept>, static_cast<void *>(kept.get()));
    static_cast<void>(kept.release());  // the stream owns it now
  }

  /** Whether work is pending; throws the failure of earlier work: cai_stream_query(). */
  bool is_busy() const { return detail::ask<std::int32_t>(cai_stream_query, get()) != 0; }
  /** Waits; throws likewise: cai_stream_synchronize(). */
  void synchronize() const { detail::call(cai_stream_synchronize, get()); }

  /** Makes later work wait for the work queued on `other` so far: cai_stream_follow(). */
  void follow(const stream &other) const { detail::call(cai_stream_follow, get(), other.get()); }
  /** Makes later work wait for the last record of an event: cai_event_wait(). */
  inline void follow(const event &other) const;

 private:
  explicit stream(cai_stream *held) noexcept : handle(held) {}

  template <class Kept>
  static void destroy(void *context) noexcept {
    delete static_cast<Kept *>(context);
  }
};

/** A guard that makes a stream the thread's current stream of its device from its constructor,
 * cai_stream_enter(), to leave() or its destructor, which wait for the stream's work:
 * cai_stream_leave(). Since 0.1.
 *
 *     const cai::stream_guard guard{cai::stream(device)};
 */
class stream_guard {
 public:
  /** An empty guard. */
  stream_guard() noexcept = default;
  /** @param flags  CAI_LEAVE_*, for leaving */
  explicit stream_guard(const stream &entered, std::uint32_t flags = 0) : flags_(flags) {
    detail::call(cai_stream_enter, entered.get(), &raw_);
  }
  /** Creates a stream and enters it; the guard holds it: `stream_guard on(gpu, CAI_MODE_ASYNC);` */
  explicit stream_guard(const device &on, std::uint32_t mode = CAI_MODE_ASYNC,
                        std::uint32_t flags = 0)
      : stream_guard(stream(on, mode), flags) {}
  stream_guard(const stream_guard &) = delete;
  stream_guard &operator=(const stream_guard &) = delete;
  ~stream_guard() {
    cai_error raw;
    if (try_leave(&raw) != CAI_OK) detail::report(raw);
  }

  /** Leaves the stream; does nothing if the guard is empty. Throws the failure of
   * cai_stream_leave(): one of stream::synchronize(), after which the stream is left all the same;
   * or #CAI_ERR_STATE on another thread or out of order, and the stream is still entered. The
   * first may be #CAI_ERR_STATE, too, after a reset: whether the guard is entered tells. */
  void leave() {
    detail::call([this](cai_error *raw) { return try_leave(raw); });
  }

  /** Enters without throwing. If the guard is not empty, it returns #CAI_ERR_STATE.
   * @param error  may be NULL */
  [[nodiscard]] cai_status try_enter(const stream &entered, std::uint32_t flags,
                                     cai_error *error) noexcept {
    if (*this) return detail::refuse(error, CAI_ERR_STATE, "the guard was entered already");
    flags_ = flags;
    return cai_stream_enter(entered.get(), &raw_, error);
  }
  /** Leaves without throwing. @param error may be NULL */
  [[nodiscard]] cai_status try_leave(cai_error *error) noexcept {
    return *this ? cai_stream_leave(&raw_, flags_, error) : CAI_OK;
  }

  /** Whether the guard is entered. */
  explicit operator bool() const noexcept { return raw_.thread != 0; }

 private:
  cai_stream_guard raw_{};
  std::uint32_t flags_ = 0;
};

// ---- Events -------------------------------------------------------------------------------------

/** A point in the work of a stream: #cai_event. Since 0.1. */
class event : public handle<cai_event, cai_event_retain, cai_event_release> {
 public:
  /** An empty object. */
  event() noexcept = default;
  /** Creates an event: cai_event_create(). @param flags CAI_EVENT_* */
  explicit event(const cai::device &on, std::uint32_t flags = 0)
      : handle(detail::ask<cai_event *>(cai_event_create, cai_device(on), flags)) {}

  /** Takes over the caller's reference, as C functions return it; or nullptr. */
  [[nodiscard]] static event adopt(cai_event *held) noexcept { return event(held); }
  /** Adds a reference; the caller keeps its own. */
  [[nodiscard]] static event retain(cai_event *held) noexcept { return event(retained(held)); }

  /** The CUevent; 0 on the CPU: cai_event_value(). */
  std::uint64_t value() const noexcept { return cai_event_value(get()); }

  /** Records it after the work queued on a stream so far: cai_event_record(). To wait for it, call
   * stream::follow(). */
  void record(const stream &on) const { detail::call(cai_event_record, get(), on.get()); }
  /** Whether work before it is pending: cai_event_query(). */
  bool is_busy() const { return detail::ask<std::int32_t>(cai_event_query, get()) != 0; }
  /** Waits for the work before it: cai_event_synchronize(). */
  void synchronize() const { detail::call(cai_event_synchronize, get()); }
  /** The time from `start` to this one; both with #CAI_EVENT_TIMING: cai_event_elapsed(). */
  double milliseconds_since(const event &start) const {
    return detail::ask<double>(cai_event_elapsed, start.get(), get());
  }

 private:
  explicit event(cai_event *held) noexcept : handle(held) {}
};

inline void stream::follow(const event &other) const {
  detail::call(cai_event_wait, other.get(), get());
}

}  // namespace v1
}  // namespace cai

#endif  // CAI_DEVICE_HPP
