# SPDX-License-Identifier: BSD-3-Clause
"""Hypothesis, with the number of examples that a run is for. A module of its own: conftest.py is
also loaded by each process that the marker simcuda starts, and Hypothesis takes long to import."""

from helpers import LONG
from hypothesis import HealthCheck, assume, given, settings

__all__ = ["assume", "given"]

settings.register_profile(
    "short",
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("long", parent=settings.get_profile("short"), max_examples=5000)
settings.load_profile("long" if LONG else "short")
