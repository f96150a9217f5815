# SPDX-License-Identifier: BSD-3-Clause
"""The C side of the CUDA Array Interface, for Python.

`asarray` takes any object with ``__cuda_array_interface__`` (or NumPy's ``__array_interface__``)
and returns an `Array`, whose ``ptr`` is the ``cai_array *`` for compiled code. `use` orders work on
the GPU between the producer's stream and yours. `check` reports what is wrong with a producer.
`Device`, `Stream`, `Memory` and `empty` make devices, streams, memory and arrays to share. "The
text" in the documentation is version 3 of the interface, in Numba's documentation.

.. PYTEST_DONT_REWRITE: our plugin would make pytest warn programs that import libcai first.
"""

import _thread
from os import register_at_fork as _register_at_fork

from libcai._version import __version__
from libcai.errors import BufferError as BufferError
from libcai.errors import (
    CudaError,
    Error,
    InterfaceError,
    InterfaceTypeError,
    StateError,
    UseError,
    VersionError,
    ViewError,
    ViewIndexError,
)


def _refuse_sub_interpreters():
    """The compiled modules keep state of the process, with objects of one interpreter."""
    if hasattr(_thread, "_is_main_interpreter"):
        is_main = _thread._is_main_interpreter()
    else:  # before Python 3.12
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:  # then the compiled modules accept only the first interpreter
            return
        is_main = interpreters.get_current() == interpreters.get_main()
    if not is_main:
        raise ImportError(
            "libcai cannot be imported into a sub-interpreter, only into the main one"
        )


_refuse_sub_interpreters()

# Loaded at first use: libcai.cffi works without the compiled module.
_HOME = {
    "Allocation": "libcai._types",
    "Array": "libcai._core",
    "Block": "libcai._types",
    "Device": "libcai._types",
    "DeviceType": "libcai._types",
    "Event": "libcai._devices",
    "Finding": "libcai._lint",
    "IpcHandle": "libcai._ipc",
    "Location": "libcai._types",
    "Memory": "libcai._devices",
    "MemoryInfo": "libcai._types",
    "MemoryManager": "libcai._devices",
    "Report": "libcai._lint",
    "Statistics": "libcai._types",
    "Stream": "libcai._devices",
    "Usage": "libcai._types",
    "asarray": "libcai._core",
    "check": "libcai._lint",
    "copy": "libcai._devices",
    "defer_cleanup": "libcai._devices",
    "defer_releases": "libcai._core",
    "drain": "libcai._core",
    "empty": "libcai._devices",
    "empty_like": "libcai._devices",
    "fill": "libcai._devices",
    "flush": "libcai._devices",
    "from_arrow": "libcai._core",
    "from_dlpack": "libcai._core",
    "from_interface": "libcai._core",
    "full": "libcai._devices",
    "memory_manager": "libcai._devices",
    "on_failure": "libcai._devices",
    "provide_stream": "libcai._providers",
    "relaxed": "libcai._relaxed",
    "same_stream": "libcai._core",
    "set_memory_manager": "libcai._devices",
    "to": "libcai._devices",
    "usage": "libcai._devices",
    "use": "libcai._core",
    "zeros": "libcai._devices",
}

# All but BufferError, which would hide the built-in one from `import *`.
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


# A fork waits for it: a child would wait forever for a module that another thread was importing.
_importing = _thread.RLock()


def _before_fork():
    # Not forever: that thread may wait for what the forking thread has.
    _importing.acquire(timeout=60)


def _after_fork():
    try:  # noqa: SIM105, since contextlib would be imported each time
        _importing.release()
    except RuntimeError:  # it was not acquired
        pass


_register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


def __getattr__(name):
    home = "libcai._devices" if name == "_devices" else _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'libcai' has no attribute {name!r}")
    from importlib import import_module

    with _importing:
        module = import_module(home)
    if name == "_devices":
        return module
    value = globals()[name] = getattr(module, name)
    return value


def __dir__():
    return sorted({*globals(), *__all__})
