# SPDX-License-Identifier: BSD-3-Clause
"""Kernels that NVIDIA's compilers make, with NumPy as the judge. It needs the wheels numba-cuda,
nvidia-nvvm and nvidia-cuda-nvrtc; what is made of them is not kept."""

import importlib.util
import math
import pathlib
import struct
import sys

import engine
from engine import Buffer, Module

try:
    import numba
    import numpy as np
    from cuda.bindings import nvrtc
    from cuda.pathfinder import load_nvidia_dynamic_lib
    from numba import cuda, float32, float64, int32, int64, types

    for name in ("nvvm", "nvrtc"):
        load_nvidia_dynamic_lib(name)
except Exception as missing:  # of import, or of the loader, which may not be there itself
    print(f"not tested: {str(missing).splitlines()[0]}")
    print("install numba-cuda, nvidia-nvvm and nvidia-cuda-nvrtc")
    sys.exit(77)


def numba_module(function, *signature):
    text, _ = cuda.compile(function, signature, device=False, abi="numba", cc=(9, 0), output="ptx")
    return Module(text)


def nvrtc_module(source, *options):
    def must(result):
        status, *values = result
        assert status == 0, status
        return values[0] if values else None

    made = must(nvrtc.nvrtcCreateProgram(source.encode(), b"kernel.cu", 0, [], []))
    given = [b"-arch=compute_90", *(option.encode() for option in options)]
    (status,) = nvrtc.nvrtcCompileProgram(made, len(given), given)
    log = bytes(must(nvrtc.nvrtcGetProgramLogSize(made)))
    nvrtc.nvrtcGetProgramLog(made, log)
    assert status == 0, log.decode()
    text = bytes(must(nvrtc.nvrtcGetPTXSize(made)))
    nvrtc.nvrtcGetPTX(made, text)
    return Module(text.rstrip(b"\0").decode())


class Array:
    """An array of NumPy's, on the device."""

    def __init__(self, array, written=True):
        self.like = array
        self.buffer = Buffer(array.tobytes(), written=written)

    def get(self):
        return np.frombuffer(self.buffer.bytes(), self.like.dtype).reshape(self.like.shape)

    def arguments(self):
        """As numba passes it: two pointers to nothing, the counts, the data, shape and strides."""
        numbers = [struct.pack("<q", each) for each in (self.like.size, self.like.itemsize)]
        ends = [struct.pack("<q", each) for each in (*self.like.shape, *self.like.strides)]
        return [bytes(8), bytes(8), *numbers, self.buffer, *ends]


def launch(module, grid, block, *arguments, **options):
    (name,) = module.about["kernels"]
    flat = []
    for argument in arguments:
        flat += argument.arguments() if isinstance(argument, Array) else [argument]
    outcome = module.run(name, grid, block, *flat, limit=0, **options)
    assert not outcome["fault"], outcome["fault"]["text"]
    assert not outcome["findings"], outcome["findings"][0]["text"]
    return outcome


def number(code, value):
    return struct.pack("<" + code, value)


RANDOM = np.random.default_rng(7)
F1, F2 = float32[::1], float32[:, ::1]


