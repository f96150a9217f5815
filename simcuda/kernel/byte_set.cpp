// SPDX-License-Identifier: BSD-3-Clause
#include "byte_set.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace simcuda::kernel {
namespace {

constexpr std::size_t worth_a_mapping = 1 << 20;

}  // namespace

Zeros::Zeros(std::size_t bytes) : bytes_(bytes) {
  if (bytes < worth_a_mapping) {
    data_ = std::calloc(bytes, 1);
  } else {
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data_ == MAP_FAILED) data_ = nullptr;
    // Most of it will be used, and a page fault for every 4 KiB would take longer than the rest.
    if (data_) madvise(data_, bytes, MADV_HUGEPAGE);
  }
  if (!data_) throw std::bad_alloc();
}

Zeros::~Zeros() {
  if (bytes_ < worth_a_mapping)
    std::free(data_);
  else
    munmap(data_, bytes_);
}

void ByteSet::reserve(std::uint64_t bytes) {
  pages_ = (bytes + (std::uint64_t{1} << page_shift) - 1) >> page_shift;
  // One more word, since the last word's neighbour may be read.
  const std::uint64_t words = (pages_ << (page_shift - 6)) + 1;
  memory_ = Zeros(words * sizeof *words_ + pages_ + 1);
  words_ = static_cast<std::uint64_t *>(memory_.data());
  touched_ = reinterpret_cast<std::uint8_t *>(words_ + words);
}

void ByteSet::add_range(std::uint64_t offset, std::uint64_t size) {
  while (size) {
    const std::uint64_t in_word = 64 - (offset & 63);
    const std::uint64_t part = size < in_word ? size : in_word;
    add(offset, static_cast<unsigned>(part));
    offset += part;
    size -= part;
  }
}

void ByteSet::merge(const ByteSet &other) {
  for (std::uint64_t page = 0; page < pages_; ++page) {
    if (!other.touched_[page]) continue;
    touched_[page] = 1;
    for (std::uint64_t word = page << (page_shift - 6); word < (page + 1) << (page_shift - 6);
         ++word)
      words_[word] |= other.words_[word];
  }
}

}  // namespace simcuda::kernel
