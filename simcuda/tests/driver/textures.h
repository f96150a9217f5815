// SPDX-License-Identifier: BSD-3-Clause
// For programs about textures and surfaces.
#pragma once

#include "arrays.h"
#include "ptx.h"

typedef void *CUmipmappedArray;
typedef unsigned long long CUtexObject, CUsurfObject;

typedef struct {
  int type;
  union {
    CUarray array;
    CUmipmappedArray mipmapped;
    struct {
      CUdeviceptr device;
      int format;
      unsigned channels;
      size_t bytes;
    } linear;
    struct {
      CUdeviceptr device;
      int format;
      unsigned channels;
      size_t width, height, pitch;
    } pitched;
    int reserved[32];
  } of;
  unsigned flags;
} Resource;

typedef struct {
  int modes[3];
  int filter;
  unsigned flags, anisotropy;
  int level_filter;
  float bias, least, most;
  float border[4];
  int reserved[12];
} Sampling;

typedef struct {
  int format;
  size_t width, height, depth;
  unsigned first_level, last_level, first_layer, last_layer;
  unsigned reserved[16];
} ResourceView;

enum { OF_ARRAY, OF_MIPMAPPED, OF_LINEAR, OF_PITCHED };
enum { WRAP, CLAMP, MIRROR, BORDER };
enum { POINT, LINEAR_FILTER };
enum { AS_INTEGERS = 1, NORMALIZED = 2 };
enum { SURFACE_LDST = 2 };

#define USE_TEXTURES                                                                   \
  USE_ARRAYS;                                                                          \
  USE(cuTexObjectCreate, 5000, CUtexObject *, const Resource *, const Sampling *,      \
      const ResourceView *);                                                           \
  USE(cuTexObjectDestroy, 5000, CUtexObject);                                          \
  USE(cuTexObjectGetResourceDesc, 5000, Resource *, CUtexObject);                      \
  USE(cuTexObjectGetTextureDesc, 5000, Sampling *, CUtexObject);                       \
  USE(cuTexObjectGetResourceViewDesc, 5000, ResourceView *, CUtexObject);              \
  USE(cuSurfObjectCreate, 5000, CUsurfObject *, const Resource *);                     \
  USE(cuSurfObjectDestroy, 5000, CUsurfObject);                                        \
  USE(cuSurfObjectGetResourceDesc, 5000, Resource *, CUsurfObject);                    \
  (void)cuTexObjectCreate, (void)cuTexObjectDestroy, (void)cuTexObjectGetResourceDesc, \
      (void)cuTexObjectGetTextureDesc, (void)cuTexObjectGetResourceViewDesc,           \
      (void)cuSurfObjectCreate, (void)cuSurfObjectDestroy, (void)cuSurfObjectGetResourceDesc

// One thread of `fetch` reads the texture at (x, y) and writes its four numbers, of 32 bits each.
#define PTX_FETCH                                                                               \
  ".visible .entry fetch(.param .u64 texture, .param .f32 x, .param .f32 y, .param .u64 out)\n" \
  "{\n"                                                                                         \
  "  .reg .b64 %t, %p; .reg .f32 %x, %y; .reg .b32 %r<4>;\n"                                    \
  "  ld.param.u64 %t, [texture];\n"                                                             \
  "  ld.param.u64 %p, [out];\n"                                                                 \
  "  ld.param.f32 %x, [x];\n"                                                                   \
  "  ld.param.f32 %y, [y];\n"                                                                   \
  "  tex.2d.v4.u32.f32 {%r0, %r1, %r2, %r3}, [%t, {%x, %y}];\n"                                 \
  "  st.global.v4.b32 [%p], {%r0, %r1, %r2, %r3};\n"                                            \
  "  ret;\n"                                                                                    \
  "}\n"

// Each thread of `copy_row` brings the word of its index in a row of a surface to memory, and each
// thread of `set_row` stores what is in memory there. Nothing is read from beyond the surface, and
// nothing stored there.
#define PTX_ROWS                                                                      \
  ".visible .entry copy_row(.param .u64 surface, .param .u32 row, .param .u64 out)\n" \
  "{\n"                                                                               \
  "  .reg .b64 %s, %p; .reg .b32 %x, %y, %i, %v;\n"                                   \
  "  ld.param.u64 %s, [surface];\n"                                                   \
  "  ld.param.u32 %y, [row];\n"                                                       \
  "  ld.param.u64 %p, [out];\n"                                                       \
  "  mov.u32 %i, %tid.x;\n"                                                           \
  "  mul.lo.u32 %x, %i, 4;\n"                                                         \
  "  mad.wide.u32 %p, %i, 4, %p;\n"                                                   \
  "  suld.b.2d.b32.zero %v, [%s, {%x, %y}];\n"                                        \
  "  st.global.u32 [%p], %v;\n"                                                       \
  "  ret;\n"                                                                          \
  "}\n"                                                                               \
  ".visible .entry set_row(.param .u64 surface, .param .u32 row, .param .u64 in)\n"   \
  "{\n"                                                                               \
  "  .reg .b64 %s, %p; .reg .b32 %x, %y, %i, %v;\n"                                   \
  "  ld.param.u64 %s, [surface];\n"                                                   \
  "  ld.param.u32 %y, [row];\n"                                                       \
  "  ld.param.u64 %p, [in];\n"                                                        \
  "  mov.u32 %i, %tid.x;\n"                                                           \
  "  mul.lo.u32 %x, %i, 4;\n"                                                         \
  "  mad.wide.u32 %p, %i, 4, %p;\n"                                                   \
  "  ld.global.u32 %v, [%p];\n"                                                       \
  "  sust.b.2d.b32.zero [%s, {%x, %y}], %v;\n"                                        \
  "  ret;\n"                                                                          \
  "}\n"

// What `fetch` reads, in words.
static inline void fetch_words(CUfunction fetch, CUtexObject texture, float x, float y,
                               CUdeviceptr out, void *words) {
  USE_MEMORY;
  MUST(launch(fetch, 1, 1, NULL, ARGUMENTS(&texture, &x, &y, &out)));
  MUST(cuMemcpyDtoH(words, out, 16));
}

// A whole array of two dimensions from the host, or to it.
static inline void copy_array(CUarray array, void *host, size_t row_bytes, size_t rows,
                              int to_array) {
  USE_ARRAYS;
  Copy2D copy = {.width = row_bytes, .height = rows};
  const Side2D there = {.type = ARRAY, .array = array},
               here = {.type = HOST, .host = host, .pitch = row_bytes};
  copy.from = to_array ? here : there;
  copy.to = to_array ? there : here;
  MUST(cuMemcpy2D(&copy));
}
