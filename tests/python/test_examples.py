# SPDX-License-Identifier: BSD-3-Clause
"""The examples, built against the installed wheel and run on simcuda."""

import os
import re
import shutil
import subprocess
import sys
import textwrap

import pytest
from building import config
from helpers import LIMIT, ROOT

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "examples"
SIMCUDA = os.environ.get("SIMCUDA_LIBRARY_DIR", str(ROOT / "build-simcuda/driver"))


def run(*command, status=0, **environment):
    """Runs a command; returns what it printed."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SIMCUDA", "NUMBA_", "MAKE"))}
    done = subprocess.run(
        [str(part) for part in command],
        env={**kept, "SIMCUDA_LIBRARY_DIR": SIMCUDA, **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def on_simcuda(*command, **more):
    return run(ROOT / "simcuda/sim", *command, **{"SIMCUDA_QUIET_MS": "0", **more})


def make_pack(folder):
    """As the example says."""
    shutil.copytree(EXAMPLES / "pack", folder, ignore=lambda *_: ["out"], dirs_exist_ok=True)
    (path,) = config("--pkg-config-dir")
    run("make", "-C", folder, f"PKG_CONFIG_PATH={path}", "CFLAGS=-O1 -Werror")


@pytest.fixture(scope="module")
def pack(built):
    """The folder of libpack.so and pack-main."""
    return built("pack", make_pack) / "out"


def compile_example(folder, source, *flags):
    """Compiles an example to folder/a, against the installed package."""
    compiler = ["c++", "-std=c++20"] if source.endswith(".cpp") else ["cc", "-std=c99"]
    command = [*compiler, "-O0", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
    run(*command, EXAMPLES / source, "-o", folder / "a", *flags, *config("--cflags", "--libs"))


def test_pack_says_what_is_missing(tmp_path):
    shutil.copy(EXAMPLES / "pack/Makefile", tmp_path)
    nothing = {"PKG_CONFIG_LIBDIR": str(tmp_path), "PKG_CONFIG_PATH": ""}
    run("make", "-C", tmp_path, status=2, **nothing)


def test_pack_from_c(schedule, pack):
    out = on_simcuda(pack / "pack-main", SIMCUDA_SCHEDULE=schedule)
    assert "by the simulated driver" in out
    assert out.endswith("26 of 26 arrays were packed correctly\n")


def test_pack_from_c_without_a_driver(pack):
    """Without libcuda, or with one that has no device: host arrays."""
    out = run(pack / "pack-main", LD_LIBRARY_PATH=SIMCUDA)
    assert "not on a GPU: " in out
    assert out.endswith("13 of 13 arrays were packed correctly\n")


# What libpack.so asked the driver for and released, whatever failed in between.
BALANCE = """
import ctypes, sys
import numpy as np
from numba import cuda
import libcai

libpack = ctypes.CDLL(sys.argv[1])
libcuda = ctypes.CDLL("libcuda.so.1")
calls, fail = libcuda.simcuda_calls, libcuda.simcuda_fail
calls.restype = ctypes.c_uint64
fail.argtypes = ctypes.c_char_p, ctypes.c_uint64, ctypes.c_int32

def pack(obj):
    out, error = ctypes.c_void_p(), ctypes.create_string_buffer(256)
    status = libpack.pack(libcai.asarray(obj), None, ctypes.byref(out), error)
    context = ctypes.c_void_p()
    assert libcuda.cuCtxGetCurrent(ctypes.byref(context)) == 0
    assert context.value == int(cuda.current_context().handle)
    return libcai.Array.from_ptr(out.value) if status == 0 else status

stream = cuda.stream()
array = cuda.device_array((6, 8), np.int32, stream=stream)
array.copy_to_device(np.arange(48, dtype=np.int32).reshape(6, 8), stream=stream)
assert isinstance(pack(array[:, ::2]), libcai.Array)

PAIRS = ("cuStreamCreate", "cuStreamDestroy"), ("cuMemAllocAsync", "cuMemFreeAsync")
PAIRS += (("cuCtxPushCurrent", "cuCtxPopCurrent"),)  # and libcai keeps its events for the next use
NAMES = [name for pair in PAIRS for name in pair]
counts = lambda: {name: calls(name.encode()) for name in NAMES}
for name, nth in FAULTS:
    libcai.drain(wait=True)
    before = counts()
    fail(name.encode(), nth, 2)
    status = pack(array[:, ::2])
    assert status == -11, (name, nth, status)
    after = counts()
    for begin, end in PAIRS:
        begun, ended = after[begin] - before[begin], after[end] - before[end]
        assert begun - (name == begin) == ended, (name, nth, begin, begun, ended)
