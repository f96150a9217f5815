// SPDX-License-Identifier: BSD-3-Clause
// cai::manager: built in, around each other, and written as a class.
#include <limits>

#include "managers.hpp"

// More than there can be is asked for, which is a test and not an error; the sanitizers ask these.
extern "C" const char *__asan_default_options();
extern "C" const char *__tsan_default_options();
const char *__asan_default_options() {
  return "allocator_may_return_null=1";
}
const char *__tsan_default_options() {
  return "allocator_may_return_null=1";
}

namespace test::managers_tests {
namespace {

static_assert(std::is_nothrow_copy_constructible_v<cai::manager>);
static_assert(std::is_nothrow_move_constructible_v<cai::manager>);
static_assert(std::is_nothrow_move_assignable_v<cai::manager>);

// The smallest manager, in C's way: nothing is thrown.
struct Least {
  static constexpr const char *name = "test-least";
  cai_status memalloc(std::uint64_t, std::uint64_t, std::uint32_t, std::uint64_t, cai_block *,
                      cai_error *error) {
    *error = {CAI_ERR_MEMORY, 2, CAI_ENTRY_NONE, -1, "it never has any"};
    return CAI_ERR_MEMORY;
  }
  cai_status memfree(const cai_block &, std::uint64_t, cai_error *) { return CAI_OK; }
};

// Everything that a table can have, seen through C.
struct All : Full {
  using Full::Full;
  static constexpr const char *name = "test-all";
  cai_block mempin(void *host, std::uint64_t size, std::uint32_t, std::uint32_t) {
    const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(host));
    return {address, address, size, 5};
  }
  void memunpin(const cai_block &block) {
    if (block.cookie != 5) throw cai::error({CAI_ERR_STATE, 0, 0, -1, "not pinned"});
  }
  std::pair<std::uint64_t, std::uint64_t> base(std::uint64_t address) { return {address - 16, 64}; }
  std::pair<cai_ipc_handle, std::int32_t> get_ipc_handle(const cai_block &block) {
    cai_ipc_handle handle{};
    handle.size = block.size;
    return {handle, 9};
  }
  cai_block open_ipc_handle(const cai_ipc_handle &handle, std::int32_t fd, std::uint64_t stream) {
    return {stream, 0, handle.size, static_cast<std::uint64_t>(fd)};
  }
  void close_ipc_handle(const cai_block &, std::uint64_t) {}
  void defer_cleanup(bool enter) {
    if (enter) throw Thrown();
  }
};

constexpr cai_manager_table least = cai::manager_table_for<Least>();
constexpr cai_manager_table all = cai::manager_table_for<All>();

TEST(ManagerTable, HasWhatTheClassHas) {
  EXPECT_EQ(least.struct_size, sizeof least);
  EXPECT_EQ(least.version, static_cast<std::uint32_t>(CAI_MANAGER_VERSION));
  EXPECT_STREQ(least.name, "test-least");
  // Volatile: compilers know the addresses of functions not to be null, and warn.
  const volatile cai_manager_table few = least, many = all;
  for (const volatile cai_manager_table *table : {&few, &many}) {
    EXPECT_TRUE(table->create && table->destroy && table->initialize && table->reset &&
                table->memalloc && table->memfree);
  }
  EXPECT_FALSE(few.memhostalloc || few.memhostfree || few.mempin || few.memunpin || few.base ||
               few.get_ipc_handle || few.open_ipc_handle || few.close_ipc_handle ||
               few.get_memory_info || few.defer_cleanup || few.trim);
  EXPECT_TRUE(many.memhostalloc && many.memhostfree && many.mempin && many.memunpin && many.base &&
              many.get_ipc_handle && many.open_ipc_handle && many.close_ipc_handle &&
              many.get_memory_info && many.defer_cleanup && many.trim);
}

TEST(ManagerTable, CallsTheMembers) {
  void *self = nullptr;
  cai_error error{};
  ASSERT_EQ(all.create(nullptr, cai::device(), nullptr, &self, &error), CAI_OK) << error.message;
  cai_block block{};
  int host = 0;
  ASSERT_EQ(all.mempin(self, &host, sizeof host, CAI_KIND_PINNED, 0, &block, &error), CAI_OK);
  EXPECT_EQ(block.size, sizeof host);
  EXPECT_EQ(all.memunpin(self, &block, &error), CAI_OK);
  block.cookie = 6;
  EXPECT_EQ(all.memunpin(self, &block, &error), CAI_ERR_STATE);
  EXPECT_STREQ(error.message, "not pinned");
  EXPECT_EQ(all.memunpin(self, &block, nullptr), CAI_ERR_STATE);
  std::uint64_t base = 0, size = 0;
  EXPECT_EQ(all.base(self, 100, &base, &size, &error), CAI_OK);
  EXPECT_EQ(base, 84U);
  EXPECT_EQ(size, 64U);
  cai_ipc_handle handle{};
  std::int32_t fd = -1;
  EXPECT_EQ(all.get_ipc_handle(self, &block, &handle, &fd, &error), CAI_OK);
  EXPECT_EQ(handle.size, sizeof host);
  EXPECT_EQ(fd, 9);
  EXPECT_EQ(all.open_ipc_handle(self, &handle, fd, 77, &block, &error), CAI_OK);
  EXPECT_EQ(block.data, 77U);
  EXPECT_EQ(block.cookie, 9U);
  EXPECT_EQ(all.close_ipc_handle(self, &block, 77, &error), CAI_OK);
  EXPECT_EQ(all.defer_cleanup(self, 0, &error), CAI_OK);
  EXPECT_EQ(all.defer_cleanup(self, 1, &error), CAI_ERR_ARGUMENT);
  EXPECT_NE(std::string(error.message).find("test-all"), std::string::npos);

  Asked::now().failing = true;  // outputs stay as they were
  block = {1, 2, 3, 4};
  EXPECT_EQ(all.memalloc(self, 64, 64, CAI_KIND_DEFAULT, 0, &block, &error), CAI_ERR_ARGUMENT);
  Asked::now().failing = false;
  EXPECT_EQ(block.data, 1U);
  EXPECT_EQ(block.cookie, 4U);
  EXPECT_NE(std::string(error.message).find("the manager is broken"), std::string::npos);
  EXPECT_EQ(all.memalloc(self, std::numeric_limits<std::int64_t>::max() / 2, 64, CAI_KIND_DEFAULT,
                         0, &block, &error),
            CAI_ERR_MEMORY);
  all.destroy(self);
  EXPECT_EQ(Asked::now().alive, 0);
}

class OnManager : public OnEach {
 protected:
  OnManager() : kept_(cai::manager::of(device)) { Asked::now().forget(); }
  ~OnManager() override { kept_.install(); }

