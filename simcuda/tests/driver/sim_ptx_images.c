// SPDX-License-Identifier: BSD-3-Clause
// Modules and libraries are loaded from PTX, fat binaries and files, and linked; bad images are
// refused, and the log says why.
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "race_ptx.h"

enum { INVALID_IMAGE = 200, NO_BINARY = 209, INVALID_PTX = 218, FILE_NOT_FOUND = 301 };
enum { WALL_TIME = 2, INFO_BUFFER = 3, INFO_SIZE = 4, ERROR_BUFFER = 5, ERROR_SIZE = 6 };
enum { IS_CUBIN, IS_PTX, IS_FAT, IS_OBJECT };

static const char text[] = PTX_HEADER PTX_FILL;

// As nvcc lays it out: a container, and an entry of each kind, here with up to two.
struct container {
  uint32_t magic;
  uint16_t version, header_size;
  uint64_t size;
};
struct entry {
  uint16_t kind, version;
  uint32_t header_size;
  uint64_t size;
  uint32_t compressed_size, options;
  uint16_t minor, major;
  uint32_t architecture, name, name_size;
  uint64_t flags, reserved, unpacked_size;
};
struct wrapper {
  uint32_t magic, version;
  const void *container;
  void *file_name;
};

static union {
  struct container header;
  unsigned char bytes[8192];
} fat;

static void begin_fat(void) { fat.header = (struct container){0xba55ed50, 1, 16, 0}; }

static struct entry *add_entry(int kind, unsigned architecture, const void *bytes, size_t size) {
  unsigned char *at = fat.bytes + 16 + fat.header.size;
  struct entry *entry = (struct entry *)at;
  const size_t padded = (size + 7) / 8 * 8;
  memset(at, 0, 64 + padded);
  entry->kind = (uint16_t)kind;
  entry->version = 0x101;
  entry->header_size = 64;
  entry->size = padded;
  entry->architecture = architecture;
  entry->flags = 0x11;
  memcpy(at + 64, bytes, size);
  fat.header.size += 64 + padded;
  return entry;
}

static void must_run(CUmodule module, const char *name) {
  USE_MEMORY;
  USE_STREAMS;
  CUdeviceptr memory;
  unsigned value = 77, found = 0;
  MUST(cuMemAlloc(&memory, 4));
  MUST(launch(function_in(module, name), 1, 1, LEGACY, ARGUMENTS(&memory, &value)));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemcpyDtoH(&found, memory, 4));
  MUST_BE(found, 77);
  MUST(cuMemFree(memory));
}

// The result of loading a file of these bytes.
static CUresult load_bytes(const void *bytes, size_t size) {
  USE(cuModuleLoad, 2000, CUmodule *, const char *);
  CUmodule module;
  char path[] = "/tmp/simcuda-XXXXXX";
  const int file = mkstemp(path);
  MUST_BE(file >= 0, 1);
  MUST_BE(write(file, bytes, size), size);
  close(file);
  const CUresult result = cuModuleLoad(&module, path);
  unlink(path);
  return result;
}

