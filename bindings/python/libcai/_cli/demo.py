# SPDX-License-Identifier: BSD-3-Clause
"""``libcai demo``: the main job of libcai, on arrays that it did not make.

Arrays go into a compiled C function, which knows none of the libraries that made them: it takes a
`cai_array *`. What it gives comes back, and is read by others. Every answer is compared with what
Python's own lists say.
"""

import ctypes
import functools
import sys
from array import array
from itertools import chain

import libcai
from libcai._cli import _arguments, _driver, _terminal
from libcai.testing import _driver as cuda

TEXT = """Hands arrays of Python, NumPy and numba-cuda (whichever is installed), and arrays that are
nothing but a dict, to a compiled C function, and what it makes of them to numba-cuda, cuda.core and
a kernel of PTX. Kernels and copies are pending on the GPU all the while, on streams of their own:
libcai keeps them in order. Then order is left out, to show what it is for. Where there is no GPU,
the simulated driver is used: there a missing wait always gives a wrong value."""

EXAMPLES = (
    "libcai demo                        the whole story, on this machine's GPU or on simcuda",
    "libcai demo --pack ./libpack.so    with a C function of yours, as examples/pack has one",
)

STATUS = """Exit status: 0 if all is as it should be; 1 if not; 2 if it could not be run."""

NUMBERS = range(100, 148)
ROWS = [list(NUMBERS[i : i + 8]) for i in range(0, 48, 8)]
SIZE = 48 * 4  # bytes

# The view of an array: rows, columns, and whether it is transposed then.
VIEWS = {
    "a[::2, 1:5]": (slice(None, None, 2), slice(1, 5), False),
    "a[1:, ::3]": (slice(1, None), slice(None, None, 3), False),
    "a[::2, ::-1]": (slice(None, None, 2), slice(None, None, -1), False),
    "a[::-1]": (slice(None, None, -1), slice(None), False),
    "a[::2, ::-1].transpose()": (slice(None, None, 2), slice(None, None, -1), True),
}


def view_of(given, name):
    """A view of any library's array: by libcai.Array, which has them all."""
    rows, columns, transposed = VIEWS[name]
    view = libcai.asarray(given)[rows, columns]
    return view.transpose() if transposed else view


def rows_of(name):
    """The same of ROWS."""
    rows, columns, transposed = VIEWS[name]
    view = [row[columns] for row in ROWS[rows]]
    return [list(column) for column in zip(*view, strict=True)] if transposed else view


def listed(data, shape):
    """Contiguous numbers, as lists of Python's."""
    return memoryview(data).cast("B").cast("i", shape).tolist()


# ---- The C function: cai_array_copy(), or the user's ---------------------------------------------


def copied(given):
    """cai_array_copy(), on a stream of its own: from any strides into contiguous memory."""
    if given.device.type == libcai.DeviceType.CPU:
        return libcai.copy(given)
    return libcai.copy(given, stream=libcai.Stream("gpu:0"))


class Error(ctypes.Structure):
    """cai_error"""

    _fields_ = (
        *((name, ctypes.c_int32) for name in ("status", "native", "entry", "index")),
        ("message", ctypes.c_char * 240),
    )


def pack_of(path):
    """pack() of a shared library, as examples/pack has it. ctypes lets the GIL go meanwhile."""
    function = ctypes.CDLL(path).pack

    def pack(given):
        out, error = ctypes.c_void_p(), Error()
        if function(given, None, ctypes.byref(out), ctypes.byref(error)) != 0:
            raise RuntimeError(error.message.decode())
        return libcai.Array.from_ptr(out.value)

    return pack


# ---- Producers and consumers ---------------------------------------------------------------------

# Both have one thread for each number. The driver compiles the text for its GPU.
PTX = b"""
.version 6.0
.target sm_50
.address_size 64

.visible .entry count(.param .u64 to, .param .u64 first)
{
    .reg .b32 %i, %n;
    .reg .b64 %to, %first;
    ld.param.u64 %to, [to];
    ld.param.u64 %first, [first];
    mov.u32 %i, %tid.x;
    cvt.u32.u64 %n, %first;
    add.u32 %n, %n, %i;
    mad.wide.u32 %to, %i, 4, %to;
    st.global.u32 [%to], %n;
    ret;
}

.visible .entry read(.param .u64 from, .param .u64 to)
{
    .reg .b32 %i, %n;
    .reg .b64 %from, %to;
    ld.param.u64 %from, [from];
    ld.param.u64 %to, [to];
    mov.u32 %i, %tid.x;
    mad.wide.u32 %from, %i, 4, %from;
    mad.wide.u32 %to, %i, 4, %to;
    ld.global.u32 %n, [%from];
    st.global.u32 [%to], %n;
    ret;
}
"""


