// SPDX-License-Identifier: BSD-3-Clause
// What modules and libraries are loaded from: PTX, fat binaries that hold it, what the linker made
// of several, and the names of registered kernels.
#pragma once

#include "jit.h"
#include "kernel.h"

namespace simcuda {

// An image that is refused, and why.
struct BadImage {
  CUresult result;
  std::string why;
};

// PTX texts to be linked with each other.
using Texts = std::vector<std::string>;

// Those of an image that `bytes` begin; `room` of them may be read, if that is known. Throws
// BadImage.
inline constexpr std::size_t unknown_room = SIZE_MAX;
Texts texts_of(const void *bytes, std::size_t room);
// Texts as one image, to be loaded later.
std::string linked_image(const Texts &texts);
// Throws BadImage.
kernel::ModulePtr compile(const Texts &texts);

// What a call was given to load. What is wrong with it is said on standard error, and in the log of
// the client's. The simulator's lock is let go while PTX is compiled.
Image load_image(Session &session, const char *symbol, const void *bytes, JitOptions &options,
                 std::size_t room = unknown_room);
Image load_file(Session &session, const char *symbol, const char *path, JitOptions &options);
[[noreturn]] void refuse_image(const char *symbol, const BadImage &bad, JitOptions &options);
// A whole file. Throws Refused if it cannot be read.
std::string read_file(const char *path);

}  // namespace simcuda
