# SPDX-License-Identifier: BSD-3-Clause
"""Measures libcai and its neighbours, with simcuda as the driver, and prints one table.

`make bench` runs this. Goals are goals: a noisy machine may miss one, and nothing fails for it.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import nanobind
import pybind11

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("CAI_BENCH_BUILD", ROOT / "build-bench"))
SIM = ROOT / "simcuda/sim"
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # meson and ninja
COUNTERS = ("mallocs", "bytes", "records", "waits", "creates", "destroys", "probes")
COUNTERS += ("contexts", "ids", "currents")
# simcuda with its fastest settings.
SIMULATED = {
    "SIMCUDA_SCHEDULE": "eager",  # queued work runs at once, so that none accumulates
    "SIMCUDA_RACES": "off",
    "SIMCUDA_BANNER": "0",
    "SIMCUDA_LIBRARY_DIR": str(BUILD / "subprojects/simcuda/driver"),
}

# A driver whose functions do nothing.
STUB = {"LD_LIBRARY_PATH": str(BUILD / "bench/stub")}


def run(*command, cwd=ROOT, **environment):
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, "PATH": PATH, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode != 0:
        sys.exit(f"bench: {command[0]} failed\n{done.stdout}")
    return done.stdout


def build_core():
    setup = ["meson", "setup", BUILD, "-Dbenchmarks=true", "-Dtests=false", "-Dbuildtype=release"]
    if not (BUILD / "meson-private/coredata.dat").exists():
        run(*setup)
    run("ninja", "-C", BUILD)


def build_read_dict():
    """A module with the bindings' own code, linked with the installed library."""
    folder = BUILD / "python"
    folder.mkdir(exist_ok=True)
    bindings = ROOT / "bindings/python/libcai"
    module = folder / f"read_dict{sysconfig.get_config_var('EXT_SUFFIX')}"
    source = folder / "read_dict.c"
    flags = run(sys.executable, "-m", "libcai", "config", "--cflags", "--libs").split()
    cython = [sys.executable, "-m", "cython", "-3", f"-I{bindings}", "-o", source]
    run(*cython, ROOT / "bench/read_dict.pyx")
    headers = [f"-I{sysconfig.get_path('include')}", f"-I{bindings}/c"]
    optimized = ["-O3", "-DNDEBUG"]  # as the wheel's own
    run("cc", *optimized, "-w", "-shared", "-fPIC", *headers, source, "-o", module, *flags)
    return folder


def build_of_cython(folder):
    """A module in Cython, as the installed package serves those."""
    module = folder / f"of_cython{sysconfig.get_config_var('EXT_SUFFIX')}"
    source = folder / "of_cython.c"
    flags = run(sys.executable, "-m", "libcai", "config", "--cflags").split()
    run(sys.executable, "-m", "cython", "-3", "-o", source, ROOT / "bench/of_cython.pyx")
    headers = [f"-I{sysconfig.get_path('include')}", *flags]
    run("cc", "-O3", "-DNDEBUG", "-w", "-shared", "-fPIC", *headers, source, "-o", module)


def build_of_pyo3(folder):
    """A module by PyO3, optimized as examples/extensions/rust is."""
    target = BUILD / "cargo"
    command = ["cargo", "build", "--quiet", "--locked", "--release", "--package=bridges"]
    run(
        *command,
        cwd=ROOT / "bindings/rust",
        CARGO_PROFILE_RELEASE_CODEGEN_UNITS="1",
        CARGO_PROFILE_RELEASE_LTO="true",
        CARGO_TARGET_DIR=str(target),
        PYO3_BUILD_EXTENSION_MODULE="1",
        PYO3_PYTHON=sys.executable,
    )
    shutil.copy(target / "release/libbridges.so", folder / "bridges.abi3.so")


def build_release(folder):
    """A thread of C's that releases arrays, for bench_release.py."""
    library = folder / "librelease.so"
    flags = run(sys.executable, "-m", "libcai", "config", "--cflags").split()
    headers = [f"-I{sysconfig.get_path('include')}", *flags]
    run("cc", "-O2", "-shared", "-fPIC", *headers, ROOT / "bench/release.c", "-o", library)
    return library


