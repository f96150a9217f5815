# SPDX-License-Identifier: BSD-3-Clause
"""Random programs on the engine and on a simple evaluator: straight lines, branches, loops, calls,
shuffles, barriers, shared, local and global memory.

    test_programs.py [--count N] [--seed N]

A program is a number: what failed once is played again by its number."""

import argparse
import random
import struct
import sys

import engine
import scalar

SIZES = (32, 64, 96, 40)


class Writer:
    """Writes a program. What threads tell each other stands where all of them come by."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.labels, self.depth = [], 0, 0
        self.block = self.random.choice(SIZES)
        self.full = self.block % 32 == 0

    def say(self, line):
        self.lines.append(line)

    def r(self):
        return f"%r{self.random.randrange(6)}"

    def q(self):
        return f"%q{self.random.randrange(3)}"

    def f(self):
        return f"%f{self.random.randrange(3)}"

    def operand(self):
        if self.random.random() < 0.25:
            return str(
                self.random.choice(
                    [
                        0,
                        1,
                        2,
                        7,
                        31,
                        255,
                        65536,
                        0x7FFFFFFF,
                        0xFFFFFFFF,
                        self.random.getrandbits(32),
                    ]
                )
            )
        return self.r()

    def label(self):
        self.labels += 1
        return f"L{self.labels}"

    def straight(self):
        pick = self.random.random()
        if pick < 0.55:
            op = self.random.choice(
                [
                    "add.u32",
                    "sub.u32",
                    "mul.lo.u32",
                    "mul.hi.s32",
                    "div.u32",
                    "rem.u32",
                    "min.s32",
                    "max.u32",
                    "and.b32",
                    "or.b32",
                    "xor.b32",
                    "shl.b32",
                    "shr.u32",
                    "shr.s32",
                ]
            )
            self.say(f"{op} {self.r()}, {self.r()}, {self.operand()};")
        elif pick < 0.65:
            op = self.random.choice(["not.b32", "popc.b32", "clz.b32", "mov.u32"])
            self.say(f"{op} {self.r()}, {self.r()};")
        elif pick < 0.72:
            self.say(f"mad.lo.s32 {self.r()}, {self.r()}, {self.operand()}, {self.r()};")
        elif pick < 0.82:
            self.say(
                self.random.choice(
                    [
                        f"mul.wide.s32 {self.q()}, {self.r()}, {self.r()};",
                        f"mad.wide.u32 {self.q()}, {self.r()}, {self.r()}, {self.q()};",
                        f"cvt.u32.u64 {self.r()}, {self.q()};",
                        f"cvt.s64.s32 {self.q()}, {self.r()};",
                        f"xor.b64 {self.q()}, {self.q()}, {self.q()};",
                        f"shr.u64 {self.q()}, {self.q()}, {self.random.randrange(70)};",
                    ]
                )
            )
        elif pick < 0.92:
            self.say(
                self.random.choice(
                    [
                        f"cvt.rn.f32.u32 {self.f()}, {self.r()};",
                        f"add.rn.f32 {self.f()}, {self.f()}, {self.f()};",
                        f"mul.rn.f32 {self.f()}, {self.f()}, 0f3F2AAAAB;",
                        f"fma.rn.f32 {self.f()}, {self.f()}, {self.f()}, {self.f()};",
                        f"mov.b32 {self.r()}, {self.f()};",
                    ]
                )
            )
        else:
            self.condition("%p1")
            self.say(
                self.random.choice(
                    [
                        f"selp.b32 {self.r()}, {self.r()}, {self.operand()}, %p1;",
                        f"@%p1 add.u32 {self.r()}, {self.r()}, 13;",
                        f"@!%p1 xor.b32 {self.r()}, {self.r()}, {self.r()};",
                    ]
                )
            )

    def condition(self, to):
        op = self.random.choice(["setp.lt.u32", "setp.ge.s32", "setp.eq.u32", "setp.ne.u32"])
        left = self.r()
        if self.random.random() < 0.5:
            # By the lowest bits, so that the threads take both branches.
            self.say(f"and.b32 %t, {left}, {self.random.choice([1, 3, 6])};")
            self.say(f"{op} {to}, %t, {self.random.randrange(4)};")
        else:
            self.say(f"{op} {to}, {left}, {self.operand()};")

    def branch(self):
        other, end = self.label(), self.label()
        self.condition("%p2")
        self.say(f"@%p2 bra {other};")
        self.some()
        self.say(f"bra {end};")
        self.say(f"{other}:")
        if self.random.random() < 0.7:
            self.some()
        self.say(f"{end}:")

    def loop(self):
        begin, end, counter = self.label(), self.label(), f"%c{self.depth}"
        self.say(f"and.b32 {counter}, {self.r()}, {self.random.choice([3, 7])};")
        self.say(f"{begin}:")
        self.say(f"setp.eq.u32 %p2, {counter}, 0;")
        self.say(f"@%p2 bra {end};")
        self.some()
        if self.random.random() < 0.3:
            self.condition("%p3")
            self.say(f"@%p3 bra {end};")
        self.say(f"sub.u32 {counter}, {counter}, 1;")
        self.say(f"bra {begin};")
        self.say(f"{end}:")

    def call(self):
        self.say("{\n.param .b32 a0; .param .b32 a1; .param .b32 back;")
        self.say(f"st.param.b32 [a0], {self.r()};")
        self.say(f"st.param.b32 [a1], {self.r()};")
        self.say(f"call (back), {self.random.choice(['mix', 'steps'])}, (a0, a1);")
        self.say(f"ld.param.b32 {self.r()}, [back]; }}")

    def local(self):
        offset = 4 * self.random.randrange(4)
        self.say(f"st.local.u32 [stack+{offset}], {self.r()};")
        self.straight()
        self.say(f"ld.local.u32 {self.r()}, [stack+{offset}];")

    def some(self):
        self.depth += 1
        for _ in range(self.random.randrange(1, 4)):
            pick = self.random.random()
            if self.depth < 4 and pick < 0.12:
                self.branch()
            elif self.depth < 4 and pick < 0.2:
                self.loop()
            elif pick < 0.27:
                self.call()
            elif pick < 0.33:
                self.local()
            elif pick < 0.38:
                self.say(f"red.global.add.u32 [%sum+{4 * self.random.randrange(4)}], {self.r()};")
            else:
                self.straight()
        self.depth -= 1

    def together(self):
        """The work of all threads at one place."""
        if self.full and self.random.random() < 0.6:
            value, to = self.r(), self.r()
            by = self.random.choice(["1", "3", "16", self.r()])
            mode = self.random.choice(["up", "down", "bfly", "idx"])
            clamp = (
                self.random.choice(["0", "0x1800", "0x1C00"])
                if mode == "up"
                else self.random.choice(["31", "0x181F", "0x1C1F"])
            )
            self.condition("%p1")
            self.say(
                self.random.choice(
                    [
                        f"shfl.sync.{mode}.b32 {to}, {value}, {by}, {clamp}, 0xFFFFFFFF;",
                        f"vote.sync.ballot.b32 {to}, %p1, 0xFFFFFFFF;",
                        f"redux.sync.add.u32 {to}, {value}, 0xFFFFFFFF;",
                        f"redux.sync.max.u32 {to}, {value}, 0xFFFFFFFF;",
                        f"and.b32 %t, {value}, 3;\nmatch.any.sync.b32 {to}, %t, 0xFFFFFFFF;",
                    ]
                )
            )
            return
        self.say(f"st.shared.u32 [%mine], {self.r()};")
        self.say("bar.sync 0;")
        self.say(f"add.u32 %t, %tid_x, {self.random.choice([1, 5, 31, 33])};")
        self.say("rem.u32 %t, %t, %n;\nmad.lo.s32 %t, %t, 4, %base;")
        self.say(f"ld.shared.u32 {self.r()}, [%t];")
        self.say("bar.sync 0;")

    def text(self):
        for _ in range(self.random.randrange(3, 9)):
            self.some()
            self.together()
        body = "\n".join(self.lines)
        return f"""
