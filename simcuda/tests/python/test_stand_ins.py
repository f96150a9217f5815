# SPDX-License-Identifier: BSD-3-Clause
"""Python functions in the places of kernels: of PTX, and of machine code that nobody executes."""

import os
import signal
import struct
import subprocess
import sys

import pytest
from helpers import LIMIT

COMMAND = [sys.executable, "-m", "simcuda", "run", "--quiet"]
CLIENT = '''
import ctypes
import simcuda

cuda, size = ctypes.CDLL("libcuda.so.1"), ctypes.c_size_t(64)
sim = simcuda.Exports()

def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    if status:
        raise SystemExit(f"{name} returned {status}")

def new(name, *arguments):
    made = ctypes.c_void_p()
    call(name, ctypes.byref(made), *arguments)
    return made

call("cuInit", 0)
context = new("cuDevicePrimaryCtxRetain", 0)
call("cuCtxSetCurrent", context)
one, two = new("cuStreamCreate", 1), new("cuStreamCreate", 1)
data = new("cuMemAlloc_v2", size)

PTX = b""".version 7.0
.target sm_70
.address_size 64
.visible .entry add(.param .u64 to, .param .u32 n) { ret; }
.visible .entry other() { ret; }
"""

def launch(kernel, stream, *values):
    pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    call("cuLaunchKernel", kernel, 2, 1, 1, 32, 1, 1, 0, stream, pointers, None)

def add(launch, to, n):
    assert (launch.grid, launch.block, launch.shared_bytes) == ((2, 1, 1), (32, 1, 1), 0)
    found = launch.writes(to, 4).cast("I")
    found[0] += n

def result():
    out = (ctypes.c_uint32 * 16)()
    call("cuMemcpyDtoH_v2", out, data, size)
    return list(out)
'''


