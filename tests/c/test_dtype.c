/* SPDX-License-Identifier: BSD-3-Clause */
/* cai_dtype_parse() and cai_dtype_format(): every kind, size, unit and order; refusals. */
#include "make.h"

static void taken(const char *text, char kind, char byteorder, uint32_t itemsize,
                  const char *canonical) {
  cai_dtype dtype, again;
  char out[CAI_TYPESTR_SIZE];
  check_context = text;
  memset(&dtype, 0xA5, sizeof dtype);
  if (!CHECK_OK(cai_dtype_parse(text, strlen(text), &dtype, ERR))) return;
  CHECK(dtype.kind == (uint8_t)kind && dtype.byteorder == (uint8_t)byteorder);
  CHECK(dtype.itemsize == itemsize && dtype.ext == CAI_EXT_NONE);
  if (kind != 'm' && kind != 'M') CHECK(dtype.time_unit == 0 && dtype.time_step == 0);
  memset(out, 0xA5, sizeof out);
  if (!CHECK_OK(cai_dtype_format(&dtype, out, ERR))) return;
  CHECK(memchr(out, 0, sizeof out) != NULL);
  if (!CHECK(strcmp(out, canonical) == 0))
    fprintf(stderr, "  \"%s\", not \"%s\"\n", out, canonical);
  CHECK_OK(cai_dtype_parse(out, strlen(out), &again, ERR));
  CHECK(memcmp(&dtype, &again, sizeof dtype) == 0);
}

/* Parsing must not read beyond `length`, so the bytes come in a block of their own. */
static void refused_bytes(const char *bytes, size_t length) {
  cai_dtype dtype;
  char *copy = (char *)malloc(length ? length : 1);
  MUST_HOLD(copy);
  memcpy(copy, bytes, length);
  memset(&dtype, 0xA5, sizeof dtype);
  if (CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR, cai_dtype_parse(copy, length, &dtype, ERR))) {
    CHECK(strstr(ERR->message, "typestr") != NULL);
    if (length < 100 && is_utf8(bytes, length) && !memchr(bytes, 0, length) &&
        !memchr(bytes, '\n', length)) {
      CHECK(strstr(ERR->message, check_context) != NULL);
    }
  }
  CHECK(check_untouched(&dtype, sizeof dtype));
  free(copy);
}

static void refused(const char *text) {
  check_context = text;
  refused_bytes(text, strlen(text));
}

static void test_plain(void) {
  static const struct {
    char kind;
    uint32_t size;
  } types[] = {{'b', 1}, {'i', 1}, {'i', 2}, {'i', 4}, {'i', 8},  {'u', 1}, {'u', 2},  {'u', 4},
               {'u', 8}, {'f', 2}, {'f', 4}, {'f', 8}, {'f', 16}, {'c', 8}, {'c', 16}, {'c', 32}};
  int i;
  for (i = 0; i < COUNT(types); ++i) {
    static const char orders[] = "<>=|";
    char text[16], canonical[16];
    int k;
    for (k = 0; k < 5; ++k) {
      char order = orders[k], leaves = types[i].size == 1 ? '|' : order == '>' ? '>' : '<';
      snprintf(canonical, sizeof canonical, "%c%c%u", leaves, types[i].kind,
               (unsigned)types[i].size);
      if (order)
        snprintf(text, sizeof text, "%c%c%u", order, types[i].kind, (unsigned)types[i].size);
      else
        snprintf(text, sizeof text, "%c%u", types[i].kind, (unsigned)types[i].size);
      taken(text, types[i].kind, leaves, types[i].size, canonical);
    }
  }
  taken("|S1", 'S', '|', 1, "|S1");
  taken("|S9", 'S', '|', 9, "|S9");
  taken("|S10", 'S', '|', 10, "|S10");
  taken("<S7", 'S', '|', 7, "|S7");
  taken(">S7", 'S', '|', 7, "|S7");
  taken("S7", 'S', '|', 7, "|S7");
  taken("|S2147483647", 'S', '|', 2147483647, "|S2147483647");
  taken("|S4294967295", 'S', '|', 4294967295U, "|S4294967295");
  taken("<U1073741823", 'U', '<', 4294967292U, "<U1073741823");
  taken("|V1", 'V', '|', 1, "|V1");
  taken("<V2", 'V', '|', 2, "|V2");
  taken("|V16", 'V', '|', 16, "|V16");
  taken("<U1", 'U', '<', 4, "<U1");
  taken(">U4", 'U', '>', 16, ">U4");
  taken("U4", 'U', '<', 16, "<U4");
  taken("<U536870911", 'U', '<', 2147483644, "<U536870911");
  taken("|t1", 't', '|', 1, "|t1");
}

