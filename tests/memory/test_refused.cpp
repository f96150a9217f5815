// SPDX-License-Identifier: BSD-3-Clause
// What is asked for and cannot be, each by its own: the status, the field that the message names,
// and nothing written, allocated or counted.
#include <unistd.h>

#include <limits>
#include <memory>

#include "managers.hpp"
#include "memories.hpp"

namespace test::refused_tests {
namespace {

constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();

class Refused : public Memories {
 protected:
  Refused() : before_{used(cpu), used(gpu0), used(gpu1)} {}
  ~Refused() override {
    const std::uint64_t now[] = {used(cpu), used(gpu0), used(gpu1)};
    for (int i = 0; i < 3; ++i) EXPECT_EQ(now[i], before_[i]);
    EXPECT_EQ(out, untouched);
  }

  static std::uint64_t used(cai_device device) {
    cai_usage usage{};
    usage.struct_size = sizeof usage;
    EXPECT_EQ(cai_memory_usage(device, &usage, nullptr), CAI_OK);
    return usage.count;
  }

  cai_memory *const untouched = reinterpret_cast<cai_memory *>(&before_);
  cai_memory *out = untouched;

 private:
  std::uint64_t before_[3];
};

TEST_F(Refused, Requests) {
  cai_manager *of_other = nullptr;
  ASSERT_OK(cai_manager_of(gpu1, &of_other, error));
  struct Case {
    const char *says;
    std::uint32_t kind;
    std::uint64_t size;
    void (*set)(cai_request &);
  };
  static constexpr auto nothing = [](cai_request &) {};
  const Case cases[] = {
      {"kind is 0", CAI_KIND_NONE, 8, nothing},
      {"kind is 99", 99, 8, nothing},
      {"rows is 3: memory of this kind has no rows", CAI_KIND_DEFAULT, 8,
       [](cai_request &r) { r.rows = 3; }},
      {"depth is 2: memory of this kind has no depth", CAI_KIND_PITCHED, 8,
       [](cai_request &r) { r.depth = 2; }},
      {"channels is 4: memory of this kind has", CAI_KIND_ASYNC, 8,
       [](cai_request &r) { r.channels = 4; }},
      {"dtype is set", CAI_KIND_DEFAULT, 8, [](cai_request &r) { r.dtype.kind = 'f'; }},
      {"align is 24: no power of two", CAI_KIND_HOST, 8, [](cai_request &r) { r.align = 24; }},
      {"flags is 1", CAI_KIND_MANAGED, 8, [](cai_request &r) { r.flags = CAI_HOST_PORTABLE; }},
      {"flags is 4", CAI_KIND_PINNED, 8, [](cai_request &r) { r.flags = 4; }},
      {"a reserved field", CAI_KIND_DEFAULT, 8, [](cai_request &r) { r.reserved = 1; }},
      {"a reserved field", CAI_KIND_DEFAULT, 8, [](cai_request &r) { r.reserved1 = 1; }},
      {"too large", CAI_KIND_DEFAULT, most + 1, nothing},
      {"too large", CAI_KIND_PITCHED, most - 1, [](cai_request &r) { r.rows = 1; }},
      {"are too many", CAI_KIND_PITCHED, most / 2, [](cai_request &r) { r.rows = 4; }},
      {"are too many", CAI_KIND_PITCHED_MANAGED, 256, [](cai_request &r) { r.rows = most / 128; }},
  };
  for (const Case &each : cases) {
    SCOPED_TRACE(each.says);
    cai_request wanted = request(each.kind, each.size);
    each.set(wanted);
    EXPECT_FAILS(CAI_ERR_VALUE, each.says, cai_memory_alloc(gpu0, &wanted, &out, error));
  }
  cai_request wanted = request(CAI_KIND_DEFAULT, most);  // as large as it may be
  EXPECT_EQ(cai_memory_alloc(gpu0, &wanted, &out, nullptr), CAI_ERR_MEMORY);
  wanted = request(CAI_KIND_PITCHED, most - 256);
  wanted.rows = 1;
  EXPECT_EQ(cai_memory_alloc(gpu0, &wanted, &out, nullptr), CAI_ERR_MEMORY);
  wanted = request(CAI_KIND_DEFAULT, 8);
  wanted.manager = of_other;
  EXPECT_FAILS(CAI_ERR_VALUE, "is that of gpu:1, and not of gpu:0",
               cai_memory_alloc(gpu0, &wanted, &out, error));
  EXPECT_FAILS(CAI_ERR_VALUE, "is that of gpu:1, and not of cpu",
               cai_memory_alloc(cpu, &wanted, &out, error));
  cai_manager_release(of_other);

  EXPECT_FAILS(CAI_ERR_ARGUMENT, "request", cai_memory_alloc(gpu0, nullptr, &out, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "out", cai_memory_alloc(gpu0, &wanted, nullptr, error));
  wanted = request(CAI_KIND_DEFAULT, 8);
  for (const std::uint32_t size : {0U, 8U, std::numeric_limits<std::uint32_t>::max()}) {
    wanted.struct_size = size;
    EXPECT_FAILS(CAI_ERR_ARGUMENT, "struct_size", cai_memory_alloc(gpu0, &wanted, &out, error));
  }
  wanted.struct_size = offsetof(cai_request, rows);  // the least
  cai_memory *least = nullptr;
  ASSERT_OK(cai_memory_alloc(gpu0, &wanted, &least, error));
  cai_memory_release(least);
  // Fields of a newer caller that are 0 ask for nothing.
  struct Newer {
    cai_request known = request(CAI_KIND_DEFAULT, 8);
    std::uint64_t more = 0;
  } newer;
  newer.known.struct_size = sizeof newer;
  cai_memory *made = nullptr;
  ASSERT_OK(cai_memory_alloc(gpu0, &newer.known, &made, error));
  cai_memory_release(made);
  newer.more = 1;
  EXPECT_FAILS(CAI_ERR_VALUE, "of which this libcai knows 88",
               cai_memory_alloc(gpu0, &newer.known, &out, error));
  union Newest {
    cai_request known = request(CAI_KIND_DEFAULT, 8);
    unsigned char bytes[4097];
  };
  const auto newest = std::make_unique<Newest>();  // zeros behind what is known
  newest->known.struct_size = 4096;
  ASSERT_OK(cai_memory_alloc(gpu0, &newest->known, &made, error));
  cai_memory_release(made);
  newest->known.struct_size = 4097;
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "struct_size",
               cai_memory_alloc(gpu0, &newest->known, &out, error));
}

TEST_F(Refused, CudaArrays) {
  const auto wanted = [](std::uint64_t size, const cai_dtype &dtype, std::uint32_t channels) {
    cai_request made = request(CAI_KIND_CUDA_ARRAY, size);
    made.dtype = dtype;
    made.channels = channels;
    return made;
  };
  constexpr cai_dtype floats{'f', '<', 0, 0, 4, 0};
  struct Case {
    const char *says;
    cai_request request;
  };
  Case cases[] = {
      {"dtype is invalid", wanted(64, {'f', '<', 0, 0, 8, 0}, 1)},
      {"dtype is invalid", wanted(64, {'f', '>', 0, 0, 4, 0}, 1)},
      {"dtype is invalid", wanted(64, {'V', '|', CAI_EXT_BFLOAT16, 0, 2, 0}, 1)},
      {"dtype is invalid", wanted(64, {}, 1)},
      {"channels is 0", wanted(64, floats, 0)},
      {"channels is 3", wanted(48, floats, 3)},
      {"size is 62: not a whole number", wanted(62, floats, 1)},
      {"size is 8: not a whole number", wanted(8, floats, 4)},
      {"depth is 2: only memory with rows", wanted(64, floats, 1)},
      {"are too many", wanted(most / 8 * 4, floats, 1)},
  };
  std::end(cases)[-2].request.depth = 2;
  std::end(cases)[-1].request.rows = 4;
  for (const Case &each : cases) {
    SCOPED_TRACE(each.says);
    EXPECT_FAILS(CAI_ERR_VALUE, each.says, cai_memory_alloc(gpu0, &each.request, &out, error));
  }
  cai_request good = wanted(64, floats, 1);
  EXPECT_FAILS(CAI_ERR_UNSUPPORTED, "the CPU has no", cai_memory_alloc(cpu, &good, &out, error));

  good.rows = 2;
  good.depth = 3;
  cai_memory *made = nullptr;
  ASSERT_OK(cai_memory_alloc(gpu0, &good, &made, error));
  const OwnMemory solid(made);
  EXPECT_EQ(describe(solid).size, 64U * 2 * 3);
  EXPECT_EQ(describe(solid).depth, 3U);
  EXPECT_EQ(describe(solid).data, 0U);
  EXPECT_NE(describe(solid).array, 0U);
  const std::int64_t shape[] = {1};
  cai_array *array = nullptr;
  EXPECT_FAILS(CAI_ERR_UNSUPPORTED, "no address",
               cai_memory_array(solid, 0, &floats, 1, shape, nullptr, &array, error));

  good.size = 0;
  ASSERT_OK(cai_memory_alloc(gpu0, &good, &made, error));
  const OwnMemory none(made);
  EXPECT_EQ(describe(none).array, 0U);
}

TEST_F(Refused, Wrapped) {
  const auto info = [](std::uint32_t kind, std::uint64_t data, std::uint64_t size) {
    cai_memory_info made{};
    made.struct_size = sizeof made;
    made.device = gpu0;
    made.kind = kind;
    made.data = data;
    made.size = size;
    return made;
  };
  constexpr std::uint64_t at = 0x7F0000000000;
  struct Case {
    const char *says;
    cai_memory_info info;
    void (*set)(cai_memory_info &);
  };
  static constexpr auto nothing = [](cai_memory_info &) {};
  const Case cases[] = {
      {"kind is 0", info(CAI_KIND_NONE, at, 8), nothing},
      {"kind is 99", info(99, at, 8), nothing},
      {"kind is", info(CAI_KIND_CUDA_ARRAY, at, 8), nothing},
      {"flags", info(1, at, 8), [](cai_memory_info &i) { i.flags = CAI_MEMORY_FREED; }},
      {"channels", info(1, at, 8), [](cai_memory_info &i) { i.channels = 1; }},
      {"array", info(1, at, 8), [](cai_memory_info &i) { i.array = 1; }},
      {"depth", info(1, at, 8), [](cai_memory_info &i) { i.depth = 1; }},
      {"stream", info(1, at, 8), [](cai_memory_info &i) { i.stream = 1; }},
      {"data is 0", info(1, 0, 8), nothing},
      {"leaves the address space", info(1, huge - 7, 9), nothing},
      {"longer than the pitch", info(1, at, 1024), [](cai_memory_info &i) { i.row = 8; }},
      {"more than the size holds", info(1, at, 300),
       [](cai_memory_info &i) { i.rows = 3, i.row = 100, i.pitch = 128; }},
      {"more than the size holds", info(1, at, 300),
       [](cai_memory_info &i) { i.row = i.pitch = huge; }},
      {"more than the size holds", info(1, at, 300),
       [](cai_memory_info &i) { i.rows = 2, i.row = i.pitch = huge / 2 + 1; }},
      {"more than the size holds", info(1, at, 300),
       [](cai_memory_info &i) { i.rows = 2, i.row = 100, i.pitch = most; }},
      {"are too many", info(1, at, 300),
       [](cai_memory_info &i) { i.rows = 2, i.row = 100, i.pitch = most + 1; }},
      {"more than the size holds", info(1, at, 300), [](cai_memory_info &i) { i.rows = 3; }},
      {"more than the size holds", info(1, at, 300),
       [](cai_memory_info &i) { i.rows = 4, i.pitch = 100; }},
      {"are too many", info(1, at, 300),
       [](cai_memory_info &i) { i.rows = huge, i.row = 100, i.pitch = 128; }},
  };
  for (const Case &each : cases) {
    SCOPED_TRACE(each.says);
    cai_memory_info given = each.info;
    each.set(given);
    EXPECT_FAILS(CAI_ERR_VALUE, each.says, cai_memory_wrap(&given, nullptr, nullptr, &out, error));
  }
  cai_memory *made = nullptr;
  const cai_memory_info last = info(CAI_KIND_DEFAULT, huge - 8, 8);  // as high as it may be
  ASSERT_OK(cai_memory_wrap(&last, nullptr, nullptr, &made, error));
  cai_memory_release(made);
  cai_memory_info least = info(CAI_KIND_DEFAULT, at, 356);
  least.struct_size = offsetof(cai_memory_info, row);
  ASSERT_OK(cai_memory_wrap(&least, nullptr, nullptr, &made, error));
  cai_memory_release(made);
  cai_memory_info full = info(CAI_KIND_DEFAULT, at, 300);
  full.rows = 3, full.pitch = 100;
  ASSERT_OK(cai_memory_wrap(&full, nullptr, nullptr, &made, error));
  EXPECT_EQ(describe(OwnMemory(made)).row, 100U);
  cai_memory_info rows = info(CAI_KIND_DEFAULT, at, 356);
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "info", cai_memory_wrap(nullptr, nullptr, nullptr, &out, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "out", cai_memory_wrap(&rows, nullptr, nullptr, nullptr, error));
  rows.struct_size = 32;
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "struct_size",
               cai_memory_wrap(&rows, nullptr, nullptr, &out, error));

