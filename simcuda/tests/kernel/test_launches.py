# SPDX-License-Identifier: BSD-3-Clause
"""How launches end, what they have used, and parts of the language."""

import struct
import sys

from engine import Buffer, Module, Refused
from small_programs import (
    HEAD,
    MINE,
    clean,
    fault_of,
    main,
    one_finding,
    program,
    refused_text,
    run,
    zeros,
)

# How launches end.


def test_endless_loops_are_stopped():
    fault = fault_of(run("AGAIN: bra AGAIN;", zeros(), limit=100_000), "limit")
    assert "bra" in fault["text"]


def test_too_much_local_memory():
    """Local memory of a function and its callee, neither of which has too much alone."""
    before = ".func f() { .local .b8 big[300000]; .reg .b64 %q<1>; mov.u64 %q0, big; ret; }\n"
    body = ".local .b8 big[300000]; mov.u64 %q2, big; st.local.u32 [%q2], 1; call f;"
    fault = fault_of(run(body, zeros(), grid=3, before=before), "stack_overflow")
    assert fault["thread"] == [0] * 6
    assert fault["place"]["function"] == "k"


def test_launches_that_are_refused():
    def refused(words, grid=1, block=1, argument=bytes(8), **options):
        why = "it runs"
        try:
            Module(program("")).run("k", grid, block, argument, **options)
        except Refused as refusal:
            why = str(refusal)
        assert words in why, why

    refused("at least one block of one thread", grid=(1, 0, 1))
    refused("at least one block of one thread", block=(1, 1, 0))
    refused("at most 1024 threads", block=(32, 32, 2))
    refused("at most 1024 threads", block=(1 << 31, 2, 1))
    refused("takes 8 bytes of parameters, not 16", argument=bytes(16))
    refused("has not so much shared memory", shared=(1 << 24) + 1)
    refused("a cooperative launch has at most 8192 blocks", grid=8193, cooperative=True)
    clean(Module(program("")).run("k", 8192, 1, bytes(8), cooperative=True))


def test_a_limit_at_the_very_end():
    """All have ended when it is noticed, and there is no next instruction."""
    outcome = Module(HEAD + ".visible .entry k() { }").run("k", 1, 32, limit=1)
    fault = fault_of(outcome, "limit")
    assert fault["place"]["function"] == "k"
    assert not fault["place"]["instruction"]


def test_trap_and_assertion():
    fault_of(run("setp.eq.u32 %p0, %me, 3; @%p0 trap;", zeros()), "trap")
    before = """.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c,
.param .b64 d,
.param .b64 e);
.global .align 1 .b8 what[6] = {120, 32, 62, 32, 48, 0};
.global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};
.global .align 1 .b8 name[2] = {107, 0};"""
    body = """setp.ne.u32 %p0, %me, 5; @%p0 bra END;
{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
mov.u64 %q1, what; cvta.global.u64 %q1, %q1; st.param.b64 [a], %q1;
mov.u64 %q1, file; st.param.b64 [b], %q1; st.param.b32 [c], 12;
mov.u64 %q1, name; st.param.b64 [d], %q1; st.param.b64 [e], 1;
call __assertfail, (a, b, c, d, e); }
END:"""
    outcome = run(body, zeros(), before=before)
    fault_of(outcome, "assertion")
    assert (
        outcome["printed"]
        == "a.cu:12: k: block: [0,0,0], thread: [5,0,0] Assertion `x > 0` failed.\n"
    )


def test_calls_through_bad_pointers():
    prototype = "mov.u64 %q1, {}; P: .callprototype _ ();\ncall %q1, P;"
    fault_of(run(prototype.format("12345"), zeros()), "invalid_pc")
    before = ".func f() { ret; }\n.func g(.param .b32 x) { ret; }\n"
    clean(run(prototype.format("f"), zeros(), before=before))
    fault_of(run(prototype.format("g"), zeros(), before=before), "invalid_pc")
    fault_of(
        run("mov.u32 %r0, 9; T: .branchtargets A, B;\nbrx.idx %r0, T; A: B:", zeros()), "invalid_pc"
    )


# With the argument that is in %r0.
FACTORIAL = """.func (.param .b32 r) f(.param .b32 n) {
.reg .b32 %a<4>; .reg .pred %p; ld.param.u32 %a0, [n]; setp.eq.u32 %p, %a0, 0; mov.u32 %a1, 1;
@%p bra END; sub.u32 %a2, %a0, 1;
{ .param .b32 x; .param .b32 y; st.param.b32 [x], %a2; call (y), f, (x); ld.param.b32 %a1, [y]; }
mul.lo.u32 %a1, %a1, %a0;
END: st.param.b32 [r], %a1; ret; }"""
CALL_FACTORIAL = (
    MINE
    + """{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r0; call (y), f, (x);
ld.param.b32 %r1, [y]; } st.global.u32 [%q5], %r1;"""
)


def test_recursion():
    out = zeros(32)
    clean(run("rem.u32 %r0, %me, 8;" + CALL_FACTORIAL, out, before=FACTORIAL))
    assert out.array("I")[:9] == [1, 1, 2, 6, 24, 120, 720, 5040, 1]


