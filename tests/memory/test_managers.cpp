// SPDX-License-Identifier: BSD-3-Clause
// Managers as NBEP 7 and memory.h have them: which functions are called when, what a bad manager
// does, and which one a device has. On the CPU; no driver is needed.
#include <cstring>
#include <thread>

#include "managers.hpp"

namespace test::managers_tests {
namespace {

static_assert(sizeof(cai_block) == 32);
static_assert(sizeof(cai_ipc_handle) == 160);
static_assert(sizeof(cai_pool_params) == 40);
static_assert(sizeof(cai_limit_params) == 16);
static_assert(sizeof(cai_log_params) == 48);
static_assert(sizeof(cai_track_params) == 32);
static_assert(sizeof(cai_retry_params) == 32);
static_assert(sizeof(cai_statistics) == 64);
static_assert(sizeof(cai_allocation) == 48);
static_assert(sizeof(cai_usage) == 48);

using Calls = std::vector<std::string>;

// ---- Kinds --------------------------------------------------------------------------------------

TEST(Kinds, NamesAreReadAsTheyAreWritten) {
  for (std::uint32_t kind = CAI_KIND_NONE; kind <= CAI_KIND_HOST; ++kind) {
    const char *const name = cai_kind_name(kind);
    ASSERT_NE(name, nullptr);
    std::string loud = " \t";
    for (const char *c = name; *c; ++c) loud += static_cast<char>(std::toupper(*c));
    loud += "\n ";
    for (const std::string &text : {std::string(name), loud}) {
      std::uint32_t read = 99;
      EXPECT_EQ(cai_kind_parse(text.c_str(), &read, nullptr), CAI_OK) << text;
      EXPECT_EQ(read, kind);
    }
  }
  EXPECT_EQ(cai_kind_name(CAI_KIND_HOST + 1), nullptr);
}

TEST(Kinds, WhatIsNoKindIsRefused) {
  for (const char *text : {"", " ", "pin", "pinnedd", "pitched managed", "defa\xffult"}) {
    std::uint32_t kind = 99;
    cai_error error{};
    EXPECT_EQ(cai_kind_parse(text, &kind, &error), CAI_ERR_VALUE) << text;
    EXPECT_EQ(kind, 99U);
  }
  std::uint32_t kind = 0;
  EXPECT_EQ(cai_kind_parse(nullptr, &kind, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_kind_parse("host", nullptr, nullptr), CAI_ERR_ARGUMENT);
}

TEST(Kinds, TheHostMayUse) {
  const auto on = [](cai_device device) {
    std::string kinds;
    for (std::uint32_t kind = 0; kind <= CAI_KIND_HOST + 1; ++kind) {
      if (cai_is_dereferenceable(device, kind)) kinds += std::string(cai_kind_name(kind)) + " ";
    }
    return kinds;
  };
  EXPECT_EQ(on(cpu),
            "default async pitched pitched_managed pinned mapped managed managed_global host ");
  EXPECT_EQ(on(gpu0), "pitched_managed pinned mapped managed managed_global host ");
  EXPECT_EQ(on({7, 0}), "");
}

// ---- Calls of the table -------------------------------------------------------------------------

TEST(Calls, InitializeComesBeforeTheFirstAllocation) {
  Recorder recorder;
  {
    const Manager manager = make(recorder, cpu);
    EXPECT_EQ(recorder.calls, Calls({"create"}));
    const cai_block block = allocate(manager, 100);
    free_block(manager, block);
    const cai_block other = allocate(manager, 8, CAI_KIND_ASYNC, 64);
    free_block(manager, other, CAI_KIND_ASYNC);
  }
  EXPECT_EQ(recorder.calls,
            Calls({"create", "initialize", "memalloc 100 256 default 0", "memfree 100 0",
                   "memalloc 8 64 async 0", "memfree 8 0", "destroy"}));
}

TEST(Calls, ItEndsWithItsLastHolder) {
  Recorder recorder;
  Manager manager = make(recorder, cpu);
  Manager wrapper = make("statistics", cpu, nullptr, manager);
  cai_manager_retain(wrapper);
  Manager other(static_cast<cai_manager *>(wrapper));
  manager.end();
  wrapper.end();
  EXPECT_EQ(recorder.count("destroy"), 0U);
  other.end();
  EXPECT_EQ(recorder.count("destroy"), 1U);
  cai_manager_retain(nullptr);
  cai_manager_release(nullptr);
  EXPECT_EQ(cai_manager_name(nullptr), nullptr);
}

TEST(Calls, NothingIsGivenAndNobodyAskedForNoBytes) {
  Recorder recorder;
  const Manager manager = make(recorder, cpu);
  cai_block block{1, 2, 3, 4};
  EXPECT_EQ(cai_manager_alloc(manager, 0, 0, CAI_KIND_DEFAULT, 0, &block, nullptr), CAI_OK);
  const cai_block zeros{};
  EXPECT_EQ(std::memcmp(&block, &zeros, sizeof block), 0);
  free_block(manager, block);
  EXPECT_EQ(recorder.calls, Calls({"create"}));
}

TEST(Calls, WhatIsMissingIsTheLibrarys) {
  Recorder recorder;
  const Manager manager = make(recorder, cpu);
  const cai_block block = allocate(manager, 1000, CAI_KIND_HOST, 4096);
  EXPECT_EQ(block.host % 4096, 0U);
  EXPECT_EQ(block.data, block.host);
  std::memset(reinterpret_cast<void *>(block.host), 1, 1000);
  free_block(manager, block, CAI_KIND_HOST);
  std::uint64_t free = 0, total = 0;
  EXPECT_EQ(cai_manager_memory(manager, &free, &total, nullptr), CAI_OK);
  EXPECT_GT(free, 0U);
  EXPECT_GE(total, free);
  EXPECT_EQ(cai_manager_memory(manager, nullptr, nullptr, nullptr), CAI_OK);
  EXPECT_EQ(cai_manager_trim(manager, 0, nullptr), CAI_OK);
  EXPECT_EQ(recorder.calls, Calls({"create"}));
}

// A manager with all that it may have, around one that has it, too.
struct Full : Recorder {
  std::uint64_t data = 0x2000, host = 0x2000;  // of host memory

  static Full &of(void *self) { return static_cast<Full &>(Recorder::of(self)); }
  static constexpr cai_manager_table table() {
    cai_manager_table made = Recorder::table();
    made.name = "full";
    made.memhostalloc = [](void *self, std::uint64_t size, std::uint64_t, std::uint32_t kind,
                           std::uint32_t, cai_block *out, cai_error *error) {
      *out = {of(self).data, of(self).host, size + of(self).larger_by, 78};
      return of(self).result(error, std::string("memhostalloc ") + cai_kind_name(kind));
    };
    made.memhostfree = [](void *self, const cai_block *block, cai_error *error) {
      EXPECT_EQ(block->cookie, 78U);
      return of(self).result(error, "memhostfree");
    };
    made.get_memory_info = [](void *self, std::uint64_t *free, std::uint64_t *total,
                              cai_error *error) {
      *free = 10, *total = 20;
      return of(self).result(error, "get_memory_info");
    };
    made.trim = [](void *self, std::uint64_t keep, cai_error *error) {
      return of(self).result(error, "trim " + std::to_string(keep));
    };
    made.defer_cleanup = [](void *self, std::int32_t enter, cai_error *error) {
      return of(self).result(error, "defer_cleanup " + std::to_string(enter));
    };
    return made;
  }
};
constexpr cai_manager_table full_table = Full::table();

Manager make_full(Full &full) {
  static const bool registered = cai_manager_register("full", &full_table, nullptr) == CAI_OK;
  EXPECT_TRUE(registered);
  return make("full", cpu, static_cast<Recorder *>(&full));
}

TEST(Calls, WhatAWrapperLacksIsItsUpstreams) {
  Full full;
  Recorder recorder;
  const Manager upstream = make_full(full);
  const Manager manager = make(recorder, cpu, upstream);
  const cai_block block = allocate(manager, 10, CAI_KIND_PINNED);
  EXPECT_EQ(block.data, 0x2000U);
  free_block(manager, block, CAI_KIND_PINNED);
  std::uint64_t free = 0, total = 0;
  EXPECT_EQ(cai_manager_memory(manager, &free, &total, nullptr), CAI_OK);
  EXPECT_EQ(free, 10U);
  EXPECT_EQ(total, 20U);
  EXPECT_EQ(cai_manager_trim(manager, 5, nullptr), CAI_OK);
  EXPECT_EQ(full.calls, Calls({"create", "initialize", "memhostalloc pinned", "memhostfree",
                               "get_memory_info", "trim 5"}));
  EXPECT_EQ(recorder.calls, Calls({"create"}));
}

TEST(Calls, ItsOwnWayToDeferIsTold) {
  Full full;
  Manager manager = make_full(full);
  ASSERT_EQ(cai_manager_install(cpu, manager, nullptr), CAI_OK);
  EXPECT_EQ(cai_pending_defer(cpu, 1, nullptr), CAI_OK);
  EXPECT_EQ(usage(cpu).deferred, 1U);
  // The manager that was told of the beginning is told of the end, though no longer the device's.
  ASSERT_EQ(cai_manager_install(cpu, nullptr, nullptr), CAI_OK);
  EXPECT_EQ(cai_pending_defer(cpu, 0, nullptr), CAI_OK);
  EXPECT_EQ(full.calls, Calls({"create", "initialize", "defer_cleanup 1", "defer_cleanup 0"}));
  EXPECT_EQ(usage(cpu).deferred, 0U);

  ASSERT_EQ(cai_manager_install(cpu, manager, nullptr), CAI_OK);
  full.status = CAI_ERR_STATE;
  EXPECT_EQ(cai_pending_defer(cpu, 1, nullptr), CAI_ERR_STATE);
  EXPECT_EQ(usage(cpu).deferred, 0U);
  ASSERT_EQ(cai_manager_install(cpu, nullptr, nullptr), CAI_OK);
}

// Its end may fail there, which is returned. Frees are not deferred any more in any case.
TEST(Calls, ItsOwnWayToDeferMayFail) {
  Full full;
  const Manager manager = make_full(full);
  ASSERT_EQ(cai_manager_install(cpu, manager, nullptr), CAI_OK);
  EXPECT_EQ(cai_pending_defer(cpu, 1, nullptr), CAI_OK);
  full.status = CAI_ERR_STATE;
  EXPECT_EQ(cai_pending_defer(cpu, 0, nullptr), CAI_ERR_STATE);
  EXPECT_EQ(usage(cpu).deferred, 0U);
  ASSERT_EQ(cai_manager_install(cpu, nullptr, nullptr), CAI_OK);
}

// Memory that only the host can use is freed, too.
TEST(Calls, HostMemoryNeedNotBeTheDevices) {
  Full full;
  const Manager manager = make_full(full);
  full.data = 0;
  const cai_block block = allocate(manager, 10, CAI_KIND_PINNED);
  EXPECT_EQ(block.data, 0U);
  EXPECT_EQ(block.host, 0x2000U);
  free_block(manager, block, CAI_KIND_PINNED);
  EXPECT_EQ(full.count("memhostfree"), 1U);
}

// Two blocks without an address of the device's are told apart by the host's.
TEST(Calls, HostMemoryIsTrackedByItsOwnAddress) {
  std::string log;
  const auto write = [](void *context, const char *line, std::uint64_t length) {
    static_cast<std::string *>(context)->append(line, length);
  };
  Full full;
  const cai_log_params logging{sizeof logging, 0, nullptr, write, nullptr, &log, nullptr};
  const Manager tracking = make("tracking", cpu, nullptr, make_full(full));
  const Manager manager = make("logging", cpu, &logging, tracking);
  full.data = 0;
  const cai_block first = allocate(manager, 10, CAI_KIND_PINNED);
  full.host = 0x3000;
  const cai_block second = allocate(manager, 10, CAI_KIND_PINNED);
  std::vector<std::uint64_t> shown;
  const auto visit = [](void *context, const cai_allocation *allocation) {
    static_cast<std::vector<std::uint64_t> *>(context)->push_back(allocation->data);
  };
  EXPECT_EQ(cai_manager_outstanding(manager, visit, &shown, nullptr), CAI_OK);
  EXPECT_EQ(shown, std::vector<std::uint64_t>({0x2000, 0x3000}));
  free_block(manager, first, CAI_KIND_PINNED);
  free_block(manager, second, CAI_KIND_PINNED);
  EXPECT_EQ(full.count("memhostfree"), 2U);
  for (const char *line : {"hostalloc,0x2000,", "hostalloc,0x3000,", "hostfree,0x2000,"}) {
    EXPECT_TRUE(contains(log.c_str(), line)) << line << " is not in\n" << log;
  }
}

TEST(Calls, MemoryIsAskedForOnceMore) {
  Recorder recorder;
  const Manager manager = make(recorder, cpu);
  recorder.out_of_memory = 1;
  free_block(manager, allocate(manager, 100));
  EXPECT_EQ(recorder.count("memalloc"), 2U);
  recorder.out_of_memory = 5;
  const cai_error error = allocation_failure(manager, 100);
  EXPECT_EQ(error.status, CAI_ERR_MEMORY);
  EXPECT_TRUE(contains(error.message, "100 bytes on cpu from manager recorder")) << error.message;
  EXPECT_EQ(recorder.count("memalloc"), 4U);
}

TEST(Calls, MemoryIsAskedForOnceMoreThroughAnyChain) {
  Recorder recorder;
  Manager manager = make(recorder, cpu);
  for (int i = 0; i < 5; ++i) manager = make("statistics", cpu, nullptr, manager);
  recorder.out_of_memory = 1000;
  EXPECT_EQ(allocation_failure(manager, 100).status, CAI_ERR_MEMORY);
  EXPECT_EQ(recorder.count("memalloc"), 2U);
}

// ---- Managers that are no good ------------------------------------------------------------------

TEST(Bad, AFailureIsThePublics) {
  Recorder recorder;
  const Manager manager = make(recorder, cpu);
  const cai_block block = allocate(manager, 100);
  recorder.status = CAI_ERR_CUDA;
  cai_error error = allocation_failure(manager, 100);
  EXPECT_EQ(error.status, CAI_ERR_CUDA);
  EXPECT_STREQ(error.message, "the recorder says -11");
  EXPECT_EQ(cai_manager_free(manager, &block, CAI_KIND_DEFAULT, 0, &error), CAI_ERR_CUDA);
  EXPECT_STREQ(error.message, "the recorder says -11");
  recorder.silent = true;
  error = allocation_failure(manager, 100);
  EXPECT_STREQ(error.message, "manager recorder: memalloc returned CAI_ERR_CUDA");
  recorder.status = CAI_OK;
  free_block(manager, block);
}

TEST(Bad, AFailingInitializeIsTriedAgain) {
  Recorder recorder;
  const Manager manager = make(recorder, cpu);
  recorder.status = CAI_ERR_STATE;
  EXPECT_EQ(allocation_failure(manager, 1).status, CAI_ERR_STATE);
  recorder.status = CAI_OK;
  free_block(manager, allocate(manager, 1));
  EXPECT_EQ(recorder.count("initialize"), 2U);
}

TEST(Bad, AFailingCreate) {
  Recorder recorder;
  make(recorder, cpu).end();
  recorder.calls.clear();
  recorder.status = CAI_ERR_UNSUPPORTED;
  EXPECT_EQ(refusal("recorder", cpu, &recorder),
            std::make_pair(cai_status{CAI_ERR_UNSUPPORTED}, std::string("the recorder says -8")));
  EXPECT_EQ(recorder.calls, Calls({"create"}));
}

TEST(Bad, LiesAreFoundAndTheMemoryGivenBack) {
  Recorder recorder;
  const Manager manager = make(recorder, cpu);
  const auto expect_lie = [&] {
    const cai_error error = allocation_failure(manager, 100);
    EXPECT_EQ(error.status, CAI_ERR_STATE);
    EXPECT_TRUE(contains(error.message, "manager recorder: memalloc was asked for 100 bytes"))
        << error.message;
    EXPECT_EQ(recorder.out, 0U);
  };
  recorder.short_by = 1;
  expect_lie();
  recorder.short_by = 100;
  expect_lie();
  recorder.short_by = 0;
  recorder.off_by = 128;
  expect_lie();
  recorder.off_by = 0;
  recorder.larger_by = UINT64_MAX - 200;  // beyond the end of all addresses
  expect_lie();
  recorder.larger_by = 0;
  recorder.off_by = 0;
  const std::size_t frees = recorder.count("memfree");
  recorder.off_by = 0 - ((recorder.next + 255) / 256 * 256);  // at address 0 there is nothing
  EXPECT_EQ(allocation_failure(manager, 100).status, CAI_ERR_STATE);
  EXPECT_EQ(recorder.count("memfree"), frees);
  recorder.off_by = 0;
  recorder.larger_by = 28;  // more is no lie
  const cai_block block = allocate(manager, 100);
  EXPECT_EQ(block.size, 128U);
  free_block(manager, block);
}

// The caller receives this failure. That the memory stays goes to the hook of cai_on_failure().
TEST(Bad, LiesAreNamedThoughTheirMemoryCannotBeFreed) {
  Recorder recorder;
  const Manager manager = make(recorder, cpu);
  const Failures heard;
  recorder.short_by = 1;
  recorder.of_free = CAI_ERR_UNSUPPORTED;
  const cai_error error = allocation_failure(manager, 100);
  EXPECT_EQ(error.status, CAI_ERR_STATE);
  EXPECT_TRUE(contains(error.message, "memalloc was asked for 100 bytes")) << error.message;
  EXPECT_EQ(heard.messages, std::vector<std::string>{"the recorder says -8"});
}

TEST(Bad, LiesAboutHostMemoryAreFoundToo) {
  Full full;
  const Manager manager = make_full(full);
  const auto lie = [&] {
    const cai_error error = allocation_failure(manager, 100, CAI_KIND_PINNED);
    EXPECT_EQ(error.status, CAI_ERR_STATE);
    EXPECT_TRUE(contains(error.message, "memhostalloc was asked for 100 bytes")) << error.message;
  };
  full.host = 0x2001;
  lie();
  EXPECT_EQ(full.count("memhostfree"), 1U);
  Recorder recorder;  // has no memhostalloc: the manager that lied is named
  const Manager outer = make(recorder, cpu, manager);
  const cai_error error = allocation_failure(outer, 100, CAI_KIND_PINNED);
  EXPECT_TRUE(contains(error.message, "manager full: memhostalloc")) << error.message;
  EXPECT_EQ(full.count("memhostfree"), 2U);
  full.host = 0;
  lie();
  EXPECT_EQ(full.count("memhostfree"), 2U);
  // A block larger than requested is valid, but may exceed a limit.
  full.host = 0x2000;
  full.larger_by = 100;
  const cai_limit_params params{sizeof params, 0, 50};
  const Manager limited = make("limiting", cpu, &params, manager);
  flush(cpu);  // or it would be asked once more
  EXPECT_EQ(allocation_failure(limited, 10, CAI_KIND_PINNED).status, CAI_ERR_MEMORY);
  EXPECT_EQ(full.count("memhostfree"), 3U);
  EXPECT_EQ(statistics(limited).bytes, 0U);
}

TEST(Bad, ItMayCallLibcai) {
  Recorder inner, outer;
  const Manager other = make(inner, cpu);
  const Manager manager = make(outer, cpu);
  outer.during = [&] {
    free_block(other, allocate(other, 5));
    ASSERT_EQ(cai_manager_install(cpu, other, nullptr), CAI_OK);
    manager_of(cpu);
    ASSERT_EQ(cai_manager_install(cpu, nullptr, nullptr), CAI_OK);
    flush(cpu);
    usage(cpu);
  };
  free_block(manager, allocate(manager, 100));
  EXPECT_EQ(inner.count("memfree 5"), 1U);
}

TEST(Bad, ArgumentsOfAllocation) {
  Recorder recorder;
  const Manager manager = make(recorder, cpu);
  for (const std::uint64_t align : {3ULL, 6ULL, 255ULL, ~0ULL}) {
    const cai_error error = allocation_failure(manager, 1, CAI_KIND_DEFAULT, align);
    EXPECT_EQ(error.status, CAI_ERR_VALUE);
    EXPECT_TRUE(contains(error.message, "align")) << error.message;
  }
  for (const int kind : {0, int{CAI_KIND_PITCHED}, int{CAI_KIND_CUDA_ARRAY}, 11, 4096}) {
    const cai_error error = allocation_failure(manager, 1, static_cast<std::uint32_t>(kind));
    EXPECT_EQ(error.status, CAI_ERR_VALUE);
    EXPECT_TRUE(contains(error.message, "kind")) << error.message;
  }
  cai_block block{};
  EXPECT_EQ(cai_manager_alloc(manager, 1, 0, CAI_KIND_DEFAULT, 1, &block, nullptr), CAI_ERR_VALUE);
  EXPECT_EQ(cai_manager_alloc(nullptr, 1, 0, CAI_KIND_DEFAULT, 0, &block, nullptr),
            CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_manager_alloc(manager, 1, 0, CAI_KIND_DEFAULT, 0, nullptr, nullptr),
            CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_manager_free(nullptr, &block, CAI_KIND_DEFAULT, 0, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_manager_free(manager, nullptr, CAI_KIND_DEFAULT, 0, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_manager_memory(nullptr, nullptr, nullptr, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_manager_trim(nullptr, 0, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_manager_create(nullptr, nullptr, cpu, nullptr, nullptr, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_manager_create("host", nullptr, cpu, nullptr, nullptr, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_manager_of(cpu, nullptr, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(recorder.calls, Calls({"create"}));
}

// ---- Registering --------------------------------------------------------------------------------

TEST(Register, TablesAreJudged) {
  static cai_manager_table table = recorder_table;
  const auto refused = [&](cai_status status, const char *part) {
    cai_error error{};
    EXPECT_EQ(cai_manager_register("judged", &table, &error), status);
    EXPECT_TRUE(contains(error.message, part)) << error.message;
    table = recorder_table;
  };
  table.version = 2;
  refused(CAI_ERR_VERSION, "manager judged has interface version 2, and libcai needs 1");
  table.struct_size = 16;
  refused(CAI_ERR_VALUE, "struct_size");
  table.struct_size = offsetof(cai_manager_table, memfree);
  refused(CAI_ERR_VALUE, "struct_size");
  table.create = nullptr;
  refused(CAI_ERR_VALUE, "no create");
  table.destroy = nullptr;
  refused(CAI_ERR_VALUE, "no destroy");
  table.initialize = nullptr;
  refused(CAI_ERR_VALUE, "no initialize");
  table.reset = nullptr;
  refused(CAI_ERR_VALUE, "no reset");
  table.memalloc = nullptr;
  refused(CAI_ERR_VALUE, "no memalloc");
  table.memfree = nullptr;
  refused(CAI_ERR_VALUE, "no memfree");
  table.name = nullptr;
  refused(CAI_ERR_VALUE, "no name");
  table.memhostfree = full_table.memhostfree;
  refused(CAI_ERR_VALUE, "memhostalloc and memhostfree");
  table.mempin = [](void *, void *, std::uint64_t, std::uint32_t, std::uint32_t, cai_block *,
                    cai_error *) { return cai_status{CAI_OK}; };
  refused(CAI_ERR_VALUE, "mempin and memunpin");
  table.close_ipc_handle = [](void *, const cai_block *, std::uint64_t, cai_error *) {
    return cai_status{CAI_OK};
  };
  refused(CAI_ERR_VALUE, "open_ipc_handle and close_ipc_handle");
  EXPECT_EQ(refusal("judged", cpu).first, CAI_ERR_VALUE);
}

TEST(Register, AnOlderTableLacksWhatItCannotName) {
  static cai_manager_table table = full_table;
  table.struct_size = offsetof(cai_manager_table, memhostalloc);
  ASSERT_EQ(cai_manager_register("older", &table, nullptr), CAI_OK);
  Full full;
  const Manager manager = make("older", cpu, static_cast<Recorder *>(&full));
  free_block(manager, allocate(manager, 10, CAI_KIND_HOST), CAI_KIND_HOST);
  EXPECT_EQ(full.count("memhostalloc"), 0U);
}

TEST(Register, Names) {
  for (const char *name : {"", "a b", "a/b", "a:b", "a{b", "\xc3\xa4", "a\n"}) {
    EXPECT_EQ(cai_manager_register(name, &recorder_table, nullptr), CAI_ERR_VALUE) << name;
  }
  EXPECT_EQ(cai_manager_register("azAZ09", &recorder_table, nullptr), CAI_OK);
  std::string name = "Some_thing-1.0";
  EXPECT_EQ(cai_manager_register(name.c_str(), &recorder_table, nullptr), CAI_OK);
  const std::string copy = name;
  name.assign(name.size(), 'x');
  Recorder recorder;
  const Manager manager = make(copy.c_str(), cpu, &recorder);
  EXPECT_STREQ(cai_manager_name(manager), "recorder");
  for (const char *taken : {"Some_thing-1.0", "default", "host", "retrying"}) {
    cai_error error{};
    EXPECT_EQ(cai_manager_register(taken, &recorder_table, &error), CAI_ERR_VALUE);
    EXPECT_TRUE(contains(error.message, taken)) << error.message;
  }
  EXPECT_EQ(cai_manager_register(nullptr, &recorder_table, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_manager_register("x", nullptr, nullptr), CAI_ERR_ARGUMENT);
}

// ---- Which manager a device has -----------------------------------------------------------------

TEST(Choice, TheCpuHasTheHeap) {
  const Manager manager = manager_of(cpu);
  EXPECT_STREQ(cai_manager_name(manager), "host");
  EXPECT_EQ(cai_manager_device(manager).type, CAI_DEVICE_CPU);
  EXPECT_EQ(static_cast<cai_manager *>(manager), static_cast<cai_manager *>(manager_of(cpu)));
  for (const std::uint32_t kind : {CAI_KIND_DEFAULT, CAI_KIND_ASYNC, CAI_KIND_MANAGED,
                                   CAI_KIND_MANAGED_GLOBAL, CAI_KIND_HOST}) {
    for (const std::uint64_t align : {0, 1, 64, 65536}) {
      const cai_block block = allocate(manager, 1000, kind, align);
      EXPECT_EQ(block.data % (align ? align : 256), 0U);
      EXPECT_EQ(block.data, block.host);
      EXPECT_EQ(block.size, 1000U);
      std::memset(reinterpret_cast<void *>(block.host), 1, 1000);
      free_block(manager, block, kind);
    }
  }
  const cai_error error = allocation_failure(manager, ~0ULL - 100);
  EXPECT_EQ(error.status, CAI_ERR_MEMORY);
  EXPECT_EQ(error.native, 0);
  EXPECT_TRUE(contains(error.message, "from manager host")) << error.message;
}

TEST(Choice, AnInstalledOneIsTheDevices) {
  Recorder recorder;
  Manager manager = make(recorder, cpu);
  ASSERT_EQ(cai_manager_install(cpu, manager, nullptr), CAI_OK);
  manager.end();
  {
    const Manager found = manager_of(cpu);
    EXPECT_STREQ(cai_manager_name(found), "recorder");
    const cai_block block = allocate(found, 3);
    // Memory that is out stays with its own.
    ASSERT_EQ(cai_manager_install(cpu, nullptr, nullptr), CAI_OK);
    EXPECT_STREQ(cai_manager_name(manager_of(cpu)), "host");
    free_block(found, block);
    EXPECT_EQ(recorder.count("destroy"), 0U);
  }
  EXPECT_EQ(recorder.count("destroy"), 1U);
}

TEST(Choice, ByNameIsForGpusAlone) {
  EXPECT_EQ(cai_manager_choose("statistics", nullptr), CAI_OK);
  EXPECT_STREQ(cai_manager_name(manager_of(cpu)), "host");
  cai_error error{};
  EXPECT_EQ(cai_manager_choose("no such", &error), CAI_ERR_VALUE);
  EXPECT_TRUE(contains(error.message, "no such")) << error.message;
  EXPECT_EQ(cai_manager_choose(nullptr, nullptr), CAI_OK);
}

TEST(Choice, DevicesAreJudged) {
  const Manager manager = make("host", cpu);
  for (const cai_device device : {cai_device{1, 1}, cai_device{2, -1}, cai_device{3, 0}}) {
    EXPECT_EQ(refusal("host", device).first, CAI_ERR_VALUE);
    cai_manager *found = nullptr;
    EXPECT_EQ(cai_manager_of(device, &found, nullptr), CAI_ERR_VALUE);
    EXPECT_EQ(cai_manager_install(device, nullptr, nullptr), CAI_ERR_VALUE);
    EXPECT_EQ(cai_pending_flush(device, nullptr), CAI_ERR_VALUE);
    EXPECT_EQ(cai_pending_defer(device, 1, nullptr), CAI_ERR_VALUE);
    cai_usage out{};
    out.struct_size = sizeof out;
    EXPECT_EQ(cai_memory_usage(device, &out, nullptr), CAI_ERR_VALUE);
  }
  EXPECT_EQ(cai_manager_install(gpu0, manager, nullptr), CAI_ERR_DEVICE);
  EXPECT_EQ(refusal("statistics", cpu).first, CAI_ERR_VALUE);  // around what?
  EXPECT_EQ(refusal("host", cpu, nullptr, manager).first, CAI_ERR_VALUE);
  EXPECT_EQ(refusal("host", cpu, &gpu0).first, CAI_ERR_VALUE);
  EXPECT_EQ(refusal("statistics", {2, 0}, nullptr, manager).first, CAI_ERR_VALUE);
  EXPECT_EQ(refusal("default", cpu).first, CAI_ERR_UNSUPPORTED);
  EXPECT_EQ(refusal("nobody", cpu).first, CAI_ERR_VALUE);
  EXPECT_EQ(refusal("", cpu).first, CAI_ERR_VALUE);
}

TEST(Choice, ByManyThreadsAtOnce) {
  ASSERT_EQ(cai_manager_install(cpu, nullptr, nullptr), CAI_OK);
  std::vector<std::thread> threads;
  std::vector<cai_manager *> found(8);
  for (cai_manager *&each : found) {
    threads.emplace_back([&each] {
      EXPECT_EQ(cai_manager_of(cpu, &each, nullptr), CAI_OK);
      for (int i = 0; i < 1000; ++i) {
        cai_block block{};
        EXPECT_EQ(cai_manager_alloc(each, 64, 0, CAI_KIND_DEFAULT, 0, &block, nullptr), CAI_OK);
        EXPECT_EQ(cai_manager_free(each, &block, CAI_KIND_DEFAULT, 0, nullptr), CAI_OK);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  for (cai_manager *each : found) {
    EXPECT_EQ(each, found[0]);
    cai_manager_release(each);
  }
}

}  // namespace
}  // namespace test::managers_tests
