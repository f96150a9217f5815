# SPDX-License-Identifier: BSD-3-Clause
"""simcuda: CUDA's driver, simulated on the CPU, which finds stream waits that are missing.

``simcuda run PROGRAM...`` runs a program on it, and the pytest marker ``simcuda`` a test. Nothing
is loaded here, and no loader searches the folder of the library: a process has the simulated driver
only if it was started on it.
"""

from simcuda._library import (
    INCLUDE_DIR,
    LIBRARY,
    LIBRARY_DIR,
    PROVED_NOTHING,
    RACED,
    MissingError,
    command,
    environment,
)
from simcuda._version import __version__ as __version__

__all__ = [
    "INCLUDE_DIR",
    "LIBRARY",
    "LIBRARY_DIR",
    "PROVED_NOTHING",
    "RACED",
    "Exports",
    "MissingError",
    "command",
    "environment",
]


def __getattr__(name):
    if name != "Exports":
        raise AttributeError(f"module 'simcuda' has no attribute {name!r}")
    from simcuda._exports import Exports  # with ctypes, which the plugin's users need not load

    return Exports


def __dir__():
    return sorted({*globals(), *__all__})
