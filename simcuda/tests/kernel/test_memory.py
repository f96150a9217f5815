# SPDX-License-Identifier: BSD-3-Clause
"""Loads, stores, atomic operations and addresses: of all types, in each state space."""

import itertools
import struct
import sys

import exact
from cases import mask, of_type, signed
from engine import Buffer, Module
from small_programs import clean, main, program, run, zeros

LANES = 32
CODES = {8: "B", 16: "H", 32: "I", 64: "Q"}
REGISTERS = {16: "%h", 32: "%r", 64: "%q"}
NUMBERS = (0, 1, 5, 0x7F, 0x80, 0xFE12, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0x8000000000000001)


def buffer(bits, values):
    values = list(values)
    return Buffer(struct.pack(f"<{len(values)}{CODES[bits]}", *(v & mask(bits) for v in values)))


def own(pointer, into, size):
    """The address of what each thread has in an array of such elements."""
    return f"mad.wide.u32 {into}, %me, {size}, {pointer};\n"


# Loads and stores.


def test_loads_and_stores_of_all_types():
    """A register may be wider than the type: loads extend it, by the sign if there is one."""
    for name, width, space in itertools.product(
        ("u8", "s8", "b8", "u16", "s16", "b16", "u32", "s32", "b32", "u64", "s64", "b64"),
        REGISTERS,
        ("global", "shared", "local", "", "volatile.global", "volatile.shared"),
    ):
        is_signed, bits = of_type(name.replace("b", "u"))
        if width < bits:
            continue
        size, register = bits // 8, REGISTERS[width] + "6"
        at = {
            "shared": f"mov.u64 %q4, s; {own('%q4', '%q4', size)}",
            "local": "mov.u64 %q4, l;",
        }.get(space.split(".")[-1], own("%q1", "%q4", size))
        dot = f".{space}" if space else ""
        body = f"""{own("%q0", "%q2", width // 8)} ld.global.b{width} {register}, [%q2];
        {at} st{dot}.{name} [%q4], {register}; mov.b{width} {register}, 0;
        ld{dot}.{name} {register}, [%q4]; st.global.b{width} [%q2], {register};"""
        before = f".shared .align 8 .b8 s[{LANES * 8}];\n"
        values = (NUMBERS * 4)[:LANES]
        data = buffer(width, values)
        clean(run(".local .align 8 .b8 l[8];" + body, data, zeros(), before=before))
        wanted = [(signed(v, bits) if is_signed else v & mask(bits)) & mask(width) for v in values]
        assert data.array(CODES[width]) == wanted, (name, width, space)


def test_vectors():
    for name, count in itertools.product(("u8", "s16", "b32", "u64"), (2, 4)):
        bits = of_type(name.replace("b", "u"))[1]
        if bits * count > 128:
            continue
        width = max(bits, 16)
        register, size = REGISTERS[width], bits * count // 8
        parts = [f"{register}{n + 4}" for n in range(count)]
        moved = ", ".join(parts)
        turned = ", ".join(reversed(parts))
        # A part that is not wanted, and numbers in the place of registers.
        last = ", ".join(["_"] * (count - 1) + parts[-1:])
        given = ", ".join([parts[-1], *("7", "-2", "9")[: count - 1]])
        body = f"""{own("%q0", "%q2", size)} {own("%q1", "%q3", 3 * size)}
        ld.global.v{count}.{name} {{{moved}}}, [%q2];
        st.global.v{count}.{name} [%q3], {{{turned}}};
        mov.b{width} {parts[-1]}, 0; ld.volatile.global.v{count}.{name} {{{last}}}, [%q2];
        st.global.v{count}.{name} [%q3+{size}], {{{given}}};
        st.relaxed.gpu.global.v{count}.{name} [%q3+{2 * size}], {{3, {", ".join("4567"[1:count])}}};
        """
        values = [(NUMBERS * 13)[n] & mask(bits) for n in range(LANES * count)]
        out = Buffer(bytes(3 * size * LANES))
        clean(run(body, buffer(bits, values), out))
        wanted = []
        for lane in range(LANES):
            mine = values[lane * count : (lane + 1) * count]
            wanted += [*reversed(mine), mine[-1], *(7, mask(bits) - 1, 9)[: count - 1]]
            wanted += [3, 5, 6, 7][:count]
        assert out.array(CODES[bits]) == wanted, (name, count)


