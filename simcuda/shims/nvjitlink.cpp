// SPDX-License-Identifier: BSD-3-Clause
// libnvJitLink for its clients: NVIDIA's own, except that the linked cubin is replaced by PTX.
// NVIDIA's library links LTO-IR to PTX, in a separate link. PTX texts stay as they are, one after
// the other; the driver links them when it loads them. NVIDIA's library says whether the link is
// valid.
#include <pthread.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "real_library.h"

namespace {

using simcuda::RealLibrary;

RealLibrary real{"libnvJitLink", "nvidia-nvjitlink", "nvjitlink"};

using Result = int;
using Type = int;
using Handle = struct LinkOfNvJitLink *;
constexpr Result success = 0, internal_error = 6;
constexpr Type cubin_input = 1, ptx_input = 2, lto_ir_input = 3;

enum class Code { ptx, lto_ir, library, machine };

Code code_of(std::string_view bytes) {
  if (bytes.starts_with("\xed\x43\x4e\x7f")) return Code::lto_ir;
  if (bytes.starts_with("!<arch>\n")) return Code::library;
  for (char byte : bytes.substr(0, 4))  // a text has no zero among these
    if (static_cast<unsigned char>(byte) >= 0x7f) return Code::machine;
  return bytes.find(".version") == bytes.npos ? Code::machine : Code::ptx;
}

struct Input {
  Code code;
  std::string bytes, name;
};

struct Link {
  std::vector<std::string> options;
  std::vector<Input> inputs;
  // Set once the link is complete: what replaces the cubin (nothing if empty), and NVIDIA's link
  // that made it all, if that is not the client's.
  std::string ptx;
  Handle maker = nullptr;
};

// Not held while NVIDIA's library works.
std::mutex mutex;
std::map<Handle, Link> &links = *new std::map<Handle, Link>;
[[maybe_unused]] const int held_while_forking =
    pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });

// Calls a function with a link, if it is known.
template <class Action>
void with(Handle handle, Action &&action) {
  std::lock_guard lock(mutex);
  if (auto found = links.find(handle); found != links.end()) action(found->second);
}

// Reads a file; empty if that fails: NVIDIA's library then reports it.
std::string bytes_of(const char *path) {
  std::string bytes;
  if (std::FILE *file = path ? std::fopen(path, "rb") : nullptr) {
    char some[4096];
    while (std::size_t count = std::fread(some, 1, sizeof some, file)) bytes.append(some, count);
    std::fclose(file);
  }
  return bytes;
}

// A register limit is not an option of a link of LTO-IR to PTX. In PTX it is a directive of each
// kernel.
void limit_registers(std::string &ptx, const std::vector<std::string> &options) {
  constexpr std::string_view option = "-maxrregcount=";
  for (const std::string &given : options) {
    if (!given.starts_with(option)) continue;
    const std::string directive = "\n.maxnreg " + given.substr(option.size()) + "\n";
    for (std::size_t at = 0; (at = ptx.find(".entry ", at)) != ptx.npos;) {
      at = std::min(ptx.find_first_of("{;", at), ptx.size());
      if (at < ptx.size() && ptx[at] == '{') ptx.insert(at, directive), at += directive.size();
    }
  }
}

// The link to use in the place of a link.
Handle maker_of(Handle handle) {
  Handle maker = handle;
  with(handle, [&](const Link &link) {
    if (link.maker) maker = link.maker;
  });
  return maker;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))
#define REAL(name, ...) simcuda::call(real, #name, name, internal_error, __VA_ARGS__)
#define FORWARD(name, parameters, ...) \
  EXPORT Result name parameters {      \
    return REAL(name, __VA_ARGS__);    \
  }

