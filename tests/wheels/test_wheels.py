# SPDX-License-Identifier: BSD-3-Clause
"""The wheels of a release, as tools/wheels has left them in dist/: what they hold and need, and
that they work, each in an environment with nothing else; aarch64's in an emulator."""

import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WHEELS = sorted((ROOT / "dist").glob("libcai-*manylinux*.whl"))
SIMCUDA = sorted((ROOT / "dist").glob("simcuda-*manylinux*.whl"))
SUITES = ["array", "asarray", "cases", "exchange", "lifetime", "use"]
MACHINES = {"x86_64": "Advanced Micro Devices X86-64", "aarch64": "AArch64"}

PROGRAM = """
import libcai

class Producer:
    __cuda_array_interface__ = {
        "shape": (3, 4), "typestr": "<f4", "data": (0x7F0000000000, False), "version": 3}

assert libcai.asarray(Producer())[::2, ::-1].strides == (32, -4)
assert libcai.Device("gpu:0").name.startswith("simcuda")
array = libcai.full((3, 4), 7, typestr="<i4", device="gpu:0")
assert array.item(2, 3) == 7
try:
    libcai.empty(1 << 45, typestr="|u1", device="gpu:0")
except MemoryError as error:
    print("refused:", error)
"""


def loaded(path):
    loader = importlib.machinery.SourceFileLoader(path.name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(path.name, loader))
    loader.exec_module(module)
    return module


tools = loaded(ROOT / "tools/wheels")
PYTHONS = tools.pythons()


# A pytest that runs within is no worker of the one around it.
ENVIRONMENT = {name: os.environ[name] for name in os.environ if not name.startswith("PYTEST_")}


def run(*command, **environment):
    done = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        env={**ENVIRONMENT, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tags(wheel):
    """(Python's tag, the ABI's, the machine)"""
    python, abi, platform = wheel.stem.split("-")[2:]
    return python, abi, platform.removeprefix("manylinux_2_28_")


def versions(wheel):
    """The Pythons here that a wheel is for."""
    python, abi, machine = tags(wheel)
    if machine != "x86_64":
        return []
    version = int(python[2]), int(python[3:])
    return [
        python
        for python in PYTHONS
        if tuple(python["version"]) == version
        or (abi == "abi3" and tuple(python["version"]) > version)
    ]


@pytest.fixture(params=WHEELS, ids=lambda wheel: "-".join(tags(wheel)))
def wheel(request):
    return request.param


@pytest.fixture
def package(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "wheel")
    return tmp_path / "wheel/libcai"


def test_there_is_one_for_each_python_and_machine():
    names = ["cp{}{}".format(*python["version"]) for python in PYTHONS]
    later = [python for python in PYTHONS if tuple(python["version"]) >= tools.LIMITED]
    wanted = [(name, name) for name in names]
    wanted += [("cp{}{}".format(*python["version"]), "abi3") for python in later[:1]]
    assert wanted
    assert sorted(map(tags, WHEELS)) == sorted(
        (*pair, machine) for pair in wanted for machine in tools.MACHINES
    )


def test_what_it_holds(wheel, package):
    python, abi, machine = tags(wheel)
    assert sorted(path.name for path in package.parent.iterdir()) == [
        "libcai",
        "-".join(wheel.name.split("-")[:2]) + ".dist-info",
    ]
    suffix = "abi3" if abi == "abi3" else f"cpython-{python[2:]}-{machine}-linux-gnu"
    modules = {f"_core.{suffix}.so", f"_devices.{suffix}.so"}
    assert {path.name for path in package.glob("*.so")} == modules
    for file in [*package.glob("*.so"), *package.glob("*/*.so.*"), package / "lib/libcai_cupy.so"]:
        check_needed(file, machine)
    library = package / "lib/libcai.so.1"
    run(sys.executable, ROOT / "tests/abi/check_needed.py", library, "1")
    headers = sorted((package / "include").rglob("*.h"))
    headers = [header for header in headers if "declarations begin" in header.read_text()]
    listed = ROOT / "tests/abi/functions.def", *(ROOT / "src").glob("*.map")
    run(sys.executable, ROOT / "tests/abi/check_symbols.py", library, *listed, *headers)


def check_needed(file, machine):
    assert MACHINES[machine] in run("readelf", "--file-header", file)
    dynamic = run("readelf", "--dynamic", "--wide", file)
    for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        assert re.match(r"(libc|libm|libpthread|libdl|ld-linux.*|libcai)\.so", needed), needed


def test_simcuda_has_one_for_all_pythons(tmp_path):
    oldest = "cp{}{}".format(*PYTHONS[0]["version"])
    assert sorted(map(tags, SIMCUDA)) == [
        (oldest, "abi3", machine) for machine in sorted(tools.MACHINES)
    ]
    for wheel in SIMCUDA:
        folder = tmp_path / tags(wheel)[2]
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        check_needed(folder / "simcuda/lib/libcuda.so.1", tags(wheel)[2])


INSTALLATIONS = [(wheel, python) for wheel in WHEELS for python in versions(wheel)]


@pytest.mark.parametrize(
    ("wheel", "python"),
    INSTALLATIONS,
    ids=["{}-{}.{}".format("-".join(tags(w)[:2]), *p["version"]) for w, p in INSTALLATIONS],
)
def test_in_an_empty_environment(wheel, python, tmp_path):
    run(python["executable"], "-m", "venv", tmp_path)
    environment = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    pip = [tmp_path / "bin/python", "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run(*pip, "install", "--no-index", wheel)
    run("python", "-c", "import libcai; libcai.asarray(memoryview(b'x'))", **environment)
    requirements = [f"--requirement=requirements/{name}.txt" for name in ("build", "demo", "test")]
    run(*pip, "install", *requirements)
    # As the test kit's users do, but with this wheel.
    kit = f"libcai[testing] @ {wheel.as_uri()}"
    run(*pip, "install", "--no-index", f"--find-links={ROOT / 'dist'}", kit)
    assert "simulated" in run("libcai", "sim", "libcai", "doctor", **environment)
    assert "refused:" in run("libcai", "sim", "python", "-c", PROGRAM, **environment)
    simcuda = run("simcuda", "config", "--library-dir", **environment).strip()
    run(
        *(tmp_path / "bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider"),
        *(f"tests/python/test_{suite}.py" for suite in SUITES),
        SIMCUDA_LIBRARY_DIR=simcuda,
        CAI_TEST_LONG="0",
        **environment,
    )


def test_on_aarch64(tmp_path):
    """The C library and simcuda, by the example in C; no Python for that machine is at hand."""
    for wheels in (WHEELS, SIMCUDA):
        wheel = next(wheel for wheel in wheels if tags(wheel)[2] == "aarch64")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(tmp_path)
    compiler = f"{sys.executable} -m ziglang cc -target aarch64-linux-gnu.2.28"
    run(
        *("make", "-C", ROOT / "examples/pack", f"OUT={tmp_path}/out", f"CC={compiler}"),
        f"PKG_CONFIG_PATH={tmp_path}/libcai/lib/pkgconfig",
    )
    folders = f"{tmp_path}/libcai/lib:{tmp_path}/simcuda/lib"
    for schedule in ("eager", "lazy", "random:1"):
        said = run(
            *("qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"),
            *("-E", f"LD_LIBRARY_PATH={folders}", "-E", "SIMCUDA=1"),
            *("-E", f"SIMCUDA_SCHEDULE={schedule}", tmp_path / "out/pack-main"),
        )
        assert said.endswith("26 of 26 arrays were packed correctly\n")