@pytest.fixture
def run(tmp_path):
    def run(text, *options, status=0):
        (tmp_path / "client.py").write_text(CLIENT + text)
        done = subprocess.run(
            [*COMMAND, *options, sys.executable, "client.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
        assert done.returncode == status, done.stderr
        return done

    return run


@pytest.mark.parametrize("schedule", ["lazy", "eager", "random:3"])
def test_the_place_of_a_kernel(run, schedule):
    run(
        """
sim.stand_in("add", "PI", add)
module = new("cuModuleLoadData", PTX)
kernel = new("cuModuleGetFunction", module, b"add")
call("cuMemsetD8Async", data, 0, size, one)
for n in range(5):
    launch(kernel, one, data, ctypes.c_uint32(n))
call("cuStreamSynchronize", one)
assert result()[0] == 10
launch(new("cuModuleGetFunction", module, b"other"), one)
call("cuCtxSynchronize")
""",
        f"--schedule={schedule}",
    )


def test_what_it_uses_races(run):
    """By the bytes that it asked for, and not by others."""
    text = """
sim.stand_in("add", "PI", add)
kernel = new("cuModuleGetFunction", new("cuModuleLoadData", PTX), b"add")
call("cuMemsetD8Async", data, 0, size, one)
call("cuStreamSynchronize", one)
launch(kernel, one, data, ctypes.c_uint32(1))
call("cuMemsetD8Async", ctypes.c_void_p(data.value + {}), 0, ctypes.c_size_t(4), two)
call("cuCtxSynchronize")
"""
    done = run(text.format(3), status=66)
    assert "nothing orders cuLaunchKernel (kernel add) (operation 2) before " in done.stderr
    run(text.format(4))


def cubin(*names):
    """An ELF image with a section of code for each name, and no code in them."""
    texts = b"\0" + b".shstrtab\0" + b"".join(b".text." + name + b"\0" for name in names)
    sections = [struct.pack("<IIQQQQIIQQ", *[0] * 10)]
    sections += [struct.pack("<IIQQQQIIQQ", 1, 3, 0, 0, 64, len(texts), 0, 0, 1, 0)]
    at = 11
    for name in names:
        sections.append(struct.pack("<IIQQQQIIQQ", at, 1, 6, 0, 64, 0, 0, 0, 1, 0))
        at += len(name) + 7
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack(
        "<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64 + len(texts), 0, 64, 0, 0, 64, len(sections), 1
    )
    return header + texts + b"".join(sections)


def test_machine_code_is_loaded_for_its_names(run, tmp_path):
    (tmp_path / "code").write_bytes(cubin(b"add", b"mul"))
    done = run("""
image = open("code", "rb").read()
module = ctypes.c_void_p()
assert cuda.cuModuleLoadData(ctypes.byref(module), image) == 209
sim.stand_in("add", "PI", add)
call("cuMemsetD8Async", data, 0, size, one)
for module in new("cuModuleLoadData", image), new("cuModuleLoad", b"code"):
    launch(new("cuModuleGetFunction", module, b"add"), one, data, ctypes.c_uint32(21))
    missing = ctypes.c_void_p()
    assert cuda.cuModuleGetFunction(ctypes.byref(missing), module, b"mul") == 500
call("cuStreamSynchronize", one)
assert result()[0] == 42
open("short", "wb").write(image[:-70])
assert cuda.cuModuleLoad(ctypes.byref(module), b"short") == 209
""")
    assert "or a stand-in for one of its kernels" in done.stderr


def test_what_goes_wrong_in_it(run):
    begins = """
def kernel():
    return new("cuModuleGetFunction", new("cuModuleLoadData", PTX), b"add")
"""
    done = run(
        begins
        + """
def far(launch, to, n):
    try:
        launch.reads(to + 60, 8)
    except ValueError as error:
        print(error)
sim.stand_in("add", "PI", far)
launch(kernel(), one, data, ctypes.c_uint32(0))
assert cuda.cuCtxSynchronize() == 700
""",
        status=66,
    )
    assert "there are no 8 bytes of memory at 0x" in done.stdout
    assert "simcuda: fault: Kernel add: its stand-in reads 8 bytes at address 0x" in done.stderr
    assert "It goes beyond the end of the 64 bytes of device memory" in done.stderr
    done = run(
        begins
        + """
def calls(launch, to, n):
    assert cuda.cuCtxSynchronize() == 800
    raise RuntimeError("what went wrong")
sim.stand_in("add", "PI", calls)
launch(kernel(), one, data, ctypes.c_uint32(0))
assert cuda.cuCtxSynchronize() == 719
assert sim.findings() == 1
""",
        status=66,
    )
    assert "RuntimeError: what went wrong" in done.stderr
    assert "simcuda: fault: Kernel add: its stand-in failed: it returned 719" in done.stderr
    assert "simcuda:   as operation 1" in done.stderr
    done = run(
        begins
        + """
sim.stand_in("add", "P", add)
module = ctypes.c_void_p()
assert cuda.cuModuleLoadData(ctypes.byref(module), PTX) == 200
for wrong in ("", "P"), ("a\\nb", "P"), ("a", "!"), ("a", "x"), ("a", "s"), ("a", "l"):
    try:
        sim.stand_in(*wrong, add)
    except ValueError:
        continue
    raise SystemExit(wrong)
def later(launch, to):
    yield
try:
    sim.stand_in("add", "P", later)
except TypeError as error:
    assert "would not run" in str(error)
else:
    raise SystemExit("a generator function was taken")
"""
    )
    assert "'add' has other arguments than the image's" in done.stderr


def test_nothing_may_be_used(run):
    """0 bytes, as a kernel of no elements does: neither a use nor a fault."""
    run(
        """
def nothing(launch, to, n):
    assert bytes(launch.writes(to, 4 * n)) == bytes(launch.reads(0, 0)) == b""
sim.stand_in("add", "PI", nothing)
kernel = new("cuModuleGetFunction", new("cuModuleLoadData", PTX), b"add")
launch(kernel, one, data, ctypes.c_uint32(0))
call("cuCtxSynchronize")
assert (sim.findings(), sim.races()) == (0, 0)
"""
    )


def test_a_call_that_keeps_the_gil_is_said_to_wait(tmp_path):
    """As an extension's would that does not release it: it waits forever, but not in silence."""
    program = tmp_path / "program.py"
    program.write_text(
        CLIENT
        + """
sim.stand_in("add", "PI", add)
kernel = new("cuModuleGetFunction", new("cuModuleLoadData", PTX), b"add")
launch(kernel, one, data, ctypes.c_uint32(1))
ctypes.PyDLL("libcuda.so.1").cuCtxSynchronize()
"""
    )
    with subprocess.Popen(
        [*COMMAND, sys.executable, program],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        said = process.stderr.readline()
        os.killpg(process.pid, signal.SIGKILL)  # the program, too
    assert "kernel add: a call waits for its stand-in" in said
    assert "release it around calls of the driver" in said
