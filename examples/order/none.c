// SPDX-License-Identifier: BSD-3-Clause
// An array that came with None: no stream can wait for its uses, so its owner keeps them.
// Event records: 2. Stream waits: 1. Waits of the host: 0.
#include "work.h"

int main(void) {
  start();
  const stream c = new_stream(), d = new_stream();
  const cai_array *x = new_array_of_none();  // says: nothing is pending
  const memory y = new_memory();

  cai_use use;
  MUST(cai_use_begin(&use, &x, 1, c, NULL, NULL));  // nobody waits
  fill(x->data, 1, c);
  MUST(cai_use_end(&use, NULL));  // the owner keeps the use

  MUST(cai_use_begin(&use, &x, 1, d, NULL, NULL));  // d waits for c
  copy(y, x->data, d);
  MUST(cai_use_end(&use, NULL));

  cai_array_release(x);  // its memory is freed once both are complete
  done();
  MUST_BE(value_of(y), 1);
  return 0;
}
