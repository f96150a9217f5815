/* SPDX-License-Identifier: BSD-3-Clause */
/* cai_array_validate(): every way in which a struct that someone else filled in can be wrong. */
#include "make.h"

#include <unistd.h>

static made m, mask;
static const int64_t shape23[] = {2, 3};

static cai_array *fresh(const char *what) {
  check_context = what;
  return make(&m, "<f4", 2, shape23, NULL);
}

static cai_array *fresh_masked(const char *what) {
  fresh(what);
  make(&mask, "|b1", 2, shape23, NULL);
  make_mask(&m, &mask);
  return &m.array;
}

/* What validate refuses, nothing else takes. */
static void wrong(cai_status status, int32_t entry) {
  cai_array *out = NULL;
  int64_t flat = 6;
  CHECK_FAILS(status, entry, cai_array_validate(&m.array, ERR));
  if (status == CAI_ERR_VALUE && entry != ANY && entry != CAI_ENTRY_NONE) {
    CHECK(strstr(ERR->message, cai_entry_name(entry)) != NULL);
  }
  CHECK(cai_array_own(&m.array, NULL, NULL, &out, NULL) != CAI_OK && !out);
  CHECK(cai_array_slice(&m.array, NULL, 0, &out, NULL) != CAI_OK && !out);
  CHECK(cai_array_reshape(&m.array, &flat, 1, &out, NULL) != CAI_OK && !out);
  CHECK(cai_array_transpose(&m.array, NULL, &out, NULL) != CAI_OK && !out);
  CHECK(cai_array_broadcast(&m.array, shape23, 2, &out, NULL) != CAI_OK && !out);
  CHECK(cai_interface_write_storage(&m.array) == 0);
  if (status != CAI_ERR_VERSION) {
    static uint64_t storage[4096];
    cai_interface written;
    memset(&written, 0xA5, sizeof written);
    CHECK(cai_interface_write(&m.array, 3, storage, sizeof storage, &written, NULL) != CAI_OK);
    CHECK(check_untouched(&written, sizeof written));
  }
}

static void right(void) { CHECK_OK(cai_array_validate(&m.array, ERR)); }

static void test_prefix(void) {
  int bit;
  fresh("right"), right();
  fresh("abi_major 0")->abi_major = 0, wrong(CAI_ERR_VERSION, ANY);
  fresh("abi_major 2")->abi_major = 2, wrong(CAI_ERR_VERSION, ANY);
  fresh("abi_major 65535")->abi_major = 65535, wrong(CAI_ERR_VERSION, ANY);
  fresh("a newer minor")->abi_minor = CAI_ABI_MINOR + 1, right();
  fresh("zeroed"), memset(&m.array, 0, sizeof m.array), wrong(CAI_ERR_VERSION, ANY);
  for (bit = 1; bit < 16; ++bit) fresh("unknown advisory flag")->flags |= 1u << bit, right();
  fresh("STRIDES_NONE")->flags |= CAI_FLAG_STRIDES_NONE, right();
  fresh("READONLY")->flags |= CAI_FLAG_READONLY, right();
  for (bit = 19; bit < 31; ++bit) {
    fresh("unknown critical flag")->flags |= 1u << bit, wrong(CAI_ERR_VERSION, ANY);
    fresh("the same of a newer minor")->flags |= 1u << bit;
    m.array.abi_minor = CAI_ABI_MINOR + 1, wrong(CAI_ERR_VERSION, ANY);
  }
  fresh("flag 31")->flags |= UINT32_C(1) << 31, wrong(ANY, ANY);
  fresh("reserved0")->reserved0 = 1, wrong(CAI_ERR_VALUE, ANY);
  fresh("reserved1")->reserved1 = 1, wrong(CAI_ERR_VALUE, ANY);
  fresh("reserved2")->reserved2 = 1, wrong(CAI_ERR_VALUE, ANY);
  fresh("reserved3")->reserved3 = UINT64_C(1) << 63, wrong(CAI_ERR_VALUE, ANY);
  fresh("reserved, of a newer minor")->reserved1 = 7, m.array.abi_minor = CAI_ABI_MINOR + 1,
  right();
}

