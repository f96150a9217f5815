// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <stdexcept>

#include <cai/nanobind.h>

#include "kernel.hpp"

namespace nb = nanobind;

// Opens the array of an argument, for the length of the call.
template <class Argument>
static void open(Argument &argument, nb::handle object) {
  const int answer = argument.try_open(object.ptr());
  if (answer < 0) throw nb::python_error();  // an invalid array: libcai's exception says why
  if (answer > 0) throw nb::type_error("an argument has no array");
}

// The number of elements of a contiguous float32 array on a GPU; other arrays are refused.
static std::int64_t count_of(const cai_array &x) {
  if (cai_array_refuses(&x, CAI_FLAG_READONLY)) throw nb::value_error("masked, or swapped bytes");
  if (x.device_type != CAI_DEVICE_CUDA) throw nb::value_error("the array is not on a GPU");
  if (x.dtype.kind != 'f' || x.dtype.itemsize != 4) throw nb::type_error("not float32");
  const std::int64_t bytes = cai_array_contiguous_nbytes(&x);
  if (bytes < 0) throw nb::value_error("not contiguous");
  return bytes / 4;
}

static nb::object add(nb::object a, nb::object b, nb::object out, nb::object stream) {
  cai::readable x, y;
  open(x, a);
  open(y, b);
  if (out.is_none()) {
    out = nb::steal(cai_py->empty_like(a.ptr(), x->ndim, x->shape, nullptr));
    if (!out) throw nb::python_error();
  }
  cai::writable sum;
  open(sum, out);
  const std::int64_t count = count_of(*x);
  if (count_of(*y) != count || count_of(*sum) != count) throw nb::value_error("sizes differ");
  if (count == 0) return out;

  cai::nanobind_use use(stream.ptr(), x, y, sum);  // our stream waits for theirs
  launch_add(x->data, y->data, sum->data, count, use.stream());
  use.end();  // theirs wait for ours
  return out;
}

NB_MODULE(adding, m) {
  cai::nanobind_import();
  m.def("add", &add, nb::arg("a"), nb::arg("b"), nb::arg("out") = nb::none(),
        nb::arg("stream") = nb::none(), "Adds two float32 arrays; returns `out`, or a new array.");
}
