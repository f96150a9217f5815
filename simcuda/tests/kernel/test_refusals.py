# SPDX-License-Identifier: BSD-3-Clause
"""Text that is unsupported or invalid is rejected by name when it is loaded."""

import sys

from engine import Module, Refused
from small_programs import main, program, refused, refused_text, zeros


def test_limits_are_a_devices():
    def sized(room, memory, before="", body=""):
        return program(f"{before}.{memory} .align 8 .b8 d[{room}]; mov.u64 %q2, d; {body}")

    for memory, what, most in ("local", "local", 524288), ("shared", "static shared", 49152):
        Module(sized(most, memory))
        refused_text(
            sized(most + 8, memory), f"'k' wants {most + 8} bytes of {what} memory", f"{most}"
        )
    shared = ".shared .align 8 .b8 c[49152]; mov.u64 %q1, c; "
    refused_text(sized(8, "shared", shared), "'k' wants 49160 bytes of static shared memory")
    constant = ".const .align 8 .b8 {}[{}];\n"
    Module(program("", before=constant.format("c", 65528) + constant.format("d", 8)))
    refused_text(
        program("", before=constant.format("c", 65528) + constant.format("d", 16)),
        "'d' wants 65544 bytes of constant memory",
    )


def test_a_kernel_that_is_not_there():
    module = Module(program("ret;"))
    module.about["kernels"]["j"] = module.about["kernels"]["k"]
    why = ""
    try:
        module.run("j", 1, 1, zeros())
    except Refused as refusal:
        why = str(refusal)
    assert "there is no such kernel" in why


def test_refusals_name_line_and_instruction():
    line = program("HERE").split("\n").index("HERE") + 1
    refused(
        "mma.sync.aligned.m16n8k8.row.col.f32 {%f0}, {%r0}, {%r1}, {%f1};",
        f"line {line}:",
        "mma.sync",
    )
    refused("tex.2d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [t, {%r0, %r1}];", "line")
    refused("add.f17 %f0, %f1, %f2;", "add.f17")
    refused("add.rq.f32 %f0, %f1, %f2;", ".rq")
    refused("add.s32 %r0, %r1;", "3 operands")
    refused("barrier.cta.red.popc.u32 %r0, 1;", "3 to 4 operands")
    refused("; ret;", "';'")
    refused("add.s32 %r0, %r1, %q1;", "%q1", "64 bits")
    refused("add.s32 %r0, %r1, %nothing;", "%nothing")
    refused("mov.u32 %r0, %r1.x;", "'%r1' has no such component")
    refused(".reg .u32 %tid; mov.u32 %tid, %tid.x;", "'%tid' has no such component")
    refused("bra NOWHERE;", "NOWHERE")
    refused("cp.async.bulk.shared::cluster.global [%r0], [%q0], 16;", "bulk")
    refused("mbarrier.init.shared.b64 [%r0];", "mbarrier.init")
    refused("barrier.cluster.arrive;", "cluster")
    refused("@%r0 add.s32 %r0, %r1, %r2;", "predicate")
    refused("mul.s32 %r0, %r1, %r2;", ".lo, .hi and .wide")
    refused("ld.global.v4.u32 {%r0, %r1}, [%q0];", "vector of 4")
    refused("cvt.rn.e4m3x2.f32 %h0, %f0, %f1;", ".satfinite")
    refused("cvt.rn.satfinite.f16x2.e5m2x2 %r0, %h0;", ".satfinite")
    refused("cvt.satfinite.e5m2x2.f16x2 %h0, %r0;", ".rn")
    refused("cvt.rn.satfinite.e4m3x2.f64 %h0, %d0;", ".f64")
    refused("cvt.rn.satfinite.e4m3x2.f32 %r0, %f0, %f1;", "16 are expected")


