// SPDX-License-Identifier: BSD-3-Clause
// The ordering calls of a libcai are written down by where they come from, or are dropped so. All
// of src/order, src/memory and src/driver in it keeps frame pointers, which makes that cheap. This
// is a library of its own, since programs count what libcai allocates.
//
//   CAI_SITES=record:FILE   at the end, a line into FILE for each stack that there was:
//                               FUNCTION OFFSET...    the innermost first
//   CAI_SITES=drop:FILE     the calls whose stacks begin as a line of FILE does are dropped
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "intercept.hpp"
#include "must.h"

namespace mutants {
namespace {

constexpr int most_frames = 80;

using Stack = std::vector<std::uintptr_t>;  // offsets of calls in libcai

// The address of libcai.
struct Library {
  std::uintptr_t begin = 0, end = 0;

  Library() {
    begin = reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, "cai_drain"));
    MUST_BE(dl_iterate_phdr(take, this), 1);
  }

 private:
  static int take(dl_phdr_info *info, std::size_t, void *context) {
    auto &it = *static_cast<Library *>(context);
    std::uintptr_t last = 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const auto &header = info->dlpi_phdr[i];
      if (header.p_type == PT_LOAD) last = info->dlpi_addr + header.p_vaddr + header.p_memsz;
    }
    if (it.begin < info->dlpi_addr || it.begin >= last) return 0;
    it = Library(info->dlpi_addr, last);
    return 1;
  }
  Library(std::uintptr_t from, std::uintptr_t to) : begin(from), end(to) {}
};

std::uintptr_t end_of_stack() {
  thread_local std::uintptr_t end = 0;
  if (end) return end;
  pthread_attr_t attributes;
  void *begin = nullptr;
  std::size_t size = 0;
  MUST(pthread_getattr_np(pthread_self(), &attributes));
  MUST(pthread_attr_getstack(&attributes, &begin, &size));
  MUST(pthread_attr_destroy(&attributes));
  return end = reinterpret_cast<std::uintptr_t>(begin) + size;
}

// The frames of libcai, those between which it has called its caller too. Beyond one that keeps no
// frame pointer they may be anything.
[[gnu::noinline]] Stack stack_here() {
  Stack stack;
  static const Library libcai;
  const std::uintptr_t last = end_of_stack() - 2 * sizeof(std::uintptr_t);
  const auto *frame = static_cast<const std::uintptr_t *>(__builtin_frame_address(0));
  for (int depth = 0; depth < most_frames; ++depth) {
    const std::uintptr_t next = frame[0], back = frame[1];
    const bool is_here = back >= libcai.begin && back < libcai.end;
    if (is_here) stack.push_back(back - libcai.begin - 1);  // a return address: the call is before
    if (next <= reinterpret_cast<std::uintptr_t>(frame) || next > last || next % 8 != 0) break;
    frame = reinterpret_cast<const std::uintptr_t *>(next);
  }
  return stack;
}

struct Sites {
  std::mutex mutex;
  std::map<std::string, std::map<Stack, long>> seen;
  std::map<std::string, std::vector<Stack>> dropped;
  std::string file;
  long drops = 0;

  Sites() {
    const char *const said = std::getenv("CAI_SITES");
    MUST_HOLD(said);
    const std::string what = said;
    const std::size_t colon = what.find(':');
    file = what.substr(colon + 1);
    if (what.substr(0, colon) != "drop") return;
    std::ifstream in(file);
    MUST_HOLD(in.good());
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string function;
      words >> function >> std::hex;
      Stack stack;
      for (std::uintptr_t offset; words >> offset;) stack.push_back(offset);
      dropped[function].push_back(stack);
    }
    file.clear();
  }

  void write() {
    const std::lock_guard lock(mutex);
    if (file.empty()) {
      std::printf("# dropped %ld calls\n", drops);
      return;
    }
    std::ofstream out(file);
    for (const auto &[function, stacks] : seen) {
      for (const auto &[stack, count] : stacks) {
        out << function << std::hex;
        for (const std::uintptr_t offset : stack) out << ' ' << offset;
        out << '\n';
      }
    }
  }
};

Sites &sites() {
  static auto *const made = [] {
    auto *const sites = new Sites;  // never destroyed: threads of the driver's may outlive it
    std::atexit([] { mutants::sites().write(); });
    return sites;
  }();
  return *made;
}

}  // namespace

bool drops(const char *function) {
  Sites &all = sites();
  if (!all.file.empty()) {
    const Stack stack = stack_here();
    const std::lock_guard lock(all.mutex);
    ++all.seen[function][stack];
    return false;
  }
  const auto found = all.dropped.find(function);
  if (found == all.dropped.end()) return false;
  const Stack stack = stack_here();
  for (const Stack &each : found->second) {
    if (stack.size() < each.size() || !std::equal(each.begin(), each.end(), stack.begin()))
      continue;
    ++all.drops;
    return true;
  }
  return false;
}

}  // namespace mutants
