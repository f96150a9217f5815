// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>

#include <cai/nanobind.h>

namespace nb = nanobind;

// Queues your work on the stream. This calls the driver; a kernel launch goes in the same place.
static void launch(std::uint64_t data, std::size_t bytes, std::uint64_t stream) {
  using Memset = int (*)(std::uint64_t, unsigned char, std::size_t, void *);
  static const auto memset_async =
      reinterpret_cast<Memset>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemsetD8Async"));
  if (!memset_async || memset_async(data, 0, bytes, reinterpret_cast<void *>(stream)) != 0)
    throw std::runtime_error("cuMemsetD8Async() failed");
}

static void zero(const cai::writable &x, nb::handle stream) {
  if (cai_array_refuses(x, 0) || x->device_type == CAI_DEVICE_CPU || x->ndim != 1 ||
      (x->shape[0] > 1 && x->strides[0] != x->dtype.itemsize))
    throw nb::value_error("zero() takes contiguous 1-D arrays of a GPU, without a mask");
  cai::nanobind_use use(stream.ptr(), x);  // your stream waits for the producer's
  launch(x->data, static_cast<std::size_t>(x->shape[0]) * x->dtype.itemsize, use.stream());
  use.end();  // the producer's stream waits for yours
}

NB_MODULE(mylib, m) {
  cai::nanobind_import();
  m.def("zero", &zero, nb::arg("x"), nb::arg("stream") = nb::none());
}
