// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file device.hpp
 * cai/device.h for C++20: devices, streams and events, and guards that leave by themselves.
 *
 * The rules at the head of cai/cai.hpp hold here too. Beside them:
 *
 * - What a function does, and with which status it may fail, cai/device.h says in full. What fails
 *   throws cai::error; a guard that fails in its destructor tells cai::on_failure().
 * - An object that holds nothing is refused with #CAI_ERR_ARGUMENT, like C's NULL.
 * - A guard stays where it was made, and is left on the thread that made it.
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

// A text for C, which would not see what comes after a NUL.
inline const char *c_text(const std::string &text) {
  if (text.find('\0') != std::string::npos) {
    check(CAI_ERR_VALUE, failure(CAI_ERR_VALUE, "a NUL inside of a text: %s", text.c_str()));
  }
  return text.c_str();
}

// Work that is a callable: `work()`, which throws, or `cai_status work(cai_error *error)`.
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

// What C fills in as far as the caller knows it.
template <class Info, class Function, class... Arguments>
Info describe(Function function, Arguments... arguments) {
  Info out{};
  out.struct_size = sizeof out;
  call(function, arguments..., &out);
  return out;
}

}  // namespace detail

// ---- Devices ------------------------------------------------------------------------------------

/** How much memory there is, in bytes. Since 0.1. */
struct memory_amount {
  std::uint64_t free = 0;
  std::uint64_t total = 0;
};

/** The CPU or a GPU: #cai_device with functions. A value; that there is such a device is asked by
 * what needs it. Since 0.1. */
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

  /** Reads "cpu", "gpu", "gpu:1", "cuda:1" or "gpu:free": cai_device_parse(). */
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

  /** How many there are; 0 GPUs without a driver. */
  static std::int32_t count(std::int32_t type = CAI_DEVICE_CUDA) {
    return detail::ask<std::int32_t>(cai_device_count, type);
  }
  /** All there are, by their ordinals. */
  [[nodiscard]] static std::vector<device> all(std::int32_t type = CAI_DEVICE_CUDA) {
    std::vector<device> found;
    const std::int32_t many = count(type);
    for (std::int32_t id = 0; id < many; ++id) found.push_back(cai_device{type, id});
    return found;
  }
  /** The calling thread's: cai_device_current(). */
  [[nodiscard]] static device current(std::int32_t type = CAI_DEVICE_CUDA) {
    return detail::ask<cai_device>(cai_device_current, type);
  }
  /** The one with the most free memory: cai_device_most_free(). */
  [[nodiscard]] static device most_free(std::int32_t type = CAI_DEVICE_CUDA) {
    return detail::ask<cai_device>(cai_device_most_free, type);
  }
  /** The GPU with an identity, cai_device_info.uuid: cai_device_find(). */
  [[nodiscard]] static device find(std::span<const std::uint8_t, 16> uuid) {
    return detail::ask<cai_device>(cai_device_find, uuid.data());
  }

  /** Makes it the thread's, for good: cai_device_set_current(). For a while: cai::device_guard. */
  void set_current() const { detail::call(cai_device_set_current, raw_); }

  /** What is known of it: cai_device_describe(). */
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
  /** Whether its kernels can be allowed to use the other's memory: cai_device_can_access(). */
  bool can_access(const device &peer) const {
    return detail::ask<std::int32_t>(cai_device_can_access, raw_, peer.raw_) != 0;
  }

  /** Waits for all that is queued: cai_device_synchronize(). */
  void synchronize() const { detail::call(cai_device_synchronize, raw_); }
  /** cai_device_reset(). @param flags  CAI_RESET_* */
  void reset(std::uint32_t flags = 0) const { detail::call(cai_device_reset, raw_, flags); }
  /** Adds a callback of every reset: cai_device_on_reset(). */
  static void on_reset(void (*callback)(void *context, cai_device) noexcept, void *context) {
    detail::call(cai_device_on_reset, callback, context);
  }
  /** Takes it away: cai_device_off_reset(). */
  static void off_reset(void (*callback)(void *context, cai_device) noexcept, void *context) {
    detail::call(cai_device_off_reset, callback, context);
  }

  /** How many bytes of freed memory the current pool keeps: cai_device_set_cache(). */
  void set_cache(std::uint64_t bytes) const { detail::call(cai_device_set_cache, raw_, bytes); }
  /** Gives those beyond `keep` back: cai_device_trim_cache(). */
  void trim_cache(std::uint64_t keep = 0) const { detail::call(cai_device_trim_cache, raw_, keep); }

 private:
  cai_device raw_{CAI_DEVICE_CPU, 0};
};

