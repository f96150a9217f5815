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
    structs = named("structs")
    constants = {
        it["name"]: it for header in HEADERS for e in header["enums"] for it in e["values"]
    }
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


def test_it_needs_nothing_else():
    """Every type that is used is in the file, before what uses it by value, or is C's own."""
    known = {
        "void",
        "char",
        "int",
        "double",
        *(f"{u}int{n}_t" for u in ("", "u") for n in (8, 16, 32, 64)),
    }
    known |= {"size_t", "ssize_t"}
    for header in HEADERS:
        of_header = [*header["types"], *header["structs"]]
        known |= {it["name"] for it in [*of_header, *header["enums"]] if "name" in it}
        callables = [*header["types"], *header["functions"]]
        callables += [member for struct in header["structs"] for member in struct["members"]]
        used = [it.get("type", it.get("result")) for it in callables]
        used += [argument["type"] for it in callables for argument in it.get("arguments", ())]
        # The beginning of the spelling, or what follows a parenthesis or a comma.
        words = {
            w for text in used for w in re.findall(r"(?:^|[(,] ?)(?:const )?(\w+)(?= |$)", text)
        }
        assert words - {"opaque"} <= known, words - known


def test_what_stands_beside_a_declaration_is_there():
    by_name = named("structs")
    (wrap,) = [it for it in by_name["cai_exchange_api"]["members"] if it["name"] == "wrap"]
    assert "takes over one reference on success" in str(wrap["arguments"])
    (write,) = [it for it in by_name["cai_log_params"]["members"] if it["name"] == "destroy"]
    assert write["text"]
    flags = {it["name"]: it for e in FACTS["headers"]["cai/array.h"]["enums"] for it in e["values"]}
    assert all(flags[name].get("text") for name in flags if name.startswith("CAI_OWNER_"))
    macros = {it["name"]: it["value"] for header in HEADERS for it in header["macros"]}
    assert macros["CAI_EXCHANGE_CAPSULE"] == "cai_exchange_api"
    assert macros["ARROW_DEVICE_CUDA_MANAGED"] == 13
    assert macros["DLPACK_FLAG_BITMASK_IS_COPIED"] == 2
    assert "CAI_ERR_ARGUMENT; it never crashes" in FACTS["headers"]["cai.h"]["text"]