FORWARD(nvJitLinkVersion, (unsigned *major, unsigned *minor), major, minor)
FORWARD(nvJitLinkGetLinkedPtxSize, (Handle handle, std::size_t *size), handle, size)
FORWARD(nvJitLinkGetLinkedPtx, (Handle handle, char *ptx), handle, ptx)
FORWARD(nvJitLinkGetLinkedLTOIRSize, (Handle handle, std::size_t *size), handle, size)
FORWARD(nvJitLinkGetLinkedLTOIR, (Handle handle, void *ir), handle, ir)
FORWARD(nvJitLinkGetErrorLogSize, (Handle handle, std::size_t *size), maker_of(handle), size)
FORWARD(nvJitLinkGetErrorLog, (Handle handle, char *log), maker_of(handle), log)
FORWARD(nvJitLinkGetInfoLogSize, (Handle handle, std::size_t *size), maker_of(handle), size)
FORWARD(nvJitLinkGetInfoLog, (Handle handle, char *log), maker_of(handle), log)

EXPORT Result nvJitLinkCreate(Handle *handle, std::uint32_t count, const char *const *options) {
  Result result = REAL(nvJitLinkCreate, handle, count, options);
  if (result == success) {
    std::lock_guard lock(mutex);
    links[*handle] = {{options, options + count}, {}, {}, nullptr};
  }
  return result;
}

EXPORT Result nvJitLinkDestroy(Handle *handle) {
  Handle maker = nullptr;
  if (handle) {
    with(*handle, [&](const Link &link) { maker = link.maker; });
    std::lock_guard lock(mutex);
    links.erase(*handle);
  }
  if (maker) REAL(nvJitLinkDestroy, &maker);
  return REAL(nvJitLinkDestroy, handle);
}

EXPORT Result nvJitLinkAddData(Handle handle, Type type, const void *data, std::size_t size,
                               const char *name) {
  Input input{Code::machine, {}, name ? name : ""};
  if (data) input.bytes.assign(static_cast<const char *>(data), size);
  input.code = code_of(input.bytes);
  // NVRTC's shim returns this as a cubin.
  if (type == cubin_input && input.code == Code::ptx) type = ptx_input;
  Result result = REAL(nvJitLinkAddData, maker_of(handle), type, data, size, name);
  if (result == success) with(handle, [&](Link &link) { link.inputs.push_back(std::move(input)); });
  return result;
}

EXPORT Result nvJitLinkAddFile(Handle handle, Type type, const char *path) {
  Input input{Code::machine, bytes_of(path), path ? path : ""};
  input.code = code_of(input.bytes);
  if (type == cubin_input && input.code == Code::ptx)
    return nvJitLinkAddData(handle, type, input.bytes.data(), input.bytes.size(), path);
  Result result = REAL(nvJitLinkAddFile, maker_of(handle), type, path);
  if (result == success) with(handle, [&](Link &link) { link.inputs.push_back(std::move(input)); });
  return result;
}

EXPORT Result nvJitLinkComplete(Handle handle);

// Links the LTO-IR of a link to PTX. Returns the new link, or null.
static Handle link_to_ptx(const Link &link, std::string &ptx) {
  std::vector<const char *> options;
  for (const std::string &option : link.options) options.push_back(option.c_str());
  options.push_back("-ptx");
  Handle handle = nullptr;
  if (REAL(nvJitLinkCreate, &handle, static_cast<std::uint32_t>(options.size()), options.data()))
    return nullptr;
  Result result = success;
  for (const Input &input : link.inputs)
    if (input.code == Code::lto_ir && result == success)
      result = REAL(nvJitLinkAddData, handle, lto_ir_input, input.bytes.data(), input.bytes.size(),
                    input.name.c_str());
  std::size_t size = 0;
  if (result == success) result = REAL(nvJitLinkComplete, handle);
  if (result == success) result = REAL(nvJitLinkGetLinkedPtxSize, handle, &size);
  ptx.resize(size);
  if (result == success) result = REAL(nvJitLinkGetLinkedPtx, handle, ptx.data());
  ptx.resize(std::strlen(ptx.c_str()));
  if (result == success && !ptx.empty()) return handle;
  REAL(nvJitLinkDestroy, &handle);
  return nullptr;
}