static void test_dtype(void) {
  int i;
  for (i = 0; i < 256; ++i) {
    if (i && strchr("biufcmMSUVt", i)) continue;
    fresh("kind")->dtype.kind = (uint8_t)i, wrong(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR);
  }
  fresh("itemsize 0")->dtype.itemsize = 0, wrong(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR);
  fresh("itemsize 3")->dtype.itemsize = 3, wrong(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR);
  fresh("its message")->dtype.itemsize = 3;
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR, cai_array_validate(&m.array, ERR));
  CHECK(strstr(ERR->message, "kind 'f', byteorder '<', itemsize 3") != NULL);
  fresh("a kind that no terminal shows")->dtype.kind = 0x7F;
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR, cai_array_validate(&m.array, ERR));
  CHECK(strstr(ERR->message, "kind 127,") != NULL);
  fresh("byteorder 0")->dtype.byteorder = 0, wrong(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR);
  fresh("byteorder =")->dtype.byteorder = '=', wrong(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR);
  fresh("ext of f")->dtype.ext = 1, wrong(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR);
  fresh("unit of f")->dtype.time_unit = 1, wrong(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR);
  fresh("step of f")->dtype.time_step = 1, wrong(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR);
  fresh("'>' without SWAPPED")->dtype.byteorder = '>', wrong(CAI_ERR_VALUE, ANY);
  fresh("SWAPPED without '>'")->flags |= CAI_FLAG_SWAPPED, wrong(CAI_ERR_VALUE, ANY);
  fresh("'>' and SWAPPED")->dtype.byteorder = '>', m.array.flags |= CAI_FLAG_SWAPPED, right();
  check_context = "swapped text and dates";
  make(&m, ">U4", 2, shape23, NULL), right();
  make(&m, ">M8[25s]", 2, shape23, NULL), right();
  check_context = "bfloat16";
  make(&m, "|V2", 2, shape23, NULL)->dtype.ext = CAI_EXT_BFLOAT16, right();
  check_context = "bfloat16 of one byte";
  make(&m, "|V1", 2, shape23, NULL)->dtype.ext = CAI_EXT_BFLOAT16,
                              wrong(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR);
}

