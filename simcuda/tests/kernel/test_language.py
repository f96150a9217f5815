# SPDX-License-Identifier: BSD-3-Clause
"""What texts mean: words, constants, initial values, declarations, names, calls, linked modules.
What ptxas says of a text is said of it here, too."""

import itertools
import struct
import sys

from engine import Buffer, Module
from small_programs import (
    HEAD,
    clean,
    fault_of,
    main,
    program,
    refused,
    refused_text,
    refused_texts,
    run,
    zeros,
)


def stored(body, count, before="", form="I"):
    """The numbers that one thread stores at %q0."""
    out = Buffer(bytes(count * struct.calcsize(form)))
    clean(run(body, out, before=before, block=1))
    return out.array(form)


def store(*values):
    return "".join(f"st.global.u32 [%q0+{4 * i}], {value};" for i, value in enumerate(values))


def bytes_of(declarations, size):
    """The first bytes of the global variable v."""
    body = "cvt.u64.u32 %q2, %me; mov.u64 %q1, v; add.u64 %q1, %q1, %q2; add.u64 %q2, %q0, %q2;"
    body += "ld.global.u8 %r0, [%q1]; st.global.u8 [%q2], %r0;"
    out = Buffer(bytes(size))
    clean(run(body, out, before=declarations, block=size))
    return out.bytes()


# Words.


def test_comments_and_blanks():
    assert stored('/* a\n"*/ \t\r\n# 1 "x.cu"\n// {\n' + store(3), 1) == [3]
    line = program("HERE").split("\n").index("HERE") + 1
    refused("/* one\ntwo\n*/ nonsense;", f"line {line + 2}:")
    refused("ret; /* without an end", f"line {line}: a comment that begins here does not end")
    head = '.pragma "a \\ b\\";\n.file 1 "a\\b.cu"\n'
    text = program(".loc 1 5 0\ntrap;", before=head)
    assert "a\\b.cu:5" in fault_of(Module(text).run("k", 1, 1, zeros()), "trap")["text"]
    for text in ('"', '"a', '"a\n"'):
        refused_text(HEAD + ".pragma " + text, "line 4: a string that begins here does not end")
    text = program("{ .unheard 5 } trap;", before=".section .debug_str\n\n{\n.b8 1 { }\n}\n")
    fault_of(Module(text).run("k", 1, 1, zeros()), "trap")


def test_unfinished_texts_are_refused():
    text = program("""L: .branchtargets L, M;
brx.idx %r0, L; M: @!%p0 add.u32 %r0, %r1, -1 + (2 * 0x1fU); add.f32 %f0, %f1, -1.5e+2;
mov.f32 %f0, 0f3F800000; ld.shared::cta.u32 %r0, [%r1];
{ .param .b32 a[4]; P: .callprototype (.param .b32 _) _ (.param .b32 _);
call (a), %q1, (a), P; } tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%q0, {%f0, %f1}];
shfl.sync.idx.b32 %r0|%p0, %r1, 3, 31, -1; .pragma "nounroll"; .loc 1 2 3, function_name N + 4
ld.global.u32 %r0, [%q0+4*8];""")
    for size in range(text.index("k("), text.rindex("}")):
        refused_text(text[:size])
    refused_text(HEAD + ".visible .entry k() .unheard 5", "'{' is expected, not the end")
    for text in ("mov.f32 %f0, 0f3F80", "mov.f32 %f0, .5", "ld.shared::", "ld.shared:", "tex.2"):
        refused_text(program("HERE").split("HERE")[0] + text, "line ")
    refused_text("", ".version is expected, not the end of the text")
    refused_text(HEAD + ".file 1 .x", "a file's name is expected")
    refused_text(HEAD + "5", "a directive is expected, not '5'")
    refused_text(HEAD.replace("64\n", "32\n"), "only addresses of 64 bits")


# Constants.

CONSTANTS = {
    "7": 7,
    "010": 8,
    "0x1F": 31,
    "0X1f": 31,
    "0xe+5": 19,
    "0b101": 5,
    "0B101": 5,
    "0": 0,
    "5U": 5,
    "017U": 15,
    "0x1FU": 31,
    "18446744073709551615": -1,
    "WARP_SZ": 32,
    "WARP_SZ * 2": 64,
    "+5": 5,
    "- -5": 5,
    "-~1": 2,
    "!5": 0,
    "!0": 1,
    "!(-1)": 0,
    "(((((7)))))": 7,
    # What binds closer.
    "1 + 2 * 3": 7,
    "(1 + 2) * 3": 9,
    "5 - 3 - 1": 1,
    "1 << 2 + 1": 8,
    "1 | 2 ^ 3 & 4": 3,
    "1 || 0 && 0": 1,
    "1 == 1 == 1": 1,
    "1 < 2 < 3": 1,
    "0 ? 2 : 0 ? 4 : 5": 5,
    "1 ? 0 ? 3 : 4 : 5": 4,
    "-1 < 0 ? 1 : 2": 1,
    # Each operator.
    "7 % 3": 1,
    "7 %(3)": 1,
    "6 & 3": 2,
    "6 | 3": 7,
    "6 ^ 3": 5,
    "2 == 2": 1,
    "2 == 3": 0,
    "2 != 2": 0,
    "2 != 3": 1,
    "1 < 2": 1,
    "2 < 2": 0,
    "2 <= 2": 1,
    "3 <= 2": 0,
    "2 > 1": 1,
    "2 > 2": 0,
    "2 >= 2": 1,
    "2 >= 3": 0,
    "2 && 3": 1,
    "2 && 0": 0,
    "0 && 2": 0,
    "0 || 0": 0,
    "0 || 7": 1,
    "7 || 0": 1,
    "1 << 63": -(2**63),
    # Numbers are signed, unless they are too large for that, or have a U; each operator has a type.
    "-7 / 2": -3,
    "-7 / 2U": (2**64 - 7) // 2,
    "0xFFFFFFFFFFFFFFFF / 2": 2**63 - 1,
    "9223372036854775807 / -1": -(2**63 - 1),
    "9223372036854775808 / -1": 0,
    "-1 < 1": 1,
    "-1 < 1U": 0,
    "-1 <= 1U": 0,
    "-1 > 1U": 1,
    "-1 >= 1U": 1,
    "0xFFFFFFFFFFFFFFFF < 1": 0,
    "-8 >> 1": -4,
    "-8 >> 1U": -4,
    "-8U >> 1": 2**63 - 4,
    "0x8000000000000000 >> 63": 1,
    "-7 % 3": (2**64 - 7) % 3,
    "~1 / 2": 2**63 - 1,
    "(-2U + 1) / 2": 2**63 - 1,
    "(-4 * 1U) / 2": 2**63 - 2,
    "(2 < 1U) - 3 < 0": 1,
    "(.u64) -4 / 2": 2**63 - 2,
    "(.s64) 0xFFFFFFFFFFFFFFFC / 2": -2,
    "(.s64) (4U + 3)": 7,
}


