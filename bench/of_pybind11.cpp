// SPDX-License-Identifier: BSD-3-Clause
// The same by the casters of cai/pybind11.h.
#include <cai/pybind11.h>

static std::int64_t elements(const cai::readable &x) {
  std::int64_t count = 1;
  for (const std::int64_t extent : x.shape()) count *= extent;
  return count;
}

PYBIND11_MODULE(of_pybind11, m) {
  cai::pybind11_import();
  m.def("elements", [](const cai::readable &x, const cai::readable &y, const cai::readable &z) {
    return elements(x) + elements(y) + elements(z);
  });
}
