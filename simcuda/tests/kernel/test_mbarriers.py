# SPDX-License-Identifier: BSD-3-Clause
"""mbarriers: what they count, against a model; what PTX leaves undefined; and what they order.

test_mbarriers.py [WORD...]"""

import random
import struct
import sys

from engine import Buffer, Module
from small_programs import clean, fault_of, main, one_finding, program, refused, run, zeros

# mbarriers are at %r9, as a generic address at %q9; a word for each thread at %r8; %p0: the first
# thread, %p1: the first warp.
BEGIN = """.shared .align 8 .b8 m[64]; .shared .align 4 .b8 s[2048];
mov.u32 %r9, m; mov.u64 %q9, m; cvta.shared.u64 %q9, %q9;
mov.u32 %r8, s; mad.lo.u32 %r8, %me, 4, %r8;
setp.eq.u32 %p0, %me, 0; setp.lt.u32 %p1, %me, 32;
"""
MOST = (1 << 20) - 1


def init(count="32", place="%r9"):
    return f"@%p0 mbarrier.init.shared.b64 [{place}], {count};\nbar.sync 0;\n"


ARRIVE = "mbarrier.arrive.shared.b64 %q1, [%r9];\n"
TEST = "mbarrier.test_wait.shared.b64 %p2, [%r9], %q1;"


def wait(test=TEST, name="WAIT"):
    return f"{name}:\n{test}\n@!%p2 bra {name};\n"


# What is taken.


def test_all_spellings():
    for space, address in ("", "%q9"), (".shared", "%r9"), (".shared::cta", "m"):
        for order in "", ".release.cta", ".relaxed.cta":
            for kind in "arrive", "arrive_drop":
                for state in "%q1", "_":
                    name = f"mbarrier.{kind}"
                    tail = f"{order}{space}.b64 {state}, [{address}]"
                    Module(program(f"{BEGIN} {name}{tail}; {name}{tail}, 2; {name}{tail}, %r1;"))
                    Module(program(f"{BEGIN} {name}.expect_tx{tail}, 16;"))
                    if "relaxed" not in order:
                        Module(program(f"{BEGIN} {name}.noComplete{tail}, %r1;"))
        for order in "", ".acquire.cta", ".relaxed.cta":
            for kind in "test_wait", "try_wait":
                tail = f"{order}{space}.b64 %p2, [{address}+8]"
                hint = ", 100" if kind == "try_wait" else ""
                Module(program(f"{BEGIN} mbarrier.{kind}{tail}, %q1;"))
                Module(program(f"{BEGIN} mbarrier.{kind}{tail}, %q1{hint};"))
                Module(program(f"{BEGIN} mbarrier.{kind}.parity{tail}, %r1{hint};"))
        for order in "", ".relaxed.cta":
            for kind in "expect_tx", "complete_tx":
                Module(program(f"{BEGIN} mbarrier.{kind}{order}{space}.b64 [{address}], %r1;"))
        for name in "mbarrier.inval", "cp.async.mbarrier.arrive", "cp.async.mbarrier.arrive.noinc":
            Module(program(f"{BEGIN} {name}{space}.b64 [{address}];"))
        Module(program(f"{BEGIN} mbarrier.init{space}.b64 [{address}], %r1;"))
    Module(program("mbarrier.pending_count.b64 %r1, %q1;"))


