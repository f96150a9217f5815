/* SPDX-License-Identifier: BSD-3-Clause */
/* Raw values that no well-behaved binding makes, or no well-behaved producer: each is refused with
 * its status, its entry and index, and a message that says what is wrong. */
#include "allocations.h"
#include "make.h"

#define ITEMS(form, ...)                               \
  make_items((form), (const cai_value[]){__VA_ARGS__}, \
             sizeof((const cai_value[]){__VA_ARGS__}) / sizeof(cai_value))
#define TUPLE(...) ITEMS(CAI_FORM_TUPLE, __VA_ARGS__)
#define LIST(...) ITEMS(CAI_FORM_LIST, __VA_ARGS__)
#define TEXT make_text
#define INT make_int
#define UNREAD(form) make_items((form), NULL, 2) /* the binding did not go so deep */

static const uint64_t many = UINT64_C(1) << 63;
static uint64_t storage[65536];

static cai_status read_with(const cai_interface *in, uint32_t mode, uint64_t size, cai_array *out) {
  memset(out, 0xA5, sizeof *out);
  check_arm();
  return cai_interface_read(in, mode, NULL, NULL, storage, size, out, ERR);
}

/* Refused in both modes: leniently for this reason. */
static void refused(const cai_interface *in, cai_status status, int32_t entry, int32_t index,
                    const char *says) {
  cai_array out;
  check_context = says;
  CHECK(cai_interface_storage(in) <= sizeof storage); /* which judges nothing */
  CHECK(read_with(in, CAI_STRICT, sizeof storage, &out) != CAI_OK);
  CHECK_FAILS(status, entry, read_with(in, CAI_LENIENT, sizeof storage, &out));
  CHECK(ERR->index == index);
  if (!strstr(ERR->message, says)) {
    fprintf(stderr, "%s\n", ERR->message);
    CHECK(!"the message says what is wrong");
  }
  CHECK(check_untouched(&out, sizeof out));
}

static void descr_refused(const char *typestr, cai_value descr, cai_status status, int32_t index,
                          const char *says) {
  made_interface d;
  make_interface(&d)->typestr = make_text(typestr);
  d.in.descr = descr;
  refused(&d.in, status, CAI_ENTRY_DESCR, index, says);
}

