// SPDX-License-Identifier: BSD-3-Clause
// A set of a window's bytes, one bit each. Memory for it is used only where bytes are in the set.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace simcuda::kernel {

// Zeroed memory of any size. Pages that are not accessed cost nothing.
class Zeros {
 public:
  Zeros() = default;
  explicit Zeros(std::size_t bytes);  // not 0
  ~Zeros();
  Zeros(Zeros &&other) noexcept { swap(other); }
  Zeros &operator=(Zeros &&other) noexcept {
    swap(other);
    return *this;
  }
  void *data() const { return data_; }

 private:
  void swap(Zeros &other) {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  void *data_ = nullptr;
  std::size_t bytes_ = 0;
};

class ByteSet {
 public:
  bool empty() const { return !words_; }
  void reserve(std::uint64_t bytes);

  void add(std::uint64_t offset, unsigned size) {
    touch(offset);
    const unsigned in_word = offset & 63;
    const std::uint64_t bits = size >= 64 ? ~std::uint64_t{} : (std::uint64_t{1} << size) - 1;
    words_[offset >> 6] |= bits << in_word;
    if (in_word + size > 64) {
      touch(offset + size - 1);
      words_[(offset >> 6) + 1] |= bits >> (64 - in_word);
    }
  }
  void add_range(std::uint64_t offset, std::uint64_t size);
  // Both have room for as many, and this is not empty.
  void merge(const ByteSet &other);

  // Calls f(begin, end) for each range, in order.
  template <class F>
  void ranges(F f) const {
    std::uint64_t begin = 0;
    bool inside = false;
    for (std::uint64_t page = 0; page < pages_; ++page) {
      if (!touched_[page]) {
        if (inside) f(begin, page << page_shift);
        inside = false;
        continue;
      }
      for (std::uint64_t word = page << (page_shift - 6); word < (page + 1) << (page_shift - 6);
           ++word) {
        std::uint64_t bits = words_[word];
        if (bits == (inside ? ~std::uint64_t{} : 0)) continue;
        for (unsigned bit = 0;;) {
          // The next bit that differs from the current state.
          const std::uint64_t rest = (inside ? ~bits : bits) >> bit;
          if (!rest) break;
          bit += static_cast<unsigned>(std::countr_zero(rest));
          if (inside)
            f(begin, (word << 6) + bit);
          else
            begin = (word << 6) + bit;
          inside = !inside;
        }
      }
    }
    if (inside) f(begin, pages_ << page_shift);
  }

 private:
  static constexpr unsigned page_shift = 15;  // bytes of the window, so 4 KiB of bits
  void touch(std::uint64_t offset) { touched_[offset >> page_shift] = 1; }

  Zeros memory_;
  std::uint64_t *words_ = nullptr;
  std::uint8_t *touched_ = nullptr;
  std::uint64_t pages_ = 0;
};

}  // namespace simcuda::kernel