assert isinstance(pack(array[:, ::2]), libcai.Array)
"""


def test_pack_gives_everything_back_when_the_driver_fails(pack):
    faults = [("cuStreamCreate", 1), ("cuMemcpy2DAsync", 1), ("cuMemcpy2DAsync", 3)]
    faults += [
        ("cuEventRecord", 1),
        ("cuEventRecord", 2),
        ("cuStreamWaitEvent", 1),
        ("cuStreamWaitEvent", 2),
    ]
    code = BALANCE.replace("FAULTS", repr(faults))
    on_simcuda(sys.executable, "-c", code, pack / "libpack.so")


PACK = """
import ctypes, sys, threading
import numpy as np
from cuda.core import Buffer, Device, LegacyPinnedMemoryResource
from numba import cuda
import libcai

libpack = ctypes.CDLL(sys.argv[1])
libcuda = ctypes.CDLL("libcuda.so.1")
numbers = np.arange(48, dtype=np.int32).reshape(6, 8)

def pack(obj):
    out, error = ctypes.c_void_p(), ctypes.create_string_buffer(256)
    status = libpack.pack(libcai.asarray(obj), None, ctypes.byref(out), error)
    return libcai.Array.from_ptr(out.value) if status == 0 else status

def pending(numbers=numbers):
    stream = cuda.stream()
    array = cuda.device_array(numbers.shape, numbers.dtype, stream=stream)
    array.copy_to_device(numbers, stream=stream)
    return array

def current():
    context = ctypes.c_void_p()
    assert libcuda.cuCtxGetCurrent(ctypes.byref(context)) == 0
    return context.value
"""


def test_pack_makes_2d_copies_only_of_what_has_gaps(pack, schedule):
    """The pitch of a 2-D copy is limited to 2 GiB; a contiguous array of more is one plain copy."""
    code = PACK + textwrap.dedent("""
        libcuda.simcuda_calls.restype = ctypes.c_uint64
        counts = lambda: [libcuda.simcuda_calls(n) for n in (b"cuMemcpyAsync", b"cuMemcpy2DAsync")]
        # Views of one array: whole, without gaps in its rows, turned around, by single items.
        for view, plain, pitched in (
            (np.s_[:], 1, 0), (np.s_[2:4], 1, 0), (np.s_[:, 1:3], 0, 1), (np.s_[::-1], 6, 0),
            (np.s_[:, ::2], 0, 4), (np.s_[3:4, 1:5], 1, 0), (np.s_[::-1, ::-1], 48, 0),
        ):
            before = counts()
            packed = pack(pending()[view])
            assert [a - b for a, b in zip(counts(), before)] == [plain, pitched], view
            assert (cuda.as_cuda_array(packed).copy_to_host() == numbers[view]).all()
    """)
    on_simcuda(sys.executable, "-c", code, pack / "libpack.so", SIMCUDA_SCHEDULE=schedule)


REFUSED = """
import ctypes, sys
import numpy as np
import libcai

libpack = ctypes.CDLL(sys.argv[1])
ADDRESS = 0x7F0000001000

class Producer:
    def __init__(self, **changes):
        self.__cuda_array_interface__ = {
            "shape": (2, 3), "typestr": "<f4", "data": (ADDRESS, False), "version": 3, **changes}

def pack(obj):
    out, error = ctypes.c_void_p(), ctypes.create_string_buffer(256)
    status = libpack.pack(obj, None, ctypes.byref(out), error)
    if status == 0:
        return libcai.Array.from_ptr(out.value)
    assert not out.value
    return status, error.raw[16:].partition(b"\\0")[0].decode()

assert pack(None)[0] == -1
mask = Producer(typestr="|b1")
status, message = pack(libcai.asarray(Producer(mask=mask)))
assert status == -8 and "mask" in message, message
status, message = pack(libcai.asarray(Producer(shape=(2, 3, 4))))
assert status == -8 and "3 dimensions" in message, message
assert pack(libcai.asarray(Producer(shape=(6,))))[0] == -8
status, message = pack(libcai.asarray(Producer()))  # no driver, or not its memory
assert status in (-10, -13), (status, message)

# Empty arrays need no driver.
empty = pack(libcai.asarray(Producer(shape=(0, 3), data=(0, False), stream=7)))
assert (empty.shape, empty.data, empty.stream_kind) == ((0, 3), 0, "none")

