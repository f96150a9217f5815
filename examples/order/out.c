// SPDX-License-Identifier: BSD-3-Clause
// out = f(in): one use of two arrays, each with its access.
// Event records: 3. Stream waits: 4. Waits of the host: 0.
#include "work.h"

static void f(const cai_array *out, const cai_array *in, stream c) {
  const cai_array *const arrays[] = {in, out};
  const uint32_t accesses[] = {CAI_ACCESS_READ, CAI_ACCESS_WRITE};
  const cai_use_options options = {sizeof options, CAI_ORDER_BOTH, 0, 0, accesses};
  cai_use use;
  MUST(cai_use_begin(&use, arrays, 2, c, &options, NULL));
  copy(out->data, in->data, c);
  MUST(cai_use_end(&use, NULL));
}

int main(void) {
  start();
  const stream p = new_stream(), q = new_stream(), c = new_stream();
  const cai_array *in = new_array(p), *out = new_array(q);
  const memory y = new_memory();
  fill(in->data, 1, p);
  fill(out->data, 9, q);

  f(out, in, c);

  copy(y, out->data, q);  // q waits for c
  fill(in->data, 2, p);   // and so does p
  cai_array_release(in);
  cai_array_release(out);
  done();
  MUST_BE(value_of(y), 1);
  return 0;
}
