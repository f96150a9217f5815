#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs one module of tests and prints a line for each: PASSED, FAILED or SKIPPED, name, and why.

usage: python_tests.py MODULE    (CAI_LIBRARY names the libcai.so under test)
"""

import sys
import traceback
import unittest


class Lines(unittest.TestResult):
    def _say(self, what, test, why=""):
        print(f"{what}\t{test.id()}\t{why}", flush=True)

    def addSuccess(self, test):
        self._say("PASSED", test)

    def addSkip(self, test, reason):
        self._say("SKIPPED", test, reason)

    def _fail(self, test, error):
        print("".join(traceback.format_exception(*error)), file=sys.stderr)
        self._say("FAILED", test, f"{error[0].__name__}: {error[1]}".splitlines()[0])

    addError = addFailure = _fail

    # A test with subtests has one line, as every other.
    def startTest(self, test):
        super().startTest(test)
        self.wrong_parts = []

    def addSubTest(self, test, part, error):
        if error:
            print("".join(traceback.format_exception(*error)), file=sys.stderr)
            name = part._subDescription()
            self.wrong_parts.append(f"{name} {error[0].__name__}: {error[1]}".splitlines()[0])

    def stopTest(self, test):
        super().stopTest(test)
        if self.wrong_parts:
            self._say("FAILED", test, "; ".join(self.wrong_parts))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    unittest.defaultTestLoader.loadTestsFromName(sys.argv[1]).run(Lines())


if __name__ == "__main__":
    main()
