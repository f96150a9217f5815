// SPDX-License-Identifier: BSD-3-Clause
#include "real_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

// A symbol by which a shim recognises another one.
extern "C" __attribute__((visibility("default"))) const char simcuda_shim = 1;

namespace simcuda {
namespace {

constexpr int majors[] = {CUDA_MAJOR, CUDA_MAJOR == 13 ? 12 : 13};  // this shim's own first

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> matching(const std::string &pattern) {
  std::vector<std::string> paths;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

// The site-packages folder that contains a file; empty if there is none.
std::string packages_around(std::string_view path) {
  for (std::string_view name : {"/site-packages/", "/dist-packages/"})
    if (auto at = path.find(name); at != path.npos)
      return std::string(path.substr(0, at + name.size() - 1));
  return {};
}

void add(std::vector<std::string> &folders, std::string folder) {
  if (folder.empty()) return;
  for (const std::string &other : folders)
    if (other == folder) return;
  folders.push_back(std::move(folder));
}

int add_packages_of_object(dl_phdr_info *object, std::size_t, void *folders) {
  std::string_view path = object->dlpi_name ? object->dlpi_name : "";
  if (path.find("/simcuda/lib/") == path.npos)
    add(*static_cast<std::vector<std::string> *>(folders), packages_around(path));
  return 0;
}

// That of the Python in this process, which contains what it imports. Without Python, that of the
// user's environment, and that in which simcuda itself is installed.
std::vector<std::string> folders_of_packages() {
  std::vector<std::string> folders;
  dl_iterate_phdr(add_packages_of_object, &folders);
  if (std::string active = environment("VIRTUAL_ENV"); !active.empty())
    for (std::string &found : matching(active + "/lib/python3*/site-packages"))
      add(folders, std::move(found));
  Dl_info here;
  if (dladdr(&simcuda_shim, &here) && here.dli_fname) add(folders, packages_around(here.dli_fname));
  return folders;
}

// Where cuda.pathfinder and the loader look, in their order.
std::vector<std::string> folders_of_libraries(const char *folder_of_cuda_12) {
  std::vector<std::string> folders;
  for (const std::string &packages : folders_of_packages())
    for (int major : majors)
      add(folders, packages + "/nvidia/" + (major == 13 ? "cu13" : folder_of_cuda_12) + "/lib");
  if (std::string conda = environment("CONDA_PREFIX"); !conda.empty()) add(folders, conda + "/lib");
  std::string path = environment("LD_LIBRARY_PATH");
  for (std::size_t begin = 0; begin <= path.size();) {
    std::size_t end = std::min(path.find_first_of(":;", begin), path.size());
    add(folders, path.substr(begin, end - begin));
    begin = end + 1;
  }
  for (std::string root :
       {environment("CUDA_PATH"), environment("CUDA_HOME"), std::string("/usr/local/cuda")})
    if (!root.empty())
      for (const char *inside : {"/lib64", "/lib"}) add(folders, root + inside);
  for (const char *folder :
       {"/usr/lib64", "/usr/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"})
    add(folders, folder);
  return folders;
}

// NVRTC's builtins, which it looks for itself; in some wheels it does not look in its own folder.
void load_builtins(const std::string &pattern) {
  for (const std::string &path : matching(pattern)) dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

void *RealLibrary::load_from(const char *folder) {
  for (int major : majors) {
    std::string path = std::string(folder) + "/" + name_ + ".so." + std::to_string(major);
    if (access(path.c_str(), R_OK) != 0) continue;
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      std::fprintf(stderr, "simcuda: %s\n", dlerror());
    } else if (dlsym(handle, "simcuda_shim")) {
      dlclose(handle);
    } else {
      load_builtins(std::string(folder) + "/" + name_ + "-builtins.so." + std::to_string(major) +
                    ".*");
      return handle;
    }
  }
  return nullptr;
}

void *RealLibrary::load() {
  if (void *handle = handle_) return handle;
  void *handle = nullptr;
  for (const std::string &folder : folders_of_libraries(folder_))
    if ((handle = load_from(folder.c_str()))) break;
  return handle_ = handle;
}

void *RealLibrary::find(const char *function) {
  void *handle = load();
  void *found = handle ? dlsym(handle, function) : nullptr;
  if (!found && !told_.exchange(true)) {
    if (handle)
      std::fprintf(stderr, "simcuda: the %s that is installed has no %s: install a newer %s\n",
                   name_, function, package_);
    else
      std::fprintf(stderr,
                   "simcuda: %s needs NVIDIA's %s, and there is none: pip install %s "
                   "(for CUDA 12: %s-cu12), or set CUDA_HOME\n",
                   function, name_, package_, package_);
  }
  return found;
}

}  // namespace simcuda
