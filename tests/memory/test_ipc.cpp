// SPDX-License-Identifier: BSD-3-Clause
// Memory of another process: this program starts itself again, and that one shares.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

#include "managers.hpp"
#include "memories.hpp"
#include "opener.hpp"
#include "talk.hpp"

namespace test::ipc_tests {
namespace {

constexpr std::uint64_t size = 1 << 16, offset = 4096;

// The other process is to run on in another thread than the main one.
constexpr const char *without_main_thread = "other without its main thread";

// What the other process must do.
enum class Ask : char { legacy, pool, same_pool, read, release, end };

struct Shared {
  cai_ipc_handle handle;
  unsigned char byte;
};

void must_be_ok(cai_status status, const cai_error &error) {
  if (status == CAI_OK) return;
  std::fprintf(stderr, "the other process: %s\n", error.message);
  std::abort();
}

class Sharer {
 public:
  void serve() {
    for (Ask ask{}; receive_all(talk_of_other, &ask, 1, nullptr);) {
      switch (ask) {
        case Ask::legacy:
        case Ask::pool:
          share(ask == Ask::pool);
          break;
        case Ask::same_pool:
          share_anew();
          break;
        case Ask::read: {
          const unsigned char byte = read();
          send_all(talk_of_other, &byte, 1, -1);
          break;
        }
        case Ask::release:
          view_.reset();
          memory_.reset();
          must_be_ok(cai_pending_flush(gpu0, &error_), error_);
          send_all(talk_of_other, "", 1, -1);
          break;
        case Ask::end:
          return;
      }
    }
  }

 private:
  // Other memory of the pool that was shared last, which stays.
  void share_anew() {
    kept_.push_back(std::move(memory_));
    view_.reset();
    cai_request wanted = request(CAI_KIND_ASYNC, 2 * size);
    wanted.manager = pool_;
    share(wanted, 9);
  }

  void share(bool by_pool) {
    cai_request wanted = request(by_pool ? CAI_KIND_ASYNC : CAI_KIND_DEFAULT, 2 * size);
    if (by_pool) {
      const cai_pool_params params{sizeof params, CAI_POOL_EXPORTABLE, 0, 0, 0, 0};
      must_be_ok(cai_manager_create("pool", &params, gpu0, nullptr, &wanted.manager, &error_),
                 error_);
      cai_manager_release(std::exchange(pool_, wanted.manager));
    }
    share(wanted, by_pool ? 7 : 5);
  }

  void share(const cai_request &wanted, unsigned char byte) {
    cai_memory *made = nullptr;
    must_be_ok(cai_memory_alloc(gpu0, &wanted, &made, &error_), error_);
    memory_ = OwnMemory(made);
    must_be_ok(cai_memory_view(memory_, offset, offset + size, &made, &error_), error_);
    view_ = OwnMemory(made);
    Shared shared{};
    shared.byte = byte;
    const OwnArray array = array_of(view_, {size});
    must_be_ok(cai_array_fill(array, &shared.byte, nullptr, &error_), error_);
    must_be_ok(cai_array_sync_host(array, &error_), error_);
    std::int32_t fd = -1;
    must_be_ok(cai_memory_share(view_, &shared.handle, &fd, &error_), error_);
    send_all(talk_of_other, &shared, sizeof shared, fd);
    if (fd >= 0) close(fd);
  }

  unsigned char read() {
    const OwnArray array = array_of(view_, {size});
    const std::int64_t last = size - 1;
    unsigned char byte = 0;
    must_be_ok(cai_array_item(array, &last, &byte, &error_), error_);
    return byte;
  }

  OwnMemory memory_, view_;
  std::vector<OwnMemory> kept_;
  cai_manager *pool_ = nullptr;
  cai_error error_{};
};

// The other process, from here.
class Other {
 public:
  // `devices`: which the other one sees, in which order; null: as this one.
  explicit Other(const char *devices = nullptr, const char *role = "other") {
    const Started made =
        start_again(role, {std::string("CUDA_VISIBLE_DEVICES=") + (devices ? devices : "0,1")});
    id_ = made.id;
    talk_ = made.talk;
  }
  Other(const Other &) = delete;
  Other &operator=(const Other &) = delete;
  ~Other() {
    if (id_) end();
    if (fd >= 0) close(fd);
    close(talk_);
  }

