# SPDX-License-Identifier: BSD-3-Clause
"""The head of each .pxi names its module, and the other files that it needs."""

import re
from pathlib import Path

import pytest
from helpers import ROOT

PACKAGE = ROOT / "bindings/python/libcai"
FOLDERS = {"core": "_core", "devices": "_devices"}
FILES = sorted(path for folder in FOLDERS for path in (PACKAGE / folder).glob("*.pxi"))


def code_of(path):
    """The source without comments and texts."""
    text = re.sub(r'"""(?:.|\n)*?"""|"[^"\n]*"', '""', path.read_text())
    return re.sub(r"#.*", "", text)


def defined(path):
    """The names that a file defines for the others."""
    names = set()
    for line in code_of(path).splitlines():
        if re.match(r"(cdef|cpdef|def|class|ctypedef|async)\b", line):
            head = re.split(r"\(|=|:", line, maxsplit=1)[0]
            if words := re.findall(r"\w+", head):
                names.add(words[-1])
        elif found := re.match(r"(\w+) = ", line):
            names.add(found[1])
    enums = re.findall(r"^cdef enum[^\n]*:\n((?: +[^\n]*\n|\n)+)", code_of(path), re.M)
    for body in enums:
        names |= set(re.findall(r"^ +(\w+)", body, re.M))
    return names


def needed(path):
    """The files of the same module that define what this one calls, or whose types and constants it
    has."""
    words = set(re.findall(r"(?<![\w.])(?:[a-z_]\w*(?=\()|_?[A-Z]\w*)", code_of(path)))
    words -= defined(path)
    others = (other for other in FILES if other.parent == path.parent and other != path)
    return sorted(other.stem for other in others if words & defined(other))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_part_says_what_it_needs(path: Path):
    module = FOLDERS[path.parent.name]
    needs = ", ".join(needed(path)) or "nothing"
    head = " ".join(line[2:] for line in path.read_text().splitlines()[1:9] if line[:2] == "# ")
    assert head.startswith(f"A part of {module}. Needs {needs}."), (module, needs)


def test_each_part_is_included():
    for folder, module in FOLDERS.items():
        text = (PACKAGE / f"{module}.pyx").read_text()
        included = re.findall(rf'^include "{folder}/(\w+)\.pxi"', text, re.M)
        assert sorted(included) == [path.stem for path in FILES if path.parent.name == folder]
