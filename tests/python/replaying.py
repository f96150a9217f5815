# SPDX-License-Identifier: BSD-3-Clause
"""The corpus of the fuzzers of Python's doors: for each way that a case can end, the first number
that ends so, and numbers that once found something.

usage: replaying.py SCRIPT                       plays corpus/SCRIPT.txt
       replaying.py SCRIPT record FIRST COUNT    adds what so many other cases end in, anew

A line is a number and how its case ends; what follows a # says what it once found. Numbers mean
other cases once a generator changes. Then the ends differ, and `record` finds new numbers.
"""

import contextlib
import importlib
import sys
import warnings
from pathlib import Path

CORPUS = Path(__file__).with_name("corpus")


def lines_of(path):
    """The number, the end and the remark of each line."""
    for line in path.read_text(encoding="utf-8").splitlines():
        text, _, remark = line.partition("#")
        number, _, end = text.strip().partition(" ")
        if number:
            yield int(number), end.strip(), remark.strip()


@contextlib.contextmanager
def of(script):
    """The module of a script, ready to play."""
    module = importlib.import_module(script)
    warnings.simplefilter("ignore")
    sys.unraisablehook = lambda _: None  # of __del__ and the collector
    with getattr(module, "begin", contextlib.nullcontext)():
        yield module
        module.clean_up()


def end_of(module, number):
    """How a case ends, and what is wrong with it."""
    said = module.play(number)
    return module.last.verdict.strip(), said


def play(script):
    found = count = 0
    with of(script) as module:
        for number, wanted, _ in lines_of(CORPUS / f"{script}.txt"):
            end, said = end_of(module, number)
            count += 1
            if said is not None or end != wanted:
                found += 1
                print(number, said, f"it ends in {end!r}, and was to end in {wanted!r}", sep=" | ")
    print(f"{found} faults in {count} cases")
    return 1 if found else 0


def record(script, first, count):
    path = CORPUS / f"{script}.txt"
    kept = [line for line in lines_of(path) if line[2]] if path.exists() else []
    firsts = {}
    with of(script) as module:
        kept = [(number, end_of(module, number)[0], remark) for number, _, remark in kept]
        for number in range(first, first + count):
            firsts.setdefault(end_of(module, number)[0], number)
    lines = [f"{number} {end}\n" for end, number in sorted(firsts.items(), key=lambda it: it[1])]
    lines += [f"{number} {end}  # {remark}\n" for number, end, remark in kept]
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    if sys.argv[2:3] == ["record"]:
        sys.exit(record(sys.argv[1], *map(int, sys.argv[3:])))
    sys.exit(play(sys.argv[1]))
