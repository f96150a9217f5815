// SPDX-License-Identifier: BSD-3-Clause
// Work that is captured into a graph: each launch is a use of its own.
// Event records: 4. Stream waits: 4. Waits of the host: 0.
#include "work.h"

static void launch(handle exec, const cai_array *x, stream on) {
  cai_use use;
  MUST(cai_use_begin(&use, &x, 1, on, NULL, NULL));
  CU(cuGraphLaunch, (handle, handle), exec, handle_of(on));
  MUST(cai_use_end(&use, NULL));
}

int main(void) {
  start();
  const stream p = new_stream(), c = new_stream();
  const cai_array *x = new_array(p);
  const memory y = new_memory(), z = new_memory();
  handle graph, exec;
  cai_use use;
  settle();  // or this use is refused: what is pending on p now, no launch would wait for

  CU(cuStreamBeginCapture_v2, (handle, int), handle_of(c), 1);
  MUST(cai_use_begin(&use, &x, 1, c, NULL, NULL));
  copy(y, x->data, c);
  MUST(cai_use_end(&use, NULL));
  CU(cuStreamEndCapture, (handle, handle *), handle_of(c), &graph);
  CU(cuGraphInstantiateWithFlags, (handle *, handle, uint64_t), &exec, graph, 0);

  fill(x->data, 1, p);
  launch(exec, x, c);
  copy(z, y, c);
  fill(x->data, 2, p);  // after the launch
  launch(exec, x, c);

  CU(cuGraphExecDestroy, (handle), exec);
  CU(cuGraphDestroy, (handle), graph);
  cai_array_release(x);  // which the graph needed until now
  done();
  MUST_BE(value_of(z), 1);
  MUST_BE(value_of(y), 2);
  return 0;
}
