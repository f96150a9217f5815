/* SPDX-License-Identifier: BSD-3-Clause */
/* An array of a later ABI: "you may read bytes 0 to 15 and release the array, no more". Whatever
 * lies behind the prefix is unreadable here, so that a look at it shows. */
#define _DEFAULT_SOURCE
#include "make.h"

#include <sys/mman.h>
#include <unistd.h>

static int holders = 1;
static void retain(cai_owner *self) { (void)self, ++holders; }
static void release(cai_owner *self) { (void)self, --holders; }

int main(void) {
  long page = sysconf(_SC_PAGESIZE);
  char *pages = (char *)mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  static const int64_t shape[] = {1};
  static uint64_t storage[64];
  cai_owner owner;
  cai_array *a, *out;
  cai_interface written = {0};
  cai_layout layout;
  cai_slice all;
  MUST_HOLD(pages != (char *)MAP_FAILED);
  a = (cai_array *)(void *)(pages + page - 16);
  memset(&owner, 0, sizeof owner);
  owner.struct_size = sizeof owner;
  owner.retain = retain;
  owner.release = release;
  a->abi_major = 2;
  a->abi_minor = 9;
  a->flags = 0;
  a->owner = &owner;
  MUST(mprotect(pages + page, (size_t)page, PROT_NONE));

  CHECK(cai_array_refuses(a, UINT32_MAX) == UINT32_C(0xFFFF0000));
  CHECK(cai_array_refuses(a, 0) == UINT32_C(0xFFFF0000));
  CHECK(cai_array_refuses(NULL, UINT32_MAX) == UINT32_C(0xFFFF0000));
  CHECK_FAILS(CAI_ERR_VERSION, ANY, cai_array_validate(a, ERR));
  CHECK_FAILS(CAI_ERR_VERSION, ANY, cai_array_layout(a, &layout, ERR));
  CHECK_FAILS(CAI_ERR_VERSION, ANY, cai_array_own(a, NULL, NULL, &out, ERR));
  memset(&all, 0, sizeof all);
  all.kind = CAI_SLICE_ELLIPSIS;
  CHECK_FAILS(CAI_ERR_VERSION, ANY, cai_array_slice(a, &all, 1, &out, ERR));
  CHECK_FAILS(CAI_ERR_VERSION, ANY, cai_array_reshape(a, shape, 1, &out, ERR));
  CHECK_FAILS(CAI_ERR_VERSION, ANY, cai_array_transpose(a, NULL, &out, ERR));
  CHECK_FAILS(CAI_ERR_VERSION, ANY, cai_array_broadcast(a, shape, 1, &out, ERR));
  (void)cai_interface_write_storage(a);
  CHECK_FAILS(CAI_ERR_VERSION, ANY,
              cai_interface_write(a, 3, storage, sizeof storage, &written, ERR));
  {
    const cai_array *arrays[1];
    cai_location location;
    cai_use use;
    uint64_t stream;
    arrays[0] = a;
    memset(&location, 0, sizeof location);
    location.struct_size = sizeof location;
    CHECK_FAILS(CAI_ERR_VERSION, ANY, cai_use_begin(&use, arrays, 1, 1, NULL, ERR));
    CHECK(ERR->index == 0);
    CHECK_FAILS(CAI_ERR_VERSION, ANY, cai_arrays_same_stream(arrays, 1, &stream, ERR));
    CHECK_FAILS(CAI_ERR_VERSION, ANY, cai_array_sync_host(a, ERR));
    CHECK_FAILS(CAI_ERR_VERSION, ANY, cai_array_locate(a, &location, ERR));
  }
  CHECK(holders == 1);
  cai_array_retain(a);
  CHECK(holders == 2);
  cai_array_release(a);
  cai_array_release(a);
  CHECK(holders == 0);
  return CHECK_RESULT();
}