  // The thread's current stream, which an allocation on it is given.
  std::uint64_t stream() const { return cai::stream::current(device).value(); }

 private:
  cai::manager kept_;
};
ON_EACH_DEVICE(OnManager);

TEST(Manager, NoneIsHeld) {
  const cai::manager none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.name(), "");
  EXPECT_EQ(status_of([&] { none.trim(); }), CAI_ERR_ARGUMENT);
  EXPECT_EQ(status_of([&] { static_cast<void>(none.memory()); }), CAI_ERR_ARGUMENT);
  EXPECT_EQ(status_of([&] { static_cast<void>(none.statistics()); }), CAI_ERR_ARGUMENT);
  EXPECT_EQ(status_of([&] { static_cast<void>(none.outstanding()); }), CAI_ERR_ARGUMENT);
  EXPECT_EQ(status_of([&] { static_cast<void>(cai::manager::counting(none)); }), CAI_ERR_ARGUMENT);
  EXPECT_EQ(status_of([&] { cai::manager("no such", {}); }), CAI_ERR_VALUE);
  EXPECT_EQ(status_of([&] { cai::manager(std::string("host\0x", 6), {}); }), CAI_ERR_VALUE);
  EXPECT_EQ(status_of([] { cai::manager::choose("no such"); }), CAI_ERR_VALUE);
}

