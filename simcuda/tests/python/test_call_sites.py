# SPDX-License-Identifier: BSD-3-Clause
"""Reports say where calls came from, and the program notices nothing of it."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from helpers import LIMIT, LOOK

# Two streams, and a call for each that writes the same memory.
CLIENT = """
import ctypes
import sys
import threading

cuda, size = ctypes.CDLL("libcuda.so.1"), ctypes.c_size_t(64)

def new(name, *arguments):
    made = ctypes.c_void_p()
    assert getattr(cuda, name)(ctypes.byref(made), *arguments) == 0
    return made

assert cuda.cuInit(0) == 0
context = new("cuDevicePrimaryCtxRetain", 0)
assert cuda.cuCtxSetCurrent(context) == 0

def streams():
    return new("cuStreamCreate", 1), new("cuStreamCreate", 1)

def fill(stream):
    assert cuda.cuMemsetD8Async(data, 1, size, stream) == 0

one, two = streams()
data = new("cuMemAlloc_v2", size)
"""
BOTH = "fill(one)\nfill(two)\n"
# By which a library that counts what is reached is found, and its counts.
COUNTS = {
    name: os.environ[name] for name in ("PYTHONPATH", "LLVM_PROFILE_FILE") if name in os.environ
}


@pytest.fixture
def run(tmp_path):
    def run(text, *options, **environment):
        (tmp_path / "client.py").write_text(CLIENT + text)
        command = [sys.executable, "-m", "simcuda", "run", "--quiet", *options]
        return subprocess.run(
            [*command, sys.executable, "client.py"],
            env={"PATH": "/usr/bin:/bin", **COUNTS, **environment},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )

    return run


def line_of(text, whole):
    (line,) = [n for n, line in enumerate(whole.splitlines(), 1) if line == text]
    return line


def places(done):
    """The reported sites, in order: pairs of what and place."""
    return re.findall(r"^simcuda:       (\w+(?: \w+)?) at (.*)$", done.stderr, re.MULTILINE)


def test_both_calls_and_where_their_streams_were_made(run):
    done = run(BOTH)
    whole = CLIENT + BOTH
    fill = line_of("    assert cuda.cuMemsetD8Async(data, 1, size, stream) == 0", whole)
    made = line_of("    assert getattr(cuda, name)(ctypes.byref(made), *arguments) == 0", whole)
    streams = line_of('    return new("cuStreamCreate", 1), new("cuStreamCreate", 1)', whole)
    first, second = line_of("fill(one)", whole), line_of("fill(two)", whole)
    start = line_of("one, two = streams()", whole)
    data = line_of('data = new("cuMemAlloc_v2", size)', whole)
    stream = (
        "stream made",
        f"client.py:{made} in new, from client.py:{streams} in streams, "
        f"from client.py:{start} in <module>",
    )
    assert done.returncode == 66
    assert places(done) == [
        ("called", f"client.py:{fill} in fill, from client.py:{first} in <module>"),
        stream,
        ("called", f"client.py:{fill} in fill, from client.py:{second} in <module>"),
        stream,
        ("allocated", f"client.py:{made} in new, from client.py:{data} in <module>"),
    ]


def test_a_call_that_keeps_the_gil(run):
    text = """
holding = ctypes.PyDLL("libcuda.so.1")

def fill_holding(stream):
    assert holding.cuMemsetD8Async(data, 1, size, stream) == 0

fill_holding(one)
fill(two)
"""
    whole = CLIENT + text
    held = line_of("    assert holding.cuMemsetD8Async(data, 1, size, stream) == 0", whole)
    first = line_of("fill_holding(one)", whole)
    called = [place for what, place in places(run(text)) if what == "called"]
    assert called[0] == f"client.py:{held} in fill_holding, from client.py:{first} in <module>"


def test_nothing_is_said_unasked(run):
    for setting in {"SIMCUDA_CALL_SITES": "0"}, {"SIMCUDA_RACES": "count"}:
        assert places(run(BOTH, **setting)) == []
    wrong = run(BOTH, SIMCUDA_CALL_SITES="2")
    assert "SIMCUDA_CALL_SITES=2: is not a number from 0 to 1" in wrong.stderr


def test_a_trace_names_the_same_places(run, tmp_path):
    done = run(BOTH, "--trace=trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    traced = [
        event["args"]["called from"].replace(f"{tmp_path}/", "")
        for event in events
        if event["name"].startswith("cuMemsetD8Async") and "called from" in event.get("args", {})
    ]
    called = [place.partition(", from ")[0] for what, place in places(done) if what == "called"]
    assert traced
    assert set(traced) == set(called)


def test_threads(run):
    """Many ask at once, while another one holds Python's lock most of the time."""
    done = run("""
busy = True

def compute():
    while busy:
        sum(range(1000))

def work():
    assert cuda.cuCtxSetCurrent(context) == 0
    for _ in range(50):
        fill(one)

computing = threading.Thread(target=compute)
computing.start()
threads = [threading.Thread(target=work) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
busy = False
computing.join()
fill(two)
""")
    assert done.returncode == 66, done.stderr
    assert len(places(done)) >= 2


