# SPDX-License-Identifier: BSD-3-Clause
"""The command line: ``simcuda run``, ``simcuda config`` and ``simcuda completion``."""

import argparse
import contextlib
import os
import shlex
import signal
import sys

from simcuda import _completion, _library, _run
from simcuda._arguments import Formatter, add_parser
from simcuda._version import __version__

QUESTIONS = {
    "library-dir": ("the folder of libcuda.so.1", lambda: _library.LIBRARY_DIR),
    "include-dir": ("the folder of simcuda.h", lambda: _library.INCLUDE_DIR),
    "cflags": ("flags for the compiler", lambda: shlex.quote(f"-I{_library.INCLUDE_DIR}")),
}

EPILOG = """Examples:
  simcuda run python program.py              find its races
  simcuda run --seeds=100 ./program          the same in 100 random orders
  simcuda run --report=race.html ./program   see them in a browser

Exit status: that of the program, 66 if it raced, or 2 for a wrong argument or for output that
cannot be written; `simcuda run --help` says more."""

EXAMPLES = ("cc $(simcuda config --cflags) program.c $(simcuda config --library-dir)/libcuda.so.1",)

STATUS = """Exit status: 0; 2 if nothing is asked for."""


def main(arguments=None):
    """Runs the command; returns its exit status."""
    try:
        try:
            options, unknown = parser_of()[0].parse_known_args(arguments)
            if unknown:
                options.parser.error(f"there is no option {unknown[0]}")
            return options.run(options)
        finally:
            print(end="", flush=True)
    except BrokenPipeError:
        _write_no_more()
        return 128 + signal.SIGPIPE
    except OSError as error:  # the output cannot be written
        with contextlib.suppress(OSError):
            print(f"simcuda: {error}", file=sys.stderr)
        _write_no_more()
        return 2


def _write_no_more():
    """Python would try again when it ends."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parser_of():
    """(the parser, its commands)"""
    parser = argparse.ArgumentParser(
        prog="simcuda",
        description="CUDA's driver, simulated: no GPU, no CUDA.",
        epilog=EPILOG,
        formatter_class=Formatter,
    )
    parser.add_argument("--version", action="version", version=f"simcuda {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _run.add_to(commands)
    add_config_to(commands)
    _completion.add_to(commands)
    return parser, commands


def add_config_to(commands):
    parser = add_parser(
        commands,
        "config",
        help="print where the library and its header are",
        description="Prints what is asked for, one answer a line.",
        examples=EXAMPLES,
        status=STATUS,
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
