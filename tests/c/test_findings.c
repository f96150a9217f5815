/* SPDX-License-Identifier: BSD-3-Clause */
/* The callback of cai_interface_read(): every finding, each complete, and the verdict that follows
 * from them; the host protocol. */
#include "make.h"

typedef struct findings {
  int count, errors, warnings, advice;
  int of_entry[11]; /* errors */
  int warnings_of[11];
  int32_t first, first_status; /* the first error */
} findings;

static void take(void *context, const cai_finding *f) {
  findings *all = (findings *)context;
  ++all->count;
  CHECK(f->struct_size >= sizeof *f && f->reserved == 0 && f->index >= -1);
  if (!CHECK(f->severity >= CAI_SEVERITY_ERROR && f->severity <= CAI_SEVERITY_ADVICE)) return;
  if (!CHECK(f->entry >= CAI_ENTRY_INTERFACE && f->entry <= CAI_ENTRY_OFFSET)) return;
  CHECK(f->value != NULL && is_utf8(f->value, strlen(f->value)));
  CHECK(f->clause && f->clause[0] && is_utf8(f->clause, strlen(f->clause)));
  CHECK(f->text && f->text[0] && is_utf8(f->text, strlen(f->text)) && !strchr(f->text, '\n'));
  CHECK(strstr(f->text, cai_entry_name(f->entry)) != NULL);
  if (f->severity == CAI_SEVERITY_ERROR) {
    CHECK(f->status == CAI_ERR_VALUE || f->status == CAI_ERR_TYPE);
    if (!all->errors++) all->first = f->entry, all->first_status = f->status;
    ++all->of_entry[f->entry];
  } else {
    CHECK(f->status == 0);
    if (f->severity == CAI_SEVERITY_WARNING)
      ++all->warnings, ++all->warnings_of[f->entry];
    else
      ++all->advice;
  }
}

static uint64_t storage[1024];

/* Reads with the callback; the verdict is that of the errors, and the same without a callback. */
static findings judge(const cai_interface *in, uint32_t mode) {
  findings all;
  cai_array out;
  cai_status status, silent;
  memset(&all, 0, sizeof all);
  memset(&out, 0xA5, sizeof out);
  check_arm();
  status = cai_interface_read(in, mode, take, &all, storage, sizeof storage, &out, ERR);
  CHECK((status == CAI_OK) == (all.errors == 0));
  if (status) {
    CHECK(ERR->status == status && ERR->entry == all.first && status == all.first_status);
    CHECK(check_untouched(&out, sizeof out));
  } else {
    CHECK(check_untouched(ERR, sizeof *ERR));
    CHECK(out.abi_major == CAI_ABI_MAJOR && out.device_id <= 0);
  }
  silent = cai_interface_read(in, mode, NULL, NULL, storage, sizeof storage, &out, NULL);
  CHECK(silent == status);
  return all;
}

static void test_none(void) {
  made_interface d;
  findings f;
  check_context = "nothing to find";
  make_interface(&d);
  f = judge(&d.in, CAI_STRICT);
  CHECK(f.errors == 0 && f.warnings == 0);
  f = judge(&d.in, CAI_LENIENT);
  CHECK(f.errors == 0 && f.warnings == 0);
}

/* One dict with a fault in every entry: strict reading finds them all. */
static void test_many(void) {
  static cai_value strides[3];
  made_interface d;
  cai_interface *in = make_interface(&d);
  findings f;
  check_context = "many faults";
  in->shape.form = CAI_FORM_LIST;
  in->typestr = make_text("f4");
  in->data.form = CAI_FORM_LIST;
  strides[0] = strides[1] = make_int(4);
  in->strides = make_items(CAI_FORM_LIST, strides, 2);
  in->stream = make_int(0);
  in->mask = make_bool(1);
  in->descr = make_form(CAI_FORM_DICT);
  f = judge(in, CAI_STRICT);
  CHECK(f.of_entry[CAI_ENTRY_SHAPE] && f.of_entry[CAI_ENTRY_TYPESTR] &&
        f.of_entry[CAI_ENTRY_DATA] && f.of_entry[CAI_ENTRY_STRIDES] &&
        f.of_entry[CAI_ENTRY_STREAM] && f.of_entry[CAI_ENTRY_MASK] && f.of_entry[CAI_ENTRY_DESCR]);
  CHECK(!f.of_entry[CAI_ENTRY_VERSION] && !f.of_entry[CAI_ENTRY_INTERFACE] &&
        !f.of_entry[CAI_ENTRY_OFFSET]);
  f = judge(in, CAI_LENIENT); /* takes all but the mask and the descr */
  CHECK(f.errors == f.of_entry[CAI_ENTRY_MASK] + f.of_entry[CAI_ENTRY_DESCR]);
  CHECK(f.of_entry[CAI_ENTRY_MASK] && f.of_entry[CAI_ENTRY_DESCR]);
  check_context = "several faults of one entry";
  make_interface(&d);
  d.shape[0] = make_bool(1), d.shape[1] = make_int(-1);
  CHECK(judge(in, CAI_STRICT).of_entry[CAI_ENTRY_SHAPE] == 2);
  d.shape[0] = make_int(-1);
  CHECK(judge(in, CAI_STRICT).of_entry[CAI_ENTRY_SHAPE] == 2);
}

