# SPDX-License-Identifier: BSD-3-Clause
"""docs/specification: its numbers, its layout, and what its rules say that checks them."""

import re

import pytest
from helpers import ROOT

PAGES = sorted((ROOT / "docs/specification").glob("*.rst"))
SPECIFICATION = (ROOT / "docs/specification/index.rst").read_text(encoding="utf-8")
RULES = re.findall(r"^\*\*([A-Z])-(\d+)\*\* (.*?)(?=\n\n|\Z)", SPECIFICATION, re.M | re.S)
LAYOUT = (ROOT / "tests/abi/layout.def").read_text(encoding="utf-8")


def test_rules_are_numbered_without_gaps():
    letters = dict.fromkeys(letter for letter, _, _ in RULES)
    assert list(letters) == ["S", "O", "D", "R", "T", "V", "C"]
    for letter in letters:
        numbers = [int(number) for its, number, _ in RULES if its == letter]
        assert numbers == [*range(1, len(numbers) + 1)], letter


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule[0]}-{rule[1]}")
def test_a_rule_names_what_checks_it(rule):
    files = re.findall(r"``(tests/[\w./-]+)``", rule[2])
    assert files
    assert [file for file in files if not (ROOT / file).exists()] == []


@pytest.mark.parametrize("name", ["cai_array", "cai_dtype", "cai_owner"])
def test_the_layout_is_the_headers(name):
    title, rows = re.search(
        rf"^\.\. list-table:: ``{name}``: (.*?)\n(.*?)(?=\n\n\S)", SPECIFICATION, re.M | re.S
    ).groups()
    size, alignment = re.search(rf"STRUCT\({name}, (\d+), (\d+)\)", LAYOUT).groups()
    assert title == f"{size} bytes, aligned to {alignment}"
    said = re.findall(r"\* - ``(\w+)``\n +- (\d+)\n +- (\d+)\n +- \S", rows)
    assert said == re.findall(rf"MEMBER\({name}, (\w+), (\d+), (\d+)\)", LAYOUT)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_that_a_page_names_exist(page):
    named = re.findall(r"``((?:src|tests|docs)/[\w./-]+)``", page.read_text(encoding="utf-8"))
    assert [file for file in named if not (ROOT / file).exists()] == []
