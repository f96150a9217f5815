# SPDX-License-Identifier: BSD-3-Clause
"""``libcai doctor``: what works on this machine, and what to install for the rest."""

import ctypes
import math
import os
import platform
import shutil
from importlib import metadata, util

from libcai import __version__, _library
from libcai._cli import _arguments, _terminal

TEXT = """Says what works on this machine, and what to install for the rest: which libcai this is,
which driver it finds (or why none), real or simulated, which devices there are, which libraries
that share GPU arrays are installed, what there is to build with, and what the environment sets. No
other library is imported, but for simcuda and a memory manager that the environment names."""

EXAMPLES = (
    "libcai doctor              on one screen",
    "libcai doctor --json       the same for a program, or for a bug report",
    "libcai sim libcai doctor   what programs see on the simulated driver",
)

STATUS = """Exit status: 0; 1 if something that is there does not work: a driver that is too old or
fails, an installation of simcuda that lacks files, or a variable of libcai's with a value that it
refuses."""

# Names of PyPI's; and what those begin with that there are for several CUDAs.
PEERS = {
    *("apache-tvm-ffi", "cuda-bindings", "cuda-core", "cupy", "jax", "mpi4py", "nanoarrow"),
    *("nanobind", "numba-cuda", "numpy", "paddlepaddle", "pyarrow", "rmm", "torch"),
}
PEERS_OF_CUDA = ("cupy-cuda", "jax-cuda", "paddlepaddle-gpu", "rmm-cu")
# What most look for here, and the package that has it.
COMMON = {
    "numpy": "numpy",
    "numba-cuda": "'numba-cuda[cu13]' ([cu12] for CUDA 12)",
    "cuda-core": "cuda-core",
    "cupy": "cupy-cuda13x (cupy-cuda12x for CUDA 12)",
    "torch": "torch",
}
# libNVVM, without which numba-cuda compiles no kernel: packages, and where a toolkit is looked for.
COMPILERS = ("nvidia-nvvm", "nvidia-cuda-nvcc-cu12")
TOOLKITS = ("CUDA_HOME", "CUDA_PATH")
# What builds against libcai; any name of a line will do. Then the packages of Debian and Fedora.
TOOLS = {
    "C compiler": (("cc", "gcc", "clang"), "gcc"),
    "C++ compiler": (("c++", "g++", "clang++"), "g++ (gcc-c++ on Fedora)"),
    "pkg-config": (("pkg-config", "pkgconf"), "pkg-config"),
    "CMake": (("cmake",), "cmake"),
    "Meson": (("meson",), "meson"),
}
VARIABLES = ("CAI_", "SIMCUDA", "CUDA_VISIBLE_DEVICES", "NUMBA_CUDA_", "CUPY_CUDA_")
# What the library accepts; an empty value counts as unset.
CHOICES = {
    "CAI_SYNC": ("1", "0"),
    "CAI_NONE": ("none", "legacy"),
    "CAI_TRACE": ("0", "1"),
    "CAI_EXPORT_STREAM": ("1", "0"),
}
NUMBERS = {"CAI_MAX_PENDING_DEALLOCS_COUNT": int, "CAI_MAX_PENDING_DEALLOCS_RATIO": float}
OLDEST_DRIVER = 12000  # CUDA 12.0


def add_to(commands):
    parser = _arguments.add_parser(
        commands,
        "doctor",
        help="say what works on this machine, and what to install for the rest",
        description=TEXT,
        examples=EXAMPLES,
        status=STATUS,
    )
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    _terminal.add_color_to(parser)
    parser.set_defaults(run=run)


def run(options):
    found = {
        "libcai": __version__,
        "library": _library.LIBRARY,
        "python": platform.python_version(),
        "driver": driver(),
        "devices": devices(),
        "simcuda": simcuda(),
        "installed": installed(),
        "compilers": compilers(),
        "tools": tools(),
        "environment": environment(),
    }
    found["wrong"] = wrong(found)
    found["advice"] = advice(found)
    if options.json:
        import json

        print(json.dumps(found, indent=2))
    else:
        print(shown(found, _terminal.Paint(options.color)))
    return 1 if found["wrong"] else 0