static void test_fields(void) {
  const cai_value ok = TUPLE(TEXT("a"), TEXT("<i4"));
  cai_value axes[CAI_MAX_NDIM + 1];
  made_interface d;
  cai_array out;
  for (int axis = 0; axis <= CAI_MAX_NDIM; ++axis) axes[axis] = INT(1);
#define REFUSED(field, status, says) descr_refused("|V8", LIST(ok, field), status, 1, says)
  REFUSED(INT(1), CAI_ERR_TYPE, "descr[1]: 1 is not a tuple");
  REFUSED(UNREAD(CAI_FORM_TUPLE), CAI_ERR_VALUE, "nested too deep");
  REFUSED(make_items(CAI_FORM_TUPLE, NULL, 0), CAI_ERR_VALUE, "is not (name, format)");
  REFUSED(TUPLE(TEXT("b")), CAI_ERR_VALUE, "is not (name, format)");
  REFUSED(TUPLE(TEXT("b"), TEXT("<i4"), TUPLE(INT(1)), INT(1)), CAI_ERR_VALUE,
          "is not (name, format)");
  /* Names. */
  REFUSED(TUPLE(INT(7), TEXT("<i4")), CAI_ERR_TYPE, "the name is 7, not a string");
  REFUSED(TUPLE(make_bytes_of(CAI_FORM_TEXT, NULL, 3), TEXT("<i4")), CAI_ERR_TYPE, "the name is");
  REFUSED(TUPLE(make_bytes_of(CAI_FORM_TEXT, "b\0c", 3), TEXT("<i4")), CAI_ERR_VALUE,
          "has a NUL inside");
  REFUSED(TUPLE(TEXT("\xE2\x82\x41"), TEXT("<i4")), CAI_ERR_VALUE, "is not UTF-8");
  REFUSED(TUPLE(make_bytes_of(CAI_FORM_TEXT, "b\xC3\xA9", 2), TEXT("<i4")), CAI_ERR_VALUE,
          "is not UTF-8");
  REFUSED(TUPLE(TEXT("\xE0\x9F\xBF"), TEXT("<i4")), CAI_ERR_VALUE, "is not UTF-8");
  REFUSED(TUPLE(TEXT("\xF0\x8F\xBF\xBF"), TEXT("<i4")), CAI_ERR_VALUE, "is not UTF-8");
  REFUSED(TUPLE(TEXT("\xE2\x82\xC3"), TEXT("<i4")), CAI_ERR_VALUE, "is not UTF-8");
  REFUSED(TUPLE(TUPLE(TEXT("t"), TEXT("b"), TEXT("c")), TEXT("<i4")), CAI_ERR_VALUE,
          "is neither a name nor (title, name)");
  REFUSED(TUPLE(UNREAD(CAI_FORM_TUPLE), TEXT("<i4")), CAI_ERR_VALUE,
          "is neither a name nor (title, name)");
  REFUSED(TUPLE(TUPLE(INT(7), TEXT("b")), TEXT("<i4")), CAI_ERR_TYPE,
          "the title is 7, not a string");
  REFUSED(TUPLE(TUPLE(TEXT("t"), INT(7)), TEXT("<i4")), CAI_ERR_TYPE,
          "the name is 7, not a string");
  /* Formats. */
  REFUSED(TUPLE(TEXT("b"), INT(4)), CAI_ERR_TYPE, "is neither a typestr nor a list of fields");
  REFUSED(TUPLE(TEXT("b"), make_bytes_of(CAI_FORM_TEXT, NULL, 3)), CAI_ERR_TYPE,
          "is neither a typestr nor a list of fields");
  REFUSED(TUPLE(TEXT("b"), TEXT("<f3")), CAI_ERR_VALUE, "'<f3'");
  REFUSED(TUPLE(TEXT("b"), TEXT("|t1")), CAI_ERR_VALUE, "is of bits");
  REFUSED(TUPLE(TEXT("b"), make_items(CAI_FORM_LIST, NULL, 0)), CAI_ERR_VALUE, "has no bytes");
  descr_refused("|V8", LIST(ok, TUPLE(TEXT("b"), TUPLE(TEXT("c"), TEXT("<i4")))), CAI_ERR_TYPE, -1,
                "not a list");
  /* Shapes of sub-arrays. */
  REFUSED(TUPLE(TEXT("b"), TEXT("<i4"), TEXT("1")), CAI_ERR_TYPE, "is no extent of a sub-array");
  REFUSED(TUPLE(TEXT("b"), TEXT("<i4"), TUPLE(INT(1), TEXT("1"))), CAI_ERR_TYPE,
          "is no extent of a sub-array");
  REFUSED(TUPLE(TEXT("b"), TEXT("<i4"), TUPLE(INT(-1))), CAI_ERR_VALUE,
          "is no extent of a sub-array");
  REFUSED(TUPLE(TEXT("b"), TEXT("<i4"), TUPLE(make_uint(many))), CAI_ERR_VALUE,
          "is no extent of a sub-array");
  REFUSED(TUPLE(TEXT("b"), TEXT("<i4"), UNREAD(CAI_FORM_TUPLE)), CAI_ERR_VALUE,
          "has too many dimensions");
  REFUSED(TUPLE(TEXT("b"), TEXT("<i4"), make_items(CAI_FORM_TUPLE, axes, CAI_MAX_NDIM + 1)),
          CAI_ERR_VALUE, "has too many dimensions");
  /* Sizes. */
  REFUSED(TUPLE(TEXT("b"), TEXT("<i4"), TUPLE(INT(INT64_MAX), INT(2))), CAI_ERR_VALUE,
          "makes the item too large");
  REFUSED(TUPLE(TEXT("b"), TEXT("<i4"), TUPLE(INT(1 << 30))), CAI_ERR_VALUE,
          "makes the item too large");
  REFUSED(TUPLE(TEXT("b"), TEXT("|u1"), TUPLE(INT(UINT32_MAX - 3))), CAI_ERR_VALUE,
          "makes the item too large"); /* by the four bytes before it */
#undef REFUSED
  check_context = "as large as it may be";
  make_interface(&d)->typestr = TEXT("|V4294967295");
  d.in.descr = LIST(ok, TUPLE(TEXT("b"), TEXT("|u1"), TUPLE(INT(UINT32_MAX - 4))));
  if (CHECK_OK(read_with(&d.in, CAI_STRICT, sizeof storage, &out))) CHECK(out.descr_count == 2);
  d.in.descr = LIST(TUPLE(TEXT("a"), TEXT("|u1"), TUPLE(INT(UINT32_MAX))));
  if (CHECK_OK(read_with(&d.in, CAI_STRICT, sizeof storage, &out))) CHECK(out.descr_count == 1);
  check_context = "no dimensions";
  make_interface(&d)->typestr = TEXT("|V8");
  d.in.descr = LIST(TUPLE(TEXT("b"), TEXT("<i4"), make_items(CAI_FORM_TUPLE, NULL, 0)), ok);
  if (CHECK_OK(read_with(&d.in, CAI_STRICT, sizeof storage, &out))) CHECK(out.descr_count == 2);
}