@functools.cache
def kernel(name):
    driver = cuda.current()
    return driver.cuModuleGetFunction(driver.cuModuleLoadData(PTX), name)


class Pending:
    """A dict, and nothing else. A kernel has yet to compute the numbers, on a stream."""

    def __init__(self, simulated, says_stream=True):
        driver = cuda.current()
        stream = driver.new_stream()
        self.address = driver.cuMemAllocAsync(SIZE, stream)
        if not simulated:  # work that runs first: a real GPU may be too fast to show the race
            big = driver.cuMemAllocAsync(1 << 26, stream)
            for _ in range(64):
                driver.cuMemsetD8Async(big, 0, 1 << 26, stream)
        driver.launch(kernel(b"count"), len(NUMBERS), stream, self.address, NUMBERS[0])
        self.__cuda_array_interface__ = {
            "shape": (6, 8),
            "typestr": "<i4",
            "data": (self.address, False),
            "version": 3,
            "stream": stream if says_stream else None,
        }


def read_by_kernel(given, ordered=True):
    """A kernel on one more stream, which libcai puts in order, or not."""
    driver = cuda.current()
    pinned, stream = cuda.Pinned(driver, given.nbytes), driver.new_stream()
    with libcai.use(given, stream=stream if ordered else -1) as (used,):
        driver.launch(kernel(b"read"), used.nbytes // 4, stream, used.data, pinned.address)
    driver.cuStreamSynchronize(stream)
    return listed(bytes(pinned), given.shape)


def with_numba():
    """numba-cuda's array with work pending, and its reader: (make, read)."""
    from numba import cuda as numba_cuda

    def make():
        stream = numba_cuda.stream()
        made = numba_cuda.device_array((6, 8), "i4", stream=stream)
        made.copy_to_device(array_of_numpy(), stream=stream)
        return made

    def read(given):
        # numba-cuda's asarray() waits for the stream in the array's dict.
        return numba_cuda.as_cuda_array(given).copy_to_host().tolist()

    numba_cuda.current_context()
    return make, read


def with_cuda_core():
    """cuda.core's reader, on a stream of its own."""
    from cuda.core import Buffer, Device, LegacyPinnedMemoryResource

    device = Device(0)
    device.set_current()

    def read(given):
        host, stream = LegacyPinnedMemoryResource().allocate(given.nbytes), device.create_stream()
        with libcai.use(given, stream=stream) as (used,):
            source = Buffer.from_handle(used.data, used.nbytes, owner=used)
            source.copy_to(host, stream=stream)
        stream.sync()
        return listed(ctypes.string_at(int(host.handle), given.nbytes), given.shape)

    return read


def array_of_python():
    return memoryview(array("i", NUMBERS)).cast("B").cast("i", (6, 8))


def array_of_numpy():
    import numpy

    return numpy.array(ROWS, "i4")


def installed(library, load):
    """What `load` returns; None where the library is not installed, or does not work here."""
    try:
        return load()
    except ModuleNotFoundError:
        return None
    except Exception as error:
        print(f"libcai demo: without {library}: {type(error).__name__}: {error}", file=sys.stderr)
        return None


# ---- The parts of the demo -----------------------------------------------------------------------


class Story:
    def __init__(self, function, name, simulated, paint):
        self.function, self.name = function, name
        self.simulated, self.paint = simulated, paint
        self.failures = 0

    def title(self, text):
        print(f"\n{self.paint(text, 'bold')}")

    def judge(self, what, wrong):
        """`wrong`: who got another answer than Python's lists have."""
        self.failures += len(wrong)
        found = self.paint(f"WRONG for {', '.join(wrong)}", "red") if wrong else None
        print(f"   {what:36} {found or self.paint('right', 'green')}")

    def judge_unordered(self, what, got, wanted):
        """Without order: on simcuda always a wrong value."""
        pairs = zip(chain(*got), chain(*wanted), strict=True)
        wrong = next((pair for pair in pairs if pair[0] != pair[1]), None)
        if wrong:
            said = f"wrong: {wrong[0]} for {wrong[1]}"
        elif self.simulated:
            self.failures += 1
            said = self.paint("right, though nothing was in order", "red")
        else:
            said = "right this time, by luck: a race"
        print(f"   {what:36} {said}")

    def on_the_host(self, makers):
        for library, make in makers.items():
            self.title(f"{library}, on the host -> {self.name}")
            for view in VIEWS:
                packed = self.function(view_of(make(), view))
                got = listed(ctypes.string_at(packed.data, packed.nbytes), packed.shape)
                self.judge(view, [library] if got != rows_of(view) else [])

    def on_the_gpu(self, makers, readers):
        for library, make in makers.items():
            self.title(
                f"{library}, on the GPU, with work pending -> {self.name} -> {', '.join(readers)}"
            )
            for view in VIEWS:
                source = make()
                packed = self.function(view_of(source, view))
                wanted = rows_of(view)
                self.judge(view, [name for name, read in readers.items() if read(packed) != wanted])

    def without_order(self):
        may = "must" if self.simulated else "may"
        self.title(f"Without order: a wrong answer {may} come")
        view = "a[::2, ::-1]"
        liar = Pending(self.simulated, says_stream=False)
        got = read_by_kernel(self.function(view_of(liar, view)))
        self.judge_unordered('the dict says "stream": None', got, rows_of(view))
        source = Pending(self.simulated)
        packed = self.function(view_of(source, view))
        got = read_by_kernel(packed, ordered=False)
        self.judge_unordered("the reader does not wait (stream=-1)", got, rows_of(view))


def add_to(commands):
    parser = _arguments.add_parser(
        commands,
        "demo",
        help="show the main job: arrays of other libraries through compiled C",
        description=TEXT,
        examples=EXAMPLES,
        status=STATUS,
    )
    parser.add_argument(
        "--pack",
        metavar="LIBRARY",
        help="a shared library with the C function pack() of libcai's examples, to be called "
        "instead of libcai's own cai_array_copy()",
    )
    _terminal.add_color_to(parser)
    parser.set_defaults(run=run)


def run(options):
    try:
        function = pack_of(options.pack) if options.pack else copied
        driver = _driver.kind(
            # The lazy schedule, without quiet time: work that nothing waits for does not run.
            SIMCUDA_SCHEDULE="lazy",
            SIMCUDA_QUIET_MS="0",
            SIMCUDA_RACES="count",  # the last part races on purpose
            SIMCUDA_BANNER="0",
        )
    except (OSError, AttributeError, _driver.MissingError) as error:
        print(f"libcai demo: {error}", file=sys.stderr)
        return 2
    return tell(function, driver == "simulated", options)


def tell(function, simulated, options):
    libcai.Device("gpu:0").set_current()
    name = "pack() in C" if options.pack else "cai_array_copy() in C"
    story = Story(function, name, simulated, _terminal.Paint(options.color))
    print(f"libcai {libcai.__version__}")
    if simulated:
        print("driver: simulated (simcuda): there is no GPU here; work runs only when waited for")
    else:
        print(f"driver: the real one of this machine, device 0: {libcai.Device('gpu:0').name}")
    print("a is 6 x 8 numbers, 100 to 147; views of it are copied into contiguous memory")

    hosts = {"Python's memoryview": array_of_python}
    makers = {"A dict made by hand": functools.partial(Pending, simulated)}
    readers = {"a kernel": read_by_kernel}
    with _terminal.Progress() as progress:  # some take seconds to import
        progress("importing NumPy")
        if installed("NumPy", array_of_numpy) is not None:
            hosts["NumPy"] = array_of_numpy
        progress("importing numba-cuda")
        if numba := installed("numba-cuda", with_numba):
            makers["numba-cuda"], readers["numba-cuda"] = numba
        progress("importing cuda.core")
        if cuda_core := installed("cuda.core", with_cuda_core):
            readers["cuda.core"] = cuda_core

    story.on_the_host(hosts)
    story.on_the_gpu(makers, readers)
    story.without_order()
    if story.failures:
        print(f"\n{story.failures} answers are not as they should be")
        return 1
    print("\nall as it should be")
    return 0
