# SPDX-License-Identifier: BSD-3-Clause
"""The marker ``simcuda`` in the process that runs the test: a plugin of its own."""

import ctypes
import json
import os
from pathlib import Path

import pytest

from simcuda import _library, _tally
from simcuda._exports import Exports
from simcuda._marker import identity

# Options that select tests, or how they are run and reported: only the first process needs them.
NOT_OURS = (
    "capture",
    "collectonly",
    "dist",
    "file_or_dir",
    "keyword",
    "markexpr",
    "maxfail",
    "maxprocesses",
    "numprocesses",
    "reruns",
    "runxfail",
    "tx",
    "usepdb",
    "verbose",
)


class Child:
    """Runs one test, and writes down what came of it."""

    def __init__(self, config, orders):
        self._config = config
        orders = json.loads(Path(orders).read_text("utf-8"))
        self._test, self._options = orders["test"], orders["options"]
        self._faults = orders["fail"]
        self._phases = Path(orders["phases"])
        # Loaded first, so that code that loads libcuda.so.1 by name gets this one.
        ctypes.CDLL(str(_library.LIBRARY))
        self.exports = Exports()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self):
        """Takes over the first process's options, those of plugins and conftest files too."""
        for name, value in self._options.items():
            if name not in NOT_OURS and hasattr(self._config.option, name):
                setattr(self._config.option, name, value)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        try:
            for fault in filter(None, self._faults.split(",")):
                self.exports.calls(fault.partition(":")[0])
        except ValueError as error:
            self._write_failure("marker", f"fail: {error}")
            items.clear()
            return
        items[:] = [item for item in items if identity(item) == self._test][:1]
        if not items:
            self._write_failure(
                "collection", "the test was not found again in a process of its own"
            )
        for item in items:
            for node in item.listchain():  # expected failures are judged where they are reported
                node.own_markers[:] = [mark for mark in node.own_markers if mark.name != "xfail"]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self):
        self._calls_before = _calls()

    def pytest_runtest_logreport(self, report):
        outcome, text, place = report.outcome, report.longreprtext, None
        if hasattr(report, "wasxfail"):
            outcome, text = "xfailed", report.wasxfail
        elif outcome == "skipped" and isinstance(report.longrepr, tuple):
            *place, text = report.longrepr
            text = text.removeprefix("Skipped: ")
        self._write(
            when=report.when,
            outcome=outcome,
            text=text,
            place=place,
            sections=report.sections,
            properties=[p for p in report.user_properties if report.when == "teardown"],
        )

    def pytest_warning_recorded(self, warning_message, when):
        if when == "runtest":  # the first process has reported those of the collection itself
            category = warning_message.category
            self._write(
                warning=str(warning_message.message),
                category=[category.__module__, category.__qualname__],
                file=warning_message.filename,
                line=warning_message.lineno,
            )

    def pytest_collectreport(self, report):
        if report.failed:
            self._write_failure("collection", report.longreprtext)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self):
        self._write(calls=_calls() - self._calls_before, drivers=_other_drivers())

    def _write_failure(self, when, text):
        self._write(when=when, outcome="failed", text=text, sections=[], properties=[])

    def _write(self, **entry):
        with self._phases.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, default=str) + "\n")


def _calls():
    """How often this process has called the driver, whatever a test did to its counts."""
    return _tally.read(os.environ[_tally.VARIABLE], os.getpid()).calls


def _other_drivers():
    """Files of a libcuda.so in this process that is not simcuda."""
    found = set()
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.split(None, 5)[5:]
        if path and Path(path[0]).name.startswith("libcuda.so"):
            found.add(path[0])
    return sorted(path for path in found if not _library.LIBRARY.samefile(path))
