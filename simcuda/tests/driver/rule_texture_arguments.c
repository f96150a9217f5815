// SPDX-License-Identifier: BSD-3-Clause
// Rule: Handles that are no texture's or no surface's, unknown modes and flags, a linear filter of
// integers, and a surface of an array that was not made for it are invalid values.
// Source: assumed, after the statuses that cuda.h has for these calls; to be checked on a GPU
#include "textures.h"

int main(void) {
  start();
  USE_TEXTURES;
  CUarray array;
  CUtexObject texture;
  CUsurfObject surface;
  Resource said;
  MUST(cuArray3DCreate(&array, &(Array3DDescriptor){8, 8, 0, UINT8, 1, 0}));
  const Resource resource = {.type = OF_ARRAY, .of.array = array};
  const Sampling sampling = {.modes = {CLAMP, CLAMP, CLAMP}};
  Sampling other = sampling;
  other.filter = LINEAR_FILTER;
  other.flags = AS_INTEGERS;
  FOUND_STATUS("a linear filter of integers", cuTexObjectCreate(&texture, &resource, &other, NULL),
               INVALID_VALUE);
  other = sampling;
  other.flags = 1u << 30;
  FOUND_STATUS("an unknown flag", cuTexObjectCreate(&texture, &resource, &other, NULL),
               INVALID_VALUE);
  other = sampling;
  other.modes[0] = 7;
  FOUND_STATUS("an unknown mode", cuTexObjectCreate(&texture, &resource, &other, NULL),
               INVALID_VALUE);
  const Resource nothing = {.type = 9};
  FOUND_STATUS("an unknown type", cuTexObjectCreate(&texture, &nothing, &sampling, NULL),
               INVALID_VALUE);
  FOUND_STATUS("a surface of an array without the flag", cuSurfObjectCreate(&surface, &resource),
               INVALID_VALUE);
  MUST(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
  MUST(cuTexObjectDestroy(texture));
  FOUND_STATUS("to destroy a texture twice", cuTexObjectDestroy(texture), INVALID_VALUE);
  FOUND_STATUS("to ask a texture that was destroyed", cuTexObjectGetResourceDesc(&said, texture),
               INVALID_VALUE);
  FOUND_STATUS("to destroy no texture", cuTexObjectDestroy(0), INVALID_VALUE);
  FOUND_STATUS("to destroy no surface", cuSurfObjectDestroy(0), INVALID_VALUE);
  MUST(cuArrayDestroy(array));
  return 0;
}
