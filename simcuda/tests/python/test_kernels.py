# SPDX-License-Identifier: BSD-3-Clause
"""Kernels of clients that know nothing of simcuda: NVIDIA's compilers make PTX of them, and the
driver executes it. Some leave a wait out if they are told to."""

import os
import subprocess
import sys

import pytest
from helpers import LIMIT

import simcuda

SCHEDULES = ["lazy", "eager", "random:7"]


def run(*program, **settings):
    return subprocess.run(
        simcuda.command(*program),
        env={**os.environ, "SIMCUDA_BANNER": "0", **settings},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )


def check(done, *names):
    """The program was right; with names, what raced was between these."""
    assert done.returncode == (simcuda.RACED if names else 0), done.stdout + done.stderr
    assert done.stdout.endswith("right\n"), done.stdout + done.stderr
    assert ("simcuda: race:" in done.stderr) == bool(names), done.stderr
    assert all(name in done.stderr for name in names), done.stderr


NUMBA = """
import sys
import numpy as np
from numba import cuda, float32, config

config.CUDA_LOW_OCCUPANCY_WARNINGS = config.CUDA_WARN_ON_IMPLICIT_COPY = 0

@cuda.jit(device=True)
def scaled(a, x):
    return a * x

@cuda.jit
def saxpy(a, x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = scaled(a, x[i]) + y[i]

@cuda.jit
def sums(x, out):
    shared = cuda.shared.array(64, float32)
    me = cuda.threadIdx.x
    shared[me] = x[cuda.grid(1)]
    cuda.syncthreads()
    step = 32
    while step:
        if me < step:
            shared[me] += shared[me + step]
        cuda.syncthreads()
        step //= 2
    if me == 0:
        cuda.atomic.add(out, 0, shared[0])

x, y = np.arange(640, dtype=np.float32), np.ones(640, np.float32)
one, other = cuda.stream(), cuda.stream()
on_device = [cuda.to_device(array, stream=one) for array in (x, y, np.zeros(640, np.float32))]
total = cuda.to_device(np.zeros(1, np.float32), stream=one)
saxpy[10, 64, one](2.0, *on_device)
if sys.argv[1] == "ordered":
    done = cuda.event()
    done.record(one)
    done.wait(other)
else:
    # The copies are done, so that what is left to race is the kernels.
    one.synchronize()
    saxpy[10, 64, one](2.0, *on_device)
sums[10, 64, other](on_device[2], total)
other.synchronize()
if sys.argv[1] == "ordered":
    assert (on_device[2].copy_to_host(stream=one) == 2 * x + 1).all()
    assert total.copy_to_host(stream=other)[0] == (2 * x + 1).sum()
print("right")
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_numba(schedule):
    check(run(sys.executable, "-c", NUMBA, "ordered", SIMCUDA_SCHEDULE=schedule))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_numba_without_a_wait(schedule):
    done = run(sys.executable, "-c", NUMBA, "raced", SIMCUDA_SCHEDULE=schedule)
    check(done, "saxpy", "sums")


CUDA_CORE = """
import sys
import numpy as np
from cuda.core import (Device, LaunchConfig, LegacyPinnedMemoryResource, Linker, LinkerOptions,
                       Program, ProgramOptions, launch)

SOURCE = '''
template <class T> __global__ void fill(T *out, T factor, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = factor * i;
}
'''
device = Device()
device.set_current()
arch = f"sm_{device.arch}"
kind = sys.argv[1]
more = {"link_time_optimization": True, "relocatable_device_code": True} if kind == "ltoir" else {}
program = Program(SOURCE, "c++", ProgramOptions(std="c++17", arch=arch, **more))
code = program.compile("ltoir" if kind == "ltoir" else kind.removeprefix("linked "),
                       name_expressions=["fill<float>", "fill<int>"])
names = code.symbol_mapping
if kind == "ltoir" or kind.startswith("linked"):
    options = LinkerOptions(arch=arch, link_time_optimization=kind == "ltoir")
    code = Linker(code, options=options).link("cubin")
stream, other = device.create_stream(), device.create_stream()
found = LegacyPinnedMemoryResource().allocate(4000)
for name, factor in (("fill<float>", np.float32(0.5)), ("fill<int>", np.int32(3))):
    kernel = code.get_kernel(names[name].decode())
    data = device.allocate(4000, stream=stream)
    launch(stream, LaunchConfig(grid=8, block=128), kernel, data, factor, np.int32(1000))
    other.wait(stream.record())
    found.copy_from(data, stream=other)
    other.sync()
    got = np.from_dlpack(found).view(factor.dtype)
    assert (got == factor * np.arange(1000, dtype=factor.dtype)).all(), got
    data.close(other)
