# SPDX-License-Identifier: BSD-3-Clause
"""docs/specification: rules are numbered, what they cite exists, and the tables are the ABI's."""

import json
import re

import pytest
from helpers import ROOT

FOLDER = ROOT / "docs/specification"
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.rst"))}
LETTERS = {
    "index": "C",
    "struct": "S",
    "owner": "R",
    "dict": "D",
    "order": "O",
    "tables": "T",
    "versions": "V",
}
TABLES = {
    "struct": ["cai_array", "cai_dtype", "cai_field", "cai_owner"],
    "tables": ["cai_exchange_api", "cai_exchange_order"],
}
CASES = {row["id"] for row in json.loads((ROOT / "tests/cases/import.json").read_text("utf-8"))}
DEFINED = {
    ".c": r"^(?:static )?void {name}\(",
    ".cpp": r"^TEST(?:_F)?\({name}\)",
    ".py": r"^def {name}\(",
}


def rules_of(text):
    """The paragraphs that begin with a number, each as (letter, number, words)."""
    paragraphs = [" ".join(block.split()) for block in text.split("\n\n")]
    found = [re.match(r"\*\*([A-Z])-(\d+)\*\* (.+)", paragraph) for paragraph in paragraphs]
    return [(each[1], int(each[2]), each[3]) for each in found if each]


RULES = [
    pytest.param(words, id=f"{letter}-{number}")
    for text in PAGES.values()
    for letter, number, words in rules_of(text)
]


def cited_by(words):
    """The files and names in the parentheses at the end, as (file, name); of a case, no file."""
    (citation,) = re.findall(r" \(([^()]*)\)$", words)
    if citation == "not checked here":
        return []
    found = []
    for part in citation.split("; "):
        names = re.findall(r"``([^`]+)``", part)
        if part.startswith("cases "):
            found += [(None, name) for name in names]
        else:
            file, *names = names
            found += [(file, name) for name in names] or [(file, None)]
    return found


def exists(file, name):
    if file is None:
        return name in CASES
    path = ROOT / file
    if not path.is_file() or name is None:
        return path.is_file()
    name = re.escape(name).replace(r"\.", ", ")
    return re.search(DEFINED[path.suffix].format(name=name), path.read_text("utf-8"), re.M)


def test_rules_ascend_in_each_page():
    for page, text in PAGES.items():
        rules = rules_of(text)
        assert {letter for letter, _, _ in rules} == set(LETTERS.get(page, "")), page
        numbers = [number for _, number, _ in rules]
        assert numbers == sorted(set(numbers)), page
        assert len(rules) == len(re.findall(r"^\*\*[A-Z]-\d+\*\*", text, re.M)), page


@pytest.mark.parametrize("words", RULES)
def test_a_rule_cites_what_there_is(words):
    assert not [cited for cited in cited_by(words) if not exists(*cited)]
    assert re.search(r"\b(must|should|may)\b", words)


def test_what_does_not_exist_is_found():
    assert cited_by("It must. (``a/b.py``: ``c``, ``d``; cases ``e``; ``f.c``)") == [
        ("a/b.py", "c"),
        ("a/b.py", "d"),
        (None, "e"),
        ("f.c", None),
    ]
    for cited in [
        (None, "no-such-case"),
        ("tests/no_such_file.c", None),
        ("tests/c/test_own.c", "test_no_such_thing"),
        ("tests/order/test_uses.cpp", "Uses.OfNoSuchThing"),
        ("tests/python/test_cases.py", "no_such_test"),
    ]:
        assert not exists(*cited), cited


def layouts_of(text):
    """The tables of offset, size and name, in their order."""
    rows, found = None, []
    for line in text.splitlines():
        if re.match(r"offset +size +name +meaning$", line):
            rows = []
            found.append(rows)
        row = re.match(r"(\d+) +(\d+) +``(\w+)`` ", line)
        if row and rows is not None:
            rows.append((row[3], int(row[1]), int(row[2])))
    return found


def test_tables_are_the_abis():
    headers = json.loads((ROOT / "packaging/abi.json").read_text("utf-8"))["headers"]
    structs = {it["name"]: it for header in headers.values() for it in header["structs"]}
    for page, names in TABLES.items():
        tables = layouts_of(PAGES[page])
        assert len(tables) == len(names), page
        for name, rows in zip(names, tables, strict=True):
            members = [(it["name"], it["offset"], it["size"]) for it in structs[name]["members"]]
            assert rows == members, name
    for name in TABLES["struct"]:
        size, alignment = structs[name]["size"], structs[name]["alignment"]
        said = rf"^{name}\n-+\n\n{size} bytes, aligned to {alignment}\."
        assert re.search(said, PAGES["struct"], re.M), name


def test_every_page_is_in_the_toctree():
    (listed,) = re.findall(r"\.\. toctree::\n   :maxdepth: 1\n\n((?:   \w+\n)+)", PAGES["index"])
    assert sorted([*listed.split(), "index"]) == sorted(PAGES)
