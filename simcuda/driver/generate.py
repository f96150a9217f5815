#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the compiled form of simcuda's symbol table.

usage: generate.py SYMBOLS_TSV SOURCE... > table.cpp

Each source defines entry points as `SIM_API CUresult cuName(parameters) {`. For every
symbol of the table, the output holds
  - nothing but a declaration, if a source defines it;
  - a thunk, if it is a per-thread flavour (_ptds, _ptsz) of one that a source defines:
    stream 0 then means the per-thread default stream;
  - else a function that counts the call and returns CUDA_ERROR_NOT_SUPPORTED.
"""

import pathlib
import re
import sys

ENTRY = re.compile(r"^SIM_API CUresult (cu\w+)\((.*?)\)\s*\{", re.M | re.S)


def read_table(path):
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            base, version, flavour, symbol = line.split("\t")
            yield base, int(version), flavour, symbol


def argument_names(parameters):
    if parameters.strip() in ("", "void"):
        return []
    return [re.search(r"(\w+)\s*(?:\[\])?$", p.strip())[1] for p in parameters.split(",")]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    table = list(read_table(pathlib.Path(sys.argv[1])))
    defined = {}
    for source in sys.argv[2:]:
        for name, parameters in ENTRY.findall(pathlib.Path(source).read_text()):
            if name in defined:
                sys.exit(f"{name} is defined twice")
            defined[name] = " ".join(parameters.split())
    unknown = set(defined) - {symbol for *_, symbol in table}
    if unknown:
        sys.exit(f"not in the symbol table: {', '.join(sorted(unknown))}")

    out = ['#include "call.h"', '#include "table.h"', ""]
    for *_, flavour, symbol in table:
        legacy = symbol.removesuffix(f"_{flavour}")
        if symbol in defined:
            out.append(f"SIM_API CUresult {symbol}({defined[symbol]});")
        elif legacy in defined:
            parameters = defined[legacy]
            out += [
                f"SIM_API CUresult {symbol}({parameters}) {{",
                "  simcuda::PerThreadDefault scope;",
                f"  return {legacy}({', '.join(argument_names(parameters))});",
                "}",
            ]
        else:
            out.append(
                f"SIM_API CUresult {symbol}(void) {{ return simcuda::unsupported(__func__); }}"
            )
    out += ["", "namespace simcuda {", "", "const Symbol symbols[] = {"]
    for base, version, flavour, symbol in sorted(table):
        fields = f'"{base}", {version}, Flavour::{flavour}, "{symbol}"'
        out.append(f"    {{{fields}, reinterpret_cast<void *>({symbol})}},")
    out += ["};", f"const std::size_t symbol_count = {len(table)};", "", "} // namespace simcuda"]
    print("\n".join(out))


if __name__ == "__main__":
    main()
