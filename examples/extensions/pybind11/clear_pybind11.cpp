// SPDX-License-Identifier: BSD-3-Clause
// A module by pybind11 that takes arrays from any library. Neither libcai nor CUDA is linked.
//
//   clear(array, stream=None)   zeros it, on the host or on a GPU
#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>

#include <cai/pybind11.h>

namespace py = pybind11;

// The bytes of a contiguous array.
static std::size_t bytes_of(const cai_array &x) {
  const std::int64_t bytes = cai_array_contiguous_nbytes(&x);
  if (x.mask) throw std::invalid_argument("a masked array is not cleared");
  if (bytes < 0) throw std::invalid_argument("the array is not C-contiguous");
  return static_cast<std::size_t>(bytes);
}

static void clear_on_gpu(std::uint64_t data, std::size_t bytes, std::uint64_t stream) {
  using memset_fn = int (*)(std::uint64_t, unsigned char, std::size_t, void *);
  static void *const driver = dlopen("libcuda.so.1", RTLD_NOW);
  static void *const found = driver ? dlsym(driver, "cuMemsetD8Async") : nullptr;
  const auto cuMemsetD8Async = reinterpret_cast<memset_fn>(found);
  if (!cuMemsetD8Async || cuMemsetD8Async(data, 0, bytes, reinterpret_cast<void *>(stream)) != 0) {
    throw std::runtime_error("cuMemsetD8Async() failed");
  }
}

// The work goes between the beginning and the end of the use, on the guard's stream; also on the
// host, where a stream of the CPU's may have work on the array yet.
static void clear(const cai::writable &x, py::handle stream) {
  const std::size_t bytes = bytes_of(*x);
  if (bytes == 0) return;
  cai::pybind11_use guard(stream.ptr(), x);
  if (x->device_type == CAI_DEVICE_CPU) {
    std::memset(reinterpret_cast<void *>(x->data), 0, bytes);
  } else {
    clear_on_gpu(x->data, bytes, guard.stream());
  }
  guard.end();
}

PYBIND11_MODULE(clear_pybind11, m) {
  cai::pybind11_import();
  m.def("clear", &clear, py::arg("array"), py::arg("stream") = py::none(), "Zeros an array.");
}
