#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prove what a process leaves in the folders SIMCUDA_TRACE_DIR and SIMCUDA_COUNT_DIR.

usage: check_trace.py [--python] PROGRAM...

Each PROGRAM is one in C. --python: Python can load the library here, and is looked at, too.
"""

import functools
import inspect
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile


def races():
    """Two streams write the same memory, and the host waits for one of them."""
    import ctypes
    import os
    import threading

    cuda, size = ctypes.CDLL("libcuda.so.1"), ctypes.c_size_t(64)

    def new(name, *arguments):
        made = ctypes.c_void_p()
        assert getattr(cuda, name)(ctypes.byref(made), *arguments) == 0
        return made

    assert cuda.cuInit(0) == 0
    context = new("cuDevicePrimaryCtxRetain", 0)
    assert cuda.cuCtxSetCurrent(context) == 0
    one, two, data = new("cuStreamCreate", 1), new("cuStreamCreate", 1), new("cuMemAlloc_v2", size)
    assert cuda.cuMemsetD8Async(data, 1, size, one) == 0
    assert cuda.cuMemsetD8Async(data, 2, size, two) == 0
    assert cuda.cuStreamSynchronize(two) == 0
    assert cuda.cuStreamSynchronize(None) == 0
    assert cuda.cuMemAlloc_v2(None, size) == 1
    thread = threading.Thread(target=lambda: cuda.cuCtxSetCurrent(context))
    thread.start()
    thread.join()
    assert cuda.cuTexRefCreate(ctypes.byref(ctypes.c_void_p())) == 801
    if not os.fork():
        os._exit(cuda.cuStreamSynchronize(two) != 3)  # not initialised: it leaves nothing
    assert os.wait()[1] == 0


def run(*command, **environment):
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True
    )


def lines_of(path):
    found = {}
    for line in path.read_text().splitlines():
        kind, *parts = json.loads(line)
        found.setdefault(kind, []).append(parts)
    return found


def check_python(folder):
    code = inspect.getsource(races) + "\nraces()\n"
    done = run(
        sys.executable, "-c", code, SIMCUDA_TRACE_DIR=str(folder), SIMCUDA_COUNT_DIR=str(folder)
    )
    assert done.returncode == 0, done.stderr
    paths = {path.suffix: path for path in folder.iterdir()}
    assert sorted(paths) == [".counts", ".trace", ".unsupported"], paths
    assert struct.unpack("=QQ", paths[".counts"].read_bytes()) == (12, 0)
    assert paths[".unsupported"].read_text() == "cuTexRefCreate\n"

    found = lines_of(paths[".trace"])
    ((version, _, parent, arguments),) = found["process"]
    assert (version, parent, arguments[1]) == (1, os.getpid(), "-c")
    calls = {number: (thread, symbol, site) for number, thread, symbol, site, _ in found["call"]}
    assert [symbol for _, symbol, _ in calls.values()] == [
        *("cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuStreamCreate", "cuStreamCreate"),
        *("cuMemAlloc", "cuMemsetD8Async", "cuMemsetD8Async"),
        *("cuStreamSynchronize", "cuStreamSynchronize", "cuMemAlloc", "cuCtxSetCurrent"),
    ]
    assert len({thread for thread, *_ in calls.values()}) == len(found["thread"]) == 2
    (result,) = found["result"]
    assert (calls[result[0]][1], result[1]) == ("cuMemAlloc", 1)

    # Each memset, by its line; the second is not ordered after the first.
    first, second = found["operation"]
    sites = {number: frames for number, _, frames in found["site"]}
    wanted = [n for n, line in enumerate(code.splitlines(), 1) if "cuMemsetD8Async" in line]
    for operation, line in zip((first, second), wanted, strict=True):
        assert sites[calls[operation[1]][2]][0] == ["<string>", line, "races"]
        assert operation[7] == []
        (access,) = operation[8]
        assert (access[0], access[3]) == ("writes", 64)
    assert first[4] != second[4]
    ((earlier, later, *_, report),) = found["race"]
    assert (earlier, later) == (["operation", 1], ["operation", 2])
    assert report.startswith("simcuda: race: nothing orders")
    # The host waits for the second alone: the legacy stream has none of it.
    ((_, call, lane, tick),) = found["saw"]
    assert calls[call][1] == "cuStreamSynchronize"
    assert [lane, tick] == second[9:]


def check_native(folder, program):
    done = run(program, SIMCUDA_TRACE_DIR=str(folder))
    assert done.returncode == 0, done.stderr
    (path,) = folder.iterdir()
    found = lines_of(path)
    if "graph" in program:
        assert any(operation[6] for operation in found["operation"])  # a node, made by a call
    assert len({number for number, *_ in found["call"]}) == len(found["call"])
    sites = {number: (language, frames) for number, language, frames in found["site"]}
    for *_, site, _ in found["call"]:
        language, frames = sites[site]
        assert language == "native"
        assert program in {module for module, *_ in frames}, frames
        assert all(isinstance(offset, int) for _, offset, _ in frames)


def check_refusals(folder):
    """A trace that cannot be written is refused; counts are not worth that."""
    nowhere = str(folder / "nowhere")
    code = "import ctypes, sys; sys.exit(ctypes.CDLL('libcuda.so.1').cuInit(0))"
    refused = run(sys.executable, "-c", code, SIMCUDA_TRACE_DIR=nowhere)
    assert refused.returncode == 1
    assert f"SIMCUDA_TRACE_DIR={nowhere}" in refused.stderr
    code = inspect.getsource(races) + "\nraces()\n"
    assert run(sys.executable, "-c", code, SIMCUDA_COUNT_DIR=nowhere).returncode == 0


def main():
    programs = [os.path.realpath(argument) for argument in sys.argv[1:] if argument != "--python"]
    if not programs:
        sys.exit(__doc__)
    checks = [functools.partial(check_native, program=program) for program in programs]
    if "--python" in sys.argv:
        checks += [check_python, check_refusals]
    for check in checks:
        with tempfile.TemporaryDirectory() as folder:
            check(pathlib.Path(folder))


if __name__ == "__main__":
    main()
