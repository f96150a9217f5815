# SPDX-License-Identifier: BSD-3-Clause
"""Programs that are shown on a page, and what is on it."""

import json
import os
import re
import subprocess
import sys

from helpers import LIMIT

# The beginning of the programs below.
BEGIN = """
import ctypes, os, signal, sys, threading
cuda, size = ctypes.CDLL("libcuda.so.1"), ctypes.c_size_t(64)


def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    assert status == 0, (name, status)


def new(name, *arguments):
    made = ctypes.c_void_p()
    call(name, ctypes.byref(made), *arguments)
    return made


def fill(place, stream):
    call("cuMemsetD8Async", ctypes.c_void_p(memory.value + place), 1, size, stream)


call("cuInit", 0)
context = new("cuDevicePrimaryCtxRetain", 0)
call("cuCtxSetCurrent", context)
one, two = new("cuStreamCreate", 1), new("cuStreamCreate", 1)
memory, event = new("cuMemAlloc_v2", ctypes.c_size_t(1 << 16)), new("cuEventCreate", 2)


def wait(before, after):
    call("cuEventRecord", event, before)
    call("cuStreamWaitEvent", after, event, 0)
"""

RACE = """
fill(0, one)  # the first
fill(0, two)  # the second
"""

# A graph of two branches, launched twice, with a race of its nodes; another thread; a call that
# fails.
GRAPH = """
call("simcuda_kernel", b"saxpy", None, 0, None, None)
module = new("cuModuleLoadData", b"simcuda module\\nsaxpy")
function = new("cuModuleGetFunction", module, b"saxpy")


def captured():
    graph = ctypes.c_void_p()
    call("cuStreamBeginCapture_v2", one, 0)
    fill(0, one)
    wait(one, two)
    fill(64, two)  # of the graph
    call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, one, None, None)
    wait(two, one)
    call("cuStreamEndCapture", one, ctypes.byref(graph))
    return new("cuGraphInstantiate", graph, None, None, 0)


def other():
    call("cuCtxSetCurrent", context)
    stream = new("cuStreamCreate", 0)
    fill(512, stream)
    call("cuStreamSynchronize", stream)


graph = captured()
call("cuGraphLaunch", graph, one)
wait(one, two)
fill(64, two)  # the first
call("cuGraphLaunch", graph, one)  # the second
thread = threading.Thread(target=other)
thread.start()
thread.join()
call("cuCtxSynchronize")
assert cuda.cuMemAlloc_v2(None, size) == 1
"""


def run(*arguments, cwd, **environment):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("SIMCUDA")}
    return subprocess.run(
        [sys.executable, "-m", "simcuda", "run", "--quiet", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        cwd=cwd,
        env={**kept, **environment},
    )


def show(folder, code, *options, status=66):
    """Runs a program in a folder, and returns what its page shows."""
    (folder / "program.py").write_text(BEGIN + code)
    done = run("--report=page.html", *options, sys.executable, "program.py", cwd=folder)
    assert done.returncode == status, done.stderr
    return Shown(folder / "page.html")


class Shown:
    """The data of a page."""

    def __init__(self, path):
        self.path, self.text = path, path.read_text("utf-8")
        (data,) = re.findall(
            r'<script type="application/json" id="data">(.*?)</script>', self.text, re.DOTALL
        )
        self.data = json.loads(data)
        self.items = self.data["items"]

    def names(self, lane=None):
        return [
            self.data["strings"][name]
            for name, its in zip(self.items["name"], self.items["lane"], strict=True)
            if lane is None or its == lane
        ]

    def of(self, item, column):
        return self.items[column][item]

    def lane(self, item):
        return self.data["lanes"][self.of(item, "lane")]

    def kind(self, item):
        return self.data["kinds"][self.of(item, "kind")]

    def notes(self, item):
        return [self.data["strings"][note] for note in self.of(item, "notes")]

    def frames(self, item, column="site"):
        site = self.data["sites"][self.of(item, column)]
        return [self.data["strings"][line] for line in site]

    def line(self, item, column="site"):
        """The text of the outermost line that a call came from."""
        file, line = re.match(r"(.*):(\d+) in ", self.frames(item, column)[-1]).groups()
        return (self.path.parent / file).read_text().splitlines()[int(line) - 1]

    def edges(self):
        return zip(*(self.data["edges"][end] for end in ("from", "to")), strict=True)