# Threads that wait for each other as they may, since a driver never waits for Python's lock.
LOCKED = """
#include <pthread.h>
#include <stddef.h>
typedef int Memset(unsigned long long, unsigned char, size_t, void *);
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_held, is_waiting;
int fill(Memset *set, unsigned long long data, void *stream) {
  pthread_mutex_lock(&mutex);
  is_held = 1;
  while (!is_waiting) {}
  int result = set(data, 1, 64, stream);
  pthread_mutex_unlock(&mutex);
  return result;
}
void until_it_is_held(void) {
  while (!is_held) {}
}
void wait_for_it(void) {  // with Python's lock held
  is_waiting = 1;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}
"""


def test_a_lock_of_the_clients_own_is_not_in_the_way(run, tmp_path):
    compiler = shutil.which("cc")
    assert compiler, "a C compiler is needed"
    (tmp_path / "locked.c").write_text(LOCKED)
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", "locked.so", "locked.c"], check=True, cwd=tmp_path
    )
    done = run("""
locked, waiting = ctypes.CDLL("./locked.so"), ctypes.PyDLL("./locked.so")
results = []

def work():
    assert cuda.cuCtxSetCurrent(context) == 0
    results.append(locked.fill(cuda.cuMemsetD8Async, data, one))

thread = threading.Thread(target=work)
thread.start()
locked.until_it_is_held()
waiting.wait_for_it()
thread.join()
assert results == [0]
fill(two)
print("it went on")
""")
    assert done.stdout == "it went on\n", done.stderr
    assert done.returncode == 66
    assert ("called", "client.py") in [(what, place[:9]) for what, place in places(done)]


def test_calls_while_python_ends(run):
    done = run("""
class Last:
    def __del__(self):
        fill(one)
        fill(two)

sys.last = Last()
""")
    assert done.returncode == 66, done.stderr
    assert [what for what, _ in places(done)] == [*["called", "stream made"] * 2, "allocated"]


def test_calls_with_the_gil(run):
    """A function of a PyDLL is called with the GIL; one of a CDLL is not."""
    code = """
with_gil = ctypes.PyDLL("libcuda.so.1")
for library in cuda, with_gil, with_gil:
    assert library.cuStreamQuery(one) == 0
"""
    assert run(code).returncode == 0
    done = run(code, SIMCUDA_GIL="1")
    assert done.returncode == 66, done.stderr
    said = "simcuda: check: cuStreamQuery is called with Python's GIL held"
    assert done.stderr.count(said) == 1
    assert "simcuda: 2 findings" in done.stderr


def test_calls_without_a_gil(run, tmp_path):
    """A thread of C's has none, nor has who calls while Python ends, after that, or without it."""
    done = run(
        """
import os

libc, with_gil = ctypes.CDLL(None), ctypes.PyDLL("libcuda.so.1")
address = lambda function: ctypes.cast(function, ctypes.c_void_p)
count, thread = ctypes.c_int(), ctypes.c_size_t()
start = ctypes.byref(thread), None, address(cuda.cuDeviceGetCount), ctypes.byref(count)
assert libc.pthread_create(*start) == 0
assert libc.pthread_join(thread, None) == 0
assert count.value > 0

class Last:
    def __del__(self, write=os.write, synchronise=with_gil.cuCtxSynchronize):
        write(1, b"synchronised: %d" % synchronise())

sys.last = Last()
assert libc.on_exit(address(cuda.cuCtxSynchronize), None) == 0
""",
        SIMCUDA_GIL="1",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "synchronised: 0", done.stderr
    source = """
#include <dlfcn.h>
int main(void) {
  void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
  int count = 0;
  return ((int (*)(unsigned))dlsym(cuda, "cuInit"))(0) != 0 ||
         ((int (*)(int *))dlsym(cuda, "cuDeviceGetCount"))(&count) != 0 || count == 0;
}
"""
    command = ["cc", "-x", "c", "-", "-o", tmp_path / "program", "-ldl"]
    subprocess.run(command, input=source, text=True, check=True)
    code = "import subprocess\nassert subprocess.run(['./program']).returncode == 0\n"
    done = run(code, SIMCUDA_GIL="1")
    assert done.returncode == 0, done.stderr


def test_daemons_while_python_ends(run):
    """Python ends a thread that asks for the GIL by then: simcuda's own one, too."""
    done = run(
        """
import time

def work():
    assert cuda.cuCtxSetCurrent(context) == 0
    while True:
        fill(one)

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
raise SystemExit(3)
"""
    )
    assert done.returncode == 3, done.stderr


def test_what_is_found_in_a_kernel(run):
    done = run(
        f"PTX = {LOOK.encode()!r}"
        + """
module = new("cuModuleLoadData", PTX)
kernel = new("cuModuleGetFunction", module, b"look")
arguments = (ctypes.c_void_p * 1)(ctypes.addressof(data))
assert cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, one, arguments, None) == 0
assert cuda.cuCtxSynchronize() == 0
"""
    )
    assert done.returncode == 66
    assert [what for what, _ in places(done)] == ["allocated", "called", "stream made"]
    assert re.fullmatch(r"client.py:\d+ in <module>", places(done)[1][1])
