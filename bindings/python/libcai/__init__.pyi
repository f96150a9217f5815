# SPDX-License-Identifier: BSD-3-Clause
from libcai._core import Array as Array
from libcai._core import asarray as asarray
from libcai._core import drain as drain
from libcai._core import from_interface as from_interface
from libcai._core import use as use
from libcai._lint import Finding as Finding
from libcai._lint import Report as Report
from libcai._lint import check as check
from libcai._providers import provide_stream as provide_stream
from libcai._relaxed import relaxed as relaxed
from libcai._types import Device as Device
from libcai._types import DeviceType as DeviceType
from libcai._types import Location as Location
from libcai.errors import BufferError as BufferError
from libcai.errors import CudaError as CudaError
from libcai.errors import Error as Error
from libcai.errors import InterfaceError as InterfaceError
from libcai.errors import InterfaceTypeError as InterfaceTypeError
from libcai.errors import UseError as UseError
from libcai.errors import VersionError as VersionError
from libcai.errors import ViewError as ViewError
from libcai.errors import ViewIndexError as ViewIndexError

__version__: str

__all__ = [
    "Array",
    "BufferError",
    "CudaError",
    "Device",
    "DeviceType",
    "Error",
    "Finding",
    "InterfaceError",
    "InterfaceTypeError",
    "Location",
    "Report",
    "UseError",
    "VersionError",
    "ViewError",
    "ViewIndexError",
    "__version__",
    "asarray",
    "check",
    "drain",
    "from_interface",
    "provide_stream",
    "relaxed",
    "use",
]
