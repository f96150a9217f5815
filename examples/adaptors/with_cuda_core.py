# SPDX-License-Identifier: BSD-3-Clause
"""cuda.core's buffers, from the libcai manager of the device."""

from cuda.core import Device

import libcai
from libcai.cuda_core import MemoryResource

device = Device(0)
device.set_current()
device.memory_resource = MemoryResource(0)

stream = device.create_stream()
buffer = device.allocate(4096, stream=stream)
buffer.fill(7, stream=stream)
print(libcai.usage("gpu:0").bytes, "bytes are out")
buffer.close(stream)
stream.sync()