def test_a_number_beside_wider_registers():
    body = (
        "mov.u32 %r1, 0x1FE; st.global.v2.u8 [%q0], {%r1, -3}; ld.global.v2.s8 {%r2, %r3}, [%q0];"
    )
    out = zeros(4)
    clean(run(body + "st.global.v2.u32 [%q0+8], {%r2, %r3};", out, block=1))
    assert out.array("I") == [0xFDFE, 0, 0xFFFFFFFE, 0xFFFFFFFD]
    body = "mov.u64 %q1, 0x1234567890; st.global.v2.f32 [%q0], {%q1, 0f3F800000};"
    body += "mov.f64 %d1, 0d4000000000000000; st.global.v2.f64 [%q0+16], {0d3FF0000000000000, %d1};"
    out = zeros(8)
    clean(run(body, out, block=1))
    assert out.array("I")[:2] == [0x34567890, 0x3F800000]
    assert out.array("d")[2:] == [1, 2]


def test_128_bits():
    values = [n * 0x0123456789ABCDEF & mask(64) for n in range(2 * LANES)]
    for load, store in (("", ""), (".relaxed.gpu", ".release.gpu")):
        body = f""".reg .b128 %x; {own("%q0", "%q2", 16)} {own("%q1", "%q3", 16)}
        ld{load}.global.b128 %x, [%q2]; st{store}.global.b128 [%q3], %x;"""
        # All lanes, side by side or not, and some.
        apart = body.replace("%me, 16, %q1", "%r0, 16, %q1")
        for text, wanted in (
            (body, values),
            ("xor.b32 %r0, %me, 1;" + apart, [values[n ^ 2] for n in range(2 * LANES)]),
            (
                "setp.lt.u32 %p0, %me, 5; @%p0 bra END;" + body + "END:",
                [0] * 10 + values[10:],
            ),
        ):
            out = Buffer(bytes(16 * LANES))
            clean(run(text, buffer(64, values), out))
            assert out.array("Q") == wanted, (text, out.array("Q"))


def test_parameters_by_their_addresses():
    """A kernel hands the address of its own parameter to a function."""
    before = """.func (.param .b64 r) f(.param .b64 a) { .reg .b64 %a<4>; ld.param.u64 %a0, [a];
cvta.param.u64 %a1, %a0; ld.u64 %a2, [%a1]; ld.global.u64 %a3, [%a1]; sub.u64 %a3, %a3, %a2;
add.u64 %a2, %a2, %a3; st.param.b64 [r], %a2; ret; }
"""
    body = """mov.u64 %q2, p1; ld.param.u64 %q3, [%q2]; cvta.param.u64 %q4, p1; ld.u64 %q4, [%q4];
{ .param .b64 a; .param .b64 r; st.param.b64 [a], %q2; call (r), f, (a); ld.param.b64 %q5, [r]; }
st.global.v2.u64 [%q0], {%q3, %q4}; st.global.u64 [%q0+16], %q5;"""
    out = zeros(8)
    clean(run(body, out, struct.pack("<Q", 12345), block=1, before=before))
    assert out.array("Q") == [12345, 12345, 12345, 0]


def test_vectors_of_parameters():
    text = program("ld.param.v2.u32 {%r0, %r1}, [s+8]; st.global.v2.u32 [%q0], {%r1, %r0};")
    text = text.replace(".param .u64 p0", ".param .u64 p0, .param .align 8 .b8 s[16]")
    out = zeros(2)
    clean(Module(text).run("k", 1, 1, out, struct.pack("<4I", 5, 6, 7, 8)))
    assert out.array("I") == [8, 7]


def test_kinds_of_addresses():
    addresses = {
        "global": "mov.u64 %q3, %q0;",
        "shared": "mov.u64 %q3, s; cvta.shared.u64 %q3, %q3;",
        "local": "cvta.local.u64 %q3, l+4;",
        "param": "mov.u64 %q3, p0; cvta.param.u64 %q3, %q3;",
    }
    spaces = ("global", "shared", "shared::cta", "shared::cluster", "local", "param", "const")
    body, wanted = "", []
    for space, take in addresses.items():
        body += take
        for asked in spaces:
            body += f"isspacep.{asked} %p0, %q3; selp.u32 %r0, 1, 0, %p0;"
            body += f"st.global.u32 [%q0+{4 * len(wanted)}], %r0;\n"
            # The kernel's parameters are in global memory.
            wanted.append(
                int(asked.split("::")[0] == space or (asked, space) == ("global", "param"))
            )
    out = zeros(len(wanted))
    declared = ".local .align 8 .b8 l[16]; .shared .align 8 .b8 s[8];"
    clean(run(declared + body, out, block=1))
    assert out.array("I") == wanted


