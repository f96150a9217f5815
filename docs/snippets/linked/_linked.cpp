// SPDX-License-Identifier: BSD-3-Clause
// A module that calls the library: a view needs it.
#include <cai/nanobind.h>

static cai::array identity(const cai::array &x) {
  return x.slice({});
}

NB_MODULE(_linked, m) {
  cai::nanobind_import();
  m.def("identity", &identity);
}
