# SPDX-License-Identifier: BSD-3-Clause
"""How help is laid out."""

import argparse


class Formatter(argparse.HelpFormatter):
    """Wraps paragraphs, and leaves alone those with lines that begin with a space: examples."""

    def _fill_text(self, text, width, indent):
        return "\n\n".join(
            part if "\n " in part else super(Formatter, self)._fill_text(part, width, indent)
            for part in text.split("\n\n")
        )


def add_parser(commands, name, *, examples, status, **settings):
    """Adds a command whose help ends with examples, a line each, and its exit statuses."""
    lines = "".join(f"\n  {line}" for line in examples)
    return commands.add_parser(
        name,
        epilog=f"Examples:{lines}\n\n{status}",
        formatter_class=Formatter,
        allow_abbrev=False,
        **settings,
    )
