# SPDX-License-Identifier: BSD-3-Clause
"""Instructions, and what they are to compute: a text with a place for each result and source, and a
function of bits. Written from the PTX ISA, not from the engine."""

import itertools
import math
import struct
from fractions import Fraction

import exact
from exact import FORMATS, INFINITY, NAN

MODES = ("rn", "rz", "rm", "rp")


class Case:
    def __init__(self, text, results, sources, expected, near=None, kinds=None):
        self.text, self.results, self.sources = text, results, sources
        self.expected, self.near = expected, near
        self.kinds = kinds or [None] * len(sources)  # a format, or a list of values

    def edges(self, i):
        kind, bits = self.kinds[i], self.sources[i]
        if isinstance(kind, (list, range)):
            return list(kind)
        if kind in FORMATS:
            return float_edges(FORMATS[kind])
        if kind == "pair16" or kind in ("f16x2", "bf16x2"):
            return [
                0,
                1,
                0x7FFF7FFF,
                0x80008000,
                0xFFFFFFFF,
                0x7C007C01,
                0x3C00BC00,
                0x00010400,
                0x7F80FF80,
                0x80000000,
                0xFBFF7BFF,
                0x04008400,
            ]
        if bits == 1:
            return [0, 1]
        top = 1 << (bits - 1)
        return [
            0,
            1,
            2,
            3,
            5,
            31,
            32,
            33,
            top - 1,
            top,
            top + 1,
            2 * top - 1,
            2 * top - 2,
            0x55555555 & (2 * top - 1),
            0xFF,
        ]

    def random(self, i, numbers):
        kind, bits = self.kinds[i], self.sources[i]
        if isinstance(kind, (list, range)):
            return numbers.choice(kind)
        value = numbers.getrandbits(bits)
        if kind in FORMATS and numbers.random() < 0.6:
            # Of like size, so that sums cancel and products stay in range.
            form = FORMATS[kind]
            exponent = form.bias + numbers.randint(-12, 12)
            value = value & ~(form.infinity) | exponent << form.fraction
        elif kind is None and bits > 1:
            value >>= numbers.randrange(bits)
        return value


def float_edges(form):
    one = form.bias << form.fraction
    values = [
        0,
        1,
        (1 << form.fraction) - 1,
        1 << form.fraction,
        one,
        one + 1,
        one - 1,
        one + (1 << form.fraction),
        one + (1 << (form.fraction - 1)),
        form.infinity - 1,
        form.infinity,
        form.infinity + 1,
        form.nan & ~form.sign,
    ]
    return values + [value | form.sign for value in values]


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def of_type(name):
    """Whether it is signed, and its bits."""
    return name[0] == "s", int(name[1:])


def mask(bits):
    return (1 << bits) - 1


def integer(name, text, function, sources=2, result=None, shifts=(), extra=()):
    """An instruction of integers of one type: the function has them as Python's integers."""
    is_signed, bits = of_type(name)
    out = result or bits
    widths = [32 if i in shifts else bits for i in range(sources)] + list(extra)

    def expected(*values):
        numbers = [
            signed(value, bits) if is_signed and i < sources and i not in shifts else value
            for i, value in enumerate(values)
        ]
        return function(*numbers) & mask(out)

    operands = ", ".join(f"{{{i}}}" for i in range(1 + len(widths)))
    return Case(f"{text}.{name} {operands};", [out], widths, expected)


def truncated_div(a, b, bits):
    if b == 0:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def truncated_rem(a, b, bits):
    return a if b == 0 else a - b * truncated_div(a, b, bits)


INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")


def clamp(value, low, high):
    return min(max(value, low), high)


def integer_cases():
    for name in INTEGERS:
        is_signed, bits = of_type(name)
        yield integer(name, "add", lambda a, b: a + b)
        yield integer(name, "sub", lambda a, b: a - b)
        yield integer(name, "mul.lo", lambda a, b: a * b)
        yield integer(name, "mul.hi", lambda a, b, n=bits: a * b >> n)
        yield integer(name, "mad.lo", lambda a, b, c: a * b + c, 3)
        yield integer(name, "mad.hi", lambda a, b, c, n=bits: (a * b >> n) + c, 3)
        yield integer(name, "sad", lambda a, b, c: c + abs(a - b), 3)
        yield integer(name, "div", lambda a, b, n=bits: truncated_div(a, b, n))
        yield integer(name, "rem", lambda a, b, n=bits: truncated_rem(a, b, n))
        yield integer(name, "min", min)
        yield integer(name, "max", max)
        if is_signed:
            yield integer(name, "abs", abs, 1)
            yield integer(name, "neg", lambda a: -a, 1)
        if bits < 64:
            yield integer(name, "mul.wide", lambda a, b: a * b, 2, 2 * bits)
            wide = integer(
                name, "mad.wide", lambda a, b, c: a * b + c, 2, 2 * bits, extra=[2 * bits]
            )
            yield wide
    least, most = -(1 << 31), (1 << 31) - 1
    yield integer("s32", "add.sat", lambda a, b: clamp(a + b, least, most))
    yield integer("s32", "sub.sat", lambda a, b: clamp(a - b, least, most))
    yield integer("s32", "mad.hi.sat", lambda a, b, c: clamp((a * b >> 32) + c, least, most), 3)
    yield integer("s32", "min.relu", lambda a, b: max(0, min(a, b)))
    yield integer("s32", "max.relu", lambda a, b: max(0, a, b))
    for name in ("u32", "s32"):
        low = (lambda a: signed(a, 24)) if name == "s32" else (lambda a: a & 0xFFFFFF)
        yield integer(name, "mul24.lo", lambda a, b, f=low: f(a) * f(b))
        yield integer(name, "mul24.hi", lambda a, b, f=low: f(a) * f(b) >> 16)
        yield integer(name, "mad24.lo", lambda a, b, c, f=low: f(a) * f(b) + c, 3)
        yield integer(name, "mad24.hi", lambda a, b, c, f=low: (f(a) * f(b) >> 16) + c, 3)
    yield integer(
        "s32",
        "mad24.hi.sat",
        lambda a, b, c: clamp((signed(a, 24) * signed(b, 24) >> 16) + c, least, most),
        3,
    )
    for name in ("u16x2", "s16x2"):
        yield from pair_cases(name)
    yield from carry_cases()
    yield from dot_cases()


