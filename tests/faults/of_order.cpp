// SPDX-License-Identifier: BSD-3-Clause
// cai.h, "Order on the GPU": memory that a producer has work pending on, and a consumer.
#include <array>
#include <optional>

#include "../exchange/tensors.hpp"
#include "../memory/slow.hpp"
#include "scenario.hpp"

namespace test::faults_of_order {
namespace {

void copy_on(Address to, Address from, std::uint64_t on) {
  MUST(gpu().cuMemcpyDtoDAsync_v2(to, from, static_cast<std::size_t>(count), handle(on)));
}

// Three streams of GPU 0, whose primary context may be current; memory that the producer writes.
struct Stage {
  OwnStream producer = make_stream(gpu0), consumer = make_stream(gpu0), other = make_stream(gpu0);
  Primary primary{0};
  OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, count, producer);
  OwnMemory target = allocate(gpu0, CAI_KIND_DEFAULT, count, consumer);
  Address data = describe(memory).data, copy = describe(target).data;
  std::uint64_t p = cai_stream_value(producer), c = cai_stream_value(consumer),
                o = cai_stream_value(other);
  std::uint64_t races = gpu().simcuda_races();

  Stage() {
    const With with(primary.context);
    MUST(gpu().cuMemsetD8Async(data, 1, count, handle(p)));
  }
  Stage(const Stage &) = delete;
  Stage &operator=(const Stage &) = delete;
  ~Stage() {
    const With with(primary.context);
    MUST(gpu().cuCtxSynchronize());
  }

  void write(std::uint64_t on) const {
    const With with(primary.context);
    MUST(gpu().cuMemsetD8Async(data, 2, count, handle(on)));
  }
  void read(std::uint64_t on) const {
    const With with(primary.context);
    copy_on(copy, data, on);
  }
  void tell_races(Trial &trial) const { trial.tell("races:", gpu().simcuda_races() - races); }
};

cai_status begin_with(cai_use *use, std::initializer_list<const cai_array *> arrays,
                      std::uint64_t stream, const cai_use_options *options, cai_error *error) {
  const cai_status status =
      cai_use_begin(use, arrays.begin(), static_cast<int>(arrays.size()), stream, options, error);
  if (status != CAI_OK) {
    EXPECT_EQ(cai_use_end(use, nullptr), CAI_OK) << "it is not open";
  }
  return status;
}

void end(cai_use *use) {
  cai_error error{};
  EXPECT_EQ(cai_use_end(use, &error), CAI_OK) << error.message;
}

// A whole hand-over; the call is its beginning.
void begin_one(Trial &trial, Stage &stage, std::initializer_list<const cai_array *> arrays,
               const cai_use_options *options = nullptr) {
  cai_use use{};
  trial.call([&](cai_error *error) { return begin_with(&use, arrays, stage.c, options, error); });
  stage.read(stage.c);
  end(&use);
  stage.write(stage.p);
  stage.tell_races(trial);
}

// The array has a kept use, on the other stream.
void keep_use(Stage &stage, const cai_array *array) {
  cai_use use{};
  cai_error error{};
  EXPECT_EQ(begin_with(&use, {array}, stage.o, nullptr, &error), CAI_OK) << error.message;
  stage.write(stage.o);
  end(&use);
}

// Comes with None, so that only the owner knows of the use.
struct Kept {
  Stage stage;
  Owned owned{stage.data, CAI_STREAM_NONE};

  Kept() {
    MUST(gpu().cuStreamSynchronize(handle(stage.p)));
    keep_use(stage, owned);
  }
};

template <class Publish>
void publishing(Trial &trial, Publish &&publish) {
  Stage stage;
  {
    const Owned owned(stage.data, CAI_STREAM_STREAM, stage.p);
    keep_use(stage, owned);
    cai_array *view = nullptr;
    trial.call([&](cai_error *error) { return publish(stage, owned.get(), &view, error); }, view);
    trial.tell(view->stream_kind, view->version);
    cai_use use{};
    EXPECT_EQ(begin_with(&use, {view}, stage.c, nullptr, nullptr), CAI_OK);
    stage.read(stage.c);
    end(&use);
    cai_array_release(view);
    EXPECT_EQ(cai_array_sync_host(owned, nullptr), CAI_OK);
  }
  stage.tell_races(trial);
}

// Begins a use, which the call must end.
struct OpenUse {
  Stage stage;
  Owned owned{stage.data, CAI_STREAM_STREAM, stage.p};
  cai_use use{};

