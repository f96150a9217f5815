# SPDX-License-Identifier: BSD-3-Clause
"""Surfaces, and what is found of textures and surfaces: loads and stores at random places are
compared with bytes that Python keeps."""

import itertools
import random
import struct
import sys

import small_programs
from engine import Buffer, Module, Texels
from small_programs import (
    clean,
    fault_of,
    main,
    one_finding,
    program,
    refused,
    refused_text,
    run,
    zeros,
)

LANES = 32
GEOMETRIES = {"1d": (24,), "2d": (12, 5), "3d": (8, 3, 4), "a1d": (24,), "a2d": (12, 5)}
REGISTERS = {8: "%h", 16: "%h", 32: "%r", 64: "%q"}


def transfer(geometry, bits, count, mode, store):
    """A kernel whose lanes load or store at their own coordinates."""
    at = ["%r0"] * geometry.startswith("a") + ["%r1", "%r2", "%r3"][: len(GEOMETRIES[geometry])]
    at += ["%r3"] * (len(at) == 3)
    name = REGISTERS[bits]
    values = [f"{name}{n + 4}" for n in range(count)]
    vector = "{" + ", ".join(values) + "}"
    kind = f".v{count}" * (count > 1)
    size = bits // 8
    moves = [
        f"{'ld' if store else 'st'}.global.b{bits} "
        + ", ".join((value, f"[%q2+{n * size}]") if store else (f"[%q2+{n * size}]", value))
        + ";"
        for n, value in enumerate(values)
    ]
    surface = f"[%q0, {{{', '.join(at)}}}]"
    access = (
        f"sust.b.{geometry}{kind}.b{bits}.{mode} {surface}, {vector};"
        if store
        else f"suld.b.{geometry}{kind}.b{bits}.{mode} {vector}, {surface};"
    )
    body = [access, *moves] if not store else [*moves, access]
    return program(
        f"""mad.wide.u32 %q1, %me, 16, %q1; mad.wide.u32 %q2, %me, {size * count}, %q2;
        ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%q1];
        """
        + "\n".join(body),
        3,
    )


def place_of(geometry, coordinates, texel, layers, size, mode):
    """Of the first byte; None: nowhere."""
    layer, x, y, z = coordinates
    width, height, depth = (*GEOMETRIES[geometry], 1, 1)[:3]
    limits = ((x, width * texel - size), (y, height - 1), (z, depth - 1))
    limits = limits[: len(GEOMETRIES[geometry])]
    if not geometry.startswith("a"):
        layer = 0
    if mode == "zero" and (
        any(not 0 <= at <= most for at, most in limits) or layer >= max(layers, 1)
    ):
        return None
    x, y, z = (*(min(max(at, 0), most) for at, most in limits), 0, 0)[:3]
    layer = min(layer, max(layers, 1) - 1)
    return (((layer + z) * height + y) * width) * texel + x


