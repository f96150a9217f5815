# SPDX-License-Identifier: BSD-3-Clause
"""``libcai info``: what is installed here, and which driver and devices there are."""

import ctypes
import json
import os
import platform
from importlib import metadata

from libcai import __version__, _library

TEXT = """Says which libcai this is, which driver it finds (or why none), real or simulated, which
devices there are, what the environment sets, and which libraries that share GPU arrays are
installed. Nothing is imported of theirs."""

# Names of PyPI's; and what those begin with that there are for several CUDAs.
PEERS = {
    *("apache-tvm-ffi", "cuda-bindings", "cuda-core", "cupy", "jax", "mpi4py", "nanoarrow"),
    *("nanobind", "numba-cuda", "numpy", "paddlepaddle", "pyarrow", "rmm", "torch"),
}
PEERS_OF_CUDA = ("cupy-cuda", "jax-cuda", "paddlepaddle-gpu", "rmm-cu")
VARIABLES = ("CAI_", "SIMCUDA", "CUDA_VISIBLE_DEVICES", "NUMBA_CUDA_", "CUPY_CUDA_")


def add_to(commands):
    parser = commands.add_parser(
        "info", help="say what is installed here, and which devices there are", description=TEXT
    )
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    parser.set_defaults(run=run)


def run(options):
    found = {
        "libcai": __version__,
        "library": _library.LIBRARY,
        "python": platform.python_version(),
        "driver": driver(),
        "devices": devices(),
        "environment": environment(),
        "installed": installed(),
    }
    print(json.dumps(found, indent=2) if options.json else shown(found))
    return 0


def driver():
    """The driver that the loader finds: its version, and whether it is simcuda; or its error."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return {"error": str(error)}
    version = ctypes.c_int()
    status = library.cuDriverGetVersion(ctypes.byref(version))
    found = {"simulated": hasattr(library, "simcuda_races")}
    if status == 0:
        found["cuda"] = f"{version.value // 1000}.{version.value % 1000 // 10}"
        status = library.cuInit(0)
    if status != 0:
        found["error"] = f"status {status}"
    return found


def devices():
    from libcai import Device

    return [device.summary().rstrip() for device in Device.all()]


def environment():
    return {name: os.environ[name] for name in sorted(os.environ) if name.startswith(VARIABLES)}


def installed():
    """Versions by name, as pip has them."""
    versions = {}
    for distribution in metadata.distributions():
        name = (distribution.metadata["Name"] or "").lower().replace("_", "-")
        if name in PEERS or name.startswith(PEERS_OF_CUDA):
            versions[name] = distribution.version
    return dict(sorted(versions.items()))


def shown(found):
    lines = [
        f"libcai {found['libcai']} ({found['library']}), Python {found['python']}",
        f"driver: {described(found['driver'])}",
        *(f"device: {text}" for text in found["devices"]),
    ]
    for name, value in found["environment"].items():
        lines.append(f"environment: {name}={value}")
    peers = ", ".join(f"{name} {version}" for name, version in found["installed"].items())
    lines.append(f"installed: {peers or 'no other library that shares GPU arrays'}")
    return "\n".join(lines)


def described(driver):
    if "simulated" not in driver:
        return f"none ({driver['error']})"
    what = "simulated (simcuda)" if driver["simulated"] else "real"
    if "cuda" in driver:
        what += f", of CUDA {driver['cuda']}"
    return what + (f", but cuInit() fails: {driver['error']}" if "error" in driver else "")