def test_constants():
    got = stored(
        "".join(
            f"mov.u64 %q1, {text}; st.global.u64 [%q0+{8 * i}], %q1;\n"
            for i, text in enumerate(CONSTANTS)
        ),
        len(CONSTANTS),
        form="q",
    )
    for (text, wanted), value in zip(CONSTANTS.items(), got, strict=True):
        assert value == (wanted + 2**63) % 2**64 - 2**63, f"{text} is {value}"
    values = f".global .u64 v[{len(CONSTANTS)}] = {{ {', '.join(CONSTANTS)} }};"
    assert bytes_of(values, 8 * len(CONSTANTS)) == struct.pack(f"<{len(got)}q", *got)


def test_what_is_no_constant():
    for text, words in {
        "1 / 0": "divided by 0",
        "1 % 0": "divided by 0",
        "(.s64) 0x8000000000000000 / -1": "too large",
        "1 +": "a number is expected, not ';'",
        "(1 + 2": "')' is expected",
        "1 ? 2": "':' is expected",
        "(.u32) 5": "a number is expected",
        '"a"': "a number is expected",
        "08": "'08' is no number",
        "0x": "'0x' is no number",
        "0b2": "'0b2' is no number",
        "0x1G": "'0x1G' is no number",
        "12ab": "'12ab' is no number",
        "5UU": "'5UU' is no number",
        "18446744073709551616": "no number of 64 bits",
        "0f123": "it wants 8 digits",
        "0d3FF000000000000": "it wants 16 digits",
        "1.e": "no number",
        "1..2": "no number",
        "1e400": "no number of 64 bits",
        "1e-400": "no number of 64 bits",
        "-0f3F800000": "a number is expected",
        "(" * 100 + "7" + ")" * 100: "nested too deeply",
        "~" * 100 + "7": "nested too deeply",
    }.items():
        refused(f"mov.u64 %q1, {text};", words)
        refused_text(program("", before=f".global .u64 v = {text};"), words)


def test_numbers_as_operands():
    one_and_a_half = 0x3FC00000
    body = ".reg .b32 %x; .reg .pred %no; .reg .f64 %y;"
    numbers = ("1.5", "-1.5", "15e-1", ".15E1", ".15e1", "0D3ff8000000000000", "0F3fc00000")
    for i, number in enumerate(numbers):
        body += f"mov.f32 %f0, {number}; st.global.f32 [%q0+{4 * i}], %f0;"
    body += """mov.b32 %x, 0f3FC00000; st.global.u32 [%q0+28], %x;
mov.f64 %y, -.25; cvt.rn.f32.f64 %f0, %y; st.global.f32 [%q0+32], %f0;
st.global.u8 [%q0+36], 511; mov.b16 %h0, 0x3C00; st.global.b16 [%q0+36+1*2], %h0;
mov.b64 %q1, 1.5; st.global.u64 [%q0+40], %q1; mov.f32 %f0, 1e40; st.global.f32 [%q0+48], %f0;
mov.pred %no, 0; mov.pred %p0, 2; selp.u32 %r0, 10, 20, %p0; selp.u32 %r1, 1, 2, %no;
add.u32 %r0, %r0, %r1; st.global.u32 [%q0+52], %r0;
mov.u32 %r0, 0x1FFFFFFFF; st.global.u32 [%q0+56], %r0; cvt.s32.s8 %r0, 255;
st.global.u32 [%q0+60], %r0; cvt.u32.u8 %r0, 300; st.global.u32 [%q0+64], %r0;"""
    got = stored(body, 17)
    assert got[:8] == [one_and_a_half, one_and_a_half | 1 << 31, *[one_and_a_half] * 6]
    assert got[8:10] == [0xBE800000, 0x3C0000FF]
    assert got[10:] == [0, 0x3FF80000, 0x7F800000, 12, 2**32 - 1, 2**32 - 1, 44]
    for text in ("mov.f32 %f0, 1;", "add.f64 %d0, %d1, 1;", "add.f16 %h0, %h1, 0x3C00;"):
        refused(text, "an integer cannot be of the type .f")
    for text in (
        "mov.u32 %r0, 1.5;",
        "mov.b32 %r0, 1.5;",
        "mov.b64 %q0, 0f3F800000;",
        # PTX says that it becomes one of 64 bits, ptxas takes the bits.
        "mov.f64 %d0, 0f3F800000;",
    ):
        refused(text, "a floating-point number cannot be of the type .")
    refused(".reg .b128 %x; mov.b128 %x, 5;", "a number cannot be of 128 bits")
    refused("mov.u16 %h0, 1.5;", "a floating-point number cannot be of the type .u16")
    refused("mov.pred %p0, 1.5;", "a floating-point number cannot be of the type .pred")


# Initial values.


