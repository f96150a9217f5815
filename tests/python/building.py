# SPDX-License-Identifier: BSD-3-Clause
"""What tests compile: each thing once in a session, by whichever process needs it first.

The fixture `built` gives it: `built("exporters", build_example, "exporters")` is the folder of that
name, in which `build_example(folder, "exporters")` has been called.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import nanobind
import pytest
from helpers import LIMIT, ROOT

import libcai

# The settings of Cargo and maturin: those of tools/test, so that they find what it has built, and
# for which Python.
CARGO_TARGET = ROOT / "bindings/rust/target"
CARGO = {
    "CARGO_TARGET_DIR": str(CARGO_TARGET),
    "CARGO_PROFILE_DEV_DEBUG": "0",
    "LIBCAI_DIR": str(Path(libcai.__file__).parent),
    "PYO3_BUILD_EXTENSION_MODULE": "1",
    "PYO3_PYTHON": sys.executable,
}


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """A function (name, build, *arguments) that returns the folder which build() has filled."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent  # each worker has its own below

    def once(name, build, *arguments):
        folder = shared / "built" / name
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / ".built").open("a+") as stamp:
            fcntl.flock(stamp, fcntl.LOCK_EX)
            stamp.seek(0)
            if not stamp.read():
                build(folder, *arguments)
                stamp.write("built")
        return folder

    return once


def run_command(*command, folder=None, **environment):
    """Runs a command; returns what it printed."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def config(*questions):
    """The flags that the installed package gives compilers: config("--cflags", "--libs")."""
    return run_command(sys.executable, "-m", "libcai", "config", *questions).split()


def build_example(folder, example):
    """Builds the module of an example, as its own setup.py says."""
    shutil.copytree(ROOT / "examples" / example, folder, dirs_exist_ok=True)
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    run_command(*command, folder=folder, CFLAGS="-O0")


def copy_example(example, folder):
    """A copy of an example's folder: all that it is built of, but for what is installed."""
    ignored = shutil.ignore_patterns("out", "__pycache__", "*.so", "*.egg-info", "build", "target")
    return shutil.copytree(ROOT / "examples" / example, folder, ignore=ignored)


def run_readme(folder, out):
    """Runs the commands of the README in a folder, line by line: those that are set off by blanks.
    What they install goes to `out`."""
    text = (folder / "README.md").read_text(encoding="utf-8").replace("CLONE", str(ROOT))
    outside = "".join(text.split("```")[::2]).splitlines()
    commands = [line[4:] for line in outside if line.startswith("    ")]
    assert commands
    done = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", "\n".join(commands)],
        cwd=folder,
        env={
            **quiet_environment(),
            **CARGO,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_DEPS": "1",
            "PIP_TARGET": str(out),
            "PYTHONPATH": str(out),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def quiet_environment():
    """Ours, but for what another pytest or simcuda would take for its own; and for CI, under which
    pytest folds nothing."""
    ours = os.environ.items()
    return {k: v for k, v in ours if k != "CI" and not k.startswith(("SIMCUDA", "PYTEST"))}


def build_explorer(folder):
    """Compiles tests/explore, less what is C++'s own, as a library that Python plays with."""
    source = ROOT / "tests/explore"
    supports = (ROOT / "tests/support", ROOT / "simcuda/tests/support")
    flags = ["-O1", "-fPIC", "-D_GNU_SOURCE", *(f"-I{support}" for support in supports)]
    flags += config("--cflags")
    stage = folder / "stage.o"
    run_command("cc", *flags, "-c", source / "stage.c", "-o", stage)
    command = ["c++", "-std=c++20", "-shared", *flags, source / "explore.cpp", stage]
    run_command(*command, *config("--libs"), "-o", folder / "explorer.so")


def build_crate(folder, workspace, package, *options):
    """Builds a Rust package that is a module of the same name."""
    command = ["cargo", "build", "--quiet", "--locked", f"--package={package}", *options]
    run_command(*command, folder=ROOT / workspace, **CARGO)
    shutil.copy(CARGO_TARGET / f"debug/lib{package}.so", folder / f"{package}.abi3.so")


def build_rust_example(folder):
    """Builds examples/extensions/rust from a copy, as its README says."""
    source = copy_example("extensions/rust", folder / "source")
    crates = source / ".cargo/config.toml"
    crates.parent.mkdir()
    crates.write_text(f'[patch.crates-io]\nlibcai.path = "{ROOT}/bindings/rust/libcai"\n')
    build_crate(folder, source, "clear_rust")


def build_nanobind(folder):
    """Compiles nanobind's own sources, for modules to be linked with."""
    include = Path(nanobind.include_dir())
    folders = [include, include.parent / "ext/robin_map/include", sysconfig.get_path("include")]
    command = ["c++", "-std=c++20", "-O0", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing"]
    command += ["-w", *(f"-I{folder}" for folder in folders), "-c"]
    run_command(*command, include.parent / "src/nb_combined.cpp", "-o", folder / "nanobind.o")
