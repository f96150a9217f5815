# SPDX-License-Identifier: BSD-3-Clause
"""What orders the threads of a block, and what does not: programs with and without races."""

import struct
import sys

from engine import Buffer
from small_programs import clean, main, one_finding, run, zeros

# Each thread's word of shared memory is at %r8, %r9 is where they begin; %p0: the first warp.
BEGIN = """.shared .align 4 .b8 s[1024];
mov.u32 %r9, s; mad.lo.u32 %r8, %me, 4, %r9; setp.lt.u32 %p0, %me, 32;
"""
WRITE = "st.shared.u32 [%r8], %me;\n"


def read(what, into="%r2"):
    """The word of another thread, whose number `what` leaves in %r1."""
    return f"{what} mad.lo.u32 %r1, %r1, 4, %r9; ld.shared.u32 {into}, [%r1];\n"


def races(body, block=64, **options):
    return one_finding(run(BEGIN + body, zeros(), block=block, **options), "race")


def right(body, block=64, **options):
    return clean(run(BEGIN + body, zeros(), block=block, **options))


# Parts of a warp.

HALVES = "and.b32 %r3, %me, 16; shl.b32 %r3, 0xFFFF, %r3; bar.warp.sync %r3;\n"
FAR, NEAR = read("sub.u32 %r1, 31, %me;"), read("xor.b32 %r1, %me, 1;")


def test_a_part_of_a_warp_is_ordered_by_itself():
    races(WRITE + HALVES + FAR, block=32)
    right(WRITE + HALVES + NEAR, block=32)
    right(WRITE + "bar.warp.sync -1;\n" + FAR, block=32)
    # Both at one place, and each half at a place of its own.
    apart = (
        "setp.lt.u32 %p1, %me, 16;\n@%p1 bra LOW;\nbar.warp.sync 0xFFFF0000;\nbra MET;\n"
        "LOW:\nbar.warp.sync 0xFFFF;\nMET:\n"
    )
    races(WRITE + apart + FAR, block=32)
    right(WRITE + apart + NEAR, block=32)
    quarters = "and.b32 %r3, %me, 24; shl.b32 %r3, 0xFF, %r3; bar.warp.sync %r3;\n"
    races(WRITE + quarters + FAR, block=32)
    right(WRITE + quarters + NEAR, block=32)


def test_what_a_part_knows_the_next_one_learns():
    """Halves, then a lane of each half: all that either half did is known to the two."""
    pair = "and.b32 %r3, %me, 15; setp.eq.u32 %p2, %r3, 0;\n@%p2 bar.warp.sync 0x10001;\n"
    leader = "setp.eq.u32 %p3, %me, 0; @!%p3 ret;\n"
    last = read("mov.u32 %r1, 31;")
    right(WRITE + HALVES + pair + leader + last, block=32)
    races(WRITE + pair + leader + last, block=32)
    races(WRITE + HALVES + leader + last, block=32)


def test_each_lane_that_reads_a_word_is_looked_at():
    """Two lanes that may read it do not speak for a third."""
    first = read("mov.u32 %r1, 0;")
    some = "setp.lt.u32 %p2, %me, {};\n@%p2 bar.warp.sync {};\nsetp.ge.u32 %p2, %me, 3; @%p2 ret;\n"
    right(WRITE + some.format(3, 7) + first, block=32)
    races(WRITE + some.format(2, 3) + first, block=32)


def test_parts_of_other_warps_are_not_ordered():
    races(WRITE + HALVES + read("xor.b32 %r1, %me, 32;"))
    # A barrier of all orders everything again.
    right(WRITE + HALVES + "bar.sync 0;\n" + read("xor.b32 %r1, %me, 33;"))


def test_named_barriers_order_the_lanes_that_come():
    """Half of each of two warps meet, and the other halves do not."""
    body = (
        WRITE
        + "and.b32 %r3, %me, 16; setp.ne.u32 %p1, %r3, 0;\n@%p1 bra END;\n"
        + "barrier.sync 1, 32;\n{}END:\nbarrier.sync 0;"
    )
    right(body.format(read("xor.b32 %r1, %me, 33;")))
    races(body.format(read("xor.b32 %r1, %me, 48;")))
    races(body.format(read("xor.b32 %r1, %me, 16;")))