# ---- What there is -------------------------------------------------------------------------------


def driver():
    """The driver that the loader finds: its file, its version, and whether it is simcuda; or its
    error."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return {"error": str(error)}
    version = ctypes.c_int()
    status = library.cuDriverGetVersion(ctypes.byref(version))
    found = {"simulated": hasattr(library, "simcuda_races"), "file": loaded("libcuda.so")}
    if status == 0:
        found["cuda"] = f"{version.value // 1000}.{version.value % 1000 // 10}"
        if version.value < OLDEST_DRIVER:
            found["error"] = f"libcai expects a driver of CUDA 12.0 or newer, got {found['cuda']}"
        status = library.cuInit(0)
    if status != 0:
        found["error"] = f"cuInit() fails with {status}, {meaning(library, status)}"
    return found


def loaded(name):
    """The file of a library of this process, by the beginning of its name."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        paths = (line.rstrip("\n").partition("/")[2] for line in maps)
        return next((f"/{path}" for path in paths if path.rpartition("/")[2].startswith(name)), "")


def meaning(library, status):
    """What the driver says of a status: its name and its text."""
    texts = []
    for function in (library.cuGetErrorName, library.cuGetErrorString):
        text = ctypes.c_char_p()
        function(status, ctypes.byref(text))
        texts.append((text.value or b"unknown").decode())
    return "{} ({})".format(*texts)


def devices():
    from libcai import Device

    return [device.summary().rstrip().replace("\n  ", "; ") for device in Device.all()]


def simcuda():
    """The version of simcuda, and what is wrong with it; None if it is not installed."""
    if util.find_spec("simcuda") is None:
        return None
    import simcuda as package

    found = {"version": package.__version__}
    try:
        package.command("true")
    except package.MissingError as error:
        found["error"] = str(error)
    return found


def installed():
    """Versions by name, as pip has them."""
    versions = {}
    for distribution in metadata.distributions():
        name = (distribution.metadata["Name"] or "").lower().replace("_", "-")
        if name in PEERS or name.startswith(PEERS_OF_CUDA):
            versions[name] = distribution.version
    return dict(sorted(versions.items()))


def compilers():
    """Where libNVVM is: packages, by their names, and folders of toolkits."""
    names = {(each.metadata["Name"] or "").lower() for each in metadata.distributions()}
    folders = [os.environ.get(name, "") for name in TOOLKITS] + ["/usr/local/cuda"]
    return [*sorted(names.intersection(COMPILERS)), *filter(os.path.isdir, folders)]


def tools():
    """Paths by what they are; None for what is not found."""
    return {
        what: next(filter(None, map(shutil.which, names)), None)
        for what, (names, _) in TOOLS.items()
    }


def environment():
    return {name: os.environ[name] for name in sorted(os.environ) if name.startswith(VARIABLES)}


# ---- What comes of it ----------------------------------------------------------------------------


def wrong(found):
    """What is there and does not work."""
    lines = []
    if "simulated" in found["driver"] and "error" in found["driver"]:
        lines.append(f"driver: {found['driver']['error']}")
    if found["simcuda"] and "error" in found["simcuda"]:
        lines.append(f"simcuda: {found['simcuda']['error']}")
    lines += [f"environment: {text}" for text in refused(found["environment"])]
    return lines