TEST_P(OnManager, IsOfItsDevice) {
  const cai::manager mine = cai::manager::of(device);
  EXPECT_EQ(mine.device(), device);
  EXPECT_EQ(mine.name(), device.is_cpu() ? "host" : "default");
  const cai::manager again = cai::manager::of(device), held = cai::manager::retain(mine.get()),
                     adopted = cai::manager::adopt(cai::manager(mine).release());
  EXPECT_EQ(again, mine);
  EXPECT_EQ(held, adopted);

  const cai::manager other = cai::manager::counting(mine);
  other.install();
  EXPECT_EQ(cai::manager::of(device), other);
  cai::manager::uninstall(device);
  EXPECT_NE(cai::manager::of(device), other);
  EXPECT_EQ(cai::manager::of(device).name(), mine.name());
}

TEST_P(OnManager, AllocatesAndFrees) {
  const cai::manager mine = cai::manager::counting(cai::manager::of(device));
  const cai_block block = mine.alloc(1000, 0, CAI_KIND_DEFAULT, stream());
  EXPECT_NE(block.data, 0U);
  EXPECT_GE(block.size, 1000U);
  EXPECT_EQ(block.data % 64, 0U);
  EXPECT_EQ(mine.statistics().bytes, 1000U);
  mine.free(block, CAI_KIND_DEFAULT, stream());
  EXPECT_EQ(mine.statistics().bytes, 0U);
  EXPECT_EQ(mine.statistics().count_total, 1U);
  EXPECT_EQ(status_of([&] { static_cast<void>(mine.alloc(1, 3, CAI_KIND_DEFAULT, stream())); }),
            CAI_ERR_VALUE);
  EXPECT_GT(mine.memory().total, 0U);
  mine.trim();
}

TEST_P(OnManager, AroundEachOther) {
  std::vector<std::string> lines;
  const auto write = [&](std::string_view line) { lines.emplace_back(line); };
  std::vector<std::uint64_t> retries;
  const auto retry = [&](std::uint64_t size, std::uint64_t attempt) {
    retries.push_back(attempt);
    return size < 1 << 20 && attempt < 2;
  };
  const cai::manager limit = cai::manager::limiting(cai::manager::of(device), 4096);
  const cai::manager chain =
      cai::manager::retrying(cai::manager::tracking(cai::manager::logging(limit, write)), retry);
  EXPECT_EQ(chain.device(), device);
  const cai_block first = chain.alloc(3000, 0, CAI_KIND_DEFAULT, stream());
  EXPECT_EQ(status_of([&] { static_cast<void>(chain.alloc(2000, 0, CAI_KIND_DEFAULT, stream())); }),
            CAI_ERR_MEMORY);
  EXPECT_GE(retries.size(), 3U);
  const std::vector<cai::allocation> out = chain.outstanding();
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].data, first.data);
  EXPECT_EQ(out[0].size, 3000U);
  EXPECT_EQ(out[0].kind, static_cast<std::uint32_t>(CAI_KIND_DEFAULT));
  EXPECT_GE(out[0].seconds, 0.0);
  chain.free(first, CAI_KIND_DEFAULT, stream());
  EXPECT_TRUE(chain.outstanding().empty());
  ASSERT_GE(lines.size(), 4U);  // columns, two or more allocations, a free
  EXPECT_NE(lines[0].find("time"), std::string::npos);
  EXPECT_EQ(lines[1].back(), '\n');
  EXPECT_EQ(status_of([&] { static_cast<void>(limit.outstanding()); }), CAI_ERR_UNSUPPORTED);
  EXPECT_EQ(status_of([&] { static_cast<void>(cai::manager::logging(limit, "/no/such/folder")); }),
            CAI_ERR_VALUE);
}

