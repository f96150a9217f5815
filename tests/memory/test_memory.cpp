// SPDX-License-Identifier: BSD-3-Clause
// Memory objects: kinds, references, views, look-up, and in which order memory is freed.
#include <thread>

#include "managers.hpp"
#include "memories.hpp"

namespace test::memory_tests {
namespace {

static_assert(sizeof(cai_request) == 88 && sizeof(cai_memory_info) == 96 &&
              sizeof(cai_ipc_handle) == 160);

class Memory : public Memories {
 protected:
  void set(Address data, unsigned char byte, std::size_t size, cai_stream *stream) const {
    const With with(primary[0]);
    static const auto fill =
        driver_function<int (*)(Address, unsigned char, std::size_t, Handle)>("cuMemsetD8Async");
    MUST(fill(data, byte, size, handle(cai_stream_value(stream))));
  }
  void synchronize(cai_stream *stream) { ASSERT_OK(cai_stream_synchronize(stream, error)); }

  static cai_usage usage(cai_device device) {
    cai_usage out{};
    out.struct_size = sizeof out;
    EXPECT_EQ(cai_memory_usage(device, &out, nullptr), CAI_OK);
    return out;
  }

  // How many races `body` has; they are forgiven.
  template <class Body>
  std::uint64_t races(Body &&body) {
    const std::uint64_t before = gpu().simcuda_races();
    std::forward<Body>(body)();
    for (const Handle context : primary) {
      const With with(context);
      MUST(gpu().cuCtxSynchronize());
    }
    const std::uint64_t found = gpu().simcuda_races() - before;
    races_ += found;
    return found;
  }