def test_what_is_no_such_instruction():
    refused("mbarrier.arrive.release.shared.b64 %q1, [%r9];", "an order and a scope")
    refused("mbarrier.arrive.cta.shared.b64 %q1, [%r9];", "an order and a scope")
    refused("mbarrier.test_wait.acquire.shared.b64 %p1, [%r9], %q1;", "an order and a scope")
    refused("mbarrier.test_wait.release.cta.shared.b64 %p1, [%r9], %q1;", "an order and a scope")
    refused("mbarrier.expect_tx.cta.shared.b64 [%r9], 1;", "an order and a scope")
    refused("mbarrier.arrive.noComplete.shared.b64 %q1, [%r9];", "3 operands")
    refused("mbarrier.arrive.expect_tx.shared.b64 %q1, [%r9];", "3 operands")
    refused("mbarrier.arrive.noComplete.expect_tx.shared.b64 _, [%r9], 1;", ".noComplete")
    refused("mbarrier.arrive.noComplete.relaxed.cta.shared.b64 _, [%r9], 1;", ".noComplete")
    refused("mbarrier.test_wait.shared.b64 %p1, [%r9], %q1, 10;", "operands")
    refused("mbarrier.test_wait.parity.shared.b64 %p1, [%r9], %q1;", "32 are expected")
    refused("mbarrier.test_wait.shared.b64 %p1, [%r9], %r1;", "64 are expected")
    refused("mbarrier.init.shared.b32 [%r9], 1;", "type .b32")
    refused("mbarrier.init.global.b64 [%q0], 1;", ".global")
    refused("mbarrier.check_layout.shared.b64 [%r9];", "not supported")
    refused("cp.async.mbarrier.shared.b64 [%r9];", "cp.async.mbarrier.arrive")
    refused("cp.mbarrier.arrive.shared.b64 [%r9];", "cp.async.mbarrier.arrive")
    refused("mbarrier.pending_count.b32 %r1, %r2;", "type .b32")


# What is counted: a program of one thread, each of whose results a model knows.


class Model:
    def __init__(self, count):
        self.expected = self.pending = count
        self.bytes = self.phase = 0

    def arrive(self, count):
        before = self.pending
        self.pending -= count
        self.look()
        return before

    def look(self):
        if self.pending == 0 and self.bytes == 0:
            self.phase += 1
            self.pending = self.expected


