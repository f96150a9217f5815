// SPDX-License-Identifier: BSD-3-Clause
// What green contexts are made of: CUdevResource, of multiprocessors.
#pragma once

#include "driver_test.h"

struct resource {
  int type;
  unsigned char own[92];
  unsigned count, least, alignment;
  unsigned char rest[28];
  void *next;
};
