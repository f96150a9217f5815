#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prove what the script sim promises, from wherever and under whatever name it is called.

usage: check_sim.py SIM LIBCUDA_SO_1
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

LOADED = """
import ctypes
print(ctypes.CDLL("libcuda.so.1").cuInit(0), *[l.split(None, 5)[5].strip()
      for l in open("/proc/self/maps") if "libcuda.so" in l][:1])
"""

# Two streams write the same memory; exits with the given status.
RACES = """
import ctypes, os, sys
cuda = ctypes.CDLL("libcuda.so.1")
pointer, one, two = ctypes.c_uint64(), ctypes.c_void_p(), ctypes.c_void_p()
context = ctypes.c_void_p()
calls = [cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
         cuda.cuCtxSetCurrent(context), cuda.cuMemAlloc_v2(ctypes.byref(pointer), 64),
         cuda.cuStreamCreate(ctypes.byref(one), 1), cuda.cuStreamCreate(ctypes.byref(two), 1),
         cuda.cuMemsetD8Async(pointer, 1, 64, one), cuda.cuMemsetD8Async(pointer, 2, 64, two)]
assert not any(calls), calls
if len(sys.argv) > 2:
    os.kill(os.getpid(), int(sys.argv[2]))
sys.exit(int(sys.argv[1]))
"""

# A kernel reads what nobody has written.
STALE = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
context, stream = ctypes.c_void_p(), ctypes.c_void_p()
calls = [cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
         cuda.cuCtxSetCurrent(context), cuda.cuStreamCreate(ctypes.byref(stream), 0),
         cuda.cuStreamDestroy_v2(stream), cuda.cuStreamQuery(stream)]
assert calls == [0, 0, 0, 0, 0, 400], calls
"""
DESTROYED = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
def new(name, *arguments):
    made = ctypes.c_void_p()
    assert getattr(cuda, name)(ctypes.byref(made), *arguments) == 0
    return made
assert cuda.cuInit(0) == 0
assert cuda.cuCtxSetCurrent(new("cuDevicePrimaryCtxRetain", 0)) == 0
stream, event, live = new("cuStreamCreate", 0), new("cuEventCreate", 2), new("cuEventCreate", 2)
graph = new("cuGraphCreate", 0)
node = new("cuGraphAddEventRecordNode", graph, None, ctypes.c_size_t(0), live)
exec = new("cuGraphInstantiateWithFlags", graph, ctypes.c_uint64(0))
made, handle = ctypes.c_void_p(), ctypes.create_string_buffer(64)
assert cuda.cuEventDestroy_v2(event) == 0
"""
GIVEN_EVENTS = (
    "cuda.cuGraphAddEventRecordNode(ctypes.byref(made), graph, None, ctypes.c_size_t(0), event)",
    "cuda.cuGraphAddEventWaitNode(ctypes.byref(made), graph, None, ctypes.c_size_t(0), event)",
    "cuda.cuGraphEventRecordNodeSetEvent(node, event)",
    "cuda.cuGraphExecEventRecordNodeSetEvent(exec, node, event)",
    "cuda.cuIpcGetEventHandle(handle, event)",
)
# Bytes that a core file has of simcuda's memory: those that the host can access.
CORE = """
import ctypes, re
cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
device, host, size = ctypes.c_uint64(), ctypes.c_void_p(), ctypes.c_size_t(1 << 20)
assert cuda.cuInit(0) == cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(device), size) == 0
def dumped():
    parts = re.split(r"^[0-9a-f]+-[0-9a-f]+ ", open("/proc/self/smaps").read(), flags=re.M)
    ours = [part for part in parts if "memfd:simcuda" in part]
    kept = [part for part in ours if " dd" not in re.search("^VmFlags:.*", part, re.M)[0]]
    assert ours
    return sum(int(re.search(r"^Size: +(\\d+) kB", part, re.M)[1]) << 10 for part in kept)
found = [dumped()]
assert cuda.cuMemAllocHost_v2(ctypes.byref(host), size) == 0
found.append(dumped())
assert cuda.cuMemFreeHost(host) == 0
found.append(dumped())
assert found == [0, size.value, 0], found
"""
FINDS = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
pointer, context = ctypes.c_uint64(), ctypes.c_void_p()
module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
text = b'''.version 8.0
.target sm_80
.address_size 64
.visible .entry look(.param .u64 at)
{
  .reg .b64 %p; .reg .b32 %v;
  ld.param.u64 %p, [at];
  ld.global.u32 %v, [%p];
  ret;
}
'''
arguments = (ctypes.c_void_p * 1)(ctypes.addressof(pointer))
calls = [cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
         cuda.cuCtxSetCurrent(context), cuda.cuMemAlloc_v2(ctypes.byref(pointer), 64),
         cuda.cuModuleLoadData(ctypes.byref(module), text),
         cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"look"),
         cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, arguments, None),
         cuda.cuCtxSynchronize()]
