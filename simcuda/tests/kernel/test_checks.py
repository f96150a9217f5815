# SPDX-License-Identifier: BSD-3-Clause
"""What the engine reports for wrong programs, and that it reports nothing for the fixed ones."""

import sys

from engine import Module
from small_programs import MINE, clean, fault_of, main, one_finding, program, run, zeros


def test_names_are_as_people_wrote_them():
    """numba-cuda's, with the tags that it puts in; a name that looks like one of a type's."""
    mangled = "_ZN8__main__5scaleB2v1B104cw51cXE5ArrayIfLi1E1C7mutable7alignedEx"
    for name, spoken in {
        "_Z4fillPfi": "fill(float*, int)",
        "_ZN3lib5scaleB2v1B4cw51EPf": "lib::scale(float*)",
        "i": "i",
        mangled: mangled,  # not well-formed
    }.items():
        text = program("trap;").replace("entry k(", f"entry {name}(")
        fault = fault_of(Module(text).run(name, 1, 1, zeros()), "trap")
        assert fault["text"].startswith(f"Kernel {spoken}: thread"), fault["text"]


def test_beyond_an_allocation():
    fault = fault_of(run(MINE + "st.global.u32 [%q5], %me;", zeros(31)), "illegal_address")
    assert fault["thread"] == [0, 0, 0, 31, 0, 0]
    assert "writes 4 bytes" in fault["text"]
    assert "st.global.u32" in fault["text"]
    assert "0 bytes behind the end of 124 bytes" in fault["text"]
    clean(run(MINE + "st.global.u32 [%q5], %me;", zeros(32)))


def test_before_an_allocation():
    fault_of(run("ld.global.u32 %r0, [%q0+-4];", zeros(1)), "illegal_address")
    fault_of(run("mov.u64 %q1, 0; ld.global.u32 %r0, [%q1];", zeros(1)), "illegal_address")
    clean(run("ld.global.u32 %r0, [%q0+4];", zeros(2)))


def test_a_vector_beyond_an_allocation():
    vector = "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%q0];"
    fault_of(run(vector, zeros(3)), "illegal_address")
    clean(run(vector, zeros(4)))


def test_addresses_near_the_end_of_all():
    """The second round's is found by what the first has left."""
    body = (
        "mov.u32 %r1, 0; mov.u64 %q3, {0};\nAGAIN: ld{1}.u32 %r0, [{2}]; mov.u64 {2}, %q3;\n"
        "add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, 2; @%p0 bra AGAIN;"
    )
    for address in "0xFFFFFFFFFFFFFFFC", "0x0500000000000010", "0x0600000000000000":
        for space in ".global", "":
            fault = fault_of(run(body.format(address, space, "%q0"), zeros()), "illegal_address")
            assert fault["address"] == int(address, 16)
        # Side by side, up to what comes after the last.
        row = "mov.u64 %q3, 0xFFFFFFFFFFFFFF80; mad.wide.u32 %q3, %me, 4, %q3; ld.u32 %r0, [%q3];"
        fault = fault_of(run(row, zeros()), "illegal_address")
        assert fault["address"] == 0xFFFFFFFFFFFFFF80
        shared = ".shared .align 4 .b8 s[64]; mov.u64 %q1, s; st.shared.u32 [s], 1;"
        fault_of(run(shared + body.format(address, ".shared", "%q1"), zeros()), "illegal_address")


def test_the_kernels_parameters_have_an_end():
    generic = "mov.u64 %q1, p0; cvta.param.u64 %q1, %q1;"
    for body, kind in (
        ("ld.param.u64 %q1, [p0+8];", "illegal_address"),
        ("ld.param.u64 %q1, [p0+24];", "illegal_address"),
        ("ld.param.u64 %q1, [p0+4];", "misaligned"),
        ("ld.param.v2.u64 {%q1, %q2}, [p0];", "illegal_address"),
        ("mov.u64 %q1, 8; ld.param.u32 %r0, [%q1];", "illegal_address"),
        ("mov.u64 %q1, 2; ld.param.u32 %r0, [%q1];", "misaligned"),
        (generic + "ld.u32 %r0, [%q1+8];", "illegal_address"),
        (generic + "ld.u32 %r0, [%q1+2];", "misaligned"),
        (generic + "st.u32 [%q1], 1;", "illegal_address"),
        (generic + "atom.add.u32 %r0, [%q1], 1;", "illegal_address"),
    ):
        fault = fault_of(run(body, zeros()), kind)
        if kind == "illegal_address":
            assert "The kernel has 8 bytes of parameters." in fault["text"], fault["text"]
    clean(run(generic + "ld.u32 %r0, [%q1+4];", zeros()))


