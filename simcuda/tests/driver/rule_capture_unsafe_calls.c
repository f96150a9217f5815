// SPDX-License-Identifier: BSD-3-Clause
// Rule: Which calls the thread that captures in global mode, and which another thread, may not
// make.
// Source: assumed; to be checked on a GPU
#include "driver_test.h"

enum {
  ALLOCATE,
  FREE,
  ALLOCATE_HOST,
  FREE_HOST,
  REGISTER,
  ALLOCATE_ASYNC,
  FREE_ASYNC,
  COPY,
  FILL,
  STREAM_CREATE,
  STREAM_DESTROY,
  STREAM_QUERY,
  STREAM_SYNCHRONIZE,
  EVENT_CREATE,
  EVENT_DESTROY,
  EVENT_RECORD,
  EVENT_QUERY,
  EVENT_SYNCHRONIZE,
  ATTRIBUTES,
  MEMORY_INFO,
  CALLS
};

// The objects of each call, made before the capture: they are not part of it.
typedef struct {
  int call;
  CUcontext context;
  CUdeviceptr data, pooled;
  void *host;
  CUstream stream, idle;
  CUevent event, unused;
  CUresult status;
} Task;

static const struct {
  const char *name;
  CUresult assumed;  // of either thread
} calls[CALLS] = {
    [ALLOCATE] = {"cuMemAlloc", CAPTURE_UNSUPPORTED},
    [FREE] = {"cuMemFree", CAPTURE_UNSUPPORTED},
    [ALLOCATE_HOST] = {"cuMemHostAlloc", CAPTURE_UNSUPPORTED},
    [FREE_HOST] = {"cuMemFreeHost", CAPTURE_UNSUPPORTED},
    [REGISTER] = {"cuMemHostRegister", CAPTURE_UNSUPPORTED},
    [ALLOCATE_ASYNC] = {"cuMemAllocAsync", CAPTURE_UNSUPPORTED},
    [FREE_ASYNC] = {"cuMemFreeAsync", CAPTURE_UNSUPPORTED},
    [COPY] = {"cuMemcpyHtoD", SUCCESS},
    [FILL] = {"cuMemsetD8Async", SUCCESS},
    [STREAM_CREATE] = {"cuStreamCreate", SUCCESS},
    [STREAM_DESTROY] = {"cuStreamDestroy", SUCCESS},
    [STREAM_QUERY] = {"cuStreamQuery", CAPTURE_UNSUPPORTED},
    [STREAM_SYNCHRONIZE] = {"cuStreamSynchronize", CAPTURE_UNSUPPORTED},
    [EVENT_CREATE] = {"cuEventCreate", SUCCESS},
    [EVENT_DESTROY] = {"cuEventDestroy", SUCCESS},
    [EVENT_RECORD] = {"cuEventRecord", SUCCESS},
    [EVENT_QUERY] = {"cuEventQuery", CAPTURE_UNSUPPORTED},
    [EVENT_SYNCHRONIZE] = {"cuEventSynchronize", CAPTURE_UNSUPPORTED},
    [ATTRIBUTES] = {"cuPointerGetAttributes", SUCCESS},
    [MEMORY_INFO] = {"cuMemGetInfo", SUCCESS},
};

static CUresult make(Task *t) {
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemFreeHost, 2000, void *);
  USE(cuMemHostRegister, 6050, void *, size_t, unsigned);
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);
  USE(cuPointerGetAttributes, 7000, unsigned, int *, void **, CUdeviceptr);
  USE(cuMemGetInfo, 3020, size_t *, size_t *);
  static unsigned char page[2][4096];
  static int registered;
  CUdeviceptr data;
  CUstream stream;
  CUevent event;
  void *host;
  unsigned type = 0, value = 0;
  int memory_type = 2;
  void *out = &type;
  size_t available, total;
  switch (t->call) {
    case ALLOCATE:
      return cuMemAlloc(&data, 1);
    case FREE:
      return cuMemFree(t->data);
    case ALLOCATE_HOST:
      return cuMemHostAlloc(&host, 1, 0);
    case FREE_HOST:
      return cuMemFreeHost(t->host);
    case REGISTER:
      return cuMemHostRegister(page[registered++], sizeof page[0], 0);
    case ALLOCATE_ASYNC:
      return cuMemAllocAsync(&data, 1, t->stream);
    case FREE_ASYNC:
      return cuMemFreeAsync(t->pooled, t->stream);
    case COPY:
      return cuMemcpyHtoD(t->data, &value, 1);
    case FILL:
      return cuMemsetD8Async(t->data, 1, 1, t->stream);
    case STREAM_CREATE:
      return cuStreamCreate(&stream, NON_BLOCKING);
    case STREAM_DESTROY:
      return cuStreamDestroy(t->idle);
    case STREAM_QUERY:
      return cuStreamQuery(t->idle);
    case STREAM_SYNCHRONIZE:
      return cuStreamSynchronize(t->idle);
    case EVENT_CREATE:
      return cuEventCreate(&event, 2);
    case EVENT_DESTROY:
      return cuEventDestroy(t->unused);
    case EVENT_RECORD:
      return cuEventRecord(t->event, t->stream);
    case EVENT_QUERY:
      return cuEventQuery(t->unused);
    case EVENT_SYNCHRONIZE:
      return cuEventSynchronize(t->unused);
    case ATTRIBUTES:
      return cuPointerGetAttributes(1, &memory_type, &out, t->data);
    case MEMORY_INFO:
      return cuMemGetInfo(&available, &total);
  }
  return -1;
}

static void *make_there(void *argument) {
  Task *t = argument;
  USE(cuCtxSetCurrent, 4000, CUcontext);
  MUST(cuCtxSetCurrent(t->context));
  t->status = make(t);
  return NULL;
}

static void prepare(Task *t) {
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  MUST(cuMemAlloc(&t->data, 1));
  MUST(cuMemHostAlloc(&t->host, 1, 0));
  MUST(cuStreamCreate(&t->stream, NON_BLOCKING));
  MUST(cuStreamCreate(&t->idle, NON_BLOCKING));
  MUST(cuEventCreate(&t->event, 2));
  MUST(cuEventCreate(&t->unused, 2));
  MUST(cuMemAllocAsync(&t->pooled, 1, t->stream));
  MUST(cuStreamSynchronize(t->stream));
}

int main(void) {
  Task task = {.context = start()};
  USE_CAPTURE;
  CUgraph graph = NULL;
  CUstream captured;
  MUST(cuStreamCreate(&captured, NON_BLOCKING));
  for (int other = 0; other < 2; ++other)
    for (task.call = 0; task.call < CALLS; ++task.call) {
      char what[80], answer[80], assumed[80];
      prepare(&task);
      MUST(cuStreamBeginCapture(captured, GLOBAL));
      if (other)
        in_another_thread(make_there, &task);
      else
        task.status = make(&task);
      const CUresult end = cuStreamEndCapture(captured, &graph);
      const CUresult status = calls[task.call].assumed;
      snprintf(what, sizeof what, "%s by %s", calls[task.call].name, other ? "another" : "itself");
      snprintf(answer, sizeof answer, "%s, %s", status_name(task.status),
               end == SUCCESS ? "goes on" : "ended");
      snprintf(assumed, sizeof assumed, "%s, %s", status_name(status),
               status == SUCCESS ? "goes on" : "ended");
      found(what, answer, assumed);
    }
  return 0;
}
