# SPDX-License-Identifier: BSD-3-Clause
from libcai._core import Array as Array
from libcai._core import asarray as asarray
from libcai._core import defer_releases as defer_releases
from libcai._core import drain as drain
from libcai._core import from_arrow as from_arrow
from libcai._core import from_dlpack as from_dlpack
from libcai._core import from_interface as from_interface
from libcai._core import same_stream as same_stream
from libcai._core import use as use
from libcai._devices import Event as Event
from libcai._devices import Memory as Memory
from libcai._devices import MemoryManager as MemoryManager
from libcai._devices import Stream as Stream
from libcai._devices import copy as copy
from libcai._devices import defer_cleanup as defer_cleanup
from libcai._devices import empty as empty
from libcai._devices import empty_like as empty_like
from libcai._devices import fill as fill
from libcai._devices import flush as flush
from libcai._devices import full as full
from libcai._devices import memory_manager as memory_manager
from libcai._devices import on_failure as on_failure
from libcai._devices import set_memory_manager as set_memory_manager
from libcai._devices import to as to
from libcai._devices import usage as usage
from libcai._devices import zeros as zeros
from libcai._ipc import IpcHandle as IpcHandle
from libcai._lint import Finding as Finding
from libcai._lint import Report as Report
from libcai._lint import check as check
from libcai._providers import provide_stream as provide_stream
from libcai._relaxed import relaxed as relaxed
from libcai._types import Allocation as Allocation
from libcai._types import Block as Block
from libcai._types import Device as Device
from libcai._types import DeviceType as DeviceType
from libcai._types import Location as Location
from libcai._types import MemoryInfo as MemoryInfo
from libcai._types import Statistics as Statistics
from libcai._types import Usage as Usage
from libcai.errors import BufferError as BufferError
from libcai.errors import CudaError as CudaError
from libcai.errors import Error as Error
from libcai.errors import InterfaceError as InterfaceError
from libcai.errors import InterfaceTypeError as InterfaceTypeError
from libcai.errors import StateError as StateError
from libcai.errors import UseError as UseError
from libcai.errors import VersionError as VersionError
from libcai.errors import ViewError as ViewError
from libcai.errors import ViewIndexError as ViewIndexError

__version__: str

__all__ = [
    "Allocation",
    "Array",
    "Block",
    "CudaError",
    "Device",
    "DeviceType",
    "Error",
    "Event",
    "Finding",
    "InterfaceError",
    "InterfaceTypeError",
    "IpcHandle",
    "Location",
    "Memory",
    "MemoryInfo",
    "MemoryManager",
    "Report",
    "StateError",
    "Statistics",
    "Stream",
    "Usage",
    "UseError",
    "VersionError",
    "ViewError",
    "ViewIndexError",
    "__version__",
    "asarray",
    "check",
    "copy",
    "defer_cleanup",
    "defer_releases",
    "drain",
    "empty",
    "empty_like",
    "fill",
    "flush",
    "from_arrow",
    "from_dlpack",
    "from_interface",
    "full",
    "memory_manager",
    "on_failure",
    "provide_stream",
    "relaxed",
    "same_stream",
    "set_memory_manager",
    "to",
    "usage",
    "use",
    "zeros",
]
