# SPDX-License-Identifier: BSD-3-Clause
"""The driver rules as their programs state them: how each rule_*.c begins, and what it prints."""

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
SPDX = "// SPDX-License-Identifier: BSD-3-Clause\n"
# `// Rule: ` and a sentence, over several lines if need be; `// Source: ` and one line.
HEAD = re.compile(re.escape(SPDX) + r"// Rule: ((?:.+\n// )*?.+)\n// Source: (.+)\n#include ")
SOURCES = ("cuda.h", "CUDA driver API manual", "CUDA programming guide", "assumed")
OPEN = "to be checked on a GPU"
FOUND = re.compile(r"found: (?P<what>.+): (?P<answer>.+) \(assumed: (?P<assumed>.+)\)")


class Malformed(Exception):
    """A program that does not begin as it must."""


@dataclass(frozen=True)
class Rule:
    name: str
    path: Path
    rule: str
    source: str


def read_rule(path):
    text = path.read_text()
    head = HEAD.match(text)
    if not head:
        raise Malformed(f"{path.name} does not begin with an SPDX line, '// Rule:', '// Source:'")
    rule = head[1].replace("\n// ", " ")
    if not rule.endswith("."):
        raise Malformed(f"{path.name}: the rule is no sentence: {rule}")
    if not head[2].startswith(SOURCES):
        raise Malformed(f"{path.name}: not a known source: {head[2]}")
    # A program that finds out what no source settles says so, and asserts nothing about it.
    if re.search(r"\b(FOUND|FOUND_STATUS|found)\(", text) and OPEN not in head[2]:
        raise Malformed(f"{path.name} finds something out, but its source does not say '{OPEN}'")
    return Rule(path.stem.removeprefix("rule_"), path, rule, head[2])


def read_rules(folder=FOLDER):
    return [read_rule(path) for path in sorted(folder.glob("rule_*.c"))]
