// SPDX-License-Identifier: BSD-3-Clause
// Two readers, which do not wait for each other, and a writer, which waits for both.
// Event records: 6. Stream waits: 5. Waits of the host: 0.
#include "work.h"

static void begin(cai_use *use, const cai_array *x, stream on, uint32_t access) {
  const cai_use_options options = {sizeof options, CAI_ORDER_BOTH, access, 0, NULL};
  MUST(cai_use_begin(use, &x, 1, on, &options, NULL));
}

int main(void) {
  start();
  const stream p = new_stream(), c = new_stream(), d = new_stream(), e = new_stream();
  const cai_array *x = new_array(p);
  x->owner->flags |= CAI_OWNER_RECLAIMS;  // at the end of a use p does not wait
  const memory y = new_memory(), z = new_memory();
  fill(x->data, 1, p);

  cai_use one, two, three;
  begin(&one, x, c, CAI_ACCESS_READ);
  begin(&two, x, d, CAI_ACCESS_READ);
  copy(y, x->data, c);
  copy(z, x->data, d);
  MUST(cai_use_end(&one, NULL));
  MUST(cai_use_end(&two, NULL));

  begin(&three, x, e, CAI_ACCESS_WRITE);  // after the readers' ends
  fill(x->data, 2, e);
  MUST(cai_use_end(&three, NULL));

  cai_array_release(x);
  done();
  MUST_BE(value_of(y), 1);
  MUST_BE(value_of(z), 1);
  return 0;
}
