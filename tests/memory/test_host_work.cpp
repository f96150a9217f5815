// SPDX-License-Identifier: BSD-3-Clause
// Work that streams of the CPU's have pending on arrays: nobody comes before it. No driver.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "owned.hpp"
#include "slow.hpp"

namespace test::host_work_tests {
namespace {

constexpr unsigned char seven = 7, eight = 8;

cai_status write_dict(const cai_array *array, cai_error *error) {
  alignas(8) unsigned char storage[4096];
  cai_interface out;
  out.struct_size = sizeof out;
  return cai_interface_write(array, 3, storage, sizeof storage, &out, error);
}

cai_status begin_in_order(const cai_array *array, std::uint32_t order, std::uint32_t access,
                          cai_error *error) {
  const cai_use_options options{sizeof options, order, access, 0, nullptr};
  return test::begin_arrays(&array, 1, 1, &options, error);
}

cai_status copy_away(const cai_array *array, cai_stream *stream, cai_error *error) {
  const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 64);
  const OwnArray to = array_of(memory, {array->shape[0]});
  if (const cai_status status = cai_array_copy(array, to, stream, error)) return status;
  if (stream && cai_stream_synchronize(stream, error) != CAI_OK) return error->status;
  const auto *const bytes = static_cast<const unsigned char *>(handle(describe(memory).host));
  EXPECT_EQ(std::count(bytes, bytes + array->shape[0], seven), array->shape[0]);
  return CAI_OK;
}

struct Reader {
  const char *name;
  cai_status (*begin)(const cai_array *array, cai_error *error);
};

const Reader readers[] = {
    {"SyncHost", cai_array_sync_host},
    {"HostOrder",
     [](const cai_array *array, cai_error *error) {
       return begin_in_order(array, CAI_ORDER_HOST, CAI_ACCESS_READ, error);
     }},
    {"Read",
     [](const cai_array *array, cai_error *error) {
       return begin_in_order(array, CAI_ORDER_BOTH, CAI_ACCESS_READ, error);
     }},
    {"Write",
     [](const cai_array *array, cai_error *error) {
       return begin_in_order(array, CAI_ORDER_BOTH, CAI_ACCESS_WRITE, error);
     }},
    {"View",
     [](const cai_array *array, cai_error *error) {
       const cai_slice back{0, 0, -1, CAI_SLICE_RANGE | CAI_SLICE_NO_START | CAI_SLICE_NO_STOP, 0};
       cai_array *view = nullptr;
       if (cai_array_slice(array, &back, 1, &view, error) != CAI_OK) return error->status;
       const OwnArray own(view);
       return cai_array_sync_host(view, error);
     }},
    {"Item",
     [](const cai_array *array, cai_error *error) {
       const std::int64_t index = -1;
       unsigned char item = 0;
       const cai_status status = cai_array_item(array, &index, &item, error);
       EXPECT_EQ(item, status == CAI_OK ? seven : 0);
       return status;
     }},
    {"Dict", write_dict},
    {"SameStream",
     [](const cai_array *array, cai_error *error) {
       std::uint64_t stream = 1;
       return cai_arrays_same_stream(&array, 1, &stream, error);
     }},
    {"Reclaim",
     [](const cai_array *array, cai_error *error) {
       return cai_array_reclaim(array, 1, CAI_ACCESS_WRITE, error);
     }},
    {"AwaitUses",
     [](const cai_array *array, cai_error *error) {
       cai_owner *const keeper = array->owner->keeper ? array->owner->keeper : array->owner;
       return cai_owner_await_uses(keeper, 0, CAI_ACCESS_READ, error);
     }},
    {"Copy",
     [](const cai_array *array, cai_error *error) { return copy_away(array, nullptr, error); }},
    {"CopyElsewhere", [](const cai_array *array,
                         cai_error *error) { return copy_away(array, make_stream(cpu), error); }},
};

class NoReader : public testing::TestWithParam<Reader> {};

INSTANTIATE_TEST_SUITE_P(ComesBefore, NoReader, testing::ValuesIn(readers),
                         [](const auto &reader) { return reader.param.name; });

TEST_P(NoReader, AFillOfMemory) {
  const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 64);
  const OwnArray x = array_of(memory, {64});
  Slow slow(true);
  ASSERT_OK(cai_array_fill(x, &seven, slow, error));
  EXPECT_TRUE(slow.is_pending());
  slow.let_go();
  ASSERT_OK(GetParam().begin(x, error));
  const auto *const bytes = static_cast<const unsigned char *>(handle(describe(memory).host));
  EXPECT_EQ(std::count(bytes, bytes + 64, seven), 64);
}

