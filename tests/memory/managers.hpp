// SPDX-License-Identifier: BSD-3-Clause
// Managers for tests: handles that end by themselves, and one that writes down how it is called.
#pragma once

#include <cai/memory.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hook.hpp"
#include "statuses.hpp"

namespace test {

inline bool contains(const char *text, const std::string &part) {
  return std::string(text).find(part) != std::string::npos;
}

// One holder of a manager.
class Manager {
 public:
  Manager() = default;
  explicit Manager(cai_manager *manager) : manager_(manager) {}
  Manager(Manager &&other) noexcept : manager_(std::exchange(other.manager_, nullptr)) {}
  Manager &operator=(Manager &&other) noexcept {
    std::swap(manager_, other.manager_);
    return *this;
  }
  ~Manager() { cai_manager_release(manager_); }
  operator cai_manager *() const { return manager_; }  // NOLINT(google-explicit-constructor)
  void end() { cai_manager_release(std::exchange(manager_, nullptr)); }

 private:
  cai_manager *manager_ = nullptr;
};

inline Manager make(const char *name, cai_device device, const void *params = nullptr,
                    cai_manager *upstream = nullptr) {
  cai_manager *made = nullptr;
  cai_error error{};
  EXPECT_EQ(cai_manager_create(name, params, device, upstream, &made, &error), CAI_OK)
      << error.message;
  return Manager(made);
}

// The status of a creation that must fail, and its message.
inline std::pair<cai_status, std::string> refusal(const char *name, cai_device device,
                                                  const void *params = nullptr,
                                                  cai_manager *upstream = nullptr) {
  auto *const untouched = reinterpret_cast<cai_manager *>(8);
  cai_manager *made = untouched;
  cai_error error{};
  const cai_status status = cai_manager_create(name, params, device, upstream, &made, &error);
  EXPECT_EQ(made, untouched);
  EXPECT_EQ(error.status, status);
  return {status, error.message};
}

inline Manager manager_of(cai_device device) {
  cai_manager *found = nullptr;
  cai_error error{};
  EXPECT_EQ(cai_manager_of(device, &found, &error), CAI_OK) << error.message;
  return Manager(found);
}

inline std::uint64_t usual_stream(cai_device device) {
  return device.type == CAI_DEVICE_CPU ? 0 : 1;
}

inline cai_block allocate(cai_manager *manager, std::uint64_t size,
                          std::uint32_t kind = CAI_KIND_DEFAULT, std::uint64_t align = 0) {
  cai_block block{};
  cai_error error{};
  EXPECT_EQ(cai_manager_alloc(manager, size, align, kind, usual_stream(cai_manager_device(manager)),
                              &block, &error),
            CAI_OK)
      << error.message;
  return block;
}

inline void free_block(cai_manager *manager, const cai_block &block,
                       std::uint32_t kind = CAI_KIND_DEFAULT) {
  cai_error error{};
  EXPECT_EQ(
      cai_manager_free(manager, &block, kind, usual_stream(cai_manager_device(manager)), &error),
      CAI_OK)
      << error.message;
}

// An allocation that must fail: it returns no block, and the error.
inline cai_error allocation_failure(cai_manager *manager, std::uint64_t size,
                                    std::uint32_t kind = CAI_KIND_DEFAULT,
                                    std::uint64_t align = 0) {
  const cai_block untouched{1, 2, 3, 4};
  cai_block block = untouched;
  cai_error error{};
  const cai_status status = cai_manager_alloc(
      manager, size, align, kind, usual_stream(cai_manager_device(manager)), &block, &error);
  EXPECT_NE(status, CAI_OK);
  EXPECT_EQ(status, error.status);
  EXPECT_EQ(std::memcmp(&block, &untouched, sizeof block), 0);
  return error;
}

inline cai_usage usage(cai_device device) {
  cai_usage found{};
  found.struct_size = sizeof found;
  cai_error error{};
  EXPECT_EQ(cai_memory_usage(device, &found, &error), CAI_OK) << error.message;
  return found;
}

inline void flush(cai_device device) {
  cai_error error{};
  EXPECT_EQ(cai_pending_flush(device, &error), CAI_OK) << error.message;
}

inline cai_statistics statistics(const cai_manager *manager) {
  cai_statistics found{};
  found.struct_size = sizeof found;
  cai_error error{};
  EXPECT_EQ(cai_manager_statistics(manager, &found, &error), CAI_OK) << error.message;
  return found;
}

// A manager with only the required functions, which records each call. It is passed as the params
// of its own table.
struct Recorder {
  std::vector<std::string> calls;
  int out_of_memory = 0;         // this many of the next memalloc fail
  cai_status status = CAI_OK;    // of each call, if it is not this
  cai_status of_free = CAI_OK;   // of each memfree, likewise
  bool silent = false;           // fails without writing the error
  std::uint64_t short_by = 0;    // returns this much less
  std::uint64_t off_by = 0;      // and so far from where it should
  std::uint64_t larger_by = 0;   // and so much more
  std::function<void()> during;  // runs inside memalloc
  std::uint64_t next = 0x10000000;
  std::uint64_t out = 0;  // blocks

