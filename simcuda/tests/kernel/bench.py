# SPDX-License-Identifier: BSD-3-Clause
"""Thread-instructions a second of numba-cuda's kernels on one core: with all checks, without each
of them, and without any; or, on several, with the checks that are the default. Needs what
test_real.py needs.

    bench.py [--rounds N] [--threads N...]"""

import argparse
import json
import statistics
import time

import numpy as np
import test_real
from numba import cuda, float32, float64, int32, types
from test_real import Array, numba_module, number


def saxpy(size):
    def kernel(a, x, y, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a * x[i] + y[i]

    count = size << 18
    arrays = [Array(np.ones(count, np.float32)) for _ in range(2)]
    out = Array(np.zeros(count, np.float32), written=False)
    module = numba_module(kernel, float32, *[test_real.F1] * 3)
    return module, count // 256, 256, (number("f", 2), *arrays, out)


def matmul(size):
    def kernel(a, b, c):
        sa, sb = cuda.shared.array((16, 16), float32), cuda.shared.array((16, 16), float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for i in range(cuda.gridDim.x):
            sa[ty, tx] = a[y, tx + i * 16]
            sb[ty, tx] = b[ty + i * 16, x]
            cuda.syncthreads()
            for j in range(16):
                total += sa[ty, j] * sb[j, tx]
            cuda.syncthreads()
        c[y, x] = total

    side = 64 * (size + 1)
    arrays = [Array(np.ones((side, side), np.float32)) for _ in range(3)]
    return numba_module(kernel, *[test_real.F2] * 3), (side // 16, side // 16), (16, 16), arrays


def mandelbrot(size):
    def kernel(image, most):
        x, y = cuda.grid(2)
        if x < image.shape[1] and y < image.shape[0]:
            c = complex(-2 + x * 3 / image.shape[1], -1 + y * 2 / image.shape[0])
            z = 0j
            count = most
            for i in range(most):
                z = z * z + c
                if z.real * z.real + z.imag * z.imag >= 4:
                    count = i
                    break
            image[y, x] = count

    image = Array(np.zeros((256 * size, 256), np.uint8), written=False)
    return (
        numba_module(kernel, types.uint8[:, ::1], int32),
        (8, 32 * size),
        (32, 8),
        (image, number("i", 50)),
    )


def stencil(size):
    def kernel(a, out):
        x, y = cuda.grid(2)
        if 0 < x < a.shape[1] - 1 and 0 < y < a.shape[0] - 1:
            out[y, x] = 0.25 * (a[y, x - 1] + a[y, x + 1] + a[y - 1, x] + a[y + 1, x])

    a, out = Array(np.ones((256 * size, 256))), Array(np.ones((256 * size, 256)))
    return numba_module(kernel, *[float64[:, ::1]] * 2), (16, 16 * size), (16, 16), (a, out)


OFF = {"races": False, "written": False, "accesses": False, "barriers": False}
SETTINGS = {
    "all checks": {},
    "no races": {"races": False},
    "no unwritten": {"written": False},
    "no accesses": {"accesses": False},
    "no checks": OFF,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, nargs="+")
    options = parser.parse_args()
    settings, size, clock = SETTINGS, 1, time.process_time
    if options.threads:
        settings = {f"{n} threads": {"races": False, "threads": n} for n in options.threads}
        size, clock = 4, time.perf_counter
    table = {}
    print(f"{'million thread-instructions a second':40} best  median")
    for kernel in (saxpy, matmul, mandelbrot, stencil):
        module, grid, block, arguments = kernel(size)
        for setting, switches in settings.items():
            rates = []
            for _ in range(options.rounds):
                begin = clock()
                outcome = test_real.launch(module, grid, block, *arguments, **switches)
                rates.append(outcome["instructions"] / (clock() - begin) / 1e6)
            table[f"{kernel.__name__}, {setting}"] = (max(rates), statistics.median(rates))
            print(
                f"{kernel.__name__ + ', ' + setting:40} {max(rates):5.0f}"
                f" {statistics.median(rates):6.0f}"
            )
    print(json.dumps(table))


if __name__ == "__main__":
    main()
