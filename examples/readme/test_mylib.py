# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from numba import cuda

import mylib


@pytest.mark.simcuda
def test_zero_waits_and_is_waited_for():
    theirs, mine = cuda.stream(), cuda.stream()
    x = cuda.to_device(np.ones(1000), stream=theirs)  # its dict names the stream `theirs`
    mylib.zero(x, stream=mine)
    assert not x.copy_to_host(stream=theirs).any()