class Program:
    """Of one thread and three mbarriers. `wanted` are the results, which it stores."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.body = BEGIN + "setp.ne.u32 %p3, %me, 0; @%p3 ret;\n"
        self.models = [None] * 3
        self.states = [None] * 3  # whose phase is known, in %q10 and up
        self.wanted = []
        for _ in range(60):
            self.step(self.random.randrange(3))

    def place(self, which):
        return self.random.choice(
            [
                (".shared", f"%r9+{8 * which}"),
                (".shared::cta", f"m+{8 * which}"),
                ("", f"%q9+{8 * which}"),
            ]
        )

    def add(self, which, before, after, order=""):
        space, address = self.place(which)
        self.body += f"{before}{order}{space}.b64 {after}".replace("AT", f"[{address}]") + ";\n"

    def result(self, register, value):
        self.body += f"st.global.u32 [%q0+{4 * len(self.wanted)}], {register};\n"
        self.wanted.append(value)

    def step(self, which):
        model = self.models[which]
        if not model or self.random.random() < 0.05:
            if model:
                self.add(which, "mbarrier.inval", "AT")
            count = self.random.choice([1, 2, 3, 4, 5, 9, 70, MOST])
            self.add(which, "mbarrier.init", f"AT, {count}")
            self.models[which], self.states[which] = Model(count), None
            return
        phase = model.phase
        step = self.random.choice(
            [self.arrive, self.arrive, self.hold, self.transfer, self.copies, self.look, self.look]
        )
        step(which, model)
        if model.phase != phase:  # a wait has to see each phase's end
            self.look_by_parity(which, model, phase)

    def count(self, model):
        return self.random.choice([1, model.pending, self.random.randint(1, model.pending)])

    def drops(self, model, count):
        return count < model.expected and self.random.random() < 0.3

    def arrive(self, which, model):
        if not model.pending:
            return
        order = self.random.choice(["", ".release.cta", ".relaxed.cta"])
        count = self.count(model)
        expects = self.random.random() < 0.2 and model.bytes < 1000
        if expects:
            count, bytes_ = 1, self.random.randint(0, 64)
            model.bytes += bytes_
        drops = self.drops(model, count)
        if drops:
            model.expected -= count
        name = f"mbarrier.arrive{'_drop' * drops}{'.expect_tx' * expects}"
        state = self.random.choice(["_", f"%q{10 + which}"])
        given = f", {bytes_}" if expects else f", {count}"
        if not expects and count == 1 and self.random.random() < 0.5:
            given = ""
        self.add(which, name, f"{state}, AT{given}", order)
        if state != "_":
            self.states[which] = model.phase
        model.arrive(count)

    def hold(self, which, model):
        """An arrival that completes nothing, and what its state says was pending."""
        if model.pending < 2:
            return
        count = self.random.randint(1, model.pending - 1)
        drops = self.drops(model, count)
        if drops:
            model.expected -= count
        name = f"mbarrier.arrive{'_drop' * drops}.noComplete"
        self.add(which, name, f"%q{10 + which}, AT, {count}")
        self.states[which] = model.phase
        self.body += f"mbarrier.pending_count.b64 %r3, %q{10 + which};\n"
        self.result("%r3", model.arrive(count))

    def transfer(self, which, model):
        order = self.random.choice(["", ".relaxed.cta"])
        if model.bytes and self.random.random() < 0.7:
            bytes_ = self.random.choice([model.bytes, self.random.randint(1, model.bytes)])
            self.add(which, "mbarrier.complete_tx", f"AT, {bytes_}", order)
            model.bytes -= bytes_
            model.look()
        elif model.pending:
            bytes_ = self.random.randint(1, 500)
            if self.random.random() < 0.3:  # completed before it is expected
                self.add(which, "mbarrier.complete_tx", f"AT, {bytes_}", order)
                self.add(which, "mbarrier.expect_tx", f"AT, {bytes_ + 8}", order)
                bytes_ = 8
            else:
                self.add(which, "mbarrier.expect_tx", f"AT, {bytes_}", order)
            model.bytes += bytes_

    def copies(self, which, model):
        if model.pending == MOST:
            return
        self.add(which, "cp.async.mbarrier.arrive", "AT")
        if model.pending:
            self.add(which, "cp.async.mbarrier.arrive.noinc", "AT")
            model.arrive(1)

    def look(self, which, model):
        phase = self.states[which]
        if phase is not None and phase >= model.phase - 1 and self.random.random() < 0.7:
            self.look_for(which, "", f"%q{10 + which}", phase < model.phase)
        else:
            self.look_by_parity(which, model, model.phase - self.random.randrange(2))

    def look_by_parity(self, which, model, phase):
        self.look_for(which, ".parity", phase & 1, phase < model.phase)

    def look_for(self, which, parity, phase, wanted):
        order = self.random.choice(["", ".acquire.cta", ".relaxed.cta"])
        kind = self.random.choice(["test", "try"])
        hint = self.random.choice(["", ", 20"]) if kind == "try" else ""
        if kind == "try" and not wanted:
            hint = ", 1"
        self.add(which, f"mbarrier.{kind}_wait{parity}", f"%p2, AT, {phase}{hint}", order)
        self.body += "selp.u32 %r3, 1, 0, %p2;\n"
        self.result("%r3", int(wanted))


def test_random_programs_of_one_thread():
    for seed in range(150):
        made = Program(seed)
        out = zeros(len(made.wanted) + 1)
        clean(run(made.body, out))
        assert out.array("I")[:-1] == made.wanted, seed


# Several warps meet in phases. Each thread writes a word, arrives, waits, and reads a word of
# another thread. It arrives with a number, and leaves after a phase of its own.

PHASES = 6
MEETING = """mad.wide.u32 %q5, %me, 16, %q0; ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%q5];
mov.u32 %r5, 0; mov.u32 %r6, 0; mov.u32 %r10, s; mad.lo.u32 %r3, %r3, 4, %r10;
LOOP:
and.b32 %r10, %r5, 1; shl.b32 %r10, %r10, 10; add.u32 %r11, %r10, %r8;
mad.lo.u32 %r12, %r5, 1000, %me; st.shared.u32 [%r11], %r12;
setp.eq.u32 %p3, %r5, %r2;
@%p3 bra LEAVE;
ARRIVE
add.u32 %r11, %r10, %r3; ld.shared.u32 %r12, [%r11]; add.u32 %r6, %r6, %r12;
add.u32 %r5, %r5, 1;
bra LOOP;
LEAVE:
mbarrier.arrive_drop.shared.b64 _, [%r9], %r1;
mad.wide.u32 %q6, %me, 4, %q1; st.global.u32 [%q6], %r6;
"""
WAITS = [
    TEST,
    "mbarrier.try_wait.shared.b64 %p2, [%r9], %q1, 1000;",
    "mbarrier.test_wait.acquire.cta.b64 %p2, [%q9], %q1;",
    "and.b32 %r13, %r5, 1; mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r9], %r13;",
]


def meeting(seed):
    chosen = random.Random(seed)
    threads = chosen.choice([32, 64, 96, 200, 256])
    counts = [chosen.randint(1, 3) for _ in range(threads)]
    ends = [chosen.choice([PHASES, chosen.randint(1, PHASES)]) for _ in range(threads)]
    ends[chosen.randrange(threads)] = PHASES
    others = [chosen.randrange(threads) for _ in range(threads)]
    table = Buffer(
        b"".join(struct.pack("<4I", *each, 0) for each in zip(counts, ends, others, strict=True))
    )

    def word(thread, phase):
        """What it wrote last, there where it writes in this phase."""
        last = min(ends[thread], phase)
        return 1000 * (last - (last ^ phase & 1) % 2) + thread

    def sum_of(thread):
        return sum(word(others[thread], phase) for phase in range(ends[thread]))

    body = BEGIN + "st.shared.u32 [%r8], 0; st.shared.u32 [%r8+1024], 0;\n" + init(sum(counts))
    arrive = ARRIVE.replace("];", "], %r1;") + wait(chosen.choice(WAITS))
    body += MEETING.replace("ARRIVE\n", arrive.replace("%q1", "%q2"))
    return body, threads, table, [sum_of(thread) for thread in range(threads)]


def test_random_meetings():
    for seed in range(40):
        body, threads, table, wanted = meeting(seed)
        out = zeros(threads)
        clean(run(body, table, out, block=threads, limit=0))
        assert out.array("I") == wanted, seed


def test_meetings_that_order_nothing():
    for seed in range(10):
        body, threads, table, wanted = meeting(seed)
        out = zeros(threads)
        relaxed = body.replace("mbarrier.arrive.", "mbarrier.arrive.relaxed.cta.")
        one_finding(run(relaxed, table, out, block=threads, limit=0), "race")
        assert out.array("I") == wanted, seed


def test_blocks_on_several_threads():
    body = (
        BEGIN
        + init(64)
        + "mad.lo.u32 %r1, %block, 64, %me; st.shared.u32 [%r8], %r1;\n"
        + ARRIVE
        + wait()
        + "mov.u32 %r2, s; xor.b32 %r3, %me, 63; mad.lo.u32 %r3, %r3, 4, %r2;"
        "ld.shared.u32 %r2, [%r3]; mad.wide.u32 %q5, %r1, 4, %q0; st.global.u32 [%q5], %r2;\n"
    )
    for threads in 1, 4:
        out = zeros(64 * 500)
        clean(run(body, out, block=64, grid=500, threads=threads, races=False, limit=0))
        assert out.array("I") == [i ^ 63 for i in range(64 * 500)]


# What is undefined.


def wrong(body, *words, block=32, **options):
    fault = fault_of(run(BEGIN + body, zeros(), block=block, **options), "illegal_instruction")
    assert all(word in fault["text"] for word in words), fault["text"]


def misused(body, *words, block=32, **options):
    finding = one_finding(run(BEGIN + body, zeros(), block=block, **options), "mbarrier")
    assert all(word in finding["text"] for word in words), finding["text"]
    clean(run(BEGIN + body, zeros(), block=block, barriers=False, **options))


def test_where_there_is_no_mbarrier():
    uses = [
        ARRIVE,
        "mbarrier.arrive_drop.shared.b64 _, [%r9];",
        "mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 4;",
        "mbarrier.expect_tx.shared.b64 [%r9], 4;",
        "mbarrier.complete_tx.shared.b64 [%r9], 4;",
        "mov.u64 %q1, 0; " + TEST,
        "mbarrier.try_wait.parity.b64 %p1, [%q9], 1;",
        "cp.async.mbarrier.arrive.shared.b64 [%r9];",
        "mbarrier.inval.shared.b64 [%r9];",
    ]
    gone = "@%p0 mbarrier.inval.shared.b64 [%r9];\nbar.sync 0;\n"
    for use in uses:
        wrong(use, "no mbarrier at byte 0 of shared memory", use.split("; ")[-1].split(" ")[0])
        wrong(init() + gone + use, "invalidated")
        wrong(init(place="%r9+8") + use, "no mbarrier at byte 0")
        clean(run(BEGIN + init() + gone + init() + use, zeros()))
    # Each block has its own.
    wrong("setp.ne.u32 %p3, %block, 0; @%p3 bra NEXT;\n" + init() + "NEXT:\n" + ARRIVE, grid=2)


def test_addresses():
    wrong("mbarrier.init.b64 [%q0], 1;", "does not lead to shared memory")
    local = ".local .align 8 .b8 l[8]; mov.u64 %q1, l; cvta.local.u64 %q1, %q1;\n"
    wrong(local + "mbarrier.init.b64 [%q1], 1;", "does not lead to shared memory")
    fault_of(run(BEGIN + "mbarrier.init.shared.b64 [%r9+4], 1;", zeros()), "misaligned")
    fault_of(run(BEGIN + "mbarrier.init.shared.b64 [%r9+65536], 1;", zeros()), "illegal_address")
    fault_of(run(BEGIN + "mbarrier.init.b64 [%q9+4], 1;", zeros()), "misaligned")


def test_ranges_of_counts():
    for count in 0, MOST + 1, 4294967295:
        wrong(init(count), f"1 to {MOST} arrivals, not {count}")
    clean(run(BEGIN + init(MOST), zeros()))
    one = "@!%p0 ret;\n"
    wrong(init(3) + one + ARRIVE.replace("];", "], 4;"), "counts as 4", "only 3 more")
    wrong(init(3) + one + "mbarrier.arrive_drop.shared.b64 _, [%r9], 4;", "drops 4 of the 3")
    # Nothing is pending, but bytes are.
    held = init(1) + one + "mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 8;\n"
    wrong(held + ARRIVE, "only 0 more")
    clean(run(BEGIN + held + "mbarrier.complete_tx.shared.b64 [%r9], 8;\n" + ARRIVE, zeros()))
    # Nothing arrives, and all leave.
    none = "mbarrier.arrive.shared.b64 _, [%r9], 0;\n"
    clean(run(BEGIN + init() + none + "mbarrier.arrive_drop.shared.b64 _, [%r9];", zeros()))
    wrong(init() + "mbarrier.arrive_drop.shared.b64 _, [%r9];\n" + ARRIVE, "only 0 more")
    for kind, sign in ("expect_tx", ""), ("complete_tx", "-"):
        use = f"mbarrier.{kind}.shared.b64 [%r9], "
        clean(run(BEGIN + init() + one + use + f"{MOST};", zeros()))
        wrong(init() + one + use + f"{MOST}; {use} 1;", f"would be {sign}{MOST + 1}")
    wrong(init(MOST) + one + "cp.async.mbarrier.arrive.shared.b64 [%r9];", f"at most {MOST}")
    wrong(held + "cp.async.mbarrier.arrive.noinc.shared.b64 [%r9];", "only 0 more")


def test_what_must_not_complete():
    one = init(2) + "@!%p0 ret;\n"
    hold = "mbarrier.arrive{}.noComplete.shared.b64 _, [%r9], {};\n"
    for drop in "", "_drop":
        clean(run(BEGIN + one + hold.format(drop, 1), zeros()))
        misused(one + hold.format(drop, 2), "completes the phase", ".noComplete forbids")


def test_phases_that_are_over():
    one = init(1) + "@!%p0 ret;\n"
    old = ARRIVE.replace("%q1", "%q2")
    clean(run(BEGIN + one + ARRIVE + TEST, zeros()))
    misused(one + ARRIVE + old + TEST, "the state is of phase 0", "is in phase 2")
    misused(one + ARRIVE + old + old + TEST, "is in phase 3")
    misused(one + "mov.u64 %q1, -1;\n" + TEST, "is in phase 0")


def test_initialized_twice():
    again = "@%p0 mbarrier.init.shared.b64 [%r9], 2;\n"
    misused(init() + again, "the mbarrier at byte 0 of shared memory is valid", "mbarrier.init")
    clean(run(BEGIN + init() + "@%p0 mbarrier.inval.shared.b64 [%r9];\n" + again, zeros()))


def test_plain_uses_of_its_bytes():
    said = ("a valid mbarrier is at byte 8 of shared memory", "only its own instructions")
    for use in (
        "ld.shared.u32 %r1, [%r9+12];",
        "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r9];",
        "ld.u8 %r1, [%q9+15];",
        "@%p0 st.shared.u32 [%r9+8], 1;",
        "@%p0 st.v2.u64 [%q9], {%q1, %q1};",
        "@%p0 atom.shared.add.u32 %r1, [%r9+8], 1;",
        "@%p0 cp.async.ca.shared.global [%r9+8], [%q0], 8;",
    ):
        misused(init(place="%r9+8") + use, *said, use.split(" ")[use.startswith("@")])
        clean(run(BEGIN + init(place="%r9+40") + use, zeros(), written=False))
        clean(
            run(
                f"{BEGIN}{init(place='%r9+8')}@%p0 mbarrier.inval.b64 [%q9+8];\nbar.sync 0;\n{use}",
                zeros(),
                written=False,
            )
        )
    # What is written over is none any more.
    wrong(init() + "@%p0 st.shared.u8 [%r9+7], %h1;\n" + ARRIVE, "written over")


# A thread that waits lets the others go.


def test_bytes_between_mbarriers():
    """They are anybody's, as those behind the last one are."""
    body = init() + init(place="%r9+32")
    for at in 8, 16, 24, 40:
        use = (
            f"bar.sync 0;\n@%p0 st.shared.u64 [%r9+{at}], 1;\n@%p0 ld.shared.u32 %r1, [%r9+{at}];\n"
        )
        clean(run(BEGIN + body + use + f"@%p0 st.u64 [%q9+{at}], 1;", zeros()))
    misused(body + "@%p0 st.shared.v4.u32 [%r9+32], {1, 2, 3, 4};", "mbarrier is at byte 32")


