// SPDX-License-Identifier: BSD-3-Clause
// Textures of each format, of layers, faces and levels, and by views of them; each limit of their
// descriptors; and what was destroyed, where there is much of it.
#include "textures.h"

enum { WIDTH = 4, ROWS = 4, LAYERS = 3, FACES = 6, CUBE = 4, BYTES = 1 << 16 };
enum { SINT8 = 8, SINT16 = 9, UINT32 = 3, SINT32 = 10, FLOAT16 = 0x10 };
enum { SRGB = 16, SEAMLESS = 64, UNKNOWN_FORMAT = 99 };

// Each thread reads at (x, y, z), of a layer or a level, and writes four numbers.
#define PTX_READ(name, how)                                                           \
  ".visible .entry " name                                                             \
  "(.param .u64 texture, .param .f32 x, .param .f32 y, .param .f32 z,\n"              \
  "  .param .u32 layer, .param .f32 level, .param .u64 out)\n"                        \
  "{\n"                                                                               \
  "  .reg .b64 %t, %p; .reg .f32 %x, %y, %z, %l; .reg .b32 %n, %r<4>;\n"              \
  "  ld.param.u64 %t, [texture]; ld.param.u64 %p, [out]; ld.param.u32 %n, [layer];\n" \
  "  ld.param.f32 %x, [x]; ld.param.f32 %y, [y]; ld.param.f32 %z, [z];\n"             \
  "  ld.param.f32 %l, [level];\n"                                                     \
  "  " how                                                                            \
  ";\n"                                                                               \
  "  st.global.v4.b32 [%p], {%r0, %r1, %r2, %r3};\n"                                  \
  "  ret;\n"                                                                          \
  "}\n"
static const char text[] =
    PTX_HEADER PTX_READ("of_rows", "tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%t, {%x, %y}]")
        PTX_READ("of_layers", "tex.a2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%t, {%n, %x, %y, %y}]")
            PTX_READ("of_cube", "tex.cube.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%t, {%x, %y, %z, %z}]")
                PTX_READ("of_cubes",
                         "tex.acube.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%t, {%n, %x, %y, %z}]")
                    PTX_READ("of_levels",
                             "tex.level.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%t, {%x, %y}], %l");

static const char of_both[] = PTX_HEADER
    ".visible .entry of_both(.param .u64 first, .param .u64 last, .param .u64 out)\n"
    "{\n"
    "  .reg .b64 %t, %p; .reg .f32 %x, %r<8>;\n"
    "  ld.param.u64 %p, [out];\n"
    "  mov.f32 %x, 0f3f800000;\n"
    "  ld.param.u64 %t, [first];\n"
    "  tex.a2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%t, {0, %x, %x, %x}];\n"
    "  ld.param.u64 %t, [last];\n"
    "  tex.a2d.v4.f32.f32 {%r4, %r5, %r6, %r7}, [%t, {0, %x, %x, %x}];\n"
    "  st.global.v2.f32 [%p], {%r0, %r4};\n"
    "  ret;\n"
    "}\n";

static CUmodule module;
static CUdeviceptr out, memory;
static const Sampling plain = {.modes = {CLAMP, CLAMP, CLAMP}};

typedef struct {
  float x, y, z;
  unsigned layer;
  float level;
} At;

typedef union {
  float real[4];
  int integer[4];
} Words;

static Words words_at(const char *kernel, CUtexObject texture, At at) {
  USE_MEMORY;
  Words words;
  MUST(launch(function_in(module, kernel), 1, 1, NULL,
              ARGUMENTS(&texture, &at.x, &at.y, &at.z, &at.layer, &at.level, &out)));
  MUST(cuMemcpyDtoH(&words, out, sizeof words));
  return words;
}

static float real_at(const char *kernel, CUtexObject texture, At at) {
  return words_at(kernel, texture, at).real[0];
}

static CUtexObject texture_of(Resource resource, Sampling sampling, const ResourceView *view) {
  USE_TEXTURES;
  CUtexObject texture;
  MUST(cuTexObjectCreate(&texture, &resource, &sampling, view));
  return texture;
}

// An array whose elements have the number of their slice.
static CUarray numbered(Array3DDescriptor descriptor) {
  USE_ARRAYS;
  static float values[2 * FACES][ROWS][WIDTH];
  CUarray array;
  for (size_t i = 0; i < sizeof values / sizeof ***values; ++i)
    ((float *)values)[i] = (float)(i / (WIDTH * ROWS));
  MUST(cuArray3DCreate(&array, &descriptor));
  Copy3D copy = {.width = WIDTH * 4, .height = ROWS, .depth = descriptor.depth};
  copy.from = (Side3D){.type = HOST, .host = values, .pitch = WIDTH * 4, .height = ROWS};
  copy.to = (Side3D){.type = ARRAY, .array = array};
  MUST(cuMemcpy3D(&copy));
  return array;
}