def test_addresses_of_local_memory():
    body = """.local .align 8 .b8 l[16]; mov.u64 %q1, l+8; st.local.u32 [l+8], 41;
ld.local.u32 %r0, [%q1]; cvta.local.u64 %q2, l; ld.u32 %r1, [%q2+8]; cvta.to.local.u64 %q2, %q2;
mov.u32 %r2, l; cvt.u64.u32 %q3, %r2; st.local.u32 [%q3+12], 43;
ld.local.u32 %r2, [%q2+12]; st.global.v2.u32 [%q0], {%r0, %r1};
st.global.u32 [%q0+8], %r2;"""
    out = zeros(3)
    clean(run(body, out, block=1))
    assert out.array("I") == [41, 41, 43]


def test_numbers_as_addresses_of_local_memory():
    """The kernel's own begins there."""
    body = """.local .align 4 .b8 l[16]; st.local.u32 [4], %me; ld.local.u32 %r0, [l+4];
mad.wide.u32 %q5, %me, 4, %q0; st.global.u32 [%q5], %r0;"""
    out = zeros(LANES)
    clean(run(body, out))
    assert out.array("I") == list(range(LANES))


def test_volatile_local_memory():
    text = program(
        """.local .align 4 .b8 l[4]; st.volatile.local.u32 [l], %me; mov.u64 %q3, l;
cvta.local.u64 %q3, %q3; ld.volatile.u32 %r0, [%q3]; mad.wide.u32 %q5, %me, 4, %q0;
st.global.u32 [%q5], %r0;"""
    )
    out = zeros(LANES)
    clean(Module(text.replace(".version 8.5", ".version 9.1")).run("k", 1, LANES, out))
    assert out.array("I") == list(range(LANES))


def test_hints_leave_memory_alone():
    body = """prefetch.global.L1 [%q0]; prefetch.L2 [%q0]; prefetch.local.L1 [l];
prefetch.global.L2::evict_last [%q0]; prefetchu.L1 [%q0];
applypriority.global.L2::evict_normal [%q0], 128; ldu.global.u32 %r0, [%q0];
createpolicy.fractional.L2::evict_last.b64 %q3, 0f3F800000;
ld.global.L2::cache_hint.u32 %r1, [%q0+4], %q3; add.u32 %r0, %r0, %r1;
st.global.L2::cache_hint.u32 [%q0+8], %r0, %q3;
atom.global.add.L2::cache_hint.u32 %r2, [%q0+8], 1, %q3; discard.global.L2 [%q1], 128;"""
    out = buffer(32, (3, 4, 0))
    clean(run(".local .align 8 .b8 l[8];" + body, out, zeros(), block=1))
    assert out.array("I") == [3, 4, 8]


# cp.async.


def test_parts_of_a_copy():
    """What is not read is zero. The sources lie at the very end of their memory."""
    sizes = (0, 1, 3, 4, 7, 8, 12, 13, 15, 16)
    for count, ignored in itertools.product(sizes, ("", "%p1", "!%p1")):
        given = ignored or (f", {count}" if count < 16 else "")
        text = f", {given}" if ignored else given
        space = ("shared", "shared::cta")[count % 2]
        body = f""".shared .align 16 .b8 s[512]; mov.u32 %r9, s; mad.lo.u32 %r8, %me, 16, %r9;
        setp.lt.u32 %p1, %me, 16; {own("%q0", "%q2", 0)}
        cp.async.ca.{space}.global [%r8], [%q2], 16{text};
        cp.async.wait_all; ld.shared.v4.u32 {{%r0, %r1, %r2, %r3}}, [%r8];
        {own("%q1", "%q3", 16)} st.global.v4.u32 [%q3], {{%r0, %r1, %r2, %r3}};"""
        room = 16 if ignored else count
        source = Buffer(bytes(range(1, room + 1)))
        out = Buffer(bytes(16 * LANES))
        clean(run(body, source, out))
        for lane in range(LANES):
            reads = {"": True, "%p1": lane >= 16, "!%p1": lane < 16}[ignored]
            wanted = (source.bytes() if reads else b"").ljust(16, b"\0")
            found = out.bytes()[16 * lane : 16 * lane + 16]
            assert found == wanted, (count, ignored, lane, found)


