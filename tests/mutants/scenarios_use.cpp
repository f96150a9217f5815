// SPDX-License-Identifier: BSD-3-Clause
// cai_use_begin() and cai_use_end(): what they make wait for what.
#include "scenario.hpp"

namespace mutants {
namespace {

SCENARIO(use) {
  const Stream p = stream(), c = stream();
  Array x(memory(), CAI_STREAM_STREAM, p);
  writes(x.array.data, p);
  begin({&x.array}, c);
  reads(x.array.data, c);
  end({&x.array}, c);
  writes(x.array.data, p);
}

SCENARIO(use_of_many) {
  const Stream p = stream(), q = stream(), c = stream();
  Array x(memory(), CAI_STREAM_STREAM, p), y(memory(), CAI_STREAM_STREAM, q);
  writes(x.array.data, p);
  writes(y.array.data, q);
  begin({&x.array, &y.array}, c);
  reads(x.array.data, c);
  writes(y.array.data, c);
  end({&x.array, &y.array}, c);
  writes(x.array.data, p);
  reads(y.array.data, q);
}

SCENARIO(use_of_mask) {
  const Stream p = stream(), q = stream(), c = stream();
  Array mask(memory(), CAI_STREAM_STREAM, q);
  Array x(memory(), CAI_STREAM_STREAM, p);
  x.mask(mask);
  writes(x.array.data, p);
  writes(mask.array.data, q);
  begin({&x.array}, c);
  reads(x.array.data, c);
  reads(mask.array.data, c);
  end({&x.array}, c);
  writes(x.array.data, p);
  writes(mask.array.data, q);
}

SCENARIO(use_of_two_devices) {
  const Stream p = stream(non_blocking, context1), c = stream();
  Array x(memory(context1), CAI_STREAM_STREAM, p);
  writes(x.array.data, p);
  begin({&x.array}, c);
  reads(x.array.data, c);
  end({&x.array}, c);
  writes(x.array.data, p);
}

// The default streams of two contexts, by the memory's.
SCENARIO(use_of_default_streams) {
  const Stream c = stream();
  Array x(memory(), CAI_STREAM_STREAM, 1), y(memory(context1), CAI_STREAM_STREAM, 2);
  const auto write_second = [&] {
    const With with(context1);
    writes(y.array.data, 2);
  };
  writes(x.array.data, 1);
  write_second();
  begin({&x.array, &y.array}, c);
  reads(x.array.data, c);
  reads(y.array.data, c);
  end({&x.array, &y.array}, c);
  writes(x.array.data, 1);
  write_second();
}

SCENARIO(use_on_default_stream) {
  const Stream p = stream();
  Array x(memory(), CAI_STREAM_STREAM, p);
  for (const Stream c : {Stream{1}, Stream{2}}) {
    writes(x.array.data, p);
    begin({&x.array}, c);
    reads(x.array.data, c);
    end({&x.array}, c);
    writes(x.array.data, p);
  }
}

// The legacy stream stands in for a stream that was not stated, unless a provider knows better.
SCENARIO(use_of_unstated) {
  const Stream c = stream();
  Array x(memory(), CAI_STREAM_UNSTATED);
  writes(x.array.data, 1);
  begin({&x.array}, c);
  reads(x.array.data, c);
  end({&x.array}, c);
  writes(x.array.data, 1);
}

SCENARIO(use_of_unstated_with_provider) {
  static Stream p;
  p = stream();
  const cai_stream_provider provider{
      sizeof provider, 0, [](void *, const cai_array *, Stream *out) { return *out = p, 1; },
      nullptr};
  answered(cai_provide_streams(&provider, nullptr));
  const Stream c = stream();
  Array x(memory(), CAI_STREAM_UNSTATED);
  writes(x.array.data, p);
  begin({&x.array}, c);
  reads(x.array.data, c);
  end({&x.array}, c);
  writes(x.array.data, p);
}

SCENARIO(begin_alone_and_end_alone) {
  const Stream p = stream(), c = stream(), d = stream();
  Array x(memory(), CAI_STREAM_STREAM, p);
  writes(x.array.data, p);
  begin({&x.array}, c, use(CAI_ORDER_BEGIN));
  writes(x.array.data, c);
  end({&x.array}, c);
  reads(x.array.data, p);
  Array y(memory(), CAI_STREAM_STREAM, p);
  reads(y.array.data, d);
  end({&y.array}, d, use(CAI_ORDER_END));
  writes(y.array.data, p);
}

SCENARIO(use_of_event) {
  const Stream p = stream(), c = stream();
  Array x(memory(), CAI_STREAM_EVENT);
  writes(x.array.data, p);
  x.array.stream = value(recorded(p));
  begin({&x.array}, c, use(CAI_ORDER_BEGIN));
  reads(x.array.data, c);
}

SCENARIO(use_of_many_events) {
  const Stream p = stream(), q = stream(), c = stream();
  Array x(memory(), CAI_STREAM_EVENT), y(memory(), CAI_STREAM_EVENT);
  writes(x.array.data, p);
  x.array.stream = value(recorded(p));
  writes(y.array.data, q);
  y.array.stream = value(recorded(q));
  begin({&x.array, &y.array}, c, use(CAI_ORDER_BEGIN));
  reads(x.array.data, c);
  reads(y.array.data, c);
}

// Nobody but the owner knows that a consumer works on an array that came with None.
SCENARIO(kept_by_owner_of_none) {
  const Stream c = stream(), d = stream(), p = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_NONE), *const y =
                                                             owned(memory(), CAI_STREAM_NONE);
  for (cai_array *const array : {x, y}) {
    begin({array}, c);
    writes(array->data, c);
    end({array}, c);
  }
  begin({x}, d, use(CAI_ORDER_BEGIN, CAI_ACCESS_READ));
  reads(x->data, d);
  reclaim(y, p);
  writes(y->data, p);
}

// A second reader need not wait for the first one, but a writer for both.
SCENARIO(kept_of_abandoned) {
  const Stream c = stream(), d = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_NONE);
  begin({x}, c);
  writes(x->data, c);
  abandon();
  implied(1);  // asked in passing whether that is over, which cai_drain() would wait for
  if (!is_lazy()) implied(0);  // it is, and there is nothing to wait for
  begin({x}, d);
  reads(x->data, d);
}

