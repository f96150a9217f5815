# SPDX-License-Identifier: BSD-3-Clause
"""The main job of libcai, on arrays that it did not make. `make demo` runs this.

A NumPy array and a numba-cuda array go into pack(), a compiled C function (see pack/), which knows
neither library: it takes a `cai_array *`. What it gives comes back, and is read by numba-cuda and
by cuda.core. Every answer is compared with NumPy's.

It runs on the CUDA driver of this machine, if there is a GPU, else on simcuda.
"""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SIM = HERE.parent / "tools/sim"


def driver_kind():
    """'real' or 'simulated' if this process has a CUDA driver with a device, else None."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    count = ctypes.c_int(0)
    if cuda.cuInit(0) != 0 or cuda.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
        return None
    return "simulated" if hasattr(cuda, "simcuda_calls") else "real"


DRIVER = driver_kind()
if DRIVER is None and __name__ == "__main__":
    if os.environ.get("SIMCUDA") == "1":
        sys.exit("demo: the simulated driver does not start")
    # Lazy, and never by itself: what nobody waits for has not happened yet.
    os.environ.update(SIMCUDA_SCHEDULE="lazy", SIMCUDA_QUIET_MS="0", SIMCUDA_BANNER="0")
    os.environ["SIMCUDA_RACES"] = "count"  # the last part races on purpose
    os.execv(SIM, [str(SIM), sys.executable, __file__, *sys.argv[1:]])

import numpy as np  # noqa: E402
from cuda.core import Buffer, Device, LegacyPinnedMemoryResource  # noqa: E402
from cuda.core.utils import StridedMemoryView  # noqa: E402
from numba import cuda as numba_cuda  # noqa: E402

import libcai  # noqa: E402
import libcai.cffi  # noqa: E402

failures = []
kept = []  # pinned memory, which the GPU may still be reading

# ---- pack(), through ctypes ---------------------------------------------------------------------


def build_pack():
    """Builds pack/ against the installed libcai, as any C project would; returns libpack.so."""
    if shutil.which("pkg-config") is None:
        sys.exit("demo: pkg-config is missing")
    config = [sys.executable, "-m", "libcai", "config", "--pkg-config-dir"]
    folder = subprocess.run(config, check=True, capture_output=True, text=True).stdout.strip()
    make = ["make", "--silent", "--always-make", "-C", HERE / "pack"]
    subprocess.run([*make, f"PKG_CONFIG_PATH={folder}"], check=True)
    return HERE / "pack/out/libpack.so"


class UseOptions(ctypes.Structure):
    """cai_use_options"""

    _fields_ = [("struct_size", ctypes.c_uint32), ("order", ctypes.c_uint32)]


class Error(ctypes.Structure):
    """cai_error"""

    _fields_ = [(name, ctypes.c_int32) for name in ("status", "native", "entry", "index")]
    _fields_ += [("message", ctypes.c_char * 240)]


ORDER_NONE = UseOptions(ctypes.sizeof(UseOptions), libcai.cffi.lib.CAI_ORDER_NONE)


def pack(obj, ordered=True):
    """Any array in, a libcai.Array out. ctypes releases the GIL during the call."""
    array = libcai.asarray(obj)
    out, error = ctypes.c_void_p(), Error()
    options = None if ordered else ctypes.byref(ORDER_NONE)
    if libpack.pack(array, options, ctypes.byref(out), ctypes.byref(error)) != 0:
        raise RuntimeError(error.message.decode())
    return libcai.Array.from_ptr(out.value)


# ---- The two libraries on the GPU ---------------------------------------------------------------


def pending_array(numbers):
    """A numba-cuda array whose contents are still on their way, on a stream of its own."""
    stream = numba_cuda.stream()
    array = numba_cuda.device_array(numbers.shape, numbers.dtype, stream=stream)
    if DRIVER == "real":  # something to do first: a real GPU may be too fast to be caught
        big = numba_cuda.device_array(1 << 26, np.uint8, stream=stream)
        for _ in range(32):
            big[: 1 << 25].copy_to_device(big[1 << 25 :], stream=stream)
    pinned = numba_cuda.pinned_array(numbers.shape, numbers.dtype)
    pinned[...] = numbers
    array.copy_to_device(pinned, stream=stream)
    kept.append(pinned)
    return array


def read_by_numba(array):
    """numba-cuda's asarray() waits for the array's stream, as it is told in the dict."""
    return numba_cuda.as_cuda_array(array).copy_to_host()


def read_by_cuda_core(array, ordered=True):
    """cuda.core copies on one more stream, which libcai puts in order, or not."""
    size = array.nbytes
    host = LegacyPinnedMemoryResource().allocate(size)
    stream = device.create_stream()
    with libcai.use(array, stream=stream if ordered else -1) as (used,):
        view = StridedMemoryView.from_cuda_array_interface(used, stream_ptr=-1)
        Buffer.from_handle(view.ptr, size, owner=used).copy_to(host, stream=stream)
    stream.sync()
    numbers = np.ctypeslib.as_array((ctypes.c_char * size).from_address(int(host.handle)))
    return numbers.view(view.dtype).reshape(view.shape).copy()


# ---- The story -----------------------------------------------------------------------------------


def judge(what, got, wanted):
    """Prints whether an answer is NumPy's."""
    same = got.dtype == wanted.dtype and np.array_equal(got, wanted)
    if not same:
        failures.append(what)
    print(f"   {what:44} {'equals NumPy' if same else 'WRONG'}")