static void test_lists(void) {
  static cai_value fields[CAI_MAX_DESCR_FIELDS + 1][2], all[CAI_MAX_DESCR_FIELDS + 1];
  static char names[CAI_MAX_DESCR_FIELDS + 1][8];
  cai_value nested[CAI_MAX_DESCR_DEPTH + 1][2], outer[CAI_MAX_DESCR_DEPTH + 1];
  int i;
  descr_refused("|V8", TUPLE(TUPLE(TEXT("a"), TEXT("<i8"))), CAI_ERR_TYPE, -1, "not a list");
  descr_refused("|V8", UNREAD(CAI_FORM_LIST), CAI_ERR_VALUE, -1, "nested deeper than");
  descr_refused("|V8", make_items(CAI_FORM_LIST, NULL, 0), CAI_ERR_VALUE, -1,
                "expected fields of 8 bytes, as typestr says, got 0");
  descr_refused("|V9", LIST(TUPLE(TEXT("a"), TEXT("<i8"))), CAI_ERR_VALUE, -1,
                "expected fields of 9 bytes, as typestr says, got 8");
  descr_refused("|V8", LIST(TUPLE(TEXT("a"), TEXT("<i4")), TUPLE(TEXT("a"), TEXT("<f4"))),
                CAI_ERR_VALUE, -1, "uses the name or title 'a' twice");
  descr_refused("|V8",
                LIST(TUPLE(TEXT("\xC2\xBF"), TEXT("<i4")), TUPLE(TEXT("\xC2\xBF"), TEXT("<f4"))),
                CAI_ERR_VALUE, -1, "uses the name or title '\xC2\xBF' twice");
  check_context = "a title names a field, too";
  descr_refused(
      "|V8", LIST(TUPLE(TUPLE(TEXT("b"), TEXT("a")), TEXT("<i4")), TUPLE(TEXT("b"), TEXT("<f4"))),
      CAI_ERR_VALUE, -1, "uses the name or title 'b' twice");
  descr_refused("|V8",
                LIST(TUPLE(TUPLE(TEXT("t"), TEXT("a")), TEXT("<i4")),
                     TUPLE(TUPLE(TEXT("t"), TEXT("b")), TEXT("<f4"))),
                CAI_ERR_VALUE, -1, "uses the name or title 't' twice");
  descr_refused("|V8", LIST(TUPLE(TUPLE(TEXT("a"), TEXT("a")), TEXT("<i8"))), CAI_ERR_VALUE, -1,
                "uses the name or title 'a' twice");
  for (i = 0; i <= CAI_MAX_DESCR_FIELDS; ++i) {
    snprintf(names[i], sizeof names[i], "f%d", i);
    fields[i][0] = TEXT(names[i]), fields[i][1] = TEXT("|u1");
    all[i] = make_items(CAI_FORM_TUPLE, fields[i], 2);
  }
  descr_refused("|V8", make_items(CAI_FORM_LIST, all, CAI_MAX_DESCR_FIELDS + 1), CAI_ERR_VALUE, -1,
                "has more than");
  fields[63][0] = TEXT("f7"); /* far from its twin */
  descr_refused("|V64", make_items(CAI_FORM_LIST, all, 64), CAI_ERR_VALUE, -1,
                "uses the name or title 'f7' twice");
  fields[63][0] = TEXT(names[63]), fields[99][0] = TEXT("f7");
  descr_refused("|V100", make_items(CAI_FORM_LIST, all, 100), CAI_ERR_VALUE, -1,
                "uses the name or title 'f7' twice");
  outer[0] = TUPLE(TEXT("a"), TEXT("<i8"));
  for (i = 1; i <= CAI_MAX_DESCR_DEPTH; ++i) {
    nested[i][0] = TEXT("a"), nested[i][1] = make_items(CAI_FORM_LIST, &outer[i - 1], 1);
    outer[i] = make_items(CAI_FORM_TUPLE, nested[i], 2);
  }
  descr_refused("|V8", make_items(CAI_FORM_LIST, &outer[CAI_MAX_DESCR_DEPTH], 1), CAI_ERR_VALUE, -1,
                "nested deeper than");
}