assert not any(calls), calls
"""

# Says that it is there, and how it was ended.
WAITS = """
import signal, sys, time
def told(number, frame):
    print(signal.Signals(number).name, flush=True)
    sys.exit(5)
for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1:
    signal.signal(number, told)
print("ready", flush=True)
time.sleep(60)
"""


def check_status(run, sim, here):
    """A race is a failure of a program that had no other; all else passes through."""
    races = [sys.executable, "-c", RACES]
    folder = tempfile.mkdtemp()
    here = {**here, "TMPDIR": folder}
    found = run(sim, *races, "0", **here)
    assert (found.returncode, found.stdout) == (66, "")
    assert found.stderr.startswith("simcuda: race: nothing orders cuMemsetD8Async (operation 1)")
    assert found.stderr.endswith("\nsimcuda: 1 race\n")
    for mode, status in ("count", 0), ("off", 0), ("abort", 128 + signal.SIGABRT):
        assert run(sim, *races, "0", SIMCUDA_RACES=mode, **here).returncode == status, mode
    for schedule in "eager", "lazy", "random:7":
        assert run(sim, *races, "0", SIMCUDA_SCHEDULE=schedule, **here).returncode == 66
    assert run(sim, *races, "3", **here).returncode == 3
    assert run(sim, *races, "0", str(int(signal.SIGKILL)), **here).returncode == 128 + 9
    # A child that raced, whatever its parent does with it; one that another sim has judged.
    told = 'python=$1; shift; "$python" "$@" || exit 1; exit 0'
    assert run(sim, "sh", "-c", told, "-", *races, "0", **here).returncode == 66
    judged = f'"{sim}" "$@"; test $? = 66'
    assert run(sim, "sh", "-c", judged, "-", *races, "0", **here).returncode == 0
    assert run(sim, "true", **here).returncode == 0

    # Findings inside a kernel count as races do.
    finds = [sys.executable, "-c", FINDS]
    found = run(sim, *finds, **here)
    assert found.returncode == 66
    assert found.stderr.startswith("simcuda: check: Kernel look: thread (0, 0, 0)")
    assert found.stderr.endswith("\nsimcuda: 1 finding\n")
    assert run(sim, *finds, SIMCUDA_CHECK="memory", **here).returncode == 0

    # So does the use of a destroyed stream.
    stale = [sys.executable, "-c", STALE]
    found = run(sim, *stale, **here)
    assert found.returncode == 66
    assert found.stderr.startswith("simcuda: check: cuStreamQuery is given stream 0x")
    assert "which has been destroyed: a real driver may crash\n" in found.stderr
    assert found.stderr.endswith("\nsimcuda: 1 finding\n")
    assert run(sim, *stale, SIMCUDA_STALE_HANDLES="0", **here).returncode == 0

    # A graph's nodes and other processes are given events, too; and a stream is no event.
    for call in GIVEN_EVENTS:
        found = run(sim, sys.executable, "-c", DESTROYED + call, **here)
        assert found.returncode == 66, found.stderr
        name = call.removeprefix("cuda.").partition("(")[0]
        assert found.stderr.startswith(f"simcuda: check: {name} is given event 0x"), found.stderr
        assert "which has been destroyed: a real driver may crash\n" in found.stderr
    found = run(sim, sys.executable, "-c", DESTROYED + "cuda.cuEventQuery(stream)", **here)
    assert found.returncode == 66
    assert "which is no event: a real driver may crash\n" in found.stderr

    core = run(sim, sys.executable, "-c", CORE, **here)
    assert core.returncode == 0, core.stderr

    # Its standard input and output are the command's own.
    through = subprocess.run([sim, "cat"], input="a\nb", capture_output=True, text=True, env=here)
    assert (through.returncode, through.stdout) == (0, "a\nb"), through
    # A signal reaches the command, which may answer to it.
    for number in signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1:
        check_signal(sim, here, number, lambda process, n: process.send_signal(n))
    # A terminal's interrupt goes to both.
    check_signal(sim, here, signal.SIGINT, lambda process, n: os.killpg(process.pid, n))
    os.rmdir(folder)  # nothing was left there


def check_signal(sim, environment, number, send):
    signal.signal(number, signal.SIG_DFL)  # the parent may ignore it, as nohup does
    process = subprocess.Popen(
        [sim, sys.executable, "-c", WAITS],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout.readline() == "ready\n"
    send(process, number)
    assert process.stdout.read() == signal.Signals(number).name + "\n"
    assert process.wait() == 5


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sim, library = (pathlib.Path(p).resolve() for p in sys.argv[1:])
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SIMCUDA", "LD_"))}

    def run(*command, cwd="/", **environment):
        return subprocess.run(
            [str(part) for part in command],
            cwd=cwd,
            env={**kept, "SIMCUDA_BANNER": "0", **environment},
            capture_output=True,
            text=True,
        )

    def loads(folder, done):
        assert done.returncode == 0, done.stderr
        status, path = done.stdout.strip().split(" ", 1)
        assert (status, path) == ("0", str(pathlib.Path(folder).resolve() / library.name))

    here = {"SIMCUDA_LIBRARY_DIR": str(library.parent)}
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        python = [sys.executable, "-c", LOADED]

        # Called from elsewhere, through the path, through a link.
        loads(library.parent, run(sim, *python, **here))
        (scratch / "simulate").symlink_to(sim)
        loads(library.parent, run(scratch / "simulate", *python, **here))
        path = f"{sim.parent}:{kept.get('PATH', '')}"
        loads(library.parent, run("sh", "-c", 'sim "$@"', "-", *python, PATH=path, **here))

        # A checkout with blanks in its name, and its own build.
        checkout = scratch / "my own checkout"
        (checkout / "simcuda").mkdir(parents=True)
        shutil.copy(sim, checkout / "simcuda/sim")
        missing = run(checkout / "simcuda/sim", *python)
        assert missing.returncode == 2
        assert "no libcuda.so.1 in" in missing.stderr
        (checkout / "build-simcuda/driver").mkdir(parents=True)
        shutil.copy(library, checkout / "build-simcuda/driver" / library.name)
        loads(checkout / "build-simcuda/driver", run(checkout / "simcuda/sim", *python))
        (scratch / "linked").symlink_to(checkout / "simcuda/sim")
        loads(checkout / "build-simcuda/driver", run(scratch / "linked", *python))

        # A folder relative to the caller's, whatever CDPATH says.
        relative = {"SIMCUDA_LIBRARY_DIR": "build-simcuda/driver", "CDPATH": str(checkout)}
        loads(checkout / "build-simcuda/driver", run(sim, *python, cwd=checkout, **relative))
        # The loader would take such a folder for two.
        colon = scratch / "a:b"
        colon.symlink_to(library.parent)
        refused = run(sim, *python, SIMCUDA_LIBRARY_DIR=str(colon))
        loads(library.parent, refused)  # by its true name

    # Arguments and exit status are the command's own.
    shown = run(sim, "sh", "-c", 'printf "[%s]" "$@"; exit 7', "-", "a b", "", "*", **here)
    assert (shown.returncode, shown.stdout) == (7, "[a b][][*]"), shown
    assert run(sim, "/no/such/command", **here).returncode == 127
    assert run(sim, "env", LD_LIBRARY_PATH="/x", **here).stdout.count(f"{library.parent}:/x\n") == 1

    check_status(run, sim, here)

    # Help is an answer; no command is a mistake.
    for option in "-h", "--help":
        helped = run(sim, option)
        assert (helped.returncode, helped.stderr) == (0, "")
        assert helped.stdout.startswith("usage:")
    for wrong in [], ["--frobnicate", "true"]:
        told = run(sim, *wrong, **here)
        assert (told.returncode, told.stdout) == (2, "")
        assert told.stderr.startswith(("usage:", "simcuda/sim:"))


if __name__ == "__main__":
    main()
