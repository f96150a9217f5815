// SPDX-License-Identifier: BSD-3-Clause
// Rule: A texture is read at the texel in which the coordinates lie, or linearly between the
// middles of texels; beyond its edges it goes on as its modes say; integers of 8 and 16 bits are
// read as fractions, unless they are wanted as they are.
// Source: CUDA programming guide, "Texture Fetching"
#include "textures.h"

enum { WIDTH = 4, ROWS = 4 };

static CUfunction fetch;
static CUdeviceptr out;

static float real(CUtexObject texture, float x, float y) {
  float words[4];
  fetch_words(fetch, texture, x, y, out, words);
  return words[0];
}

#define MUST_BE_NEAR(value, wanted)                         \
  do {                                                      \
    const float got = (value), difference = got - (wanted); \
    MUST_BE(difference < 0.05f && difference > -0.05f, 1);  \
  } while (0)

static void of_array(void) {
  USE_TEXTURES;
  float values[ROWS][WIDTH];
  for (int y = 0; y < ROWS; ++y)
    for (int x = 0; x < WIDTH; ++x) values[y][x] = (float)(x + 4 * y);
  CUarray array;
  CUtexObject texture;
  MUST(cuArrayCreate(&array, &(ArrayDescriptor){WIDTH, ROWS, FLOAT32, 1}));
  copy_array(array, values, sizeof *values, ROWS, 1);
  const Resource resource = {.type = OF_ARRAY, .of.array = array};

  Sampling sampling = {.modes = {CLAMP, CLAMP, CLAMP}};
  MUST(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
  for (int y = 0; y < ROWS; ++y)
    for (int x = 0; x < WIDTH; ++x)
      MUST_BE(real(texture, (float)x + 0.25f, (float)y + 0.75f) == values[y][x], 1);
  MUST_BE(real(texture, -3.5f, 1.5f) == values[1][0], 1);
  MUST_BE(real(texture, 2.5f, 9.5f) == values[3][2], 1);
  MUST(cuTexObjectDestroy(texture));

  sampling.filter = LINEAR_FILTER;
  MUST(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
  MUST_BE_NEAR(real(texture, 1.5f, 2.5f), values[2][1]);  // the middle of a texel
  MUST_BE_NEAR(real(texture, 2.0f, 0.5f), 1.5f);
  MUST_BE_NEAR(real(texture, 2.0f, 2.0f), 7.5f);
  MUST_BE_NEAR(real(texture, 1.75f, 0.5f), 1.25f);
  MUST(cuTexObjectDestroy(texture));

  sampling = (Sampling){.modes = {WRAP, MIRROR, CLAMP}, .flags = NORMALIZED};
  MUST(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
  MUST_BE(real(texture, 0.375f, 0.625f) == values[2][1], 1);
  MUST_BE(real(texture, 1.375f, 0.625f) == values[2][1], 1);
  MUST_BE(real(texture, -0.125f, 0.625f) == values[2][3], 1);
  MUST_BE(real(texture, 0.375f, 1.125f) == values[3][1], 1);
  MUST_BE(real(texture, 0.375f, -0.125f) == values[0][1], 1);
  MUST(cuTexObjectDestroy(texture));

  sampling = (Sampling){.modes = {BORDER, BORDER, BORDER}, .flags = NORMALIZED, .border = {42}};
  MUST(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
  MUST_BE(real(texture, 0.375f, 0.625f) == values[2][1], 1);
  MUST_BE(real(texture, 1.375f, 0.625f) == 42, 1);
  MUST_BE(real(texture, 0.375f, -0.125f) == 42, 1);
  MUST(cuTexObjectDestroy(texture));
  MUST(cuArrayDestroy(array));
}

static void of_bytes(void) {
  USE_TEXTURES;
  unsigned char values[ROWS][WIDTH][4] = {{{255, 0, 51, 102}, {3, 2, 1, 0}}};
  CUarray array;
  CUtexObject texture;
  float reals[4];
  unsigned integers[4];
  MUST(cuArrayCreate(&array, &(ArrayDescriptor){WIDTH, ROWS, UINT8, 4}));
  copy_array(array, values, sizeof *values, ROWS, 1);
  const Resource resource = {.type = OF_ARRAY, .of.array = array};
  Sampling sampling = {.modes = {CLAMP, CLAMP, CLAMP}};
  MUST(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
  fetch_words(fetch, texture, 0.5f, 0.5f, out, reals);
  MUST_BE(reals[0] == 1 && reals[1] == 0, 1);
  MUST_BE(reals[2] > 0.1999f && reals[2] < 0.2001f && reals[3] > 0.3999f && reals[3] < 0.4001f, 1);
  MUST(cuTexObjectDestroy(texture));
  sampling.flags = AS_INTEGERS;
  MUST(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
  fetch_words(fetch, texture, 0.5f, 0.5f, out, integers);
  for (int i = 0; i < 4; ++i) MUST_BE(integers[i], values[0][0][i]);
  fetch_words(fetch, texture, 1.5f, 0.5f, out, integers);
  for (int i = 0; i < 4; ++i) MUST_BE(integers[i], values[0][1][i]);
  MUST(cuTexObjectDestroy(texture));
  MUST(cuArrayDestroy(array));
}

// Memory with an address, in rows.
static void of_memory(void) {
  USE_TEXTURES;
  USE_MEMORY;
  enum { PITCH = 512 };
  unsigned char bytes[ROWS * PITCH] = {0};
  for (int y = 0; y < ROWS; ++y)
    for (int x = 0; x < WIDTH; ++x) {
      const float value = (float)(x + 10 * y);
      memcpy(bytes + y * PITCH + x * 4, &value, 4);
    }
  CUdeviceptr memory;
  CUtexObject texture;
  MUST(cuMemAlloc(&memory, sizeof bytes));
  MUST(cuMemcpyHtoD(memory, bytes, sizeof bytes));
  Resource resource = {.type = OF_PITCHED, .of.pitched = {memory, FLOAT32, 1, WIDTH, ROWS, PITCH}};
  const Sampling sampling = {.modes = {CLAMP, CLAMP, CLAMP}, .filter = LINEAR_FILTER};
  MUST(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
  MUST_BE_NEAR(real(texture, 2.5f, 3.5f), 32);
  MUST_BE_NEAR(real(texture, 2.0f, 1.5f), 11.5f);
  MUST(cuTexObjectDestroy(texture));

  resource = (Resource){.type = OF_LINEAR, .of.linear = {memory, FLOAT32, 1, PITCH + 16}};
  MUST(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
  const CUfunction fetch_one = function_in(
      module_of(PTX_HEADER
                ".visible .entry fetch_one(.param .u64 texture, .param .u32 x, .param .u64 out)\n"
                "{\n"
                "  .reg .b64 %t, %p; .reg .b32 %x, %r<4>;\n"
                "  ld.param.u64 %t, [texture];\n"
                "  ld.param.u64 %p, [out];\n"
                "  ld.param.u32 %x, [x];\n"
                "  tex.1d.v4.f32.s32 {%r0, %r1, %r2, %r3}, [%t, {%x}];\n"
                "  st.global.b32 [%p], %r0;\n"
                "  ret;\n"
                "}\n"),
      "fetch_one");
  for (unsigned x = 0; x < PITCH / 4 + 4; ++x) {
    float value = -1, wanted;
    memcpy(&wanted, bytes + 4 * x, 4);
    MUST(launch(fetch_one, 1, 1, NULL, ARGUMENTS(&texture, &x, &out)));
    MUST(cuMemcpyDtoH(&value, out, 4));
    MUST_BE(value == wanted, 1);
  }
  MUST(cuTexObjectDestroy(texture));
  MUST(cuMemFree(memory));
}

int main(void) {
  start();
  USE_MEMORY;
  fetch = function_in(module_of(PTX_HEADER PTX_FETCH), "fetch");
  MUST(cuMemAlloc(&out, 16));
  of_array();
  of_bytes();
  of_memory();
  return 0;
}
