# SPDX-License-Identifier: BSD-3-Clause
"""The C side of the CUDA Array Interface, for Python.

`asarray` takes any object with ``__cuda_array_interface__`` (or NumPy's ``__array_interface__``)
and gives an `Array`, whose ``ptr`` is the ``cai_array *`` that compiled code takes; `use` orders
work on the GPU between the producer's stream and yours; `check` says what is wrong with a
producer. "The text" in the documentation is version 3 of the interface, in Numba's documentation.

.. PYTEST_DONT_REWRITE: with our plugin, pytest would warn whoever imports libcai before it starts.
"""

from libcai._version import __version__
from libcai.errors import (
    BufferError,
    CudaError,
    Error,
    InterfaceError,
    InterfaceTypeError,
    UseError,
    VersionError,
    ViewError,
    ViewIndexError,
)

# Loaded at first use: libcai.cffi works without the compiled module.
_HOME = {
    "Array": "libcai._core",
    "Device": "libcai._types",
    "DeviceType": "libcai._types",
    "Finding": "libcai._lint",
    "Location": "libcai._types",
    "Report": "libcai._lint",
    "asarray": "libcai._core",
    "check": "libcai._lint",
    "drain": "libcai._core",
    "from_interface": "libcai._core",
    "provide_stream": "libcai._providers",
    "relaxed": "libcai._relaxed",
    "use": "libcai._core",
}

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


def __getattr__(name):
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'libcai' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__():
    return sorted({*globals(), *__all__})