def test_recursion_without_end():
    outcome = run("mov.u32 %r0, 1000000;" + CALL_FACTORIAL, zeros(32), before=FACTORIAL)
    fault_of(outcome, "stack_overflow")


# Threads that wait for each other without a barrier must get on.


def test_lanes_that_wait_for_each_other():
    lock = (
        MINE
        + """TAKE: atom.global.cas.b32 %r0, [%q1], 0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra TAKE;
ld.volatile.global.u32 %r1, [%q0]; add.u32 %r1, %r1, 1; st.volatile.global.u32 [%q0], %r1;
membar.gl;
atom.global.exch.b32 %r0, [%q1], 0;"""
    )
    out = zeros()
    clean(run(lock, out, zeros(), block=64, grid=2))
    assert out.array("I")[0] == 128
    wait = """setp.eq.u32 %p0, %me, 0; @%p0 bra LAST;
WAIT: ld.volatile.global.u32 %r0, [%q0]; setp.eq.u32 %p1, %r0, 0; @%p1 bra WAIT; bra END;
LAST: st.volatile.global.u32 [%q0], 1;
END:"""
    clean(run(wait, zeros(), block=64))


def test_blocks_that_wait_for_each_other():
    wait = """setp.ne.u32 %p0, %block, 0; @%p0 bra TELL;
WAIT: ld.acquire.gpu.global.u32 %r0, [%q0]; setp.lt.u32 %p1, %r0, 3; @%p1 bra WAIT; bra END;
TELL: atom.add.release.gpu.global.u32 %r0, [%q0], 1;
END:"""
    clean(
        run(
            wait.replace("atom.add.release.gpu.global.u32", "atom.release.gpu.global.add.u32"),
            zeros(),
            block=1,
            grid=4,
            limit=1_000_000_000,
        )
    )


def test_no_more_than_some_blocks_at_once():
    """Each is there and waits, and the first goes on waiting after there are as many as can be."""
    body = """atom.global.add.u32 %r0, [%q0], 1; setp.ne.u32 %p0, %block, 0; mov.u32 %r1, 0;
WAIT: ld.acquire.gpu.global.u32 %r0, [%q0+4]; setp.ne.u32 %p1, %r0, 0; @%p1 bra END;
@%p0 bra WAIT; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 600000; @%p1 bra WAIT;
ld.relaxed.gpu.global.u32 %r2, [%q0]; st.global.u32 [%q0+8], %r2;
st.release.gpu.global.u32 [%q0+4], 1;
END:"""
    out = zeros(3)
    clean(run(body, out, grid=40, block=1, races=False))
    assert out.array("I") == [40, 1, 16]


def test_lanes_that_wait_without_asking_often():
    """By plain loads, which do not say that others are waited for: they go on in turns."""
    body = """.shared .align 4 .b8 s[4]; setp.ne.u32 %p0, %me, 0; @!%p0 st.shared.u32 [s], 0;
bar.warp.sync 3; @%p0 bra LAST;
WAIT: ld.shared.u32 %r0, [s]; setp.eq.u32 %p1, %r0, 0; @%p1 bra WAIT; bra END;
LAST: st.shared.u32 [s], 1;
END:"""
    clean(run(body, zeros(), block=2, races=False))


def test_grid_barrier():
    """As cooperative groups do it: each block counts itself, and waits for all."""
    body = (
        MINE
        + """mad.lo.u32 %r7, %block, 32, %me; mad.wide.u32 %q6, %r7, 4, %q0;
st.global.u32 [%q6], %r7; bar.sync 0; setp.ne.u32 %p0, %me, 0; @%p0 bra MET;
membar.gl; atom.global.add.u32 %r0, [%q1], 1;
WAIT: ld.volatile.global.u32 %r0, [%q1]; setp.lt.u32 %p1, %r0, 8; @%p1 bra WAIT; membar.gl;
MET: bar.sync 0; xor.b32 %r7, %r7, 255; mad.wide.u32 %q7, %r7, 4, %q0; ld.global.u32 %r1, [%q7];
mad.wide.u32 %q6, %r7, 4, %q2; st.global.u32 [%q6], %r1;"""
    )
    out = zeros()
    clean(run(body, zeros(), zeros(1), out, grid=8, cooperative=True))
    assert out.array("I") == list(range(256))


def test_grid_barrier_of_the_device_runtime():
    """As numba-cuda calls it."""
    before = """.extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 a);
.extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 a, .param .b32 b);"""
    sync = """{ .param .b64 a; .param .b32 b; .param .b32 r; st.param.b64 [a], %q3;
st.param.b32 [b], 0; call (r), cudaCGSynchronize, (a, b); }"""
    body = (
        MINE
        + f"""mad.lo.u32 %r7, %block, 64, %me; mad.wide.u32 %q6, %r7, 4, %q0;
st.global.u32 [%q6], %r7; {{ .param .b32 a; .param .b64 r; st.param.b32 [a], 1;
call (r), cudaCGGetIntrinsicHandle, (a); ld.param.b64 %q3, [r]; }} {sync}
xor.b32 %r7, %r7, 255; mad.wide.u32 %q7, %r7, 4, %q0; ld.global.u32 %r1, [%q7]; {sync}
add.u32 %r1, %r1, 1; st.global.u32 [%q6], %r1;"""
    )
    out = zeros()
    outcome = clean(run(body, out, before=before, grid=4, block=64, cooperative=True))
    assert out.array("I") == [256 - i for i in range(256)]
    assert {use for use, *_ in outcome["accesses"]} == {"reads", "writes"}
    one_finding(run(body.replace(sync, ""), zeros(), before=before, grid=4, block=64), "race")


