// SPDX-License-Identifier: BSD-3-Clause
#include "image.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "fatbin.h"
#include "machine_code.h"

namespace simcuda {
namespace {

constexpr std::string_view names_begin = "simcuda module\n", texts_begin = "simcuda linked\n";
constexpr unsigned architecture = 90;  // of the simulated devices

bool begins(const void *bytes, std::size_t room, std::string_view with) {
  return room >= with.size() &&
         std::strncmp(static_cast<const char *>(bytes), with.data(), with.size()) == 0;
}

// Up to its end, or the terminating zero.
std::string_view text_at(const void *bytes, std::size_t room) {
  const char *text = static_cast<const char *>(bytes);
  return {text, room == unknown_room ? std::strlen(text) : strnlen(text, room)};
}

// Whether its first word, after comments, is .version.
bool is_ptx(std::string_view text) {
  for (;;) {
    const auto word = text.find_first_not_of(" \t\r\n");
    if (word == text.npos) return false;
    text.remove_prefix(word);
    const bool line = text.starts_with("//");
    if (!line && !text.starts_with("/*")) return text.starts_with(".version");
    const auto end = text.find(line ? "\n" : "*/", 2);
    if (end == text.npos) return false;
    text.remove_prefix(end + (line ? 1 : 2));
  }
}

Texts texts_of_fat_binary(const void *container, std::size_t room) {
  if (!container) throw BadImage{CUDA_ERROR_INVALID_IMAGE, "the fat binary is empty"};
  const auto entries = fat_entries(container, room);
  const FatEntry *best = nullptr;
  for (const FatEntry &entry : entries)
    if (entry.kind == FatEntry::Kind::ptx && entry.architecture <= architecture &&
        (!best || entry.architecture > best->architecture))
      best = &entry;
  if (!best)
    throw BadImage{
        CUDA_ERROR_NO_BINARY_FOR_GPU,
        "the fat binary holds no PTX for compute_90 or older, and simcuda cannot execute "
        "machine code: compile with -gencode arch=compute_90,code=compute_90"};
  const std::string text = unpack(*best);
  return {std::string(text_at(text.data(), text.size()))};
}

// "simcuda linked\n", and for each text its size, a line feed and the text; a size of 0 ends it.
Texts texts_of_linked(std::string_view rest) {
  Texts texts;
  for (;;) {
    std::size_t size = 0;
    const auto end = rest.find('\n');
    const auto read = std::from_chars(rest.data(), rest.data() + std::min(end, rest.size()), size);
    if (end == rest.npos || read.ec != std::errc{} || size > rest.size() - end - 1)
      throw BadImage{CUDA_ERROR_INVALID_IMAGE, "what the linker made has been cut off"};
    if (size == 0) return texts;
    texts.emplace_back(rest.substr(end + 1, size));
    rest.remove_prefix(end + 1 + size);
  }
}

Image image_of_names(std::string_view rest) {
  Image image;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    const auto found = registered_kernel(name);
    if (!found) throw Refused{CUDA_ERROR_INVALID_IMAGE};
    image.kernels.push_back(found);
  }
  return image;
}

// A registered kernel that replaces one is launched as such.
void check_arguments(const KernelCode &registered, const kernel::Kernel &kernel) {
  bool same = registered.arguments.size() == kernel.parameters.size();
  for (std::size_t i = 0; same && i < kernel.parameters.size(); ++i)
    same = registered.arguments[i].offset == kernel.parameters[i].offset &&
           registered.arguments[i].size == kernel.parameters[i].size;
  if (!same)
    throw BadImage{CUDA_ERROR_INVALID_IMAGE, "the kernel that was registered as '" +
                                                 registered.name +
                                                 "' has other arguments than the image's"};
}

std::vector<std::string> opaque_kernels(const void *bytes, std::size_t room) {
  if (!is_fat_wrapper(bytes) && !is_fat_binary(bytes)) return kernels_of_machine_code(bytes, room);
  const void *container = is_fat_wrapper(bytes) ? wrapped(bytes) : bytes;
  std::vector<std::string> names;
  for (const FatEntry &entry : fat_entries(container, room)) {
    if (entry.kind != FatEntry::Kind::elf) continue;
    const std::string code = unpack(entry);
    for (std::string &name : kernels_of_machine_code(code.data(), code.size()))
      names.push_back(std::move(name));
  }
  return names;
}

// The registered kernels among those of machine code: they need not be executed. If none is
// registered, nothing more of the image is read, since there may be no more than its first bytes.
Image image_of_machine_code(const void *bytes, std::size_t room) {
  Image image;
  if (!are_kernels_registered()) return image;
  try {
    for (const std::string &name : opaque_kernels(bytes, room))
      if (auto registered = registered_kernel(name)) image.kernels.push_back(std::move(registered));
  } catch (const std::runtime_error &) {  // it is incomplete
  }
  return image;
}

Image image_of(const kernel::ModulePtr &ptx) {
  Image image;
  image.ptx = ptx;
  for (const kernel::Kernel &kernel : ptx->kernels) {
    if (const auto registered = registered_kernel(kernel.name)) {
      check_arguments(*registered, kernel);
      image.kernels.push_back(registered);
      continue;
    }
    auto code = std::make_shared<KernelCode>();
    code->name = kernel.name;
    for (const kernel::Parameter &parameter : kernel.parameters)
      code->arguments.push_back({parameter.offset, parameter.size});
    code->argument_bytes = kernel.parameter_bytes;
    code->ptx = ptx;
    code->kernel = &kernel;
    image.kernels.push_back(std::move(code));
  }
  return image;
}

}  // namespace

