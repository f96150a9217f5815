// SPDX-License-Identifier: BSD-3-Clause
// The kernels. make_ptx.py compiles them to the PTX that the module is built with.
#include "filters.h"

using namespace imagefilters;

// A thread for each element, or for several of a large image.
#define KERNEL(name, filter, type)                                                         \
  extern "C" __global__ void name(view from, view to, long long count, type parameter) {   \
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;                 \
    const long long begin = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; \
    IMAGEFILTERS_SHORT                                                                     \
    for (long long n = begin; n < count; n += step) filter(from, to, n, parameter);        \
  }

KERNEL(blur_u8, blur_at<unsigned char>, long long)
KERNEL(blur_f32, blur_at<float>, long long)
KERNEL(threshold_u8, threshold_at<unsigned char>, double)
KERNEL(threshold_f32, threshold_at<float>, double)
