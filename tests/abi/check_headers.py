# SPDX-License-Identifier: BSD-3-Clause
"""Each public header compiles alone, in every standard, without a warning, in each compiler here.

usage: check_headers.py INCLUDE_DIR
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tap import Tap, program_environment, tool

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wundef", "-Werror"]
C = ["c99", "c11", "c17"]
CPP = ["c++11", "c++17", "c++20"]
# They need Python's, CCCL's, UMF's, ... own headers: their own tests compile them.
BRIDGES = {"python.h", "python.hpp", "nanobind.h", "pybind11.h"}
BRIDGES |= {"cccl.hpp", "umf.h", "umf_manager.h"}


def compilers():
    """(compiler, language) for GCC always and for clang where there is one."""
    yield tool("gcc"), "c"
    yield tool("g++"), "c++"
    newest = (
        shutil.which(f"clang{suffix}") for suffix in ("", *(f"-{n}" for n in range(22, 13, -1)))
    )
    if clang := next(filter(None, newest), None):
        yield clang, "c"
        yield clang, "c++"


def standards(header, language):
    """The standards that a header is for: .hpp is C++20."""
    if header.suffix == ".hpp":
        return CPP[-1:] if language == "c++" else []
    return C if language == "c" else CPP


def main():
    include = Path(sys.argv[1])
    now = int(re.search(r"_HEADER_VERSION (\d+)", (include / "cai/array.h").read_text())[1])
    headers = sorted(path.relative_to(include) for path in include.rglob("*.h*"))
    headers = [header for header in headers if header.name not in BRIDGES]
    tap = Tap()
    for compiler, language in compilers():
        for header in headers:
            for standard in standards(header, language):
                # Padding would be bytes that two compilers might place differently. Arrow's own
                # struct has some.
                may_pad = header.suffix == ".hpp" or header.name == "arrow.h"
                padded = [] if may_pad else ["-Wpadded"]
                command = [compiler, "-x", language, f"-std={standard}", *WARNINGS, *padded]
                # Programs that include these may ask as much of what they include.
                command += ["-Wold-style-cast"] if language == "c++" else []
                command += ["-fsyntax-only", f"-I{include}", "-"]
                done = subprocess.run(
                    command,
                    # Twice: the guard works. A declaration: C wants one in each unit.
                    input=f"#include <{header}>\n#include <{header}>\nextern int cai_test_unit;\n",
                    capture_output=True,
                    text=True,
                    env=program_environment(),
                )
                name = f"{header} as {standard} with {Path(compiler).name}"
                tap.check(done.returncode == 0, name, *done.stderr.splitlines()[:20])
    # A copy of array.h that is older than cai.h, and was included before it.
    for compiler, language in compilers():
        older = (
            (include / "cai/array.h").read_text().replace(f"VERSION {now}", f"VERSION {now - 1}")
        )
        command = [compiler, "-x", language, "-fsyntax-only", f"-I{include}", "-"]
        done = subprocess.run(
            command,
            input=f"{older}\n#include <cai.h>\n",
            capture_output=True,
            text=True,
            env=program_environment(),
        )
        said = "is older than this cai.h" in done.stderr
        tap.check(done.returncode != 0 and said, f"an older array.h with {Path(compiler).name}")
    # No CUDA header is needed to include ours.
    for header in headers:
        foreign = re.findall(
            r"^\s*#\s*include\s*[<\"]((?:cuda|cu|nv|driver_types)[^>\"]*)",
            (include / header).read_text(),
            re.MULTILINE,
        )
        tap.check(not foreign, f"{header} includes no CUDA header", *foreign)
    tap.finish()


if __name__ == "__main__":
    main()
