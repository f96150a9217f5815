// SPDX-License-Identifier: BSD-3-Clause
// Where a call came from, by what addr2line says, where it says nothing of use, and where there is
// none.
#include <sys/stat.h>

#include "apart.h"

static char folder[] = "/tmp/simcuda-XXXXXX";

// The use of a handle that is none any more is reported with the place of the call.
static __attribute__((noinline)) void use_stale(CUstream stream, int depth) {
  USE_STREAMS;
  if (depth > 0)
    use_stale(stream, depth - 1);
  else
    MUST_BE(cuStreamQuery(stream), INVALID_HANDLE);
  __asm__ volatile("");  // no tail call
}

static void report_from(int depth) {
  setenv("SIMCUDA_RACES", "log", 1);
  start();
  USE_STREAMS;
  CUstream stream;
  MUST(cuStreamCreate(&stream, 0));
  MUST(cuStreamDestroy(stream));
  use_stale(stream, depth);
}

static void report(void) { report_from(0); }
static void report_from_the_depth(void) { report_from(200); }

static void report_from_nowhere(void) {
  char gone[] = "/tmp/simcuda-XXXXXX";
  MUST_HOLD(mkdtemp(gone) != NULL);
  MUST(chdir(gone));
  MUST(rmdir(gone));
  report();
}

// The program of this name, which prints a text whatever it is asked.
static void make_addr2line(const char *text) {
  char path[64];
  snprintf(path, sizeof path, "%s/addr2line", folder);
  FILE *const file = fopen(path, "w");
  MUST_HOLD(file != NULL);
  fprintf(file, "#!/bin/sh\ncat <<'END'\n%s\nEND\n", text);
  MUST(fclose(file));
  MUST(chmod(path, 0755));
}

int main(void) {
  char path[128], file[64];
  MUST_HOLD(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s:/usr/bin:/bin", folder);
  snprintf(file, sizeof file, "%s/addr2line", folder);
  setenv("PATH", path, 1);
  // Lines without a place, or without a number, say nothing; behind the number there may be more.
  make_addr2line(
      "strange\nno place\n??\n??:0\nfirst\n/x/y.c:12 (discriminator 3)\nlast\n/x/z.c:7\nodd");
  run_apart(report);
  must_say("called at /x/y.c:12 in first, from /x/z.c:7 in last");
  // Lines of libraries are told if there are no others.
  make_addr2line("inline\n/usr/include/x.h:3");
  run_apart(report);
  must_say("called at /usr/include/x.h:3 in inline\n");
  // A function without a line, and nothing at all: the place in the program.
  make_addr2line("known\n??:0");
  run_apart(report);
  must_say("called at ");
  must_say("sim_call_sites+0x");
  must_say(" in known, from ");
  make_addr2line("??\n??:0");
  run_apart(report);
  must_say("sim_call_sites+0x");
  run_apart(report_from_the_depth);
  must_say("sim_call_sites+0x");
  run_apart(report_from_nowhere);
  must_say("called at /");
  MUST(unlink(file));
  MUST(rmdir(folder));
  // Without the program. With no path, the system's may be found, and may know the lines.
  setenv("PATH", "/nowhere", 1);
  run_apart(report);
  must_say("sim_call_sites+0x");
  unsetenv("PATH");
  run_apart(report);
  must_say("sim_call_sites");
  return 0;
}
