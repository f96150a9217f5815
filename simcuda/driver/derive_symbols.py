#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Derive simcuda/symbols.tsv from a CUDA toolkit's headers.

usage: derive_symbols.py INCLUDE_DIR > simcuda/symbols.tsv

Run once for each CUDA version that simcuda follows; the output is committed, so
building needs no CUDA. INCLUDE_DIR holds cuda.h and cudaTypedefs.h (for example
nvidia/cu13/include of an unpacked nvidia-cuda-runtime wheel). Only facts are
taken: names and numbers.

Where the facts come from:
  *Typedefs.h   a typedef PFN_<base>_v<version>[_ptsz|_ptds] for each pair that
                cuGetProcAddress knows
  cuda.h        #define <base> [__CUDA_API_PTSZ|PTDS](<symbol>): the exported
                symbol that the newest version of a base name stands for

A base name with N legacy versions exports base, base_v2, ... base_vN, in order of
version. The per-thread flavours either follow the same order (one for each
version) or exist only for the newest symbol.
"""

import pathlib
import re
import sys

# The profiler's calls come with a typedef header only.
HEADERS = ("cuda", "cudaGL", "cudaEGL", "cudaVDPAU", "cudaProfiler")


def read_headers(include):
    typedefs, defines = {}, {}
    for name in HEADERS:
        path = include / f"{name}Typedefs.h"
        if path.exists():
            for base, version, flavour in re.findall(
                r"\bPFN_(cu\w+?)_v(\d+)(_ptsz|_ptds)?\)", path.read_text(encoding="latin-1")
            ):
                typedefs.setdefault(base, {}).setdefault(flavour[1:], set()).add(int(version))
        path = include / f"{name}.h"
        if path.exists():
            for base, wrapped, plain in re.findall(
                r"^\s*#\s*define\s+(cu[A-Z]\w*)\s+(?:__CUDA_API_PT(?:DS|SZ)\((cu\w+)\)|(cu[A-Z]\w+))\s*$",
                path.read_text(encoding="latin-1"),
                re.M,
            ):
                defines.setdefault(base, set()).add(wrapped or plain)
            # Later versions that have no macro are declared under their own name.
            for name in re.findall(
                r"CUDAAPI\s+(cu[A-Z]\w*)\s*\(", path.read_text(encoding="latin-1")
            ):
                defines.setdefault(re.sub(r"_v\d+$", "", name), set()).add(name)
    return typedefs, defines


def symbol(base, index):
    return base if index == 0 else f"{base}_v{index + 1}"


def rows(typedefs, defines):
    for base in sorted(typedefs):
        legacy = sorted(typedefs[base].get("", ()))
        newest = symbol(base, len(legacy) - 1)
        stated = defines.get(base, {base})
        if newest not in stated:
            sys.exit(f"{base}: {len(legacy)} versions, but cuda.h says {sorted(stated)}")
        for index, version in enumerate(legacy):
            yield base, version, "legacy", symbol(base, index)
        for flavour in ("ptds", "ptsz"):
            versions = sorted(typedefs[base].get(flavour, ()))
            if len(versions) == len(legacy):
                for index, version in enumerate(versions):
                    yield base, version, flavour, f"{symbol(base, index)}_{flavour}"
            elif len(versions) == 1:
                yield base, versions[0], flavour, f"{newest}_{flavour}"
            elif versions:
                sys.exit(f"{base}: {flavour} versions {versions} against legacy {legacy}")


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    include = pathlib.Path(sys.argv[1])
    table = sorted(rows(*read_headers(include)))
    version = re.search(
        r"#define\s+CUDA_VERSION\s+(\d+)", (include / "cuda.h").read_text(encoding="latin-1")
    )
    print(f"# CUDA {version[1]}: written by simcuda/derive_symbols.py; names and numbers only")
    print("# base\tversion\tflavour\tsymbol")
    for base, number, flavour, name in table:
        print(f"{base}\t{number}\t{flavour}\t{name}")


if __name__ == "__main__":
    main()