  OwnStream first = make_stream(gpu0), second = make_stream(gpu0);
};

TEST_F(Memory, EveryKind) {
  for (const cai_device device : {cpu, gpu0, gpu1}) {
    const cai_usage before = usage(device);
    for (std::uint32_t kind = CAI_KIND_DEFAULT; kind <= CAI_KIND_HOST; ++kind) {
      if (kind == CAI_KIND_CUDA_ARRAY) continue;
      SCOPED_TRACE(cai_kind_name(kind));
      cai_request wanted = request(kind, 1000);
      const bool has_rows = kind == CAI_KIND_PITCHED || kind == CAI_KIND_PITCHED_MANAGED;
      if (has_rows) wanted.rows = 3;
      cai_memory *made = nullptr;
      ASSERT_OK(cai_memory_alloc(device, &wanted, &made, error));
      const OwnMemory memory(made);
      const cai_memory_info info = describe(memory);
      EXPECT_EQ(info.kind, kind);
      EXPECT_EQ(info.device.type, device.type);
      EXPECT_EQ(info.size, has_rows ? 3072U : 1000U);
      EXPECT_EQ(info.row, 1000U);
      EXPECT_EQ(info.pitch, has_rows ? 1024U : 1000U);
      EXPECT_EQ(info.data % (device.type == CAI_DEVICE_CPU || kind == CAI_KIND_HOST ? 64 : 256),
                0U);
      EXPECT_EQ(usage(device).count, before.count + 1);
      EXPECT_EQ(usage(device).bytes, before.bytes + info.size);
      const bool is_dereferenceable = cai_is_dereferenceable(device, kind);
      EXPECT_EQ((info.flags & CAI_MEMORY_DEREFERENCEABLE) != 0, is_dereferenceable);
      if (is_dereferenceable) std::memset(handle(info.host), 1, info.size);

      cai_memory *found = nullptr;
      std::uint64_t offset = 0;
      ASSERT_OK(cai_memory_find(info.data + info.size - 1, &found, &offset, error));
      EXPECT_EQ(found, memory.get());
      EXPECT_EQ(offset, info.size - 1);
      cai_memory_release(found);
      EXPECT_EQ(cai_memory_find(info.data + info.size, &found, &offset, nullptr), CAI_ERR_DEVICE);
    }
    EXPECT_EQ(usage(device).count, before.count);
    EXPECT_EQ(usage(device).bytes, before.bytes);
  }
}

TEST_F(Memory, OfNoBytesAsksNobody) {
  gpu().simcuda_reset_counts();
  for (const std::uint32_t kind :
       {CAI_KIND_DEFAULT, CAI_KIND_ASYNC, CAI_KIND_PINNED, CAI_KIND_MANAGED, CAI_KIND_PITCHED}) {
    const OwnMemory memory = allocate(gpu0, kind, kind == CAI_KIND_PITCHED ? 8 : 0);
    EXPECT_EQ(describe(memory).data, 0U);
    EXPECT_EQ(describe(memory).size, 0U);
    const OwnArray array = array_of(memory, {0, 3});
    EXPECT_EQ(array->data, 0U);
  }
  for (const char *name : {"cuMemAlloc", "cuMemAllocAsync", "cuMemHostAlloc", "cuMemAllocManaged",
                           "cuMemFree", "cuMemFreeAsync", "cuMemFreeHost"}) {
    EXPECT_EQ(calls(name), 0U) << name;
  }
}

TEST_F(Memory, RefusesBadRequests) {
  cai_memory *const untouched = reinterpret_cast<cai_memory *>(16);
  const auto refused = [&](cai_device device, const cai_request &wanted, cai_status status,
                           const char *names) {
    cai_memory *out = untouched;
    cai_error problem{};
    EXPECT_EQ(cai_memory_alloc(device, &wanted, &out, &problem), status) << names;
    EXPECT_EQ(out, untouched);
    EXPECT_NE(std::string(problem.message).find(names), std::string::npos) << problem.message;
  };
  const auto with = [](auto change) {
    cai_request wanted = request(CAI_KIND_DEFAULT, 64);
    change(wanted);
    return wanted;
  };
  refused(gpu0, with([](auto &r) { r.kind = CAI_KIND_NONE; }), CAI_ERR_VALUE, "kind is 0");
  refused(gpu0, with([](auto &r) { r.kind = 11; }), CAI_ERR_VALUE, "kind is 11");
  refused(gpu0, with([](auto &r) { r.rows = 2; }), CAI_ERR_VALUE, "rows is 2");
  refused(gpu0, with([](auto &r) { r.depth = 2; }), CAI_ERR_VALUE, "depth is 2");
  refused(gpu0, with([](auto &r) { r.align = 96; }), CAI_ERR_VALUE, "align is 96");
  refused(gpu0, with([](auto &r) { r.flags = 1; }), CAI_ERR_VALUE, "flags is 1");
  refused(gpu0, with([](auto &r) { r.channels = 1; }), CAI_ERR_VALUE, "channels is 1");
  refused(gpu0, with([](auto &r) { r.reserved = 1; }), CAI_ERR_VALUE, "reserved");
  refused(gpu0, with([](auto &r) { r.struct_size = 4; }), CAI_ERR_ARGUMENT, "struct_size is 4");
  refused(gpu0, with([](auto &r) { r.struct_size = UINT32_MAX; }), CAI_ERR_ARGUMENT, "struct_size");
  refused(gpu1, with([&](auto &r) { r.stream = first; }), CAI_ERR_VALUE, "gpu:0");
  refused({CAI_DEVICE_CUDA, 9}, request(CAI_KIND_DEFAULT, 64), CAI_ERR_DEVICE, "9");
  refused({7, 0}, request(CAI_KIND_DEFAULT, 64), CAI_ERR_VALUE, "7");
  refused(cpu, with([](auto &r) {
            r.kind = CAI_KIND_CUDA_ARRAY;
            r.channels = 1;
          }),
          CAI_ERR_UNSUPPORTED, "CUDA arrays");
  refused(gpu0, with([](auto &r) {
            r.kind = CAI_KIND_PITCHED;
            r.size = std::uint64_t{1} << 62;
            r.rows = 4;
          }),
          CAI_ERR_VALUE, "too many");
  refused(gpu0, request(CAI_KIND_DEFAULT, std::uint64_t{1} << 50), CAI_ERR_MEMORY, "gpu:0");
}

TEST_F(Memory, FreedOnce) {
  OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, 4096, first);
  cai_memory *made = nullptr;
  ASSERT_OK(cai_memory_view(memory, 16, 32, &made, error));
  const OwnMemory view(made);
  EXPECT_EQ(describe(view).data, describe(memory).data + 16);
  EXPECT_EQ(describe(view).size, 16U);
  EXPECT_EQ(describe(view).flags, std::uint32_t{CAI_MEMORY_VIEW});
  cai_error problem{};
  EXPECT_EQ(cai_memory_free(view, &problem), CAI_ERR_UNSUPPORTED);
  EXPECT_EQ(cai_memory_view(memory, 8, 5000, &made, &problem), CAI_ERR_BOUNDS);
  EXPECT_EQ(cai_memory_view(memory, 8, 7, &made, &problem), CAI_ERR_BOUNDS);
  ASSERT_OK(cai_memory_free(memory, error));
  EXPECT_EQ(cai_memory_free(memory, &problem), CAI_ERR_STATE);
  EXPECT_NE(std::string(problem.message).find("freed already"), std::string::npos);
  for (const cai_memory *each : {memory.get(), view.get()}) {
    EXPECT_TRUE(describe(each).flags & CAI_MEMORY_FREED);
  }
  EXPECT_EQ(cai_memory_view(view, 0, 1, &made, &problem), CAI_ERR_STATE);
  EXPECT_EQ(cai_memory_record(memory, second, &problem), CAI_ERR_STATE);
  EXPECT_EQ(cai_memory_set_stream(memory, second, &problem), CAI_ERR_STATE);
  cai_array *array = nullptr;
  EXPECT_EQ(cai_memory_array(view, 0, &bytes_type, 0, nullptr, nullptr, &array, &problem),
            CAI_ERR_STATE);
}

TEST_F(Memory, FreedIsNotWorkedOnByItsArrays) {
  for (const cai_device device : {cpu, gpu0}) {
    const OwnMemory memory = allocate(device, CAI_KIND_DEFAULT, 4096);
    const OwnArray array = array_of(memory, {4096});
    const OwnArray other = array_of(allocate(device, CAI_KIND_HOST, 4096), {4096});
    ASSERT_OK(cai_memory_free(memory, error));
    const unsigned char seven = 7;
    const std::int64_t first_of_all = 0;
    unsigned char out = 0;
    cai_error problem{};
    EXPECT_EQ(cai_array_fill(array, &seven, nullptr, &problem), CAI_ERR_STATE);
    EXPECT_NE(std::string(problem.message).find("freed already"), std::string::npos);
    EXPECT_EQ(cai_array_copy(array, other, nullptr, nullptr), CAI_ERR_STATE);
    EXPECT_EQ(cai_array_copy(other, array, nullptr, nullptr), CAI_ERR_STATE);
    EXPECT_EQ(cai_array_item(array, &first_of_all, &out, nullptr), CAI_ERR_STATE);
  }
}

// A pool reuses memory as soon as its stream has passed the free, so uses on other streams must be
// known.
TEST_F(Memory, FreedAfterUsesOnOtherStreams) {
  constexpr std::size_t size = 1 << 16;
  enum class How { not_said, recorded, array };
  for (const How how : {How::not_said, How::recorded, How::array}) {
    const std::uint64_t found = races([&] {
      OwnMemory memory = allocate(gpu0, CAI_KIND_ASYNC, size, first);
      const Address data = describe(memory).data;
      ASSERT_OK(cai_stream_follow(second, first, error));
      const OwnArray array = how == How::array ? array_of(memory, {size}) : OwnArray();
      if (how == How::array) {
        const cai_array *const used = array;
        ASSERT_OK(test::begin_arrays(&used, 1, cai_stream_value(second), nullptr, error));
        set(data, 1, size, second);
        ASSERT_OK(test::end_arrays(&used, 1, cai_stream_value(second), nullptr, error));
      } else {
        set(data, 1, size, second);
        if (how == How::recorded) ASSERT_OK(cai_memory_record(memory, second, error));
      }
      ASSERT_OK(cai_memory_free(memory, error));
      const OwnMemory next = allocate(gpu0, CAI_KIND_ASYNC, size, first);
      set(describe(next).data, 2, size, first);
    });
    EXPECT_EQ(found != 0, how == How::not_said);
  }
}

TEST_F(Memory, OldStreamComesBeforeNewOne) {
  constexpr std::size_t size = 1 << 16;
  OwnMemory memory = allocate(gpu0, CAI_KIND_ASYNC, size, first);
  set(describe(memory).data, 1, size, first);
  ASSERT_OK(cai_memory_set_stream(memory, second, error));
  EXPECT_EQ(describe(memory).stream, cai_stream_value(second));
  memory.reset();
  const OwnMemory next = allocate(gpu0, CAI_KIND_ASYNC, size, second);
  set(describe(next).data, 2, size, second);
}

// So it does before uses of arrays of the memory, of whatever kind.
TEST_F(Memory, OldStreamComesBeforeUsesOnTheNewOne) {
  constexpr std::size_t size = 1 << 12;
  for (const std::uint32_t kind :
       {CAI_KIND_DEFAULT, CAI_KIND_ASYNC, CAI_KIND_PINNED, CAI_KIND_MAPPED, CAI_KIND_MANAGED}) {
    SCOPED_TRACE(cai_kind_name(kind));
    OwnMemory memory = allocate(gpu0, kind, size, first);
    set(describe(memory).data, 1, size, first);
    ASSERT_OK(cai_memory_set_stream(memory, second, error));
    cai_array *array = nullptr;
    ASSERT_OK(cai_memory_array(memory, 0, &bytes_type, 0, nullptr, nullptr, &array, error));
    const cai_array *const arrays[] = {array};
    cai_use use;
    ASSERT_OK(cai_use_begin(&use, arrays, 1, cai_stream_value(second), nullptr, error));
    set(describe(memory).data, 2, size, second);
    ASSERT_OK(cai_use_end(&use, error));
    cai_array_release(array);
  }
}

// Work has no flags, and its failures suggest none.
TEST_F(Memory, WorkThatACaptureRefusesIsAdvisedOfNoFlag) {
  const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, 64, first);
  const OwnArray array = array_of(memory, {64});
  const unsigned char item = 1;
  const Gate gate(cai_stream_value(first));
  MUST(gpu().cuStreamBeginCapture_v2(handle(cai_stream_value(second)), 0));
  cai_error problem{};
  EXPECT_EQ(cai_array_fill(array, &item, second, &problem), CAI_ERR_CAPTURE);
  EXPECT_NE(std::string(problem.message).find("has work pending"), std::string::npos);
  EXPECT_EQ(std::string(problem.message).find("CAI_USE"), std::string::npos);
  Handle graph = nullptr;
  MUST(gpu().cuStreamEndCapture(handle(cai_stream_value(second)), &graph));
  MUST(gpu().cuGraphDestroy(graph));
}

