// SPDX-License-Identifier: BSD-3-Clause
// How many elements three arrays have, as examples/extensions/c counts them: by the casters of
// cai/nanobind.h, and by nanobind's own.
#include <nanobind/ndarray.h>

#include <cai/nanobind.h>

namespace nb = nanobind;

static std::int64_t elements(const cai::readable &x) {
  std::int64_t count = 1;
  for (const std::int64_t extent : x.shape()) count *= extent;
  return count;
}

NB_MODULE(of_nanobind, m) {
  cai::nanobind_import();
  m.def("elements", [](const cai::readable &x, const cai::readable &y, const cai::readable &z) {
    return elements(x) + elements(y) + elements(z);
  });
  m.def("elements_of_ndarrays",
        [](const nb::ndarray<> &x, const nb::ndarray<> &y, const nb::ndarray<> &z) {
          return x.size() + y.size() + z.size();
        });
}
