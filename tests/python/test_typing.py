# SPDX-License-Identifier: BSD-3-Clause
"""libcai.typing, the stubs, and the marker file."""

import ast
import inspect
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from helpers import producer

import libcai
import libcai.typing as types
from libcai import _devices


def test_protocols():
    array = libcai.asarray(producer())
    assert isinstance(producer(), types.HasCudaArrayInterface)
    assert isinstance(array, types.HasCudaArrayInterface)
    assert isinstance(np.ones(3), types.HasArrayInterface)
    assert not isinstance(np.ones(3), types.HasCudaArrayInterface)

    class Stream:
        handle = 7

        def __cuda_stream__(self):
            return 0, 7

    assert isinstance(Stream(), types.HasCudaStream)
    assert isinstance(Stream(), types.HasHandle)
    assert not isinstance(Stream(), types.HasPtr)


def test_a_stream_is_one_of_these():
    members = get_args(types.Stream)
    assert int in members
    assert {types.HasCudaStream, types.HasHandle, types.HasPtr} < set(members)
    assert isinstance(7, members)
    assert not isinstance("7", members)


def test_typed_dicts():
    required = types.CudaArrayInterface.__required_keys__
    assert required == {"shape", "typestr", "data", "version"}
    assert types.CudaArrayInterface.__optional_keys__ == {"strides", "descr", "mask", "stream"}


def test_stubs_are_there_and_name_everything():
    package = files("libcai")
    assert (package / "py.typed").is_file()
    stub = (package / "_core.pyi").read_text(encoding="utf-8")
    for name, _ in inspect.getmembers(libcai.Array):
        if not name.startswith("__") or name.endswith("interface__"):
            assert f"def {name}(" in stub
    stub = (package / "_devices.pyi").read_text(encoding="utf-8")
    for kind in (libcai.Stream, libcai.Event, libcai.Memory, libcai.MemoryManager):
        for name in vars(kind):
            if not name.startswith("__") or name == "__cuda_stream__":
                assert f"def {name}(" in stub
    outer = (package / "__init__.pyi").read_text(encoding="utf-8")
    for name in libcai.__all__:
        assert name in outer


@pytest.mark.slow
def test_calls_that_type_checkers_know(tmp_path):
    """What the docstrings allow is accepted, and every such call has a type."""
    program = tmp_path / "program.py"
    program.write_text(
        """
from typing import Any

import libcai

class Exporter:
    def __dlpack__(self, **asked: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

libcai.copy(bytearray(3), Exporter())
libcai.to(bytearray(3), "cpu").item(0)
libcai.to(Exporter(), "cpu")
memory, offset = libcai.Memory.of(Exporter())
libcai.Memory.of(bytearray(3))[1].bit_length()
with libcai.Device("gpu") as device:
    device.reset()
libcai.Device(2, 0).memory.free.bit_length()
libcai.check(memory).findings[0].entry.upper()
libcai.IpcHandle(b"").close()
libcai.memory_manager("pool", initial=1, limit=None, install=True)
with libcai.relaxed(sync=False):
    pass
"""
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "program.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_keywords_are_the_stubs():
    stub = ast.parse((files("libcai") / "_devices.pyi").read_text(encoding="utf-8"))
    for node in stub.body:
        if isinstance(node, ast.FunctionDef):
            real = inspect.signature(getattr(_devices, node.name)).parameters.values()
            names = {each.arg for each in node.args.args + node.args.kwonlyargs}
            assert names == {each.name for each in real}, node.name


@pytest.mark.long
def test_stubs_agree_with_the_package(tmp_path):
    """Names, parameters, defaults, kinds of attributes. About seven seconds."""
    here = Path(__file__).parent
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy.stubtest", "libcai", "--concise"),
            f"--mypy-config-file={here / 'mypy.ini'}",
            f"--allowlist={here / 'stubs.allowed'}",
            "--ignore-unused-allowlist",
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,  # of its cache
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_errors():
    assert issubclass(libcai.InterfaceError, (libcai.Error, ValueError))
    assert issubclass(libcai.InterfaceTypeError, TypeError)
    assert issubclass(libcai.InterfaceTypeError, libcai.Error)
    assert issubclass(libcai.BufferError, BufferError)
    assert issubclass(libcai.BufferError, libcai.Error)
    assert issubclass(libcai.CudaError, RuntimeError)
    assert issubclass(libcai.CudaError, libcai.Error)
    assert issubclass(libcai.ViewIndexError, IndexError)
    assert issubclass(libcai.ViewError, ValueError)
    error = libcai.InterfaceError("shape is odd", "shape", 7, -2)
    assert (error.entry, error.value, error.status, str(error)) == ("shape", 7, -2, "shape is odd")