TEST_F(Memory, IsNotWorkedOnInACaptureThatWasInvalidated) {
  const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, 64, first);
  const OwnMemory another = allocate(gpu0, CAI_KIND_DEFAULT, 64, first);
  const OwnArray array = array_of(memory, {64}), from = array_of(another, {64});
  const unsigned char item = 1;
  MUST(gpu().cuStreamBeginCapture_v2(handle(cai_stream_value(first)), 0));
  EXPECT_NE(gpu().cuStreamSynchronize(handle(cai_stream_value(first))), 0);
  EXPECT_FAILS(CAI_ERR_CAPTURE, "invalidated", cai_array_fill(array, &item, first, error));
  EXPECT_FAILS(CAI_ERR_CAPTURE, "invalidated", cai_array_copy(from, array, first, error));
  Handle graph = nullptr;
  EXPECT_NE(gpu().cuStreamEndCapture(handle(cai_stream_value(first)), &graph), 0);
  ASSERT_OK(cai_array_fill(array, &item, first, error));
}

// One array is enough for the owner's streams to differ.
TEST_F(Memory, HasComeWithTwoStreamsOnceItsOwnIsSet) {
  OwnMemory memory = allocate(gpu0, CAI_KIND_ASYNC, 64, first);
  ASSERT_OK(cai_memory_set_stream(memory, second, error));
  const OwnArray array = array_of(memory, {64});
  const cai_array *const used = array;
  std::uint64_t out = 0;
  EXPECT_FAILS(CAI_ERR_ORDER, "or its memory", cai_arrays_same_stream(&used, 1, &out, error));
}

