# SPDX-License-Identifier: BSD-3-Clause
"""The command line: one module for each command."""

import argparse

from libcai._cli import check, config, info, sim


def main(arguments=None):
    """Runs the command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="libcai", description="The CUDA Array Interface for compiled code."
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for module in (info, check, config, sim):
        module.add_to(commands)
    options = parser.parse_args(arguments)
    return options.run(options)