def test_initial_values():
    one, two = struct.pack("<f", 1.5), struct.pack("<d", 2.5)
    for declaration, wanted in {
        ".f32 v[6] = {1.5, -1.5, 0f3FC00000, 0d3FF8000000000000, -0d3FF8000000000000, .5}": (
            struct.pack("<6f", 1.5, -1.5, 1.5, 1.5, -1.5, 0.5)
        ),
        ".f64 v[5] = {2.5, -2.5, 25e-1, 2.5E+0, 0d4004000000000000}": (
            struct.pack("<5d", 2.5, -2.5, 2.5, 2.5, 2.5)
        ),
        ".f64 v = 2.": struct.pack("<d", 2),
        ".f32 v = 1e40": struct.pack("<I", 0x7F800000),
        ".b32 v[3] = {1.5, 0f3FC00000, 0d3FF8000000000000}": one * 3,
        ".b64 v[2] = {2.5, 7}": two + struct.pack("<q", 7),
        ".s32 v[2] = {-1, 1 - 2}": b"\xff" * 8,
        ".u8 v[4] = {256, -1, 300, 0xFF}": bytes([0, 255, 44, 255]),
        ".b128 v = 5": struct.pack("<2Q", 5, 0),
        ".u32 v[4] = {1, 2}": struct.pack("<4I", 1, 2, 0, 0),
        ".u32 v[2] = {}": bytes(8),
        ".u32 v[2][2] = {{1}, {2, 3}}": struct.pack("<4I", 1, 0, 2, 3),
        ".v2 .u32 v[2] = {{1, 2}, {3, 4}}": struct.pack("<4I", 1, 2, 3, 4),
        ".v4 .u8 v = {1, 2, 3, 4}": bytes([1, 2, 3, 4]),
        ".align 4 .u32 w = 9, v = 3": struct.pack("<I", 3),
        # As many rows as are stated.
        ".u32 v[] = {1, 2, 3}": struct.pack("<3I", 1, 2, 3),
        ".u32 v[][2] = {{1}, {2}}": struct.pack("<4I", 1, 0, 2, 0),
        ".v2 .u16 v[][1][2] = {{{{1, 2}}}}": struct.pack("<4H", 1, 2, 0, 0),
    }.items():
        assert bytes_of(f".visible .global {declaration};", len(wanted)) == wanted, declaration


def test_initial_values_that_are_refused():
    for declaration, words in {
        ".f32 v = 1": "this number is not of the type .f32",
        ".f32 v[2] = {1.5, 1 + 1}": "this number is not of the type .f32",
        ".u32 v = 1.5": "this number is not of the type .u32",
        ".f64 v = 0f3F800000": "this number is not of the type .f64",
        ".b16 v = 1.5": "this number is not of the type .b16",
        ".f16 v = 0x3C00": "no number is of the type .f16",
        ".bf16x2 v = 0": "no number is of the type .bf16x2",
        ".pred v": "a variable cannot be a predicate",
        ".u17 v": "'.u17' is no type",
        ".align 4 v": "a type is expected, not 'v'",
        ".align 3 .u32 v": "power of two",
        ".align 0 .u32 v": "power of two",
        ".align 2048 .u32 v": "up to 1024",
        ".u32 v[2] = {1, 2, 3}": "more initial values than elements",
        ".u32 v[2][2] = {{1}, {2}, {3}}": "more initial values than elements",
        ".u32 v[2][2] = {1, 2}": "'{' is expected, not '1'",
        ".u32 v[2] = {{1}}": "a number is expected, not '{'",
        ".u32 v = {5}": "a number is expected, not '{'",
        ".u32 v[2] = 5": "'{' is expected, not '5'",
        ".u32 v[2] = {1 2}": "'}' is expected",
        ".u32 v[][0] = {{1}}": "an array of no size",
        ".u32 v[1099511627776]": "'v' is too large",
        ".u32 v[1048576][1048576]": "'v' is too large",
        ".u32 v[0][1099511627776][1099511627776]": "'v' is too large",
        ".u32 v" + "[1]" * 17: "'v' is too large",
        ".u8 v[2][536870912] = {{1}, {1}}": "'v' is too large",
        ".u32 v[1": "']' is expected",
    }.items():
        refused_text(program("", before=f".global {declaration};\n"), words)
    refused_text(program("", before=".shared .u32 v = 1;"), "'v' has no initial value here")
    refused_text(program("", before=".extern .global .u32 v = 1;"), "'v' has no initial value here")
    refused(".shared .u32 v = 1;", "'v' has no initial value here")
    refused(".local .u32 v = 1;", "';' is expected")
    for space in ("local", "param"):
        refused_text(HEAD + f".{space} .u32 v;", "belong inside a function")


def test_addresses_as_initial_values():
    before = """.func f() { ret; } .global .align 8 .b8 a[512];
.global .u64 v[6] = {a, a + 8, generic(a) + 256, generic(a), f, WARP_SZ};
.global .u32 generic = 11; .global .u64 w[2] = {generic, generic(generic)};
.global .u8 b[4] = {0xFF(a), 0xff00(a + 256), 0xFF0000(generic(a)), 7};
"""
    body = "mov.u64 %q1, a; mov.u64 %q2, f; st.global.u64 [%q0], %q1; st.global.u64 [%q0+8], %q2;"
    body += "mov.u64 %q3, v; ld.global.u8 %r0, [b]; ld.global.u8 %r1, [b+1];"
    body += "ld.global.u8 %r2, [b+2]; ld.global.u8 %r3, [b+1+2];"
    body += "ld.global.u64 %q4, [w]; ld.global.u64 %q5, [w+8]; setp.ne.u64 %p0, %q4, %q5;"
    body += "@%p0 trap; ld.global.u32 %r4, [%q4]; setp.ne.u32 %p0, %r4, 11; @%p0 trap;"
    for i in range(6):
        body += f"ld.global.u64 %q4, [%q3+{8 * i}]; st.global.u64 [%q0+{16 + 8 * i}], %q4;"
    for i in range(4):
        body += f"st.global.u8 [%q0+{64 + i}], %r{i};"
    got = stored(body, 9, before, "Q")
    a, f = got[:2]
    assert got[2:8] == [a, a + 8, a + 256, a, f, 32]
    parts = [a & 255, (a + 256) >> 8 & 255, a >> 16 & 255, 7]
    assert got[8] == int.from_bytes(bytes(parts), "little")
    for declaration, words in {
        ".f64 v = a": "an address is not of the type .f64",
        ".u16 v = a": "an address is not of the type .u16",
        ".u8 v = 0(a)": "a mask of an address is of one byte",
        ".u8 v = 0xF(a)": "a mask of an address is of one byte",
        ".u16 v = 0xFFFF(a)": "a mask of an address is of one byte",
        ".u8 v = 0xFF0(a)": "a mask of an address is of one byte",
        ".u64 v = nothing": "'nothing' has no address",
        ".u64 v = later; .global .u32 later": "'later' has no address",
        ".u64 v = generic(5)": "a name is expected",
        ".u64 v = generic(a+4)": "')' is expected",
        ".u8 v = 0xFF(a": "')' is expected",
    }.items():
        refused_text(program("", before=f".global .u32 a; .global {declaration};\n"), words)
    refused(".reg .u32 x; .global .u64 v = x;", "'x' has no address")