// Another handle of a stream is no other stream: there is nothing to order.
TEST_F(Memory, HandlesOfOneStreamAreOne) {
  const auto handle_of = [](std::uint64_t stream) {
    cai_stream *wrapped = nullptr;
    EXPECT_EQ(cai_stream_wrap(gpu0, stream, nullptr, nullptr, &wrapped, nullptr), CAI_OK);
    return OwnStream(wrapped);
  };
  for (const std::uint64_t stream : {std::uint64_t{1}, cai_stream_value(first)}) {
    for (const bool and_back : {false, true}) {
      OwnStream one = handle_of(stream);
      OwnMemory memory = allocate(gpu0, CAI_KIND_ASYNC, 64, one);
      if (and_back) ASSERT_OK(cai_memory_set_stream(memory, second, error));
      ASSERT_OK(cai_memory_set_stream(memory, handle_of(stream), error));
      one.reset();
      EXPECT_EQ(describe(memory).stream, stream);
      gpu().simcuda_reset_counts();
      memory.reset();
      EXPECT_EQ(calls("cuMemFreeAsync"), 1U);
      EXPECT_EQ(calls("cuEventRecord"), and_back ? 1U : 0U);
    }
  }
}

TEST_F(Memory, OfAStreamOfTheThreadIsReleasedOnAnother) {
  constexpr std::size_t size = 1 << 16;
  cai_stream *wrapped = nullptr;
  ASSERT_OK(cai_stream_wrap(gpu0, 2, nullptr, nullptr, &wrapped, error));
  const OwnStream own(wrapped);
  for (const std::uint32_t kind : {CAI_KIND_ASYNC, CAI_KIND_PINNED}) {
    OwnMemory memory = allocate(gpu0, kind, size, own);
    {
      const With with(primary[0]);
      set(describe(memory).data, 1, size, own);
    }
    std::thread([&] { memory.reset(); }).join();
    const OwnMemory next = allocate(gpu0, kind, size, first);
    ASSERT_OK(cai_stream_synchronize(first, error));
    if (kind == CAI_KIND_ASYNC) set(describe(next).data, 2, size, first);
  }
  const With with(primary[0]);
  MUST(gpu().cuCtxSynchronize());
}

