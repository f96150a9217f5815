# SPDX-License-Identifier: BSD-3-Clause
"""A run says how much it has used the driver, and fails if it has not: `simcuda run`."""

import os
import shlex
import signal
import subprocess
import sys

import pytest
from helpers import LIMIT
from reporting import BEGIN

import simcuda

NOTHING = "simcuda run: nothing has called the driver"

# Ten calls, of which cuInit and cuDriverGetVersion merely load the driver; then what the tests add.
CALLS = """
import ctypes, os, signal, subprocess, sys
cuda = ctypes.CDLL("libcuda.so.1")
count = ctypes.c_int()
assert cuda.cuInit(0) == cuda.cuDriverGetVersion(ctypes.byref(count)) == 0
for _ in range(8):
    assert cuda.cuDeviceGetCount(ctypes.byref(count)) == 0
"""
LOADS = "import ctypes; assert ctypes.CDLL('libcuda.so.1').cuInit(0) == 0"


def run(*arguments, **environment):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("SIMCUDA")}
    return subprocess.run(
        [sys.executable, "-m", "simcuda", "run", *arguments],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env={**kept, **environment},
    )


def python(code):
    return [sys.executable, "-c", code]


def test_says_what_it_saw():
    done = run(*python(CALLS))
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines()[-1] == "simcuda: 8 driver calls, 0 kernels"


@pytest.mark.parametrize(
    ("how", "said"), [([], "simcuda: 2 races"), (["--quiet"], None), (["--races=off"], None)]
)
def test_races_that_are_only_counted(how, said):
    code = BEGIN + "fill(0, one); fill(0, two); fill(0, one); call('cuCtxSynchronize')"
    done = run("--races=count", *how, *python(code))
    assert (done.returncode, done.stdout) == (0, "")
    assert [line for line in done.stderr.splitlines() if "race" in line] == ([said] if said else [])


@pytest.mark.parametrize("program", [["true"], python(LOADS)])
@pytest.mark.parametrize("how", [(), ("--quiet",), ("--seeds=3",)])
def test_a_run_that_proves_nothing_fails(program, how):
    done = run(*how, *program)
    assert done.returncode == simcuda.PROVED_NOTHING == 67
    assert done.stderr.count(NOTHING) == 1
    assert ("0 driver calls, 0 kernels" in done.stderr) == (how != ("--quiet",))
    allowed = run("--allow-none", *how, *program)
    assert allowed.returncode == 0
    assert NOTHING not in allowed.stderr


def test_what_fails_otherwise_says_so_itself():
    done = run("sh", "-c", "exit 3")
    assert (done.returncode, NOTHING in done.stderr) == (3, False)


@pytest.mark.parametrize("how", [["--quiet"], []])
def test_is_quiet(how):
    done = run(*how, *python(CALLS), SIMCUDA_BANNER="1" if how else "0")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("os._exit(0)", 0),
        ("os.kill(os.getpid(), signal.SIGKILL)", 128 + signal.SIGKILL),
        ("os.abort()", 128 + signal.SIGABRT),
        ("os.execv('/bin/true', ['true'])", 0),
    ],
)
def test_counts_however_a_process_ends(ending, status):
    done = run(*python(CALLS + ending))
    assert done.returncode == status
    assert done.stderr.splitlines()[-1] == "simcuda: 8 driver calls, 0 kernels"


def test_counts_child_processes():
    """Started, forked before the driver is begun, and one that replaces itself and calls again."""
    again = f"os.execv(sys.executable, [sys.executable, '-c', {CALLS!r}])"
    code = f"""
import os, subprocess, sys
subprocess.run([sys.executable, "-c", {CALLS!r}], check=True)
child = os.fork()
if not child:
    {"; ".join(["exec(" + repr(CALLS) + ")", again])}
assert os.waitpid(child, 0)[1] == 0
"""
    done = run(*python(code))
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "simcuda: 24 driver calls, 0 kernels"