static void test_dims(void) {
  static const int64_t big[] = {INT64_C(1) << 32, INT64_C(1) << 32};
  static const int64_t half[] = {INT64_C(1) << 31, INT64_C(1) << 31},
                       zero_big[] = {0, INT64_MAX, INT64_MAX};
  int64_t ones[CAI_MAX_NDIM];
  int i;
  for (i = 0; i < CAI_MAX_NDIM; ++i) ones[i] = 1;
  fresh("no shape")->shape = NULL, wrong(CAI_ERR_VALUE, CAI_ENTRY_SHAPE);
  fresh("no strides")->strides = NULL, wrong(CAI_ERR_VALUE, CAI_ENTRY_STRIDES);
  fresh("ndim -1")->ndim = -1, wrong(CAI_ERR_VALUE, CAI_ENTRY_SHAPE);
  fresh("ndim 65")->ndim = 65, wrong(CAI_ERR_VALUE, CAI_ENTRY_SHAPE);
  fresh("ndim INT32_MIN")->ndim = INT32_MIN, wrong(CAI_ERR_VALUE, CAI_ENTRY_SHAPE);
  fresh("ndim INT32_MAX")->ndim = INT32_MAX, wrong(CAI_ERR_VALUE, CAI_ENTRY_SHAPE);
  check_context = "64 dimensions", make(&m, "<f4", 64, ones, NULL), right();
  m.array.strides = NULL, wrong(CAI_ERR_VALUE, CAI_ENTRY_STRIDES);
  check_context = "0 dimensions", make(&m, "<f4", 0, NULL, NULL), right();
  m.array.shape = m.array.strides = NULL, right();
  fresh("negative extent"), m.shape[1] = -1, wrong(CAI_ERR_VALUE, CAI_ENTRY_SHAPE);
  CHECK(ERR->index == 1); /* of the last call that took ERR */
  fresh("two of them"), m.shape[0] = m.shape[1] = -1, wrong(CAI_ERR_VALUE, CAI_ENTRY_SHAPE);
  fresh("INT64_MIN"), m.shape[0] = INT64_MIN, wrong(CAI_ERR_VALUE, CAI_ENTRY_SHAPE);
  fresh("negative beside zero"), m.shape[0] = 0, m.shape[1] = -1, m.array.data = 0;
  wrong(CAI_ERR_VALUE, CAI_ENTRY_SHAPE);
  CHECK(ERR->index == 1);
  fresh("product"), memcpy(m.shape, big, sizeof big), wrong(CAI_ERR_VALUE, CAI_ENTRY_SHAPE);
  m.strides[0] = m.strides[1] = 0, wrong(CAI_ERR_VALUE, CAI_ENTRY_SHAPE);
  fresh("product with the item size"), memcpy(m.shape, half, sizeof half),
      m.strides[0] = m.strides[1] = 0;
  wrong(CAI_ERR_VALUE, CAI_ENTRY_SHAPE);
  fresh("one extent"), m.shape[0] = INT64_MAX, wrong(CAI_ERR_VALUE, ANY);
  fresh("sum of the extent"), m.strides[0] = INT64_MAX, wrong(CAI_ERR_VALUE, CAI_ENTRY_STRIDES);
  fresh("sum below"), m.shape[0] = 3, m.strides[0] = INT64_MIN,
                      wrong(CAI_ERR_VALUE, CAI_ENTRY_STRIDES);
  fresh("just within, but below address 0"), m.strides[0] = INT64_MIN, wrong(CAI_ERR_VALUE, ANY);
  fresh("from end to end of the extent"), m.strides[0] = INT64_MIN,
                                          m.array.data = UINT64_C(1) << 63;
  wrong(CAI_ERR_VALUE, CAI_ENTRY_STRIDES);
  m.strides[0] = INT64_MIN / 2, m.strides[1] = INT64_MAX / 4 + 1;
  wrong(CAI_ERR_VALUE, CAI_ENTRY_STRIDES);
  m.strides[1] = INT64_MAX / 4 - 7, right();
  fresh("product of extent and stride"), m.strides[1] = INT64_MAX / 2 + 1,
                                         wrong(CAI_ERR_VALUE, CAI_ENTRY_STRIDES);
  fresh("stride of one axis in reach, of both not"), m.strides[0] = m.strides[1] = INT64_MAX / 2;
  wrong(CAI_ERR_VALUE, CAI_ENTRY_STRIDES);
  fresh("stride of extent 1 does not matter"), m.shape[0] = 1, m.strides[0] = INT64_MIN, right();
  fresh("no elements: strides do not matter"), m.shape[0] = 0, m.array.data = 0;
  m.strides[0] = m.strides[1] = INT64_MIN, right();
  check_context = "no elements, though the rest overflows";
  make(&m, "<f4", 3, zero_big, zero_big);
  (void)cai_array_validate(&m.array, NULL); /* either is lawful; no crash */
}

static void test_data(void) {
  fresh("elements at 0")->data = 0, wrong(CAI_ERR_VALUE, CAI_ENTRY_DATA);
  fresh("wraps at the top")->data = UINT64_MAX - 7, wrong(CAI_ERR_VALUE, ANY);
  fresh("ends with the last byte there is")->data = UINT64_MAX - 23, right();
  fresh("ends one byte beyond")->data = UINT64_MAX - 22, wrong(CAI_ERR_VALUE, CAI_ENTRY_DATA);
  fresh("wraps at the bottom")->data = 8, m.strides[0] = -12, wrong(CAI_ERR_VALUE, ANY);
  fresh("begins just above 0")->data = 16, m.strides[0] = -12, right();
  fresh("no elements, address 0"), m.shape[1] = 0, m.array.data = 0, right();
  fresh("no elements, an address"), m.shape[1] = 0, wrong(CAI_ERR_VALUE, CAI_ENTRY_DATA);
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_DATA, cai_array_validate(&m.array, ERR));
  CHECK(strstr(ERR->message, "there are no elements") != NULL);
  fresh("device 0")->device_type = 0, wrong(CAI_ERR_VALUE, ANY);
  fresh("device 4")->device_type = 4, wrong(CAI_ERR_VALUE, ANY);
  fresh("device -1")->device_type = -1, wrong(CAI_ERR_VALUE, ANY);
  fresh("device 99")->device_type = 99, wrong(CAI_ERR_VALUE, ANY);
  fresh("device id -2")->device_id = -2, wrong(CAI_ERR_VALUE, ANY);
  fresh("CPU")->device_type = CAI_DEVICE_CPU, m.array.device_id = 0, right();
  fresh("pinned")->device_type = CAI_DEVICE_CUDA_HOST, right();
  fresh("ROCm")->device_type = CAI_DEVICE_ROCM, m.array.device_id = 0, right();
  fresh("managed")->device_type = CAI_DEVICE_CUDA_MANAGED, m.array.device_id = 3, right();
}

