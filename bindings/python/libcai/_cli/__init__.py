# SPDX-License-Identifier: BSD-3-Clause
"""The command line: one module for each command, loaded when it is asked for."""

import argparse
import contextlib
import os
import signal
import sys
from importlib import import_module

from libcai._cli._arguments import Formatter
from libcai._version import __version__

COMMANDS = "doctor", "check", "demo", "bench", "sim", "config", "completion"

EPILOG = """Examples:
  libcai doctor                     what works on this machine, and what to install
  libcai check mymodule:array       who would take what my library hands out
  libcai sim python program.py      find missing waits without a GPU

Exit status: 0 if all is well; 1 if what was looked at is not; 2 if it could not be looked at, as
for a wrong argument, or the output not be written, as on a full disk; 66 if a program raced on the
simulated driver; 130 after an interrupt; 141 if nobody reads the output any more. `libcai COMMAND
--help` says more."""


def main(arguments=None):
    """Runs the command; returns its exit status."""
    try:
        try:
            return _run(sys.argv[1:] if arguments is None else arguments)
        finally:
            print(end="", flush=True)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        _write_no_more()
        return 128 + signal.SIGPIPE
    except OSError as error:  # the output cannot be written
        with contextlib.suppress(OSError):
            print(f"libcai: {error}", file=sys.stderr)
        _write_no_more()
        return 2


def _write_no_more():
    """Python would try again when it ends."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parser_of(*names):
    """The parser, with these commands."""
    parser = argparse.ArgumentParser(
        prog="libcai",
        description="The CUDA Array Interface for compiled code.",
        epilog=EPILOG,
        formatter_class=Formatter,
    )
    parser.add_argument("--version", action="version", version=f"libcai {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name in names:
        import_module(f"libcai._cli.{name}").add_to(commands)
    return parser


def _run(arguments):
    if arguments[:1] == ["sim"]:  # whose arguments are another command's
        from libcai._cli import sim

        return sim.run(arguments[1:])
    # Nobody waits for the other commands' modules; and argparse would list all of them.
    name = next((text for text in arguments if not text.startswith("-")), None)
    if name is not None and name not in COMMANDS:
        parser_of().error(_unknown(name))
    names = [name] if name else [] if arguments == ["--version"] else COMMANDS
    options = parser_of(*names).parse_args(arguments)
    return options.run(options)


def _unknown(name):
    import difflib

    near = difflib.get_close_matches(name, COMMANDS, n=1)
    advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(COMMANDS)}"
    return f"there is no command {name!r}: {advice}"
