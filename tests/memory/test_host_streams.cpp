// SPDX-License-Identifier: BSD-3-Clause
// Memory that the host and a GPU use in turn, by streams of either: each comes after the other.
#include <algorithm>

#include "owned.hpp"
#include "slow.hpp"

namespace test::host_streams_tests {
namespace {

constexpr std::int64_t extent = 4096;
constexpr unsigned char seven = 7, eight = 8;

class HostStreams : public Memories {
 protected:
  struct Place {
    cai_device device;
    std::uint32_t kind;
  };
  // Memory that both may use.
  static constexpr Place shared[] = {{gpu0, CAI_KIND_PINNED},
                                     {gpu0, CAI_KIND_MAPPED},
                                     {gpu0, CAI_KIND_HOST},
                                     {cpu, CAI_KIND_PINNED},
                                     {cpu, CAI_KIND_MAPPED}};

  struct Bytes {
    OwnMemory memory;
    OwnArray array;

    explicit Bytes(const Place &place, cai_stream *stream = nullptr)
        : memory(allocate(place.device, place.kind, extent, stream)),
          array(array_of(memory, {extent})) {}
    std::int64_t count(unsigned char value) const {
      const auto *const bytes = static_cast<const unsigned char *>(handle(describe(memory).host));
      return std::count(bytes, bytes + extent, value);
    }
  };
};

cai_status begin_on(const cai_array *array, cai_stream *stream, std::uint32_t access) {
  const cai_use_options options{sizeof options, CAI_ORDER_BOTH, access, 0, nullptr};
  return test::begin_arrays(&array, 1, cai_stream_value(stream), &options, nullptr);
}

// An array that came with the old stream was used there without a use to keep.
TEST_F(HostStreams, WorkOnTheOldStreamComesBeforeThatOfTheCpu) {
  const OwnStream first = make_stream(gpu0), second = make_stream(gpu0), queue = make_stream(cpu);
  for (const std::uint32_t kind : {CAI_KIND_PINNED, CAI_KIND_MAPPED}) {
    const Bytes x({gpu0, kind}, first);
    ASSERT_OK(cai_array_fill(x.array, &seven, first, error));
    ASSERT_OK(cai_memory_set_stream(x.memory, second, error));
    ASSERT_OK(cai_array_fill(array_of(x.memory, {extent}), &eight, queue, error));
    ASSERT_OK(cai_stream_synchronize(queue, error));
    ASSERT_OK(cai_device_synchronize(gpu0, error));
    EXPECT_EQ(x.count(eight), extent);
  }
}

TEST_F(HostStreams, WorkOfAGpuComesAfterThatOfTheCpu) {
  const OwnStream queue = make_stream(gpu0);
  for (const Place &place : shared) {
    const Bytes x(place);
    {
      const Slow slow;
      ASSERT_OK(cai_array_fill(x.array, &seven, slow, error));
      ASSERT_EQ(begin_on(x.array, queue, CAI_ACCESS_READ), CAI_OK);
      EXPECT_EQ(x.count(seven), extent);
    }
    Slow slow(true);
    const Bytes y({gpu0, CAI_KIND_DEFAULT}), back({cpu, CAI_KIND_DEFAULT});
    ASSERT_OK(cai_array_fill(x.array, &eight, slow, error));
    EXPECT_TRUE(slow.is_pending());
    slow.let_go();
    ASSERT_OK(cai_array_copy(x.array, y.array, queue, error));
    ASSERT_OK(cai_array_copy(y.array, back.array, queue, error));
    EXPECT_EQ(back.count(eight), extent);
  }
}

TEST_F(HostStreams, WorkOfTheCpuComesAfterThatOfAGpu) {
  const OwnStream queue = make_stream(gpu0), thread = make_stream(cpu);
  for (const Place &place : shared) {
    const Bytes x(place), y({cpu, CAI_KIND_DEFAULT});
    ASSERT_OK(cai_array_fill(x.array, &seven, nullptr, error));
    for (cai_stream *const stream : {thread.get(), static_cast<cai_stream *>(nullptr)}) {
      ASSERT_OK(cai_array_fill(x.array, &eight, queue, error));
      ASSERT_OK(cai_array_copy(x.array, y.array,
                               stream ? stream : make_stream(cpu, CAI_MODE_SYNC).get(), error));
      ASSERT_OK(cai_array_sync_host(y.array, error));
      EXPECT_EQ(y.count(eight), extent);
      ASSERT_OK(cai_array_fill(y.array, &seven, nullptr, error));
    }
  }
}

TEST_F(HostStreams, InTheOrderOfAGpusStream) {
  const OwnStream queue = make_stream(gpu0);
  const Bytes x({gpu0, CAI_KIND_HOST}), y({gpu0, CAI_KIND_HOST});
  ASSERT_OK(cai_array_fill(x.array, &seven, queue, error));
  ASSERT_OK(cai_array_copy(x.array, y.array, queue, error));
  const auto count = [](void *bytes, cai_error *error) -> cai_status {
    return static_cast<const Bytes *>(bytes)->count(seven) == extent ? CAI_OK
                                                                     : fail_work(nullptr, error);
  };
  ASSERT_OK(cai_stream_enqueue(queue, count, nullptr, const_cast<Bytes *>(&y), error));
  ASSERT_OK(cai_array_fill(y.array, &eight, queue, error));  // comes after
  EXPECT_EQ(y.count(eight), extent);
  ASSERT_OK(cai_array_copy(x.array, y.array, queue, error));
  ASSERT_OK(cai_array_fill(x.array, &eight, nullptr, error));
  ASSERT_OK(cai_stream_enqueue(queue, count, nullptr, const_cast<Bytes *>(&y), error));
  ASSERT_OK(cai_array_copy(x.array, y.array, queue, error));  // likewise
  EXPECT_EQ(y.count(eight), extent);
  ASSERT_OK(cai_stream_synchronize(queue, error));
}

TEST_F(HostStreams, OfTheMemorysOwnDevice) {
  const OwnStream thread = make_stream(cpu), queue = make_stream(gpu0), other = make_stream(gpu1);
  for (const Place &place : shared) {
    const Bytes x(place);
    ASSERT_OK(cai_array_fill(x.array, &seven, thread, error));
    ASSERT_OK(cai_array_sync_host(x.array, error));
    EXPECT_EQ(x.count(seven), extent);
    EXPECT_EQ(cai_array_fill(x.array, &eight, other, nullptr), CAI_ERR_DEVICE);
  }
  const Bytes on_gpu({gpu0, CAI_KIND_DEFAULT}), on_cpu({cpu, CAI_KIND_DEFAULT}),
      again({cpu, CAI_KIND_DEFAULT});
  EXPECT_EQ(cai_array_fill(on_gpu.array, &seven, thread, nullptr), CAI_ERR_DEVICE);
  EXPECT_EQ(cai_array_copy(on_gpu.array, on_cpu.array, thread, nullptr), CAI_ERR_DEVICE);
  EXPECT_EQ(cai_array_fill(on_cpu.array, &seven, queue, nullptr), CAI_ERR_DEVICE);
  EXPECT_EQ(cai_array_copy(on_cpu.array, again.array, queue, nullptr), CAI_ERR_DEVICE);
}

TEST_F(HostStreams, OfTheHostAreNotForACapture) {
  const With with(primary[0]);
  const OwnStream queue = make_stream(gpu0);
  const Bytes x({gpu0, CAI_KIND_HOST});
  ASSERT_OK(cai_array_fill(x.array, &seven, nullptr, error));
  MUST(gpu().cuStreamBeginCapture_v2(handle(cai_stream_value(queue)), 2));
  EXPECT_EQ(cai_array_fill(x.array, &eight, queue, nullptr), CAI_ERR_CAPTURE);
  Handle graph = nullptr;
  MUST(gpu().cuStreamEndCapture(handle(cai_stream_value(queue)), &graph));
  EXPECT_EQ(x.count(seven), extent);
}

TEST_F(HostStreams, APinnedArrayIsExportedOnceTheHostIsDone) {
  const Bytes x({cpu, CAI_KIND_PINNED});
  const Slow slow;
  ASSERT_OK(cai_array_fill(x.array, &seven, slow, error));
  alignas(8) unsigned char storage[4096];
  cai_interface out;
  out.struct_size = sizeof out;
  ASSERT_OK(cai_interface_write(x.array, 3, storage, sizeof storage, &out, error));
  EXPECT_EQ(x.count(seven), extent);
}

}  // namespace
}  // namespace test::host_streams_tests
