# SPDX-License-Identifier: BSD-3-Clause
import pytest
from numba import cuda

from libcai.testing import check_consumer


def read(array):
    """Ours: takes any GPU array, and gives its values."""
    return cuda.as_cuda_array(array).copy_to_host()


@pytest.mark.simcuda
def test_what_we_take():
    check_consumer(read, refuses=["masked", "negative"])