def test_what_ptxas_refuses():
    refused("vadd4.s32.s32.s32.sat.add %r0, %r1, %r2, %r3;", ".sat with .add")
    for to, source in (("s8", "s8"), ("s16", "u8"), ("u64", "u32"), ("s64", "s64")):
        refused(f"cvt.sat.{to}.{source} %q1, %q2;", "nothing for .sat to do")
    for text in ("cvt.sat.u8.s8", "cvt.sat.s8.u8", "cvt.sat.s64.u64", "cvt.sat.u64.s8"):
        Module(program(f"{text} %q1, %q2;"))
    for name in ("u8", "s8"):
        refused(f"cvt.rn.bf16.{name} %h0, %h1;", f"type .{name}")
        refused(f"cvt.rzi.{name}.bf16 %h0, %h1;", f"type .{name}")
        Module(program(f".reg .b8 %c; cvt.rn.bf16.{name} %h0, %c;"))
        refused(f"cvt.rni.{name[0]}16.bf16 %r0, %h1;", f"type .{name[0]}16")
        refused(f"cvt.rn.bf16.{name[0]}32 %h0, %q1;", f"type .{name[0]}32")
        Module(program(f".reg .b8 %c; cvt.rzi.{name}.bf16 %c, %h1;"))
    for name in ("f16", "bf16"):
        refused(f"setp.lt.{name} %p0|%p1, %h0, %h1;", "only pairs have two results")
        refused(f"setp.nan.and.{name} %p0|%p1, %h0, %h1, %p2;", "only pairs have two results")
        Module(program(f"setp.lt.{name}x2 %p0|%p1, %r0, %r1;"))
        refused(f"set.lt.f32.{name} %f0, %h0, %h1;", f"type .{name}")