def pair_cases(name):
    def both(function):
        def expected(a, b):
            out = 0
            for shift in (0, 16):
                x, y = a >> shift & 0xFFFF, b >> shift & 0xFFFF
                if name == "s16x2":
                    x, y = signed(x, 16), signed(y, 16)
                out |= (function(x, y) & 0xFFFF) << shift
            return out

        return expected

    for text, function in (("add", lambda a, b: a + b), ("min", min), ("max", max)):
        yield Case(
            f"{text}.{name} {{0}}, {{1}}, {{2}};",
            [32],
            [32, 32],
            both(function),
            kinds=["pair16"] * 2,
        )
    if name == "s16x2":
        yield Case(
            "min.relu.s16x2 {0}, {1}, {2};",
            [32],
            [32, 32],
            both(lambda a, b: max(0, min(a, b))),
            kinds=["pair16"] * 2,
        )


def carry_cases():
    for bits in (32, 64):
        for name in (f"u{bits}", f"s{bits}"):

            def add_twice(a, b, c, d, n=bits):
                low = a + b
                return low & mask(n), (c + d + (low >> n)) & mask(n)

            def sub_twice(a, b, c, d, n=bits):
                low = a - b
                return low & mask(n), (c - d - (low < 0)) & mask(n)

            yield Case(
                f"add.cc.{name} {{0}}, {{2}}, {{3}};\naddc.{name} {{1}}, {{4}}, {{5}};",
                [bits] * 2,
                [bits] * 4,
                add_twice,
            )
            yield Case(
                f"sub.cc.{name} {{0}}, {{2}}, {{3}};\nsubc.{name} {{1}}, {{4}}, {{5}};",
                [bits] * 2,
                [bits] * 4,
                sub_twice,
            )

            def multiply(a, b, c, d, n=bits, is_signed=name[0] == "s"):
                low = (a * b & mask(n)) + c
                x, y = (signed(a, n), signed(b, n)) if is_signed else (a, b)
                return low & mask(n), ((x * y >> n) + d + (low >> n)) & mask(n)

            yield Case(
                f"mad.lo.cc.{name} {{0}}, {{2}}, {{3}}, {{4}};\n"
                f"madc.hi.{name} {{1}}, {{2}}, {{3}}, {{5}};",
                [bits] * 2,
                [bits] * 4,
                multiply,
            )

            def three(a, b, c, n=bits):
                low = a + b
                middle = b + c + (low >> n)
                return low & mask(n), middle & mask(n), (c + c + (middle >> n)) & mask(n)

            yield Case(
                f"add.cc.{name} {{0}}, {{3}}, {{4}};\naddc.cc.{name} {{1}}, {{4}}, {{5}};\n"
                f"addc.{name} {{2}}, {{5}}, {{5}};",
                [bits] * 3,
                [bits] * 3,
                three,
            )


def dot_cases():
    for a_type in ("u32", "s32"):
        for b_type in ("u32", "s32"):

            def dot4(a, b, c, x=a_type, y=b_type):
                for i in range(4):
                    p, q = a >> 8 * i & 0xFF, b >> 8 * i & 0xFF
                    c += (signed(p, 8) if x == "s32" else p) * (signed(q, 8) if y == "s32" else q)
                return c & mask(32)

            yield Case(f"dp4a.{a_type}.{b_type} {{0}}, {{1}}, {{2}}, {{3}};", [32], [32] * 3, dot4)
            for half in ("lo", "hi"):

                def dot2(a, b, c, x=a_type, y=b_type, h=half):
                    for i in range(2):
                        p = a >> 16 * i & 0xFFFF
                        q = b >> (8 * i + (16 if h == "hi" else 0)) & 0xFF
                        c += (signed(p, 16) if x == "s32" else p) * (
                            signed(q, 8) if y == "s32" else q
                        )
                    return c & mask(32)

                yield Case(
                    f"dp2a.{half}.{a_type}.{b_type} {{0}}, {{1}}, {{2}}, {{3}};",
                    [32],
                    [32] * 3,
                    dot2,
                )


