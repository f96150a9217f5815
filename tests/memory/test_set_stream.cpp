// SPDX-License-Identifier: BSD-3-Clause
// Arrays of memory whose stream is set later, or is stream 1: uses of one come after those of
// another.
#include <atomic>
#include <thread>

#include "memories.hpp"

namespace test::set_stream_tests {
namespace {

class SetStream : public Memories {
 protected:
  // The array is written on the stream, by a consumer.
  void write(const cai_array *array, std::uint64_t on) {
    const With with(primary[0]);
    cai_use use;
    ASSERT_OK(cai_use_begin(&use, &array, 1, on, nullptr, error));
    set(array, on);
    ASSERT_OK(cai_use_end(&use, error));
  }
  void set(const cai_array *array, std::uint64_t on) const {
    const With with(primary[0]);
    static const auto fill =
        driver_function<int (*)(Address, unsigned char, std::size_t, Handle)>("cuMemsetD8Async");
    MUST(fill(array->data, 1, 64, handle(on)));
  }

  OwnStream first = make_stream(gpu0), second = make_stream(gpu0);
};

// Arrays of the memory came with None before it had a stream.
TEST_F(SetStream, AnArrayOfNoneAndOneOfAStreamHearOfEachOther) {
  const OwnMemory backing = allocate(gpu0, CAI_KIND_DEFAULT, 64, first);
  ASSERT_OK(cai_stream_synchronize(first, error));
  cai_memory_info info{};
  info.struct_size = sizeof info;
  info.device = gpu0;
  info.kind = CAI_KIND_DEFAULT;
  info.data = describe(backing).data;
  info.size = 64;
  cai_memory *wrapped = nullptr;
  ASSERT_OK(cai_memory_wrap(&info, nullptr, nullptr, &wrapped, error));
  OwnMemory memory(wrapped);
  const OwnArray none = array_of(memory, {64});
  EXPECT_EQ(none->stream_kind, std::uint32_t{CAI_STREAM_NONE});
  ASSERT_OK(cai_memory_set_stream(memory, first, error));
  const OwnArray said = array_of(memory, {64});
  EXPECT_EQ(said->stream, cai_stream_value(first));
  write(said, said->stream);
  write(none, cai_stream_value(second));
  write(said, said->stream);
}

// The memory's stream is 1, on which nothing is queued. Work on blocking streams by its arrays
// comes after the pending work of the array that the memory was made from.
TEST_F(SetStream, MemoryOfAnArrayOnStream1IsInOrderForBlockingStreams) {
  const OwnStream blocking = make_stream(gpu0, CAI_MODE_SYNC),
                  other = make_stream(gpu0, CAI_MODE_SYNC);
  const OwnStream legacy = make_stream(gpu0, CAI_MODE_DEFAULT);
  ASSERT_EQ(cai_stream_value(legacy), 1U);
  const OwnMemory backing = allocate(gpu0, CAI_KIND_DEFAULT, 64, blocking);
  const OwnArray of_backing = array_of(backing, {64});
  cai_array borrowed = *of_backing.get();
  borrowed.owner = nullptr;
  cai_array *made = nullptr;
  ASSERT_OK(cai_array_own(&borrowed, [](void *) {}, nullptr, &made, error));
  const OwnArray array(made);
  set(array, cai_stream_value(blocking));
  cai_stream *before = nullptr;
  ASSERT_OK(cai_stream_current(gpu0, &before, error));
  ASSERT_OK(cai_stream_set_current(legacy, error));
  cai_memory *found = nullptr;
  ASSERT_OK(cai_memory_of(array, &found, nullptr, error));
  OwnMemory memory(found);
  ASSERT_OK(cai_stream_set_current(OwnStream(before), error));
  {
    const OwnArray its = array_of(memory, {64});
    EXPECT_EQ(its->stream, 1U);
    write(its, cai_stream_value(other));
  }
  memory.reset();
  set(array, cai_stream_value(blocking));
}

// Any thread may set the stream while another one frees the memory: before that, or it fails.
TEST_F(SetStream, BesideTheFree) {
  for (const cai_device device : {gpu0, cpu}) {
    const OwnStream all[] = {make_stream(device), make_stream(device), make_stream(device)};
    for (int round = 0; round < 300; ++round) {
      const OwnMemory memory = allocate(device, CAI_KIND_ASYNC, 64, all[0]);
      std::atomic<bool> has_begun{false};
      std::thread other([&] {
        has_begun = true;
        for (int i = 1; i < 12; ++i) {
          const cai_status status = cai_memory_set_stream(memory, all[i % 3], nullptr);
          ASSERT_TRUE(status == CAI_OK || status == CAI_ERR_STATE) << status;
        }
      });
      while (!has_begun) std::this_thread::yield();
      for (int i = 0; i < round % 8; ++i) std::this_thread::yield();
      ASSERT_OK(cai_memory_free(memory, error));
      other.join();
      EXPECT_FAILS(CAI_ERR_STATE, "freed", cai_memory_set_stream(memory, all[1], error));
    }
    for (const OwnStream &each : all) ASSERT_OK(cai_stream_synchronize(each, error));
  }
}

}  // namespace
}  // namespace test::set_stream_tests