static void test_stream(void) {
  fresh("kind 0")->stream_kind = 0, wrong(CAI_ERR_VALUE, CAI_ENTRY_STREAM);
  fresh("kind 5")->stream_kind = 5, wrong(CAI_ERR_VALUE, CAI_ENTRY_STREAM);
  fresh("kind UINT32_MAX")->stream_kind = UINT32_MAX, wrong(CAI_ERR_VALUE, CAI_ENTRY_STREAM);
  fresh("NONE with a stream")->stream = 7, wrong(CAI_ERR_VALUE, CAI_ENTRY_STREAM);
  fresh("UNSTATED with a stream")->stream = 7, m.array.version = 2;
  m.array.stream_kind = CAI_STREAM_UNSTATED, wrong(CAI_ERR_VALUE, CAI_ENTRY_STREAM);
  fresh("UNSTATED")->stream_kind = CAI_STREAM_UNSTATED, m.array.version = 2, right();
  fresh("STREAM on the host")->stream_kind = CAI_STREAM_STREAM, m.array.stream = 7;
  m.array.device_type = CAI_DEVICE_CPU, wrong(CAI_ERR_VALUE, CAI_ENTRY_STREAM);
  fresh("STREAM 0")->stream_kind = CAI_STREAM_STREAM, wrong(CAI_ERR_VALUE, CAI_ENTRY_STREAM);
  fresh("STREAM 1")->stream_kind = CAI_STREAM_STREAM, m.array.stream = 1, right();
  fresh("STREAM handle")->stream_kind = CAI_STREAM_STREAM, m.array.stream = UINT64_MAX, right();
  fresh("EVENT 0")->stream_kind = CAI_STREAM_EVENT, wrong(CAI_ERR_VALUE, CAI_ENTRY_STREAM);
  fresh("EVENT")->stream_kind = CAI_STREAM_EVENT, m.array.stream = 4096, right();
  fresh("version 4")->version = 4, right();
  fresh("version UINT32_MAX")->version = UINT32_MAX, right();
}

static void no_hold(cai_owner *self) { (void)self; }