/* What hangs on an entry that is wrong is not judged by a guess at it. */
static void test_what_hangs_on_others(void) {
  made_interface d, mask;
  cai_interface *in = &d.in;
  findings f;
  check_context = "the fields of no type";
  make_interface(&d)->typestr = make_text("<f3");
  in->descr = make_form(CAI_FORM_DICT);
  f = judge(in, CAI_STRICT);
  CHECK(f.errors == 1 && f.of_entry[CAI_ENTRY_TYPESTR] == 1);
  check_context = "the mask of an array that is wrong";
  make_interface(&d)->stream = make_int(0);
  in->mask = make_form(CAI_FORM_INTERFACE);
  in->mask_interface = make_interface(&mask);
  mask.in.typestr = make_text("|V1");
  f = judge(in, CAI_STRICT);
  CHECK(f.errors == 1 && f.of_entry[CAI_ENTRY_STREAM] == 1);
  check_context = "an offset that is no int";
  make_interface(&d)->protocol = CAI_PROTOCOL_HOST;
  in->stream = make_form(CAI_FORM_MISSING);
  in->offset = make_form(CAI_FORM_INDEX);
  CHECK(judge(in, CAI_LENIENT).warnings_of[CAI_ENTRY_OFFSET] == 1);
  CHECK(judge(in, CAI_STRICT).of_entry[CAI_ENTRY_OFFSET] == 1);
  check_context = "bits are aligned anywhere";
  make_interface(&d)->mask = make_form(CAI_FORM_INTERFACE);
  in->mask_interface = make_interface(&mask);
  mask.in.typestr = make_text("|t1");
  mask.data[0] = make_uint(ADDRESS + 1);
  f = judge(in, CAI_STRICT);
  CHECK(f.errors == 0 && f.advice == 0);
}

/* The address is not judged by an extent that there is none of, nor by what is no address. */
static void test_what_hangs_on_the_layout(void) {
  static cai_value strides[2];
  made_interface d;
  cai_interface *in = &d.in;
  findings f;
  int32_t i;
  for (i = 0; i < 6; ++i) {
    make_interface(&d);
    if (i % 2) d.data[0] = make_uint(0);
    strides[0] = make_int(12), strides[1] = make_int(4);
    check_context = "too large";
    if (i < 4) d.shape[0] = d.shape[1] = make_int(INT64_C(1) << 62);
    if (i >= 2) in->strides = make_items(CAI_FORM_TUPLE, strides, 2);
    if (i >= 4) check_context = "too far", strides[0] = make_int(INT64_MAX);
    f = judge(in, CAI_LENIENT);
    CHECK(f.errors == 1 && f.warnings == 0 && !f.of_entry[CAI_ENTRY_DATA]);
  }
  check_context = "no shape";
  make_interface(&d)->shape = make_form(CAI_FORM_OBJECT);
  strides[0] = make_int(12);
  in->strides = make_items(CAI_FORM_TUPLE, strides, 2);
  f = judge(in, CAI_LENIENT);
  CHECK(f.errors == 1 && f.of_entry[CAI_ENTRY_SHAPE] == 1);
  check_context = "no address";
  make_interface(&d), d.data[0] = make_form(CAI_FORM_OBJECT);
  f = judge(in, CAI_LENIENT);
  CHECK(f.errors == 1 && f.of_entry[CAI_ENTRY_DATA] == 1);
  check_context = "advice is for what is right";
  make_interface(&d), d.data[0] = make_uint(ADDRESS + 1);
  CHECK(judge(in, CAI_LENIENT).advice == 1);
  in->stream = make_text("1");
  f = judge(in, CAI_LENIENT);
  CHECK(f.errors == 1 && f.advice == 0);
}

