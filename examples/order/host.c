// SPDX-License-Identifier: BSD-3-Clause
// The CPU reads what a GPU has written: the one place where the host waits.
// Event records: 3. Stream waits: 2. Waits of the host: 1.
#include "work.h"

int main(void) {
  start();
  const stream p = new_stream(), c = new_stream();
  const cai_array *x = new_pinned_array(p);
  fill(x->data, 1, p);

  cai_use use;
  MUST(cai_use_begin(&use, &x, 1, c, NULL, NULL));
  fill(x->data, 2, c);
  MUST(cai_use_end(&use, NULL));

  MUST(cai_array_sync_host(x, NULL));  // for p, which has waited for c
  MUST_BE(read_by_cpu(x->data), 2);
  cai_array_release(x);
  done();
  return 0;
}