static void test_mask(void) {
  static cai_owner owner = {.struct_size = 24, .retain = no_hold, .release = no_hold},
                   other = {.struct_size = 24, .retain = no_hold, .release = no_hold};
  static const int64_t row[] = {3}, column[] = {2, 1}, four[] = {4}, deep[] = {1, 2, 3},
                       wide[] = {4, 3};
  made second;
  fresh_masked("mask"), right();
  fresh_masked("no flag")->flags &= ~(uint32_t)CAI_FLAG_MASKED,
      wrong(CAI_ERR_VALUE, CAI_ENTRY_MASK);
  fresh_masked("no mask")->mask = NULL, wrong(CAI_ERR_VALUE, CAI_ENTRY_MASK);
  fresh_masked("bits"), make(&mask, "|t1", 2, shape23, NULL), right();
  fresh_masked("broadcast row"), make(&mask, "|b1", 1, row, NULL), right();
  fresh_masked("broadcast column"), make(&mask, "|b1", 2, column, NULL), right();
  fresh_masked("broadcast scalar"), make(&mask, "|b1", 0, NULL, NULL), right();
  fresh_masked("another extent"), make(&mask, "|b1", 1, four, NULL),
      wrong(CAI_ERR_VALUE, CAI_ENTRY_MASK);
  fresh_masked("another extent, first"), make(&mask, "|b1", 2, wide, NULL),
      wrong(CAI_ERR_VALUE, CAI_ENTRY_MASK);
  fresh_masked("more dimensions"), make(&mask, "|b1", 3, deep, NULL),
      wrong(CAI_ERR_VALUE, CAI_ENTRY_MASK);
  fresh_masked("floats as a mask"), make(&mask, "<f4", 2, shape23, NULL), right();
  fresh_masked("swapped doubles as a mask"), make(&mask, ">f8", 1, row, NULL), right();
  fresh_masked("complex numbers as a mask"), make(&mask, "<c8", 2, shape23, NULL), right();
  fresh_masked("dates as a mask"), make(&mask, "<M8[s]", 2, shape23, NULL),
      wrong(CAI_ERR_VALUE, CAI_ENTRY_MASK);
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_MASK, cai_array_validate(&m.array, ERR));
  CHECK(strstr(ERR->message, "kind 'M'") != NULL);
  fresh_masked("text as a mask"), make(&mask, "|S1", 2, shape23, NULL),
      wrong(CAI_ERR_VALUE, CAI_ENTRY_MASK);
  fresh_masked("masked mask"), make(&second, "|b1", 2, shape23, NULL), make_mask(&mask, &second);
  wrong(CAI_ERR_VALUE, CAI_ENTRY_MASK);
  fresh_masked("mask of itself"), mask.array.mask = &mask.array,
                                  mask.array.flags |= CAI_FLAG_MASKED;
  wrong(CAI_ERR_VALUE, CAI_ENTRY_MASK);
  fresh_masked("array as its own mask")->mask = &m.array, wrong(CAI_ERR_VALUE, CAI_ENTRY_MASK);
  fresh_masked("mask without shape"), mask.array.shape = NULL, wrong(CAI_ERR_VALUE, CAI_ENTRY_MASK);
  fresh_masked("mask with stream kind 0"), mask.array.stream_kind = 0,
                                           wrong(CAI_ERR_VALUE, CAI_ENTRY_MASK);
  fresh_masked("mask of negative extent"), mask.shape[0] = -2, wrong(CAI_ERR_VALUE, CAI_ENTRY_MASK);
  fresh_masked("mask of kind 0"), mask.array.dtype.kind = 0, wrong(CAI_ERR_VALUE, CAI_ENTRY_MASK);
  fresh_masked("mask with reserved word"), mask.array.reserved2 = 1,
                                           wrong(CAI_ERR_VALUE, CAI_ENTRY_MASK);
  fresh_masked("mask at 0"), mask.array.data = 0, wrong(CAI_ERR_VALUE, CAI_ENTRY_MASK);
  fresh_masked("mask of another major"), mask.array.abi_major = 2, wrong(CAI_ERR_VERSION, ANY);
  fresh_masked("mask with a critical flag"), mask.array.flags |= 1u << 20,
      wrong(CAI_ERR_VERSION, ANY);
  fresh_masked("mask of an owned array's owner")->owner = &owner, mask.array.owner = &owner,
  right();
  fresh_masked("mask of no owner")->owner = &owner, right();
  fresh_masked("mask of another owner")->owner = &owner, mask.array.owner = &other;
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_MASK, cai_array_validate(&m.array, ERR));
  fresh_masked("owned mask of a borrowed array"), mask.array.owner = &owner,
                                                  wrong(CAI_ERR_VALUE, CAI_ENTRY_MASK);
  fresh_masked("mask on the host"), mask.array.device_type = CAI_DEVICE_CPU,
                                    wrong(CAI_ERR_VALUE, CAI_ENTRY_MASK);
  check_context = "a mask by itself";
  make(&m, "|t1", 2, shape23, NULL), right();
  check_context = "bits with gaps";
  make(&m, "|t1", 2, shape23, shape23), wrong(CAI_ERR_VALUE, CAI_ENTRY_STRIDES);
  check_context = "bits with gaps as a mask";
  fresh_masked("bits with gaps"), make(&mask, "|t1", 2, shape23, shape23),
      wrong(CAI_ERR_VALUE, CAI_ENTRY_MASK);
}

static cai_field fields[3], inner[2], levels[CAI_MAX_DESCR_DEPTH + 3];
static int64_t field_shape[CAI_MAX_NDIM + 1];

static void set_field(cai_field *field, const char *name, const char *typestr, uint64_t offset) {
  memset(field, 0, sizeof *field);
  field->name = name;
  field->offset = offset;
  CHECK_OK(cai_dtype_parse(typestr, strlen(typestr), &field->dtype, ERR));
}

/* [("a", "<i4"), ("p", [("x", "<f4"), ("y", "<f4")]), ("v", "<u2", (2,))] */
static cai_array *fresh_descr(const char *what) {
  check_context = what;
  make(&m, "|V16", 2, shape23, NULL);
  set_field(&inner[0], "x", "<f4", 0);
  set_field(&inner[1], "y", "<f4", 4);
  set_field(&fields[0], "a", "<i4", 0);
  set_field(&fields[1], "p", "|V8", 4);
  fields[1].fields = inner, fields[1].field_count = 2;
  set_field(&fields[2], "v", "<u2", 12);
  field_shape[0] = 2;
  fields[2].shape = field_shape, fields[2].ndim = 1;
  m.array.descr = fields, m.array.descr_count = 3;
  return &m.array;
}