# Declarations.


def test_declarations():
    before = """.global .attribute(.managed, .unified(19, 95)) .u32 m = 4;
.visible .func .attribute(.unified(0xAB, 0xCD)) other() { ret; }
.extern .global .u32 later; .visible .global .u32 later = 3; .extern .global .u32 later;
.common .global .u32 c = 5; .weak .global .u32 w = 6; .const .u32 constant = 7;
"""
    head = '.maxntid 32, 1 .minnctapersm 2 .pragma "nounroll", "more"; .unheard_of 5 .reqntid 1'
    body = """ld.global.u32 %r0, [later]; ld.global.u32 %r1, [m]; ld.global.u32 %r2, [c];
ld.global.u32 %r3, [w]; ld.const.u32 %r4, [constant]; .global .u32 inside = 8;
ld.global.u32 %r5, [inside]; { .const .u32 inside = 9; ld.const.u32 %r6, [inside]; }
ld.global.u32 %r7, [inside]; .global .u64 table[2] = {inside, w}; ld.global.u64 %q1, [table];
ld.global.u32 %r8, [%q1]; ld.global.u64 %q1, [table+8]; ld.global.u32 %r9, [%q1];"""
    text = program(body + store(*(f"%r{i}" for i in range(10))), before=before, head=head)
    out = zeros(10)
    clean(Module(text.replace("sm_90", "sm_90, texmode_independent, debug")).run("k", 1, 1, out))
    assert out.array("I") == [3, 4, 5, 6, 7, 8, 9, 8, 8, 6], out.array("I")
    for text, words in {
        ".global .u32 x; .global .u32 x;": "'x' is there already",
        ".weak .global .u32 x; .visible .global .u32 x;": "'x' is there already",
        ".common .global .u32 x; .common .global .u32 x;": "'x' is there already",
        ".extern .global .u32 x; .const .u32 x;": "'x' is in global memory already",
        ".extern .const .u32 x; .global .u32 x;": "'x' is in constant memory already",
        ".entry x() .reqntid 1, 1, 1, 1 { ret; }": "a directive is expected, not '1'",
        ".func x() { ret; } .global .u32 x;": "'x' is a function already",
        ".global .u32 x; .func x() { ret; }": "'x' is a variable already",
        ".func x() { ret; } .func x() { ret; }": "'x' is there already",
        ".func x(.param .b32 a); .func x() { ret; }": "declared in another way",
        ".func (.param .b32 a) x(); .func x() { ret; }": "declared in another way",
        ".entry x() { ret; } .func x() { ret; }": "declared in another way",
        ".global .attribute(.managed .u32 x;": "a ')' is missing",
        '.func x() .pragma "a" { ret; }': "';' is expected",
    }.items():
        refused_text(program("", before=text), words)


def test_parameters_of_kernels():
    def of(*parameters, size=0):
        text = f"{HEAD}.visible .entry k({', '.join(parameters)}) {{ ret; }}"
        kernel = Module(text).about["kernels"]["k"]
        return [tuple(each[1:]) for each in kernel["parameters"]]

    assert of(
        ".param .u8 a",
        ".param .u32 b[2]",
        ".param .align 16 .b8 c[3]",
        ".param .u64 .ptr d",
        ".param .u64 .ptr .global .align 64 e",
        ".param .u64 .ptr .shared f",
    ) == [(0, 1), (4, 8), (16, 3), (24, 8), (32, 8), (40, 8)]
    assert of(".param .b8 a[32760]", ".param .u32 b") == [(0, 32760), (32760, 4)]
    for parameters in (".param .b8 a[32760], .param .u64 b", ".param .b8 a[32765]"):
        refused_text(f"{HEAD}.entry k({parameters}) {{ ret; }}", "at most 32764 bytes")
    refused_text(HEAD + ".entry k(.reg .u32 a) { ret; }", "'a' cannot be a register")
    refused_text(HEAD + ".entry k(.u32 a) { ret; }", ".param is expected, not '.u32'")
    refused_text(HEAD + ".entry k(.param .u32 a .param .u32 b) { ret; }", "')' is expected")
    for formal in (".reg .v2 .u32 a", ".reg .u32 a[2]"):
        refused_text(HEAD + f".func f({formal}) {{ ret; }}", "'a' cannot be a register")
    refused_text(HEAD + ".func f(.param .b8 a[1048577]) { ret; }", "a parameter is too large")
    refused(".local .b8 x[16777217];", "'x' is too large")
    Module(program("", head=".reqnctapercluster 1, 1, 1"))
    for cluster in ("2", "1, 2", "1, 1, 2"):
        refused_text(program("", head=f".reqnctapercluster {cluster}"), "clusters are not executed")


# Names.


def test_registers():
    body = """.reg .v4 .u32 v, n<12>; .reg .u32 one, few<3>, %x0y; .reg .v2 .f32 f;
mov.u32 v.x, 1; mov.u32 v.y, 2; mov.u32 v.b, 3; mov.u32 v.a, 4; mov.u32 %r0, v.r;
mov.u32 %r1, v.g; mov.u32 n11.w, 7; mov.u32 n2.w, 6; mov.u32 few2, 5; mov.u32 %x0y, 8;
{ .reg .u64 few2; mov.u64 few2, 9; .reg .u32 %r<2>; mov.u32 %r1, 10; }
st.global.v4.u32 [%q0], v; mov.f32 f.x, 0f00000000; mov.f32 f.y, 0f3F800000;
mov.b64 %q1, f; st.global.u64 [%q0+16], %q1;"""
    got = stored(body + store("%r0", "%r1").replace("q0+", "q0+24+"), 8)
    assert got == [1, 2, 3, 4, 0, 0x3F800000, 1, 2]
    assert stored(body + store("n11.w", "n2.w", "few2", "%x0y"), 6)[:4] == [7, 6, 5, 8]
    refused(".reg .v2 .u32 v; mov.u32 v.w, 1;", "'v' has no such component")
    refused(".reg .u32 x<3>; mov.u32 x3, 1;", "'x3' is not known")
    refused(".reg .u32 x; .reg .u32 x;", "'x' is there already")
    refused(".reg .u32 x<2>; .reg .u32 x<3>;", "'x' is there already")
    refused(".reg .v8 .u32 v;", "'.v8' is no type")
    many = ", ".join(f"x{i}" for i in range(1 << 16))
    refused(f".reg .v4 .u32 {many};", "a function has at most 262144 registers")


