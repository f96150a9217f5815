// SPDX-License-Identifier: BSD-3-Clause
// Rule: What was made in a primary context before its reset is refused afterwards. Its streams are
// left out: a real driver crashes.
// Source: assumed; to be checked on a GPU
#include "driver_test.h"

#include <sys/wait.h>

enum { EVENT_QUERY, FREE, FILL, SYNCHRONIZE, ID, CREATE, QUESTIONS };

// Each in a process of its own: on a real driver some may end it.
static void ask(int question) {
  const CUcontext context = start();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuDevicePrimaryCtxReset, 11000, CUdevice);
  USE(cuCtxSynchronize, 2000, void);
  USE(cuCtxGetId, 12000, CUcontext, unsigned long long *);
  CUstream other;
  CUevent event;
  CUdeviceptr data;
  unsigned long long id;
  MUST(cuEventCreate(&event, 2));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuDevicePrimaryCtxReset(0));
  switch (question) {
    case EVENT_QUERY:
      FOUND_STATUS("cuEventQuery", cuEventQuery(event), CONTEXT_IS_DESTROYED);
      break;
    case FREE:
      FOUND_STATUS("cuMemFree", cuMemFree(data), CONTEXT_IS_DESTROYED);
      break;
    case FILL:
      FOUND_STATUS("cuMemsetD8Async", cuMemsetD8Async(data, 1, 1, LEGACY), CONTEXT_IS_DESTROYED);
      break;
    case SYNCHRONIZE:
      FOUND_STATUS("cuCtxSynchronize", cuCtxSynchronize(), CONTEXT_IS_DESTROYED);
      break;
    case ID:
      FOUND_STATUS("cuCtxGetId", cuCtxGetId(context, &id), CONTEXT_IS_DESTROYED);
      break;
    case CREATE:
      FOUND_STATUS("cuStreamCreate", cuStreamCreate(&other, 0), CONTEXT_IS_DESTROYED);
      break;
  }
}

int main(void) {
  for (int question = 0; question < QUESTIONS; ++question) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(600);
      ask(question);
      return 0;
    }
    int status = -1;
    MUST_BE(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
      printf("found: call %d: signal %d (assumed: none)\n", question, WTERMSIG(status));
      fflush(stdout);
    } else {
      MUST_BE(WEXITSTATUS(status), 0);
    }
  }
  return 0;
}
