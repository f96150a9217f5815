# SPDX-License-Identifier: BSD-3-Clause
"""No object of the library was built with a CUDA header, whether or not the machine has one.

usage: check_no_cuda.py BUILD_ROOT OBJECT_FOLDER
"""

import re
import subprocess
import sys
from pathlib import PurePath

from tap import Tap, program_environment, tool

CUDA_HEADER = re.compile(r"(cuda|cudaTypedefs|cuda_\w+|driver_types|vector_types|nvtx?\w*)\.h(pp)?")


def main():
    build, objects = sys.argv[1:]
    deps = subprocess.run(
        [tool("ninja", "ninja-build"), "-C", build, "-t", "deps"],
        check=True,
        capture_output=True,
        text=True,
        env=program_environment(),
    ).stdout
    tap = Tap()
    # "OBJECT: #deps 12, ...", then one indented path a line.
    for block in re.split(r"\n(?=\S)", deps):
        target, *paths = block.splitlines() or [""]
        target = target.partition(":")[0]
        if target.startswith(objects):
            cuda = [p for p in paths if CUDA_HEADER.fullmatch(PurePath(p.strip()).name)]
            tap.check(paths and not cuda, target, *cuda)
    tap.check(tap.points > 0, "the objects' dependencies were read")
    tap.finish()


if __name__ == "__main__":
    main()
