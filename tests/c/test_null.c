/* SPDX-License-Identifier: BSD-3-Clause */
/* NULL for every pointer argument of every function: CAI_ERR_ARGUMENT, never a crash, with and
 * without a cai_error; and the other arguments that are wrong by themselves. */
#include "cai/memory.h"
#include "make.h"

#define REFUSED(call_with_error, call_without)           \
  do {                                                   \
    CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, call_with_error); \
    CHECK((call_without) == CAI_ERR_ARGUMENT);           \
  } while (0)

/* One call, with ERR and with NULL in the place of `error`. */
#define CALL(function, ...) REFUSED(function(__VA_ARGS__, ERR), function(__VA_ARGS__, NULL))

static made m;
static const int64_t shape[] = {2, 3};
static uint64_t storage[512];

static void test_core(void) {
  cai_dtype dtype;
  cai_layout layout;
  char text[CAI_TYPESTR_SIZE];
  cai_array *a = make(&m, "<f4", 2, shape, NULL);
  memset(&dtype, 0xA5, sizeof dtype);
  memset(&layout, 0xA5, sizeof layout);
  memset(text, 0xA5, sizeof text);
  check_context = "dtype";
  CALL(cai_dtype_parse, NULL, 3, &dtype);
  CALL(cai_dtype_parse, NULL, 0, &dtype);
  CALL(cai_dtype_parse, "<f4", 3, NULL);
  CALL(cai_dtype_parse, NULL, 0, NULL);
  CALL(cai_dtype_format, NULL, text);
  CALL(cai_dtype_format, &a->dtype, NULL);
  CALL(cai_dtype_format, NULL, NULL);
  CHECK(check_untouched(&dtype, sizeof dtype) && check_untouched(text, sizeof text));
  check_context = "layout and validate";
  CALL(cai_array_layout, NULL, &layout);
  CALL(cai_array_layout, a, NULL);
  CALL(cai_array_layout, NULL, NULL);
  CHECK(check_untouched(&layout, sizeof layout));
  REFUSED(cai_array_validate(NULL, ERR), cai_array_validate(NULL, NULL));
}

static void test_interface(void) {
  made_interface d;
  cai_array out, *a = make(&m, "<f4", 2, shape, NULL);
  cai_interface written;
  cai_interface *in = make_interface(&d);
  memset(&out, 0xA5, sizeof out);
  memset(&written, 0xA5, sizeof written);
  check_context = "read";
  CHECK(cai_interface_storage(NULL) == 0);
  CHECK(cai_interface_storage(in) >= 32);
  CALL(cai_interface_read, NULL, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &out);
  CALL(cai_interface_read, in, CAI_LENIENT, NULL, NULL, NULL, sizeof storage, &out);
  CALL(cai_interface_read, in, CAI_LENIENT, NULL, NULL, storage, sizeof storage, NULL);
  CALL(cai_interface_read, NULL, CAI_LENIENT, NULL, NULL, NULL, 1, NULL);
  CALL(cai_interface_read, in, 2, NULL, NULL, storage, sizeof storage, &out);
  CALL(cai_interface_read, in, UINT32_MAX, NULL, NULL, storage, sizeof storage, &out);
  CALL(cai_interface_read, in, CAI_LENIENT, NULL, NULL, (char *)storage + 4, sizeof storage - 4,
       &out);
  in->struct_size = 0;
  CALL(cai_interface_read, in, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &out);
  CHECK(cai_interface_storage(in) == 0);
  make_interface(&d)->mask = make_form(CAI_FORM_INTERFACE), d.in.mask_interface = &written;
  written.struct_size = 8; /* an interface cut off here is not looked into */
  CHECK(cai_interface_storage(in) == 0);
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY,
              cai_interface_read(in, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &out, ERR));
  memset(&written, 0xA5, sizeof written);
  make_interface(&d)->protocol = 2;
  CALL(cai_interface_read, in, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &out);
  make_interface(&d);
  CHECK_FAILS(CAI_ERR_STORAGE, ANY,
              cai_interface_read(in, CAI_LENIENT, NULL, NULL, NULL, 0, &out, ERR));
  CHECK(check_untouched(&out, sizeof out));

  check_context = "write";
  CHECK(cai_interface_write_storage(NULL) == 0);
  CALL(cai_interface_write, NULL, 3, storage, sizeof storage, &written);
  CALL(cai_interface_write, a, 3, NULL, sizeof storage, &written);
  CALL(cai_interface_write, a, 3, storage, sizeof storage, NULL);
  CALL(cai_interface_write, NULL, 3, NULL, 1, NULL);
  CALL(cai_interface_write, a, 1, storage, sizeof storage, &written);
  CALL(cai_interface_write, a, 0, storage, sizeof storage, &written);
  CALL(cai_interface_write, a, 4, storage, sizeof storage, &written);
  CALL(cai_interface_write, a, 3, (char *)storage + 4, sizeof storage - 4, &written);
  CHECK(check_untouched(&written, sizeof written));
  written.struct_size = sizeof written - 1;
  CALL(cai_interface_write, a, 3, storage, sizeof storage, &written);
  CHECK(check_untouched(&written.protocol, sizeof written - sizeof written.struct_size));
}