def video_cases():
    functions = {
        "vadd": lambda a, b: a + b,
        "vsub": lambda a, b: a - b,
        "vavrg": lambda a, b: (a + b + (a + b >= 0)) >> 1,
        "vabsdiff": lambda a, b: abs(a - b),
        "vmin": min,
        "vmax": max,
    }
    for name, parts, types, sat, total in itertools.product(
        functions, (2, 4), ("sss", "uuu", "sus", "uss"), ("", ".sat"), ("", ".add")
    ):
        bits = 32 // parts

        def expected(a, b, c, f=functions[name], t=types, n=bits, s=sat, add=total):
            out, results = 0, []
            for i in range(32 // n):
                x, y = (v >> n * i & mask(n) for v in (a, b))
                x, y = (signed(v, n) if k == "s" else v for v, k in zip((x, y), t[1:], strict=True))
                value = f(x, y)
                if s:
                    low, high = (-(1 << n - 1), mask(n - 1)) if t[0] == "s" else (0, mask(n))
                    value = clamp(value, low, high)
                value &= mask(n)
                out |= value << n * i
                results.append(signed(value, n) if t[0] == "s" else value)
            return (c + sum(results)) & mask(32) if add else out

        dotted = "".join(f".{each}32" for each in types)
        yield Case(
            f"{name}{parts}{dotted}{sat}{total} {{0}}, {{1}}, {{2}}, {{3}};",
            [32],
            [32] * 3,
            expected,
            kinds=["pair16", "pair16", None],
        )


def bit_cases():
    for bits in (16, 32, 64):
        full = mask(bits)
        two, one = "{0}, {1}, {2};", "{0}, {1};"
        yield Case(f"and.b{bits} {two}", [bits], [bits] * 2, lambda a, b: a & b)
        yield Case(f"or.b{bits} {two}", [bits], [bits] * 2, lambda a, b: a | b)
        yield Case(f"xor.b{bits} {two}", [bits], [bits] * 2, lambda a, b: a ^ b)
        yield Case(f"not.b{bits} {one}", [bits], [bits], lambda a, m=full: a ^ m)
        yield Case(f"cnot.b{bits} {one}", [bits], [bits], lambda a: int(a == 0))
        amounts = [0, 1, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 0xFFFFFFFF]
        yield Case(
            f"shl.b{bits} {two}",
            [bits],
            [bits, 32],
            lambda a, b, m=full, n=bits: a << b & m if b < n else 0,
            kinds=[None, amounts],
        )
        for name in (f"b{bits}", f"u{bits}"):
            yield Case(
                f"shr.{name} {two}",
                [bits],
                [bits, 32],
                lambda a, b: a >> min(b, 64),
                kinds=[None, amounts],
            )
        yield Case(
            f"shr.s{bits} {two}",
            [bits],
            [bits, 32],
            lambda a, b, m=full, n=bits: signed(a, n) >> min(b, 64) & m,
            kinds=[None, amounts],
        )
        yield Case(
            f"selp.b{bits} {{0}}, {{1}}, {{2}}, {{3}};",
            [bits],
            [bits, bits, 1],
            lambda a, b, c: a if c else b,
        )
        yield Case(
            f"slct.b{bits}.s32 {{0}}, {{1}}, {{2}}, {{3}};",
            [bits],
            [bits, bits, 32],
            lambda a, b, c: b if c >> 31 else a,
        )
        yield Case(
            f"slct.b{bits}.f32 {{0}}, {{1}}, {{2}}, {{3}};",
            [bits],
            [bits, bits, 32],
            lambda a, b, c: a if _compare("ge", "f32", c, 0) else b,
            kinds=[None, None, "f32"],
        )
        yield Case(f"mov.b{bits} {one}", [bits], [bits], lambda a: a)
    for bits in (32, 64):
        yield Case(f"popc.b{bits} {{0}}, {{1}};", [32], [bits], lambda a: bin(a).count("1"))
        yield Case(f"clz.b{bits} {{0}}, {{1}};", [32], [bits], lambda a, n=bits: n - a.bit_length())
        yield Case(
            f"brev.b{bits} {{0}}, {{1}};",
            [bits],
            [bits],
            lambda a, n=bits: int(f"{a:0{n}b}"[::-1], 2),
        )
        for name in (f"u{bits}", f"s{bits}"):

            def find(a, amount, n=bits, is_signed=name[0] == "s"):
                if is_signed and a >> (n - 1):
                    a ^= mask(n)
                if a == 0:
                    return mask(32)
                return n - a.bit_length() if amount else a.bit_length() - 1

            yield Case(f"bfind.{name} {{0}}, {{1}};", [32], [bits], lambda a, f=find: f(a, False))
            yield Case(
                f"bfind.shiftamt.{name} {{0}}, {{1}};", [32], [bits], lambda a, f=find: f(a, True)
            )

            def extract(a, b, c, n=bits, is_signed=name[0] == "s"):
                position, length = b & 255, c & 255
                if not is_signed or length == 0:
                    sign = 0
                else:
                    sign = a >> min(position + length - 1, n - 1) & 1
                out = 0
                for i in range(n):
                    inside = i < length and position + i < n
                    out |= (a >> (position + i) & 1 if inside else sign) << i
                return out

            places = [0, 1, 4, 16, 31, 32, 33, 63, 64, 100, 255, 256, 257]
            yield Case(
                f"bfe.{name} {{0}}, {{1}}, {{2}}, {{3}};",
                [bits],
                [bits, 32, 32],
                extract,
                kinds=[None, places, places],
            )

        def insert(a, b, c, d, n=bits):
            position, length = c & 255, d & 255
            for i in range(length):
                if position + i < n:
                    b = b & ~(1 << (position + i)) | (a >> i & 1) << (position + i)
            return b

        yield Case(
            f"bfi.b{bits} {{0}}, {{1}}, {{2}}, {{3}}, {{4}};",
            [bits],
            [bits, bits, 32, 32],
            insert,
            kinds=[None, None, places, places],
        )
    yield from more_bit_cases()


def more_bit_cases():
    amounts = [0, 1, 5, 31, 32, 33, 64, 0xFFFFFFFF]
    for side in "lr":
        for how in ("wrap", "clamp"):

            def funnel(a, b, c, left=side == "l", wrap=how == "wrap"):
                n = c & 31 if wrap else min(c, 32)
                both = b << 32 | a
                return (both << n >> 32 if left else both >> n) & mask(32)

            yield Case(
                f"shf.{side}.{how}.b32 {{0}}, {{1}}, {{2}}, {{3}};",
                [32],
                [32] * 3,
                funnel,
                kinds=[None, None, amounts],
            )
    for how in ("wrap", "clamp"):

        def make(a, b, wrap=how == "wrap"):
            a, b = (a & 31, b & 31) if wrap else (min(a, 32), min(b, 32))
            return mask(b) << a & mask(32)

        yield Case(
            f"bmsk.{how}.b32 {{0}}, {{1}}, {{2}};", [32], [32] * 2, make, kinds=[amounts, amounts]
        )
        for name in ("u32", "s32"):

            def extend(a, b, wrap=how == "wrap", is_signed=name == "s32"):
                b = b & 31 if wrap else min(b, 32)
                low = a & mask(b)
                if is_signed and b and low >> (b - 1):
                    low -= 1 << b
                return low & mask(32)

            yield Case(
                f"szext.{how}.{name} {{0}}, {{1}}, {{2}};",
                [32],
                [32] * 2,
                extend,
                kinds=[None, amounts],
            )

    def nth(value, base, offset):
        offset = signed(offset, 32)
        if offset == 0:
            return base if value >> base & 1 else mask(32)
        places = range(base, 32) if offset > 0 else range(base, -1, -1)
        found = [i for i in places if value >> i & 1]
        return found[abs(offset) - 1] if len(found) >= abs(offset) else mask(32)

    yield Case(
        "fns.b32 {0}, {1}, {2}, {3};",
        [32],
        [32] * 3,
        nth,
        kinds=[None, range(32), [0, 1, 2, 5, 31, 33, mask(32), mask(32) - 1, 1 << 31]],
    )
    for table in (0x00, 0x1A, 0x80, 0x96, 0xCA, 0xE8, 0xFE, 0xFF, 0x55):

        def look_up(a, b, c, t=table):
            return sum(
                (t >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i
                for i in range(32)
            )

        yield Case(f"lop3.b32 {{0}}, {{1}}, {{2}}, {{3}}, {table};", [32], [32] * 3, look_up)

    def permute(a, b, c, mode):
        both = [a >> 8 * i & 255 for i in range(4)] + [b >> 8 * i & 255 for i in range(4)]
        n = c & 3
        selection = {
            "": [c >> 4 * i & 15 for i in range(4)],
            ".f4e": [n, n + 1, n + 2, n + 3],
            ".b4e": [n, (n - 1) % 8, (n - 2) % 8, (n - 3) % 8],
            ".rc8": [n] * 4,
            ".ecl": [max(n, i) for i in range(4)],
            ".ecr": [min(n, i) for i in range(4)],
            ".rc16": [0, 1, 0, 1] if n in (0, 2) else [2, 3, 2, 3],
        }[mode]
        out = 0
        for i, select in enumerate(selection):
            byte = both[select & 7]
            if mode == "" and select & 8:
                byte = 255 if byte & 128 else 0
            out |= byte << 8 * i
        return out

    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        yield Case(
            f"prmt.b32{mode} {{0}}, {{1}}, {{2}}, {{3}};",
            [32],
            [32] * 3,
            lambda a, b, c, m=mode: permute(a, b, c, m),
        )
    yield Case("mov.b32 {0}, {{{1}, {2}}};", [32], [16] * 2, lambda a, b: b << 16 | a)
    yield Case("mov.b64 {0}, {{{1}, {2}}};", [64], [32] * 2, lambda a, b: b << 32 | a)
    yield Case(
        "mov.b64 {0}, {{{1}, {2}, {3}, {4}}};",
        [64],
        [16] * 4,
        lambda a, b, c, d: d << 48 | c << 32 | b << 16 | a,
    )
    yield Case("mov.b32 {{{0}, {1}}}, {2};", [16] * 2, [32], lambda a: (a & 0xFFFF, a >> 16))
    yield Case("mov.b64 {{{0}, {1}}}, {2};", [32] * 2, [64], lambda a: (a & mask(32), a >> 32))
    yield Case("mov.b64 {{{0}, _}}, {1};", [32], [64], lambda a: a & mask(32))
    for op, function in (
        ("and", lambda a, b: a & b),
        ("or", lambda a, b: a | b),
        ("xor", lambda a, b: a ^ b),
    ):
        yield Case(f"{op}.pred {{0}}, {{1}}, {{2}};", [1], [1, 1], function)
    yield Case("not.pred {0}, {1};", [1], [1], lambda a: 1 - a)
    yield Case("mov.pred {0}, {1};", [1], [1], lambda a: a)


def _compare(how, name, a, b):
    if name in FORMATS:
        form = FORMATS[name]
        (an, av), (bn, bv) = form.parts(a), form.parts(b)
        if NAN in (av, bv):
            return how in ("equ", "neu", "ltu", "leu", "gtu", "geu", "nan")
        order = [
            (-1 if n else 1) * 10**400 if v == INFINITY else v for n, v in ((an, av), (bn, bv))
        ]
        x, y = order
        if how == "num":
            return True
        if how == "nan":
            return False
        how = how[:2]
    else:
        is_signed, bits = of_type(name.replace("b", "u"))
        x, y = (signed(a, bits), signed(b, bits)) if is_signed else (a, b)
        how = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(how, how)
    return {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[how]


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
                lambda a, b, h=how, n=name: int(_compare(h, n, a, b)),
                kinds=kinds,
            )
        how = hows[-1]
        for op in ("and", "or", "xor"):

            def combined(a, b, c, h=how, n=name, o=op):
                t = int(_compare(h, n, a, b))
                f = {"and": lambda x: x & c, "or": lambda x: x | c, "xor": lambda x: x ^ c}[o]
                return f(t), f(1 - t)

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
            yield Case(
                f"set.{hows[-1]}.{to}.{name} {{0}}, {{1}}, {{2}};",
                [32],
                [bits] * 2,
                lambda a, b, y=yes, n=name, h=hows[-1]: y if _compare(h, n, a, b) else 0,
                kinds=kinds,
            )
    for how in ORDERED + UNORDERED:
        yield Case(
            f"setp.{how}.ftz.f32 {{0}}, {{1}}, {{2}};",
            [1],
            [32] * 2,
            lambda a, b, h=how: int(_compare(h, "f32", exact.F32.flush(a), exact.F32.flush(b))),
            kinds=["f32"] * 2,
        )
    for name in ("f16", "bf16"):

        def halves(a, b, n=name):
            return tuple(int(_compare("lt", n, a >> s & 0xFFFF, b >> s & 0xFFFF)) for s in (0, 16))

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
                    "normal": number and value not in (INFINITY, 0) and not subnormal,
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
            )


def saturate(form, bits):
    if form.is_nan(bits) or bits & form.sign:
        return 0
    one = form.bias << form.fraction
    return min(bits, one)


def _nan_fits(form):
    """f64's NaN keeps payloads: any NaN will do where one is expected."""

    def near(value, *_):
        return form is exact.F64 and form.is_nan(value)

    return near


def float_case(form, op, function, sources, modifiers, mode="rn"):
    ftz, sat = ".ftz" in modifiers, ".sat" in modifiers

    def expected(*values):
        if ftz:
            values = [form.flush(value) for value in values]
        out = function(form, *values, mode)
        if sat:
            out = saturate(form, out)
        elif form.is_nan(out):
            out = form.nan
        return form.flush(out) if ftz else out

    def near(value, *values):
        return form is exact.F64 and form.is_nan(value) and form.is_nan(expected(*values))

    operands = ", ".join(f"{{{i}}}" for i in range(1 + sources))
    return Case(
        f"{op}{modifiers}.{form.name} {operands};",
        [form.bits],
        [form.bits] * sources,
        expected,
        near=near,
        kinds=[form.name] * sources,
    )


def reciprocal(form, a, mode):
    return exact.div(form, form.bias << form.fraction, a, mode)


def float_cases():
    f32, f64 = exact.F32, exact.F64
    operations = (
        ("add", exact.add, 2),
        ("sub", exact.sub, 2),
        ("mul", exact.mul, 2),
        ("fma", exact.fma, 3),
    )
    for op, function, sources in operations:
        for mode in MODES:
            for ftz in ("", ".ftz"):
                for sat in ("", ".sat"):
                    yield float_case(f32, op, function, sources, f".{mode}{ftz}{sat}", mode)
            yield float_case(f64, op, function, sources, f".{mode}", mode)
        if op != "fma":
            yield float_case(f32, op, function, sources, "")
            yield float_case(f64, op, function, sources, "")
    for op, function, sources in (
        ("div", exact.div, 2),
        ("rcp", reciprocal, 1),
        ("sqrt", exact.sqrt, 1),
    ):
        for mode in MODES:
            yield float_case(f32, op, function, sources, f".{mode}", mode)
            yield float_case(f32, op, function, sources, f".{mode}.ftz", mode)
            yield float_case(f64, op, function, sources, f".{mode}", mode)
    yield from extreme_cases()
    for form in (f32, f64):
        n, sign = form.name, form.sign
        yield Case(
            f"abs.{n} {{0}}, {{1}};", [form.bits], [form.bits], lambda a, s=sign: a & ~s, kinds=[n]
        )
        yield Case(
            f"neg.{n} {{0}}, {{1}};", [form.bits], [form.bits], lambda a, s=sign: a ^ s, kinds=[n]
        )
        yield Case(
            f"copysign.{n} {{0}}, {{1}}, {{2}};",
            [form.bits],
            [form.bits] * 2,
            lambda a, b, s=sign: a & s | b & ~s,
            kinds=[n] * 2,
        )
    yield Case(
        "abs.ftz.f32 {0}, {1};", [32], [32], lambda a: f32.flush(a & ~f32.sign), kinds=["f32"]
    )
    yield Case(
        "neg.ftz.f32 {0}, {1};", [32], [32], lambda a: f32.flush(a ^ f32.sign), kinds=["f32"]
    )


def extreme(form, a, b, least, nan=False, xorsign=False):
    sign = 0
    if xorsign:
        sign = (a ^ b) & form.sign
        a, b = a & ~form.sign, b & ~form.sign
    if form.is_nan(a) or form.is_nan(b):
        if nan or (form.is_nan(a) and form.is_nan(b)):
            return form.nan
        return (b if form.is_nan(a) else a) | sign

    def order(bits):
        return -(bits & ~form.sign) - 1 if bits & form.sign else bits

    chosen = min(a, b, key=order) if least else max(a, b, key=order)
    return chosen | sign


def extreme_cases():
    for op in ("min", "max"):
        for form in (exact.F32, exact.F64):
            for ftz in ("", ".ftz") if form is exact.F32 else ("",):
                for nan in ("", ".NaN") if form is exact.F32 else ("",):
                    for xorsign in ("", ".xorsign.abs") if form is exact.F32 else ("",):

                        def expected(a, b, f=form, o=op, z=ftz, n=nan, x=xorsign):
                            if z:
                                a, b = f.flush(a), f.flush(b)
                            return extreme(f, a, b, o == "min", bool(n), bool(x))

                        def near(value, a, b, f=form, x=xorsign):
                            both = f.is_nan(a) and f.is_nan(b)
                            return f.is_nan(value) and (
                                both or (bool(x) and (f.is_nan(a) or f.is_nan(b)))
                            )

                        yield Case(
                            f"{op}{ftz}{nan}{xorsign}.{form.name} {{0}}, {{1}}, {{2}};",
                            [form.bits],
                            [form.bits] * 2,
                            expected,
                            near=near,
                            kinds=[form.name] * 2,
                        )


def half_cases():
    for form in (exact.F16, exact.BF16):
        operations = [
            ("add", exact.add, 2),
            ("sub", exact.sub, 2),
            ("mul", exact.mul, 2),
            ("fma.rn", exact.fma, 3),
        ]
        for op, function, sources in operations:
            suffixes = [""]
            if form is exact.F16:
                suffixes += [".ftz", ".sat", ".ftz.sat"]
            if op == "fma.rn":
                suffixes.append(".relu")
            for suffix in suffixes:

                def expected(*values, f=form, g=function, s=suffix):
                    if ".ftz" in s:
                        values = [f.flush(value) for value in values]
                    out = g(f, *values, "rn")
                    if ".sat" in s:
                        out = saturate(f, out)
                    elif ".relu" in s and not f.is_nan(out) and out & f.sign:
                        out = 0
                    return f.flush(out) if ".ftz" in s else out

                yield from single_and_pair(form, op + suffix, sources, expected)
        for op in ("min", "max"):
            for nan in ("", ".NaN"):
                yield from single_and_pair(
                    form,
                    op + nan,
                    2,
                    lambda a, b, f=form, o=op, n=nan: extreme(f, a, b, o == "min", bool(n)),
                )
        yield from single_and_pair(form, "neg", 1, lambda a, f=form: a ^ f.sign)
        yield from single_and_pair(form, "abs", 1, lambda a, f=form: a & ~f.sign)


def single_and_pair(form, op, sources, expected):
    operands = ", ".join(f"{{{i}}}" for i in range(1 + sources))
    yield Case(
        f"{op}.{form.name} {operands};", [16], [16] * sources, expected, kinds=[form.name] * sources
    )

    def pair(*values):
        low = expected(*(value & 0xFFFF for value in values))
        return low | expected(*(value >> 16 for value in values)) << 16

    yield Case(
        f"{op}.{form.name}x2 {operands};",
        [32],
        [32] * sources,
        pair,
        kinds=[form.name + "x2"] * sources,
    )


def convert_cases():
    everything = ("u8", "s8", *INTEGERS)
    for to in everything:
        for source in everything:
            for sat in ("", ".sat"):
                yield convert_integers(to, source, sat)
    for form in FORMATS.values():
        for name in everything:
            yield from convert_from_integer(form, name)
            yield from convert_to_integer(form, name)
    for to in FORMATS.values():
        for source in FORMATS.values():
            yield from convert_floats(to, source)
    yield from packed_convert_cases()


def register_bits(name):
    return max(16, of_type(name)[1])


def convert_integers(to, source, sat):
    to_signed, to_bits = of_type(to)
    from_signed, from_bits = of_type(source)
    out = register_bits(to)

    def expected(a):
        value = signed(a, from_bits) if from_signed else a & mask(from_bits)
        if sat:
            low, high = (
                (-(1 << to_bits - 1), (1 << to_bits - 1) - 1) if to_signed else (0, mask(to_bits))
            )
            value = clamp(value, low, high)
        value = signed(value, to_bits) if to_signed else value & mask(to_bits)
        return value & mask(out)

    return Case(f"cvt{sat}.{to}.{source} {{0}}, {{1}};", [out], [register_bits(source)], expected)


def convert_from_integer(form, name):
    is_signed, bits = of_type(name)
    for mode in MODES:

        def expected(a, m=mode):
            value = signed(a, bits) if is_signed else a & mask(bits)
            return form.round(Fraction(value), m)

        yield Case(
            f"cvt.{mode}.{form.name}.{name} {{0}}, {{1}};",
            [form.bits],
            [register_bits(name)],
            expected,
        )


def convert_to_integer(form, name):
    is_signed, bits = of_type(name)
    out = register_bits(name)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, mask(bits))
    for mode in ("rni", "rzi", "rmi", "rpi"):
        for ftz in ("", ".ftz") if form is exact.F32 else ("",):

            def expected(a, m=mode, z=ftz):
                negative, value = form.parts(form.flush(a) if z else a)
                if value == NAN:
                    result = 0 if form is not exact.F64 and bits < 64 else 1 << (bits - 1)
                    result = signed(result, bits) if is_signed else result
                elif value == INFINITY:
                    result = low if negative else high
                else:
                    result = clamp(exact.integral(value, m), low, high)
                return result & mask(out)

            yield Case(
                f"cvt.{mode}{ftz}.{name}.{form.name} {{0}}, {{1}};",
                [out],
                [form.bits],
                expected,
                kinds=[form.name],
            )