/* Only a lone field without a name, a title, a shape or fields says no more than typestr. */
static void test_lone_fields(void) {
  const struct {
    cai_value field;
    uint32_t count;
  } cases[] = {
      {TUPLE(TEXT(""), TEXT("<i4")), 0},
      {TUPLE(TEXT("a"), TEXT("<i4")), 1},
      {TUPLE(TUPLE(TEXT("t"), TEXT("")), TEXT("<i4")), 1},
      {TUPLE(TEXT(""), TEXT("<i4"), TUPLE(INT(1))), 1},
      {TUPLE(TEXT(""), TEXT("<i4"), make_items(CAI_FORM_TUPLE, NULL, 0)), 0},
      {TUPLE(TEXT(""), LIST(TUPLE(TEXT("a"), TEXT("<i4")))), 1},
      {TUPLE(TEXT(""), TEXT("<u4")), 1},
      {TUPLE(TEXT(""), TEXT(">i4")), 1},
      {TUPLE(TEXT("bfloat16"), TEXT("<i4")), 1},
  };
  made_interface d;
  cai_array out;
  int i;
  check_context = "lone fields";
  for (i = 0; i < COUNT(cases); ++i) {
    make_interface(&d)->typestr = TEXT("<i4");
    d.in.descr = make_items(CAI_FORM_LIST, &cases[i].field, 1);
    if (!CHECK_OK(read_with(&d.in, CAI_LENIENT, sizeof storage, &out))) continue;
    if (!CHECK(out.descr_count == cases[i].count)) fprintf(stderr, "case %d\n", i);
    CHECK(!out.descr == !cases[i].count && out.dtype.ext == CAI_EXT_NONE);
    CHECK_OK(cai_array_validate(&out, ERR));
  }
}

/* Whatever the storage falls short of, that is what is said, and nothing is written. */
static void test_short_storage(void) {
  const cai_value mask_shape = INT(3);
  made_interface d, mask;
  cai_array out;
  uint64_t size, least = 0;
  check_context = "short storage";
  make_interface(&mask)->typestr = TEXT("|b1");
  mask.in.shape = make_items(CAI_FORM_TUPLE, &mask_shape, 1);
  make_interface(&d)->typestr = TEXT("|V12");
  d.in.descr = LIST(TUPLE(TUPLE(TEXT("title"), TEXT("a")), TEXT("<i4"), TUPLE(INT(2))),
                    TUPLE(TEXT("b"), LIST(TUPLE(TEXT("c"), TEXT("<f4")))));
  d.in.mask = make_form(CAI_FORM_INTERFACE);
  d.in.mask_interface = &mask.in;
  size = cai_interface_storage(&d.in);
  CHECK_OK(read_with(&d.in, CAI_STRICT, size, &out));
  CHECK(out.mask && out.descr_count == 2);
  while (size-- > 0) {
    const cai_status status = read_with(&d.in, CAI_STRICT, size, &out);
    if (status == CAI_OK) {
      CHECK(least == 0); /* what is enough is enough */
      continue;
    }
    if (least == 0) least = size + 1;
    CHECK(status == CAI_ERR_STORAGE && ERR->status == status && strstr(ERR->message, "storage"));
    CHECK(check_untouched(&out, sizeof out));
  }
  CHECK(least > 0 && least <= cai_interface_storage(&d.in));
}

/* Names are compared in the library's own memory where they are many: there may be none. */
static void test_no_memory(void) {
  static cai_value fields[100][2], all[100];
  static char names[100][8];
  made_interface d;
  cai_array out;
  int i;
  check_context = "no memory for names";
  for (i = 0; i < COUNT(all); ++i) {
    snprintf(names[i], sizeof names[i], "f%d", i);
    fields[i][0] = TEXT(names[i]), fields[i][1] = TEXT("|u1");
    all[i] = make_items(CAI_FORM_TUPLE, fields[i], 2);
  }
  make_interface(&d)->typestr = TEXT("|V100");
  d.in.descr = make_items(CAI_FORM_LIST, all, COUNT(all));
  if (!allocations_counted()) return; /* a sanitizer has malloc() for itself */
  allocations_reset();
  allocations_fail(0);
  CHECK_FAILS(CAI_ERR_MEMORY, ANY, read_with(&d.in, CAI_LENIENT, sizeof storage, &out));
  allocations_fail(-1);
  CHECK(check_untouched(&out, sizeof out));
  CHECK_OK(read_with(&d.in, CAI_STRICT, sizeof storage, &out));
  CHECK(out.descr_count == 100 && out.descr[99].offset == 99);
}