#define NEAR(value, wanted) ((value) - (wanted) < 1e-3f && (wanted) - (value) < 1e-3f)

// Integers as they are and, of 8 and 16 bits, as fractions; halves and floats as numbers.
static void check_formats(void) {
  USE_TEXTURES;
  static const struct {
    int format;
    size_t size;
    unsigned bits;
    int integer;
    float real;
  } formats[] = {
      {UINT8, 1, 0xfe, 254, 254 / 255.0f},    {SINT8, 1, 0xfe, -2, -2 / 127.0f},
      {UINT16, 2, 0xfffe, 65534, 0.99998f},   {SINT16, 2, 0xc000, -16384, -0.50002f},
      {UINT32, 4, 0x7fffffff, 0x7fffffff, 0}, {SINT32, 4, 0xfffffffe, -2, 0},
      {FLOAT16, 2, 0xc100, 0, -2.5f},         {FLOAT32, 4, 0x3fc00000, 0, 1.5f},
  };
  for (size_t i = 0; i < sizeof formats / sizeof *formats; ++i) {
    for (unsigned channels = 1; channels <= 4; channels *= 2) {
      unsigned char texels[WIDTH * ROWS * 16] = {0};
      for (size_t k = 0; k < sizeof texels / formats[i].size; ++k)
        memcpy(texels + k * formats[i].size, &formats[i].bits, formats[i].size);
      CUarray array;
      MUST(cuArrayCreate(&array, &(ArrayDescriptor){WIDTH, ROWS, formats[i].format, channels}));
      copy_array(array, texels, WIDTH * channels * formats[i].size, ROWS, 1);
      const Resource resource = {.type = OF_ARRAY, .of.array = array};
      Sampling sampling = plain;
      CUtexObject texture = texture_of(resource, sampling, NULL);
      if (formats[i].real != 0)
        MUST_HOLD(NEAR(real_at("of_rows", texture, (At){1, 1, 0, 0, 0}), formats[i].real));
      else  // those of 32 bits are no fractions
        MUST_BE(words_at("of_rows", texture, (At){1, 1, 0, 0, 0}).integer[0], formats[i].integer);
      MUST(cuTexObjectDestroy(texture));
      sampling.flags = AS_INTEGERS;
      texture = texture_of(resource, sampling, NULL);
      if (formats[i].integer)
        MUST_BE(words_at("of_rows", texture, (At){1, 1, 0, 0, 0}).integer[channels - 1],
                formats[i].integer);
      MUST(cuTexObjectDestroy(texture));
      MUST(cuArrayDestroy(array));
    }
  }
}

// Fractions of bytes are turned into linear ones.
static void check_srgb(void) {
  USE_TEXTURES;
  unsigned char texels[WIDTH * ROWS];
  memset(texels, 188, sizeof texels);
  CUarray array;
  MUST(cuArrayCreate(&array, &(ArrayDescriptor){WIDTH, ROWS, UINT8, 1}));
  copy_array(array, texels, WIDTH, ROWS, 1);
  const Resource resource = {.type = OF_ARRAY, .of.array = array};
  Sampling sampling = plain;
  sampling.flags = SRGB;
  const CUtexObject texture = texture_of(resource, sampling, NULL);
  MUST_HOLD(NEAR(real_at("of_rows", texture, (At){1, 1, 0, 0, 0}), 0.5029f));
  MUST(cuTexObjectDestroy(texture));
  MUST(cuArrayDestroy(array));
}

