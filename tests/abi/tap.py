# SPDX-License-Identifier: BSD-3-Clause
"""The few lines of TAP that the checks here print; Meson counts each point as a test."""

import os
import shutil
import sys


class Tap:
    def __init__(self):
        self.points = 0
        self.failed = 0

    def check(self, holds, name, *details):
        """One point; details are shown only when it does not hold."""
        self.points += 1
        self.failed += not holds
        print(f"{'ok' if holds else 'not ok'} {self.points} - {name}")
        if not holds:
            for line in details:
                print(f"# {line}")
        return bool(holds)

    def finish(self):
        print(f"1..{self.points}")
        sys.exit(1 if self.failed else 0)


def tool(*names):
    """The first of these programs that is here (a test without its tool is a failure)."""
    for name in names:
        if path := shutil.which(name):
            return path
    print(f"Bail out! none of these is installed: {', '.join(names)}")
    sys.exit(1)


def program_environment():
    """The environment for compilers, in English so that messages can be read by a program."""
    return {**os.environ, "LC_ALL": "C"}
