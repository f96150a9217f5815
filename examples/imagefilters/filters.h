// SPDX-License-Identifier: BSD-3-Clause
// What the filters compute for one element. The host's compiler includes this for arrays on the
// CPU, and CUDA's for the kernels (filters.cu), so that both give the same values.
#ifndef IMAGEFILTERS_FILTERS_H
#define IMAGEFILTERS_FILTERS_H

#ifdef __CUDACC__
#define IMAGEFILTERS_BOTH __host__ __device__
#define IMAGEFILTERS_SHORT _Pragma("unroll 1")  // keeps the kernels short
#else
#define IMAGEFILTERS_BOTH
#define IMAGEFILTERS_SHORT
#endif

namespace imagefilters {

// An image as a kernel gets it. One of two axes has a first axis of extent 1, so that the filters
// need to know about three axes only. Strides are in bytes, of any sign.
struct view {
  unsigned char *data;
  long long shape[3];
  long long strides[3];
};

template <class T>
IMAGEFILTERS_BOTH T &at(const view &x, long long i, long long j, long long k) {
  return *reinterpret_cast<T *>(x.data + i * x.strides[0] + j * x.strides[1] + k * x.strides[2]);
}

// For each type: what a sum is kept in, how it becomes a mean, and what white is.
template <class T>
struct pixel;

template <>
struct pixel<unsigned char> {
  using sum = unsigned long long;
  IMAGEFILTERS_BOTH static unsigned char white() { return 255; }
  IMAGEFILTERS_BOTH static unsigned char mean(sum all, sum count) {
    return static_cast<unsigned char>((all + count / 2) / count);
  }
};

template <>
struct pixel<float> {
  using sum = float;
  IMAGEFILTERS_BOTH static float white() { return 1; }
  IMAGEFILTERS_BOTH static float mean(sum all, sum count) { return all / count; }
};

// The indices of element n in C order.
struct position {
  long long i, j, k;
  IMAGEFILTERS_BOTH position(const view &x, long long n)
      : i(n / x.shape[2] / x.shape[1]), j(n / x.shape[2] % x.shape[1]), k(n % x.shape[2]) {}
};

// Where a window of the radius around `center` begins and ends inside an axis.
IMAGEFILTERS_BOTH inline long long first(long long center, long long radius) {
  return center > radius ? center - radius : 0;
}
IMAGEFILTERS_BOTH inline long long last(long long center, long long radius, long long extent) {
  return radius < extent - 1 - center ? center + radius : extent - 1;
}

// The mean of the elements within `radius` along each axis; at an edge, of those that there are.
template <class T>
IMAGEFILTERS_BOTH void blur_at(const view &from, const view &to, long long n, long long radius) {
  const position p(from, n);
  typename pixel<T>::sum all = 0, count = 0;
  IMAGEFILTERS_SHORT
  for (long long i = first(p.i, radius); i <= last(p.i, radius, from.shape[0]); ++i) {
    IMAGEFILTERS_SHORT
    for (long long j = first(p.j, radius); j <= last(p.j, radius, from.shape[1]); ++j) {
      IMAGEFILTERS_SHORT
      for (long long k = first(p.k, radius); k <= last(p.k, radius, from.shape[2]); ++k) {
        all += at<T>(from, i, j, k);
        count += 1;
      }
    }
  }
  at<T>(to, p.i, p.j, p.k) = pixel<T>::mean(all, count);
}

// White where the element is at least `level`, else black.
template <class T>
IMAGEFILTERS_BOTH void threshold_at(const view &from, const view &to, long long n, double level) {
  const position p(from, n);
  at<T>(to, p.i, p.j, p.k) = at<T>(from, p.i, p.j, p.k) >= level ? pixel<T>::white() : T(0);
}

}  // namespace imagefilters

#endif
