// SPDX-License-Identifier: BSD-3-Clause
// What CAI_TRACE=1 prints. The environment is read once: so this runs with it, and without, when
// nothing may be printed.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <regex>
#include <sstream>
#include <string_view>
#include <thread>

#include "cai/arrow.h"
#include "cai/dlpack.h"
#include "cai/memory.h"
#include "capturing.hpp"
#include "statuses.hpp"

namespace test::trace_tests {
namespace {

using Lines = std::vector<std::string>;

std::string_view setting(const char *name) {
  const char *const value = std::getenv(name);
  return value ? value : "";
}

std::string hex(std::uint64_t value) {
  std::ostringstream text;
  text << "0x" << std::hex << value;
  return text.str();
}

// An array as a line names it: which one of the call's, and its address.
std::string named(const std::string &which, const cai_array &array) {
  return which + " at " + hex(array.data);
}

template <class Body>
std::string printed(Body &&body) {
  testing::internal::CaptureStderr();
  std::forward<Body>(body)();
  return testing::internal::GetCapturedStderr();
}

// Expects that `body` prints these lines of a function's, and no others.
template <class Body>
void expect(const std::string &function, const Lines &expected, Body &&body) {
  const std::string found = printed(std::forward<Body>(body));
  std::string all;
  for (const std::string &line : expected) {
    all += "cai: " + std::to_string(gettid()) + ' ' + function + ": " + line + '\n';
  }
  EXPECT_EQ(found, setting("CAI_TRACE") == "1" ? all : "");
}

class Trace : public Capturing {
 protected:
  void expect_begin(const Lines &expected, std::initializer_list<const cai_array *> arrays,
                    std::uint64_t on, const cai_use_options *options = nullptr) {
    use_ = {};
    cai_error error{};
    expect("cai_use_begin", expected, [&] {
      EXPECT_EQ(cai_use_begin(&use_, arrays.begin(), static_cast<std::int32_t>(arrays.size()), on,
                              options, &error),
                CAI_OK)
          << error.message;
    });
  }

  void expect_end(const Lines &expected) {
    expect("cai_use_end", expected, [&] { EXPECT_EQ(cai_use_end(&use_, nullptr), CAI_OK); });
  }

