/* SPDX-License-Identifier: BSD-3-Clause */
/* A copy of cai/array.h in another project, with nothing else of libcai's, linked or included:
 * calls are macros, whose arguments may have commas, and an owner's own functions know their
 * `access`. */
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

static uint32_t told;

static cai_status used_on(cai_owner *self, uint64_t stream, uint32_t access, cai_error *error) {
  (void)self, (void)stream, (void)error;
  told = access;
  return CAI_OK;
}

int main(void) {
  cai_owner owner = {sizeof owner, 0, retain, release, used_on, 0, 0, 0, 0, 0};
  cai_array array = {0};
  array.abi_major = CAI_ABI_MAJOR;
  array.flags = CAI_FLAG_MASKED;
  array.owner = &owner;
  if (cai_array_refuses(&array, 0) != CAI_FLAG_MASKED) return 1;
  if (cai_array_refuses(&array, CAI_FLAG_MASKED) != 0) return 2;
  if (cai_array_refuses(&(cai_array){CAI_ABI_MAJOR, .flags = CAI_FLAG_READONLY}, 0) !=
      CAI_FLAG_READONLY)
    return 4;
  if (owner.used_on(&owner, 1, CAI_ACCESS_WRITE | CAI_ACCESS_CAPTURED, 0) != CAI_OK) return 5;
  if (!(told & CAI_ACCESS_WRITE)) return 6;
  cai_array_retain(&array);
  if (holders != 2) return 3;
  cai_array_release(&array);
  cai_array_release(&array);
  return holders;
}