static void test_time(void) {
  static const char *const units[] = {NULL, "Y",  "M",  "W",  "D",  "h",  "m",
                                      "s",  "ms", "us", "ns", "ps", "fs", "as"};
  int kind, unit, step;
  for (kind = 0; kind < 2; ++kind) {
    char letter = kind ? 'M' : 'm';
    for (unit = CAI_TIME_GENERIC; unit <= CAI_TIME_AS; ++unit) {
      for (step = 0; step < 4; ++step) {
        static const unsigned steps[] = {0, 1, 25, 2147483647}; /* 0: not written */
        char text[40], canonical[40];
        cai_dtype dtype;
        if (!units[unit] && step) continue;
        if (!units[unit])
          snprintf(text, sizeof text, "<%c8", letter);
        else if (!steps[step])
          snprintf(text, sizeof text, "<%c8[%s]", letter, units[unit]);
        else
          snprintf(text, sizeof text, "<%c8[%u%s]", letter, steps[step], units[unit]);
        strcpy(canonical, text);
        if (units[unit] && steps[step] == 1)
          snprintf(canonical, sizeof canonical, "<%c8[%s]", letter, units[unit]);
        taken(text, letter, '<', 8, canonical);
        CHECK_OK(cai_dtype_parse(text, strlen(text), &dtype, ERR));
        CHECK(dtype.time_unit == unit);
        CHECK(dtype.time_step == (units[unit] ? (steps[step] ? steps[step] : 1) : 0));
      }
    }
  }
  taken(">M8[ns]", 'M', '>', 8, ">M8[ns]");
  taken("M8[ns]", 'M', '<', 8, "<M8[ns]");
  taken("<M8[2147483647s]", 'M', '<', 8, "<M8[2147483647s]");
  taken("<M8[9s]", 'M', '<', 8, "<M8[9s]");
  taken("=m8", 'm', '<', 8, "<m8");
}

/* As NumPy takes them. */
static void test_zeros(void) {
  char text[64];
  taken("<f04", 'f', '<', 4, "<f4");
  taken(">c0016", 'c', '>', 16, ">c16");
  taken("<U02", 'U', '<', 8, "<U2");
  taken("f08", 'f', '<', 8, "<f8");
  taken("<m8[07us]", 'm', '<', 8, "<m8[7us]");
  taken("<M08[01s]", 'M', '<', 8, "<M8[s]");
  snprintf(text, sizeof text, "|V%040d", 12);
  taken(text, 'V', '|', 12, "|V12");
  refused("<f00");
  refused("<f0");
  refused("<M8[00s]");
  refused("|V0000004294967296");
}

static void test_times_that_are_none(void) {
  refused("<M8[0s]");
  CHECK(strstr(ERR->message, "'<M8[0s]' has a step of time that is not 1 to 2147483647") != NULL);
  refused("<M8[25]");
  CHECK(strstr(ERR->message, "ends in no unit of time that is known") != NULL);
  refused("<f4[ns]");
  CHECK(strstr(ERR->message, "goes on after its size") != NULL);
}

/* What was wrong is shown as it is written. */
static void test_messages(void) {
  char out[CAI_TYPESTR_SIZE];
  cai_dtype dtype = {'f', '<', 0, 0, 3, 0};
  check_context = "messages";
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR, cai_dtype_format(&dtype, out, ERR));
  CHECK(strstr(ERR->message, "kind 'f', itemsize 3") != NULL);
  dtype.kind = 7;
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR, cai_dtype_format(&dtype, out, ERR));
  CHECK(strstr(ERR->message, "kind 7, itemsize 3") != NULL);
  dtype.kind = 255;
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR, cai_dtype_format(&dtype, out, ERR));
  CHECK(strstr(ERR->message, "kind 255, ") != NULL);
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR, cai_dtype_parse("|O", 2, &dtype, ERR));
  CHECK(strstr(ERR->message, "'|O' is of Python's objects, which have no meaning for C") != NULL);
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR, cai_dtype_parse("|O8", 3, &dtype, ERR));
  CHECK(strstr(ERR->message, "objects") != NULL);
}

