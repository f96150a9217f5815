# SPDX-License-Identifier: BSD-3-Clause
"""The exports agree: symbols of the library, names in the version script, functions in the headers,
and those whose types functions.def has.

usage: check_symbols.py LIBRARY functions.def MAP... HEADER...
"""

import re
import subprocess
import sys
from pathlib import Path

from tap import Tap, program_environment, tool


def exported(library):
    """{name: version node} of what the library defines, and the nodes themselves."""
    lines = subprocess.run(
        [tool("nm"), "--dynamic", "--defined-only", library],
        check=True,
        capture_output=True,
        text=True,
        env=program_environment(),
    ).stdout.splitlines()
    symbols, kinds = {}, {}
    for line in lines:
        _, kind, symbol = line.split()
        if kind == "A":  # the node's own symbol
            continue
        name, _, node = symbol.partition("@")
        symbols[name] = node.lstrip("@")
        kinds[name] = kind
    return symbols, kinds


def strip_comments(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    return re.sub(r"(//|#).*", "", text)


def mapped(path):
    """{name: node}, and every entry that is a pattern, of a version script."""
    names, patterns = {}, []
    nodes = re.findall(
        r"([\w.]+)\s*\{(.*?)}\s*([\w.]*)\s*;", strip_comments(path.read_text()), re.DOTALL
    )
    for node, body, _parent in nodes:
        scope = "global"
        for label, entry in re.findall(r"(?:(global|local)\s*:)|([^\s;:]+)\s*;", body):
            if label:
                scope = label
            elif scope == "global":
                names[entry] = node
                if not re.fullmatch(r"\w+", entry):
                    patterns.append(entry)
            elif entry != "*":
                patterns.append(f"local: {entry}")
    return names, patterns


def declared(headers):
    """Functions declared between a header's markers, and declarations that could not be read."""
    names, unread = [], []
    for header in headers:
        regions = re.findall(
            r"declarations begin \*/(.*?)/\*[^*]*declarations end \*/",
            header.read_text(),
            re.DOTALL,
        )
        if len(regions) != 1:
            unread.append(f"{header.name}: {len(regions)} regions between markers, not 1")
        text = strip_comments(" ".join(regions))
        while "{" in text:  # bodies of structs and enums, innermost first
            text = re.sub(r"\{[^{}]*\}", " ", text)
        for declaration in map(str.split, text.split(";")):
            line = " ".join(declaration)
            if not line or line.split()[0] in ("typedef", "struct", "enum"):
                continue
            if found := re.match(r"[\w\s*]*?\b(cai_\w+)\s*\(", line):
                names.append(found[1])
            else:
                unread.append(f"{header.name}: {line}")
    return names, unread


# Whose functions libcai-memory.map names; libcai.map, those of the others.
OF_MEMORY = {"device.h", "memory.h", "adaptors.h"}


def grouped(paths):
    """{version script: its headers}."""
    headers = [path for path in paths if path.suffix != ".map"]
    return {
        path: [it for it in headers if (it.name in OF_MEMORY) == (path.stem == "libcai-memory")]
        for path in paths
        if path.suffix == ".map"
    }


def listed(names):
    return [f"  {name}" for name in sorted(names)]


def main():
    library, table, *arguments = sys.argv[1:]
    tap = Tap()
    symbols, kinds = exported(library)
    names, patterns, functions, unread = {}, [], [], []
    for script, headers in grouped([Path(it) for it in arguments]).items():
        its_names, its_patterns = mapped(script)
        its_functions, its_unread = declared(headers)
        misplaced = set(its_names) ^ set(its_functions)
        tap.check(
            not misplaced, f"{script.name} names what its headers declare", *listed(misplaced)
        )
        names |= its_names
        patterns += its_patterns
        functions += its_functions
        unread += its_unread
    typed = re.findall(r"^FUNCTION\([^,]+, (\w+),", Path(table).read_text(), re.MULTILINE)

    tap.check(symbols, "the library exports something")
    others = [name for name in symbols if not name.startswith("cai_")]
    tap.check(not others, "every export begins with cai_", *listed(others))
    data = [name for name in symbols if kinds[name] != "T"]
    tap.check(not data, "every export is a function, and strong", *listed(data))
    tap.check(not patterns, "the map lists names, and only `*` is local", *listed(patterns))
    tap.check(not unread, "the headers can be read", *listed(unread))
    twice = {name for name in functions if functions.count(name) > 1}
    tap.check(not twice, "no function is declared twice", *listed(twice))
    for name in sorted({*symbols, *names, *functions}):
        tap.check(
            name in symbols
            and name in functions
            and name in typed
            and symbols[name] == names.get(name),
            name,
            f"library: {symbols.get(name, 'missing')}",
            f"map: {names.get(name, 'missing')}",
            f"header: {'declared' if name in functions else 'missing'}",
            f"functions.def: {'there' if name in typed else 'missing'}",
        )
    tap.finish()


if __name__ == "__main__":
    main()
