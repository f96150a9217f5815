// SPDX-License-Identifier: BSD-3-Clause
// Rule: CUDA arrays of one, two and three dimensions, and of layers, say what they are, and keep
// what copies bring there, whose offsets are in bytes, rows and slices.
// Source: cuda.h, cuArray3DCreate, cuMemcpy2D and cuMemcpy3D
#include "arrays.h"

enum { WIDTH = 12, ROWS = 5, SLICES = 3, BYTES = WIDTH * 2 };

// Brings numbers into the array, takes a box of them out, and compares. With several layers of one
// row that goes to the host at once: to linear memory the driver of an H200 copied only the first
// of them, if the array was made with a height of 0. No source says that it may.
static void there_and_back(const Array3DDescriptor *wanted, size_t rows, size_t slices) {
  USE_MEMORY;
  USE_ARRAYS;
  static unsigned char in[SLICES][ROWS][BYTES], out[SLICES][ROWS][BYTES];
  Array3DDescriptor said;
  CUarray array;
  CUdeviceptr linear;
  memset(out, 0, sizeof out);
  for (size_t i = 0; i < sizeof in; ++i) ((unsigned char *)in)[i] = (unsigned char)(i * 7 + 1);
  MUST(cuArray3DCreate(&array, wanted));
  MUST(cuArray3DGetDescriptor(&said, array));
  MUST_BE(said.width, wanted->width);
  MUST_BE(said.height, wanted->height);
  MUST_BE(said.depth, wanted->depth);
  MUST_BE(said.format, wanted->format);
  MUST_BE(said.channels, wanted->channels);
  MUST_BE(said.flags, wanted->flags);
  Copy3D copy = {.width = BYTES, .height = rows, .depth = slices};
  copy.from = (Side3D){.type = HOST, .host = in, .pitch = BYTES, .height = ROWS};
  copy.to = (Side3D){.type = ARRAY, .array = array};
  MUST(cuMemcpy3D(&copy));
  // From the second element, row and slice on, by way of linear memory.
  const size_t y = rows > 1, z = slices > 1;
  const int rows_of_layers = wanted->height == 0 && slices > 1;
  MUST(cuMemAlloc(&linear, sizeof out));
  copy = (Copy3D){.width = BYTES - 2, .height = rows - y, .depth = slices - z};
  copy.from = (Side3D){.x = 2, .y = y, .z = z, .type = ARRAY, .array = array};
  if (!rows_of_layers) {
    copy.to = (Side3D){.type = DEVICE, .device = linear, .pitch = BYTES, .height = ROWS};
    MUST(cuMemcpy3D(&copy));
    copy.from = copy.to;
  }
  copy.to = (Side3D){.type = HOST, .host = out, .pitch = BYTES, .height = ROWS};
  MUST(cuMemcpy3D(&copy));
  for (size_t k = 0; k < slices - z; ++k)
    for (size_t j = 0; j < rows - y; ++j)
      for (size_t i = 0; i < BYTES - 2; ++i) MUST_BE(out[k][j][i], in[k + z][j + y][i + 2]);
  MUST_BE(out[0][0][BYTES - 1], 0);
  // Copies that do not fit fail.
  copy.from = (Side3D){.x = 4, .type = ARRAY, .array = array};
  MUST_BE(cuMemcpy3D(&copy), INVALID_VALUE);
  copy.from = (Side3D){.y = rows, .type = ARRAY, .array = array};
  MUST_BE(cuMemcpy3D(&copy), INVALID_VALUE);
  MUST(cuMemFree(linear));
  MUST(cuArrayDestroy(array));
}

int main(void) {
  start();
  USE_ARRAYS;
  there_and_back(&(Array3DDescriptor){WIDTH, 0, 0, UINT16, 1, 0}, 1, 1);
  there_and_back(&(Array3DDescriptor){WIDTH, ROWS, 0, UINT16, 1, 0}, ROWS, 1);
  there_and_back(&(Array3DDescriptor){WIDTH / 2, ROWS, 0, UINT8, 4, 0}, ROWS, 1);
  there_and_back(&(Array3DDescriptor){WIDTH / 2, ROWS, SLICES, FLOAT32, 1, 0}, ROWS, SLICES);
  there_and_back(&(Array3DDescriptor){WIDTH / 2, ROWS, SLICES, UINT16, 2, LAYERED}, ROWS, SLICES);
  there_and_back(&(Array3DDescriptor){WIDTH, 0, SLICES, UINT16, 1, LAYERED}, 1, SLICES);

  const ArrayDescriptor wanted = {WIDTH, ROWS, FLOAT32, 2};
  ArrayDescriptor said;
  CUarray first, second;
  float in[ROWS][2 * WIDTH], out[ROWS][2 * WIDTH];
  for (int i = 0; i < ROWS * 2 * WIDTH; ++i) ((float *)in)[i] = (float)i / 3;
  MUST(cuArrayCreate(&first, &wanted));
  MUST(cuArrayCreate(&second, &wanted));
  MUST(cuArrayGetDescriptor(&said, first));
  MUST_BE(memcmp(&said, &wanted, sizeof said), 0);
  Copy2D copy = {.width = sizeof *in, .height = ROWS};
  copy.from = (Side2D){.type = HOST, .host = in, .pitch = sizeof *in};
  copy.to = (Side2D){.type = ARRAY, .array = first};
  MUST(cuMemcpy2D(&copy));
  copy.from = copy.to;
  copy.to = (Side2D){.type = ARRAY, .array = second};
  MUST(cuMemcpy2D(&copy));
  copy.from = copy.to;
  copy.to = (Side2D){.type = HOST, .host = out, .pitch = sizeof *out};
  MUST(cuMemcpy2D(&copy));
  MUST_BE(memcmp(in, out, sizeof in), 0);

  const Array3DDescriptor bad[] = {
      {0, 0, 0, UINT8, 1, 0},       // no width
      {4, 4, 0, UINT8, 3, 0},       // three channels
      {4, 0, 4, UINT8, 1, 0},       // depth without height
      {4, 4, 0, UINT8, 1, LAYERED}  // no layers
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
    MUST_BE(cuArray3DCreate(&first, &bad[i]), INVALID_VALUE);
  MUST_BE(cuArray3DCreate(NULL, &bad[0]), INVALID_VALUE);
  MUST_BE(cuArrayCreate(&first, NULL), INVALID_VALUE);
  MUST(cuArrayDestroy(second));
  return 0;
}