def test_who_waits_lets_others_go():
    """The lane that is waited for comes last in the program, in the same warp or in another one."""
    for block, last in (32, 31), (96, 95), (96, 0):
        body = init(1) + (
            f"setp.eq.u32 %p3, %me, {last};\n@%p3 bra TELL;\n"
            + wait("mbarrier.test_wait.parity.shared.b64 %p2, [%r9], 0;")
            + "bra END;\nTELL:\n"
            + ARRIVE
            + "END:\n"
        )
        clean(run(BEGIN + body, zeros(), block=block, limit=50_000))


def test_a_phase_that_nobody_completes():
    for test in TEST, TEST.replace("test_wait", "try_wait"):
        outcome = run(BEGIN + init(33) + ARRIVE + wait(test), zeros(), limit=100_000)
        fault_of(outcome, "limit")


# What is ordered. The first warp writes and arrives, and the second one reads.

TAKE = "ld.shared.u32 %r2, [%r8+-128];\n"
GIVE = "st.shared.u32 [%r8], %me;\n"
TWO_WARPS = "@%p1 bra TELL;\n{}bra END;\nTELL:\n{}END:\n"
BY_PARITY = "mbarrier.test_wait.parity{}.shared.b64 %p2, [%r9], 0;"


def told(give, take, count=32):
    return BEGIN + init(count) + TWO_WARPS.format(take, give)


