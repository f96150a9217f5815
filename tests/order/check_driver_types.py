#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares src/driver with CUDA's own header, where one is found: in the toolkit (CUDA_HOME), or in
the wheel nvidia-cuda-runtime of this interpreter or of the checkout's .venv. Without one it skips.

usage: check_driver_types.py ROOT COMPILER...
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

SKIP = 77  # as Meson understands it


def candidates(root: Path):
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(name):
            yield Path(os.environ[name]) / "include"
    packages = [Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("platlib"))]
    packages += sorted((root / ".venv").glob("lib*/python3*/site-packages"))
    for package in packages:
        # nvidia/cu13/include since CUDA 13, nvidia/cuda_runtime/include before.
        yield from sorted((package / "nvidia").glob("cu*/include"), reverse=True)
    yield Path("/usr/local/cuda/include")


def main() -> int:
    root, compiler = Path(sys.argv[1]), sys.argv[2:]
    headers = ("cuda.h", "cudaTypedefs.h")
    for include in candidates(root):
        if all((include / header).is_file() for header in headers):
            break
    else:
        print("no CUDA header: neither a toolkit nor the wheel nvidia-cuda-runtime is installed")
        return SKIP
    command = [*compiler, "-std=c++20", "-fsyntax-only", "-I", str(root / "src")]
    command += ["-isystem", str(include), str(root / "tests/order/check_driver_types.cpp")]
    result = subprocess.run(command)
    print(f"compared with {include / 'cuda.h'}:", "differs" if result.returncode else "the same")
    return 1 if result.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