static void check_layers(void) {
  USE_TEXTURES;
  const CUarray array = numbered((Array3DDescriptor){WIDTH, ROWS, LAYERS, FLOAT32, 1, LAYERED});
  const Resource resource = {.type = OF_ARRAY, .of.array = array};
  CUtexObject texture = texture_of(resource, plain, NULL);
  for (unsigned i = 0; i < LAYERS; ++i)
    MUST_HOLD(real_at("of_layers", texture, (At){1, 1, 0, i, 0}) == (float)i);
  MUST(cuTexObjectDestroy(texture));
  // By a view its first layer is the new layer 0.
  ResourceView view = {0, WIDTH, ROWS, LAYERS, .first_layer = 1, .last_layer = LAYERS - 1};
  texture = texture_of(resource, plain, &view);
  MUST_HOLD(real_at("of_layers", texture, (At){1, 1, 0, 0, 0}) == 1);
  MUST_HOLD(real_at("of_layers", texture, (At){1, 1, 0, 1, 0}) == 2);
  MUST(cuTexObjectDestroy(texture));
  view.last_layer = LAYERS;
  MUST_BE(cuTexObjectCreate(&texture, &resource, &plain, &view), INVALID_VALUE);
  view = (ResourceView){0, WIDTH, ROWS, LAYERS, .first_layer = 2, .last_layer = 1};
  MUST_BE(cuTexObjectCreate(&texture, &resource, &plain, &view), INVALID_VALUE);
  MUST(cuArrayDestroy(array));
}

// The face is that of the largest coordinate: x and -x come first.
static void check_cubes(void) {
  USE_TEXTURES;
  CUarray array = numbered((Array3DDescriptor){WIDTH, ROWS, FACES, FLOAT32, 1, CUBE});
  Resource resource = {.type = OF_ARRAY, .of.array = array};
  Sampling sampling = plain;
  static const At faces[FACES] = {{1, 0, 0, 0, 0},  {-1, 0, 0, 0, 0}, {0, 1, 0, 0, 0},
                                  {0, -1, 0, 0, 0}, {0, 0, 1, 0, 0},  {0, 0, -1, 0, 0}};
  for (int seamless = 0; seamless < 2; ++seamless) {
    sampling.flags = seamless ? SEAMLESS | NORMALIZED : 0;
    const CUtexObject texture = texture_of(resource, sampling, NULL);
    for (int i = 0; i < FACES; ++i) MUST_HOLD(real_at("of_cube", texture, faces[i]) == (float)i);
    MUST(cuTexObjectDestroy(texture));
  }
  CUtexObject texture;
  sampling.filter = LINEAR_FILTER;
  MUST_BE(cuTexObjectCreate(&texture, &resource, &sampling, NULL), NOT_SUPPORTED);
  // A view of a cube names no layers.
  ResourceView view = {0, WIDTH, ROWS, FACES, .last_layer = 1};
  MUST_BE(cuTexObjectCreate(&texture, &resource, &plain, &view), INVALID_VALUE);
  view.last_layer = 0;
  texture = texture_of(resource, plain, &view);
  MUST_HOLD(real_at("of_cube", texture, faces[5]) == 5);
  MUST(cuTexObjectDestroy(texture));
  MUST(cuArrayDestroy(array));

  array = numbered((Array3DDescriptor){WIDTH, ROWS, 2 * FACES, FLOAT32, 1, CUBE | LAYERED});
  resource.of.array = array;
  texture = texture_of(resource, plain, NULL);
  At face = faces[3];
  face.layer = 1;
  MUST_HOLD(real_at("of_cubes", texture, face) == FACES + 3);
  MUST(cuTexObjectDestroy(texture));
  // Of layers of cubes a view has whole cubes.
  view = (ResourceView){0, WIDTH, ROWS, 2 * FACES, .first_layer = FACES};
  view.last_layer = 2 * FACES - 1;
  texture = texture_of(resource, plain, &view);
  MUST_HOLD(real_at("of_cubes", texture, faces[3]) == FACES + 3);
  MUST(cuTexObjectDestroy(texture));
  view.last_layer = 2 * FACES - 2;
  MUST_BE(cuTexObjectCreate(&texture, &resource, &plain, &view), INVALID_VALUE);
  MUST(cuArrayDestroy(array));
}

