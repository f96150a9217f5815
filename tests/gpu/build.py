#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Builds what the GPU suite needs: libcai by Meson where that is, else by the compiler alone; the
programs in C; and the Python package, where its tools are. Nothing is fetched.

usage: build.py --check-sources FILE...    prove that the list for the compiler is Meson's own
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent


class BuildFailed(Exception):
    """The programs that could not be built."""


def _run(command, what, **options):
    done = subprocess.run(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    )
    if done.returncode != 0:
        raise BuildFailed(f"{what}:\n" + "\n".join(done.stdout.splitlines()[-20:]))


def sources():
    """The files that src/sources.txt names."""
    lines = (ROOT / "src/sources.txt").read_text().splitlines()
    return [ROOT / "src" / line for line in lines if line and not line.startswith("#")]


def _by_meson(folder):
    build = folder / "meson"
    if not (build / "build.ninja").exists():
        setup = ["meson", "setup", build, ROOT, "-Dtests=false", "-Dsimcuda=false"]
        _run(setup, "meson setup failed")
    _run(["ninja", "-C", build], "the build by meson failed")
    return build / "src/libcai.so"


def _by_compiler(folder):
    compiler = os.environ.get("CXX", "c++").split()
    flags = ["-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", f"-I{ROOT}/include"]
    flags.append(f"-I{ROOT}/src")
    objects = folder / "objects"
    objects.mkdir(parents=True, exist_ok=True)

    def compile_one(source):
        made = objects / f"{source.parent.name}-{source.stem}.o"
        command = [*compiler, *flags, "-c", source, "-o", made]
        _run(command, f"{source.name} does not compile")
        return made

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(compile_one, sources()))
    library = folder / "libcai.so.1"
    link = [*compiler, "-shared", "-Wl,-soname,libcai.so.1", "-o", library, *made]
    for file in ("libcai.map", "libcai-memory.map"):
        link.append(f"-Wl,--version-script={ROOT}/src/{file}")
    link += ["-pthread", "-ldl"]
    _run(link, "libcai does not link")
    shutil.copy(library, folder / "libcai.so")
    return folder / "libcai.so"


def libcai(folder):
    """Builds the library; returns its path, and by what."""
    if shutil.which("meson") and shutil.which("ninja"):
        return _by_meson(folder), "meson"
    return _by_compiler(folder), "the compiler alone, without meson"


def order_programs():
    """What this suite has, and what docs/reference/order.rst shows."""
    return sorted(HERE.glob("order_*.c")) + sorted((ROOT / "examples/order").glob("*.c"))


def programs(folder, library):
    """Compiles the programs in C against the library."""
    compiler = os.environ.get("CC", "cc").split()
    for source in order_programs():
        command = [*compiler, "-std=gnu99", "-O1", f"-I{ROOT}/include"]
        command += [f"-I{ROOT}/simcuda/tests/support"]
        command += [source, "-o", folder / source.stem, library, f"-Wl,-rpath,{library.parent}"]
        _run([*command, "-pthread", "-ldl"], f"{source.name} does not compile")


PACKAGE_TOOLS = ("pip", "mesonpy", "Cython", "cffi")
PACKAGE_COMMANDS = ("patchelf",)


def package(folder):
    """Builds the Python package into a folder; returns that folder, or what was missing."""
    missing = [tool for tool in PACKAGE_TOOLS if not importlib.util.find_spec(tool)]
    missing += [command for command in PACKAGE_COMMANDS if not shutil.which(command)]
    if missing:
        return None, f"no {', '.join(missing)}"
    target = folder / "python"
    shutil.rmtree(target, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    command += ["--no-build-isolation", "--target", target, ROOT]
    _run(command, "the Python package could not be built")
    return target, None


def main():
    if sys.argv[1:2] != ["--check-sources"]:
        sys.exit(__doc__)
    given = {Path(name).resolve() for name in sys.argv[2:]}
    assert given == set(sources()), given ^ set(sources())


if __name__ == "__main__":
    main()
