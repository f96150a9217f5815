// SPDX-License-Identifier: BSD-3-Clause
// Arrays with owners: of libcai's making, and a producer's own.
#pragma once

#include <functional>
#include <memory>
#include <new>
#include <string>

#include "gpu.hpp"

namespace test {

inline cai_status begin_use(std::initializer_list<const cai_array *> arrays, std::uint64_t stream,
                            cai_error *error = nullptr, const cai_use_options *options = nullptr) {
  return begin_arrays(arrays.begin(), static_cast<std::int32_t>(arrays.size()), stream, options,
                      error);
}

inline cai_status end_use(std::initializer_list<const cai_array *> arrays, std::uint64_t stream,
                          cai_error *error = nullptr, const cai_use_options *options = nullptr) {
  return end_arrays(arrays.begin(), static_cast<std::int32_t>(arrays.size()), stream, options,
                    error);
}

inline cai_use_options access(std::uint32_t value, std::uint32_t flags = 0) {
  return {sizeof(cai_use_options), CAI_ORDER_BOTH, value, flags, nullptr};
}

inline std::string typestr(const cai_dtype &dtype) {
  char text[CAI_TYPESTR_SIZE];
  EXPECT_EQ(cai_dtype_format(&dtype, text, nullptr), CAI_OK);
  return text;
}

// The result of the last cai_array_release(): known for longer than the array exists.
class End {
 public:
  explicit operator bool() const { return *ended_ > 0; }
  int times() const { return *ended_; }

  std::function<void()> then;  // runs with it

  static void run(void *end) {
    std::unique_ptr<End> self(static_cast<End *>(end));
    ++*self->ended_;
    if (self->then) self->then();
  }

 private:
  std::shared_ptr<std::atomic<int>> ended_ = std::make_shared<std::atomic<int>>(0);
};

// An array that libcai has made owned, with one reference, which is released at the end of the
// scope at the latest. Then it has ended once, and nothing is left over.
class Owned {
 public:
  Owned(Address data, std::uint32_t kind, std::uint64_t stream = 0,
        std::function<void()> then = nullptr)
      : Owned(Array(data, kind, stream).array, std::move(then)) {}

  explicit Owned(const cai_array &borrowed, std::function<void()> then = nullptr) {
    end_.then = std::move(then);
    auto theirs = std::make_unique<End>(end_);
    MUST(cai_array_own(&borrowed, End::run, theirs.get(), &array_, nullptr));
    static_cast<void>(theirs.release());
  }
  Owned(const Owned &) = delete;
  Owned &operator=(const Owned &) = delete;
  ~Owned() {
    release();
    cai_error error{};
    EXPECT_EQ(cai_drain(1, nullptr, &error), CAI_OK) << error.message;
    EXPECT_EQ(end_.times(), 1);
  }

  void release() {
    if (const cai_array *const mine = std::exchange(array_, nullptr)) cai_array_release(mine);
  }
  // The reference was released in some other way.
  void gone() { array_ = nullptr; }

  bool ended() const { return bool(end_); }
  cai_array *get() const { return array_; }
  operator const cai_array *() const { return array_; }  // NOLINT(google-explicit-constructor)
  cai_array *operator->() const { return array_; }

 private:
  cai_array *array_ = nullptr;
  End end_;
};

// Bytes on the host that libcai knows by their array only.
struct HostBytes {
  Owned make() {
    Array array(reinterpret_cast<Address>(bytes), CAI_STREAM_NONE);
    array.array.device_type = CAI_DEVICE_CPU;
    array.array.device_id = 0;
    return Owned(array.array);
  }
  unsigned char bytes[count] = {};
};

// A view that cai_array_publish() or cai_array_publish_event() has made.
class Published {
 public:
  Published(const cai_array *array, std::uint64_t target,
            std::initializer_list<std::uint64_t> streams = {}) {
    cai_error error{};
    EXPECT_EQ(cai_array_publish(array, streams.begin(), static_cast<std::int32_t>(streams.size()),
                                target, &array_, &error),
              CAI_OK)
        << error.message;
  }
  static Published event(const cai_array *array, std::uint64_t stream) {
    cai_error error{};
    Published made;
    EXPECT_EQ(cai_array_publish_event(array, stream, &made.array_, &error), CAI_OK)
        << error.message;
    return made;
  }
  Published(Published &&other) noexcept : array_(std::exchange(other.array_, nullptr)) {}
  ~Published() { cai_array_release(array_); }

  operator const cai_array *() const { return array_; }  // NOLINT(google-explicit-constructor)
  const cai_array *operator->() const { return array_; }

 private:
  Published() = default;
  cai_array *array_ = nullptr;
};

// A producer's own owner, that keeps uses by libcai's functions: `size` bytes of it, and no more.
class Producer {
 public:
  explicit Producer(std::uint32_t flags = 0, std::uint32_t size = sizeof(cai_owner))
      : block_(::operator new(sizeof(Head) + size)) {
    new (block_) Head{&ended_};
    const cai_owner full{size,    flags, retain,  release, cai_owner_used_on, cai_owner_await_uses,
                         nullptr, 0,     nullptr, 0};
    std::memcpy(static_cast<void *>(owner()), &full, size);
  }
  Producer(const Producer &) = delete;
  Producer &operator=(const Producer &) = delete;
  ~Producer() {
    if (holder_) release();
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
    EXPECT_EQ(ended_, 1);
  }

  cai_owner *owner() const {
    return reinterpret_cast<cai_owner *>(static_cast<Head *>(block_) + 1);
  }
  void release() {
    holder_ = false;
    owner()->release(owner());
  }
  void gone() { holder_ = false; }
  bool ended() const { return ended_ > 0; }
  int holders() const { return static_cast<Head *>(block_)->holders; }

 private:
  struct Head {
    std::atomic<int> *ended;
    std::atomic<int> holders{1};
    std::uint64_t unused = 0;
  };

  static Head *head_of(cai_owner *owner) { return reinterpret_cast<Head *>(owner) - 1; }
  static void retain(cai_owner *owner) { ++head_of(owner)->holders; }
  static void end(cai_owner *owner) {
    ++*head_of(owner)->ended;
    ::operator delete(head_of(owner));
  }
  static void release(cai_owner *owner) {
    if (--head_of(owner)->holders) return;
    owner->struct_size >= sizeof *owner ? cai_owner_end(owner, end) : end(owner);
  }

  std::atomic<int> ended_{0};
  void *block_;
  bool holder_ = true;
};

// How often an array's last use could be ended, in the contexts that may be asked.
inline std::int64_t left_after_drain(std::int32_t wait = 0) {
  std::int64_t left = -1;
  cai_error error{};
  EXPECT_EQ(cai_drain(wait, &left, &error), CAI_OK) << error.message;
  return left;
}

}  // namespace test