// The producer asks no owner.
SCENARIO(drained_after_abandoned) {
  const Stream p = stream(), c = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_STREAM, p);
  writes(x->data, p);
  begin({x}, c);
  reads(x->data, c);
  abandon();
  answered(cai_drain(1, nullptr, nullptr));
  writes(x->data, p);
}

SCENARIO(kept_reads) {
  const Stream c = stream(), d = stream(), e = stream();
  const cai_use_options read = use(CAI_ORDER_BOTH, CAI_ACCESS_READ);
  cai_array *const x = owned(memory(), CAI_STREAM_NONE);
  for (const Stream reader : {c, d}) {
    begin({x}, reader, read);
    reads(x->data, reader);
    end({x}, reader, read);
  }
  begin({x}, e);
  writes(x->data, e);
}

SCENARIO(kept_by_owner_of_event) {
  const Stream p = stream(), c = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_STREAM, p);
  writes(x->data, p);
  const cai_array *const view = publish_event(x, p);
  begin({view}, c);
  writes(x->data, c);
  end({view}, c);
  implied(0);  // p waits for the event, which it recorded itself: a handle does not say where
  reclaim(view, p);
  writes(x->data, p);
}

// A view keeps its uses in the owner of what it is a view of.
SCENARIO(kept_use_of_view) {
  const Stream c = stream(), p = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_NONE);
  cai_array *view = nullptr;
  answered(cai_array_transpose(x, nullptr, &view, nullptr));
  begin({view}, c);
  writes(view->data, c);
  end({view}, c);
  cai_array_release(view);
  reclaim(x, p);
  writes(x->data, p);
}

// An array's own stream need not wait if its producer reclaims; another stream must.
SCENARIO(owner_that_reclaims) {
  const Stream p = stream(), c = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_STREAM, p);
  x->owner->flags |= CAI_OWNER_RECLAIMS;
  writes(x->data, p);
  begin({x}, c);
  writes(x->data, c);
  end({x}, c);
  reclaim(x, p);
  writes(x->data, p);
}

// The array's own stream covers a kept use: to wait for that stream is to wait for the use.
SCENARIO(covered_use) {
  const Stream p = stream(), c = stream(), d = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_STREAM, p);
  writes(x->data, p);
  begin({x}, c);
  writes(x->data, c);
  end({x}, c);
  begin({x}, d);
  writes(x->data, d);
  end({x}, d);
  writes(x->data, p);
}

// More uses than are kept without asking which ones are done.
SCENARIO(many_kept_uses) {
  constexpr int users = 10;
  const Stream p = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_NONE);
  const cai_use_options read = use(CAI_ORDER_BOTH, CAI_ACCESS_READ);
  for (int user = 0; user < users; ++user) {
    const Stream c = stream();
    begin({x}, c, read);
    reads(x->data, c);
    end({x}, c, read);
  }
  reclaim(x, p);
  writes(x->data, p);
}

// An event could not be recorded, so the host waits in the context.
void drain_after_failures_of(const char *name) {
  const Stream c = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_NONE);
  const Address data = x->data;
  begin({x}, c);
  writes(data, c);
  for (int nth = 1; nth <= 2; ++nth) answered(gpu().simcuda_fail(name, nth, 999));
  abandon();
  answered(gpu().simcuda_fail(name, 0, 0));
  cai_array_release(x);
  answered(cai_drain(1, nullptr, nullptr));
  reads(data, stream());
}

SCENARIO(drain_waits_for_context) {
  drain_after_failures_of("cuEventRecord");
}

SCENARIO(drain_waits_for_every_context) {
  implied(1);  // the work is in one of them only
  drain_after_failures_of("cuStreamGetId");
}

}  // namespace
}  // namespace mutants
