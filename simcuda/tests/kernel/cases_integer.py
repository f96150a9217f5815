# SPDX-License-Identifier: BSD-3-Clause
"""Cases of integers and of bits."""

import itertools

from cases import INTEGERS, Case, clamp, compare, mask, of_type, signed
from exact import F32


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
    return -1 if b == 0 else a - b * truncated_div(a, b, bits)


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

            def high_first(a, b, c, d, n=bits, is_signed=name[0] == "s"):
                x, y = (signed(a, n), signed(b, n)) if is_signed else (a, b)
                low = (x * y >> n & mask(n)) + c
                middle = (a * b & mask(n)) + d + (low >> n)
                high = (x * y >> n & mask(n)) + c + (middle >> n)
                last = a * b + (high >> n)
                return tuple(each & mask(n) for each in (low, middle, high, last))

            factors = "{4}, {5}"
            yield Case(
                f"mad.hi.cc.{name} {{0}}, {factors}, {{6}};\n"
                f"madc.lo.cc.{name} {{1}}, {factors}, {{7}};\n"
                f"madc.hi.cc.{name} {{2}}, {factors}, {{6}};\nmadc.lo.{name} {{3}}, {factors}, 0;",
                [bits] * 4,
                [bits] * 4,
                high_first,
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
    for name, parts, types, modifier in itertools.product(
        functions, (2, 4), ("sss", "uuu", "sus", "uss"), ("", ".sat", ".add")
    ):
        bits = 32 // parts

        def expected(a, b, c, f=functions[name], t=types, n=bits, m=modifier):
            out, total = 0, c
            for i in range(32 // n):
                x, y = (v >> n * i & mask(n) for v in (a, b))
                x, y = (signed(v, n) if k == "s" else v for v, k in zip((x, y), t[1:], strict=True))
                value = f(x, y)
                total += value  # as it is, though the result may not have room for it
                if m == ".sat":
                    low, high = (-(1 << n - 1), mask(n - 1)) if t[0] == "s" else (0, mask(n))
                    value = clamp(value, low, high)
                out |= (value & mask(n)) << n * i
            return total & mask(32) if m == ".add" else out

        dotted = "".join(f".{each}32" for each in types)
        yield Case(
            f"{name}{parts}{dotted}{modifier} {{0}}, {{1}}, {{2}}, {{3}};",
            [32],
            [32] * 3,
            expected,
            kinds=["pair16", "pair16", None],
            loses_guard=name in ("vadd", "vsub") and (parts, types, modifier) == (4, "uuu", ".add"),
        )


def predicate_cases():
    for op, function in (
        ("and", lambda a, b: a & b),
        ("or", lambda a, b: a | b),
        ("xor", lambda a, b: a ^ b),
    ):
        for x, y in ((0, 0), (0, 1), (1, 0), (1, 1)):
            signs = ["!" * x, "!" * y]
            yield Case(
                f"{op}.pred {{0}}, {signs[0]}{{1}}, {signs[1]}{{2}};",
                [1],
                [1, 1],
                lambda a, b, f=function, x=x, y=y: f(a ^ x, b ^ y),
            )
    for op, result in (("not", 1), ("mov", 0)):
        yield Case(f"{op}.pred {{0}}, {{1}};", [1], [1], lambda a, r=result: a ^ r)
        yield Case(f"{op}.pred {{0}}, !{{1}};", [1], [1], lambda a, r=result: a ^ r ^ 1)


# How many bits are moved, and how many each part has.
PARTS = ((16, 8), (32, 16), (32, 8), (64, 32), (64, 16))


def vector(names):
    return "{{" + ", ".join(names) + "}}"


def places(first, count):
    return [f"{{{first + n}}}" for n in range(count)]


def vector_cases():
    """mov to a vector, and from one. Parts of 8 bits come from registers of 16 and go there."""
    for bits, part in PARTS:
        count, lane = bits // part, max(part, 16)
        given, taken = places(1, count), places(0, count)
        before, after = [], []
        if part == 8:
            before = [f"cvt.u8.u16 %part{n}, {each};" for n, each in enumerate(given)]
            after = [f"cvt.u16.u8 {each}, %part{n};" for n, each in enumerate(taken)]
            given = taken = [f"%part{n}" for n in range(count)]
        yield Case(
            "\n".join([*before, f"mov.b{bits} {{0}}, {vector(given)};"]),
            [bits],
            [lane] * count,
            lambda *values, p=part: sum((each & mask(p)) << p * n for n, each in enumerate(values)),
        )
        yield Case(
            "\n".join([f"mov.b{bits} {vector(taken)}, {{{count}}};", *after]),
            [lane] * count,
            [bits],
            lambda value, p=part, c=count: tuple(value >> p * n & mask(p) for n in range(c)),
        )
    for part in (64, 32):
        count = 128 // part
        yield Case(
            f"mov.b128 %wide0, {vector(places(count, count))};\nmov.b128 %wide1, %wide0;\n"
            f"mov.b128 {vector(places(0, count))}, %wide1;",
            [part] * count,
            [part] * count,
            lambda *values: values,
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
            f"selp.b{bits} {{0}}, {{1}}, {{2}}, !{{3}};",
            [bits],
            [bits, bits, 1],
            lambda a, b, c: b if c else a,
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
            lambda a, b, c: a if compare("ge", "f32", c, 0) else b,
            kinds=[None, None, "f32"],
        )
        yield Case(
            f"slct.ftz.b{bits}.f32 {{0}}, {{1}}, {{2}}, {{3}};",
            [bits],
            [bits, bits, 32],
            lambda a, b, c: a if compare("ge", "f32", F32.flush(c), 0) else b,
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

            # PTX says only what places up to 255 mean. Of 32 bits a GPU goes on with the lower
            # 8 bits of what is larger, as here, but not with 64.
            places = [0, 1, 4, 16, 31, 32, 33, 63, 64, 100, 255]
            if bits == 32:
                places += [256, 257]
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
        if offset == 1 << 31:
            return 0  # by what ptxas makes of it: its negation has no room
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
    yield Case("mov.b64 {{{0}, _}}, {1};", [32], [64], lambda a: a & mask(32))
    yield from vector_cases()
    yield from predicate_cases()
