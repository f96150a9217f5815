// SPDX-License-Identifier: BSD-3-Clause
// Rule: Each level of an array with mipmaps is an array of half the size, down to 1; there are no
// more levels than that takes, and a texture reads the level that the instruction names.
// Source: cuda.h, cuMipmappedArrayCreate and cuTexObjectCreate
#include "textures.h"

enum { WIDTH = 16, ROWS = 4, LEVELS = 5 };

int main(void) {
  start();
  USE_TEXTURES;
  USE_MEMORY;
  USE(cuMipmappedArrayCreate, 5000, CUmipmappedArray *, const Array3DDescriptor *, unsigned);
  USE(cuMipmappedArrayGetLevel, 5000, CUarray *, CUmipmappedArray, unsigned);
  USE(cuMipmappedArrayDestroy, 5000, CUmipmappedArray);
  CUmipmappedArray mipmapped;
  CUarray level;
  CUtexObject texture;
  CUdeviceptr out;
  const Array3DDescriptor descriptor = {WIDTH, ROWS, 0, FLOAT32, 1, 0};
  MUST(cuMemAlloc(&out, 4));
  MUST(cuMipmappedArrayCreate(&mipmapped, &descriptor, 99));
  for (unsigned i = 0; i < LEVELS; ++i) {
    ArrayDescriptor said;
    float values[ROWS * WIDTH];
    const size_t width = WIDTH >> i, left = ROWS >> i, rows = left ? left : 1;
    MUST(cuMipmappedArrayGetLevel(&level, mipmapped, i));
    MUST(cuArrayGetDescriptor(&said, level));
    MUST_BE(said.width, width);
    MUST_BE(said.height, rows);
    for (size_t k = 0; k < width * rows; ++k) values[k] = (float)(10 * i);
    copy_array(level, values, width * 4, rows, 1);
  }
  MUST_BE(cuMipmappedArrayGetLevel(&level, mipmapped, LEVELS), INVALID_VALUE);
  const Resource resource = {.type = OF_MIPMAPPED, .of.mipmapped = mipmapped};
  Sampling sampling = {.modes = {CLAMP, CLAMP, CLAMP}, .flags = NORMALIZED, .most = LEVELS};
  MUST(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
  const CUfunction fetch_level = function_in(
      module_of(PTX_HEADER ".visible .entry fetch_level(.param .u64 texture, .param .f32 level,\n"
                           "  .param .u64 out)\n"
                           "{\n"
                           "  .reg .b64 %t, %p; .reg .f32 %x, %l, %f<4>;\n"
                           "  ld.param.u64 %t, [texture];\n"
                           "  ld.param.u64 %p, [out];\n"
                           "  ld.param.f32 %l, [level];\n"
                           "  mov.f32 %x, 0f3f000000;\n"
                           "  tex.level.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%t, {%x, %x}], %l;\n"
                           "  st.global.f32 [%p], %f0;\n"
                           "  ret;\n"
                           "}\n"),
      "fetch_level");
  for (unsigned i = 0; i < LEVELS; ++i) {
    float number = (float)i, value = -1;
    MUST(launch(fetch_level, 1, 1, NULL, ARGUMENTS(&texture, &number, &out)));
    MUST(cuMemcpyDtoH(&value, out, 4));
    MUST_BE(value == (float)(10 * i), 1);
  }
  MUST(cuTexObjectDestroy(texture));
  // Its coordinates must be normalized.
  sampling.flags = 0;
  MUST_BE(cuTexObjectCreate(&texture, &resource, &sampling, NULL), INVALID_VALUE);
  MUST(cuMipmappedArrayDestroy(mipmapped));
  return 0;
}
