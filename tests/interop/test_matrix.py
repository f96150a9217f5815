# SPDX-License-Identifier: BSD-3-Clause
"""The interoperation matrix, compared with what is expected of it; see matrix.py."""

import matrix
import pytest
from building import build_nanobind
from simulation import SCHEDULES

pytestmark = pytest.mark.slow


def wrong_cells(group, schedule="lazy", **environment):
    return list(matrix.unexpected(group, matrix.run(group, schedule, **environment)))


def test_the_host(built):
    library = built("nanobind", build_nanobind) / "nanobind.o"
    assert wrong_cells("host", NANOBIND_OBJECT=str(library)) == []


def test_mpi():
    assert wrong_cells("mpi") == []


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_gpus(schedule):
    assert wrong_cells("gpu", schedule) == []


@pytest.mark.long
def test_frameworks():
    assert wrong_cells("frameworks") == []
