/* SPDX-License-Identifier: BSD-3-Clause */
/* cai_error and the names: 256 bytes, all written on failure, always UTF-8, whatever a producer's
 * strings hold; and the versions. */
#include "make.h"

static uint64_t storage[1024];

static void test_names(void) {
  static const struct {
    int32_t value;
    const char *name;
  } statuses[] = {{CAI_OK, "CAI_OK"},
                  {CAI_ERR_ARGUMENT, "CAI_ERR_ARGUMENT"},
                  {CAI_ERR_VALUE, "CAI_ERR_VALUE"},
                  {CAI_ERR_TYPE, "CAI_ERR_TYPE"},
                  {CAI_ERR_VERSION, "CAI_ERR_VERSION"},
                  {CAI_ERR_MEMORY, "CAI_ERR_MEMORY"},
                  {CAI_ERR_STORAGE, "CAI_ERR_STORAGE"},
                  {CAI_ERR_LAYOUT, "CAI_ERR_LAYOUT"},
                  {CAI_ERR_UNSUPPORTED, "CAI_ERR_UNSUPPORTED"},
                  {CAI_ERR_EXPORT, "CAI_ERR_EXPORT"},
                  {CAI_ERR_DRIVER, "CAI_ERR_DRIVER"},
                  {CAI_ERR_CUDA, "CAI_ERR_CUDA"},
                  {CAI_ERR_CAPTURE, "CAI_ERR_CAPTURE"},
                  {CAI_ERR_DEVICE, "CAI_ERR_DEVICE"},
                  {CAI_ERR_BOUNDS, "CAI_ERR_BOUNDS"},
                  {CAI_ERR_ORDER, "CAI_ERR_ORDER"},
                  {CAI_ERR_STATE, "CAI_ERR_STATE"},
                  {-17, "CAI_ERR_UNKNOWN"},
                  {1, "CAI_ERR_UNKNOWN"},
                  {INT32_MIN, "CAI_ERR_UNKNOWN"},
                  {INT32_MAX, "CAI_ERR_UNKNOWN"}};
  static const struct {
    int32_t value;
    const char *name;
  } entries[] = {{CAI_ENTRY_NONE, ""},
                 {CAI_ENTRY_INTERFACE, "interface"},
                 {CAI_ENTRY_VERSION, "version"},
                 {CAI_ENTRY_SHAPE, "shape"},
                 {CAI_ENTRY_STRIDES, "strides"},
                 {CAI_ENTRY_TYPESTR, "typestr"},
                 {CAI_ENTRY_DESCR, "descr"},
                 {CAI_ENTRY_DATA, "data"},
                 {CAI_ENTRY_STREAM, "stream"},
                 {CAI_ENTRY_MASK, "mask"},
                 {CAI_ENTRY_OFFSET, "offset"},
                 {11, ""},
                 {-1, ""},
                 {INT32_MIN, ""},
                 {INT32_MAX, ""}};
  int i;
  check_context = "names";
  for (i = 0; i < COUNT(statuses); ++i) {
    const char *name = cai_status_name(statuses[i].value);
    CHECK(name && strcmp(name, statuses[i].name) == 0);
    CHECK(name == cai_status_name(statuses[i].value));
  }
  for (i = 0; i < COUNT(entries); ++i) {
    const char *name = cai_entry_name(entries[i].value);
    CHECK(name && strcmp(name, entries[i].name) == 0);
  }
  CHECK(cai_version() == 10000 * CAI_VERSION_MAJOR + 100 * CAI_VERSION_MINOR + CAI_VERSION_PATCH);
  CHECK(CAI_HEADER_VERSION ==
        10000 * CAI_VERSION_MAJOR + 100 * CAI_VERSION_MINOR + CAI_VERSION_PATCH);
}

/* The error is 256 bytes, and nothing beyond them is written. */
static void test_size(void) {
  struct {
    cai_error error;
    unsigned char guard[64];
  } place;
  cai_dtype dtype;
  check_context = "size";
  CHECK(sizeof(cai_error) == 256);
  memset(&place, 0xA5, sizeof place);
  CHECK(cai_dtype_parse("<f4", 3, &dtype, &place.error) == CAI_OK);
  CHECK(check_untouched(&place, sizeof place));
  CHECK(cai_dtype_parse("<f3", 3, &dtype, &place.error) == CAI_ERR_VALUE);
  CHECK(check_untouched(place.guard, sizeof place.guard));
  CHECK(place.error.status == CAI_ERR_VALUE && place.error.entry == CAI_ENTRY_TYPESTR &&
        place.error.native == 0);
}

/* The same failure gives the same 256 bytes: none of them is left as it was. */
static void same_twice(const cai_interface *in) {
  cai_error one, two;
  cai_array out;
  cai_status status;
  memset(&one, 0x00, sizeof one);
  memset(&two, 0xFF, sizeof two);
  status = cai_interface_read(in, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &out, &one);
  CHECK(cai_interface_read(in, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &out, &two) ==
        status);
  if (status) CHECK(memcmp(&one, &two, sizeof one) == 0);
}