def build_examples(folder):
    """The modules that hand out arrays, and take them, by tables."""
    for example in ("exporters", "extensions/c"):
        shutil.copytree(ROOT / "examples" / example, folder, dirs_exist_ok=True)
        run(sys.executable, "setup.py", "--quiet", "build_ext", "--inplace", cwd=folder)


def build_casters(folder):
    """Modules by nanobind and pybind11."""
    nanobinds, pybind11s = Path(nanobind.include_dir()), Path(pybind11.get_include())
    compiler = ["c++", "-std=c++20", "-O3", "-DNDEBUG", "-w", "-fno-strict-aliasing"]
    compiler += ["-fvisibility=hidden", "-shared", "-fPIC", f"-I{sysconfig.get_path('include')}"]
    compiler += run(sys.executable, "-m", "libcai", "config", "--cflags").split()
    for module, flags in {
        "of_nanobind": [
            f"-I{nanobinds}",
            f"-I{nanobinds.parent}/ext/robin_map/include",
            nanobinds.parent / "src/nb_combined.cpp",
        ],
        "of_pybind11": [f"-I{pybind11s}"],
    }.items():
        out = folder / f"{module}{sysconfig.get_config_var('EXT_SUFFIX')}"
        run(*compiler, *flags, ROOT / f"bench/{module}.cpp", "-o", out)


def imports():
    """Times of a fresh interpreter that imports libcai, or nothing; site imports much by itself."""
    path = f"import sys; sys.path.append({sysconfig.get_path('purelib')!r})"
    codes = {
        "no import": path,
        "import": f"{path}; import libcai",
        "import asarray": f"{path}; from libcai import asarray",
    }
    times = {name: [] for name in codes}
    for _ in range(50):
        for name, code in codes.items():
            begin = time.perf_counter_ns()
            run(sys.executable, "-I", "-S", "-c", code)
            times[name].append(time.perf_counter_ns() - begin)
    return {
        name: {"min": min(each), "median": statistics.median(each)} for name, each in times.items()
    }


