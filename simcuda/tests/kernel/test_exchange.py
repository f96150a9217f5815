# SPDX-License-Identifier: BSD-3-Clause
"""Votes, matches, shuffles, reductions and elections of a warp, against what PTX says of them."""

import functools
import math
import operator
import random
import struct
import sys

from engine import Buffer
from small_programs import MINE, clean, main, one_finding, refused, run, zeros

ALL = 0xFFFFFFFF
MASKS = (ALL, 0x0000FFFF, 0xAAAAAAAA, 0x80000001, 0x00000400)


def lanes_of(mask):
    return [lane for lane in range(32) if mask >> lane & 1]


def exchanged(text, values, mask, results=1, sync=True):
    """What each lane of the mask stores. Its value is in %r0 and %q1, and in %p0 its lowest bit.
    Two results, the second of them a predicate, are in %r1 and %p1."""
    operand = f", {mask}" if sync else ""
    body = f"""{MINE}ld.global.u32 %r0, [%q5]; mad.wide.u32 %q6, %me, 8, %q1;
mov.b64 %q1, {{%r0, %r0}}; and.b32 %r2, %r0, 1; setp.ne.u32 %p0, %r2, 0; mov.b32 %f0, %r0;
mov.u32 %r3, {mask}; shr.u32 %r3, %r3, %me; and.b32 %r3, %r3, 1; setp.eq.u32 %p2, %r3, 0;
mov.u32 %r1, 0; mov.pred %p1, 0; @%p2 bra END;
{text}{operand};
selp.u32 %r4, 1, 0, %p1; st.global.v2.u32 [%q6], {{%r1, %r4}};
END:"""
    source, out = Buffer(struct.pack("<32I", *values)), zeros(64)
    clean(run(body, source, out))
    got = out.array("I")
    pairs = [(got[2 * lane], got[2 * lane + 1]) for lane in lanes_of(mask)]
    return [pair[0] for pair in pairs] if results == 1 else pairs


def same_for_all(mask, value):
    return [value] * len(lanes_of(mask))


def test_votes():
    for values in ([0] * 32, [1] * 32, [lane % 2 for lane in range(32)], [1] + [0] * 31):
        for mask in MASKS:
            members = [values[lane] for lane in lanes_of(mask)]
            for negated in ("", "!"):
                truth = [bool(each) != bool(negated) for each in members]
                wanted = {
                    "all": all(truth),
                    "any": any(truth),
                    "uni": len(set(truth)) == 1,
                }
                for mode, value in wanted.items():
                    text = f"vote.sync.{mode}.pred %p1, {negated}%p0"
                    got = exchanged(text, values, mask, 2)
                    assert got == same_for_all(mask, (0, int(value))), (text, values, mask)
                ballot = sum(
                    1 << lane for lane, each in zip(lanes_of(mask), truth, strict=True) if each
                )
                for sync in (True, False):  # without .sync, the lanes that are there
                    text = f"vote{'.sync' * sync}.ballot.b32 %r1, {negated}%p0"
                    got = exchanged(text, values, mask, sync=sync)
                    assert got == same_for_all(mask, ballot)
    refused("vote.sync.pred %p0, %p1, -1;", "it wants one of .all, .any, .uni and .ballot")
    refused("vote.sync.all.b32 %r0, %p1, -1;", "not with the type .b32")
    refused("vote.sync.ballot.pred %p0, %p1, -1;", "not with the type .pred")
    refused("vote.sync.all.pred %p0, %p1;", "it takes 3 operands, not 2")