/** A device that is current from the constructor, cai_device_enter(), to leave() or the destructor,
 * cai_device_leave(). Since 0.1. */
class device_guard {
 public:
  /** None is entered. */
  device_guard() noexcept = default;
  explicit device_guard(const device &entered) { detail::call(cai_device_enter, entered, &raw_); }
  device_guard(const device_guard &) = delete;
  device_guard &operator=(const device_guard &) = delete;
  ~device_guard() {
    cai_error raw;
    if (try_leave(&raw) != CAI_OK) detail::report(raw);
  }

  /** Leaves; nothing if none is entered. Throws as cai_device_leave() fails: it is entered still.
   */
  void leave() {
    detail::call([this](cai_error *raw) { return try_leave(raw); });
  }

  /** Enters, and throws nothing: for a guard with none entered, else #CAI_ERR_STATE.
   * @param error  may be NULL */
  [[nodiscard]] cai_status try_enter(const device &entered, cai_error *error) noexcept {
    if (*this) return detail::refuse(error, CAI_ERR_STATE, "the guard was entered already");
    return cai_device_enter(entered, &raw_, error);
  }
  /** Leaves, and throws nothing. @param error  may be NULL */
  [[nodiscard]] cai_status try_leave(cai_error *error) noexcept {
    return *this ? cai_device_leave(&raw_, error) : CAI_OK;
  }

  /** Whether one is entered. */
  explicit operator bool() const noexcept { return raw_.thread != 0; }

 private:
  cai_device_guard raw_{};
};

// ---- Streams ------------------------------------------------------------------------------------

/** One holder of an object that C counts, or none: what cai::stream, cai::event, cai::manager and
 * cai::memory have in common. A copy is another holder of the same object. Since 0.1. */
