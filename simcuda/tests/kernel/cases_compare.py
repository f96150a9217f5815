# SPDX-License-Identifier: BSD-3-Clause
"""Cases of comparisons."""

import exact
from cases import INTEGERS, Case, compare, mask
from exact import FORMATS, INFINITY, NAN

ORDERED = ("eq", "ne", "lt", "le", "gt", "ge")
UNORDERED = ("equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")


ONE = {"u16": 0xFFFF, "s16": 0xFFFF, "u32": 0xFFFF, "s32": 0xFFFF, "f16": 0x3C00, "bf16": 0x3F80}


def half_cases():
    """Of f16 and bf16, one or two in a register."""
    for name, ftz in (("f16", ""), ("f16", ".ftz"), ("bf16", "")):

        def holds(how, a, b, n=name, z=ftz):
            if z:
                a, b = FORMATS[n].flush(a), FORMATS[n].flush(b)
            return int(compare(how, n, a, b))

        def halves(how, a, b, h=holds):
            return tuple(h(how, a >> n & 0xFFFF, b >> n & 0xFFFF) for n in (0, 16))

        yield Case(
            f"setp.leu{ftz}.{name} {{0}}, {{1}}, {{2}};",
            [1],
            [16] * 2,
            lambda a, b, h=holds: h("leu", a, b),
            kinds=[name] * 2,
        )
        yield Case(
            f"setp.lt{ftz}.{name}x2 {{0}}|{{1}}, {{2}}, {{3}};",
            [1, 1],
            [32] * 2,
            lambda a, b, h=halves: h("lt", a, b),
            kinds=[name + "x2"] * 2,
        )
        yield Case(
            f"setp.ge.and{ftz}.{name}x2 {{0}}|{{1}}, {{2}}, {{3}}, !{{4}};",
            [1, 1],
            [32, 32, 1],
            lambda a, b, c, h=halves: tuple(each & 1 - c for each in h("ge", a, b)),
            kinds=[name + "x2"] * 2 + [None],
        )
        for to in ("u16", "s16", name):
            yield Case(
                f"set.ge{ftz}.{to}.{name} {{0}}, {{1}}, {{2}};",
                [16],
                [16] * 2,
                lambda a, b, h=holds, t=to: h("ge", a, b) * ONE[t],
                kinds=[name] * 2,
                loses_guard=True,
            )
        for to in ("u32", "s32", name + "x2"):

            def set_halves(a, b, h=halves, t=to):
                low, high = h("ge", a, b)
                return (low | high << 16) * ONE[t.removesuffix("x2")]

            yield Case(
                f"set.ge{ftz}.{to}.{name}x2 {{0}}, {{1}}, {{2}};",
                [32],
                [32] * 2,
                set_halves,
                kinds=[name + "x2"] * 2,
                loses_guard=True,
            )


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
        written = [("u32", mask(32)), ("s32", mask(32))]
        if name not in ("f16", "bf16"):
            written.append(("f32", 0x3F800000))
        for to, yes in written:
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
    yield from half_cases()
    for how in ORDERED + UNORDERED:
        yield Case(
            f"setp.{how}.ftz.f32 {{0}}, {{1}}, {{2}};",
            [1],
            [32] * 2,
            lambda a, b, h=how: int(compare(h, "f32", exact.F32.flush(a), exact.F32.flush(b))),
            kinds=["f32"] * 2,
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