static void check_fat(void) {
  USE_KERNELS;
  USE(cuModuleLoadFatBinary, 2000, CUmodule *, const void *);
  CUmodule module;
  const struct wrapper wrapper = {0x466243b1, 1, &fat, NULL}, empty = {0x466243b1, 1, text, NULL};
  // The newest that the device can have.
  begin_fat();
  add_entry(2, 80, "\177ELF", 4);
  add_entry(1, 50, PTX_HEADER, sizeof PTX_HEADER);
  add_entry(1, 80, text, sizeof text);
  add_entry(1, 75, PTX_HEADER, sizeof PTX_HEADER);
  add_entry(1, 100, "no PTX", 7);
  MUST(cuModuleLoadData(&module, &fat));
  must_run(module, "fill");
  MUST(cuModuleLoadFatBinary(&module, &wrapper));
  must_run(module, "fill");
  MUST_BE(cuModuleLoadFatBinary(&module, &empty), INVALID_IMAGE);

  begin_fat();
  add_entry(2, 90, "\177ELF", 4);
  MUST_BE(cuModuleLoadData(&module, &wrapper), NO_BINARY);
  begin_fat();
  MUST_BE(cuModuleLoadData(&module, &fat), NO_BINARY);

  // What says that it has more than there is, or less than a header. Of a file the size is known.
  static const struct container wrong[] = {
      {0xba55ed50, 1, 8, 0}, {0xba55ed50, 1, 4096, 0}, {0xba55ed50, 1, 16, 17}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    unsigned char bytes[32] = {0};
    memcpy(bytes, &wrong[i], sizeof *wrong);
    MUST_BE(load_bytes(bytes, sizeof bytes), INVALID_IMAGE);
    MUST_BE(load_bytes(bytes, 8), INVALID_IMAGE);
  }
  const struct wrapper of_nothing = {0x466243b1, 1, NULL, NULL};
  MUST_BE(cuModuleLoadFatBinary(&module, &of_nothing), INVALID_IMAGE);

  // Literals in runs of 15 and more, and a copy that overlaps itself: 40 spaces.
  unsigned char packed[sizeof text + 64];
  size_t size = 0, rest = sizeof text - 1;
  packed[size++] = 0x1f;  // one literal, 19 bytes and more behind it
  packed[size++] = ' ';
  packed[size++] = 1;
  packed[size++] = 0;
  packed[size++] = 20;  // 4 + 15 + 20 = 39
  packed[size++] = 0xf0;
  for (rest -= 15; rest >= 255; rest -= 255) packed[size++] = 255;
  packed[size++] = (unsigned char)rest;
  memcpy(packed + size, text, sizeof text - 1);
  size += sizeof text - 1;
  begin_fat();
  struct entry *entry = add_entry(1, 80, packed, size);
  entry->flags |= 0x2000;
  entry->compressed_size = (uint32_t)size;
  entry->unpacked_size = 40 + sizeof text - 1;
  MUST(cuModuleLoadData(&module, &fat));
  must_run(module, "fill");
  // Whatever is cut off, or says what is not so, is refused.
  entry->unpacked_size += 1;
  MUST_BE(cuModuleLoadData(&module, &fat), INVALID_IMAGE);
  entry->unpacked_size = 30;
  MUST_BE(cuModuleLoadData(&module, &fat), INVALID_IMAGE);
  // It may end after a copy or after literals, but that is no PTX yet.
  entry->unpacked_size = 40;
  MUST_BE(cuModuleLoadData(&module, &fat), INVALID_PTX);
  entry->unpacked_size = 1;
  MUST_BE(cuModuleLoadData(&module, &fat), INVALID_PTX);
  entry->unpacked_size = 41;  // the next literals alone are more
  MUST_BE(cuModuleLoadData(&module, &fat), INVALID_IMAGE);
  entry->unpacked_size = (uint64_t)1 << 40;
  MUST_BE(cuModuleLoadData(&module, &fat), INVALID_IMAGE);
  entry->unpacked_size = 40 + sizeof text - 1;
  for (uint32_t i = 0; i < size; ++i) {
    entry->compressed_size = i;
    MUST_BE(cuModuleLoadData(&module, &fat), INVALID_IMAGE);
  }
  entry->compressed_size = (uint32_t)size + 100;
  MUST_BE(cuModuleLoadData(&module, &fat), INVALID_IMAGE);
  entry->compressed_size = (uint32_t)size;
  ((unsigned char *)(entry + 1))[2] = 2;  // copies from before the beginning
  MUST_BE(cuModuleLoadData(&module, &fat), INVALID_IMAGE);
  entry->flags = 0x11;
  entry->header_size = 1 << 20;
  MUST_BE(cuModuleLoadData(&module, &fat), INVALID_IMAGE);
  entry->header_size = 64;
  entry->size += 8;
  MUST_BE(cuModuleLoadData(&module, &fat), INVALID_IMAGE);
  entry->header_size = 8;
  MUST_BE(cuModuleLoadData(&module, &fat), INVALID_IMAGE);
}

