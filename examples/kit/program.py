# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
from cuda.core import Device, LegacyPinnedMemoryResource

device = Device(0)
device.set_current()
writer, reader = device.create_stream(), device.create_stream()
data = device.allocate(4096, stream=writer)
data.fill(7, stream=writer)
found = LegacyPinnedMemoryResource().allocate(4096)
found.copy_from(data, stream=reader)
reader.sync()
print(np.from_dlpack(found))
