// SPDX-License-Identifier: BSD-3-Clause
// Managers whose functions come back to themselves through libcai: what cannot end is refused, and
// named; what can end goes on.
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "gpu.hpp"
#include "managers.hpp"

namespace test::recursion_tests {
namespace {

// A manager whose functions all count, and may do more.
struct Curious {
  std::map<std::string, int> calls;
  std::map<std::string, std::function<cai_status(cai_error *)>> during;
  std::uint64_t next = 0x20000000;
  int out = 0;

  // The one that libcai makes by itself, with no params.
  static inline Curious *chosen = nullptr;

  cai_status run(const char *name, cai_error *error) {
    ++calls[name];
    const auto found = during.find(name);
    return found == during.end() ? cai_status{CAI_OK} : found->second(error);
  }
  cai_status give(const char *name, std::uint64_t size, cai_block *block, cai_error *error) {
    const cai_status status = run(name, error);
    if (status != CAI_OK) return status;
    next += 4096;
    *block = {next, next, size, 5};
    ++out;
    return CAI_OK;
  }
  cai_status take(const char *name, cai_error *error) {
    const cai_status status = run(name, error);
    if (status == CAI_OK) --out;
    return status;
  }

  static Curious &of(void *self) { return *static_cast<Curious *>(self); }

  static cai_manager_table table() {
    cai_manager_table made{};
    made.struct_size = sizeof made;
    made.version = CAI_MANAGER_VERSION;
    made.name = "curious";
    made.create = [](const void *params, cai_device, cai_manager *, void **self, cai_error *error) {
      auto *const me = params ? static_cast<Curious *>(const_cast<void *>(params)) : chosen;
      const cai_status status = me->run("create", error);
      if (status == CAI_OK) *self = me;
      return status;
    };
    made.destroy = [](void *) {};
    made.initialize = [](void *self, cai_error *error) {
      return of(self).run("initialize", error);
    };
    made.reset = [](void *self, cai_error *error) { return of(self).run("reset", error); };
    made.memalloc = [](void *self, std::uint64_t size, std::uint64_t, std::uint32_t, std::uint64_t,
                       cai_block *out,
                       cai_error *error) { return of(self).give("memalloc", size, out, error); };
    made.memfree = [](void *self, const cai_block *, std::uint64_t, cai_error *error) {
      return of(self).take("memfree", error);
    };
    made.memhostalloc = [](void *self, std::uint64_t size, std::uint64_t, std::uint32_t,
                           std::uint32_t, cai_block *out, cai_error *error) {
      return of(self).give("memhostalloc", size, out, error);
    };
    made.memhostfree = [](void *self, const cai_block *, cai_error *error) {
      return of(self).take("memhostfree", error);
    };
    made.get_ipc_handle = [](void *self, const cai_block *, cai_ipc_handle *handle, std::int32_t *,
                             cai_error *error) {
      handle->kind = CAI_IPC_LEGACY;
      return of(self).run("get_ipc_handle", error);
    };
    made.get_memory_info = [](void *self, std::uint64_t *free, std::uint64_t *total,
                              cai_error *error) {
      *free = 1, *total = 2;
      return of(self).run("get_memory_info", error);
    };
    made.defer_cleanup = [](void *self, std::int32_t enter, cai_error *error) {
      return of(self).run(enter ? "defer" : "defer no more", error);
    };
    made.trim = [](void *self, std::uint64_t, cai_error *error) {
      return of(self).run("trim", error);
    };
    return made;
  }
  static const char *name() {
    static const cai_manager_table made = table();
    static const cai_status registered = cai_manager_register(made.name, &made, nullptr);
    EXPECT_EQ(registered, CAI_OK);
    return made.name;
  }
};

cai_status allocate_and_release(std::uint32_t kind, cai_error *error) {
  cai_request request{};
  request.struct_size = sizeof request;
  request.kind = kind;
  request.size = 64;
  cai_memory *memory = nullptr;
  const cai_status status = cai_memory_alloc(gpu0, &request, &memory, error);
  if (status == CAI_OK) cai_memory_release(memory);
  return status;
}

cai_status share(cai_memory *memory, cai_error *error) {
  cai_ipc_handle handle{};
  std::int32_t fd = -17;
  const cai_status status = cai_memory_share(memory, &handle, &fd, error);
  EXPECT_EQ(status == CAI_OK, fd != -17);
  return status;
}

// Installed on gpu0 for as long as it lives.
class Recursion : public testing::Test {
 protected:
  Recursion() : before_(manager_of(gpu0)), manager_(make(Curious::name(), gpu0, &curious_)) {
    EXPECT_EQ(cai_manager_install(gpu0, manager_, nullptr), CAI_OK);
    bytes_ = usage(gpu0).bytes;
  }
  ~Recursion() override {
    EXPECT_EQ(cai_manager_install(gpu0, before_, nullptr), CAI_OK);
    EXPECT_EQ(curious_.out, 0);
    EXPECT_EQ(usage(gpu0).bytes, bytes_);
    EXPECT_EQ(usage(gpu0).deferred, 0U);
  }

