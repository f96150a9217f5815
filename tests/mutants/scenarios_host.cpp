// SPDX-License-Identifier: BSD-3-Clause
// The host waits, and then uses the memory itself.
#include "scenario.hpp"

namespace mutants {
namespace {

SCENARIO(host_finishes_use) {
  const Stream c = stream();
  Array x(managed(), CAI_STREAM_NONE);
  const cai_array *const one = &x.array;
  begin({one}, c, use(CAI_ORDER_BEGIN));
  writes(x.array.data, c);
  finish(true);
  host_reads(x.array.data);
}

SCENARIO(host_waits_for_producer) {
  const Stream p = stream(), c = stream();
  Array x(managed(), CAI_STREAM_STREAM, p);
  writes(x.array.data, p);
  begin({&x.array}, c, use(CAI_ORDER_HOST));
  host_writes(x.array.data);
  reads(x.array.data, c);
  end({&x.array}, c, use(CAI_ORDER_HOST));
  host_writes(x.array.data);
}

SCENARIO(host_waits_for_default_stream) {
  Array x(managed(), CAI_STREAM_STREAM, 2);
  const Stream c = stream();
  writes(x.array.data, 2);
  begin({&x.array}, c, use(CAI_ORDER_HOST));
  host_reads(x.array.data);
}

SCENARIO(host_waits_for_event) {
  const Stream p = stream(), c = stream();
  Array x(managed(), CAI_STREAM_EVENT);
  writes(x.array.data, p);
  x.array.stream = value(recorded(p));
  begin({&x.array}, c, use(CAI_ORDER_HOST));
  host_writes(x.array.data);
}

SCENARIO(host_waits_for_kept_use) {
  const Stream c = stream(), d = stream();
  cai_array *const x = owned(managed(), CAI_STREAM_NONE);
  writes(x->data, c);
  end({x}, c);
  begin({x}, d, use(CAI_ORDER_HOST));
  host_writes(x->data);
}

SCENARIO(sync_host) {
  const Stream p = stream(), q = stream(), r = stream();
  Array x(managed(), CAI_STREAM_STREAM, p);
  Array mask(managed(), CAI_STREAM_EVENT);
  x.mask(mask);
  writes(x.array.data, p);
  writes(mask.array.data, q);
  mask.array.stream = value(recorded(q));
  answered(cai_array_sync_host(&x.array, nullptr));
  host_writes(x.array.data);
  host_reads(mask.array.data);
  cai_array *const kept = owned(managed(), CAI_STREAM_NONE);
  reads(kept->data, r);
  end({kept}, r);
  answered(cai_array_sync_host(kept, nullptr));
  host_writes(kept->data);
}

// Copies to the host's own memory go past the stream that the array came with.
SCENARIO(sync_host_and_copy) {
  const Stream p = stream();
  Array x(memory(), CAI_STREAM_STREAM, p);
  writes(x.array.data, p);
  answered(cai_array_sync_host(&x.array, nullptr));
  unsigned char bytes[count];
  answered(gpu().cuMemcpyDtoH_v2(bytes, x.array.data, count));
}

SCENARIO(host_copies_on_another_stream) {
  const Stream p = stream(), c = stream();
  Array x(memory(), CAI_STREAM_STREAM, p);
  writes(x.array.data, p);
  begin({&x.array}, c, use(CAI_ORDER_HOST));
  unsigned char bytes[count];
  answered(copy_to_host(bytes, x.array.data, count, c));
  writes(x.array.data, c);
  end({&x.array}, c, use(CAI_ORDER_HOST));
  writes(x.array.data, p);
}

}  // namespace
}  // namespace mutants
