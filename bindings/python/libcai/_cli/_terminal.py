# SPDX-License-Identifier: BSD-3-Clause
"""What is for terminals only: colours, and a line of progress."""

import os
import sys

_CODES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33}


def add_color_to(parser):
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="auto (the default): only on a terminal, and neither with NO_COLOR nor with TERM=dumb",
    )


class Paint:
    """Colours text, or leaves it as it is: ``paint("wrong", "red")``."""

    def __init__(self, choice):
        self._on = choice == "always" or (choice == "auto" and _wants_colours())

    def __call__(self, text, colour):
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if self._on and colour else text


def _is_terminal(stream):
    return stream is not None and stream.isatty()  # None: it was closed


def _wants_colours():
    return (
        _is_terminal(sys.stdout)
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM", "dumb") != "dumb"
    )


class Progress:
    """A line on standard error that is written over, while the ``with`` block lasts."""

    def __enter__(self):
        self._on = _is_terminal(sys.stderr)
        return self

    def __call__(self, text):
        if self._on:
            print(f"\r{text:60}", end="", file=sys.stderr, flush=True)

    def __exit__(self, *_):
        self("")
        if self._on:
            print(end="\r", file=sys.stderr, flush=True)
