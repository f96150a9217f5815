# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's tensors, from the libcai manager of their device."""

import torch

import libcai
import libcai.torch

libcai.torch.install()  # before PyTorch first allocates on a GPU
tensor = torch.arange(1000, device="cuda")
print(libcai.usage("gpu:0").bytes, "bytes are out; the sum is", int(tensor.sum()))
