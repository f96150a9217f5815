// SPDX-License-Identifier: BSD-3-Clause
// What a function on a GPU stream releases, as a garbage collection within it does: the driver may
// not be called there, so it is ended by a later call.
#include <cstdlib>
#include <functional>
#include <list>

#include "failing.hpp"
#include "kept.hpp"
#include "memories.hpp"
#include "owned.hpp"

namespace test::host_functions_tests {
namespace {

class HostFunctions : public Memories {
 protected:
  // `release` within a function on a GPU stream calls no function of the driver, and all is ended
  // once later calls have come.
  void expect_ended_later(const std::function<std::function<void()>()> &make) {
    std::set<std::string> left;
    for (int round = 0; round < 4; ++round) {  // the first ones make what libcai keeps
      const Kept before = Kept::now();
      release_in_function(make());
      settle();
      left = Kept::now().since(before);
    }
    EXPECT_EQ(left, std::set<std::string>());
    EXPECT_EQ(failures_, 0);
  }

  static void release_in_function(std::function<void()> release) {
    Function function{std::move(release)};
    const OwnStream stream = make_stream(gpu0);
    ASSERT_OK(cai_stream_enqueue(stream, Function::run, nullptr, &function, error));
    ASSERT_OK(cai_stream_synchronize(stream, error));
    // Under other schedules the function runs beside the calls of this thread.
    if (!std::getenv("SIMCUDA_SCHEDULE")) {
      EXPECT_EQ(function.calls, 0U);
    }
  }

  int failures_ = 0;

 private:
  struct Function {
    std::function<void()> release;
    std::uint64_t calls = ~0ULL;

    static cai_status run(void *self, cai_error *) {
      auto &mine = *static_cast<Function *>(self);
      const std::uint64_t before = gpu().simcuda_calls(nullptr);
      std::exchange(mine.release, nullptr)();
      mine.calls = gpu().simcuda_calls(nullptr) - before;
      return CAI_OK;
    }
  };

  void SetUp() override { EXPECT_EQ(cai_on_failure(count, &failures_, nullptr), CAI_OK); }
  void TearDown() override { EXPECT_EQ(cai_on_failure(nullptr, nullptr, nullptr), CAI_OK); }
  static void count(void *failures, const cai_error *) { ++*static_cast<int *>(failures); }
};

template <class Handle>
std::function<void()> releases(Handle handle) {
  auto kept = std::make_shared<Handle>(std::move(handle));
  return [kept] { kept->reset(); };
}

TEST_F(HostFunctions, EndMemoryLater) {
  for (std::uint32_t kind = CAI_KIND_DEFAULT; kind <= CAI_KIND_HOST; ++kind) {
    if (kind == CAI_KIND_PITCHED || kind == CAI_KIND_PITCHED_MANAGED || kind == CAI_KIND_CUDA_ARRAY)
      continue;  // of a shape
    SCOPED_TRACE(kind);
    expect_ended_later([=] { return releases(allocate(gpu0, kind, 256)); });
    expect_ended_later([=] {
      const OwnMemory memory = allocate(gpu0, kind, 256);
      OwnArray array = array_of(memory, {256});
      const std::uint8_t seven = 7;
      EXPECT_EQ(cai_array_fill(array, &seven, nullptr, nullptr), CAI_OK);
      return releases(std::move(array));
    });
  }
}

TEST_F(HostFunctions, EndStreamsEventsAndManagersLater) {
  expect_ended_later([] { return releases(make_stream(gpu0)); });
  expect_ended_later([] {
    cai_event *event = nullptr;
    EXPECT_EQ(cai_event_create(gpu0, 0, &event, nullptr), CAI_OK);
    return releases(Handed<cai_event, cai_event_release>(event));
  });
  expect_ended_later([] {
    cai_manager *manager = nullptr;
    EXPECT_EQ(cai_manager_create("pool", nullptr, gpu0, nullptr, &manager, nullptr), CAI_OK);
    return releases(Handed<cai_manager, cai_manager_release>(manager));
  });
}

// Without memory to note it: it never ends, and the program is told.
TEST_F(HostFunctions, SayWhatTheyCannotEndLater) {
  std::list<Handed<cai_event, cai_event_release>> events;
  while (events.size() < 1000) {
    cai_event *made = nullptr;
    ASSERT_OK(cai_event_create(gpu0, 0, &made, error));
    events.emplace_back(made);
  }
  release_in_function([&] { with_failing_new(0, [&] { events.clear(); }); });
  EXPECT_EQ(failures_, 1);
}

// Their owners may call the driver.
TEST_F(HostFunctions, CallOwnersLater) {
  static int ended = 0;
  expect_ended_later([] {
    const Primary gpu_context(0);
    const With with(gpu_context.context);
    Handle raw = nullptr;
    MUST(gpu().cuStreamCreate(&raw, 1));
    const auto destroy = [](void *context) {
      ++ended;
      EXPECT_EQ(gpu().cuStreamDestroy_v2(context), 0);
    };
    cai_stream *wrapped = nullptr;
    EXPECT_EQ(cai_stream_wrap(gpu0, value(raw), destroy, raw, &wrapped, nullptr), CAI_OK);
    return releases(OwnStream(wrapped));
  });
  EXPECT_EQ(std::exchange(ended, 0), 4);
  expect_ended_later([] {
    static unsigned char bytes[64];
    cai_memory_info info{};
    info.struct_size = sizeof info;
    info.device = cpu;
    info.kind = CAI_KIND_HOST;
    info.data = info.host = value(bytes);
    info.size = sizeof bytes;
    const auto end = [](void *) {
      ++ended;
      EXPECT_EQ(gpu().cuCtxSynchronize(), 201);  // no context, and no host function
    };
    cai_memory *made = nullptr;
    EXPECT_EQ(cai_memory_wrap(&info, end, nullptr, &made, nullptr), CAI_OK);
    return releases(OwnMemory(made));
  });
  EXPECT_EQ(std::exchange(ended, 0), 4);
}

// Memory of the host on which a GPU's stream has work.
TEST_F(HostFunctions, EndUsedMemoryOfTheHostLater) {
  const OwnStream user = make_stream(gpu0);
  expect_ended_later([&] {
    OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 256);
    EXPECT_EQ(cai_memory_record(memory, user, nullptr), CAI_OK);
    return releases(std::move(memory));
  });
}

// The end of a view asks the driver about the stream that a dict has told.
TEST_F(HostFunctions, EndPublishedViewsLater) {
  const OwnStream own = make_stream(gpu0), target = make_stream(gpu0);
  for (const bool is_told : {false, true}) {
    SCOPED_TRACE(is_told);
    expect_ended_later([&] {
      const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, 256, own);
      const OwnArray array = array_of(memory, {256});
      cai_array *view = nullptr;
      EXPECT_EQ(cai_array_publish(array, nullptr, 0, cai_stream_value(target), &view, nullptr),
                CAI_OK);
      std::vector<std::uint64_t> storage(cai_interface_write_storage(view));
      cai_interface dict{};
      dict.struct_size = sizeof dict;
      if (is_told) {
        EXPECT_EQ(cai_interface_write(view, 3, storage.data(), storage.size() * 8, &dict, nullptr),
                  CAI_OK);
      }
      return releases(OwnArray(view));
    });
  }
}