static void test_refused(void) {
  static const char *const texts[] = {"",
                                      " ",
                                      "<",
                                      ">",
                                      "|",
                                      "=",
                                      "f",
                                      "<f",
                                      "4",
                                      "<4",
                                      "X",
                                      "<X4",
                                      "@f4",
                                      "#f4",
                                      "!f4",
                                      "<<f4",
                                      "<>f4",
                                      "<m8[]",
                                      "<m8[2]",
                                      "<f0",
                                      "<i0",
                                      "|S0",
                                      "<U0",
                                      "|V0",
                                      "|b0",
                                      "<f1",
                                      "<f3",
                                      "<f5",
                                      "<f32",
                                      "<i3",
                                      "<i5",
                                      "<u3",
                                      "<u7",
                                      "|b2",
                                      "<b4",
                                      "<c1",
                                      "<c2",
                                      "<c4",
                                      "<c12",
                                      "<c64",
                                      "<f4 ",
                                      " <f4",
                                      "< f4",
                                      "<f 4",
                                      "<f+4",
                                      "<f-4",
                                      "<f4\n",
                                      "<f4.0",
                                      "<f0x4",
                                      "<f4,",
                                      "<f4<f4",
                                      "(2,)f4",
                                      "|O8",
                                      "|O",
                                      "<q4",
                                      "<F4",
                                      "<I4",
                                      "?",
                                      "|?",
                                      "<d",
                                      "float32",
                                      "<f4[ns]",
                                      "<i8[s]",
                                      "|V8[s]",
                                      "<M",
                                      "<M4",
                                      "<M16",
                                      "<m1",
                                      "<M8[",
                                      "<M8]",
                                      "<M8[xx]",
                                      "<M8[s",
                                      "<M8s]",
                                      "<M8[sx",
                                      "<M8xs]",
                                      "<M8[s]]",
                                      "<M8[s]x",
                                      "<M8[S]",
                                      "<M8[H]",
                                      "<M8[25]",
                                      "<M8[-1s]",
                                      "<M8[1.5s]",
                                      "<M8[ s]",
                                      "<M8[0s]",
                                      "<M8[2147483648s]",
                                      "<M8[99999999999s]",
                                      "<M8[18446744073709551617s]",
                                      "<f99999999999",
                                      "|S4294967296",
                                      "|V4294967296",
                                      "<U1073741824",
                                      "|V18446744073709551616",
                                      "|V18446744073709551617",
                                      "<f18446744073709551620",
                                      "<f4294967300",
                                      "|t",
                                      "|t0",
                                      "|t2",
                                      "|t8",
                                      "\xd9\xa3",
                                      "<f\xd9\xa4",
                                      "<\357\274\2464"};
  static char long_digits[10003] = "<f";
  int i;
  for (i = 0; i < COUNT(texts); ++i) refused(texts[i]);
  check_context = "NUL";
  refused_bytes("<f4", 4);
  refused_bytes(
      "<f\0"
      "4",
      4);
  refused_bytes("\0", 1);
  check_context = "not UTF-8";
  refused_bytes("\xff", 1);
  refused_bytes("<f4\xff", 4);
  refused_bytes("<M8[\xb5s]", 7);
  refused_bytes("<f\xd9", 3);
  check_context = "10000 digits";
  memset(long_digits + 2, '4', 10000);
  refused_bytes(long_digits, 10002);
  memset(long_digits + 2, '0', 10000);
  refused_bytes(long_digits, 10002);
}

/* All texts of up to three bytes, after an order: what is taken leaves and comes back the same. */
static void test_exhaustive(void) {
  unsigned n;
  check_context = "exhaustive";
  for (n = 0; n < 256u * 256u * 4; ++n) {
    char text[3], out[CAI_TYPESTR_SIZE];
    cai_dtype dtype, again;
    text[0] = "<>|="[n >> 16];
    text[1] = (char)(n >> 8 & 255);
    text[2] = (char)(n & 255);
    if (cai_dtype_parse(text, 3, &dtype, NULL)) continue;
    CHECK(memchr("biufcmMSUVt", dtype.kind, 11) != NULL);
    CHECK(dtype.itemsize != 0);
    if (CHECK_OK(cai_dtype_format(&dtype, out, ERR))) {
      CHECK_OK(cai_dtype_parse(out, strlen(out), &again, ERR));
      CHECK(memcmp(&dtype, &again, sizeof dtype) == 0);
      CHECK(out[1] == text[1]);
    }
  }
}

static cai_dtype dtype_of(char kind, char byteorder, uint32_t itemsize) {
  cai_dtype dtype;
  memset(&dtype, 0, sizeof dtype);
  dtype.kind = (uint8_t)kind;
  dtype.byteorder = (uint8_t)byteorder;
  dtype.itemsize = itemsize;
  return dtype;
}