static void test_entries(void) {
  made_interface d;
  cai_value strides[2];
  cai_value beyond = INT(0);
  beyond.range = CAI_RANGE_BEYOND;
  strides[0] = INT(12), strides[1] = INT(4);
#define REFUSED(set, status, entry, index, says) \
  do {                                           \
    make_interface(&d);                          \
    set;                                         \
    refused(&d.in, status, entry, index, says);  \
  } while (0)
  REFUSED(d.in.shape = UNREAD(CAI_FORM_TUPLE), CAI_ERR_TYPE, CAI_ENTRY_SHAPE, -1,
          "the binding did not read");
  REFUSED(d.in.strides = UNREAD(CAI_FORM_TUPLE), CAI_ERR_TYPE, CAI_ENTRY_STRIDES, -1,
          "the binding did not read");
  REFUSED(d.in.data = UNREAD(CAI_FORM_TUPLE), CAI_ERR_VALUE, CAI_ENTRY_DATA, -1, "(...)");
  REFUSED(d.in.typestr = make_bytes_of(CAI_FORM_TEXT, NULL, 3), CAI_ERR_TYPE, CAI_ENTRY_TYPESTR, -1,
          "typestr: expected a string as '<f4', got ");
  REFUSED(d.in.typestr = TEXT("|t1"), CAI_ERR_VALUE, CAI_ENTRY_TYPESTR, -1,
          "is of bits, which only a mask may be");
  REFUSED(d.shape[0] = beyond, CAI_ERR_VALUE, CAI_ENTRY_SHAPE, 0, "more than 64 bits");
  REFUSED((d.shape[0] = INT(INT64_MAX), d.shape[1] = INT(INT64_MAX)), CAI_ERR_VALUE,
          CAI_ENTRY_SHAPE, -1, "expected a size in bytes of 63 bits, got ");
  REFUSED((d.shape[0] = INT(INT64_MAX), d.in.strides = make_items(CAI_FORM_TUPLE, strides, 2)),
          CAI_ERR_VALUE, CAI_ENTRY_SHAPE, -1, "expected a size in bytes of 63 bits, got ");
  strides[0] = INT(INT64_MAX);
  REFUSED((d.shape[0] = INT(3), d.in.strides = make_items(CAI_FORM_TUPLE, strides, 2)),
          CAI_ERR_VALUE, CAI_ENTRY_STRIDES, -1, "reaches too far");
  REFUSED(d.data[1] = make_form(CAI_FORM_FLOAT), CAI_ERR_TYPE, CAI_ENTRY_DATA, 1,
          "data[1]: expected a bool, which says whether it is read-only, got a float");
  REFUSED((d.data[1] = make_uint(many), d.data[1].form = CAI_FORM_INDEX), CAI_ERR_TYPE,
          CAI_ENTRY_DATA, 1, "data[1]: expected a bool, ");
  REFUSED(d.data[0] = make_form(CAI_FORM_OBJECT), CAI_ERR_TYPE, CAI_ENTRY_DATA, 0, "an object");
#undef REFUSED
}

static void test_masks(void) {
  made_interface d, mask;
  cai_value one = INT(1);
#define REFUSED(set, status, says)                            \
  do {                                                        \
    make_interface(&mask)->typestr = TEXT("|b1");             \
    make_interface(&d)->mask = make_form(CAI_FORM_INTERFACE); \
    d.in.mask_interface = &mask.in;                           \
    set;                                                      \
    refused(&d.in, status, CAI_ENTRY_MASK, -1, says);         \
  } while (0)
  REFUSED(mask.in.protocol = CAI_PROTOCOL_HOST, CAI_ERR_VALUE,
          "mask: expected the array's own protocol, got ");
  REFUSED(mask.in.typestr = TEXT("|V1"), CAI_ERR_VALUE,
          "expected elements that are true or false, as of '|b1', got typestr '|V1'");
  REFUSED(mask.in.shape.items = NULL, CAI_ERR_TYPE, "the binding did not read");
  REFUSED(mask.shape[1] = INT(2), CAI_ERR_VALUE, "does not broadcast");
  REFUSED((mask.in.typestr = TEXT("|t1"), mask.in.descr = LIST(TUPLE(TEXT("a"), TEXT("|u1")))),
          CAI_ERR_VALUE, "gives fields to a bit");
  REFUSED((mask.in.typestr = TEXT("|t1"), mask.in.strides = TUPLE(INT(3), INT(1))), CAI_ERR_VALUE,
          "expected None, as the items are bits, got (3, 1) in bytes");
  REFUSED((mask.in.mask = one), CAI_ERR_VALUE,
          "mask: mask: expected None, as a mask has no mask, got 1");
#undef REFUSED
}