# By what is said of them. ptxas refuses all of these, too.
WRONG = {
    ".ftz and .sat are only with .f16": [
        "add.ftz.bf16 %h0, %h1, %h2;",
        "fma.rn.sat.bf16x2 %r0, %r1, %r2, %r3;",
        "neg.ftz.bf16 %h0, %h1;",
    ],
    ".ftz and .sat are only with .f32": [
        "add.ftz.f64 %d0, %d1, %d2;",
        "mul.sat.f64 %d0, %d1, %d2;",
    ],
    "it wants .rn": ["fma.f16 %h0, %h1, %h2, %h3;"],
    "it wants a rounding mode": [
        "mad.f32 %f0, %f1, %f2, %f3;",
        "fma.f64 %d0, %d1, %d2, %d3;",
        "div.f32 %f0, %f1, %f2;",
        "cvt.f16.f32 %h0, %f0;",
        "cvt.f32.s32 %f0, %r0;",
    ],
    ".xorsign goes with .abs": [
        "min.xorsign.f32 %f0, %f1, %f2;",
        "max.xorsign.f16 %h0, %h1, %h2;",
    ],
    "it wants .approx": ["sin.f32 %f0, %f1;", "ex2.f16 %h0, %h1;"],
    "is not supported here": [
        "max.relu.f16 %h0, %h1, %h2;",
        "add.NaN.f16 %h0, %h1, %h2;",
        "neg.sat.f16 %h0, %h1;",
        "min.ftz.f64 %d0, %d1, %d2;",
        "max.NaN.f64 %d0, %d1, %d2;",
        "min.xorsign.abs.f64 %d0, %d1, %d2;",
        "tanh.approx.ftz.f32 %f0, %f1;",
        "prefetch.global.L1.L3 [%q0];",
        "ld.global.foo.u32 %r0, [%q0];",
    ],
    "this instruction is not supported": [
        "rem.f32 %f0, %f1, %f2;",
        "add.b8 %h0, %h1, %h2;",
        "mul.lo.b8 %h0, %h1, %h2;",
        "copysign.f16 %h0, %h1, %h2;",
        "min.tf32 %r0, %r1, %r2;",
        "vadd3.u32.u32.u32 %r0, %r1, %r2, %r3;",
    ],
    # Types.
    "not with the type": [
        *(f"{op}.f32 %f0, %f1;" for op in ("not", "cnot", "popc", "clz", "brev", "bfind")),
        *(f"{op}.f32 %f0, %f1, %f2;" for op in ("and", "or", "xor")),
        *(f"{op}.u32 %r0, %r1, %r2;" for op in ("and", "or", "shl", "bmsk.wrap")),
        "xor.b8 %h0, %h1, %h2;",
        *(f"{op}.b32 %r0, %r1, %r2;" for op in ("add", "sub", "div", "min", "szext.clamp")),
        *(f"{op}.b64 %q0, %q1, %q2, %q3;" for op in ("mad.lo", "sad", "shf.l.wrap", "lop3")),
        *(f"{op}.u32 %r0, %r1;" for op in ("not", "popc", "brev", "abs", "neg")),
        *(f"{op}.b16 %r0, %h1;" for op in ("popc", "clz", "bfind")),
        "brev.b16 %h0, %h1;",
        "not.b8 %h0, %h1;",
        "add.b16.f32 %f0, %f1, %f2;",
        "min.b16.f32 %h0, %h1, %h2;",
        "neg.b16.f32 %h0, %h1;",
        "abs.ftz.f64 %d0, %d1;",
        "add.f32.bf16 %f0, %f1, %f2;",
        "mul.wide.u64 %q0, %q1, %q2;",
        "mad.wide.s64 %q0, %q1, %q2, %q3;",
        "mul24.lo.u64 %q0, %q1, %q2;",
        "mad24.hi.s64 %q0, %q1, %q2, %q3;",
        "add.cc.u16 %h0, %h1, %h2;",
        "madc.lo.cc.u16 %h0, %h1, %h2, %h3;",
        "add.sat.u32 %r0, %r1, %r2;",
        "sub.u16x2 %r0, %r1, %r2;",
        "min.relu.u16x2 %r0, %r1, %r2;",
        "max.relu.u32 %r0, %r1, %r2;",
        "dp4a.u32.b32 %r0, %r1, %r2, %r3;",
        "bfe.b32 %r0, %r1, %r2, %r3;",
        "bfi.u32 %r0, %r1, %r2, %r3, %r4;",
        "fns.u32 %r0, %r1, %r2, %r3;",
        "prmt.u32 %r0, %r1, %r2, %r3;",
        "shr.f32 %f0, %f1, %r0;",
        "lop3.u32 %r0, %r1, %r2, %r3, 1;",
        "div.full.f64 %d0, %d1, %d2;",
        "sqrt.approx.f64 %d0, %d1;",
        "rcp.approx.f64 %d0, %d1;",
        "lg2.approx.f16 %h0, %h1;",
        "ex2.approx.f64 %d0, %d1;",
        "ex2.approx.bf16 %h0, %h1;",
        "ex2.approx.ftz.f16 %h0, %h1;",
        "testp.finite.f16 %p0, %h0;",
        # Comparisons.
        "setp.lt.b32 %p0, %r0, %r1;",
        "setp.equ.s32 %p0, %r0, %r1;",
        "setp.lo.s32 %p0, %r0, %r1;",
        "setp.eq.b8 %p0, %h0, %h1;",
        "setp.eq.ftz.f64 %p0, %d0, %d1;",
        "set.hi.u32.s32 %r0, %r1, %r2;",
        "set.eq.ftz.u32.bf16 %r0, %h1, %h2;",
        "set.eq.b32.u32 %r0, %r1, %r2;",
        "set.eq.u16.u32 %h0, %r1, %r2;",
        "set.eq.f32.f16x2 %f0, %r1, %r2;",
        "set.eq.f16.bf16 %h0, %h1, %h2;",
        "set.eq.f16.f16x2 %h0, %r1, %r2;",
        "set.eq.bf16.bf16x2 %h0, %r1, %r2;",
        "set.eq.ftz.bf16.f32 %h0, %f1, %f2;",
        "set.eq.f16x2.bf16x2 %r0, %r1, %r2;",
        "set.eq.bf16x2.u32 %r0, %r1, %r2;",
        "slct.u32.u32 %r0, %r1, %r2, %r3;",
        "slct.ftz.u32.s32 %r0, %r1, %r2, %r3;",
        "slct.f16.s32 %h0, %h1, %h2, %r3;",
        "slct.b8.s32 %h0, %h1, %h2, %r3;",
        "selp.bf16 %h0, %h1, %h2, %p0;",
        "selp.u8 %h0, %h1, %h2, %p0;",
        # Moves and memory.
        "mov.f16 %h0, %h1;",
        "mov.u8 %h0, %h1;",
        "ld.global.f16 %h0, [%q0];",
        "st.global.bf16x2 [%q0], %r0;",
        "ld.global.pred %p0, [%q0];",
        "mov.u64 %q1, %clock;",
        "mov.u32 %r1, %globaltimer;",
        # Conversions.
        "cvt.rn.f16x2.f16 %r0, %h0;",
        "cvt.rna.tf32.f16 %r0, %h0;",
        "cvt.u32.b32 %r0, %r1;",
        "cvt.b32.u32 %r0, %r1;",
        "cvt.rzi.b32.f32 %r0, %f0;",
        "cvt.pack.sat.u32.s32 %r0, %r1, %r2;",
        "cvt.pack.sat.u16.u32 %r0, %r1, %r2;",
        # Atomic operations.
        "atom.global.add.s64 %q1, [%q0], %q2;",
        "atom.global.add.b32 %r1, [%q0], %r2;",
        "atom.global.and.u32 %r1, [%q0], %r2;",
        "atom.global.exch.b16 %h1, [%q0], %h2;",
        "atom.global.cas.u32 %r1, [%q0], %r2, %r3;",
        "atom.global.inc.s32 %r1, [%q0], %r2;",
        "atom.global.dec.u64 %q1, [%q0], %q2;",
        "atom.global.min.f32 %f1, [%q0], %f2;",
        "atom.global.max.b64 %q1, [%q0], %q2;",
        "atom.global.add.v2.u32 {%r1, %r2}, [%q0], {%r3, %r4};",
        "atom.global.min.v2.f32 {%f1, %f2}, [%q0], {%f3, %f4};",
        "atom.global.exch.v2.b32 {%r1, %r2}, [%q0], {%r3, %r4};",
        "atom.global.exch.noftz.v2.f16 {%h1, %h2}, [%q0], {%h3, %h4};",
        "red.global.add.noftz.v8.f16x2 [%q0], {%r1, %r2, %r3, %r4, %r1, %r2, %r3, %r4};",
        # Textures and surfaces.
        "tld4.r.2d.v4.f16.f32 {%h0, %h1, %h2, %h3}, [%q0, {%f0, %f1}];",
        "tld4.r.2d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%q0, {%r0, %r1}];",
        "tex.1d.v4.u16.f32 {%h0, %h1, %h2, %h3}, [%q0, {%f0}];",
        "tex.1d.v2.f16.f32 {%h0, %h1}, [%q0, {%f0}];",
        "tex.1d.v4.f32.u32 {%f0, %f1, %f2, %f3}, [%q0, {%r0}];",
        "sured.b.add.1d.f32.trap [%q0, {%r0}], %f0;",
        "sust.p.1d.u32.trap [%q0, {%r0}], %r1;",
        # Others.
        "bar.red.popc.pred %p0, 0, %p1;",
        "bar.red.and.u32 %r0, 0, %p1;",
        "vadd2.u32.b32.u32 %r0, %r1, %r2, %r3;",
    ],
    "bits, and 32 are expected": ["bar.sync %q0;"],
    # What must be there.
    "it wants .clamp or .wrap": ["shf.l.b32 %r0, %r1, %r2, %r3;", "bmsk.b32 %r0, %r1, %r2;"],
    "it wants .l or .r": ["shf.wrap.b32 %r0, %r1, %r2, %r3;"],
    "it wants .lo or .hi": [
        "mul24.u32 %r0, %r1, %r2;",
        "dp2a.u32.u32 %r0, %r1, %r2, %r3;",
        "dp4a.lo.u32.u32 %r0, %r1, %r2, %r3;",
    ],
    "it wants one of .lo, .hi and .wide": [
        "mad.u32 %r0, %r1, %r2, %r3;",
        "madc.u32 %r0, %r1, %r2, %r3;",
        "mul.lo.hi.u32 %r0, %r1, %r2;",
    ],
    ".sat is only with .hi and .s32": [
        "mad.lo.sat.s32 %r0, %r1, %r2, %r3;",
        "mad.hi.sat.u32 %r0, %r1, %r2, %r3;",
        "mad24.lo.sat.s32 %r0, %r1, %r2, %r3;",
        "mad24.hi.sat.u32 %r0, %r1, %r2, %r3;",
    ],
    "there is no carry with .wide": ["mad.wide.cc.u32 %q0, %r1, %r2, %q3;"],
    "its table is a number from 0 to 255": [
        "lop3.b32 %r0, %r1, %r2, %r3, %r4;",
    ],
    "is no comparison": ["setp.foo.u32 %p0, %r0, %r1;"],
    "is not known": ["testp.zero.f32 %p0, %f0;"],
    "parts do not make": [
        "mov.b16 %h0, {%h1, %h2, %h3};",
        "mov.b32 %r0, {%h1, %h2, %h3};",
        "mov.b64 {%r0, %r1, %r2}, %q0;",
        "mov.b128 %q0, {%q1, %q2, %q3};",
    ],
    "only addresses of 64 bits are supported": ["cvta.global.u32 %r0, %r1;"],
    "a state space is missing": ["cvta.u64 %q1, %q2;", "isspacep.foo %p0, %q0;"],
    # Conversions.
    "it wants a rounding mode to an integer": ["cvt.s32.f32 %r0, %f0;", "cvt.rn.s32.f32 %r0, %f0;"],
    "nothing is rounded": [
        "cvt.rn.u32.u16 %r0, %h0;",
        "cvt.rn.f64.f32 %d0, %f0;",
        "cvt.rz.bf16.bf16 %h0, %h1;",
        "cvt.rni.f64.f32 %d0, %f0;",
        "cvt.rni.f32.s32 %f0, %r0;",
    ],
    "it wants .rn or .rz": [
        "cvt.f16x2.f32 %r0, %f0, %f1;",
        "cvt.rm.bf16x2.f32 %r0, %f0, %f1;",
        "cvt.rn.sat.f16x2.f32 %r0, %f0, %f1;",
        "cvt.tf32.f32 %r0, %f0;",
        "cvt.rna.relu.tf32.f32 %r0, %f0;",
        "cvt.rni.tf32.f32 %r0, %f0;",
        "cvt.rn.relu.f32.f64 %f0, %d0;",
        "cvt.rp.satfinite.f16.f32 %h0, %f0;",
        "cvt.rn.relu.f16.s32 %h0, %r0;",
        "cvt.relu.f64.f32 %d0, %f0;",
    ],
    ".rna is only with .tf32": ["cvt.rna.f16.f32 %h0, %f0;"],
    ".ftz is only with .f32": ["cvt.ftz.f64.f16 %d0, %h0;", "cvt.rni.ftz.s32.f64 %r0, %d0;"],
    ".sat is not with .bf16": ["cvt.rn.sat.bf16.f32 %h0, %f0;", "cvt.sat.f32.bf16 %f0, %h0;"],
    "it wants .sat": ["cvt.pack.u16.s32 %r0, %r1, %r2;"],
    "it wants .b32 at its end": ["cvt.pack.sat.u8.s32.u32 %r0, %r1, %r2, %r3;"],
    # Memory.
    "constant memory is not written": ["st.const.u32 [%q0], %r0;"],
    "a load acquires, a store releases": [
        "ld.release.gpu.global.u32 %r0, [%q0];",
        "st.acquire.gpu.global.u32 [%q0], %r0;",
    ],
    "parameters and constants are read by .weak loads": [
        "ld.volatile.param.u64 %q1, [p0];",
        "ld.relaxed.gpu.const.u32 %r0, [%q0];",
    ],
    "a number is an address only of local memory": [
        "ld.global.u32 %r0, [4096];",
        "ld.param.u64 %q1, [0];",
        "st.u32 [64], %r0;",
    ],
    "a vector has at most 32 bytes": [
        "ld.global.v8.b64 {%q1, %q2, %q3, %q4, %q1, %q2, %q3, %q4}, [%q0];"
    ],
    "there is no vector of .b128": [
        ".reg .b128 %x<2>; ld.global.v2.b128 {%x0, %x1}, [%q0];",
    ],
    "a vector of 2 is expected": [
        "ld.global.v2.u32 %r0, [%q0];",
        "st.global.v2.u32 [%q0], {%r0, %r1, %r2, %r3};",
        "atom.global.add.v2.f32 {%f0, %f1}, [%q0], %f2;",
        "atom.global.add.v2.f32 %f0, [%q0], {%f2, %f3};",
        "suld.b.1d.v2.b32.trap %r0, [%q0, {%r1}];",
    ],
    "a vector of 4 is expected": [
        "tex.1d.v4.f32.f32 %f0, [%q0, {%f0}];",
    ],
    "the registers of a vector have different widths": ["ld.global.v2.u16 {%r0, %h0}, [%q0];"],
    "at least one register is loaded": [
        "ld.global.u32 _, [%q0];",
        "ld.global.v2.u32 {_, _}, [%q0];",
    ],
    "it takes 2 operands, not 3": ["ld.global.u32 %r0, [%q0], %q1;"],
    "it takes 3 operands, not 2": ["st.global.L2::cache_hint.u32 [%q0], %r0;"],
    "bits, and 64 are expected": ["ld.global.L2::cache_hint.u32 %r0, [%q0], %r1;"],
    "the level is missing": [
        "prefetch.global [%q0];",
        "prefetch.local.L2::evict_last [%q0];",
        "applypriority.global.L1 [%q0], 128;",
        "discard.global [%q0], 128;",
    ],
    "it is of 128 bytes": ["discard.global.L2 [%q0], 64;", "discard.global.L2 [%q0], %r0;"],
    "an address in brackets is expected": ["prefetch.global.L1 %q0;"],
    "how it is made is missing": ["createpolicy.L2::evict_last.b64 %q1, 0f3F800000;"],
    "only cp.async is supported": ["cp.ca.shared.global [%r0], [%q0], 4;"],
    "it wants .ca or .cg": ["cp.async.shared.global [%r0], [%q0], 4;"],
    "only from global to shared memory": [
        "cp.async.ca.global.shared [%q0], [%r0], 4;",
        "cp.async.ca.shared.shared [%r0], [%r0], 4;",
        "cp.async.ca.global.global [%q0], [%q0], 4;",
    ],
    "4, 8 or 16 bytes are copied, by .cg 16": [
        "cp.async.ca.shared.global [%r0], [%q0], 2;",
        "cp.async.ca.shared.global [%r0], [%q0], %r1;",
        "cp.async.cg.shared.global [%r0], [%q0], 8;",
    ],
    "a number of groups is expected": ["cp.async.wait_group %r0;"],
    # Atomic operations.
    "atomic operations are for global and shared memory": [
        "atom.local.add.u32 %r0, [%q0], 1;",
        "red.param.add.u32 [p0], 1;",
    ],
    "the operation is missing, or not known": [
        "atom.global.u32 %r0, [%q0], 1;",
        "atom.global.sub.u32 %r0, [%q0], 1;",
        "sured.b.1d.u32.trap [%q0, {%r0}], %r1;",
    ],
    "it has a result": ["red.global.exch.b32 [%q0], %r0;", "red.global.cas.b32 [%q0], %r0, %r1;"],
    "it cannot acquire": [
        "red.acquire.gpu.global.add.u32 [%q0], 1;",
        "red.acq_rel.gpu.global.add.u32 [%q0], 1;",
    ],
    ".noftz is with halves, and must be there": [
        "atom.global.add.f16 %h0, [%q0], %h1;",
        "atom.global.add.noftz.u32 %r0, [%q0], %r1;",
    ],
    "it is only of vectors": ["atom.global.min.noftz.f16 %h0, [%q0], %h1;"],
    "vectors are not in shared memory": ["atom.shared.add.v2.f32 {%f0, %f1}, [%r0], {%f2, %f3};"],
    # Textures and surfaces.
    "a gradient is a vector with a number for each dimension": [
        "tex.grad.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%q0, {%f0, %f1}], %f0, %f1;",
        "tex.grad.3d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%q0, {%f0, %f1, %f2, %f2}], {%f0, %f1}, "
        "{%f0, %f1};",
    ],
    "its result is a vector of 4": ["tld4.r.2d.f32.f32 %f0, [%q0, {%f0, %f1}];"],
    "cannot be asked here": ["txq.level.array_size.b32 %r0, [%q0], %r1;"],
    "the answer is of the type .b32": ["txq.width.u32 %r0, [%q0];"],
    "a handle in brackets is expected": ["txq.width.b32 %r0, %q0;", "txq.width.b32 %r0, [16];"],
    "is no address": ["txq.width.b32 %r0, [t];"],
    "it is with .b or .p": ["sured.add.1d.u32.trap [%q0, {%r0}], %r1;"],
    "only by bytes, and without layers": ["sured.b.add.a1d.u32.trap [%q0, {%r0, %r1}], %r1;"],
    "it wants .trap, .clamp or .zero": ["suld.b.1d.b32 %r0, [%q0, {%r1}];"],
    # Barriers.
    "it wants .sync": ["bar.warp %r0;"],
    "it wants one of .sync, .arrive and .red": ["bar.foo 0;"],
    "it wants one of .popc, .and and .or": ["bar.red.u32 %r0, 0, %p0;"],
}