// Nothing is flushed there, nor tried again.
TEST_F(HostFunctions, DoNotFlush) {
  expect_ended_later([] {
    auto streams = std::make_shared<std::vector<OwnStream>>();
    for (int i = 0; i < 30; ++i) streams->push_back(make_stream(gpu0));  // more than are kept
    auto memory = std::make_shared<OwnMemory>(allocate(gpu0, CAI_KIND_DEFAULT, 256));
    return [=] {
      memory->reset();
      streams->clear();
      EXPECT_EQ(cai_drain(0, nullptr, nullptr), CAI_OK);
    };
  });
}

TEST_F(HostFunctions, EndProducersLater) {
  for (const std::uint32_t flags : {0U, std::uint32_t{CAI_OWNER_STREAM_ORDERED}}) {
    SCOPED_TRACE(flags);
    const OwnStream user = make_stream(gpu0);
    const std::uint64_t stream = cai_stream_value(user);
    std::list<Producer> producers;
    expect_ended_later([&] {
      Producer &producer = producers.emplace_back(flags);
      if (flags) producer.owner()->freed_on = stream;
      EXPECT_EQ(cai_owner_used_on(producer.owner(), stream, CAI_ACCESS_WRITE, nullptr), CAI_OK);
      return [&] {
        producer.release();
        EXPECT_FALSE(flags && producer.ended());
      };
    });
  }
}

// An exporter's memory is freed on the stream that was said.
TEST_F(HostFunctions, EndImportsLater) {
  const OwnStream own = make_stream(gpu0), user = make_stream(gpu0);
  const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, 256);
  static int ended = 0;
  const auto import_one = [&](bool has_mask_alone) {
    Array said(describe(memory).data, CAI_STREAM_STREAM, cai_stream_value(own));
    Array mask(describe(memory).data, CAI_STREAM_STREAM, cai_stream_value(own));
    mask.shape[0] = 1;
    if (has_mask_alone) {
      said.empty().array.mask = &mask.array;
      said.array.flags |= CAI_FLAG_MASKED;
    }
    cai_array *import = nullptr;
    const auto end = [](void *times) { ++*static_cast<int *>(times); };
    EXPECT_EQ(cai_array_own(&said.array, end, &ended, &import, nullptr), CAI_OK);
    import->owner->flags |= CAI_OWNER_IMPORTED;
    EXPECT_EQ(begin_use({import}, cai_stream_value(user)), CAI_OK);
    EXPECT_EQ(end_use({import}, cai_stream_value(user)), CAI_OK);
    return releases(OwnArray(import));
  };
  expect_ended_later([&] { return import_one(false); });
  expect_ended_later([&] { return import_one(true); });
  EXPECT_EQ(ended, 8);
}

}  // namespace
}  // namespace test::host_functions_tests
