# SPDX-License-Identifier: BSD-3-Clause
"""Textures and surfaces: what is read at random coordinates, in all modes, formats and geometries,
is compared with what a few lines of Python compute.

test_textures.py [--count N] [--seed N] [NAME...]"""

import argparse
import itertools
import math
import random
import struct
import sys

import engine
import small_programs
from engine import Buffer, Module, Texels
from small_programs import HEAD, clean

CODES = {
    "u8": "B",
    "u16": "H",
    "u32": "I",
    "s8": "b",
    "s16": "h",
    "s32": "i",
    "f16": "e",
    "f32": "f",
}
FILTERED = ("u8", "s8", "u16", "s16", "f16", "f32")
LANES = 64
# Where a compiler's and a device's filters differ from exact arithmetic: by the last bits of a
# weight, there.
TOLERANCE = 1 / 64 if engine.BY_PTXAS else 1e-6
GEOMETRIES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2}


def fetch_program(geometry, coordinate, instruction="tex", extra=""):
    """A kernel that reads coordinates, four numbers each, and writes four results each."""
    opcode = f"{instruction}.{geometry}.v4.u32.{coordinate}"
    kind = "f32" if coordinate == "f32" else "b32"
    dimensions = 3 if "cube" in geometry else GEOMETRIES[geometry]
    at = ["%i0"] if geometry.startswith("a") else []
    at += [f"%c{n}" for n in range(dimensions)]
    at += [at[-1]] * (len(at) == 3)
    return f"""{HEAD}
.visible .entry k(.param .u64 texture, .param .u64 coordinates, .param .u64 out)
{{
  .reg .b64 %t, %p, %q; .reg .{kind} %c<3>; .reg .b32 %r<4>, %i0, %me; .reg .f32 %l<4>;
  ld.param.u64 %t, [texture];
  ld.param.u64 %p, [coordinates];
  ld.param.u64 %q, [out];
  mov.u32 %me, %tid.x;
  mad.wide.u32 %p, %me, 32, %p;
  mad.wide.u32 %q, %me, 16, %q;
  ld.global.{kind} %c0, [%p];
  ld.global.{kind} %c1, [%p+4];
  ld.global.{kind} %c2, [%p+8];
  ld.global.b32 %i0, [%p+12];
  ld.global.v4.f32 {{%l0, %l1, %l2, %l3}}, [%p+16];
  {opcode} {{%r0, %r1, %r2, %r3}}, [%t, {{{", ".join(at)}}}]{extra};
  st.global.v4.b32 [%q], {{%r0, %r1, %r2, %r3}};
  ret;
}}
"""


def run_fetch(text, texels, coordinates, code):
    """`coordinates`: of each lane three numbers, a layer, and four more numbers."""
    data = b"".join(
        struct.pack(f"<3{code}I4f", *each[:3], each[3], *(*each[4:], 0, 0, 0, 0)[:4])
        for each in coordinates
    )
    out = Buffer(bytes(16 * len(coordinates)))
    clean(Module(text).run("k", 1, len(coordinates), texels, Buffer(data), out))
    return [out.bytes()[at : at + 16] for at in range(0, out.size, 16)]


