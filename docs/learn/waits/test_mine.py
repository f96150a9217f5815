# SPDX-License-Identifier: BSD-3-Clause
import mine
import numpy as np
import pytest
from numba import cuda

NUMBERS = np.arange(1000, dtype=np.int32)


@pytest.mark.simcuda
@pytest.mark.parametrize("copy", [mine.to_host_unordered, mine.to_host])
def test_what_was_written_can_be_read(copy):
    theirs, ours = cuda.stream(), cuda.stream()
    array = cuda.to_device(NUMBERS, stream=theirs)
    found = cuda.pinned_array_like(NUMBERS)
    copy(array, found, ours)
    ours.synchronize()
    assert (found == NUMBERS).all()
