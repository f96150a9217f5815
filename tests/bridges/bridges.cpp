// SPDX-License-Identifier: BSD-3-Clause
// Modules for tests/python/test_bridges.py, of nanobind's or pybind11's: the example's, and one
// with what that does not show. It is linked with libcai, as those are that make views or throw.
#ifdef WITH_NANOBIND
#include "../../examples/extensions/nanobind/clear_nanobind.cpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
namespace py = nanobind;
using python_use = cai::nanobind_use;
static void import_libcai() {
  cai::nanobind_import();
}
using py_error = py::python_error;
#define BRIDGES_MODULE NB_MODULE
#else
#include "../../examples/extensions/pybind11/clear_pybind11.cpp"

#include <pybind11/stl.h>
using python_use = cai::pybind11_use;
static void import_libcai() {
  cai::pybind11_import();
}
using py_error = py::error_already_set;
#define BRIDGES_MODULE PYBIND11_MODULE
#endif

#include <optional>
#include <string>
#include <vector>

bool by_hand_knows_libcai();  // by_hand.cpp

static std::int64_t elements(const cai_array &x) {
  std::int64_t count = 1;
  for (std::int32_t i = 0; i < x.ndim; ++i) count *= x.shape[i];
  return count;
}

static cai::array kept;

BRIDGES_MODULE(bridges, m) {
  import_libcai();
  m.def("elements", [](const cai::readable &x, const cai::readable &y, const cai::readable &z) {
    return elements(*x) + elements(*y) + elements(*z);
  });
  m.def("owned", [](const cai::array &x, cai::array y) { return elements(*x) + elements(*y); });
  m.def("shape", [](const cai::readable &x) {
    return std::vector<std::int64_t>(x.shape().begin(), x.shape().end());
  });

  m.def("which", [](const cai::writable &, const cai::readable &) { return "two arrays"; });
  m.def("which", [](const cai::readable &, double) { return "array and number"; });
  m.def("which", [](const cai::array &, const std::string &) { return "array and text"; });
  m.def("which", [](double, double) { return "two numbers"; });
  m.def("maybe", [](std::optional<cai::array> x) { return x; }, py::arg("x") = py::none());
  m.def("defaulted", [](const cai::array &) {}, py::arg("x") = cai::array{});
  m.def("cast", [](const py::object &x) { return elements(*py::cast<cai::array>(x)); });
  m.def("opened", [](const py::object &x) {
    cai::readable opened;
    if (opened.try_open(x.ptr()) < 0) throw py_error();
    return elements(*opened);
  });
  m.def("many", [](std::vector<cai::array> many) { return many; });

  m.def("keep", [](cai::array x) { kept = std::move(x); });
  m.def("kept", []() -> const cai::array & { return kept; });
  m.def("transposed", [](const cai::array &x) { return x.transpose(); });
  m.def("flat", [](const cai::array &x, std::int64_t size) { return x.reshape({size}); });

  m.def("during", [](const cai::readable &x, const py::object &function) {
    function();
    return elements(*x);
  });
  m.def("clear_and_throw", [](const cai::writable &x, py::handle stream) {
    const python_use guard(stream.ptr(), x);
    clear_on_gpu(x->data, bytes_of(*x), guard.stream());
    throw std::out_of_range("after the work was queued");
  });
  const auto use_both = [](const cai::readable &x, const cai::array &y, py::handle stream) {
    python_use guard(stream.ptr(), x, y);
    guard.end();
    guard.end();
    return guard.stream();
  };
  m.def("use_both", use_both, py::arg("x"), py::arg("y"), py::arg("stream").none());
  const auto read_on = [](const cai::array &x, py::handle stream) {
    python_use(stream.ptr(), x, cai::options{.access = CAI_ACCESS_READ}).end();
  };
  m.def("read_on", read_on, py::arg("x"), py::arg("stream").none());
  const auto use_none = [](py::handle stream) {
    const cai::array none;
    const python_use guard(stream.ptr(), none);
  };
  m.def("use_none", use_none, py::arg("stream").none());
  m.def("by_hand_knows_libcai", &by_hand_knows_libcai);
}