TEST_P(OnManager, KeepsWhatItCalls) {
  auto lines = std::make_shared<std::vector<std::string>>();
  auto retries = std::make_shared<int>(0);
  {
    const cai::manager limit = cai::manager::limiting(cai::manager::of(device), 100);
    const auto write = [lines](std::string_view line) { lines->emplace_back(line); };
    const auto retry = [retries](std::uint64_t, std::uint64_t) { return ++*retries < 2; };
    const cai::manager chain = cai::manager::retrying(
        cai::manager::logging(limit, std::remove_const_t<decltype(write)>(write)),
        std::remove_const_t<decltype(retry)>(retry));
    EXPECT_EQ(
        status_of([&] { static_cast<void>(chain.alloc(200, 0, CAI_KIND_DEFAULT, stream())); }),
        CAI_ERR_MEMORY);
    EXPECT_EQ(lines.use_count(), 3);
  }
  EXPECT_EQ(lines.use_count(), 1);  // it was destroyed with the manager
  EXPECT_EQ(retries.use_count(), 1);
  EXPECT_EQ(*retries, 2);
  EXPECT_GE(lines->size(), 3U);
  auto unused = std::make_shared<int>(0);
  EXPECT_EQ(status_of([&] {
              static_cast<void>(cai::manager::logging({}, [unused](std::string_view) {}));
            }),
            CAI_ERR_ARGUMENT);
  EXPECT_EQ(unused.use_count(), 1);
}

TEST_P(OnManager, CallbacksThatThrow) {
  const auto write = [](std::string_view) { throw std::runtime_error("the disk is full"); };
  const auto retry = [](std::uint64_t, std::uint64_t) -> bool { throw Thrown(); };
  const cai::manager chain = cai::manager::retrying(
      cai::manager::logging(cai::manager::limiting(cai::manager::of(device), 100), write), retry);
  EXPECT_EQ(status_of([&] { static_cast<void>(chain.alloc(2000, 0, CAI_KIND_DEFAULT, stream())); }),
            CAI_ERR_MEMORY);
  EXPECT_GE(Failures::seen().size(), 2U);
  bool of_log = false, of_retry = false;
  for (const cai_error &failure : Failures::seen()) {
    of_log |= std::string(failure.message) == "a log threw: the disk is full";
    of_retry |= std::string(failure.message) == "a retry threw";
  }
  EXPECT_TRUE(of_log);
  EXPECT_TRUE(of_retry);
  Failures::seen().clear();
}

TEST_P(OnManager, Pools) {
  if (device.is_cpu()) {
    EXPECT_EQ(status_of([&] { static_cast<void>(cai::manager::pool(device)); }),
              CAI_ERR_UNSUPPORTED);
    return;
  }
  const cai::manager pool = cai::manager::pool(device, {.maximum = 1 << 20, .threshold = 4096});
  const cai_block block = pool.alloc(100, 0, CAI_KIND_ASYNC, stream());
  EXPECT_NE(block.data, 0U);
  pool.free(block, CAI_KIND_ASYNC, stream());
  device.synchronize();
  pool.trim();
}

TEST_P(OnManager, IsAClass) {
  Asked &asked = Asked::now();
  {
    const cai::manager mine = full(device);
    EXPECT_EQ(mine.name(), "test-full");
    EXPECT_EQ(asked.alive, 1);
    const cai_block block = mine.alloc(100, 0, CAI_KIND_DEFAULT, stream());
    EXPECT_EQ(asked.initialized, 1);
    EXPECT_EQ(asked.out, 1);
    mine.free(block, CAI_KIND_DEFAULT, stream());
    EXPECT_EQ(asked.out, 0);
    EXPECT_EQ(mine.memory().free, 123U);
    EXPECT_EQ(mine.memory().total, 456U);
    mine.trim(5);
    EXPECT_EQ(asked.trims, 1);
    EXPECT_EQ(asked.alive, 1);
  }
  EXPECT_EQ(asked.alive, 0);
  EXPECT_EQ(status_of([] { cai::register_manager<Full>(); }), CAI_ERR_VALUE);
  int params = 0;
  const cai_error error = thrown([&] { cai::manager(Full::name, device, {}, &params); });
  EXPECT_EQ(error.status, CAI_ERR_ARGUMENT);
  EXPECT_NE(std::string(error.message).find("it takes no params"), std::string::npos);
  EXPECT_EQ(asked.alive, 0);
}

