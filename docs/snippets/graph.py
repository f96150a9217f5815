# SPDX-License-Identifier: BSD-3-Clause
"""What order.rst shows of graphs: a use in a capture, and each launch as a use."""

import numpy as np
from cuda.core import Device

import libcai

device = Device(0)
device.set_current()
s, t = device.create_stream(), device.create_stream()
obj = libcai.zeros(4, "<f4", device="gpu", stream=s)
s.sync()


class my_extension:
    """Stands for compiled code."""

    @staticmethod
    def run(pointer, stream):
        libcai.fill(libcai.Array.from_ptr(pointer, steal=False), 7, stream=stream)


builder = s.create_graph_builder().begin_building()
s = builder.stream
# [capture
with libcai.use(obj, stream=s) as (x,):  # s is being captured
    my_extension.run(x.ptr, s)
    x.used_on(s)  # the graph holds it
# capture]
graph = builder.end_building().complete()
# [launch
with libcai.use(x, stream=t):  # each time, on whatever stream
    graph.launch(t)
# launch]
assert np.asarray(x.to("cpu").eval()).tolist() == [7] * 4
