// SPDX-License-Identifier: BSD-3-Clause
// A function that takes its input over, and gives a result whose work is still pending.
// Event records: 4. Stream waits: 4. Waits of the host: 0.
#include "work.h"

static const cai_array *f(const cai_array *in, stream c) {
  const cai_use_options begin = {sizeof begin, CAI_ORDER_BEGIN, CAI_ACCESS_READ, 0, NULL};
  const cai_array *out = new_array(c);  // says: work is pending on c
  cai_use use;
  MUST(cai_use_begin(&use, &in, 1, c, &begin, NULL));
  copy(out->data, in->data, c);
  MUST(cai_array_release_on(in, c, NULL));  // in the place of an end
  return out;
}

int main(void) {
  start();
  const stream p = new_stream(), c = new_stream(), d = new_stream();
  const cai_array *x = new_array(p);
  x->owner->flags |= CAI_OWNER_STREAM_ORDERED;  // its memory is freed in the order of p
  const memory y = new_memory();
  fill(x->data, 1, p);

  const cai_array *out = f(x, c);

  const cai_array *next = new_array(p);  // which may get the memory of x
  fill(next->data, 2, p);

  cai_use use;
  MUST(cai_use_begin(&use, &out, 1, d, NULL, NULL));
  copy(y, out->data, d);
  MUST(cai_use_end(&use, NULL));

  cai_array_release(next);
  cai_array_release(out);
  done();
  MUST_BE(value_of(y), 1);
  return 0;
}
