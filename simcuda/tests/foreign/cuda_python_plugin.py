# SPDX-License-Identifier: BSD-3-Clause
"""A plugin of pytest's, for cuda-python's own tests in a checkout: helpers of theirs lie in its
sources, and no wheel has them."""

from pathlib import Path

import cuda.bindings

for folder in Path.cwd().parents:
    cuda.bindings.__path__ += map(str, folder.glob("cuda_bindings/cuda/bindings"))
