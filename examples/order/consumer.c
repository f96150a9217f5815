// SPDX-License-Identifier: BSD-3-Clause
// A consumer on a stream of its own.
// Event records: 2. Stream waits: 2. Waits of the host: 0.
#include "work.h"

int main(void) {
  start();
  const stream p = new_stream(), c = new_stream();
  const cai_array *x = new_array(p);  // says: work is pending on p
  const memory y = new_memory();
  fill(x->data, 1, p);

  cai_use use;
  MUST(cai_use_begin(&use, &x, 1, c, NULL, NULL));  // c waits for p
  copy(y, x->data, c);
  MUST(cai_use_end(&use, NULL));  // p waits for c

  fill(x->data, 2, p);  // the producer goes on, in its own order
  cai_array_release(x);
  done();
  MUST_BE(value_of(y), 1);
  return 0;
}