/* Of the host protocol: an offset is 0, if there is one. */
static void test_offsets(void) {
  const cai_value refused_values[] = {INT(1), INT(-1), make_bool(0), make_form(CAI_FORM_NONE),
                                      make_uint(many)};
  made_interface d;
  cai_array out;
  int i;
  make_interface(&d)->protocol = CAI_PROTOCOL_HOST;
  d.in.stream = make_form(CAI_FORM_MISSING);
  d.in.offset = INT(0);
  check_context = "offset 0";
  CHECK_OK(read_with(&d.in, CAI_STRICT, sizeof storage, &out));
  CHECK(out.device_type == CAI_DEVICE_CPU && out.stream_kind == CAI_STREAM_NONE);
  for (i = 0; i < COUNT(refused_values); ++i) {
    d.in.offset = refused_values[i];
    refused(&d.in, CAI_ERR_VALUE, CAI_ENTRY_OFFSET, -1, "offset: expected 0, got ");
  }
}

static int advices; /* and of which entry the last was */
static int32_t advised;

static void count_advice(void *context, const cai_finding *finding) {
  (void)context;
  if (finding->severity != CAI_SEVERITY_ADVICE) return;
  ++advices;
  advised = finding->entry;
}

/* Strides and a pointer that few consumers can use are lawful, and remarked on. */
static void test_advice(void) {
  const cai_value strides[] = {INT(13), INT(4)}, none[] = {INT(12), INT(4)};
  const cai_value odd[] = {INT(15), INT(5)};
  made_interface d;
  cai_array out;
  check_context = "advice";
#define ADVISED(times, set)                                                                     \
  do {                                                                                          \
    make_interface(&d);                                                                         \
    set;                                                                                        \
    advices = 0;                                                                                \
    check_arm();                                                                                \
    CHECK_OK(cai_interface_read(&d.in, CAI_STRICT, count_advice, NULL, storage, sizeof storage, \
                                &out, ERR));                                                    \
    CHECK(advices == (times));                                                                  \
  } while (0)
  ADVISED(0, d.in.strides = make_items(CAI_FORM_TUPLE, none, 2));
  ADVISED(1, d.in.strides = make_items(CAI_FORM_TUPLE, strides, 2));
  CHECK(advised == CAI_ENTRY_STRIDES);
  ADVISED(0, (d.in.strides = make_items(CAI_FORM_TUPLE, strides, 2), d.shape[0] = INT(1)));
  ADVISED(1, d.data[0] = make_uint(ADDRESS + 2));
  CHECK(advised == CAI_ENTRY_DATA);
  ADVISED(0, (d.data[0] = make_uint(ADDRESS + 2), d.in.typestr = TEXT("|V4")));
  ADVISED(0, (d.data[0] = INT(0), d.shape[0] = INT(0),
              d.in.strides = make_items(CAI_FORM_TUPLE, odd, 2)));
#undef ADVISED
}

/* An array of no dimensions, whose tuples are empty. */
static void test_no_dimensions(void) {
  made_interface d;
  cai_interface written;
  cai_array out;
  int i;
  check_context = "no dimensions";
  make_interface(&d)->shape = make_items(CAI_FORM_TUPLE, NULL, 0);
  CHECK_OK(read_with(&d.in, CAI_STRICT, 0, &out));
  CHECK(out.ndim == 0 && out.data == ADDRESS && out.flags == CAI_FLAG_STRIDES_NONE);
  d.in.strides = make_items(CAI_FORM_TUPLE, NULL, 0);
  CHECK_OK(read_with(&d.in, CAI_STRICT, 0, &out));
  CHECK(out.ndim == 0 && out.data == ADDRESS && out.flags == 0);
  CHECK_OK(cai_array_validate(&out, ERR));
  check_context = "no storage";
  for (i = 0; i < 2; ++i) { /* which nothing needs */
    CHECK_OK(cai_interface_read(&d.in, CAI_STRICT, NULL, NULL, NULL, 0, &out, ERR));
    CHECK(out.ndim == 0 && !out.shape && !out.strides);
    CHECK_OK(cai_array_validate(&out, ERR));
    d.in.strides = make_form(CAI_FORM_NONE);
  }
  memset(&written, 0, sizeof written);
  written.struct_size = sizeof written;
  CHECK_FAILS(CAI_ERR_STORAGE, ANY, cai_interface_write(&out, 3, NULL, 0, &written, ERR));
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_interface_write(&out, 3, NULL, 64, &written, ERR));
}

