// SPDX-License-Identifier: BSD-3-Clause
// The names of statuses, entries and other numbers, and the version.
#include "cai.h"

int32_t cai_version(void) {
  return CAI_VERSION_MAJOR * 10000 + CAI_VERSION_MINOR * 100 + CAI_VERSION_PATCH;
}

const char *cai_status_name(cai_status status) {
#define NAME(status) \
  case status:       \
    return #status
  switch (status) {
    NAME(CAI_OK);
    NAME(CAI_ERR_ARGUMENT);
    NAME(CAI_ERR_VALUE);
    NAME(CAI_ERR_TYPE);
    NAME(CAI_ERR_VERSION);
    NAME(CAI_ERR_MEMORY);
    NAME(CAI_ERR_STORAGE);
    NAME(CAI_ERR_LAYOUT);
    NAME(CAI_ERR_UNSUPPORTED);
    NAME(CAI_ERR_EXPORT);
    NAME(CAI_ERR_DRIVER);
    NAME(CAI_ERR_CUDA);
    NAME(CAI_ERR_CAPTURE);
    NAME(CAI_ERR_DEVICE);
    NAME(CAI_ERR_BOUNDS);
    NAME(CAI_ERR_ORDER);
    NAME(CAI_ERR_STATE);
    default:
      return "CAI_ERR_UNKNOWN";
  }
#undef NAME
}

const char *cai_entry_name(int32_t entry) {
  static const char *const names[] = {"",        "interface", "version", "shape",
                                      "strides", "typestr",   "descr",   "data",
                                      "stream",  "mask",      "offset"};
  const bool known = entry > CAI_ENTRY_NONE && entry <= CAI_ENTRY_OFFSET;
  return known ? names[entry] : "";
}
