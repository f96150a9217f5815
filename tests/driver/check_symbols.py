#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check a built simcuda against its symbol table.

usage: check_symbols.py LIBCUDA SYMBOLS_TSV

Every symbol of the table is exported, nothing else but simcuda_* is, and
cuGetProcAddress_v2 finds each (base, version, flavour) under its symbol.
"""

import ctypes
import pathlib
import subprocess
import sys

FLAGS = {"legacy": 1, "ptds": 2, "ptsz": 2}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    library = ctypes.CDLL(sys.argv[1])
    lines = pathlib.Path(sys.argv[2]).read_text().splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    wrong = []

    def address(symbol):
        try:
            return ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value
        except AttributeError:
            wrong.append(f"{symbol} is not exported")
            return None

    for base, version, flavour, symbol in rows:
        expected = address(symbol)
        pointer, status = ctypes.c_void_p(), ctypes.c_int()
        result = library.cuGetProcAddress_v2(
            base.encode(),
            ctypes.byref(pointer),
            int(version),
            ctypes.c_uint64(FLAGS[flavour]),
            ctypes.byref(status),
        )
        if (result, pointer.value, status.value) != (0, expected, 0):
            wrong.append(
                f"{base} {version} {flavour}: result {result}, status {status.value}, not {symbol}"
            )

    listing = subprocess.run(
        ["nm", "-D", "--defined-only", sys.argv[1]], capture_output=True, text=True, check=True
    )
    exported = {line.split()[-1].split("@")[0] for line in listing.stdout.splitlines()}
    extra = {
        name for name in exported - {row[3] for row in rows} if not name.startswith("simcuda_")
    }
    wrong += [f"{name} is exported but not in the table" for name in sorted(extra)]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(rows)} symbols of {len({row[0] for row in rows})} names")


if __name__ == "__main__":
    main()
