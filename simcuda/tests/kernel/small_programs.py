# SPDX-License-Identifier: BSD-3-Clause
"""Small programs of PTX, each about one thing, and what is said of them."""

import sys

from engine import Buffer, Module, Refused

HEAD = ".version 8.5\n.target sm_90\n.address_size 64\n"
# No register is named as a special one: it would hide that.
REGISTERS = """.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<16>, %me, %block; .reg .b64 %q<16>;
.reg .f32 %f<8>; .reg .f64 %d<4>;
mov.u32 %me, %tid.x; mov.u32 %block, %ctaid.x;
"""


def program(body, pointers=1, before="", head=""):
    """A kernel k with this many pointers, in %q0 and up."""
    parameters = ", ".join(f".param .u64 p{i}" for i in range(pointers))
    loads = "\n".join(f"ld.param.u64 %q{i}, [p{i}];" for i in range(pointers))
    entry = f".visible .entry k({parameters}) {head}"
    return f"{HEAD}{before}\n{entry}\n{{\n{REGISTERS}{loads}\n{body}\nret;\n}}\n"


def run(body, *arguments, grid=1, block=32, before="", head="", **options):
    text = program(body, len(arguments), before, head)
    return Module(text).run("k", grid, block, *arguments, **options)


def zeros(count=256, **options):
    return Buffer(bytes(4 * count), **options)


def fault_of(outcome, kind):
    assert (outcome["fault"] or {}).get("kind") == kind, outcome["fault"]
    return outcome["fault"]


def clean(outcome):
    assert not outcome["fault"], outcome["fault"]["text"]
    assert not outcome["findings"], outcome["findings"][0]["text"]
    return outcome


def one_finding(outcome, kind):
    """Races are found from both sides, and what races may be read before it is written."""
    assert not outcome["fault"], outcome["fault"]["text"]
    also = {kind, "never_written"} if kind == "race" else {kind}
    found = [each for each in outcome["findings"] if each["kind"] == kind]
    assert found, outcome["findings"]
    assert {each["kind"] for each in outcome["findings"]} <= also, outcome["findings"]
    return found[0]


def refused_texts(texts, *words):
    try:
        Module(*texts)
    except Refused as refusal:
        why = str(refusal)
    else:
        raise AssertionError(f"'{texts}' is not refused")
    assert all(word in why for word in words), why


def refused_text(text, *words):
    refused_texts([text], *words)


def refused(body, *words):
    refused_text(program(body), *words)


MINE = "mad.wide.u32 %q5, %me, 4, %q0;\n"  # the thread's element


def main(tests):
    """Runs the tests of a module whose names contain one of the given words."""
    failed = 0
    tests = [(name, each) for name, each in tests.items() if name.startswith("test_")]
    chosen = [
        each for each in tests if not sys.argv[1:] or any(word in each[0] for word in sys.argv[1:])
    ]
    for name, test in chosen:
        try:
            test()
        except (AssertionError, Refused) as wrong:
            failed += 1
            line = wrong.__traceback__
            while (
                line.tb_next
                and line.tb_next.tb_frame.f_code.co_filename == test.__code__.co_filename
                and line.tb_next.tb_frame.f_code.co_name != "run"
            ):
                line = line.tb_next
            print(f"{name}, line {line.tb_lineno}: {wrong}")
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return failed or not chosen
