# SPDX-License-Identifier: BSD-3-Clause
"""The interoperation matrix, compared with what is expected of it; see matrix.py."""

import os

import matrix
import pytest

LONG = os.environ.get("CAI_TEST_LONG") == "1"
SCHEDULES = ["lazy", "eager", *(f"random:{seed}" for seed in range(1, 21 if LONG else 2))]


@pytest.mark.parametrize(
    ("group", "schedule"),
    [
        ("host", "lazy"),
        ("mpi", "lazy"),
        *(("gpu", schedule) for schedule in SCHEDULES),
        *([("frameworks", "lazy")] if LONG else []),
    ],
)
def test_every_cell(group, schedule):
    assert list(matrix.unexpected(group, matrix.run(group, schedule))) == []
