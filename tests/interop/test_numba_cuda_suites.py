# SPDX-License-Identifier: BSD-3-Clause
"""numba-cuda's own suites, unmodified, on simcuda.

Every test of these modules must pass but for those listed in numba_cuda_exclusions.txt,
and every test listed there must fail: the list can be neither too short nor too long.
"""

import json
import pathlib

import pytest
from sim_environment import run_python

MODULES = [
    "cudadrv.test_emm_plugins",
    "cudadrv.test_deallocations",
    "cudadrv.test_cuda_memory",
    "cudadrv.test_events",
    "cudadrv.test_host_alloc",
    "cudapy.test_cuda_array_interface",
]
EXCLUSIONS = pathlib.Path(__file__).with_name("numba_cuda_exclusions.txt")

# Prints, as JSON, the outcome of each test and what the driver was asked for in vain.
RUNNER = """
import ctypes, json, sys, unittest

import pytest  # some of the suites call pytest.importorskip: its outcome is no Exception

class Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.outcomes = {}
    def note(self, test, outcome, error=None):
        before = self.outcomes.get(test.id(), ("passed", ""))
        if before[0] == "passed":
            self.outcomes[test.id()] = (outcome, str(error[1])[:300] if error else "")
    def addSuccess(self, test): self.note(test, "passed")
    def addFailure(self, test, error): self.note(test, "failed", error)
    def addError(self, test, error): self.note(test, "failed", error)
    def addSkip(self, test, reason): self.note(test, "skipped", (None, reason))
    def addExpectedFailure(self, test, error): self.note(test, "passed")
    def addUnexpectedSuccess(self, test): self.note(test, "failed")
    def addSubTest(self, test, subtest, error):
        if error: self.note(test, "failed", error)

suite = unittest.defaultTestLoader.loadTestsFromName("numba.cuda.tests." + sys.argv[1])
result = Result()
suite.run(result)
simcuda = ctypes.CDLL("libcuda.so.1")
simcuda.simcuda_unsupported.restype = ctypes.c_uint64
report = {"outcomes": result.outcomes, "unsupported": simcuda.simcuda_unsupported()}
print("OUTCOMES " + json.dumps(report))
"""


def excluded():
    lines = EXCLUSIONS.read_text().splitlines()
    return dict(line.split("\t") for line in lines if line and not line.startswith("#"))


@pytest.mark.parametrize("schedule", ["lazy", "eager"])
@pytest.mark.parametrize("module", MODULES)
def test_suite(module, schedule):
    output = run_python(RUNNER, module, SIMCUDA_SCHEDULE=schedule)
    report = json.loads(
        next(line for line in output.splitlines() if line.startswith("OUTCOMES "))[
            len("OUTCOMES ") :
        ]
    )
    outcomes = {name.removeprefix("numba.cuda.tests."): v for name, v in report["outcomes"].items()}
    assert len(outcomes) > 0
    listed = {name for name in excluded() if name.startswith(module + ".")}
    failed = {name: why for name, (outcome, why) in outcomes.items() if outcome == "failed"}
    skipped = {name: why for name, (outcome, why) in outcomes.items() if outcome == "skipped"}
    assert {n: w for n, w in failed.items() if n not in listed} == {}, "failed, and not in the list"
    assert listed - set(failed) == set(), "in the list, but did not fail"
    assert skipped == {}, "skipped tests prove nothing"
    # Nothing but kernels may ask simcuda for what it has not.
    assert report["unsupported"] == 0


def test_every_exclusion_has_a_module_and_a_reason():
    for name, reason in excluded().items():
        assert any(name.startswith(module + ".") for module in MODULES), name
        assert reason.strip(), name
