# SPDX-License-Identifier: BSD-3-Clause
"""The imports of libcai: few, so that importing it is fast."""

from pathlib import Path

import pytest
from helpers import python

import libcai

SITE = str(Path(libcai.__file__).parents[1])
# Each takes longer to import than all of libcai.
SLOW = {"numpy", "cffi", "_cffi_backend", "ctypes", "pathlib", "inspect", "dataclasses", "json"}
SLOW |= {"subprocess", "argparse", "logging", "asyncio", "importlib.metadata", "cuda", "numba"}


def imported(code):
    """The modules that a fresh interpreter has after it; none of them by site."""
    before = f"import sys; sys.path.append({SITE!r})\n"
    after = "\nprint(*sys.modules)"
    return set(python(before + code + after, options=["-I", "-S"]).split())


@pytest.mark.parametrize("use", ["", "; libcai.asarray", "; libcai.empty", "; libcai.Device"])
def test_nothing_slow_is_imported(use):
    modules = imported("import libcai" + use)
    assert "libcai" in modules
    assert not SLOW & modules


def test_compiled_modules_are_loaded_when_they_are_needed():
    assert not {"libcai._core", "libcai._devices"} & imported("import libcai")
    assert "libcai._core" in imported("import libcai; libcai.asarray")


def test_cffi_needs_no_compiled_module():
    modules = imported("import libcai.cffi")
    assert "libcai.cffi" in modules
    assert not {"libcai._core", "libcai._devices", "numpy"} & modules