def test_misaligned():
    fault = fault_of(run("ld.global.u32 %r0, [%q0+2];", zeros()), "misaligned")
    assert fault["address"] % 4 == 2
    assert "no multiple of 4" in fault["text"]
    fault_of(run("ld.global.v2.u32 {%r0, %r1}, [%q0+4];", zeros()), "misaligned")
    clean(run("ld.global.v2.u32 {%r0, %r1}, [%q0+8];", zeros()))
    clean(run("ld.global.u16 %h0, [%q0+2];", zeros()))


def test_constant_memory_is_not_written():
    before = ".const .align 4 .b8 c[4] = {1, 2, 3, 4};"
    body = "mov.u64 %q1, c; ld.const.u32 %r0, [%q1]; st.global.u32 [%q0], %r0;"
    out = zeros(1)
    clean(run(body, out, before=before))
    assert out.array("I") == [0x04030201]
    fault_of(
        run(
            "mov.u64 %q1, c; cvta.const.u64 %q1, %q1; st.global.u32 [%q1], 1;",
            zeros(1),
            before=before,
        ),
        "illegal_address",
    )


def test_shared_and_local_memory_have_ends():
    shared = ".shared .align 4 .b8 s[256];"
    fault = fault_of(
        run(f"{shared} mov.u32 %r0, s; st.shared.u32 [%r0+256], 1;", zeros()), "illegal_address"
    )
    assert "256 bytes of shared memory" in fault["text"]
    clean(run(f"{shared} mov.u32 %r0, s; st.shared.u32 [%r0+252], 1;", zeros()))
    local = ".local .align 4 .b8 l[16];"
    fault_of(
        run(f"{local} mov.u64 %q1, l; st.local.u32 [%q1+100000], 1;", zeros()), "illegal_address"
    )
    clean(run(f"{local} mov.u64 %q1, l; st.local.u32 [%q1+12], 1;", zeros()))
    fault_of(run(f"{local} mov.u64 %q1, l; st.local.u32 [%q1+2], 1;", zeros()), "misaligned")
    vector = "{local} ld.local.v{n}.u64 {{{into}}}, [l];"
    fault = fault_of(
        run(vector.format(local=local, n=4, into="%q1, %q2, %q3, %q4"), zeros()), "illegal_address"
    )
    assert "has 16 bytes of local memory" in fault["text"], fault["text"]
    clean(run(vector.format(local=local, n=2, into="%q1, %q2"), zeros()))


# Races.

SHARED = ".shared .align 4 .b8 s[1024];\nmov.u32 %r9, s; mad.lo.u32 %r8, %me, 4, %r9;\n"
NEIGHBOUR = "add.u32 %r1, %me, {}; and.b32 %r1, %r1, 63; mad.lo.u32 %r1, %r1, 4, %r9;\n"


def exchange(between, distance=32):
    return (
        SHARED
        + "st.shared.u32 [%r8], %me;\n"
        + between
        + NEIGHBOUR.format(distance)
        + "ld.shared.u32 %r2, [%r1];\n"
        + MINE
        + "st.global.u32 [%q5], %r2;"
    )


def test_shared_memory_without_a_barrier():
    finding = one_finding(run(exchange(""), zeros(), block=64), "race")
    assert "shared memory" in finding["text"]
    assert "No barrier orders the two" in finding["text"]
    assert finding["place"]["instruction"] in ("ld.shared.u32", "st.shared.u32")
    out = zeros(64)
    clean(run(exchange("bar.sync 0;\n"), out, block=64))
    assert out.array("I") == [(i + 32) % 64 for i in range(64)]