print("right")
"""


@pytest.mark.parametrize("kind", ["ptx", "cubin", "ltoir", "linked ptx", "linked cubin"])
def test_cuda_core(kind):
    check(run(sys.executable, "-W", "ignore", "-c", CUDA_CORE, kind))


TEXTURES = """
import sys
import numpy as np
from cuda.bindings import driver
from cuda.core import (Device, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions,
                       launch)

WIDTH, ROWS = 16, 8
SOURCE = '''
extern "C" __global__ void blur(cudaTextureObject_t from, cudaSurfaceObject_t to, float *sums) {
  int x = threadIdx.x, y = blockIdx.x;
  float middle = tex2D<float>(from, x + 0.5f, y + 0.5f);
  float between = tex2D<float>(from, x + 1.f, y + 1.f);
  surf2Dwrite(between, to, x * sizeof(float), y);
  float4 corners = tex2Dgather<float4>(from, x + 1.f, y + 1.f);
  sums[y * blockDim.x + x] = middle + corners.x + corners.y + corners.z + corners.w;
}
'''

def must(result):
    assert result[0] == 0, result
    return result[1] if len(result) == 2 else None

device = Device()
device.set_current()
code = Program(SOURCE, "c++", ProgramOptions(arch=f"sm_{device.arch}")).compile("cubin")
stream, other = device.create_stream(), device.create_stream()
values = np.arange(WIDTH * ROWS, dtype=np.float32).reshape(ROWS, WIDTH) ** 2

def array(flags):
    wanted = driver.CUDA_ARRAY3D_DESCRIPTOR()
    wanted.Width, wanted.Height, wanted.NumChannels, wanted.Flags = WIDTH, ROWS, 1, flags
    wanted.Format = driver.CUarray_format.CU_AD_FORMAT_FLOAT
    return must(driver.cuArray3DCreate(wanted))

def copy(array, memory, on, back=False):
    box = driver.CUDA_MEMCPY2D()
    host, there = ("dst", "src") if back else ("src", "dst")
    setattr(box, host + "MemoryType", driver.CUmemorytype.CU_MEMORYTYPE_HOST)
    setattr(box, host + "Host", memory)
    setattr(box, host + "Pitch", 4 * WIDTH)
    setattr(box, there + "MemoryType", driver.CUmemorytype.CU_MEMORYTYPE_ARRAY)
    setattr(box, there + "Array", array)
    box.WidthInBytes, box.Height = 4 * WIDTH, ROWS
    must(driver.cuMemcpy2DAsync(box, other.handle if on is other else stream.handle))

def resource(array):
    made = driver.CUDA_RESOURCE_DESC()
    made.resType = driver.CUresourcetype.CU_RESOURCE_TYPE_ARRAY
    made.res.array.hArray = array
    return made

GATHER, SURFACE = 8, 2
first, second = array(GATHER), array(SURFACE)
pinned, out, sums = (LegacyPinnedMemoryResource().allocate(values.nbytes) for _ in range(3))
np.from_dlpack(pinned).view(np.float32)[:] = values.ravel()
sampling = driver.CUDA_TEXTURE_DESC()
sampling.addressMode = [driver.CUaddress_mode.CU_TR_ADDRESS_MODE_CLAMP] * 3
sampling.filterMode = driver.CUfilter_mode.CU_TR_FILTER_MODE_LINEAR
texture = must(driver.cuTexObjectCreate(resource(first), sampling, None))
surface = must(driver.cuSurfObjectCreate(resource(second)))
copy(first, int(pinned.handle), other)
if sys.argv[1] == "ordered":
    stream.wait(other.record())
launch(stream, LaunchConfig(grid=ROWS, block=WIDTH), code.get_kernel("blur"),
       np.uint64(int(texture)), np.uint64(int(surface)), sums)
copy(second, int(out.handle), stream, back=True)
stream.sync()
other.sync()
if sys.argv[1] == "ordered":
    around = np.pad(values, ((0, 1), (0, 1)), "edge")
    wanted = around[:-1, :-1] + around[1:, :-1] + around[:-1, 1:] + around[1:, 1:]
    got = np.from_dlpack(out).view(np.float32).reshape(ROWS, WIDTH)
    assert np.allclose(got, wanted / 4, rtol=0.01), got
    assert (np.from_dlpack(sums).view(np.float32) == (values + wanted).ravel()).all()
