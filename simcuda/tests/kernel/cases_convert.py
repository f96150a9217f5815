# SPDX-License-Identifier: BSD-3-Clause
"""Cases of cvt."""

import itertools
from fractions import Fraction

import exact
from cases import INTEGERS, MODES, Case, clamp, float_edges, mask, of_type, saturate, signed
from exact import FORMATS, INFINITY, NAN


def register_bits(name):
    return max(16, of_type(name)[1])


def convert_cases():
    everything = ("u8", "s8", *INTEGERS)
    for to in everything:
        for source in everything:
            yield convert_integers(to, source, "")
            if not holds_all(to, source):
                yield convert_integers(to, source, ".sat")
    for form in FORMATS.values():
        for name in everything:
            yield from convert_from_integer(form, name)
            yield from convert_to_integer(form, name)
    for to in FORMATS.values():
        for source in FORMATS.values():
            yield from convert_floats(to, source)
    yield from convert_numbers()
    yield from packed_convert_cases()
    yield from fp8_cases()


def holds_all(to, source):
    (to_signed, to_bits), (from_signed, from_bits) = of_type(to), of_type(source)
    if to_signed == from_signed:
        return to_bits >= from_bits
    return to_signed and to_bits > from_bits


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


def wants_a_byte(form, name):
    """Whether ptxas wants a register of 8 bits for the integer."""
    return form is exact.BF16 and name in ("u8", "s8")