TEST_P(NoReader, ACopyToAnOwnersArray) {
  const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, count);
  const OwnArray from = array_of(memory, {count});
  ASSERT_OK(cai_array_fill(from, &seven, nullptr, error));
  HostBytes target;
  const Owned x = target.make();
  Slow slow(true);
  ASSERT_OK(cai_array_copy(from, x, slow, error));
  EXPECT_TRUE(slow.is_pending());
  slow.let_go();
  ASSERT_OK(GetParam().begin(x, error));
  EXPECT_EQ(std::count(target.bytes, target.bytes + count, seven), std::int64_t{count});
}

// An owner of its own is asked of itself alone.
class NoReaderOfAnImport : public testing::TestWithParam<Reader> {};

INSTANTIATE_TEST_SUITE_P(ComesBefore, NoReaderOfAnImport, testing::ValuesIn([] {
                           std::vector<Reader> found;
                           std::copy_if(std::begin(readers), std::end(readers),
                                        std::back_inserter(found), [](const Reader &reader) {
                                          return reader.name != std::string_view("AwaitUses");
                                        });
                           return found;
                         }()),
                         [](const auto &reader) { return reader.param.name; });

// Others may have the mask without the elements.
TEST(NoReaderOfAMaskedImport, ComesBeforeAFillOfItsMaskAlone) {
  const auto is_of_elements = [](std::string_view name) {
    return name == "AwaitUses" || name == "Item" || name.starts_with("Copy");
  };
  for (const Reader &reader : readers) {
    if (is_of_elements(reader.name)) continue;
    SCOPED_TRACE(reader.name);
    HostBytes elements, mask;
    Array of_mask(reinterpret_cast<Address>(mask.bytes), CAI_STREAM_NONE);
    Array array(reinterpret_cast<Address>(elements.bytes), CAI_STREAM_NONE);
    for (Array *const part : {&array, &of_mask}) {
      part->array.device_type = CAI_DEVICE_CPU;
      part->array.device_id = 0;
    }
    const Owned x(array.mask(of_mask).array), alone = mask.make();
    x->owner->flags |= CAI_OWNER_IMPORTED;
    alone->owner->flags |= CAI_OWNER_IMPORTED;
    Slow slow(true);
    ASSERT_OK(cai_array_fill(alone, &seven, slow, error));
    slow.let_go();
    ASSERT_OK(reader.begin(x, error));
    EXPECT_EQ(std::count(mask.bytes, mask.bytes + count, seven), std::int64_t{count});
  }
}