def measure(*command, **environment):
    """Runs one program of Google Benchmark's: times and counters by name."""
    repetitions = ["--benchmark_repetitions=100", "--benchmark_min_time=0.001"]
    order = ["--benchmark_enable_random_interleaving=true", "--benchmark_format=json"]
    text = run(*command, *repetitions, *order, **environment)
    times, counters = {}, {}
    for row in json.loads(text)["benchmarks"]:
        name = row["run_name"]
        for more in ("/repeats:", "/min_time:", "/real_time", "/threads:"):
            name = name.partition(more)[0]
        if row["threads"] > 1:
            name += f"/{row['threads']}"
        if row["run_type"] == "iteration":
            times.setdefault(name, []).append(row["real_time"])
            counters[name] = {key: row[key] for key in COUNTERS if key in row}
    return {
        name: {"min": min(all_times), "median": sorted(all_times)[len(all_times) // 2]}
        for name, all_times in times.items()
    }, counters


class Table:
    def __init__(self, times, counters):
        self.times, self.counters = times, counters

    def section(self, title):
        print(f"\n{title}")
        print(f"  {'':50} {'min':>9} {'median':>9}   ns")

    def time(self, name, label=None, goal=None):
        row = self.times[name]
        text = f"  {label or name:50} {row['min']:9.1f} {row['median']:9.1f}"
        print(text + (f"   {verdict(row['min'] <= goal)} goal: {goal} at most" if goal else ""))

    def ratio(self, label, slow, fast, at_least=None, at_most=None):
        ratios = [self.times[slow][key] / self.times[fast][key] for key in ("min", "median")]
        goal = ""
        if at_least:
            goal = f"   {verdict(ratios[0] >= at_least)} goal: {at_least} at least"
        elif at_most:
            goal = f"   {verdict(ratios[0] <= at_most)} goal: {at_most} at most"
        print(f"  {label:50} {ratios[0]:8.2f}x {ratios[1]:8.2f}x{goal}")

    def more(self, label, slow, fast, at_most=None):
        more = [self.times[slow][key] - self.times[fast][key] for key in ("min", "median")]
        goal = f"   {verdict(more[0] <= at_most)} goal: {at_most} at most" if at_most else ""
        print(f"  {label:50} {more[0]:9.1f} {more[1]:9.1f}{goal}")

    def by_threads(self, name, label, at_least):
        """The cores are as many as the machine has to spare."""
        for threads in (2, 4, 8):
            if threads > (os.cpu_count() or 1):
                break
            self.time(f"{name}/{threads}", f"{label}, by {threads} threads")
            goal = at_least * threads
            self.ratio(f"  faster, of {threads}", name, f"{name}/{threads}", at_least=goal)

    def counter(self, name, key, label, goal=None, exact=False):
        rounded = round(self.counters[name][key], 2)
        if goal is None:
            print(f"  {label:50} {rounded:9g}")
            return
        good = rounded == goal if exact else rounded <= goal
        kind = "exactly" if exact else "at most"
        print(f"  {label:50} {rounded:9g} {'':9}   {verdict(good)} goal: {goal} {kind}")


def order_of_eight(table):
    table.section("C: order, 8 owned arrays of 2 streams used on a third, there and back")
    table.time("use", "cai_use_begin and cai_use_end")
    table.time("by_hand", "the same calls made by hand, and a look at each stream")
    table.ratio("libcai / by hand", "use", "by_hand", at_most=1.2)
    table.time("event_for_each", "there only: an event made, and destroyed, for each")
    for name, goal in {"records": 3, "waits": 4, "creates": 0, "destroys": 0}.items():
        table.counter("use", name, f"  {name}", goal, exact=True)
    for name in ("probes", "contexts", "ids", "currents"):
        table.counter("use", name, f"  {name}")


def order_of_one(table):
    table.section("C: order that one owned array needs; the driver does nothing")
    table.time("call", "one call through a pointer, which does nothing")
    for name, label in {
        "same_begin": "begin on the array's own stream",
        "empty_begin": "begin, no elements",
    }.items():
        table.time(name, label, goal=10)
        table.ratio("  / the call", name, "call", at_most=4)
    for name, label in {
        "same_use": "begin and end on the array's own stream",
        "empty_use": "begin and end, no elements",
    }.items():
        table.time(name, label, goal=20)
        table.ratio("  / the call", name, "call", at_most=8)
    table.time("none_begin", "begin, None stated, used on that stream before: two looks at it")
    table.time("none_use", "begin and end, likewise: one record")


def order_alone(table):
    """libcai's own time."""
    table.section("C: order, 8 owned arrays of 2 streams; the driver does nothing")
    table.time("use_begin", "cai_use_begin")
    table.time("use", "both")
    table.counter("use", "mallocs", "  mallocs", 0, exact=True)
    table.by_threads("use_by_threads", "both, each its own arrays", at_least=0.9)


def exchange(table):
    table.section("C: DLPack and Arrow; no order is needed")
    table.time("dlpack_read/2", "cai_dlpack_read, 2-D")
    table.time("dlpack_read/4", "cai_dlpack_read, 4-D", goal=20)
    table.time("dlpack_own/2", "cai_dlpack_own and the last release, 2-D")
    table.time("dlpack_own/4", "cai_dlpack_own and the last release, 4-D", goal=40)
    table.counter("dlpack_own/4", "mallocs", "  mallocs", 1, exact=True)
    table.time("malloc_and_free", "  of this: malloc and free of the block")
    table.time("dlpack_write/2", "cai_dlpack_write and its deleter, 2-D")
    table.time("dlpack_write/4", "cai_dlpack_write and its deleter, 4-D")
    table.time("dlpack_lend/4", "cai_dlpack_lend, 4-D, of a borrowed array")
    table.time("arrow_there_and_back", "cai_arrow_write, cai_arrow_own and the last release")


def importing(table):
    table.section("Python: import, in an interpreter that has imported nothing")
    table.more("import libcai", "import", "no import", at_most=30_000_000)
    table.more("from libcai import asarray", "import asarray", "no import", at_most=30_000_000)


def calls_of_three(table):
    table.section("Python: a compiled function is called with three arrays, 2-D, of the host")
    table.time("three: Array", "libcai.Array", goal=50)
    table.time("three: described", "of a type that describes its own (cai/exchange.h)")
    table.time("three: lent", "of a type that lends tensors (DLPack's table)")
    table.time("three: NumPy", "NumPy's")
    table.time("three: tvm-ffi", "tvm-ffi's own function, and its own tensors")
    table.time("three: tvm-ffi of Array", "tvm-ffi's own function, libcai.Array")
    table.time("three: tvm-ffi of NumPy", "tvm-ffi's own function, NumPy's")
    table.time("three: nanobind", "a function of nanobind's, by cai/nanobind.h: libcai.Array")
    table.time("three: nanobind of NumPy", "  NumPy's")
    table.time("three: ndarray of NumPy", "  NumPy's, by nanobind's own ndarray")
    table.time("three: pybind11", "a function of pybind11's, by cai/pybind11.h: libcai.Array")
    table.time("three: pybind11 of NumPy", "  NumPy's")
    kinds = ("Array", "libcai.Array"), ("described", "described"), ("lent", "lent")
    for kind, label in (*kinds, ("NumPy", "NumPy's")):
        cython, pyo3 = f"three: Cython, {kind}", f"three: PyO3, {kind}"
        table.time(cython, f"a function of Cython's: {label}")
        table.time(pyo3, f"a function of PyO3's: {label}")
        table.ratio("  PyO3 / Cython", pyo3, cython, at_most=1.2)
    table.ratio(
        "NumPy's: ndarray / cai/nanobind.h",
        "three: ndarray of NumPy",
        "three: nanobind of NumPy",
        at_least=1,
    )
    table.ratio("tvm-ffi / libcai, each its own", "three: tvm-ffi", "three: Array", at_least=2)
    table.ratio("NumPy's: tvm-ffi / libcai", "three: tvm-ffi of NumPy", "three: NumPy", at_least=1)
    table.time("from_dlpack: libcai", "libcai.from_dlpack of a NumPy array")
    table.time("from_dlpack: NumPy", "numpy.from_dlpack of a NumPy array")
    table.ratio("NumPy / libcai", "from_dlpack: NumPy", "from_dlpack: libcai", at_least=1)
    asarray = "libcai.asarray of NumPy"
    table.ratio("libcai: asarray / from_dlpack", asarray, "from_dlpack: libcai", at_most=1.2)


def arguments(table):
    table.section("C: an argument by cai/python.h, 2-D; none needs order")
    table.time("open: Array", "opened and closed: libcai.Array")
    table.time("open: described", "  of a type that describes its own (cai/exchange.h)", goal=20)
    table.time("open: lent", "  of a type that lends tensors (DLPack's table)")
    table.time("table: lent", "    of this: that table's own function")
    table.time("own: described", "owned and released: described", goal=40)
    table.time("own: told of uses", "  by a type that is told of uses")


def releases(table):
    table.section("C: the last release of an array of Python's, while the interpreter is busy")
    table.time("release, median", "without the GIL, median of a batch")
    table.time("release, p99.9", "  99.9th percentile", goal=1000)
    table.time("release with the GIL, median", "the GIL is waited for, median of a batch")


def work_on_the_cpu(table):
    table.section("C: work for streams of the CPU")
    table.time("enqueue/async", "cai_stream_enqueue, a thread of its own", goal=1000)
    table.time("enqueue/sync", "cai_stream_enqueue, at once")
    table.time("enqueue_and_synchronize", "enqueued and waited for: the thread is woken")


def managers(simulated, stub):
    simulated.section("C: allocated and freed in the order of a stream, with simcuda")
    simulated.time("ordered_by_hand", "by the driver's two functions")
    simulated.time("ordered/async", 'by the manager "async"')
    simulated.time("ordered/pool", 'by the manager "pool"')
    simulated.ratio("async / by hand", "ordered/async", "ordered_by_hand", at_most=1.2)
    simulated.ratio("pool / by hand", "ordered/pool", "ordered_by_hand", at_most=1.2)

    stub.section("C: allocated and freed; the driver does nothing")
    stub.time("pair_by_hand", "by the table of a manager that does nothing")
    stub.more("  more through libcai, CPU", "pair_cpu", "pair_by_hand", at_most=50)
    stub.more("  more through libcai, GPU", "pair_gpu", "pair_by_hand", at_most=50)
    stub.by_threads("pair_by_threads", "the same, CPU", at_least=0.8)
    stub.time("ordered/async", 'by the manager "async"')
    stub.time("handle", "  as cai_memory")
    stub.time("torch", "  by PyTorch's functions")
    stub.time("cupy", "  by CuPy's functions")

    stub.section("C: frees that are pending, of the CPU")
    stub.time("pending", "each, when 10 at most are")
    stub.time("deferred/1000", "each of 1000 that are deferred")
    stub.time("deferred/1000000", "each of a million")
    stub.ratio("a million / 1000", "deferred/1000000", "deferred/1000", at_most=1.2)
    stub.more("  more for each of a million", "deferred/1000000", "deferred/1000")
    stub.more("  more in a std::deque alone", "remembered/1000000", "remembered/1000")


def look_ups(table):
    table.section("C: the memory around an address")
    drawn = 1 << 20
    for count in (1000, 10_000, 100_000, 1_000_000):
        find, holder = f"memory_find/{count}/{drawn}", f"tree_and_holder/{count}/{drawn}"
        table.time(find, f"cai_memory_find, of {count} blocks")
        table.time(holder, "  a B-tree, and a holder taken and released")
        table.ratio("  libcai / this", find, holder, at_most=1.2)
    table.ratio("the last one / a B-tree alone", find, f"tree_alone/{count}/{drawn}", at_most=1.2)
    table.by_threads(f"find_by_threads/{count}/{drawn}", f"of {count}", at_least=0.8)
    find, holder = "memory_find/1000/1000", "tree_and_holder/1000/1000"
    table.time(find, "1000 blocks, over and over in one order")
    table.time(holder, "  a B-tree, and a holder, whose branches the processor learns")
    table.ratio("  libcai / this", find, holder)


def verdict(good):
    return "ok    " if good else "MISSED"


def main():
    build_core()
    folder = build_read_dict()
    build_examples(folder)
    release = build_release(folder)
    build_casters(folder)
    build_of_cython(folder)
    build_of_pyo3(folder)
    core, counters = measure(SIM, BUILD / "bench/bench_core", **SIMULATED)
    bench_order = BUILD / "bench/bench_order"
    order = Table(*measure(SIM, bench_order, "--benchmark_filter=-threads", **SIMULATED))
    stub = Table(*measure(bench_order, **STUB))
    bench_memory = BUILD / "bench/bench_memory"
    ordered = Table(*measure(SIM, bench_memory, "--benchmark_filter=ordered", **SIMULATED))
    memory = Table(*measure(bench_memory, **STUB))
    environment = {**SIMULATED, "PYTHONPATH": str(folder), "MPI4PY_RC_INITIALIZE": "0"}
    python = json.loads(run(SIM, sys.executable, ROOT / "bench/bench_python.py", **environment))
    table = Table({**core, **python}, counters)

    table.section("Python: an object with a static dict, 2-D, becomes an array")
    table.time("libcai.asarray")
    table.time("cuda.core StridedMemoryView")
    table.time("numba-cuda as_cuda_array", "numba-cuda as_cuda_array(sync=False)")
    table.time("mpi4py MPI.buffer")
    table.time("attribute_query", "  of these: one cuPointerGetAttribute of simcuda")
    ours = "libcai.asarray"
    table.ratio("cuda.core / libcai", "cuda.core StridedMemoryView", ours, at_least=6)
    table.ratio("numba-cuda / libcai", "numba-cuda as_cuda_array", ours, at_least=40)
    table.ratio("mpi4py / libcai", "mpi4py MPI.buffer", ours, at_least=8)
    table.time("libcai.asarray of NumPy", "libcai.asarray of a NumPy array")
    table.time("libcai.use, no order needed", "libcai.use of one Array that needs no order")
    table.time("libcai.use, kept by the owner", "libcai.use of one Array that came with None")
    table.ratio(
        "libcai.use / the calls of C that it needs",
        "libcai.use, kept by the owner",
        "use: the calls of C",
        at_most=1.5,
    )
    table.time("libcai.use of 8, kept by owners", "libcai.use of eight of them")

    if "RMM, libcai.rmm" in python:
        table.section("Python: RMM allocates 4 KiB on the legacy stream and frees them")
        driver, ours = "RMM, the driver's functions", "RMM, libcai.rmm"
        table.time(driver, "by a CallbackMemoryResource of the driver's functions")
        table.time(ours, "by libcai.rmm")
        table.ratio("libcai.rmm / the driver's", ours, driver, at_most=1.2)
        table.time("RMM, its pool on libcai.rmm", "by RMM's own pool on libcai.rmm")

    importing(Table(imports(), {}))
    calls_of_three(table)
    arguments(table)
    releases(Table(json.loads(run(sys.executable, ROOT / "bench/bench_release.py", release)), {}))

    table.section("Python: an array becomes a dict")
    table.time("libcai interface", "libcai Array.__cuda_array_interface__")
    table.time("libcai interface after uses", "  of an array with None after uses: it says 1")
    table.time("numba-cuda interface", "numba-cuda DeviceNDArray.__cuda_array_interface__")
    table.ratio("numba-cuda / libcai", "numba-cuda interface", "libcai interface", at_least=4)

    table.section("C: reading the dict")
    table.time("read the dict", "unpack, cai_interface_read")
    table.time("unpack the dict", "  of this: the bindings' unpacking")
    table.time("six PyDict_GetItem", "six PyDict_GetItem and no checks")
    table.ratio("libcai / no checks", "read the dict", "six PyDict_GetItem", at_most=1.3)

    table.section("C: arrays")
    table.time("validate/2", "cai_array_validate, 2-D")
    table.time("validate/4", "cai_array_validate, 4-D", goal=20)
    table.ratio("  4-D / 2-D", "validate/4", "validate/2", at_most=1.1)
    table.time("own/2", "cai_array_own and the last release, 2-D")
    table.time("own/4", "cai_array_own and the last release, 4-D")
    table.counter("own/4", "mallocs", "  mallocs", 1, exact=True)
    table.counter("own/4", "bytes", "  bytes", 320)
    table.time("retain_release", "cai_array_retain and cai_array_release", goal=5)

    order_of_eight(order)
    order_of_one(stub)
    order_alone(stub)
    exchange(Table(*measure(BUILD / "bench/bench_exchange", **STUB)))
    work_on_the_cpu(Table(*measure(BUILD / "bench/bench_device")))
    managers(ordered, memory)
    look_ups(Table(*measure(BUILD / "bench/bench_registry")))

    if "use_begin" in core:
        table.section("C: order, 8 borrowed arrays of one stream on another one")
        table.time("use_begin", "cai_use_begin")
        table.counter("use_begin", "records", "  event records", 1, exact=True)
        table.counter("use_begin", "waits", "  stream waits", 1, exact=True)
        table.time("use_whole", "cai_use_begin and cai_use_end")
        table.counter("use_whole", "records", "  event records", 2, exact=True)
        table.counter("use_whole", "waits", "  stream waits", 2, exact=True)
        table.time("event_calls", "simcuda's share: event made, recorded, waited for")
        table.time("same_stream_use", "begin and end of one array on its own stream")
        table.time("locate", "cai_array_locate")


if __name__ == "__main__":
    main()