def test_a_write_of_what_several_have_read():
    """The last one that has read it is the one that writes."""
    body = SHARED + "ld.shared.u32 %r0, [%r9]; setp.eq.u32 %p0, %me, 63;"
    body += "@%p0 ld.shared.u32 %r1, [%r9]; @%p0 st.shared.u32 [%r9], 5;"
    finding = one_finding(run(body, zeros(), block=64, written=False), "race")
    assert "Another thread reads the same." in finding["text"]


def test_shared_memory_within_a_warp():
    one_finding(run(exchange("", 1), zeros(), block=32), "race")
    clean(
        run(
            exchange("bar.warp.sync -1;\n", 1).replace(
                "and.b32 %r1, %r1, 63", "and.b32 %r1, %r1, 31"
            ),
            zeros(),
        )
    )
    # A barrier of a warp does not order two of them.
    one_finding(run(exchange("bar.warp.sync -1;\n"), zeros(), block=64), "race")


def test_a_write_after_reads_of_others():
    """One of those who have read it writes, of whom no other is known by name."""
    body = (
        SHARED
        + "setp.eq.u32 %p0, %me, 16; ld.shared.u32 %r0, [%r9];\n{}@%p0 st.shared.u32 [%r9], 5;"
    )
    finding = one_finding(run(body.format(""), zeros(), written=False), "race")
    assert "thread (16, 0, 0)" in finding["text"], finding["text"]
    assert "Another thread reads the same." in finding["text"], finding["text"]
    clean(run(body.format("bar.warp.sync -1;\n"), zeros(), written=False))


def test_write_after_read():
    body = (
        SHARED
        + "st.shared.u32 [%r8], %me;\nbar.sync 0;\n"
        + NEIGHBOUR.format(32)
        + "ld.shared.u32 %r2, [%r1];\n{}add.u32 %r2, %r2, 100; st.shared.u32 [%r8], %r2;"
    )
    one_finding(run(body.format(""), zeros(), block=64), "race")
    clean(run(body.format("bar.sync 0;\n"), zeros(), block=64))


def test_named_barriers_order_those_who_meet_there():
    # Warp 0 writes, warp 1 reads; a third one takes no part.
    body = (
        SHARED + "setp.lt.u32 %p0, %me, 32; setp.ge.u32 %p1, %me, 64;\n@%p1 bra END;\n"
        "@%p0 bra WRITE;\n{wait}\nld.shared.u32 %r2, [%r8+-128];\nbra END;\n"
        "WRITE:\nst.shared.u32 [%r8], %me;\n{tell}\nEND:\n"
    )
    clean(run(body.format(wait="bar.sync 1, 64;", tell="bar.arrive 1, 64;"), zeros(), block=96))
    one_finding(run(body.format(wait="", tell=""), zeros(), block=96, written=False), "race")
    fault = fault_of(
        run(body.format(wait="bar.sync 1, 64;", tell=""), zeros(), block=96), "deadlock"
    )
    assert "barrier 1" in fault["text"]


def test_bytes_of_one_word_are_apart():
    body = (
        ".shared .align 4 .b8 s[64];\nmov.u32 %r9, s; add.u32 %r8, %me, %r9; "
        "cvt.u16.u32 %h0, %me;\n"
        "st.shared.u8 [%r8], %h0;\n{}ld.shared.u8 %h1, [%r8+{}];"
    )
    clean(run(body.format("", 0), zeros(), block=64))
    one_finding(run(body.format("", 1), zeros(), block=63, written=False), "race")
    clean(run(body.format("bar.sync 0;\n", 1), zeros(), block=63, written=False))


def test_the_same_value_is_no_race():
    clean(run("st.global.u32 [%q0], 7;", zeros(), block=64, grid=4))
    one_finding(run("st.global.u32 [%q0], %me;", zeros(), block=2), "race")
    one_finding(
        run("add.u32 %r0, %block, 1; st.global.u32 [%q0], %r0;", zeros(), block=1, grid=2), "race"
    )


