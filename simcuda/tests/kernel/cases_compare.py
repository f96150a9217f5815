# SPDX-License-Identifier: BSD-3-Clause
"""Cases of comparisons."""

import exact
from cases import INTEGERS, Case, compare, mask
from exact import FORMATS, INFINITY, NAN

ORDERED = ("eq", "ne", "lt", "le", "gt", "ge")
UNORDERED = ("equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")


def compare_cases():
    for name in (*INTEGERS, "b16", "b32", "b64", "f16", "bf16", "f32", "f64"):
        bits = int(name.lstrip("usbf"))
        kinds = [name if name in FORMATS else None] * 2
        if name[0] == "b" and name != "bf16":
            hows = ORDERED[:2]
        elif name in FORMATS:
            hows = ORDERED + UNORDERED
        elif name[0] == "u":
            hows = (*ORDERED, "lo", "ls", "hi", "hs")
        else:
            hows = ORDERED
        for how in hows:
            yield Case(
                f"setp.{how}.{name} {{0}}, {{1}}, {{2}};",
                [1],
                [bits] * 2,
                lambda a, b, h=how, n=name: int(compare(h, n, a, b)),
                kinds=kinds,
            )
        how = hows[-1]
        for op in ("and", "or", "xor"):

            def combined(a, b, c, h=how, n=name, o=op):
                t = int(compare(h, n, a, b))
                f = {"and": lambda x: x & c, "or": lambda x: x | c, "xor": lambda x: x ^ c}[o]
                return f(t), f(1 - t)

            if name not in ("f16", "bf16"):  # which have two results only as pairs
                yield Case(
                    f"setp.{how}.{op}.{name} {{0}}|{{1}}, {{2}}, {{3}}, {{4}};",
                    [1, 1],
                    [bits, bits, 1],
                    combined,
                    kinds=[*kinds, None],
                )
            yield Case(
                f"setp.{how}.{op}.{name} {{0}}, {{1}}, {{2}}, !{{3}};",
                [1],
                [bits, bits, 1],
                lambda a, b, c, g=combined: g(a, b, 1 - c)[0],
                kinds=[*kinds, None],
            )
        for to, yes in (("u32", mask(32)), ("s32", mask(32)), ("f32", 0x3F800000)):
            if to == "f32" and name in ("f16", "bf16"):
                continue
            # ptxas has it set as 16 bits, or as an integer, and converts that.
            converted = to == "f32" or bits == 16
            yield Case(
                f"set.{hows[-1]}.{to}.{name} {{0}}, {{1}}, {{2}};",
                [32],
                [bits] * 2,
                lambda a, b, y=yes, n=name, h=hows[-1]: y if compare(h, n, a, b) else 0,
                kinds=kinds,
                loses_guard=converted,
            )
    for how in ORDERED + UNORDERED:
        yield Case(
            f"setp.{how}.ftz.f32 {{0}}, {{1}}, {{2}};",
            [1],
            [32] * 2,
            lambda a, b, h=how: int(compare(h, "f32", exact.F32.flush(a), exact.F32.flush(b))),
            kinds=["f32"] * 2,
        )
    for name in ("f16", "bf16"):

        def halves(a, b, n=name):
            return tuple(int(compare("lt", n, a >> s & 0xFFFF, b >> s & 0xFFFF)) for s in (0, 16))

        yield Case(
            f"setp.lt.{name}x2 {{0}}|{{1}}, {{2}}, {{3}};",
            [1, 1],
            [32] * 2,
            halves,
            kinds=[name + "x2"] * 2,
        )
    for name in ("f32", "f64"):
        form = FORMATS[name]

        def belongs(a, what, f=form):
            _, value = f.parts(a)
            number = value != NAN
            subnormal = number and value != INFINITY and value != 0 and a & f.infinity == 0
            return int(
                {
                    "finite": number and value != INFINITY,
                    "infinite": value == INFINITY,
                    "number": number,
                    "notanumber": not number,
                    "normal": number and value != INFINITY and not subnormal,  # zero is
                    "subnormal": subnormal,
                }[what]
            )

        for what in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            yield Case(
                f"testp.{what}.{name} {{0}}, {{1}};",
                [1],
                [form.bits],
                lambda a, w=what, g=belongs: g(a, w),
                kinds=[name],
                loses_guard=True,
            )