def test_labels():
    body = """mov.u32 %r0, 1; { bra L; M: add.u32 %r0, %r0, 10; bra N; } L: add.u32 %r0, %r0, 2;
{ L: add.u32 %r0, %r0, 4; setp.lt.u32 %p0, %r0, 20; @%p0 bra L; }
mov.u32 %r1, 1; T: .branchtargets A, N; brx.idx.uni %r1, T; A: mov.u32 %r0, 0;
N: { .shared .u32 N; bra.uni END; } END: ret.uni; """
    assert stored(body.replace("ret.uni;", store("%r0") + "exit;"), 1) == [23]
    refused("{ L: ret; } bra L;", "'L' is not known")
    refused("{ .reg .u32 x; bra x; } x: ret;", "a label is expected")
    refused("{ .shared .u32 x; bra x; } x: ret;", "a label is expected")
    refused("bra x; .reg .u32 x; mov.u32 x, 1;", "'x' is not known")
    refused("L: ret; L: ret;", "'L' is there already")
    refused("T: .branchtargets A; bra T; A: ret;", "a label is expected")
    refused("L: T: .branchtargets L; brx.idx %r0, L;", "a list of labels is expected")
    refused("brx.idx %r0, %r1;", "a list of labels is expected")
    refused("brx.idx %r0, T; T: .branchtargets A; A: ret;", "'T' is not known")
    refused("bra %r0;", "a label is expected")
    refused("mov.u32 %r0, L; L: ret;", "of a kind that does not fit here")


def test_source_lines_of_inlined_functions():
    body = """.loc 1 3 7, function_name INFO + 8, inlined_at 1 9 2
trap;"""
    before = '.file 1 "a.cu", 1700000000, 300\n'
    fault = fault_of(run(body, zeros(), before=before), "trap")
    assert (fault["place"]["file"], fault["place"]["line"]) == ("a.cu", 3)
    refused(".loc 1 2\nret;", "a column is expected")
    refused(".loc 1 2 3, nonsense 4\nret;", "'nonsense' is not known after .loc")


OPERANDS = {
    "ld.global.u32 %r0, [%r1, {%r2}];": "an address has no coordinates",
    "ld.global.u32 %r0, [%tid.x];": "'%tid.x' is no address",
    "ld.global.u32 %r0, [_];": "'' is no address",
    "ld.global.u32 %r0, [L]; L: ret;": "'L' is no address",
    ".reg .v2 .u64 v; ld.global.u32 %r0, [v];": "'v' is no address",
    "ld.global.u32 %r0, [%h1];": "an address has 32 or 64 bits",
    "ld.global.u32 %r0, %q1;": "an address in brackets is expected",
    "ld.global.u32 %r0, [%q1-4];": "']' is expected",
    "ld.global.u32 %r0, [p0];": "a parameter lies in parameter memory",
    ".local .u32 x; ld.global.u32 %r0, [x];": "'x' lies in local memory",
    "tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%q0, {%r0}, %r1, %r2];": "too much in the brackets",
    "add.u32 %r0, !%r1, 1;": "only a predicate can be negated",
    "mov.u32 !%r0, 1;": "the result must go to a register",
    "mov.u32 5, 1;": "the result must go to a register",
    "mov.u64 %r0, 1;": "'%r0' has 32 bits, and 64 are expected",
    "mov.u32 %r0, %nothing;": "'%nothing' is not known",
    "mov.u32 %r0, %envreg32;": "'%envreg32' is not known",
    "mov.u32 %r0, {%r1;": "'}' is expected",
    "mov.u32 %r0 %r1;": "';' is expected",
    "mov.u32 %r0, %r1.q;": "';' is expected",
    "ld.param.u32 %r0, [p0.x];": "'p0.x' is no address",
    "ld.global.u32 %r0, [k];": "this is no address",
    "ld.shared:: .u32 %r0, [%r1];": "a number is expected, not ':'",
    "mov.u32 %r0, .x;": "a number is expected",
    "mov.f32 %f0, !1.5;": "a number is expected",
    "shfl.sync.idx.b32 %r0|5, %r1, 1, 31, -1;": "a predicate is expected",
    "shfl.sync.idx.b32 %r0|%tid, %r1, 1, 31, -1;": "a register is expected behind '|'",
    "shfl.sync.idx.b32 %r0|%r2, %r1, 1, 31, -1;": "32 bits, and 1 are expected",
    "elect.sync _|%tid, -1;": "a register is expected behind '|'",
    "add.u32 %r0, " + ", ".join(["%r0"] * 16) + ";": "too many operands",
    "st.global.u32 [%q0], %h0;": "at least 32 are expected",
    "ld.global.u32 %h0, [%q0];": "at least 32 are expected",
    "cvt.u32.u32 %r0, %nothing;": "'%nothing' is not known",
    "cvt.u32.u64 %r0, %tid.x;": "'%tid.x' has too few bits",
    "mov.u16 %h0, k;": "32 or 64 bits",
    "@5 ret;": "a predicate is expected",
    "@%r0 ret;": "must be a predicate",
    "@%tid.x ret;": "must be a predicate",
    "ld.global.u32 %r0;": "it takes 2 operands, not 1",
    "5;": "an instruction is expected",
    "activemask %r0;": "a type is missing",
    "setp %p0, %r1, %r2;": "a modifier is missing",
    "bra;": "1 operands, not 0",
    "setp.eq.u32 %p0, %r1;": "an operand is missing",
}


