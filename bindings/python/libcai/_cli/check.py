# SPDX-License-Identifier: BSD-3-Clause
"""``libcai check MODULE:NAME``: the lint from the shell."""

import json
import sys
from importlib import import_module
from operator import attrgetter
from pathlib import Path

from libcai._cli import _terminal

TEXT = (
    """Judges the __cuda_array_interface__ of an object by the text of version 3, to the letter."""
)

STATUS = """Exit status: 0 if it follows the text, 1 if it does not, 2 if there is nothing to
judge."""

_COLOURS = {"error": "red", "warning": "yellow", "advice": "dim"}


def add_to(commands):
    parser = commands.add_parser(
        "check", help="judge a producer's interface", description=TEXT, epilog=STATUS
    )
    parser.add_argument(
        "target",
        metavar="MODULE:NAME",
        help="an object in a module that can be imported from here; NAME may have dots, and ends "
        "in () for a function that makes the object",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    _terminal.add_color_to(parser)
    parser.set_defaults(run=run)


def run(options):
    from libcai import check

    try:
        report = check(_load(options.target))
    except (Exception, SystemExit) as error:  # whatever the producer raises
        print(f"libcai check: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(report.to_json(), indent=2))
    else:
        print(_painted(report, _terminal.Paint(options.color)))
    return 0 if report else 1


def _painted(report, paint):
    verdict, *lines = str(report).splitlines()
    colours = ["green" if report else "red"]
    colours += [_COLOURS.get(line.strip().partition(":")[0]) for line in lines]
    lines.insert(0, verdict)
    return "\n".join(paint(*both) for both in zip(lines, colours, strict=True))


def _load(target):
    module, colon, name = target.partition(":")
    if not (module and colon and name):
        raise ValueError(f"{target!r} is not of the form MODULE:NAME")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    call = name.endswith("()")
    found = attrgetter(name.removesuffix("()"))(import_module(module))
    return found() if call else found