def test_random():
    draw = random.Random(1)
    for geometry, bits, count in itertools.product(GEOMETRIES, REGISTERS, (1, 2, 4)):
        size = bits // 8 * count
        if size > 16:
            continue
        mode = draw.choice(("clamp", "zero"))
        layers = 3 * geometry.startswith("a")
        width, height, depth = (*GEOMETRIES[geometry], 1, 1)[:3]
        bytes_of_all = width * height * max(depth, layers) * 16
        before = draw.randbytes(bytes_of_all)
        surface = Texels(before, "u32", 4, GEOMETRIES[geometry], layers, surface=True)
        # Each byte is stored once at most.
        coordinates, taken = [], set()
        while len(coordinates) < LANES:
            each = (
                draw.randint(0, 3),
                draw.randint(-2, width * 16 // size + 1) * size,
                draw.randint(-1, height),
                draw.randint(-1, depth),
            )
            place = place_of(geometry, each, 16, layers, size, mode)
            if place is None or place not in taken:
                coordinates.append(each)
                taken.add(place)
        at = Buffer(b"".join(struct.pack("<Iiii", *each) for each in coordinates))
        places = [place_of(geometry, each, 16, layers, size, mode) for each in coordinates]
        out = Buffer(bytes(size * LANES))
        text = transfer(geometry, bits, count, mode, False)
        clean(Module(text).run("k", 1, LANES, surface, at, out))
        for lane, place in enumerate(places):
            wanted = bytes(size) if place is None else before[place : place + size]
            found = out.bytes()[lane * size : (lane + 1) * size]
            assert found == wanted, (geometry, bits, count, mode, coordinates[lane])
        values = draw.randbytes(size * LANES)
        text = transfer(geometry, bits, count, mode, True)
        clean(Module(text).run("k", 1, LANES, surface, at, Buffer(values)))
        after = bytearray(before)
        for lane, place in enumerate(places):
            if place is not None:
                after[place : place + size] = values[lane * size : (lane + 1) * size]
        assert surface.bytes() == after, (geometry, bits, count, mode)


def test_formatted():
    cases = (
        ("u8", "I", 4, (7, 255, 256, 1 << 31), "4B", (7, 255, 255, 255)),
        ("s8", "i", 2, (-5, 127), "2b", (-5, 127)),
        ("u16", "I", 2, (65535, 65536), "2H", (65535, 65535)),
        ("s16", "i", 4, (-32768, 9, 32767, 0), "4h", (-32768, 9, 32767, 0)),
        ("u32", "I", 1, (1 << 31,), "I", (1 << 31,)),
        ("f16", "f", 2, (0.5, -2.0), "2e", (0.5, -2.0)),
        ("f32", "f", 4, (0.1, 2.0, 3.0, -4.5), "4f", (0.1, 2.0, 3.0, -4.5)),
    )
    for form, code, count, given, stored, wanted in cases:
        texel = struct.calcsize("<" + stored)
        surface = Texels(bytes(8 * texel), form, count, (4, 2), surface=True)
        registers = ", ".join(f"%r{n + 4}" for n in range(count))
        vector = f".v{count}" * (count > 1)
        loads = "".join(f"ld.global.b32 %r{n + 4}, [%q1+{4 * n}];" for n in range(count))
        store = f"sust.p.2d{vector}.b32.trap [%q0, {{2, 1}}], {{{registers}}};"
        clean(run(loads + store, surface, Buffer(struct.pack(f"<{count}{code}", *given)), block=1))
        after = bytes(6 * texel) + struct.pack("<" + stored, *wanted) + bytes(texel)
        assert surface.bytes() == after, (form, surface.bytes())


def test_reductions():
    for operation, kind, code, first, values in (
        ("add", "u32", "I", 5, range(LANES)),
        ("add", "s32", "i", -5, range(LANES)),
        ("add", "u64", "Q", 1 << 40, range(LANES)),
        ("min", "s32", "i", 3, range(-9, LANES - 9)),
        ("max", "u64", "Q", 3, range(LANES)),
        ("min", "u32", "I", 1 << 31, range(7, LANES + 7)),
        ("min", "s64", "q", 3, range(-9, LANES - 9)),
        ("max", "s64", "q", -(1 << 40), range(-99, LANES - 99)),
        ("and", "b32", "I", 0xFFFF, (0xFF00 | 1 << (n % 8) for n in range(LANES))),
        ("or", "b32", "I", 0, (1 << n for n in range(LANES))),
    ):
        values = list(values)
        one = struct.calcsize("<" + code)
        surface = Texels(struct.pack(f"<2{code}", 0, first), "u32", one // 4, (2, 1), surface=True)
        given = Buffer(struct.pack(f"<{LANES}{code}", *values))
        value = "%r4" if one == 4 else "%q4"
        body = f"""mad.wide.u32 %q1, %me, {one}, %q1; ld.global.b{8 * one} {value}, [%q1];
        sured.b.{operation}.2d.{kind}.trap [%q0, {{{one}, 0}}], {value};"""
        clean(run(body, surface, given))
        wanted = first
        for each in values:
            wanted = {
                "add": wanted + each,
                "min": min(wanted, each),
                "max": max(wanted, each),
                "and": wanted & each,
                "or": wanted | each,
            }[operation]
        assert struct.unpack(f"<2{code}", surface.bytes()) == (0, wanted), (operation, kind)


def test_nothing_lies_outside():
    """With .zero, also if it is so for all lanes."""
    surface = Texels(struct.pack("<4I", 5, 6, 7, 8), "u32", 1, (2, 2), surface=True)
    for at, inside in (("{%r1, 0}", 2), ("{%r1, 2}", 0), ("{-4, %me}", 0)):
        body = f"""mul.lo.u32 %r1, %me, 4; {small_programs.MINE.replace("%q0", "%q1")}
        suld.b.2d.b32.zero %r2, [%q0, {at}]; sured.b.add.2d.u32.zero [%q0, {at}], 0;
        sust.b.2d.b32.zero [%q0, {at}], %r2; st.global.u32 [%q5], %r2;"""
        out = Buffer(b"\xff" * 4 * LANES)
        outcome = clean(run(body, surface, out))
        assert out.array("I") == [5, 6, 0, 0][:inside] + [0] * (LANES - inside), at
        assert surface.array("I") == [5, 6, 7, 8]
        of_surface = [each for each in outcome["accesses"] if each[3] == 0]
        assert bool(of_surface) == bool(inside), outcome["accesses"]


def a_surface(size=(8, 8), **options):
    return Texels(bytes(4 * size[0] * size[1]), "u32", 1, size, surface=True, **options)


def test_outside_is_a_fault():
    for body, words in (
        ("sust.b.2d.b32.trap [%q0, {%r0, 3}], %me;", "writes 4 bytes outside of a surface"),
        ("sust.b.2d.b32.trap [%q0, {0, 8}], %me;", "Its row is 8, of 8."),
        ("suld.b.2d.b32.trap %r1, [%q0, {-4, 0}];", "Its byte in a row is -4, of 32."),
        ("sust.p.2d.b32.trap [%q0, {8, 0}], %me;", "Its byte in a row is 32, of 32."),
        ("sured.b.add.2d.u32.trap [%q0, {32, 0}], %me;", "Its byte in a row is 32, of 32."),
    ):
        fault = fault_of(run("mul.lo.u32 %r0, %me, 4;" + body, a_surface()), "outside_surface")
        assert words in fault["text"], fault["text"]
        assert "line" in fault["text"], fault["text"]
    fault = fault_of(
        run("mul.lo.u32 %r0, %me, 4; sust.b.2d.b32.trap [%q0, {%r0, 3}], %me;", a_surface()),
        "outside_surface",
    )
    assert "thread (8, 0, 0)" in fault["text"], fault["text"]
    assert "Its byte in a row is 32, of 32." in fault["text"], fault["text"]
    # What is as large as this is nowhere inside.
    small = Texels(bytes(2), "u8", 1, (2, 1), surface=True)
    for mode in "clamp", "trap":
        body = f"suld.b.2d.b32.{mode} %r1, [%q0, {{0, 0}}];"
        fault = fault_of(run(body, small), "outside_surface")
        assert "Its byte in a row is 0, of 2." in fault["text"], fault["text"]
    fault = fault_of(run("suld.b.2d.b32.trap %r1, [%q0, {2, 0}];", a_surface()), "misaligned")
    assert "the place in a row of a surface" in fault["text"], fault["text"]


def test_handles():
    fault = fault_of(run("suld.b.1d.b32.trap %r1, [%q0, {0}];", zeros()), "invalid_handle")
    assert "uses the handle 0x" in fault["text"], fault["text"]
    assert "Nothing has it." in fault["text"], fault["text"]
    texture = Texels(bytes(64), "u32", 1, (16,), integers=True)
    fault = fault_of(run("suld.b.1d.b32.trap %r1, [%q0, {0}];", texture), "invalid_handle")
    assert "It is a texture's, not a surface's." in fault["text"], fault["text"]
    body = "tex.1d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%q0, {0}];"
    fault = fault_of(run(body, a_surface()), "invalid_handle")
    assert "It is a surface's, not a texture's." in fault["text"], fault["text"]
    # Each lane may have its own.
    other = Texels(struct.pack("<4I", 5, 6, 7, 8), "u32", 1, (4,), integers=True)
    body = f"""setp.lt.u32 %p0, %me, 16; selp.b64 %q3, %q0, %q1, %p0;
    tex.1d.v4.u32.s32 {{%r0, _, _, _}}, [%q3, {{%me}}];
    {small_programs.MINE.replace("%q0", "%q2")} st.global.u32 [%q5], %r0;"""
    texture = Texels(struct.pack("<4I", 1, 2, 3, 4), "u32", 1, (4,), integers=True)
    out = zeros(32)
    clean(run(body, texture, other, out))
    assert out.array("I") == [1, 2, 3, *[4] * 13, *[8] * 16], out.array("I")


def test_questions():
    texture = Texels(bytes(8 * 5 * 4), "u8", 4, (8, 5), filtered=True, normalized=True)
    surface = Texels(bytes(7 * 3 * 8), "f32", 2, (7,), layers=3, surface=True)
    asked = (
        ("txq.width", "%q0", 8),
        ("txq.height", "%q0", 5),
        ("txq.channel_data_type", "%q0", 0x10D2),
        ("txq.channel_order", "%q0", 0x10B5),
        ("txq.normalized_coords", "%q0", 1),
        ("txq.filter_mode", "%q0", 1),
        ("txq.num_mipmap_levels", "%q0", 1),
        ("suq.width", "%q1", 7),
        ("suq.array_size", "%q1", 3),
        ("suq.channel_data_type", "%q1", 0x10DE),
        ("suq.channel_order", "%q1", 0x10B2),
    )
    body = "".join(
        f"{name}.b32 %r0, [{handle}]; st.global.u32 [%q2+{4 * n}], %r0;\n"
        for n, (name, handle, _) in enumerate(asked)
    )
    for n, (kind, handle) in enumerate(
        itertools.product(("texref", "surfref", "samplerref"), ("%q0", "%q1", "%q2"))
    ):
        body += f"""istypep.{kind} %p0, {handle}; selp.u32 %r0, 1, 0, %p0;
        st.global.u32 [%q2+{4 * (len(asked) + n)}], %r0;\n"""
    out = zeros(len(asked) + 9)
    clean(run(body, texture, surface, out, block=1))
    assert out.array("I") == [*(each for *_, each in asked), 1, 0, 0, 0, 1, 0, 0, 0, 0]


# OpenCL's numbers, of integers and of what is read as numbers up to 1.
DATA_TYPES = {
    "s8": (0x10D7, 0x10D0),
    "s16": (0x10D8, 0x10D1),
    "s32": (0x10D9, 0x10D9),
    "u8": (0x10DA, 0x10D2),
    "u16": (0x10DB, 0x10D3),
    "u32": (0x10DC, 0x10DC),
    "f16": (0x10DD, 0x10DD),
    "f32": (0x10DE, 0x10DE),
}


def test_questions_of_all_formats():
    orders = {1: 0x10B0, 2: 0x10B2, 4: 0x10B5}
    for (form, wanted), (channels, order) in itertools.product(DATA_TYPES.items(), orders.items()):
        data = bytes(8 * channels * int(form[1:]) // 8)
        objects = [
            Texels(data, form, channels, (8,), surface=True),
            Texels(data, form, channels, (8,), integers=True),
            Texels(data, form, channels, (8,)),
        ]
        body = ""
        for n, ask in enumerate(("suq", "txq", "txq")):
            body += f"{ask}.channel_data_type.b32 %r0, [%q{n}]; st.global.u32 [%q3+{8 * n}], %r0;"
            body += f"{ask}.channel_order.b32 %r0, [%q{n}]; st.global.u32 [%q3+{8 * n + 4}], %r0;"
        out = zeros(6)
        clean(run(body, *objects, out, block=1))
        types = (wanted[0], wanted[0], wanted[1])
        assert out.array("I") == [each for kind in types for each in (kind, order)], form


def test_questions_of_levels():
    texture = Texels(
        bytes(8 * 4 + 4 * 2 + 2), "u8", 1, (8, 4), levels=3, modes=("wrap", "mirror", "border")
    )
    body, wanted = "", []
    for level in range(3):
        for name, size in (("width", 8 >> level), ("height", 4 >> level), ("depth", 1)):
            body += f"txq.level.{name}.b32 %r0, [%q0], {level};"
            body += f"st.global.u32 [%q1+{4 * len(wanted)}], %r0;\n"
            wanted.append(max(size, 1))
    for n, mode in enumerate((0, 1, 4)):
        body += f"txq.addr_mode_{n}.b32 %r0, [%q0]; st.global.u32 [%q1+{4 * len(wanted)}], %r0;\n"
        wanted.append(mode)
    out = zeros(len(wanted))
    clean(run(body, texture, out, block=1))
    assert out.array("I") == wanted


def test_races():
    # Two threads and one texel.
    one_finding(run("sust.b.2d.b32.trap [%q0, {4, 1}], %me;", a_surface()), "race")
    shifted = "shr.u32 %r0, %me, 1; mul.lo.u32 %r0, %r0, 2;"
    one_finding(
        run(
            f"{shifted} sust.b.1d.b16.trap [%q0, {{%r0}}], %h0;".replace("%h0", "%h1").replace(
                "sust", "cvt.u16.u32 %h1, %me; sust"
            ),
            a_surface(),
        ),
        "race",
    )
    # A thread's own texel, which another one reads: behind a barrier, or not.
    store = """mul.lo.u32 %r0, %me, 4; sust.b.1d.b32.trap [%q0, {%r0}], %me;"""
    load = """xor.b32 %r1, %r0, 4; suld.b.1d.b32.trap %r2, [%q0, {%r1}];"""
    surface = a_surface((64, 1))
    one_finding(run(store + load, surface, block=64), "race")
    clean(run(store + "bar.sync 0;" + load, surface, block=64))
    clean(run("mov.u32 %r0, 8; sured.b.add.1d.u32.trap [%q0, {%r0}], %me;", surface, block=64))


def test_unwritten():
    texture = Texels(bytes(64), "f32", 1, (16,), filtered=True, written=False)
    body = "tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%q0, {%f4}];"
    finding = one_finding(run("mov.f32 %f4, 0f40400000;" + body, texture), "never_written")
    assert "reads 4 bytes" in finding["text"], finding["text"]
    assert "tex.1d.v4.f32.f32" in finding["text"], finding["text"]
    surface = Texels(bytes(64), "u32", 1, (16,), surface=True, written=False)
    load = "suld.b.1d.b32.trap %r1, [%q0, {8}];"
    one_finding(run(load, surface), "never_written")
    clean(run("sust.b.1d.b32.trap [%q0, {8}], 1;" + load, surface, block=1))


def test_blocks_on_several_threads():
    size, blocks = (256, 512), 512
    body = """mul.lo.u32 %r0, %me, 4; mad.lo.u32 %r1, %block, 256, %me; mov.u32 %r2, 0;
    AGAIN: sust.b.2d.b32.trap [%q1, {%r0, %block}], %r1;
    tex.2d.v4.u32.s32 {%r3, _, _, _}, [%q0, {%me, %block}];
    add.u32 %r1, %r1, %r3; add.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, 3; @%p0 bra AGAIN;"""
    before, outcomes = None, []
    ones = struct.pack("<I", 1) * (size[0] * size[1])
    for threads in (1, 4):
        texture = Texels(ones, "u32", 1, size, integers=True)
        surface = a_surface(size)
        outcome = run(body, texture, surface, grid=blocks, block=256, threads=threads, races=False)
        outcomes.append((outcome["instructions"], sorted(use for use, *_ in outcome["accesses"])))
        clean(outcome)
        assert before is None or surface.bytes() == before
        before = surface.bytes()
    assert outcomes[0] == outcomes[1], outcomes
    assert struct.unpack_from("<4I", before, 4000) == (1002, 1003, 1004, 1005)


def test_accesses():
    surface = a_surface()
    outcome = clean(run("sust.b.2d.b32.trap [%q0, {4, 2}], 1;", surface, block=1))
    begin = surface.address + 2 * 32 + 4
    assert [each[:4] for each in outcome["accesses"]] == [["writes", begin, begin + 4, 0]]
    texture = Texels(bytes(64), "f32", 1, (16,), filtered=True)
    body = "mov.f32 %f4, {}; tex.1d.v4.f32.f32 {{%f0, %f1, %f2, %f3}}, [%q0, {{%f4}}];"
    # In the middle of a texel its neighbours have no weight.
    for coordinate, texels in (("0f40200000", 1), ("0f40400000", 2)):
        outcome = clean(run(body.format(coordinate), texture, block=1))
        begin = texture.address + 8
        wanted = ["reads", begin, begin + 4 * texels, 0]
        assert [each[:4] for each in outcome["accesses"]] == [wanted], outcome["accesses"]


def test_refusals():
    fetch = "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, "
    refused(fetch + "[t, {%f0, %f1}];", "'t' is no address")
    refused(fetch + "[%q0, %q1, {%f0, %f1}];", "a sampler of its own is not supported")
    refused(fetch + "[%q0, %q1, {%f0, %f1}, %f1];", "too much in the brackets")
    refused(fetch + "[%q0, {%f0}];", "2 coordinates, not 1")
    refused(fetch + "[%q0, {%f0, %f1, %f2}];", "2 coordinates, not 3")
    refused(fetch + "[%q0];", "coordinates are missing")
    refused(fetch + "[%q0+8, {%f0, %f1}];", "a handle in brackets")
    refused(fetch + "[%r0, {%f0, %f1}];", "64 are expected")
    refused(fetch + "[%q0, {%f0, %f1}], {%r0, %r1};", "offsets and comparisons")
    refused(fetch + "[%q0, {%f0, %q1}];", "32 are expected")
    refused(fetch + "[%q0, {%f0, {%f1}}];", "line")
    refused(fetch + "[%q0, [%q0]];", "line")
    refused("tex.2d.v4.f32.f32 {%f0, %f1}, [%q0, {%f0, %f1}];", "vector of 4")
    refused("tex.2d.f32.f32 %f0, [%q0, {%f0, %f1}];", "vector")
    refused("tex.2d.v4.f64.f32 {%d0, %d1, %d2, %d3}, [%q0, {%f0, %f1}];", ".f64")
    refused("tex.2dms.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%q0, {%r0, %r1, %r2, %r3}];", "2dms")
    refused("tex.cube.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%q0, {%r0, %r1, %r2, %r3}];", ".s32")
    refused("tld4.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%q0, {%f0, %f1}];", "channel")
    refused("tld4.r.3d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%q0, {%f0, %f1, %f0, %f0}];", "two")
    refused("tld4.r.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%q0, {%f0, %f1}], {%r0, %r1};", "offsets")
    refused("sust.1d.b32.trap [%q0, {%r0}], %r2;", "it is with .b or .p")
    refused_text(
        program("txq.width.b32 %r0, [v];", before=".global .b64 v;"), "the handle in a register"
    )
    refused("sust.p.a1d.b32.zero [%q0, {%r0, %r1}], %r2;", "not with layers")
    refused("txq.size.b32 %r0, [%q0];", "'size' cannot be asked here")
    refused("suq.filter_mode.b32 %r0, [%q0];", "'filter_mode' cannot be asked here")
    refused("suld.b.2d.b32.trap %r0, [%q0, {%f0, %q1}];", "32 are expected")
    refused("suld.b.2d.v4.b64.trap {%q1, %q2, %q3, %q4}, [%q0, {%r0, %r1}];", ".b64")
    refused("suld.p.2d.b32.trap %r0, [%q0, {%r0, %r1}];", "with .b")
    refused("suld.b.cube.b32.trap %r0, [%q0, {%r0, %r1, %r0, %r0}];", "directions")
    refused("sust.b.2d.v2.b32.trap [%q0, {%r0, %r1}], %r0;", "vector of 2")
    refused("sured.b.add.2d.s64.trap [%q0, {%r0, %r1}], %q1;", ".s64")
    refused("sured.p.add.2d.b32.trap [%q0, {%r0, %r1}], %r1;", "only by bytes")
    refused("ld.global.u32 %r0, [%q0, {%r0}];", "an address has no coordinates")
    refused("atom.global.add.u32 %r0, [%q0, 1], 1;", "an address has no coordinates")
    refused("prefetch.global.L2 [%q0, {%r0}];", "an address has no coordinates")
    refused("txq.width.b32 %r0, [%q0, %r1];", "an address has no coordinates")
    refused("istypep.reg %p0, %q0;", "what it is to be is missing")


if __name__ == "__main__":
    sys.exit(main(globals()))