  std::size_t count(const std::string &call) const {
    std::size_t found = 0;
    for (const std::string &each : calls) found += each.rfind(call, 0) == 0;
    return found;
  }

  cai_status result(cai_error *error, const std::string &call) {
    calls.push_back(call);
    return failure(error, status);
  }
  cai_status failure(cai_error *error, cai_status failed) const {
    if (failed != CAI_OK && error && !silent) {
      *error = cai_error{};
      error->status = failed;
      error->index = -1;
      std::snprintf(error->message, sizeof error->message, "the recorder says %d", failed);
    }
    return failed;
  }

  static Recorder &of(void *self) { return *static_cast<Recorder *>(self); }

  static constexpr cai_manager_table table() {
    cai_manager_table made{};
    made.struct_size = sizeof made;
    made.version = CAI_MANAGER_VERSION;
    made.name = "recorder";
    made.create = [](const void *params, cai_device, cai_manager *, void **self, cai_error *error) {
      auto *const recorder = static_cast<Recorder *>(const_cast<void *>(params));
      const cai_status status = recorder->result(error, "create");
      if (status == CAI_OK) *self = recorder;
      return status;
    };
    made.destroy = [](void *self) { of(self).calls.emplace_back("destroy"); };
    made.initialize = [](void *self, cai_error *error) {
      return of(self).result(error, "initialize");
    };
    made.reset = [](void *self, cai_error *error) { return of(self).result(error, "reset"); };
    made.memalloc = [](void *self, std::uint64_t size, std::uint64_t align, std::uint32_t kind,
                       std::uint64_t stream, cai_block *out, cai_error *error) {
      Recorder &me = of(self);
      const cai_status status =
          me.result(error, "memalloc " + std::to_string(size) + " " + std::to_string(align) + " " +
                               cai_kind_name(kind) + " " + std::to_string(stream));
      if (status != CAI_OK) return status;
      if (me.during) me.during();
      if (me.out_of_memory > 0) {
        --me.out_of_memory;
        return me.failure(error, CAI_ERR_MEMORY);
      }
      me.next = (me.next + align - 1) / align * align;
      *out = {me.next + me.off_by, 0, size - me.short_by + me.larger_by, 77};
      me.next += size;
      ++me.out;
      return cai_status{CAI_OK};
    };
    made.memfree = [](void *self, const cai_block *block, std::uint64_t stream, cai_error *error) {
      Recorder &me = of(self);
      EXPECT_EQ(block->cookie, 77U);
      cai_status status =
          me.result(error, "memfree " + std::to_string(block->size) + " " + std::to_string(stream));
      if (status == CAI_OK) status = me.failure(error, me.of_free);
      if (status == CAI_OK) --me.out;
      return status;
    };
    return made;
  }
};

constexpr cai_manager_table recorder_table = Recorder::table();

inline Manager make(Recorder &recorder, cai_device device, cai_manager *upstream = nullptr,
                    const char *name = "recorder") {
  static const bool registered = [] {
    return cai_manager_register("recorder", &recorder_table, nullptr) == CAI_OK;
  }();
  EXPECT_TRUE(registered);
  return make(name, device, &recorder, upstream);
}

}  // namespace test