  cai_use use_{};
  const std::uint64_t producer_ = value(stream());
  const std::uint64_t consumer_ = value(stream());
  const std::string p_ = hex(producer_);
  const std::string c_ = hex(consumer_);
};

// Edges there and back, and each kind of array that needs none.
TEST_F(Trace, Edges) {
  Array first(memory(), CAI_STREAM_STREAM, producer_);
  Array second(memory(), CAI_STREAM_STREAM, producer_);
  Array own(memory(), CAI_STREAM_STREAM, consumer_);
  Array none(memory(), CAI_STREAM_NONE);
  Array empty(0, CAI_STREAM_STREAM, producer_);
  empty.shape[0] = 0;
  const std::string none_kept =
      "left out at the end (the array came with None, and nobody keeps uses of it)";
  expect_begin(
      {"called for 5 arrays with " + c_,
       named("array 3", none.array) + ": no stream after " + c_ + ": " + none_kept,
       "array 4 at 0x0: no stream after " + c_ + ": left out at the end (nothing on a GPU)",
       named("array 1", second.array) + ": " + c_ + " after " + p_ +
           ": left out (the same as for another array)",
       named("array 2", own.array) + ": " + c_ + " after " + c_ + ": left out (same stream)",
       named("array 3", none.array) + ": " + c_ +
           " after no stream: left out (the array came with None)",
       "array 4 at 0x0: " + c_ + " after no stream: left out (nothing on a GPU)",
       named("array 0", first.array) + ": " + c_ + " after " + p_ +
           ": made: event recorded and waited for (work may be pending there)"},
      {&first.array, &second.array, &own.array, &none.array, &empty.array}, consumer_);
  const std::string nobody = ": not kept (nobody keeps uses of the array)";
  expect_end({"called with " + c_,
              "array 1: " + p_ + " after " + c_ + ": left out (the same as for another array)",
              "array 2: " + c_ + " after " + c_ + ": left out (same stream)",
              "array 0: " + p_ + " after " + c_ +
                  ": made: event recorded and waited for (work may be pending there)",
              "array 0: the owner after " + c_ + nobody, "array 1: the owner after " + c_ + nobody,
              "array 2: the owner after " + c_ + nobody});
}

// Calls that need no driver are traced, too, without calling it.
TEST_F(Trace, OwnStream) {
  const Owned owned(memory(), CAI_STREAM_STREAM, consumer_);
  const std::string what =
      named("array 0", *owned.get()) + ": " + c_ + " after " + c_ + ": left out (same stream)";
  gpu().simcuda_reset_counts();
  expect_begin({"called for 1 array with " + c_, what}, {owned}, consumer_);
  expect_end({"called with " + c_, what});
  EXPECT_EQ(all_calls(), 0U);
}

// An owner keeps what no stream of the array's comes after.
TEST_F(Trace, KeptUses) {
  Owned owned(memory(), CAI_STREAM_NONE);
  const std::string array = named("array 0", *owned.get());
  const std::string owner = "owner " + hex(reinterpret_cast<std::uintptr_t>(owned->owner));
  const std::string none = " after no stream: left out (the array came with None)";
  const auto kept = [&](const std::string &on) {
    return Lines{"called with " + on,
                 array + ": no stream after " + on + ": left out (no stream could wait)",
                 array + ": " + owner + " after " + on +
                     ": kept: with an event (no stream of the array comes after)"};
  };
  const cai_use_options reading = access(CAI_ACCESS_READ);
  expect_begin({"called for 1 array with " + c_, array + ": " + c_ + none}, {owned}, consumer_,
               &reading);
  expect_end(kept(c_));
  expect_begin(
      {"called for 1 array with " + p_,
       array + ": " + p_ + " after " + owner + ": left out (a read does not wait for reads)",
       array + ": " + p_ + none},
      {owned}, producer_, &reading);
  expect_end(kept(p_));
  expect_begin(
      {"called for 1 array with " + p_, array + ": " + p_ + none,
       array + ": " + p_ + " after " + p_ + ": left out (same stream)",
       array + ": " + p_ + " after " + c_ + ": made: event waited for (a kept use conflicts)"},
      {owned}, producer_);
  expect_end(kept(p_));
  const std::string alone = named("array", *owned.get());
  expect("cai_array_reclaim",
         {"called with legacy", alone + ": legacy" + none,
          alone + ": legacy after " + c_ + ": made: event waited for (a kept use conflicts)",
          alone + ": legacy after " + p_ + ": made: event waited for (a kept use conflicts)"},
         [&] { MUST(cai_array_reclaim(owned, 1, CAI_ACCESS_WRITE, nullptr)); });
  const std::string waited = ": made: the host has waited for an event (a kept use conflicts)";
  expect("cai_array_sync_host",
         {"called", alone + ": host" + none, alone + ": host after " + c_ + waited,
          alone + ": host after " + p_ + waited},
         [&] { MUST(cai_array_sync_host(owned, nullptr)); });
  const std::string ends = "the arrays' streams: kept: the end is put off (uses are pending)";
  expect("cai_owner_end", {"called with " + owner, owner + " after " + ends},
         [&] { owned.release(); });
  expect("cai_drain",
         {"called",
          "host after the owner: made: the host has waited in a context "
          "(uses of arrays that have ended)"},
         [&] { MUST(cai_drain(1, nullptr, nullptr)); });
}

// Edges that an earlier wait, or another one of the same call, covers.
TEST_F(Trace, Covered) {
  Owned owned(memory(), CAI_STREAM_STREAM, producer_);
  const std::string array = named("array 0", *owned.get());
  const std::string owner = "owner " + hex(reinterpret_cast<std::uintptr_t>(owned->owner));
  const std::string made = ": made: event recorded and waited for (work may be pending there)";
  expect_begin({"called for 1 array with " + c_, array + ": " + c_ + " after " + p_ + made},
               {owned}, consumer_);
  expect_end({"called with " + c_, array + ": " + p_ + " after " + c_ + made,
              array + ": " + owner + " after " + c_ +
                  ": kept: with an event (its memory may go in another order)"});
  const std::uint64_t third = value(stream());
  const std::string t = hex(third);
  expect_begin({"called for 1 array with " + t,
                array + ": " + t + " after " + c_ +
                    ": left out (the wait for an array's stream covers that use)",
                array + ": " + t + " after " + p_ + made},
               {owned}, third);
  MUST(cai_use_finish(&use_, 0, nullptr));
  const std::string alone = named("array", *owned.get());
  expect("cai_array_reclaim",
         {"called with " + p_, alone + ": " + p_ + " after " + p_ + ": left out (same stream)",
          alone + ": " + p_ + " after " + c_ + ": left out (the stream has waited for that use)"},
         [&] { MUST(cai_array_reclaim(owned, producer_, CAI_ACCESS_WRITE, nullptr)); });
}

// Stream 1 and blocking streams are in order by themselves.
TEST_F(Trace, Legacy) {
  Array array(memory(), CAI_STREAM_STREAM, 1);
  const Owned owned(array.array);
  const std::uint64_t other = value(stream(blocking));
  const std::string anyway =
      ": left out (the legacy stream and a blocking one are in order anyway)";
  const std::string name = named("array 0", *owned.get());
  expect_begin({"called for 1 array with " + hex(other),
                name + ": " + hex(other) + " after legacy" + anyway},
               {owned}, other);
  expect_end({"called with " + hex(other), name + ": legacy after " + hex(other) + anyway,
              name + ": owner " + hex(reinterpret_cast<std::uintptr_t>(owned->owner)) + " after " +
                  hex(other) +
                  ": kept: with an event (another blocking stream need not come after)"});
}

// The call's options, or the environment, take the order away: the one that does is named.
TEST_F(Trace, NoOrder) {
  Array array(memory(), CAI_STREAM_STREAM, producer_);
  const bool sync = setting("CAI_SYNC") != "0";
  const cai_use_options none = order(CAI_ORDER_NONE);
  expect_begin({"called for 1 array with " + c_,
                "all arrays: " + c_ + " after the arrays' streams: left out, at the end too (" +
                    (sync ? "CAI_ORDER_NONE)" : "CAI_SYNC=0)")},
               {&array.array}, consumer_, &none);
  expect_end({});
}

TEST_F(Trace, Options) {
  Array array(memory(), CAI_STREAM_STREAM, producer_);
  const std::string name = named("array 0", array.array);
  const std::string there = name + ": " + c_ + " after " + p_ +
                            ": made: event recorded and waited for (work may be pending there)";
  const cai_use_options begin = order(CAI_ORDER_BEGIN);
  expect_begin(
      {"called for 1 array with " + c_,
       "all arrays: the arrays' streams after " + c_ + ": left out at the end (CAI_ORDER_BEGIN)",
       there},
      {&array.array}, consumer_, &begin);
  expect_end({});
  const cai_use_options end = order(CAI_ORDER_END);
  expect_begin({"called for 1 array with " + c_,
                "all arrays: " + c_ + " after the arrays' streams: left out (CAI_ORDER_END)"},
               {&array.array}, consumer_, &end);
  MUST(cai_use_finish(&use_, 0, nullptr));
  const cai_use_options host = order(CAI_ORDER_HOST);
  expect_begin({"called for 1 array with " + c_,
                name + ": host after " + p_ +
                    ": made: the host has waited for an event (work may be pending there)"},
               {&array.array}, consumer_, &host);
  expect_end({"called with " + c_, "all arrays: host after " + c_ +
                                       ": made: the host has waited for the stream (it was asked "
                                       "to)"});
}

TEST_F(Trace, Graph) {
  Array array(memory(), CAI_STREAM_STREAM, producer_);
  const std::string name = named("array 0", array.array);
  const std::string header = "called for 1 array with " + c_;
  finish();
  begin_capture(consumer_, relaxed);
  expect_begin({header, name + ": " + c_ + " after " + p_ +
                            ": left out (nothing is pending there, so the graph need not wait)"},
               {&array.array}, consumer_);
  expect_end({"called with " + c_, "array 0: " + p_ + " after " + c_ +
                                       ": left out (that work is in a graph, and not pending)"});
  {
    const Gate gate(producer_);
    const cai_use_options external = access(CAI_ACCESS_DEFAULT, CAI_USE_EXTERNAL);
    expect_begin({header, name + ": " + c_ + " after " + p_ +
                              ": made: each launch of the graph waits for an event "
                              "(CAI_USE_EXTERNAL)"},
                 {&array.array}, consumer_, &external);
    MUST(cai_use_finish(&use_, 0, nullptr));
  }
  end_capture(consumer_);
  finish();
  begin_capture(producer_, relaxed);
  fork(producer_, consumer_);
  expect_begin(
      {header, name + ": " + c_ + " after " + p_ + ": made: graph edge (both are in one capture)"},
      {&array.array}, consumer_);
  expect_end({"called with " + c_,
              "array 0: " + p_ + " after " + c_ + ": made: graph edge (both are in one capture)"});
  end_capture(producer_);
}

// An event that the array comes with; an owner that is told of what a dict says.
TEST_F(Trace, EventsAndDicts) {
  Owned owned(memory(), CAI_STREAM_STREAM, producer_);
  const std::string alone = named("array", *owned.get());
  const std::string owner = "owner " + hex(reinterpret_cast<std::uintptr_t>(owned->owner));
  alignas(8) unsigned char storage[256];
  cai_interface dict{};
  dict.struct_size = sizeof dict;
  expect("cai_interface_write",
         {"called with " + p_,
          alone + ": " + owner + " after " + p_ +
              ": told (a dict or a tensor names that stream to a consumer without the owner)"},
         [&] { MUST(cai_interface_write(owned, 3, storage, sizeof storage, &dict, nullptr)); });
  cai_array *view = nullptr;
  expect("cai_array_publish_event",
         {"called with " + p_, alone + ": " + p_ + " after " + p_ + ": left out (same stream)",
          alone + ": the owner after " + p_ +
              ": kept: with an event (others hear of it from the owner alone)"},
         [&] { MUST(cai_array_publish_event(owned, producer_, &view, nullptr)); });
  const std::string name = named("array 0", *owned.get());
  expect_begin({"called for 1 array with " + c_,
                name + ": " + c_ + " after " + p_ +
                    ": left out (the wait for an array's stream covers that use)",
                name + ": " + c_ + " after " + p_ +
                    ": made: event recorded and waited for (work may be pending there)",
                name + ": " + c_ + " after event " + hex(view->stream) +
                    ": made: event waited for (the array came with it)"},
               {view}, consumer_);
  MUST(cai_use_finish(&use_, 0, nullptr));
  cai_array_release(view);
}

// A mask is memory of its own, and named as such where the call has the arrays.
TEST_F(Trace, Masks) {
  Array array(memory(), CAI_STREAM_STREAM, producer_);
  Array mask(memory(), CAI_STREAM_STREAM, consumer_);
  array.mask(mask);
  const std::string made = ": made: event recorded and waited for (work may be pending there)";
  expect_begin({"called for 1 array with " + c_,
                named("array 0's mask", mask.array) + ": " + c_ + " after " + c_ +
                    ": left out (same stream)",
                named("array 0", array.array) + ": " + c_ + " after " + p_ + made},
               {&array.array}, consumer_);
  expect_end({"called with " + c_, "array 0: " + c_ + " after " + c_ + ": left out (same stream)",
              "array 0: " + p_ + " after " + c_ + made,
              "array 0: the owner after " + c_ + ": not kept (nobody keeps uses of the array)",
              "array 0: the owner after " + c_ + ": not kept (nobody keeps uses of the array)"});
}

// For an owner that is not libcai's, only its address is known when a use ends.
TEST_F(Trace, AnOwnerOfAProducers) {
  const Producer producer;
  Array array(memory(), CAI_STREAM_STREAM, producer_);
  array.array.owner = producer.owner();
  const std::string made = ": made: event recorded and waited for (work may be pending there)";
  expect_begin({"called for 1 array with " + c_,
                named("array 0", array.array) + ": " + c_ + " after " + p_ + made},
               {&array.array}, consumer_);
  const std::string owner = "owner " + hex(reinterpret_cast<std::uintptr_t>(producer.owner()));
  expect_end({"called with " + c_, "array 0: " + p_ + " after " + c_ + made,
              "array 0: " + owner + " after " + c_ +
                  ": kept: with an event (its memory may go in another order)"});
}

TEST_F(Trace, ThePerThreadStream) {
  Array array(memory(), CAI_STREAM_STREAM, 2);
  const std::string name = named("array 0", array.array);
  expect_begin({"called for 1 array with per-thread",
                name + ": per-thread after per-thread: left out (same stream)"},
               {&array.array}, 2);
  expect_end({"called with per-thread",
              "array 0: per-thread after per-thread: left out (same stream)",
              "array 0: the owner after per-thread: not kept (nobody keeps uses of the array)"});
}

// Published work, with what it waits for; and what needs no wait.
TEST_F(Trace, Publishing) {
  const Owned owned(memory(), CAI_STREAM_STREAM, producer_);
  const std::string alone = named("array", *owned.get());
  const std::string same = alone + ": " + p_ + " after " + p_ + ": left out (same stream)";
  cai_array *view = nullptr;
  expect("cai_array_publish", {"called with " + p_, same},
         [&] { MUST(cai_array_publish(owned, nullptr, 0, producer_, &view, nullptr)); });
  cai_array_release(view);
  expect("cai_array_reclaim", {"called with " + p_, same},
         [&] { MUST(cai_array_reclaim(owned, producer_, CAI_ACCESS_WRITE, nullptr)); });
  DLManagedTensor *tensor = nullptr;
  expect("cai_dlpack_write",
         {"called with " + p_, same,
          alone + ": owner " + hex(reinterpret_cast<std::uintptr_t>(owned->owner)) + " after " +
              p_ + ": told (a dict or a tensor names that stream to a consumer without the owner)"},
         [&] { MUST(cai_dlpack_write_legacy(owned, producer_, &tensor, nullptr)); });
  tensor->deleter(tensor);
  const std::uint64_t streams[] = {value(stream())};
  const std::string other = hex(streams[0]);
  const std::string made = ": made: event recorded and waited for (work may be pending there)";
  expect("cai_array_publish",
         {"called with " + c_, alone + ": " + c_ + " after " + p_ + made,
          alone + ": " + c_ + " after " + other +
              ": made: the same event waited for (work may be pending there)",
          alone + ": the owner after " + other +
              ": kept: with an event (others hear of it from the owner alone)"},
         [&] { MUST(cai_array_publish(owned, streams, 1, consumer_, &view, nullptr)); });
  cai_array_release(view);
}

// What the array's stream does not wait for at a release, and why.
TEST_F(Trace, Releasing) {
  Array reclaimed(memory(), CAI_STREAM_STREAM, producer_);
  Array none(memory(), CAI_STREAM_NONE);
  const Owned first(reclaimed.array), second(none.array);
  first->owner->flags |= CAI_OWNER_RECLAIMS;
  const auto release = [&](const Owned &owned, const std::string &left_out) {
    const std::string alone = named("array", *owned.get());
    expect("cai_array_release_on",
           {"called with " + c_, alone + ": " + left_out,
            alone + ": the owner after " + c_ +
                ": kept: with an event (others hear of it from the owner alone)"},
           [&] {
             cai_array_retain(owned);
             MUST(cai_array_release_on(owned, consumer_, nullptr));
           });
  };
  release(first, p_ + " after " + c_ + ": left out (the producer reclaims)");
  release(second, "no stream after " + c_ + ": left out (the array came with None)");
}

// The one stream of several arrays, which is not known yet when they are looked at.
TEST_F(Trace, SameStream) {
  Array array(memory(), CAI_STREAM_STREAM, producer_);
  Array none(memory(), CAI_STREAM_NONE);
  const Owned owned(none.array);
  const cai_array *const arrays[] = {&array.array, owned};
  std::uint64_t found = 0;
  expect(
      "cai_arrays_same_stream",
      {"called for 2 arrays with no stream",
       named("array 1", *owned.get()) + ": owner " +
           hex(reinterpret_cast<std::uintptr_t>(owned->owner)) + " after " + p_ +
           ": told (the array, or its mask, came with None, and is used on that stream)",
       "all arrays: " + p_ + " after the arrays' streams: left out (it is the arrays' own stream)"},
      [&] { MUST(cai_arrays_same_stream(arrays, 2, &found, nullptr)); });
  EXPECT_EQ(found, producer_);
}

#ifdef TEST_MEMORY
// A stream of the CPU's has no handle that another one could wait for.
TEST_F(Trace, WorkOfTheHost) {
  cai_stream *queue = nullptr;
  MUST(cai_stream_create(cpu, CAI_MODE_ASYNC, 0, &queue, nullptr));
  cai_memory *memory = nullptr;
  cai_request request{};
  request.struct_size = sizeof request;
  request.kind = CAI_KIND_HOST;
  request.size = count;
  MUST(cai_memory_alloc(cpu, &request, &memory, nullptr));
  cai_array *array = nullptr;
  const std::int64_t shape[] = {count};
  constexpr cai_dtype bytes{'u', '|', 0, 0, 1, 0};
  MUST(cai_memory_array(memory, 0, &bytes, 1, shape, nullptr, &array, nullptr));
  std::atomic<bool> held{true};
  const auto wait = [](void *context, cai_error *) {
    static_cast<std::atomic<bool> *>(context)->wait(true);
    return cai_status{CAI_OK};
  };
  MUST(cai_stream_enqueue(queue, wait, nullptr, &held, nullptr));
  const unsigned char seven = 7;
  MUST(cai_array_fill(array, &seven, queue, nullptr));
  std::thread opener;
  expect("cai_array_sync_host",
         {"called",
          named("array", *array) + ": host after host's work: made: the host has waited "
                                   "(no stream can wait for a stream of the CPU's)",
          named("array", *array) + ": host after no stream: left out (nothing on a GPU)"},
         [&] {
           opener = std::thread([&] {
             std::this_thread::sleep_for(std::chrono::milliseconds(20));
             held = false;
             held.notify_all();
           });
           MUST(cai_array_sync_host(array, nullptr));
         });
  opener.join();
  EXPECT_EQ(*reinterpret_cast<const unsigned char *>(array->data), 7);
  cai_array_release(array);
  cai_memory_release(memory);
  cai_stream_release(queue);
}
#endif

// A column of Arrow's, of what needs no event.
TEST_F(Trace, AColumn) {
  const Owned owned(memory(), CAI_STREAM_NONE);
  ArrowDeviceArray column;
  expect("cai_arrow_write",
         {"called with " + c_, named("array", *owned.get()) + ": " + c_ +
                                   " after no stream: left out (the array came with None)"},
         [&] { MUST(cai_arrow_write(owned, consumer_, nullptr, &column, nullptr)); });
  EXPECT_EQ(column.sync_event, nullptr);
  column.array.release(&column.array);
}

// Lines of several threads stay whole, and each names its thread.
TEST_F(Trace, Threads) {
  constexpr int threads = 4, uses = 100;
  Array array(memory(), CAI_STREAM_STREAM, producer_);
  const std::string all = printed([&] {
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i) {
      running.emplace_back([&] {
        const cai_array *const arrays[] = {&array.array};
        for (int done = 0; done < uses; ++done) {
          cai_use use{};
          EXPECT_EQ(cai_use_begin(&use, arrays, 1, producer_, nullptr, nullptr), CAI_OK);
          EXPECT_EQ(cai_use_end(&use, nullptr), CAI_OK);
        }
      });
    }
    for (std::thread &one : running) one.join();
  });
  const std::regex form("cai: [0-9]+ cai_use_(begin|end): (called|array 0).*(" + p_ +
                        "|\\(same stream\\))");
  std::istringstream lines(all);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_TRUE(std::regex_match(line, form)) << line;
  }
  EXPECT_EQ(count, setting("CAI_TRACE") == "1" ? threads * uses * 4 : 0);
}

// A trace that cannot be written is nobody's failure.
TEST_F(Trace, CannotFail) {
  Array array(memory(), CAI_STREAM_STREAM, consumer_);
  const cai_array *const arrays[] = {&array.array};
  const int stderr_before = dup(STDERR_FILENO);
  close(STDERR_FILENO);
  errno = ERANGE;
  const cai_status begun = cai_use_begin(&use_, arrays, 1, consumer_, nullptr, nullptr);
  const cai_status ended = cai_use_end(&use_, nullptr);
  const int error = errno;
  dup2(stderr_before, STDERR_FILENO);
  close(stderr_before);
  EXPECT_EQ(begun, CAI_OK);
  EXPECT_EQ(ended, CAI_OK);
  EXPECT_EQ(error, ERANGE);
}

}  // namespace
}  // namespace test::trace_tests
