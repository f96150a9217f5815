# SPDX-License-Identifier: BSD-3-Clause
"""Floating-point numbers as fractions, and back, rounded as IEEE 754 says: what the engine's
arithmetic is compared with. Nothing here uses a floating-point operation of the processor."""

from fractions import Fraction
from math import isqrt

INFINITY, NAN = "infinity", "nan"


class Format:
    def __init__(self, name, exponent, fraction, nan):
        self.name, self.exponent, self.fraction, self.nan = name, exponent, fraction, nan
        self.bits = 1 + exponent + fraction
        self.bias = (1 << (exponent - 1)) - 1
        self.infinity = ((1 << exponent) - 1) << fraction
        self.sign = 1 << (self.bits - 1)

    def parts(self, bits):
        """Negative, and a Fraction, INFINITY or NAN."""
        magnitude = bits & ~self.sign
        negative = bool(bits & self.sign)
        if magnitude > self.infinity:
            return negative, NAN
        if magnitude == self.infinity:
            return negative, INFINITY
        exponent, fraction = magnitude >> self.fraction, magnitude & ((1 << self.fraction) - 1)
        if exponent:
            fraction |= 1 << self.fraction
        else:
            exponent = 1
        power = exponent - self.bias - self.fraction
        value = Fraction(fraction) * (Fraction(2) ** power)
        return negative, -value if negative else value

    def is_nan(self, bits):
        return bits & ~self.sign > self.infinity

    def flush(self, bits):
        return bits & self.sign if bits & self.infinity == 0 else bits

    def quiet(self, bits):
        """What becomes of a NaN that passes through: of 64 bits it is kept, but for the highest
        bit of its fraction. Of those that are shorter there is one."""
        if not self.is_nan(bits):
            return bits
        return bits | 1 << (self.fraction - 1) if self.bits == 64 else self.nan

    def round(self, value, mode="rn", zero_negative=False, sticky=0):
        """The bits of a fraction. `sticky` says that the exact value is a little larger (1) or
        smaller (-1) in magnitude than `value`, which is not representable then."""
        if value == 0:
            return self.sign if zero_negative else 0
        negative = value < 0
        value = abs(value)
        power = _floor_log2(value)
        power = max(power, 1 - self.bias)
        unit = Fraction(2) ** (power - self.fraction)
        scaled = value / unit
        kept = scaled.numerator // scaled.denominator
        rest = scaled - kept
        if mode == "rn":
            up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and (sticky > 0 or kept & 1))
        elif mode == "rna":
            up = rest >= Fraction(1, 2)
        else:
            away = (mode == "rp" and not negative) or (mode == "rm" and negative)
            up = away and (rest > 0 or sticky > 0)
        kept += up
        biased = power + self.bias - 1  # without the hidden bit, which carries into it
        bits = (biased << self.fraction) + kept
        if bits >= self.infinity:
            largest = mode == "rz" or (mode == "rp" and negative) or (mode == "rm" and not negative)
            bits = self.infinity - largest
        return bits | (self.sign if negative else 0)


class Flushing(Format):
    """Where results that are too small for a normal number are zero. Which ones are is seen when
    they have been rounded as if exponents had no end: to all digits, not to a subnormal's."""

    def __init__(self, form):
        super().__init__(form.name, form.bits - form.fraction - 1, form.fraction, form.nan)
        self.endless = Format(form.name, 16, form.fraction, None)

    def round(self, value, mode="rn", zero_negative=False, sticky=0):
        _, rounded = self.endless.parts(self.endless.round(value, mode, zero_negative, sticky))
        if 0 < abs(rounded) < Fraction(2) ** (1 - self.bias):
            return self.sign if value < 0 else 0
        return super().round(value, mode, zero_negative, sticky)


def _floor_log2(value):
    power = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** power > value:
        power -= 1
    return power


F16 = Format("f16", 5, 10, 0x7FFF)
BF16 = Format("bf16", 8, 7, 0x7FFF)
F32 = Format("f32", 8, 23, 0x7FFFFFFF)
F64 = Format("f64", 11, 52, 0xFFF8000000000000)
FORMATS = {each.name: each for each in (F16, BF16, F32, F64)}


def _zero_sum(x_negative, y_negative, mode):
    """The sign of a sum that is exactly zero."""
    if x_negative == y_negative:
        return x_negative
    return mode == "rm"


def add(form, a, b, mode="rn"):
    (an, av), (bn, bv) = form.parts(a), form.parts(b)
    return _sum(form, an, av, bn, bv, mode)


def _sum(form, an, av, bn, bv, mode):
    if NAN in (av, bv) or (av == bv == INFINITY and an != bn):
        return form.nan
    if av == INFINITY or bv == INFINITY:
        negative = an if av == INFINITY else bn
        return form.infinity | (form.sign if negative else 0)
    return form.round(av + bv, mode, _zero_sum(an, bn, mode))


def sub(form, a, b, mode="rn"):
    return add(form, a, b if form.is_nan(b) else b ^ form.sign, mode)


def _product(form, a, b):
    (an, av), (bn, bv) = form.parts(a), form.parts(b)
    negative = an != bn
    if NAN in (av, bv) or (INFINITY in (av, bv) and 0 in (av, bv)):
        return negative, NAN
    if INFINITY in (av, bv):
        return negative, INFINITY
    return negative, av * bv


def mul(form, a, b, mode="rn"):
    negative, value = _product(form, a, b)
    if value == NAN:
        return form.nan
    if value == INFINITY:
        return form.infinity | (form.sign if negative else 0)
    return form.round(value, mode, negative)


def fma(form, a, b, c, mode="rn"):
    negative, value = _product(form, a, b)
    cn, cv = form.parts(c)
    return _sum(form, negative, value, cn, cv, mode)


def div(form, a, b, mode="rn"):
    (an, av), (bn, bv) = form.parts(a), form.parts(b)
    negative = an != bn
    sign = form.sign if negative else 0
    if NAN in (av, bv) or av == bv == INFINITY or av == bv == 0:
        return form.nan
    if av == INFINITY or bv == 0:
        return form.infinity | sign
    if bv == INFINITY:
        return sign
    return form.round(av / bv, mode, negative)


def sqrt(form, a, mode="rn"):
    negative, value = form.parts(a)
    if value == NAN or (negative and value != 0):
        return form.nan
    if value == INFINITY or value == 0:
        return a
    # Enough bits that what is left of the root only matters as more than nothing.
    shift = 4 * form.fraction + 2 * form.bias
    whole = (value.numerator << (2 * shift)) // value.denominator
    root = isqrt(whole)
    inexact = root * root != whole or (value.numerator << (2 * shift)) % value.denominator
    return form.round(Fraction(2 * root + bool(inexact), 2) / (1 << shift), mode)


def integral(value, mode):
    """A fraction to an integer."""
    floor = value.numerator // value.denominator
    rest = value - floor
    if mode == "rmi":
        return floor
    if mode == "rpi":
        return floor + (rest > 0)
    if mode == "rzi":
        return floor + (rest > 0 and value < 0)
    return floor + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and floor & 1))