def convert_from_integer(form, name):
    is_signed, bits = of_type(name)
    for mode in MODES:

        def expected(a, m=mode):
            value = signed(a, bits) if is_signed else a & mask(bits)
            return form.round(Fraction(value), m)

        text = f"cvt.{mode}.{form.name}.{name} {{0}}, {{1}};"
        if wants_a_byte(form, name):
            text = f"cvt.{name}.{name[0]}16 %byte, {{1}};\n" + text.replace("{1}", "%byte")
        yield Case(
            text,
            [form.bits],
            [register_bits(name)],
            expected,
        )
        if form is not exact.BF16:
            yield Case(
                f"cvt.{mode}.sat.{form.name}.{name} {{0}}, {{1}};",
                [form.bits],
                [register_bits(name)],
                lambda a, e=expected: saturate(form, e(a)),
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

            # Of integers .sat asks for what is done anyhow.
            sat = ".sat" if mode == "rzi" and form is exact.F32 else ""
            text = f"cvt.{mode}{ftz}{sat}.{name}.{form.name} {{0}}, {{1}};"
            if wants_a_byte(form, name):
                text = text.replace("{0}", "%byte") + f"\ncvt.{name[0]}16.{name} {{0}}, %byte;"
            yield Case(
                text,
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


def convert_numbers():
    """To bf16, which of registers takes those alone that are as wide as the type."""
    for name, number in itertools.product(("s16", "u32", "s64"), (0, 7, 300, 65535)):
        wanted = exact.BF16.round(Fraction(signed(number, 16) if name == "s16" else number))
        text = f"cvt.rn.bf16.{name} {{0}}, {number};\nadd.bf16 {{0}}, {{0}}, {{1}};"
        yield Case(text, [16], [16], lambda _, w=wanted: w, kinds=[[0x8000]])


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
                return convert_value(exact.Flushing(to) if narrows else to, source, a, m)

            yield Case(
                f"cvt{dotted}.ftz.{to.name}.{source.name} {{0}}, {{1}};",
                [to.bits],
                [source.bits],
                flushed,
                near=near,
                kinds=[source.name],
            )
            if narrows:
                # The least normal number of f32, and what is rounded to it with 23 to 26 digits.
                least = 0x3810000000000000
                below = [least - (1 << n) for n in range(27, 31)]
                below = [each + i for each in (least, *below) for i in (-1, 0, 1)]
                yield Case(
                    f"cvt{dotted}.ftz.{to.name}.{source.name} {{0}}, {{1}};",
                    [to.bits],
                    [source.bits],
                    flushed,
                    kinds=[[each | sign << 63 for each in below for sign in (0, 1)]],
                )


def limited(form, bits, limit):
    """With .relu nothing is less than 0, with .satfinite nothing is infinite."""
    if form.is_nan(bits):
        return bits
    if ".relu" in limit and bits & form.sign:
        return 0
    if ".satfinite" in limit and bits & ~form.sign == form.infinity:
        return bits - 1
    return bits


def packed_convert_cases():
    limits = ("", ".relu", ".satfinite", ".relu.satfinite")
    for form in (exact.F16, exact.BF16):
        for mode, limit in itertools.product(("rn", "rz"), limits):

            def one(a, f=form, m=mode, x=limit):
                return limited(f, convert_value(f, exact.F32, a, m), x)

            yield Case(
                f"cvt.{mode}{limit}.{form.name}x2.f32 {{0}}, {{1}}, {{2}};",
                [32],
                [32] * 2,
                lambda a, b, g=one: g(a) << 16 | g(b),
                kinds=["f32"] * 2,
            )
            if limit:
                yield Case(
                    f"cvt.{mode}{limit}.{form.name}.f32 {{0}}, {{1}};",
                    [16],
                    [32],
                    one,
                    kinds=["f32"],
                )
    tf32 = exact.Format("tf32", 8, 10, 0x3FFFF)

    def to_tf32(a, mode, limit):
        _, value = exact.F32.parts(a)
        if value == NAN:  # may become infinity by .rna
            return (a if mode == "rna" else exact.F32.nan) >> 13 << 13
        out = tf32.infinity | tf32.sign * (a >> 31)
        if value != INFINITY:
            out = tf32.round(value, mode, bool(a >> 31))
        return limited(tf32, out, limit) << 13

    # The middles between two that are there, of which one is even, and what is next to them.
    middles = [a + b for a in (0x3F801000, 0x3F803000, 0x7F7FF000) for b in (-1, 0, 1)]
    middles += [a | 0x80000000 for a in middles]
    ordinary = [a for a in float_edges(exact.F32) if a << 1 & mask(32)]  # but for zeros
    for mode in ("rn", "rz", "rna"):
        for limit in ("", ".satfinite") if mode == "rna" else limits:
            values = ordinary + middles
            if mode == "rna" and limit:  # whose NaN is left open
                values = [a for a in values if not exact.F32.is_nan(a)]
            yield Case(
                f"cvt.{mode}{limit}.tf32.f32 {{0}}, {{1}};",
                [32],
                [32],
                lambda a, m=mode, x=limit: to_tf32(a, m, x),
                kinds=[values],
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


class Fp8(exact.Format):
    """Numbers of 8 bits. Those of e4m3 go on where others have infinity, up to one NaN."""

    def __init__(self, name, exponent, fraction):
        super().__init__(name, exponent, fraction, 0x7F)
        self.largest = self.infinity - 1
        if name == "e4m3":
            self.largest, self.infinity = 0x7E, 0x7F

    def parts(self, bits):
        return (bool(bits & self.sign), NAN) if self.is_nan(bits) else super().parts(bits)

    def is_nan(self, bits):
        magnitude = bits & ~self.sign
        return magnitude == self.nan if self.name == "e4m3" else magnitude > self.infinity

    def narrowed(self, source, bits, relu):
        negative, value = source.parts(bits)
        if value == NAN:
            return self.nan
        if relu and negative:
            return 0
        limit = super().parts(self.largest)[1]
        value = limit if value == INFINITY else min(abs(value), limit)
        return self.round(value) | (self.sign if negative else 0)

    def widened(self, bits, relu):
        negative, value = self.parts(bits)
        if value == NAN:
            return exact.F16.nan
        if relu and negative:
            return 0
        if value == INFINITY:
            return exact.F16.infinity | (exact.F16.sign if negative else 0)
        return exact.F16.round(value, zero_negative=negative)

    def near_middles(self, source):
        """Each number, the middle between it and the next one, and its neighbours."""
        found = []
        for bits in range(self.largest + 1):
            value = super().parts(bits)[1]
            after = super().parts(min(bits + 1, self.largest))[1]
            for at in (value, (value + after) / 2):
                made = source.round(at)
                found += [each for each in (made - 1, made, made + 1) if each >= 0]
        return found + [each | source.sign for each in found]


def fp8_cases():
    def both(function, *lanes):
        return function(lanes[0]) << 8 | function(lanes[1])

    for form in (Fp8("e4m3", 4, 3), Fp8("e5m2", 5, 2)):
        for relu in ("", ".relu"):

            def singles(a, b, f=form, r=relu):
                return both(lambda x: f.narrowed(exact.F32, x, r), a, b)

            def halves(a, f=form, r=relu):
                return both(lambda x: f.narrowed(exact.F16, x, r), a >> 16, a & 0xFFFF)

            def widened(a, f=form, r=relu):
                return f.widened(a >> 8, r) << 16 | f.widened(a & 0xFF, r)

            middles = form.near_middles(exact.F16)
            specials = [0x7C00, 0xFC00, 0x7FFF, 0xFE00, 0x7BFF, 0xFBFF, 1, 0x8001]
            middles = list(dict.fromkeys(middles + specials))
            yield Case(
                f"cvt.rn.satfinite{relu}.{form.name}x2.f32 {{0}}, {{1}}, {{2}};",
                [16],
                [32] * 2,
                singles,
                kinds=["f32"] * 2,
            )
            yield Case(
                f"cvt.rn.satfinite{relu}.{form.name}x2.f32 {{0}}, {{1}}, {{1}};",
                [16],
                [32],
                lambda a, g=singles: g(a, a),
                kinds=[form.near_middles(exact.F32)],
            )
            yield Case(
                f"cvt.rn.satfinite{relu}.{form.name}x2.f16x2 {{0}}, {{1}};",
                [16],
                [32],
                halves,
                kinds=[[a << 16 | b for a, b in zip(middles, middles[::-1], strict=True)]],
            )
            yield Case(
                f"cvt.rn{relu}.f16x2.{form.name}x2 {{0}}, {{1}};",
                [32],
                [16],
                widened,
                kinds=[[a << 8 | (a ^ 0xFF) for a in range(256)]],
            )
