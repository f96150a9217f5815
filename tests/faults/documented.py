# SPDX-License-Identifier: BSD-3-Clause
"""Which statuses each function may return, as the headers say it: DOCUMENTED(name, set), a line a
function that returns a cai_status, the set with a bit for each status. "as cai_x()" stands for what
cai_x() returns, and "the manager's status" for all.

usage: documented.py OUTPUT HEADER...
"""

import re
import sys
from pathlib import Path

FUNCTION = re.compile(r"/\*\*(?P<text>(?:(?!\*/).)*)\*/\s*cai_status (?P<name>cai_\w+)\(", re.S)
# "as cai_x() and cai_y()"; "as for cai_x()" is about something else.
LIKE = re.compile(r"\bas (cai_\w+)\(\)(?: and (cai_\w+)\(\))?", re.I)
EVERYTHING = re.compile(r"the manager's status|the status of `create`")


def statuses_of(headers):
    text = "\n".join(headers)
    numbers = {name: int(value) for name, value in re.findall(r"\b(CAI_ERR_\w+) = -(\d+)", text)}
    said = {}
    for found in FUNCTION.finditer(text):
        words = " ".join(found["text"].replace("\n *", "\n").split())
        before, _, returns = words.partition("@return ")
        # It says all, or what it adds to the function that it is like.
        if not returns or returns.startswith("also"):
            returns = before + returns
        said[found["name"]] = returns

    def resolve(name, seen=()):
        if name in seen or name not in said:
            return set()
        returns, without = said[name], set()
        for removed in re.findall(r"\bexcept #(CAI_ERR_\w+)", returns):
            without.add(removed)
        got = set(re.findall(r"#(CAI_ERR_\w+)", returns)) - without
        if EVERYTHING.search(returns):
            got |= set(numbers)
        for pair in LIKE.findall(returns):
            for other in filter(None, pair):
                got |= resolve(other, (*seen, name)) - without
        return got

    for name in said:
        yield name, {numbers[status] for status in resolve(name)}


def main():
    output, *headers = sys.argv[1:]
    lines = [
        f"DOCUMENTED({name}, {hex(sum(1 << number for number in numbers))})\n"
        for name, numbers in statuses_of([Path(header).read_text() for header in headers])
    ]
    if not lines:
        raise SystemExit("documented.py: the headers declare no function")
    Path(output).write_text("".join(lines))


if __name__ == "__main__":
    main()
