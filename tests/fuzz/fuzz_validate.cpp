// SPDX-License-Identifier: BSD-3-Clause
// cai_array_validate() of structs whose pointers are good, or NULL, and whose contents are
// anything. What it takes, every function takes.
#include "input.hpp"
#include "wide.hpp"

namespace {

struct Block {
  std::int64_t shape[CAI_MAX_NDIM], strides[CAI_MAX_NDIM];
  cai_array array;
};

constexpr int field_count = 6;

struct Fields {
  cai_field fields[field_count];
  std::int64_t shapes[field_count][CAI_MAX_NDIM];
  char names[field_count][2][8];
};

cai_dtype dtype(fuzz::Input &input) {
  static const char *const known[] = {"<f4", "|b1",      "|V8", "<i8",  ">f4",
                                      "|t1", "<M8[25s]", "<U4", "|V16", "|V4"};
  const char *const text = known[input.below(10)];
  cai_dtype out{};
  MUST_HOLD(cai_dtype_parse(text, std::strlen(text), &out, nullptr) == CAI_OK);
  return out;
}

// Valid, or nearly: then some of its bytes are made anything.
void fill(fuzz::Input &input, Block &block) {
  cai_array &a = block.array;
  a.abi_major = CAI_ABI_MAJOR;
  a.dtype = dtype(input);
  a.flags = a.dtype.byteorder == '>' ? CAI_FLAG_SWAPPED : 0;
  a.device_type = CAI_DEVICE_CUDA;
  a.device_id = -1;
  a.ndim = static_cast<std::int32_t>(input.below(5));
  std::int64_t step = a.dtype.itemsize;
  bool empty = false;
  for (int k = a.ndim - 1; k >= 0; --k) {
    block.shape[k] = input.below(2) ? 1 + input.below(4) : input.number();
    block.strides[k] = input.below(2) ? step : input.number();
    if (__builtin_mul_overflow(step, block.shape[k], &step)) step = 4;
    if (block.shape[k] == 0) empty = true;
  }
  a.data = empty ? 0 : 0x7f5500000400;
  a.shape = block.shape;
  a.strides = block.strides;
  a.stream_kind = 1 + input.below(4);
  a.stream = a.stream_kind > 2 ? 7 : 0;
  a.version = a.stream_kind == CAI_STREAM_UNSTATED ? 2 : 3;
}

void spoil(fuzz::Input &input, cai_array &a) {
  switch (input.below(21)) {
    case 0:
      a.abi_major = input.byte();
      break;
    case 1:
      a.abi_minor = input.byte();
      break;
    case 2:
      a.flags ^= 1u << input.below(32);
      break;
    case 3:
      a.data = input.word();
      break;
    case 4:
      a.data = static_cast<std::uint64_t>(input.number());
      break;
    case 5:
      a.device_type = static_cast<std::int32_t>(input.number());
      break;
    case 6:
      a.device_id = static_cast<std::int32_t>(input.number());
      break;
    case 7:
      reinterpret_cast<std::uint8_t *>(&a.dtype)[input.below(12)] = input.byte();
      break;
    case 8:
      a.dtype.itemsize = static_cast<std::uint32_t>(input.number());
      break;
    case 9:
      a.ndim = static_cast<std::int32_t>(input.below(70)) - 2;
      break;
    case 10:
      a.ndim = static_cast<std::int32_t>(input.number());
      break;
    case 11:
      a.shape = nullptr;
      break;
    case 12:
      a.strides = nullptr;
      break;
    case 13:
      a.stream = static_cast<std::uint64_t>(input.number());
      break;
    case 14:
      a.stream_kind = input.byte();
      break;
    case 15:
      a.version = input.byte();
      break;
    case 16:
      a.mask = nullptr;
      break;
    case 17:
      a.reserved0 = input.byte();
      break;
    case 18:
      a.reserved1 = input.byte();
      break;
    case 19:
      a.reserved2 = input.byte();
      break;
    default:
      a.reserved3 = input.byte();
      break;
  }
}

// Fields that may hold each other, in any order; a field holds later ones, and rarely itself.
void fill(fuzz::Input &input, Fields &pool, cai_array &a) {
  for (int i = 0; i < field_count; ++i) {
    cai_field &f = pool.fields[i];
    f.dtype = dtype(input);
    for (int k = 0; k < 4; ++k)
      pool.names[i][k / 2][k % 2] = static_cast<char>(input.below(4) == 1 ? input.byte() : 'a');
    f.name = input.below(16) == 1 ? nullptr : pool.names[i][0];
    f.title = input.below(4) == 1 ? pool.names[i][1] : nullptr;
    f.offset = i == 0 ? 0 : pool.fields[i - 1].offset + pool.fields[i - 1].dtype.itemsize;
    if (input.below(8) == 1) f.offset = static_cast<std::uint64_t>(input.number());
    if (input.below(4) == 1) {
      f.ndim = static_cast<std::int32_t>(input.number());
      f.shape = input.below(4) == 1 ? nullptr : pool.shapes[i];
      for (int k = 0; k < 4; ++k) pool.shapes[i][k] = input.number();
    }
    if (input.below(4) == 1) {
      const int first = static_cast<int>(input.below(field_count));
      f.fields = &pool.fields[first];
      f.field_count = 1 + input.below(static_cast<unsigned>(field_count - first));
    }
    if (input.below(32) == 1) f.reserved = input.byte();
  }
  const int first = static_cast<int>(input.below(field_count));
  a.descr = &pool.fields[first];
  a.descr_count = input.below(static_cast<unsigned>(field_count - first) + 1);
}

// Whether the error is about the array's own dims, and the bytes are the reported ones.
void require_extent(const cai_array &a, cai_status status, const cai_error &error) {
  const bool blames_dims = status == CAI_ERR_VALUE &&
                           (error.entry == CAI_ENTRY_SHAPE || error.entry == CAI_ENTRY_STRIDES);
  bool is_sound = a.dtype.itemsize != 0 && a.ndim >= 0 && a.ndim <= CAI_MAX_NDIM &&
                  (a.ndim == 0 || (a.shape && a.strides));
  for (int k = 0; is_sound && k < a.ndim; ++k) is_sound = a.shape[k] >= 0;
  fuzz::Extent extent;
  if (is_sound) extent = fuzz::extent_of(a.ndim, a.shape, a.strides, a.dtype.itemsize);
  is_sound = is_sound && extent.fits();
  if (blames_dims) MUST_HOLD(!is_sound || a.dtype.kind == 't');
  cai_layout layout;
  const cai_status measured = cai_array_layout(&a, &layout, nullptr);
  if (measured != CAI_ERR_VERSION) MUST_HOLD((measured == CAI_OK) == is_sound);
  if (status == CAI_OK) {
    MUST_HOLD(is_sound && (extent.size == 0) == (a.data == 0));
    if (a.dtype.kind != 't') MUST_HOLD(extent.is_within_addresses(a.data));
  }
  if (measured || !is_sound) return;
  MUST_HOLD(layout.size == extent.size);
  if (a.dtype.kind == 't') return;
  MUST_HOLD(layout.nbytes == extent.size * a.dtype.itemsize);
  MUST_HOLD(layout.lo == extent.lo && layout.hi == extent.hi);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  fuzz::Input input(data, size);
  Block block{}, mask{};
  Fields pool{};
  fill(input, block);
  if (input.below(3) == 1) {
    fill(input, mask);
    if (input.below(4) != 1)
      cai_dtype_parse("|b1", 3, &mask.array.dtype, nullptr), mask.array.flags = 0;
    block.array.mask = input.below(16) == 1 ? &block.array : &mask.array;
    block.array.flags |= CAI_FLAG_MASKED;
    if (input.below(8) == 1) mask.array.mask = &mask.array, mask.array.flags |= CAI_FLAG_MASKED;
    if (input.below(4) == 1) spoil(input, mask.array);
  }
  if (input.below(3) == 1) fill(input, pool, block.array);
  for (unsigned n = input.below(3); n > 0; --n) spoil(input, block.array);

  cai_error error;
  const cai_status status = cai_array_validate(&block.array, &error);
  if (status) {
    fuzz::require_error(status, error);
    MUST_HOLD(status == CAI_ERR_VALUE || status == CAI_ERR_VERSION);
    cai_array *owned = nullptr;
    MUST_HOLD(cai_array_own(&block.array, nullptr, nullptr, &owned, nullptr) == status && !owned);
  } else {
    fuzz::require_round_trip(block.array);
  }
  require_extent(block.array, status, error);
  return 0;
}