def judge_unordered(what, got, wanted):
    """Prints what came of having no order: on simcuda always a wrong value."""
    wrong = np.argwhere(got != wanted)
    if len(wrong):
        at = tuple(map(int, wrong[0]))
        print(f"   {what:44} wrong: {got[at]} at {at}, NumPy has {wanted[at]}")
    elif DRIVER == "real":
        print(f"   {what:44} right this time, by luck: a race")
    else:
        failures.append(what)
        print(f"   {what:44} right, though nothing was in order")


def viewable(a):
    return a if isinstance(a, np.ndarray) else libcai.asarray(a)


VIEWS = {
    "a[::2, 1:5]": lambda a: a[::2, 1:5],
    "a[1:, ::3]": lambda a: a[1:, ::3],
    "a[::2, ::-1]": lambda a: a[::2, ::-1],
    "a[::-1]": lambda a: a[::-1],
    # Not every library can take this view of its own arrays: libcai.Array can.
    "a[::2, ::-1].transpose()": lambda a: viewable(a)[::2, ::-1].transpose(),
}


def on_the_host(numbers):
    print("\n1. NumPy on the host -> C -> NumPy")
    for name, view in VIEWS.items():
        packed = pack(view(numbers))
        assert packed.c_contiguous
        judge(name, np.asarray(packed), view(numbers))


def on_the_gpu(numbers):
    print("\n2. numba-cuda, with work pending -> C, on its own stream -> numba-cuda and cuda.core")
    for name, view in VIEWS.items():
        packed = pack(view(pending_array(numbers)))
        assert packed.c_contiguous
        assert packed.stream_kind == "stream"
        judge(f"{name}, by cuda.core", read_by_cuda_core(packed), view(numbers))
        judge(f"{name}, by numba-cuda", read_by_numba(packed), view(numbers))


def without_order(numbers):
    expected = "a wrong answer may come" if DRIVER == "real" else "a wrong answer must come"
    print(f"\n3. The same, with order switched off: {expected}")
    view = VIEWS["a[::2, ::-1]"]
    source = pending_array(numbers)
    packed = pack(view(source), ordered=False)
    judge_unordered("pack() does not wait (CAI_ORDER_NONE)", read_by_numba(packed), view(numbers))
    packed = pack(view(pending_array(numbers)))
    got = read_by_cuda_core(packed, ordered=False)
    judge_unordered("the reader does not wait (stream=-1)", got, view(numbers))


def main():
    name = device.name
    print(f"libcai {libcai.__version__}")
    if DRIVER == "real":
        print(f"driver: the real one of this machine, device 0: {name}")
    else:
        print("driver: simulated (simcuda): there is no GPU here; work runs only when waited for")
    numbers = np.arange(100, 148, dtype=np.int32).reshape(6, 8)
    print("a is 6 x 8 numbers, 100 to 147; pack() makes views of it contiguous")
    on_the_host(numbers)
    on_the_gpu(numbers)
    without_order(numbers)
    kept.clear()
    if failures:
        print(f"\n{len(failures)} answers are not as they should be")
        return 1
    print("\nall as it should be")
    return 0


if __name__ == "__main__":
    libpack = ctypes.CDLL(str(build_pack()))
    device = Device(0)
    device.set_current()
    sys.exit(main())