def test_masks_of_a_warps_barrier():
    finding = one_finding(run("bar.warp.sync 0xFFFF;", zeros()), "warp_mask")
    assert "bar.warp.sync" in finding["text"], finding["text"]
    assert "does not name itself" in finding["text"], finding["text"]
    assert finding["thread"][3] == 16, finding["thread"]
    clean(run("bar.warp.sync 0xFFFF;", zeros(), block=16))
    clean(run("bar.warp.sync -1;", zeros()))
    clean(run("bar.warp.sync 0xFFFF;", zeros(), barriers=False))
    body = "setp.lt.u32 %p1, %me, 16;\n@%p1 bar.warp.sync {};"
    one_finding(run(body.format("0xFF"), zeros()), "warp_mask")
    clean(run(body.format("0xFFFF"), zeros()))
    # Those that meet may be at different places.
    clean(
        run(
            "setp.lt.u32 %p1, %me, 16;\n@%p1 bra LOW;\nbar.warp.sync -1;\nbra MET;\n"
            "LOW:\nbar.warp.sync -1;\nMET:\nbar.sync 0;",
            zeros(),
        )
    )


# Barriers that are not waited at.


def test_what_follows_an_arrival_is_not_ordered():
    body = "@%p0 bra TELL;\nbar.sync 1, 64;\n{}bra END;\nTELL:\n{}END:\n"
    take = "ld.shared.u32 %r2, [%r8+-128];\n"
    right(body.format(take, WRITE + "bar.arrive 1, 64;\n"))
    races(body.format(take, "bar.arrive 1, 64;\n" + WRITE), written=False)
    # Nor does a thread that has only arrived learn anything.
    early = body.format(WRITE, "bar.arrive 1, 64;\nld.shared.u32 %r2, [%r8+128];\n")
    races(early, written=False)


def test_two_buffers_that_are_handed_to_and_fro():
    """One warp fills, the other empties: the barriers 1 (full) and 2 (empty)."""
    body = (
        "mov.u32 %r4, 0;\n@%p0 bra FILL;\nTAKE:\nbar.sync 1, 64;\n{}add.u32 %r4, %r4, 1; "
        "setp.lt.u32 %p1, %r4, 4;\n@%p1 bra TAKE;\nbra END;\nFILL:\nst.shared.u32 [%r8], %r4;\n"
        "bar.arrive 1, 64;\nadd.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 4;\n@!%p1 bra END;\n"
        "bar.sync 2, 64;\nbra FILL;\nEND:\n"
    )
    take, empty = (
        "ld.shared.u32 %r2, [%r8+-128];\n",
        "setp.lt.u32 %p2, %r4, 3;\n@%p2 bar.arrive 2, 64;\n",
    )
    right(body.format(take + empty))
    races(body.format(empty + take))


# Flags and locks.

FLAG = """@%p0 bra TELL;
WAIT:
{look} setp.eq.u32 %p1, %r3, 0;
@%p1 bra WAIT;
{acquire} ld.shared.u32 %r2, [%r9+8];
bra END;
TELL:
st.shared.u32 [%r9+8], 7;
{release}
END:
"""
INIT = "setp.eq.u32 %p2, %me, 0; @%p2 st.shared.u32 [%r9], 0; bar.sync 0;\n"
ONE_EACH = "and.b32 %r7, %me, 31; setp.ne.u32 %p3, %r7, 0; @%p3 ret;\n"
LOOKS = {
    "volatile": "ld.volatile.shared.u32 %r3, [%r9];",
    "atomic": "atom.shared.add.u32 %r3, [%r9], 0;",
    "acquire": "ld.acquire.cta.shared.u32 %r3, [%r9];",
    "generic": "cvta.shared.u64 %q1, %q2; ld.relaxed.cta.u32 %r3, [%q1];",
}
SETS = {
    "volatile": "st.volatile.shared.u32 [%r9], 1;",
    "atomic": "atom.shared.exch.b32 %r5, [%r9], 1;",
    "release": "st.release.cta.shared.u32 [%r9], 1;",
    "red": "red.release.cta.shared.add.u32 [%r9], 1;",
}