def numbers():
    return Buffer(struct.pack("<64I", *range(1, 65)))


def right(body, block=64, **options):
    clean(run(body, numbers(), block=block, **options))


def races(body, block=64, **options):
    return one_finding(run(body, numbers(), block=block, **options), "race")


def test_a_wait_orders():
    for order in "", ".release.cta":
        arrive = f"mbarrier.arrive{order}.shared.b64 _, [%r9];\n"
        for seen in "", ".acquire.cta":
            right(told(GIVE + arrive, wait(BY_PARITY.format(seen)) + TAKE))
    waits = wait(BY_PARITY.format(""))
    right(told(GIVE + ARRIVE.replace("arrive", "arrive_drop"), waits + TAKE))
    finding = races(told(GIVE + ARRIVE, TAKE), written=False)
    assert "No barrier orders the two" in finding["text"], finding["text"]
    races(told(ARRIVE + GIVE, waits + TAKE))
    # A look that finds the phase incomplete, or at an earlier phase.
    races(told(GIVE + ARRIVE, BY_PARITY.format("") + TAKE, count=33), written=False)
    races(told(GIVE + ARRIVE, BY_PARITY.format("").replace(" 0;", " 1;") + TAKE), written=False)


FLAG = "@%p0 st.shared.u32 [%r9+16], 0;\n"
SET = "st.volatile.shared.u32 [%r9+16], 1;\n"
LOOK = """LOOK:
ld.volatile.shared.u32 %r3, [%r9+16]; setp.eq.u32 %p3, %r3, 0;
@%p3 bra LOOK;
"""


