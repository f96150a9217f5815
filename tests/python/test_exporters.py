# SPDX-License-Identifier: BSD-3-Clause
"""Exporters that offer a dict, tensors, both, or libcai's table, with or without a provider that
says their stream: order is kept between all who use their memory through libcai. Programs are drawn
at random, and judged by the values and by simcuda."""

import pytest
from helpers import LONG

# An exporter works on a stream of its own and, by DLPack's rule, makes the stream that it is asked
# for wait for that one. If its dict says None, or it has only tensors and nobody knows its stream,
# it is told of no use, and so does not work any more once there are any.
EXPORTERS = """
class Memory:
    def __init__(self, stream):
        self.memory, self.stream = new_memory(), stream
        fill(self.memory, 1, 6, stream)
        if isinstance(self, Silent): wait(stream)
        self.asked = []

def dict_of(self):
    stream = None if isinstance(self, Silent) else self.stream.value
    return interface(data=(self.memory.value, False), shape=(6,), typestr="<i4", stream=stream)

def device_of(self):
    return (2, 0)

def tensor_of(self, *, stream, **asked):
    self.asked.append(stream)
    if stream != self.stream.value:
        order_after(c_void_p(stream), self.stream)
    # By libcai, which does not look for uses then.
    mine = libcai.from_interface(dict_of(self), owner=self)
    return mine.__dlpack__(stream=-1, **asked)

TENSORS = {"__dlpack__": tensor_of, "__dlpack_device__": device_of}
DICT = {"__cuda_array_interface__": property(dict_of)}
Tensors = type("Tensors", (Memory,), TENSORS)
Dict = type("Dict", (Memory,), DICT)
Silent = type("Silent", (Memory,), DICT)
Both = type("Both", (Memory,), {**DICT, **TENSORS})
Told = type("Told", (Memory,), {**TENSORS, "__module__": "told"})
libcai.provide_stream("told", lambda exporter: exporter.stream)

# By libcai's table: the same, described in C.
def describe(exporter, out, dims):
    exporter = cast(exporter, py_object).value
    exporter.described = libcai.from_interface(dict_of(exporter))
    memmove(out, exporter.described.ptr, 128)
    return 0

describe = PYFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p)(describe)
table = (c_uint64 * 3)(1 << 32 | 24, 0, cast(describe, c_void_p).value)  # ABI 1.0, 24 bytes
capsule_of = pythonapi.PyCapsule_New
capsule_of.restype = py_object
capsule_of.argtypes = c_void_p, c_char_p, c_void_p
capsule = capsule_of(addressof(table), b"cai_exchange_api", None)
Described = type("Described", (Memory,), {"__cai_c_exchange_api__": capsule})
SilentlyDescribed = type("SilentlyDescribed", (Silent,), {"__cai_c_exchange_api__": capsule})

KINDS = Tensors, Silent, Dict, Both, Told, Described, SilentlyDescribed
STEPS = "write read tensor import view hand_on used_on fill copy to item produce let_go".split()
"""

PROGRAM = (
    EXPORTERS
    + """
import random
draw = random.Random(SEED)
KNOWN = Dict, Both, Told, Described  # whose own stream waits for uses
for program in range(PROGRAMS):
    streams = [new_stream() for _ in range(3)]
    wrapped = [libcai.Stream.wrap(stream.value) for stream in streams]
    x = draw.choice(KINDS)(draw.choice(streams))
    kept, value, story = [], 1, [type(x).__name__]
    for step in range(draw.randint(2, 6)):
        at = draw.randrange(3)
        on = streams[at]
        what = draw.choice(STEPS)
        story.append((what, at))
        if what == "write":
            value += 1
            with libcai.use(x, stream=draw.choice([on, wrapped[at]])):
                fill(x.memory, value, 6, on)
        elif what == "read":
            with libcai.use(x, stream=on, access="read"):
                found = read(x.memory, 6, on)
            wait(on)
            assert list(found) == [value] * 6, (list(found), value, story)
        elif what == "tensor" and isinstance(x, (Tensors, Both, Told)):
            value += 1
            with libcai.use(libcai.from_dlpack(x, stream=on), stream=on):
                fill(x.memory, value, 6, on)
            if type(x) in KNOWN:
                order_after(x.stream, on)
        elif what == "import":
            kept.append(libcai.asarray(x))
        elif what == "view" and kept:
            value += 1
            with libcai.use(draw.choice(kept), stream=on):
                fill(x.memory, value, 6, on)
        elif what == "hand_on" and kept:  # to a consumer that only reads the dict
            said = draw.choice(kept).__cuda_array_interface__.get("stream", 1)
            if said not in (None, on.value):
                order_after(on, c_void_p(said))
            found = read(x.memory, 6, on)
            wait(on)
            assert list(found) == [value] * 6, (list(found), value, story)
        elif what == "used_on":
            value += 1
            with libcai.use(x, stream=on, order="begin") as (taken,):
                fill(x.memory, value, 6, on)
                taken.used_on(on)
                if type(x) in KNOWN:  # nothing else tells the exporter
                    order_after(x.stream, on)
        elif what == "fill":
            value += 1
            if at:
                libcai.fill(x, value, stream=wrapped[at])
            else:
                with wrapped[at]: libcai.fill(x, value)
        elif what in ("copy", "to"):
            made = (libcai.copy(x, stream=wrapped[at]) if what == "copy"
                    else libcai.to(x, "gpu:0", stream=wrapped[at]))
            assert made.item(0) == value, (made.item(0), value, story)
        elif what == "item":
            assert libcai.asarray(x).item(5) == value, (value, story)
        elif what == "produce" and type(x) in KNOWN:
            value += 1
            fill(x.memory, value, 6, x.stream)
        elif what == "let_go":
            kept.clear()
        assert cuda.simcuda_races() == 0, story
    kept.clear()
    assert -1 not in x.asked
    libcai.drain(wait=True)
    call("cuCtxSynchronize")
    call("cuMemFree_v2", x.memory)
"""
)

ORDER_AFTER = """
def order_after(stream, other):
    event = c_void_p()
    call("cuEventCreate", byref(event), 2)
    call("cuEventRecord", event, other)
    call("cuStreamWaitEvent", stream, event, 0)
    call("cuEventDestroy_v2", event)
"""


@pytest.mark.parametrize("seed", range(8 if LONG else 2))
def test_programs_at_random(simulated, seed):
    code = PROGRAM.replace("SEED", str(seed)).replace("PROGRAMS", "2000" if LONG else "300")
    simulated(ORDER_AFTER + code)
