# SPDX-License-Identifier: BSD-3-Clause
"""Builds consumer.c and consumer_cpp.cpp against libcai the way somebody else's project would, and
runs them.

usage: consume.py (pkg_config | cmake | subproject) BUILD_ROOT SOURCE_ROOT
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = ["consumer.c", "consumer_cpp.cpp"]
PROGRAMS = ["consumer", "consumer_cpp"]

CMAKE = """
cmake_minimum_required(VERSION 3.20)
project(consumer C CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(libcai 0.1 REQUIRED CONFIG)
find_package(libcai 99 QUIET CONFIG)
if(libcai_FOUND)
  message(FATAL_ERROR "version 99 was found")
endif()
add_executable(consumer consumer.c)
target_link_libraries(consumer PRIVATE libcai::cai)
add_executable(consumer_cpp consumer_cpp.cpp)
target_link_libraries(consumer_cpp PRIVATE libcai::cai)
"""

MESON = """
project('consumer', 'c', 'cpp', default_options: ['warning_level=0', 'cpp_std=c++20'])
libcai = dependency('libcai')
executable('consumer', 'consumer.c', dependencies: libcai)
executable('consumer_cpp', 'consumer_cpp.cpp', dependencies: libcai)
"""


def run(*command, **options):
    print("+", shlex.join(map(str, command)), flush=True)
    return subprocess.run([str(part) for part in command], check=True, text=True, **options)


def copy_sources(work):
    for source in SOURCES:
        shutil.copy(HERE / source, work)


def install(build, stage):
    """A DESTDIR install; returns its prefix."""
    run("meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", stage)
    return next(stage.rglob("include/cai.h")).parent.parent


def pkg_config(work, build, _source):
    stage = work / "stage"
    prefix = install(build, stage)
    environment = {
        **os.environ,
        "PKG_CONFIG_LIBDIR": str(next(prefix.rglob("libcai.pc")).parent),
        "PKG_CONFIG_SYSROOT_DIR": str(stage),
    }
    flags = run(
        "pkg-config", "--cflags", "--libs", "libcai", env=environment, stdout=subprocess.PIPE
    ).stdout.split()
    run("cc", "-std=c99", HERE / "consumer.c", "-o", work / "consumer", *flags)
    run("c++", "-std=c++20", HERE / "consumer_cpp.cpp", "-o", work / "consumer_cpp", *flags)
    for program in PROGRAMS:
        run(work / program, env={**os.environ, "LD_LIBRARY_PATH": library_folder(prefix)})


def cmake(work, build, _source):
    prefix = install(build, work / "stage")
    copy_sources(work)
    (work / "CMakeLists.txt").write_text(CMAKE)
    run("cmake", "-S", work, "-B", work / "out", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", work / "out")
    for program in PROGRAMS:
        run(work / "out" / program)  # CMake sets a build-tree RUNPATH


def subproject(work, _build, source):
    copy_sources(work)
    (work / "meson.build").write_text(MESON)
    (work / "subprojects").mkdir()
    (work / "subprojects/libcai").symlink_to(source)
    quick = ["-Ddebug=false", "-Doptimization=0"]
    run("meson", "setup", work / "out", work, "--force-fallback-for=libcai", *quick)
    run("meson", "compile", "-C", work / "out", *PROGRAMS)
    for program in PROGRAMS:
        run(work / "out" / program)


def library_folder(prefix):
    return str(next(prefix.rglob("libcai.so.1")).parent)


def main():
    way, build, source = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        {"pkg_config": pkg_config, "cmake": cmake, "subproject": subproject}[way](
            Path(folder), build, source
        )


if __name__ == "__main__":
    main()
