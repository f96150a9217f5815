// SPDX-License-Identifier: BSD-3-Clause
// The producer writes again, on another stream: it reclaims the array, and publishes it anew.
// Event records: 6. Stream waits: 6. Waits of the host: 0.
#include "work.h"

static void use_on(stream c, const cai_array *x, memory y) {
  cai_use use;
  MUST(cai_use_begin(&use, &x, 1, c, NULL, NULL));
  copy(y, x->data, c);
  MUST(cai_use_end(&use, NULL));
}

int main(void) {
  start();
  const stream p = new_stream(), q = new_stream(), c = new_stream();
  const cai_array *x = new_array(p);
  const memory y = new_memory(), z = new_memory();
  fill(x->data, 1, p);
  use_on(c, x, y);

  MUST(cai_array_reclaim(x, q, CAI_ACCESS_WRITE, NULL));  // q waits for p, which waits for c
  fill(x->data, 2, q);
  cai_array *again = NULL;
  MUST(cai_array_publish(x, &q, 1, p, &again, NULL));  // p waits for q
  cai_array_release(x);

  use_on(c, again, z);
  cai_array_release(again);
  done();
  MUST_BE(value_of(y), 1);
  MUST_BE(value_of(z), 2);
  return 0;
}
