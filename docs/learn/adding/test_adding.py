# SPDX-License-Identifier: BSD-3-Clause
import adding
import numpy as np
import pytest
from numba import cuda

ONES = np.ones(1000, np.float32)


@pytest.mark.simcuda(schedules=["eager", "lazy"])
def test_add():
    theirs, ours = cuda.stream(), cuda.stream()
    a, b = cuda.to_device(ONES, stream=theirs), cuda.to_device(2 * ONES, stream=theirs)
    total = adding.add(a, b, stream=ours)
    assert (cuda.as_cuda_array(total).copy_to_host() == 3 * ONES).all()


@pytest.mark.simcuda(schedules=["eager", "lazy"])
def test_add_into_an_array():
    theirs, ours = cuda.stream(), cuda.stream()
    a, out = cuda.to_device(ONES, stream=theirs), cuda.to_device(ONES, stream=theirs)
    adding.add(a, a, out, stream=ours)
    found = cuda.pinned_array_like(ONES)
    out.copy_to_host(found, stream=theirs)
    theirs.synchronize()
    assert (found == 2 * ONES).all()
