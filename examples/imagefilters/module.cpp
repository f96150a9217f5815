// SPDX-License-Identifier: BSD-3-Clause
// The Python module. Neither libcai nor CUDA is linked.
//
//   blur(image, radius, out=None, stream=None)       the mean of a box around each element
//   threshold(image, level, out=None, stream=None)   white where an element is at least `level`
#include <cai/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "driver.h"
#include "filters.h"
#include "filters_ptx.h"

namespace nb = nanobind;

namespace imagefilters {

// ---- What is taken ------------------------------------------------------------------------------

// Opens the array of an object of any library. A writable one is refused if it is read-only.
template <class Argument>
void open(Argument &argument, nb::handle object, const char *name) {
  const int answer = argument.try_open(object.ptr());
  if (answer < 0) throw nb::python_error();
  if (answer > 0) throw nb::type_error((std::string(name) + " is not an array").c_str());
}

bool is_of(const cai_array &x, char kind, unsigned bytes) {
  return x.dtype.kind == kind && x.dtype.itemsize == bytes && x.dtype.ext == CAI_EXT_NONE;
}

void check_is_taken(const cai_array &x, const std::string &name) {
  if (x.mask) throw nb::value_error((name + " has a mask, and would be filtered without").c_str());
  // Flags that are yet to come must not be overlooked either.
  if (cai_array_refuses(&x, CAI_FLAG_READONLY | CAI_FLAG_MASKED)) {
    throw nb::value_error((name + " must be of the machine's byte order").c_str());
  }
  if (x.ndim != 2 && x.ndim != 3) {
    throw nb::value_error((name + " has " + std::to_string(x.ndim) + " axes, not 2 or 3").c_str());
  }
  if (!is_of(x, 'u', 1) && !is_of(x, 'f', 4)) {
    throw nb::type_error((name + " must be of uint8 or float32").c_str());
  }
}

void check_fits(const cai_array &out, const cai_array &image) {
  if (out.ndim != image.ndim || !std::equal(out.shape, out.shape + out.ndim, image.shape)) {
    throw nb::value_error("out must be of the image's shape");
  }
  if (out.dtype.kind != image.dtype.kind) throw nb::type_error("out must be of the image's dtype");
  const bool on_host = image.device_type == CAI_DEVICE_CPU;
  const bool known = out.device_id >= 0 && image.device_id >= 0;  // a dict does not say it
  if ((out.device_type == CAI_DEVICE_CPU) != on_host ||
      (known && out.device_id != image.device_id)) {
    throw nb::value_error("out must be on the image's device");
  }
}

view view_of(const cai_array &x) {
  view made{reinterpret_cast<unsigned char *>(x.data), {1, 1, 1}, {0, 0, 0}};
  std::copy_n(x.shape, x.ndim, made.shape + 3 - x.ndim);
  std::copy_n(x.strides, x.ndim, made.strides + 3 - x.ndim);
  return made;
}

// The addresses from the first byte of an image to the one past the last.
std::pair<std::uint64_t, std::uint64_t> range_of(const view &x, std::uint32_t itemsize) {
  const auto data = reinterpret_cast<std::uint64_t>(x.data);
  std::uint64_t first = data, last = data;
  for (int axis = 0; axis < 3; ++axis) {
    const auto reach = static_cast<std::uint64_t>((x.shape[axis] - 1) * x.strides[axis]);
    (x.strides[axis] < 0 ? first : last) += reach;
  }
  return {first, last + itemsize};
}

bool overlap(const view &x, const view &y, std::uint32_t itemsize) {
  const auto a = range_of(x, itemsize), b = range_of(y, itemsize);
  return a.first < b.second && b.first < a.second;
}

// ---- The work -----------------------------------------------------------------------------------

// A filter with a parameter: what its kernels are called, and the same for the host.
template <class Parameter>
struct filter {
  using function = void (*)(const view &, const view &, long long, Parameter);
  std::string name;
  function u8, f32;
};
constexpr auto blur_u8 = blur_at<unsigned char>;
constexpr auto blur_f32 = blur_at<float>;
constexpr auto threshold_u8 = threshold_at<unsigned char>;
constexpr auto threshold_f32 = threshold_at<float>;

// A kernel in the current context. Modules are loaded once for each context, whose id, unlike its
// address, is never used again. The GIL is held, so there is one thread here.
CUfunction kernel(const std::string &name) {
  const driver &cuda = driver::get();
  static std::map<unsigned long long, CUmodule> modules;
  unsigned long long id = 0;
  check(cuda.cuCtxGetId(nullptr, &id), "cuCtxGetId");
  CUmodule &module = modules[id];
  if (!module) check(cuda.cuModuleLoadData(&module, filters_ptx), "cuModuleLoadData");
  CUfunction found = nullptr;
  check(cuda.cuModuleGetFunction(&found, module, name.c_str()), "cuModuleGetFunction");
  return found;
}

// Makes the context of a stream current for a while: kernels belong to a context.
class current_context {
 public:
  explicit current_context(CUstream stream) {
    CUcontext context = nullptr;
    check(driver::get().cuStreamGetCtx(stream, &context), "cuStreamGetCtx");
    check(driver::get().cuCtxPushCurrent_v2(context), "cuCtxPushCurrent");
  }
  current_context(const current_context &) = delete;
  current_context &operator=(const current_context &) = delete;
  ~current_context() {
    CUcontext context = nullptr;
    driver::get().cuCtxPopCurrent_v2(&context);
  }
};

template <class Parameter>
void launch(const std::string &name, view from, view to, long long count, Parameter parameter,
            std::uint64_t number) {
  const auto stream = reinterpret_cast<CUstream>(number);
  const current_context context(stream);
  constexpr unsigned threads = 256;
  const auto blocks = static_cast<unsigned>(std::min((count + threads - 1) / threads, 65535LL));
  void *arguments[] = {&from, &to, &count, &parameter};
  check(driver::get().cuLaunchKernel(kernel(name), blocks, 1, 1, threads, 1, 1, 0, stream,
                                     arguments, nullptr),
        "cuLaunchKernel");
}

template <class Parameter>
nb::object apply(const filter<Parameter> &which, nb::handle image, Parameter parameter,
                 nb::object out, nb::handle stream, bool in_place) {
  cai::readable x;
  open(x, image, "image");
  check_is_taken(*x, "image");
  if (out.is_none()) {
    // Made by libcai: on the image's device and, where the image's type offers that, of its type.
    out = nb::steal(cai_py->empty_like(image.ptr(), x->ndim, x->shape, nullptr));
    if (!out) throw nb::python_error();
  }
  cai::writable y;
  open(y, out, "out");
  check_is_taken(*y, "out");
  check_fits(*y, *x);

  const view from = view_of(*x), to = view_of(*y);
  const long long count = from.shape[0] * from.shape[1] * from.shape[2];
  if (count == 0) return out;
  const bool same = x->data == y->data && std::equal(x->strides, x->strides + x->ndim, y->strides);
  if (overlap(from, to, x->dtype.itemsize) && !(in_place && same)) {
    throw nb::value_error("out overlaps the image");
  }

  // The work is queued between the beginning and the end of the use, on its stream. The image is
  // read and the result written, by their types: the image's other readers need not wait for us.
  cai::nanobind_use use(stream.ptr(), x, y);
  const bool bytes = x->dtype.kind == 'u';
  if (x->device_type == CAI_DEVICE_CPU) {
    const nb::gil_scoped_release released;
    const auto function = bytes ? which.u8 : which.f32;
    for (long long n = 0; n < count; ++n) function(from, to, n, parameter);
  } else {
    launch(which.name + (bytes ? "_u8" : "_f32"), from, to, count, parameter, use.stream());
  }
  use.end();  // the image's owner waits for the read; a consumer of the result, for the write
  return out;
}

nb::object blur(nb::handle image, long long radius, nb::object out, nb::handle stream) {
  if (radius < 0) throw nb::value_error("radius must be 0 or more");
  const filter<long long> which{"blur", blur_u8, blur_f32};
  return apply(which, image, radius, std::move(out), stream, false);
}

nb::object threshold(nb::handle image, double level, nb::object out, nb::handle stream) {
  const filter<double> which{"threshold", threshold_u8, threshold_f32};
  return apply(which, image, level, std::move(out), stream, true);
}

}  // namespace imagefilters

NB_MODULE(imagefilters, m) {
  using namespace imagefilters;
  cai::nanobind_import();
  m.doc() = "Filters for images of any library: 2-D or 3-D arrays of uint8 or float32.";
  m.def("blur", &blur, nb::arg("image"), nb::arg("radius"), nb::arg("out") = nb::none(),
        nb::arg("stream") = nb::none(),
        "The mean of the elements within `radius` of each along every axis.");
  m.def("threshold", &threshold, nb::arg("image"), nb::arg("level"), nb::arg("out") = nb::none(),
        nb::arg("stream") = nb::none(), "255 or 1.0 where an element is at least `level`, else 0.");
}
