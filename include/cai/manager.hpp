// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file manager.hpp
 * Memory managers, cai/memory.h, for C++20: to use, to wrap and to implement them.
 *
 * The rules at the head of cai/cai.hpp and cai/device.hpp hold here too.
 */
#ifndef CAI_MANAGER_HPP
#define CAI_MANAGER_HPP

#include <cai/memory.h>
#include <cai/device.hpp>

#include <string_view>

namespace cai {
inline namespace v1 {

namespace detail {

template <class T>
void destroy(void *object) {
  delete static_cast<T *>(object);
}

template <class Write>
void log_line(void *context, const char *text, std::uint64_t length) {
  run_unheard("a log", [&] { (*static_cast<Write *>(context))(std::string_view(text, length)); });
}

template <class Retry>
std::int32_t ask_again(void *context, std::uint64_t size, std::uint64_t attempt) {
  bool again = false;
  run_unheard("a retry", [&] { again = (*static_cast<Retry *>(context))(size, attempt); });
  return again;
}

}  // namespace detail

/** An allocation that is not freed, of manager::outstanding(): a copy of #cai_allocation. Since
 * 0.1. */
struct allocation {
  std::uint32_t kind = CAI_KIND_NONE; /**< CAI_KIND_* */
  std::uint64_t data = 0;             /**< address */
  std::uint64_t size = 0;             /**< bytes */
  std::uint64_t stream = 0;           /**< the stream that it was allocated on */
  double seconds = 0;                 /**< time of the allocation, since the manager was created */
  std::string caller;                 /**< the caller, if known */
};

/** Options of manager::pool(): #cai_pool_params with names and defaults. Since 0.1. */
struct pool_options {
  std::uint32_t flags = 0;     /**< CAI_POOL_* */
  std::uint64_t initial = 0;   /**< bytes that the pool allocates at creation */
  std::uint64_t maximum = 0;   /**< the most bytes that the pool may have; 0: the device's limit */
  std::uint64_t threshold = 0; /**< freed bytes that the pool caches; UINT64_MAX: all */
};

/** A manager of one device: #cai_manager. A const function does not change which manager the object
 * refers to. Since 0.1.
 *
 *     const auto pool = cai::manager::pool(device);
 *     cai::manager::limiting(cai::manager::tracking(pool), 1 << 30).install();
 */
class manager : public handle<cai_manager, cai_manager_retain, cai_manager_release> {
 public:
  /** An empty object. */
  manager() noexcept = default;

  /** Creates a manager by its name or its library: cai_manager_create().
   * @param upstream  the manager to wrap; may be empty
   * @param params    the C struct of params; may be nullptr */
  manager(const std::string &name, const cai::device &of, const manager &upstream = {},
          const void *params = nullptr)
      : handle(detail::ask<cai_manager *>(cai_manager_create, detail::c_text(name), params,
                                          cai_device(of), upstream.get())) {}

  /** Takes over the caller's reference, as C functions return it; or nullptr. */
  [[nodiscard]] static manager adopt(cai_manager *held) noexcept { return manager(held); }
  /** Adds a reference; the caller keeps its own. */
  [[nodiscard]] static manager retain(cai_manager *held) noexcept {
    return manager(retained(held));
  }

  /** A device's manager: cai_manager_of(). */
  [[nodiscard]] static manager of(const cai::device &device) {
    return manager(detail::ask<cai_manager *>(cai_manager_of, cai_device(device)));
  }
  /** Chooses by name the manager of every GPU that has none yet: cai_manager_choose(). */
  static void choose(const std::string &name) {
    detail::call(cai_manager_choose, detail::c_text(name));
  }

  /** A manager with its own pool of stream-ordered memory. */
  [[nodiscard]] static manager pool(const cai::device &of, const pool_options &how = {}) {
    const cai_pool_params params{sizeof params, how.flags,     how.initial,
                                 how.maximum,   how.threshold, 0};
    return manager("pool", of, {}, &params);
  }
  /** Wraps `upstream`, and counts allocations, see statistics(). */
  [[nodiscard]] static manager counting(const manager &upstream) {
    return around(upstream, "statistics");
  }
  /** Wraps `upstream`, and fails allocations beyond `limit` allocated bytes. */
  [[nodiscard]] static manager limiting(const manager &upstream, std::uint64_t limit) {
    const cai_limit_params params{sizeof params, 0, limit};
    return around(upstream, "limiting", &params);
  }
  /** Wraps `upstream`, and lists what is allocated, see outstanding(). */
  [[nodiscard]] static manager tracking(const manager &upstream) {
    return around(upstream, "tracking");
  }
  /** Wraps `upstream`, and appends a line for each call to a file, #cai_log_params. */
  [[nodiscard]] static manager logging(const manager &upstream, const std::string &path) {
    const cai_log_params params{sizeof params, 0,      detail::c_text(path), nullptr, nullptr,
                                nullptr,       nullptr};
    return around(upstream, "logging", &params);
  }
  /** Likewise, but calls `write(line)`, on any thread. `write` must outlive the manager and the
   * manager's memory. Its exceptions go to on_failure(). */
  template <class Write>
    requires std::is_object_v<Write> && std::invocable<Write &, std::string_view>
  [[nodiscard]] static manager logging(const manager &upstream, Write &write) {
    const cai_log_params params{
        sizeof params, 0, nullptr, detail::log_line<Write>, nullptr, address_of(write), nullptr};
    return around(upstream, "logging", &params);
  }
  /** Likewise with a function that is moved to the heap, and destroyed with the manager. */
  template <class Write>
    requires(!std::is_lvalue_reference_v<Write>) && std::invocable<Write &, std::string_view>
  [[nodiscard]] static manager logging(const manager &upstream, Write &&write) {
    auto kept = std::make_unique<Write>(std::move(write));
    const cai_log_params params{sizeof params,           0,       nullptr,
                                detail::log_line<Write>, nullptr, kept.get(),
                                detail::destroy<Write>};
    manager made = around(upstream, "logging", &params);
    static_cast<void>(kept.release());  // the manager owns it now
    return made;
  }
  /** Wraps `upstream`, and calls `bool retry(size, attempt)` when memory is short, to ask whether
   * to try again, #cai_retry_params. `retry` must outlive the manager. If it throws, the exception
   * goes to on_failure(), and counts as false. */
  template <class Retry>
    requires std::is_object_v<Retry> &&
             std::is_invocable_r_v<bool, Retry &, std::uint64_t, std::uint64_t>
  [[nodiscard]] static manager retrying(const manager &upstream, Retry &retry) {
    const cai_retry_params params{sizeof params, 0, detail::ask_again<Retry>, address_of(retry),
                                  nullptr};
    return around(upstream, "retrying", &params);
  }
  /** Likewise with a function that is moved to the heap, and destroyed with the manager. */
  template <class Retry>
    requires(!std::is_lvalue_reference_v<Retry>) &&
            std::is_invocable_r_v<bool, Retry &, std::uint64_t, std::uint64_t>
  [[nodiscard]] static manager retrying(const manager &upstream, Retry &&retry) {
    auto kept = std::make_unique<Retry>(std::move(retry));
    const cai_retry_params params{sizeof params, 0, detail::ask_again<Retry>, kept.get(),
                                  detail::destroy<Retry>};
    manager made = around(upstream, "retrying", &params);
    static_cast<void>(kept.release());  // the manager owns it now
    return made;
  }

  /** The name of its table; "" if the object is empty. */
  std::string name() const {
    const char *const text = cai_manager_name(get());
    return text ? text : "";
  }
  /** Its device; the object must not be empty. */
  cai::device device() const { return cai_manager_device(get()); }
  /** Makes it the manager of its device: cai_manager_install(). */
  void install() const {
    if (!*this) check(CAI_ERR_ARGUMENT, detail::failure(CAI_ERR_ARGUMENT, "manager is NULL"));
    detail::call(cai_manager_install, cai_device(device()), get());
  }
  /** Restores the device's default choice: cai_manager_install() with NULL. */
  static void uninstall(const cai::device &of) {
    detail::call(cai_manager_install, cai_device(of), nullptr);
  }

  /** Allocates without a handle, for wrapping managers and adaptors: cai_manager_alloc(). For
   * memory that frees itself, use cai::memory. */
  [[nodiscard]] cai_block alloc(std::uint64_t size, std::uint64_t align, std::uint32_t kind,
                                std::uint64_t stream) const {
    return detail::ask<cai_block>(cai_manager_alloc, get(), size, align, kind, stream);
  }
  /** Frees a block of alloc(): cai_manager_free(). */
  void free(const cai_block &block, std::uint32_t kind, std::uint64_t stream) const {
    detail::call(cai_manager_free, get(), &block, kind, stream);
  }

  /** The free and total memory that it reports: cai_manager_memory(). */
  memory_amount memory() const {
    memory_amount amount;
    detail::call(cai_manager_memory, get(), &amount.free, &amount.total);
    return amount;
  }
  /** Releases cached memory down to `keep` bytes: cai_manager_trim(). */
  void trim(std::uint64_t keep = 0) const { detail::call(cai_manager_trim, get(), keep); }

  /** Its counts, or those of the first upstream manager that counts: cai_manager_statistics(). */
  cai_statistics statistics() const {
    return detail::describe<cai_statistics>(cai_manager_statistics, get());
  }
  /** The allocations that are not freed, the oldest first, of this manager or of the first upstream
   * manager that tracks: cai_manager_outstanding(). Also throws std::bad_alloc. */
  [[nodiscard]] std::vector<allocation> outstanding() const {
    struct Found {
      std::vector<allocation> all;
      cai_error failure{};
    } found;
    const auto visit = [](void *context, const cai_allocation *seen) {
      auto &[all, failure] = *static_cast<Found *>(context);
      if (failure.status != CAI_OK) return;
      static_cast<void>(detail::as_status("what is out", &failure, [&] {
        all.push_back({seen->kind, seen->data, seen->size, seen->stream, seen->seconds,
                       seen->caller ? seen->caller : ""});
        return CAI_OK;
      }));
    };
    detail::call(cai_manager_outstanding, get(), visit, static_cast<void *>(&found));
    check(found.failure.status, found.failure);
    return std::move(found.all);
  }

 private:
  explicit manager(cai_manager *held) noexcept : handle(held) {}

  static manager around(const manager &upstream, const char *name, const void *params = nullptr) {
    if (!upstream) {
      check(CAI_ERR_ARGUMENT, detail::failure(CAI_ERR_ARGUMENT, "%s: around no manager", name));
    }
    return manager(name, upstream.device(), upstream, params);
  }

  template <class Object>
  static void *address_of(Object &object) noexcept {
    return const_cast<void *>(static_cast<const void *>(std::addressof(object)));
  }
};

// ---- Managers written in C++ --------------------------------------------------------------------

namespace detail {

template <class... Types>
struct in {};
template <class... Types>
struct out {};

// C passes structs by pointer; they are passed on by reference.
template <class Struct>
const Struct &pass(const Struct *value) noexcept {
  return *value;
}
template <class Value>
Value pass(Value value) noexcept {
  return value;
}
template <class Value>
using passed = decltype(pass(std::declval<Value>()));

// The function of a table that calls a member of T: `outputs member(inputs...)`, which throws, or
// `cai_status member(inputs..., outputs *..., cai_error *)`.
template <class T, class Member, class In, class Out = out<>>
struct entry;
template <class T, class Member, class... In, class... Out>
struct entry<T, Member, in<In...>, out<Out...>> {
  static constexpr bool as_c =
      std::is_invocable_r_v<cai_status, Member, T &, passed<In>..., Out *..., cai_error *>;
  static constexpr bool exists = as_c || std::is_invocable_v<Member, T &, passed<In>...>;

  static cai_status function(void *self, In... in, Out *...out, cai_error *error) noexcept {
    return as_status(T::name, error, [&]() -> cai_status {
      T &made = *static_cast<T *>(self);
      if constexpr (as_c) {
        return Member{}(made, pass(in)..., out..., error);
      } else if constexpr (sizeof...(Out) == 0) {
        static_assert(std::is_void_v<decltype(Member{}(made, pass(in)...))>,
                      "a member with no output is void, or takes a cai_error * last");
        Member{}(made, pass(in)...);
      } else {
        const std::tuple<Out...> values(Member{}(made, pass(in)...));
        std::tie(*out...) = values;
      }
      return CAI_OK;
    });
  }

  static cai_status nothing(void *, In..., Out *..., cai_error *) noexcept { return CAI_OK; }

  using pointer = cai_status (*)(void *, In..., Out *..., cai_error *);
  static constexpr pointer optional(pointer otherwise = nullptr) noexcept {
    static_assert(exists || !Member::template named<T>,
                  "a member of a manager has the name of one in cai_manager_table, but cannot be "
                  "called like it");
    if constexpr (exists) return function;
    return otherwise;
  }
};

// Whether T has a member of a name, and how it is called.
#define CAI_MEMBER(name)                                                                         \
  struct name##_member {                                                                         \
    template <class T>                                                                           \
    static constexpr bool named = requires { &T::name; };                                        \
    template <class T, class... In>                                                              \
    auto operator()(T &made, In &&...in) const -> decltype(made.name(std::forward<In>(in)...)) { \
      return made.name(std::forward<In>(in)...);                                                 \
    }                                                                                            \
  };
CAI_MEMBER(initialize)
CAI_MEMBER(reset)
CAI_MEMBER(memalloc)
CAI_MEMBER(memfree)
CAI_MEMBER(memhostalloc)
CAI_MEMBER(memhostfree)
CAI_MEMBER(mempin)
CAI_MEMBER(memunpin)
CAI_MEMBER(base)
CAI_MEMBER(get_ipc_handle)
CAI_MEMBER(open_ipc_handle)
CAI_MEMBER(close_ipc_handle)
CAI_MEMBER(get_memory_info)
CAI_MEMBER(defer_cleanup)
CAI_MEMBER(trim)
#undef CAI_MEMBER

template <class T>
cai_status create_manager(const void *params, cai_device device, cai_manager *upstream, void **self,
                          cai_error *error) noexcept {
  return as_status(T::name, error, [&] {
    if constexpr (std::is_constructible_v<T, cai::device, manager, const void *>) {
      *self = new T(cai::device(device), manager::retain(upstream), params);
    } else if constexpr (std::is_constructible_v<T, cai::device, manager>) {
      *self = new T(cai::device(device), manager::retain(upstream));
    } else if constexpr (std::is_constructible_v<T, cai::device>) {
      *self = new T(cai::device(device));
    } else {
      *self = new T();
    }
    return CAI_OK;
  });
}

template <class T>
void destroy_manager(void *self) noexcept {
  delete static_cast<T *>(self);
}

}  // namespace detail

/** Makes the table of a manager that is a class: one object is made for each cai_manager_create(),
 * by the constructor that takes the most of `(cai::device, cai::manager upstream, const void
 * *params)`, and each function calls the member of its name, with the arguments that the table
 * has:
 *
 *     struct mine {
 *       static constexpr const char *name = "mine";
 *       cai_block memalloc(std::uint64_t size, std::uint64_t align, std::uint32_t kind,
 *                          std::uint64_t stream);
 *       void memfree(const cai_block &block, std::uint64_t stream);
 *     };
 *     cai::register_manager<mine>();
 *
 * Only these three are required. Without `initialize()` or `reset()`, that function does nothing.
 * The table has the other functions that the class has: `memhostalloc` and so on, with the names
 * and inputs of #cai_manager_table. Each returns its output, or a std::pair of two (`base`,
 * `get_memory_info`: free and total, `get_ipc_handle`: the handle and the descriptor), and may
 * throw: cai::error returns its status, std::bad_alloc #CAI_ERR_MEMORY, any other exception
 * #CAI_ERR_ARGUMENT with its what(). Or it takes the outputs as pointers and a `cai_error *` last,
 * and returns a #cai_status. The arguments are converted as in any call. A member with one of these
 * names that cannot be called so does not compile, unless it is overloaded or a template.
 *
 * As a library for CAI_MEMORY_MANAGER, also where `-fvisibility=hidden` hides the rest:
 *
 *     extern "C" __attribute__((visibility("default")))
 *     const cai_manager_table cai_manager_table_export = cai::manager_table_for<mine>();
 *
 * Since 0.1. */
template <class T>
constexpr cai_manager_table manager_table_for() noexcept {
  using detail::entry, detail::in, detail::out;
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  using block = const cai_block *;
  using handle = const cai_ipc_handle *;
  static_assert(std::is_nothrow_destructible_v<T>, "a manager's destructor must not throw");
  using memalloc = entry<T, detail::memalloc_member, in<u64, u64, u32, u64>, out<cai_block>>;
  using memfree = entry<T, detail::memfree_member, in<block, u64>>;
  static_assert(memalloc::exists, "a manager has cai_block memalloc(size, align, kind, stream)");
  static_assert(memfree::exists, "a manager has void memfree(const cai_block &, stream)");
  using initialize = entry<T, detail::initialize_member, in<>>;
  using reset = entry<T, detail::reset_member, in<>>;

  cai_manager_table table{};
  table.struct_size = sizeof table;
  table.version = CAI_MANAGER_VERSION;
  table.name = T::name;
  table.create = detail::create_manager<T>;
  table.destroy = detail::destroy_manager<T>;
  table.initialize = initialize::optional(initialize::nothing);
  table.reset = reset::optional(reset::nothing);
  table.memalloc = memalloc::function;
  table.memfree = memfree::function;
  table.memhostalloc =
      entry<T, detail::memhostalloc_member, in<u64, u64, u32, u32>, out<cai_block>>::optional();
  table.memhostfree = entry<T, detail::memhostfree_member, in<block>>::optional();
  table.mempin =
      entry<T, detail::mempin_member, in<void *, u64, u32, u32>, out<cai_block>>::optional();
  table.memunpin = entry<T, detail::memunpin_member, in<block>>::optional();
  table.base = entry<T, detail::base_member, in<u64>, out<u64, u64>>::optional();
  table.get_ipc_handle = entry<T, detail::get_ipc_handle_member, in<block>,
                               out<cai_ipc_handle, std::int32_t>>::optional();
  table.open_ipc_handle = entry<T, detail::open_ipc_handle_member, in<handle, std::int32_t, u64>,
                                out<cai_block>>::optional();
  table.close_ipc_handle = entry<T, detail::close_ipc_handle_member, in<block, u64>>::optional();
  table.get_memory_info = entry<T, detail::get_memory_info_member, in<>, out<u64, u64>>::optional();
  table.defer_cleanup = entry<T, detail::defer_cleanup_member, in<std::int32_t>>::optional();
  table.trim = entry<T, detail::trim_member, in<u64>>::optional();
  return table;
}

/** Registers the class's table under `T::name`, for cai::manager: cai_manager_register(). The
 * class's code must stay loaded for the life of the process. Since 0.1. */
template <class T>
void register_manager() {
  static constexpr cai_manager_table table = manager_table_for<T>();
  detail::call(cai_manager_register, T::name, &table);
}

}  // namespace v1
}  // namespace cai

#endif  // CAI_MANAGER_HPP
