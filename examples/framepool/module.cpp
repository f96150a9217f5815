// SPDX-License-Identifier: BSD-3-Clause
// The Python module. It makes arrays of its own memory, so it is linked with libcai, but not with
// CUDA.
#include <cai/nanobind.h>

#include <atomic>
#include <cai/memory.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace framepool {

// The blocks that nobody uses. The pool queues all its work on one stream, and every frame comes
// with that stream: so consumers wait for it, and make it wait for them. When a block comes back,
// work of consumers may still be pending, but what the pool queues next comes after that work. The
// pool needs no events, and the host never waits.
class frames {
 public:
  frames(std::int64_t rows, std::int64_t columns, std::int64_t count, cai::device device)
      : stream_(device),
        memory_(
            cai::memory::alloc(device, {.size = static_cast<std::uint64_t>(rows * columns * count),
                                        .kind = CAI_KIND_ASYNC,  // freed on the stream, too
                                        .stream = stream_})) {
    free_.reserve(static_cast<std::size_t>(count));  // so that give_back() cannot fail
    const std::uint64_t first = memory_.info().data;
    for (std::int64_t i = count; i-- > 0;) {
      free_.push_back(first + static_cast<std::uint64_t>(i * rows * columns));
    }
  }

  const cai::stream &stream() const { return stream_; }

  std::size_t free() const {
    const std::lock_guard locked(mutex_);
    return free_.size();
  }

  // A block; 0 if there is none.
  std::uint64_t take() {
    const std::lock_guard locked(mutex_);
    if (free_.empty()) return 0;
    const std::uint64_t block = free_.back();
    free_.pop_back();
    return block;
  }

  // Called by libcai, on any thread and without the GIL.
  void give_back(std::uint64_t block) noexcept {
    const std::lock_guard locked(mutex_);
    free_.push_back(block);
  }

 private:
  cai::stream stream_;
  cai::memory memory_;
  mutable std::mutex mutex_;
  std::vector<std::uint64_t> free_;
};

class pool {
 public:
  pool(std::int64_t rows, std::int64_t columns, std::int64_t count, std::int32_t device)
      : shape_{rows, columns}, count_(count) {
    if (rows < 1 || columns < 1 || count < 1) throw nb::value_error("there must be 1 or more");
    frames_ = std::make_shared<frames>(rows, columns, count, cai::device::gpu(device));
  }

  // The next frame, with its number in all elements: in place of a decoder, a fill.
  cai::array next() {
    finish_releases();
    const std::uint64_t block = frames_->take();
    if (block == 0) {
      throw nb::buffer_error(("all " + std::to_string(count_) + " frames are in use").c_str());
    }
    // From here on the block goes back by itself, whatever fails. It holds the pool's memory and
    // stream, which live as long as anybody has a frame.
    const std::shared_ptr<void> owner(nullptr,
                                      [from = frames_, block](void *) { from->give_back(block); });
    const cai::array frame = cai::array::own(describe(block), owner);
    // The pool uses the block again in the order of its stream: libcai gives the block back at once
    // if that stream waits for all uses of the frame, and else once they are complete.
    frame->owner->flags |= CAI_OWNER_STREAM_ORDERED;
    cai::fill(frame, static_cast<std::uint8_t>(number_++), frames_->stream());
    return frame;
  }

  std::size_t free() const {
    finish_releases();
    return frames_->free();
  }
  std::uint64_t stream() const { return frames_->stream().value(); }

 private:
  // Ends the arrays that nobody has any more and whose uses are complete by now.
  static void finish_releases() {
    cai_error error;
    cai::check(cai_drain(0, nullptr, &error), error);
  }

  cai_array describe(std::uint64_t data) const {
    cai_array frame{};
    frame.abi_major = CAI_ABI_MAJOR;
    frame.abi_minor = CAI_ABI_MINOR;
    frame.data = data;
    frame.device_type = CAI_DEVICE_CUDA;
    frame.device_id = frames_->stream().device().id();
    frame.dtype = cai::dtype_of<std::uint8_t>;
    frame.ndim = 2;
    frame.shape = shape_;
    frame.strides = strides_;
    frame.stream = stream();
    frame.stream_kind = CAI_STREAM_STREAM;
    frame.version = CAI_INTERFACE_VERSION;
    return frame;
  }

  std::int64_t shape_[2], strides_[2] = {shape_[1], 1};
  std::int64_t count_;
  std::atomic<std::uint64_t> number_ = 0;  // next() may run on several threads
  std::shared_ptr<frames> frames_;
};

}  // namespace framepool

NB_MODULE(_framepool, m) {
  using framepool::pool;
  cai::nanobind_import();
  // Without the GIL: a release may run anybody's code, which may want it.
  const nb::call_guard<nb::gil_scoped_release> released;
  nb::class_<pool>(m, "Pool", "A fixed number of frames of uint8 on a GPU, which are used again.")
      .def(nb::init<std::int64_t, std::int64_t, std::int64_t, std::int32_t>(), nb::arg("rows"),
           nb::arg("columns"), nb::arg("frames") = 3, nb::arg("device") = 0)
      .def("next", &pool::next, released,
           "The next frame, as a libcai.Array. Raises BufferError if all are in use.")
      .def_prop_ro("free", &pool::free, released, "How many frames nobody has.")
      .def_prop_ro("stream", &pool::stream, "The CUstream that every frame comes with.");
}
