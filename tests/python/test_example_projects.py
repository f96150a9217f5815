# SPDX-License-Identifier: BSD-3-Clause
"""Each folder of examples, copied elsewhere: what its README says works there."""

import subprocess
import sys
import sysconfig

import nanobind
import pytest
from building import (
    build_nanobind,
    config,
    copy_example,
    quiet_environment,
    run_command,
    run_readme,
)
from helpers import LIMIT, ROOT

pytestmark = pytest.mark.slow

# What the commands of each README print. The long run has those that compile much.
FOLDERS = {
    "adaptors": "0 kernels\n",
    "exporters": "typestr='<f4'",
    "framepool": " passed",
    "imagefilters": " passed",
    "ipc": "",
    "kit": " passed",
    "manager": "counting",
    "order": "Waits of the host: 0.\n",
    "pack": "all as it should be\n",
}
QUICK = ["adaptors", "ipc", "manager", "order"]


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in FOLDERS],
)
def test_readme(name, tmp_path):
    said = run_readme(copy_example(name, tmp_path / name), tmp_path / "out")
    assert FOLDERS[name] in said


def test_every_folder_has_a_readme():
    folders = [path for path in (ROOT / "examples").iterdir() if path.is_dir()]
    folders.remove(ROOT / "examples/readme")  # the project's own README: test_readme.py
    readme = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    assert sorted({*FOLDERS, "extensions"}) == sorted(folder.name for folder in folders)
    for folder in folders:
        assert (folder / "README.md").exists()
        assert f"[{folder.name}/]({folder.name})" in readme


# ---- The two libraries, compiled as the other modules of the tests are ---------------------------


def compile_project(folder, name, module, nanobind_object, *libs):
    """Compiles a copy of a project, in the place of CMake, with what warns of mistakes."""
    source = copy_example(name, folder / "source")
    if (source / "make_ptx.py").exists():
        run_command(sys.executable, "make_ptx.py", "filters_ptx.h", folder=source)
    compiler = ["c++", "-std=c++20", "-O0", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra"]
    compiler += ["-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", *config("--cflags")]
    compiler += ["-isystem", nanobind.include_dir(), "-isystem", sysconfig.get_path("include")]
    run_command(*compiler, "-c", source / "module.cpp", "-o", folder / "module.o")
    out = source / f"{module}{sysconfig.get_config_var('EXT_SUFFIX')}"
    run_command("c++", "-shared", folder / "module.o", nanobind_object, "-o", out, *libs)


def run_tests(folder, modules):
    """A project's own tests, under one schedule: the long run has the others."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:hypothesispytest",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(
        [*command, "--simcuda-schedules=lazy", "tests"],
        cwd=folder,
        env={**quiet_environment(), "PYTHONPATH": str(folder / modules)},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stdout


def test_imagefilters(built):
    library = built("nanobind", build_nanobind) / "nanobind.o"
    folder = built("imagefilters", compile_project, "imagefilters", "imagefilters", library)
    run_tests(folder / "source", ".")


def test_framepool(built):
    library = built("nanobind", build_nanobind) / "nanobind.o"
    # Without a path to libcai: its package has loaded it.
    libs = [flag for flag in config("--libs") if not flag.startswith("-Wl,")]
    name = "src/framepool/_framepool"
    folder = built("framepool", compile_project, "framepool", name, library, *libs)
    run_tests(folder / "source", "src")
