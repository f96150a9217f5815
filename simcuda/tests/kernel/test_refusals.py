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