/* Text in every place where a producer's text can come to be shown. */
static void show(const char *bytes, uint32_t length) {
  static const uint8_t forms[] = {CAI_FORM_FLOAT, CAI_FORM_TEXT,   CAI_FORM_TEXT_SUBCLASS,
                                  CAI_FORM_BYTES, CAI_FORM_OBJECT, CAI_FORM_DICT};
  made_interface d;
  cai_array out;
  int form, place;
  for (form = 0; form < COUNT(forms); ++form) {
    for (place = 0; place < 11; ++place) {
      cai_value value = make_bytes_of(forms[form], bytes, length), list, pair[2];
      cai_interface *in = make_interface(&d);
      switch (place) {
        case 0:
          in->typestr = value;
          break;
        case 1:
          in->version = value;
          break;
        case 2:
          in->stream = value;
          break;
        case 3:
          in->shape = value;
          break;
        case 4:
          d.shape[1] = value;
          break;
        case 5:
          d.data[0] = value;
          break;
        case 6:
          d.data[1] = value;
          break;
        case 7:
          in->strides = value;
          break;
        case 8:
          in->mask = value;
          break;
        case 9:
          in->descr = value;
          break;
        default:
          pair[0] = value;
          pair[1] = make_text("<f8");
          list = make_items(CAI_FORM_TUPLE, pair, 2);
          in->descr = make_items(CAI_FORM_LIST, &list, 1);
          break;
      }
      CHECK_FAILS(
          ANY, ANY,
          cai_interface_read(in, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &out, ERR));
      CHECK_FAILS(
          ANY, ANY,
          cai_interface_read(in, CAI_STRICT, NULL, NULL, storage, sizeof storage, &out, ERR));
      same_twice(in);
    }
  }
}

/* 95 bytes of a typestr are shown, and none beyond its length. */
static void test_shown(void) {
  char letters[200], begin[128];
  cai_dtype dtype;
  cai_error error;
  uint64_t length;
  check_context = "shown";
  memset(letters, 'x', sizeof letters);
  for (length = 90; length < 100; ++length) {
    const int shown = length < 95 ? (int)length : 95;
    snprintf(begin, sizeof begin, "typestr '%.*s' ", shown, letters);
    CHECK(cai_dtype_parse(letters, length, &dtype, &error) == CAI_ERR_VALUE);
    CHECK(strncmp(error.message, begin, strlen(begin)) == 0);
  }
  CHECK(cai_dtype_parse("\xc3\xa9", 1, &dtype, &error) == CAI_ERR_VALUE);
  CHECK(strncmp(error.message, "typestr '\\xc3' ", 15) == 0);
}

static void test_text(void) {
  static const char *const texts[] = {"",
                                      "plain",
                                      "two\nlines",
                                      "a\ttab",
                                      "\x7f\x1b[31mred",
                                      "\xff",
                                      "\xc3",
                                      "a\xc3",
                                      "\xe2\x82",
                                      "\xf0\x9f\x98",
                                      "\xc0\xaf",
                                      "\xed\xa0\x80",
                                      "\xf4\x90\x80\x80",
                                      "\xf8\x88\x80\x80\x80",
                                      "\x80",
                                      "\xfe\xff",
                                      "\xe2\x82\xac",
                                      "%s%n%d",
                                      "%",
                                      "'quoted\"",
                                      "\\"};
  char text[700];
  int i;
  size_t pad;
  check_context = "text";
  for (i = 0; i < COUNT(texts); ++i) show(texts[i], (uint32_t)strlen(texts[i]));
  show("a\0b", 3);
  show("\0", 1);
  /* A long text is cut, and never within a character, wherever the cut comes to lie. */
  for (pad = 0; pad < 8; ++pad) {
    size_t n = pad;
    memset(text, 'x', sizeof text);
    while (n + 4 < sizeof text) memcpy(text + n, "\xf0\x9f\x98\x80", 4), n += 4;
    text[n] = 0;
    show(text, (uint32_t)n);
    memset(text, 'x', sizeof text);
    for (n = pad; n + 3 < sizeof text; n += 3) memcpy(text + n, "\xe2\x82\xac", 3);
    text[n] = 0;
    show(text, (uint32_t)n);
  }
  memset(text, 0xff, sizeof text - 1);
  text[sizeof text - 1] = 0;
  show(text, sizeof text - 1);
}

static void says(const cai_interface *in, const char *what) {
  cai_array out;
  CHECK_FAILS(ANY, ANY,
              cai_interface_read(in, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &out, ERR));
  if (!CHECK(strstr(ERR->message, what) != NULL)) fprintf(stderr, "  %s\n", ERR->message);
}

