// SPDX-License-Identifier: BSD-3-Clause
// Keeps the shared library that libcai is linked into loaded after a dlclose(): its own threads,
// and the driver's, may run in it, and others call functions that they got from it. libcai.so has a
// linker flag for that, which a crate cannot pass on.
#include <dlfcn.h>

[[gnu::constructor]] static void stay() {
  Dl_info here;
  if (dladdr(reinterpret_cast<void *>(&stay), &here) == 0) return;
  // A program has no library of that name, and is not unloaded anyway.
  dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