def test_global_memory_between_blocks():
    write = "add.u32 %r0, %block, 5; mad.wide.u32 %q5, %block, 4, %q0; st.global.u32 [%q5], %r0;\n"
    finding = one_finding(
        run(write + "ld.global.u32 %r1, [%q0];", zeros(), block=1, grid=3), "race"
    )
    assert "global" in finding["text"] or "address" in finding["text"]
    clean(run(write, zeros(), block=1, grid=3))
    clean(run(write + "red.global.add.u32 [%q0+64], %r0;", zeros(), block=1, grid=3))
    # An atomic operation and a plain load.
    one_finding(
        run("red.global.add.u32 [%q0], 1; ld.global.u32 %r0, [%q0];", zeros(), block=1, grid=2),
        "race",
    )


def test_the_last_block_sums_up():
    """As in CUDA's sample: a fence, a counter, and the last block reads what all have written."""
    body = (
        "add.u32 %r0, %block, 1; mad.wide.u32 %q5, %block, 4, %q0; st.global.u32 [%q5], %r0;\n"
        "membar.gl;\natom.global.inc.u32 %r1, [%q0+64], 3;\n"
        "setp.ne.u32 %p0, %r1, 3;\n@%p0 bra END;\n"
        "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%q0];\nadd.u32 %r2, %r2, %r3; "
        "add.u32 %r2, %r2, %r4;"
        "add.u32 %r2, %r2, %r5;\nst.global.u32 [%q0+128], %r2;\nEND:"
    )
    out = zeros()
    clean(run(body, out, block=1, grid=4))
    assert out.array("I")[32] == 10


def test_global_memory_within_a_block():
    body = MINE + (
        "st.global.u32 [%q5], %me;\n{}xor.b32 %r0, %me, 32; mad.wide.u32 %q6, %r0, 4, %q0;\n"
        "ld.global.u32 %r1, [%q6];"
    )
    one_finding(run(body.format(""), zeros(), block=64), "race")
    clean(run(body.format("bar.sync 0;\n"), zeros(), block=64))


def test_races_are_found_only_where_they_are_looked_for():
    clean(run(exchange(""), zeros(), block=64, races=False, written=False))


# Bytes that nobody wrote.


def test_reads_of_unwritten_bytes():
    body = MINE + "ld.global.u32 %r0, [%q5];"
    finding = one_finding(run(body, zeros(written=False)), "never_written")
    assert "nobody has written" in finding["text"]
    assert finding["count"] == 32
    clean(run(body, zeros()))
    clean(run(MINE + "st.global.u32 [%q5], 1;\n" + body, zeros(written=False)))
    clean(run(body, zeros(written=False), written=False))
    # Of a part of a warp nobody looks, either.
    clean(run(body, zeros(written=False), written=False, block=5))
    # Half of what is read.
    one_finding(
        run(
            "st.global.u16 [%q0], 1; ld.global.u32 %r0, [%q0];".replace("1;", "%h0;", 1) + "",
            zeros(written=False),
            block=1,
        ),
        "never_written",
    )


def test_reads_of_unwritten_shared_memory():
    one_finding(run(SHARED + "ld.shared.u32 %r0, [%r8];", zeros()), "never_written")
    clean(run(SHARED + "st.shared.u32 [%r8], 1; ld.shared.u32 %r0, [%r8];", zeros()))
    vector = SHARED + "{}ld.shared.v2.u32 {{%r0, %r1}}, [%r9];"
    one_finding(run(vector.format(""), zeros()), "never_written")
    clean(run(vector.format("st.shared.u32 [%r9+4], 1; bar.warp.sync -1;"), zeros()))
    # Not the values that an earlier block has left there.
    body = (
        SHARED
        + "setp.ne.u32 %p0, %block, 0; @!%p0 st.shared.u32 [%r8], 1; @%p0 ld.shared.u32 %r0, [%r8];"
    )
    one_finding(run(body, zeros(), grid=2), "never_written")


def test_what_a_compiler_widens_is_not_reported():
    clean(
        run(
            "st.global.v2.u32 [%q0], {%me, %me}; ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%q0];",
            zeros(written=False),
            block=1,
        )
    )