// And the elements with the mask, which work changes, too.
TEST(NoReaderOfAMaskImport, ComesBeforeACopyToTheMaskedArray) {
  for (const Reader &reader : readers) {
    if (reader.name == std::string_view("AwaitUses")) continue;  // of one owner alone
    SCOPED_TRACE(reader.name);
    HostBytes elements[2], masks[2];
    std::fill(std::begin(masks[0].bytes), std::end(masks[0].bytes), seven);
    const auto make = [&](int which) {
      Array of_mask(reinterpret_cast<Address>(masks[which].bytes), CAI_STREAM_NONE);
      Array array(reinterpret_cast<Address>(elements[which].bytes), CAI_STREAM_NONE);
      for (Array *const part : {&array, &of_mask}) {
        part->array.device_type = CAI_DEVICE_CPU;
        part->array.device_id = 0;
      }
      return Owned(array.mask(of_mask).array);
    };
    const Owned from = make(0), to = make(1), alone = masks[1].make();
    for (const Owned *const each : {&from, &to, &alone}) {
      (*each)->owner->flags |= CAI_OWNER_IMPORTED;
    }
    Slow slow(true);
    ASSERT_OK(cai_array_copy(from, to, slow, error));
    slow.let_go();
    ASSERT_OK(reader.begin(alone, error));
    EXPECT_EQ(std::count(masks[1].bytes, masks[1].bytes + count, seven), std::int64_t{count});
  }
}

TEST_P(NoReaderOfAnImport, AFillOfAnotherOne) {
  HostBytes target;
  const Owned x = target.make(), other = target.make();
  x->owner->flags |= CAI_OWNER_IMPORTED;
  other->owner->flags |= CAI_OWNER_IMPORTED;
  Slow slow(true);
  ASSERT_OK(cai_array_fill(other, &seven, slow, error));
  EXPECT_TRUE(slow.is_pending());
  slow.let_go();
  ASSERT_OK(GetParam().begin(x, error));
  EXPECT_EQ(std::count(target.bytes, target.bytes + count, seven), std::int64_t{count});
}

// The caller's own work, which sets the first bytes.
void queue_recorded_write(cai_memory *memory, unsigned char *bytes, Slow &slow) {
  const auto write = [](void *first, cai_error *) -> cai_status {
    std::fill_n(static_cast<unsigned char *>(first), count, seven);
    return CAI_OK;
  };
  ASSERT_OK(cai_stream_enqueue(slow, write, nullptr, bytes, error));
  ASSERT_OK(cai_memory_record(memory, slow, error));
  EXPECT_TRUE(slow.is_pending());
}

TEST_P(NoReader, WorkThatIsRecorded) {
  const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, count);
  const OwnArray x = array_of(memory, {count});
  auto *const bytes = static_cast<unsigned char *>(handle(describe(memory).host));
  Slow slow(true);
  queue_recorded_write(memory, bytes, slow);
  slow.let_go();
  ASSERT_OK(GetParam().begin(x, error));
  EXPECT_EQ(std::count(bytes, bytes + count, seven), std::int64_t{count});
}

TEST_P(NoReaderOfAnImport, WorkThatIsRecorded) {
  const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, count);
  auto *const bytes = static_cast<unsigned char *>(handle(describe(memory).host));
  Array of_address(describe(memory).data, CAI_STREAM_NONE);
  of_address.array.device_type = CAI_DEVICE_CPU;
  of_address.array.device_id = 0;
  const Owned x(of_address.array);
  x->owner->flags |= CAI_OWNER_IMPORTED;
  Slow slow(true);
  queue_recorded_write(memory, bytes, slow);
  slow.let_go();
  ASSERT_OK(GetParam().begin(x, error));
  EXPECT_EQ(std::count(bytes, bytes + count, seven), std::int64_t{count});
}

TEST_P(NoReader, MissesAFailure) {
  const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 64);
  const OwnArray x = array_of(memory, {64});
  for (const int milliseconds : {0, 100}) {
    const Slow slow;
    ASSERT_OK(cai_stream_enqueue(slow, fail_work, nullptr, nullptr, error));
    ASSERT_OK(cai_array_fill(x, &seven, slow, error));  // is dropped
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    std::int32_t busy = 1;
    cai_error problem{};
    EXPECT_EQ(GetParam().begin(x, &problem), CAI_ERR_STATE);
    EXPECT_STREQ(problem.message, "the work has failed");
    ASSERT_OK(cai_stream_query(slow, &busy, error));  // it was returned
    ASSERT_OK(cai_array_sync_host(x, error));
  }
}

