# SPDX-License-Identifier: BSD-3-Clause
"""Many operations of all kinds, good and refused, after which nothing is left: of Python's blocks
and objects, of the driver's, and of what C has allocated. What is counted is what is in use: how
much of it the process has mapped depends on the allocator. `tests/soak` does the same in C++."""

import pytest
from simulation import run

SOAK = """
import gc, random, threading
import numpy as np
from libcai._core import lint as lint_of
from ctypes import c_size_t

class Mallinfo(Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, c_size_t) for name in names.split()]

c = CDLL(None)
c.mallinfo2.restype = Mallinfo
cuda.simcuda_objects.restype = c_uint64
TYPES = b"CUcontext CUstream CUevent CUdeviceptr CUarray CUmemoryPool CUgraph".split()
any_of = random.Random(SEED)

host = np.arange(24, dtype="<f4").reshape(4, 6)
plain, other = new_stream(), new_stream()
on_gpu = array(plain, shape=(4, 6), typestr="<f4")
arrow = host.reshape(-1)

class Cycle:
    # Its array holds it, and it its array.
    def __init__(self):
        self.__cuda_array_interface__ = interface(data=(on_gpu.memory.value, False), shape=(4, 6))
        array = libcai.asarray(self)
        self.array = any_of.choice([array, array[1:]])

class Hostile:
    @property
    def __cuda_array_interface__(self):
        raise any_of.choice([ValueError, AttributeError, TypeError, KeyError])("no")

def import_and_view():
    given = any_of.choice([host, on_gpu])
    x = libcai.asarray(given)
    y = x[1:, ::2].transpose()
    assert y.shape == (3, 3) and x.reshape(24)[3:].shape == (21,) and len(x) == 4
    y.broadcast_to((2, 3, 3))

def export():
    x = libcai.asarray(any_of.choice([host, on_gpu]))
    x.to_interface(), x.descr, x.device, repr(x)
    if x.stream_kind == "none":
        memoryview(x), np.asarray(x), np.from_dlpack(x)
    x = libcai.from_dlpack(x)
    libcai.from_interface(on_gpu.__cuda_array_interface__, owner=x)

def refuse():
    bad = any_of.choice([
        dict(shape=(-1,)), dict(shape="no"), dict(typestr="<f3"), dict(data=(0, False)),
        dict(version=9), dict(strides=(1,)), dict(stream=0), dict(descr=7), dict(mask=7),
    ])
    for given in (producer(**bad), Hostile(), object()):
        try:
            libcai.asarray(given, strict=True)
        except Exception:
            pass
        else:
            raise AssertionError(bad)
    try:
        libcai.asarray(host).reshape(7)
    except ValueError:
        pass

def use():
    with libcai.use(on_gpu, host, stream=other.value) as (a, b):
        assert a.shape == b.shape
    try:
        with libcai.use(on_gpu, stream=other.value, access="write"):
            raise LookupError
    except LookupError:
        pass

def publish():
    x = libcai.asarray(on_gpu)
    x.publish(other.value), x.publish_event(plain.value)
    libcai.same_stream(x, on_gpu)

def make():
    device = any_of.choice(["cpu", "gpu:0", "gpu:1"])
    x = libcai.zeros((4, 6), "<f4", device=device)
    x.to("cpu").item(0, 0)
    memory = libcai.Memory(256, device=device)
    memory[8:16], memory.array((4,), "<f4")
    if any_of.random() < 0.5:
        memory.free()

def work():
    with libcai.Stream(any_of.choice(["cpu", "gpu:0"])) as stream:
        done = []
        stream.enqueue(lambda: done.append(1))
        stream.attach(Cycle)
        event = stream.record()
        event.synchronize()
        stream.synchronize()
        assert done == [1]

def cycle():
    Cycle()

def lint():
    lint_of(any_of.choice([on_gpu, producer(stream=0), Cycle()]))

def thread():
    def begin(operation):
        call("cuCtxSetCurrent", context)
        operation()

    if any_of.random() < 0.1:
        some = [any_of.choice([import_and_view, export, make]) for _ in range(2)]
        workers = [threading.Thread(target=begin, args=(each,)) for each in some]
        [each.start() for each in workers]
        [each.join() for each in workers]

operations = [import_and_view, export, refuse, cycle, lint]
if not ON_HOST:
    operations += [use, publish, make, work, thread]

def level(count):
    for _ in range(count):
        any_of.choice(operations)()
    libcai.drain(True)
    for device in ("cpu", "gpu:0", "gpu:1"):
        libcai.Device(device).synchronize()
    libcai.drain(True)
    for _ in range(3):
        gc.collect()
    kept = {"python": sys.getallocatedblocks(), "objects": len(gc.get_objects())}
    kept |= {name.decode(): cuda.simcuda_objects(name) for name in TYPES}
    if ON_HOST:  # the simulated driver, which is in this process, remembers what was done
        info = c.mallinfo2()
        kept["bytes"] = info.uordblks + info.hblkhd
    return kept

level(ROUND)
first = level(ROUND)
# A little is kept to be used again: events, as many as there were at once, and Python's free lists.
# Each operation is done a hundred times in a round, or more. What objects in cycles take of C at
# once depends on when the collector comes: its most, of 20 KiB or so, is reached after 20 rounds.
most = {name: count + (100 if name != "bytes" else 1 << 16) for name, count in first.items()}
for _ in range(8):
    now = level(ROUND)
    print(now)
    grown = {name: (count, first[name]) for name, count in now.items() if count > most[name]}
    assert not grown, grown
"""


def soak(operations, on_host, seed):
    settings = f"SEED, ON_HOST, ROUND = {seed}, {on_host}, {operations // 10}\n"
    run(settings + SOAK, judged=False, SIMCUDA_RACES="off")


@pytest.mark.slow
@pytest.mark.parametrize("on_host", [True, False], ids=["host", "all"])
def test_nothing_is_left(on_host):
    soak(20_000, on_host, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("on_host", [True, False], ids=["host", "all"])
def test_nothing_is_left_after_a_million(on_host):
    soak(1_000_000, on_host, seed=2)