print("right")
"""


def test_textures_in_c_plus_plus():
    program = (sys.executable, "-W", "ignore", "-c", TEXTURES)
    for schedule in SCHEDULES:
        check(run(*program, "ordered", SIMCUDA_SCHEDULE=schedule))
        raced = run(*program, "raced", SIMCUDA_SCHEDULE=schedule)
        check(raced, "blur", "cuMemcpy2DAsync", "of the 512 bytes of array 0x")


C = r"""
#include <stddef.h>
#include <stdio.h>
#include <string.h>
typedef int CUresult;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx *CUcontext; typedef struct CUmod *CUmodule; typedef struct CUfunc *CUfunction;
typedef struct CUstr *CUstream;
CUresult cuInit(unsigned), cuDevicePrimaryCtxRetain(CUcontext *, int), cuCtxSetCurrent(CUcontext),
    cuModuleLoadData(CUmodule *, const void *),
    cuModuleGetFunction(CUfunction *, CUmodule, const char *),
    cuMemAlloc_v2(CUdeviceptr *, size_t), cuStreamCreate(CUstream *, unsigned),
    cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   CUstream, void **, void **),
    cuMemcpyDtoHAsync_v2(void *, CUdeviceptr, size_t, CUstream), cuStreamSynchronize(CUstream),
    cuCtxSynchronize(void);
#define MUST(call) \
  do { int status = call; if (status) { printf(#call ": %d\n", status); return 1; } } while (0)
static const char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry squares(.param .u64 out) {\n"
    "  .reg .b64 %q<3>; .reg .b32 %r<3>;\n"
    "  ld.param.u64 %q0, [out];\n"
    "  mov.u32 %r0, %tid.x;\n"
    "  mul.lo.u32 %r1, %r0, %r0;\n"
    "  mad.wide.u32 %q1, %r0, 4, %q0;\n"
    "  st.global.u32 [%q1], %r1;\n"
    "  ret;\n}\n";
int main(int argc, char **argv) {
  CUcontext context; CUmodule module; CUfunction kernel; CUstream one, two; CUdeviceptr out;
  MUST(cuInit(0));
  MUST(cuDevicePrimaryCtxRetain(&context, 0));
  MUST(cuCtxSetCurrent(context));
  MUST(cuModuleLoadData(&module, ptx));
  MUST(cuModuleGetFunction(&kernel, module, "squares"));
  MUST(cuMemAlloc_v2(&out, 256));
  MUST(cuStreamCreate(&one, 1));
  MUST(cuStreamCreate(&two, 1));
  void *arguments[] = {&out};
  MUST(cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, one, arguments, NULL));
  int ordered = argc > 1 && !strcmp(argv[1], "ordered");
  if (ordered) MUST(cuStreamSynchronize(one));
  static unsigned found[64];
  MUST(cuMemcpyDtoHAsync_v2(found, out, sizeof found, two));
  MUST(cuStreamSynchronize(two));
  MUST(cuCtxSynchronize());
  for (unsigned i = 0; ordered && i < 64; ++i)
    if (found[i] != i * i) return 2;
  puts("right");
  return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    file = tmp_path_factory.mktemp("program") / "program"
    build = ["cc", "-x", "c", "-", "-o", file, "-x", "none", simcuda.LIBRARY]
    subprocess.run(build, input=C, text=True, check=True)
    return file


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_program_in_c(program, schedule):
    check(run(program, "ordered", SIMCUDA_SCHEDULE=schedule))
    check(run(program, "raced", SIMCUDA_SCHEDULE=schedule), "squares", "cuMemcpyDtoHAsync")


MARKED = """
import numpy as np
import pytest
from numba import cuda

@pytest.mark.simcuda(schedules=["lazy", "eager"])
def test_one():
    @cuda.jit
    def double(x):
        x[cuda.grid(1)] *= 2

    x = cuda.to_device(np.arange(64))
    double[1, 64](x)
    assert (x.copy_to_host() == 2 * np.arange(64)).all()
"""


def test_a_marked_test(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest")
    pytester.makepyfile(MARKED)
    pytester.runpytest_inprocess("-W", "ignore").assert_outcomes(passed=1)