  Shared shared(Ask ask) {
    tell(ask);
    Shared shared{};
    if (fd >= 0) close(fd);
    EXPECT_TRUE(receive_all(talk_, &shared, sizeof shared, &fd));
    return shared;
  }
  unsigned char answer(Ask ask) {
    tell(ask);
    unsigned char byte = 0;
    EXPECT_TRUE(receive_all(talk_, &byte, 1, nullptr));
    return byte;
  }
  // It has ended, and nobody has asked how: the kernel knows it still.
  void end_unasked() {
    tell(Ask::end);
    siginfo_t how{};
    MUST(waitid(P_PID, static_cast<id_t>(id_), &how, WEXITED | WNOWAIT));
    has_ended_ = true;
  }
  void end() {
    if (!has_ended_) end_unasked();
    int status = -1;
    waitpid(std::exchange(id_, 0), &status, 0);
    EXPECT_EQ(status, 0);
  }

  // Of its main thread, as the kernel has it.
  std::string state() const {
    std::ifstream file("/proc/" + std::to_string(id_) + "/stat");
    std::string number, name, state;
    file >> number >> name >> state;
    return state;
  }

  int fd = -1;  // that came last

 private:
  void tell(Ask ask) const { send_all(talk_, &ask, 1, -1); }

  pid_t id_ = 0;
  bool has_ended_ = false;
  int talk_ = -1;
};

class Ipc : public Memories {
 protected:
  static OwnMemory open(const Other &other, const Shared &shared, cai_device device,
                        std::uint32_t how) {
    cai_memory *out = nullptr;
    cai_error problem{};
    EXPECT_EQ(cai_memory_open(&shared.handle, other.fd, device, nullptr, how, &out, &problem),
              CAI_OK)
        << problem.message;
    return OwnMemory(out);
  }

  static unsigned char item(cai_memory *memory, std::int64_t at) {
    const OwnArray array = array_of(memory, {size});
    unsigned char byte = 0;
    EXPECT_EQ(cai_array_item(array, &at, &byte, nullptr), CAI_OK);
    return byte;
  }

