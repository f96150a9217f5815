#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prove that the GPU suite skips aloud, and ends well, where there is no driver.

usage: check_no_driver.py RUN_PY
"""

import os
import re
import subprocess
import sys


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    # Whatever driver there is, of a machine or simcuda, it is not for this process.
    blocker = "import ctypes\nclass None_:\n    def __init__(self, *a, **k): raise OSError\n"
    code = f"{blocker}ctypes.CDLL = None_\nimport runpy, sys\nsys.argv = sys.argv[1:]\n"
    code += "runpy.run_path(sys.argv[0], run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", code, sys.argv[1]],
        capture_output=True,
        text=True,
        env=os.environ,
    )
    assert done.returncode == 0, done.stderr
    told = re.fullmatch(r"GPU suite: (\d+) skipped: no CUDA driver here\n", done.stdout)
    assert told, done.stdout
    assert int(told[1]) > 150, done.stdout


if __name__ == "__main__":
    main()