/* What lenient reading takes though the text says otherwise, it says: a warning of that entry. */
static void test_warnings(void) {
  made_interface d;
  cai_value strides[2];
  cai_interface *in = &d.in;
  check_context = "warnings";
#define WARNS(which)                                                              \
  do {                                                                            \
    findings lenient = judge(in, CAI_LENIENT), strict = judge(in, CAI_STRICT);    \
    CHECK(lenient.errors == 0 && lenient.warnings_of[which] > 0);                 \
    CHECK(strict.of_entry[which] > 0 && strict.errors == strict.of_entry[which]); \
  } while (0)
  make_interface(&d)->shape.form = CAI_FORM_LIST;
  WARNS(CAI_ENTRY_SHAPE);
  make_interface(&d)->shape.form = CAI_FORM_TUPLE_SUBCLASS;
  CHECK(judge(in, CAI_LENIENT).errors == 0);
  make_interface(&d), d.shape[0].form = CAI_FORM_INDEX;
  WARNS(CAI_ENTRY_SHAPE);
  strides[0] = make_int(12), strides[1] = make_int(4);
  make_interface(&d)->strides = make_items(CAI_FORM_LIST, strides, 2);
  WARNS(CAI_ENTRY_STRIDES);
  make_interface(&d)->typestr = make_text("=f4");
  WARNS(CAI_ENTRY_TYPESTR);
  make_interface(&d)->data.form = CAI_FORM_LIST;
  WARNS(CAI_ENTRY_DATA);
  make_interface(&d), d.data[1] = make_int(1);
  WARNS(CAI_ENTRY_DATA);
  make_interface(&d)->stream = make_int(0);
  WARNS(CAI_ENTRY_STREAM);
  make_interface(&d)->version = make_int(2), in->stream = make_form(CAI_FORM_MISSING);
  WARNS(CAI_ENTRY_VERSION);
  make_interface(&d)->dict.form = CAI_FORM_DICT_SUBCLASS;
  CHECK(judge(in, CAI_LENIENT).errors == 0);
  make_interface(&d)->dict.form = CAI_FORM_MAPPING;
  WARNS(CAI_ENTRY_INTERFACE);
  make_interface(&d)->typestr = make_text("<f04");
  WARNS(CAI_ENTRY_TYPESTR);
  make_interface(&d)->typestr.form = CAI_FORM_TEXT_SUBCLASS;
  CHECK(judge(in, CAI_LENIENT).errors == 0);
}

/* The dict of an array is read as an array of the same type. */
static void check_kept_by_a_dict(const cai_array *array) {
  static uint64_t written[64], read[64];
  cai_interface dict;
  cai_array again;
  const uint64_t size = cai_interface_write_storage(array);
  dict.struct_size = sizeof dict;
  if (!CHECK(size <= sizeof written)) return;
  CHECK_FAILS(CAI_ERR_STORAGE, ANY, cai_interface_write(array, 3, written, size - 1, &dict, ERR));
  if (!CHECK_OK(cai_interface_write(array, 3, written, size, &dict, ERR))) return;
  CHECK((dict.descr.form != CAI_FORM_MISSING) == (array->descr || array->dtype.ext));
  CHECK_OK(cai_interface_read(&dict, CAI_STRICT, NULL, NULL, read, sizeof read, &again, ERR));
  CHECK(again.dtype.ext == array->dtype.ext && again.descr_count == array->descr_count);
}

/* A descr of one field that names the type of one or two void bytes. */
static void test_named_types(void) {
  static const struct {
    const char *typestr, *name, *format;
    uint8_t ext;
  } types[] = {{"<V2", "bfloat16", "<V2", CAI_EXT_BFLOAT16},
               {"|V2", "bfloat16", "|V2", CAI_EXT_BFLOAT16},
               {">V2", "bfloat16", ">V2", CAI_EXT_NONE},
               {">V2", "bfloat16", "<V2", CAI_EXT_NONE},
               {"<V2", "bfloat16", ">V2", CAI_EXT_NONE},
               {">V1", "float8_e5m2", ">V1", CAI_EXT_FLOAT8_E5M2},
               {"|V1", "float8_e4m3fn", "|V1", CAI_EXT_FLOAT8_E4M3FN},
               {"|V1", "float8_e5m2", "|V1", CAI_EXT_FLOAT8_E5M2},
               {"|V1", "float8_e8m0fnu", "|V1", CAI_EXT_FLOAT8_E8M0FNU},
               {"|V1", "bfloat16", "|V1", CAI_EXT_NONE},
               {"<V2", "float8_e5m2", "<V2", CAI_EXT_NONE},
               {"<V2", "bfloat", "<V2", CAI_EXT_NONE},
               {"<V2", "", "<V2", CAI_EXT_NONE},
               {"<V2", "bfloat16", "<u2", CAI_EXT_NONE},
               {"<u2", "bfloat16", "<u2", CAI_EXT_NONE}};
  int i;
  for (i = 0; i < COUNT(types); ++i) {
    made_interface d;
    cai_array out;
    char typestr[CAI_TYPESTR_SIZE];
    cai_value parts[2], field;
    int is_other;
    check_context = types[i].name;
    parts[0] = make_text(types[i].name), parts[1] = make_text(types[i].format);
    field = make_items(CAI_FORM_TUPLE, parts, 2);
    make_interface(&d)->typestr = make_text(types[i].typestr);
    d.in.descr = make_items(CAI_FORM_LIST, &field, 1);
    CHECK_OK(cai_interface_read(&d.in, CAI_STRICT, NULL, NULL, storage, sizeof storage, &out, ERR));
    CHECK(out.dtype.ext == types[i].ext);
    is_other = strcmp(types[i].name, "bfloat16") == 0 &&
               (types[i].typestr[0] == '>' || types[i].format[0] == '>');
    CHECK((out.descr == NULL) == (out.dtype.ext || is_other || !types[i].name[0]));
    CHECK_OK(cai_array_validate(&out, ERR));
    CHECK_OK(cai_dtype_format(&out.dtype, typestr, ERR));
    if (out.dtype.ext == CAI_EXT_BFLOAT16) CHECK(strcmp(typestr, "<V2") == 0);
    check_kept_by_a_dict(&out);
  }
}