# Atomic operations.


def applied(op, name, old, b):
    is_signed, bits = of_type(name.replace("b", "u"))
    x, y = (signed(old, bits), signed(b, bits)) if is_signed else (old, b)
    result = {
        "and": old & b,
        "or": old | b,
        "xor": old ^ b,
        "exch": b,
        "add": x + y,
        "min": min(x, y),
        "max": max(x, y),
        "inc": 0 if old >= b else old + 1,
        "dec": b if old == 0 or old > b else old - 1,
    }[op]
    return result & mask(bits)


def atomic(instruction, bits, olds, operands, space="global", generic=False, vector=1):
    """What lies there afterwards, and what the instruction returns. `operands`: for each."""
    size, name = bits // 8 * vector, "%v"
    lanes = len(olds) // vector
    loads, names = "", []
    for n in range(len(operands) * vector):
        names.append(f"{name}{n}")
        of, part = divmod(n, vector)
        loads += f"ld.global.b{bits} {name}{n}, [%q6+{(of * len(olds) + part) * bits // 8}];\n"
    results = [f"{name}{len(names) + n}" for n in range(vector)]
    texts = [names[n : n + vector] for n in range(0, len(names), vector)]

    def operand(parts):
        return parts[0] if vector == 1 else "{" + ", ".join(parts) + "}"

    element = "%q7"
    move = f"ld.global.b{bits} {results[0]}, [%q7]; st.shared.b{bits} [%q9], {results[0]};"
    back = f"ld.shared.b{bits} {name}0, [%q9]; st.global.b{bits} [%q7], {name}0;"
    if space == "shared":
        element = "%q8" if generic else "%q9"
    dot = "" if generic else f".{space}"
    opcode, dots = instruction.split(".", 1)
    body = f""".reg .b{bits} %v<32>; {own("%q0", "%q7", size)} {own("%q1", "%q6", size)}
    mov.u64 %q9, s; {own("%q9", "%q9", size)} cvta.shared.u64 %q8, %q9;
    {move if space == "shared" else ""} {loads}
    {opcode}{dot}.{dots} {operand(results)}, [{element}], {", ".join(map(operand, texts))};
    {back if space == "shared" else ""}
    {own("%q2", "%q5", size)}
    """
    body += "".join(
        f"st.global.b{bits} [%q5+{n * bits // 8}], {each};\n" for n, each in enumerate(results)
    )
    place, out = buffer(bits, olds), buffer(bits, [0] * len(olds))
    every = [each for operand in operands for each in operand]
    before = f".shared .align 16 .b8 s[{max(size * lanes, 16)}];\n"
    clean(run(body, place, buffer(bits, every), out, block=lanes, before=before))
    return place.array(CODES[bits]), out.array(CODES[bits])


def test_atomic_operations_of_all_types():
    operations = [("and", "b"), ("or", "b"), ("xor", "b"), ("exch", "b"), ("min", "us")]
    operations += [("max", "us"), ("add", "u")]
    texts = [
        (op, f"{kind}{bits}")
        for op, kinds in operations
        for kind, bits in itertools.product(kinds, (32, 64))
    ]
    texts += [("add", "s32"), ("inc", "u32"), ("dec", "u32")]
    pairs = list(itertools.product(NUMBERS, (0, 5, 0x80000001, 0xFFFFFFFF00000000)))[:LANES]
    for (op, name), space in itertools.product(texts, ("global", "shared")):
        bits = of_type(name.replace("b", "u"))[1]
        olds, others = (
            [each & mask(bits) for each in column] for column in zip(*pairs, strict=True)
        )
        found, returned = atomic(f"atom.{op}.{name}", bits, olds, [others], space, op == "min")
        wanted = [applied(op, name, a, b) for a, b in zip(olds, others, strict=True)]
        assert found == wanted, (op, name, space)
        assert returned == olds, (op, name, space)


def test_compare_and_swap():
    for bits, space in itertools.product((16, 32, 64), ("global", "shared")):
        olds = [n & mask(bits) for n in NUMBERS]
        wanted_there = [n & mask(bits) if i % 3 else 77 for i, n in enumerate(NUMBERS)]
        fresh = [1000 + n for n in range(len(NUMBERS))]
        found, returned = atomic(f"atom.cas.b{bits}", bits, olds, [wanted_there, fresh], space)
        assert returned == olds
        changed = [
            new if old == there else old
            for old, there, new in zip(olds, wanted_there, fresh, strict=True)
        ]
        assert found == changed, (bits, space)


