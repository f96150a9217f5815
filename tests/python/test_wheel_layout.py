# SPDX-License-Identifier: BSD-3-Clause
"""What the wheel holds for compiled code: found by pkg-config, CMake and plain flags, wherever
the wheel lies."""

import importlib.metadata
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

TESTS = Path(__file__).resolve().parent.parent
CONSUMER = TESTS / "consumer/consumer.c"
CONSUMER_CPP = TESTS / "consumer/consumer_cpp.cpp"

CMAKE = """
cmake_minimum_required(VERSION 3.20)
project(consumer C)
find_package(libcai 0.1 REQUIRED CONFIG)
add_executable(consumer consumer.c)
target_link_libraries(consumer PRIVATE libcai::cai)
add_library(compiled OBJECT consumer.c)
target_link_libraries(compiled PRIVATE libcai::headers)
"""


def installed_package():
    return Path(importlib.metadata.distribution("libcai").locate_file("libcai")).resolve()


@pytest.fixture(scope="module", params=["moved", pytest.param("installed", marks=pytest.mark.long)])
def package(request, tmp_path_factory):
    """The package's folder; moved: a copy elsewhere, since nothing in it may name its place."""
    if request.param == "installed":
        return installed_package()
    copy = tmp_path_factory.mktemp("moved") / "libcai"
    shutil.copytree(installed_package(), copy)
    return copy


def run(*command, **environment):
    done = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_pkg_config(package, tmp_path):
    flags = run(
        "pkg-config",
        "--cflags",
        "--libs",
        "libcai",
        PKG_CONFIG_LIBDIR=str(package / "lib/pkgconfig"),
    ).split()
    run("cc", "-std=c99", CONSUMER, "-o", tmp_path / "consumer", *flags)
    run("c++", "-std=c++20", CONSUMER_CPP, "-o", tmp_path / "consumer_cpp", *flags)
    for program in ("consumer", "consumer_cpp"):
        run(tmp_path / program, LD_LIBRARY_PATH=str(package / "lib"))


def test_cmake(package, tmp_path):
    shutil.copy(CONSUMER, tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    run("cmake", "-S", tmp_path, "-B", tmp_path / "out", f"-Dlibcai_DIR={package}/lib/cmake/libcai")
    run("cmake", "--build", tmp_path / "out")
    run(tmp_path / "out/consumer")


@pytest.mark.parametrize("linker", ["bfd", "gold"])
def test_linkers(linker, package, tmp_path):
    """libcai.so is a linker script of one line, since a wheel holds no symbolic links."""
    flags = [f"-I{package}/include", f"-L{package}/lib", "-lcai", f"-Wl,-rpath,{package}/lib"]
    run("cc", f"-fuse-ld={linker}", CONSUMER, "-o", tmp_path / "consumer", *flags)
    run(tmp_path / "consumer")


def test_the_library_is_the_one_that_was_checked():
    """The wheel's build passes the same checks as the system's."""
    library = installed_package() / "lib/libcai.so.1"
    headers = sorted((installed_package() / "include").rglob("*.h"))
    headers = [header for header in headers if "declarations begin" in header.read_text()]
    root = TESTS.parent
    run(sys.executable, TESTS / "abi/check_needed.py", library, "1")
    listed = TESTS / "abi/functions.def", *(root / "src").glob("*.map")
    run(sys.executable, TESTS / "abi/check_symbols.py", library, *listed, *headers)


def test_version():
    version = importlib.metadata.version("libcai")
    run(sys.executable, TESTS / "abi/check_versions.py", version, TESTS.parent)


def test_nothing_else_is_in_the_wheel():
    files = importlib.metadata.files("libcai")
    tops = {file.parts[0] for file in files} - {".."}  # "..": the command, in bin
    assert tops == {"libcai", f"libcai-{importlib.metadata.version('libcai')}.dist-info"}