// By zstd: a frame of one segment with one block, which is not compressed.
static void check_zstd(void) {
  USE_KERNELS;
  CUmodule module;
  const size_t length = sizeof text - 1, stated = length - 256;
  const size_t block = length << 3 | 1;  // of raw bytes, and the last
  const unsigned char head[] = {0x28,
                                0xb5,
                                0x2f,
                                0xfd,
                                0x60,
                                stated & 255,
                                stated >> 8 & 255,
                                block & 255,
                                block >> 8 & 255,
                                block >> 16 & 255};
  unsigned char packed[sizeof head + sizeof text];
  memcpy(packed, head, sizeof head);
  memcpy(packed + sizeof head, text, length);
  const size_t size = sizeof head + length;
  begin_fat();
  struct entry *entry = add_entry(1, 80, packed, size);
  entry->flags |= 0x8000;
  entry->compressed_size = (uint32_t)size;
  entry->unpacked_size = length;
  MUST(cuModuleLoadData(&module, &fat));
  must_run(module, "fill");
  for (uint32_t i = 0; i < size; i += i < 32 ? 1 : 97) {
    entry->compressed_size = i;
    MUST_BE(cuModuleLoadData(&module, &fat), INVALID_IMAGE);
  }
  entry->compressed_size = (uint32_t)size;
  for (int more = -1; more < 2; more += 2) {
    entry->unpacked_size = length + (size_t)more;
    MUST_BE(cuModuleLoadData(&module, &fat), INVALID_IMAGE);
  }
}

// If an image's size is unknown, only enough is read to see what it is.
static void check_end_of_page(void) {
  USE_KERNELS;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *const pages =
      mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MUST_BE(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0, 1);
  CUmodule module;
  memcpy(pages + page - 4, "\177ELF", 4);
  MUST_BE(cuModuleLoadData(&module, pages + page - 4), NO_BINARY);
  memcpy(pages + page - 2, "x", 2);
  MUST_BE(cuModuleLoadData(&module, pages + page - 2), INVALID_IMAGE);
  munmap(pages, 2 * page);
}

// Comments of both kinds may come first.
static void check_comments(void) {
  USE_KERNELS;
  CUmodule module;
  must_run(module_of("// made by hand\n/* of two kinds */ //\n" PTX_HEADER PTX_FILL), "fill");
  MUST_BE(cuModuleLoadData(&module, "// " PTX_HEADER), INVALID_IMAGE);
  MUST_BE(cuModuleLoadData(&module, "/* " PTX_HEADER), INVALID_IMAGE);
  MUST_BE(cuModuleLoadData(&module, "//"), INVALID_IMAGE);
  MUST_BE(cuModuleLoadData(&module, "/* */"), INVALID_IMAGE);
}

