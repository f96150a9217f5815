# SPDX-License-Identifier: BSD-3-Clause
"""The types of all functions and structs are those of the frozen ABI, by libabigail's abidiff.

usage: check_abi.py FOLDER INCLUDE [--write]

FOLDER is this one. Functions may be added. A struct that grows at its tail, as its text allows, is
a change: --write makes the baseline anew, and the difference is to be read.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from tap import Tap, program_environment, tool

QUIET = ["--no-show-locs", "--no-corpus-path", "--no-comp-dir-path", "--no-elf-needed"]


def run(*command):
    command = list(map(str, command))
    return subprocess.run(command, capture_output=True, text=True, env=program_environment())


def compile_abi(folder, include, library):
    flags = ["-g", "-shared", "-fPIC", f"-I{include}", f"-I{folder}"]
    done = run(tool("gcc", "cc"), *flags, folder / "abi.c", "-o", library)
    if done.returncode:
        sys.exit(done.stderr)


def main():
    folder, include = map(Path, sys.argv[1:3])
    baseline = folder / "baseline.abi"
    with tempfile.TemporaryDirectory() as temporary:
        library = Path(temporary) / "libabi.so"
        compile_abi(folder, include, library)
        if "--write" in sys.argv:
            kept = ["--drop-undefined-syms", "--type-id-style", "hash"]
            made = run(tool("abidw"), *QUIET, *kept, library)
            text = made.stdout.replace(f"path='{folder}/", "path='")
            baseline.write_text(text)
            sys.exit(made.returncode)
        compared = run(tool("abidiff"), "--no-added-syms", baseline, library)
        tap = Tap()
        report = compared.stdout + compared.stderr
        tap.check(compared.returncode == 0, "the ABI is that of the baseline", *report.splitlines())

        # That it would be found.
        header = Path(temporary) / "include"
        for path in include.rglob("*.h"):
            changed = header / path.relative_to(include)
            changed.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text().replace("  uint32_t time_step;", "  uint64_t time_step;")
            changed.write_text(text)
        compile_abi(folder, header, library)
        compared = run(tool("abidiff"), baseline, library)
        tap.check(compared.returncode & 4, "a member of another size is found")
        tap.finish()


if __name__ == "__main__":
    main()