// Between two levels, linearly; a view has levels of its own.
static void check_levels(void) {
  USE_TEXTURES;
  USE(cuMipmappedArrayCreate, 5000, CUmipmappedArray *, const Array3DDescriptor *, unsigned);
  USE(cuMipmappedArrayGetLevel, 5000, CUarray *, CUmipmappedArray, unsigned);
  USE(cuMipmappedArrayDestroy, 5000, CUmipmappedArray);
  USE_SIM(uint64_t, simcuda_objects, const char *);
  enum { LEVELS = 3 };
  CUmipmappedArray mipmapped;
  CUarray level = NULL, again = NULL;
  MUST(cuMipmappedArrayCreate(&mipmapped, &(Array3DDescriptor){WIDTH, ROWS, 0, FLOAT32, 1, 0},
                              LEVELS));
  MUST_BE(simcuda_objects("CUmipmappedArray"), 1);
  for (unsigned i = 0; i < LEVELS; ++i) {
    float values[ROWS * WIDTH];
    for (size_t k = 0; k < ROWS * WIDTH; ++k) values[k] = (float)(10 * i);
    MUST(cuMipmappedArrayGetLevel(&level, mipmapped, i));
    copy_array(level, values, (size_t)(WIDTH >> i) * 4, (size_t)(ROWS >> i), 1);
  }
  MUST(cuMipmappedArrayGetLevel(&again, mipmapped, LEVELS - 1));
  MUST_BE(again == level, 1);
  MUST_BE(cuArrayDestroy(level), INVALID_HANDLE);  // it goes with the other ones
  MUST_BE(simcuda_objects("CUarray"), 0);
  const Resource resource = {.type = OF_MIPMAPPED, .of.mipmapped = mipmapped};
  Sampling sampling = {.modes = {CLAMP, CLAMP, CLAMP}, .flags = NORMALIZED, .most = LEVELS};
  CUtexObject texture = texture_of(resource, sampling, NULL);
  MUST_HOLD(real_at("of_levels", texture, (At){0.5f, 0.5f, 0, 0, 0.25f}) == 0);
  MUST(cuTexObjectDestroy(texture));
  sampling.level_filter = LINEAR_FILTER;
  texture = texture_of(resource, sampling, NULL);
  MUST_HOLD(NEAR(real_at("of_levels", texture, (At){0.5f, 0.5f, 0, 0, 0.25f}), 2.5f));
  MUST(cuTexObjectDestroy(texture));
  const ResourceView view = {0, WIDTH, ROWS, 0, .first_level = 1, .last_level = 2};
  texture = texture_of(resource, sampling, &view);
  MUST_HOLD(NEAR(real_at("of_levels", texture, (At){0.5f, 0.5f, 0, 0, 0.5f}), 15));
  MUST(cuTexObjectDestroy(texture));
  MUST(cuMipmappedArrayDestroy(mipmapped));
  MUST_BE(cuMipmappedArrayDestroy(mipmapped), INVALID_HANDLE);

  // Of layers each has all levels, and each level all layers.
  const Array3DDescriptor layers = {WIDTH, ROWS, LAYERS, FLOAT32, 1, LAYERED};
  Array3DDescriptor said;
  MUST(cuMipmappedArrayCreate(&mipmapped, &layers, 99));
  MUST(cuMipmappedArrayGetLevel(&level, mipmapped, 2));
  MUST(cuArray3DGetDescriptor(&said, level));
  MUST_BE(said.width, 1);
  MUST_BE(said.depth, LAYERS);
  MUST_BE(cuMipmappedArrayGetLevel(&level, mipmapped, 3), INVALID_VALUE);
  MUST(cuMipmappedArrayDestroy(mipmapped));  // of which nobody has asked for all levels
}