TEST_F(Memory, OfOthersEndsOnceItsUsesAreComplete) {
  std::vector<unsigned char> bytes(64);
  int ended = 0;
  const auto end = [](void *count) { ++*static_cast<int *>(count); };
  for (const bool pinned : {false, true}) {
    ended = 0;
    cai_memory *made = nullptr;
    cai_memory_info info{};
    info.struct_size = sizeof info;
    info.device = gpu0;
    info.kind = CAI_KIND_PINNED;
    info.data = reinterpret_cast<std::uintptr_t>(bytes.data());
    info.size = bytes.size();
    if (pinned) {
      ASSERT_OK(cai_memory_pin(gpu0, bytes.data(), bytes.size(), CAI_KIND_PINNED, 0, end, &ended,
                               &made, error));
    } else {
      ASSERT_OK(cai_memory_wrap(&info, end, &ended, &made, error));
    }
    OwnMemory memory(made);
    Gate gate(cai_stream_value(second));
    ASSERT_OK(cai_memory_record(memory, second, error));
    memory.reset();
    EXPECT_EQ(ended, 0);
    gate.open();
    synchronize(second);
    ASSERT_OK(cai_drain(1, nullptr, error));
    EXPECT_EQ(ended, 1);

    // With nothing pending it ends at once.
    ASSERT_OK(cai_memory_wrap(&info, end, &ended, &made, error));
    cai_memory_release(made);
    EXPECT_EQ(ended, 2);
  }
}

// As NBEP 7 requires of mempin: when the memory is pinned again, it must not still be pinned.
TEST_F(Memory, IsUnpinnedAtOnce) {
  std::vector<unsigned char> bytes(64);
  cai_stream *its = nullptr;
  ASSERT_OK(cai_stream_current(gpu0, &its, error));
  const OwnStream current(its);
  const OwnMemory other = allocate(gpu0, CAI_KIND_DEFAULT, 64, current);
  set(describe(other).data, 1, 64, current);  // work that has nothing to do with it
  for (const std::uint32_t kind : {CAI_KIND_PINNED, CAI_KIND_MAPPED, CAI_KIND_PINNED}) {
    cai_memory *made = nullptr;
    ASSERT_OK(
        cai_memory_pin(gpu0, bytes.data(), bytes.size(), kind, 0, nullptr, nullptr, &made, error));
    cai_memory_release(made);
  }
}

TEST_F(Memory, HostMemoryOutlivesWorkOfTheCpu) {
  const OwnStream queue = make_stream(cpu);
  std::atomic<bool> go{false};
  std::atomic<int> sum{0};
  struct Work {
    std::atomic<bool> *go;
    std::atomic<int> *sum;
    const unsigned char *bytes;
  };
  OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 100, queue);
  auto *const bytes = static_cast<unsigned char *>(handle(describe(memory).host));
  std::memset(bytes, 3, 100);
  Work work{&go, &sum, bytes};
  const auto run = [](void *context, cai_error *) {
    const auto *const mine = static_cast<Work *>(context);
    mine->go->wait(false);
    for (int i = 0; i < 100; ++i) *mine->sum += mine->bytes[i];
    return cai_status{CAI_OK};
  };
  ASSERT_OK(cai_stream_enqueue(queue, run, nullptr, &work, error));
  const cai_usage before = usage(cpu);
  memory.reset();
  EXPECT_EQ(usage(cpu).count, before.count - 1);
  go = true;
  go.notify_all();
  ASSERT_OK(cai_stream_synchronize(queue, error));
  EXPECT_EQ(sum, 300);
}

TEST_F(Memory, OfArrays) {
  const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, 4096, first);
  const OwnArray array = array_of(memory, {16, 256});
  EXPECT_EQ(array->stream, cai_stream_value(first));
  EXPECT_EQ(array->stream_kind, std::uint32_t{CAI_STREAM_STREAM});
  const cai_slice slices[] = {{3, 0, 0, CAI_SLICE_INDEX, 0}};
  cai_array *made = nullptr;
  ASSERT_OK(cai_array_slice(array, slices, 1, &made, error));
  const OwnArray row(made);
  cai_memory *found = nullptr;
  std::uint64_t offset = 0;
  ASSERT_OK(cai_memory_of(row, &found, &offset, error));
  EXPECT_EQ(found, memory.get());
  EXPECT_EQ(offset, 768U);
  cai_memory_release(found);

  // A foreign array is held, and its stream is told of what was done.
  int ended = 0;
  cai_array foreign = *array.get();
  foreign.owner = nullptr;
  const auto end = [](void *count) { ++*static_cast<int *>(count); };
  ASSERT_OK(cai_array_own(&foreign, end, &ended, &made, error));
  OwnArray owned(made);
  const Address data = describe(memory).data;
  set(data, 1, 4096, first);
  ASSERT_OK(cai_memory_of(owned, &found, &offset, error));
  OwnMemory held(found);
  owned.reset();
  EXPECT_EQ(describe(held).data, data);
  EXPECT_EQ(describe(held).size, 4096U);
  EXPECT_EQ(offset, 0U);
  OwnArray again = array_of(held, {4096});
  const unsigned char value = 2;
  ASSERT_OK(cai_array_fill(again, &value, second, error));
  EXPECT_EQ(ended, 0);
  again.reset();
  held.reset();
  set(data, 3, 4096, first);
  synchronize(first);
  ASSERT_OK(cai_drain(1, nullptr, error));
  EXPECT_EQ(ended, 1);

  cai_error problem{};
  EXPECT_EQ(cai_memory_of(&foreign, &found, &offset, &problem), CAI_ERR_ARGUMENT);
  const std::int64_t shape[] = {4097};
  EXPECT_EQ(cai_memory_array(memory, 0, &bytes_type, 1, shape, nullptr, &made, &problem),
            CAI_ERR_BOUNDS);
}

