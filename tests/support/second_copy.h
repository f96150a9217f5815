/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads libcai once more, for tests of two copies in a process. It is never closed: it has
 * threads. The copy is a file of its own, since the loader knows one that is loaded already. */
#ifndef TESTS_SUPPORT_SECOND_COPY_H
#define TESTS_SUPPORT_SECOND_COPY_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "must.h"

/* Returns the handle of the second copy, for dlsym(). */
static inline void *load_second_copy(void) {
  Dl_info first;
  char path[] = "/tmp/libcai-copy-XXXXXX", bytes[65536];
  size_t count;
  const int file = mkstemp(path);
  MUST_HOLD(file >= 0 && dladdr(dlsym(RTLD_DEFAULT, "cai_version"), &first));
  FILE *const from = fopen(first.dli_fname, "rb"), *const to = fdopen(file, "wb");
  MUST_HOLD(from && to);
  while ((count = fread(bytes, 1, sizeof bytes, from)) > 0)
    MUST_HOLD(fwrite(bytes, 1, count, to) == count);
  MUST_HOLD(fclose(from) == 0 && fclose(to) == 0);
  void *const loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  MUST_HOLD(loaded && unlink(path) == 0);
  return loaded;
}

#endif /* TESTS_SUPPORT_SECOND_COPY_H */
