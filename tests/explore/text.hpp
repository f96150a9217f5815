// SPDX-License-Identifier: BSD-3-Clause
// Programs as lines of text, for the corpus:
//
//   plain stream N1 1 | use 0 B1 write | sync_host 0 read
//
// First who keeps the array, how it says its stream, the stream that the producer wrote on and the
// one that is said; then the steps: what, which array, on which stream, and how.
#ifndef TESTS_EXPLORE_TEXT_HPP
#define TESTS_EXPLORE_TEXT_HPP

#include <optional>
#include <sstream>
#include <string>

#include "model/programs.hpp"

namespace order_model {

inline constexpr const char *kKeeperWords[] = {"plain", "reclaims", "stream_ordered", "foreign"};
inline constexpr const char *kSaidWords[] = {"none", "stream", "event"};
inline constexpr const char *kStreamWords[] = {"1", "2", "2'", "B1", "B2", "N1", "N2", "1'"};
inline constexpr const char *kOpWords[] = {
    "use",       "begin",   "end",     "text",          "text_host", "release_on", "same_stream",
    "sync_host", "produce", "publish", "publish_event", "drop",      "import"};

inline std::string text_of(const Program &program) {
  const Beginning &it = program.beginning;
  std::string text = std::string(kKeeperWords[it.keeper]) + " " + kSaidWords[it.said] + " " +
                     kStreamWords[it.work] + " " + kStreamWords[it.target];
  for (const Step &step : program.steps) {
    text += std::string(" | ") + kOpWords[step.op] + " " + std::to_string(step.array);
    if (on_streams(step.op)) text += std::string(" ") + kStreamWords[step.stream];
    if (accesses(step.op)) text += step.writes ? " write" : " read";
  }
  return text;
}

// Reads a word of a list; false if it is not in the list.
template <class Value, std::size_t count>
bool read_word(std::istream &in, const char *const (&words)[count], Value &out) {
  std::string word;
  in >> word;
  for (std::size_t i = 0; i < count; ++i) {
    if (word == words[i]) {
      out = static_cast<Value>(i);
      return true;
    }
  }
  return false;
}

inline std::optional<Program> program_of(const std::string &text) {
  std::istringstream in(text);
  Program program{};
  Beginning &it = program.beginning;
  if (!read_word(in, kKeeperWords, it.keeper) || !read_word(in, kSaidWords, it.said) ||
      !read_word(in, kStreamWords, it.work) || !read_word(in, kStreamWords, it.target)) {
    return {};
  }
  constexpr const char *kAccesses[] = {"read", "write"};
  for (std::string bar; in >> bar;) {
    Step step{kClose, 0, kHost, false};
    int array = 0;
    int access = 0;
    if (bar != "|" || !read_word(in, kOpWords, step.op) || !(in >> array) || array < 0 ||
        array >= kMaxArrays || (on_streams(step.op) && !read_word(in, kStreamWords, step.stream)) ||
        (accesses(step.op) && !read_word(in, kAccesses, access))) {
      return {};
    }
    step.array = static_cast<std::int8_t>(array);
    step.writes = access == 1;
    program.steps.push_back(step);
  }
  return program;
}

}  // namespace order_model

#endif  // TESTS_EXPLORE_TEXT_HPP
