# SPDX-License-Identifier: BSD-3-Clause
"""The pytest plugin ``libcai``: the marker ``simcuda``.

A marked test runs in a process of its own, with simcuda as its CUDA driver, once under each
schedule. It fails if that process fails, or if it races. Fixtures are made there, and nowhere else.
"""

import os

import pytest

CHILD = "LIBCAI_SIMCUDA_CHILD"  # names the file that says what a child has to do

MARKER = """\
simcuda(schedules=("lazy",), seeds=0, races="log", strict=False, devices=2, fail=None, calls=1, \
timeout=120, env={}): run the test in a process of its own on simcuda, the simulated CUDA driver, \
under each schedule ("lazy", "eager", "random:SEED") and under the seeds 1 to seeds. It fails on a \
race (unless races="off"), and if it makes fewer than so many calls of the driver.
"""


def pytest_addoption(parser):
    group = parser.getgroup("simcuda", "tests marked with simcuda (libcai)")
    group.addoption(
        "--simcuda-schedules",
        metavar="SCHEDULES",
        help="run them under these schedules, whatever their markers say: lazy, eager, "
        "random:SEED, with commas",
    )
    group.addoption(
        "--simcuda-seeds",
        metavar="N",
        help="run them under the seeds 1 to N, whatever their markers say",
    )


def pytest_configure(config):
    config.addinivalue_line("markers", MARKER)
    orders = os.environ.pop(CHILD, None)  # what the test itself starts is no child of ours
    if orders is not None:
        from libcai.testing._child import Child

        config.pluginmanager.register(Child(config, orders), "libcai-simcuda-child")
        return
    schedules, seeds = config.getoption("simcuda_schedules"), config.getoption("simcuda_seeds")
    if schedules is not None or seeds is not None:
        from libcai.testing._marker import BadMarker, overriding

        try:
            overriding(schedules, seeds)
        except BadMarker as error:
            raise pytest.UsageError(f"--simcuda-{error}") from None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    marker = item.get_closest_marker("simcuda")
    if marker is None or item.config.pluginmanager.has_plugin("libcai-simcuda-child"):
        return
    from libcai.testing._marker import run

    # The rest of pytest's protocol stays as it is: reports, skips, expected failures. Only what
    # would make fixtures and run the function here does not.
    item.setup = item.teardown = lambda: None
    item.runtest = lambda: run(item, marker)