/* The last character of a name may have any length, and any value. */
static void test_names(void) {
  static const char *const names[] = {"a",
                                      "a\xC3\xA9",
                                      "a\xE2\x82\xAC",
                                      "a\xF0\x9F\x98\x80",
                                      "\xC2\x80",
                                      "\xDF\xBF",
                                      "\xE0\xA0\x80",
                                      "\xED\x9F\xBF",
                                      "\xEF\xBF\xBF",
                                      "\xF0\x90\x80\x80",
                                      "\xF1\x80\x80\x80",
                                      "\xF4\x8F\xBF\xBF"};
  made_interface d;
  cai_array out;
  int i;
  for (i = 0; i < COUNT(names); ++i) {
    check_context = names[i];
    make_interface(&d)->typestr = TEXT("|V4");
    d.in.descr = LIST(TUPLE(TEXT(names[i]), TEXT("<i4")));
    if (CHECK_OK(read_with(&d.in, CAI_STRICT, sizeof storage, &out)))
      CHECK(out.descr_count == 1 && !strcmp(out.descr->name, names[i]));
  }
}

/* Only the plain field of two bytes is the number that a typestr cannot say. */
static void test_bfloat16(void) {
  const cai_value two = LIST(TUPLE(TEXT("low"), TEXT("|u1")), TUPLE(TEXT("high"), TEXT("|u1")));
  const struct {
    cai_value field;
    uint32_t count;
  } cases[] = {
      {TUPLE(TEXT("bfloat16"), TEXT("<V2")), 0},
      {TUPLE(TUPLE(TEXT("t"), TEXT("bfloat16")), TEXT("<V2")), 1},
      {TUPLE(TEXT("bfloat16"), TEXT("<V2"), TUPLE(INT(1))), 1},
      {TUPLE(TEXT("bfloat16"), two), 1},
  };
  made_interface d;
  cai_array out;
  int i;
  check_context = "bfloat16";
  for (i = 0; i < COUNT(cases); ++i) {
    make_interface(&d)->typestr = TEXT("<V2");
    d.in.descr = make_items(CAI_FORM_LIST, &cases[i].field, 1);
    if (!CHECK_OK(read_with(&d.in, CAI_LENIENT, sizeof storage, &out))) continue;
    if (!CHECK(out.descr_count == cases[i].count)) fprintf(stderr, "case %d\n", i);
    CHECK((out.dtype.ext == CAI_EXT_BFLOAT16) == !cases[i].count);
  }
}

/* Formats in descr that mean something, though the text has others for it. */
static void test_loose_formats(void) {
  cai_value parts[2], field;
  made_interface d;
  cai_array out;
  int loose;
  check_context = "loose formats";
  for (loose = 0; loose < 2; ++loose) {
    parts[0] = TEXT("a"), parts[1] = TEXT(loose ? "=f4" : "<f4");
    if (!loose) parts[1].form = CAI_FORM_TEXT_SUBCLASS;
    field = make_items(CAI_FORM_TUPLE_SUBCLASS, parts, 2);
    make_interface(&d)->descr = make_items(CAI_FORM_LIST, &field, 1);
    CHECK(read_with(&d.in, CAI_STRICT, sizeof storage, &out) != CAI_OK && ERR->index == 0 &&
          ERR->entry == CAI_ENTRY_DESCR);
    CHECK_OK(read_with(&d.in, CAI_LENIENT, cai_interface_storage(&d.in), &out));
    CHECK(out.descr_count == 1 && out.descr->dtype.kind == 'f' &&
          out.descr->dtype.byteorder == '<');
  }
}

/* What a strict reader says of a byte order that is not there, or is NumPy's. */
static void test_loose_orders(void) {
  made_interface d;
  cai_array out;
  check_context = "loose orders";
  make_interface(&d)->typestr = TEXT("f4");
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR, read_with(&d.in, CAI_STRICT, sizeof storage, &out));
  CHECK(strstr(ERR->message, "gives no byte order") != NULL);
  make_interface(&d)->typestr = TEXT("=f4");
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR, read_with(&d.in, CAI_STRICT, sizeof storage, &out));
  CHECK(strstr(ERR->message, "has a byte order that the CUDA Array Interface does not") != NULL);
}

