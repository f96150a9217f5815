# SPDX-License-Identifier: BSD-3-Clause
"""Each instruction with each type and modifier, on edges and random numbers, against exact results.

    test_instructions.py [--values N] [--seed N] [WORD...]

Each instruction is executed by all lanes of a warp, and by the odd ones only."""

import argparse
import itertools
import random
import struct
import sys

import all_cases
import engine

CODES = {16: "H", 32: "I", 64: "Q"}
KEPT = {1: 0, 16: 0x5A5A, 32: 0x5A5A5A5A, 64: 0x5A5A5A5A5A5A5A5A}


def register(bits, name):
    return f".reg .{'pred' if bits == 1 else f'b{bits}'} {name};"


def lanes(bits):
    """A predicate is passed as 0 or 1 of 32 bits."""
    return 32 if bits == 1 else bits


def kernel(case):
    """The text of a kernel that computes the case for each thread."""
    lines = [".version 8.8", ".target sm_100", ".address_size 64", ".visible .entry k("]
    count = len(case.sources)
    outputs = len(case.results)
    names = [f"o{i}" for i in range(outputs)] + [f"g{i}" for i in range(outputs)]
    names += [f"s{i}" for i in range(count)]
    lines.append(",\n".join(f"  .param .u64 p_{name}" for name in names) + "\n)\n{")
    lines += [
        ".reg .b64 %at<64>; .reg .b8 %byte, %part<4>; .reg .b128 %wide<2>;",
        ".reg .b32 %i, %odd, %flag; .reg .pred %p_odd, %truth;",
    ]
    for i, bits in enumerate(case.sources):
        lines.append(register(bits, f"%s{i}"))
    for i, bits in enumerate(case.results):
        lines += [register(bits, f"%d{i}"), register(bits, f"%g{i}")]
    lines += [
        "mov.u32 %flag, %ctaid.x;",
        "mov.u32 %i, %ntid.x;",
        "mul.lo.u32 %i, %i, %flag;",
        "mov.u32 %flag, %tid.x;",
        "add.u32 %i, %i, %flag;",
        "and.b32 %odd, %i, 1;",
        "setp.eq.u32 %p_odd, %odd, 1;",
    ]
    place = {}
    for n, name in enumerate(names):
        bits = lanes((case.results * 2 + case.sources)[n])
        place[name] = f"%at{n}"
        lines += [
            f"ld.param.u64 %at{n}, [p_{name}];",
            f"mad.wide.u32 %at{n}, %i, {bits // 8}, %at{n};",
        ]
    for i, bits in enumerate(case.sources):
        target = "%flag" if bits == 1 else f"%s{i}"
        lines.append(f"ld.global.b{lanes(bits)} {target}, [{place[f's{i}']}];")
        if bits == 1:
            lines.append(f"setp.ne.u32 %s{i}, %flag, 0;")
    for i, bits in enumerate(case.results):
        kind = "pred" if bits == 1 else f"b{bits}"
        lines.append(f"mov.{kind} %g{i}, {KEPT[bits]};")
    for guard, prefix in (("", "%d"), ("@%p_odd ", "%g")):
        names_now = [f"{prefix}{i}" for i in range(outputs)] + [f"%s{i}" for i in range(count)]
        for line in case.text.splitlines():
            lines.append(guard + line.format(*names_now))
    for i, bits in enumerate(case.results):
        for prefix, name in (("%d", f"o{i}"), ("%g", f"g{i}")):
            value = f"{prefix}{i}"
            if bits == 1:
                lines.append(f"selp.b32 %flag, 1, 0, {value};")
                value = "%flag"
            lines.append(f"st.global.b{lanes(bits)} [{place[name]}], {value};")
    return "\n".join(lines) + "\nret;\n}\n"


def check(case, rows):
    """The differences, as text."""
    rows = rows + rows[-1:] * (-len(rows) % 32)
    count = len(rows)

    def pack(values, bits):
        return engine.Buffer(struct.pack(f"<{count}{CODES[lanes(bits)]}", *values))

    sources = [pack([row[i] for row in rows], bits) for i, bits in enumerate(case.sources)]
    results = [pack([0] * count, bits) for bits in case.results * 2]
    module = engine.Module(kernel(case))
    outcome = module.run("k", count // 32, 32, *results, *sources)
    if outcome["fault"] or outcome["findings"]:
        return [str(outcome["fault"] or outcome["findings"])]
    got = [
        buffer.array(CODES[lanes(bits)])
        for buffer, bits in zip(results, case.results * 2, strict=True)
    ]
    wrong = []
    outputs = len(case.results)
    for n, row in enumerate(rows):
        expected = case.expected(*row)
        if not isinstance(expected, tuple):
            expected = (expected,)
        for i, bits in enumerate(case.results):
            for guarded in (False, True):
                if guarded and n % 2 == 0 and case.loses_guard and engine.BY_PTXAS:
                    continue
                wanted = KEPT[bits] if guarded and n % 2 == 0 else expected[i]
                value = got[i + guarded * outputs][n]
                fits = value == wanted
                if not fits and case.near and not (guarded and n % 2 == 0):
                    fits = case.near(value, *row)
                if not fits and len(wrong) < 4:
                    inputs = " ".join(f"{each:#x}" for each in row)
                    wrong.append(
                        f"{'guarded ' if guarded else ''}{inputs} -> {value:#x}, "
                        f"expected {wanted if wanted is None else hex(wanted)}"
                    )
    return wrong


def rows_of(case, values, random_numbers):
    """Edges crossed with each other as far as there is room, and random numbers."""
    edges = [case.edges(i) for i in range(len(case.sources))]
    crossed = list(itertools.product(*edges))
    if len(crossed) > values // 2:
        crossed = random_numbers.sample(crossed, values // 2)
    while len(crossed) < values:
        crossed.append(tuple(case.random(i, random_numbers) for i in range(len(case.sources))))
    return crossed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--values", type=int, default=96)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    passed = failed = 0
    for case in all_cases.all_cases():
        if options.words and not any(word in case.text for word in options.words):
            continue
        random_numbers = random.Random(f"{options.seed} {case.text}")
        try:
            wrong = check(case, rows_of(case, options.values, random_numbers))
        except engine.Refused as refused:
            wrong = [str(refused)]
        if wrong:
            failed += 1
            print(f"{case.text}:", *wrong, sep="\n    ")
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed")
    return failed or not passed


if __name__ == "__main__":
    sys.exit(bool(main()))
