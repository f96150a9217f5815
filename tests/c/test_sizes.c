/* SPDX-License-Identifier: BSD-3-Clause */
/* Callers whose header is newer than the library: the structs that grow, with a tail. */
#include "make.h"

typedef struct {
  cai_interface known;
  uint64_t tail;
} newer;

static uint64_t storage[128];

static void test_read(void) {
  made_interface d;
  newer in;
  cai_array out;
  check_context = "read";
  make_interface(&d);
  in.known = d.in;
  in.known.struct_size = sizeof in;
  in.tail = 0;
  CHECK(cai_interface_storage(&in.known) == cai_interface_storage(&d.in));
  CHECK_OK(
      cai_interface_read(&in.known, CAI_STRICT, NULL, NULL, storage, sizeof storage, &out, ERR));
  in.known.struct_size = UINT32_MAX; /* a number that nobody has set */
  CHECK(cai_interface_storage(&in.known) == 0);
  CHECK_FAILS(
      CAI_ERR_ARGUMENT, ANY,
      cai_interface_read(&in.known, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &out, ERR));
  in.known.struct_size = sizeof in;
  in.tail = 1; /* it says something that this library knows nothing of */
  CHECK(cai_interface_storage(&in.known) == 0);
  CHECK_FAILS(
      CAI_ERR_ARGUMENT, ANY,
      cai_interface_read(&in.known, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &out, ERR));
  d.in.mask = make_form(CAI_FORM_INTERFACE);
  d.in.mask_interface = &in.known;
  CHECK_FAILS(
      CAI_ERR_ARGUMENT, ANY,
      cai_interface_read(&d.in, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &out, ERR));
}

/* As large as a struct may be. */
static void test_largest(void) {
  static union {
    cai_interface known;
    unsigned char bytes[4104];
  } in; /* zeros behind what is known */
  made_interface d;
  cai_array out;
  check_context = "largest";
  make_interface(&d);
  in.known = d.in;
  in.known.struct_size = 4096;
  CHECK_OK(
      cai_interface_read(&in.known, CAI_STRICT, NULL, NULL, storage, sizeof storage, &out, ERR));
  in.known.struct_size = 4104;
  CHECK_FAILS(
      CAI_ERR_ARGUMENT, ANY,
      cai_interface_read(&in.known, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &out, ERR));
}

static void test_write(void) {
  static const int64_t shape[] = {2, 3};
  made m;
  newer out;
  cai_array *a = make(&m, "<f4", 2, shape, NULL);
  check_context = "write";
  memset(&out, 0xA5, sizeof out);
  out.known.struct_size = sizeof out;
  CHECK_OK(cai_interface_write(a, 3, storage, sizeof storage, &out.known, ERR));
  CHECK(out.known.struct_size == sizeof out && out.known.shape.length == 2);
  CHECK(check_untouched(&out.tail, sizeof out.tail));

  memset(&out, 0xA5, sizeof out);
  out.known.struct_size = sizeof out.known - 8;
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY,
              cai_interface_write(a, 3, storage, sizeof storage, &out.known, ERR));
  CHECK(check_untouched(&out.known.protocol, sizeof out - sizeof out.known.struct_size));
}

int main(void) {
  test_read();
  test_largest();
  test_write();
  return CHECK_RESULT();
}