static void test_views(void) {
  static const int32_t axes[] = {1, 0};
  cai_array *owned, *out, *a = make(&m, "<f4", 2, shape, NULL);
  cai_slice all;
  memset(&all, 0, sizeof all);
  all.kind = CAI_SLICE_ELLIPSIS;
  check_context = "own and views";
  memset(&out, 0xA5, sizeof out);
  CHECK_OK(cai_array_own(a, NULL, NULL, &owned, ERR));
  CALL(cai_array_own, NULL, NULL, NULL, &out);
  CALL(cai_array_own, a, NULL, NULL, NULL);
  CALL(cai_array_own, NULL, NULL, NULL, NULL);
  CALL(cai_array_slice, NULL, &all, 1, &out);
  CALL(cai_array_slice, owned, NULL, 1, &out);
  CALL(cai_array_slice, owned, &all, 1, NULL);
  CALL(cai_array_slice, NULL, NULL, 1, NULL);
  CALL(cai_array_reshape, NULL, shape, 2, &out);
  CALL(cai_array_reshape, owned, NULL, 2, &out);
  CALL(cai_array_reshape, owned, shape, 2, NULL);
  CALL(cai_array_reshape, NULL, NULL, 2, NULL);
  CALL(cai_array_transpose, NULL, axes, &out);
  CALL(cai_array_transpose, owned, axes, NULL);
  CALL(cai_array_transpose, NULL, NULL, NULL);
  CALL(cai_array_broadcast, NULL, shape, 2, &out);
  CALL(cai_array_broadcast, owned, NULL, 2, &out);
  CALL(cai_array_broadcast, owned, shape, 2, NULL);
  CALL(cai_array_broadcast, NULL, NULL, 2, NULL);
  CHECK(check_untouched(&out, sizeof out));
  check_context = "NULL that is allowed";
  if (CHECK_OK(cai_array_slice(owned, NULL, 0, &out, ERR))) cai_array_release(out);
  if (CHECK_OK(cai_array_transpose(owned, NULL, &out, ERR))) cai_array_release(out);
  CHECK(cai_array_slice(owned, NULL, 0, &out, NULL) == CAI_OK);
  cai_array_release(out);
  cai_array_release(owned);
}

