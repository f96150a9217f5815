# SPDX-License-Identifier: BSD-3-Clause
import gc
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

# Else each process that a test starts would compile again what it imports, and pytest what it
# rewrites: a test of one second would take three.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

from building import built  # noqa: E402, F401
from simulation import schedule, simulated, simulated_with_gil  # noqa: E402, F401


def pytest_collection_finish():
    """Objects from before the first test are not examined each time that a test collects."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def collected():
    """Runs the test without the collector, so that only counts free anything."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
