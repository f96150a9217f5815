# SPDX-License-Identifier: BSD-3-Clause
"""Builds the three programs here against libcai as another project would, and runs them:
as a project with libcai as its subproject, and with pkg-config and CMake against the copy that this
project installs.

usage: consume.py SOURCE_ROOT
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "abi"))
from tap import Tap

HERE = Path(__file__).resolve().parent
SOURCES = ["consumer.c", "consumer_cpp.cpp", "consumer_memory.c"]
PROGRAMS = [Path(source).stem for source in SOURCES]

CMAKE = """
cmake_minimum_required(VERSION 3.20)
project(consumer C CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(libcai 0.1 REQUIRED CONFIG COMPONENTS memory)
find_package(libcai 99 QUIET CONFIG)
if(libcai_FOUND)
  message(FATAL_ERROR "version 99 was found")
endif()
find_package(libcai 0.1 QUIET CONFIG COMPONENTS nothing_of_the_kind)
if(libcai_FOUND)
  message(FATAL_ERROR "a component that is not there was found")
endif()
add_executable(consumer consumer.c)
target_link_libraries(consumer PRIVATE libcai::cai)
add_executable(consumer_cpp consumer_cpp.cpp)
target_link_libraries(consumer_cpp PRIVATE libcai::cai)
add_executable(consumer_memory consumer_memory.c)
target_link_libraries(consumer_memory PRIVATE libcai::memory)
"""

MESON = """
project('consumer', 'c', 'cpp', default_options: ['warning_level=0', 'cpp_std=c++20'])
libcai = dependency('libcai')
executable('consumer', 'consumer.c', dependencies: libcai)
executable('consumer_cpp', 'consumer_cpp.cpp', dependencies: libcai)
executable('consumer_memory', 'consumer_memory.c', dependencies: dependency('libcai-memory'))
"""


def run(*command, **options):
    print("# +", shlex.join(map(str, command)), flush=True)
    # The standard output is Tap's.
    options.setdefault("stdout", sys.stderr)
    return subprocess.run([str(part) for part in command], check=True, text=True, **options)


def copy_sources(folder):
    folder.mkdir(exist_ok=True)
    for source in SOURCES:
        shutil.copy(HERE / source, folder)


def subproject(work, source):
    """Compiles the library, too: all at once and not optimized, as it is done for this alone."""
    copy_sources(work)
    (work / "meson.build").write_text(MESON)
    (work / "subprojects").mkdir()
    (work / "subprojects/libcai").symlink_to(source)
    # A subproject has the -O2 and -g of its build type, whatever -Doptimization and -Ddebug say.
    quick = ["--buildtype=plain", "--libdir=lib"]
    run("meson", "setup", work / "out", work, "--force-fallback-for=libcai,libcai-memory", *quick)
    run("meson", "compile", "-C", work / "out")
    for program in PROGRAMS:
        run(work / "out" / program)


def install(work):
    """A DESTDIR install; returns its prefix."""
    stage = work / "stage"
    run("meson", "install", "-C", work / "out", "--no-rebuild", "--quiet", "--destdir", stage)
    return stage, next(stage.rglob("include/cai.h")).parent.parent


def pkg_config(work, stage, prefix):
    environment = {
        **os.environ,
        "PKG_CONFIG_LIBDIR": str(next(prefix.rglob("libcai.pc")).parent),
        "PKG_CONFIG_SYSROOT_DIR": str(stage),
    }

    def flags(package):
        command = ["pkg-config", "--cflags", "--libs", package]
        return run(*command, env=environment, stdout=subprocess.PIPE).stdout.split()

    work.mkdir()
    for source, compiler, package in (
        ("consumer.c", ["cc", "-std=c99"], "libcai"),
        ("consumer_cpp.cpp", ["c++", "-std=c++20"], "libcai"),
        ("consumer_memory.c", ["cc", "-std=c99"], "libcai-memory"),
    ):
        run(*compiler, HERE / source, "-o", work / Path(source).stem, *flags(package))
    folder = str(next(prefix.rglob("libcai.so.1")).parent)
    for program in PROGRAMS:
        run(work / program, env={**os.environ, "LD_LIBRARY_PATH": folder})


def cmake(work, prefix):
    copy_sources(work)
    (work / "CMakeLists.txt").write_text(CMAKE)
    run("cmake", "-S", work, "-B", work / "out", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", work / "out")
    for program in PROGRAMS:
        run(work / "out" / program)  # CMake sets a build-tree RUNPATH


def main():
    tap = Tap()

    def check(name, way, *arguments):
        try:
            way(*arguments)
        except subprocess.CalledProcessError as failure:
            tap.check(False, name, str(failure))
            return False
        return tap.check(True, name)

    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        if check("subproject", subproject, work / "project", Path(sys.argv[1]).resolve()):
            stage, prefix = install(work / "project")
            check("pkg-config", pkg_config, work / "pkg-config", stage, prefix)
            check("CMake", cmake, work / "cmake", prefix)
    tap.finish()


if __name__ == "__main__":
    main()
