# SPDX-License-Identifier: BSD-3-Clause
"""A plugin of pytest's, for numba-cuda's own tests: what its repository has beside them, and the
wheel has not."""

import numba.cuda  # noqa: F401 - before pytest imports tests that are found beside `cuda`
import pytest


@pytest.fixture
def initialize_from_pytest_config(request):
    request.cls._dump_failed_filechecks = False


def pytest_collection_modifyitems(items):
    for module in {item.module for item in items}:
        # Other processes have 4 seconds to import Numba and answer; a busy machine needs more.
        if hasattr(module, "FUTURE_TIMEOUT"):
            module.FUTURE_TIMEOUT = 3600