  static void fill(cai_memory *memory, unsigned char byte) {
    const OwnArray array = array_of(memory, {size});
    EXPECT_EQ(cai_array_fill(array, &byte, nullptr, nullptr), CAI_OK);
    EXPECT_EQ(cai_array_sync_host(array, nullptr), CAI_OK);
  }
};

TEST_F(Ipc, DirectSharesWhatIsThere) {
  for (const Ask ask : {Ask::legacy, Ask::pool}) {
    Other other;
    const Shared shared = other.shared(ask);
    EXPECT_EQ(shared.handle.size, size);
    EXPECT_EQ(other.fd >= 0, ask == Ask::pool);
    const OwnMemory memory = open(other, shared, gpu0, CAI_OPEN_DIRECT);
    EXPECT_EQ(describe(memory).size, size);
    EXPECT_EQ(describe(memory).flags, std::uint32_t{CAI_MEMORY_FOREIGN});
    EXPECT_EQ(item(memory, 0), shared.byte);
    EXPECT_EQ(item(memory, size - 1), shared.byte);
    fill(memory, 99);
    EXPECT_EQ(other.answer(Ask::read), 99);
    const OwnMemory again = open(other, shared, gpu0, CAI_OPEN_AUTO);
    EXPECT_EQ(describe(again).data, describe(memory).data);
  }
}

// The kernel calls it a zombie, as if it had ended.
TEST_F(Ipc, TheOthersMainThreadMayHaveEnded) {
  Other other(nullptr, without_main_thread);
  const Shared shared = other.shared(Ask::legacy);
  std::string state;
  while (state != "Z") {
    state = other.state();
    ASSERT_FALSE(state.empty()) << "the other process has ended";
  }
  EXPECT_EQ(item(open(other, shared, gpu0, CAI_OPEN_DIRECT), 0), shared.byte);
}

TEST_F(Ipc, StagedIsACopyThatOutlivesTheOther) {
  for (const Ask ask : {Ask::legacy, Ask::pool}) {
    for (const cai_device device : {gpu0, gpu1}) {
      Other other;
      const Shared shared = other.shared(ask);
      const OwnMemory memory = open(other, shared, device, CAI_OPEN_STAGED);
      EXPECT_EQ(item(memory, 0), shared.byte);
      ASSERT_OK(cai_drain(1, nullptr, error));
      fill(memory, 98);
      EXPECT_EQ(other.answer(Ask::read), shared.byte);
      other.answer(Ask::release);
      other.end();
      EXPECT_EQ(item(memory, size - 1), 98);
    }
  }
}

// A graph would copy at each launch, from what is closed by then.
TEST_F(Ipc, StagedIsNotCaptured) {
  Other other;
  const Shared shared = other.shared(Ask::legacy);
  const OwnStream stream = make_stream(gpu0);
  const Handle captured = handle(cai_stream_value(stream));
  MUST(gpu().cuStreamBeginCapture_v2(captured, 2));
  cai_memory *out = nullptr;
  EXPECT_FAILS(
      CAI_ERR_CAPTURE, "each launch would copy what is closed then",
      cai_memory_open(&shared.handle, other.fd, gpu0, stream, CAI_OPEN_STAGED, &out, error));
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(calls("cuIpcOpenMemHandle"), 0U);
  Handle graph = nullptr;
  MUST(gpu().cuStreamEndCapture(captured, &graph));
  MUST(gpu().cuGraphDestroy(graph));
  ASSERT_OK(cai_memory_open(&shared.handle, other.fd, gpu0, stream, CAI_OPEN_STAGED, &out, error));
  EXPECT_EQ(item(OwnMemory(out), 0), shared.byte);
}

TEST_F(Ipc, ClosedWithTheLastHolder) {
  Other other;
  const Shared shared = other.shared(Ask::legacy);
  OwnMemory first = open(other, shared, gpu0, CAI_OPEN_DIRECT);
  OwnMemory second = open(other, shared, gpu0, CAI_OPEN_DIRECT);
  EXPECT_EQ(calls("cuIpcOpenMemHandle"), 1U);
  first.reset();
  EXPECT_EQ(calls("cuIpcCloseMemHandle"), 0U);
  EXPECT_EQ(item(second, 0), shared.byte);
  second.reset();
  ASSERT_OK(cai_drain(1, nullptr, error));
  EXPECT_EQ(calls("cuIpcCloseMemHandle"), 1U);
  EXPECT_EQ(item(open(other, shared, gpu0, CAI_OPEN_DIRECT), 0), shared.byte);
}

// The driver frees a pool's memory once, for whatever device and by whatever name it was opened.
TEST_F(Ipc, APoolsMemoryIsClosedWithTheLastHolder) {
  Other other;
  const Shared shared = other.shared(Ask::pool);
  Shared renamed = shared;
  ++renamed.handle.pool;
  OwnMemory first = open(other, shared, gpu0, CAI_OPEN_DIRECT);
  OwnMemory second = open(other, shared, gpu1, CAI_OPEN_DIRECT);
  const OwnMemory third = open(other, renamed, gpu0, CAI_OPEN_DIRECT);
  EXPECT_EQ(describe(second).data, describe(first).data);
  EXPECT_EQ(describe(third).data, describe(first).data);
  first.reset();
  ASSERT_OK(cai_drain(1, nullptr, error));
  EXPECT_EQ(item(second, 0), shared.byte);
  second.reset();
  ASSERT_OK(cai_drain(1, nullptr, error));
  EXPECT_EQ(item(third, size - 1), shared.byte);
}

// Memory of one pool and of several, of one process and of several, is distinguished, and a pool is
// imported once for each device.
TEST_F(Ipc, PoolsAreToldApart) {
  Other one, two;
  const Shared plain = one.shared(Ask::legacy);
  const OwnMemory of_plain = open(one, plain, gpu0, CAI_OPEN_DIRECT);
  const Shared first = one.shared(Ask::pool);
  gpu().simcuda_reset_counts();
  const OwnMemory of_first = open(one, first, gpu0, CAI_OPEN_DIRECT);
  EXPECT_EQ(calls("cuMemPoolImportFromShareableHandle"), 1U);
  const Shared again = one.shared(Ask::same_pool);
  const OwnMemory of_again = open(one, again, gpu0, CAI_OPEN_DIRECT);
  EXPECT_EQ(calls("cuMemPoolImportFromShareableHandle"), 1U);
  const OwnMemory of_peer = open(one, again, gpu1, CAI_OPEN_DIRECT);
  const Shared theirs = two.shared(Ask::pool);
  const OwnMemory of_two = open(two, theirs, gpu0, CAI_OPEN_DIRECT);
  EXPECT_EQ(calls("cuMemPoolImportFromShareableHandle"), 3U);
  EXPECT_EQ(item(of_first, 0), first.byte);
  EXPECT_EQ(item(of_again, 0), again.byte);
  EXPECT_EQ(item(of_peer, 0), again.byte);
  EXPECT_EQ(item(of_two, 0), theirs.byte);
  EXPECT_EQ(describe(of_peer).data, describe(of_again).data);
  EXPECT_NE(describe(of_two).data, describe(of_first).data);
}

// Memory that a reset has closed is not shared with what is opened later, and is not closed again.
TEST_F(Ipc, WhatIsOpenedAfterAResetIsOpenedAnew) {
  for (const Ask ask : {Ask::legacy, Ask::pool}) {
    Other other;
    const Shared shared = other.shared(ask);
    OwnMemory before = open(other, shared, gpu0, CAI_OPEN_DIRECT);
    reset(0);
    gpu().simcuda_reset_counts();
    OwnMemory after = open(other, shared, gpu0, CAI_OPEN_DIRECT);
    EXPECT_EQ(calls(ask == Ask::pool ? "cuMemPoolImportPointer" : "cuIpcOpenMemHandle"), 1U);
    before.reset();
    ASSERT_OK(cai_drain(1, nullptr, error));
    EXPECT_EQ(calls("cuMemFree") + calls("cuIpcCloseMemHandle") + calls("cuMemPoolDestroy"), 0U);
    EXPECT_EQ(item(after, 0), shared.byte);
    after.reset();
    ASSERT_OK(cai_drain(1, nullptr, error));
    EXPECT_EQ(calls("cuMemFree") + calls("cuIpcCloseMemHandle"), 1U);
  }
}

// The driver would keep it for good, and with it the other process's memory.
TEST_F(Ipc, AResetClosesAPoolsMemoryWithTheContext) {
  Other other;
  const Shared shared = other.shared(Ask::pool);
  static const auto objects = driver_function<std::uint64_t (*)(const char *)>("simcuda_objects");
  const std::uint64_t allocations = objects("CUdeviceptr"), pools = objects("CUmemoryPool");
  const OwnMemory memory = open(other, shared, gpu0, CAI_OPEN_DIRECT);
  // Whose stream is the legacy one, of which nobody asks whether it is idle.
  fill(memory, 3);
  reset(0);
  EXPECT_EQ(objects("CUdeviceptr"), allocations);
  EXPECT_EQ(objects("CUmemoryPool"), pools);
  EXPECT_TRUE(describe(memory).flags & CAI_MEMORY_FREED);
  EXPECT_EQ(other.answer(Ask::read), 3);
}

// If the driver fails to wait, a later call closes it.
TEST_F(Ipc, AResetThatCannotWaitClosesAPoolsMemoryLater) {
  Other other;
  const Shared shared = other.shared(Ask::pool);
  static const auto objects = driver_function<std::uint64_t (*)(const char *)>("simcuda_objects");
  const std::uint64_t allocations = objects("CUdeviceptr");
  const OwnMemory memory = open(other, shared, gpu0, CAI_OPEN_DIRECT);
  fill(memory, 4);
  const Failures failures;
  MUST(gpu().simcuda_fail("cuCtxSynchronize", 2, 999));
  reset(0);
  EXPECT_EQ(failures.messages.size(), 1U);
  ASSERT_OK(cai_drain(1, nullptr, error));
  EXPECT_EQ(objects("CUdeviceptr"), allocations);
}

// The driver maps a pool's memory once for both GPUs, of which one may lose its context.
TEST_F(Ipc, AResetLeavesAPoolsMemoryToTheOtherGpu) {
  Other other;
  const Shared shared = other.shared(Ask::pool);
  const OwnMemory gone = open(other, shared, gpu0, CAI_OPEN_DIRECT);
  OwnMemory stays = open(other, shared, gpu1, CAI_OPEN_DIRECT);
  reset(0);
  EXPECT_EQ(item(stays, 0), shared.byte);
  gpu().simcuda_reset_counts();
  open(other, shared, gpu0, CAI_OPEN_DIRECT).reset();
  ASSERT_OK(cai_drain(1, nullptr, error));
  EXPECT_EQ(calls("cuMemFree"), 0U);
  EXPECT_EQ(item(stays, size - 1), shared.byte);
  stays.reset();
  ASSERT_OK(cai_drain(1, nullptr, error));
  EXPECT_EQ(calls("cuMemFree"), 1U);
}

TEST_F(Ipc, NothingIsOpenedOnAStreamThatAResetHasEnded) {
  Other other;
  const Shared shared = other.shared(Ask::legacy);
  const OwnStream ended = make_stream(gpu0);
  reset(0);
  gpu().simcuda_reset_counts();
  for (const std::uint32_t how : {CAI_OPEN_DIRECT, CAI_OPEN_STAGED, CAI_OPEN_AUTO}) {
    cai_memory *out = nullptr;
    EXPECT_FAILS(CAI_ERR_STATE, "ended when gpu:0 was reset",
                 cai_memory_open(&shared.handle, -1, gpu0, ended, how, &out, error));
  }
  EXPECT_EQ(calls("cuIpcOpenMemHandle"), 0U);
}

// If the driver does not say whether one GPU can access the other, nothing is opened. If it cannot,
// memory is copied, or the call fails.
TEST_F(Ipc, DevicesThatDoNotReachEachOther) {
  Other other;
  const Shared shared = other.shared(Ask::legacy);
  cai_memory *out = nullptr;
  MUST(gpu().simcuda_fail("cuDeviceCanAccessPeer", 1, 999));
  EXPECT_FAILS(
      CAI_ERR_CUDA, "cuDeviceCanAccessPeer",
      cai_memory_open(&shared.handle, other.fd, gpu1, nullptr, CAI_OPEN_AUTO, &out, error));
  EXPECT_EQ(out, nullptr);
}

// The driver shares no managed memory, whatever the kind that was asked for.
TEST_F(Ipc, WhatTheDriverDoesNotShare) {
  cai_request wanted = request(CAI_KIND_DEFAULT, size);
  ASSERT_OK(cai_manager_create("managed", nullptr, gpu0, nullptr, &wanted.manager, error));
  cai_memory *made = nullptr;
  ASSERT_OK(cai_memory_alloc(gpu0, &wanted, &made, error));
  const OwnMemory memory(made);
  cai_manager_release(wanted.manager);
  cai_ipc_handle handle{};
  std::int32_t fd = 7;
  EXPECT_FAILS(CAI_ERR_UNSUPPORTED, "cannot share this memory",
               cai_memory_share(memory, &handle, &fd, error));
  EXPECT_EQ(fd, 7);
}

// A handle comes from another process: its size is not trusted.
TEST_F(Ipc, WhatLeavesTheMappingIsRefused) {
  for (const Ask ask : {Ask::legacy, Ask::pool}) {
    Other other;
    const Shared shared = other.shared(ask);
    struct Forgery {
      std::uint64_t offset, size;
    };
    for (const auto &[at, bytes] : {Forgery{0, std::uint64_t{1} << 40}, Forgery{offset, 1 << 20},
                                    Forgery{std::uint64_t{1} << 40, 1}, Forgery{2 * size, 1}}) {
      for (const std::uint32_t how : {CAI_OPEN_DIRECT, CAI_OPEN_STAGED, CAI_OPEN_AUTO}) {
        cai_ipc_handle forged = shared.handle;
        forged.offset = at;
        forged.size = bytes;
        cai_memory *out = nullptr;
        EXPECT_FAILS(CAI_ERR_VALUE, "the memory that it names has",
                     cai_memory_open(&forged, other.fd, gpu0, nullptr, how, &out, error));
        EXPECT_EQ(out, nullptr);
      }
    }
    const OwnMemory memory = open(other, shared, gpu0, CAI_OPEN_DIRECT);
    EXPECT_EQ(item(memory, size - 1), shared.byte);
  }
}

// Whose the memory is only the driver knows: what the handle says of it costs nobody the access.
TEST_F(Ipc, AHandleMayNameAnotherGpu) {
  cai_device_info there{};
  there.struct_size = sizeof there;
  ASSERT_OK(cai_device_describe(gpu1, &there, error));
  for (const Ask ask : {Ask::legacy, Ask::pool}) {
    for (const cai_device device : {gpu0, gpu1}) {
      Other other;
      const Shared shared = other.shared(ask);
      Shared forged = shared;
      std::memcpy(forged.handle.uuid, there.uuid, sizeof there.uuid);
      for (const std::uint32_t how : {CAI_OPEN_DIRECT, CAI_OPEN_STAGED, CAI_OPEN_AUTO}) {
        const OwnMemory memory = open(other, forged, device, how);
        EXPECT_EQ(item(memory, size - 1), shared.byte);
        EXPECT_EQ(item(open(other, shared, device, how), size - 1), shared.byte);
      }
    }
  }
}

TEST_F(Ipc, DevicesAreKnownByIdentity) {
  Other other("1,0");
  const Shared shared = other.shared(Ask::legacy);  // on its GPU 0, which is 1 here
  const OwnMemory memory = open(other, shared, gpu1, CAI_OPEN_DIRECT);
  EXPECT_EQ(item(memory, 0), shared.byte);
  fill(memory, 42);
  EXPECT_EQ(other.answer(Ask::read), 42);
}

// What a manager has opened is closed with the device's context, and its function is not called.
TEST_F(Ipc, WhatAManagerHasOpenedGoesWithAReset) {
  Other other;
  const Shared shared = other.shared(Ask::legacy);
  Opener opener;
  cai_manager *made = nullptr;
  ASSERT_OK(cai_manager_create(opener.name(), &opener, gpu0, nullptr, &made, error));
  ASSERT_OK(cai_manager_install(gpu0, made, error));
  OwnMemory memory = open(other, shared, gpu0, CAI_OPEN_DIRECT);
  EXPECT_EQ(opener.opens, 1);
  reset(0);
  memory.reset();
  ASSERT_OK(cai_drain(1, nullptr, error));
  EXPECT_EQ(opener.closes, 0);
  ASSERT_OK(cai_manager_install(gpu0, nullptr, error));
  cai_manager_release(made);
}

// A manager that cuts one allocation of the driver's into pieces says where that begins.
TEST_F(Ipc, AManagersMemoryIsSharedByItsBase) {
  struct Cutter {
    Address chunk = 0;
    static Cutter &of(void *self) { return *static_cast<Cutter *>(self); }
  } cutter;
  static cai_manager_table table{};
  table.struct_size = sizeof table;
  table.version = CAI_MANAGER_VERSION;
  table.name = "cutter";
  table.create = [](const void *params, cai_device, cai_manager *, void **self, cai_error *) {
    *self = const_cast<void *>(params);
    return cai_status{CAI_OK};
  };
  table.destroy = [](void *) {};
  table.initialize = table.reset = [](void *, cai_error *) { return cai_status{CAI_OK}; };
  table.memalloc = [](void *self, std::uint64_t bytes, std::uint64_t, std::uint32_t, std::uint64_t,
                      cai_block *out, cai_error *) {
    *out = {Cutter::of(self).chunk + 512, 0, bytes, 0};
    return cai_status{CAI_OK};
  };
  table.memfree = [](void *, const cai_block *, std::uint64_t, cai_error *) {
    return cai_status{CAI_OK};
  };
  table.base = [](void *self, std::uint64_t address, std::uint64_t *base, std::uint64_t *bytes,
                  cai_error *) {
    EXPECT_EQ(address, Cutter::of(self).chunk + 512);
    *base = Cutter::of(self).chunk;
    *bytes = 4096;
    return cai_status{CAI_OK};
  };
  ASSERT_OK(cai_manager_register("cutter", &table, error));
  const With with(primary[0]);
  MUST(gpu().cuMemAlloc_v2(&cutter.chunk, 4096));
  {
    cai_request wanted = request(CAI_KIND_DEFAULT, 64);
    ASSERT_OK(cai_manager_create("cutter", &cutter, gpu0, nullptr, &wanted.manager, error));
    cai_memory *made = nullptr;
    ASSERT_OK(cai_memory_alloc(gpu0, &wanted, &made, error));
    const OwnMemory memory(made);
    cai_manager_release(wanted.manager);
    gpu().simcuda_reset_counts();
    cai_ipc_handle handle{};
    handle.struct_size = sizeof handle;
    std::int32_t fd = -1;
    ASSERT_OK(cai_memory_share(memory, &handle, &fd, error));
    EXPECT_EQ(handle.offset, 512U);
    EXPECT_EQ(handle.size, 64U);
    EXPECT_EQ(calls("cuMemGetAddressRange"), 0U);
  }
  ASSERT_OK(cai_pending_flush(gpu0, error));
  MUST(gpu().cuMemFree_v2(cutter.chunk));
}

TEST_F(Ipc, AManagerOpensAHandleOnce) {
  Other other;
  Shared shared = other.shared(Ask::legacy);
  Opener opener;
  cai_manager *before = nullptr, *made = nullptr;
  ASSERT_OK(cai_manager_of(gpu0, &before, error));
  ASSERT_OK(cai_manager_create(opener.name(), &opener, gpu0, nullptr, &made, error));
  ASSERT_OK(cai_manager_install(gpu0, made, error));
  {
    OwnMemory first = open(other, shared, gpu0, CAI_OPEN_DIRECT);
    OwnMemory second = open(other, shared, gpu0, CAI_OPEN_DIRECT);
    EXPECT_EQ(opener.opens, 1);
    EXPECT_EQ(describe(second).data, describe(first).data);
    shared.handle.offset += 16;
    shared.handle.size -= 16;
    const OwnMemory part = open(other, shared, gpu0, CAI_OPEN_DIRECT);
    EXPECT_EQ(opener.opens, 2);
    {  // another manager opens it for itself
      Opener second_opener;
      cai_manager *another = nullptr;
      ASSERT_OK(cai_manager_create(opener.name(), &second_opener, gpu0, nullptr, &another, error));
      ASSERT_OK(cai_manager_install(gpu0, another, error));
      open(other, shared, gpu0, CAI_OPEN_DIRECT).reset();
      ASSERT_OK(cai_drain(1, nullptr, error));
      EXPECT_EQ(second_opener.opens, 1);
      EXPECT_EQ(second_opener.closes, 1);
      EXPECT_EQ(opener.opens, 2);
      ASSERT_OK(cai_manager_install(gpu0, made, error));
      cai_manager_release(another);
    }
    first.reset();
    ASSERT_OK(cai_drain(1, nullptr, error));
    EXPECT_EQ(opener.closes, 0);
    second.reset();
    ASSERT_OK(cai_drain(1, nullptr, error));
    EXPECT_EQ(opener.closes, 1);
  }
  ASSERT_OK(cai_drain(1, nullptr, error));
  EXPECT_EQ(opener.closes, 2);

  OwnMemory refused = open(other, shared, gpu0, CAI_OPEN_DIRECT);
  opener.refusals = 1;
  refused.reset();
  EXPECT_EQ(opener.refusals, 0);
  EXPECT_EQ(opener.closes, 2);
  ASSERT_OK(cai_drain(1, nullptr, error));  // tries again
  EXPECT_EQ(opener.closes, 3);

  cai_memory *const untouched = reinterpret_cast<cai_memory *>(16);
  cai_memory *out = untouched;
  opener.fails = true;
  EXPECT_EQ(cai_memory_open(&shared.handle, -1, gpu0, nullptr, CAI_OPEN_DIRECT, &out, nullptr),
            CAI_ERR_CUDA);
  EXPECT_EQ(out, untouched);
  opener.fails = false;

  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int again = 0; again < 50; ++again) {
        const OwnMemory mine = open(other, shared, gpu0, CAI_OPEN_DIRECT);
        EXPECT_NE(describe(mine).data, 0U);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  ASSERT_OK(cai_drain(1, nullptr, error));
  EXPECT_EQ(opener.closes, opener.opens);

  ASSERT_OK(cai_manager_install(gpu0, before, error));
  cai_manager_release(before);
  cai_manager_release(made);
}

TEST_F(Ipc, AWrongDescriptorIsNamed) {
  Other other;
  const Shared shared = other.shared(Ask::pool);
  const int wrong = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const std::string names = "fd " + std::to_string(wrong) + " is of no memory pool";
  cai_memory *out = nullptr;
  EXPECT_FAILS(CAI_ERR_CUDA, names.c_str(),
               cai_memory_open(&shared.handle, wrong, gpu0, nullptr, CAI_OPEN_AUTO, &out, error));
  close(wrong);
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(item(open(other, shared, gpu0, CAI_OPEN_DIRECT), 0), shared.byte);
}

TEST_F(Ipc, Refusals) {
  Other other;
  const Shared shared = other.shared(Ask::legacy);
  cai_memory *const untouched = reinterpret_cast<cai_memory *>(16);
  const auto refused = [&](auto change, cai_device device, int fd, std::uint32_t how,
                           cai_status status, const char *names) {
    cai_ipc_handle handle = shared.handle;
    change(handle);
    cai_memory *out = untouched;
    cai_error problem{};
    EXPECT_EQ(cai_memory_open(&handle, fd, device, nullptr, how, &out, &problem), status) << names;
    EXPECT_EQ(out, untouched);
    EXPECT_NE(std::string(problem.message).find(names), std::string::npos) << problem.message;
  };
  const auto as_it_is = [](cai_ipc_handle &) {};
  refused([](auto &h) { h.kind = 3; }, gpu0, -1, CAI_OPEN_AUTO, CAI_ERR_VALUE, "kind 3");
  refused([](auto &h) { h.size = 0; }, gpu0, -1, CAI_OPEN_AUTO, CAI_ERR_VALUE, "size 0");
  refused([](auto &h) { h.struct_size = 8; }, gpu0, -1, CAI_OPEN_AUTO, CAI_ERR_VALUE,
          "struct_size 8");
  refused([](auto &h) { h.reserved = 1U << 31; }, gpu0, -1, CAI_OPEN_AUTO, CAI_ERR_VALUE,
          ", reserved 2147483648 (not 0)");
  refused([](auto &h) { h.reserved1 = 5; }, gpu0, -1, CAI_OPEN_AUTO, CAI_ERR_VALUE,
          ", reserved1 5 (not 0)");
  refused([](auto &h) { h.reserved2 = UINT64_MAX; }, gpu0, -1, CAI_OPEN_AUTO, CAI_ERR_VALUE,
          ", reserved2 18446744073709551615 (not 0)");
  refused([](auto &h) { ++h.process_start; }, gpu0, -1, CAI_OPEN_AUTO, CAI_ERR_STATE, "has ended");
  refused([](auto &h) { h.process = static_cast<std::uint64_t>(getpid()); }, gpu0, -1,
          CAI_OPEN_AUTO, CAI_ERR_STATE, "own");
  refused([](auto &h) { h.uuid[3] ^= 1; }, gpu0, -1, CAI_OPEN_AUTO, CAI_ERR_DEVICE, "uuid");
  refused([](auto &h) { h.data[9] ^= 1; }, gpu0, -1, CAI_OPEN_AUTO, CAI_ERR_CUDA,
          "cuIpcOpenMemHandle");
  refused(as_it_is, gpu0, 0, CAI_OPEN_AUTO, CAI_ERR_VALUE, "fd is 0");
  refused(as_it_is, cpu, -1, CAI_OPEN_AUTO, CAI_ERR_DEVICE, "CPU");
  refused(as_it_is, gpu0, -1, 4, CAI_ERR_VALUE, "how is 4");
  other.answer(Ask::release);
  refused(as_it_is, gpu0, -1, CAI_OPEN_DIRECT, CAI_ERR_CUDA, "cuIpcOpenMemHandle");
  other.end();
  refused(as_it_is, gpu0, -1, CAI_OPEN_AUTO, CAI_ERR_STATE, "has ended");
  Other unasked;
  const Shared its = unasked.shared(Ask::legacy);
  unasked.end_unasked();
  refused([&](auto &h) { h = its.handle; }, gpu0, -1, CAI_OPEN_AUTO, CAI_ERR_STATE, "has ended");

  const OwnMemory pinned = allocate(gpu0, CAI_KIND_PINNED, 64);
  const OwnMemory of_pool = allocate(gpu0, CAI_KIND_ASYNC, 64);
  cai_ipc_handle handle{};
  std::int32_t fd = 17;
  EXPECT_EQ(cai_memory_share(pinned, &handle, &fd, nullptr), CAI_ERR_UNSUPPORTED);
  EXPECT_EQ(cai_memory_share(of_pool, &handle, &fd, nullptr), CAI_ERR_UNSUPPORTED);
  for (const std::uint32_t kind : {CAI_KIND_DEFAULT, CAI_KIND_ASYNC, CAI_KIND_HOST}) {
    const OwnMemory of_the_cpu = allocate(cpu, kind, 64);
    EXPECT_FAILS(CAI_ERR_UNSUPPORTED, "cannot be shared: it is the CPU's, not a GPU's",
                 cai_memory_share(of_the_cpu, &handle, &fd, error));
  }
  EXPECT_EQ(fd, 17);
}

}  // namespace
}  // namespace test::ipc_tests

int main(int count, char **arguments) {
  if (count > 1 && std::strcmp(arguments[1], "other") == 0) {
    test::ipc_tests::Sharer().serve();
    return 0;
  }
  if (count > 1 && std::strcmp(arguments[1], test::ipc_tests::without_main_thread) == 0) {
    std::thread([] {
      test::ipc_tests::Sharer().serve();
      std::exit(0);
    }).detach();
    pthread_exit(nullptr);
  }
  testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