/* "of a mask's own dict, always CAI_ENTRY_MASK" */
static void test_mask(void) {
  made_interface d, k;
  findings f;
  check_context = "mask";
  make_interface(&d)->mask = make_form(CAI_FORM_INTERFACE);
  d.in.mask_interface = make_interface(&k);
  k.in.typestr = make_text("|b1");
  f = judge(&d.in, CAI_STRICT);
  CHECK(f.errors == 0);
  k.in.shape.form = CAI_FORM_LIST, k.in.typestr = make_text("b1"), k.in.stream = make_int(0);
  f = judge(&d.in, CAI_LENIENT);
  CHECK(f.errors == 0 && f.warnings > 0 && f.warnings == f.warnings_of[CAI_ENTRY_MASK]);
  f = judge(&d.in, CAI_STRICT);
  CHECK(f.errors >= 3 && f.errors == f.of_entry[CAI_ENTRY_MASK]);
  check_context = "mask of floats";
  make_interface(&k)->typestr = make_text("<f4");
  f = judge(&d.in, CAI_STRICT);
  CHECK(f.errors == 0 && f.warnings == 0 && f.advice == 1);
  k.in.typestr = make_text("|u1");
  f = judge(&d.in, CAI_STRICT);
  CHECK(f.count == 0);
  check_context = "mask that holds itself";
  make_interface(&k)->typestr = make_text("|b1");
  k.in.mask = make_form(CAI_FORM_INTERFACE), k.in.mask_interface = &k.in;
  f = judge(&d.in, CAI_LENIENT);
  CHECK(f.of_entry[CAI_ENTRY_MASK] > 0);
  d.in.mask_interface = &d.in;
  f = judge(&d.in, CAI_STRICT);
  CHECK(f.of_entry[CAI_ENTRY_MASK] > 0);
  CHECK(cai_interface_storage(&d.in) < sizeof storage);
  check_context = "INTERFACE without one";
  d.in.mask_interface = NULL;
  (void)judge(&d.in, CAI_LENIENT);
}

/* NumPy's dict: the same reader, device CPU, no stream, no offset. */
static void test_host(void) {
  made_interface d;
  cai_array out;
  cai_interface *in = make_interface(&d), written;
  static uint64_t more[512];
  check_context = "host";
  in->protocol = CAI_PROTOCOL_HOST;
  in->stream = make_form(CAI_FORM_MISSING);
  CHECK_OK(cai_interface_read(in, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &out, ERR));
  CHECK(out.device_type == CAI_DEVICE_CPU && out.device_id == 0 &&
        out.stream_kind == CAI_STREAM_NONE);
  written.struct_size = sizeof written;
  CHECK_OK(cai_interface_write(&out, 3, more, sizeof more, &written, ERR));
  CHECK(written.protocol == CAI_PROTOCOL_HOST && written.stream.form == CAI_FORM_MISSING);
  CHECK(judge(in, CAI_STRICT).errors == 0);
  d.shape[0] = make_int(0); /* NumPy's arrays without elements have an address */
  CHECK(judge(in, CAI_STRICT).errors == 0 && judge(in, CAI_LENIENT).warnings == 0);
  CHECK_OK(cai_interface_read(in, CAI_STRICT, NULL, NULL, storage, sizeof storage, &out, ERR));
  CHECK(out.data == 0);
  d.shape[0] = make_int(2);
  in->offset = make_int(4);
  CHECK(judge(in, CAI_LENIENT).of_entry[CAI_ENTRY_OFFSET] > 0);
  in->offset = make_form(CAI_FORM_MISSING);
  in->data = make_form(CAI_FORM_OBJECT); /* a buffer */
  CHECK(judge(in, CAI_LENIENT).of_entry[CAI_ENTRY_DATA] > 0);
  in->data = make_form(CAI_FORM_MISSING);
  CHECK(judge(in, CAI_LENIENT).of_entry[CAI_ENTRY_DATA] > 0);
}

/* [("a", "<i4"), ("", "|V4"), (("the title", "b"), "<f8"), ("p", [("x", ">f4"), ("y", "|u1", (2,
 * 2))], (2,))] */
