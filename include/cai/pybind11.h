// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file pybind11.h
 * For modules made with pybind11, in C++20: functions take and return arrays of any library.
 *
 *     #include <cai/pybind11.h>
 *
 *     void scale(const cai::writable &x, double by) {
 *       cai::pybind11_use guard(nullptr, x);  // on libcai's current stream
 *       launch(x->data, x.shape()[0], by, guard.stream());
 *       guard.end();
 *     }
 *
 *     PYBIND11_MODULE(mine, m) {
 *       cai::pybind11_import();
 *       m.def("scale", &scale);
 *     }
 *
 * - An argument is a `const cai::readable &` or a `const cai::writable &`, for the length of the
 *   call; or a cai::array, to keep. Everything that libcai.asarray() takes is accepted, without a
 *   conversion.
 * - For an object without an array, None too, pybind11 tries the next overload. For an object with
 *   an invalid array, libcai's own exception is raised at once.
 * - In std::optional, std::vector and so on, use cai::array only.
 * - An argument that may be left out is a `std::optional<cai::array>`, with
 *   `py::arg("x") = py::none()`. A default of `cai::array{}` does not work: it becomes None, which
 *   is no array.
 * - A result is a cai::array, which becomes a libcai.Array; an empty one becomes None.
 * - A cai::error that a function throws becomes libcai's exception.
 *
 * The module need not link libcai, see cai/python.hpp. Needs pybind11 2.12 or newer.
 */
#ifndef CAI_PYBIND11_H
#define CAI_PYBIND11_H

#include <pybind11/pybind11.h>

#include <cai/python.hpp>

#include <cstdint>
#include <exception>
#include <utility>

namespace PYBIND11_NAMESPACE {
namespace detail {

template <class Held>
class cai_caster {
 public:
#if PYBIND11_VERSION_MAJOR >= 3
  static constexpr auto name = io_name("libcai.typing.ArrayLike", "libcai.Array");
#else
  static constexpr auto name = const_name("libcai.Array");
#endif
  template <class T>
  using cast_op_type = movable_cast_op_type<T>;

  cai_caster() noexcept {}  // a defaulted constructor would clear the members first

  operator Held &() { return held_; }
  operator Held &&() && { return std::move(held_); }

 protected:
  static bool taken(int answer) {
    if (answer < 0) throw error_already_set();
    return answer == 0;
  }

  Held held_;
};

template <std::uint32_t flags>
class type_caster<cai::argument<flags>> : public cai_caster<cai::argument<flags>> {
 public:
  type_caster() noexcept {}  // likewise

  bool load(handle source, bool) { return this->taken(this->held_.try_open(source.ptr())); }
};

template <>
class type_caster<cai::array> : public cai_caster<cai::array> {
 public:
  bool load(handle source, bool) { return taken(cai::detail::try_own(source.ptr(), held_)); }

  static handle cast(cai::array value, return_value_policy, handle) {
    const handle made = cai::detail::to_python(std::move(value));
    if (!made) throw error_already_set();
    return made;
  }
};

}  // namespace detail
}  // namespace PYBIND11_NAMESPACE

namespace cai {
inline namespace v1 {

/** A use of arrays on a stream, in a function bound by pybind11. Since 0.1. */
using pybind11_use = python_use<::pybind11::error_already_set>;

/** Imports libcai, and makes pybind11 turn a cai::error into libcai's exception. Call it at the
 * beginning of PYBIND11_MODULE, once for all files of the module. Since 0.1.
 * @throws pybind11::error_already_set  if libcai is not installed, or older than this header */
inline void pybind11_import() {
  if (cai_py_import() < 0) throw ::pybind11::error_already_set();
  ::pybind11::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const error &failure) {
      cai_py->raise(&failure.raw());
    }
  });
}

}  // namespace v1
}  // namespace cai

#endif  // CAI_PYBIND11_H
