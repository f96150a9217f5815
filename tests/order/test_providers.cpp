// SPDX-License-Identifier: BSD-3-Clause
// Arrays whose stream nobody stated, and who is asked about them. Providers stay for the life of
// the process, so they are registered in the order of the tests here.
#include <functional>
#include <optional>
#include <thread>

#include "owned.hpp"

namespace test::providers_tests {
namespace {

std::function<std::int32_t(const cai_array *, std::uint64_t *)> first, second;

void provide(std::function<std::int32_t(const cai_array *, std::uint64_t *)> &which) {
  const cai_stream_provider provider{
      sizeof provider, 0,
      [](void *context, const cai_array *array, std::uint64_t *out) {
        const auto &function =
            *static_cast<std::function<std::int32_t(const cai_array *, std::uint64_t *)> *>(
                context);
        return function ? function(array, out) : 0;
      },
      &which};
  cai_error error{};
  ASSERT_EQ(cai_provide_streams(&provider, &error), CAI_OK) << error.message;
}

class Providers : public OnGpu {
 protected:
  static void SetUpTestSuite() {
    provide(first);
    provide(second);
  }
  ~Providers() override { first = second = nullptr; }
};

// So does a dict, for a consumer that knows no provider.
TEST_F(Providers, ADictSaysWhatTheySay) {
  const std::uint64_t own = value(stream(non_blocking));
  first = [&](const cai_array *, std::uint64_t *out) {
    *out = own;
    return 1;
  };
  for (const std::uint32_t flags : {std::uint32_t{0}, std::uint32_t{CAI_OWNER_IMPORTED}}) {
    EXPECT_EQ(races([&] {
                const Address data = memory();
                Owned array(data, CAI_STREAM_UNSTATED, 0, [&] { fill(data, 3, own); });
                array->owner->flags |= flags;
                fill(data, 1, own);
                std::vector<unsigned char> storage(cai_interface_write_storage(array));
                cai_interface dict{};
                dict.struct_size = sizeof dict;
                cai_error error{};
                EXPECT_EQ(
                    cai_interface_write(array, 3, storage.data(), storage.size(), &dict, &error),
                    CAI_OK)
                    << error.message;
                EXPECT_EQ(dict.stream.integer, own);
                fill(data, 2, own);
                array.release();
                EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
              }),
              0U);
  }
}

TEST_F(Providers, AreAskedInTheirOrder) {
  const std::uint64_t of_first = value(stream());
  const std::uint64_t of_second = value(stream());
  const std::uint64_t consumer = value(stream());
  Array mine(memory(), CAI_STREAM_UNSTATED);
  Array theirs(memory(), CAI_STREAM_UNSTATED);
  Array nobodys(memory(), CAI_STREAM_UNSTATED);
  first = [&](const cai_array *array, std::uint64_t *out) {
    EXPECT_EQ(array->stream_kind, std::uint32_t{CAI_STREAM_UNSTATED});
    if (array->data != mine.array.data) return 0;
    *out = of_first;
    return 1;
  };
  second = [&](const cai_array *array, std::uint64_t *out) {
    EXPECT_NE(array->data, mine.array.data);
    if (array->data != theirs.array.data) return 0;
    *out = of_second;
    return 1;
  };
  const auto found = [](Array &array) {
    const cai_array *const one = &array.array;
    std::uint64_t out = 0;
    EXPECT_EQ(cai_arrays_same_stream(&one, 1, &out, nullptr), CAI_OK);
    return out;
  };
  EXPECT_EQ(found(mine), of_first);
  EXPECT_EQ(found(theirs), of_second);
  EXPECT_EQ(found(nobodys), 1U);
  const Address to = memory();
  EXPECT_EQ(races([&] {
              fill(theirs.array.data, 1, of_second);
              EXPECT_EQ(begin_use({&mine, &theirs, &nobodys}, consumer), CAI_OK);
              copy(to, theirs.array.data, consumer);
              EXPECT_EQ(end_use({&mine, &theirs, &nobodys}, consumer), CAI_OK);
              fill(theirs.array.data, 2, of_second);
            }),
            0U);
  EXPECT_EQ(cai_array_sync_host(&theirs.array, nullptr), CAI_OK);
}

TEST_F(Providers, AreNotAskedAboutOthers) {
  first = [](const cai_array *, std::uint64_t *) -> std::int32_t {
    ADD_FAILURE() << "asked";
    return 0;
  };
  const std::uint64_t consumer = value(stream());
  Array stated(memory(), CAI_STREAM_NONE);
  Array of_stream(memory(), CAI_STREAM_STREAM, value(stream()));
  Array empty(0, CAI_STREAM_UNSTATED);
  empty.empty();
  EXPECT_EQ(begin_use({&stated, &of_stream, &empty}, consumer), CAI_OK);
  EXPECT_EQ(end_use({&stated, &of_stream, &empty}, consumer), CAI_OK);
  const cai_use_options none = order(CAI_ORDER_NONE);
  Array unstated(memory(), CAI_STREAM_UNSTATED);
  EXPECT_EQ(begin_use({&unstated}, consumer, nullptr, &none), CAI_OK);
  EXPECT_EQ(end_use({&unstated}, consumer, nullptr, &none), CAI_OK);
}

TEST_F(Providers, SayingNoStreamAreRefused) {
  first = [](const cai_array *, std::uint64_t *out) {
    *out = 0;
    return 1;
  };
  Array good(memory(), CAI_STREAM_STREAM, value(stream()));
  Array array(memory(), CAI_STREAM_UNSTATED);
  cai_error error{};
  EXPECT_EQ(begin_use({&good, &array}, value(stream()), &error), CAI_ERR_ORDER);
  EXPECT_NE(std::string(error.message).find("provider"), std::string::npos) << error.message;
  EXPECT_EQ(error.index, 1);
}

TEST_F(Providers, OfALaterHeaderAreRefused) {
  const cai_stream_provider later{
      sizeof later, 1, [](void *, const cai_array *, std::uint64_t *) { return std::int32_t{0}; },
      nullptr};
  cai_error error{};
  EXPECT_EQ(cai_provide_streams(&later, &error), CAI_ERR_ARGUMENT);
  EXPECT_NE(std::string(error.message).find("reserved"), std::string::npos) << error.message;
}

// As another thread may, at any moment of a publication: such a use is kept, or comes before.
TEST_F(Providers, MayUseTheArray) {
  const std::uint64_t own = value(stream()), target = value(stream()), other = value(stream());
  enum Way { by_stream, with_its_own, by_event };
  for (const Way way : {by_stream, with_its_own, by_event}) {
    for (const std::uint64_t user : {own, other}) {
      for (int at = 1; at <= 10; ++at) {
        SCOPED_TRACE(std::to_string(way) + ", " + std::to_string(at) +
                     (user == own ? ", on the array's stream" : ""));
        const Address data = memory();
        EXPECT_EQ(races([&] {
                    Owned array(data, CAI_STREAM_UNSTATED, 0, [&] { fill(data, 3, other); });
                    int asked = 0;
                    first = [&](const cai_array *, std::uint64_t *out) {
                      *out = own;
                      if (++asked != at) return 1;
                      EXPECT_EQ(begin_use({array}, user), CAI_OK);
                      fill(data, 1, user);
                      EXPECT_EQ(end_use({array}, user), CAI_OK);
                      return 1;
                    };
                    {
                      const Published view = way == by_event       ? Published::event(array, own)
                                             : way == with_its_own ? Published(array, target, {own})
                                                                   : Published(array, target);
                      EXPECT_EQ(begin_use({view}, target), CAI_OK);
                      fill(data, 2, target);
                      EXPECT_EQ(end_use({view}, target), CAI_OK);
                    }
                    array.release();
                    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
                  }),
                  0U);
      }
    }
  }
}

// Whichever call asks them: one who withdraws a stream waits for those who may be about to use it.
TEST_F(Providers, MayReleaseAViewThatWasTold) {
  const std::uint64_t own = value(stream()), told = value(stream()), target = value(stream());
  for (int at = 1; at <= 12; ++at) {
    SCOPED_TRACE(at);
    const Owned array(memory(), CAI_STREAM_UNSTATED);
    int asked = 0;
    std::optional<Published> view;
    first = [&](const cai_array *, std::uint64_t *out) {
      *out = own;
      if (++asked == at) view.reset();
      return 1;
    };
    view.emplace(array, told);
    std::vector<unsigned char> storage(cai_interface_write_storage(*view));
    cai_interface dict{};
    dict.struct_size = sizeof dict;
    cai_error error{};
    ASSERT_EQ(cai_interface_write(*view, 3, storage.data(), storage.size(), &dict, &error), CAI_OK)
        << error.message;
    asked = 0;
    const Published another(array, target);
    EXPECT_EQ(begin_use({array}, target), CAI_OK);
    EXPECT_EQ(end_use({array}, target), CAI_OK);
    EXPECT_EQ(cai_array_reclaim(array, own, CAI_ACCESS_WRITE, &error), CAI_OK) << error.message;
    const Published of_event = Published::event(array, target);
    EXPECT_EQ(cai_array_sync_host(array, &error), CAI_OK) << error.message;
    first = [&](const cai_array *, std::uint64_t *out) {
      *out = own;
      return 1;
    };
  }
}

// A 2 is that of the first thread that is told it: on another one it would be another stream.
TEST_F(Providers, SayTheirOwnThreadsStream) {
  const Owned array(memory(), CAI_STREAM_UNSTATED);
  first = [](const cai_array *, std::uint64_t *out) {
    *out = 2;
    return 1;
  };
  const std::uint64_t consumer = value(stream());
  EXPECT_EQ(races([&] {
              fill(array->data, 1, 2);
              EXPECT_EQ(begin_use({array}, consumer), CAI_OK);
              fill(array->data, 2, consumer);
              EXPECT_EQ(end_use({array}, consumer), CAI_OK);
              std::thread([&] {
                const With with(context0);
                const cai_array *const one = array;
                cai_use use;
                cai_error error{};
                EXPECT_EQ(cai_use_begin(&use, &one, 1, consumer, nullptr, &error), CAI_ERR_ORDER);
                EXPECT_EQ(error.index, 0);
              }).join();
              fill(array->data, 3, 2);
            }),
            0U);
}

}  // namespace
}  // namespace test::providers_tests