.version 8.0
.target sm_80
.address_size 64
.func (.param .b32 result) mix(.param .b32 x, .param .b32 y)
{{
.reg .b32 %r<4>;
ld.param.u32 %r0, [x];
ld.param.u32 %r1, [y];
mad.lo.s32 %r2, %r0, 1664525, %r1;
shr.u32 %r3, %r2, 7;
xor.b32 %r2, %r2, %r3;
st.param.b32 [result], %r2;
ret;
}}
.func (.param .b32 result) steps(.param .b32 x, .param .b32 y)
{{
.reg .b32 %r<4>;
.reg .pred %p<2>;
ld.param.u32 %r0, [x];
ld.param.u32 %r1, [y];
and.b32 %r2, %r1, 7;
AGAIN:
setp.eq.u32 %p0, %r2, 0;
@%p0 bra DONE;
mad.lo.s32 %r0, %r0, 3, %r2;
sub.u32 %r2, %r2, 1;
bra AGAIN;
DONE:
st.param.b32 [result], %r0;
ret;
}}
.visible .entry k(.param .u64 out, .param .u64 in, .param .u64 total)
{{
.reg .b32 %r<6>, %c<6>, %t, %mine, %base, %tid_x, %n;
.reg .b64 %q<3>, %out, %in, %sum;
.reg .f32 %f<3>;
.reg .pred %p<4>;
.shared .align 4 .b8 buffer[512];
.local .align 4 .b8 stack[16];
ld.param.u64 %out, [out];
ld.param.u64 %in, [in];
ld.param.u64 %sum, [total];
mov.u32 %tid_x, %tid.x;
mov.u32 %n, %ntid.x;
mov.u32 %t, %ctaid.x;
mad.lo.s32 %t, %t, %n, %tid_x;
mad.wide.u32 %in, %t, 16, %in;
mad.wide.u32 %out, %t, 48, %out;
mov.u32 %base, buffer;
mad.lo.s32 %mine, %tid_x, 4, %base;
ld.global.u32 %r0, [%in];
ld.global.u32 %r1, [%in+4];
ld.global.u32 %r2, [%in+8];
ld.global.u32 %r3, [%in+12];
mov.u32 %r4, %tid.x;
mov.u32 %r5, %laneid;
mul.wide.u32 %q0, %r0, %r1;
cvt.s64.s32 %q1, %r2;
mov.b64 %q2, 81985529216486895;
cvt.rn.f32.u32 %f0, %r3;
mov.b32 %f1, 0f40490FDB;
mov.b32 %f2, %r1;
st.local.u32 [stack], %r0;
st.local.u32 [stack+4], %r1;
st.local.u32 [stack+8], %r2;
st.local.u32 [stack+12], %r3;
{body}
st.global.u32 [%out], %r0;
st.global.u32 [%out+4], %r1;
st.global.u32 [%out+8], %r2;
st.global.u32 [%out+12], %r3;
st.global.u32 [%out+16], %r4;
st.global.u32 [%out+20], %r5;
st.global.u64 [%out+24], %q0;
st.global.u64 [%out+32], %q1;
st.global.f32 [%out+40], %f0;
st.global.f32 [%out+44], %f2;
ret;
}}
"""


def play(seed):
    """The differences, as text, or None."""
    writer = Writer(seed)
    text = writer.text()
    blocks, size = 2, writer.block
    count = blocks * size
    numbers = random.Random(seed + 1)
    given = struct.pack(
        f"<{4 * count}I",
        *(numbers.getrandbits(numbers.choice([3, 8, 32])) for _ in range(4 * count)),
    )
    out, source, total = (
        engine.Buffer(bytes(48 * count)),
        engine.Buffer(given),
        engine.Buffer(bytes(16)),
    )
    outcome = engine.Module(text).run("k", blocks, size, out, source, total)
    if outcome["fault"] or outcome["findings"]:
        return str(outcome["fault"] or outcome["findings"])
    memory = scalar.Memory()
    bases = (1 << 20, 2 << 20, 3 << 20)
    for i, byte in enumerate(given):
        memory.bytes[bases[1] + i] = byte
    functions = scalar.functions_of(text)
    for index in range(blocks):
        scalar.Block(functions, "k", bases, memory, size, index, blocks).run()
    for name, buffer, base in (("out", out, bases[0]), ("total", total, bases[2])):
        got = buffer.bytes()
        for at in range(0, len(got), 4):
            wanted = memory.load(base + at, 4)
            value = int.from_bytes(got[at : at + 4], "little")
            nan = at % 48 in (40, 44) and value & 0x7FFFFFFF > 0x7F800000 < wanted & 0x7FFFFFFF
            if value != wanted and not nan:
                return f"{name}+{at} (thread {at // 48}): {value:#x}, expected {wanted:#x}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print the first program")
    options = parser.parse_args()
    if options.show:
        print(Writer(options.seed).text())
        return 0
    failed = 0
    for seed in range(options.seed, options.seed + options.count):
        wrong = play(seed)
        if wrong:
            failed += 1
            print(f"program {seed}: {wrong}")
    print(f"{options.count - failed} passed, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(bool(main()))