static void check_refused(void) {
  USE_TEXTURES;
  CUarray array;
  MUST(cuArray3DCreate(&array, &(Array3DDescriptor){WIDTH, ROWS, 0, FLOAT32, 1, 0}));
#define LINEAR_OF(...)                            \
  {                                               \
    .type = OF_LINEAR, .of.linear = {__VA_ARGS__} \
  }
#define PITCHED_OF(...)                             \
  {                                                 \
    .type = OF_PITCHED, .of.pitched = {__VA_ARGS__} \
  }
  const Resource of_array = {.type = OF_ARRAY, .of.array = array};
  const Resource resources[] = {
      LINEAR_OF(memory, UINT8, 3, BYTES),
      LINEAR_OF(memory, UINT8, 0, BYTES),
      LINEAR_OF(memory, UNKNOWN_FORMAT, 1, BYTES),
      LINEAR_OF(memory, FLOAT32, 4, 15),  // not one texel
      LINEAR_OF(memory, UINT8, 1, (1u << 28) + 1),
      LINEAR_OF(memory, UINT8, 1, BYTES + 1),
      PITCHED_OF(memory + 32, FLOAT32, 1, WIDTH, ROWS, 32),
      PITCHED_OF(memory, FLOAT32, 1, 0, ROWS, 32),
      PITCHED_OF(memory, FLOAT32, 1, WIDTH, 0, 32),
      PITCHED_OF(memory, UINT8, 1, 131073, 1, 131104),
      PITCHED_OF(memory, UINT8, 1, 1, 65001, 32),
      PITCHED_OF(memory, UINT8, 1, 1, 1, 2097152),
      PITCHED_OF(memory, FLOAT32, 1, 9, ROWS, 32),  // a row is longer
  };
  CUtexObject texture;
  for (size_t i = 0; i < sizeof resources / sizeof *resources; ++i)
    MUST_BE(cuTexObjectCreate(&texture, &resources[i], &plain, NULL), INVALID_VALUE);

  enum { ONE_FLOAT = 0x16, TWO_FLOATS = 0x17, FIRST_COMPRESSED = 0x19, AFTER_LAST = 0x23 };
  const struct {
    ResourceView view;
    CUresult status;
  } views[] = {
      {{.format = -1, .width = WIDTH, .height = ROWS}, INVALID_VALUE},
      {{.format = AFTER_LAST, .width = WIDTH, .height = ROWS}, INVALID_VALUE},
      {{.format = FIRST_COMPRESSED, .width = WIDTH, .height = ROWS}, NOT_SUPPORTED},
      {{.format = TWO_FLOATS, .width = WIDTH, .height = ROWS}, INVALID_VALUE},
      {{.format = ONE_FLOAT, .width = WIDTH, .height = ROWS + 1}, INVALID_VALUE},
      {{.format = ONE_FLOAT, .width = WIDTH, .height = ROWS, .depth = 1}, INVALID_VALUE},
      {{.width = WIDTH, .height = ROWS, .last_layer = 1}, INVALID_VALUE},
      {{.width = WIDTH, .height = ROWS}, SUCCESS},
  };
  for (size_t i = 0; i < sizeof views / sizeof *views; ++i)
    MUST_BE(cuTexObjectCreate(&texture, &of_array, &plain, &views[i].view), views[i].status);
  MUST(cuTexObjectDestroy(texture));

  const Sampling samplings[] = {
      {.modes = {CLAMP, -1, CLAMP}},
      {.modes = {CLAMP, CLAMP, CLAMP}, .filter = 2},
      {.modes = {CLAMP, CLAMP, CLAMP}, .level_filter = 2},
      {.modes = {CLAMP, CLAMP, CLAMP}, .flags = SEAMLESS},  // it is no cube
  };
  for (size_t i = 0; i < sizeof samplings / sizeof *samplings; ++i)
    MUST_BE(cuTexObjectCreate(&texture, &of_array, &samplings[i], NULL), INVALID_VALUE);
  MUST(cuArrayDestroy(array));
}

// A surface's handle is no texture's.
static void check_kinds(void) {
  USE_TEXTURES;
  CUarray array;
  CUsurfObject surface;
  Resource said;
  MUST(cuArray3DCreate(&array, &(Array3DDescriptor){WIDTH, ROWS, 0, FLOAT32, 1, SURFACE_LDST}));
  const Resource resource = {.type = OF_ARRAY, .of.array = array};
  const CUtexObject texture = texture_of(resource, plain, NULL);
  MUST(cuSurfObjectCreate(&surface, &resource));
  MUST_BE(cuTexObjectDestroy(surface), INVALID_VALUE);
  MUST_BE(cuSurfObjectDestroy(texture), INVALID_VALUE);
  MUST_BE(cuSurfObjectGetResourceDesc(&said, texture), INVALID_VALUE);
  MUST(cuSurfObjectDestroy(surface));
  MUST(cuTexObjectDestroy(texture));
  MUST(cuArrayDestroy(array));
}

// Beyond its edges a texture without normalized coordinates has a border, too.
static void check_border(void) {
  USE_TEXTURES;
  const CUarray array = numbered((Array3DDescriptor){WIDTH, ROWS, 1, FLOAT32, 1, LAYERED});
  const Resource resource = {.type = OF_ARRAY, .of.array = array};
  const Sampling sampling = {.modes = {BORDER, BORDER, BORDER}, .border = {42}};
  const CUtexObject texture = texture_of(resource, sampling, NULL);
  MUST_HOLD(real_at("of_layers", texture, (At){1, 1, 0, 0, 0}) == 0);
  MUST_HOLD(real_at("of_layers", texture, (At){-1, 1, 0, 0, 0}) == 42);
  MUST(cuTexObjectDestroy(texture));
  MUST(cuArrayDestroy(array));
}

