# SPDX-License-Identifier: BSD-3-Clause
"""numba-cuda's own suites, unmodified, on simcuda.

Every test of these modules must pass but for those listed in numba_cuda_exclusions.txt,
and every test listed there must fail, or be skipped: the list can be neither too short nor too
long. Nor may there be a race.

Those about memory run again with libcai.numba in the place of Numba's own memory manager, and with
a manager written in Python below it: the outcome of each test must be the same.

They run in one process, as Numba's own runner has them, since Numba takes a second to be imported;
in the long run each module also in one of its own, under every schedule.
"""

import functools
import json
import pathlib

import pytest
from sim_environment import run_python
from simulation import SEEDS

pytestmark = pytest.mark.slow

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
IPC = "cudapy.test_ipc"  # runs alone, since the runner helps it
# Closes the handle of one device's memory while a copy on another device may still read it.
EAGER_ONLY = {"cudapy.test_ipc.TestIpcStaged.test_staged"}
EXCLUSIONS = pathlib.Path(__file__).with_name("numba_cuda_exclusions.txt")

# What a run does before Numba first uses a GPU, by the source of the memory.
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

# Runs modules; prints, as JSON, the outcome of each test and what the driver does not support.
RUNNER = """
import ctypes, json, sys, unittest

import pytest  # some of the suites call pytest.importorskip: its outcome is no Exception

exec(sys.argv[1])
if sys.argv[2:] == ["cudapy.test_ipc"]:
    from numba import cuda
    from numba.cuda.tests.cudapy import test_ipc
    # Other processes have 4 seconds to import Numba and answer; a busy machine needs more.
    test_ipc.FUTURE_TIMEOUT = 3600
    # A copy from the host may be unfinished when it returns, and another process cannot wait for
    # this one's work. These tests assume that it is complete, which no text promises.
    to_device = cuda.to_device
    def copy_and_wait(*arguments, **more):
        copied = to_device(*arguments, **more)
        cuda.synchronize()
        return copied
    cuda.to_device = copy_and_wait

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

names = ["numba.cuda.tests." + module for module in sys.argv[2:]]
suite = unittest.defaultTestLoader.loadTestsFromNames(names)
result = Result()
suite.run(result)
simcuda = ctypes.CDLL("libcuda.so.1")
simcuda.simcuda_unsupported.restype = ctypes.c_uint64
simcuda.simcuda_races.restype = simcuda.simcuda_calls.restype = ctypes.c_uint64
from numba import cuda
report = {
    "manager": type(cuda.current_context().memory_manager).__module__,
    "asked": globals()["Accounting"].asked if "Accounting" in globals() else None,
    "outcomes": result.outcomes,
    # A libcudart that a client has inside asks for private tables, and does without them.
    "unsupported": simcuda.simcuda_unsupported() - simcuda.simcuda_calls(b"cuGetExportTable"),
    "races": simcuda.simcuda_races(),
}
print("OUTCOMES " + json.dumps(report))
"""


def excluded():
    lines = EXCLUSIONS.read_text().splitlines()
    return dict(line.split("\t") for line in lines if line and not line.startswith("#"))


@functools.cache
def run_suites(modules, manager="numba", schedule="lazy", **more):
    """Runs modules in one process; returns {test: (outcome, why)} and the whole report, with no
    race in it."""
    output = run_python(RUNNER, PREPARATIONS[manager], *modules, SIMCUDA_SCHEDULE=schedule, **more)
    line = next(line for line in output.splitlines() if line.startswith("OUTCOMES "))
    report = json.loads(line.removeprefix("OUTCOMES "))
    outcomes = {name.removeprefix("numba.cuda.tests."): v for name, v in report["outcomes"].items()}
    if schedule != "eager":
        outcomes = {name: outcome for name, outcome in outcomes.items() if name not in EAGER_ONLY}
    for module in modules:
        assert of([module], outcomes), f"{module} has no test"
    assert report["unsupported"] == 0
    assert report["races"] == 0
    return outcomes, report


def of(modules, names):
    return {name for name in names if name.startswith(tuple(f"{module}." for module in modules))}


TOGETHER = tuple(module for module in MODULES if module != IPC)


def processes(modules, *schedules, ipc=()):
    """The parameters of a test: which modules run in one process, and under which schedule. `ipc`:
    the marks of that which runs alone."""
    together = tuple(module for module in TOGETHER if module in modules)
    made = [pytest.param(together, "lazy", id="together")]
    made.append(pytest.param((IPC,), "lazy", id="ipc", marks=ipc))
    made.append(pytest.param((IPC,), "eager", id="ipc-eager", marks=pytest.mark.long))
    for module in modules:
        for schedule in ("lazy", *schedules):
            if module != IPC or schedule not in ("lazy", "eager"):  # which are above
                name = f"{module}-{schedule}"
                made.append(pytest.param((module,), schedule, id=name, marks=pytest.mark.long))
    return pytest.mark.parametrize(("modules", "schedule"), made)


@processes(MODULES, "eager", *(f"random:{seed}" for seed in SEEDS))
def test_suites(modules, schedule):
    outcomes, report = run_suites(modules, schedule=schedule)
    assert report["manager"] == "numba.cuda.cudadrv.driver"
    listed = of(modules, excluded())
    did_not_pass = {name: why for name, (outcome, why) in outcomes.items() if outcome != "passed"}
    assert {n: w for n, w in did_not_pass.items() if n not in listed} == {}, "not in the list"
    assert listed - set(did_not_pass) == set(), "in the list, but passed"


def named(outcomes):
    return {name: outcome for name, (outcome, _) in outcomes.items()}


def by_numbas_own(modules, schedule):
    """The outcome of modules with Numba's own memory manager."""
    outcomes, _ = run_suites(TOGETHER if len(modules) > 1 else modules, schedule=schedule)
    return {name: outcomes[name] for name in of(modules, outcomes)}


@pytest.mark.parametrize("manager", ["libcai", pytest.param("python", marks=pytest.mark.long)])
@processes(MEMORY_MODULES, ipc=pytest.mark.long)
def test_same_with_libcai(modules, schedule, manager):
    own = by_numbas_own(modules, schedule)
    assert "passed" in named(own).values()
    outcomes, report = run_suites(modules, manager, schedule=schedule)
    assert report["manager"] == "libcai.numba"
    assert named(outcomes) == named(own), {
        name: why for name, why in outcomes.items() if why[0] != own[name][0]
    }
    if "cudadrv.test_cuda_memory" in modules and manager == "python":
        assert report["asked"] > 0


@processes(MEMORY_MODULES, ipc=pytest.mark.long)
def test_chosen_by_environment(modules, schedule):
    """As with libcai.numba.use(), also in the processes that a test starts, but that Numba skips
    what is about its own manager."""
    own = by_numbas_own(modules, schedule)
    chosen = {"NUMBA_CUDA_MEMORY_MANAGER": "libcai.numba"}
    outcomes, report = run_suites(modules, schedule=schedule, **chosen)
    assert report["manager"] == "libcai.numba"
    differ = {name for name, outcome in named(outcomes).items() if outcome != own[name][0]}
    if "cudadrv.test_deallocations" not in modules:
        assert differ == set()
    else:
        assert differ == of(["cudadrv.test_deallocations"], differ)
        assert len(differ) == 5
        assert {outcomes[name][0] for name in differ} == {"skipped"}
        assert all("Numba memory management" in outcomes[name][1] for name in differ)
