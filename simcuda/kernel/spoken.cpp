// SPDX-License-Identifier: BSD-3-Clause
#include "spoken.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace simcuda::kernel {

std::string spoken(const std::string &name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void *)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  if (!text || !name.starts_with("_Z")) return name;  // "i" is a type, and also a kernel's name
  std::string said = text.get();
  for (std::size_t begin; (begin = said.find("[abi:")) != said.npos;)
    said.erase(begin, said.find(']', begin) - begin + 1);  // or all that follows a name
  return said;
}

}  // namespace simcuda::kernel
