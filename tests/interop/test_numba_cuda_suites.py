# SPDX-License-Identifier: BSD-3-Clause
"""numba-cuda's own suites, unmodified, on simcuda.

Every test of these modules must pass but for those listed in numba_cuda_exclusions.txt,
and every test listed there must fail, or be skipped: the list can be neither too short nor too
long. Nor may there be a race.

Those about memory run again with libcai.numba in the place of Numba's own memory manager, and with
a manager written in Python below it: the outcome of each test must be the same.
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
    "cudapy.test_ipc",
]
MEMORY_MODULES = [
    "cudadrv.test_context_stack",
    "cudadrv.test_cuda_memory",
    "cudadrv.test_cuda_ndarray",
    "cudadrv.test_deallocations",
    "cudadrv.test_emm_plugins",
    "cudadrv.test_host_alloc",
    "cudadrv.test_managed_alloc",
    "cudadrv.test_pinned",
    "cudadrv.test_reset_device",
    "cudadrv.test_select_device",
    "cudapy.test_ipc",
]
LONG = os.environ.get("CAI_TEST_LONG") == "1"
SCHEDULES = ["lazy", "eager", *(f"random:{seed}" for seed in range(1, 21 if LONG else 2))]
# A copy from the host may be under way still when it returns, and another process can wait for
# nothing of this one's; Numba's tests of IPC take it for done, and a lazy driver shows that it is
# not.
NOT_LAZY = ["cudapy.test_ipc"]
EXCLUSIONS = pathlib.Path(__file__).with_name("numba_cuda_exclusions.txt")

# What a run does before Numba first works with a GPU, by who gives the memory.
PREPARATIONS = {
    "numba": "",
    "libcai": """
import libcai.numba
libcai.numba.use()
""",
    # A manager with its own account of what is out; the memory is that of another one.
    "python": """
import libcai.numba

class Accounting(libcai.MemoryManager):
    asked = 0

    def __init__(self, device):
        super().__init__(upstream=libcai.memory_manager("default", device=device))
        self.blocks = {}

    def memalloc(self, size, align, kind, stream):
        Accounting.asked += 1
        block = self.upstream.alloc(size, align=align, kind=kind, stream=stream)
        self.blocks[block.address] = block
        return block.address, block.host, block.size

    def memfree(self, address, size, kind, stream):
        self.upstream.free(self.blocks.pop(address), kind=kind, stream=stream)

libcai.set_memory_manager(Accounting)
libcai.numba.use()
""",
}

# Prints, as JSON, the outcome of each test and what the driver was asked for in vain.
RUNNER = """
import ctypes, json, sys, unittest

import pytest  # some of the suites call pytest.importorskip: its outcome is no Exception

exec(sys.argv[2])
if sys.argv[1] == "cudapy.test_ipc":
    # Other processes have 4 seconds to import Numba and answer; a busy machine needs more.
    from numba.cuda.tests.cudapy import test_ipc
    test_ipc.FUTURE_TIMEOUT = 120

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
from numba import cuda
report = {
    "manager": type(cuda.current_context().memory_manager).__module__,
    "asked": globals()["Accounting"].asked if "Accounting" in globals() else None,
    "outcomes": result.outcomes,
    "unsupported": simcuda.simcuda_unsupported(),
    "races": simcuda.simcuda_races(),
}
print("OUTCOMES " + json.dumps(report))
"""


def excluded():
    lines = EXCLUSIONS.read_text().splitlines()
    return dict(line.split("\t") for line in lines if line and not line.startswith("#"))


def run_suite(module, manager="numba", schedule=None, **more):
    """Runs a module; returns {test: (outcome, why)} and the whole report, with no race in it."""
    schedule = schedule or ("eager" if module in NOT_LAZY else "lazy")
    output = run_python(RUNNER, module, PREPARATIONS[manager], SIMCUDA_SCHEDULE=schedule, **more)
    line = next(line for line in output.splitlines() if line.startswith("OUTCOMES "))
    report = json.loads(line.removeprefix("OUTCOMES "))
    outcomes = {name.removeprefix("numba.cuda.tests."): v for name, v in report["outcomes"].items()}
    assert len(outcomes) > 0
    # Nothing but kernels may ask simcuda for what it has not.
    assert report["unsupported"] == 0
    assert report["races"] == 0
    return outcomes, report


def named(outcomes):
    return {name: outcome for name, (outcome, _) in outcomes.items()}


@pytest.mark.parametrize(
    ("module", "schedule"),
    [(m, s) for m in MODULES for s in SCHEDULES if s != "lazy" or m not in NOT_LAZY],
)
def test_suite(module, schedule):
    outcomes, _ = run_suite(module, schedule=schedule)
    listed = {name for name in excluded() if name.startswith(module + ".")}
    did_not_pass = {name: why for name, (outcome, why) in outcomes.items() if outcome != "passed"}
    assert {n: w for n, w in did_not_pass.items() if n not in listed} == {}, "not in the list"
    assert listed - set(did_not_pass) == set(), "in the list, but passed"


@pytest.mark.parametrize("module", MEMORY_MODULES)
def test_same_with_libcai(module):
    own, report = run_suite(module)
    assert "passed" in named(own).values()
    assert report["manager"] == "numba.cuda.cudadrv.driver"
    for manager in ("libcai", "python"):
        outcomes, report = run_suite(module, manager)
        assert report["manager"] == "libcai.numba"
        assert named(outcomes) == named(own), {
            name: why for name, why in outcomes.items() if why[0] != own[name][0]
        }
        if module == "cudadrv.test_cuda_memory" and manager == "python":
            assert report["asked"] > 0


@pytest.mark.parametrize("module", MEMORY_MODULES)
def test_chosen_by_environment(module):
    """As with libcai.numba.use(), also in the processes that a test starts, but that Numba skips
    what is about its own manager."""
    own, _ = run_suite(module)
    outcomes, report = run_suite(module, NUMBA_CUDA_MEMORY_MANAGER="libcai.numba")
    assert report["manager"] == "libcai.numba"
    differ = {name for name, outcome in named(outcomes).items() if outcome != own[name][0]}
    if module != "cudadrv.test_deallocations":
        assert differ == set()
    else:
        assert len(differ) == 5
        assert {outcomes[name][0] for name in differ} == {"skipped"}
        assert all("Numba memory management" in outcomes[name][1] for name in differ)