static void check_bad_images(void) {
  USE_KERNELS;
  USE(cuModuleLoadDataEx, 2010, CUmodule *, const void *, unsigned, const int *, void **);
  CUmodule module;
  MUST_BE(cuModuleLoadData(&module, NULL), INVALID_VALUE);
  MUST_BE(cuModuleLoadData(NULL, text), INVALID_VALUE);
  MUST_BE(cuModuleLoadData(&module, ""), INVALID_IMAGE);
  MUST_BE(cuModuleLoadData(&module, "x"), INVALID_IMAGE);
  MUST_BE(cuModuleLoadData(&module, "// .version\n"), INVALID_IMAGE);
  MUST_BE(cuModuleLoadData(&module, "simcuda linked\n"), INVALID_IMAGE);
  MUST_BE(cuModuleLoadData(&module, "simcuda linked\n0\n"), INVALID_IMAGE);
  MUST_BE(cuModuleLoadData(&module, "simcuda linked\n99\n.version"), INVALID_IMAGE);
  MUST_BE(cuModuleLoadData(&module, "simcuda linked\nx\n"), INVALID_IMAGE);
  MUST_BE(cuModuleLoadData(&module, ".version 8.0\n.target nothing\n.address_size 64\n"),
          INVALID_PTX);
  MUST(cuModuleLoadData(&module,
                        ".version 8.0\n.target texmode_unified, sm_80, debug\n.address_size 64\n"));
  MUST_BE(cuModuleLoadData(&module, "\177ELF\2\1\1"), NO_BINARY);
  MUST_BE(cuModuleLoadData(&module, ".version 8.0\n.target sm_100\n.address_size 64\n"),
          INVALID_PTX);
  MUST_BE(cuModuleLoadData(&module, PTX_HEADER ".extern .func elsewhere();\n.visible .entry "
                                               "calls() {\n  call elsewhere, ();\n  ret;\n}\n"),
          INVALID_PTX);

  char info[64] = "x", error[256] = "x";
  const int options[] = {INFO_BUFFER, INFO_SIZE, ERROR_BUFFER, ERROR_SIZE, 7};
  void *values[] = {info, (void *)sizeof info, error, (void *)sizeof error, (void *)4};
  const char *wrong = PTX_HEADER ".visible .entry k()\n{\n  wgmma.fence.sync.aligned;\n}\n";
  MUST_BE(cuModuleLoadDataEx(&module, wrong, 5, options, values), INVALID_PTX);
  MUST_BE(strstr(error, "line 6") != NULL && strstr(error, "wgmma") != NULL, 1);
  MUST_BE((size_t)values[3], strlen(error));
  MUST_BE((size_t)values[1], 0);
  MUST_BE(info[0], 0);
  values[1] = (void *)sizeof info;
  values[3] = (void *)8;  // there is room for seven letters
  MUST_BE(cuModuleLoadDataEx(&module, wrong, 5, options, values), INVALID_PTX);
  MUST_BE((size_t)values[3], 7);
  MUST_BE(strlen(error), 7);
  values[1] = (void *)sizeof info, values[3] = (void *)sizeof error;
  MUST(cuModuleLoadDataEx(&module, text, 5, options, values));
  MUST_BE((size_t)values[3], 0);
  MUST_BE(error[0], 0);
  // A log without room, or without a buffer, and the time that it took.
  values[2] = NULL;
  MUST_BE(cuModuleLoadDataEx(&module, wrong, 5, options, values), INVALID_PTX);
  MUST_BE((size_t)values[3], 0);
  values[2] = error, values[3] = NULL;
  error[0] = 'x';
  MUST_BE(cuModuleLoadDataEx(&module, wrong, 5, options, values), INVALID_PTX);
  MUST_BE((size_t)values[3], 0);
  MUST_BE(error[0], 'x');
  void *time = (void *)-1;
  MUST(cuModuleLoadDataEx(&module, text, 1, (const int[]){WALL_TIME}, &time));
  MUST_HOLD(time == NULL);  // a float of 0 milliseconds
  const int unknown[] = {1000}, negative[] = {-1};
  MUST_BE(cuModuleLoadDataEx(&module, text, 1, negative, values), INVALID_VALUE);
  MUST_BE(cuModuleLoadDataEx(&module, text, 1, options, NULL), INVALID_VALUE);
  MUST_BE(cuModuleLoadDataEx(&module, text, 1, unknown, values), INVALID_VALUE);
  MUST_BE(cuModuleLoadDataEx(&module, text, 1, NULL, values), INVALID_VALUE);
}

