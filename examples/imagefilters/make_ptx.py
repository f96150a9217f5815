# SPDX-License-Identifier: BSD-3-Clause
"""Compiles filters.cu to a header: python make_ptx.py filters_ptx.h

Needs cuda-bindings and nvidia-cuda-nvrtc, and no GPU.
`nvcc --ptx -arch=compute_75 --fmad=false filters.cu` makes the same kernels.
"""

import re
import sys
from pathlib import Path

from cuda.bindings import nvrtc

HERE = Path(__file__).resolve().parent
OPTIONS = [
    "--gpu-architecture=compute_75",  # CUDA 13's oldest; the driver compiles for the GPU it finds
    "--fmad=false",  # else float32 would differ from the host's in the last digit
    "--std=c++17",
    f"--include-path={HERE}",
]


def check(result):
    """Raises what a call of NVRTC's returns first, and returns the rest."""
    status, *rest = result
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(status)
    return rest[0] if rest else None


def make():
    """The text of filters_ptx.h."""
    source = (HERE / "filters.cu").read_bytes()
    program = check(nvrtc.nvrtcCreateProgram(source, b"filters.cu", 0, [], []))
    (compiled,) = nvrtc.nvrtcCompileProgram(program, len(OPTIONS), [o.encode() for o in OPTIONS])
    log = bytes(check(nvrtc.nvrtcGetProgramLogSize(program)))
    check(nvrtc.nvrtcGetProgramLog(program, log))
    if compiled != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(log.decode())
    code = bytes(check(nvrtc.nvrtcGetPTXSize(program)))
    check(nvrtc.nvrtcGetPTX(program, code))
    lines = code.decode().strip("\0\n").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("//")).strip()
    # NVRTC writes its own version, and older drivers would refuse that. Nothing here is newer than
    # PTX 6.3, the first for compute_75.
    text = re.sub(r"^\.version .*", ".version 6.3", text)
    return (
        "// Made of filters.cu by make_ptx.py: PTX, which the driver compiles for its GPU.\n"
        f'inline constexpr char filters_ptx[] = R"ptx(\n{text}\n)ptx";\n'
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(make())