static void format_refused(const char *what, cai_dtype dtype) {
  char out[CAI_TYPESTR_SIZE];
  check_context = what;
  memset(out, 0xA5, sizeof out);
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR, cai_dtype_format(&dtype, out, ERR));
  CHECK(check_untouched(out, sizeof out));
}

static void test_format_refused(void) {
  cai_dtype d;
  int kind;
  for (kind = 0; kind < 256; ++kind) {
    if (kind && strchr("biufcmMSUVt", kind)) continue;
    format_refused("kind", dtype_of((char)kind, '<', 4));
  }
  format_refused("itemsize 0", dtype_of('f', '<', 0));
  format_refused("V0", dtype_of('V', '|', 0));
  format_refused("f3", dtype_of('f', '<', 3));
  format_refused("i16", dtype_of('i', '<', 12));
  format_refused("b2", dtype_of('b', '|', 2));
  format_refused("c4", dtype_of('c', '<', 4));
  format_refused("M4", dtype_of('M', '<', 4));
  format_refused("t of two", dtype_of('t', '|', 2));
  format_refused("U of no whole character", dtype_of('U', '<', 6));
  format_refused("order 0", dtype_of('f', 0, 4));
  format_refused("order =", dtype_of('f', '=', 4));
  format_refused("order |, though it matters", dtype_of('f', '|', 4));
  d = dtype_of('f', '<', 4), d.time_unit = CAI_TIME_S, d.time_step = 1;
  format_refused("unit on a float", d);
  d = dtype_of('f', '<', 4), d.time_step = 1;
  format_refused("step on a float", d);
  d = dtype_of('M', '<', 8), d.time_unit = CAI_TIME_AS + 1, d.time_step = 1;
  format_refused("unknown unit", d);
  d = dtype_of('M', '<', 8), d.time_unit = CAI_TIME_S;
  format_refused("step 0 with a unit", d);
  d = dtype_of('M', '<', 8), d.time_step = 1;
  format_refused("step without a unit", d);
  for (kind = CAI_EXT_FLOAT8_E8M0FNU + 1; kind < 256; ++kind) {
    d = dtype_of('V', '|', 1), d.ext = (uint8_t)kind;
    format_refused("unknown ext", d);
  }
  d = dtype_of('f', '<', 2), d.ext = CAI_EXT_BFLOAT16;
  format_refused("ext of kind f", d);
  for (kind = CAI_EXT_BFLOAT16; kind <= CAI_EXT_FLOAT8_E8M0FNU; ++kind) {
    d = dtype_of('V', '|', kind == CAI_EXT_BFLOAT16 ? 1 : 2), d.ext = (uint8_t)kind;
    format_refused("ext of another size", d);
  }
}

static void test_ext(void) {
  char out[CAI_TYPESTR_SIZE];
  cai_dtype dtype;
  int ext;
  check_context = "ext";
  dtype = dtype_of('V', '|', 2);
  dtype.ext = CAI_EXT_BFLOAT16;
  CHECK_OK(cai_dtype_format(&dtype, out, ERR));
  CHECK(strcmp(out, "<V2") == 0);
  for (ext = CAI_EXT_FLOAT8_E4M3FN; ext <= CAI_EXT_FLOAT8_E8M0FNU; ++ext) {
    dtype = dtype_of('V', '|', 1);
    dtype.ext = (uint8_t)ext;
    CHECK_OK(cai_dtype_format(&dtype, out, ERR));
    CHECK(strcmp(out, "|V1") == 0);
  }
}

/* The longest there is fits CAI_TYPESTR_SIZE, and nothing is written beyond it. */
static void test_room(void) {
  char out[CAI_TYPESTR_SIZE + 8];
  cai_dtype dtype = dtype_of('M', '>', 8);
  check_context = "room";
  dtype.time_unit = CAI_TIME_NS;
  dtype.time_step = UINT32_MAX;
  memset(out, 0xA5, sizeof out);
  if (cai_dtype_format(&dtype, out, NULL) == CAI_OK) CHECK(strcmp(out, ">M8[4294967295ns]") == 0);
  CHECK(check_untouched(out + CAI_TYPESTR_SIZE, 8));
}

int main(void) {
  test_plain();
  test_time();
  test_zeros();
  test_times_that_are_none();
  test_messages();
  test_refused();
  test_exhaustive();
  test_format_refused();
  test_ext();
  test_room();
  return CHECK_RESULT();
}
