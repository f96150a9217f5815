# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from cuda.core import Device, LegacyPinnedMemoryResource


@pytest.mark.simcuda(schedules=["eager", "lazy"])
def test_what_was_filled_can_be_read():
    device = Device(0)
    device.set_current()
    writer, reader = device.create_stream(), device.create_stream()
    data = device.allocate(4096, stream=writer)
    data.fill(7, stream=writer)

    found = LegacyPinnedMemoryResource().allocate(4096)
    found.copy_from(data, stream=reader)
    reader.sync()
    assert (np.from_dlpack(found) == 7).all()