void set(void *flag) {
  static_cast<std::atomic<bool> *>(flag)->store(true);
  static_cast<std::atomic<bool> *>(flag)->notify_all();
}

// A failure is that of the stream, and of the work that was dropped for it.
TEST_P(NoReader, ReturnsAFailureOfLaterWork) {
  const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 64);
  const OwnArray x = array_of(memory, {64});
  const OwnStream stream = make_stream(cpu);
  std::atomic<bool> has_failed{false};
  ASSERT_OK(cai_array_fill(x, &seven, stream, error));
  ASSERT_OK(cai_stream_enqueue(stream, fail_work, set, &has_failed, error));
  has_failed.wait(false);
  ASSERT_OK(GetParam().begin(x, error));
  const auto *const bytes = static_cast<const unsigned char *>(handle(describe(memory).host));
  EXPECT_EQ(std::count(bytes, bytes + 64, seven), 64);
  EXPECT_EQ(cai_stream_synchronize(stream, nullptr), CAI_ERR_STATE);
}

TEST(HostWork, IsNotDroppedForAFailureOfWhatItNeedNotWaitFor) {
  const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 64), other = allocate(cpu, 1, 64);
  const OwnArray x = array_of(memory, {64}), y = array_of(other, {64});
  for (const bool waits : {false, true}) {
    const OwnStream fails = make_stream(cpu), copies = make_stream(cpu);
    std::atomic<bool> has_failed{false};
    ASSERT_OK(cai_array_fill(x, waits ? &eight : &seven, fails, error));
    ASSERT_OK(cai_stream_enqueue(fails, fail_work, set, &has_failed, error));
    if (waits) has_failed.wait(false);
    ASSERT_OK(cai_array_copy(x, y, copies, error));
    ASSERT_OK(cai_stream_synchronize(copies, error));
    const auto *const bytes = static_cast<const unsigned char *>(handle(describe(other).host));
    EXPECT_EQ(std::count(bytes, bytes + 64, waits ? eight : seven), 64);
    EXPECT_EQ(cai_stream_synchronize(fails, nullptr), CAI_ERR_STATE);
    has_failed.wait(false);
  }
}

// Between the failure and its return no work is accepted.
TEST(HostWork, IsRefusedOrDroppedAfterAFailure) {
  struct Round {
    std::atomic<bool> fails{false};
    bool has_run = false;
  };
  const auto fail = [](void *context, cai_error *error) -> cai_status {
    static_cast<Round *>(context)->fails = true;
    return fail_work(context, error);
  };
  const auto run = [](void *context, cai_error *) -> cai_status {
    static_cast<Round *>(context)->has_run = true;
    return CAI_OK;
  };
  const OwnStream stream = make_stream(cpu);
  for (int i = 0; i < 5000; ++i) {
    Round round;
    ASSERT_OK(cai_stream_enqueue(stream, fail, nullptr, &round, error));
    while (!round.fails) std::this_thread::yield();
    for (std::atomic<int> pause{0}; pause < i % 200;) ++pause;
    if (cai_stream_enqueue(stream, run, nullptr, &round, nullptr) == CAI_OK) {
      EXPECT_EQ(cai_stream_synchronize(stream, nullptr), CAI_ERR_STATE);
    }
    ASSERT_OK(cai_stream_synchronize(stream, error));
    ASSERT_FALSE(round.has_run) << "round " << i;
  }
}