def flag(look, release, acquire=""):
    return (
        INIT
        + "cvt.u64.u32 %q2, %r9;\n"
        + ONE_EACH
        + FLAG.format(look=LOOKS[look], release=release, acquire=acquire)
    )


def flags(tell, look, take):
    """The first warp tells, and the second one looks until there is something, then takes."""
    zero = "".join(f"st.shared.u32 [%r9+{4 * i}], 0;" for i in range(64))
    return (
        f"setp.ne.u32 %p2, %me, 0; @%p2 bra MET;\n{zero}\nMET: bar.sync 0;\n{ONE_EACH}"
        f"@%p0 bra TELL;\nWAIT: {look} setp.eq.u32 %p1, %r3, 0;\n@%p1 bra WAIT;\n{take}"
        f"bra END;\nTELL: {tell}\nEND:"
    )


def test_one_fence_for_two_flags():
    tell = "st.shared.u32 [%r9+8], 7; membar.cta; st.volatile.shared.u32 [%r9], 1;\n"
    tell += "st.shared.u32 [%r9+12], 8; st.volatile.shared.u32 [%r9+4], 1;"
    look = "ld.volatile.shared.u32 %r3, [%r9+4];"
    right(flags(tell, look, "membar.cta; ld.shared.u32 %r2, [%r9+8];"))
    races(flags(tell, look, "membar.cta; ld.shared.u32 %r2, [%r9+12];"))


def test_many_flags_before_one_fence():
    tell = "".join(
        f"st.shared.u32 [%r9+{128 + 4 * i}], 7; membar.cta;\n"
        f"st.volatile.shared.u32 [%r9+{4 * i}], 1;\n"
        for i in range(20)
    )
    looks = "".join(f"ld.volatile.shared.u32 %r3, [%r9+{4 * i}];\n" for i in range(20))
    for i in (0, 15, 16, 19):
        right(flags(tell, looks, f"membar.cta; ld.shared.u32 %r2, [%r9+{128 + 4 * i}];"))


def test_more_flags_than_are_told_apart():
    """Then the others count as one, which finds less, and finds nothing wrong."""
    tell = """st.shared.u32 [%r9+8], 7; mov.u32 %r4, 0; mov.u64 %q1, %q0;
AGAIN: st.release.gpu.global.u32 [%q1], 1; add.u64 %q1, %q1, 4; add.u32 %r4, %r4, 1;
setp.lt.u32 %p4, %r4, 5000; @%p4 bra AGAIN; st.release.gpu.global.u32 [%q0+4], 1;"""
    take = "ld.shared.u32 %r2, [%r9+8];"
    for place in (0, 1, 4095, 4999):
        look = f"ld.acquire.gpu.global.u32 %r3, [%q0+{4 * place}];"
        clean(run(BEGIN + flags(tell, look, take), zeros(5000), block=64))
    plain = tell.replace("st.release.gpu", "st")
    look = "ld.acquire.gpu.global.u32 %r3, [%q0+19996];"
    one_finding(run(BEGIN + flags(plain, look, take), zeros(5000), block=64), "race")


def test_flags_order_with_fences():
    for look in LOOKS:
        for set_ in SETS:
            releases = set_ in ("release", "red")
            for fence in ("membar.cta;", "membar.gl;", "fence.acq_rel.cta;", "fence.sc.gpu;"):
                right(
                    flag(
                        look,
                        ("" if releases else fence) + SETS[set_],
                        "" if look == "acquire" else fence,
                    )
                )
            if not releases:
                races(flag(look, SETS[set_], "membar.cta;"))
            if look != "acquire":
                races(flag(look, "membar.cta; " + SETS[set_]))