def convert_value(to, source, bits, mode):
    negative, value = source.parts(bits)
    if value == NAN:
        return to.nan
    if value == INFINITY:
        return to.infinity | (to.sign if negative else 0)
    return to.round(value, mode, negative)


def convert_floats(to, source):
    narrows = to.bits < source.bits or (to.bits == source.bits and to is not source)
    if to is source:
        for mode in ("rni", "rzi", "rmi", "rpi"):

            def rounded(a, m=mode, f=to):
                negative, value = f.parts(a)
                if value in (NAN, INFINITY):
                    return f.nan if value == NAN else a
                return f.round(Fraction(exact.integral(value, m)), "rn", negative)

            def near(value, a, f=to):
                return f.is_nan(value) and f.is_nan(a)

            yield Case(
                f"cvt.{mode}.{to.name}.{to.name} {{0}}, {{1}};",
                [to.bits],
                [to.bits],
                rounded,
                near=near,
                kinds=[to.name],
            )
        if to in (exact.F32, exact.F64):
            yield Case(
                f"cvt.sat.{to.name}.{to.name} {{0}}, {{1}};",
                [to.bits],
                [to.bits],
                lambda a, f=to: saturate(f, a),
                kinds=[to.name],
            )
        return
    for mode in MODES if narrows else ("",):
        if narrows and to.bits == source.bits:
            continue  # f16 and bf16 to each other

        def expected(a, m=mode or "rn"):
            return convert_value(to, source, a, m)

        def near(value, a):
            return to.is_nan(value) and source.is_nan(a)

        dotted = f".{mode}" if mode else ""
        yield Case(
            f"cvt{dotted}.{to.name}.{source.name} {{0}}, {{1}};",
            [to.bits],
            [source.bits],
            expected,
            near=near,
            kinds=[source.name],
        )
        if (to is exact.F32 and source is exact.F64) or (to is exact.F64 and source is exact.F32):

            def flushed(a, m=mode or "rn"):
                a = source.flush(a) if source is exact.F32 else a
                out = convert_value(to, source, a, m)
                return to.flush(out) if to is exact.F32 else out

            yield Case(
                f"cvt{dotted}.ftz.{to.name}.{source.name} {{0}}, {{1}};",
                [to.bits],
                [source.bits],
                flushed,
                near=near,
                kinds=[source.name],
            )


