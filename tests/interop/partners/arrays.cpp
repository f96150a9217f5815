/* SPDX-License-Identifier: BSD-3-Clause */
/* A module of nanobind's: it tells what it is given, and makes arrays of its own. */
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>
#include <vector>

namespace nb = nanobind;

namespace {

nb::tuple tuple_of(const int64_t *values, size_t count) {
  nb::list made;
  for (size_t i = 0; i < count; ++i) made.append(values[i]);
  return nb::tuple(made);
}

template <typename Array>
void gather(const Array &array, size_t axis, const char *at, std::string &out) {
  const size_t size = array.itemsize();
  if (axis == array.ndim()) {
    out.append(at, size);
    return;
  }
  for (size_t i = 0; i < array.shape(axis); ++i)
    gather(array, axis + 1, at + static_cast<int64_t>(i * size) * array.stride(axis), out);
}

/* (address, shape, strides in elements, code and bits of the type, the bytes of all elements) */
template <typename Array>
nb::tuple told(const Array &array) {
  const auto *const data = static_cast<const char *>(array.data());
  std::string bytes;
  if (array.size()) gather(array, 0, data, bytes);
  return nb::make_tuple(reinterpret_cast<uintptr_t>(data),
                        tuple_of(array.shape_ptr(), array.ndim()),
                        tuple_of(array.stride_ptr(), array.ndim()), array.dtype().code,
                        array.dtype().bits, nb::bytes(bytes.data(), bytes.size()));
}

template <typename Array>
Array made(uintptr_t address, const nb::tuple &shape, const nb::list &strides, uint8_t code,
           uint8_t bits, const nb::object &owner) {
  std::vector<size_t> extents;
  std::vector<int64_t> steps;
  for (nb::handle extent : shape) extents.push_back(nb::cast<size_t>(extent));
  for (nb::handle step : strides) steps.push_back(nb::cast<int64_t>(step));
  return Array(reinterpret_cast<void *>(address), extents.size(), extents.data(), owner,
               steps.data(), nb::dlpack::dtype{code, bits, 1}, nb::device::cpu::value);
}

}  // namespace

NB_MODULE(nanobind_arrays, module) {
  module.def("take", &told<nb::ndarray<>>);
  module.def("take_to_read", &told<nb::ndarray<nb::ro>>);
  module.def("make", &made<nb::ndarray<nb::array_api>>);
  module.def("make_read_only", &made<nb::ndarray<nb::array_api, nb::ro>>);
}