unsigned architecture_of(std::string_view target) {
  constexpr std::string_view begins = "sm_";
  unsigned found = 0;
  if (target.starts_with(begins))
    std::from_chars(target.data() + begins.size(), target.data() + target.size(), found);
  return found;
}

Texts texts_of(const void *bytes, std::size_t room) {
  if (room < 4) throw BadImage{CUDA_ERROR_INVALID_IMAGE, "there is no image"};
  try {
    if (begins(bytes, room, texts_begin))
      return texts_of_linked(text_at(bytes, room).substr(texts_begin.size()));
    if (begins(bytes, room, "\177ELF"))
      throw BadImage{
          CUDA_ERROR_NO_BINARY_FOR_GPU,
          "this is machine code (a cubin), which simcuda cannot execute: it needs PTX, or "
          "a stand-in for one of its kernels"};
    // The first bytes may be read only one by one, since a text may end there.
    if (!begins(bytes, room, ".") && text_at(bytes, std::min<std::size_t>(room, 4)).size() == 4) {
      if (is_fat_wrapper(bytes)) {
        if (room != unknown_room)
          throw BadImage{CUDA_ERROR_INVALID_IMAGE,
                         "this only says where a fat binary is in memory"};
        return texts_of_fat_binary(wrapped(bytes), room);
      }
      if (is_fat_binary(bytes)) return texts_of_fat_binary(bytes, room);
    }
  } catch (const std::runtime_error &error) {
    throw BadImage{CUDA_ERROR_INVALID_IMAGE, error.what()};
  }
  const std::string_view text = text_at(bytes, room);
  if (!is_ptx(text))
    throw BadImage{CUDA_ERROR_INVALID_IMAGE,
                   "this is neither PTX, which begins with .version, nor a fat binary"};
  return {std::string(text)};
}

std::string linked_image(const Texts &texts) {
  std::string image(texts_begin);
  for (const std::string &text : texts) image += std::to_string(text.size()) + '\n' + text;
  return image + "0\n";
}

kernel::ModulePtr compile(const Texts &texts) {
  if (texts.empty()) throw BadImage{CUDA_ERROR_INVALID_IMAGE, "there is no PTX"};
  try {
    std::vector<kernel::ModulePtr> modules;
    for (const std::string &text : texts) modules.push_back(kernel::parse(text));
    const auto module = modules.size() == 1 ? modules.front() : kernel::link(modules);
    if (!module->unresolved.empty())
      throw BadImage{CUDA_ERROR_INVALID_PTX,
                     "'" + module->unresolved.front() + "' is declared, and defined nowhere"};
    const unsigned wanted = architecture_of(module->target);
    if (!wanted || wanted > architecture)
      throw BadImage{CUDA_ERROR_INVALID_PTX, "its target is " + module->target +
                                                 ", and the simulated devices are of sm_90"};
    return module;
  } catch (const kernel::Invalid &invalid) {
    throw BadImage{CUDA_ERROR_INVALID_PTX, std::string("PTX, ") + invalid.what()};
  }
}

void refuse_image(const char *symbol, const BadImage &bad, JitOptions &options) {
  std::fprintf(stderr, "simcuda: %s: %s\n", symbol, bad.why.c_str());
  options.error(bad.why + '\n');
  throw Refused{bad.result};
}

Image load_image(Session &session, const char *symbol, const void *bytes, JitOptions &options,
                 std::size_t room) {
  if (!bytes) throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (begins(bytes, room, names_begin))
    return image_of_names(text_at(bytes, room).substr(names_begin.size()));
  try {
    session.lock.unlock();
    const auto ptx = compile(texts_of(bytes, room));
    session.lock.lock();
    return image_of(ptx);
  } catch (const BadImage &bad) {
    if (!session.lock.owns_lock()) session.lock.lock();
    if (bad.result == CUDA_ERROR_NO_BINARY_FOR_GPU)
      if (Image image = image_of_machine_code(bytes, room); !image.kernels.empty()) return image;
    refuse_image(symbol, bad, options);
  }
}

std::string read_file(const char *path) {
  if (!path) throw Refused{CUDA_ERROR_INVALID_VALUE};
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Refused{CUDA_ERROR_FILE_NOT_FOUND};
  return {std::istreambuf_iterator<char>(file), {}};
}

Image load_file(Session &session, const char *symbol, const char *path, JitOptions &options) {
  const std::string bytes = read_file(path);
  return load_image(session, symbol, bytes.data(), options, bytes.size());
}

}  // namespace simcuda