  OpenUse() {
    EXPECT_EQ(begin_with(&use, {owned}, stage.c, nullptr, nullptr), CAI_OK);
    stage.read(stage.c);
  }
};

}  // namespace

}  // namespace test::faults_of_order

namespace test {

std::vector<Scenario> order_scenarios() {
  using namespace faults_of_order;
  return {
      {"cai_use_begin", "borrowed",
       [](Trial &trial) {
         Stage stage;
         const Array array(stage.data, CAI_STREAM_STREAM, stage.p);
         begin_one(trial, stage, {&array.array});
       }},
      {"cai_use_begin", "owned, with a kept use and a mask",
       [](Trial &trial) {
         Stage stage;
         Array mask(stage.data, CAI_STREAM_STREAM, stage.o);
         mask.array.dtype = {'b', '|', 0, 0, 1, 0};
         Array array(stage.data, CAI_STREAM_STREAM, stage.p);
         array.mask(mask);
         const Owned owned(array.array);
         keep_use(stage, owned);
         begin_one(trial, stage, {owned});
       }},
      {"cai_use_begin", "legacy stream",
       [](Trial &trial) {
         Stage stage;
         const With with(stage.primary.context);
         MUST(gpu().cuStreamSynchronize(handle(stage.p)));
         stage.write(1);
         const Owned owned(stage.data, CAI_STREAM_STREAM, 1);
         cai_use use{};
         trial.call(
             [&](cai_error *error) { return begin_with(&use, {owned}, stage.c, nullptr, error); });
         stage.read(stage.c);
         end(&use);
         stage.write(1);
         stage.tell_races(trial);
       }},
      {"cai_use_begin", "unstated",
       [](Trial &trial) {
         Stage stage;
         MUST(gpu().cuStreamSynchronize(handle(stage.p)));
         const Owned owned(stage.data, CAI_STREAM_UNSTATED);
         cai_use use{};
         trial.call(
             [&](cai_error *error) { return begin_with(&use, {owned}, stage.c, nullptr, error); });
         stage.read(stage.c);
         end(&use);
         stage.tell_races(trial);
       }},
      {"cai_use_begin", "the host waits",
       [](Trial &trial) {
         Stage stage;
         const Owned owned(stage.data, CAI_STREAM_STREAM, stage.p);
         const cai_use_options how = order(CAI_ORDER_HOST);
         begin_one(trial, stage, {owned}, &how);
       }},
      {"cai_use_begin", "many arrays",
       [](Trial &trial) {
         Stage stage;
         const Owned owned(stage.data, CAI_STREAM_STREAM, stage.p);
         const Array array(stage.copy, CAI_STREAM_STREAM, stage.o);
         begin_one(trial, stage,
                   {owned, &array.array, owned, owned, owned, owned, owned, owned, owned, owned});
       }},
      {"cai_use_begin", "work of the CPU's",
       [](Trial &trial) {
         const OwnStream queue = make_stream(cpu);
         const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 64);
         const OwnArray array = array_of(memory, {64});
         const unsigned char byte = 3;
         EXPECT_EQ(cai_array_fill(array, &byte, queue, nullptr), CAI_OK);
         cai_use use{};
         trial.call([&](cai_error *error) { return begin_with(&use, {array}, 1, nullptr, error); });
         end(&use);
         trial.tell(*reinterpret_cast<unsigned char *>(describe(memory).host));
       }},
      {"cai_use_end", "",
       [](Trial &trial) {
         OpenUse open;
         trial.call([&](cai_error *error) { return cai_use_end(&open.use, error); });
         open.stage.write(open.stage.p);
         open.stage.tell_races(trial);
       }},
      {"cai_use_end", "an array that came with None, and many others",
       [](Trial &trial) {
         Stage stage;
         MUST(gpu().cuStreamSynchronize(handle(stage.p)));
         Owned owned(stage.data, CAI_STREAM_NONE);
         const Array array(stage.copy, CAI_STREAM_STREAM, stage.o);
         cai_use use{};
         EXPECT_EQ(begin_with(&use,
                              {owned, &array.array, owned, owned, owned, owned, owned, owned, owned,
                               owned},
                              stage.c, nullptr, nullptr),
                   CAI_OK);
         stage.read(stage.c);
         trial.call([&](cai_error *error) { return cai_use_end(&use, error); });
         EXPECT_EQ(begin_with(&use, {owned}, stage.o, nullptr, nullptr), CAI_OK);
         stage.write(stage.o);
         end(&use);
         stage.tell_races(trial);
       }},
      {"cai_use_finish", "the host waits",
       [](Trial &trial) {
         OpenUse open;
         trial.call([&](cai_error *error) { return cai_use_finish(&open.use, 1, error); });
         open.stage.write(open.stage.o);
         open.stage.tell_races(trial);
       }},
      {"cai_use_abandon", "",
       [](Trial &trial) {
         OpenUse open;
         trial.call([&] { cai_use_abandon(&open.use); });
         EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
         EXPECT_EQ(cai_array_reclaim(open.owned, open.stage.p, CAI_ACCESS_WRITE, nullptr), CAI_OK);
         open.stage.write(open.stage.p);
         open.stage.tell_races(trial);
       }},
      {"cai_arrays_same_stream", "",
       [](Trial &trial) {
         Stage stage;
         const Owned owned(stage.data, CAI_STREAM_STREAM, stage.p);
         keep_use(stage, owned);
         const cai_array *const arrays[] = {owned};
         std::uint64_t out = 77;
         trial.call(
             [&](cai_error *error) { return cai_arrays_same_stream(arrays, 1, &out, error); }, out);
         EXPECT_EQ(out, stage.p);
         stage.write(out);
         stage.tell_races(trial);
       }},
      {"cai_array_sync_host", "",
       [](Trial &trial) {
         Stage stage;
         const Owned owned(stage.data, CAI_STREAM_STREAM, stage.p);
         keep_use(stage, owned);
         trial.call([&](cai_error *error) { return cai_array_sync_host(owned, error); });
         stage.write(stage.c);
         stage.tell_races(trial);
       }},
      {"cai_array_reclaim", "",
       [](Trial &trial) {
         Kept kept;
         trial.call([&](cai_error *error) {
           return cai_array_reclaim(kept.owned, kept.stage.c, CAI_ACCESS_WRITE, error);
         });
         kept.stage.write(kept.stage.c);
         kept.stage.tell_races(trial);
         EXPECT_EQ(cai_owner_used_on(kept.owned->owner, kept.stage.c, CAI_ACCESS_WRITE, nullptr),
                   CAI_OK);
       }},
      {"cai_array_publish", "",
       [](Trial &trial) {
         publishing(trial, [](Stage &s, const cai_array *array, cai_array **out, cai_error *error) {
           const std::uint64_t streams[] = {s.p, s.o};
           return cai_array_publish(array, streams, 2, s.c, out, error);
         });
       }},
      {"cai_array_publish_event", "",
       [](Trial &trial) {
         publishing(trial, [](Stage &s, const cai_array *array, cai_array **out, cai_error *error) {
           return cai_array_publish_event(array, s.o, out, error);
         });
       }},
      {"cai_array_release_on", "",
       [](Trial &trial) {
         Stage stage;
         Owned owned(stage.data, CAI_STREAM_STREAM, stage.p);
         MUST(gpu().cuStreamSynchronize(handle(stage.p)));
         stage.read(stage.c);
         trial.call([&](cai_error *error) { return cai_array_release_on(owned, stage.c, error); });
         owned.gone();
         EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
         trial.tell(owned.ended());
         stage.write(stage.p);
         stage.tell_races(trial);
       }},
      {"cai_array_release", "with a kept use",
       [](Trial &trial) {
         Kept kept;
         trial.call([&] { (cai_array_release)(kept.owned.get()); });
         kept.owned.gone();
         EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
         trial.tell(kept.owned.ended());
         kept.stage.write(kept.stage.c);
         kept.stage.tell_races(trial);
       }},
      {"cai_array_release", "used in the order of its stream",
       [](Trial &trial) {
         Stage stage;
         Owned owned(stage.data, CAI_STREAM_STREAM, stage.p);
         cai_use use{};
         EXPECT_EQ(begin_with(&use, {owned}, stage.p, nullptr, nullptr), CAI_OK);
         stage.write(stage.p);
         end(&use);
         trial.call([&] { (cai_array_release)(owned.get()); });
         owned.gone();
         EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
         trial.tell(owned.ended());
       }},
      {"cai_interface_write", "the stream waits",
       [](Trial &trial) {
         Stage stage;
         const Owned owned(stage.data, CAI_STREAM_STREAM, stage.p);
         keep_use(stage, owned);
         alignas(8) std::array<unsigned char, 4096> storage;
         auto out = marked<cai_interface>();
         out.struct_size = sizeof out;
         trial.call(
             [&](cai_error *error) {
               return cai_interface_write(owned, 3, storage.data(), storage.size(), &out, error);
             },
             out);
         EXPECT_EQ(out.stream.integer, stage.p);
         stage.write(stage.p);
         stage.tell_races(trial);
       }},
      {"cai_drain", "",
       [](Trial &trial) {
         Kept kept;
         kept.owned.release();
         std::int64_t left = -1;
         trial.call([&](cai_error *error) { return cai_drain(1, &left, error); }, left);
         trial.tell(left, kept.owned.ended());
       }},
      {"cai_spare_captures", "",
       [](Trial &trial) {
         Stage stage;
         std::int32_t calls = 0, called = 0;
         const auto body = [](void *it) { ++*static_cast<std::int32_t *>(it); };
         trial.call([&] { called = cai_spare_captures(stage.c, body, &calls); });
         EXPECT_EQ(called, calls);  // what the driver does not say may be a capture
       }},
      {"cai_provide_streams", "",
       [](Trial &trial) {
         const cai_stream_provider nobody{
             sizeof nobody, 0,
             [](void *, const cai_array *, std::uint64_t *) { return std::int32_t{0}; }, nullptr};
         trial.call([&](cai_error *error) { return cai_provide_streams(&nobody, error); });
       },
       Scenario::for_ever},
      {"cai_owner_used_on", "",
       [](Trial &trial) {
         Stage stage;
         MUST(gpu().cuStreamSynchronize(handle(stage.p)));
         Producer producer;
         cai_owner *const owner = producer.owner();
         stage.write(stage.o);
         trial.call([&](cai_error *error) {
           return cai_owner_used_on(owner, stage.o, CAI_ACCESS_WRITE, error);
         });
         EXPECT_EQ(cai_owner_await_uses(owner, stage.c, CAI_ACCESS_WRITE, nullptr), CAI_OK);
         stage.write(stage.c);
         stage.tell_races(trial);
       }},
      {"cai_owner_await_uses", "",
       [](Trial &trial) {
         Kept kept;
         trial.call([&](cai_error *error) {
           return cai_owner_await_uses(kept.owned->owner, kept.stage.c, CAI_ACCESS_WRITE, error);
         });
         kept.stage.write(kept.stage.c);
         kept.stage.tell_races(trial);
         EXPECT_EQ(cai_owner_used_on(kept.owned->owner, kept.stage.c, CAI_ACCESS_WRITE, nullptr),
                   CAI_OK);
       }},
      {"cai_owner_await_uses", "the host",
       [](Trial &trial) {
         Kept kept;
         trial.call([&](cai_error *error) {
           return cai_owner_await_uses(kept.owned->owner, 0, CAI_ACCESS_WRITE, error);
         });
         kept.stage.write(kept.stage.c);
         kept.stage.tell_races(trial);
       }},
      {"cai_owner_end", "",
       [](Trial &trial) {
         Stage stage;
         MUST(gpu().cuStreamSynchronize(handle(stage.p)));
         Producer producer;
         stage.write(stage.o);
         EXPECT_EQ(cai_owner_used_on(producer.owner(), stage.o, CAI_ACCESS_WRITE, nullptr), CAI_OK);
         trial.call([&] { producer.release(); });
         EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
         trial.tell(producer.ended());
         stage.write(stage.c);
         stage.tell_races(trial);
       }},
      {"cai_owner_pending", "",
       [](Trial &trial) {
         Kept kept;
         std::int64_t left = -1;
         trial.call(
             [&](cai_error *error) {
               return cai_owner_pending(kept.owned->owner, 2, &left, error);
             },
             left);
         trial.tell(left);
         kept.stage.write(kept.stage.c);
         kept.stage.tell_races(trial);
       }},
      {"cai_array_locate", "",
       [](Trial &trial) {
         Stage stage;
         const Array array(stage.data, CAI_STREAM_NONE);
         cai_location out = marked<cai_location>();
         out.struct_size = sizeof out;
         trial.call([&](cai_error *error) { return cai_array_locate(&array.array, &out, error); },
                    out);
         trial.tell(out.flags, out.device_type, out.device_id, out.size);
         EXPECT_EQ(out.base, stage.data);
       }},
  };
}

}  // namespace test
