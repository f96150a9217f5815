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
 *   call; or a cai::array, to keep. All that libcai.asarray() takes is taken, without a conversion.
 * - For an object that has no array, None too, the next overload is tried. What is wrong with an
 *   array that it has, libcai's own exception says, once all arguments of the overload fit.
 * - In std::optional, std::vector and so on only a cai::array goes. There, what is wrong with an
 *   array counts as an argument that does not fit: nanobind has no place for another exception.
 * - A result is a cai::array, which becomes a libcai.Array; one that holds none becomes None.
 * - cai::error, thrown by a function, becomes libcai's exception.
 *
 * Nothing is linked; see cai/python.hpp. nanobind 2.2 or newer.
 */
#ifndef CAI_NANOBIND_H
#define CAI_NANOBIND_H

#include <nanobind/nanobind.h>

#include <cai/python.hpp>

#include <cstdint>
#include <exception>
#include <utility>

namespace nanobind::detail {

// from_python() must not throw. So what is wrong with an array is thrown where the value is asked
// for, which in a call is after all arguments have been taken.
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

/** Arrays in use on a stream, in a function of nanobind's. Since 0.1. */
using nanobind_use = python_use<::nanobind::python_error>;

/** Imports libcai, and has nanobind turn a cai::error into libcai's exception. Call it where
 * NB_MODULE begins, once for all files of the module. Since 0.1.
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