def packed_convert_cases():
    for form in (exact.F16, exact.BF16):
        for mode in ("rn", "rz"):
            for relu in ("", ".relu"):

                def one(a, f=form, m=mode, r=relu):
                    out = convert_value(f, exact.F32, a, m)
                    return 0 if r and not f.is_nan(out) and out & f.sign else out

                yield Case(
                    f"cvt.{mode}{relu}.{form.name}x2.f32 {{0}}, {{1}}, {{2}};",
                    [32],
                    [32] * 2,
                    lambda a, b, g=one: g(a) << 16 | g(b),
                    kinds=["f32"] * 2,
                )
    tf32 = exact.Format("tf32", 8, 10, 0x3FFFF)

    def to_tf32(a, mode):
        _, value = exact.F32.parts(a)
        if value == NAN:
            return exact.F32.nan
        if value == INFINITY:
            return a
        return tf32.round(value, mode, bool(a >> 31)) << 13

    for mode in ("rn", "rz", "rna"):
        yield Case(
            f"cvt.{mode}.tf32.f32 {{0}}, {{1}};",
            [32],
            [32],
            lambda a, m=mode: to_tf32(a, m),
            kinds=["f32"],
        )
    for name in ("u16", "s16", "u8", "s8"):
        is_signed, bits = of_type(name)
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, mask(bits))

        def pack(a, b, c=0, n=bits, lo=low, hi=high):
            x, y = (clamp(signed(v, 32), lo, hi) & mask(n) for v in (a, b))
            return (c << 2 * n | x << n | y) & mask(32)

        if bits == 16:
            yield Case(f"cvt.pack.sat.{name}.s32 {{0}}, {{1}}, {{2}};", [32], [32] * 2, pack)
        else:
            yield Case(
                f"cvt.pack.sat.{name}.s32.b32 {{0}}, {{1}}, {{2}}, {{3}};", [32], [32] * 3, pack
            )