static void wrong_descr(void) { wrong(CAI_ERR_VALUE, CAI_ENTRY_DESCR); }

static void nest(int depth) {
  int i;
  make(&m, "|V4", 2, shape23, NULL);
  for (i = 0; i < depth; ++i) {
    set_field(&levels[i], "n", i + 1 < depth ? "|V4" : "<f4", 0);
    if (i + 1 < depth) levels[i].fields = &levels[i + 1], levels[i].field_count = 1;
  }
  m.array.descr = levels, m.array.descr_count = 1;
}

static void test_descr(void) {
  static const char *const not_utf8[] = {"\xff", "a\xc3", "\xed\xa0\x80", "\xc0\xaf",
                                         "\xf4\x90\x80\x80"};
  static const char *const sixteen[] = {"<c16", "<f16", "|S16", "<U4", "|V16"};
  int64_t ones[CAI_MAX_NDIM + 1];
  int i;
  for (i = 0; i < COUNT(ones); ++i) ones[i] = 1;
  fresh_descr("descr"), right();
  fresh_descr("title"), fields[0].title = "a title", right();
  for (i = 0; i < COUNT(sixteen); ++i) { /* typestr is the truth: the bytes alone must agree */
    fresh_descr(sixteen[i]);
    CHECK_OK(cai_dtype_parse(sixteen[i], strlen(sixteen[i]), &m.array.dtype, ERR));
    right();
    m.array.descr_count = 2, wrong_descr();
  }
  fresh_descr("byte order of the item, not of the fields")->flags |= CAI_FLAG_SWAPPED;
  CHECK_OK(cai_dtype_parse(">c16", 4, &m.array.dtype, ERR));
  right();
  m.array.flags &= ~(uint32_t)CAI_FLAG_SWAPPED, wrong(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR);
  fresh_descr("byte order of a field, not of the item")->flags |= CAI_FLAG_SWAPPED;
  CHECK_OK(cai_dtype_parse("<c16", 4, &m.array.dtype, ERR));
  fields[0].dtype.byteorder = '>', right();
  m.array.flags &= ~(uint32_t)CAI_FLAG_SWAPPED, wrong(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR);
  check_context = "two bytes of bfloat16", make(&m, "|V2", 2, shape23, NULL);
  m.array.dtype.ext = CAI_EXT_BFLOAT16;
  set_field(&fields[0], "bits", "<u2", 0);
  m.array.descr = fields, m.array.descr_count = 1, right();
  check_context = "fields within a bfloat16", make(&m, "|V2", 2, shape23, NULL);
  set_field(&inner[0], "low", "|u1", 0), set_field(&inner[1], "high", "|u1", 1);
  set_field(&fields[0], "number", "|V2", 0);
  fields[0].fields = inner, fields[0].field_count = 2;
  m.array.descr = fields, m.array.descr_count = 1, right();
  fields[0].dtype.ext = CAI_EXT_BFLOAT16, wrong_descr();
  check_context = "fields of a bit", make(&m, "|t1", 2, shape23, NULL);
  set_field(&fields[0], "bits", "|u1", 0);
  m.array.descr = fields, m.array.descr_count = 1, wrong_descr();
  fresh_descr("padding"), fields[0].name = "", fields[0].dtype.kind = 'V',
                          fields[0].dtype.byteorder = '|', right();
  fresh_descr("one name twice"), fields[2].name = "a", wrong_descr();
  fresh_descr("one name twice within"), inner[1].name = "x", wrong_descr();
  fresh_descr("one name at two depths"), inner[0].name = "a", right();
  fresh_descr("count without fields")->descr = NULL, wrong_descr();
  fresh_descr("fields without count")->descr_count = 0, wrong_descr();
  fresh_descr("sum too small")->descr_count = 2, wrong_descr();
  fresh_descr("sum too large")->dtype.itemsize = 12, wrong_descr();
  fresh_descr("overlap"), fields[1].offset = 2, wrong_descr();
  fresh_descr("gap"), fields[2].offset = 13, wrong_descr();
  fresh_descr("far"), fields[2].offset = UINT64_MAX, wrong_descr();
  fresh_descr("starts late"), fields[0].offset = 1, wrong_descr();
  fresh_descr("less than no dimensions"), fields[0].ndim = -1, wrong_descr();
  fresh_descr("too many dimensions"), fields[0].ndim = CAI_MAX_NDIM + 1, fields[0].shape = ones,
                                      wrong_descr();
  fields[0].ndim = CAI_MAX_NDIM, right();
  fresh_descr("name NULL"), fields[1].name = NULL, wrong_descr();
  fresh_descr("inner name NULL"), inner[1].name = NULL, wrong_descr();
  for (i = 0; i < COUNT(not_utf8); ++i) {
    fresh_descr("name not UTF-8"), fields[0].name = not_utf8[i], wrong_descr();
    fresh_descr("title not UTF-8"), fields[0].title = not_utf8[i], wrong_descr();
  }
  fresh_descr("inner offset"), inner[1].offset = 0, wrong_descr();
  fresh_descr("inner sum"), fields[1].field_count = 1, wrong_descr();
  fresh_descr("inner count 0"), fields[1].field_count = 0, wrong_descr();
  fresh_descr("inner NULL"), fields[1].fields = NULL, wrong_descr();
  fresh_descr("inner of kind f"), fields[1].dtype.kind = 'f', fields[1].dtype.byteorder = '<',
                                  wrong_descr();
  fresh_descr("kind 0"), fields[0].dtype.kind = 0, wrong_descr();
  fresh_descr("kind t"), fields[0].dtype.kind = 't', fields[0].dtype.itemsize = 1, wrong_descr();
  fresh_descr("f of 3"), inner[0].dtype.itemsize = 3, wrong_descr();
  fresh_descr("reserved"), fields[0].reserved = 1, wrong_descr();
  fresh_descr("reserved, of a newer minor"), fields[0].reserved = inner[1].reserved = 1;
  m.array.abi_minor = CAI_ABI_MINOR + 1, right();
  fresh_descr("shape NULL"), fields[2].shape = NULL, wrong_descr();
  fresh_descr("shape of ndim -1"), fields[2].ndim = -1, wrong_descr();
  fresh_descr("shape of ndim 65"), fields[2].ndim = 65, wrong_descr();
  fresh_descr("negative shape"), field_shape[0] = -2, wrong_descr();
  fresh_descr("shape overflows"), field_shape[0] = INT64_MAX, wrong_descr();
  fresh_descr("shape comes round to the sum"), field_shape[0] = (INT64_C(1) << 62) + 2,
                                               wrong_descr();
  fresh_descr("64 dimensions"), fields[2].ndim = 64;
  for (i = 1; i < 64; ++i) field_shape[i] = 1;
  right();

  check_context = "nested 64 deep", nest(CAI_MAX_DESCR_DEPTH), right();
  check_context = "nested 65 deep", nest(CAI_MAX_DESCR_DEPTH + 1), wrong_descr();
  check_context = "nested in itself", nest(1);
  set_field(&levels[0], "n", "|V4", 0), levels[0].fields = levels, levels[0].field_count = 1,
                                        wrong_descr();
  check_context = "twice nested in itself, of no bytes";
  set_field(&fields[0], "x", "|V4", 0), set_field(&fields[1], "y", "|V4", 0),
      set_field(&fields[2], "z", "<f4", 0);
  field_shape[0] = 0;
  for (i = 0; i < 2; ++i) {
    fields[i].fields = fields, fields[i].field_count = 3;
    fields[i].shape = field_shape, fields[i].ndim = 1;
  }
  m.array.descr = fields, m.array.descr_count = 3, wrong_descr();
}

