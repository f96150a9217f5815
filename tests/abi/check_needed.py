# SPDX-License-Identifier: BSD-3-Clause
"""What the library asks of the machine it is loaded on: the C library, and nothing else.

usage: check_needed.py LIBRARY SOVERSION
"""

import re
import subprocess
import sys

from tap import Tap, program_environment, tool

# The C library in all its parts (one file since glibc 2.34), and its loader.
ALLOWED = re.compile(r"lib(c|m|dl|pthread|rt)\.so\.\d+|ld-linux[\w.-]*\.so\.\d+|ld64\.so\.\d+")


def main():
    library, soversion = sys.argv[1:]
    dynamic = subprocess.run(
        [tool("readelf"), "--dynamic", "--wide", library],
        check=True,
        capture_output=True,
        text=True,
        env=program_environment(),
    ).stdout
    # "0x...01 (NEEDED)  Shared library: [libc.so.6]": by tag.
    entries = re.findall(r"\((\w+)\)\s+(.*)", dynamic)
    values = {tag: [text for t, text in entries if t == tag] for tag, _ in entries}

    def bracketed(tag):
        return [re.search(r"\[(.*)\]", text)[1] for text in values.get(tag, [])]

    tap = Tap()
    soname = bracketed("SONAME")
    tap.check(soname == [f"libcai.so.{soversion}"], "the soname", f"it is {soname}")
    needed = bracketed("NEEDED")
    tap.check(needed, "the dynamic section was read")
    for name in needed:
        tap.check(ALLOWED.fullmatch(name), f"needs {name}", "only the C library may be needed")
    for tag in ("RPATH", "RUNPATH", "TEXTREL"):
        tap.check(tag not in values, f"no {tag}", *values.get(tag, []))
    tap.finish()


if __name__ == "__main__":
    main()
