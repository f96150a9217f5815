# SPDX-License-Identifier: BSD-3-Clause
"""The command line: one module for each command."""

import argparse
import difflib
import os
import signal
import sys

from libcai import __version__
from libcai._cli import bench, check, config, demo, info, sim

COMMANDS = {
    "info": info,
    "check": check,
    "demo": demo,
    "bench": bench,
    "sim": sim,
    "config": config,
}

STATUS = """Exit status: 0 if all is well; 1 if what was looked at is not; 2 if it could not be
looked at, as for a wrong argument; 66 if a program raced on the simulated driver; 130 after an
interrupt; 141 if nobody reads the output any more. `libcai COMMAND --help` says more."""


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
        # Python would try again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


def _run(arguments):
    parser = argparse.ArgumentParser(
        prog="libcai",
        description="The CUDA Array Interface for compiled code.",
        epilog=STATUS,
    )
    parser.add_argument("--version", action="version", version=f"libcai {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for module in COMMANDS.values():
        module.add_to(commands)
    if arguments[:1] == ["sim"]:  # whose arguments are another command's
        return sim.run(arguments[1:])
    # argparse would list them all.
    name = next((text for text in arguments if not text.startswith("-")), None)
    if name is not None and name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(COMMANDS)}"
        parser.error(f"there is no command {name!r}: {advice}")
    options = parser.parse_args(arguments)
    return options.run(options)