TEST_F(Memory, InACaptureIsGivenBackLater) {
  OwnMemory memory = allocate(gpu0, CAI_KIND_ASYNC, 4096, first);
  const cai_usage before = usage(gpu0);
  MUST(gpu().cuStreamBeginCapture_v2(handle(cai_stream_value(first)), 2));
  gpu().simcuda_reset_counts();
  memory.reset();
  EXPECT_EQ(calls("cuMemFreeAsync"), 0U);
  Handle graph = nullptr;
  MUST(gpu().cuStreamEndCapture(handle(cai_stream_value(first)), &graph));
  MUST(gpu().cuGraphDestroy(graph));
  EXPECT_EQ(usage(gpu0).count, before.count - 1);
  allocate(gpu0, CAI_KIND_DEFAULT, 16, second).reset();
  EXPECT_EQ(calls("cuMemFreeAsync"), 1U);
}

TEST_F(Memory, IsDeadAfterAReset) {
  const OwnMemory memory = allocate(gpu1, CAI_KIND_DEFAULT, 4096);
  const Address data = describe(memory).data;
  MUST(gpu().cuDevicePrimaryCtxRelease_v2(1));
  ASSERT_OK(cai_device_reset(gpu1, CAI_RESET_CONTEXT, error));
  MUST(gpu().cuDevicePrimaryCtxRetain(&primary[1], 1));
  EXPECT_TRUE(describe(memory).flags & CAI_MEMORY_FREED);
  cai_memory *out = nullptr;
  EXPECT_EQ(cai_memory_view(memory, 0, 1, &out, nullptr), CAI_ERR_STATE);
  const OwnMemory next = allocate(gpu1, CAI_KIND_DEFAULT, 4096);
  if (describe(next).data != data) {
    EXPECT_EQ(cai_memory_find(data, &out, nullptr, nullptr), CAI_ERR_DEVICE);
  }
}

// Memory is allocated in the order of its first stream: uses on the next one come after that.
TEST_F(Memory, AnotherStreamComesAfterTheAllocation) {
  const OwnMemory memory = allocate(gpu0, CAI_KIND_ASYNC, 4096, first);
  ASSERT_OK(cai_memory_set_stream(memory, second, error));
  const unsigned char seven = 7;
  ASSERT_OK(cai_array_fill(array_of(memory, {4096}), &seven, second, error));
}

// What a manager allocates for its own blocks is counted, and found, once.
TEST_F(Memory, OfAManagerIsNotCountedTwice) {
  Recorder recorder;
  OwnMemory inner;
  const cai_usage before = usage(gpu0);
  const Manager manager = make(recorder, gpu0);
  recorder.during = [&] {
    inner = allocate(gpu0, CAI_KIND_DEFAULT, 1 << 20);
    recorder.next = describe(inner).data;
  };
  cai_request wanted = request(CAI_KIND_DEFAULT, 100);
  wanted.manager = manager;
  cai_memory *made = nullptr;
  ASSERT_OK(cai_memory_alloc(gpu0, &wanted, &made, error));
  OwnMemory memory(made);
  EXPECT_EQ(usage(gpu0).bytes - before.bytes, 100U);
  EXPECT_EQ(usage(gpu0).count - before.count, 1U);
  const std::uint64_t data = describe(memory).data;
  cai_memory *found = nullptr;
  ASSERT_OK(cai_memory_find(data + 50, &found, nullptr, error));
  EXPECT_EQ(found, made);
  cai_memory_release(found);
  memory.reset();
  EXPECT_FAILS(CAI_ERR_DEVICE, "no memory", cai_memory_find(data + 50, &found, nullptr, error));
  inner.reset();
  EXPECT_EQ(usage(gpu0).bytes, before.bytes);
}

TEST_F(Memory, FirstAndEval) {
  for (const cai_device device : {cpu, gpu0}) {
    const OwnMemory memory = allocate(device, CAI_KIND_DEFAULT, 64);
    const OwnArray array = array_of(memory, {4, 16}), none = array_of(memory, {0, 3});
    const unsigned char seven = 7;
    const OwnStream stream = make_stream(device);
    ASSERT_OK(cai_array_fill(array, &seven, stream, error));
    ASSERT_OK(cai_array_eval(array, error));
    int32_t busy = 1;
    ASSERT_OK(cai_stream_query(stream, &busy, error));
    EXPECT_EQ(busy, 0);
    unsigned char found = 0;
    ASSERT_OK(cai_array_first(array, &found, error));
    EXPECT_EQ(found, seven);
    ASSERT_OK(cai_array_eval(none, error));
    EXPECT_FAILS(CAI_ERR_ARGUMENT, "no elements", cai_array_first(none, &found, error));
  }
}