def test_what_is_wrong_is_refused():
    for words, statements in WRONG.items():
        for statement in statements:
            refused(statement, words)
    # What ptxas takes.
    refused("cvt.rn.f16.f32 %r0, %f0;", "not with the type .f16")
    refused("cvt.f32.f16 %f0, %r0;", "not with the type .f16")
    refused(".local .b8 l[4]; mov.u16 %h0, l;", "not with the type .u16")
    refused("cp.async.ca.shared.global [%r0], [%q0+4294967296], 4;", "an offset is too large")
    refused("lop3.b32 %r0, %r1, %r2, %r3, 256;", "a number from 0 to 255")
    refused("st.global.v2.f32 [%q0], {%q1, 0d3FF0000000000000};", "wider than the type")
    refused("ld.global.u32 %q0, [%q0]; .reg .b128 %x; ld.global.u32 %x, [%q0];", "of 128 bits")


REFUSED = {
    "matrix instructions": [
        "mma.sync.aligned.m16n8k8.row.col.f32 {%f0}, {%r0}, {%r1}, {%f1};",
        "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r0, %r1}, [%r1];",
        "wgmma.fence.sync.aligned;",
        "tcgen05.wait::ld.sync.aligned;",
        "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r0}, [%r1];",
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r1];",
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2};",
        "movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r3;",
    ],
    "bulk copies and tensor maps": [
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%q1], 16;",
        "cp.async.bulk.commit_group;",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%q1], [%r1], 16;",
        "prefetch.tensormap [%q0];",
        "tensormap.replace.tile.global_address.global.b1024.b64 [%q1], %q2;",
        "st.bulk.weak.shared::cta [%r0], 16, 0;",
    ],
    "asynchronous stores and reductions": [
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r1];",
        "red.async.relaxed.cluster.global.add.u32 [%q1], 1;",
    ],
    "clusters": [
        "barrier.cluster.arrive;",
        "mapa.u64 %q2, %q1, 0;",
        "getctarank.u64 %r2, %q1;",
        "clusterlaunchcontrol.is_canceled;",
        "mbarrier.arrive.release.cluster.shared::cta.b64 _, [%r1];",
        "mbarrier.arrive.shared::cluster.b64 _, [%r1];",
        "mbarrier.arrive_drop.release.cta.shared::cluster.b64 _, [%r1], 2;",
        "mbarrier.try_wait.acquire.cluster.shared::cta.b64 %p1, [%r1], %q1;",
        "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r1], 16;",
    ],
    "multicast addresses": ["multimem.ld_reduce.global.add.u32 %r2, [%q1];"],
    "stack allocations": [
        "alloca.u64 %q2, 32;",
        "stacksave.u64 %q2;",
        "stackrestore.u64 %q2;",
    ],
    "video instructions of single numbers": ["vadd.u32.u32.u32 %r2, %r3.b0, %r4, %r5;"],
}


def test_what_is_not_executed_is_named():
    line = program("HERE").split("\n").index("HERE") + 1
    for feature, statements in REFUSED.items():
        for statement in statements:
            opcode = statement.rstrip(";").split(" ")[0]
            refused(statement, f"line {line}: {feature} are not executed: {opcode}")
            refused(f"@%p0 {statement}", f"{feature} are not executed: {opcode}")
    for reference in ("texref", "samplerref", "surfref"):
        for declaration in (
            f".global .{reference} t;",
            f".tex .{reference} t;",
            f".{reference} t;",
        ):
            refused_text(
                program("", before=declaration),
                "references to textures and surfaces are not executed: .",
            )
    refused_text(program("", head=".reqnctapercluster 2"), "clusters are not executed")
    launch = ".extern .func (.param .b64 x) {} (.param .b64 a);"
    for name in (
        "__cudaCDP2GetParameterBufferV2",
        "cudaGetParameterBufferV2",
        "cudaLaunchDeviceV2",
    ):
        refused_text(
            program("", before=launch.format(name)),
            "launches from the device are not executed",
            name,
        )


if __name__ == "__main__":
    sys.exit(bool(main(globals())))