def test_an_exchange_whose_old_value_nobody_wants_only_writes():
    for space, at, fresh in ("global", "%q5", MINE), ("shared", "%r8", SHARED):
        for old in "%r0", "_":
            body = f"{fresh}atom.{space}.exch.b32 {old}, [{at}], 1;\nld.{space}.u32 %r1, [{at}];"
            clean(run(body, zeros(written=False)))
        body = f"{fresh}atom.{space}.exch.b32 %r0, [{at}], 1;\nadd.u32 %r0, %r0, 1;"
        one_finding(run(body, zeros(written=False)), "never_written")
        guard = f"{fresh}atom.{space}.exch.b32 %r0, [{at}], 1;\nsetp.eq.u32 %p1, %r0, 1;"
        one_finding(run(guard, zeros(written=False)), "never_written")
        for other in "add.u32 %r0", "cas.b32 %r0", "max.u32 %r0":
            values = "1, 2" if "cas" in other else "1"
            body = f"{fresh}atom.{space}.{other}, [{at}], {values};"
            one_finding(run(body, zeros(written=False)), "never_written")


def test_what_an_earlier_block_finds_later_is_told_first():
    body = (
        "setp.ne.u32 %p0, %block, 0; @%p0 bra READ;\nWAIT: ld.acquire.gpu.global.u32 %r0, [%q1]; "
        "setp.eq.u32 %p1, %r0, 0; @%p1 bra WAIT;\n"
        "READ: ld.global.u32 %r1, [%q0];\nst.release.gpu.global.u32 [%q1], 1;"
    )
    outcome = run(body, zeros(written=False), zeros(), grid=2, block=1)
    finding = one_finding(outcome, "never_written")
    assert finding["thread"][:3] == [0, 0, 0], finding
    assert finding["count"] == 2


HEAP = """.extern .func (.param .b64 r) malloc (.param .b64 n);
.extern .func free (.param .b64 p);
"""
FREE = "{{ .param .b64 f; st.param.b64 [f], {0}; call.uni free, (f); }}\n"


def test_frees_of_what_malloc_did_not_give():
    take = (
        "{ .param .b64 n; .param .b64 r; st.param.b64 [n], 64; call.uni (r), malloc, (n); "
        "ld.param.b64 %q1, [r]; }\n"
    )
    clean(run(take + FREE.format("%q1"), zeros(), before=HEAP))
    clean(run("mov.u64 %q1, 0;\n" + FREE.format("%q1"), zeros(), before=HEAP))
    for body in (
        "mov.u64 %q1, 4096;\n" + FREE.format("%q1"),
        take + FREE.format("%q1") + FREE.format("%q1"),
        take + "add.u64 %q1, %q1, 8;\n" + FREE.format("%q1"),
        ".local .align 8 .b8 l[8]; mov.u64 %q1, l; cvta.local.u64 %q1, %q1;\n" + FREE.format("%q1"),
    ):
        fault = fault_of(run(body, zeros(), before=HEAP), "invalid_free")
        assert " frees address 0x" in fault["text"], fault["text"]
        assert "No memory of malloc begins there" in fault["text"], fault["text"]
        assert "no memory," not in fault["text"], fault["text"]


# Barriers and masks.


def test_uses_of_what_was_freed():
    take = (
        "{ .param .b64 n; .param .b64 r; st.param.b64 [n], 64; call.uni (r), malloc, (n); "
        "ld.param.b64 %q1, [r]; }\nst.u32 [%q1+60], 7; ld.u32 %r0, [%q1+60]; "
        "st.global.u32 [%q0], %r0;\n"
    )
    out = zeros(1)
    outcome = clean(run(take + FREE.format("%q1"), out, before=HEAP, block=1))
    assert out.array("I") == [7]
    assert [each[0] for each in outcome["accesses"]].count("writes") == 2, outcome["accesses"]
    for use in "st.u32 [%q1+60], 8;", "ld.u32 %r0, [%q1+60];":
        body = take + FREE.format("%q1") + use
        fault_of(run(body, zeros(), before=HEAP, block=1), "illegal_address")


def test_divergent_barrier():
    body = (
        "setp.lt.u32 %p0, %me, 16;\n@%p0 bra A;\nbar.sync 0;\nbra END;\nA:\nbar.sync 0;\nEND:\n"
        "bar.sync 0;"
    )
    finding = one_finding(run(body, zeros()), "barrier_divergent")
    assert "same instruction" in finding["text"]
    assert one_finding(run(body, zeros(), grid=3), "barrier_divergent")["count"] == 3
    clean(run("bar.sync 0;\nbar.sync 0;", zeros(), block=64))
    clean(run(body, zeros(), barriers=False))
    clean(run(body.replace("bar.sync", "barrier.sync"), zeros()))


