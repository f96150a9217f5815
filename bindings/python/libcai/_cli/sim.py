# SPDX-License-Identifier: BSD-3-Clause
"""``libcai sim COMMAND...``: the same as ``simcuda run``, a package of its own."""

import os
import sys

from libcai._cli import _driver


def add_to(commands):
    """For the list of commands and for completion: `simcuda run` has the options and the help."""
    parser = commands.add_parser(
        "sim", help="run a program on the simulated CUDA driver, and find its races: simcuda run"
    )
    parser.add_argument("program", metavar="PROGRAM", nargs="...", help="and its arguments")


def run(arguments):
    try:
        _driver.simcuda()
    except _driver.MissingError as error:
        print(f"libcai sim: {error}", file=sys.stderr)
        return 2
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "simcuda", "run", *arguments])
