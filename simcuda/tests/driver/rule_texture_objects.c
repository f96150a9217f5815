// SPDX-License-Identifier: BSD-3-Clause
// Rule: Texture and surface objects say what they were made of; what breaks the rules of their
// descriptors is an invalid value, and so is an object's view where none was given.
// Source: cuda.h, cuTexObjectCreate and cuSurfObjectCreate
#include "textures.h"

enum { WIDTH = 8, ROWS = 6, BYTES = 4096 };

int main(void) {
  start();
  USE_TEXTURES;
  USE_MEMORY;
  CUarray array;
  CUdeviceptr memory;
  CUtexObject texture;
  CUsurfObject surface;
  Resource said;
  Sampling said_sampling;
  ResourceView said_view;
  MUST(cuArray3DCreate(&array, &(Array3DDescriptor){WIDTH, ROWS, 0, FLOAT32, 1, SURFACE_LDST}));
  MUST(cuMemAlloc(&memory, BYTES));
  const Resource of_array = {.type = OF_ARRAY, .of.array = array};
  const Resource of_memory = {.type = OF_LINEAR, .of.linear = {memory, UINT8, 4, BYTES}};
  const Sampling sampling = {.modes = {WRAP, MIRROR, BORDER},
                             .filter = LINEAR_FILTER,
                             .flags = NORMALIZED,
                             .border = {1, 2}};
  const ResourceView view = {.format = 0x16, .width = WIDTH, .height = ROWS};

  MUST(cuTexObjectCreate(&texture, &of_array, &sampling, &view));
  MUST(cuTexObjectGetResourceDesc(&said, texture));
  MUST_BE(said.type == OF_ARRAY && said.of.array == array, 1);
  MUST(cuTexObjectGetTextureDesc(&said_sampling, texture));
  MUST_BE(memcmp(said_sampling.modes, sampling.modes, sizeof sampling.modes), 0);
  MUST_BE(said_sampling.filter, LINEAR_FILTER);
  MUST_BE(said_sampling.flags, NORMALIZED);
  MUST_BE(said_sampling.border[1] == 2, 1);
  MUST(cuTexObjectGetResourceViewDesc(&said_view, texture));
  MUST_BE(said_view.format, 0x16);
  MUST_BE(said_view.width, WIDTH);
  MUST_BE(said_view.height, ROWS);
  MUST(cuTexObjectDestroy(texture));

  MUST(cuTexObjectCreate(&texture, &of_memory, &sampling, NULL));
  MUST(cuTexObjectGetResourceDesc(&said, texture));
  MUST_BE(said.type == OF_LINEAR && said.of.linear.device == memory, 1);
  MUST_BE(said.of.linear.bytes, BYTES);
  MUST_BE(said.of.linear.channels, 4);
  MUST_BE(cuTexObjectGetResourceViewDesc(&said_view, texture), INVALID_VALUE);
  MUST(cuTexObjectDestroy(texture));

  MUST(cuSurfObjectCreate(&surface, &of_array));
  MUST(cuSurfObjectGetResourceDesc(&said, surface));
  MUST_BE(said.type == OF_ARRAY && said.of.array == array, 1);
  MUST(cuSurfObjectDestroy(surface));

  Resource bad = of_array;
  bad.flags = 1;
  MUST_BE(cuTexObjectCreate(&texture, &bad, &sampling, NULL), INVALID_VALUE);
  MUST_BE(cuSurfObjectCreate(&surface, &bad), INVALID_VALUE);
  bad = of_memory;
  bad.of.linear.device += 4;  // not aligned
  MUST_BE(cuTexObjectCreate(&texture, &bad, &sampling, NULL), INVALID_VALUE);
  bad = (Resource){.type = OF_PITCHED, .of.pitched = {memory, FLOAT32, 1, WIDTH, ROWS, 36}};
  MUST_BE(cuTexObjectCreate(&texture, &bad, &sampling, NULL), INVALID_VALUE);
  // A view is of an array, of the same size.
  MUST_BE(cuTexObjectCreate(&texture, &of_memory, &sampling, &view), INVALID_VALUE);
  ResourceView other = view;
  other.width = WIDTH / 2;
  MUST_BE(cuTexObjectCreate(&texture, &of_array, &sampling, &other), INVALID_VALUE);
  other = view;
  other.last_level = 1;
  MUST_BE(cuTexObjectCreate(&texture, &of_array, &sampling, &other), INVALID_VALUE);
  MUST_BE(cuSurfObjectCreate(&surface, &of_memory), INVALID_VALUE);
  MUST_BE(cuTexObjectCreate(&texture, NULL, &sampling, NULL), INVALID_VALUE);
  MUST_BE(cuTexObjectCreate(&texture, &of_array, NULL, NULL), INVALID_VALUE);
  MUST(cuMemFree(memory));
  MUST(cuArrayDestroy(array));
  return 0;
}
