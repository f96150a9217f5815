# SPDX-License-Identifier: BSD-3-Clause
"""Types for argparse that say what is wrong with a value."""

import argparse


def checked(check):
    """A type that says what `check` raises."""

    def convert(text):
        try:
            return check(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def number(least, most):
    def convert(text):
        if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
            raise ValueError(f"{text!r} is not a number from {least} to {most}")
        return int(text)

    return checked(convert)