class Reference:
    """A texture, slowly."""

    def __init__(self, draw, form, channels, size, layers=0, **sampling):
        self.form, self.channels, self.layers = form, channels, layers
        self.size = (*size, 1, 1)[:3]
        self.sampling = sampling
        self.modes = sampling.get("modes", ("clamp",) * 3)
        self.normalized = sampling.get("normalized", False)
        self.real = form in ("f16", "f32") or (
            form in FILTERED and not sampling.get("integers", False)
        )
        width, height, depth = self.size
        bits = int(form[1:])
        low, high = (
            (-(1 << bits - 1), (1 << bits - 1) - 1) if form[0] == "s" else (0, (1 << bits) - 1)
        )
        count = width * height * max(depth, layers) * channels
        if form[0] == "f":
            self.values = [draw.randrange(-512, 513) / 64 for _ in range(count)]
        else:
            self.values = [draw.choice((low, high, draw.randint(low, high))) for _ in range(count)]
        self.data = struct.pack(f"<{count}{CODES[form]}", *self.values)
        self.texels = Texels(self.data, form, channels, size, layers, **sampling)

    def number(self, value, channel):
        if self.form in ("f16", "f32") or not self.real:
            return value
        bits = int(self.form[1:])
        if self.form[0] == "u":
            value /= (1 << bits) - 1
        else:
            value = max(value / ((1 << bits - 1) - 1), -1)
        if self.sampling.get("srgb") and channel < 3:
            return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        return value

    def fold(self, at, dimension, whole):
        size, mode = self.size[dimension], self.modes[dimension]
        if 0 <= at < size:
            return at
        if self.sampling.get("linear_memory") or mode == "border":
            return None
        if mode == "clamp" or not self.normalized or whole:
            return min(max(at, 0), size - 1)
        if mode == "wrap":
            return at % size
        at %= 2 * size
        return at if at < size else 2 * size - 1 - at

    def texel(self, at, layer, whole=False):
        """The channels of a texel that may lie beyond the edges."""
        at = [self.fold(each, n, whole) for n, each in enumerate(at)]
        if None in at:
            border = self.sampling.get("border", (0,) * 4)[: self.channels]
            return [each if self.real else int(each) for each in border]
        width, height, _ = self.size
        x, y, z = (*at, 0, 0)[:3]
        slices = z + min(layer, max(self.layers, 1) - 1)
        begin = ((slices * height + y) * width + x) * self.channels
        values = self.values[begin : begin + self.channels]
        return [self.number(value, channel) for channel, value in enumerate(values)]

    def fetch(self, coordinates, layer):
        if self.normalized:
            coordinates = [x * size for x, size in zip(coordinates, self.size, strict=False)]
        if not self.sampling.get("filtered"):
            return self.texel([math.floor(x) for x in coordinates], layer)
        parts = [math.floor((x - 0.5) * 256 + 0.5) for x in coordinates]
        result = [0.0] * self.channels
        for corner in itertools.product((0, 1), repeat=len(parts)):
            weight = math.prod(
                (each % 256 if bit else 256 - each % 256) / 256
                for each, bit in zip(parts, corner, strict=True)
            )
            at = [each // 256 + bit for each, bit in zip(parts, corner, strict=True)]
            for channel, value in enumerate(self.texel(at, layer)):
                result[channel] += weight * value
        return result

    def same(self, found, wanted):
        if not self.real:
            code = "i" if self.form[0] == "s" else "I"
            return list(struct.unpack_from(f"<{self.channels}{code}", found)) == wanted
        numbers = struct.unpack_from(f"<{self.channels}f", found)
        reach = 8 if self.form[0] == "f" else 1
        exact = not self.sampling.get("filtered") and self.form[0] == "f"
        tolerance = 0 if exact else TOLERANCE * reach
        return all(abs(a - b) <= tolerance for a, b in zip(numbers, wanted, strict=True))


def draw_reference(draw, geometry, whole):
    dimensions = GEOMETRIES[geometry]
    form, channels = draw.choice(list(CODES)), draw.choice((1, 2, 4))
    size = [draw.choice((1, 2, 3, 5, 8, 16)) for _ in range(dimensions)]
    layers = draw.randint(1, 5) if geometry.startswith("a") else 0
    sampling = {"modes": tuple(draw.choice(list(engine.MODES)) for _ in range(3))}
    sampling["normalized"] = draw.random() < 0.5
    sampling["integers"] = draw.random() < 0.3
    if not sampling["normalized"]:
        # The others are the driver's business: it takes clamp instead.
        sampling["modes"] = tuple(
            each if each == "border" else "clamp" for each in sampling["modes"]
        )
    real = form[0] == "f" or (form in FILTERED and not sampling["integers"])
    sampling["filtered"] = real and not whole and draw.random() < 0.6
    if real and draw.random() < 0.5:
        sampling["border"] = tuple(draw.randrange(0, 5) / 4 for _ in range(4))
    sampling["srgb"] = form == "u8" and real and channels == 4 and draw.random() < 0.3
    return Reference(draw, form, channels, size, layers, **sampling)


def draw_coordinates(draw, reference, whole):
    """In and around the texture, and nowhere near the edge between two texels."""
    at = []
    for size in reference.size:
        texel = draw.randint(-2 * size - 1, 3 * size)
        at.append(texel if whole else texel + draw.randint(8, 56) / 64)
    if reference.normalized and not whole:
        # As the program reads it.
        at = [
            struct.unpack("<f", struct.pack("<f", x / size))[0]
            for x, size in zip(at, reference.size, strict=True)
        ]
    return (*at, draw.randint(0, max(reference.layers, 1) - 1))


def compare(seed):
    draw = random.Random(seed)
    whole = draw.random() < 0.25
    geometry = draw.choice(list(GEOMETRIES))
    reference = draw_reference(draw, geometry, whole)
    dimensions = GEOMETRIES[geometry]
    coordinates = [draw_coordinates(draw, reference, whole) for _ in range(LANES)]
    text = fetch_program(geometry, "s32" if whole else "f32")
    found = run_fetch(text, reference.texels, coordinates, "i" if whole else "f")
    for result, (*at, layer) in zip(found, coordinates, strict=True):
        at = at[:dimensions]
        wanted = reference.texel(at, layer, True) if whole else reference.fetch(at, layer)
        if not reference.same(result, wanted):
            raise AssertionError(
                f"seed {seed}: {geometry} of {reference.form} x {reference.channels}, "
                f"{reference.size}, {reference.layers} layers, {reference.sampling}: at {at}, "
                f"layer {layer}: {struct.unpack('<4f', result)} or {struct.unpack('<4i', result)}, "
                f"not {wanted}"
            )


def test_random():
    for seed in range(150):
        compare(seed)


def test_gather():
    draw = random.Random(1)
    for channel, form in enumerate(("f32", "u8", "s16", "u32", "s32")):
        channel %= 4
        reference = Reference(draw, form, 4, (5, 4), gather=True, integers=form == "s16")
        text = fetch_program("2d", "f32", f"tld4.{'rgba'[channel]}")
        kind = "f32" if reference.real else "s32" if form[0] == "s" else "u32"
        text = text.replace(".v4.u32.f32", f".v4.{kind}.f32")
        if reference.real:
            text = text.replace("{%r0, %r1, %r2, %r3}", "{%f0, %f1, %f2, %f3}")
            text = text.replace(".reg .f32 %l<4>;", ".reg .f32 %l<4>, %f<4>;")
        coordinates = [(x + 0.25, y + 0.75, 0, 0) for x in range(-1, 7) for y in range(-1, 6)]
        found = run_fetch(text, reference.texels, coordinates, "f")
        for result, (x, y, *_) in zip(found, coordinates, strict=True):
            i, j = math.floor(x - 0.5), math.floor(y - 0.5)
            corners = ((i, j + 1), (i + 1, j + 1), (i + 1, j), (i, j))
            wanted = [reference.texel(corner, 0)[channel] for corner in corners]
            assert reference.same(result, wanted), (
                form,
                x,
                y,
                struct.unpack("<4f", result),
                wanted,
            )


def test_linear_memory():
    draw = random.Random(2)
    for form in CODES:
        reference = Reference(draw, form, 2, (40,), linear_memory=True)
        coordinates = [(x, 0, 0, 0) for x in range(40)]
        text = fetch_program("1d", "s32")
        found = run_fetch(text, reference.texels, coordinates, "i")
        for result, (x, *_) in zip(found, coordinates, strict=True):
            assert reference.same(result, reference.texel((x,), 0)), (form, x)


FACES = (  # of a direction, and of a direction from 0 to 1 to the right and down in that face
    lambda s, t: (1, -t, -s),
    lambda s, t: (-1, -t, s),
    lambda s, t: (s, 1, t),
    lambda s, t: (s, -1, -t),
    lambda s, t: (s, -t, 1),
    lambda s, t: (-s, -t, -1),
)


def test_cube():
    draw = random.Random(3)
    for geometry, cubes in (("cube", 1), ("acube", 3)):
        reference = Reference(draw, "f32", 1, (4, 4), layers=6 * cubes, cube=True, normalized=True)
        coordinates, wanted = [], []
        for cube, face, x, y in itertools.product(range(cubes), range(6), range(4), range(0, 4, 3)):
            direction = FACES[face]((x + 0.5) / 2 - 1, (y + 0.5) / 2 - 1)
            coordinates.append((*(3 * each for each in direction), cube))
            wanted.append(reference.texel((x, y), 6 * cube + face))
        found = run_fetch(fetch_program(geometry, "f32"), reference.texels, coordinates, "f")
        for result, value in zip(found, wanted, strict=True):
            assert reference.same(result, value), (geometry, struct.unpack("<f", result[:4]), value)


def test_levels():
    # Each level is of one number, 10 times its own.
    size, levels = (8, 4), 4
    data = b"".join(
        struct.pack("<f", 10 * level) * (max(8 >> level, 1) * max(4 >> level, 1))
        for level in range(levels)
    )
    for between in (False, True):
        texels = Texels(
            data, "f32", 1, size, levels=levels, normalized=True, between_levels=between, most=9
        )
        lods = (-1, 0, 0.25, 1, 1.75, 2, 2.25, 3, 5)
        coordinates = [(0.5, 0.5, 0, 0, lod, 0, 0, 0) for lod in lods]
        found = run_fetch(
            fetch_program("2d", "f32", "tex.level", ", %l0"), texels, coordinates, "f"
        )
        for result, lod in zip(found, lods, strict=True):
            inside = min(max(lod, 0), levels - 1)
            wanted = 10 * (inside if between else math.floor(inside + 0.5))
            got = struct.unpack("<f", result[:4])[0]
            assert abs(got - wanted) <= 10 * TOLERANCE, (between, lod, got)
        # Steps of a half and of a quarter of the width: of four and of two texels.
        gradients = [(0.5, 0, 0, 0), (0, 0, 0.25, 0), (0, 0, 0, 0)]
        found = run_fetch(
            fetch_program("2d", "f32", "tex.grad", ", {%l0, %l1}, {%l2, %l3}"),
            texels,
            [(0.5, 0.5, 0, 0, *each) for each in gradients],
            "f",
        )
        got = [struct.unpack("<f", result[:4])[0] for result in found]
        assert all(abs(a - b) <= 1 for a, b in zip(got, (20, 10, 0), strict=True)), got
        (base,) = run_fetch(fetch_program("2d", "f32", "tex.base"), texels, coordinates[:1], "f")
        assert struct.unpack("<f", base[:4])[0] == 0


def test_levels_by_whole_numbers():
    data = struct.pack("<14i", *[-7] * 8, *[11] * 4, *[13] * 2)
    texels = Texels(data, "s32", 1, (8,), levels=3, most=9)
    levels = (0, 1, 2, 3, -1)
    text = fetch_program("1d", "s32", "tex.level", ", %i0").replace(".v4.u32.", ".v4.s32.")
    found = run_fetch(text, texels, [(0, 0, 0, each & 0xFFFFFFFF) for each in levels], "i")
    assert [struct.unpack("<i", each[:4])[0] for each in found] == [-7, 11, 13, 13, -7]


def test_coordinates_that_are_no_numbers():
    """Which texels they read is left open, but some are read, or the border, which is 9."""
    values = [1.0 + n for n in range(8)]
    data = struct.pack("<14f", *values, *values[:4], *values[:2])
    beyond = (math.nan, math.inf, -math.inf, 3.4e38, -3.4e38)
    for normalized, filtered, mode in itertools.product((False, True), (False, True), engine.MODES):
        texels = Texels(
            data,
            "f32",
            1,
            (8,),
            levels=3,
            normalized=normalized,
            filtered=filtered,
            modes=(mode,) * 3,
            border=(9,) * 4,
            most=9,
        )
        coordinates = [(x, 0, 0, 0, level, 0, 0, 0) for x in beyond for level in (0, *beyond)]
        text = fetch_program("1d", "f32", "tex.level", ", %l0")
        for result in run_fetch(text, texels, coordinates, "f"):
            value = struct.unpack("<f", result[:4])[0]
            assert 1 <= value <= 9, (normalized, filtered, mode, value)


def test_halves():
    draw = random.Random(4)
    reference = Reference(draw, "f32", 4, (8,))
    coordinates = [(x + 0.5, 0, 0, 0) for x in range(8)]
    text = fetch_program("1d", "f32")
    pairs = text.replace(".v4.u32.f32 {%r0, %r1, %r2, %r3}", ".v2.f16x2.f32 {%r0, %r1}")
    four = text.replace("{%r0, %r1, %r2, %r3}, [%t", "{%h0, %h1, %h2, %h3}, [%t").replace(
        ".v4.u32.f32", ".v4.f16.f32"
    )
    four = four.replace(
        "  st.global", "  mov.b32 %r0, {%h0, %h1}; mov.b32 %r1, {%h2, %h3};\n  st.global"
    )
    four = four.replace("%me;", "%me; .reg .b16 %h<4>;", 1)
    for program in (pairs, four):
        for result, (x, *_) in zip(
            run_fetch(program, reference.texels, coordinates, "f"), coordinates, strict=True
        ):
            assert list(struct.unpack_from("<4e", result)) == reference.fetch((x,), 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.count:
        for seed in range(options.seed, options.seed + options.count):
            compare(seed)
        return 0
    sys.argv[1:] = options.names
    return small_programs.main(globals())


if __name__ == "__main__":
    sys.exit(main())
