// SPDX-License-Identifier: BSD-3-Clause
// What docs/howto/from-ndarray.rst shows: functions of nb::ndarray, and the same with libcai.
#include <nanobind/ndarray.h>

#include <cstdint>

#include <cai/nanobind.h>

namespace nb = nanobind;

// [before
// The rows of a float32 matrix, and how far apart they are, in elements.
static nb::tuple rows_before(nb::ndarray<const float, nb::ndim<2>> x) {
  return nb::make_tuple(x.shape(0), x.stride(0));
}
// before]

// [after
// The same; strides are in bytes.
static nb::tuple rows_after(const cai::readable &x) {
  if (cai_array_refuses(x, CAI_FLAG_READONLY)) throw nb::value_error("masked, or swapped bytes");
  if (x->dtype.kind != 'f' || x->dtype.itemsize != 4) throw nb::type_error("not float32");
  if (x->ndim != 2) throw nb::value_error("not a matrix");
  return nb::make_tuple(x.shape()[0], x.strides()[0] / 4);
}
// after]

NB_MODULE(ndarray, m) {
  cai::nanobind_import();
  m.def("rows_before", &rows_before);
  m.def("rows_after", &rows_after);
}
