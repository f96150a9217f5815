// SPDX-License-Identifier: BSD-3-Clause
// A scenario calls one public function so that it succeeds, and says what has come of it. It is run
// with every allocation and every call of the driver failing in turn within that one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../memory/memories.hpp"

namespace test {

// What fails: the nth allocation of libcai, or the nth call of a function of the driver.
struct Fault {
  enum Kind { none, allocation, driver };
  Kind kind = none;
  const char *function = nullptr;
  std::uint64_t nth = 0;  // from 1
  int status = 0;
};

// The failures that went to cai_on_failure().
struct Reports {
  static void listen();  // from here on, and again after another hook was set
  static Reports &all();

  int count = 0;
  cai_error last{};
};

class Trial {
 public:
  explicit Trial(const Fault &fault = {}) : fault_(fault) {}
  Trial(const Trial &) = delete;
  Trial &operator=(const Trial &) = delete;

  // Sets what follows a call that succeeds, at once: with nothing failing any more, and before the
  // current context is looked at.
  void then(std::function<void()> body) { then_ = std::move(body); }

  // The one call, in which something fails: `body` takes a cai_error * and returns the status, or
  // takes and returns nothing. When it fails, the outputs must be as they were; and it is called
  // again, when nothing fails any more.
  template <class Body, class... Outputs>
  void call(Body &&body, Outputs &...outputs) {
    attempt(body, outputs...);
    if (status_ != CAI_OK) call_again(body);
  }

  // The same for a call that cannot be repeated, since its object ends when it fails.
  template <class Body, class... Outputs>
  void call_once(Body &&body, Outputs &...outputs) {
    attempt(body, outputs...);
  }

  // The result: the same after every failure, or if the call could do without.
  template <class... Facts>
  void tell(const Facts &...facts) {
    (tell_one(facts), ...);
    told_ += '\n';
  }

  // Of the first call.
  cai_status status() const { return status_; }
  const cai_error &error() const { return error_; }
  bool was_struck() const { return struck_; }

  // For the caller that runs it.
  const std::string &told() const { return told_; }
  int attempts() const { return attempts_; }
  long allocations() const { return allocations_; }
  const std::vector<std::uint64_t> &driver_calls() const { return driver_calls_; }

 private:
  struct Bytes {
    const void *where;
    std::vector<unsigned char> before;
  };

  template <class Body>
  static cai_status say(Body &body, cai_error *error) {
    if constexpr (std::is_invocable_v<Body &, cai_error *>) {
      return body(error);
    } else {
      body();
      return CAI_OK;
    }
  }

  template <class Body, class... Outputs>
  void attempt(Body &body, Outputs &...outputs) {
    std::vector<Bytes> before;
    (before.push_back(copy_of(&outputs, sizeof outputs)), ...);
    begin();
    status_ = say(body, &error_);
    end(before);
  }

  template <class Body>
  void call_again(Body &body) {
    cai_error error{};
    EXPECT_EQ(say(body, &error), CAI_OK) << "the second call: " << error.message;
    if (then_) then_();
  }

  static Bytes copy_of(const void *where, std::size_t size) {
    const auto *const bytes = static_cast<const unsigned char *>(where);
    return {where, {bytes, bytes + size}};
  }

  template <class Fact>
  void tell_one(const Fact &fact) {
    if constexpr (std::is_convertible_v<Fact, std::int64_t>) {
      told_ += std::to_string(static_cast<std::int64_t>(fact)) + ' ';
    } else {
      told_ += std::string(fact) + ' ';
    }
  }

  void begin();
  void end(const std::vector<Bytes> &outputs);

  Fault fault_;
  std::function<void()> then_;
  cai_status status_ = CAI_OK;
  cai_error error_{};
  bool struck_ = false;
  std::string told_;
  int attempts_ = 0;
  long allocations_ = 0;
  std::vector<std::uint64_t> driver_calls_;
  std::vector<std::uint64_t> counted_;
  int reports_ = 0;
  std::vector<Handle> contexts_;
  int mode_ = 0;
};

struct Scenario {
  const char *function;
  const char *name;
  void (*run)(Trial &trial);
  enum Trait : unsigned {
    for_ever = 1,   // what it makes is never ended: it registers something, say
    any_result = 2  // what comes of it may differ when it does without something
  };
  unsigned traits = 0;
};

std::vector<Scenario> core_scenarios();
std::vector<Scenario> order_scenarios();
std::vector<Scenario> device_scenarios();
std::vector<Scenario> memory_scenarios();
std::vector<Scenario> exchange_scenarios();
std::vector<Scenario> adaptor_scenarios();

}  // namespace test
