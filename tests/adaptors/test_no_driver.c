/* SPDX-License-Identifier: BSD-3-Clause */
/* Without a driver the adaptors fail as they do with one: with NULL, and a word to the hook. */
#include <cai/adaptors.h>

#include <dlfcn.h>

#include "adaptors.h"

int main(void) {
  int here;
  if (dlopen("libcuda.so.1", RTLD_NOW)) {
    printf("skipped: this machine has a driver\n");
    return 77;
  }
  CHECK_OK(cai_on_failure(hear, NULL, ERR));
  CHECK(cai_torch_alloc(16, 0, NULL) == NULL);
  CHECK_TOLD(CAI_ERR_DRIVER, "libcuda");
  CHECK(cai_cupy_alloc(NULL, 16, 0) == NULL);
  CHECK_TOLD(CAI_ERR_DRIVER, "libcuda");
  CHECK(cai_torch_alloc(0, 0, NULL) == NULL);
  cai_torch_free(NULL, 0, 0, NULL);
  cai_torch_reset();
  cai_torch_init(0);
  CHECK_SILENT();
  cai_torch_free(&here, 4, 0, NULL);
  CHECK_TOLD(CAI_ERR_STATE, "freed already");
  return CHECK_RESULT();
}