// A failure drops work, and not the order of what comes later.
TEST(HostWork, ComesAfterWhatItsStreamFollowsWhateverHasFailed) {
  for (const bool by_event : {false, true}) {
    SCOPED_TRACE(by_event);
    Slow slow(true), fails(true);
    cai_event *event = nullptr;
    ASSERT_OK(cai_event_create(cpu, 0, &event, error));
    ASSERT_OK(cai_stream_enqueue(fails, fail_work, nullptr, nullptr, error));
    if (by_event) {
      ASSERT_OK(cai_event_record(event, slow, error));
      ASSERT_OK(cai_event_wait(event, fails, error));
    } else {
      ASSERT_OK(cai_stream_follow(fails, slow, error));
    }
    fails.let_go();
    std::int32_t busy = 0;
    while (cai_stream_query(fails, &busy, nullptr) == CAI_OK) std::this_thread::yield();
    struct Look {
      const Slow *slow;
      std::atomic<bool> was_pending{true};
    } look{&slow};
    const auto see = [](void *context, cai_error *) -> cai_status {
      Look &mine = *static_cast<Look *>(context);
      mine.was_pending = mine.slow->is_pending();
      return CAI_OK;
    };
    ASSERT_OK(cai_stream_enqueue(fails, see, nullptr, &look, error));
    slow.let_go();
    ASSERT_OK(cai_stream_synchronize(fails, error));
    EXPECT_FALSE(look.was_pending);
    cai_event_release(event);
  }
}

TEST(HostWork, WritesComeAfterReadsAndReadsAfterWritesOnly) {
  const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 64), other = allocate(cpu, 1, 64);
  const OwnArray x = array_of(memory, {64}), y = array_of(other, {64});
  ASSERT_OK(cai_array_fill(x, &seven, nullptr, error));
  Slow slow(true);
  ASSERT_OK(cai_array_copy(x, y, slow, error));
  unsigned char item = 0;
  const std::int64_t index = 0;
  ASSERT_OK(cai_array_item(x, &index, &item, error));
  EXPECT_TRUE(slow.is_pending());  // nobody waits for a read to read
  slow.let_go();
  ASSERT_OK(cai_array_fill(x, &eight, nullptr, error));
  EXPECT_FALSE(slow.is_pending());
  ASSERT_OK(cai_array_item(y, &index, &item, error));
  EXPECT_EQ(item, seven);
}

TEST(HostWork, FollowsThatOfOtherStreamsAndNobodyWaits) {
  const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 64);
  const OwnArray x = array_of(memory, {64});
  Slow slow(true);
  const OwnStream other = make_stream(cpu), third = make_stream(cpu);
  ASSERT_OK(cai_array_fill(x, &seven, slow, error));
  ASSERT_OK(cai_array_fill(x, &eight, other, error));
  ASSERT_OK(cai_array_fill(x, &seven, third, error));
  EXPECT_TRUE(slow.is_pending());
  slow.let_go();
  ASSERT_OK(cai_array_sync_host(x, error));
  const auto *const bytes = static_cast<const unsigned char *>(handle(describe(memory).host));
  EXPECT_EQ(std::count(bytes, bytes + 64, seven), 64);
}

TEST(HostWork, IsReadByItsOwnThread) {
  const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 64);
  const OwnArray x = array_of(memory, {64});
  const OwnStream stream = make_stream(cpu);
  ASSERT_OK(cai_array_fill(x, &seven, stream, error));
  const auto read = [](void *array, cai_error *error) -> cai_status {
    const std::int64_t index = 0;
    unsigned char item = 0;
    const auto *const mine = static_cast<const cai_array *>(array);
    if (cai_array_sync_host(mine, error) != CAI_OK) return error->status;
    if (cai_array_item(mine, &index, &item, error) != CAI_OK) return error->status;
    EXPECT_EQ(item, seven);
    return write_dict(mine, error);
  };
  ASSERT_OK(cai_stream_enqueue(stream, read, nullptr, x, error));
  ASSERT_OK(cai_array_fill(x, &eight, stream, error));  // comes after, and is not waited for
  ASSERT_OK(cai_stream_synchronize(stream, error));
}