/* None of these may reach the driver: there may be none here. */
static void test_order(void) {
  cai_array *a = make(&m, "<f4", 2, shape, NULL);
  const cai_array *one[1], *none[1] = {NULL};
  cai_location location;
  cai_use_options options;
  cai_use use;
  cai_array borrowed;
  uint64_t stream = 7;
  one[0] = a;
  check_context = "order";
  memset(&location, 0, sizeof location);
  location.struct_size = sizeof location;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  CALL(cai_use_begin, NULL, one, 1, 1, NULL);
  CALL(cai_use_begin, &use, NULL, 1, 1, NULL);
  CALL(cai_use_begin, &use, none, 1, 1, NULL);
  CALL(cai_use_begin, &use, one, -1, 1, NULL);
  CALL(cai_use_begin, &use, one, 1, 0, NULL);
  options.order = CAI_ORDER_HOST + 1;
  CALL(cai_use_begin, &use, one, 1, 1, &options);
  REFUSED(cai_use_end(NULL, ERR), cai_use_end(NULL, NULL));
  REFUSED(cai_use_finish(NULL, 1, ERR), cai_use_finish(NULL, 1, NULL));
  cai_use_abandon(NULL);
  CALL(cai_arrays_same_stream, NULL, 1, &stream);
  CALL(cai_arrays_same_stream, none, 1, &stream);
  CALL(cai_arrays_same_stream, one, -1, &stream);
  CALL(cai_arrays_same_stream, one, 1, NULL);
  CALL(cai_arrays_same_stream, NULL, 1, NULL);
  CHECK(stream == 7);
  REFUSED(cai_array_sync_host(NULL, ERR), cai_array_sync_host(NULL, NULL));
  CALL(cai_array_locate, NULL, &location);
  CALL(cai_array_locate, a, NULL);
  CALL(cai_array_locate, NULL, NULL);
  location.struct_size = 0;
  CALL(cai_array_locate, a, &location);
  CHECK(location.context == 0 && location.device_type == 0);
  check_context = "nothing to order";
  CHECK_OK(cai_use_begin(&use, NULL, 0, 1, NULL, ERR));
  CHECK_OK(cai_use_end(&use, ERR));
  cai_use_abandon(&use);
  memset(&use, 0, sizeof use);
  CHECK_OK(cai_use_end(&use, ERR)); /* all 0: not open */
  borrowed = *a;
  borrowed.owner = NULL;
  one[0] = &borrowed;
  CHECK_OK(cai_use_begin(&use, one, 1, 1, NULL, ERR)); /* NONE: "No driver is needed" */
  CHECK_OK(cai_use_finish(&use, 0, ERR));
  one[0] = a;
  CHECK_OK(cai_arrays_same_stream(one, 1, &stream, ERR));
  CHECK(stream == 0);
  CHECK_OK(cai_array_sync_host(a, ERR));
}

static void test_work(void) {
  const int64_t index[] = {0, 0};
  uint32_t value = 7;
  uint64_t address = 7;
  cai_array *from = make(&m, "<f4", 2, shape, NULL);
  from->device_type = CAI_DEVICE_CPU;
  from->device_id = 0;
  check_context = "work";
  CALL(cai_array_host, NULL, &address);
  CALL(cai_array_host, from, NULL);
#ifdef TEST_MEMORY
  CALL(cai_array_copy, NULL, from, NULL);
  CALL(cai_array_copy, from, NULL, NULL);
  CALL(cai_array_copy, NULL, NULL, NULL);
  CALL(cai_array_fill, NULL, &value, NULL);
  CALL(cai_array_fill, from, NULL, NULL);
  CALL(cai_array_item, NULL, index, &value);
  CALL(cai_array_item, from, NULL, &value);
  CALL(cai_array_item, from, index, NULL);
  CALL(cai_array_item, NULL, NULL, NULL);
  CALL(cai_array_first, NULL, &value);
  CALL(cai_array_first, from, NULL);
  CALL(cai_array_eval, NULL);
#else
  (void)index;
#endif
  CHECK(value == 7 && address == 7);
}

int main(void) {
  test_core();
  test_interface();
  test_views();
  test_order();
  test_work();
  return CHECK_RESULT();
}
