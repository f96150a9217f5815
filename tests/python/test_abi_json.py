# SPDX-License-Identifier: BSD-3-Clause
"""share/libcai/abi.json: the facts that other languages read are what compilers have checked."""

import json
import re
from pathlib import Path

from helpers import ROOT

import libcai

FACTS = json.loads(Path(libcai.__file__).with_name("share").joinpath("libcai/abi.json").read_text())
HEADERS = FACTS["headers"].values()


def named(kind):
    return {each["name"]: each for header in HEADERS for each in header[kind]}


def test_layouts_and_values_are_the_frozen_ones():
    structs, constants = named("structs"), named("constants")
    lines = re.findall(
        r"^(STRUCT|MEMBER|VALUE)\((.*)\)$", (ROOT / "tests/abi/layout.def").read_text(), re.M
    )
    assert len(lines) > 300
    for kind, arguments in lines:
        name, *words = arguments.split(", ")
        if kind == "STRUCT":
            has = [structs[name]["size"], structs[name]["alignment"]]
        elif kind == "MEMBER":
            (member,) = [it for it in structs[name]["members"] if it["name"] == words[0]]
            has, words = [member["offset"], member["size"]], words[1:]
        else:
            has = [constants[name]["value"]]
        assert has == [int(word) for word in words], (kind, arguments)


def test_functions_are_those_of_the_version_nodes():
    for node, script in (("CAI_1", "libcai.map"), ("CAI_MEMORY_0", "libcai-memory.map")):
        exported = set(re.findall(r"^ +(cai_\w+);", (ROOT / "src" / script).read_text(), re.M))
        listed = {
            function["name"]
            for header in HEADERS
            if header["node"] == node
            for function in header["functions"]
        }
        assert listed == exported


def test_each_function_says_what_it_does_and_since_when():
    for function in named("functions").values():
        assert function["since"] == "0.1", function["name"]
        assert function.get("text") or function.get("returns"), function["name"]
        if function["result"] == "cai_status":
            said = function.get("text", "") + function.get("returns", "")
            assert re.search(r"CAI_OK|[Aa]s cai_\w+\(\)", said), function["name"]
    (use,) = [it for it in FACTS["headers"]["cai.h"]["functions"] if it["name"] == "cai_use_begin"]
    assert [it["name"] for it in use["arguments"]][:3] == ["use", "arrays", "count"]
    assert use["arguments"][1]["type"] == "const cai_array *const *"
    assert "CAI_ERR_CAPTURE" in use["returns"]
