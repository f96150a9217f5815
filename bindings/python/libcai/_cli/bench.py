# SPDX-License-Identifier: BSD-3-Clause
"""``libcai bench``: libcai beside its neighbours, on this machine."""

import importlib
import json
import platform
import statistics
import sys
import timeit
from collections import namedtuple

from libcai import __version__
from libcai._cli import _arguments, _driver, _terminal

TEXT = """Measures what it costs to take arrays and to hand them out: by libcai, and by those of
numba-cuda, cuda.core, CuPy, PyTorch, NumPy, tvm-ffi and mpi4py that are installed. Where there is
no GPU, that is on the simulated driver: then the figures are those of the host alone, which is what
these functions are about. Nothing is compiled."""

EXAMPLES = (
    "libcai bench                      what is installed here, side by side",
    "libcai bench --rounds=20 --json   sooner, and for a program",
)

STATUS = """Each figure is of one call, in nanoseconds: the least of all rounds, and the median; and
how many times the least of the section's first line the least is. Exit status: 0; 2 if there is no
driver of either kind."""

SECTIONS = {
    "read": "an object with a dict becomes an array: 2-D, no order needed",
    "use": "an array with a stream is used on another stream",
    "write": "an array becomes a dict",
    "dlpack": "from_dlpack of an array of the host's, 2-D",
    "call": "tvm-ffi's compiled function is called with three arrays of the host's",
}
SHAPE = 6, 8
SECONDS = 0.001  # each measurement, about: shorter than a time slice, so that some are undisturbed

Row = namedtuple("Row", "section library function min_ns median_ns ratio")


class Producer:
    """An object with the attribute, and nothing else."""

    def __init__(self, interface):
        self.__cuda_array_interface__ = interface


class Given:
    """What all of them are given."""

    def __init__(self):
        import libcai

        self.array = libcai.zeros(SHAPE, "<f4", device="gpu:0")
        self.theirs, self.mine = libcai.Stream("gpu:0"), libcai.Stream("gpu:0")
        libcai.Device("gpu:0").synchronize()
        dict_of = {
            "shape": SHAPE,
            "typestr": "<f4",
            "data": (self.array.data, False),
            "version": 3,
            "strides": (32, 4),
        }
        self.ready = Producer({**dict_of, "stream": None})
        self.pending = Producer({**dict_of, "stream": self.theirs.value})
        try:
            import numpy

            self.host = numpy.zeros(SHAPE, "<f4")
        except ImportError:
            self.host = libcai.zeros(SHAPE, "<f4")


# ---- The libraries ------------------------------------------------------------------------------
#
# Each function imports its library, and returns {(section, what is called): a function to time}.


def libcai(given):
    import libcai

    asarray, from_dlpack, use = libcai.asarray, libcai.from_dlpack, libcai.use
    array, pending = asarray(given.ready), asarray(given.pending)

    def used(order):
        with use(pending, stream=given.mine, order=order):
            pass

    return {
        ("read", "asarray"): lambda: asarray(given.ready),
        ("use", "use, there only"): lambda: used("begin"),
        ("use", "use, there and back"): lambda: used("both"),
        ("write", "Array.__cuda_array_interface__"): lambda: array.__cuda_array_interface__,
        ("dlpack", "from_dlpack"): lambda: from_dlpack(given.host),
    }


def numba_cuda(given):
    from numba import cuda

    as_array = cuda.as_cuda_array
    array = as_array(given.ready)
    return {
        ("read", "as_cuda_array(sync=False)"): lambda: as_array(given.ready, sync=False),
        ("use", "as_cuda_array, the host waits"): lambda: as_array(given.pending),
        ("write", "DeviceNDArray"): lambda: array.__cuda_array_interface__,
    }


def cuda_core(given):
    from cuda.core.utils import StridedMemoryView

    view, host_view = StridedMemoryView.from_cuda_array_interface, StridedMemoryView.from_dlpack
    mine = given.mine.value
    return {
        ("read", "StridedMemoryView"): lambda: view(given.ready, -1),
        ("use", "StridedMemoryView, there only"): lambda: view(given.pending, mine),
        ("dlpack", "StridedMemoryView"): lambda: host_view(given.host, -1),
    }


def cupy(given):
    import cupy

    array, mine = cupy.asarray(given.ready), cupy.cuda.ExternalStream(given.mine.value)

    def used():
        with mine:
            cupy.asarray(given.pending)

    return {
        ("read", "asarray"): lambda: cupy.asarray(given.ready),
        ("use", "asarray, the host waits"): used,
        ("write", "ndarray"): lambda: array.__cuda_array_interface__,
    }


def torch(given):
    import torch

    times = {("dlpack", "from_dlpack"): lambda: torch.from_dlpack(given.host)}
    if torch.cuda.is_available():
        tensor = torch.as_tensor(given.ready, device="cuda:0")
        times["read", "as_tensor"] = lambda: torch.as_tensor(given.ready, device="cuda:0")
        times["write", "Tensor"] = lambda: tensor.__cuda_array_interface__
    return times


def numpy(given):
    import numpy

    return {("dlpack", "from_dlpack"): lambda: numpy.from_dlpack(given.host)}


