// SPDX-License-Identifier: BSD-3-Clause
// Keeps the shared library that libcai is linked into after a dlclose(): threads of its own, and
// the driver's, may be in it, and others call what it gave them. libcai.so has a flag of the
// linker's for that, which a crate cannot pass on.
#include <dlfcn.h>

[[gnu::constructor]] static void stay() {
  Dl_info here;
  if (dladdr(reinterpret_cast<void *>(&stay), &here) == 0) return;
  // There is no library of that name in a program, which stays anyhow.
  dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
