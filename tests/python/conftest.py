# SPDX-License-Identifier: BSD-3-Clause
import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

from simulation import schedule, simulated  # noqa: F401

settings.register_profile(
    "short",
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("long", parent=settings.get_profile("short"), max_examples=5000)
settings.load_profile("long" if os.environ.get("CAI_TEST_LONG") == "1" else "short")


@pytest.fixture
def collected():
    """Runs the test without the collector, so that only counts free anything."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