def test_counts_runs_within():
    inner = shlex.join([sys.executable, "-m", "simcuda", "run", "--quiet", *python(CALLS)])
    done = run("sh", "-c", f"{inner} && {inner}")
    assert done.returncode == 0
    assert done.stderr.splitlines()[-1] == "simcuda: 16 driver calls, 0 kernels"


def test_a_forked_child_that_is_refused_counts_nothing():
    code = (
        f"{CALLS}\nif not os.fork():\n    cuda.cuDeviceGetCount(ctypes.byref(count)); os._exit(0)"
    )
    done = run(*python(code + "\nos.wait()"))
    assert done.stderr.splitlines()[-1] == "simcuda: 8 driver calls, 0 kernels"


def test_all_seeds_are_told_of_at_once():
    done = run("--seeds=3", *python(CALLS))
    assert done.returncode == 0
    assert done.stderr.splitlines()[-2:] == [
        "simcuda: 24 driver calls, 0 kernels",
        "simcuda run: 3 seeds: no race, no failure",
    ]


KERNELS = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    assert status == 0, (name, status)


def new(name, *arguments):
    made = ctypes.c_void_p()
    call(name, ctypes.byref(made), *arguments)
    return made


def launch():
    call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, stream, None, None)


call("simcuda_kernel", b"nothing", None, 0, None, None)
call("cuInit", 0)
call("cuCtxSetCurrent", new("cuDevicePrimaryCtxRetain", 0))
module = new("cuModuleLoadData", b"simcuda module\\nnothing")
function = new("cuModuleGetFunction", module, b"nothing")
stream = new("cuStreamCreate", 1)
launch()
call("cuStreamBeginCapture_v2", stream, 0)
launch()
launch()
graph = ctypes.c_void_p()
call("cuStreamEndCapture", stream, ctypes.byref(graph))
instance = new("cuGraphInstantiate", graph, None, None, 0)
call("cuGraphLaunch", instance, stream)
call("cuGraphLaunch", instance, stream)
call("cuCtxSynchronize")
"""


@pytest.mark.parametrize("schedule", ["lazy", "eager", "random:3"])
def test_counts_kernels(schedule):
    """Launched at once, and with each launch of a graph; not when they are captured."""
    done = run(f"--schedule={schedule}", *python(KERNELS))
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith("driver calls, 5 kernels\n")


def test_names_what_is_not_implemented():
    """In one sentence when it is called, and again at the end."""
    code = CALLS + "assert cuda.cuTexRefCreate(ctypes.byref(ctypes.c_void_p())) == 801\n" * 2
    done = run(*python(code + "sys.exit('a long traceback')"))
    assert done.returncode == 1
    sentence = "simcuda: cuTexRefCreate is not implemented and returns CUDA_ERROR_NOT_SUPPORTED"
    assert done.stderr.count(sentence) == 1
    assert done.stderr.endswith(
        "simcuda: 10 driver calls, 0 kernels; not implemented: cuTexRefCreate\n"
    )


@pytest.mark.parametrize("status", [0, 1])
def test_the_runtimes_tables_are_named_if_a_program_fails(status):
    """Any program that loads the CUDA runtime asks for them, and most use nothing of them."""
    code = (
        CALLS + "assert cuda.cuGetExportTable(ctypes.byref(ctypes.c_void_p()), bytes(16)) == 801\n"
    )
    done = run(*python(code + f"sys.exit({status})"))
    assert done.returncode == status, done.stderr
    assert done.stderr.endswith("not implemented: cuGetExportTable\n") == bool(status)


def test_an_unknown_function_cannot_fail():
    """Not on the command line, and not in the environment."""
    done = run("--fail=cuNothing:1:2", "true")
    assert done.returncode == 2
    assert "the driver has no function 'cuNothing'" in done.stderr
    code = "import ctypes, sys; sys.exit(ctypes.CDLL('libcuda.so.1').cuInit(0))"
    done = run(*python(code), SIMCUDA_FAIL="cuNothing:1:2")
    assert done.returncode == 1
    assert (
        "simcuda: SIMCUDA_FAIL=cuNothing:1:2: the driver has no function cuNothing" in done.stderr
    )
