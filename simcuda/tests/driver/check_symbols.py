#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check a built simcuda against its symbol table.

usage: check_symbols.py LIBCUDA SYMBOLS_TSV

Every symbol of the table is exported, nothing else but simcuda_* is, and
cuGetProcAddress_v2 finds each (base, version, flavour) under its symbol; as an older driver, only
what there was by then.
"""

import ctypes
import os
import pathlib
import subprocess
import sys

FLAGS = {"legacy": 1, "ptds": 2, "ptsz": 2}
OLDER = 11080, 12040, 12080
INVALID_VALUE, NOT_FOUND_STATUS = 1, 1


def read_rows(path):
    lines = pathlib.Path(path).read_text().splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def check_older(library, rows, driver):
    """Names that a driver of that version does not find as it must."""
    reported = ctypes.c_int()
    assert library.cuDriverGetVersion(ctypes.byref(reported)) == 0
    assert reported.value == driver, reported.value
    symbols = {}  # by what can be asked for: its versions, oldest first
    for base, version, flavour, symbol in rows:
        symbols.setdefault((base, flavour), []).append((int(version), symbol))

    def ask(base, version, flavour):
        pointer, status = ctypes.c_void_p(), ctypes.c_int()
        result = library.cuGetProcAddress_v2(
            base.encode(),
            ctypes.byref(pointer),
            version,
            ctypes.c_uint64(FLAGS[flavour]),
            ctypes.byref(status),
        )
        return result, pointer.value, status.value

    newer = 0
    for (base, flavour), versions in symbols.items():
        known = [symbol for version, symbol in sorted(versions) if version <= driver]
        if not known and flavour != "legacy":
            known = [s for v, s in sorted(symbols[base, "legacy"]) if v <= driver]
        address = known and ctypes.cast(getattr(library, known[-1]), ctypes.c_void_p).value
        expected = (0, address, 0) if known else (0, None, NOT_FOUND_STATUS)
        assert ask(base, driver, flavour) == expected, (base, flavour)
        for version, _ in versions:
            if version > driver:
                newer += 1
                assert ask(base, version, flavour)[:2] == (INVALID_VALUE, None), (base, version)
    assert newer > 0


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    library = ctypes.CDLL(sys.argv[1])
    rows = read_rows(sys.argv[2])
    if len(sys.argv) == 4:
        check_older(library, rows, int(sys.argv[3]))
        return
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
    # A setting is read once in a process.
    for driver in OLDER:
        environment = {**os.environ, "SIMCUDA": "1", "SIMCUDA_DRIVER_VERSION": str(driver)}
        command = [sys.executable, __file__, *sys.argv[1:3], str(driver)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            wrong.append(f"as a driver {driver}: {done.stderr.strip().splitlines()[-1]}")
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(rows)} symbols of {len({row[0] for row in rows})} names")


if __name__ == "__main__":
    main()