/* Lists that are shared, not copied: two ways at each of 60 levels, and never a loop. */
static void test_shared_descr(void) {
  static cai_field shared[60][3];
  int i, k;
  check_context = "descr of 2^60 fields";
  make(&m, "|V4", 2, shape23, NULL);
  field_shape[0] = 0;
  for (i = 0; i < 60; ++i) {
    for (k = 0; k < 3; ++k) {
      set_field(&shared[i][k], k == 0 ? "x" : k == 1 ? "y" : "z", k < 2 ? "|V4" : "<f4", 0);
      if (k < 2) shared[i][k].shape = field_shape, shared[i][k].ndim = 1;
      if (k < 2 && i < 59) shared[i][k].fields = shared[i + 1], shared[i][k].field_count = 3;
    }
  }
  m.array.descr = shared[0], m.array.descr_count = 3, wrong_descr();
}

static void test_layout(void) {
  static const struct {
    int32_t ndim;
    int64_t shape[3], strides[3], size, lo, hi;
    int c, f;
  } rows[] = {{0, {0}, {0}, 1, 0, 4, 1, 1},
              {1, {3}, {4}, 3, 0, 12, 1, 1},
              {1, {3}, {-4}, 3, -8, 4, 0, 0},
              {2, {2, 3}, {12, 4}, 6, 0, 24, 1, 0},
              {2, {2, 3}, {4, 8}, 6, 0, 24, 0, 1},
              {2, {2, 3}, {0, 4}, 6, 0, 12, 0, 0},
              {2, {1, 3}, {0, 4}, 3, 0, 12, 1, 1},
              {2, {0, 3}, {7, 7}, 0, 0, 0, 1, 1},
              {3, {2, 3, 4}, {-48, 16, -4}, 24, -60, 36, 0, 0},
              {3, {2, 1, 4}, {16, -999, 4}, 8, 0, 32, 1, 0},
              {3, {2, 1, 4}, {32, -999, 4}, 8, 0, 48, 0, 0},
              {3, {2, 1, 4}, {4, -999, 8}, 8, 0, 32, 0, 1},
              {3, {2, 1, 4}, {4, -999, 16}, 8, 0, 56, 0, 0},
              {1, {1}, {INT64_MIN}, 1, 0, 4, 1, 1}};
  cai_layout layout;
  int i;
  check_context = "layout";
  for (i = 0; i < COUNT(rows); ++i) {
    make(&m, "<f4", rows[i].ndim, rows[i].shape, rows[i].strides);
    memset(&layout, 0xA5, sizeof layout);
    if (!CHECK_OK(cai_array_layout(&m.array, &layout, ERR))) continue;
    CHECK(layout.size == rows[i].size && layout.nbytes == 4 * rows[i].size);
    CHECK(layout.lo == rows[i].lo && layout.hi == rows[i].hi);
    CHECK(layout.c_contiguous == rows[i].c && layout.f_contiguous == rows[i].f);
  }
  check_context = "layout of bits";
  make(&m, "|t1", 2, shape23, NULL);
  CHECK_OK(cai_array_layout(&m.array, &layout, ERR));
  CHECK(layout.size == 6 && layout.nbytes == 1);
  m.shape[1] = 8;
  CHECK_OK(cai_array_layout(&m.array, &layout, ERR));
  CHECK(layout.size == 16 && layout.nbytes == 2);
  m.shape[1] = 9;
  CHECK_OK(cai_array_layout(&m.array, &layout, ERR));
  CHECK(layout.size == 18 && layout.nbytes == 3);

  memset(&layout, 0xA5, sizeof layout);
  fresh("layout, no shape")->shape = NULL;
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_SHAPE, cai_array_layout(&m.array, &layout, ERR));
  fresh("layout, no strides")->strides = NULL;
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_STRIDES, cai_array_layout(&m.array, &layout, ERR));
  fresh("layout, ndim 65")->ndim = 65;
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_SHAPE, cai_array_layout(&m.array, &layout, ERR));
  check_context = "layout, items of no bytes";
  make(&m, "<f4", 0, NULL, NULL)->dtype.itemsize = 0;
  m.array.shape = m.array.strides = NULL;
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR, cai_array_layout(&m.array, &layout, ERR));
  fresh("layout, product"), m.shape[0] = m.shape[1] = INT64_C(1) << 32;
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_SHAPE, cai_array_layout(&m.array, &layout, ERR));
  fresh("layout, extent"), m.strides[0] = INT64_MAX;
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_STRIDES, cai_array_layout(&m.array, &layout, ERR));
  fresh("layout, another major")->abi_major = 2;
  CHECK_FAILS(CAI_ERR_VERSION, ANY, cai_array_layout(&m.array, &layout, ERR));
  fresh("layout, unknown critical flag")->flags |= 1u << 20;
  CHECK_FAILS(CAI_ERR_VERSION, ANY, cai_array_layout(&m.array, &layout, ERR));
  CHECK(check_untouched(&layout, sizeof layout));
}

int main(void) {
  alarm(600); /* a descr that holds itself must not hold us */
  test_prefix();
  test_dtype();
  test_dims();
  test_data();
  test_stream();
  test_mask();
  test_descr();
  test_shared_descr();
  test_layout();
  return CHECK_RESULT();
}
