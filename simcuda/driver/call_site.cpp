// SPDX-License-Identifier: BSD-3-Clause
#include "call_site.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <set>

#include "debug_information.h"
#include "python_frames.h"

namespace simcuda {
namespace {

constexpr std::size_t most_told = 4;

using Addresses = std::vector<std::uintptr_t>;

struct Sites {
  std::mutex mutex;
  std::set<Frame> frames;  // shared by many sites
  std::map<std::vector<const Frame *>, Site> of_python;
  std::map<Addresses, Site> native;
  std::deque<CallSite> all;  // numbers begin at 1
  std::map<Site, std::string> told;
};

Sites &sites() {
  static auto *only = new Sites;
  return *only;
}

// The addresses of this library's code.
struct Code {
  std::uintptr_t begin = 0, end = 0;
};

Code own_code() {
  Code own;
  dl_iterate_phdr(
      [](dl_phdr_info *module, std::size_t, void *found) {
        const auto here = reinterpret_cast<std::uintptr_t>(&sites);
        for (int i = 0; i < module->dlpi_phnum; ++i) {
          const auto &part = module->dlpi_phdr[i];
          const std::uintptr_t start = module->dlpi_addr + part.p_vaddr;
          if (part.p_type != PT_LOAD || here - start >= part.p_memsz) continue;
          *static_cast<Code *>(found) = {start, start + part.p_memsz};
          return 1;
        }
        return 0;
      },
      &own);
  return own;
}

bool is_ours(std::uintptr_t address) {
  static const Code own = own_code();
  return address >= own.begin && address < own.end;
}

std::string program() {
  char path[PATH_MAX];
  const auto length = readlink("/proc/self/exe", path, sizeof path);
  return {path, static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

// The return addresses outside of this library.
Addresses native_addresses() {
  struct Walk {
    Addresses found;
    bool outside = false;
  } walk;
  _Unwind_Backtrace(
      [](_Unwind_Context *context, void *data) {
        Walk &here = *static_cast<Walk *>(data);
        int before_instruction = 0;
        std::uintptr_t address = _Unwind_GetIPInfo(context, &before_instruction);
        if (!address) return _URC_END_OF_STACK;
        address -= !before_instruction;  // in the call, not after it
        here.outside = here.outside || !is_ours(address);
        if (here.outside) here.found.push_back(address);
        return here.found.size() < most_frames ? _URC_NO_REASON : _URC_END_OF_STACK;
      },
      &walk);
  return walk.found;
}

// A library may have been loaded by a path that begins at the folder that was current.
std::string absolute(const char *file) {
  char path[PATH_MAX];
  return *file != '/' && realpath(file, path) ? path : file;
}

std::vector<Frame> frames_at(const Addresses &addresses) {
  std::vector<Frame> frames;
  for (const std::uintptr_t address : addresses) {
    Dl_info info{};
    link_map *map = nullptr;
    Frame frame{"?", address, ""};
    if (dladdr1(reinterpret_cast<void *>(address), &info, reinterpret_cast<void **>(&map),
                RTLD_DL_LINKMAP)) {
      frame.file = *map->l_name ? absolute(map->l_name) : program();  // whose own entry has no name
      frame.place -= map->l_addr;
      frame.function = info.dli_sname ? info.dli_sname : "";
    }
    frames.push_back(std::move(frame));
  }
  return frames;
}

// Called with the mutex of the sites.
std::vector<const Frame *> kept(std::vector<Frame> frames) {
  std::vector<const Frame *> all;
  for (Frame &frame : frames) all.push_back(&*sites().frames.insert(std::move(frame)).first);
  return all;
}

// Code that the client did not write. python/simcuda/_call_sites.py uses the same rule.
bool is_library(const std::string &file) {
  constexpr const char *begins[] = {
      "<frozen ",    "/lib/",           "/lib64/",       "/usr/lib/",
      "/usr/lib64/", "/usr/local/lib/", "/usr/include/", "/usr/local/include/"};
  constexpr const char *holds[] = {"/site-packages/", "/dist-packages/", "/lib/python3",
                                   "/include/c++/",   "/libc.so",        "/libc-",
                                   "/libpython",      "/libstdc++.so"};
  return std::ranges::any_of(begins, [&](auto *text) { return file.starts_with(text); }) ||
         std::ranges::any_of(holds, [&](auto *text) { return file.find(text) != file.npos; });
}

std::string without_folder(const std::string &file) {
  char folder[PATH_MAX];
  if (!getcwd(folder, sizeof folder)) return file;
  const std::string start = std::string(folder) + '/';
  return file.starts_with(start) ? file.substr(start.size()) : file;
}

std::string text_of(const Frame &frame, bool is_line) {
  char offset[24];
  std::snprintf(offset, sizeof offset, "+%#llx", static_cast<unsigned long long>(frame.place));
  const std::string text =
      without_folder(frame.file) + (is_line ? ':' + std::to_string(frame.place) : offset);
  return frame.function.empty() ? text : text + " in " + frame.function;
}

// What is known of a frame: several lines if calls were inlined, of the client's code or of all.
std::vector<std::string> texts_of(const Frame &frame, bool is_python, bool is_of_all) {
  if (!is_of_all && is_library(frame.file)) return {};
  if (is_python) return {text_of(frame, true)};
  const DebugInformation known = debug_information(frame);
  std::vector<std::string> texts;
  for (const Frame &line : known.lines)
    if (is_of_all || !is_library(line.file)) texts.push_back(text_of(line, true));
  if (known.lines.empty()) {
    const auto &function = known.function.empty() ? frame.function : known.function;
    texts.push_back(text_of({frame.file, frame.place, function}, false));
  }
  return texts;
}

std::string text_of(const CallSite &site) {
  std::vector<std::string> texts;
  for (const Frame *frame : site.frames) {
    if (frame->function.starts_with("__libc_start_main")) break;  // there main has this name
    for (std::string &text : texts_of(*frame, site.is_python, false))
      texts.push_back(std::move(text));
    if (texts.size() >= most_told) break;
  }
  if (texts.empty() && !site.frames.empty())
    texts = texts_of(*site.frames.front(), site.is_python, true);
  std::string whole;
  for (std::size_t i = 0; i < std::min(texts.size(), most_told); ++i)
    whole += (i ? ", from " : "") + texts[i];
  return whole;
}

}  // namespace

Site find_call_site() {
  std::vector<Frame> frames = python_frames();
  const bool is_python = !frames.empty();
  const Addresses addresses = is_python ? Addresses() : native_addresses();
  std::lock_guard guard(sites().mutex);
  const auto next = sites().all.size() + 1;
  if (is_python) {
    const auto place = kept(std::move(frames));
    const auto [found, is_new] = sites().of_python.try_emplace(place, next);
    if (is_new) sites().all.push_back({true, place});
    return found->second;
  }
  const auto [found, is_new] = sites().native.try_emplace(addresses, next);
  if (is_new) sites().all.push_back({false, kept(frames_at(addresses))});
  return found->second;
}

const CallSite &call_site(Site site) {
  std::lock_guard guard(sites().mutex);
  return sites().all[site - 1];
}

const std::string &told(Site site) {
  const CallSite &described = call_site(site);
  {
    std::lock_guard guard(sites().mutex);
    if (const auto found = sites().told.find(site); found != sites().told.end())
      return found->second;
  }
  std::string text = text_of(described);  // this may take a while
  std::lock_guard guard(sites().mutex);
  return sites().told.try_emplace(site, std::move(text)).first->second;
}

}  // namespace simcuda