// One array by two textures, in one kernel.
static void check_two_of_one(void) {
  USE_TEXTURES;
  USE_MEMORY;
  const CUarray array = numbered((Array3DDescriptor){WIDTH, ROWS, LAYERS, FLOAT32, 1, LAYERED});
  const Resource resource = {.type = OF_ARRAY, .of.array = array};
  const ResourceView view = {0, WIDTH, ROWS, LAYERS, .first_layer = 2, .last_layer = 2};
  CUtexObject first = texture_of(resource, plain, NULL), last = texture_of(resource, plain, &view);
  float found[2] = {7, 7};
  MUST(launch(function_in(module_of(of_both), "of_both"), 1, 1, NULL,
              ARGUMENTS(&first, &last, &out)));
  MUST(cuMemcpyDtoH(found, out, sizeof found));
  MUST_HOLD(found[0] == 0 && found[1] == 2);
  MUST(cuTexObjectDestroy(first));
  MUST(cuTexObjectDestroy(last));
  MUST(cuArrayDestroy(array));
}

// Arrays go with their context, those with levels, too, and nobody else's.
static void check_context_ends(CUcontext primary) {
  USE_TEXTURES;
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxDestroy, 4000, CUcontext);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuMipmappedArrayCreate, 5000, CUmipmappedArray *, const Array3DDescriptor *, unsigned);
  USE(cuMipmappedArrayGetLevel, 5000, CUarray *, CUmipmappedArray, unsigned);
  USE(cuMipmappedArrayDestroy, 5000, CUmipmappedArray);
  USE_SIM(uint64_t, simcuda_objects, const char *);
  const Array3DDescriptor descriptor = {WIDTH, ROWS, 0, FLOAT32, 1, 0};
  CUcontext other;
  CUmipmappedArray own, foreign;
  CUarray level, of_foreign, array;
  ArrayDescriptor said;
  MUST(cuMipmappedArrayCreate(&own, &descriptor, 2));
  MUST(cuMipmappedArrayGetLevel(&level, own, 1));
  MUST(cuCtxCreate(&other, 0, 0));
  MUST(cuMipmappedArrayCreate(&foreign, &descriptor, 2));
  MUST(cuMipmappedArrayGetLevel(&of_foreign, foreign, 1));
  MUST(cuArray3DCreate(&array, &descriptor));
  MUST_BE(simcuda_objects("CUmipmappedArray"), 2);
  MUST_BE(simcuda_objects("CUarray"), 1);
  MUST(cuCtxDestroy(other));
  MUST(cuCtxSetCurrent(primary));
  MUST_BE(simcuda_objects("CUmipmappedArray"), 1);
  MUST_BE(simcuda_objects("CUarray"), 0);
  MUST_HOLD(cuArrayGetDescriptor(&said, of_foreign) != SUCCESS);
  MUST_HOLD(cuMipmappedArrayDestroy(foreign) != SUCCESS);
  MUST(cuArrayGetDescriptor(&said, level));
  MUST_BE(said.width, WIDTH / 2);
  MUST(cuMipmappedArrayDestroy(own));
}

// A launch that waits keeps what was there: then it all goes at once, however much it is.
static void check_many_destroyed(void) {
  USE_TEXTURES;
  USE_MEMORY;
  enum { MANY = 50000 };
  float values[WIDTH] = {5, 5, 5, 5}, zero = 0;
  unsigned none = 0;
  MUST(cuMemcpyHtoD(memory, values, sizeof values));
  const Resource resource = {.type = OF_PITCHED,
                             .of.pitched = {memory, FLOAT32, 1, WIDTH, 1, WIDTH * 8}};
  CUtexObject other = texture_of(resource, plain, NULL);
  CUtexObject texture = texture_of(resource, plain, NULL);
  const CUfunction of_rows = function_in(module, "of_rows");
  MUST(launch(of_rows, 1, 1, NULL, ARGUMENTS(&texture, &zero, &zero, &zero, &none, &zero, &out)));
  MUST(cuTexObjectDestroy(other));
  MUST(cuTexObjectDestroy(texture));
  for (int i = 0; i < MANY; ++i) {
    MUST(cuTexObjectCreate(&texture, &resource, &plain, NULL));
    MUST(cuTexObjectDestroy(texture));
  }
  Words words;
  MUST(cuMemcpyDtoH(&words, out, sizeof words));
  MUST_HOLD(words.real[0] == 5);
}

int main(void) {
  const CUcontext context = start();
  USE_MEMORY;
  module = module_of(text);
  MUST(cuMemAlloc(&out, 16));
  MUST(cuMemAlloc(&memory, BYTES));
  check_formats();
  check_srgb();
  check_layers();
  check_cubes();
  check_levels();
  check_refused();
  check_kinds();
  check_border();
  check_two_of_one();
  check_context_ends(context);
  check_many_destroyed();
  return 0;
}