def test_each_lane_waits_for_itself():
    """One lane of the second warp waits, and tells the others by a flag, which orders nothing."""
    take = "setp.ne.u32 %p4, %me, 40;\n@%p4 bra LOOK;\n{}bra TAKE;\n" + LOOK + "TAKE:\n" + TAKE
    body = BEGIN + FLAG + init() + TWO_WARPS.format(take, GIVE + ARRIVE)
    waits = wait(BY_PARITY.format(""))
    assert races(body.format(waits + SET))["count"] == 31
    right(body.format(waits + "membar.cta;\n" + SET).replace("TAKE:\n", "membar.cta;\nTAKE:\n"))


def test_relaxed_ones_order_with_fences():
    arrive = "mbarrier.arrive.relaxed.cta.shared.b64 _, [%r9];\n"
    waits = wait(BY_PARITY.format(".relaxed.cta"))
    fence = "fence.acq_rel.cta;\n"
    for before in "", fence:
        for after in "", fence:
            body = told(GIVE + before + arrive, waits + after + TAKE)
            (right if before and after else races)(body)
    right(told(GIVE + ARRIVE, waits + fence + TAKE))
    races(told(GIVE + ARRIVE, waits + TAKE))
    right(told(GIVE + fence + arrive, wait(BY_PARITY.format("")) + TAKE))
    races(told(GIVE + arrive, wait(BY_PARITY.format("")) + TAKE))


