// SPDX-License-Identifier: BSD-3-Clause
// Producers that keep uses by functions of their own: told what libcai's own are told, and trusted
// with the waiting.
#include <deque>

#include "capturing.hpp"

namespace test::keepers_tests {
namespace {

// Keeps its uses in an owner of libcai's, whose functions it calls as any client may.
class Keeper {
 public:
  struct Told {
    std::uint64_t stream;
    std::uint32_t access;
    bool operator==(const Told &) const = default;
  };

  Keeper() {
    owner.struct_size = sizeof(cai_owner);
    owner.retain = [](cai_owner *) {};
    owner.release = [](cai_owner *) {};
    owner.used_on = [](cai_owner *self, std::uint64_t stream, std::uint32_t access,
                       cai_error *error) {
      Keeper &keeper = of(self);
      keeper.used.push_back({stream, access});
      if (keeper.fails != CAI_OK) return keeper.fail(error);
      return cai_owner_used_on(keeper.behind_.owner(), stream, access, error);
    };
    owner.await_uses = [](cai_owner *self, std::uint64_t stream, std::uint32_t access,
                          cai_error *error) {
      Keeper &keeper = of(self);
      keeper.awaited.push_back({stream, access});
      if (keeper.fails != CAI_OK) return keeper.fail(error);
      return cai_owner_await_uses(keeper.behind_.owner(), stream, access, error);
    };
    owner.uses = this;
  }
  Keeper(const Keeper &) = delete;
  Keeper &operator=(const Keeper &) = delete;
  ~Keeper() = default;

  cai_owner owner{};
  std::vector<Told> used, awaited;
  cai_status fails = CAI_OK;
  bool writes_error = true;

 private:
  static Keeper &of(cai_owner *self) { return *static_cast<Keeper *>(self->uses); }
  cai_status fail(cai_error *error) const {
    if (writes_error && error) {
      *error = {};
      error->status = fails;
      error->index = 7;  // which says nothing of the caller's arrays
      std::strcpy(error->message, "the keeper's own words");
    }
    return fails;
  }

  Producer behind_;
};

class Keepers : public Capturing {
 protected:
  using Told = std::vector<Keeper::Told>;

