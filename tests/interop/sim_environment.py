# SPDX-License-Identifier: BSD-3-Clause
"""How the tests of this folder start a client on simcuda."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def library_dir():
    """The folder of the built libcuda.so.1; without one these tests fail, and never skip."""
    folder = pathlib.Path(
        os.environ.get("SIMCUDA_LIBRARY_DIR", ROOT / "build-simcuda/driver")
    ).resolve()
    assert (folder / "libcuda.so.1").exists(), f"simcuda is not built: no libcuda.so.1 in {folder}"
    return folder


def shims():
    """Libraries before NVIDIA's compilers, so that simcuda gets kernels as PTX."""
    for version in (13, 12):
        for name in (f"libnvJitLink.so.{version}", f"libnvrtc.so.{version}"):
            beside = library_dir() / name
            yield beside if beside.exists() else library_dir().parent / f"shims/{version}/{name}"


def environment(**extra):
    """The caller's environment, with simcuda in it and nothing else that any of them reads."""
    foreign = ("SIMCUDA", "NUMBA_", "CUDA_", "CAI_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
    paths = [str(library_dir()), *filter(None, [kept.get("LD_LIBRARY_PATH")])]
    simulated = {
        "SIMCUDA": "1",
        "LD_LIBRARY_PATH": os.pathsep.join(paths),
        "LD_PRELOAD": ":".join(map(str, shims())),
    }
    return kept | simulated | extra


def run_python(code, *arguments, timeout=300, **extra):
    """Run a script on simcuda; what it printed, or an assertion with all that it said."""
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=environment(**extra),
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert result.returncode == 0, f"exit {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result.stdout
