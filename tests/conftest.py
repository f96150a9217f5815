# SPDX-License-Identifier: BSD-3-Clause
import os


def pytest_deselected(items):
    """Tells tools/test which tests a tier leaves to the next, by the names of JUnit's XML."""
    left = os.environ.get("CAI_TEST_LEFT")
    # Every process of pytest-xdist's selects the same.
    if not left or os.environ.get("PYTEST_XDIST_WORKER", "gw0") != "gw0":
        return
    with open(left, "a") as file:
        for item in items:
            *path, name = item.nodeid.split("::")
            classname = ".".join(path).replace("/", ".").replace(".py", "", 1)
            file.write(f"{classname}::{name}\n")
