// SPDX-License-Identifier: BSD-3-Clause
// The images of modules and libraries: PTX, fat binaries that contain it, the linker's results, and
// the names of registered kernels.
#pragma once

#include "jit.h"
#include "kernel.h"

namespace simcuda {

// An invalid image, and the reason.
struct BadImage {
  CUresult result;
  std::string why;
};

// PTX texts to be linked with each other.
using Texts = std::vector<std::string>;

// Reads the image at `bytes`, of which `room` bytes may be read, if that is known. Throws BadImage.
inline constexpr std::size_t unknown_room = SIZE_MAX;
Texts texts_of(const void *bytes, std::size_t room);
// Texts as one image, to be loaded later.
std::string linked_image(const Texts &texts);
// Of a target: 90 of "sm_90a"; 0: it is none.
unsigned architecture_of(std::string_view target);
// Throws BadImage.
kernel::ModulePtr compile(const Texts &texts);

// Loads the image that a call was given. Errors are reported on standard error and in the client's
// log. Releases the simulator's lock while PTX is compiled.
Image load_image(Session &session, const char *symbol, const void *bytes, JitOptions &options,
                 std::size_t room = unknown_room);
Image load_file(Session &session, const char *symbol, const char *path, JitOptions &options);
[[noreturn]] void refuse_image(const char *symbol, const BadImage &bad, JitOptions &options);
// Reads a whole file. Throws Refused if that fails.
std::string read_file(const char *path);

}  // namespace simcuda
