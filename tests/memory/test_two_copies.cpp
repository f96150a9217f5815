// SPDX-License-Identifier: BSD-3-Clause
// Two copies of libcai in a process: what one has pending on memory, the other waits for.
#include <unistd.h>

#include <functional>

#include "memories.hpp"
#include "owned.hpp"
#include "second_copy.h"

namespace test::two_copies_tests {
namespace {

template <class Function>
Function *find_in_second(const char *name) {
  static void *const copy = load_second_copy();
  void *const found = dlsym(copy, name);
  MUST_HOLD(found);
  return reinterpret_cast<Function *>(found);
}

// A function of the first copy, or of the other one.
#define OF(copy, function) ((copy) ? find_in_second<decltype(function)>(#function) : &(function))

class TwoCopies : public Memories {
 protected:
  ~TwoCopies() override {
    std::int64_t left = -1;
    EXPECT_EQ(OF(1, cai_drain)(1, &left, nullptr), CAI_OK);
    EXPECT_EQ(left, 0);
  }

  OwnArray new_array(int copy, cai_device device, cai_stream *stream) {
    const std::int64_t extent = 64;
    const cai_dtype type{'i', '<', 0, 0, 4, 0};
    const cai_array like = like_of(type, 1, &extent);
    cai_request request{};
    request.struct_size = sizeof request;
    request.kind = CAI_KIND_DEFAULT;
    request.stream = stream;
    cai_array *made = nullptr;
    EXPECT_EQ(OF(copy, cai_array_empty_like)(&like, device, &request, &made, nullptr), CAI_OK);
    return OwnArray(made);
  }
  cai_stream *new_stream(int copy, cai_device device) {
    cai_stream *made = nullptr;
    EXPECT_EQ(OF(copy, cai_stream_create)(device, CAI_MODE_ASYNC, 0, &made, nullptr), CAI_OK);
    return made;
  }
};

TEST_F(TwoCopies, AreTwo) {
  EXPECT_NE(OF(1, cai_version), OF(0, cai_version));
}

// A CPU stream of one copy has work pending on the host's memory.
TEST_F(TwoCopies, TheOtherWaitsForWorkOfCpuStreams) {
  using Reads = std::function<cai_status(const cai_array *, int *)>;
  const auto first_of = [](const cai_array *array) {
    return *reinterpret_cast<const int *>(static_cast<std::uintptr_t>(array->data));
  };
  const Reads reads[] = {
      [&](const cai_array *array, int *found) {
        const cai_status status = OF(1, cai_array_sync_host)(array, nullptr);
        return *found = first_of(array), status;
      },
      [&](const cai_array *array, int *found) {
        const std::int64_t at = 0;
        return OF(1, cai_array_item)(array, &at, found, nullptr);
      },
      [&](const cai_array *array, int *found) {
        const OwnArray to = new_array(1, cpu, nullptr);
        const cai_status status = OF(1, cai_array_copy)(array, to.get(), nullptr, nullptr);
        return *found = first_of(to.get()), status;
      },
      [&](const cai_array *array, int *found) {
        const cai_use_options options{sizeof options, CAI_ORDER_HOST, CAI_ACCESS_READ, 0, nullptr};
        cai_use use;
        cai_status status = OF(1, cai_use_begin)(&use, &array, 1, 1, &options, nullptr);
        *found = first_of(array);
        return status ? status : OF(1, cai_use_end)(&use, nullptr);
      },
      [&](const cai_array *array, int *found) {
        alignas(8) unsigned char storage[4096];
        cai_interface out{};
        out.struct_size = sizeof out;
        const cai_status status =
            OF(1, cai_interface_write)(array, 3, storage, sizeof storage, &out, nullptr);
        return *found = first_of(array), status;
      },
  };
  for (const Reads &read : reads) {
    cai_stream *const stream = new_stream(0, cpu);
    const OwnArray array = new_array(0, cpu, stream);
    const int zero = 0, seven = 7;
    ASSERT_OK(cai_array_fill(array.get(), &zero, stream, error));
    ASSERT_OK(cai_stream_enqueue(
        stream,
        [](void *, cai_error *) {
          usleep(5000);
          return cai_status{CAI_OK};
        },
        nullptr, nullptr, error));
    ASSERT_OK(cai_array_fill(array.get(), &seven, stream, error));
    int found = -1;
    EXPECT_EQ(read(array.get(), &found), CAI_OK);
    EXPECT_EQ(found, 7) << &read - reads;
    cai_stream_release(stream);
  }
}

// One copy publishes a view of the other's array: uses of both come after each other.
TEST_F(TwoCopies, UsesOfAPublishedViewAreKept) {
  for (unsigned who = 0; who < 64; ++who) {
    const int publishes = who & 1, first = who >> 1 & 1, second = who >> 2 & 1;
    const bool begins_with_view = who & 8, by_event = who & 16, works_before = who & 32;
    SCOPED_TRACE(who);
    cai_stream *const own = new_stream(0, gpu0), *const target = new_stream(publishes, gpu0);
    cai_stream *const one = new_stream(first, gpu0), *const two = new_stream(second, gpu0);
    OwnArray array = new_array(0, gpu0, own);
    const int value = 1;
    if (works_before) ASSERT_OK(OF(second, cai_array_fill)(array.get(), &value, two, error));
    cai_array *made = nullptr;
    const std::uint64_t said = cai_stream_value(target);
    if (by_event) {
      const std::uint64_t on = cai_stream_value(own);
      ASSERT_OK(OF(publishes, cai_array_publish_event)(array.get(), on, &made, error));
    } else {
      ASSERT_OK(OF(publishes, cai_array_publish)(array.get(), nullptr, 0, said, &made, error));
    }
    OwnArray view(made);
    const cai_array *const at_first = begins_with_view ? view.get() : array.get();
    const cai_array *const then = begins_with_view ? array.get() : view.get();
    ASSERT_OK(OF(first, cai_array_fill)(at_first, &value, one, error));
    ASSERT_OK(OF(second, cai_array_fill)(then, &value, two, error));
    ASSERT_OK(cai_array_sync_host(array.get(), error));
    EXPECT_EQ(gpu().simcuda_races(), races_);
    view.reset();
    array.reset();
    cai_stream_release(own);
    OF(publishes, cai_stream_release)(target);
    OF(first, cai_stream_release)(one);
    OF(second, cai_stream_release)(two);
  }
}

#undef OF

}  // namespace
}  // namespace test::two_copies_tests