static void test_descr(void) {
  cai_value a[2], pad[2], title[2], b[2], x[2], y[3], dims[2], inner[2], p[3], once[1], all[4];
  made_interface d;
  cai_array out;
  const cai_field *f;
  check_context = "descr";
  make_interface(&d)->typestr = make_text("|V32");
  a[0] = make_text("a"), a[1] = make_text("<i4");
  pad[0] = make_text(""), pad[1] = make_text("|V4");
  title[0] = make_text("the title"), title[1] = make_text("b");
  b[0] = make_items(CAI_FORM_TUPLE, title, 2), b[1] = make_text("<f8");
  x[0] = make_text("x"), x[1] = make_text(">f4");
  dims[0] = dims[1] = make_int(2);
  y[0] = make_text("y"), y[1] = make_text("|u1"), y[2] = make_items(CAI_FORM_TUPLE, dims, 2);
  inner[0] = make_items(CAI_FORM_TUPLE, x, 2), inner[1] = make_items(CAI_FORM_TUPLE, y, 3);
  once[0] = make_int(2);
  p[0] = make_text("p"), p[1] = make_items(CAI_FORM_LIST, inner, 2),
  p[2] = make_items(CAI_FORM_TUPLE, once, 1);
  all[0] = make_items(CAI_FORM_TUPLE, a, 2), all[1] = make_items(CAI_FORM_TUPLE, pad, 2);
  all[2] = make_items(CAI_FORM_TUPLE, b, 2), all[3] = make_items(CAI_FORM_TUPLE, p, 3);
  d.in.descr = make_items(CAI_FORM_LIST, all, 4);
  if (!CHECK_OK(
          cai_interface_read(&d.in, CAI_STRICT, NULL, NULL, storage, sizeof storage, &out, ERR)))
    return;
  f = out.descr;
  if (!CHECK(f && out.descr_count == 4)) return;
  CHECK(!strcmp(f[0].name, "a") && f[0].offset == 0 && f[0].dtype.kind == 'i' && !f[0].title &&
        !f[0].fields);
  CHECK(!strcmp(f[1].name, "") && f[1].offset == 4 && f[1].dtype.kind == 'V' &&
        f[1].dtype.itemsize == 4);
  CHECK(!strcmp(f[2].name, "b") && f[2].title && !strcmp(f[2].title, "the title") &&
        f[2].offset == 8);
  CHECK(!strcmp(f[3].name, "p") && f[3].offset == 16 && f[3].dtype.kind == 'V' &&
        f[3].dtype.itemsize == 8);
  CHECK(f[3].ndim == 1 && f[3].shape && f[3].shape[0] == 2);
  if (!CHECK(f[3].fields && f[3].field_count == 2)) return;
  f = f[3].fields;
  CHECK(!strcmp(f[0].name, "x") && f[0].offset == 0 && f[0].dtype.byteorder == '>' &&
        f[0].ndim == 0 && !f[0].shape);
  CHECK(!strcmp(f[1].name, "y") && f[1].offset == 4 && f[1].dtype.itemsize == 1 && f[1].ndim == 2);
  CHECK(f[1].shape && f[1].shape[0] == 2 && f[1].shape[1] == 2);
  CHECK_OK(cai_array_validate(&out, ERR));
  check_context = "trivial descr";
  a[0] = make_text(""), a[1] = make_text("<f4");
  make_interface(&d)->descr = make_items(CAI_FORM_LIST, all, 1);
  CHECK_OK(cai_interface_read(&d.in, CAI_STRICT, NULL, NULL, storage, sizeof storage, &out, ERR));
  CHECK(!out.descr && out.descr_count == 0); /* "NULL if it says no more than typestr" */
}

/* The fault of [first, ("good", "<i4")] is told of once: what hangs on it is not judged, though
 * nothing adds up to 9 bytes. */
static void told_once(const char *what, cai_value first) {
  made_interface d;
  findings f;
  cai_value good[2], all[2];
  check_context = what;
  good[0] = make_text("good"), good[1] = make_text("<i4");
  all[0] = first, all[1] = make_items(CAI_FORM_TUPLE, good, 2);
  make_interface(&d)->typestr = make_text("|V9");
  d.in.descr = make_items(CAI_FORM_LIST, all, 2);
  f = judge(&d.in, CAI_LENIENT);
  CHECK(f.errors == 1 && f.of_entry[CAI_ENTRY_DESCR] == 1);
}

static cai_value make_field(cai_value *parts, cai_value name, cai_value format) {
  parts[0] = name, parts[1] = format;
  return make_items(CAI_FORM_TUPLE, parts, 2);
}