def test_another_place_is_no_flag():
    body = flag("volatile", "membar.cta; " + SETS["volatile"], "membar.cta;")
    right(body)
    # It is released at one place and read at another, which another thread has set.
    elsewhere = body.replace(SETS["volatile"], "st.volatile.shared.u32 [%r9+4], 1;\n").replace(
        "@%p2 st.shared.u32 [%r9], 0;", "@%p2 st.shared.u32 [%r9], 1;"
    )
    races(elsewhere)


def test_what_follows_the_flag_is_not_told():
    after = SETS["atomic"] + " st.shared.u32 [%r9+8], 8;"
    races(flag("volatile", "membar.cta; " + after, "membar.cta;"))


def test_a_flag_tells_what_its_thread_did_alone():
    """The other lanes of its warp have not met it."""
    body = (
        INIT
        + WRITE.replace("[%r8]", "[%r8+64]")
        + "{}"
        + (
            "and.b32 %r7, %me, 31; setp.ne.u32 %p3, %r7, 0; @%p3 bra END;\n"
            "@%p0 bra TELL;\nWAIT:\nld.acquire.cta.shared.u32 %r3, [%r9]; "
            "setp.eq.u32 %p1, %r3, 0;\n@%p1 bra WAIT;\nld.shared.u32 %r2, [%r9+80];\nbra END;\n"
            "TELL:\nst.release.cta.shared.u32 [%r9], 1;\nEND:\n"
        )
    )
    races(body.format(""))
    right(body.format("bar.warp.sync -1;\n"))


LOCK = """{who}
TRY:
atom.{space}.cas.b32 %r3, [{lock}], 0, 1; setp.ne.u32 %p1, %r3, 0;
@%p1 bra TRY;
{fence}
ld.{space}.u32 %r4, [{lock}+4]; add.u32 %r4, %r4, 1; st.{space}.u32 [{lock}+4], %r4;
{fence}
{leave}
END:
"""


def test_locks_between_the_warps_of_a_block():
    for space, lock in ("global", "%q0"), ("shared", "%r9"):
        init = (
            ""
            if space == "global"
            else ("setp.eq.u32 %p2, %me, 0; @%p2 st.shared.v2.u32 [%r9], {0, 0}; bar.sync 0;\n")
        )
        out = {"who": init + ONE_EACH, "space": space, "lock": lock}
        for leave in (
            f"atom.{space}.exch.b32 %r5, [{lock}], 0;",
            f"st.volatile.{space}.u32 [{lock}], 0;",
        ):
            for fence in "membar.cta;", "membar.gl;":
                right(LOCK.format(fence=fence, leave=leave, **out), block=128)
            races(LOCK.format(fence="", leave=leave, **out), block=128)
    memory = zeros()
    body = LOCK.format(
        who=ONE_EACH,
        space="global",
        lock="%q0",
        fence="membar.gl;",
        leave="atom.global.exch.b32 %r5, [%q0], 0;",
    )
    clean(run(BEGIN + body, memory, block=128))
    assert memory.array("I")[:2] == [0, 4]


def test_locks_among_the_lanes_of_a_warp():
    body = (
        "mov.u32 %r6, 0;\nTRY:\natom.global.cas.b32 %r3, [%q0], 0, 1; setp.ne.u32 %p1, %r3, 0;\n"
        "@%p1 bra NEXT;\n{0}ld.global.u32 %r4, [%q0+4]; add.u32 %r4, %r4, 1; "
        "st.global.u32 [%q0+4], %r4;\n{0}mov.u32 %r6, 1; atom.global.exch.b32 %r5, [%q0], 0;\n"
        "NEXT:\nsetp.eq.u32 %p1, %r6, 0;\n@%p1 bra TRY;\n"
    )
    for grid in 1, 3:
        memory = zeros()
        clean(run(body.format("membar.gl;\n"), memory, block=64, grid=grid))
        assert memory.array("I")[:2] == [0, 64 * grid]
    one_finding(run(body.format(""), zeros(), block=64), "race")