def refused(environment):
    """What is wrong with the variables of libcai's: a program fails where it first needs one."""
    for name, choices in CHOICES.items():
        value = environment.get(name)
        if value and value not in choices:
            yield f"{name}: expected {' or '.join(choices)}, got {value!r}"
    for name, kind in NUMBERS.items():
        value = environment.get(name)
        if value and not is_number(kind, value):
            yield f"{name}: expected a number of 0 or more, got {value!r}"
    if manager := environment.get("CAI_MEMORY_MANAGER"):
        import libcai

        try:
            libcai.set_memory_manager(manager)
        except libcai.Error as error:
            yield (
                f"CAI_MEMORY_MANAGER: {error}: it is default, async, pool, managed, /path/lib.so, "
                "or a name that a program registers itself"
            )


def is_number(kind, text):
    if not text.isascii() or text.strip("+_ \t\n") != text or "_" in text:
        return False  # what Python takes besides
    try:
        return 0 <= kind(text) < (1 << 63 if kind is int else math.inf)
    except ValueError:
        return False


def advice(found):
    """(what for, what to install): for what is not there."""
    lines = []
    if "simulated" not in found["driver"]:
        lines.append(("arrays on a GPU", "NVIDIA's driver, of CUDA 12.0 or newer"))
    elif "error" in found["driver"]:
        hidden = found["environment"].get("CUDA_VISIBLE_DEVICES")
        hint = f"; CUDA_VISIBLE_DEVICES is {hidden!r}" if hidden is not None else ""
        lines.append(("a driver that works", f"a driver of CUDA 12.0 or newer, and a GPU{hint}"))
    if found["simcuda"] is None:
        lines.append(("tests without a GPU", "pip install 'libcai[testing]'"))
    elif "error" in found["simcuda"]:
        lines.append(("tests without a GPU", "pip install --force-reinstall simcuda"))
    for name, package in COMMON.items():
        if not has(found["installed"], name):
            lines.append((f"arrays of {name}", f"pip install {package}"))
    if "numba-cuda" in found["installed"] and not found["compilers"]:
        lines.append(("kernels of numba-cuda", f"pip install {COMMON['numba-cuda']}"))
    for what, (_, package) in TOOLS.items():
        if found["tools"][what] is None:
            lines.append((what, f"your system's package {package}"))
    return lines


def has(installed, name):
    return name in installed or any(other.startswith(f"{name}-cuda") for other in installed)


def shown(found, paint):
    libraries = [f"{name} {version}" for name, version in found["installed"].items()]
    simulated = found["simcuda"]
    lines = [
        ("libcai", f"{found['libcai']} ({found['library']}), Python {found['python']}", None),
        ("driver", *described(found["driver"])),
        *(("device", text, None) for text in found["devices"]),
        ("simcuda", simulated["version"], None)
        if simulated
        else ("simcuda", "not found", "yellow"),
        ("libraries", ", ".join(libraries) or "none that shares GPU arrays", None),
        ("tools", ", ".join(filter(None, found["tools"].values())) or "none found", None),
        *(("environment", *setting(item, found)) for item in found["environment"].items()),
    ]
    text = [f"{name + ':':13}{paint(value, colour)}" for name, value, colour in lines]
    text += [paint(f"wrong:       {line}", "red") for line in found["wrong"]]
    if found["advice"]:
        text.append("\nto have more, install:")
        width = max(len(what) for what, _ in found["advice"])
        text += [f"  {what:{width}}  {how}" for what, how in found["advice"]]
    return "\n".join(text)


def setting(item, found):
    """A line, and its colour."""
    name, value = item
    wrong = any(line.startswith(f"environment: {name}: ") for line in found["wrong"])
    return (f"{name}={value}, which does not work", "red") if wrong else (f"{name}={value}", None)


def described(driver):
    """A line, and its colour."""
    if "simulated" not in driver:
        return f"none ({driver['error']})", "yellow"
    what = "simulated (simcuda)" if driver["simulated"] else "real"
    if "cuda" in driver:
        what += f", of CUDA {driver['cuda']}"
    if driver["file"]:
        what += f" ({driver['file']})"
    return (f"{what}, which does not work", "red") if "error" in driver else (what, "green")