static void test_faulty_fields(void) {
  const cai_value a = make_text("a"), i4 = make_text("<i4");
  cai_value parts[4], names[3], extents[CAI_MAX_NDIM + 1], nested_parts[2], nested, field;
  cai_value levels[CAI_MAX_DESCR_DEPTH + 1], deep[CAI_MAX_DESCR_DEPTH + 1][2];
  int32_t i;
  for (i = 0; i <= CAI_MAX_NDIM; ++i) extents[i] = make_int(1);
  told_once("no field", make_int(1));
  field = make_field(parts, a, i4), field.length = 1;
  told_once("a name alone", field);
  field.length = 4, parts[2] = make_items(CAI_FORM_TUPLE, extents, 1), parts[3] = i4;
  told_once("four items", field);
  told_once("a name of bytes", make_field(parts, make_bytes_of(CAI_FORM_BYTES, "a", 1), i4));
  told_once("a name with a NUL", make_field(parts, make_bytes_of(CAI_FORM_TEXT, "a\0b", 3), i4));
  told_once("a name that is not UTF-8",
            make_field(parts, make_bytes_of(CAI_FORM_TEXT, "\xFF", 1), i4));
  names[0] = names[1] = names[2] = a;
  told_once("three names", make_field(parts, make_items(CAI_FORM_TUPLE, names, 3), i4));
  names[0] = make_int(1);
  told_once("a title that is no string",
            make_field(parts, make_items(CAI_FORM_TUPLE, names, 2), i4));
  told_once("two of a name", make_field(parts, make_text("good"), i4));
  told_once("no format", make_field(parts, a, make_int(4)));
  told_once("no typestr", make_field(parts, a, make_text("<i3")));
  told_once("bits", make_field(parts, a, make_text("|t32")));
  told_once("fields in a tuple", make_field(parts, a, make_items(CAI_FORM_TUPLE, names, 1)));
  told_once("no fields", make_field(parts, a, make_items(CAI_FORM_LIST, NULL, 0)));
  nested = make_field(nested_parts, a, make_text("<i3"));
  told_once("a fault within", make_field(parts, a, make_items(CAI_FORM_LIST, &nested, 1)));
  for (i = 0; i <= CAI_MAX_DESCR_DEPTH; ++i) {
    levels[i] = make_field(deep[i], a, i ? make_items(CAI_FORM_LIST, &levels[i - 1], 1) : i4);
  }
  told_once("too deep", levels[CAI_MAX_DESCR_DEPTH]);
  told_once("too large", make_field(parts, a, make_text("|V4294967292")));
  field = make_field(parts, a, i4), field.length = 3;
  parts[2] = make_items(CAI_FORM_TUPLE, extents, CAI_MAX_NDIM + 1);
  told_once("too many dimensions", field);
  parts[2].length = 2;
  extents[0] = make_int(-1);
  told_once("an extent below 0", field);
  extents[0] = make_bool(1);
  told_once("an extent that is a bool", field);
  extents[0] = make_uint(UINT64_MAX);
  told_once("an extent beyond", field);
}

/* What is just allowed: extents of 0, as many dimensions as there may be; and fields. */
static void test_bounds_of_fields(void) {
  static cai_value fields[CAI_MAX_DESCR_FIELDS], parts[CAI_MAX_DESCR_FIELDS][3];
  static char names[CAI_MAX_DESCR_FIELDS][8];
  static uint64_t more[CAI_MAX_DESCR_FIELDS * (sizeof(cai_field) + 16) / 8], written[2048];
  cai_value extents[CAI_MAX_NDIM];
  made_interface d;
  cai_interface out_interface;
  cai_array out;
  uint64_t size;
  int32_t i;
  check_context = "bounds of fields";
  for (i = 0; i < CAI_MAX_NDIM; ++i) extents[i] = make_int(i ? 1 : 0);
  for (i = 0; i < CAI_MAX_DESCR_FIELDS; ++i) {
    snprintf(names[i], sizeof names[i], "%x", (unsigned)i);
    fields[i] = make_field(parts[i], make_text(names[i]), make_text("|u1"));
  }
  make_interface(&d)->typestr = make_text("|V1");
  parts[0][0] = make_bytes_of(CAI_FORM_TEXT, "0\xFF", 1); /* that is behind it */
  parts[0][2] = make_items(CAI_FORM_TUPLE, extents, CAI_MAX_NDIM);
  d.in.descr = make_items(CAI_FORM_LIST, fields, 2);
  size = cai_interface_storage(&d.in);
  fields[0].length = 3;
  CHECK(cai_interface_storage(&d.in) == size + CAI_MAX_NDIM * sizeof(int64_t));
  CHECK_OK(cai_interface_read(&d.in, CAI_STRICT, NULL, NULL, storage, sizeof storage, &out, ERR));
  CHECK(out.descr && out.descr[0].ndim == CAI_MAX_NDIM && out.descr[0].shape[0] == 0);
  CHECK_OK(cai_array_validate(&out, ERR));
  /* The storage that is asked for is enough. */
  size = cai_interface_write_storage(&out);
  out_interface.struct_size = sizeof out_interface;
  if (!CHECK(size <= sizeof written)) return;
  CHECK_OK(cai_interface_write(&out, 3, written, size, &out_interface, ERR));

  check_context = "as many fields as there may be";
  fields[0].length = 2;
  make_interface(&d)->typestr = make_text("|V65536");
  d.in.descr = make_items(CAI_FORM_LIST, fields, CAI_MAX_DESCR_FIELDS);
  size = cai_interface_storage(&d.in);
  if (!CHECK(size <= sizeof more)) return;
  CHECK_OK(cai_interface_read(&d.in, CAI_STRICT, NULL, NULL, more, size, &out, ERR));
  CHECK(out.descr_count == CAI_MAX_DESCR_FIELDS);
  CHECK_OK(cai_array_validate(&out, ERR));
}

