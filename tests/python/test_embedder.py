# SPDX-License-Identifier: BSD-3-Clause
"""The package in a program in C with threads of its own; in the long run all of it under TSan."""

import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from helpers import LIMIT, ROOT

import libcai

pytestmark = pytest.mark.slow


def call(*command, **options):
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=LIMIT, **options
    )
    assert done.returncode == 0, f"{shlex.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done


def embedder(folder, include, *flags):
    """Builds embedder.c against this very Python."""
    library = sysconfig.get_config_var("LIBDIR")
    version = sysconfig.get_config_var("LDVERSION")
    program = folder / "embedder"
    call(
        *["cc", "-std=c11", "-g", *flags, f"-I{include}", f"-I{sysconfig.get_path('include')}"],
        *[ROOT / "tests/python/embedder.c", "-o", program, "-pthread", "-rdynamic"],
        *[f"-L{library}", f"-Wl,-rpath,{library}", f"-lpython{version}"],
        *shlex.split(sysconfig.get_config_var("LIBS")),
        *shlex.split(sysconfig.get_config_var("SYSLIBS")),
    )
    return program


def run(program, package, **environment):
    """The program's output on stderr."""
    environment = {
        **os.environ,
        "PYTHONHOME": sys.base_prefix,
        "PYTHONPATH": str(package),
        **environment,
    }
    return call(program, env=environment).stderr


def test_threads(tmp_path):
    package = Path(libcai.__file__).parent
    assert run(embedder(tmp_path, package / "include"), package.parent) == ""


@pytest.mark.long
def test_threads_under_tsan(tmp_path):
    build = tmp_path / "build"
    options = ["-Dpython=true", "-Dtests=false", "-Dsimcuda=false", "-Db_sanitize=thread"]
    options += ["-Dpython.allow_limited_api=false", "-Doptimization=1"]
    options += [f"-Dpython.platlibdir={tmp_path}", f"--prefix={tmp_path}"]
    call("meson", "setup", build, ROOT, *options)
    call("meson", "compile", "-C", build)
    call("meson", "install", "-C", build, "--tags=runtime,python-runtime")
    program = embedder(tmp_path, ROOT / "include", "-fsanitize=thread")
    assert run(program, tmp_path, TSAN_OPTIONS="exitcode=66") == ""
