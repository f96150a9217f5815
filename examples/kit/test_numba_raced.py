# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from numba import cuda


@pytest.mark.simcuda(schedules=["eager", "lazy"])
def test_what_was_copied_can_be_read():
    writer, reader = cuda.stream(), cuda.stream()
    numbers = cuda.pinned_array(1000, np.int32)
    numbers[:] = np.arange(1000)
    array = cuda.device_array_like(numbers)
    array.copy_to_device(numbers, stream=writer)

    found = cuda.pinned_array(1000, np.int32)
    array.copy_to_host(found, stream=reader)
    reader.synchronize()
    assert (found == numbers).all()