static void test_values(void) {
  made_interface d;
  cai_value items[9], nested[5];
  cai_interface *in = make_interface(&d);
  int i;
  check_context = "values";
  in->typestr = make_bytes_of(CAI_FORM_TEXT, "\x01<\xff\xc3\xa9\x7f", 6);
  says(in, "'\\x01<\\xff\xc3\xa9\\x7f'");
  in = make_interface(&d);
  d.shape[1] = make_text("x");
  says(in, "shape[1]: expected an integer, got 'x'");
  in = make_interface(&d);
  d.shape[0] = make_text("x");
  says(in, "shape[0]: expected an integer, got 'x'");
  in = make_interface(&d);
  in->version = make_text("x");
  says(in, "version: expected an integer, got 'x'");
  in->version = make_form(CAI_FORM_DICT);
  says(in, "version: expected an integer, got a dict");
  in->version = make_form(CAI_FORM_DICT_SUBCLASS);
  says(in, "version: expected an integer, got a dict");
  /* As many items as are shown, one more, and as deep. */
  for (i = 0; i < 9; ++i) items[i] = make_int(i);
  in->version = make_items(CAI_FORM_TUPLE, items, 8);
  says(in, "version: expected an integer, got (0, 1, 2, 3, 4, 5, 6, 7)");
  in->version = make_items(CAI_FORM_LIST, items, 9);
  says(in, "version: expected an integer, got [0, 1, 2, 3, 4, 5, 6, 7, ...]");
  nested[0] = make_items(CAI_FORM_TUPLE, items, 1);
  for (i = 1; i < 5; ++i) nested[i] = make_items(CAI_FORM_TUPLE, &nested[i - 1], 1);
  in->version = nested[3];
  says(in, "version: expected an integer, got ((((0,),),),)");
  in->version = nested[4];
  says(in, "version: expected an integer, got (((((...),),),),)");
}

/* Integers of 10 000 digits, tuples of a thousand, and the largest of all. */
static void test_long(void) {
  static char digits[10001];
  static cai_value many[1000];
  made_interface d;
  cai_array out;
  cai_interface *in;
  int i;
  check_context = "long";
  memset(digits, '9', 10000);
  in = make_interface(&d);
  d.shape[0] = make_form(CAI_FORM_INT);
  d.shape[0].range = CAI_RANGE_BEYOND;
  d.shape[0].text = digits, d.shape[0].length = 10000;
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_SHAPE,
              cai_interface_read(in, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &out, ERR));
  d.shape[0].text = NULL, d.shape[0].length = 0;
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_SHAPE,
              cai_interface_read(in, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &out, ERR));
  in = make_interface(&d);
  for (i = 0; i < 1000; ++i) many[i] = make_int(INT64_MIN + i);
  in->strides = make_items(CAI_FORM_TUPLE, many, 1000);
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_STRIDES,
              cai_interface_read(in, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &out, ERR));
  in->shape = in->strides;
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_SHAPE,
              cai_interface_read(in, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &out, ERR));
}

static void test_index(void) {
  made_interface d;
  cai_array out;
  cai_interface *in = make_interface(&d);
  check_context = "index";
  d.shape[1] = make_int(-1);
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_SHAPE,
              cai_interface_read(in, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &out, ERR));
  CHECK(ERR->index == 1);
  make_interface(&d)->version = make_int(9);
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_VERSION,
              cai_interface_read(in, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &out, ERR));
  CHECK(ERR->index == -1);
}

/* What comes behind a text, or is cut off of it, is not shown. */
static void test_bounds_of_text(void) {
  made_interface d;
  cai_dtype dtype;
  char typestr[CAI_TYPESTR_SIZE];
  check_context = "bounds of text";
  make_interface(&d)->typestr = make_bytes_of(CAI_FORM_TEXT, "xyz", 2);
  says(&d.in, "'xy'");
  d.in.typestr = make_bytes_of(CAI_FORM_TEXT, "x\xc3\xa9", 2);
  says(&d.in, "'x\\xc3'");
  /* A character that does not show is a number. */
  memset(&dtype, 0, sizeof dtype);
  dtype.kind = ' ', dtype.itemsize = 4;
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR, cai_dtype_format(&dtype, typestr, ERR));
  CHECK(strstr(ERR->message, "kind 32, itemsize 4") != NULL);
  dtype.kind = 0x7F;
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR, cai_dtype_format(&dtype, typestr, ERR));
  CHECK(strstr(ERR->message, "kind 127, itemsize 4") != NULL);
  dtype.kind = '!';
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR, cai_dtype_format(&dtype, typestr, ERR));
  CHECK(strstr(ERR->message, "kind '!', itemsize 4") != NULL);
}

int main(void) {
  test_names();
  test_size();
  test_shown();
  test_text();
  test_bounds_of_text();
  test_values();
  test_long();
  test_index();
  return CHECK_RESULT();
}
