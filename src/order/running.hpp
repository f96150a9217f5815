// SPDX-License-Identifier: BSD-3-Clause
// Ends and frees that are running now, on whatever thread. They call functions of clients, which
// may take long.
#pragma once

#include <cstdint>

#include "core/must_not_await.hpp"
#include "core/visitors.hpp"

namespace cai::order {

enum class Runs {
  end,       // an end or a free, or a look at whether a free can run
  own_free,  // one of libcai's, which needs no lock of a client's
};

// What runs on this thread, of what is put off. It is made before that is taken from the list which
// others look at.
class Running {
 public:
  explicit Running(Runs what) noexcept;
  Running(const Running &) = delete;
  Running &operator=(const Running &) = delete;
  ~Running();
  static bool is_here() noexcept;

  // It is the end that this release has deferred.
  void is_of(std::uint64_t release) noexcept;

 private:
  MustNotAwait here_;
  Visitors::Visit visit_;
  std::uint64_t release_around_;
};

// Releases that are deferred are numbered, so that a drain need not wait for later ones. What an
// end releases in turn has the number of that end; what a free releases, that of the free.
std::uint64_t number_of_release() noexcept;
std::uint64_t last_release() noexcept;

// Not within a MustNotAwait, or a function on a GPU stream.
bool may_await_running() noexcept;

// Waits until all of that kind which other threads run now is over, and returns whether there was
// any. Returns at once if this thread may not wait.
bool await_running(Runs what) noexcept;

}  // namespace cai::order
