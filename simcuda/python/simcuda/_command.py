# SPDX-License-Identifier: BSD-3-Clause
"""The command line: ``simcuda run`` and ``simcuda config``."""

import argparse
import shlex

from simcuda import _library, _run
from simcuda._version import __version__

QUESTIONS = {
    "library-dir": ("the folder of libcuda.so.1", lambda: _library.LIBRARY_DIR),
    "include-dir": ("the folder of simcuda.h", lambda: _library.INCLUDE_DIR),
    "cflags": ("flags for the compiler", lambda: shlex.quote(f"-I{_library.INCLUDE_DIR}")),
}


def main(arguments=None):
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="simcuda", description="CUDA's driver, simulated: no GPU, no CUDA."
    )
    parser.add_argument("--version", action="version", version=f"simcuda {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _run.add_to(commands)
    add_config_to(commands)
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        options.parser.error(f"there is no option {unknown[0]}")
    return options.run(options)


def add_config_to(commands):
    parser = commands.add_parser(
        "config",
        help="print where the library and its header are",
        description="Prints what is asked for, one answer a line.",
        allow_abbrev=False,
    )
    for name, (text, _) in QUESTIONS.items():
        parser.add_argument(f"--{name}", dest="asked", action="append_const", const=name, help=text)
    parser.set_defaults(run=answer, parser=parser)


def answer(options):
    if not options.asked:
        options.parser.error("nothing is asked for")
    for name in options.asked:
        print(QUESTIONS[name][1]())
    return 0
