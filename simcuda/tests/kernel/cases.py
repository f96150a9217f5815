# SPDX-License-Identifier: BSD-3-Clause
"""What all cases of instructions share: a text with a place for each result and source, and a
function of bits that says what it is to compute. Written from the PTX ISA, not from the engine."""

from exact import FORMATS, INFINITY, NAN

MODES = ("rn", "rz", "rm", "rp")
INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")


class Case:
    def __init__(self, text, results, sources, expected, near=None, kinds=None, loses_guard=False):
        self.text, self.results, self.sources = text, results, sources
        self.expected, self.near = expected, near
        # ptxas (of CUDA 13.0) makes several instructions of it, and does not guard the last: if the
        # guard is false, the result does not keep its old value, as PTX requires.
        self.loses_guard = loses_guard
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
            # Of similar size, so that sums cancel and products stay in range.
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


def clamp(value, low, high):
    return min(max(value, low), high)


def compare(how, name, a, b):
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


def saturate(form, bits):
    if form.is_nan(bits) or bits & form.sign:
        return 0
    one = form.bias << form.fraction
    return min(bits, one)