def test_128_bits_are_swapped():
    body = """.reg .b128 %x<4>; ld.global.b128 %x0, [%q1]; ld.global.b128 %x1, [%q1+16];
atom.global.{} %x2, [%q0], {}; st.global.b128 [%q0+16], %x2;"""
    there = (1, 2)
    for text, operands, compared, fresh, wanted in (
        ("exch.b128", "%x1", (0, 0), (3, 4), (3, 4)),
        ("cas.b128", "%x0, %x1", there, (3, 4), (3, 4)),
        ("cas.b128", "%x0, %x1", (1, 3), (3, 4), there),
        ("cas.b128", "%x0, %x1", (0, 2), (3, 4), there),
    ):
        out = buffer(64, (*there, 0, 0))
        clean(run(body.format(text, operands), out, buffer(64, compared + fresh), block=1))
        assert out.array("Q") == [*wanted, *there], (text, compared)


HALVES = (0x0001, 0x8001, 0x3C00, 0xBC01, 0x4123, 0xC321, 0x7BFF, 0x0400)
OTHER_HALVES = (0x0003, 0x0001, 0x3C01, 0x3C00, 0xC124, 0xC320, 0x7BFF, 0x83FF)


def of_halves(op, form, a, b):
    if op == "add":
        return exact.add(form, a, b)
    order = [-(each & ~form.sign) if each & form.sign else each for each in (a, b)]
    return a if (order[0] <= order[1]) == (op == "min") else b


def test_atomic_operations_of_halves():
    """Of f16, bf16 and pairs of them: sums, and of vectors the least and the largest, too."""
    for form, pair in itertools.product((exact.F16, exact.BF16), (False, True)):
        bits = 32 if pair else 16
        olds = [a | b << 16 if pair else a for a, b in zip(HALVES, HALVES[::-1], strict=True)]
        others = [
            a | b << 16 if pair else a
            for a, b in zip(OTHER_HALVES, OTHER_HALVES[::-1], strict=True)
        ]

        def result(op, a, b, f=form, n=bits):
            parts = (of_halves(op, f, a >> i & 0xFFFF, b >> i & 0xFFFF) for i in range(0, n, 16))
            return sum(each << 16 * i for i, each in enumerate(parts))

        name = form.name + "x2" * pair
        cases = [(f"atom.add.noftz.{name}", "add", space, 1) for space in ("global", "shared")]
        for op, vector in itertools.product(("add", "min", "max"), (2, 4) if pair else (2, 4, 8)):
            cases.append((f"atom.{op}.noftz.v{vector}.{name}", op, "global", vector))
        for text, op, space, vector in cases:
            found, returned = atomic(text, bits, olds, [others], space, vector=vector)
            wanted = [result(op, a, b) for a, b in zip(olds, others, strict=True)]
            assert found == wanted, (text, space, found, wanted)
            assert returned == olds, (text, space)


def test_sums_of_singles():
    """In global memory subnormal numbers are zero, and so are such sums; not in shared memory."""
    form = exact.F32
    olds = [1, 0x80000001, 0x007FFFFF, 0x00800000, 0x00800001, 0x3F800000, 0x7F800000, 0x7F7FFFFF]
    others = [0, 0x80000000, 0x00000001, 0x80800001, 0x80800000, 0x40000000, 0x3F800000, 0x7F7FFFFF]
    for space, generic in itertools.product(("global", "shared"), (False, True)):
        found, returned = atomic("atom.add.f32", 32, olds, [others], space, generic)
        flushed = form.flush if space == "global" else int
        wanted = [
            flushed(exact.add(form, flushed(a), flushed(b)))
            for a, b in zip(olds, others, strict=True)
        ]
        assert found == wanted, (space, generic, found, wanted)
        assert returned == olds
    for vector in (2, 4):
        found, _ = atomic(f"atom.add.v{vector}.f32", 32, olds, [others], vector=vector)
        assert found == [
            form.flush(exact.add(form, form.flush(a), form.flush(b)))
            for a, b in zip(olds, others, strict=True)
        ]


if __name__ == "__main__":
    sys.exit(bool(main(globals())))
