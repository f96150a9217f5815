# SPDX-License-Identifier: BSD-3-Clause
"""``libcai config``: what a build against the installed package needs to know."""

import shlex
import sys

from libcai import __version__, _library
from libcai._cli import _arguments, _driver

EXAMPLES = (
    "cc program.c $(libcai config --cflags --libs)",
    "cmake -B build -Dlibcai_DIR=$(libcai config --cmake-dir)",
    "PKG_CONFIG_PATH=$(libcai config --pkg-config-dir) pkg-config --libs libcai",
)

STATUS = """Exit status: 0; 2 if nothing is asked for, or simcuda is asked for and not installed."""

QUESTIONS = {
    "version": ("the package's version", lambda: __version__),
    "cflags": ("flags for the compiler", lambda: shlex.quote(f"-I{_library.INCLUDE_DIR}")),
    "libs": (
        "flags for the linker, with a run path to the bundled library",
        lambda: shlex.join(
            [f"-L{_library.LIBRARY_DIR}", "-lcai", f"-Wl,-rpath,{_library.LIBRARY_DIR}"]
        ),
    ),
    "includedir": ("the folder of cai.h", lambda: _library.INCLUDE_DIR),
    "libdir": ("the folder of the library", lambda: _library.LIBRARY_DIR),
    "cmake-dir": ("the folder for libcai_DIR", lambda: _library.CMAKE_DIR),
    "pkg-config-dir": ("the folder for PKG_CONFIG_PATH", lambda: _library.PKG_CONFIG_DIR),
    "simcuda-dir": ("the folder of the simulated driver", lambda: _driver.simcuda().LIBRARY_DIR),
}


def add_to(commands):
    parser = _arguments.add_parser(
        commands,
        "config",
        help="print paths and flags for building against libcai",
        description="Prints what is asked for, one answer a line.",
        examples=EXAMPLES,
        status=STATUS,
    )
    for name, (text, _) in QUESTIONS.items():
        parser.add_argument(f"--{name}", dest="asked", action="append_const", const=name, help=text)
    parser.set_defaults(run=run, parser=parser)


def run(options):
    if not options.asked:
        options.parser.error("nothing is asked for")
    try:
        for name in options.asked:
            print(QUESTIONS[name][1]())
    except _driver.MissingError as error:
        print(f"libcai config: {error}", file=sys.stderr)
        return 2
    return 0
