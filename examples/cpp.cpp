// SPDX-License-Identifier: BSD-3-Clause
// c++ -std=c++20 cpp.cpp $(pkg-config --cflags --libs libcai)
#include <cai/cai.hpp>
#include <cstdio>

// Takes an array of any library. What we queue on `stream` the producer waits for, whether we
// return or throw.
static void scale(const cai::array &x, double factor, std::uint64_t stream) {
  if (cai_array_refuses(x.get(), 0)) throw std::invalid_argument("not for this function");
  const cai::use guard(stream, x);
  std::printf("launch: data 0x%llx, %lld elements, %lld bytes apart, times %g\n",
              static_cast<unsigned long long>(x.data()), static_cast<long long>(x.shape()[0]),
              static_cast<long long>(x.strides()[0]), factor);
}

// Gives one: a matrix of float32 that lives as long as anybody holds it.
static cai::array make() {
  const std::int64_t shape[] = {100, 200}, strides[] = {800, 4};
  cai_array x{};
  x.abi_major = CAI_ABI_MAJOR;
  x.data = 0x7f0000000000;
  x.device_type = CAI_DEVICE_CUDA;
  x.dtype = {'f', '<', CAI_EXT_NONE, CAI_TIME_GENERIC, 4, 0};
  x.ndim = 2;
  x.shape = shape;
  x.strides = strides;
  x.stream = 0x55d0;
  x.stream_kind = CAI_STREAM_STREAM;
  x.version = 3;
  return cai::array::own(x, [] { std::puts("freed"); });
}

int main() {
  try {
    const cai::array column = make().slice({cai::range({}, {}, 2), cai::index(-1)});
    scale(column, 2.0, column.stream());  // on its own stream this needs no event, and no GPU
    const cai::array odd = make().reshape({7, -1});
  } catch (const cai::error &error) {
    std::printf("%s\n", error.what());
  }
}