TEST_P(OnManager, AClassThatThrows) {
  const cai::manager chain = cai::manager::tracking(cai::manager::counting(full(device)));
  Asked::now().failing = true;
  const cai_error error =
      thrown([&] { static_cast<void>(chain.alloc(100, 0, CAI_KIND_DEFAULT, stream())); });
  EXPECT_EQ(error.status, CAI_ERR_ARGUMENT);
  EXPECT_NE(std::string(error.message).find("the manager is broken"), std::string::npos);
  EXPECT_EQ(status_of([&] { chain.trim(); }), CAI_ERR_ARGUMENT);
  Asked::now().failing = false;
  EXPECT_EQ(Asked::now().out, 0);
  EXPECT_EQ(chain.statistics().count, 0U);
  EXPECT_EQ(chain.statistics().failures, 1U);
  EXPECT_TRUE(chain.outstanding().empty());
}

TEST_P(OnManager, FreesLater) {
  const auto alive = std::make_shared<int>();
  int calls = 0;
  {
    const cai::defer_cleanup deferred(device);
    try {
      const cai::defer_cleanup nested(device);
      EXPECT_EQ(cai::usage(device).deferred, 2U);
      cai::add_pending(device, 100, [&calls, alive] { ++calls; });
      throw Thrown();
    } catch (const Thrown &) {
    }
    EXPECT_EQ(cai::usage(device).deferred, 1U);
    cai::flush_pending(device);
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(cai::usage(device).pending_bytes, 100U);
  }
  cai::flush_pending(device);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(alive.use_count(), 1);
  cai::add_pending(device, 1, [alive] { throw std::runtime_error("not freed"); });
  const cai_error error = thrown([&] { cai::flush_pending(device); });
  EXPECT_NE(std::string(error.message).find("not freed"), std::string::npos) << error.message;
  EXPECT_EQ(alive.use_count(), 1);
  {
    cai::defer_cleanup twice(device);
    twice.end();
    twice.end();
  }
  EXPECT_EQ(status_of([] { cai::defer_cleanup(cai::device::gpu(88)); }),
            has_driver() ? CAI_ERR_DEVICE : CAI_ERR_DRIVER);
}

TEST(Managers, AnEmptyOneIsNotInstalled) {
  EXPECT_EQ(status_of([] { cai::manager().install(); }), CAI_ERR_ARGUMENT);
}

// Failures that the library cannot return go to cai::on_failure(), too.
TEST_P(OnManager, AFreeThatFailsWhereNobodyAsked) {
  int calls = 0;
  cai::add_pending(device, 1, [] { throw std::runtime_error("not freed"); });
  for (int i = 0; i < 20; ++i) cai::add_pending(device, 1, [&calls] { ++calls; });
  EXPECT_GT(calls, 0);
  ASSERT_EQ(Failures::seen().size(), 1U);
  EXPECT_NE(std::string(Failures::seen()[0].message).find("not freed"), std::string::npos);
  Failures::seen().clear();
  cai::flush_pending(device);
  EXPECT_EQ(calls, 20);
}

TEST_P(OnManager, IsOfALibrary) {
  const char *const library = std::getenv("TEST_MANAGER_LIBRARY");
  ASSERT_NE(library, nullptr);
  const cai::manager counting = cai::manager::counting(cai::manager::of(device));
  const cai::manager mine(library, device, counting);
  EXPECT_EQ(mine.name(), "test-library");
  const cai_block block = mine.alloc(100, 0, CAI_KIND_DEFAULT, stream());
  EXPECT_EQ(counting.statistics().count, 1U);
  mine.free(block, CAI_KIND_DEFAULT, stream());
  EXPECT_EQ(counting.statistics().count, 0U);
  EXPECT_EQ(status_of([&] { cai::manager(std::string(library) + ":none", device, counting); }),
            CAI_ERR_VALUE);
}

}  // namespace
}  // namespace test::managers_tests