  // The last row need not be padded.
  rows.struct_size = sizeof rows;
  rows.rows = 3, rows.row = 100, rows.pitch = 128;
  ASSERT_OK(cai_memory_wrap(&rows, nullptr, nullptr, &made, error));
  const OwnMemory memory(made);
  const OwnArray array = array_of(memory, {3, 100});
  EXPECT_EQ(array->strides[0], 128);
  cai_array *none = nullptr;
  const auto make = [&](std::vector<std::int64_t> shape, cai_error *error) {
    return cai_memory_array(memory, 0, &bytes_type, static_cast<std::int32_t>(shape.size()),
                            shape.data(), nullptr, &none, error);
  };
  EXPECT_FAILS(CAI_ERR_BOUNDS, "a row of 129 bytes does not fit in the pitch, 128",
               make({3, 129}, error));
  EXPECT_FAILS(CAI_ERR_BOUNDS, "leave the memory", make({3, 101}, error));
  EXPECT_FAILS(CAI_ERR_BOUNDS, "leave the memory", make({4, 1}, error));
  EXPECT_FAILS(CAI_ERR_VALUE, "too many elements", make({1 << 30, 1 << 30, 1 << 30, 1}, error));
  EXPECT_FAILS(CAI_ERR_VALUE, "too many elements",
               make({static_cast<std::int64_t>(most / 64), 1, 2}, error));
  EXPECT_EQ(none, nullptr);
}

TEST_F(Refused, Pinned) {
  unsigned char bytes[64];
  const auto pin = [&](void *host, std::uint32_t kind, std::uint32_t flags, cai_memory **memory,
                       cai_error *error) {
    return cai_memory_pin(gpu0, host, sizeof bytes, kind, flags, nullptr, nullptr, memory, error);
  };
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "out", pin(bytes, CAI_KIND_PINNED, 0, nullptr, error));
  EXPECT_FAILS(CAI_ERR_VALUE, "kind", pin(bytes, CAI_KIND_DEFAULT, 0, &out, error));
  EXPECT_FAILS(CAI_ERR_VALUE, "flags", pin(bytes, CAI_KIND_PINNED, 4, &out, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "host is NULL", pin(nullptr, CAI_KIND_PINNED, 0, &out, error));
  void *const last = reinterpret_cast<void *>(~std::uintptr_t{15});
  EXPECT_FAILS(CAI_ERR_VALUE, "leaves the address space",
               pin(last, CAI_KIND_PINNED, 0, &out, error));

  int released = 0;
  const auto release = [](void *count) { ++*static_cast<int *>(count); };
  cai_memory *made = nullptr;
  ASSERT_OK(cai_memory_pin(gpu0, nullptr, 0, CAI_KIND_MAPPED, 0, release, &released, &made, error));
  EXPECT_EQ(describe(made).data, 0U);
  cai_memory_release(made);
  EXPECT_EQ(released, 1);
}

TEST_F(Refused, Handles) {
  cai_ipc_handle good{};
  good.struct_size = sizeof good;
  good.kind = CAI_IPC_LEGACY;
  good.size = 64;
  good.process = 1;
  good.process_start = 1;  // that process began at another time
  struct Case {
    const char *says;
    void (*set)(cai_ipc_handle &);
  };
  const Case cases[] = {
      {"struct_size 8", [](cai_ipc_handle &h) { h.struct_size = 8; }},
      {"kind 77", [](cai_ipc_handle &h) { h.kind = 77; }},
      {"size 0", [](cai_ipc_handle &h) { h.size = 0; }},
      {"the handle is invalid", [](cai_ipc_handle &h) { h.size = most + 1; }},
      {"the handle is invalid", [](cai_ipc_handle &h) { h.offset = most + 1; }},
      {"process 0", [](cai_ipc_handle &h) { h.process = 0; }},
      {"the handle is invalid", [](cai_ipc_handle &h) { h.reserved = 1; }},
      {"the handle is invalid", [](cai_ipc_handle &h) { h.reserved1 = 1; }},
      {"the handle is invalid", [](cai_ipc_handle &h) { h.reserved2 = 1; }},
      {"a pool's, which comes with one", [](cai_ipc_handle &h) { h.kind = CAI_IPC_POOL; }},
  };
  const auto open = [&](const cai_ipc_handle &handle, std::int32_t fd, cai_device device,
                        std::uint32_t how, cai_error *error) {
    return cai_memory_open(&handle, fd, device, nullptr, how, &out, error);
  };
  for (const Case &each : cases) {
    SCOPED_TRACE(each.says);
    cai_ipc_handle handle = good;
    each.set(handle);
    EXPECT_FAILS(CAI_ERR_VALUE, each.says, open(handle, -1, gpu0, CAI_OPEN_AUTO, error));
  }
  EXPECT_FAILS(CAI_ERR_VALUE, "not a pool's", open(good, 0, gpu0, CAI_OPEN_AUTO, error));
  EXPECT_FAILS(CAI_ERR_VALUE, "how is 0", open(good, -1, gpu0, 0, error));
  EXPECT_FAILS(CAI_ERR_VALUE, "how is 4", open(good, -1, gpu0, 4, error));
  EXPECT_FAILS(CAI_ERR_DEVICE, "not the CPU", open(good, -1, cpu, CAI_OPEN_AUTO, error));
  EXPECT_FAILS(CAI_ERR_STATE, "process 1, which has ended",
               open(good, -1, gpu0, CAI_OPEN_AUTO, error));
  good.process = static_cast<std::uint64_t>(getpid());
  EXPECT_FAILS(CAI_ERR_STATE, "this process's own", open(good, -1, gpu0, CAI_OPEN_AUTO, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "handle",
               cai_memory_open(nullptr, -1, gpu0, nullptr, CAI_OPEN_AUTO, &out, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "out",
               cai_memory_open(&good, -1, gpu0, nullptr, CAI_OPEN_AUTO, nullptr, error));

  // What is not shared: host memory, foreign memory, read-only memory, and memory without bytes.
  std::int32_t fd = 7;
  cai_ipc_handle handle{};
  const OwnMemory host = allocate(gpu0, CAI_KIND_HOST, 64), empty = allocate(gpu0, 1, 0);
  EXPECT_FAILS(CAI_ERR_UNSUPPORTED, "cannot be shared",
               cai_memory_share(host, &handle, &fd, error));
  EXPECT_FAILS(CAI_ERR_UNSUPPORTED, "no bytes", cai_memory_share(empty, &handle, &fd, error));
  const OwnMemory whole = allocate(gpu0, CAI_KIND_DEFAULT, 64);
  for (const std::uint64_t at : {0, 32, 64}) {
    cai_memory *view = nullptr;
    ASSERT_OK(cai_memory_view(whole, at, at, &view, error));
    const OwnMemory nothing(view);
    EXPECT_FAILS(CAI_ERR_UNSUPPORTED, "no bytes", cai_memory_share(nothing, &handle, &fd, error));
  }
  cai_memory_info info{};
  info.struct_size = sizeof info;
  info.device = gpu0;
  info.kind = CAI_KIND_DEFAULT;
  info.data = 0x7F0000000000;
  info.size = 64;
  cai_memory *made = nullptr;
  ASSERT_OK(cai_memory_wrap(&info, nullptr, nullptr, &made, error));
  const OwnMemory theirs(made);
  EXPECT_FAILS(CAI_ERR_UNSUPPORTED, "another library owns it",
               cai_memory_share(theirs, &handle, &fd, error));
  const OwnMemory ours = allocate(gpu0, CAI_KIND_DEFAULT, 64);
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "fd", cai_memory_share(ours, &handle, nullptr, error));
  const OwnArray array = array_of(ours, {64});
  cai_array read_only = *array.get();
  read_only.flags |= CAI_FLAG_READONLY;
  std::uint64_t offset = 7;
  ASSERT_OK(cai_memory_of(&read_only, &made, &offset, error));
  const OwnMemory view(made);
  EXPECT_FAILS(CAI_ERR_UNSUPPORTED, "read-only", cai_memory_share(view, &handle, &fd, error));
  EXPECT_EQ(fd, 7);
  EXPECT_EQ(handle.struct_size, 0U);
}

// By a manager with a function of its own to share.
TEST_F(Refused, HandlesOfManagers) {
  struct Answer {
    const char *says;
    std::uint32_t kind;
    std::uint64_t offset, reserved;
    bool is_with_file;
  };
  static Answer answer{};
  cai_manager_table table{};
  table.struct_size = sizeof table;
  table.version = CAI_MANAGER_VERSION;
  table.name = "sharing";
  table.create = [](const void *, cai_device, cai_manager *, void **, cai_error *) {
    return cai_status{CAI_OK};
  };
  table.destroy = [](void *) {};
  table.initialize = table.reset = [](void *, cai_error *) { return cai_status{CAI_OK}; };
  table.memalloc = [](void *, std::uint64_t size, std::uint64_t, std::uint32_t, std::uint64_t,
                      cai_block *block, cai_error *) {
    *block = {1 << 20, 0, size, 0};
    return cai_status{CAI_OK};
  };
  table.memfree = [](void *, const cai_block *, std::uint64_t, cai_error *) {
    return cai_status{CAI_OK};
  };
  table.get_ipc_handle = [](void *, const cai_block *, cai_ipc_handle *handle, std::int32_t *fd,
                            cai_error *) {
    handle->kind = answer.kind;
    handle->offset = answer.offset;
    handle->reserved2 = answer.reserved;
    if (answer.is_with_file) *fd = dup(STDERR_FILENO);
    return cai_status{CAI_OK};
  };
  ASSERT_OK(cai_manager_register(table.name, &table, error));
  cai_manager *manager = nullptr;
  ASSERT_OK(cai_manager_create(table.name, nullptr, gpu0, nullptr, &manager, error));
  cai_request wanted = request(CAI_KIND_DEFAULT, 64);
  wanted.manager = manager;
  cai_memory *memory = nullptr;
  ASSERT_OK(cai_memory_alloc(gpu0, &wanted, &memory, error));
  const Manager inner(manager);
  const OwnMemory whole(memory);
  ASSERT_OK(cai_memory_view(whole, 16, 48, &memory, error));
  const OwnMemory view(memory);

  std::int32_t fd = 7;
  cai_ipc_handle handle{};
  const auto lowest_free = [] {
    const int number = dup(STDERR_FILENO);
    close(number);
    return number;
  };
  const int before = lowest_free();
  for (const Answer &wrong : {Answer{"kind 0, offset 0, fd -1", 0, 0, 0, false},
                              {"kind 77", 77, 0, 0, false},
                              {"offset 9223372036854775808", CAI_IPC_LEGACY, most + 1, 0, false},
                              {"returned an invalid handle", CAI_IPC_LEGACY, 0, 1, false},
                              {"kind 1, offset 0, fd ", CAI_IPC_LEGACY, 0, 0, true},
                              {"kind 2, offset 0, fd -1", CAI_IPC_POOL, 0, 0, false}}) {
    answer = wrong;
    EXPECT_FAILS(CAI_ERR_STATE, "manager sharing: get_ipc_handle",
                 cai_memory_share(view, &handle, &fd, error));
    EXPECT_FAILS(CAI_ERR_STATE, wrong.says, cai_memory_share(view, &handle, &fd, error));
  }
  EXPECT_EQ(lowest_free(), before);  // what came with a handle has been closed
  // The one that answered is named, and not the one that passed the call on.
  cai_manager *outer = nullptr;
  ASSERT_OK(cai_manager_create("statistics", nullptr, gpu0, inner, &outer, error));
  wanted.manager = outer;
  ASSERT_OK(cai_memory_alloc(gpu0, &wanted, &memory, error));
  cai_manager_release(outer);
  const OwnMemory counted(memory);
  EXPECT_FAILS(CAI_ERR_STATE, "manager sharing: get_ipc_handle",
               cai_memory_share(counted, &handle, &fd, error));
  EXPECT_EQ(fd, 7);
  EXPECT_EQ(handle.struct_size, 0U);
  answer = {nullptr, CAI_IPC_POOL, 32, 0, true};
  ASSERT_OK(cai_memory_share(view, &handle, &fd, error));
  EXPECT_EQ(handle.offset, 48U);
  EXPECT_EQ(handle.size, 32U);
  EXPECT_EQ(close(fd), 0);
}

TEST_F(Refused, Arrays) {
  const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, 64);
  cai_array *made = nullptr;
  const std::int64_t shape[] = {8}, back[] = {-1}, far[] = {9};
  const auto make = [&](std::uint64_t offset, std::int32_t ndim, const std::int64_t *extents,
                        const std::int64_t *strides, cai_error *error) {
    return cai_memory_array(memory, offset, &bytes_type, ndim, extents, strides, &made, error);
  };
  EXPECT_FAILS(CAI_ERR_VALUE, "ndim is -1", make(0, -1, shape, nullptr, error));
  EXPECT_FAILS(CAI_ERR_VALUE, "ndim is 65", make(0, 65, shape, nullptr, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "shape is NULL", make(0, 1, nullptr, nullptr, error));
  EXPECT_FAILS(CAI_ERR_BOUNDS, "leave the memory", make(57, 1, shape, nullptr, error));
  EXPECT_FAILS(CAI_ERR_BOUNDS, "leave the memory", make(65, 0, nullptr, nullptr, error));
  EXPECT_FAILS(CAI_ERR_BOUNDS, "leave the memory", make(6, 1, shape, back, error));
  EXPECT_FAILS(CAI_ERR_BOUNDS, "leave the memory", make(1, 1, shape, far, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "out",
               cai_memory_array(memory, 0, &bytes_type, 1, shape, nullptr, nullptr, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "dtype",
               cai_memory_array(memory, 0, nullptr, 1, shape, nullptr, &made, error));
  EXPECT_EQ(made, nullptr);
  ASSERT_OK(make(7, 1, shape, back, error));
  OwnArray backwards(made);
  ASSERT_OK(make(0, 1, shape, far, error));
  OwnArray spread(made);

  Array borrowed(0x7F0000000000, CAI_STREAM_NONE);
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "borrowed", cai_memory_of(&borrowed.array, &out, nullptr, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "array", cai_memory_of(nullptr, &out, nullptr, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "out", cai_memory_of(spread, nullptr, nullptr, error));
  borrowed.array.device_type = CAI_DEVICE_ROCM;
  borrowed.array.device_id = 0;
  cai_array *owned = nullptr;
  ASSERT_OK(cai_array_own(&borrowed.array, nullptr, nullptr, &owned, error));
  const OwnArray of_rocm(owned);
  EXPECT_FAILS(CAI_ERR_DEVICE, "ROCm", cai_memory_of(of_rocm, &out, nullptr, error));
  EXPECT_FAILS(CAI_ERR_DEVICE, "ROCm", cai_array_fill(of_rocm, shape, nullptr, error));
  borrowed.array.device_type = CAI_DEVICE_CPU;
  borrowed.array.dtype = {'t', '|', 0, 0, 1, 0};
  EXPECT_FAILS(CAI_ERR_UNSUPPORTED, "array is of bits",
               cai_array_fill(&borrowed.array, shape, nullptr, error));
}

// A copy moves bytes: it fails if the types differ in anything.
TEST_F(Refused, Copies) {
  const cai_dtype types[] = {{'M', '<', 0, CAI_TIME_S, 8, 1},
                             {'m', '<', 0, CAI_TIME_S, 8, 1},
                             {'M', '>', 0, CAI_TIME_S, 8, 1},
                             {'M', '<', 0, CAI_TIME_D, 8, 1},
                             {'M', '<', 0, CAI_TIME_S, 8, 2},
                             {'u', '<', 0, 0, 8, 0},
                             {'u', '<', 0, 0, 4, 0},
                             {'V', '|', 0, 0, 2, 0},
                             {'V', '|', CAI_EXT_BFLOAT16, 0, 2, 0}};
  const OwnMemory from = allocate(gpu0, CAI_KIND_DEFAULT, 64);
  const OwnMemory to = allocate(gpu0, CAI_KIND_DEFAULT, 64);
  for (const cai_dtype &a : types) {
    const OwnArray source = array_of(from, {2, 2}, a);
    for (const cai_dtype &b : types) {
      const OwnArray target = array_of(to, {2, 2}, b);
      if (&a == &b) {
        ASSERT_OK(cai_array_copy(source, target, nullptr, error));
      } else {
        EXPECT_FAILS(CAI_ERR_VALUE, "different types",
                     cai_array_copy(source, target, nullptr, error));
      }
    }
  }
  const OwnArray source = array_of(from, {2, 2}), flat = array_of(to, {4});
  const OwnArray other = array_of(to, {2, 3}), same = array_of(from, {2, 2});
  EXPECT_FAILS(CAI_ERR_VALUE, "2 dimensions, and to 1",
               cai_array_copy(source, flat, nullptr, error));
  EXPECT_FAILS(CAI_ERR_VALUE, "shape[1] of from is 2, and of to 3",
               cai_array_copy(source, other, nullptr, error));
  EXPECT_FAILS(CAI_ERR_LAYOUT, "from and to overlap", cai_array_copy(source, same, nullptr, error));
}

TEST_F(Refused, Streams) {
  const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, 64);
  const OwnStream theirs = make_stream(gpu1), ours = make_stream(gpu0);
  const OwnStream at_once = make_stream(cpu, CAI_MODE_SYNC);
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "stream", cai_memory_set_stream(memory, nullptr, error));
  EXPECT_FAILS(CAI_ERR_DEVICE, "expected a stream of gpu:0, where the memory is, got one of gpu:1",
               cai_memory_set_stream(memory, theirs, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "stream", cai_memory_record(memory, nullptr, error));
  ASSERT_OK(cai_memory_record(memory, at_once, error));  // whose work is done
  cai_memory *part = nullptr;
  ASSERT_OK(cai_memory_view(memory, 0, 8, &part, error));
  const OwnMemory view(part);
  EXPECT_FAILS(CAI_ERR_UNSUPPORTED, "a view of memory", cai_memory_set_stream(view, ours, error));
  EXPECT_FAILS(CAI_ERR_UNSUPPORTED, "a view of memory", cai_memory_free(view, error));
  cai_memory_info info{};
  info.struct_size = 4;
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "struct_size", cai_memory_describe(memory, &info, error));
  info.struct_size = 8;  // the least: no more is written
  ASSERT_OK(cai_memory_describe(memory, &info, error));
  EXPECT_EQ(info.size, 0U);
}

TEST_F(Refused, SaidOfMemory) {
  EXPECT_FAILS(CAI_ERR_VALUE, "kind 0", cai_memory_validate(8, 8, gpu0, CAI_KIND_NONE, error));
  EXPECT_FAILS(CAI_ERR_VALUE, "kind 99", cai_memory_validate(8, 8, gpu0, 99, error));
  EXPECT_FAILS(CAI_ERR_VALUE, "at address 0",
               cai_memory_validate(0, 8, gpu0, CAI_KIND_DEFAULT, error));
  ASSERT_OK(cai_memory_validate(0, 0, gpu0, CAI_KIND_DEFAULT, error));
  EXPECT_NE(cai_memory_validate(8, 8, {77, 0}, CAI_KIND_DEFAULT, nullptr), CAI_OK);
  const OwnMemory rows = [] {
    cai_request wanted = request(CAI_KIND_PITCHED, 100);
    wanted.rows = 3;
    cai_memory *made = nullptr;
    EXPECT_EQ(cai_memory_alloc(gpu0, &wanted, &made, nullptr), CAI_OK);
    return OwnMemory(made);
  }();
  const cai_memory_info info = describe(rows);
  ASSERT_OK(cai_memory_validate(info.data, info.size, gpu0, CAI_KIND_PITCHED, error));
  EXPECT_FAILS(CAI_ERR_BOUNDS, "leaves the allocation",
               cai_memory_validate(info.data + 1, info.size, gpu0, CAI_KIND_PITCHED, error));
  EXPECT_FAILS(CAI_ERR_BOUNDS, "leave the address space",
               cai_memory_validate(info.data, huge, gpu0, CAI_KIND_PITCHED, error));
}

}  // namespace
}  // namespace test::refused_tests
