# SPDX-License-Identifier: BSD-3-Clause
"""RMM's memory, from the libcai manager of the device."""

import libcai
import libcai.rmm

resource = libcai.rmm.memory_resource(0)
address = resource.allocate(4096)
print(libcai.usage("gpu:0").bytes, "bytes are out")
resource.deallocate(address, 4096)
