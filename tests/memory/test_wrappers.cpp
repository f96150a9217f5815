// SPDX-License-Identifier: BSD-3-Clause
// The managers that are put around others: exact under threads, in any order. On the CPU.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#include "managers.hpp"

namespace test::wrappers_tests {
namespace {

constexpr cai_limit_params limit_of(std::uint64_t bytes) {
  return {sizeof(cai_limit_params), 0, bytes};
}

template <class Body>
void in_threads(int count, Body &&body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body);
  for (std::thread &thread : threads) thread.join();
}

// ---- Statistics ---------------------------------------------------------------------------------

TEST(Statistics, CountAll) {
  Recorder recorder;
  const Manager upstream = make(recorder, cpu);
  const Manager manager = make("statistics", cpu, nullptr, upstream);
  EXPECT_STREQ(cai_manager_name(manager), "statistics");
  const cai_block a = allocate(manager, 100);
  const cai_block b = allocate(manager, 50, CAI_KIND_HOST);
  free_block(manager, a);
  const cai_block c = allocate(manager, 10);
  recorder.out_of_memory = 2;
  allocation_failure(manager, 1000);
  const cai_statistics now = statistics(manager);
  EXPECT_EQ(now.bytes, 60U);
  EXPECT_EQ(now.bytes_peak, 150U);
  EXPECT_EQ(now.bytes_total, 160U);
  EXPECT_EQ(now.count, 2U);
  EXPECT_EQ(now.count_peak, 2U);
  EXPECT_EQ(now.count_total, 3U);
  EXPECT_EQ(now.failures, 1U);
  // A free that fails has freed nothing.
  recorder.status = CAI_ERR_CUDA;
  EXPECT_EQ(cai_manager_free(manager, &c, CAI_KIND_DEFAULT, 0, nullptr), CAI_ERR_CUDA);
  EXPECT_EQ(statistics(manager).count, 2U);
  recorder.status = CAI_OK;
  free_block(manager, b, CAI_KIND_HOST);
  free_block(manager, c);
  EXPECT_EQ(statistics(manager).bytes, 0U);
  EXPECT_EQ(statistics(manager).count, 0U);
}

TEST(Statistics, OfManyThreads) {
  const Manager upstream = make("host", cpu);
  const Manager manager = make("statistics", cpu, nullptr, upstream);
  in_threads(8, [&] {
    for (int i = 0; i < 2000; ++i) free_block(manager, allocate(manager, 64));
  });
  const cai_statistics now = statistics(manager);
  EXPECT_EQ(now.bytes, 0U);
  EXPECT_EQ(now.count, 0U);
  EXPECT_EQ(now.count_total, 16000U);
  EXPECT_EQ(now.bytes_total, 16000U * 64);
  // Each peak is exact; the two need not be of one moment.
  EXPECT_LE(now.count_peak, 8U);
  EXPECT_GE(now.count_peak, 1U);
  EXPECT_LE(now.bytes_peak, 8U * 64);
  EXPECT_GE(now.bytes_peak, 64U);
  EXPECT_EQ(now.bytes_peak % 64, 0U);
}

TEST(Statistics, AreTheFirstThatCounts) {
  Recorder recorder;
  const Manager upstream = make(recorder, cpu);
  cai_statistics out{};
  out.struct_size = sizeof out;
  cai_error error{};
  EXPECT_EQ(cai_manager_statistics(upstream, &out, &error), CAI_ERR_UNSUPPORTED);
  const Manager inner = make("statistics", cpu, nullptr, upstream);
  Recorder around;
  const Manager outer = make(around, cpu, inner);
  free_block(inner, allocate(inner, 7));
  EXPECT_EQ(statistics(outer).bytes_total, 7U);
  EXPECT_EQ(cai_manager_statistics(nullptr, &out, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_manager_statistics(outer, nullptr, nullptr), CAI_ERR_ARGUMENT);
  out.struct_size = 4;
  EXPECT_EQ(cai_manager_statistics(outer, &out, nullptr), CAI_ERR_ARGUMENT);
  // An older caller gets what it knows.
  cai_statistics part;
  std::memset(&part, 0xAB, sizeof part);
  part.struct_size = 24;
  EXPECT_EQ(cai_manager_statistics(outer, &part, nullptr), CAI_OK);
  EXPECT_EQ(part.struct_size, 24U);
  EXPECT_EQ(part.bytes_peak, 7U);
  EXPECT_EQ(part.bytes_total, 0xABABABABABABABABU);
}

// ---- Limiting -----------------------------------------------------------------------------------

TEST(Limiting, RefusesWhatExceedsIt) {
  Recorder recorder;
  const Manager upstream = make(recorder, cpu);
  const cai_limit_params limit = limit_of(1000);
  const Manager manager = make("limiting", cpu, &limit, upstream);
  const cai_block all = allocate(manager, 1000);
  cai_error error = allocation_failure(manager, 1);
  EXPECT_EQ(error.status, CAI_ERR_MEMORY);
  EXPECT_EQ(error.native, 0);
  EXPECT_TRUE(contains(error.message, "1000 of 1000 bytes")) << error.message;
  EXPECT_EQ(recorder.count("memalloc"), 1U);
  free_block(manager, all);
  error = allocation_failure(manager, 1001);
  EXPECT_EQ(error.status, CAI_ERR_MEMORY);
  error = allocation_failure(manager, ~0ULL);
  EXPECT_EQ(error.status, CAI_ERR_MEMORY);
  EXPECT_EQ(statistics(manager).failures, 3U);
  // A failed upstream allocation is not subtracted from the limit.
  recorder.out_of_memory = 2;
  allocation_failure(manager, 1000);
  free_block(manager, allocate(manager, 1000));
  free_block(manager, allocate(manager, 1000, CAI_KIND_HOST), CAI_KIND_HOST);
}

TEST(Limiting, CountsWhatIsGiven) {
  Recorder recorder;
  const Manager upstream = make(recorder, cpu);
  const cai_limit_params limit = limit_of(1000);
  const Manager manager = make("limiting", cpu, &limit, upstream);
  recorder.larger_by = 100;
  const cai_error error = allocation_failure(manager, 950);
  EXPECT_EQ(error.status, CAI_ERR_MEMORY);
  EXPECT_EQ(recorder.out, 0U);  // it was freed
  const cai_block block = allocate(manager, 900);
  EXPECT_EQ(statistics(manager).bytes, 1000U);
  free_block(manager, block);
  free_block(manager, allocate(manager, 900));
}

TEST(Limiting, IsExactUnderThreads) {
  const Manager host = make("host", cpu);
  const Manager inner = make("statistics", cpu, nullptr, host);
  const cai_limit_params limit = limit_of(5 * 64);
  const Manager manager = make("limiting", cpu, &limit, inner);
  std::atomic<int> given{0};
  in_threads(8, [&] {
    for (int i = 0; i < 2000; ++i) {
      cai_block blocks[2]{};
      for (cai_block &block : blocks) {
        const cai_status status =
            cai_manager_alloc(manager, 64, 0, CAI_KIND_DEFAULT, 0, &block, nullptr);
        if (status == CAI_OK)
          ++given;
        else
          EXPECT_EQ(status, CAI_ERR_MEMORY);
      }
      for (const cai_block &block : blocks) free_block(manager, block);
    }
  });
  EXPECT_GT(given, 0);
  EXPECT_LE(statistics(inner).bytes_peak, limit.limit);
  EXPECT_EQ(statistics(manager).bytes, 0U);
  EXPECT_EQ(statistics(manager).count_total + statistics(manager).failures, 32000U);
}

TEST(Limiting, Params) {
  const Manager upstream = make("host", cpu);
  EXPECT_EQ(refusal("limiting", cpu, nullptr, upstream).first, CAI_ERR_VALUE);
  cai_limit_params params = limit_of(1);
  EXPECT_EQ(refusal("limiting", cpu, &params).first, CAI_ERR_VALUE);
  params.struct_size = 8;
  EXPECT_TRUE(contains(refusal("limiting", cpu, &params, upstream).second.c_str(), "struct_size"));
  params.struct_size = 0xFFFFFFFF;
  EXPECT_EQ(refusal("limiting", cpu, &params, upstream).first, CAI_ERR_VALUE);
  struct {
    cai_limit_params known = limit_of(1);
    std::uint64_t more = 0;
  } newer;
  newer.known.struct_size = sizeof newer;
  make("limiting", cpu, &newer, upstream);
  newer.more = 1;
  EXPECT_TRUE(contains(refusal("limiting", cpu, &newer, upstream).second.c_str(),
                       "of which this libcai knows 16"));
}

// ---- Logging ------------------------------------------------------------------------------------

struct Log {
  std::mutex mutex;
  std::vector<std::string> lines;
  std::string caller;
  Manager other;  // called from inside of write

  static void write(void *context, const char *line, std::uint64_t length) {
    Log &me = *static_cast<Log *>(context);
    if (me.other) free_block(me.other, allocate(me.other, 1));
    const std::lock_guard lock(me.mutex);
    me.lines.emplace_back(line, length);
  }
  static void say_caller(void *context, char *text, std::uint64_t size) {
    const Log &me = *static_cast<Log *>(context);
    std::snprintf(text, size + 1, "%s", me.caller.c_str());
  }
  cai_log_params params() {
    return {sizeof(cai_log_params), 0, nullptr, write, say_caller, this, nullptr};
  }
};

// The fields of a line, as RFC 4180 has them.
std::vector<std::string> fields(const std::string &line) {
  std::vector<std::string> found(1);
  bool quoted = false;
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    const char c = line[i];
    if (c == '"') {
      if (quoted && line[i + 1] == '"')
        found.back() += line[++i];
      else
        quoted = !quoted;
    } else if (c == ',' && !quoted) {
      found.emplace_back();
    } else {
      found.back() += c;
    }
  }
  return found;
}

TEST(Logging, AllCalls) {
  Log log;
  Recorder recorder;
  const Manager upstream = make(recorder, cpu);
  const cai_log_params params = log.params();
  const Manager manager = make("logging", cpu, &params, upstream);
  log.caller = "a,\"b\".py:12";
  log.other = make("host", cpu);
  const cai_block block = allocate(manager, 100);
  free_block(manager, block);
  free_block(manager, allocate(manager, 8, CAI_KIND_HOST), CAI_KIND_HOST);
  recorder.out_of_memory = 2;
  allocation_failure(manager, 100);
  ASSERT_EQ(log.lines.size(), 6U);
  EXPECT_EQ(log.lines[0], "time,device,action,address,size,stream,status,caller\n");
  const auto expect = [&](std::size_t line, const std::string &action, std::uint64_t address,
                          const std::string &size, const std::string &status) {
    const std::vector<std::string> found = fields(log.lines[line]);
    ASSERT_EQ(found.size(), 8U) << log.lines[line];
    EXPECT_EQ(log.lines[line].back(), '\n');
    EXPECT_GE(std::atof(found[0].c_str()), 0);
    EXPECT_EQ(found[1], "cpu");
    EXPECT_EQ(found[2], action);
    if (address) {
      EXPECT_EQ(std::strtoull(found[3].c_str(), nullptr, 0), address);
    }
    EXPECT_EQ(found[4], size);
    EXPECT_EQ(found[5], "0x0");
    EXPECT_EQ(found[6], status);
    EXPECT_EQ(found[7], log.caller);
  };
  expect(1, "alloc", block.data, "100", "CAI_OK");
  expect(2, "free", block.data, "100", "CAI_OK");
  expect(3, "hostalloc", 0, "8", "CAI_OK");
  expect(4, "hostfree", 0, "8", "CAI_OK");
  expect(5, "alloc", 0, "100", "CAI_ERR_MEMORY");
  EXPECT_NE(log.lines[1].find(",\"a,\"\"b\"\".py:12\"\n"), std::string::npos) << log.lines[1];
}

TEST(Logging, WholeLinesOfManyThreadsToAFile) {
  char path[] = "/tmp/libcai_log_XXXXXX";
  const int file = mkstemp(path);
  ASSERT_GE(file, 0);
  close(file);
  const Manager upstream = make("host", cpu);
  const cai_log_params params{sizeof params, 0, path, nullptr, nullptr, nullptr, nullptr};
  const auto next_file = [] {
    const int next = dup(0);
    close(next);
    return next;
  };
  const int next = next_file();
  for (int twice = 0; twice < 2; ++twice) {
    const Manager manager = make("logging", cpu, &params, upstream);
    in_threads(8, [&] {
      for (int i = 0; i < 250; ++i) free_block(manager, allocate(manager, 64));
    });
  }
  EXPECT_EQ(next_file(), next) << "a file is open still";
  std::ifstream text(path);
  std::string line;
  int lines = 0, headers = 0;
  while (std::getline(text, line)) {
    ++lines;
    headers += line.rfind("time,", 0) == 0;
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 7) << line;
  }
  EXPECT_EQ(lines, 8001);  // what is there is appended to, and has its header
  EXPECT_EQ(headers, 1);
  unlink(path);
}