TEST(HostWork, OutlivesItsStreamAndItsArrays) {
  const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 64);
  const OwnArray again = array_of(memory, {64});
  OwnStream stream = make_stream(cpu);
  const auto pause = [](void *, cai_error *) -> cai_status {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return CAI_OK;
  };
  ASSERT_OK(cai_stream_enqueue(stream, pause, nullptr, nullptr, error));
  ASSERT_OK(cai_array_fill(array_of(memory, {64}), &seven, stream, error));
  stream.reset();
  ASSERT_OK(cai_array_sync_host(again, error));
  const auto *const bytes = static_cast<const unsigned char *>(handle(describe(memory).host));
  EXPECT_EQ(std::count(bytes, bytes + 64, seven), 64);
}

TEST(HostWork, KeepsMemoryThatIsFreed) {
  const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 1 << 20);
  const OwnArray x = array_of(memory, {1 << 20});
  {
    const Slow slow;
    ASSERT_OK(cai_array_fill(x, &seven, slow, error));
    ASSERT_OK(cai_memory_free(memory, error));
    cai_error problem{};
    EXPECT_EQ(cai_array_fill(x, &seven, slow, &problem), CAI_ERR_STATE);
    char expected[64];
    std::snprintf(expected, sizeof expected, "the memory at 0x%" PRIx64 " was freed already",
                  x->data);
    EXPECT_STREQ(problem.message, expected);
  }
}

// The same by a consumer that knows the address alone.
TEST(HostWork, OnAnImportKeepsMemoryThatIsFreed) {
  constexpr std::int64_t size = 1 << 20;
  const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, size);
  Array of_address(describe(memory).host, CAI_STREAM_NONE);
  of_address.array.device_type = CAI_DEVICE_CPU;
  of_address.array.device_id = 0;
  of_address.array.shape = &size;
  const Owned import(of_address.array);
  import->owner->flags |= CAI_OWNER_IMPORTED;
  const Slow slow;
  ASSERT_OK(cai_array_fill(import, &seven, slow, error));
  ASSERT_OK(cai_memory_free(memory, error));
}

// Work that reads memory does not wait for work that was queued after it, and waits for it.
TEST(HostWork, DoesNotWaitForWhatComesAfterIt) {
  const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 64);
  const OwnArray x = array_of(memory, {64});
  const OwnStream reader = make_stream(cpu), writer = make_stream(cpu);
  struct Reading {
    const cai_array *array;
    std::atomic<bool> is_held{true};
    unsigned char found = 0;
  } reading{x};
  const auto read = [](void *context, cai_error *problem) -> cai_status {
    auto &it = *static_cast<Reading *>(context);
    it.is_held.wait(true);
    const std::int64_t first = 0;
    return cai_array_item(it.array, &first, &it.found, problem);
  };
  ASSERT_OK(cai_array_fill(x, &seven, writer, error));  // which it waits for
  ASSERT_OK(cai_stream_enqueue(reader, read, nullptr, &reading, error));
  ASSERT_OK(cai_memory_record(memory, reader, error));
  ASSERT_OK(cai_array_fill(x, &eight, writer, error));
  reading.is_held = false;
  reading.is_held.notify_all();
  ASSERT_OK(cai_stream_synchronize(reader, error));
  EXPECT_EQ(reading.found, seven);
  ASSERT_OK(cai_array_sync_host(x, error));
  const std::int64_t last = 63;
  unsigned char byte = 0;
  ASSERT_OK(cai_array_item(x, &last, &byte, error));
  EXPECT_EQ(byte, eight);
}