def test_the_last_warp_sums_up():
    """A fence, a counter, and the warp that comes last reads what all of them have written."""
    body = (
        WRITE + "bar.warp.sync -1;\n" + ONE_EACH + "{}atom.global.inc.u32 %r3, [%q0], 3;\n{}"
        "setp.ne.u32 %p1, %r3, 3;\n@%p1 ret;\nld.shared.u32 %r2, [%r9];"
        "ld.shared.u32 %r2, [%r9+252]; ld.shared.u32 %r2, [%r9+508];\n"
    )
    right(body.format("membar.cta;\n", "membar.cta;\n"), block=128)
    right(body.replace("atom.global", "atom.acq_rel.cta.global").format("", ""), block=128)
    races(body.format("", "membar.cta;\n"), block=128)
    races(body.format("membar.cta;\n", ""), block=128)


def test_many_locks_and_barriers_between():
    """More places than are distinguished, and flags that were set before a barrier of all."""
    body = (
        "mov.u32 %r4, 0;\nMORE:\nshl.b32 %r5, %r4, 7; mad.lo.u32 %r5, %me, 4, %r5; "
        "cvt.u64.u32 %q1, %r5; add.u64 %q1, %q0, %q1; membar.gl;\n"
        "atom.global.exch.b32 %r6, [%q1], 1;\n{}"
        "add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 200;\n@%p1 bra MORE;\n"
    )
    clean(run(body.format(""), zeros(32 * 201)))
    clean(run(body.format("bar.sync 0;\n"), zeros(32 * 202), block=64))


# Copies that are not waited for.

COPY = "cp.async.ca.shared.global [%r8], [%q5], 4;\n"
FROM = "mad.wide.u32 %q5, %me, 4, %q0;\n"


def test_copies_are_waited_for():
    other = read("xor.b32 %r1, %me, 33;")
    commit, meet = "cp.async.commit_group;\n", "bar.sync 0;\n"
    for wait in "cp.async.wait_all;\n", commit + "cp.async.wait_group 0;\n":
        right(FROM + COPY + wait + meet + other)
        right(FROM + COPY + wait + "ld.shared.u32 %r2, [%r8];\n")
        # By the thread that copies, before all meet.
        races(FROM + COPY + meet + wait + other)
        races(FROM + COPY + wait + other)
    for wait in "", commit, commit + "cp.async.wait_group 1;\n", "cp.async.wait_group 0;\n":
        finding = races(FROM + COPY + wait + meet + other)
        assert "has not waited for what it copies" in finding["text"], finding["text"]
        assert "cp.async.ca" in finding["text"], finding["text"]
        races(FROM + COPY + wait + "ld.shared.u32 %r2, [%r8];\n")
        races(FROM + COPY + wait + "st.shared.u32 [%r8], 1;\n")
    # Nobody looks, and the next block has shared memory of its own.
    right(FROM + COPY, grid=4)
    right(FROM + "setp.eq.u32 %p1, %block, 0;\n@%p1 " + COPY + "@!%p1 " + WRITE, grid=2)


def test_copies_in_two_stages():
    """While one stage is worked on, the next is copied: the group before the last is waited for."""
    body = (
        FROM + COPY + "cp.async.commit_group;\ncp.async.ca.shared.global [%r8+256], [%q5], 4;\n"
        "cp.async.commit_group;\ncp.async.wait_group {};\nbar.sync 0;\n"
        + read("xor.b32 %r1, %me, 33;")
        + "{}"
    )
    right(body.format(1, ""))
    right(body.format(0, "ld.shared.u32 %r3, [%r1+256];\n"))
    races(body.format(1, "ld.shared.u32 %r3, [%r1+256];\n"))
    races(body.format(2, ""))


def test_copies_of_16_bytes_and_of_bytes_used_singly():
    body = (
        "mad.wide.u32 %q5, %me, 16, %q0; mad.lo.u32 %r8, %me, 16, %r9;\n"
        "cp.async.cg.shared.global [%r8], [%q5], 16;\n{}ld.shared.u8 %h0, [%r8+13];\n"
        "ld.shared.v4.u32 {{%r1, %r2, %r3, %r4}}, [%r8];\n"
    )
    right(body.format("cp.async.wait_all;\n"), block=32)
    races(body.format(""), block=32)


