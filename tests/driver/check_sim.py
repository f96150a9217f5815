#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prove what tools/sim promises, from wherever and under whatever name it is called.

usage: check_sim.py TOOLS_SIM LIBCUDA_SO_1
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

LOADED = """
import ctypes
print(ctypes.CDLL("libcuda.so.1").cuInit(0), *[l.split(None, 5)[5].strip()
      for l in open("/proc/self/maps") if "libcuda.so" in l][:1])
"""


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sim, library = (pathlib.Path(p).resolve() for p in sys.argv[1:])
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SIMCUDA", "LD_"))}

    def run(*command, cwd="/", **environment):
        return subprocess.run(
            [str(part) for part in command],
            cwd=cwd,
            env={**kept, "SIMCUDA_BANNER": "0", **environment},
            capture_output=True,
            text=True,
        )

    def loads(folder, done):
        assert done.returncode == 0, done.stderr
        status, path = done.stdout.strip().split(" ", 1)
        assert (status, path) == ("0", str(pathlib.Path(folder).resolve() / library.name))

    here = {"SIMCUDA_LIBRARY_DIR": str(library.parent)}
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        python = [sys.executable, "-c", LOADED]

        # Called from elsewhere, through the path, through a link.
        loads(library.parent, run(sim, *python, **here))
        (scratch / "simulate").symlink_to(sim)
        loads(library.parent, run(scratch / "simulate", *python, **here))
        path = f"{sim.parent}:{kept.get('PATH', '')}"
        loads(library.parent, run("sh", "-c", 'sim "$@"', "-", *python, PATH=path, **here))

        # A checkout whose name holds blanks, and its own build.
        checkout = scratch / "my own checkout"
        (checkout / "tools").mkdir(parents=True)
        shutil.copy(sim, checkout / "tools/sim")
        missing = run(checkout / "tools/sim", *python)
        assert missing.returncode == 2
        assert "no libcuda.so.1 in" in missing.stderr
        (checkout / "build/simcuda").mkdir(parents=True)
        shutil.copy(library, checkout / "build/simcuda" / library.name)
        loads(checkout / "build/simcuda", run(checkout / "tools/sim", *python))
        (scratch / "linked").symlink_to(checkout / "tools/sim")
        loads(checkout / "build/simcuda", run(scratch / "linked", *python))

        # A folder relative to the caller's, whatever CDPATH says.
        relative = {"SIMCUDA_LIBRARY_DIR": "build/simcuda", "CDPATH": str(checkout)}
        loads(checkout / "build/simcuda", run(sim, *python, cwd=checkout, **relative))
        # The loader would take such a folder for two.
        colon = scratch / "a:b"
        colon.symlink_to(library.parent)
        refused = run(sim, *python, SIMCUDA_LIBRARY_DIR=str(colon))
        loads(library.parent, refused)  # by its true name

    # Arguments and exit status are the command's own.
    shown = run(sim, "sh", "-c", 'printf "[%s]" "$@"; exit 7', "-", "a b", "", "*", **here)
    assert (shown.returncode, shown.stdout) == (7, "[a b][][*]"), shown
    assert run(sim, "/no/such/command", **here).returncode == 127
    assert run(sim, "env", LD_LIBRARY_PATH="/x", **here).stdout.count(f"{library.parent}:/x\n") == 1

    # Help is an answer; no command is a mistake.
    for option in "-h", "--help":
        helped = run(sim, option)
        assert (helped.returncode, helped.stderr) == (0, "")
        assert helped.stdout.startswith("usage:")
    for wrong in [], ["--frobnicate", "true"]:
        told = run(sim, *wrong, **here)
        assert (told.returncode, told.stdout) == (2, "")
        assert told.stderr.startswith(("usage:", "tools/sim:"))


if __name__ == "__main__":
    main()