// Nor does work fail for what was queued after it.
TEST(HostWork, DoesNotFailForWhatComesAfterIt) {
  const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 64);
  const OwnArray x = array_of(memory, {64});
  const OwnStream reader = make_stream(cpu), writer = make_stream(cpu);
  struct Reading {
    const cai_array *array;
    std::atomic<bool> is_held{true}, is_dropped{false};
    cai_status status = CAI_ERR_VALUE;
  } reading{x};
  const auto hold = [](void *context, cai_error *) -> cai_status {
    static_cast<Reading *>(context)->is_held.wait(true);
    return CAI_OK;
  };
  const auto read = [](void *context, cai_error *problem) -> cai_status {
    auto &it = *static_cast<Reading *>(context);
    it.is_dropped.wait(false);
    it.status = cai_array_sync_host(it.array, problem);
    return CAI_OK;
  };
  ASSERT_OK(cai_stream_enqueue(reader, read, nullptr, &reading, error));
  ASSERT_OK(cai_stream_enqueue(writer, hold, nullptr, &reading, error));
  ASSERT_OK(cai_stream_enqueue(writer, fail_work, nullptr, nullptr, error));
  ASSERT_OK(cai_array_fill(x, &eight, writer, error));  // is dropped
  ASSERT_OK(cai_stream_enqueue(writer, nullptr, set, &reading.is_dropped, error));
  reading.is_held = false;
  reading.is_held.notify_all();
  ASSERT_OK(cai_stream_synchronize(reader, error));
  EXPECT_EQ(reading.status, CAI_OK);
  EXPECT_EQ(cai_array_sync_host(x, nullptr), CAI_ERR_STATE);
}

// Of which the owner was not told: the stream is known to be the memory's.
TEST(HostWork, OfAFormerFreeStreamIsWaitedFor) {
  for (const Reader &reader : readers) {
    SCOPED_TRACE(reader.name);
    Slow slow(true);
    const OwnStream next = make_stream(cpu);
    const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 64, slow);
    const OwnArray x = array_of(memory, {64});
    auto *const bytes = static_cast<unsigned char *>(handle(describe(memory).host));
    const auto write = [](void *to, cai_error *) -> cai_status {
      std::fill_n(static_cast<unsigned char *>(to), 64, seven);
      return CAI_OK;
    };
    ASSERT_OK(cai_stream_enqueue(slow, write, nullptr, bytes, error));
    ASSERT_OK(cai_memory_set_stream(memory, next, error));
    slow.let_go();
    ASSERT_OK(reader.begin(x, error));
    EXPECT_EQ(std::count(bytes, bytes + 64, seven), 64);
  }
}

TEST(HostWork, OnWhatSaysPinnedIsAtItsOwnAddress) {
  HostBytes bytes;
  Array said(reinterpret_cast<Address>(bytes.bytes), CAI_STREAM_NONE);
  said.array.device_type = CAI_DEVICE_CUDA_HOST;
  std::uint64_t host = 0;
  ASSERT_OK(cai_array_host(&said.array, &host, error));
  EXPECT_EQ(host, said.array.data);
}

// The stream's thread gives the memory back while the host looks at what is kept of it.
TEST(HostWork, EndsFreedMemoryWhileTheHostWaits) {
  const OwnStream stream = make_stream(cpu);
  for (int round = 0; round < 5000; ++round) {
    const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 64);
    const OwnArray x = array_of(memory, {64});
    std::atomic<bool> is_held{true};
    const auto hold = [](void *held, cai_error *) -> cai_status {
      while (*static_cast<std::atomic<bool> *>(held)) std::this_thread::yield();
      return CAI_OK;
    };
    ASSERT_OK(cai_stream_enqueue(stream, hold, nullptr, &is_held, error));
    ASSERT_OK(cai_array_fill(x, &seven, stream, error));
    ASSERT_OK(cai_memory_free(memory, error));
    is_held = false;
    ASSERT_OK(cai_array_sync_host(x, error));
  }
}

// Whose owner keeps nothing here, and what nobody holds, is worked on before the call returns.
TEST(HostWork, OnArraysOfStrangersIsDone) {
  HostBytes target;
  const Owned owned = target.make();
  cai_owner foreign = *owned->owner;
  foreign.struct_size = 24;
  foreign.retain = foreign.release = [](cai_owner *) {};
  cai_array x = *owned;
  for (cai_owner *const owner : {&foreign, static_cast<cai_owner *>(nullptr)}) {
    x.owner = owner;
    const Slow slow;
    ASSERT_OK(cai_array_fill(&x, owner ? &seven : &eight, slow, error));
    EXPECT_FALSE(slow.is_pending());
    EXPECT_EQ(std::count(target.bytes, target.bytes + count, owner ? seven : eight),
              std::int64_t{count});
  }
}