def test_copies_that_only_some_lanes_wait_for():
    some = "setp.lt.u32 %p1, %me, 16;\n@%p1 {}\nbar.warp.sync -1;\n"
    mine, others = read("and.b32 %r1, %me, 15;"), read("or.b32 %r1, %me, 16;")
    for wait in "cp.async.wait_all;", "cp.async.wait_group 0;":
        begin = FROM + COPY + "cp.async.commit_group;\n" + some.format(wait)
        right(begin + mine, block=32)
        races(begin + others, block=32)
    # A group of those that made it: for the others there is none to wait for.
    begin = FROM + COPY + some.format("cp.async.commit_group;") + "cp.async.wait_group 0;\n"
    right(begin + "bar.warp.sync -1;\n" + mine, block=32)
    races(begin + "bar.warp.sync -1;\n" + others, block=32)


def test_copies_over_other_bytes():
    """Where bytes are used singly, and where something else is stored before the copy is there."""
    single = "st.shared.u8 [%r8+1], %h0;\n"
    load = "ld.shared.u32 %r2, [%r8];\n"
    wait = "cp.async.wait_all;\n"
    right(FROM + "cvt.u16.u32 %h0, %me;" + single + COPY + wait + load)
    races(FROM + "cvt.u16.u32 %h0, %me;" + single + COPY + load)
    finding = races(FROM + COPY + "st.shared.u32 [%r8], 99;\n" + wait + load)
    assert finding["place"]["instruction"] == "st.shared.u32", finding


def test_copies_without_the_check():
    body = FROM + COPY + "cp.async.commit_group;\ncp.async.wait_group 0;\n" + COPY
    body += "cp.async.wait_all;\nld.shared.u32 %r2, [%r8]; st.global.u32 [%q5+128], %r2;\n"
    memory = Buffer(struct.pack("<32I", *range(32)) + bytes(128))
    clean(run(BEGIN + body, memory, block=32, races=False))
    assert memory.array("I")[32:] == list(range(32))


def test_more_copies_than_are_distinguished():
    """What is behind the first 65536 of a warp counts as copied at once: nothing is found there."""
    body = (
        FROM + "mov.u32 %r4, 0;\nMORE:\n" + COPY + "add.u32 %r4, %r4, 1; "
        "setp.lt.u32 %p1, %r4, {};\n@%p1 bra MORE;\n"
        "cp.async.ca.shared.global [%r8+128], [%q5], 4;\nld.shared.u32 %r2, [%r8+128];\n"
    )
    races(body.format(20), block=32)
    right(body.format(2048), block=32)


def test_what_a_block_did_after_another_looked():
    """It has told it, but the other one has not looked since."""
    body = """setp.ne.u32 %p1, %block, 0;\n@%p1 bra READS;
ALONE:\nld.relaxed.gpu.global.u32 %r2, [%q0]; setp.eq.u32 %p1, %r2, 0;\n@%p1 bra ALONE;
st.global.u32 [%q0+8], 5;\n{}st.release.gpu.global.u32 [%q0+4], 1;\nret;
READS:\nld.acquire.gpu.global.u32 %r2, [%q0+4];\nst.release.gpu.global.u32 [%q0], 1;
mov.u32 %r4, 0;\nLONG:\nadd.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 3000000;\n@%p1 bra LONG;
{}ld.global.u32 %r2, [%q0+8];\n"""
    look = "ld.acquire.gpu.global.u32 %r2, [%q0+4];\n"
    clean(run(BEGIN + body.format("", look), zeros(), block=1, grid=2))
    one_finding(run(BEGIN + body.format("", ""), zeros(), block=1, grid=2), "race")