def saxpy():
    def kernel(a, x, y, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a * x[i] + y[i]

    x, y = (RANDOM.random(1000, dtype=np.float32) for _ in range(2))
    out = Array(np.zeros_like(x), written=False)
    launch(
        numba_module(kernel, float32, F1, F1, F1), 4, 256, number("f", 2.5), Array(x), Array(y), out
    )
    np.testing.assert_allclose(out.get(), 2.5 * x + y, rtol=1e-6)


def tiled_matmul():
    def kernel(a, b, c):
        sa, sb = cuda.shared.array((16, 16), float32), cuda.shared.array((16, 16), float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for i in range((a.shape[1] + 15) // 16):
            sa[ty, tx] = a[y, tx + i * 16] if y < a.shape[0] and tx + i * 16 < a.shape[1] else 0
            sb[ty, tx] = b[ty + i * 16, x] if x < b.shape[1] and ty + i * 16 < b.shape[0] else 0
            cuda.syncthreads()
            for j in range(16):
                total += sa[ty, j] * sb[j, tx]
            cuda.syncthreads()
        if y < c.shape[0] and x < c.shape[1]:
            c[y, x] = total

    a, b = RANDOM.random((40, 33), dtype=np.float32), RANDOM.random((33, 50), dtype=np.float32)
    c = Array(np.zeros((40, 50), np.float32), written=False)
    launch(numba_module(kernel, F2, F2, F2), (4, 3), (16, 16), Array(a), Array(b), c)
    np.testing.assert_allclose(c.get(), a @ b, rtol=1e-4)


def mandelbrot():
    def kernel(image, most):
        x, y = cuda.grid(2)
        if x < image.shape[1] and y < image.shape[0]:
            c = complex(-2 + x * 3 / image.shape[1], -1 + y * 2 / image.shape[0])
            z = 0j
            image[y, x] = 255
            for i in range(most):
                z = z * z + c
                if z.real * z.real + z.imag * z.imag >= 4:
                    image[y, x] = i
                    break

    image = Array(np.zeros((40, 60), np.uint8), written=False)
    launch(
        numba_module(kernel, types.uint8[:, ::1], int32), (4, 5), (16, 8), image, number("i", 50)
    )

    def point(x, y):
        c, z = complex(-2 + x * 3 / 60, -1 + y * 2 / 40), 0j
        for i in range(50):
            z = z * z + c
            if z.real * z.real + z.imag * z.imag >= 4:
                return i
        return 255

    wanted = np.array([[point(x, y) for x in range(60)] for y in range(40)])
    assert np.count_nonzero(image.get() != wanted) <= 2


def shared_reduction():
    def kernel(a, out):
        s = cuda.shared.array(256, float32)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        s[t] = a[i] if i < a.size else 0
        cuda.syncthreads()
        k = 128
        while k > 0:
            if t < k:
                s[t] += s[t + k]
            cuda.syncthreads()
            k //= 2
        if t == 0:
            cuda.atomic.add(out, 0, s[0])

    a, out = np.arange(1000, dtype=np.float32), Array(np.zeros(1, np.float32))
    launch(numba_module(kernel, F1, F1), 4, 256, Array(a), out)
    assert out.get()[0] == a.sum()


def histogram():
    def kernel(a, out):
        i = cuda.grid(1)
        while i < a.size:
            cuda.atomic.add(out, a[i], 1)
            i += cuda.gridsize(1)

    a = RANDOM.integers(0, 17, 3000, dtype=np.int32)
    out = Array(np.zeros(17, np.int32))
    launch(numba_module(kernel, int32[::1], int32[::1]), 3, 128, Array(a), out)
    np.testing.assert_array_equal(out.get(), np.bincount(a, minlength=17))


def warp_shuffles():
    def kernel(a, out):
        i = cuda.grid(1)
        value = a[i]
        step = 16
        while step:
            value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
            step //= 2
        if cuda.laneid == 0:
            out[i // 32] = value
        if cuda.any_sync(0xFFFFFFFF, a[i] < 0):
            out[i // 32] = -1

    a = RANDOM.integers(0, 100, 256, dtype=np.int32)
    out = Array(np.zeros(8, np.int32), written=False)
    launch(numba_module(kernel, int32[::1], int32[::1]), 2, 128, Array(a), out)
    np.testing.assert_array_equal(out.get(), a.reshape(8, 32).sum(1))


def transposition():
    def kernel(a, out):
        tile = cuda.shared.array((16, 17), float64)
        x, y = cuda.grid(2)
        if y < a.shape[0] and x < a.shape[1]:
            tile[cuda.threadIdx.y, cuda.threadIdx.x] = a[y, x]
        cuda.syncthreads()
        row = cuda.blockIdx.x * 16 + cuda.threadIdx.y
        column = cuda.blockIdx.y * 16 + cuda.threadIdx.x
        if row < out.shape[0] and column < out.shape[1]:
            out[row, column] = tile[cuda.threadIdx.x, cuda.threadIdx.y]

    a = RANDOM.random((50, 37))
    out = Array(np.zeros((37, 50)), written=False)
    launch(numba_module(kernel, float64[:, ::1], float64[:, ::1]), (3, 4), (16, 16), Array(a), out)
    np.testing.assert_array_equal(out.get(), a.T)


def stencil():
    def kernel(a, out):
        x, y = cuda.grid(2)
        if 0 < x < a.shape[1] - 1 and 0 < y < a.shape[0] - 1:
            out[y, x] = 0.25 * (a[y, x - 1] + a[y, x + 1] + a[y - 1, x] + a[y + 1, x])

    a = RANDOM.random((40, 40))
    out = Array(np.zeros_like(a))
    launch(numba_module(kernel, float64[:, ::1], float64[:, ::1]), (3, 5), (16, 8), Array(a), out)
    wanted = 0.25 * (a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1])
    np.testing.assert_allclose(out.get()[1:-1, 1:-1], wanted, rtol=1e-15)


def mathematics():
    def kernel(a, out):
        i = cuda.grid(1)
        if i < a.size:
            x = a[i]
            out[i] = (
                math.sin(x)
                + math.exp(-x) * math.log(x + 1)
                + math.sqrt(x)
                + math.pow(x, 1.7)
                + math.erf(x)
                + math.atan2(x, 2.0)
                + math.tanh(x)
                + math.floor(x)
                + math.fmod(x, 0.3)
                + math.lgamma(x + 1)
            )

    for dtype, signature, tolerance in ((np.float64, float64[::1], 1e-13), (np.float32, F1, 2e-5)):
        a = (RANDOM.random(200) * 20).astype(dtype)
        out = Array(np.zeros_like(a), written=False)
        launch(numba_module(kernel, signature, signature), 2, 128, Array(a), out)
        wanted = [
            math.sin(x)
            + math.exp(-x) * math.log(x + 1)
            + math.sqrt(x)
            + x**1.7
            + math.erf(x)
            + math.atan2(x, 2)
            + math.tanh(x)
            + math.floor(x)
            + float(np.fmod(dtype(x), dtype(0.3)))
            + math.lgamma(x + 1)
            for x in a.astype(float)
        ]
        far = np.abs(out.get() - wanted) > tolerance * np.abs(wanted)
        # If fmod's quotient is near a whole number, it may be off by one.
        assert np.count_nonzero(far) <= (3 if dtype is np.float32 else 0), (out.get()[far], wanted)


def local_arrays():
    def kernel(a, out):
        i = cuda.grid(1)
        local = cuda.local.array(16, int64)
        for j in range(16):
            local[j] = a[i] * j
        for j in range(15):
            for k in range(15 - j):
                if local[k] < local[k + 1]:
                    local[k], local[k + 1] = local[k + 1], local[k]
        out[i] = local[a[i] & 15]

    a = RANDOM.integers(0, 1000, 64)
    out = Array(np.zeros(64, np.int64), written=False)
    launch(numba_module(kernel, int64[::1], int64[::1]), 2, 32, Array(a), out)
    np.testing.assert_array_equal(out.get(), [x * (15 - (x & 15)) for x in a])


def monte_carlo():
    def kernel(seeds, out):
        i = cuda.grid(1)
        state, inside = seeds[i], 0
        for _ in range(100):
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            x = state / 2147483648.0
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            y = state / 2147483648.0
            if x * x + y * y <= 1:
                inside += 1
        out[i] = inside

    seeds = RANDOM.integers(1, 1 << 30, 64)
    out = Array(np.zeros(64, np.int64), written=False)
    launch(numba_module(kernel, int64[::1], int64[::1]), 1, 64, Array(seeds), out)

    def count(state):
        inside = 0
        for _ in range(100):
            state = state * 1103515245 + 12345 & 0x7FFFFFFF
            x = state / 2**31
            state = state * 1103515245 + 12345 & 0x7FFFFFFF
            inside += x * x + (state / 2**31) ** 2 <= 1
        return inside

    np.testing.assert_array_equal(out.get(), [count(int(seed)) for seed in seeds])


def prints():
    def kernel(a):
        i = cuda.grid(1)
        print("value", i, a[i])

    outcome = launch(numba_module(kernel, F1), 1, 3, Array(np.array([1, 2.5, 3], np.float32)))
    assert outcome["printed"] == "value 0 1.000000\nvalue 1 2.500000\nvalue 2 3.000000\n"


def bitonic_sort():
    def kernel(a):
        s = cuda.shared.array(128, int32)
        t = cuda.threadIdx.x
        s[t] = a[t]
        cuda.syncthreads()
        k = 2
        while k <= 128:
            j = k // 2
            while j > 0:
                other = t ^ j
                if other > t and ((t & k) == 0) == (s[t] > s[other]):
                    s[t], s[other] = s[other], s[t]
                cuda.syncthreads()
                j //= 2
            k *= 2
        a[t] = s[t]

    a = Array(RANDOM.integers(-1000, 1000, 128, dtype=np.int32))
    launch(numba_module(kernel, int32[::1]), 1, 128, a)
    np.testing.assert_array_equal(a.get(), np.sort(a.like))


def grid_barrier():
    def kernel(a, out):
        g = cuda.cg.this_grid()
        i = cuda.grid(1)
        a[i] = i
        g.sync()
        out[i] = a[a.size - 1 - i]

    try:
        module = numba_module(kernel, int32[::1], int32[::1])
    except Exception as why:  # its library for grid barriers wants a linker that loads a driver
        print(f"  grid_barrier: {type(why).__name__}: {str(why)[:100]}")
        return
    if module.about["unresolved"]:
        print("  grid_barrier: needs", *module.about["unresolved"])
        return
    a, out = (Array(np.zeros(256, np.int32), written=False) for _ in range(2))
    launch(module, 8, 32, a, out, cooperative=True)
    np.testing.assert_array_equal(out.get(), np.arange(256)[::-1])


# As CuPy and others write them for NVRTC.


def elementwise():
    source = """extern "C" __global__ void k(const float *x, const float *y, double *z,
                                 long long n) {
      for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n;
           i += (long long)blockDim.x * gridDim.x)
        z[i] = x[i] / y[i] + (double)fminf(x[i], y[i]); }"""
    x, y = (RANDOM.random(777, dtype=np.float32) + 0.1 for _ in range(2))
    z = Array(np.zeros(777), written=False)
    launch(
        nvrtc_module(source), 3, 128, Array(x).buffer, Array(y).buffer, z.buffer, number("q", 777)
    )
    np.testing.assert_allclose(z.get(), x / y + np.minimum(x, y).astype(float), rtol=1e-7)


def template_reduction():
    source = """template <class T, int N> __device__ T sum(T value) {
      __shared__ T part[N / 32];
      for (int m = 16; m; m >>= 1) value += __shfl_xor_sync(~0u, value, m);
      if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
      __syncthreads();
      if (threadIdx.x < 32) {
        value = threadIdx.x < N / 32 ? part[threadIdx.x] : T(0);
        for (int m = 16; m; m >>= 1) value += __shfl_xor_sync(~0u, value, m);
      }
      return value; }
    extern "C" __global__ void k(const double *a, double *out, int n) {
      double mine = 0;
      for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 256 * gridDim.x) mine += a[i];
      mine = sum<double, 256>(mine);
      if (threadIdx.x == 0) atomicAdd(out, mine); }"""
    a, out = RANDOM.random(5000), Array(np.zeros(1))
    launch(nvrtc_module(source), 3, 256, Array(a).buffer, out.buffer, number("i", 5000))
    np.testing.assert_allclose(out.get()[0], a.sum(), rtol=1e-12)


def pointers_and_structs():
    source = """struct S { int a; double b[3]; };
    __device__ __noinline__ double f(S s, int k) { return s.b[k] + s.a; }
    __device__ int table[4] = {1, 2, 3, 4};
    __constant__ float coefficients[3] = {1.f, 2.f, 3.f};
    typedef int (*Operation)(int, int);
    __device__ __noinline__ int add(int a, int b) { return a + b; }
    __device__ __noinline__ int mul(int a, int b) { return a * b; }
    __device__ Operation operations[2] = {add, mul};
    extern "C" __global__ void __launch_bounds__(128) k(S s, double *out, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n)
        out[i] = f(s, i % 3) + table[i % 4] + coefficients[i % 3] + operations[i & 1](i, n); }"""
    out = Array(np.zeros(100), written=False)
    s = struct.pack("<i4x3d", 5, 0.5, 1.5, 2.5)
    launch(nvrtc_module(source), 1, 128, s, out.buffer, number("i", 100))
    wanted = [
        (i % 3) + 5.5 + i % 4 + 1 + i % 3 + 1 + (i * 100 if i & 1 else i + 100) for i in range(100)
    ]
    np.testing.assert_array_equal(out.get(), wanted)


def switches_and_strings():
    source = """extern "C" __device__ int printf(const char *, ...);
    extern "C" __global__ void k(int *out) {
      switch (threadIdx.x % 6) {
        case 0: out[threadIdx.x] = 11; break;
        case 1: out[threadIdx.x] = 22 * threadIdx.x; break;
        case 2: out[threadIdx.x] = __popc(threadIdx.x); break;
        case 3: out[threadIdx.x] = __clz(threadIdx.x); break;
        case 4: printf("%s %d %u %g\\n", "four", -(int)threadIdx.x, threadIdx.x,
                       threadIdx.x / 8.); // on
        default: out[threadIdx.x] = -1; } }"""
    out = Array(np.zeros(12, np.int32), written=False)
    outcome = launch(nvrtc_module(source), 1, 12, out.buffer)
    wanted = [
        (11, 22 * i, bin(i).count("1"), 32 - i.bit_length(), -1, -1)[i % 6] for i in range(12)
    ]
    np.testing.assert_array_equal(out.get(), wanted)
    assert outcome["printed"] == "four -4 4 0.5\nfour -10 10 1.25\n"


def compare_and_swap():
    source = """extern "C" __global__ void k(const double *a, double *most,
                                 unsigned long long *bits) {
      unsigned long long *at = (unsigned long long *)most, seen;
      unsigned long long old = *(volatile unsigned long long *)at;
      double x = a[blockIdx.x * blockDim.x + threadIdx.x];
      do { seen = old;
           if (__longlong_as_double(seen) >= x) break;
           old = atomicCAS(at, seen, __double_as_longlong(x)); } while (old != seen);
      atomicXor(bits, __double_as_longlong(x)); atomicMax((int *)bits + 2, (int)(x * 1000)); }"""
    a = RANDOM.random(256)
    most, bits = Array(np.zeros(1)), Array(np.zeros(2, np.uint64))
    launch(nvrtc_module(source), 2, 128, Array(a).buffer, most.buffer, bits.buffer)
    assert most.get()[0] == a.max()
    assert bits.get()[0] == np.bitwise_xor.reduce(a.view(np.uint64))
    assert bits.get()[1] == int(a.max() * 1000)


def bytes_and_halves():
    source = """extern "C" __global__ void k(const unsigned char *in, unsigned char *out,
                                 unsigned *sums) {
      __shared__ unsigned char row[256];
      row[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
      __syncthreads();
      int left = row[(threadIdx.x + 255) % 256], right = row[(threadIdx.x + 1) % 256];
      out[blockIdx.x * 256 + threadIdx.x] = (left + 2 * row[threadIdx.x] + right) / 4;
      unsigned four = ((const unsigned *)in)[(blockIdx.x * 256 + threadIdx.x) / 4];
      if (threadIdx.x % 4 == 0)
        sums[(blockIdx.x * 256 + threadIdx.x) / 4] = __dp4a(four, 0x01010101u, 0u); }"""
    a = RANDOM.integers(0, 256, 1024, dtype=np.uint8)
    out, sums = (
        Array(np.zeros(1024, np.uint8), written=False),
        Array(np.zeros(256, np.uint32), written=False),
    )
    launch(nvrtc_module(source), 4, 256, Array(a).buffer, out.buffer, sums.buffer)
    rows = a.reshape(4, 256).astype(int)
    wanted = (np.roll(rows, 1, 1) + 2 * rows + np.roll(rows, -1, 1)) // 4
    np.testing.assert_array_equal(out.get(), wanted.ravel())
    np.testing.assert_array_equal(sums.get(), a.reshape(256, 4).sum(1))


def special_functions():
    source = """extern "C" __global__ void k(const float *a, float *out) {
      int i = threadIdx.x; float x = a[i];
      out[i] = sinf(x) + expf(-x) + __sinf(x) * 0 + powf(x, 1.7f) + erff(x) + tanhf(x) +
               rsqrtf(x + 1) +
               logf(x + 1) + cosf(x * 1000) + cbrtf(x) + fmaf(x, x, 1); }"""
    a = (RANDOM.random(256) * 10).astype(np.float32)
    out = Array(np.zeros_like(a), written=False)
    launch(nvrtc_module(source), 1, 256, Array(a).buffer, out.buffer)
    wanted = [
        math.sin(x)
        + math.exp(-x)
        + x**1.7
        + math.erf(x)
        + math.tanh(x)
        + (x + 1) ** -0.5
        + math.log(x + 1)
        + math.cos(np.float32(x) * np.float32(1000))
        + np.cbrt(x)
        + x * x
        + 1
        for x in a.astype(float)
    ]
    np.testing.assert_allclose(out.get(), wanted, rtol=2e-6)


def large_integers():
    source = """extern "C" __global__ void k(const unsigned long long *a, unsigned long long *out) {
      int i = threadIdx.x; unsigned long long x = a[2 * i], y = a[2 * i + 1];
      out[4 * i] = __umul64hi(x, y); out[4 * i + 1] = x / (y >> 40 | 1);
out[4 * i + 2] = x % (y >> 20 | 1);
      unsigned __int128 wide = (unsigned __int128)x * y + x;
out[4 * i + 3] = (unsigned long long)(wide >> 37); }"""
    a = RANDOM.integers(0, 1 << 63, 128, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    out = Array(np.zeros(256, np.uint64), written=False)
    launch(nvrtc_module(source, "-device-int128"), 1, 64, Array(a).buffer, out.buffer)
    wanted = []
    for x, y in a.reshape(64, 2).tolist():
        wanted += [
            x * y >> 64,
            x // (y >> 40 | 1),
            x % (y >> 20 | 1),
            (x * y + x) >> 37 & (1 << 64) - 1,
        ]
    assert out.get().tolist() == wanted


def options_of_libraries():
    """For headers of the wheels nvidia-cuda-cccl and nvidia-cuda-runtime, if they are there."""
    for path in importlib.util.find_spec("nvidia").submodule_search_locations:
        folder = pathlib.Path(path) / "cu13" / "include"
        if (folder / "cccl" / "cub").is_dir() and (folder / "cooperative_groups.h").is_file():
            return [f"-I{folder}", f"-I{folder / 'cccl'}", "-std=c++17"]
    return None


def library_of_blocks():
    """CUB's sorting, sums and scans."""
    source = """#include <cub/block/block_radix_sort.cuh>
    #include <cub/block/block_reduce.cuh>
    #include <cub/block/block_scan.cuh>
    extern "C" __global__ void k(float *f, int *a, float *sum) {
      __shared__ typename cub::BlockReduce<float, 128>::TempStorage t;
      __shared__ typename cub::BlockScan<int, 128>::TempStorage u;
      __shared__ typename cub::BlockRadixSort<float, 128, 4>::TempStorage v;
      int i = threadIdx.x, before;
      float r = cub::BlockReduce<float, 128>(t).Sum(f[i]);
      if (i == 0) *sum = r;
      cub::BlockScan<int, 128>(u).ExclusiveSum(a[i], before);
      a[i] = before;
      float x[4] = {f[4 * i], f[4 * i + 1], f[4 * i + 2], f[4 * i + 3]};
      __syncthreads();
      cub::BlockRadixSort<float, 128, 4>(v).Sort(x);
      for (int j = 0; j < 4; ++j) f[4 * i + j] = x[j]; }"""
    values, numbers = RANDOM.random(512, dtype=np.float32), np.arange(128, dtype=np.int32)
    f, a, total = Array(values), Array(numbers), Array(np.zeros(1, np.float32), written=False)
    module = nvrtc_module(source, *LIBRARIES)
    launch(module, 1, 128, f.buffer, a.buffer, total.buffer)
    np.testing.assert_array_equal(f.get(), np.sort(values))
    np.testing.assert_array_equal(a.get(), np.cumsum(numbers) - numbers)
    np.testing.assert_allclose(total.get()[0], values[:128].sum(), rtol=1e-5)


# Producers fill what consumers have emptied.
HANDED_OVER = """#include <cuda/barrier>
using Barrier = cuda::barrier<cuda::thread_scope_block>;
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ alignas(Barrier) char room[2 * sizeof(Barrier)];
  __shared__ int s[64];
  Barrier *full = reinterpret_cast<Barrier *>(room), *empty = full + 1;
  if (threadIdx.x == 0) { init(full, blockDim.x); init(empty, blockDim.x); }
  __syncthreads();
  if (threadIdx.x < 64) {
    for (int i = 0; i < 5; ++i) {
      empty->arrive_and_wait();
      s[threadIdx.x] = in[64 * i + threadIdx.x];
      (void)full->arrive();
    }
  } else {
    (void)empty->arrive();
    for (int i = 0; i < 5; ++i) {
      full->arrive_and_wait();
      out[64 * i + threadIdx.x - 64] = s[127 - threadIdx.x];
      if (i < 4) (void)empty->arrive(); else empty->arrive_and_drop();
    }
  }
}"""

# All threads copy one stage while they work on another.
STAGES = """#include <cooperative_groups.h>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int *in, int *out) {
  auto block = cg::this_thread_block();
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  __shared__ alignas(16) int s[2][64];
  auto pipeline = cuda::make_pipeline(block, &state);
  const auto copy = [&](int i) {
    pipeline.producer_acquire();
    cuda::memcpy_async(block, s[i % 2], in + 64 * i, cuda::aligned_size_t<16>(256), pipeline);
    pipeline.producer_commit();
  };
  copy(0);
  for (int i = 0; i < 5; ++i) {
    if (i < 4) copy(i + 1);
    pipeline.consumer_wait();
    out[64 * i + threadIdx.x] = s[i % 2][63 - threadIdx.x];
    pipeline.consumer_release();
  }
}"""

# Some threads copy, and others work.
PARTS = """#include <cooperative_groups.h>
#include <cuda/pipeline>
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 3> state;
  __shared__ int s[3][64];
  auto pipeline = cuda::make_pipeline(cooperative_groups::this_thread_block(), &state, 64);
  for (int i = 0; i < 5; ++i) {
    if (threadIdx.x < 64) {
      pipeline.producer_acquire();
      cuda::memcpy_async(&s[i % 3][threadIdx.x], in + 64 * i + threadIdx.x, 4, pipeline);
      pipeline.producer_commit();
    } else {
      pipeline.consumer_wait();
      out[64 * i + threadIdx.x - 64] = s[i % 3][127 - threadIdx.x];
      pipeline.consumer_release();
    }
  }
}"""

# A barrier's phase waits for copies, too.
COPIED = """#include <cooperative_groups.h>
#include <cuda/barrier>
extern "C" __global__ void k(const int *in, int *out) {
  auto block = cooperative_groups::this_thread_block();
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ alignas(16) int s[64];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  block.sync();
  for (int i = 0; i < 5; ++i) {
    cuda::memcpy_async(block, s, in + 64 * i, 256, barrier);
    barrier.arrive_and_wait();
    out[64 * i + threadIdx.x] = s[63 - threadIdx.x];
    block.sync();
  }
}"""

GROUPS = """#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
extern "C" __global__ void k(const int *in, int *out) {
  auto block = cooperative_groups::this_thread_block();
  __shared__ int s[64];
  for (int i = 0; i < 5; ++i) {
    cooperative_groups::memcpy_async(block, s, in + 64 * i, 256);
    cooperative_groups::wait(block);
    out[64 * i + threadIdx.x] = s[63 - threadIdx.x];
    block.sync();
  }
}"""


def mbarriers():
    """Of cuda::barrier, cuda::pipeline and cooperative_groups::memcpy_async; and their twins that
    lack a wait."""
    values = RANDOM.integers(0, 1000, 320, dtype=np.int32)
    for source, threads, wait, instead in (
        (HANDED_OVER, 128, "full->arrive_and_wait()", "(void)full->arrive(); __syncwarp()"),
        (STAGES, 64, "pipeline.consumer_wait()", "block.sync()"),
        (PARTS, 128, "pipeline.consumer_wait()", "if (i != 1) pipeline.consumer_wait()"),
        (COPIED, 64, "barrier.arrive_and_wait()", "(void)barrier.arrive(); block.sync()"),
        (GROUPS, 64, "cooperative_groups::wait(block)", "block.sync()"),
    ):
        out = Array(np.zeros(320, np.int32), written=False)
        module = nvrtc_module(source, *LIBRARIES)
        launch(module, 1, threads, Array(values).buffer, out.buffer)
        np.testing.assert_array_equal(out.get().reshape(5, 64), values.reshape(5, 64)[:, ::-1])
        launch(module, 3, threads, Array(values).buffer, out.buffer, threads=2, races=False)
        assert wait in source
        module = nvrtc_module(source.replace(wait, instead), *LIBRARIES)
        outcome = module.run(
            "k", 1, threads, Array(values).buffer, out.buffer, limit=10_000_000, written=False
        )
        assert any(each["kind"] == "race" for each in outcome["findings"]), wait


def races_of_real_kernels():
    """The check's own example: a reduction that has lost a barrier."""

    def kernel(a, out):
        s = cuda.shared.array(128, float32)
        t = cuda.threadIdx.x
        s[t] = a[t]
        out[t] = s[127 - t]

    module = numba_module(kernel, F1, F1)
    (name,) = module.about["kernels"]
    a = Array(np.ones(128, np.float32))
    outcome = module.run(name, 1, 128, *a.arguments(), *Array(np.ones(128, np.float32)).arguments())
    assert any(each["kind"] == "race" for each in outcome["findings"])


KERNELS = (
    saxpy,
    tiled_matmul,
    mandelbrot,
    shared_reduction,
    histogram,
    warp_shuffles,
    transposition,
    stencil,
    mathematics,
    local_arrays,
    monte_carlo,
    prints,
    bitonic_sort,
    grid_barrier,
    elementwise,
    template_reduction,
    pointers_and_structs,
    switches_and_strings,
    compare_and_swap,
    bytes_and_halves,
    special_functions,
    large_integers,
    races_of_real_kernels,
)
OF_LIBRARIES = (library_of_blocks, mbarriers)
LIBRARIES = options_of_libraries()


def main():
    failed = 0
    if not LIBRARIES:
        print("  nvidia-cuda-cccl or nvidia-cuda-runtime is missing")
    kernels = KERNELS + OF_LIBRARIES * bool(LIBRARIES)
    chosen = [each for each in kernels if not sys.argv[1:] or each.__name__ in sys.argv[1:]]
    for kernel in chosen:
        try:
            kernel()
        except (AssertionError, engine.Refused) as wrong:
            failed += 1
            print(f"{kernel.__name__}: {wrong}")
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return failed


if __name__ == "__main__":
    numba.config.CUDA_WARN_ON_IMPLICIT_COPY = 0
    sys.exit(bool(main()))
