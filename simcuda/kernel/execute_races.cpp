// SPDX-License-Identifier: BSD-3-Clause
// Records the uses of memory by a whole warp for the check of races, at once if nothing can be
// wrong.
#include "lanes.h"

namespace simcuda::kernel::SIMCUDA_LANES {
namespace {

bool in_row(const std::uint32_t *index) {
  std::uint32_t apart = 0;
  for (unsigned k = 0; k < 32; ++k) apart |= index[k] ^ (index[0] + k);
  return apart == 0;
}

// The words of the lanes, at any place.
const std::uint32_t *fetch(const std::uint32_t *from, const std::uint32_t *index, bool row,
                           std::uint32_t *to) {
  if (row) return from + index[0];
  EACH_LANE to[k] = from[index[k]];
  return to;
}

// Whether this use comes after every earlier write there.
bool none_writes(std::uint32_t writer, const WarpUse &use) {
  return writer == 0 ||
         (writer >= use.floor << stamp_shift && writer < use.full_floor << stamp_shift);
}

// Each half of the warp reads one word: all of them the same number, or a row of a tile.
bool load_of_halves(LastUse &last, const WarpUse &use) {
  for (const unsigned first : {0u, 16u})
    if (!none_writes(last.writer[use.index[first]], use)) return false;
  for (const unsigned first : {0u, 16u}) {
    last.reader[use.index[first]] = use.me | first | stamp_flag;
    last.reader_place[use.index[first]] = use.place;
  }
  return true;
}

// Both halves read the same sixteen words side by side: a column of such tiles.
bool load_twice(LastUse &last, const WarpUse &use) {
  const std::uint32_t *writer = last.writer + use.index[0];
  std::uint32_t wrong = 0;
  for (unsigned k = 0; k < 16; ++k) wrong |= none_writes(writer[k], use) ? 0 : 1;
  if (wrong) return false;
  for (unsigned k = 0; k < 16; ++k) last.reader[use.index[0] + k] = use.me | k | stamp_flag;
  for (unsigned k = 0; k < 16; ++k) last.reader_place[use.index[0] + k] = use.place;
  return true;
}

bool load(LastUse &last, const WarpUse &use) {
  const std::uint32_t *index = use.index;
  const bool row = in_row(index);
  if (!row) {
    std::uint32_t apart = 0, not_twice = 0;
    for (unsigned k = 0; k < 16; ++k) {
      apart |= (index[k] ^ index[0]) | (index[16 + k] ^ index[16]);
      not_twice |= (index[k] ^ (index[0] + k)) | (index[16 + k] ^ index[k]);
    }
    if (apart == 0) return load_of_halves(last, use);
    if (not_twice == 0) return load_twice(last, use);
  }
  alignas(64) std::uint32_t writers[32], readers[32], fresh[32];
  const std::uint32_t *writer = fetch(last.writer, index, row, writers);
  const std::uint32_t least = use.floor << stamp_shift, most = use.full_floor << stamp_shift;
  std::uint32_t wrong = 0;
  for (unsigned k = 0; k < 32; ++k) {
    const std::uint32_t w = writer[k];
    const bool right = w == 0 || (w & ~stamp_flag) == (use.me | k) || (w >= least && w < most);
    wrong |= right ? 0 : 1;
  }
  if (wrong) return false;
  const std::uint32_t *reader = fetch(last.reader, index, row, readers);
  for (unsigned k = 0; k < 32; ++k) {
    const std::uint32_t r = reader[k], me = use.me | k;
    const bool before = r == 0 || (r >= least && r < most);
    fresh[k] = (r & ~stamp_flag) == me ? r : before ? me : me | stamp_flag;
  }
  if (row) {
    std::uint32_t *to = last.reader + index[0], *place = last.reader_place + index[0];
    EACH_LANE to[k] = fresh[k];
    EACH_LANE place[k] = use.place;
    return true;
  }
  for (unsigned k = 0; k < 32; ++k) {
    last.reader[index[k]] = fresh[k];
    last.reader_place[index[k]] = use.place;
  }
  // If lanes read the same word, the last one is stored, and it is not the only reader.
  std::uint32_t several = 0;
  for (unsigned k = 0; k < 32; ++k) several |= last.reader[index[k]] ^ fresh[k];
  if (several)
    for (unsigned k = 0; k < 32; ++k)
      if (last.reader[index[k]] != fresh[k]) last.reader[index[k]] |= stamp_flag;
  return true;
}

bool store(LastUse &last, const WarpUse &use) {
  const std::uint32_t *index = use.index;
  const bool row = in_row(index);
  if (!row) {
    bool rises = true;
    for (unsigned k = 1; k < 32; ++k) rises &= index[k] > index[k - 1];
    if (!rises) return false;
  }
  alignas(64) std::uint32_t writers[32], readers[32];
  const std::uint32_t *writer = fetch(last.writer, index, row, writers);
  const std::uint32_t *reader = fetch(last.reader, index, row, readers);
  const std::uint32_t least = use.floor << stamp_shift, most = use.full_floor << stamp_shift;
  std::uint32_t wrong = 0;
  for (unsigned k = 0; k < 32; ++k) {
    const std::uint32_t w = writer[k], r = reader[k], me = use.me | k;
    const bool writes = w == 0 || (w & ~stamp_flag) == me || (w >= least && w < most);
    const bool reads = r == 0 || r == me || (r >= least && r < most);
    wrong |= writes && reads ? 0 : 1;
  }
  if (wrong) return false;
  for (unsigned k = 0; k < 32; ++k) {
    last.writer[index[k]] = use.me | k;
    last.writer_place[index[k]] = use.place;
    last.reader[index[k]] = 0;
  }
  return true;
}

}  // namespace

extern const WarpUses uses;
const WarpUses uses = {load, store};

}  // namespace simcuda::kernel::SIMCUDA_LANES