def test_what_a_block_never_told():
    body = """setp.ne.u32 %p1, %block, 0;\n@%p1 bra READS;\nst.global.u32 [%q0+8], 5;\nret;
READS:\nld.acquire.gpu.global.u32 %r2, [%q0+4];\nld.global.u32 %r2, [%q0+8];\n"""
    one_finding(run(BEGIN + body, zeros(), block=1, grid=2), "race")


def test_halves_of_a_warp_read_what_an_earlier_block_wrote():
    body = """shr.u32 %r1, %me, 4; mad.wide.u32 %q5, %r1, 4, %q0; setp.eq.u32 %p1, %block, {};
@%p1 st.global.v2.u32 [%q0], {{7, 8}};\nsetp.ne.u32 %p1, %block, 0;\n@%p1 ld.global.u32 %r2, [%q5];
"""
    one_finding(run(BEGIN + body.format(0), zeros(), block=32, grid=2), "race")
    clean(run(BEGIN + body.format(9), zeros(), block=32, grid=2))


def test_a_flag_in_local_memory_orders_nothing():
    body = """.local .align 4 .b8 l[4]; cvta.local.u64 %q3, l; st.shared.u32 [%r8], %me;
membar.cta; st.release.cta.u32 [%q3], 1; ld.acquire.cta.u32 %r2, [%q3];
ld.volatile.local.u32 %r2, [l];
"""
    races(body + read("xor.b32 %r1, %me, 33;"))
    right(body + "bar.sync 0;\n" + read("xor.b32 %r1, %me, 33;"))


def test_lanes_that_are_far_apart():
    """Over many pages of the record; then over two, of which the second has bytes used singly."""
    far = "mad.wide.u32 %q5, %me, 65536, %q0; {}st.global.u32 [%q5], %me;\n"
    far += "ld.global.u32 %r2, [%q5];\n"
    big = zeros(33 * 16384)
    clean(run(BEGIN + far.format(""), big, block=32))
    assert big.array("I")[::16384] == [*range(32), 0]
    one_finding(run(BEGIN + far.replace("%me, 65536", "0, 65536").format(""), big, block=2), "race")
    page = "add.u64 %q0, %q0, {}; mad.wide.u32 %q5, %me, 4, %q0; st.global.u8 [%q0+{}], %h0;\n"
    for size in 4096, 16384, 32768, 65536:
        body = page.format(size - 64, 64) + "bar.warp.sync -1;\nst.global.u32 [%q5], %me;\n"
        clean(run(BEGIN + "mov.u16 %h0, 0;" + body, big, block=32))
        one_finding(
            run(BEGIN + "cvt.u16.u32 %h0, %me;" + body.replace("bar.warp.sync -1;", ""), big),
            "race",
        )


class Odd(Buffer):
    """Memory that begins at any address, as host memory may that is registered."""

    def __init__(self, data, by, **options):
        super().__init__(bytes(by) + data, **options)
        self.address, self.size = self.address + by, self.size - by


def test_memory_that_begins_anywhere():
    """Words of it are not where those of the check are."""
    own = "add.u64 %q0, %q0, {}; mad.wide.u32 %q5, %me, 4, %q0; "
    first = "setp.lt.u32 %p1, %me, 5;\n"
    for by, apart in (1, 3), (2, 2), (3, 1), (4, 0):
        write = own.format(apart) + "st.global.u32 [%q5], %me;\n" + first
        memory = Odd(bytes(300), by)
        clean(run(write + "@%p1 ld.global.u32 %r1, [%q5];\n", memory))
        assert struct.unpack_from("<32I", memory.bytes(), apart) == tuple(range(32))
        one_finding(run(write + "@%p1 ld.global.u32 %r1, [%q5+4];\n", Odd(bytes(300), by)), "race")
        clean(run(write + "@%p1 ld.global.u8 %h1, [%q5+3];\n", Odd(bytes(300), by)))
        one_finding(run(write + "@%p1 ld.global.u8 %h1, [%q5+4];\n", Odd(bytes(300), by)), "race")


if __name__ == "__main__":
    sys.exit(bool(main(globals())))
