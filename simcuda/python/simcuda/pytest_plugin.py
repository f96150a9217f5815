# SPDX-License-Identifier: BSD-3-Clause
"""The pytest plugin ``simcuda``: a marker and a fixture of that name.

A marked test runs in a process of its own, with simcuda as its CUDA driver, once under each
schedule. It fails if that process fails, or if it races. Fixtures are made there, and nowhere else.
"""

import os
import pathlib

import pytest

CHILD = "SIMCUDA_PYTEST_CHILD"  # names the file with the child's orders
CHILD_PLUGIN = "simcuda-child"
SKIPPED_AT = pytest.StashKey()  # the file and line where a marked test was skipped

MARKER = """\
simcuda(schedules=("lazy",), seeds=0, races="log", strict=False, devices=2, fail=None, calls=1, \
timeout=120, env={}): run the test in a process of its own on simcuda, the simulated CUDA driver, \
under each schedule ("lazy", "eager", "random:SEED") and under the seeds 1 to seeds. It fails on a \
race (unless races="off"), and if it makes fewer than so many calls of the driver.
"""


def pytest_addoption(parser):
    group = parser.getgroup("simcuda", "tests marked with simcuda")
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
    group.addoption(
        "--simcuda-report",
        metavar="FOLDER",
        type=pathlib.Path,
        help="for each that fails, write a page into this folder that shows what ran, what waited "
        "for what, and what raced",
    )


def pytest_configure(config):
    config.addinivalue_line("markers", MARKER)
    orders = os.environ.pop(CHILD, None)  # what the test starts is no child of the plugin
    if orders is not None:
        from simcuda._child import Child

        config.pluginmanager.register(Child(config, orders), CHILD_PLUGIN)
        return
    schedules, seeds = config.getoption("simcuda_schedules"), config.getoption("simcuda_seeds")
    if schedules is not None or seeds is not None:
        from simcuda._marker import BadMarker, overriding

        try:
            overriding(schedules, seeds)
        except BadMarker as error:
            raise pytest.UsageError(f"--simcuda-{error}") from None


@pytest.fixture
def simcuda(request):
    """simcuda's functions (`simcuda.Exports`), for a marked test: counts of calls, races so far,
    faults to inject, whether one piece of work is ordered before another."""
    child = request.config.pluginmanager.get_plugin(CHILD_PLUGIN)
    if child is None:
        pytest.fail("the fixture simcuda is for tests that are marked with simcuda", pytrace=False)
    return child.exports


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    marker = item.get_closest_marker("simcuda")
    if marker is None or item.config.pluginmanager.has_plugin(CHILD_PLUGIN):
        return
    from simcuda._marker import run

    # The rest of pytest's protocol stays as it is: reports, skips, expected failures. Only the
    # parts that would make fixtures and run the function here are left out.
    item.setup = item.teardown = lambda: None
    item.runtest = lambda: run(item, marker)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    if report.skipped and isinstance(report.longrepr, tuple) and SKIPPED_AT in item.stash:
        report.longrepr = (*item.stash[SKIPPED_AT], report.longrepr[2])