/* Lenient reading accepts integers of other types, 0 too. */
static void test_loose_integers(void) {
  made_interface d;
  cai_array out;
  check_context = "loose integers";
  make_interface(&d), d.shape[0] = INT(0);
  d.data[0] = INT(0), d.data[0].form = CAI_FORM_INDEX;
  CHECK_FAILS(CAI_ERR_TYPE, CAI_ENTRY_DATA, read_with(&d.in, CAI_STRICT, sizeof storage, &out));
  CHECK_OK(read_with(&d.in, CAI_LENIENT, sizeof storage, &out));
  d.data[0] = INT(-1), d.data[0].form = CAI_FORM_INDEX;
  refused(&d.in, CAI_ERR_VALUE, CAI_ENTRY_DATA, 0, "data[0]: expected 0 or more, got -1");
}

/* Values within values are printed so deep, and no deeper. */
static void test_deep_values(void) {
  cai_value nested[8];
  made_interface d;
  int i;
  nested[0] = INT(5);
  for (i = 1; i < COUNT(nested); ++i) nested[i] = make_items(CAI_FORM_TUPLE, &nested[i - 1], 1);
  make_interface(&d)->typestr = nested[COUNT(nested) - 1];
  refused(&d.in, CAI_ERR_TYPE, CAI_ENTRY_TYPESTR, -1, "(...)");
  CHECK(strstr(ERR->message, "5") == NULL);
}

static void do_nothing(cai_owner *owner) { (void)owner; }

/* Invalid owners and slices. */
static void test_owners_and_slices(void) {
  static const int64_t shape[] = {2, 3};
  const cai_slice wrong[] = {{0},
                             {.kind = 99},
                             {.kind = CAI_SLICE_ELLIPSIS | CAI_SLICE_NO_START},
                             {.kind = CAI_SLICE_NEWAXIS, .reserved = 1}};
  cai_owner owner;
  made m;
  cai_array *a = make(&m, "<f4", 2, shape, NULL), *out = NULL, *owned = NULL;
  int i;
  check_context = "owners";
  memset(&owner, 0xA5, sizeof owner);
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_owner_init(NULL, do_nothing, do_nothing, ERR));
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_owner_init(&owner, NULL, do_nothing, ERR));
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_owner_init(&owner, do_nothing, NULL, ERR));
  CHECK(check_untouched(&owner, sizeof owner));
  CHECK_OK(cai_owner_init(&owner, do_nothing, do_nothing, ERR));
  a->owner = &owner;
  CHECK_OK(cai_array_validate(a, ERR));
  owner.struct_size = 8;
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_INTERFACE, cai_array_validate(a, ERR));
  owner.struct_size = sizeof owner, owner.retain = NULL;
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_INTERFACE, cai_array_validate(a, ERR));
  owner.retain = do_nothing, owner.release = NULL;
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_INTERFACE, cai_array_validate(a, ERR));
  a->owner = NULL;
  check_context = "slices";
  if (!CHECK_OK(cai_array_own(a, NULL, NULL, &owned, ERR))) return;
  for (i = 0; i < COUNT(wrong); ++i) {
    CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_slice(owned, &wrong[i], 1, &out, ERR));
    CHECK(ERR->index == 0 && strstr(ERR->message, "slices[0]"));
  }
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_slice(owned, wrong, -1, &out, ERR));
  CHECK(!strcmp(ERR->message, "count is -1, below 0"));
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_slice(owned, NULL, 1, &out, ERR));
  CHECK(!strcmp(ERR->message, "slices is NULL, and count is 1"));
  cai_array_release(owned);
  check_context = "bits";
  a = make(&m, "|t1", 2, shape, NULL);
  m.strides[0] = 3, m.strides[1] = 1;
  if (!CHECK_OK(cai_array_own(a, NULL, NULL, &owned, ERR))) return;
  CHECK_FAILS(CAI_ERR_UNSUPPORTED, CAI_ENTRY_TYPESTR, cai_array_slice(owned, NULL, 0, &out, ERR));
  CHECK(out == NULL);
  cai_array_release(owned);
}

int main(void) {
  test_advice();
  test_no_dimensions();
  test_names();
  test_loose_formats();
  test_bfloat16();
  test_loose_orders();
  test_loose_integers();
  test_deep_values();
  test_owners_and_slices();
  test_fields();
  test_lists();
  test_lone_fields();
  test_short_storage();
  test_no_memory();
  test_entries();
  test_masks();
  test_offsets();
  return CHECK_RESULT();
}
