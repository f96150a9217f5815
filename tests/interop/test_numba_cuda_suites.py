# SPDX-License-Identifier: BSD-3-Clause
"""numba-cuda's own suites, unmodified, on simcuda.

Every test of these modules must pass but for those listed in numba_cuda_exclusions.txt,
and every test listed there must fail, or be skipped: the list can be neither too short nor too
long. Nor may there be a race.
"""

import json
import os
import pathlib

import pytest
from sim_environment import run_python

MODULES = [
    "cudadrv.test_array_attr",
    "cudadrv.test_context_stack",
    "cudadrv.test_cuda_auto_context",
    "cudadrv.test_cuda_devicerecord",
    "cudadrv.test_cuda_memory",
    "cudadrv.test_cuda_ndarray",
    "cudadrv.test_deallocations",
    "cudadrv.test_emm_plugins",
    "cudadrv.test_events",
    "cudadrv.test_host_alloc",
    "cudadrv.test_managed_alloc",
    "cudadrv.test_pinned",
    "cudadrv.test_reset_device",
    "cudadrv.test_select_device",
    "cudadrv.test_streams",
    "cudapy.test_cuda_array_interface",
]
LONG = os.environ.get("CAI_TEST_LONG") == "1"
SCHEDULES = ["lazy", "eager", *(f"random:{seed}" for seed in range(1, 21 if LONG else 2))]
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
simcuda.simcuda_races.restype = ctypes.c_uint64
report = {
    "outcomes": result.outcomes,
    "unsupported": simcuda.simcuda_unsupported(),
    "races": simcuda.simcuda_races(),
}
print("OUTCOMES " + json.dumps(report))
"""


def excluded():
    lines = EXCLUSIONS.read_text().splitlines()
    return dict(line.split("\t") for line in lines if line and not line.startswith("#"))


@pytest.mark.parametrize("schedule", SCHEDULES)
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
    did_not_pass = {name: why for name, (outcome, why) in outcomes.items() if outcome != "passed"}
    assert {n: w for n, w in did_not_pass.items() if n not in listed} == {}, "not in the list"
    assert listed - set(did_not_pass) == set(), "in the list, but passed"
    # Nothing but kernels may ask simcuda for what it has not.
    assert report["unsupported"] == 0
    assert report["races"] == 0