def test_lanes_that_name_different_masks():
    """As tiled partitions do: each eight lanes are a group."""
    body = (
        MINE
        + """and.b32 %r0, %me, 24; shl.b32 %r1, 255, %r0;
bar.warp.sync %r1; shfl.sync.idx.b32 %r2, %me, 3, 6175, %r1;
redux.sync.add.u32 %r3, %me, %r1; vote.sync.ballot.b32 %r4, !%p0, %r1; setp.eq.u32 %p1, %r4, %r1;
mad.lo.u32 %r2, %r2, 1000, %r3; @%p1 st.global.u32 [%q5], %r2;"""
    )
    out = zeros(32)
    clean(run("setp.ne.u32 %p0, 0, 0;" + body, out))
    wanted = [(i // 8 * 8 + 3) * 1000 + sum(range(i // 8 * 8, i // 8 * 8 + 8)) for i in range(32)]
    assert out.array("I") == wanted


# The memory that a launch used.


def test_accesses_are_exact():
    read, write = zeros(256), zeros(256)
    body = (
        "mad.wide.u32 %q5, %me, 8, %q0; ld.global.u32 %r0, [%q5];\n"
        "mad.wide.u32 %q6, %me, 4, %q1; st.global.u32 [%q6+64], %r0;\n"
        "red.global.add.u32 [%q1+512], 1;"
    )
    outcome = clean(run(body, read, write))
    used = {
        (
            use,
            begin - (read.address if parameter == 0 else write.address),
            end - (read.address if parameter == 0 else write.address),
            parameter,
        )
        for use, begin, end, parameter in outcome["accesses"]
    }
    wanted = {("reads", 8 * i, 8 * i + 4, 0) for i in range(32)}
    wanted |= {("writes", 64, 192, 1), ("atomic", 512, 516, 1)}
    assert used == wanted, used ^ wanted
    assert not run(body, read, write, accesses=False)["accesses"]


# Parts of the language.


def test_accesses_of_whole_pages_and_across_words():
    """Up to the end of a page of the record, and with words that are not where its words are."""
    page = 1 << 15
    memory = Buffer(bytes(2 * page))
    body = "mad.lo.u32 %r0, %block, 1024, %me; mad.wide.u32 %q5, %r0, 4, %q0; {}"
    outcome = clean(run(body.format("st.global.u32 [%q5], 1;"), memory, grid=8, block=1024))
    assert [each[:3] for each in outcome["accesses"]] == [
        ["writes", memory.address, memory.address + page]
    ]
    memory = Buffer(bytes(512))
    memory.address, memory.size = memory.address + 4, memory.size - 4
    body = "add.u64 %q1, %q0, 4; mad.wide.u32 %q1, %me, 8, %q1; st.global.u64 [%q1], 1;"
    outcome = clean(run(body, memory, block=20, races=False))
    assert [each[1:3] for each in outcome["accesses"]] == [
        [memory.address + 4, memory.address + 164]
    ]


def test_accesses_of_several_threads():
    """Many blocks write a little, then a few read for long: there, or where nobody wrote."""
    many, few = 64, 12
    memory = [Buffer(bytes(1024)) for _ in range(few)]
    table = Buffer(struct.pack(f"<{few}Q", *(each.address for each in memory)))
    body = f"""setp.lt.u32 %p0, %block, {many}; rem.u32 %r0, %block, 8; mov.u32 %r2, 0;
    @%p0 bra GO; sub.u32 %r0, %block, {many};
    GO: mad.wide.u32 %q13, %r0, 8, %q12; ld.global.u64 %q13, [%q13];
    mad.wide.u32 %q13, %me, 4, %q13; @%p0 st.global.u32 [%q13], %me; @%p0 ret;
    AGAIN: ld.global.u32 %r1, [%q13+512]; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 4000;
    @%p1 bra AGAIN;"""
    wanted = []
    for n, each in enumerate(memory):
        if n < 8:
            wanted.append(["writes", each.address, each.address + 256, n])
        wanted.append(["reads", each.address + 512, each.address + 768, n])
    wanted.append(["reads", table.address, table.address + 8 * few, few])
    for threads in 1, 4:
        outcome = clean(
            run(body, *memory, table, grid=many + few, block=64, threads=threads, races=False)
        )
        assert sorted(each[:4] for each in outcome["accesses"]) == sorted(wanted), threads


class Slice(Buffer):
    """A struct of two addresses, where it begins and where it ends."""

    def parameter(self):
        return struct.pack("<2Q", self.address, self.address + self.size - 1)


def test_parameters_that_lead_to_memory():
    text = program("ld.param.u64 %q1, [s]; st.global.u32 [%q1], 1;").replace(
        ".param .u64 p0", ".param .u64 p0, .param .align 8 .b8 s[16]"
    )
    module, memory = Module(text), Slice(bytes(64))
    for argument, parameter in (zeros(), 1), (struct.pack("<Q", memory.address + 8), -1):
        outcome = clean(module.run("k", 1, 1, argument, memory))
        assert [each[3] for each in outcome["accesses"]] == [parameter], outcome["accesses"]


def test_printf():
    text = b"%d %5.2f|%-4s|%c %lld %x %% %u\0"
    before = f""".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.global .align 1 .b8 t[{len(text)}] = {{{", ".join(map(str, text))}}};
.global .align 1 .b8 s[3] = {{104, 105, 0}};"""
    body = """.local .align 8 .b8 args[64]; mov.u64 %q2, args; cvta.local.u64 %q3, %q2;
st.local.u32 [%q2], -7; st.local.f64 [%q2+8], 0d400921FB54442D18; mov.u64 %q4, s;
st.local.u64 [%q2+16], %q4; st.local.u32 [%q2+24], 65; st.local.u64 [%q2+32], -5000000000;
st.local.u32 [%q2+40], 255; st.local.u32 [%q2+44], 4294967295;
{ .param .b64 a; .param .b64 b; .param .b32 r; mov.u64 %q4, t; st.param.b64 [a], %q4;
st.param.b64 [b], %q3;
call.uni (r), vprintf, (a, b); ld.param.b32 %r0, [r]; }"""
    outcome = clean(run(body, zeros(), before=before, block=2))
    assert outcome["printed"] == "-7  3.14|hi  |A -5000000000 ff % 4294967295" * 2, outcome[
        "printed"
    ]


def call_of_printf(text, *arguments):
    """The text of a program whose one thread prints, and stores the result of the call. Arguments
    are integers of 32 bits, (a tuple of) one of 64 bits, floating-point numbers and texts."""
    before = ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
    body = ".local .align 8 .b8 args[256]; mov.u64 %q2, args; cvta.local.u64 %q3, %q2;\n"
    offset = 0
    for i, value in enumerate((text, *arguments)):
        size = 4 if isinstance(value, int) else 8
        offset = (offset + size - 1) // size * size
        if isinstance(value, str):
            characters = ", ".join(map(str, value.encode() + b"\0"))
            before += f".global .align 1 .b8 t{i}[] = {{{characters}}};\n"
            body += f"mov.u64 %q4, t{i};"
            value = ("%q4",)
        if isinstance(value, float):
            value = ("0d" + struct.pack(">d", value).hex(),)
        if i == 0:
            body += f"mov.u64 %q1, {value[0]};"
            continue
        body += f"st.local.u{8 * size} [%q2+{offset}], {value if size == 4 else value[0]};\n"
        offset += size
    body = body.replace("st.local.u64", "st.local.b64")
    body += """{ .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], %q1;
st.param.b64 [b], %q3; call (r), vprintf, (a, b); ld.param.b32 %r0, [r]; }
st.global.u32 [%q0], %r0;"""
    return program(body, before=before)


PRINTED = [
    ("%d %i %u", (-7, 7, -1), "-7 7 4294967295"),
    ("%o %x %X %#x", (8, 255, 255, 255), "10 ff FF 0xff"),
    ("%hd %hd %hhd %hhd", (70000, 40000, 300, 200), "4464 -25536 44 -56"),
    ("%hu %hx %hhu %hho", (70000, -1, 300, -1), "4464 ffff 44 377"),
    ("%lld %ld %jd", ((-5000000000,), (2**40,), (-1,)), "-5000000000 1099511627776 -1"),
    ("%zu %td %llx %lu", ((2**40,), (3,), (-1,), (9,)), "1099511627776 3 ffffffffffffffff 9"),
    (
        "%e %E %f %F",
        (1.5, 1.5, -2.25, 1e10),
        "1.500000e+00 1.500000E+00 -2.250000 10000000000.000000",
    ),
    ("%g %G %a %A", (1e-7, 1e20, 1.5, 1.5), "1e-07 1E+20 0x1.8p+0 0X1.8P+0"),
    ("%10.3f|%-10.1e|%+g", (3.14159, 31415.9, 2.0), "     3.142|3.1e+04   |+2"),
    ("%+d|% d|%05d|%-5d|%5d", (42, 42, 42, 42, 42), "+42| 42|00042|42   |   42"),
    ("%-+#0 d|", (42,), "+42|"),
    ("%*d|%-*d|%*d|", (5, 42, 5, 42, -5, 42), "   42|42   |42   |"),
    ("%.3d %.*f %.*f", (7, 2, 1.0, -1, 1.0), "007 1.00 1.000000"),
    ("%5000d|%.5000d", (42, 42), " " * 4998 + "42|" + "0" * 4998 + "42"),
    ("%99999d", (42,), " " * 9997 + "42"),  # no wider than that
    ("%s|%-5s|%5s|%.1s|%.0s", ("hi", "hi", "hi", "hi", "hi"), "hi|hi   |   hi|h|"),
    ("%-5s|", ("long" * 200,), "long" * 200 + "|"),
    ("%s %p", ((0,), (0x1234,)), "(null) 0x1234"),
    ("%c%c", (65, 66), "AB"),
    ("no arguments, 100%%", (), "no arguments, 100%"),
    # What is no directive is text.
    ("%y %", (), "%y %"),
    ("%5", (), "%5"),
]


def test_directives_of_printf():
    for text, arguments, wanted in PRINTED:
        out = zeros(1)
        outcome = clean(Module(call_of_printf(text, *arguments)).run("k", 1, 1, out))
        assert outcome["printed"] == wanted, f"{text} printed {outcome['printed']}"
        # Not as in C: the number of arguments.
        assert out.array("I") == [len(arguments)], text


def test_printf_of_what_is_not_there():
    out = zeros(1)
    outcome = clean(Module(call_of_printf((0,))).run("k", 1, 1, out))
    assert not outcome["printed"]
    assert out.array("i") == [-1]
    for text, arguments, detail in (
        ((16,), (), "A text of printf or assert lies there."),
        ("%s", ((16,),), "A text of printf or assert lies there."),
        ("%d" * 200, (), "An argument of printf lies there."),
    ):
        outcome = Module(call_of_printf(text, *arguments)).run("k", 1, 1, zeros(1))
        assert detail in fault_of(outcome, "illegal_address")["text"]
    # Half of the argument is there.
    text = call_of_printf("%lld", (5,)).replace("[b], %q3", "[b], %q0")
    outcome = Module(text).run("k", 1, 1, zeros(1))
    assert "An argument of printf lies there." in fault_of(outcome, "illegal_address")["text"]
    # A kernel that prints without an end does not take all memory.
    long = "x" * 70000
    outcome = clean(Module(call_of_printf("%s%s%d", long, long, 5)).run("k", 1, 1, zeros(1)))
    assert outcome["printed"] == "x" * 65536


def test_builtin_functions_declared_without_parameters():
    before = ".extern .func vprintf(.param .b64 a, .param .b64 b);\n.extern .func free();\n"
    body = "{ .param .b64 a; st.param.b64 [a], 0; call vprintf, (a, a); } call free;"
    assert not clean(run(body, zeros(), before=before))["printed"]


def test_shared_memory_of_another_kernel():
    text = (
        HEAD
        + """.shared .align 4 .b8 of_k[64]; .shared .align 4 .b8 of_j[64];
.visible .entry k(.param .u64 p) { .reg .b32 %r; .reg .b64 %q; ld.param.u64 %q, [p];
st.shared.u32 [of_k+60], 7; ld.shared.u32 %r, [of_k+60]; st.global.u32 [%q], %r; ret; }
.visible .entry j() { st.shared.u32 [of_j], 7; ret; }
"""
    )
    module = Module(text)
    for name in "kj":
        assert module.about["kernels"][name]["shared"] == 64
    out = zeros(1)
    clean(module.run("k", 1, 1, out))
    clean(module.run("j", 1, 1))
    assert out.array("I") == [7]


def test_reductions_of_some_warps():
    body = """.reg .pred %odd; and.b32 %r0, %me, 1; setp.ne.u32 %odd, %r0, 0;
setp.ge.u32 %p0, %me, 64; @%p0 bra END;
bar.red.popc.u32 %r1, 2, 64, %odd; barrier.cta.red.or.pred %p1, 3, 64, %odd;
barrier.red.and.pred %p2, 4, 64, !%odd; selp.u32 %r2, 100, 0, %p1; selp.u32 %r3, 1000, 0, %p2;
add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;
END: mad.wide.u32 %q5, %me, 4, %q0; @!%p0 st.global.u32 [%q5], %r1;"""
    out = zeros(96)
    clean(run(body, out, block=96))
    assert out.array("I") == [132] * 64 + [0] * 32


def test_lanes_that_come_to_a_reduction_later():
    """Some of a warp wait at it, others jump there, and the last fall through to it."""
    body = (
        MINE
        + """setp.lt.u32 %p0, %me, 16; mov.u32 %r0, 0; setp.lt.u32 %p1, %me, 20; @!%p0 bra LATER;
HERE: setp.eq.u32 %p2, %r0, 1; @%p2 bra AT; add.u32 %r1, %r0, 1;
AT: barrier.red.popc.u32 %r2, 0, %p1; bra END;
LATER: and.b32 %r0, %me, 1; bra HERE;
END: st.global.u32 [%q5], %r2;"""
    )
    out = zeros(32)
    clean(run(body, out))
    assert out.array("I") == [20] * 32


def test_lanes_that_end_are_not_waited_for():
    body = (
        MINE
        + """setp.eq.u32 %p0, %me, 3; setp.ne.u32 %p1, %me, 9; @%p0 bra GO;
vote.sync.ballot.b32 %r0, %p1, -1; st.global.u32 [%q5], %r0; ret;
GO: st.global.u32 [%q5], 5;"""
    )
    out = zeros(32)
    clean(run(body, out))
    assert out.array("I") == [5 if i == 3 else ~(1 << 3 | 1 << 9) & 0xFFFFFFFF for i in range(32)]


def test_lanes_that_meet_in_a_function():
    """Half of a warp is in it, where its lanes wait for each other, and the others wait outside."""
    before = """.func (.param .b32 r) f(.param .b32 n) { .reg .b32 %a<4>; .reg .pred %p<2>;
ld.param.u32 %a0, [n]; setp.lt.u32 %p0, %a0, 8; @!%p0 bra LATER;
AT: vote.sync.ballot.b32 %a1, %p0, 0xFFFF; st.param.b32 [r], %a1; ret;
LATER: add.u32 %a2, %a0, 1; bra AT; }
"""
    body = (
        MINE
        + """mov.u32 %r1, 7; setp.lt.u32 %p0, %me, 16; @!%p0 bra END;
{ .param .b32 n; .param .b32 r; st.param.b32 [n], %me; call (r), f, (n); ld.param.b32 %r1, [r]; }
END: st.global.u32 [%q5], %r1;"""
    )
    out = zeros(32)
    clean(run(body, out, before=before))
    assert out.array("I") == [0xFF] * 16 + [7] * 16


PRINT = """.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.shared .align 8 .b8 s[16];
"""
CALL_PRINT = """{ .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], %q1;
st.param.b64 [b], %q2; call.uni (r), vprintf, (a, b); }"""


def test_where_texts_and_arguments_lie():
    """Each thread's own, and its block's."""
    number = int.from_bytes(b"%d;%d\n\0", "little")
    take = {
        "shared": "mov.u64 %q1, s; cvta.shared.u64 %q1, %q1;",
        "local": "cvta.local.u64 %q1, l;",
    }
    for where, text in take.items():
        body = f""".local .align 8 .b8 l[16]; .local .align 8 .b8 given[8];
        {text} st.u64 [%q1], {number};
        cvta.local.u64 %q2, given; st.u32 [%q2], %me; st.u32 [%q2+4], %block;"""
        outcome = clean(run(body + CALL_PRINT, zeros(), before=PRINT, block=3, grid=2, races=False))
        wanted = "".join(f"{thread};{block}\n" for block in range(2) for thread in range(3))
        assert outcome["printed"] == wanted, (where, outcome["printed"])
        for beyond in "add.u64 %q1, %q1, 4096;", "mov.u64 %q1, 16;", "mov.u64 %q1, f;":
            before = PRINT + ".func f() { ret; }\n"
            outcome = run(body + beyond + CALL_PRINT, zeros(), before=before, block=1)
            fault = fault_of(outcome, "illegal_address")
            assert "A text of printf or assert lies there." in fault["text"], fault["text"]
        outcome = run(body + "add.u64 %q2, %q2, 4096;" + CALL_PRINT, zeros(), before=PRINT, block=1)
        fault = fault_of(outcome, "illegal_address")
        assert "An argument of printf lies there." in fault["text"], fault["text"]


def test_switch_and_reductions_of_barriers():
    body = (
        MINE
        + """and.b32 %r0, %me, 3; T: .branchtargets A, B, C, D;
brx.idx %r0, T;
A: mov.u32 %r1, 10; bra END; B: mov.u32 %r1, 20; bra END; C: mov.u32 %r1, 30; bra END;
D: mov.u32 %r1, 40;
END: setp.gt.u32 %p0, %r1, 20; bar.red.popc.u32 %r2, 0, %p0; bar.red.and.pred %p1, 0, %p0;
bar.red.or.pred %p2, 0, !%p0; selp.u32 %r3, 1000, 0, %p1; selp.u32 %r4, 2000, 0, %p2;
add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4; st.global.u32 [%q5], %r1;"""
    )
    out = zeros(64)
    clean(run(body, out, block=64))
    assert out.array("I") == [10 * (1 + i % 4) + 32 + 2000 for i in range(64)]


def test_asynchronous_copies():
    body = (
        MINE
        + """.shared .align 16 .b8 s[512]; mov.u32 %r9, s; mad.lo.u32 %r8, %me, 4, %r9;
cp.async.ca.shared.global [%r8], [%q5], 4; mov.u32 %r7, 2;
cp.async.ca.shared.global [%r8+128], [%q5+4], 4, %r7;
cp.async.commit_group; cp.async.wait_group 0; ld.shared.u32 %r0, [%r8];
ld.shared.u32 %r1, [%r8+128];
shl.b32 %r1, %r1, 16; or.b32 %r0, %r0, %r1; mad.wide.u32 %q6, %me, 4, %q1;
st.global.u32 [%q6], %r0;"""
    )
    source = Buffer(struct.pack("<33I", *(0x10000 * 7 + i for i in range(33))))
    out = zeros(32)
    clean(run(body, source, out))
    assert out.array("I") == [(0x70000 + i) | (i + 1) << 16 for i in range(32)]


def test_atomic_operations():
    cases = [
        ("add.u32", [5, 7], 12),
        ("min.s32", [5, 2**32 - 3], 2**32 - 3),
        ("max.u32", [5, 9], 9),
        ("and.b32", [12, 10], 8),
        ("or.b32", [12, 10], 14),
        ("xor.b32", [12, 10], 6),
        ("exch.b32", [12, 10], 10),
        ("inc.u32", [5, 5], 0),
        ("inc.u32", [5, 6], 6),
        ("dec.u32", [0, 9], 9),
        ("dec.u32", [5, 9], 4),
    ]
    for op, (old, value), wanted in cases:
        out = Buffer(struct.pack("<2I", old, 0))
        clean(
            run(f"atom.global.{op} %r0, [%q0], {value}; st.global.u32 [%q0+4], %r0;", out, block=1)
        )
        assert out.array("I") == [wanted, old], op

    def single(x):
        return struct.unpack("<I", struct.pack("<f", x))[0]

    out = Buffer(struct.pack("<f", 1.5))
    clean(run("red.global.add.f32 [%q0], 0f40200000;", out, block=3))
    assert out.array("f") == [9.0]
    assert single(1.0) == 0x3F800000
    out = Buffer(struct.pack("<d", 0.5))
    clean(run("red.relaxed.gpu.global.add.f64 [%q0], 0d3FF0000000000000;", out, block=32, grid=2))
    assert out.array("d") == [64.5]
    out = Buffer(struct.pack("<2H", 0x3C00, 0x4000))
    clean(run("mov.b32 %r0, 0x40003C00; red.global.add.noftz.f16x2 [%q0], %r0;", out, block=2))
    assert out.array("H") == [0x4200, 0x4600]
    body = """mov.f32 %f2, 0f3F800000; mov.f32 %f3, 0f40000000;
atom.global.v2.f32.add {%f0, %f1}, [%q0], {%f2, %f3}; st.global.v2.f32 [%q0+8], {%f0, %f1};"""
    out = Buffer(struct.pack("<4f", 10, 20, 0, 0))
    clean(run(body, out, block=1))
    assert out.array("f") == [11.0, 22.0, 10.0, 20.0]
    out = zeros(4)
    clean(
        run(
            "red.global.v4.f32.add [%q0], {%f0, %f0, %f0, %f0};".replace(
                "red.global.v4.f32.add", "mov.f32 %f0, 0f3F800000; red.global.add.v4.f32"
            ),
            out,
        )
    )
    assert out.array("f") == [32.0] * 4
    body = """.reg .b128 %x<3>; mov.u64 %q1, 3; mov.u64 %q2, 4; mov.b128 %x0, {%q3, %q4};
mov.b128 %x1, {%q1, %q2}; mov.u64 %q3, 0; mov.u64 %q4, 0; mov.b128 %x0, {%q3, %q4};
atom.global.cas.b128 %x2, [%q0], %x0, %x1;"""
    out = zeros(4)
    clean(run(body, out, block=1))
    assert out.array("Q") == [3, 4]


USES_ANOTHER = (
    HEAD
    + """.extern .func (.param .b32 r) twice(.param .b32 x);
.extern .global .align 4 .u32 shared_number; .global .align 8 .u64 table[1] = {twice};
.visible .entry k(.param .u64 p0) { .reg .b64 %q<4>; .reg .b32 %r<4>; ld.param.u64 %q0, [p0];
ld.global.u32 %r0, [shared_number]; { .param .b32 a; .param .b32 b; st.param.b32 [a], %r0;
call (b), twice, (a); ld.param.b32 %r1, [b]; } ld.global.u64 %q1, [table];
{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1;
P: .callprototype (.param .b32 _) _ (.param .b32 _);
call (b), %q1, (a), P; ld.param.b32 %r1, [b]; } st.global.u32 [%q0], %r1; ret; }"""
)
IS_USED = (
    HEAD
    + """.visible .global .align 4 .u32 shared_number = 21;
.visible .func (.param .b32 r) twice(.param .b32 x) { .reg .b32 %r<2>; ld.param.u32 %r0, [x];
add.u32 %r0, %r0, %r0; st.param.b32 [r], %r0; ret; }"""
)


def is_linked(module):
    out = zeros(1)
    clean(module.run("k", 1, 1, out))
    assert out.array("I") == [84]


def test_modules_are_linked():
    is_linked(Module(USES_ANOTHER, IS_USED))


def test_texts_one_after_the_other_are_linked():
    assert set(Module(USES_ANOTHER).about["unresolved"]) == {"twice", "shared_number"}
    for text in (USES_ANOTHER + "\n" + IS_USED, IS_USED + "// more\n" + USES_ANOTHER):
        module = Module(text)
        assert not module.about["unresolved"]
        is_linked(module)


def test_a_line_of_a_later_text_is_told_as_of_them_all():
    one = HEAD + ".visible .entry k() { ret; }\n"
    wrong = HEAD + ".visible .entry j() { nonsense; ret; }\n"
    for text in (one + wrong, one + one.replace("k()", "i()") + wrong):
        line = text.splitlines().index(wrong.splitlines()[-1]) + 1
        refused_text(text, f"line {line}: ")


def test_registers_are_limited_by_the_text():
    body = "".join(f"mov.u32 %r{i}, {i}; add.u32 %r0, %r0, %r{i};" for i in range(1, 8))
    text = program(body)
    wanted = Module(text).about["kernels"]["k"]["registers"]
    assert wanted > 1
    for limit in (1, wanted, wanted + 1):
        limited = Module(text.replace("{", f".maxnreg {limit} {{", 1)).about["kernels"]["k"]
        assert limited["registers"] == min(limit, wanted)


def test_names_of_one_module_are_its_own():
    text = """.global .align 4 .u32 own = {0}; .global .align 8 .u64 table[1] = {{own}};
.func (.param .b32 r) f() {{ st.param.b32 [r], {0}; ret; }}
.visible .entry k{0}(.param .u64 p) {{ .reg .b64 %q<4>; .reg .b32 %r<4>; ld.param.u64 %q0, [p];
ld.global.u32 %r0, [own]; ld.global.u64 %q1, [table]; ld.global.u32 %r1, [%q1];
{{ .param .b32 r; call (r), f; ld.param.b32 %r2, [r]; }}
st.global.v2.u32 [%q0], {{%r0, %r1}}; st.global.u32 [%q0+8], %r2; ret; }}"""
    module = Module(HEAD + text.format(7), HEAD + text.format(9))
    for number in (7, 9):
        out = zeros(3)
        clean(module.run(f"k{number}", 1, 1, out))
        assert out.array("I") == [number] * 3


DYNAMIC = ".extern .shared .align 16 .b8 d[];"
BEHIND_STATIC = (
    ".shared .align 4 .b8 s[20]; mov.u32 %r1, s; mov.u32 %r0, d; sub.u32 %r1, %r0, %r1;"
    "st.shared.u32 [%r0+{}], %me; st.global.u32 [%q0], %r1;"
)


def test_dynamic_shared_memory():
    out = zeros(1)
    clean(run(BEHIND_STATIC.format(96), out, before=DYNAMIC, block=1, shared=100))
    assert out.array("I") == [32]


def test_beyond_dynamic_shared_memory():
    outcome = run(BEHIND_STATIC.format(2000), zeros(), before=DYNAMIC, block=1, shared=100)
    fault_of(outcome, "illegal_address")


def test_source_lines():
    text = program(".loc 1 42 7\nld.global.u32 %r0, [%q0+4000];", before='.file 1 "kernel.py"')
    fault = fault_of(Module(text).run("k", 1, 1, zeros(1)), "illegal_address")
    assert (fault["place"]["file"], fault["place"]["line"]) == ("kernel.py", 42)
    assert "kernel.py:42" in fault["text"]
    fault = fault_of(
        Module(text.replace(".loc 1", ".loc 7")).run("k", 1, 1, zeros(1)), "illegal_address"
    )
    assert (fault["place"]["file"], fault["place"]["line"]) == ("", 42)


def test_unknown_directives_are_skipped():
    text = (
        HEAD
        + '.unheard_of 12 "a"\n.section .debug_str { .b8 1,2,3 }\n.pragma "x";\n'
        + program('.pragma "nounroll";\nst.global.u32 [%q0], 3;')[len(HEAD) :]
    )
    out = zeros(1)
    clean(Module(text).run("k", 1, 1, out))
    assert out.array("I") == [3]


def test_clocks_and_their_halves():
    body = """mov.u64 %q1, %globaltimer; mov.u32 %r0, %globaltimer_lo; mov.u32 %r1, %globaltimer_hi;
mov.u64 %q2, %globaltimer; mov.u64 %q3, %clock64; mov.u32 %r2, %clock; mov.u32 %r3, %clock_hi;
mov.u64 %q4, %clock64; st.global.v2.u64 [%q0], {%q1, %q2}; st.global.v2.u64 [%q0+16], {%q3, %q4};
st.global.v4.u32 [%q0+32], {%r0, %r1, %r2, %r3};"""
    out = zeros(12)
    clean(run(body, out, block=1))
    before, after, first, last = out.array("Q")[:4]
    low, high, clock, clock_high = out.array("I")[8:]
    assert before <= after
    assert before >> 32 <= high <= after >> 32
    assert first <= last
    assert first >> 32 <= clock_high <= last >> 32
    if before >> 32 == after >> 32:
        assert before <= high << 32 | low <= after
    if first >> 32 == last >> 32:
        assert first & 0xFFFFFFFF <= clock <= last & 0xFFFFFFFF


def test_special_registers():
    body = """mad.lo.u32 %r7, %block, 64, %me; mad.wide.u32 %q5, %r7, 32, %q0;
mov.u32 %r0, %laneid;
st.global.u32 [%q5], %r0; mov.u32 %r0, %warpid; st.global.u32 [%q5+4], %r0;
mov.u32 %r0, %lanemask_lt;
st.global.u32 [%q5+8], %r0; mov.u32 %r0, %ntid.y; st.global.u32 [%q5+12], %r0; mov.u32 %r0, %tid.y;
st.global.u32 [%q5+16], %r0; mov.u32 %r0, %nctaid.x; st.global.u32 [%q5+20], %r0;
mov.u64 %q1, %clock64;
mov.u64 %q2, %globaltimer; mov.u32 %r0, %clock; activemask.b32 %r0; st.global.u32 [%q5+24], %r0;
mov.u32 %r0, WARP_SZ; st.global.u32 [%q5+28], %r0;"""
    out = zeros(8 * 128)
    clean(
        run(
            body.replace("%me; mad", "%r6; mad").replace(
                "mad.lo.u32 %r7",
                "mov.u32 %r5, %tid.y; mov.u32 %r6, %ntid.x; "
                "mad.lo.u32 %r6, %r5, %r6, %me; mad.lo.u32 %r7",
                1,
            ),
            out,
            grid=2,
            block=(16, 4),
        )
    )
    got = out.array("I")
    for i in range(128):
        t = i % 64
        assert got[8 * i : 8 * i + 8] == [
            t % 32,
            t // 32,
            (1 << t % 32) - 1,
            4,
            t // 16,
            2,
            0xFFFFFFFF,
            32,
        ]


if __name__ == "__main__":
    sys.exit(bool(main(globals())))
