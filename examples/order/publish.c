// SPDX-License-Identifier: BSD-3-Clause
// Work that is pending on two streams is published as one, which consumers wait for.
// Event records: 4. Stream waits: 4. Waits of the host: 0.
#include "work.h"

int main(void) {
  start();
  const stream p = new_stream(), q = new_stream(), r = new_stream(), c = new_stream();
  const stream pending[] = {q, r};
  const cai_array *x = new_array_of_none();
  const memory y = new_memory();
  fill_bytes(x->data, BYTES / 2, 1, q);
  fill_bytes(x->data + BYTES / 2, BYTES / 2, 2, r);

  cai_array *published = NULL;
  MUST(cai_array_publish(x, pending, 2, p, &published, NULL));  // p waits for q and r
  cai_array_release(x);

  const cai_array *view = published;
  cai_use use;
  MUST(cai_use_begin(&use, &view, 1, c, NULL, NULL));  // c waits for p
  copy(y, view->data, c);
  MUST(cai_use_end(&use, NULL));  // p waits for c

  cai_array_release(view);
  done();
  MUST_BE(value_of(y), 1);
  MUST_BE(value_of(y + BYTES / 2), 2);
  return 0;
}
