// SPDX-License-Identifier: BSD-3-Clause
#include "call_site.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cstdio>

namespace simcuda {
namespace {

constexpr int most_frames = 24;

// What is needed of Python, if this process runs it. All of it is public, and the same since 3.10.
struct Python {
  using Object = void;
  int (*is_initialised)();
  int (*is_finalising)();
  Object *(*state_of_thread)();
  int (*ensure)();
  void (*release)(int);
  Object *(*frame)();
  Object *(*back)(Object *);
  Object *(*code)(Object *);
  int (*line)(Object *);
  Object *(*attribute)(Object *, const char *);
  const char *(*text)(Object *);
  void (*hold)(Object *);
  void (*let_go)(Object *);
  void (*fetch_error)(Object **, Object **, Object **);
  void (*restore_error)(Object *, Object *, Object *);

  static const Python *found() {
    static const Python python;
    return python.whole_ ? &python : nullptr;
  }

 private:
  bool whole_ = true;

  Python() {
    find(is_initialised, "Py_IsInitialized");
    find(state_of_thread, "PyGILState_GetThisThreadState");
    find(ensure, "PyGILState_Ensure");
    find(release, "PyGILState_Release");
    find(frame, "PyEval_GetFrame");
    find(back, "PyFrame_GetBack");
    find(code, "PyFrame_GetCode");
    find(line, "PyFrame_GetLineNumber");
    find(attribute, "PyObject_GetAttrString");
    find(text, "PyUnicode_AsUTF8");
    find(hold, "Py_IncRef");
    find(let_go, "Py_DecRef");
    find(fetch_error, "PyErr_Fetch");
    find(restore_error, "PyErr_Restore");
    const bool before = whole_;
    find(is_finalising, "Py_IsFinalizing");  // since 3.13
    if (before && !whole_) {
      whole_ = true;
      find(is_finalising, "_Py_IsFinalizing");
    }
  }

  template <class Function>
  void find(Function &function, const char *name) {
    function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
    whole_ = whole_ && function;
  }
};

std::string attribute(const Python &python, Python::Object *object, const char *name) {
  Python::Object *value = python.attribute(object, name);
  const char *text = value ? python.text(value) : nullptr;
  std::string copy = quoted(text ? text : "?");
  if (value) python.let_go(value);
  return copy;
}

const void *this_library() {
  static const void *base = [] {
    Dl_info info{};
    dladdr(reinterpret_cast<void *>(this_library), &info);
    return info.dli_fbase;
  }();
  return base;
}

std::string program() {
  char path[PATH_MAX];
  const auto length = readlink("/proc/self/exe", path, sizeof path);
  return {path, static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

bool is_ours(std::uintptr_t address) {
  Dl_info info{};
  return dladdr(reinterpret_cast<void *>(address), &info) && info.dli_fbase == this_library();
}

}  // namespace

std::string python_frames() {
  const Python *python = Python::found();
  // A thread that is not Python's has no frames, and at the end of Python nobody gets its lock.
  if (!python || !python->is_initialised() || python->is_finalising() || !python->state_of_thread())
    return {};
  const int state = python->ensure();
  Python::Object *type, *value, *traceback;
  python->fetch_error(&type, &value, &traceback);
  std::string frames;
  Python::Object *frame = python->frame();
  if (frame) python->hold(frame);
  for (int left = most_frames; frame; --left) {
    Python::Object *code = python->code(frame);
    frames += (frames.empty() ? "[" : ",[") + attribute(*python, code, "co_filename") + ',' +
              std::to_string(python->line(frame)) + ',' + attribute(*python, code, "co_name") + ']';
    python->let_go(code);
    Python::Object *back = left > 1 ? python->back(frame) : nullptr;
    python->let_go(frame);
    frame = back;
  }
  python->restore_error(type, value, traceback);
  python->release(state);
  return frames;
}

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

std::string native_frames(const Addresses &addresses) {
  std::string frames;
  for (const std::uintptr_t address : addresses) {
    Dl_info info{};
    link_map *map = nullptr;
    std::string module = "?";
    std::uintptr_t offset = address;
    if (dladdr1(reinterpret_cast<void *>(address), &info, reinterpret_cast<void **>(&map),
                RTLD_DL_LINKMAP)) {
      module = *map->l_name ? map->l_name : program();  // whose own entry has no name
      offset -= map->l_addr;
    }
    frames += (frames.empty() ? "[" : ",[") + quoted(module.c_str()) + ',' +
              std::to_string(offset) + ',' + quoted(info.dli_sname ? info.dli_sname : "") + ']';
  }
  return frames;
}

std::string quoted(const char *text) {
  std::string result = "\"";
  for (; *text; ++text) {
    const auto c = static_cast<unsigned char>(*text);
    char escaped[8];
    if (c == '"' || c == '\\' || c < 0x20) {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      result += escaped;
    } else {
      result += *text;
    }
  }
  return result + '"';
}

}  // namespace simcuda
