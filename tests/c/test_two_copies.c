/* SPDX-License-Identifier: BSD-3-Clause */
/* Two copies of libcai in one process exchange arrays: what one makes the other views and releases.
 *
 * usage: test_two_copies PATH_OF_LIBCAI */
#define _DEFAULT_SOURCE
#include "check.h" /* not make.h: nothing is linked here */

#include <dlfcn.h>
#include <unistd.h>

typedef struct copy {
  void *handle;
  int32_t (*version)(void);
  cai_status (*own)(const cai_array *, void (*)(void *), void *, cai_array **, cai_error *);
  cai_status (*slice)(const cai_array *, const cai_slice *, int32_t, cai_array **, cai_error *);
  cai_status (*transpose)(const cai_array *, const int32_t *, cai_array **, cai_error *);
  cai_status (*validate)(const cai_array *, cai_error *);
} copy;

static void find(copy *c, const char *name, void *function) {
  void *found = dlsym(c->handle, name);
  if (!found) fprintf(stderr, "%s: %s\n", name, dlerror()), exit(1);
  memcpy(function, &found, sizeof found);
}

static copy open_copy(const char *path) {
  copy c;
  c.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!c.handle) fprintf(stderr, "%s\n", dlerror()), exit(1);
  find(&c, "cai_version", &c.version);
  find(&c, "cai_array_own", &c.own);
  find(&c, "cai_array_slice", &c.slice);
  find(&c, "cai_array_transpose", &c.transpose);
  find(&c, "cai_array_validate", &c.validate);
  return c;
}

static void copy_file(const char *from, const char *to) {
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  char bytes[65536];
  size_t n;
  if (!in || !out) perror(from), exit(1);
  while ((n = fread(bytes, 1, sizeof bytes, in)) > 0)
    if (fwrite(bytes, 1, n, out) != n) exit(1);
  fclose(in);
  if (fclose(out)) exit(1);
}

static int released;

static void on_release(void *context) {
  (void)context;
  ++released;
}

#define ADDRESS UINT64_C(0x7f5500000400)

/* An array of this test's own, without the library. */
static cai_array *plain(cai_array *a, int64_t *shape, int64_t *strides) {
  memset(a, 0, sizeof *a);
  a->abi_major = CAI_ABI_MAJOR;
  a->data = ADDRESS;
  a->device_type = CAI_DEVICE_CUDA;
  a->dtype.kind = 'f', a->dtype.byteorder = '<', a->dtype.itemsize = 4;
  a->ndim = 2;
  shape[0] = 2, shape[1] = 3, strides[0] = 12, strides[1] = 4;
  a->shape = shape, a->strides = strides;
  a->stream_kind = CAI_STREAM_NONE;
  a->version = 3;
  return a;
}

int main(int argc, char **argv) {
  char folder[] = "/tmp/cai-copies-XXXXXX", paths[2][sizeof folder + 32];
  copy copies[2];
  int64_t shape[2], strides[2];
  cai_array borrowed, *a, *views[3];
  cai_slice first;
  int i, k;
  if (argc != 2 || !mkdtemp(folder)) return 2;
  for (i = 0; i < 2; ++i) {
    snprintf(paths[i], sizeof paths[i], "%s/libcai-%d.so", folder, i);
    copy_file(argv[1], paths[i]);
    copies[i] = open_copy(paths[i]);
    unlink(paths[i]);
  }
  rmdir(folder);
  CHECK(copies[0].handle != copies[1].handle);
  CHECK(copies[0].own != copies[1].own);
  memset(&first, 0, sizeof first);
  first.kind = CAI_SLICE_INDEX;

  for (i = 0; i < 2; ++i) {
    const copy *here = &copies[i], *there = &copies[1 - i];
    check_context = i ? "from the second" : "from the first";
    released = 0;
    CHECK_OK(here->own(plain(&borrowed, shape, strides), on_release, NULL, &a, ERR));
    CHECK_OK(there->validate(a, ERR));
    CHECK_OK(there->transpose(a, NULL, &views[0], ERR));
    CHECK_OK(here->transpose(views[0], NULL, &views[1], ERR));
    CHECK_OK(there->slice(views[1], &first, 1, &views[2], ERR));
    cai_array_release(a);
    cai_array_release(views[0]);
    cai_array_release(views[1]);
    CHECK(released == 0 && views[2]->ndim == 1 && views[2]->shape[0] == 3 &&
          views[2]->data == ADDRESS);
    CHECK_OK(here->validate(views[2], ERR));
    cai_array_release(views[2]);
    CHECK(released == 1);
  }

  check_context = "a chain that goes from one to the other";
  released = 0;
  CHECK_OK(copies[0].own(plain(&borrowed, shape, strides), on_release, NULL, &a, ERR));
  for (k = 0; k < 1000; ++k) {
    CHECK_OK(copies[k % 2].transpose(a, NULL, &views[0], ERR));
    cai_array_release(a);
    a = views[0];
  }
  CHECK(released == 0);
  cai_array_release(a);
  CHECK(released == 1);
  dlclose(copies[0].handle);
  dlclose(copies[1].handle);
  return CHECK_RESULT();
}
