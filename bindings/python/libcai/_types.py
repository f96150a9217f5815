# SPDX-License-Identifier: BSD-3-Clause
"""The small public types of libcai.Array's attributes."""

import contextlib
import enum
from typing import NamedTuple


class DeviceType(enum.IntEnum):
    """Kinds of devices, with DLPack's numbers."""

    CPU = 1
    CUDA = 2
    CUDA_HOST = 3
    ROCM = 10
    CUDA_MANAGED = 13


class Device(NamedTuple):
    """Where an array is: a kind and an ordinal, None if the ordinal is not known."""

    type: int
    id: "int | None"


class Location(NamedTuple):
    """What the driver says of an array's memory; None stands for what it does not say."""

    device: Device
    context: "int | None"
    device_pointer: int
    host_accessible: bool
    managed: bool
    base: "int | None"
    size: "int | None"


def device(kind, ordinal):
    """Returns the Device for the C struct's two numbers."""
    with contextlib.suppress(ValueError):  # newer than this package
        kind = DeviceType(kind)
    return Device(kind, None if ordinal < 0 else ordinal)
