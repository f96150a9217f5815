#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compare simcuda/abi.h with CUDA's own cuda.h.

usage: check_header.py ABI_H [INCLUDE_DIR]

Without INCLUDE_DIR the header is looked for in the nvidia-cuda-runtime wheel and
under CUDA_HOME. Where there is none, exit status 77 says that nothing was compared.
Every constant of abi.h must have the same value in cuda.h, and every struct the
same size and the same offset of each field.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

STRUCTS = {
    "CUuuid": "CUuuid",
    "CUipcMemHandle": "CUipcMemHandle",
    "CUipcEventHandle": "CUipcEventHandle",
    "CUmemPoolPtrExportData": "CUmemPoolPtrExportData",
    "CUmemLocation": "CUmemLocation",
    "CUmemAccessDesc": "CUmemAccessDesc",
    "CUmemPoolProps": "CUmemPoolProps",
    "CUmemAllocationProp": "CUmemAllocationProp_v1",
    "CUDA_ARRAY_DESCRIPTOR": "CUDA_ARRAY_DESCRIPTOR",
    "CUDA_ARRAY3D_DESCRIPTOR": "CUDA_ARRAY3D_DESCRIPTOR",
    "CUDA_RESOURCE_DESC": "CUDA_RESOURCE_DESC_v1",
    "CUDA_TEXTURE_DESC": "CUDA_TEXTURE_DESC_v1",
    "CUDA_RESOURCE_VIEW_DESC": "CUDA_RESOURCE_VIEW_DESC_v1",
    "CUDA_MEMCPY2D": "CUDA_MEMCPY2D",
    "CUDA_MEMCPY3D": "CUDA_MEMCPY3D",
    "CUDA_MEMCPY3D_PEER": "CUDA_MEMCPY3D_PEER",
    "CUdevResource": "CUdevResource",
    "CUgraphEdgeData": "CUgraphEdgeData",
    "CUDA_GRAPH_INSTANTIATE_PARAMS": "CUDA_GRAPH_INSTANTIATE_PARAMS",
    "CUDA_MEMSET_NODE_PARAMS": "CUDA_MEMSET_NODE_PARAMS_v1",
    "CUDA_KERNEL_NODE_PARAMS_v1": "CUDA_KERNEL_NODE_PARAMS_v1",
    "CUDA_KERNEL_NODE_PARAMS_v2": "CUDA_KERNEL_NODE_PARAMS_v2",
    "CUDA_CONDITIONAL_NODE_PARAMS": "CUDA_CONDITIONAL_NODE_PARAMS",
    "CUgraphExecUpdateResultInfo": "CUgraphExecUpdateResultInfo",
    "CUlaunchAttribute": "CUlaunchAttribute",
    "CUlaunchConfig": "CUlaunchConfig",
    "CUDA_MEM_ALLOC_NODE_PARAMS": "CUDA_MEM_ALLOC_NODE_PARAMS_v2",
    "CUDA_HOST_NODE_PARAMS": "CUDA_HOST_NODE_PARAMS_v1",
}
# Named for both of their uses here; CUDA has them as reserved words.
RENAMED = {"srcReserved": "reserved0", "dstReserved": "reserved1"}


def find_include():
    if len(sys.argv) > 2:
        return pathlib.Path(sys.argv[2])
    places = [pathlib.Path(p) / "nvidia" / "cu13" / "include" for p in sys.path]
    places.append(pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "include")
    return next((p for p in places if (p / "cuda.h").exists()), None)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    include = find_include()
    if include is None:
        print("no cuda.h here: nothing compared")
        sys.exit(77)
    abi = pathlib.Path(sys.argv[1])
    text = abi.read_text()
    checks = []
    for name, value in re.findall(r"^inline constexpr [\w:]+ (CU\w+) = (\d+);", text, re.M):
        # The stream tokens are pointers in cuda.h; a cast makes all of them comparable.
        checks.append(
            f'check("{name}", (unsigned long long){value}u, (unsigned long long)({name}));'
        )
    for ours, theirs in STRUCTS.items():
        body = re.search(rf"struct {ours} \{{(.*?)\}};", text, re.S)[1]
        fields = re.findall(r"(\w+)(?:\[\d+\])?\s*[,;]", re.sub(r"//.*", "", body))
        checks.append(f'check("sizeof {ours}", sizeof(ours::{ours}), sizeof({theirs}));')
        for field in fields:
            if field == "reserved":  # later versions take new fields from it
                continue
            other = RENAMED.get(field, field)
            pair = f"offsetof(ours::{ours}, {field}), offsetof({theirs}, {other})"
            checks.append(f'check("{ours}.{field}", {pair});')
    # Constants are macros or enumerators there: ours must not be in scope when theirs are named.
    source = f"""
#include <cstddef>
#include <cstdint>
#include <cstdio>
namespace ours {{
#include "{abi.resolve()}"
}}
#include <cuda.h>
static int wrong = 0;
static void check(const char *name, unsigned long long ours, unsigned long long theirs) {{
  if (ours != theirs) {{ ++wrong; std::printf("%s is %llu, not %llu\\n", name, ours, theirs); }}
}}
int main() {{
{chr(10).join(checks)}
  return wrong != 0;
}}
"""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "check"
        (pathlib.Path(folder) / "check.cpp").write_text(source)
        compiler = os.environ.get("CXX", "c++").split()
        subprocess.run(
            [*compiler, "-std=c++20", f"-I{include}", f"{folder}/check.cpp", "-o", str(program)],
            check=True,
        )
        result = subprocess.run([str(program)])
    print(f"{len(checks)} facts compared")
    sys.exit(result.returncode)


if __name__ == "__main__":
    main()