# Every type, read-only and swapped ones too.
for dtype in ["?", "i1", ">i4", "<f8", "<c16", "S5", "<U3", ">U2", "<M8[25s]", "V7",
              [("a", "<i4"), ("b", ">f8", (2,))]]:
    a = np.zeros((5, 6), dtype)
    a.view(np.uint8).reshape(-1)[:] = np.arange(a.nbytes) % 2
    a.flags.writeable = False
    for view in a, a.T, a[::-2, ::3], np.broadcast_to(a[0], (3, 6)), a[1:2], a[:, 2:3]:
        packed = pack(libcai.asarray(view))
        assert not packed.readonly and packed.c_contiguous and packed.stream_kind == "none"
        got = np.asarray(packed)
        assert got.dtype == a.dtype and got.shape == view.shape
        assert got.tobytes() == view.tobytes(), (dtype, view.strides)
"""


def test_pack_takes_and_refuses(pack):
    run(sys.executable, "-c", REFUSED, pack / "libpack.so")


DEMO = [sys.executable, "-m", "libcai", "demo"]


@pytest.mark.parametrize("name", ["cai_array_copy", "pack"])
def test_demo(pack, name):
    """It finds by itself that there is no GPU."""
    out = run(*DEMO, *(["--pack", pack / "libpack.so"] if name == "pack" else []))
    assert out.endswith("all as it should be\n")
    assert "driver: simulated" in out
    assert out.count(f"-> {name}() in C") == 4
    assert out.count("a kernel, numba-cuda, cuda.core") == 2
    assert out.count("  right\n") == 4 * 5
    assert "WRONG" not in out
    # It shows what order is for.
    wrong = re.findall(r"wrong: (\S+) for (\d+)", out)
    assert len(wrong) == 2
    assert all(got != wanted for got, wanted in wrong)


def test_demo_notices_a_mistake():
    """On an eager simulator nothing goes wrong without order: then the demo must not say so."""
    out = on_simcuda(*DEMO, SIMCUDA_SCHEDULE="eager", SIMCUDA_RACES="count", status=1)
    assert out.count("right, though nothing was in order") == 2
    assert "WRONG" not in out


def test_demo_needs_no_other_library():
    without = (
        "import sys; sys.modules.update(numpy=None, numba=None); sys.modules['cuda.core'] = None"
    )
    out = on_simcuda(
        *(sys.executable, "-c"),
        f"{without}; from libcai._cli import main; sys.exit(main(['demo']))",
        SIMCUDA_RACES="count",
    )
    assert out.endswith("all as it should be\n")
    assert "NumPy" not in out
    assert out.count("  right\n") == 2 * 5


def test_demo_says_what_is_wrong_with_a_library(tmp_path):
    for path, said in ((tmp_path / "none.so", "none.so"), ("libc.so.6", "symbol: pack")):
        done = subprocess.run([*DEMO, "--pack", path], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr


def test_a_result_may_be_let_go_while_others_still_read_it(pack, schedule):
    """Its memory is freed in the order of its stream, behind the reader's."""
    code = PACK + textwrap.dedent("""
        device = Device(0)
        device.set_current()
        stream = device.create_stream()
        host = LegacyPinnedMemoryResource().allocate(numbers.nbytes)
        packed = pack(pending()[::-1])
        with libcai.use(packed, stream=stream) as (a,):
            Buffer.from_handle(a.data, a.nbytes).copy_to(host, stream=stream)
        del packed, a
        others = [pack(pending(numbers + 1000)) for _ in range(3)]  # may get the same memory
        assert (cuda.as_cuda_array(others[0]).copy_to_host() == numbers + 1000).all()
        stream.sync()
        got = (ctypes.c_int32 * 48).from_address(int(host.handle))
        assert list(got) == numbers[::-1].ravel().tolist()
    """)
    on_simcuda(sys.executable, "-c", code, pack / "libpack.so", SIMCUDA_SCHEDULE=schedule)


def test_pack_works_in_the_context_of_the_memory(pack, schedule):
    """On a thread with no context, for another device's memory, and released on any thread."""
    code = PACK + textwrap.dedent("""
        def on_a_thread(work):
            found = []
            def run():
                before = current()
                found.append(work())
                found.append((before, current()))
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
            assert found[1] == (None, None)
            return found[0]

        view = libcai.asarray(pending()[:, ::2])
        packed = on_a_thread(lambda: pack(view))
        assert packed.device.id == 0
        assert (cuda.as_cuda_array(packed).copy_to_host() == numbers[:, ::2]).all()
        # The result's memory is of a pool, which belongs to no context: then one must be current.
        assert on_a_thread(lambda: pack(packed)) == -13
        again = pack(packed)
        assert (cuda.as_cuda_array(again).copy_to_host() == numbers[:, ::2]).all()
        freed = libcuda.simcuda_calls(b"cuMemFreeAsync")
        held = [packed, again]
        del packed, again
        on_a_thread(held.clear)
        assert libcai.drain(wait=True) == 0  # pack()'s own use of `packed` may have been pending
        assert libcuda.simcuda_calls(b"cuMemFreeAsync") == freed + 2

        with cuda.gpus[1]:
            source = pending()
        with cuda.gpus[0]:
            before = current()
            packed = pack(source[::-1, ::-1])
            assert current() == before
        assert packed.device.id == packed.locate().device.id == 1
        with cuda.gpus[1]:
            got = cuda.as_cuda_array(packed).copy_to_host()
        assert (got == numbers[::-1, ::-1]).all()
    """)
    on_simcuda(sys.executable, "-c", code, pack / "libpack.so", SIMCUDA_SCHEDULE=schedule)