EXPORT Result nvJitLinkComplete(Handle handle) {
  Link link;
  with(handle, [&](Link &known) {
    link.options = known.options;
    link.inputs.swap(known.inputs);
  });
  const auto any = [&](Code code) {
    return std::ranges::any_of(link.inputs, [&](auto &input) { return input.code == code; });
  };
  bool has_ptx = !any(Code::machine) && std::ranges::count(link.options, "-ptx") == 0;
  if (has_ptx && any(Code::lto_ir)) {
    Handle maker = link_to_ptx(link, link.ptx);
    limit_registers(link.ptx, link.options);
    // If there is nothing else, and nothing is missing, NVIDIA's library is not called again.
    if (maker && !any(Code::ptx) && link.ptx.find(".extern .func") == link.ptx.npos) {
      with(handle, [&](Link &known) {
        known.ptx = std::move(link.ptx);
        known.maker = maker;
      });
      return success;
    }
    has_ptx = maker != nullptr;
    if (maker) REAL(nvJitLinkDestroy, &maker);
  }
  Result result = REAL(nvJitLinkComplete, maker_of(handle));
  if (result != success || !has_ptx || link.inputs.empty()) return result;
  for (const Input &input : link.inputs)
    if (input.code == Code::ptx) {
      std::string text = input.bytes.c_str();
      limit_registers(text, link.options);
      link.ptx += text + "\n";
    }
  with(handle, [&](Link &known) { known.ptx = std::move(link.ptx); });
  return success;
}

EXPORT Result nvJitLinkGetLinkedCubinSize(Handle handle, std::size_t *size) {
  std::size_t ours = 0;
  with(handle, [&](const Link &link) { ours = link.ptx.size(); });
  if (ours == 0 || !size) return REAL(nvJitLinkGetLinkedCubinSize, handle, size);
  *size = ours + 1;
  return success;
}

EXPORT Result nvJitLinkGetLinkedCubin(Handle handle, void *cubin) {
  bool given = false;
  with(handle, [&](const Link &link) {
    given = cubin && !link.ptx.empty();
    if (given) std::memcpy(cubin, link.ptx.c_str(), link.ptx.size() + 1);
  });
  return given ? success : REAL(nvJitLinkGetLinkedCubin, handle, cubin);
}

// NVIDIA's header uses these names, one for each version. They are all the same.
#define VERSION_OF(name, major, minor) \
  EXPORT decltype(name) __##name##_##major##_##minor __attribute__((alias(#name)));
#define VERSIONS(name, major) \
  VERSION_OF(name, major, 0)  \
  VERSION_OF(name, major, 1)  \
  VERSION_OF(name, major, 2)  \
  VERSION_OF(name, major, 3)  \
  VERSION_OF(name, major, 4)  \
  VERSION_OF(name, major, 5)  \
  VERSION_OF(name, major, 6)  \
  VERSION_OF(name, major, 7)  \
  VERSION_OF(name, major, 8)  \
  VERSION_OF(name, major, 9)
#define ALL_VERSIONS(major)                    \
  VERSIONS(nvJitLinkCreate, major)             \
  VERSIONS(nvJitLinkDestroy, major)            \
  VERSIONS(nvJitLinkAddData, major)            \
  VERSIONS(nvJitLinkAddFile, major)            \
  VERSIONS(nvJitLinkComplete, major)           \
  VERSIONS(nvJitLinkGetLinkedCubinSize, major) \
  VERSIONS(nvJitLinkGetLinkedCubin, major)     \
  VERSIONS(nvJitLinkGetLinkedPtxSize, major)   \
  VERSIONS(nvJitLinkGetLinkedPtx, major)       \
  VERSIONS(nvJitLinkGetLinkedLTOIRSize, major) \
  VERSIONS(nvJitLinkGetLinkedLTOIR, major)     \
  VERSIONS(nvJitLinkGetErrorLogSize, major)    \
  VERSIONS(nvJitLinkGetErrorLog, major)        \
  VERSIONS(nvJitLinkGetInfoLogSize, major)     \
  VERSIONS(nvJitLinkGetInfoLog, major)
ALL_VERSIONS(CUDA_MAJOR)
