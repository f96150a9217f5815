// SPDX-License-Identifier: BSD-3-Clause
// The symbol table (symbols.tsv), as generate.py compiles it.
#pragma once

#include <cstddef>

namespace simcuda {

enum class Flavour { legacy, ptds, ptsz };

struct Symbol {
  const char *base;
  int version;  // the CUDA version that introduced it
  Flavour flavour;
  const char *name;
  void *function;
};

extern const Symbol symbols[];  // sorted by base name, then by version
extern const std::size_t symbol_count;

}  // namespace simcuda
