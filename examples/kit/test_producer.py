# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from numba import cuda

from libcai.testing import check_producer


def upload():
    stream = cuda.stream()
    array = cuda.device_array(1000, np.int32, stream=stream)
    array.copy_to_device(np.arange(1000, dtype=np.int32), stream=stream)
    return array  # while the copy is under way: its dict names the stream


@pytest.mark.simcuda
def test_what_we_give():
    check_producer(upload)
