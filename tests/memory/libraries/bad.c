/* SPDX-License-Identifier: BSD-3-Clause */
/* Managers that are refused, each for one reason. */
#include <cai/memory.h>
#include <stddef.h>

extern const cai_manager_table wrong_version, lacks_memfree;
const cai_manager_table wrong_version = {
    .struct_size = sizeof(cai_manager_table), .version = 7, .name = "wrong_version"};

static cai_status create(const void *params, cai_device device, cai_manager *upstream, void **self,
                         cai_error *error) {
  (void)params, (void)device, (void)upstream, (void)self, (void)error;
  return CAI_OK;
}
static void destroy(void *self) { (void)self; }
static cai_status nothing(void *self, cai_error *error) {
  (void)self, (void)error;
  return CAI_OK;
}
static cai_status memalloc(void *self, uint64_t size, uint64_t align, uint32_t kind,
                           uint64_t stream, cai_block *out, cai_error *error) {
  (void)self, (void)size, (void)align, (void)kind, (void)stream, (void)out, (void)error;
  return CAI_ERR_MEMORY;
}
const cai_manager_table lacks_memfree = {.struct_size = sizeof(cai_manager_table),
                                         .version = CAI_MANAGER_VERSION,
                                         .name = "lacks_memfree",
                                         .create = create,
                                         .destroy = destroy,
                                         .initialize = nothing,
                                         .reset = nothing,
                                         .memalloc = memalloc};