def test_matches():
    for values in ([7] * 32, [lane // 5 for lane in range(32)], [7] * 31 + [8], list(range(32))):
        for mask in MASKS:
            equal = [
                sum(1 << other for other in lanes_of(mask) if values[other] == values[lane])
                for lane in lanes_of(mask)
            ]
            for bits, source in ((32, "%r0"), (64, "%q1")):
                got = exchanged(f"match.any.sync.b{bits} %r1, {source}", values, mask)
                assert got == equal, (values, mask)
                whole = equal[0] == mask
                got = exchanged(f"match.all.sync.b{bits} %r1|%p1, {source}", values, mask, 2)
                assert got == same_for_all(mask, (mask * whole, int(whole)))
                got = exchanged(f"match.all.sync.b{bits} %r1, {source}", values, mask)
                assert got == same_for_all(mask, mask * whole)
                got = exchanged(f"match.all.sync.b{bits} _|%p1, {source}", values, mask, 2)
                assert got == same_for_all(mask, (0, int(whole)))
    refused("match.any.b32 %r0, %r1;", "it wants .sync")
    refused("match.sync.b32 %r0, %r1, -1;", "it wants .all or .any")
    refused("match.any.sync.u32 %r0, %r1, -1;", "not with the type .u32")
    refused("match.any.sync.b32 %r0|%p0, %r1, -1;", "only .all has a predicate")


def test_shuffles():
    values = [1000 + lane for lane in range(32)]
    for mode in ("up", "down", "bfly", "idx"):
        for by in (0, 1, 3, 16, 31, 33):
            for clamp, segments in ((0, 0), (31, 0), (31, 24), (7, 24), (0, 28)):
                wanted = []
                for lane in range(32):
                    most = lane & segments | clamp & ~segments & 31
                    source = {
                        "up": lane - by % 32,
                        "down": lane + by % 32,
                        "bfly": lane ^ by % 32,
                        "idx": lane & segments | by & ~segments & 31,
                    }[mode]
                    inside = source >= most if mode == "up" else source <= most
                    wanted.append((values[source if inside else lane], int(inside)))
                for sync in (True, False):
                    text = f"shfl{'.sync' * sync}.{mode}.b32 %r1|%p1, %r0, {by}, "
                    text += str(segments << 8 | clamp)
                    assert exchanged(text, values, ALL, 2, sync) == wanted, text
    alone = exchanged("shfl.sync.idx.b32 %r1|_, %r0, 3, 31", values, ALL)
    assert alone == exchanged("shfl.sync.idx.b32 %r1, %r0, 3, 31", values, ALL) == [1003] * 32
    refused("shfl.sync.b32 %r0, %r1, 1, 31, -1;", "it wants one of .up, .down, .bfly and .idx")
    refused("shfl.sync.idx.u32 %r0, %r1, 1, 31, -1;", "not with the type .u32")


def single(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def bits_of(value):
    return 0x7FFFFFFF if math.isnan(value) else struct.unpack("<I", struct.pack("<f", value))[0]


def signed(value):
    return value - (value >> 31 << 32)


INTEGERS = {
    "add.u32": lambda x: sum(x) & ALL,
    "add.s32": lambda x: sum(x) & ALL,
    "min.u32": min,
    "max.u32": max,
    "min.s32": lambda x: min(x, key=signed),
    "max.s32": lambda x: max(x, key=signed),
    "and.b32": functools.partial(functools.reduce, operator.and_),
    "or.b32": functools.partial(functools.reduce, operator.or_),
    "xor.b32": functools.partial(functools.reduce, operator.xor),
}


def test_reductions_of_integers():
    numbers = random.Random(1)
    for mask in MASKS:
        values = [numbers.choice((0, 1, ALL, 1 << 31, numbers.getrandbits(32))) for _ in range(32)]
        members = [values[lane] for lane in lanes_of(mask)]
        for operation, function in INTEGERS.items():
            got = exchanged(f"redux.sync.{operation} %r1, %r0", values, mask)
            assert got == same_for_all(mask, function(members)), (operation, mask)
    for text in (
        "add.b32",
        "and.u32",
        "add.f32",
        "min.b32",
        "min.abs.u32",
        "min.NaN.s32",
        "add.u64",
    ):
        refused(f"redux.sync.{text} %r0, %r1, -1;", "not with the type ." + text.split(".")[-1])
    for text in ("u32", "add.min.u32"):
        refused(f"redux.sync.{text} %r0, %r1, -1;", "the operation is missing")
    refused("redux.add.u32 %r0, %r1;", "it wants .sync")


def extreme(values, least, absolute, nan):
    """As min and max do it for two numbers: +0 is more than -0, a NaN is ignored without .NaN."""
    values = [single(each & 0x7FFFFFFF if absolute else each) for each in values]
    kept = [each for each in values if not math.isnan(each)]
    if not kept or (nan and len(kept) < len(values)):
        return 0x7FFFFFFF
    choose = min if least else max
    return bits_of(choose(kept, key=lambda each: (each, math.copysign(1, each))))


def test_reductions_of_floating_point():
    zero, nan, infinity = 1 << 31, 0x7FC12345, 0x7F800000
    one, minus = 0x3F800000, 0xBF800000
    for some in (
        (one, minus, 0x40000000),
        (0, zero, 0),
        (zero, 0, zero),
        (nan, one, 0xFFC00001),
        (one, nan, minus),
        (infinity, infinity | zero, one),
        (nan, nan | zero, nan),
    ):
        values = [some[lane % 3] for lane in range(32)]
        for mask in (*MASKS, 0x7):
            members = [values[lane] for lane in lanes_of(mask)]
            for name in ("min", "max"):
                for absolute in ("", ".abs"):
                    for propagates in ("", ".NaN"):
                        text = f"redux.sync.{name}{absolute}{propagates}.f32 %r1, %r0"
                        wanted = extreme(members, name == "min", absolute, propagates)
                        got = exchanged(text, values, mask)
                        assert got == same_for_all(mask, wanted), (text, some, mask)


def test_elections():
    for mask in MASKS:
        got = exchanged("elect.sync %r1|%p1", range(32), mask, 2)
        leaders = {leader for leader, _ in got}
        assert len(leaders) == 1
        (leader,) = leaders
        assert leader in lanes_of(mask)
        assert [chosen for _, chosen in got] == [int(lane == leader) for lane in lanes_of(mask)]
        got = exchanged("elect.sync _|%p1", range(32), mask, 2)
        assert [chosen for _, chosen in got] == [int(lane == leader) for lane in lanes_of(mask)]
    refused("elect.sync %r0, -1;", "a predicate")
    refused("elect %r0|%p0;", "it wants .sync")
    refused("activemask.u32 %r0;", "not with the type .u32")
    refused("activemask.b32 %r0, %r1;", "it takes 1 operands, not 2")


def test_a_mask_that_does_not_name_its_lane():
    for text in (
        "elect.sync %r1|%p1, 2;",
        "vote.sync.ballot.b32 %r1, %p0, 2;",
        "redux.sync.add.u32 %r1, %r0, 2;",
    ):
        body = (
            f"setp.ne.u32 %p2, %me, 0; @%p2 bra END; mov.pred %p0, 1; mov.u32 %r0, 5;\n{text} END:"
        )
        finding = one_finding(run(body, zeros(), block=1), "warp_mask")
        assert "its mask does not name itself" in finding["text"]


if __name__ == "__main__":
    sys.exit(bool(main(globals())))
