# SPDX-License-Identifier: BSD-3-Clause
"""All cases of instructions."""

from cases_compare import compare_cases
from cases_convert import convert_cases
from cases_float import approximate_cases, float_cases, half_cases
from cases_integer import bit_cases, integer_cases, video_cases


def all_cases():
    yield from integer_cases()
    yield from bit_cases()
    yield from video_cases()
    yield from compare_cases()
    yield from float_cases()
    yield from half_cases()
    yield from convert_cases()
    yield from approximate_cases()