  Array &of(Keeper &keeper, Array &array) {
    array.array.owner = &keeper.owner;
    return array;
  }
};

TEST_F(Keepers, KeepUses) {
  Keeper keeper;
  Array array(memory(), CAI_STREAM_NONE);
  of(keeper, array);
  const Address to = memory();
  const std::uint64_t a = value(stream());
  const std::uint64_t b = value(stream());
  const cai_use_options reading = access(CAI_ACCESS_READ);
  EXPECT_EQ(races([&] {
              EXPECT_EQ(begin_use({&array}, a), CAI_OK);
              fill(array.array.data, 1, a);
              EXPECT_EQ(end_use({&array}, a), CAI_OK);
              EXPECT_EQ(begin_use({&array}, b, nullptr, &reading), CAI_OK);
              copy(to, array.array.data, b);
              EXPECT_EQ(end_use({&array}, b, nullptr, &reading), CAI_OK);
              EXPECT_EQ(cai_array_reclaim(&array.array, 1, CAI_ACCESS_WRITE, nullptr), CAI_OK);
              fill(array.array.data, 2, 1);
            }),
            0U);
  EXPECT_EQ(keeper.used, (Told{{a, CAI_ACCESS_WRITE}, {b, CAI_ACCESS_READ}}));
  EXPECT_EQ(keeper.awaited,
            (Told{{a, CAI_ACCESS_WRITE}, {b, CAI_ACCESS_READ}, {1, CAI_ACCESS_WRITE}}));
  keeper.awaited.clear();
  EXPECT_EQ(cai_array_sync_host(&array.array, nullptr), CAI_OK);
  EXPECT_EQ(keeper.awaited, (Told{{0, CAI_ACCESS_WRITE}}));
}

// One owner of two arrays: if one is written, that decides.
TEST_F(Keepers, AreAskedOnceForAllTheirArrays) {
  Keeper keeper;
  Array marked(memory(), CAI_STREAM_NONE);
  Array plain(memory(), CAI_STREAM_NONE);
  marked.array.flags |= CAI_FLAG_READONLY;
  of(keeper, marked);
  of(keeper, plain);
  const std::uint64_t consumer = value(stream());
  EXPECT_EQ(begin_use({&marked, &plain}, consumer), CAI_OK);
  EXPECT_EQ(keeper.awaited, (Told{{consumer, CAI_ACCESS_WRITE}}));
}

// They alone know which streams their arrays come with.
TEST_F(Keepers, AreToldOfAllUses) {
  const std::uint64_t consumer = value(stream());
  Keeper ordered;
  ordered.owner.flags = CAI_OWNER_STREAM_ORDERED;
  Keeper plain;
  Keeper same;
  Keeper same_default;
  Array of_ordered(memory(), CAI_STREAM_STREAM, value(stream()));
  Array of_plain(memory(), CAI_STREAM_STREAM, value(stream()));
  Array of_same(memory(), CAI_STREAM_STREAM, consumer);
  Array of_default(memory(), CAI_STREAM_STREAM, 1);
  of(ordered, of_ordered);
  of(plain, of_plain);
  of(same, of_same);
  of(same_default, of_default);
  EXPECT_EQ(end_use({&of_ordered, &of_plain, &of_same}, consumer), CAI_OK);
  EXPECT_EQ(end_use({&of_default}, 1), CAI_OK);
  for (const Keeper *keeper : {&ordered, &plain, &same}) {
    EXPECT_EQ(keeper->used, (Told{{consumer, CAI_ACCESS_WRITE}}));
  }
  EXPECT_EQ(same_default.used, (Told{{1, CAI_ACCESS_WRITE}}));
}

// Later uses in the capture learn of this one only from the owner, however it was released.
TEST_F(Keepers, AreToldInACapture) {
  enum Way { ended, released, abandoned, published, ways };
  static auto *const keepers = new std::deque<Keeper>;  // which graphs release later
  for (int way = ended; way < ways; ++way) {
    Keeper &keeper = keepers->emplace_back();
    Array array(memory(), CAI_STREAM_NONE);
    of(keeper, array);
    const std::uint64_t first = value(stream());
    const std::uint64_t second = value(stream());
    const std::uint64_t target = value(stream());
    EXPECT_EQ(races([&] {
                begin_capture(first, global);
                fork(first, second);
                fork(first, target);
                cai_use use;
                const cai_array *const one = &array.array;
                ASSERT_EQ(cai_use_begin(&use, &one, 1, first, nullptr, nullptr), CAI_OK);
                fill(array.array.data, 1, first);
                if (way == abandoned) {
                  cai_use_abandon(&use);
                } else if (way == ended) {
                  EXPECT_EQ(cai_use_end(&use, nullptr), CAI_OK);
                } else {
                  EXPECT_EQ(cai_use_finish(&use, 0, nullptr), CAI_OK);
                }
                if (way == released) {
                  EXPECT_EQ(cai_array_release_on(one, first, nullptr), CAI_OK);
                }
                if (way == published) static_cast<void>(Published(one, target, {first}));
                EXPECT_EQ(keeper.used, (Told{{way == published ? target : first,
                                              CAI_ACCESS_WRITE | CAI_ACCESS_CAPTURED}}));
                EXPECT_EQ(begin_use({&array}, second), CAI_OK);
                fill(array.array.data, 2, second);
                EXPECT_EQ(end_use({&array}, second), CAI_OK);
                EXPECT_EQ(cai_array_reclaim(one, target, CAI_ACCESS_WRITE, nullptr), CAI_OK);
                fill(array.array.data, 3, target);
                fork(second, first);
                fork(target, first);
                launch(first);
              }),
              0U)
        << way;
    EXPECT_EQ(read(array.array.data), 3) << way;
  }
}

// They are told nothing of what was pending before, and could tell no one outside.
TEST_F(Keepers, OfAStreamInACaptureArePublishedOnThatAlone) {
  Keeper keeper;
  const std::uint64_t own = value(stream());
  const std::uint64_t target = value(stream());
  Array array(memory(), CAI_STREAM_STREAM, own);
  of(keeper, array);
  begin_capture(own, global);
  fork(own, target);
  cai_array *view = nullptr;
  cai_error error{};
  EXPECT_EQ(cai_array_publish(&array.array, nullptr, 0, target, &view, &error), CAI_ERR_CAPTURE);
  EXPECT_NE(std::string(error.message).find("by itself"), std::string::npos) << error.message;
  ASSERT_EQ(cai_array_publish(&array.array, nullptr, 0, own, &view, &error), CAI_OK)
      << error.message;
  cai_array_release(view);
  fork(target, own);
  end_capture(own);
}

// The first failure is returned, and all the others are still ordered.
TEST_F(Keepers, MayFail) {
  for (const bool writes_error : {true, false}) {
    Keeper bad;
    Keeper good;
    bad.fails = CAI_ERR_UNSUPPORTED;
    bad.writes_error = writes_error;
    Array of_bad(memory(), CAI_STREAM_NONE);
    Array of_good(memory(), CAI_STREAM_NONE);
    Array of_stream(memory(), CAI_STREAM_STREAM, value(stream()));
    of(bad, of_bad);
    of(good, of_good);
    const std::uint64_t consumer = value(stream());
    cai_error error{};
    const auto expect_error = [&](cai_status status, std::int32_t index) {
      EXPECT_EQ(status, CAI_ERR_UNSUPPORTED);
      EXPECT_EQ(error.status, CAI_ERR_UNSUPPORTED);
      EXPECT_EQ(error.index, index);
      EXPECT_NE(std::string(error.message).find(writes_error ? "own words" : "CAI_ERR_UNSUPPORTED"),
                std::string::npos)
          << error.message;
      error = {};
    };
    gpu().simcuda_reset_counts();
    expect_error(end_use({&of_stream, &of_bad, &of_good}, consumer, &error), 1);
    EXPECT_EQ(calls("cuStreamWaitEvent"), 1U);
    EXPECT_EQ(good.used.size(), 1U);
    expect_error(begin_use({&of_good, &of_bad}, consumer, &error), 1);
    expect_error(cai_array_sync_host(&of_bad.array, &error), -1);
    expect_error(cai_array_reclaim(&of_bad.array, consumer, CAI_ACCESS_READ, &error), -1);

    // A stream that cannot be ordered is no reason not to tell.
    MUST(gpu().simcuda_fail("cuStreamWaitEvent", 1, 999));
    EXPECT_EQ(end_use({&of_stream, &of_good}, consumer, &error), CAI_ERR_CUDA);
    EXPECT_EQ(error.index, 0);
    EXPECT_EQ(good.used.size(), 2U);
  }
}

// Half of the functions keep nothing: the array's stream is ordered, and they are not called.
TEST_F(Keepers, NeedBothFunctions) {
  const std::uint64_t own = value(stream());
  const std::uint64_t consumer = value(stream());
  for (const bool reclaims : {false, true}) {
    Keeper half;
    half.owner.await_uses = nullptr;
    half.owner.flags = reclaims ? CAI_OWNER_RECLAIMS : 0;
    Array array(memory(), CAI_STREAM_STREAM, own);
    of(half, array);
    gpu().simcuda_reset_counts();
    EXPECT_EQ(begin_use({&array}, consumer), CAI_OK);
    EXPECT_EQ(end_use({&array}, consumer), CAI_OK);
    EXPECT_EQ(calls("cuStreamWaitEvent"), 2U);
    gpu().simcuda_reset_counts();
    EXPECT_EQ(cai_array_release_on(&array.array, consumer, nullptr), CAI_OK);
    EXPECT_EQ(calls("cuStreamWaitEvent"), 1U);
    EXPECT_EQ(left_after_drain(1), 0);
    gpu().simcuda_reset_counts();
    EXPECT_EQ(begin_use({&array}, own), CAI_OK);
    EXPECT_EQ(end_use({&array}, own), CAI_OK);
    EXPECT_EQ(all_calls(), 0U);
    EXPECT_TRUE(half.used.empty() && half.awaited.empty());
  }
}

// They are asked what is pending before a dict names a stream; it names none if they may have uses.
TEST_F(Keepers, AreAskedForADict) {
  Keeper keeper;
  const std::uint64_t own = value(stream());
  Array streamed(memory(), CAI_STREAM_STREAM, own);
  Array none(memory(), CAI_STREAM_NONE);
  of(keeper, streamed);
  of(keeper, none);
  std::uint64_t storage[64];
  cai_interface dict{};
  dict.struct_size = sizeof dict;
  cai_error error{};
  EXPECT_EQ(cai_interface_write(&streamed.array, 3, storage, sizeof storage, &dict, &error), CAI_OK)
      << error.message;
  EXPECT_EQ(dict.stream.integer, own);
  EXPECT_EQ(keeper.awaited, (Told{{own, CAI_ACCESS_WRITE}}));
  EXPECT_EQ(cai_interface_write(&none.array, 3, storage, sizeof storage, &dict, &error),
            CAI_ERR_EXPORT);
  EXPECT_EQ(error.entry, CAI_ENTRY_STREAM);
}

// They may hold the memory for uses of their own accord, whatever holds the array.
TEST_F(Keepers, AreToldOfAReleaseOnAStream) {
  Keeper keeper;
  int released = 0;
  Array borrowed(memory(), CAI_STREAM_NONE);
  cai_array *array = nullptr;
  ASSERT_EQ(cai_array_own(
                &borrowed.array, [](void *count) { ++*static_cast<int *>(count); }, &released,
                &array, nullptr),
            CAI_OK);
  const std::uint64_t consumer = value(stream());
  array->owner->used_on = keeper.owner.used_on;
  array->owner->await_uses = keeper.owner.await_uses;
  array->owner->uses = keeper.owner.uses;
  keeper.fails = CAI_ERR_UNSUPPORTED;
  cai_error error{};
  EXPECT_EQ(cai_array_release_on(array, consumer, &error), CAI_ERR_UNSUPPORTED);
  EXPECT_NE(std::string(error.message).find("own words"), std::string::npos) << error.message;
  left_after_drain(1);
  EXPECT_EQ(released, 0);  // the holder is still the caller's
  keeper.fails = CAI_OK;
  keeper.used.clear();
  {
    const Gate gate(consumer);
    EXPECT_EQ(cai_array_release_on(array, consumer, nullptr), CAI_OK);
    EXPECT_EQ(keeper.used, (Told{{consumer, CAI_ACCESS_WRITE}}));
    left_after_drain();
    EXPECT_EQ(released, 0);
  }
  left_after_drain(1);
  EXPECT_EQ(released, 1);
}

// Consumers of the array itself learn of the stream of a copy only from the owner.
TEST_F(Keepers, AreToldOfACopyThatIsPublished) {
  Keeper keeper;
  Array array(memory(), CAI_STREAM_NONE);
  of(keeper, array);
  const std::uint64_t producer = value(stream());
  const std::uint64_t target = value(stream());
  const std::uint64_t consumer = value(stream());
  EXPECT_EQ(races([&] {
              fill(array.array.data, 1, producer);
              const Published view(&array.array, target, {producer});
              EXPECT_EQ(keeper.used, (Told{{target, CAI_ACCESS_WRITE}}));
              EXPECT_EQ(begin_use({&array}, consumer), CAI_OK);
              fill(array.array.data, 2, consumer);
              EXPECT_EQ(end_use({&array}, consumer), CAI_OK);
            }),
            0U);

  // The array's own stream is known to all, except for what it waits for.
  const std::uint64_t own = value(stream());
  Array streamed(memory(), CAI_STREAM_STREAM, own);
  of(keeper, streamed);
  keeper.used.clear();
  static_cast<void>(Published(&streamed.array, own, {producer}));
  EXPECT_EQ(keeper.used, (Told{{own, CAI_ACCESS_WRITE}}));

  keeper.fails = CAI_ERR_UNSUPPORTED;
  cai_error error{};
  cai_array *none = nullptr;
  EXPECT_EQ(cai_array_publish(&array.array, nullptr, 0, target, &none, &error),
            CAI_ERR_UNSUPPORTED);
  EXPECT_EQ(none, nullptr);
}

// What they kept by libcai's functions in an owner whose await_uses is their own, no one would find
// or free.
TEST_F(Keepers, KeepNothingOfLibcaisInAnOwnerOfTheirs) {
  const std::uint64_t consumer = value(stream());
  cai_owner owner{};
  ASSERT_EQ(cai_owner_init(&owner, [](cai_owner *) {}, [](cai_owner *) {}, nullptr), CAI_OK);
  owner.await_uses = [](cai_owner *self, std::uint64_t on, std::uint32_t access, cai_error *error) {
    return cai_owner_await_uses(self, on, access, error);
  };
  cai_error error{};
  EXPECT_EQ(cai_owner_used_on(&owner, consumer, CAI_ACCESS_READ, &error), CAI_ERR_ARGUMENT);
  EXPECT_NE(std::string(error.message).find("await_uses"), std::string::npos) << error.message;
  EXPECT_EQ(owner.await_uses(&owner, consumer, CAI_ACCESS_READ, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(owner.uses, nullptr);
  std::int64_t left = -1;
  EXPECT_EQ(cai_owner_pending(&owner, 0, &left, nullptr), CAI_OK);
  EXPECT_EQ(left, 0);
}

// A view's owner keeps nothing by itself.
TEST_F(Keepers, AreToBeNamedForAView) {
  const std::uint64_t consumer = value(stream());
  const Owned array(memory(), CAI_STREAM_NONE);
  cai_array *view = nullptr;
  cai_error error{};
  ASSERT_EQ(cai_array_slice(array, nullptr, 0, &view, &error), CAI_OK) << error.message;
  ASSERT_NE(view->owner->keeper, nullptr);
  for (const auto function : {cai_owner_used_on, cai_owner_await_uses}) {
    EXPECT_EQ(function(view->owner, consumer, CAI_ACCESS_READ, &error), CAI_ERR_ARGUMENT);
    EXPECT_NE(std::string(error.message).find("pass its keeper"), std::string::npos);
    EXPECT_EQ(function(view->owner->keeper, consumer, CAI_ACCESS_READ, &error), CAI_OK)
        << error.message;
  }
  cai_array_release(view);
}

}  // namespace
}  // namespace test::keepers_tests