def test_operands_that_do_not_fit():
    for text, words in OPERANDS.items():
        refused(text, words)


# Calls.

CALLED = """.func (.reg .u32 r) low(.reg .u64 a, .reg .u32 b) { .reg .u32 t; cvt.u32.u64 t, a;
add.u32 r, t, b; }
.func (.reg .u64 r) wide(.reg .u32 a) { cvt.u64.u32 r, a; }
.func nothing() { }
.func (.reg .u32 r) counts(.reg .u64 a) { atom.global.add.u32 r, [a], 1; }
.func (.param .u32 r) in_memory(.param .u32 a, .param .u64 b) { .reg .u32 s; .reg .u64 t;
ld.param.u32 s, [a]; ld.param.u64 t, [b]; cvt.u32.u64 s, t; ld.param.u32 s, [a];
st.param.u32 [r], s; }
"""


def test_arguments_in_registers():
    body = """mov.u64 %q1, 7; mov.u32 %r1, 1000; call (%r2), low, (%q1, 30);
call (%q2), wide, (%r1); cvt.u32.u64 %r3, %q2; call (%r4), in_memory, (%r1, %q1);
{ .param .u64 a; .param .u32 b; .param .u32 r; st.param.u64 [a], 5; st.param.u32 [b], 6;
call (r), low, (a, b); ld.param.u32 %r5, [r]; }
mov.u64 %q3, low; P: .callprototype (.reg .u32 _) _ (.reg .u64 _, .reg .u32 _);
call (%r6), %q3, (%q1, 40), P; mov.u64 %q3, wide; Q: .calltargets wide;
call (%q2), %q3, (%r1), Q; cvt.u32.u64 %r7, %q2; call nothing, ();
st.global.u32 [%q0], 9; call (%r8), counts, (%q0);"""
    got = stored(body + store(*(f"%r{i}" for i in range(2, 9))), 7, CALLED)
    assert got == [37, 1000, 1000, 11, 47, 1000, 9]
    for text, words in {
        "call low, (%q1, 5);": "the function has 1 results, not 0",
        "call (%r1), low, (%q1);": "the function has 2 parameters, not 1",
        "call (%r1), low;": "the function has 2 parameters, not 0",
        "call (%r1), low, (%r1, 5);": "'%r1' has 32 bits, and 64 are expected",
        "call (5), low, (%q1, 5);": "the result must go to a register",
        "{ .param .u16 a; call (%r1), low, (a, 5); }": "'a' is smaller than the parameter",
        "call (%r1), k, (%q1);": "a kernel cannot be called",
        "call (%r1 low, (%q1, 5);": "')' is expected",
        "call (%r1), low, (%q1;": "')' is expected",
        "call.nonsense (%r1), low, (%q1, 5);": ".nonsense is not supported here",
        "call narrow, (%h1);": "a register cannot hold this parameter",
    }.items():
        before = CALLED + ".func narrow(.reg .u16 a) { ret; }"
        refused_text(program(text, before=before), words)


def test_pointers_to_functions():
    call = "P: .callprototype _ ();\n"
    before = CALLED + ".extern .func nowhere();\n.visible .entry other() { ret; }\n"

    def through(pointer, arguments="call %q1, P;"):
        body = f"mov.u64 %q1, {pointer}; {call}{arguments}"
        return fault_of(run(body, zeros(), before=before), "invalid_pc")["text"]

    first = 5 << 56  # where the addresses of functions begin
    for pointer in ("12345", f"{first}", f"{first + 8}", f"{first + 16 * 100}", "other"):
        assert "No function lies there." in through(pointer), pointer
    assert "No module defines the function 'nowhere'." in through("nowhere")
    body = "call nowhere;"
    fault = fault_of(run(body, zeros(), before=before), "invalid_pc")
    assert "No module defines the function 'nowhere'." in fault["text"]
    other = "takes other parameters than the call passes"
    assert other in through("wide")
    assert other in through("wide", "call (%q2), %q1, (%q3), P;")
    assert other in through("wide", "call (%r2), %q1, (%r3), P;")
    assert other in through("wide", "{ .param .b8 a[2]; call (%q2), %q1, (a), P; }")
    assert other in through("wide", "call (%q2), %q1, (%r3, %r3), P;")
    refused("P: .callprototype _ (.reg .u16 _); call %q1, (%h0), P;", "cannot hold this parameter")


def test_pointers_in_called_functions():
    """Functions that are only reached by pointers, from a function that is, may use memory, too."""
    before = """.shared .u32 s; .func g() { st.shared.u32 [s], 5; }
.global .u64 table[1] = {g};
.func f() { .reg .u64 %p; ld.global.u64 %p, [table]; P: .callprototype _ (); call %p, P; }
"""
    body = "mov.u64 %q1, f; P: .callprototype _ (); call %q1, P; ld.shared.u32 %r0, [s];"
    assert stored(body + store("%r0"), 1, before) == [5]
    assert Module(program(body, before=before)).about["kernels"]["k"]["shared"] == 4


def test_local_memory_of_nested_calls():
    names = [f"f{i}" for i in range(300)]
    before = ".func f0() { .local .align 16 .b8 x[16]; }\n"
    for callee, name in itertools.pairwise(names):
        before += f".func {name}() {{ .local .align 16 .b8 x[16]; call {callee}; }}\n"
    text = program(f".local .align 16 .b8 x[32]; call f0; call {names[-1]};", before=before)
    assert Module(text).about["kernels"]["k"]["local"] == 32 + 16 * 300


def test_calls_are_nested_2000_deep():
    before = ".func f0() { }\n"
    before += "".join(f".func f{i}() {{ call f{i - 1}; }}\n" for i in range(1, 2100))
    clean(run("call f1999;", zeros(), block=1, before=before))
    fault = fault_of(run("call f2000;", zeros(), block=1, before=before), "stack_overflow")
    assert "Calls are nested 2000 deep." in fault["text"]
    fault_of(run("call f2099;", zeros(), block=1, before=before), "stack_overflow")


