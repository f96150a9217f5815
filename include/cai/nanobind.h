// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file nanobind.h
 * For modules made with nanobind, in C++20: functions take and return arrays of any library.
 *
 *     #include <cai/nanobind.h>
 *
 *     void scale(const cai::writable &x, double by) {
 *       cai::nanobind_use guard(nullptr, x);  // on libcai's current stream
 *       launch(x->data, x.shape()[0], by, guard.stream());
 *       guard.end();
 *     }
 *
 *     NB_MODULE(mine, m) {
 *       cai::nanobind_import();
 *       m.def("scale", &scale);
 *     }
 *
 * - An argument is a `const cai::readable &` or a `const cai::writable &`, for the length of the
 *   call; or a cai::array, to keep. Everything that libcai.asarray() takes is accepted, without a
 *   conversion.
 * - For an object without an array, None too, nanobind tries the next overload. For an object with
 *   an invalid array, libcai's own exception is raised, once all arguments of the overload match.
 * - In std::optional, std::vector and so on, use cai::array only. There an invalid array counts as
 *   an argument that does not match: nanobind cannot raise another exception. Likewise
 *   `nb::cast<cai::array>(object)`, of what a callback returned, throws std::bad_cast for an
 *   invalid array. For libcai's exception, open it yourself: `cai::readable x;`, and throw
 *   nanobind::python_error where `x.try_open(object.ptr())` is below 0.
 * - An argument that may be left out is a `std::optional<cai::array>`, with
 *   `nb::arg("x") = nb::none()`. A default of `cai::array{}` does not work: it becomes None, which
 *   is no array.
 * - A result is a cai::array, which becomes a libcai.Array; an empty one becomes None.
 * - A cai::error that a function throws becomes libcai's exception.
 *
 * The module need not link libcai, see cai/python.hpp. Needs nanobind 2.2 or newer.
 */
#ifndef CAI_NANOBIND_H
#define CAI_NANOBIND_H

#include <nanobind/nanobind.h>

#include <cai/python.hpp>

#include <cstdint>
#include <exception>
#include <utility>

namespace nanobind::detail {

// from_python() must not throw. So the exception of an invalid array is thrown where the value is
// read, which in a call is after all arguments have been converted.
template <class Held>
class cai_caster {
 public:
  using Value = Held;
  static constexpr auto Name = io_name("libcai.typing.ArrayLike", "libcai.Array");
  template <class T>
  using Cast = movable_cast_t<T>;
  template <class T>
  bool can_cast() const noexcept {
    return !wrong_;
  }

  explicit operator Held &() { return checked(); }
  explicit operator Held &&() { return std::move(checked()); }

 protected:
  bool taken(int answer) noexcept {
    if (answer < 0) wrong_ = std::make_exception_ptr(python_error());
    return answer <= 0;
  }

  Held held_;

 private:
  Held &checked() {
    if (wrong_) std::rethrow_exception(wrong_);
    return held_;
  }

  std::exception_ptr wrong_;
};

template <std::uint32_t flags>
struct type_caster<cai::argument<flags>> : cai_caster<cai::argument<flags>> {
  bool from_python(handle source, std::uint32_t, cleanup_list *) noexcept {
    return this->taken(this->held_.try_open(source.ptr()));
  }
};

template <>
struct type_caster<cai::array> : cai_caster<cai::array> {
  bool from_python(handle source, std::uint32_t, cleanup_list *) noexcept {
    return taken(cai::detail::try_own(source.ptr(), held_));
  }

  static handle from_cpp(cai::array value, rv_policy, cleanup_list *) noexcept {
    return cai::detail::to_python(std::move(value));
  }
};

}  // namespace nanobind::detail

namespace cai {
inline namespace v1 {

/** A use of arrays on a stream, in a function bound by nanobind. Since 0.1. */
using nanobind_use = python_use<::nanobind::python_error>;

/** Imports libcai, and makes nanobind turn a cai::error into libcai's exception. Call it at the
 * beginning of NB_MODULE, once for all files of the module. Since 0.1.
 * @throws nanobind::python_error  if libcai is not installed, or older than this header */
inline void nanobind_import() {
  if (cai_py_import() < 0) throw ::nanobind::python_error();
  ::nanobind::register_exception_translator([](const std::exception_ptr &thrown, void *) {
    try {
      std::rethrow_exception(thrown);
    } catch (const error &failure) {
      cai_py->raise(&failure.raw());
    }
  });
}

}  // namespace v1
}  // namespace cai

#endif  // CAI_NANOBIND_H
