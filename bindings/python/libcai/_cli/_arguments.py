# SPDX-License-Identifier: BSD-3-Clause
"""Types for argparse that say what is wrong with a value."""

import argparse


def number(least, most):
    def convert(text):
        if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least} to {most}")
        return int(text)

    return convert
