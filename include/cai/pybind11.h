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
 *   call; or a cai::array, to keep. All that libcai.asarray() takes is taken, without a conversion.
 * - For an object that has no array, None too, the next overload is tried. What is wrong with an
 *   array that it has, libcai's own exception says at once.
 * - In std::optional, std::vector and so on only a cai::array goes.
 * - A result is a cai::array, which becomes a libcai.Array; one that holds none becomes None.
 * - cai::error, thrown by a function, becomes libcai's exception.
 *
 * Nothing is linked; see cai/python.hpp. pybind11 2.12 or newer.
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

  cai_caster() noexcept {}  // a default one would be cleared first

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

/** Arrays in use on a stream, in a function of pybind11's. Since 0.1. */
using pybind11_use = python_use<::pybind11::error_already_set>;

/** Imports libcai, and has pybind11 turn a cai::error into libcai's exception. Call it where
 * PYBIND11_MODULE begins, once for all files of the module. Since 0.1.
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