def test_addresses_of_parameters():
    body = """mov.b64 %q1, p0; ld.param.u64 %q2, [%q1]; cvta.param.u64 %q3, %q1; ld.u64 %q4, [%q3];
st.global.u32 [%q2], 3; st.global.u32 [%q4+4], 4;"""
    assert stored(body, 2) == [3, 4]
    fault = fault_of(run("mov.u64 %q1, 16; ld.global.u32 %r0, [%q1];", zeros()), "illegal_address")
    assert "reads 4 bytes at address 0x10" in fault["text"]
    # Of a variable that no module defines, too.
    unresolved = ".extern .global .u32 x;"
    fault_of(run("ld.global.u32 %r0, [x];", zeros(), before=unresolved), "illegal_address")
    fault = fault_of(run("mov.u64 %q1, 16; ld.const.u32 %r0, [%q1];", zeros()), "illegal_address")
    assert "reads 4 bytes at address 0x10" in fault["text"]


def test_ret_and_exit_in_a_function():
    """ret goes on behind the call, exit ends the thread; the end of a function is a ret."""
    before = """.func f(.reg .u32 a) { .reg .pred p; setp.lt.u32 p, a, 8; @p exit;
setp.lt.u32 p, a, 16; @p ret; }
"""
    out = zeros(32)
    body = "call f, (%me); mad.wide.u32 %q1, %me, 4, %q0; st.global.u32 [%q1], 1;"
    clean(run(body, out, before=before))
    assert out.array("I") == [0] * 8 + [1] * 24


def test_aliases():
    before = """.func (.param .u32 r) f(.param .u32 a) { .reg .u32 s; ld.param.u32 s, [a];
add.u32 s, s, 1; st.param.u32 [r], s; }
.visible .func (.param .u32 r) g(.param .u32 a); .alias g, f;
.func (.param .u32 r) h(.param .u32 a); .alias h, g;
.func early(); .func late(); .alias early, late; .func late() { ret; }
"""
    body = "call early; call (%r1), g, (4); call (%r2), h, (%r1); mov.u64 %q1, g;"
    body += "P: .callprototype (.param .u32 _) _ (.param .u32 _); call (%r3), %q1, (7), P;"
    assert stored(body + store("%r1", "%r2", "%r3"), 3, before) == [5, 6, 8]
    module = Module(program("", before=before))
    assert not module.about["unresolved"]
    # Another module may call it, and jumps to it by a table.
    user = """.extern .func (.param .u32 r) g(.param .u32 a); .global .u64 table[1] = {g};
.visible .entry j(.param .u64 p) { .reg .u64 %q<3>; .reg .u32 %r<3>; ld.param.u64 %q0, [p];
call (%r0), g, (1); ld.global.u64 %q1, [table]; P: .callprototype (.param .u32 _) _ (.param .u32 _);
call (%r1), %q1, (%r0), P; st.global.v2.u32 [%q0], {%r0, %r1}; }"""
    out = zeros(2)
    for texts in (
        (HEAD + user, program("", before=before)),
        (program("", before=before), HEAD + user),
    ):
        clean(Module(*texts).run("j", 1, 1, out))
        assert out.array("I") == [2, 3]
    for text, words in {
        ".func f() { ret; } .alias g, f;": "'g' is no function",
        ".func f() { ret; } .global .u32 g; .alias g, f;": "'g' is no function",
        ".func g(); .global .u32 f; .alias g, f;": "'f' is no function",
        ".func g(); .alias g, f;": "'f' is no function",
        ".func g(); .func f(); .alias g, f;": "'g' cannot stand for 'f'",
        ".func g() { ret; } .func f() { ret; } .alias g, f;": "'g' is there already",
        ".func g(.param .u32 a); .func f() { ret; } .alias g, f;": "'g' cannot stand for 'f'",
        ".entry f() { ret; } .func g(); .alias g, f;": "'g' cannot stand for 'f'",
    }.items():
        refused_text(HEAD + text, words)


# Instructions that change no number.


def test_fences_and_hints():
    texts = """membar.cta; membar.gl; membar.sys; fence.sc.cta; fence.acq_rel.gpu; fence.sc.sys;
fence.acq_rel.cluster; fence.acquire.gpu; fence.release.gpu; fence.gpu; fence.proxy.alias;
fence.proxy.async; fence.proxy.async.global; fence.mbarrier_init.release.cluster;
fence.acquire.sync_restrict::shared::cluster.cluster; fence.proxy.tensormap::generic.release.gpu;
fence.proxy.tensormap::generic.acquire.gpu [%q0], 128; pmevent 7; pmevent.mask 3;
setmaxnreg.inc.sync.aligned.u32 64; griddepcontrol.launch_dependents; griddepcontrol.wait;
mov.u32 %r0, 3; nanosleep.u32 %r0; nanosleep.u32 100;"""
    assert stored(texts + store("%r0"), 1) == [3]
    refused("fence.acq_rel.gpu 5;", "it takes 0 operands, not 1")
    refused("fence.gpu.nonsense;", ".nonsense is not supported here")
    refused("nanosleep.b32 %r0;", "not with the type .b32")
    refused("nanosleep.u32;", "it takes 1 operands, not 0")
    refused("ret 5;", "it takes 0 operands, not 1")
    refused("trap 5;", "it takes 0 operands, not 1")


def test_special_registers_of_one_block():
    registers = {
        "%smid": 0,
        "%nsmid": 1,
        "%nwarpid": 1,
        "%envreg0": 0,
        "%envreg9": 0,
        "%envreg31": 0,
        "%cluster_ctarank": 0,
        "%cluster_nctarank": 1,
        "%cluster_ctaid.z": 0,
        "%cluster_nctaid.x": 1,
        "%clusterid.x": 0,
        "%nclusterid.y": 1,
        "%total_smem_size": None,
        "%dynamic_smem_size": 0,
    }
    text = "".join(f"mov.u32 %r0, {each}; {store('%r0')}" for each in registers)
    for i in range(len(registers)):
        text = text.replace("[%q0+0]", f"[%q0 + {4 * i}]", 1)
    text += "mov.pred %p0, %is_explicit_cluster; @!%p0 bra END; trap; END: mov.u64 %q1, %gridid;"
    text += "cvt.u32.u64 %r0, %q1; mov.u32 %r1, %gridid; setp.ne.u32 %p0, %r0, %r1; @%p0 trap;"
    text += "cvt.u64.u32 %q1, %ntid.x; cvt.u32.u64 %r0, %q1; st.global.u32 [%q0+48], %r0;"
    got = stored(text, len(registers))
    for value, (name, wanted) in zip(got, registers.items(), strict=True):
        assert name == "%total_smem_size" or value == wanted, name
    assert got[12] == 1