def test_threads_that_have_ended_are_not_waited_for():
    clean(run("setp.ge.u32 %p0, %me, 40; @%p0 ret;\nbar.sync 0;\nbar.sync 0;", zeros(), block=64))
    # Not a whole warp, either, which comes before what follows a barrier, as if it had come there.
    body = (
        SHARED
        + "st.shared.u32 [%r8], %me; setp.ge.u32 %p0, %me, 32; @%p0 ret;\n{}"
        + NEIGHBOUR.format(32)
        + "ld.shared.u32 %r2, [%r1];"
    )
    clean(run(body.format("bar.sync 0;\n"), zeros(), block=64))
    one_finding(run(body.format(""), zeros(), block=64, written=False), "race")


def test_barrier_for_more_than_come():
    fault_of(run("setp.lt.u32 %p0, %me, 32; @%p0 bar.sync 3, 64;", zeros(), block=64), "deadlock")
    fault_of(run("bar.sync 3, 96;", zeros(), block=64), "illegal_instruction")
    fault_of(run("mov.u32 %r0, 17; bar.sync %r0;", zeros(), block=64), "illegal_instruction")
    fault_of(run("mov.u32 %r0, 48; bar.sync 3, %r0;", zeros(), block=64), "illegal_instruction")
    # Of many that wait the first are named.
    body = "setp.lt.u32 %p0, %me, 32; @%p0 ret;\nbar.sync 3, 512;"
    text = fault_of(run(body, zeros(), block=512), "deadlock")["text"]
    assert "Warp 1 waits at barrier 3, in k" in text, text
    assert ". Warp 2 waits" in text, text
    assert "Warp 15" not in text, text


def test_an_arrival_without_the_check_of_races():
    body = "setp.lt.u32 %p0, %me, 32; @%p0 bar.arrive 1, 64;\n@!%p0 bar.sync 1, 64;"
    clean(run(body, zeros(), block=64, races=False))


def test_shuffle_masks():
    finding = one_finding(
        run("shfl.sync.bfly.b32 %r0, %me, 1, 31, 0x7FFFFFFF;", zeros()), "warp_mask"
    )
    assert "shfl.sync.bfly.b32" in finding["text"]
    clean(run("shfl.sync.bfly.b32 %r0, %me, 1, 31, -1;", zeros()))
    one_finding(
        run(
            "setp.lt.u32 %p0, %me, 31; @%p0 shfl.sync.down.b32 %r0, %me, 1, 31, 0x7FFFFFFF;",
            zeros(),
        ),
        "warp_mask",
    )
    one_finding(
        run("shfl.sync.idx.b32 %r0, %me, 31, 31, 0x0000FFFF;", zeros(), block=16), "warp_mask"
    )
    # Each half waits for the other one, and the one behind came first.
    body = (
        "setp.lt.u32 %p0, %me, 16; @%p0 bra FIRST; bra SECOND;\n"
        "A: vote.sync.ballot.b32 %r0, %p0, -1; bra END;\n"
        "FIRST: vote.sync.any.pred %p1, %p0, -1; bra END;\nSECOND: bra A;\nEND:"
    )
    finding = one_finding(run(body, zeros()), "warp_mask")
    assert finding["place"]["instruction"] == "vote.sync.ballot.b32", finding
    # The other half waits elsewhere.
    body = (
        "setp.lt.u32 %p0, %me, 16; @%p0 bra A; {} bra END;\n"
        "A: vote.sync.ballot.b32 %r0, %p0, -1;\nEND:"
    )
    one_finding(
        run(body.format("bar.warp.sync 0xFFFF0000; barrier.sync 0;") + "barrier.sync 0;", zeros()),
        "warp_mask",
    )
    clean(
        run(
            body.format("vote.sync.ballot.b32 %r0, %p0, 0xFFFF0000;").replace("-1;\n", "0xFFFF;\n"),
            zeros(),
        )
    )


if __name__ == "__main__":
    sys.exit(bool(main(globals())))
