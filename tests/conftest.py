# SPDX-License-Identifier: BSD-3-Clause
import os


def pytest_deselected(items):
    """Tells tools/test which tests a tier leaves to the next, by the names of JUnit's XML."""
    left = os.environ.get("CAI_TEST_LEFT")
    # Every process of pytest-xdist's selects the same.
    if not left or os.environ.get("PYTEST_XDIST_WORKER", "gw0") != "gw0":
        return
    with open(left, "a") as names:
        for item in items:
            file_name, *classes, name = item.nodeid.split("::")
            module = file_name.removesuffix(".py").replace("/", ".")
            classname = ".".join([module, *classes])
            names.write(f"{classname}::{name}\n")