TEST(HostWork, OnArraysOfStrangersFailsWithWhatIsBefore) {
  HostBytes target;
  const Owned owned = target.make();
  cai_array x = *owned;
  x.owner = nullptr;
  const Slow slow;
  ASSERT_OK(cai_stream_enqueue(slow, fail_work, nullptr, nullptr, error));
  EXPECT_FAILS(CAI_ERR_STATE, "the work has failed", cai_array_fill(&x, &seven, slow, error));
  EXPECT_FALSE(slow.is_pending());
  EXPECT_EQ(std::count(target.bytes, target.bytes + count, seven), 0);
  ASSERT_OK(cai_array_fill(&x, &seven, slow, error));  // it was returned
}

TEST(HostWork, OfTheParentIsNotWaitedForByAChild) {
  const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 64);
  const OwnArray x = array_of(memory, {64});
  const Slow slow;
  ASSERT_OK(cai_array_fill(x, &seven, slow, error));
  const pid_t child = fork();
  if (child == 0) _exit(cai_array_sync_host(x, nullptr) == CAI_ERR_STATE ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(HostWork, OfManyStreamsAndReaders) {
  const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 4096);
  const OwnArray x = array_of(memory, {4096});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const OwnStream stream = make_stream(cpu);
      const OwnMemory own = allocate(cpu, CAI_KIND_DEFAULT, 4096);
      const OwnArray mine = array_of(own, {4096});
      const auto *const bytes = static_cast<const unsigned char *>(handle(describe(own).host));
      for (int round = 0; round < 100; ++round) {
        const auto value = static_cast<unsigned char>(round);
        ASSERT_EQ(cai_array_fill(mine, &value, stream, nullptr), CAI_OK);
        ASSERT_EQ(cai_array_copy(x, mine, stream, nullptr), CAI_OK);
        ASSERT_EQ(cai_array_fill(mine, &value, stream, nullptr), CAI_OK);
        ASSERT_EQ(cai_array_sync_host(mine, nullptr), CAI_OK);
        ASSERT_EQ(std::count(bytes, bytes + 4096, value), 4096);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
}

// Recording or working while another thread frees the memory comes before that, or fails.
TEST(HostWork, OfMemoryThatIsFreedMeanwhile) {
  const OwnStream stream = make_stream(cpu);
  for (int round = 0; round < 1500; ++round) {
    const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 64);
    const OwnArray x = array_of(memory, {64});
    std::thread other([&] {
      for (int i = 0; i < 50; ++i) {
        const cai_status recorded = cai_memory_record(memory, stream, nullptr);
        const cai_status filled = cai_array_fill(x, &seven, stream, nullptr);
        const std::int64_t last = -1;
        unsigned char item = 0;
        const cai_status read = cai_array_item(x, &last, &item, nullptr);
        ASSERT_TRUE(recorded == CAI_OK || recorded == CAI_ERR_STATE) << recorded;
        ASSERT_TRUE(filled == CAI_OK || filled == CAI_ERR_STATE) << filled;
        ASSERT_TRUE(read == CAI_OK || read == CAI_ERR_STATE) << read;
      }
    });
    if (round % 2) std::this_thread::yield();
    ASSERT_OK(cai_memory_free(memory, error));
    other.join();
    EXPECT_FAILS(CAI_ERR_STATE, "freed", cai_memory_record(memory, stream, error));
  }
  ASSERT_OK(cai_stream_synchronize(stream, error));
}

}  // namespace
}  // namespace test::host_work_tests
