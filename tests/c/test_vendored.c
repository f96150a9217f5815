/* SPDX-License-Identifier: BSD-3-Clause */
/* A copy of cai/array.h in another project, with nothing else of libcai's, linked or included. */
#include "array.h"

static int holders = 1;

static void retain(cai_owner *self) {
  (void)self;
  ++holders;
}

static void release(cai_owner *self) {
  (void)self;
  --holders;
}

int main(void) {
  cai_owner owner = {sizeof owner, 0, retain, release, 0, 0, 0, 0, 0, 0};
  cai_array array = {0};
  array.abi_major = CAI_ABI_MAJOR;
  array.flags = CAI_FLAG_MASKED;
  array.owner = &owner;
  if (cai_array_refuses(&array, 0) != CAI_FLAG_MASKED) return 1;
  if (cai_array_refuses(&array, CAI_FLAG_MASKED) != 0) return 2;
  cai_array_retain(&array);
  if (holders != 2) return 3;
  cai_array_release(&array);
  cai_array_release(&array);
  return holders;
}
