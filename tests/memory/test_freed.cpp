// SPDX-License-Identifier: BSD-3-Clause
// Arrays outlive their memory where that is freed by hand: nothing begins with one any more, and it
// is handed to nobody. What ends, or waits, is done all the same.
#include <cai/arrow.h>
#include <cai/dlpack.h>

#include <atomic>
#include <thread>
#include <vector>

#include "managers.hpp"
#include "memories.hpp"

namespace test::freed_tests {
namespace {

struct Place {
  cai_device device;
  std::uint32_t kind;
};

class Freed : public Memories, public testing::WithParamInterface<Place> {
  const OwnStream made_ = make_stream(gpu0);

 protected:
  OwnMemory memory = allocate(GetParam().device, GetParam().kind, 64);
  OwnArray array = array_of(memory, {64});
  const std::uint64_t stream = cai_stream_value(made_);
};

const Place places[] = {{cpu, CAI_KIND_DEFAULT},  {gpu0, CAI_KIND_DEFAULT}, {gpu0, CAI_KIND_ASYNC},
                        {gpu0, CAI_KIND_MANAGED}, {gpu0, CAI_KIND_PINNED},  {gpu0, CAI_KIND_HOST}};
INSTANTIATE_TEST_SUITE_P(Of, Freed, testing::ValuesIn(places));

#define EXPECT_GONE(call) \
  EXPECT_FAILS(CAI_ERR_STATE, " was freed already, or its device reset", call)

OwnArray last_half_of(const cai_array *array) {
  const cai_slice half{32, 64, 1, CAI_SLICE_RANGE, 0};
  cai_array *view = nullptr;
  EXPECT_EQ(cai_array_slice(array, &half, 1, &view, nullptr), CAI_OK);
  return OwnArray(view);
}

void expect_no_door(const cai_array *array, std::uint64_t stream) {
  cai_use use{};
  for (const std::uint32_t order :
       {CAI_ORDER_BOTH, CAI_ORDER_BEGIN, CAI_ORDER_END, CAI_ORDER_HOST, CAI_ORDER_NONE}) {
    cai_use_options options{};
    options.struct_size = sizeof options;
    options.order = order;
    EXPECT_GONE(cai_use_begin(&use, &array, 1, stream, &options, error));
  }
  EXPECT_GONE(cai_use_begin(&use, &array, 1, stream, nullptr, error));
  EXPECT_EQ(cai_use_end(&use, nullptr), CAI_OK);
  EXPECT_GONE(cai_array_reclaim(array, stream, CAI_ACCESS_WRITE, error));
  std::uint64_t same = 77;
  EXPECT_GONE(cai_arrays_same_stream(&array, 1, &same, error));
  EXPECT_EQ(same, 77U);

  cai_array *view = nullptr;
  EXPECT_GONE(cai_array_publish(array, nullptr, 0, stream, &view, error));
  EXPECT_GONE(cai_array_publish_event(array, stream, &view, error));
  EXPECT_EQ(view, nullptr);
  alignas(8) unsigned char storage[1024];
  cai_interface dict{};
  dict.struct_size = sizeof dict;
  for (const std::uint32_t version : {2, 3}) {
    EXPECT_GONE(cai_interface_write(array, version, storage, sizeof storage, &dict, error));
  }
  EXPECT_EQ(dict.data.form, std::uint32_t{CAI_FORM_MISSING});
  DLManagedTensorVersioned *tensor = nullptr;
  DLManagedTensor *legacy = nullptr;
  DLTensor lent{};
  std::int64_t strides[1];
  EXPECT_GONE(cai_dlpack_write(array, stream, &tensor, error));
  EXPECT_GONE(cai_dlpack_write_legacy(array, stream, &legacy, error));
  EXPECT_GONE(cai_dlpack_lend(array, strides, &lent, error));
  EXPECT_TRUE(!tensor && !legacy && !lent.data);
  ArrowSchema schema{};
  ArrowDeviceArray column{};
  EXPECT_GONE(cai_arrow_write(array, stream, &schema, &column, error));
  EXPECT_TRUE(!schema.release && !column.array.release);
}

TEST_P(Freed, HasNoDoor) {
  const With with(primary[0]);
  const OwnArray view = last_half_of(array);
  ASSERT_OK(cai_memory_free(memory, error));
  expect_no_door(array, stream);
  expect_no_door(view, stream);
  expect_no_door(last_half_of(array), stream);
}

TEST_P(Freed, NamesTheArray) {
  const With with(primary[0]);
  const OwnMemory other = allocate(gpu0, CAI_KIND_DEFAULT, 64);
  const OwnArray alive = array_of(other, {64});
  ASSERT_OK(cai_memory_free(memory, error));
  const cai_array *const arrays[] = {alive, array};
  cai_use use{};
  cai_error error{};
  EXPECT_EQ(cai_use_begin(&use, arrays, 2, stream, nullptr, &error), CAI_ERR_STATE);
  EXPECT_EQ(error.index, 1);
  EXPECT_EQ(error.entry, std::uint32_t{CAI_ENTRY_DATA});
}

TEST_P(Freed, EndsWhatHadBegun) {
  const With with(primary[0]);
  cai_use use{};
  const cai_array *const used = array;
  ASSERT_OK(cai_use_begin(&use, &used, 1, stream, nullptr, error));
  ASSERT_OK(cai_use_end(&use, error));
  ASSERT_OK(cai_use_begin(&use, &used, 1, stream, nullptr, error));
  ASSERT_OK(cai_memory_free(memory, error));
  ASSERT_OK(cai_use_end(&use, error));
  ASSERT_OK(cai_array_sync_host(array, error));
  ASSERT_OK(cai_array_release_on(array.let_go(), stream, error));
}

// For foreign memory, by the flag: host memory, too, of which no use is begun.
TEST(FreedByOthers, IsNotWorkedOn) {
  std::vector<unsigned char> bytes(64);
  const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 64);
  const OwnArray other = array_of(memory, {64});
  const OwnArray array = [&] {
    cai_array described = *other;
    described.owner = nullptr;
    described.data = value(bytes.data());
    cai_array *made = nullptr;
    EXPECT_EQ(cai_array_own(&described, nullptr, nullptr, &made, nullptr), CAI_OK);
    return OwnArray(made);
  }();
  const std::int64_t first = 0;
  unsigned char item = 7;
  std::uint64_t address = 0;
  cai_memory *found = nullptr;
  ASSERT_OK(cai_array_fill(array, &item, nullptr, error));
  const OwnStream queue = make_stream(cpu);
  const cai_array *const freed = array;
  freed->owner->flags |= CAI_OWNER_FREED;
  EXPECT_GONE(cai_array_item(array, &first, &item, error));
  EXPECT_GONE(cai_array_first(array, &item, error));
  EXPECT_GONE(cai_array_copy(array, other, nullptr, error));
  EXPECT_GONE(cai_array_copy(other, array, queue, error));
  EXPECT_GONE(cai_array_fill(array, &item, nullptr, error));
  EXPECT_GONE(cai_array_fill(array, &item, queue, error));
  EXPECT_GONE(cai_array_host(array, &address, error));
  EXPECT_GONE(cai_memory_of(array, &found, nullptr, error));
  EXPECT_EQ(bytes, std::vector<unsigned char>(64, 7));
}

// Memory that was made from a foreign array is marked, too.
TEST(FreedByOthers, IsNotWorkedOnByItsMemory) {
  for (const cai_device device : {cpu, gpu0}) {
    const OwnMemory plain = allocate(device, CAI_KIND_DEFAULT, 64);
    const OwnStream stream = make_stream(device);
    const OwnArray base = array_of(plain, {64});
    const OwnArray array = [&] {
      cai_array described = *base;
      described.owner = nullptr;
      cai_array *made = nullptr;
      EXPECT_EQ(cai_array_own(&described, nullptr, nullptr, &made, nullptr), CAI_OK);
      return OwnArray(made);
    }();
    cai_memory *of_array = nullptr;
    ASSERT_OK(cai_memory_of(array, &of_array, nullptr, error));
    OwnMemory found(of_array);
    OwnArray other = array_of(found, {64});
    const unsigned char item = 7;
    ASSERT_OK(cai_array_fill(other, &item, stream, error));
    ASSERT_OK(cai_stream_synchronize(stream, error));
    (*array).owner->flags |= CAI_OWNER_FREED;
    EXPECT_FAILS(CAI_ERR_STATE, "freed already", cai_array_fill(other, &item, stream, error));
    cai_array *made = nullptr;
    EXPECT_FAILS(CAI_ERR_STATE, "freed already",
                 cai_memory_array_like(found, 0, base, 0, &made, error));
    cai_memory_info info{};
    info.struct_size = sizeof info;
    ASSERT_OK(cai_memory_describe(found, &info, error));
    EXPECT_TRUE(info.flags & CAI_MEMORY_FREED);
    const Failures heard;
    other = OwnArray();
    found = OwnMemory();
    ASSERT_OK(cai_drain(1, nullptr, error));
    EXPECT_TRUE(heard.messages.empty());
  }
}

TEST(FreedByAReset, HasNoDoor) {
  for (const std::uint32_t kind :
       {CAI_KIND_DEFAULT, CAI_KIND_ASYNC, CAI_KIND_MANAGED, CAI_KIND_PINNED}) {
    SCOPED_TRACE(cai_kind_name(kind));
    const OwnMemory memory = allocate(gpu1, kind, 64), plain = allocate(cpu, CAI_KIND_DEFAULT, 64);
    const OwnArray array = array_of(memory, {64}), of_host = array_of(plain, {64});
    const OwnArray view = last_half_of(array);
    ASSERT_OK(cai_device_reset(gpu1, CAI_RESET_CONTEXT, error));
    expect_no_door(array, 1);
    expect_no_door(view, 1);
    DLTensor tensor{};
    std::int64_t strides = 0;
    ASSERT_OK(cai_dlpack_lend(of_host, &strides, &tensor, error));
  }
}

// Work of a GPU's stream while another thread frees the memory comes before that, or fails.
TEST_P(Freed, IsNotWorkedOnMeanwhile) {
  const OwnStream worker = make_stream(gpu0);
  const OwnMemory beside = allocate(gpu0, CAI_KIND_DEFAULT, 64, worker);
  const OwnArray from = array_of(beside, {64});
  const unsigned char seven = 7;
  ASSERT_OK(cai_array_fill(from, &seven, worker, error));
  for (int round = 0; round < 100; ++round) {
    const OwnMemory freed = allocate(GetParam().device, GetParam().kind, 64);
    const OwnArray to = array_of(freed, {64});
    std::atomic<bool> has_begun{false};
    std::thread other([&] {
      has_begun = true;
      for (int i = 0; i < 8; ++i) {
        cai_error copy_error{}, back_error{};
        const cai_status copied = cai_array_copy(from, to, worker, &copy_error);
        const cai_status back = cai_array_copy(to, from, worker, &back_error);
        ASSERT_TRUE(copied == CAI_OK || copied == CAI_ERR_STATE) << copy_error.message;
        ASSERT_TRUE(back == CAI_OK || back == CAI_ERR_STATE) << back_error.message;
      }
    });
    while (!has_begun) std::this_thread::yield();
    for (int i = 0; i < round % 8; ++i) std::this_thread::yield();
    ASSERT_OK(cai_memory_free(freed, error));
    other.join();
    EXPECT_FAILS(CAI_ERR_STATE, "freed", cai_array_copy(from, to, worker, error));
  }
}

// Nothing is pending in a destroyed context, whose streams' handles may be others' by now.
TEST(FreedByAReset, IsNotWaitedForOnItsStream) {
  for (const bool is_freed_before : {false, true}) {
    SCOPED_TRACE(is_freed_before);
    OwnStream stream = make_stream(gpu1);
    OwnMemory memory = allocate(gpu1, CAI_KIND_ASYNC, 64, stream);
    const OwnArray array = array_of(memory, {64}), view = last_half_of(array);
    if (is_freed_before) ASSERT_OK(cai_memory_free(memory, error));
    ASSERT_OK(cai_device_reset(gpu1, CAI_RESET_CONTEXT, error));
    ASSERT_OK(cai_array_sync_host(array, error));
    ASSERT_OK(cai_array_sync_host(view, error));
    ASSERT_OK(cai_array_eval(array, error));
  }
}

}  // namespace
}  // namespace test::freed_tests
