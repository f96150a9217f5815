# SPDX-License-Identifier: BSD-3-Clause
"""Cases of floating-point arithmetic, exact and approximate."""

import itertools
import math
import struct

import exact
from cases import MODES, Case, float_edges, saturate

# Whose products and quotients are hardly smaller than the least normal number of f32, or not.
LITTLE = [0x800000, 0x800001, 0x800002, 0x80800000, 0x80800003]
ALMOST_1 = [0x3F7FFFFC, 0x3F7FFFFD, 0x3F7FFFFE, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0xBF7FFFFE]
ADDED = [0, 0x800000, 0x80800000, 0x80000000, 0x800001]
LITTLE_HALVES = [0x400, 0x401, 0x402, 0x8401]
ALMOST_1_HALVES = [0x3BFC, 0x3BFD, 0x3BFE, 0x3BFF, 0xBBFE, 0x3C00]


def float_case(form, op, function, sources, modifiers, mode="rn", kinds=None):
    ftz, sat = ".ftz" in modifiers, ".sat" in modifiers
    results = exact.Flushing(form) if ftz else form

    def expected(*values):
        if ftz:
            values = [form.flush(value) for value in values]
        out = function(results, *values, mode)
        if sat:
            out = saturate(form, out)
        elif form.is_nan(out):
            out = form.nan
        return out

    def near(value, *values):
        return form is exact.F64 and form.is_nan(value) and form.is_nan(expected(*values))

    operands = ", ".join(f"{{{i}}}" for i in range(1 + sources))
    return Case(
        f"{op}{modifiers}.{form.name} {operands};",
        [form.bits],
        [form.bits] * sources,
        expected,
        near=near,
        kinds=kinds or [form.name] * sources,
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
            if op in ("mul", "fma"):
                kinds = [LITTLE, ALMOST_1, ADDED][:sources]
                yield float_case(f32, op, function, sources, f".{mode}.ftz", mode, kinds)
                if op == "fma":  # nothing but what is added
                    kinds = [[0x1A000000, 0x9A000000], [0x19000000, 0x19800000], ADDED]
                    yield float_case(f32, op, function, sources, f".{mode}.ftz", mode, kinds)
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
        for ftz in ("", ".ftz") if form is f32 else ("",):
            for op in ("abs", "neg"):
                yield Case(
                    f"{op}{ftz}.{n} {{0}}, {{1}};",
                    [form.bits],
                    [form.bits],
                    lambda a, f=form, o=op, z=ftz: with_sign(f, o, f.flush(a) if z else a),
                    near=lambda value, a, o=op, z=ftz: not z and value == as_bits(f32, o, a),
                    kinds=[n],
                )
        yield Case(
            f"copysign.{n} {{0}}, {{1}}, {{2}};",
            [form.bits],
            [form.bits] * 2,
            lambda a, b, s=sign: a & s | b & ~s,
            kinds=[n] * 2,
        )


def with_sign(form, op, bits):
    """A NaN has no sign that counts: PTX leaves open which one it becomes."""
    return form.quiet(bits) if form.is_nan(bits) else as_bits(form, op, bits)


def as_bits(form, op, bits):
    """The code of ptxas for f32 if a predicate selects the result: a NaN stays as it is."""
    return bits & ~form.sign if op == "abs" else bits ^ form.sign


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
                    results = f
                    if ".ftz" in s:
                        results, values = exact.Flushing(f), [f.flush(value) for value in values]
                    out = g(results, *values, "rn")
                    if ".sat" in s:
                        out = saturate(f, out)
                    elif ".relu" in s and not f.is_nan(out) and out & f.sign:
                        out = 0
                    return out

                yield from single_and_pair(form, op + suffix, sources, expected)
                if ".ftz" in suffix and op in ("mul", "fma.rn"):
                    kinds = [LITTLE_HALVES, ALMOST_1_HALVES, [0, 0x8000]][:sources]
                    yield from single_and_pair(form, op + suffix, sources, expected, kinds)
        flushes = ("", ".ftz") if form is exact.F16 else ("",)
        for op, ftz, nan, xorsign in itertools.product(
            ("min", "max"), flushes, ("", ".NaN"), ("", ".xorsign.abs")
        ):

            def chosen(a, b, f=form, o=op, z=ftz, n=nan, x=xorsign):
                if z:
                    a, b = f.flush(a), f.flush(b)
                return extreme(f, a, b, o == "min", bool(n), bool(x))

            # What .xorsign makes of NaN is left open.
            numbers = [each for each in float_edges(form) if not form.is_nan(each)]
            kinds = [numbers] * 2 if xorsign else None
            yield from single_and_pair(form, op + ftz + nan + xorsign, 2, chosen, kinds)
        for op, ftz in itertools.product(("neg", "abs"), flushes):
            yield from single_and_pair(
                form,
                op + ftz,
                1,
                lambda a, f=form, o=op, z=ftz: with_sign(f, o, f.flush(a) if z else a),
            )


def single_and_pair(form, op, sources, expected, kinds=None):
    operands = ", ".join(f"{{{i}}}" for i in range(1 + sources))
    yield Case(
        f"{op}.{form.name} {operands};",
        [16],
        [16] * sources,
        expected,
        kinds=kinds or [form.name] * sources,
    )

    def pair(*values):
        low = expected(*(value & 0xFFFF for value in values))
        return low | expected(*(value >> 16 for value in values)) << 16

    yield Case(
        f"{op}.{form.name}x2 {operands};",
        [32],
        [32] * sources,
        pair,
        kinds=[[a | b << 16 for a in each for b in each] for each in kinds or ()]
        or [form.name + "x2"] * sources,
    )


def approximate(name, function, form, relative, absolute=0.0, ftz=False, domain=None, values=None):
    """A function with its allowed error, its value at NaN, and values outside of its domain."""
    code = {16: "e", 32: "f", 64: "d"}[form.bits]

    def value_of(bits):
        if form is exact.BF16:
            return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
        return struct.unpack("<" + code, bits.to_bytes(form.bits // 8, "little"))[0]

    coarse = form is exact.F64 and ".ftz" in name  # looks at the upper half only

    def near(got, a):
        if coarse:
            a = a >> 32 << 32
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
            return abs(y) <= smallest and not (ftz and 0 < abs(y) < smallest)
        return abs(y - wanted) <= relative * abs(wanted) + absolute

    return Case(
        f"{name}{'.ftz' if ftz else ''}.{form.name} {{0}}, {{1}};",
        [form.bits],
        [form.bits],
        lambda a: None,
        near=near,
        kinds=[values or form.name],
    )


def pair_of(case):
    """The same of both halves of a register."""

    def near(got, a):
        return all(case.near(got >> n & 0xFFFF, a >> n & 0xFFFF) for n in (0, 16))

    form = case.kinds[0] + "x2"
    text = case.text.replace(f".{case.kinds[0]} ", f".{form} ")
    return Case(text, [32], [32], lambda a: None, near=near, kinds=[form])


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
    yield approximate("ex2.approx", exp2, exact.BF16, 2**-6, ftz=True)
    # From -125 to -134: results of which the last are subnormal.
    ends = range(0xC2FA, 0xC307)
    yield approximate("ex2.approx", exp2, exact.BF16, 2**-6, ftz=True, values=ends)
    yield approximate("tanh.approx", math.tanh, exact.BF16, 2**-6)
    yield pair_of(approximate("ex2.approx", exp2, exact.F16, 2**-9))
    yield pair_of(approximate("tanh.approx", math.tanh, exact.F16, 2**-9))
    yield pair_of(approximate("ex2.approx", exp2, exact.BF16, 2**-6, ftz=True))
    yield pair_of(approximate("tanh.approx", math.tanh, exact.BF16, 2**-6))
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
    # By what is so large, infinity gives NaN, and anything else 0.
    large = [0x7E800001, 0x7F000000, 0xFF7FFFFF]

    def nothing(got, a, _):
        magnitude = got & 0x7FFFFFFF
        return exact.F32.is_nan(got) if a & 0x7FFFFFFF == exact.F32.infinity else magnitude == 0

    yield Case(
        "div.approx.f32 {0}, {1}, {2};",
        [32],
        [32] * 2,
        lambda a, b: None,
        near=nothing,
        kinds=[[0, 0x3F800000, 0xBF800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000], large],
    )