  // `body` is refused since `function` calls itself, and does what it should once that does not.
  void must_be_refused(const std::string &function, const std::string &message,
                       const std::function<cai_status(cai_error *)> &body) {
    SCOPED_TRACE(function);
    curious_.during[function] = body;
    cai_error error{};
    EXPECT_EQ(body(&error), CAI_ERR_STATE);
    EXPECT_EQ(error.status, CAI_ERR_STATE);
    EXPECT_TRUE(contains(error.message, "manager curious: " + message)) << error.message;
    curious_.during.clear();
    EXPECT_EQ(body(&error), CAI_OK) << error.message;
  }

  Curious curious_;
  Manager before_, manager_;
  std::uint64_t bytes_ = 0;
};

TEST_F(Recursion, OfInitializeThatAllocates) {
  for (const auto &[kind, function] :
       {std::pair{CAI_KIND_DEFAULT, "memalloc"}, std::pair{CAI_KIND_PINNED, "memhostalloc"}}) {
    curious_.calls.clear();
    must_be_refused("initialize",
                    std::string("initialize allocates from the manager itself, by ") + function,
                    [kind = kind](cai_error *error) { return allocate_and_release(kind, error); });
    EXPECT_EQ(curious_.calls["initialize"], 2);  // and not once for each call inside of it
    EXPECT_EQ(curious_.calls[function], 1);
    cai_error error{};
    ASSERT_EQ(cai_device_reset(gpu0, 0, &error), CAI_OK) << error.message;
  }
}

TEST_F(Recursion, OfInitializeBehindAWrapper) {
  const Manager around = make("statistics", gpu0, nullptr, manager_);
  ASSERT_EQ(cai_manager_install(gpu0, around, nullptr), CAI_OK);
  must_be_refused("initialize", "initialize allocates from the manager itself",
                  [](cai_error *error) { return allocate_and_release(CAI_KIND_DEFAULT, error); });
  EXPECT_EQ(statistics(around).count, 0U);
}

// Memory from before a reset may be freed anywhere, and other functions called.
TEST_F(Recursion, OfInitializeThatFreesAndAsks) {
  const cai_block block = allocate(manager_, 100);
  cai_error error{};
  ASSERT_EQ(cai_device_reset(gpu0, 0, &error), CAI_OK) << error.message;
  bool done = false;
  curious_.during["initialize"] = [&](cai_error *) {
    if (!done) free_block(manager_, block);
    done = true;
    std::uint64_t free = 0;
    EXPECT_EQ(cai_manager_memory(manager_, &free, nullptr, nullptr), CAI_OK);
    EXPECT_EQ(free, 1U);
    return cai_status{CAI_OK};
  };
  curious_.calls.clear();
  free_block(manager_, allocate(manager_, 100));
  EXPECT_EQ(curious_.calls["initialize"], 1);
  EXPECT_EQ(curious_.calls["memfree"], 2);
}

TEST_F(Recursion, OfEachFunction) {
  const auto ends = [](const char *function) {
    return std::string(function) + " calls itself through libcai, without end";
  };
  for (const auto &[kind, function] :
       {std::pair{CAI_KIND_DEFAULT, "memalloc"}, std::pair{CAI_KIND_PINNED, "memhostalloc"}}) {
    must_be_refused(function, ends(function),
                    [kind = kind](cai_error *error) { return allocate_and_release(kind, error); });
  }
  must_be_refused("get_memory_info", ends("get_memory_info"), [this](cai_error *error) {
    return cai_manager_memory(manager_, nullptr, nullptr, error);
  });
  must_be_refused("trim", ends("trim"),
                  [this](cai_error *error) { return cai_manager_trim(manager_, 0, error); });
  must_be_refused("defer", ends("defer_cleanup"), [](cai_error *error) {
    const cai_status status = cai_pending_defer(gpu0, 1, error);
    if (status != CAI_OK) return status;
    return cai_pending_defer(gpu0, 0, error);
  });
  cai_request request{};
  request.struct_size = sizeof request;
  request.kind = CAI_KIND_DEFAULT;
  request.size = 64;
  cai_memory *memory = nullptr;
  ASSERT_EQ(cai_memory_alloc(gpu0, &request, &memory, nullptr), CAI_OK);
  must_be_refused("get_ipc_handle", ends("get_ipc_handle"),
                  [memory](cai_error *error) { return share(memory, error); });
  cai_memory_release(memory);
}

// The failure of a free has no caller; its memory counts as freed.
TEST_F(Recursion, OfAFreeThatAllocatesAndFrees) {
  const Failures failures;
  curious_.during["memfree"] = [](cai_error *error) {
    return allocate_and_release(CAI_KIND_DEFAULT, error);
  };
  cai_error error{};
  EXPECT_EQ(allocate_and_release(CAI_KIND_DEFAULT, &error), CAI_OK);
  curious_.during.clear();
  ASSERT_FALSE(failures.messages.empty());
  EXPECT_TRUE(contains(failures.messages.front().c_str(),
                       "memfree calls itself through libcai, without end"));
  curious_.out = 0;
}

TEST_F(Recursion, OfAReset) {
  const Failures failures;
  curious_.during["reset"] = [](cai_error *error) { return cai_device_reset(gpu0, 0, error); };
  cai_error error{};
  EXPECT_EQ(cai_device_reset(gpu0, 0, &error), CAI_OK) << error.message;
  ASSERT_FALSE(failures.messages.empty());
  EXPECT_TRUE(contains(failures.messages.front().c_str(), "a reset calls this"));
}

// A finalizer that runs inside may well allocate; and does so once.
TEST_F(Recursion, ThatEnds) {
  bool once = false;
  curious_.during["memalloc"] = [&](cai_error *error) {
    return std::exchange(once, true) ? cai_status{CAI_OK}
                                     : allocate_and_release(CAI_KIND_DEFAULT, error);
  };
  cai_error error{};
  EXPECT_EQ(allocate_and_release(CAI_KIND_DEFAULT, &error), CAI_OK) << error.message;
  EXPECT_EQ(curious_.calls["memalloc"], 2);
  EXPECT_EQ(curious_.calls["memfree"], 2);
}

TEST_F(Recursion, OfCreate) {
  must_be_refused("create", "create calls itself through libcai, without end",
                  [this](cai_error *error) {
                    cai_manager *made = nullptr;
                    const cai_status status =
                        cai_manager_create(Curious::name(), &curious_, gpu0, nullptr, &made, error);
                    cai_manager_release(made);
                    return status;
                  });
  ASSERT_EQ(cai_manager_choose(Curious::name(), nullptr), CAI_OK);
  ASSERT_EQ(cai_manager_install(gpu0, nullptr, nullptr), CAI_OK);
  Curious::chosen = &curious_;
  curious_.calls.clear();
  must_be_refused("create", "create asks for the manager of",
                  [](cai_error *error) { return allocate_and_release(CAI_KIND_DEFAULT, error); });
  EXPECT_EQ(curious_.calls["create"], 2);
  ASSERT_EQ(cai_manager_choose(nullptr, nullptr), CAI_OK);
  ASSERT_EQ(cai_manager_install(gpu0, manager_, nullptr), CAI_OK);
}

// Two threads make the device's manager at once. The one that comes second, or cannot make it, gets
// the other's.
TEST_F(Recursion, OfAnotherThreadIsNone) {
  ASSERT_EQ(cai_manager_choose(Curious::name(), nullptr), CAI_OK);
  Curious::chosen = &curious_;
  for (const cai_status second : {CAI_OK, CAI_ERR_MEMORY}) {
    ASSERT_EQ(cai_manager_install(gpu0, nullptr, nullptr), CAI_OK);
    curious_.calls.clear();
    Manager others;
    bool is_second = false;
    curious_.during["create"] = [&](cai_error *error) {
      if (std::exchange(is_second, true)) return cai_status{CAI_OK};
      std::thread([&] { others = manager_of(gpu0); }).join();
      error->status = second;
      return second;
    };
    const Manager mine = manager_of(gpu0);
    EXPECT_NE(static_cast<cai_manager *>(mine), nullptr);
    EXPECT_EQ(static_cast<cai_manager *>(mine), static_cast<cai_manager *>(others));
    EXPECT_EQ(curious_.calls["create"], 2);
  }
  ASSERT_EQ(cai_manager_choose(nullptr, nullptr), CAI_OK);
  ASSERT_EQ(cai_manager_install(gpu0, manager_, nullptr), CAI_OK);
}

}  // namespace
}  // namespace test::recursion_tests