def tvm_ffi(given):
    import tvm_ffi

    import libcai

    nop = tvm_ffi.get_global_func("testing.nop")
    array, tensor = libcai.asarray(given.host), tvm_ffi.from_dlpack(given.host)
    return {
        ("dlpack", "from_dlpack"): lambda: tvm_ffi.from_dlpack(given.host),
        ("call", "libcai.Array"): lambda: nop(array, array, array),
        ("call", "its own tensors"): lambda: nop(tensor, tensor, tensor),
    }


def mpi4py(given):
    import mpi4py

    mpi4py.rc.initialize = False  # MPI may sleep: nothing is sent
    mpi = importlib.import_module("mpi4py.MPI")
    return {("read", "MPI.buffer"): lambda: mpi.buffer(given.ready)}


LIBRARIES = {
    "libcai": libcai,
    "numba-cuda": numba_cuda,
    "cuda.core": cuda_core,
    "CuPy": cupy,
    "PyTorch": torch,
    "NumPy": numpy,
    "tvm-ffi": tvm_ffi,
    "mpi4py": mpi4py,
}


# ---- The command ---------------------------------------------------------------------------------


def add_to(commands):
    parser = _arguments.add_parser(
        commands,
        "bench",
        help="measure libcai and the libraries that are installed",
        description=TEXT,
        examples=EXAMPLES,
        status=STATUS,
    )
    parser.add_argument(
        "--rounds",
        type=_arguments.number(1, 10**6),
        default=100,
        metavar="N",
        help="how often all is measured (100)",
    )
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    _terminal.add_color_to(parser)
    parser.set_defaults(run=run)


def run(options):
    try:
        driver = _driver.kind(
            SIMCUDA_SCHEDULE="eager",  # queued work runs at once, so that none accumulates
            SIMCUDA_RACES="off",
            SIMCUDA_BANNER="0",
        )
    except _driver.MissingError as error:
        print(f"libcai bench: {error}", file=sys.stderr)
        return 2
    with _terminal.Progress() as progress:
        calls, missing = found(progress)
        rows = measured(calls, options.rounds, progress)
    if options.json:
        print(json.dumps(as_json(driver, rows, missing), indent=2))
    else:
        print(as_table(driver, rows, missing, _terminal.Paint(options.color)))
    return 0


def found(progress):
    """What is to be measured; and why the other libraries are not."""
    given, calls, missing = Given(), {}, {}
    for library, load in LIBRARIES.items():
        progress(f"importing {library}")
        try:
            for (section, function), call in load(given).items():
                call()
                calls[section, library, function] = call
        except ModuleNotFoundError:
            missing[library] = "not installed"
        except Exception as error:  # any failure with this driver
            missing[library] = f"{type(error).__name__}: {error}".partition("\n")[0]
    return calls, missing


def measured(calls, rounds, progress):
    """Rows by section, libcai's own first."""
    timers = {key: timeit.Timer(call) for key, call in calls.items()}
    timers[None] = timeit.Timer(lambda: None)
    counts = {key: count_for(timer) for key, timer in timers.items()}
    times = {key: [] for key in timers}
    # One round at a time, so that noise from other processes affects all of them.
    for i in range(rounds):
        progress(f"round {i + 1} of {rounds}")
        for key, timer in timers.items():
            times[key].append(timer.timeit(counts[key]) / counts[key] * 1e9)
    # The call of the lambda is not measured.
    empty = min(times.pop(None))
    least = {key: min(values) - empty for key, values in times.items()}
    rows = []
    for section in SECTIONS:
        here = [key for key in times if key[0] == section]
        for key in here:
            median = statistics.median(times[key]) - empty
            ratio = least[key] / least[here[0]]
            rows.append(Row(*key, round(least[key], 1), round(median, 1), round(ratio, 2)))
    return rows


def count_for(timer):
    """How many calls take SECONDS, about."""
    count = 1
    while min(timer.repeat(3, count)) < SECONDS:
        count *= 2
    return count


def as_json(driver, rows, missing):
    return {
        "libcai": __version__,
        "python": platform.python_version(),
        "driver": driver,
        "rows": [row._asdict() for row in rows],
        "not_measured": missing,
    }


def as_table(driver, rows, missing, paint):
    lines = [f"libcai {__version__}, Python {platform.python_version()}, {described(driver)}"]
    for section, title in SECTIONS.items():
        here = [row for row in rows if row.section == section]
        if not here:
            continue
        lines += ["", paint(title, "bold"), paint(f"{'min':>55} {'median':>9}   ns", "dim")]
        for row in here:
            what = f"{row.library:11} {row.function}"
            line = f"  {what:43} {row.min_ns:9.1f} {row.median_ns:9.1f}"
            lines.append(f"{line} {row.ratio:8.2f}x" if row is not here[0] else line)
    lines += ["", *(f"not measured: {name}: {why}" for name, why in missing.items())]
    return "\n".join(lines).rstrip()


def described(driver):
    if driver == "simulated":
        return "simulated driver (simcuda): host-side costs only"
    from libcai import Device

    return f"the driver of this machine: {Device('gpu:0').name}"