/* NumPy's text has such: [("real", "<f4"), ("imag", "<f4")] of "<c8". typestr is the truth. */
static void test_descr_of_any_kind(void) {
  static const char *const typestrs[] = {"<c8", ">c8",     "<f8", "<i8",
                                         ">u8", "<M8[ns]", "|S8", "<U2"};
  static uint64_t written[256];
  cai_value real[2], imaginary[2], both[2];
  cai_interface out_interface;
  made_interface d;
  cai_array out;
  int i;
  real[0] = make_text("real"), imaginary[0] = make_text("imag");
  real[1] = imaginary[1] = make_text("<f4");
  both[0] = make_items(CAI_FORM_TUPLE, real, 2), both[1] = make_items(CAI_FORM_TUPLE, imaginary, 2);
  for (i = 0; i < COUNT(typestrs); ++i) {
    check_context = typestrs[i];
    make_interface(&d)->typestr = make_text(typestrs[i]);
    d.in.descr = make_items(CAI_FORM_LIST, both, 2);
    CHECK_OK(cai_interface_read(&d.in, CAI_STRICT, NULL, NULL, storage, sizeof storage, &out, ERR));
    CHECK(out.dtype.kind == (uint8_t)typestrs[i][1] && out.dtype.itemsize == 8);
    if (!CHECK(out.descr && out.descr_count == 2)) continue;
    CHECK(!strcmp(out.descr[1].name, "imag") && out.descr[1].offset == 4);
    CHECK_OK(cai_array_validate(&out, ERR));
    out_interface.struct_size = sizeof out_interface;
    CHECK_OK(cai_interface_write(&out, 3, written, sizeof written, &out_interface, ERR));
    CHECK(out_interface.descr.form == CAI_FORM_LIST && out_interface.descr.length == 2);
    d.in.descr.length = 1;
    CHECK_FAILS(
        CAI_ERR_VALUE, CAI_ENTRY_DESCR,
        cai_interface_read(&d.in, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &out, ERR));
  }
}

/* 0 and 1 are certain in meaning, and nothing else that is no bool. */
static void test_readonly(void) {
  made_interface d;
  cai_array out;
  int i;
  check_context = "read-only flag";
  for (i = -1; i < 4; ++i) {
    make_interface(&d);
    d.data[1] = make_int(i);
    CHECK_FAILS(
        CAI_ERR_TYPE, CAI_ENTRY_DATA,
        cai_interface_read(&d.in, CAI_STRICT, NULL, NULL, storage, sizeof storage, &out, ERR));
    if (i == 0 || i == 1) {
      CHECK_OK(
          cai_interface_read(&d.in, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &out, ERR));
      CHECK(out.flags == (CAI_FLAG_STRIDES_NONE | (i ? (uint32_t)CAI_FLAG_READONLY : 0)));
    } else {
      CHECK_FAILS(
          CAI_ERR_TYPE, CAI_ENTRY_DATA,
          cai_interface_read(&d.in, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &out, ERR));
    }
  }
}

/* Each part of a descr that has a meaning but not the form that the text asks for. */
static void test_descr_forms(void) {
  static const struct {
    uint8_t field, title, dims, text;
  } rows[] = {{CAI_FORM_LIST, CAI_FORM_TUPLE, CAI_FORM_TUPLE, CAI_FORM_TEXT},
              {CAI_FORM_TUPLE, CAI_FORM_LIST, CAI_FORM_TUPLE, CAI_FORM_TEXT},
              {CAI_FORM_TUPLE, CAI_FORM_TUPLE, CAI_FORM_LIST, CAI_FORM_TEXT},
              {CAI_FORM_TUPLE, CAI_FORM_TUPLE, CAI_FORM_INT, CAI_FORM_TEXT},
              {CAI_FORM_TUPLE, CAI_FORM_TUPLE, CAI_FORM_INDEX, CAI_FORM_TEXT},
              {CAI_FORM_TUPLE, CAI_FORM_TUPLE, CAI_FORM_TUPLE, CAI_FORM_TEXT_SUBCLASS}};
  int i;
  for (i = 0; i < COUNT(rows); ++i) {
    cai_value title[2], dims[1], parts[3], field;
    made_interface d;
    cai_array out;
    check_context = "forms in descr";
    make_interface(&d)->typestr = make_text("|V8");
    title[0] = make_text("the title"), title[1] = make_text("name"), dims[0] = make_int(2);
    title[1].form = rows[i].text;
    parts[0] = make_items(rows[i].title, title, 2), parts[1] = make_text("<f4");
    parts[2] = make_items(rows[i].dims, dims, 1);
    if (rows[i].dims == CAI_FORM_INT || rows[i].dims == CAI_FORM_INDEX)
      parts[2] = dims[0], parts[2].form = rows[i].dims;
    field = make_items(rows[i].field, parts, 3);
    d.in.descr = make_items(CAI_FORM_LIST, &field, 1);
    CHECK_FAILS(
        CAI_ERR_TYPE, CAI_ENTRY_DESCR,
        cai_interface_read(&d.in, CAI_STRICT, NULL, NULL, storage, sizeof storage, &out, ERR));
    CHECK(ERR->index == 0);
    if (!CHECK_OK(
            cai_interface_read(&d.in, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &out, ERR)))
      continue;
    CHECK(out.descr_count == 1 && !strcmp(out.descr->name, "name") &&
          !strcmp(out.descr->title, "the title"));
    CHECK(out.descr->ndim == 1 && out.descr->shape[0] == 2);
  }
}