TEST_F(Memory, UnifiedIsManaged) {
  std::uint32_t kind = 0;
  ASSERT_OK(cai_kind_parse("Unified ", &kind, error));
  EXPECT_EQ(kind, std::uint32_t{CAI_KIND_MANAGED});
  ASSERT_OK(cai_kind_parse("unified_global", &kind, error));
  EXPECT_EQ(kind, std::uint32_t{CAI_KIND_MANAGED_GLOBAL});
  EXPECT_STREQ(cai_kind_name(kind), "managed_global");
  const Manager manager = make("unified", gpu0);
  EXPECT_STREQ(cai_manager_name(manager), "managed");
}

TEST_F(Memory, CudaArrays) {
  cai_request wanted = request(CAI_KIND_CUDA_ARRAY, 64 * 4 * 2);
  wanted.rows = 8;
  wanted.channels = 2;
  wanted.dtype = {'f', '<', 0, 0, 4, 0};
  cai_memory *made = nullptr;
  ASSERT_OK(cai_memory_alloc(gpu0, &wanted, &made, error));
  OwnMemory memory(made);
  const cai_memory_info info = describe(memory);
  EXPECT_NE(info.array, 0U);
  EXPECT_EQ(info.data, 0U);
  EXPECT_EQ(info.size, 4096U);
  EXPECT_EQ(info.channels, 2U);
  EXPECT_EQ(info.rows, 8U);
  EXPECT_EQ(cai_memory_view(memory, 0, 1, &made, nullptr), CAI_ERR_UNSUPPORTED);
  cai_array *array = nullptr;
  EXPECT_EQ(cai_memory_array(memory, 0, &bytes_type, 0, nullptr, nullptr, &array, nullptr),
            CAI_ERR_UNSUPPORTED);
  memory.reset();
  ASSERT_OK(cai_drain(1, nullptr, error));
  ASSERT_OK(cai_pending_flush(gpu0, error));
  EXPECT_EQ(calls("cuArrayDestroy"), 1U);

  struct Descriptor {
    std::size_t width, height;
    int format;
    unsigned channels;
  };
  static const auto describe_array =
      driver_function<int (*)(Descriptor *, Handle)>("cuArrayGetDescriptor_v2");
  const struct {
    std::uint8_t kind;
    std::uint32_t itemsize;
    int format;  // CUarray_format
  } formats[] = {{'u', 1, 0x01}, {'u', 2, 0x02}, {'u', 4, 0x03}, {'i', 1, 0x08},
                 {'i', 2, 0x09}, {'i', 4, 0x0a}, {'f', 2, 0x10}, {'f', 4, 0x20}};
  for (const auto &each : formats) {
    SCOPED_TRACE(static_cast<char>(each.kind) + std::to_string(each.itemsize));
    wanted.dtype = {each.kind, '|', 0, 0, each.itemsize, 0};
    if (each.itemsize > 1) wanted.dtype.byteorder = '<';
    ASSERT_OK(cai_memory_alloc(gpu0, &wanted, &made, error));
    memory = OwnMemory(made);
    Descriptor descriptor{};
    MUST(describe_array(&descriptor, handle(describe(memory).array)));
    EXPECT_EQ(descriptor.format, each.format);
    EXPECT_EQ(descriptor.width, 64U * 4 / each.itemsize);
    EXPECT_EQ(descriptor.height, 8U);
    EXPECT_EQ(descriptor.channels, 2U);
  }
  memory.reset();

  cai_error problem{};
  wanted.dtype.itemsize = 8;
  EXPECT_EQ(cai_memory_alloc(gpu0, &wanted, &made, &problem), CAI_ERR_VALUE);
  wanted.dtype.itemsize = 4;
  wanted.channels = 3;
  EXPECT_EQ(cai_memory_alloc(gpu0, &wanted, &made, &problem), CAI_ERR_VALUE);
  wanted.channels = 4;
  wanted.size = 12;
  EXPECT_EQ(cai_memory_alloc(gpu0, &wanted, &made, &problem), CAI_ERR_VALUE);
}