# ---- Those of the documents ---------------------------------------------------------------------


def test_cpp(tmp_path):
    """That of docs/howto/cpp.rst, which includes the file."""
    compile_example(tmp_path, "cpp.cpp")
    lines = run(tmp_path / "a").splitlines()
    assert lines[0] == "launch: data 0x7f000000031c, 50 elements, 1600 bytes apart, times 2"
    assert lines[1:3] == ["freed", "freed"]
    assert lines[3].startswith("CAI_ERR_ARGUMENT: shape (7, -1)")
    assert len(lines) == 4


def test_exchange(tmp_path):
    """That of docs/howto/exchange.rst: on the host, and with no driver."""
    compile_example(tmp_path, "exchange.c")
    assert run(tmp_path / "a") == "format f, 6 elements, the last is 2.5\n"


@pytest.mark.parametrize("driver", [False, True])
def test_memory_cpp(built, driver):
    """Likewise: the CPU alone, and beside it the simulated GPUs."""
    program = built("memory.cpp", compile_example, "memory.cpp") / "a"
    tour = [
        "  48 bytes",
        "  out: 48 bytes",
        "  0 2.5",
        "  work",
        "  CAI_ERR_ARGUMENT: work on a stream threw: no more of it",
        "  CAI_ERR_MEMORY",
        "  3 3",
    ]
    if driver:
        lines = on_simcuda(program, SIMCUDA_SCHEDULE="lazy").splitlines()
        assert lines == ["cpu:", *tour, "gpu:0:", *tour, "gpu:1:", *tour]
    else:
        assert run(program).splitlines() == ["cpu:", *tour]


def test_cffi(pack):
    out = run(sys.executable, EXAMPLES / "readme_cffi.py", pack / "libpack.so")
    assert out == "[[ 3  1]\n [ 7  5]\n [11  9]]\n"


def test_pack_through_cffi_on_the_gpu(pack, schedule):
    code = textwrap.dedent("""
        import runpy, sys
        import numpy as np
        from numba import cuda

        sys.argv = sys.argv[1:]
        pack = runpy.run_path(sys.argv[0])["pack"]
        numbers = np.arange(48).reshape(6, 8)
        stream = cuda.stream()
        array = cuda.device_array((6, 8), numbers.dtype, stream=stream)
        array.copy_to_device(numbers, stream=stream)
        packed = pack(array[::-2, 1:7:2])
        assert packed.stream not in (None, int(stream.handle))
        assert (cuda.as_cuda_array(packed).copy_to_host() == numbers[::-2, 1:7:2]).all()
    """)
    on_simcuda(
        sys.executable,
        "-c",
        code,
        EXAMPLES / "readme_cffi.py",
        pack / "libpack.so",
        SIMCUDA_SCHEDULE=schedule,
    )


@pytest.mark.parametrize("name", ["numba", "cuda_core", "rmm"])
def test_adaptors_in_python(schedule, name):
    pytest.importorskip(name.split("_")[0], reason="there is none for this version of Python")
    example = EXAMPLES / f"adaptors/with_{name}.py"
    assert "bytes are out" in on_simcuda(sys.executable, example, SIMCUDA_SCHEDULE=schedule)


def compile_adaptor(folder, name):
    found = run(sys.executable, ROOT / "tests/adaptors/find_packages.py").splitlines()
    folders = dict(line.split("\t") for line in found)
    if name == "with_cccl.cpp":
        flags = [f"-isystem{folders['cccl']}", f"-isystem{folders['cuda']}"]
    else:
        umf = folders["umf"]
        flags = ["-D_GNU_SOURCE", f"-isystem{umf}/include", f"-L{umf}/lib", "-lumf"]
        flags += [f"-Wl,-rpath,{umf}/lib", f"-Wl,-rpath-link,{umf}/lib"]
    compile_example(folder, f"adaptors/{name}", *flags)


@pytest.mark.parametrize("name", ["with_cccl.cpp", "with_umf.c"])
def test_adaptors_in_c(built, schedule, name):
    program = built(f"adaptors/{name}", compile_adaptor, name) / "a"
    assert on_simcuda(program, SIMCUDA_SCHEDULE=schedule).startswith("4096 bytes at 0x")