template <class Raw, void (*retain_raw)(Raw *), void (*release_raw)(Raw *)>
class handle {
 public:
  /** Holds none. */
  handle() noexcept = default;
  handle(const handle &other) noexcept : raw_(other.raw_) { retain_raw(raw_); }
  handle(handle &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  handle &operator=(handle other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~handle() { release_raw(raw_); }

  /** The object, for C functions: borrowed; nullptr if none is held. */
  Raw *get() const noexcept { return raw_; }
  /** Gives the holder to the caller, who ends it by C's release; then none is held. */
  [[nodiscard]] Raw *release() noexcept { return std::exchange(raw_, nullptr); }
  /** Lets go, without waiting for the destructor. */
  void reset() noexcept { release_raw(std::exchange(raw_, nullptr)); }

  explicit operator bool() const noexcept { return raw_ != nullptr; }
  /** Whether both hold the same object of C's. */
  friend bool operator==(const handle &a, const handle &b) noexcept { return a.raw_ == b.raw_; }

 protected:
  // Takes a holder over.
  explicit handle(Raw *held) noexcept : raw_(held) {}
  // Adds one.
  static Raw *retained(Raw *held) noexcept {
    retain_raw(held);
    return held;
  }

 private:
  Raw *raw_ = nullptr;
};

class event;

/** Work in order, on a GPU or on the CPU: #cai_stream. What is const here leaves the stream, not
 * its work, as it is. Since 0.1. */
class stream : public handle<cai_stream, cai_stream_retain, cai_stream_release> {
 public:
  /** Holds none. */
  stream() noexcept = default;
  /** Makes one: cai_stream_create(). @param mode  CAI_MODE_* */
  explicit stream(const cai::device &on, std::uint32_t mode = CAI_MODE_ASYNC,
                  std::int32_t priority = 0)
      : handle(detail::ask<cai_stream *>(cai_stream_create, cai_device(on), mode, priority)) {}

  /** Takes over the caller's holder, as C functions give it; or nullptr. */
  [[nodiscard]] static stream adopt(cai_stream *held) noexcept { return stream(held); }
  /** Adds a holder; the caller's, if it has one, is still the caller's. */
  [[nodiscard]] static stream retain(cai_stream *held) noexcept { return stream(retained(held)); }

  /** The calling thread's current one of a device: cai_stream_current(). */
  [[nodiscard]] static stream current(const cai::device &of) {
    return stream(detail::ask<cai_stream *>(cai_stream_current, cai_device(of)));
  }

  /** A handle for somebody else's, which must stay: cai_stream_wrap(). */
  [[nodiscard]] static stream wrap(const cai::device &on, std::uint64_t value) {
    return stream(
        detail::ask<cai_stream *>(cai_stream_wrap, cai_device(on), value, nullptr, nullptr));
  }
  /** Likewise with what keeps it, as in array::own(): dropped, and called before if it can be
   * called, once libcai needs the stream no longer. */
  template <detail::keepable Owner>
  [[nodiscard]] static stream wrap(const cai::device &on, std::uint64_t value, Owner &&owner) {
    return detail::give(std::forward<Owner>(owner), [&](auto release, void *context) {
      return stream(
          detail::ask<cai_stream *>(cai_stream_wrap, cai_device(on), value, release, context));
    });
  }

  /** 1, 2 or a CUstream, for cai::use and kernels; 0 on the CPU: cai_stream_value(). */
  std::uint64_t value() const noexcept { return cai_stream_value(get()); }
  /** What is known of it: cai_stream_describe(). */
  cai_stream_info info() const {
    return detail::describe<cai_stream_info>(cai_stream_describe, get());
  }
  cai::device device() const { return info().device; }

  /** Makes it the thread's current one of its device, for good. For a while: cai::stream_guard. */
  void set_current() const { detail::call(cai_stream_set_current, get()); }

  /** For work on a CPU stream to read: cai_stream_set_thread_limit(). */
  void set_thread_limit(std::int32_t threads) const {
    detail::call(cai_stream_set_thread_limit, get(), threads);
  }
  std::int32_t thread_limit() const { return info().thread_limit; }

  /** Queues work: cai_stream_enqueue(). It is moved or copied to the heap, called once with no
   * arguments, and destroyed; or only destroyed, if it is dropped because work before it failed.
   * What it throws becomes a failure of the stream: thrown as cai::error, once, by the next
   * enqueue(), is_busy(), synchronize() or follow(), or by this one if the stream works at once; if
   * none comes, on_failure() hears of it. Without exceptions, `cai_status work(cai_error *error)`
   * fails by its result.
   *
   * On a GPU's stream it must not call the driver, and is destroyed on another thread than it runs
   * on; the stream must not be captured (#CAI_ERR_CAPTURE). */
  template <detail::keepable Work>
    requires detail::runnable<std::decay_t<Work>>
  void enqueue(Work &&work) const {
    using Kept = std::decay_t<Work>;
    auto kept = std::make_unique<Kept>(std::forward<Work>(work));
    const auto run = [](void *context, cai_error *error) {
      return detail::run(*static_cast<Kept *>(context), "work on a stream", error);
    };
    detail::call(cai_stream_enqueue, get(), run, destroy<Kept>, static_cast<void *>(kept.get()));
    static_cast<void>(kept.release());  // the stream's now
  }

  /** Keeps objects, such as a std::shared_ptr, until the stream has passed what is queued on it by
   * now: cai_stream_attach(). They are moved or copied to the heap, and destroyed, not called. */
  template <detail::keepable... Objects>
    requires(sizeof...(Objects) > 0)
  void attach(Objects &&...objects) const {
    using Kept = std::tuple<std::decay_t<Objects>...>;
    auto kept = std::make_unique<Kept>(std::forward<Objects>(objects)...);
    detail::call(cai_stream_attach, get(), destroy<Kept>, static_cast<void *>(kept.get()));
    static_cast<void>(kept.release());  // the stream's now
  }

  /** Whether work is pending; throws what earlier work failed with: cai_stream_query(). */
  bool is_busy() const { return detail::ask<std::int32_t>(cai_stream_query, get()) != 0; }
  /** Waits; throws likewise: cai_stream_synchronize(). */
  void synchronize() const { detail::call(cai_stream_synchronize, get()); }

  /** Makes later work wait for what is queued on `other` by now: cai_stream_follow(). */
  void follow(const stream &other) const { detail::call(cai_stream_follow, get(), other.get()); }
  /** Makes later work wait for an event as it was recorded last: cai_event_wait(). */
  inline void follow(const event &other) const;

 private:
  explicit stream(cai_stream *held) noexcept : handle(held) {}

  template <class Kept>
  static void destroy(void *context) noexcept {
    delete static_cast<Kept *>(context);
  }
};

/** A stream that is the thread's current one of its device from the constructor,
 * cai_stream_enter(), to leave() or the destructor, which wait for its work: cai_stream_leave().
 * Since 0.1.
 *
 *     const cai::stream_guard guard(cai::stream(device));
 */
class stream_guard {
 public:
  /** None is entered. */
  stream_guard() noexcept = default;
  /** @param flags  CAI_LEAVE_*, for leaving */
  explicit stream_guard(const stream &entered, std::uint32_t flags = 0) : flags_(flags) {
    detail::call(cai_stream_enter, entered.get(), &raw_);
  }
  /** Makes the stream that it enters, which ends with the guard: `stream_guard on(gpu,
   * CAI_MODE_ASYNC);` */
  explicit stream_guard(const device &on, std::uint32_t mode = CAI_MODE_ASYNC,
                        std::uint32_t flags = 0)
      : stream_guard(stream(on, mode), flags) {}
  stream_guard(const stream_guard &) = delete;
  stream_guard &operator=(const stream_guard &) = delete;
  ~stream_guard() {
    cai_error raw;
    if (try_leave(&raw) != CAI_OK) detail::report(raw);
  }

  /** Leaves; nothing if none is entered. Throws as cai_stream_leave() fails: what failed on the
   * stream, and then it is left all the same; or #CAI_ERR_STATE, and it is entered still. */
  void leave() {
    detail::call([this](cai_error *raw) { return try_leave(raw); });
  }

  /** Enters, and throws nothing: for a guard with none entered, else #CAI_ERR_STATE.
   * @param error  may be NULL */
  [[nodiscard]] cai_status try_enter(const stream &entered, std::uint32_t flags,
                                     cai_error *error) noexcept {
    if (*this) return detail::refuse(error, CAI_ERR_STATE, "the guard was entered already");
    flags_ = flags;
    return cai_stream_enter(entered.get(), &raw_, error);
  }
  /** Leaves, and throws nothing. @param error  may be NULL */
  [[nodiscard]] cai_status try_leave(cai_error *error) noexcept {
    return *this ? cai_stream_leave(&raw_, flags_, error) : CAI_OK;
  }

  /** Whether one is entered. */
  explicit operator bool() const noexcept { return raw_.thread != 0; }

 private:
  cai_stream_guard raw_{};
  std::uint32_t flags_ = 0;
};

// ---- Events -------------------------------------------------------------------------------------

/** A point in the work of a stream: #cai_event. Since 0.1. */
class event : public handle<cai_event, cai_event_retain, cai_event_release> {
 public:
  /** Holds none. */
  event() noexcept = default;
  /** Makes one: cai_event_create(). @param flags  CAI_EVENT_* */
  explicit event(const cai::device &on, std::uint32_t flags = 0)
      : handle(detail::ask<cai_event *>(cai_event_create, cai_device(on), flags)) {}

  /** Takes over the caller's holder, as C functions give it; or nullptr. */
  [[nodiscard]] static event adopt(cai_event *held) noexcept { return event(held); }
  /** Adds a holder; the caller's, if it has one, is still the caller's. */
  [[nodiscard]] static event retain(cai_event *held) noexcept { return event(retained(held)); }

  /** The CUevent; 0 on the CPU: cai_event_value(). */
  std::uint64_t value() const noexcept { return cai_event_value(get()); }

  /** Puts it behind what is queued on a stream by now: cai_event_record(). What is to wait for it:
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