TEST_F(Memory, Validates) {
  struct Case {
    cai_device where;
    std::uint32_t kind;
    cai_device said;
    std::uint32_t said_kind;
    cai_status status;
  };
  const Case cases[] = {
      {gpu0, CAI_KIND_DEFAULT, gpu0, CAI_KIND_DEFAULT, CAI_OK},
      {gpu0, CAI_KIND_DEFAULT, gpu0, CAI_KIND_ASYNC, CAI_OK},
      {gpu0, CAI_KIND_DEFAULT, gpu1, CAI_KIND_DEFAULT, CAI_ERR_DEVICE},
      {gpu0, CAI_KIND_DEFAULT, cpu, CAI_KIND_DEFAULT, CAI_ERR_DEVICE},
      {gpu0, CAI_KIND_DEFAULT, gpu0, CAI_KIND_MANAGED, CAI_ERR_DEVICE},
      {gpu0, CAI_KIND_MANAGED, gpu0, CAI_KIND_MANAGED, CAI_OK},
      {gpu0, CAI_KIND_MANAGED, gpu1, CAI_KIND_MANAGED_GLOBAL, CAI_OK},
      {gpu0, CAI_KIND_MANAGED, cpu, CAI_KIND_DEFAULT, CAI_ERR_DEVICE},
      {gpu0, CAI_KIND_MANAGED, cpu, CAI_KIND_PITCHED_MANAGED, CAI_OK},
      {gpu0, CAI_KIND_PINNED, cpu, CAI_KIND_PINNED, CAI_OK},
      {gpu0, CAI_KIND_PINNED, gpu0, CAI_KIND_MAPPED, CAI_OK},
      {gpu0, CAI_KIND_PINNED, cpu, CAI_KIND_DEFAULT, CAI_ERR_DEVICE},
      {cpu, CAI_KIND_DEFAULT, cpu, CAI_KIND_DEFAULT, CAI_OK},
      {cpu, CAI_KIND_DEFAULT, gpu0, CAI_KIND_DEFAULT, CAI_ERR_DEVICE},
      {cpu, CAI_KIND_DEFAULT, gpu0, CAI_KIND_HOST, CAI_OK},
      {cpu, CAI_KIND_DEFAULT, cpu, CAI_KIND_PINNED, CAI_ERR_DEVICE},
      {cpu, CAI_KIND_MANAGED, cpu, CAI_KIND_MANAGED, CAI_OK},
      {cpu, CAI_KIND_MANAGED_GLOBAL, cpu, CAI_KIND_PITCHED_MANAGED, CAI_OK},
      {cpu, CAI_KIND_MANAGED, gpu0, CAI_KIND_MANAGED, CAI_ERR_DEVICE},
      {gpu0, CAI_KIND_PINNED, cpu, CAI_KIND_MANAGED, CAI_ERR_DEVICE},
      {gpu0, CAI_KIND_DEFAULT, cpu, CAI_KIND_MANAGED, CAI_ERR_DEVICE},
      {cpu, CAI_KIND_DEFAULT, cpu, CAI_KIND_NONE, CAI_ERR_VALUE},
      {cpu, CAI_KIND_DEFAULT, cpu, CAI_KIND_CUDA_ARRAY, CAI_ERR_VALUE},
  };
  int index = 0;
  for (const Case &each : cases) {
    SCOPED_TRACE(index++);
    const OwnMemory memory = allocate(each.where, each.kind, 512);
    const Address data = describe(memory).data;
    cai_error problem{};
    EXPECT_EQ(cai_memory_validate(data, 512, each.said, each.said_kind, &problem), each.status)
        << problem.message;
    if (each.status != CAI_OK || each.where.type == CAI_DEVICE_CPU) continue;
    EXPECT_EQ(cai_memory_validate(data + 256, 257, each.said, each.said_kind, &problem),
              CAI_ERR_BOUNDS);
    EXPECT_EQ(cai_memory_validate(data, UINT64_MAX, each.said, each.said_kind, &problem),
              CAI_ERR_BOUNDS);
    EXPECT_EQ(cai_memory_validate(data + 16, 512, each.said, each.said_kind, &problem),
              CAI_ERR_BOUNDS);
    std::ostringstream says;
    says << std::hex << "[0x" << data + 16 << ", 0x" << data + 528 << ") leaves the allocation [0x"
         << data << ", 0x" << data + 512 << ")";
    EXPECT_EQ(problem.message, says.str());
  }
  EXPECT_EQ(cai_memory_validate(0, 0, gpu0, CAI_KIND_DEFAULT, nullptr), CAI_OK);
  EXPECT_EQ(cai_memory_validate(0, 1, gpu0, CAI_KIND_DEFAULT, nullptr), CAI_ERR_VALUE);
  EXPECT_EQ(cai_memory_validate(UINT64_MAX - 8, 8, cpu, CAI_KIND_HOST, nullptr), CAI_OK);
  EXPECT_EQ(cai_memory_validate(UINT64_MAX - 8, 9, cpu, CAI_KIND_HOST, nullptr), CAI_ERR_BOUNDS);
}

}  // namespace
}  // namespace test::memory_tests