def test_another_mbarrier_orders_nothing():
    both = "@%p0 mbarrier.init.shared.b64 [%r9+8], 32;\n" + init()
    other = ARRIVE.replace("[%r9]", "[%r9+8]")
    body = TWO_WARPS.format(wait(BY_PARITY.format("")) + TAKE, "{}")
    right(BEGIN + both + body.format(GIVE + ARRIVE + other))
    right(BEGIN + both + body.format(GIVE + other + ARRIVE))
    races(BEGIN + both + body.format(other + ARRIVE + GIVE))
    races(BEGIN + both + body.format(ARRIVE + GIVE + other))


def test_what_follows_belongs_to_the_next_phase():
    """All lanes but one of the first warp have arrived in the next phase when the second warp
    looks. It knows by a flag, which orders nothing."""
    first = wait("mbarrier.try_wait.parity.shared.b64 %p2, [%r9], 0;")
    second = (
        "setp.eq.u32 %p3, %me, 32;\n@%p3 mbarrier.arrive.relaxed.cta.shared.b64 _, [%r9];\n"
        + wait("mbarrier.try_wait.parity.shared.b64 %p2, [%r9], 1;", "AGAIN")
    )
    give, take = GIVE.replace("[%r8]", "[%r8+1024]"), TAKE.replace("-128", "896")
    body = (
        BEGIN
        + FLAG
        + init()
        + TWO_WARPS.format(
            LOOK + "{}",
            GIVE
            + ARRIVE
            + give
            + "setp.lt.u32 %p3, %me, 31;\n@%p3 mbarrier.arrive.shared.b64 _, [%r9];\n"
            + SET,
        )
    )
    right(body.format(first + TAKE))
    assert races(body.format(first + take))["count"] == 32
    assert races(body.format(first + second + take))["count"] == 1
    right(body.format(first + second + "setp.ne.u32 %p3, %me, 63;\n@%p3 " + take))


def test_knowledge_passes_through():
    """What who arrives knows of others, who do not arrive."""
    body = (
        GIVE + "{}setp.ne.u32 %p3, %me, 0; @%p3 bra END;\n" + ARRIVE,
        wait(BY_PARITY.format("")) + TAKE,
    )
    right(told(*body, count=1).replace("{}", "bar.warp.sync -1;\n"))
    races(told(*body, count=1).replace("{}", ""))


