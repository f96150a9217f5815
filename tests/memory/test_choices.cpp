// SPDX-License-Identifier: BSD-3-Clause
// Which manager GPUs get, by the environment and by libraries; and the limits of what is pending.
// EXPECTED says what the environment should lead to; see meson.build.
#include <cstdlib>

#include "managers.hpp"
#include "memories.hpp"

namespace test::choices_tests {
namespace {

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

TEST(Choices, OfTheEnvironment) {
  const std::string expected = environment("EXPECTED");
  for (int twice = 0; twice < 2; ++twice) {
    cai_manager *found = nullptr;
    cai_error error{};
    const cai_status status = cai_manager_of(gpu0, &found, &error);
    const Manager manager(found);
    if (status == CAI_OK) {
      EXPECT_EQ(cai_manager_name(manager), expected);
      free_block(manager, allocate(manager, 100));
      EXPECT_STREQ(cai_manager_name(manager_of(cpu)), "host");
      // A failure that the environment did not cause does not name it.
      cai_manager *none = nullptr;
      const cai_device missing{CAI_DEVICE_CUDA, 200};
      EXPECT_EQ(cai_manager_of(missing, &none, &error), CAI_ERR_DEVICE);
      EXPECT_FALSE(contains(error.message, "CAI_MEMORY_MANAGER")) << error.message;
    } else {
      EXPECT_TRUE(contains(error.message, expected)) << error.message;
      const std::string name = environment("CAI_MEMORY_MANAGER");
      EXPECT_TRUE(contains(error.message, "CAI_MEMORY_MANAGER=" + name.substr(0, 40) + ": "))
          << error.message;
      if (name.find('/') == std::string::npos) {  // else the reason may need all the room
        EXPECT_TRUE(contains(error.message,
                             "; it is default, async, pool, managed, a registered name or /path/"))
            << error.message;
      }
      EXPECT_EQ(found, nullptr);
    }
  }
  // Overrides the environment, for devices without a manager yet.
  ASSERT_EQ(cai_manager_choose("async", nullptr), CAI_OK);
  EXPECT_STREQ(cai_manager_name(manager_of(gpu1)), "async");
  ASSERT_EQ(cai_manager_choose(nullptr, nullptr), CAI_OK);
  EXPECT_STREQ(cai_manager_name(manager_of(gpu1)), "async");
  flush(gpu0);
}

TEST(Choices, Libraries) {
  const std::string good = environment("GOOD_LIBRARY"), bad = environment("BAD_LIBRARY");
  {
    const Manager manager = make(good.c_str(), cpu);
    EXPECT_STREQ(cai_manager_name(manager), "counting");
    free_block(manager, allocate(manager, 100));
    const Manager named = make((good + ":cai_manager_table_export").c_str(), cpu, nullptr, manager);
    free_block(named, allocate(named, 100));
  }
  const auto refused = [](const std::string &name, cai_status status, const std::string &part) {
    const auto [found, message] = refusal(name.c_str(), cpu);
    EXPECT_EQ(found, status);
    EXPECT_TRUE(contains(message.c_str(), part)) << message;
    EXPECT_EQ(cai_manager_choose(name.c_str(), nullptr), status);
  };
  refused("/no/such.so", CAI_ERR_VALUE, "/no/such.so cannot be loaded");
  refused(bad, CAI_ERR_VALUE, "exports no cai_manager_table_export");
  refused(good + ":other", CAI_ERR_VALUE, "exports no other");
  refused(good + ":", CAI_ERR_VALUE, "names no symbol after the colon");
  refused(bad + ":wrong_version", CAI_ERR_VERSION, "has interface version 7, and libcai needs 1");
  refused(bad + ":lacks_memfree", CAI_ERR_VALUE, "has no memfree");
}

// What a function on a GPU stream releases is ended later, whatever the limits are.
void expect_that_a_function_on_a_stream_ends_nothing() {
  struct Function {
    OwnStream own = make_stream(gpu0), base = make_stream(gpu0), wrapped;
    bool is_running = false, has_ended_here = false, has_ended = false;
  } function;
  cai_stream *wrapped = nullptr;
  const auto end = [](void *context) {
    auto &mine = *static_cast<Function *>(context);
    mine.has_ended_here = mine.is_running;
    mine.has_ended = true;
  };
  ASSERT_EQ(
      cai_stream_wrap(gpu0, cai_stream_value(function.base), end, &function, &wrapped, nullptr),
      CAI_OK);
  function.wrapped = OwnStream(wrapped);
  const OwnStream stream = make_stream(gpu0);
  const auto release = [](void *context, cai_error *) {
    auto &mine = *static_cast<Function *>(context);
    mine.is_running = true;
    mine.own.reset();
    mine.wrapped.reset();
    mine.is_running = false;
    return cai_status{CAI_OK};
  };
  const std::uint64_t before = calls("cuStreamDestroy");
  ASSERT_EQ(cai_stream_enqueue(stream, release, nullptr, &function, nullptr), CAI_OK);
  ASSERT_EQ(cai_stream_synchronize(stream, nullptr), CAI_OK);
  EXPECT_FALSE(function.has_ended_here);
  ASSERT_EQ(cai_pending_flush(gpu0, nullptr), CAI_OK);
  EXPECT_TRUE(function.has_ended);
  EXPECT_EQ(calls("cuStreamDestroy"), before + 1);
}

TEST(Limits, OfTheEnvironment) {
  const std::string expected = environment("PENDING");
  int freed = 0;
  const auto count = [](void *context, cai_error *) {
    ++*static_cast<int *>(context);
    return cai_status{CAI_OK};
  };
  std::uint64_t total = 0;
  ASSERT_EQ(cai_device_memory(cpu, nullptr, &total, nullptr), CAI_OK);
  cai_error error{};
  if (expected == "bad") {
    for (int twice = 0; twice < 2; ++twice) {
      EXPECT_EQ(cai_pending_add(cpu, 1, count, &freed, &error), CAI_ERR_ARGUMENT);
      EXPECT_TRUE(contains(error.message, "CAI_MAX_PENDING_DEALLOCS_")) << error.message;
    }
    EXPECT_EQ(freed, 0);
    expect_that_a_function_on_a_stream_ends_nothing();
    return;
  }
  if (expected == "usual") {  // ten
    for (int i = 0; i < 10; ++i) ASSERT_EQ(cai_pending_add(cpu, 0, count, &freed, &error), CAI_OK);
    EXPECT_EQ(freed, 0);
    ASSERT_EQ(cai_pending_add(cpu, 0, count, &freed, &error), CAI_OK);
    EXPECT_EQ(freed, 11);
    return;
  }
  for (int i = 0; i < 3; ++i) ASSERT_EQ(cai_pending_add(cpu, 0, count, &freed, &error), CAI_OK);
  EXPECT_EQ(freed, 0);  // a count of 3
  ASSERT_EQ(cai_pending_add(cpu, 0, count, &freed, &error), CAI_OK);
  EXPECT_EQ(freed, 4);
  ASSERT_EQ(cai_pending_add(cpu, total / 2, count, &freed, &error), CAI_OK);
  EXPECT_EQ(freed, 4);  // and a half
  ASSERT_EQ(cai_pending_add(cpu, 1, count, &freed, &error), CAI_OK);
  EXPECT_EQ(freed, 6);
}

}  // namespace
}  // namespace test::choices_tests