def approximate(name, function, form, relative, absolute=0.0, ftz=False, domain=None):
    """A function that may be off by so much; what it must be at NaN, and beyond its domain."""
    code = {16: "e", 32: "f", 64: "d"}[form.bits]

    def value_of(bits):
        if form is exact.BF16:
            return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
        return struct.unpack("<" + code, bits.to_bytes(form.bits // 8, "little"))[0]

    def near(got, a):
        x = value_of(form.flush(a) if ftz else a)
        y = value_of(got)
        if domain and not math.isnan(x) and not domain(x):
            return True
        try:
            wanted = function(x)
        except (ValueError, OverflowError, ZeroDivisionError):
            wanted = None
        if math.isnan(x) or wanted is None or math.isnan(wanted):
            return math.isnan(y) or wanted is None
        if math.isinf(wanted) or math.isinf(y):
            return (
                wanted == y or abs(wanted) > 3.3e38 or (form is exact.F16 and abs(wanted) > 65000)
            )
        smallest = 2.0 ** (1 - form.bias)
        if abs(wanted) < smallest:  # subnormal, or flushed
            return abs(y) <= smallest
        return abs(y - wanted) <= relative * abs(wanted) + absolute

    return Case(
        f"{name}{'.ftz' if ftz else ''}.{form.name} {{0}}, {{1}};",
        [form.bits],
        [form.bits],
        lambda a: None,
        near=near,
        kinds=[form.name],
    )


def exp2(x):
    return math.inf if x > 2000 else 2.0**x if x > -2000 else 0.0


def log2(x):
    return -math.inf if x == 0 else math.log2(x)


def rsqrt(x):
    return math.copysign(math.inf, x) if x == 0 else 1 / math.sqrt(x)


def inverse(x):
    return math.copysign(math.inf, x) if x == 0 else 1 / x


def approximate_cases():
    f32 = exact.F32
    for ftz in (False, True):
        yield approximate("ex2.approx", exp2, f32, 2**-22, ftz=ftz)
        yield approximate("lg2.approx", log2, f32, 2**-22, 2**-22, ftz=ftz)
        yield approximate("rcp.approx", inverse, f32, 2**-23, ftz=ftz)
        yield approximate("rsqrt.approx", rsqrt, f32, 2**-22, ftz=ftz)
        yield approximate("sqrt.approx", math.sqrt, f32, 2**-22, ftz=ftz)

        def small(x):
            return abs(x) <= math.pi

        yield approximate("sin.approx", math.sin, f32, 0, 2**-20, ftz=ftz, domain=small)
        yield approximate("cos.approx", math.cos, f32, 0, 2**-20, ftz=ftz, domain=small)
    yield approximate("tanh.approx", math.tanh, f32, 2**-10)
    yield approximate("rcp.approx.ftz", inverse, exact.F64, 2**-19)
    yield approximate("rsqrt.approx.ftz", rsqrt, exact.F64, 2**-19)
    yield approximate("rsqrt.approx", rsqrt, exact.F64, 2**-50)
    yield approximate("ex2.approx", exp2, exact.F16, 2**-9)
    yield approximate("tanh.approx", math.tanh, exact.F16, 2**-9)
    yield approximate("ex2.approx.ftz", exp2, exact.BF16, 2**-6)
    yield approximate("tanh.approx", math.tanh, exact.BF16, 2**-6)
    for op in ("div.approx", "div.full"):

        def near(got, a, b):
            x, y = (struct.unpack("<f", struct.pack("<I", v))[0] for v in (a, b))
            z = struct.unpack("<f", struct.pack("<I", got))[0]
            if not (math.isfinite(x) and math.isfinite(y)) or not 2.0**-126 <= abs(y) <= 2.0**126:
                return True
            wanted = x / y
            if abs(wanted) > 3.4e38 or abs(wanted) < 2.0**-126:
                return True
            return abs(z - wanted) <= 2**-22 * abs(wanted)

        yield Case(
            f"{op}.f32 {{0}}, {{1}}, {{2}};",
            [32],
            [32] * 2,
            lambda a, b: None,
            near=near,
            kinds=["f32"] * 2,
        )


def all_cases():
    yield from integer_cases()
    yield from bit_cases()
    yield from video_cases()
    yield from compare_cases()
    yield from float_cases()
    yield from half_cases()
    yield from convert_cases()
    yield from approximate_cases()