def test_its_own_bytes():
    """The initialization comes first, by a barrier; nothing else need be ordered."""
    body = "@%p0 mbarrier.init.shared.b64 [%r9], 64;\n{}" + ARRIVE + wait()
    right(BEGIN + body.format("bar.sync 0;\n"))
    races(BEGIN + body.format(""), written=False)
    last = "bar.sync 0;\n@%p0 mbarrier.inval.shared.b64 [%r9];\n{}@%p3 st.shared.u64 [%r9], 1;\n"
    body = BEGIN + body.format("bar.sync 0;\n") + "setp.eq.u32 %p3, %me, 1;\n" + last
    right(body.format("bar.sync 0;\n"))
    races(body.format(""))


# Copies.

COPY = "mad.wide.u32 %q5, %me, 4, %q0; cp.async.ca.shared.global [%r8], [%q5], 4;\n"
TRACK = "cp.async.mbarrier.arrive{}.shared.b64 [%r9];\n"
COPIED = wait(BY_PARITY.format(""))


def test_copies_arrive():
    # Each thread's copies arrive beside it, or in its place.
    beside, instead = TRACK.format("") + ARRIVE, TRACK.format(".noinc")
    for arrive in beside, instead, instead + TRACK.format(""):
        right(told(COPY + arrive, COPIED + TAKE))
        right(told(COPY + arrive + COPIED.replace("WAIT", "OWN") + TAKE.replace("+-128", ""), ""))
        races(told(COPY + arrive + TAKE.replace("+-128", ""), COPIED))
        races(told(COPY + arrive, TAKE), written=False)
    # The thread arrives, and its copies do not.
    finding = races(told(COPY + ARRIVE, COPIED + TAKE))
    assert "has not waited for what it copies" in finding["text"], finding["text"]
    races(told(ARRIVE.join([TRACK.format(""), COPY]), COPIED + TAKE))
    # What it has waited for itself goes with it.
    right(told(COPY + "cp.async.wait_all;\n" + ARRIVE, COPIED + TAKE))
    right(told(COPY + beside + "cp.async.wait_all;\n", COPIED + TAKE))
    # A barrier of the block is not enough, nor another mbarrier.
    races(BEGIN + init(64) + COPY + beside + "bar.sync 0;\n" + "@!%p1 " + TAKE)


def test_copies_of_some_lanes_arrive():
    some = COPY + "setp.lt.u32 %p3, %me, 16;\n@%p3 " + TRACK.format(".noinc")
    look = COPIED + "setp.lt.u32 %p3, %me, 48;\n"
    right(told(some, look + "@%p3 " + TAKE, count=16))
    races(told(some, look + "@!%p3 " + TAKE, count=16))


def test_copies_of_two_stages():
    """Each stage has an mbarrier, and the second one's copies are not waited for by the first's."""
    begin = BEGIN + "@%p0 mbarrier.init.shared.b64 [%r9+8], 32;\n" + init()
    next_copy = COPY.replace("[%r8]", "[%r8+1024]")
    arrive = TRACK.format(".noinc")
    second = arrive.replace("[%r9]", "[%r9+8]")
    take = TAKE.replace("-128", "896")
    for given in COPY + arrive + next_copy + second, next_copy + second + COPY + arrive:
        body = begin + TWO_WARPS.format("{}", given)
        right(body.format(COPIED + TAKE))
        both = COPIED + COPIED.replace("WAIT", "AGAIN").replace("[%r9]", "[%r9+8]")
        right(body.format(both + TAKE + take))
        if given.startswith(COPY):
            races(body.format(COPIED + take))
    # A thread that arrives at the second one says nothing of what the first one tracks.
    late = ARRIVE.replace("[%r9]", "[%r9+8]")
    body = begin + TWO_WARPS.format("{}" + TAKE, COPY + TRACK.format(".noinc") + late)
    races(body.format(COPIED.replace("[%r9]", "[%r9+8]")))
    # All that was begun before is tracked.
    right(begin + TWO_WARPS.format(COPIED + TAKE + take, COPY + next_copy + arrive))


if __name__ == "__main__":
    sys.exit(bool(main(globals())))