/* Lists that are shared, not copied: two ways at each of 60 levels. */
static void test_shared_descr(void) {
  static cai_value lists[60][2], fields[60][2][3];
  cai_value none = make_int(0);
  made_interface d;
  cai_array out;
  uint64_t size;
  void *room;
  int i, k;
  check_context = "descr of 2^60 fields";
  make_interface(&d)->typestr = make_text("|V4");
  for (i = 0; i < 60; ++i) {
    for (k = 0; k < 2; ++k) {
      fields[i][k][0] = make_text(k ? "y" : "x");
      fields[i][k][1] = i < 59 ? make_items(CAI_FORM_LIST, lists[i + 1], 2) : make_text("<f4");
      fields[i][k][2] =
          make_items(CAI_FORM_TUPLE, &none, 1); /* x takes no bytes, y those of its list */
      lists[i][k] = make_items(CAI_FORM_TUPLE, fields[i][k], k ? 2 : 3);
    }
  }
  d.in.descr = make_items(CAI_FORM_LIST, lists[0], 2);
  size = cai_interface_storage(&d.in);
  room = malloc(size);
  if (!CHECK(room != NULL)) return;
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_DESCR,
              cai_interface_read(&d.in, CAI_LENIENT, NULL, NULL, room, size, &out, ERR));
  free(room);
}

/* What cannot be said in a dict. */
static void test_export(void) {
  static const int64_t shape[] = {2, 3};
  made m, mask;
  cai_interface out;
  cai_array *a;
  check_context = "export";
  memset(&out, 0xA5, sizeof out);
  a = make(&m, "<f4", 2, shape, NULL);
  a->stream_kind = CAI_STREAM_EVENT, a->stream = 4096;
  CHECK_FAILS(CAI_ERR_EXPORT, ANY, cai_interface_write(a, 3, storage, sizeof storage, &out, ERR));
  CHECK_FAILS(CAI_ERR_EXPORT, ANY, cai_interface_write(a, 2, storage, sizeof storage, &out, ERR));
  a->stream_kind = CAI_STREAM_STREAM;
  CHECK_FAILS(CAI_ERR_EXPORT, ANY, cai_interface_write(a, 2, storage, sizeof storage, &out, ERR));
  a = make(&m, "<f4", 2, shape, NULL);
  a->device_type = CAI_DEVICE_ROCM;
  CHECK_FAILS(CAI_ERR_EXPORT, ANY, cai_interface_write(a, 3, storage, sizeof storage, &out, ERR));
  a = make(&m, "<f4", 2, shape, NULL);
  make(&mask, "|b1", 2, shape, NULL);
  make_mask(&m, &mask);
  mask.array.stream_kind = CAI_STREAM_EVENT, mask.array.stream = 4096;
  CHECK_FAILS(CAI_ERR_EXPORT, ANY, cai_interface_write(a, 3, storage, sizeof storage, &out, ERR));
  CHECK(check_untouched(&out, sizeof out));
  check_context = "export of managed and pinned memory";
  a = make(&m, "<f4", 2, shape, NULL);
  a->device_type = CAI_DEVICE_CUDA_MANAGED;
  CHECK_OK(cai_interface_write(a, 3, storage, sizeof storage, &out, ERR));
  CHECK(out.protocol == CAI_PROTOCOL_CUDA);
  a->device_type = CAI_DEVICE_CUDA_HOST;
  CHECK_OK(cai_interface_write(a, 3, storage, sizeof storage, &out, ERR));
  CHECK(out.protocol == CAI_PROTOCOL_CUDA);
  check_context = "export of bfloat16";
  a = make(&m, "<V2", 2, shape, NULL);
  a->dtype.ext = CAI_EXT_BFLOAT16;
  CHECK_OK(cai_interface_write(a, 3, storage, sizeof storage, &out, ERR));
  CHECK(out.typestr.length == 3 && memcmp(out.typestr.text, "<V2", 3) == 0);
}

int main(void) {
  test_none();
  test_many();
  test_what_hangs_on_others();
  test_what_hangs_on_the_layout();
  test_warnings();
  test_named_types();
  test_mask();
  test_host();
  test_descr();
  test_faulty_fields();
  test_bounds_of_fields();
  test_descr_of_any_kind();
  test_readonly();
  test_descr_forms();
  test_shared_descr();
  test_export();
  return CHECK_RESULT();
}