TEST(Logging, AFullDiskIsReported) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "there is no /dev/full";
  const Manager upstream = make("host", cpu);
  Failures failures;
  const cai_log_params params{sizeof params, 0, "/dev/full", nullptr, nullptr, nullptr, nullptr};
  const Manager manager = make("logging", cpu, &params, upstream);
  free_block(manager, allocate(manager, 1));
  ASSERT_EQ(failures.messages.size(), 3U);
  EXPECT_TRUE(contains(failures.messages[0].c_str(), "could not be written"));
}

TEST(Logging, Params) {
  Log log;
  const Manager upstream = make("host", cpu);
  cai_log_params params = log.params();
  params.path = "/tmp/x";
  EXPECT_TRUE(contains(refusal("logging", cpu, &params, upstream).second.c_str(), "both"));
  params.path = nullptr;
  params.write = nullptr;
  EXPECT_TRUE(contains(refusal("logging", cpu, &params, upstream).second.c_str(), "none"));
  params.path = "/no such folder/log.csv";
  const auto [status, message] = refusal("logging", cpu, &params, upstream);
  EXPECT_EQ(status, CAI_ERR_VALUE);
  EXPECT_TRUE(contains(message.c_str(), "/no such folder/log.csv")) << message;
}

// ---- Tracking -----------------------------------------------------------------------------------

