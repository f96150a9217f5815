# SPDX-License-Identifier: BSD-3-Clause
"""Types for producers of the interface, and for streams.

The Protocols can be used with isinstance(), which then checks for the attribute only.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias, TypedDict, runtime_checkable

__all__ = [
    "ArrayInterface",
    "ArrayLike",
    "CapsuleType",
    "CudaArrayInterface",
    "HasArrayInterface",
    "HasArrow",
    "HasArrowDevice",
    "HasCudaArrayInterface",
    "HasCudaStream",
    "HasCudaStreamAttribute",
    "HasDlpack",
    "HasHandle",
    "HasPtr",
    "Route",
    "Stream",
]


class _Required(TypedDict):
    shape: tuple[int, ...]
    typestr: str
    data: tuple[int, bool]
    version: int


class CudaArrayInterface(_Required, total=False):
    """The value of ``__cuda_array_interface__``, version 3."""

    strides: tuple[int, ...] | None
    descr: list[tuple[Any, ...]] | None
    mask: HasCudaArrayInterface | None
    stream: int | None


class ArrayInterface(_Required, total=False):
    """The value of NumPy's ``__array_interface__``, version 3, without a buffer object."""

    strides: tuple[int, ...] | None
    descr: list[tuple[Any, ...]] | None
    mask: HasArrayInterface | None


@runtime_checkable
class HasCudaArrayInterface(Protocol):
    """An object that `libcai.asarray` takes as a GPU array."""

    @property
    def __cuda_array_interface__(self) -> Any: ...


@runtime_checkable
class HasArrayInterface(Protocol):
    """An object that `libcai.asarray` takes as a host array."""

    @property
    def __array_interface__(self) -> Any: ...


# Python 3.13 has a name for the type of capsules.
CapsuleType: TypeAlias = Any

Route: TypeAlias = Literal["exchange", "dlpack_table", "cuda", "numpy", "dlpack", "buffer"]


@runtime_checkable
class HasDlpack(Protocol):
    """An object that `libcai.from_dlpack` takes."""

    def __dlpack__(self, *, stream: Any = None) -> CapsuleType: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


@runtime_checkable
class HasArrow(Protocol):
    """An object that `libcai.from_arrow` takes, in host memory."""

    def __arrow_c_array__(
        self, requested_schema: Any = None
    ) -> tuple[CapsuleType, CapsuleType]: ...


@runtime_checkable
class HasArrowDevice(Protocol):
    """An object that `libcai.from_arrow` takes, in memory of any device."""

    def __arrow_c_device_array__(
        self, requested_schema: Any = None, **kwargs: Any
    ) -> tuple[CapsuleType, CapsuleType]: ...


@runtime_checkable
class HasCudaStream(Protocol):
    """A stream by cuda.core's protocol: returns ``(0, handle)``."""

    def __cuda_stream__(self) -> tuple[int, int]: ...


@runtime_checkable
class HasHandle(Protocol):
    """A stream with a handle, as cuda.core's, Numba's and PyCUDA's."""

    @property
    def handle(self) -> Any: ...


@runtime_checkable
class HasPtr(Protocol):
    """A stream with an address, as CuPy's."""

    @property
    def ptr(self) -> int: ...


@runtime_checkable
class HasCudaStreamAttribute(Protocol):
    """A stream with ``cuda_stream``, as PyTorch's."""

    @property
    def cuda_stream(self) -> int: ...


# What `libcai.asarray` takes. It also takes objects whose type has a table or a buffer, which no
# annotation can express.
ArrayLike: TypeAlias = object

Stream: TypeAlias = int | HasCudaStream | HasHandle | HasPtr | HasCudaStreamAttribute