# Modules.


def linked(*texts, kernel="k"):
    """What the kernel stores."""
    out = zeros(4)
    clean(Module(*(HEAD + text for text in texts)).run(kernel, 1, 1, out))
    return out.array("I")


MAIN = """.visible .entry k(.param .u64 p) { .reg .u64 %q<4>; .reg .u32 %r<4>;
ld.param.u64 %q0, [p]; """


def test_linked_functions():
    def returns(linkage, number):
        return f""".global .u32 own = {number}; {linkage} .func (.param .u32 r) f() {{ .reg .u32 %s;
ld.global.u32 %s, [own]; st.param.u32 [r], %s; }}
"""

    calls = MAIN + "call (%r0), f; st.global.u32 [%q0], %r0; }"
    extern = ".extern .func (.param .u32 r) f();\n"
    visible, weak = returns(".visible", 5), returns(".weak", 6)
    assert linked(extern + calls, visible)[0] == 5
    # A definition that is not weak goes first, then the first weak one.
    assert linked(weak + calls, visible)[0] == 5
    assert linked(visible + calls, weak)[0] == 5
    assert linked(weak + calls, returns(".weak", 7))[0] == 6
    assert linked(extern + calls, returns(".weak", 7), weak)[0] == 7
    assert linked(extern + calls, weak, visible)[0] == 5
    # Without .visible a declaration, and a kernel, are known all the same.
    assert linked(extern[len(".extern") :] + calls.replace(".visible", ""), visible)[0] == 5
    # What is internal stays in its module.
    internal = returns("", 8)
    assert linked(internal + calls, visible)[0] == 8
    assert linked(visible + calls, internal)[0] == 5
    for texts, words in (
        ((visible + calls, returns(".visible", 7)), "'f' is defined in two modules"),
        ((calls + visible, MAIN + "}"), "'f' is not known"),
        ((visible + MAIN + "}", MAIN + "}"), "'k' is defined in two modules"),
        (
            (extern + calls, ".visible .func f() { ret; }"),
            "declared in another way in another module",
        ),
        ((extern + calls, ".visible .entry f() { ret; }"), "declared in another way"),
        (
            (extern + calls, ".visible .func (.param .u32 r) f(.param .u32 a) { ret; }"),
            "another way",
        ),
    ):
        refused_texts([HEAD + text for text in texts], words)


def test_linked_variables():
    reads = MAIN + "ld.global.u32 %r0, [x]; st.global.u32 [%q0], %r0; }"
    common, weak = ".common .global .u32 x;\n", ".weak .global .u32 x = 6;\n"
    visible = ".visible .global .u32 x = 5;\n"
    assert linked(".extern .global .u32 x;" + reads, visible)[0] == 5
    assert linked(common + reads, visible)[0] == 5
    assert linked(visible + reads, common)[0] == 5
    assert linked(weak + reads, visible)[0] == 5
    assert linked(common + reads, common)[0] == 0
    assert linked(weak + reads, ".weak .global .u32 x = 7;")[0] == 6
    internal = ".global .u32 x = 8; .global .u64 table[1] = {x};\n"
    reads_by_table = (
        MAIN + "ld.global.u64 %q1, [table]; " + reads[len(MAIN) :].replace("x]", "%q1]")
    )
    for texts in ((internal + reads, visible), (internal + reads_by_table, visible)):
        assert linked(*texts)[0] == linked(*reversed(texts))[0] == 8
    visible_table = visible + ".visible .global .u64 t[1] = {x};\n"
    reads_t = ".extern .global .u64 t[1]; " + reads_by_table.replace("table", "t")
    assert linked(internal + reads_t, visible_table)[0] == 5
    inside = MAIN.replace("k(", "{}(") + ".global .u32 x = {}; ld.global.u32 %r0, [x];"
    inside = inside.replace("{ .reg", "{{ .reg") + " st.global.u32 [%q0], %r0; }}"
    for kernel, number in (("k", 11), ("j", 12), ("i", 13)):
        texts = inside.format("k", 11) + inside.format("j", 12), inside.format("i", 13)
        assert linked(*texts, kernel=kernel)[0] == number
    again = ".visible .global .u32 x = 9;"
    refused_texts([HEAD + visible + reads, HEAD + again], "'x' is defined in two modules")


def test_linked_files_and_shared_memory():
    """Each module has its own numbers of files, and its own name for the dynamic memory."""
    other = '.file 1 "other.cu"\n.visible .func f() {\n.loc 1 20 0\ntrap; }'
    mine = '.file 1 "mine.cu"\n.extern .func f();\n' + MAIN + "\n.loc 1 10 0\ncall f; }"
    for texts in ((mine, other), (other, mine)):
        module = Module(*(HEAD + text for text in texts))
        fault = fault_of(module.run("k", 1, 1, zeros()), "trap")
        assert (fault["place"]["file"], fault["place"]["line"]) == ("other.cu", 20)
    stated = ".shared .u32 x;\n"
    sets = f".visible {stated} .visible .func f() {{ st.shared.u32 [x], 66; ret; }}"
    gets = f".extern {stated} .extern .func f();\n" + MAIN
    gets += "call f; ld.shared.u32 %r0, [x]; st.global.u32 [%q0], %r0; }"
    assert linked(gets, sets)[0] == linked(sets, gets)[0] == 66
    dynamic = ".extern .shared .align 4 .b8 d[];\n"
    sets = dynamic + ".visible .func f() { st.shared.u32 [d], 77; ret; }"
    gets = dynamic + ".extern .func f();\n" + MAIN
    gets += "call f; ld.shared.u32 %r0, [d]; st.global.u32 [%q0], %r0; }"
    out = zeros(1)
    clean(Module(HEAD + gets, HEAD + sets).run("k", 1, 1, out, shared=16))
    assert out.array("I") == [77]


if __name__ == "__main__":
    sys.exit(bool(main(globals())))
