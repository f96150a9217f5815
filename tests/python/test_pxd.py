# SPDX-License-Identifier: BSD-3-Clause
"""`cimport libcai`: the .pxd is the header's. test_bridges.py builds a module with it."""

import importlib.util
import re
from pathlib import Path

import pytest
from helpers import ROOT

import libcai
from libcai import _library


@pytest.mark.slow
def test_generated_files_are_what_the_headers_give(monkeypatch):
    script = ROOT / "bindings/python/generate.py"
    monkeypatch.syspath_prepend(script.parent)
    spec = importlib.util.spec_from_file_location("generate", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    include = Path(_library.INCLUDE_DIR)
    for name, generate in module.OUTPUTS.items():
        committed = (script.parent / name).read_text(encoding="utf-8")
        assert committed == generate(include), "run bindings/python/generate.py include"
    installed = Path(libcai.__file__).with_name("__init__.pxd").read_text(encoding="utf-8")
    assert installed == module.pxd(include)


def test_every_function_is_in_the_table():
    names = (ROOT / "bindings/python/libcai/c/_functions.h").read_text(encoding="utf-8")
    pxd = Path(libcai.__file__).with_name("__init__.pxd").read_text(encoding="utf-8")
    found = set(re.findall(r"^    (?:const )?\w+ \*?(cai_\w+)\(", pxd, flags=re.M))
    macros = {"retain", "release", "refuses", "contiguous_nbytes"}
    found -= {f"cai_array_{name}" for name in macros}
    assert len(found) > 20
    assert found == set(re.findall(r"X\((\w+)\)", names))
    assert found == set(re.findall(r"#define (cai_\w+) ", names))