std::vector<cai_allocation> outstanding(const cai_manager *manager,
                                        std::vector<std::string> *callers = nullptr) {
  struct Seen {
    std::vector<cai_allocation> all;
    std::vector<std::string> *callers;
    const cai_manager *manager;
  } seen{{}, callers, manager};
  const auto visit = [](void *context, const cai_allocation *allocation) {
    Seen &me = *static_cast<Seen *>(context);
    statistics(me.manager);  // no lock is held
    me.all.push_back(*allocation);
    if (me.callers) me.callers->emplace_back(allocation->caller);
  };
  cai_error error{};
  EXPECT_EQ(cai_manager_outstanding(manager, visit, &seen, &error), CAI_OK) << error.message;
  return seen.all;
}

TEST(Tracking, ShowsWhatIsOutOldestFirst) {
  Log log;
  const Manager upstream = make("host", cpu);
  const cai_track_params params{sizeof params, 0, Log::say_caller, &log, nullptr};
  const Manager manager = make("tracking", cpu, &params, upstream);
  std::vector<cai_block> blocks;
  for (std::uint64_t i = 1; i <= 20; ++i) {
    log.caller = "line " + std::to_string(i);
    blocks.push_back(allocate(manager, i, i % 2 ? CAI_KIND_DEFAULT : CAI_KIND_HOST));
  }
  free_block(manager, blocks[0]);
  free_block(manager, blocks[9], CAI_KIND_HOST);
  std::vector<std::string> callers;
  const std::vector<cai_allocation> out = outstanding(manager, &callers);
  ASSERT_EQ(out.size(), 18U);
  std::size_t i = 1;
  for (std::size_t at = 0; at < out.size(); ++at, ++i) {
    if (i == 9) ++i;
    EXPECT_EQ(out[at].struct_size, sizeof(cai_allocation));
    EXPECT_EQ(out[at].data, blocks[i].data);
    EXPECT_EQ(out[at].size, i + 1);
    EXPECT_EQ(out[at].kind, i % 2 ? CAI_KIND_HOST : CAI_KIND_DEFAULT);
    EXPECT_EQ(callers[at], "line " + std::to_string(i + 1));
    if (at) {
      EXPECT_GE(out[at].seconds, out[at - 1].seconds);
    }
  }
  EXPECT_EQ(statistics(manager).count, 18U);
  for (i = 1; i < blocks.size(); ++i) {
    if (i != 9) free_block(manager, blocks[i], i % 2 ? CAI_KIND_HOST : CAI_KIND_DEFAULT);
  }
  EXPECT_TRUE(outstanding(manager).empty());
  EXPECT_EQ(cai_manager_outstanding(nullptr, nullptr, nullptr, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_manager_outstanding(manager, nullptr, nullptr, nullptr), CAI_ERR_ARGUMENT);
  const auto visit = [](void *, const cai_allocation *) {};
  EXPECT_EQ(cai_manager_outstanding(upstream, visit, nullptr, nullptr), CAI_ERR_UNSUPPORTED);
}

TEST(Tracking, FindsDoubleFrees) {
  const Manager upstream = make("host", cpu);
  const Manager manager = make("tracking", cpu, nullptr, upstream);
  const cai_block block = allocate(manager, 100);
  free_block(manager, block);
  cai_error error{};
  for (const cai_block &bad : {block, cai_block{0x1000, 0x1000, 8, 0}}) {
    EXPECT_EQ(cai_manager_free(manager, &bad, CAI_KIND_DEFAULT, 0, &error), CAI_ERR_STATE);
    EXPECT_TRUE(contains(error.message, "freed already")) << error.message;
  }
  EXPECT_EQ(statistics(manager).count, 0U);
}

TEST(Tracking, ReportsLeaks) {
  Recorder recorder;
  Log log;
  log.caller = "leak.c:7";
  Failures failures;
  {
    const Manager upstream = make(recorder, cpu);
    const cai_track_params params{sizeof params, 0, Log::say_caller, &log, nullptr};
    const Manager manager = make("tracking", cpu, &params, upstream);
    allocate(manager, 100);
    free_block(manager, allocate(manager, 5));
    allocate(manager, 20);
  }
  ASSERT_EQ(failures.messages.size(), 1U);
  EXPECT_TRUE(contains(failures.messages[0].c_str(), "2 allocations of 120 bytes"))
      << failures.messages[0];
  EXPECT_TRUE(contains(failures.messages[0].c_str(), "leak.c:7")) << failures.messages[0];
}

TEST(Tracking, OfManyThreads) {
  const Manager upstream = make("host", cpu);
  const Manager manager = make("tracking", cpu, nullptr, upstream);
  in_threads(8, [&] {
    for (int i = 0; i < 1000; ++i) free_block(manager, allocate(manager, 64));
  });
  EXPECT_TRUE(outstanding(manager).empty());
}

// ---- Retrying -----------------------------------------------------------------------------------

TEST(Retrying, AsksUntilSomebodyGivesUp) {
  struct Asked {
    std::vector<std::uint64_t> attempts;
    std::uint64_t most;
    static std::int32_t retry(void *context, std::uint64_t size, std::uint64_t attempt) {
      Asked &me = *static_cast<Asked *>(context);
      EXPECT_EQ(size, 100U);
      me.attempts.push_back(attempt);
      return attempt < me.most;
    }
  } asked{{}, 3};
  Recorder recorder;
  const Manager upstream = make(recorder, cpu);
  cai_retry_params params{sizeof params, 0, Asked::retry, &asked, nullptr};
  const Manager manager = make("retrying", cpu, &params, upstream);
  free_block(manager, allocate(manager, 100));
  EXPECT_TRUE(asked.attempts.empty());
  recorder.out_of_memory = 4;  // two for each attempt
  free_block(manager, allocate(manager, 100));
  EXPECT_EQ(asked.attempts, std::vector<std::uint64_t>({0, 1}));
  asked.attempts.clear();
  recorder.out_of_memory = 1000;
  EXPECT_EQ(allocation_failure(manager, 100).status, CAI_ERR_MEMORY);
  EXPECT_EQ(asked.attempts, std::vector<std::uint64_t>({0, 1, 2, 3}));
  asked.attempts.clear();
  recorder.status = CAI_ERR_CUDA;  // no want of memory
  EXPECT_EQ(allocation_failure(manager, 100).status, CAI_ERR_CUDA);
  EXPECT_TRUE(asked.attempts.empty());
  params.retry = nullptr;
  EXPECT_EQ(refusal("retrying", cpu, &params, upstream).first, CAI_ERR_VALUE);
}

// ---- Contexts -----------------------------------------------------------------------------------

TEST(Contexts, AreNotTakenWithParamsThatAskForWhatIsNotKnown) {
  const auto end = [](void *) { ADD_FAILURE() << "the context is still the caller's"; };
  const auto write = [](void *, const char *, std::uint64_t) {};
  const auto retry = [](void *, std::uint64_t, std::uint64_t) { return 0; };
  const cai_limit_params limit{sizeof limit, 1, 1000};
  const cai_log_params log{sizeof log, 1, nullptr, write, nullptr, nullptr, end};
  const cai_track_params track{sizeof track, 1, nullptr, nullptr, end};
  const cai_retry_params again{sizeof again, 1, retry, nullptr, end};
  const std::pair<const char *, const void *> all[] = {
      {"limiting", &limit}, {"logging", &log}, {"tracking", &track}, {"retrying", &again}};
  const Manager host = make("host", cpu);
  for (const auto &[name, params] : all) {
    const auto [status, message] = refusal(name, cpu, params, host);
    EXPECT_EQ(status, CAI_ERR_VALUE);
    EXPECT_EQ(message, std::string("manager ") + name + ": params->reserved is 1, and not 0");
  }
}

TEST(Contexts, EndWithTheManagerOnceItIsMade) {
  const auto count = [](void *ended) { ++*static_cast<int *>(ended); };
  const auto write = [](void *, const char *, std::uint64_t) {};
  const auto retry = [](void *, std::uint64_t, std::uint64_t) { return 0; };
  int ended = 0;
  const cai_log_params log{sizeof log, 0, nullptr, write, nullptr, &ended, count};
  const cai_track_params track{sizeof track, 0, nullptr, &ended, count};
  const cai_retry_params again{sizeof again, 0, retry, &ended, count};
  cai_log_params nowhere = log;
  nowhere.write = nullptr;
  Manager host = make("host", cpu);
  const std::pair<const char *, const void *> all[] = {
      {"logging", &log}, {"tracking", &track}, {"retrying", &again}};
  for (const auto &[name, params] : all) {
    ended = 0;
    EXPECT_EQ(refusal(name, cpu, params, {}).first, CAI_ERR_VALUE);  // around nothing
    EXPECT_EQ(refusal("logging", cpu, &nowhere, host).first, CAI_ERR_VALUE);
    EXPECT_EQ(ended, 0);  // the caller's still
    Manager outer = make("statistics", cpu, nullptr, make(name, cpu, params, host));
    EXPECT_EQ(ended, 0);  // the outer one holds it
    outer = Manager();
    EXPECT_EQ(ended, 1);
  }
}

// ---- Chains -------------------------------------------------------------------------------------

TEST(Chains, EachDoesItsPartInAnyOrder) {
  Log log;
  const cai_limit_params limit = limit_of(1000);
  const cai_log_params logged = log.params();
  std::vector<std::pair<const char *, const void *>> wrappers = {
      {"limiting", &limit}, {"logging", &logged}, {"statistics", nullptr}, {"tracking", nullptr}};
  int orders = 0;
  do {
    log.lines.clear();
    Manager manager = make("host", cpu);
    for (const auto &[name, params] : wrappers) manager = make(name, cpu, params, manager);
    const cai_block block = allocate(manager, 900);
    EXPECT_EQ(outstanding(manager).size(), 1U);
    EXPECT_EQ(statistics(manager).bytes, 900U);
    allocation_failure(manager, 101);
    free_block(manager, block);
    EXPECT_TRUE(outstanding(manager).empty());
    EXPECT_GE(log.lines.size(), 3U);
    ++orders;
  } while (std::next_permutation(
      wrappers.begin(), wrappers.end(),
      [](const auto &a, const auto &b) { return std::string(a.first) < b.first; }));
  EXPECT_EQ(orders, 24);
}

// For each wrapper: a block whose free failed is still allocated, and can be freed.
TEST(Chains, AFreeThatFailsHasFreedNothing) {
  const auto retry = [](void *, std::uint64_t, std::uint64_t) { return 0; };
  const cai_limit_params limiting = limit_of(100);
  const cai_retry_params retrying{sizeof retrying, 0, retry, nullptr, nullptr};
  Log log;
  const cai_log_params logging = log.params();
  const std::pair<const char *, const void *> all[] = {{"statistics", nullptr},
                                                       {"limiting", &limiting},
                                                       {"logging", &logging},
                                                       {"tracking", nullptr},
                                                       {"retrying", &retrying}};
  for (const auto &[name, params] : all) {
    for (const cai_status status : {CAI_ERR_CAPTURE, CAI_ERR_CUDA, CAI_ERR_STATE, CAI_ERR_MEMORY}) {
      Recorder recorder;
      const Manager manager =
          make("statistics", cpu, nullptr, make(name, cpu, params, make(recorder, cpu)));
      const bool tracks = std::string(name) == "tracking", limits = std::string(name) == "limiting";
      const cai_block block = allocate(manager, 60);
      recorder.status = status;
      log.lines.clear();
      cai_error error{};
      for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(cai_manager_free(manager, &block, CAI_KIND_DEFAULT, 0, &error), status) << name;
        EXPECT_EQ(error.status, status);
        EXPECT_EQ(statistics(manager).bytes, 60U) << name;
        if (tracks) {
          EXPECT_EQ(outstanding(manager).size(), 1U);
        }
      }
      recorder.status = CAI_OK;
      if (limits) {
        EXPECT_EQ(allocation_failure(manager, 60).status, CAI_ERR_MEMORY);
      }
      free_block(manager, block);
      EXPECT_EQ(recorder.out, 0U);
      EXPECT_EQ(statistics(manager).bytes, 0U);
      if (tracks) {
        EXPECT_TRUE(outstanding(manager).empty());
      }
      free_block(manager, allocate(manager, 60));
    }
  }
}

}  // namespace
}  // namespace test::wrappers_tests
