// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file python.hpp cai/python.h for C++20: arguments, and uses that end by RAII. The casters of
 *       cai/nanobind.h and cai/pybind11.h are built on it.
 *
 * As with cai/python.h, call all of it with the GIL; the module need not link libcai. To hold, copy
 * and read a cai::array needs no linking either. Its views, and all else in cai/cai.hpp that calls
 * the library or throws, need the module to link libcai.
 */
#ifndef CAI_PYTHON_HPP
#define CAI_PYTHON_HPP

#include <cai/python.h>  // first, as Python.h requires

#include <cai/cai.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace cai {
inline namespace v1 {

/** The array of an object that the caller of a function holds, for the length of the call:
 * #cai_py_argument. Nothing is copied, and references are added only where the array cannot be read
 * otherwise, so it costs some nanoseconds. The types for arguments are cai::readable and
 * cai::writable, always by reference, since they cannot be moved. Since 0.1. */
template <std::uint32_t flags>
class argument {
 public:
  /** What a use does with the array: CAI_ACCESS_READ or CAI_ACCESS_WRITE. */
  static constexpr std::uint32_t access =
      flags & CAI_PY_WRITES ? CAI_ACCESS_WRITE : CAI_ACCESS_READ;

  /** An empty object. */
  argument() noexcept { opened_.array = nullptr; }  // leaves the rest, a kilobyte, uncleared
  argument(const argument &) = delete;
  argument &operator=(const argument &) = delete;
  ~argument() {
    if (opened_.array) cai_py->close(&opened_);
  }

  /** Opens the array of an object, which must outlive this; only for an empty object.
   * @return 0; 1 for an object that has no array, with no exception set; or -1 with one */
  [[nodiscard]] int try_open(PyObject *object) noexcept {
    if (!cai_py && cai_py_import() < 0) return -1;
    const int answer = cai_py->open(object, flags | CAI_PY_TRY, &opened_);
    if (answer != 0) opened_.array = nullptr;
    return answer;
  }

  /** The array, for C functions and cai::use: borrowed from this object; nullptr if empty. */
  operator const cai_array *() const noexcept { return opened_.array; }
  const cai_array *operator->() const noexcept { return opened_.array; }
  const cai_array &operator*() const noexcept { return *opened_.array; }

  /** Extents, in elements; valid as long as this object. */
  std::span<const std::int64_t> shape() const noexcept { return dims(opened_.array->shape); }
  /** Steps, in bytes, of any sign; likewise. */
  std::span<const std::int64_t> strides() const noexcept { return dims(opened_.array->strides); }

 private:
  std::span<const std::int64_t> dims(const std::int64_t *values) const noexcept {
    return {values, static_cast<std::size_t>(opened_.array->ndim)};
  }

  cai_py_argument opened_;
};

/** An argument that is read: `double sum(const cai::readable &x)`. Since 0.1. */
using readable = argument<0>;
/** An argument that is written, and may be read: `void scale(const cai::writable &x, double by)`. A
 * read-only array is refused. Since 0.1. */
using writable = argument<CAI_PY_WRITES>;

namespace detail {

// As argument::try_open(), for an array to keep.
inline int try_own(PyObject *object, array &out) noexcept {
  if (!cai_py && cai_py_import() < 0) return -1;
  cai_array *owned = nullptr;
  const int answer = cai_py->own(object, CAI_PY_TRY, &owned);
  if (answer == 0) out = array::adopt(owned);
  return answer;
}

// A libcai.Array, or None if `value` is empty; nullptr with an exception set.
inline PyObject *to_python(array value) noexcept {
  if (!value) Py_RETURN_NONE;
  if (!cai_py && cai_py_import() < 0) return nullptr;
  PyObject *const made = cai_py->wrap(const_cast<cai_array *>(value.get()));
  if (made) static_cast<void>(value.release());  // Python owns it now
  return made;
}

}  // namespace detail

/** A use of arrays on a stream, as cai::use, by the functions of cai_py. With cai/nanobind.h it is
 * cai::nanobind_use, with cai/pybind11.h cai::pybind11_use:
 *
 *     cai::nanobind_use guard(stream.ptr(), x, y);
 *     launch_my_kernels(guard.stream());  // on this stream, and on no other
 *     guard.end();
 *
 * The guard holds no references to the arrays or the stream: they must outlive it. It cannot be
 * moved. Since 0.1.
 *
 * @tparam Error  the binding library's exception: its constructor takes the Python exception that
 *                is set */
template <class Error>
class python_use {
 public:
  /** Begins: cai_py_api.begin. It takes arrays as cai::use does: a cai::readable is read, a
   * cai::writable written; cai::reads() and cai::writes() say it of others; cai::options may come
   * last.
   * @param stream  as for libcai.use(), except -1; nullptr or None is libcai's current stream of
   *                the first array's device
   * @throws Error with libcai's exception; no use is open then */
  template <detail::used_array Array, class... Arguments>
    requires detail::arrays_then_options<Array, Arguments...>
  explicit python_use(PyObject *stream, Array &&array, Arguments &&...more) {
    const detail::use_arguments<1 + sizeof...(more)> given(array, more...);
    const cai_use_options options = given.how;
    const bool is_current = !stream || stream == Py_None;
    check(is_current ? cai_py->current_stream(given.arrays[0], &stream_)
                     : cai_py->stream(stream, &stream_));
    if (stream_ == UINT64_MAX) {
      PyErr_SetString(PyExc_ValueError,
                      "stream -1 means no order, and no work can be queued on it");
      throw Error();
    }
    check(cai_py->begin(&use_, given.arrays, static_cast<std::int32_t>(given.count), stream_,
                        &options));
    active_ = true;
  }
  python_use(const python_use &) = delete;
  python_use &operator=(const python_use &) = delete;

  /** 1, 2 or a CUstream: queue the work there. Meaningless for arrays on the host. */
  std::uint64_t stream() const noexcept { return stream_; }

  /** Ends the use: cai_py_api.end; does nothing if none is open.
   * @throws Error with libcai's exception. The use is then still open: the destructor ends it as
   *         far as it can */
  void end() {
    if (!active_) return;
    check(cai_py->end(&use_));
    active_ = false;
  }

  /** Ends the use. If that fails, the exception goes to sys.unraisablehook, and the host waits for
   * the stream, so that the memory is safe; if that fails too, the use is abandoned. */
  ~python_use() {
    if (!active_ || cai_py->end(&use_) == 0) return;
    PyErr_WriteUnraisable(nullptr);
    if (cai_py->finish(&use_, 1) == 0) return;
    PyErr_WriteUnraisable(nullptr);
    cai_py->abandon(&use_);
  }

 private:
  static void check(int answer) {
    if (answer < 0) throw Error();
  }

  cai_use use_;
  std::uint64_t stream_ = 0;
  bool active_ = false;
};

}  // namespace v1
}  // namespace cai

#endif  // CAI_PYTHON_HPP
