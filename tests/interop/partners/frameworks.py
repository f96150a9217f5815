# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch and Paddle, with arrays of the host's: no GPU is needed to import them."""

import ml_dtypes
import numpy as np
import paddle
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import awkward
import libcai
from cells import Seen, Way, on_host, read, seen_by_libcai


class WithTensor(np.ndarray):
    """The values of a tensor that is made in a way of PyTorch's own."""


def tensor_row(make, dtype="f4"):
    """A row: what `make` gives of the numbers 1 to 6, or of n - nj, has the values n, or n + nj."""

    def row():
        numbers = np.arange(1, 7, dtype="f4")
        array = (numbers + 1j * numbers if dtype == "c8" else numbers).astype(dtype)
        array = array.view(WithTensor)
        array.tensor = make(torch.from_numpy(numbers.copy()))
        return array

    return row


class Heir(torch.Tensor):
    pass


class Wrapper(torch.Tensor):
    """A tensor around another one, with no memory of its own."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), keywords=None):
        inner = [a.inner if isinstance(a, Wrapper) else a for a in arguments]
        return function(*inner, **(keywords or {}))


def fake(tensor):
    with FakeTensorMode():
        return torch.empty(tensor.shape)


def complex_of(tensor):
    return torch.complex(tensor, -tensor)


TENSORS = {
    "conjugate view": tensor_row(lambda tensor: complex_of(tensor).conj(), "c8"),
    "negative view": tensor_row(lambda tensor: complex_of(tensor).conj().imag),
    "requires grad": tensor_row(lambda tensor: tensor.requires_grad_()),
    "subclass": tensor_row(lambda tensor: tensor.as_subclass(Heir)),
    "negative view of a subclass": tensor_row(
        lambda tensor: complex_of(tensor).conj().imag.as_subclass(Heir)
    ),
    "parameter": tensor_row(lambda tensor: torch.nn.Parameter(tensor, requires_grad=False)),
    "fake tensor": tensor_row(fake),
    "wrapper tensor": tensor_row(Wrapper),
    "meta tensor": tensor_row(lambda tensor: tensor.to("meta")),
    "sparse tensor": tensor_row(lambda tensor: tensor.to_sparse()),
}
ROWS = {**awkward.ROWS, **TENSORS}


def tensor_of(array):
    """PyTorch's own tensor; ml_dtypes' types by their bytes, as NumPy has no word for them."""
    if isinstance(array, WithTensor):
        return array.tensor, None
    assert not isinstance(array, np.ma.MaskedArray), "a tensor has no mask"
    if not awkward.has_code(array.dtype):
        return torch.from_numpy(array)
    plain = torch.from_numpy(array.view(f"u{array.itemsize}"))
    return plain.view(getattr(torch, array.dtype.name))


def by_route(route):
    return lambda tensor: seen_by_libcai(libcai.asarray(tensor, route=route))


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def seen(tensor):
    """What either framework sees. Neither has a mark for read-only memory."""
    address = tensor.data_ptr()
    dtype = dtype_of(str(tensor.dtype).rpartition(".")[2])
    shape = tuple(tensor.shape)
    strides = tuple(step * dtype.itemsize for step in tensor.stride())
    values = read(address, shape, strides, dtype.itemsize)
    return Seen(address, shape, strides, dtype, False, values)


PYTORCH = [
    Way("PyTorch", "gives", "as it comes", tensor_of, by_route(None), ROWS),
    Way("PyTorch", "gives", "DLPack's table", tensor_of, by_route("dlpack_table"), ROWS),
    Way("PyTorch", "gives", "`__dlpack__`", tensor_of, by_route("dlpack"), ROWS),
    Way(
        "PyTorch",
        "takes",
        "`torch.from_dlpack`",
        on_host,
        lambda x: seen(torch.from_dlpack(x)),
    ),
    Way("PyTorch", "takes", "`torch.asarray`", on_host, lambda x: seen(torch.asarray(x))),
]


def paddles_tensor_of(array):
    """Paddle's tensor of the same memory: to_tensor() would copy it, in C order."""
    assert not isinstance(array, np.ma.MaskedArray), "a tensor has no mask"
    source = on_host(array) if awkward.has_code(array.dtype) else array
    return paddle.utils.dlpack.from_dlpack(source)


PADDLE = [
    Way("Paddle", "gives", "as it comes", paddles_tensor_of, by_route(None)),
    Way("Paddle", "gives", "DLPack's table", paddles_tensor_of, by_route("dlpack_table")),
    Way("Paddle", "gives", "`__dlpack__`", paddles_tensor_of, by_route("dlpack")),
    Way(
        "Paddle",
        "takes",
        "`paddle.utils.dlpack.from_dlpack`",
        on_host,
        lambda x: seen(paddle.utils.dlpack.from_dlpack(x)),
    ),
]

WAYS = [*PYTORCH, *PADDLE]


def end():
    return []
