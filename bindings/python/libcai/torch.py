# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's memory, from libcai's managers.

    libcai.torch.install()                       # for the process, before PyTorch has used a GPU
    with torch.cuda.use_mem_pool(libcai.torch.pool()): ...   # for a while, on this thread

PyTorch calls C functions of libcai, which need no Python and stay loaded for the life of the
process.
"""

import ctypes

import torch

from libcai._library import LIBRARY

__all__ = ["allocator", "install", "pool"]

# The setters that the object behind an allocator may have, and their arguments.
_OPTIONAL = {
    "set_init_fn": "cai_torch_init",
    "set_reset_fn": "cai_torch_reset",
    "set_base_alloc_fn": "cai_torch_base",
    "set_record_stream_fn": "cai_torch_record_stream",
}

_made: list[type] = []  # PyTorch frees memory until the process ends


def allocator():
    """Returns the `torch.cuda.memory.CUDAPluggableAllocator` of libcai's functions; always the same
    one."""
    if not _made:
        made = torch.cuda.memory.CUDAPluggableAllocator(
            LIBRARY, "cai_torch_alloc", "cai_torch_free"
        )
        library = ctypes.CDLL(LIBRARY)
        native = made.allocator()
        for setter, function in _OPTIONAL.items():
            if hasattr(native, setter):
                address = ctypes.cast(getattr(library, function), ctypes.c_void_p).value
                getattr(native, setter)(address)
        _made.append(made)
    return _made[0]


def install():
    """Makes libcai's allocator PyTorch's allocator.

    Raises
    ------
    RuntimeError
        If PyTorch has allocated on a GPU already; see `pool`.
    """
    torch.cuda.memory.change_current_allocator(allocator())


def pool():
    """Makes a `torch.cuda.MemPool` on libcai's allocator, for `torch.cuda.use_mem_pool`."""
    return torch.cuda.MemPool(allocator().allocator())