static void check_files(void) {
  USE(cuModuleLoad, 2000, CUmodule *, const char *);
  USE(cuLibraryLoadFromFile, 12000, CUlibrary *, const char *, int *, void **, unsigned, int *,
      void **, unsigned);
  USE(cuLibraryGetModule, 12000, CUmodule *, CUlibrary);
  CUmodule module;
  CUlibrary library;
  char path[] = "/tmp/simcuda-XXXXXX";
  const int file = mkstemp(path);
  MUST_BE(file >= 0, 1);
  MUST_BE(write(file, text, sizeof text - 1), sizeof text - 1);  // without a zero
  MUST(cuModuleLoad(&module, path));
  must_run(module, "fill");
  MUST(cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
  MUST(cuLibraryGetModule(&module, library));
  must_run(module, "fill");
  // A struct that only points to code in memory is no image in a file.
  const struct wrapper wrapper = {0x466243b1, 1, &fat, NULL};
  MUST_BE(ftruncate(file, 0), 0);
  MUST_BE(cuModuleLoad(&module, path), INVALID_IMAGE);
  MUST_BE(pwrite(file, &wrapper, sizeof wrapper, 0), sizeof wrapper);
  MUST_BE(cuModuleLoad(&module, path), INVALID_IMAGE);
  close(file);
  unlink(path);
  MUST_BE(cuModuleLoad(&module, path), FILE_NOT_FOUND);
  MUST_BE(cuModuleLoad(&module, NULL), INVALID_VALUE);
}

static void check_linker(void) {
  USE(cuLinkCreate, 6050, unsigned, int *, void **, void **);
  USE(cuLinkAddData, 6050, void *, int, void *, size_t, const char *, unsigned, int *, void **);
  USE(cuLinkAddFile, 6050, void *, int, const char *, unsigned, int *, void **);
  USE(cuLinkComplete, 5050, void *, void **, size_t *);
  USE(cuLinkDestroy, 5050, void *);
  static char value_of[] = PTX_HEADER
      ".visible .func (.param .b32 out) value_of(.param .b32 in)\n"
      "{\n  .reg .b32 %v;\n  ld.param.b32 %v, [in];\n  st.param.b32 [out], %v;\n  ret;\n}\n";
  static char sets[] = PTX_HEADER
      ".extern .func (.param .b32 out) value_of(.param .b32 in);\n"
      ".visible .entry sets(.param .u64 at, .param .u32 value)\n"
      "{\n"
      "  .reg .b32 %v; .reg .b64 %p; .param .b32 in, out;\n"
      "  ld.param.u64 %p, [at];\n"
      "  ld.param.u32 %v, [value];\n"
      "  st.param.b32 [in], %v;\n"
      "  call (out), value_of, (in);\n"
      "  ld.param.b32 %v, [out];\n"
      "  st.global.u32 [%p], %v;\n"
      "  ret;\n"
      "}\n";
  void *state, *image = NULL;
  size_t size = 0;
  char error[256];
  int options[] = {ERROR_BUFFER, ERROR_SIZE};
  void *values[] = {error, (void *)sizeof error};
  MUST(cuLinkCreate(2, options, values, &state));
  MUST(cuLinkAddData(state, IS_PTX, sets, sizeof sets, "sets", 0, NULL, NULL));
  MUST_BE(cuLinkComplete(state, &image, &size), INVALID_PTX);
  MUST_BE(strstr(error, "value_of") != NULL, 1);
  MUST_BE((size_t)values[1], strlen(error));
  MUST(cuLinkAddData(state, IS_PTX, value_of, sizeof value_of, NULL, 0, NULL, NULL));
  MUST_BE(cuLinkAddData(state, IS_CUBIN, "\177ELF", 4, NULL, 0, NULL, NULL), NO_BINARY);
  MUST_BE(cuLinkAddData(state, IS_OBJECT, value_of, sizeof value_of, NULL, 0, NULL, NULL),
          NO_BINARY);
  MUST_BE(cuLinkAddData(state, 77, value_of, sizeof value_of, NULL, 0, NULL, NULL), INVALID_VALUE);
  MUST_BE(cuLinkAddData(state, -1, value_of, sizeof value_of, NULL, 0, NULL, NULL), INVALID_VALUE);
  MUST_BE(cuLinkAddData(state, IS_PTX, value_of, 0, NULL, 0, NULL, NULL), INVALID_VALUE);
  MUST_BE(cuLinkAddData(state, IS_PTX, NULL, 5, NULL, 0, NULL, NULL), INVALID_VALUE);
  MUST_BE(cuLinkAddFile(state, IS_PTX, "/nowhere", 0, NULL, NULL), FILE_NOT_FOUND);
  MUST(cuLinkComplete(state, &image, &size));
  // A copy of it outlives the linker.
  char *copy = malloc(size);
  memcpy(copy, image, size);
  MUST(cuLinkDestroy(state));
  MUST_BE(cuLinkDestroy(state), INVALID_HANDLE);
  must_run(module_of(copy), "sets");
  // And can be linked again.
  MUST(cuLinkCreate(0, NULL, NULL, &state));
  MUST(cuLinkAddData(state, IS_CUBIN, copy, size, NULL, 0, NULL, NULL));
  MUST(cuLinkComplete(state, &image, NULL));
  must_run(module_of(image), "sets");
  MUST(cuLinkDestroy(state));
  free(copy);
}

// A registered kernel, and one more, in machine code that has nothing but their names.
static struct {
  Elf64_Ehdr header;
  char names[64];
  Elf64_Shdr sections[4];
} code;

static void make_code(void) {
  static const char names[] = "\0.names\0.text.known\0.text.other\0.textual";
  memset(&code, 0, sizeof code);
  memcpy(code.header.e_ident, ELFMAG, SELFMAG);
  code.header.e_ident[EI_CLASS] = ELFCLASS64;
  code.header.e_shoff = offsetof(__typeof__(code), sections);
  code.header.e_shentsize = sizeof(Elf64_Shdr);
  code.header.e_shnum = 4;
  memcpy(code.names, names, sizeof names);
  code.sections[0] = (Elf64_Shdr){
      .sh_name = 1, .sh_offset = offsetof(__typeof__(code), names), .sh_size = sizeof names};
  code.sections[1].sh_name = 8;
  code.sections[2].sh_name = 20;
  code.sections[3].sh_name = 32;
}

static int32_t set_77(const simcuda_launch *launch, void *data) {
  (void)data;
  void *(*use)(uint64_t, uint64_t, int32_t);
  *(void **)&use = dlsym(library, "simcuda_use");
  unsigned *word = use(*(const uint64_t *)launch->arguments[0], 4, 1);
  *word = *(const unsigned *)launch->arguments[1];
  return 0;
}

static void check_machine_code(void) {
  USE_KERNELS;
  FIND_SIM(simcuda_stand_in);
  CUmodule module;
  CUfunction function;
  const uint32_t sizes[] = {8, 4};
  MUST(simcuda_stand_in("known", sizes, 2, set_77, NULL));
  make_code();
  MUST(cuModuleLoadData(&module, &code));
  must_run(module, "known");
  MUST_BE(cuModuleGetFunction(&function, module, "other"), NOT_FOUND);
  // In a fat binary beside what is none.
  begin_fat();
  add_entry(1, 100, "no PTX", 7);
  add_entry(2, 90, &code, sizeof code);
  MUST(cuModuleLoadData(&module, &fat));
  must_run(module, "known");
  const struct wrapper wrapper = {0x466243b1, 1, &fat, NULL};
  MUST(cuModuleLoadData(&module, &wrapper));
  must_run(module, "known");
  add_entry(2, 90, fat.bytes + 16, 80);  // what is no ELF
  MUST(cuModuleLoadData(&module, &fat));
  fat.header.size -= 8;  // cut off
  MUST_BE(cuModuleLoadData(&module, &fat), INVALID_IMAGE);

  // Whatever is cut off, or leads out of it, has no kernels.
  for (size_t size = 4; size < sizeof code; ++size) MUST_BE(load_bytes(&code, size), NO_BINARY);
  MUST(load_bytes(&code, sizeof code));
#define WITHOUT(change) \
  make_code(), change;  \
  MUST_BE(load_bytes(&code, sizeof code), NO_BINARY)
  WITHOUT(code.header.e_ident[EI_CLASS] = ELFCLASS32);
  WITHOUT(code.header.e_shentsize = 40);
  WITHOUT(code.header.e_shoff = UINT64_MAX - 8);
  WITHOUT(code.header.e_shstrndx = 4);
  WITHOUT(code.header.e_shnum = 5);
  WITHOUT(code.sections[0].sh_size = 1 << 20);
  WITHOUT(code.sections[0].sh_offset = UINT64_MAX - 4);
  WITHOUT(code.sections[1].sh_name = 1 << 20);
  WITHOUT(code.header.e_shnum = 0);
}

// What stands in for a kernel of PTX has the same arguments at the same places.
static void check_arguments(void) {
  USE_KERNELS;
  FIND_SIM(simcuda_stand_in);
  static const char aligned[] =
      PTX_HEADER ".visible .entry known(.param .u64 a, .param .align 16 .b8 b[4])\n{\n  ret;\n}\n";
  static const char smaller[] =
      PTX_HEADER ".visible .entry known(.param .u64 a, .param .u16 b)\n{\n  ret;\n}\n";
  static const char more[] = PTX_HEADER
      ".visible .entry known(.param .u64 a, .param .u32 b, .param .u32 c)\n{\n  ret;\n}\n";
  static const char same[] =
      PTX_HEADER ".visible .entry known(.param .u64 a, .param .u32 b)\n{\n  ret;\n}\n";
  CUmodule module;
  MUST_BE(cuModuleLoadData(&module, aligned), INVALID_IMAGE);
  MUST_BE(cuModuleLoadData(&module, smaller), INVALID_IMAGE);
  MUST_BE(cuModuleLoadData(&module, more), INVALID_IMAGE);
  MUST(cuModuleLoadData(&module, same));
  must_run(module, "known");
}

int main(void) {
  start_races();
  check_fat();
  check_zstd();
  check_end_of_page();
  check_comments();
  check_bad_images();
  check_files();
  check_linker();
  check_machine_code();
  check_arguments();
  return 0;
}
