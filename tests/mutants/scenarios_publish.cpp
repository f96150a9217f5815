// SPDX-License-Identifier: BSD-3-Clause
// The producer's side: publish, reclaim, release; and owners with functions of their own.
#include <cai/arrow.h>
#include <cai/device.h>
#include <cai/dlpack.h>

#include "allocations.h"
#include "scenario.hpp"

namespace mutants {
namespace {

// The text's own case: work on 7, 9 and 15 leaves as 3.
SCENARIO(publish_many_streams) {
  const Stream seven = stream(), nine = stream(), three = stream(), c = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_NONE);
  const Address first = x->data, second = x->data + half;
  writes(first, seven, half);
  writes(second, nine, half);
  const cai_array *const view = publish(x, {seven, nine}, three);
  begin({view}, c);
  writes(x->data, c);
  end({view}, c);
  reclaim(view, seven);
  writes(first, seven, half);
  reclaim(view, nine);
  writes(second, nine, half);
}

// A consumer that has the array under its first stream is told of the second one by the owner.
std::uint64_t stream_in_dict(const cai_array *array) {
  std::uint64_t storage[64];
  cai_interface dict;
  dict.struct_size = sizeof dict;
  answered(cai_interface_write(array, 3, storage, sizeof storage, &dict, nullptr));
  return dict.stream.integer;
}

SCENARIO(dict_of_mask) {
  const Stream p = stream(), q = stream(), c = stream();
  Array x(memory(), CAI_STREAM_STREAM, p), mask(memory(), CAI_STREAM_STREAM, q);
  cai_array *masked = nullptr;
  answered(cai_array_own(&x.mask(mask).array, nullptr, nullptr, &masked, nullptr));
  writes(mask.array.data, c);
  answered(cai_owner_used_on(masked->owner, c, CAI_ACCESS_WRITE, nullptr));
  std::uint64_t storage[128];
  cai_interface dict;
  dict.struct_size = sizeof dict;
  // The stream of the array, p, comes after that of the mask: nobody uses it.
  for (const int nth : {0, 1, 2}) implied(nth);
  answered(cai_interface_write(masked, 3, storage, sizeof storage, &dict, nullptr));
  writes(mask.array.data, dict.mask_interface->stream.integer);
}

SCENARIO(publish_again) {
  const Stream p = stream(), target = stream(), c = stream(), d = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_STREAM, p);
  writes(x->data, p);
  cai_array again = *publish(x, {}, target);
  again.stream = stream_in_dict(&again);
  again.owner = nullptr;  // which a dict leaves behind
  begin({&again}, c);
  writes(x->data, c);
  end({&again}, c);
  implied(2);  // p, which the target has waited for
  implied(3);
  begin({x}, d, use(CAI_ORDER_BEGIN));
  writes(x->data, d);
}

// After a view was released, what was queued on its stream by consumers without an owner is kept.
SCENARIO(view_goes_after_dict) {
  const Stream p = stream(), c = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_STREAM, p);
  writes(x->data, p);
  cai_array *const view = publish(x, {}, stream());
  writes(x->data, stream_in_dict(view));
  cai_array_release(view);
  implied(0);  // p, which the view's stream has waited for
  implied(1);
  begin({x}, c, use(CAI_ORDER_BEGIN));
  writes(x->data, c);
}

// If no event can be recorded there, the host waits: the stream may be destroyed then.
SCENARIO(view_goes_without_an_event) {
  const Stream p = stream(), c = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_STREAM, p);
  writes(x->data, p);
  cai_array *const view = publish(x, {}, stream());
  writes(x->data, stream_in_dict(view));
  answered(gpu().simcuda_fail("cuEventRecord", 1, 999));
  cai_array_release(view);
  answered(gpu().simcuda_fail("cuEventRecord", 0, 0));
  implied(0);  // p, which the view's stream has waited for
  implied(1);
  begin({x}, c, use(CAI_ORDER_BEGIN));
  writes(x->data, c);
}

// Or that of the only array, which had no stream, and had not been used yet.
SCENARIO(publish_fresh_copy) {
  const Stream p = stream(), c = stream(), d = stream();
  for (const Stream target : {stream(), Stream{2}}) {
    cai_array *const x = owned(memory(), CAI_STREAM_NONE);
    writes(x->data, p);
    begin({publish(x, {p}, target)}, c, use(CAI_ORDER_BEGIN));
    reads(x->data, c);
    begin({x}, d, use(CAI_ORDER_BEGIN));
    reads(x->data, d);
  }
}

// Stream 1 need not wait for a blocking stream, and does not order it before another one.
SCENARIO(publish_blocking_as_1) {
  const Stream p = stream(0), c = stream(0);
  for (const bool own : {false, true}) {
    cai_array *const x = owned(memory(), own ? CAI_STREAM_STREAM : CAI_STREAM_NONE, own ? p : 0);
    writes(x->data, p);
    begin({own ? publish(x, {}, 1) : publish(x, {p}, 1)}, c, use(CAI_ORDER_BEGIN));
    writes(x->data, c);
  }
}

// The array's stream waits as at an end.
SCENARIO(release_on_hands_back) {
  const Stream p = stream(), c = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_STREAM, p);
  cai_array_retain(x);
  writes(x->data, c);
  answered(cai_array_release_on(x, c, nullptr));
  writes(x->data, p);
}

// No owner is told of work on the common stream of all arrays.
SCENARIO(same_stream_after_kept_uses) {
  const Stream p = stream(), c = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_STREAM, p);
  writes(x->data, c);
  answered(cai_owner_used_on(x->owner, c, CAI_ACCESS_WRITE, nullptr));
  const cai_array *const one = x;
  std::uint64_t named = 0;
  answered(cai_arrays_same_stream(&one, 1, &named, nullptr));
  writes(x->data, named);
}

// Two imports of one memory, on the stream that both say.
struct Imports {
  const Stream p = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_STREAM, p);
  cai_array *const y = owned(x->data, CAI_STREAM_STREAM, p);

  Imports() {
    for (cai_array *const each : {x, y}) each->owner->flags |= CAI_OWNER_IMPORTED;
  }
};

// What one of them publishes comes after that stream, too, on which the other one is used.
SCENARIO(use_what_an_import_has_published) {
  const Imports imports;
  const auto [p, x, y] = imports;
  const Stream t = stream(), c = stream();
  writes(x->data, p);
  for (const int nth : {0, 1, 2, 3}) implied(nth);  // that t waits for p, twice: once is enough
  const cai_array *const view = publish(y, {}, t);
  begin({view}, t);
  writes(x->data, t);
  end({view}, t);
  begin({x}, p);
  writes(x->data, p);
  end({x}, p);
  implied(2);  // p has waited for t
  implied(3);
  begin({view}, c, use(CAI_ORDER_BEGIN));
  writes(x->data, c);
}

// Work on that stream comes after what the other one's view has told.
SCENARIO(same_stream_of_an_import_whose_other_one_is_told) {
  const Imports imports;
  const auto [p, x, y] = imports;
  const Stream t = stream();
  writes(x->data, p);
  for (const int nth : {0, 1, 2, 3}) implied(nth);  // that t waits for p, twice: once is enough
  writes(x->data, stream_in_dict(publish(y, {}, t)));
  const cai_array *const one = x;
  std::uint64_t named = 0;
  answered(cai_arrays_same_stream(&one, 1, &named, nullptr));
  writes(x->data, named);
}

// A dict says a stream alone, which has to come after what the owner knows of.
SCENARIO(write_dict_after_uses) {
  const Stream p = stream(), c = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_STREAM, p);
  writes(x->data, c);
  answered(cai_owner_used_on(x->owner, c, CAI_ACCESS_WRITE, nullptr));
  writes(x->data, stream_in_dict(x));
}

SCENARIO(publish_by_event) {
  const Stream p = stream(), c = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_NONE);
  writes(x->data, p);
  begin({publish_event(x, p)}, c, use(CAI_ORDER_BEGIN));
  reads(x->data, c);
}

// A consumer of a tensor of an array does not know libcai; those that have the array do.
SCENARIO(tensor_for_another_stream) {
  const Stream p = stream(), c = stream(), d = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_STREAM, p);
  writes(x->data, p);
  DLManagedTensorVersioned *tensor = nullptr;
  answered(cai_dlpack_write(x, c, &tensor, nullptr));
  writes(x->data, c);
  implied(2);  // p, which c has waited for
  implied(3);
  begin({x}, d, use(CAI_ORDER_BEGIN));
  writes(x->data, d);
}

// Consumers of two tensors find each other's uses by address, those on their own streams, too.
SCENARIO(tensors_of_one_memory) {
  const Stream p = stream(), c = stream(), d = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_STREAM, p);
  cai_array *given[2] = {};
  writes(x->data, p);
  for (int nth = 2; nth < 6; ++nth)
    implied(nth);  // d comes after p and c once it waits for c's use
  for (const Stream asked : {c, d}) {
    DLManagedTensorVersioned *tensor = nullptr;
    answered(cai_dlpack_write(x, asked, &tensor, nullptr));
    answered(cai_dlpack_own(tensor, asked, &given[asked == d], nullptr));
  }
  begin({given[0]}, c, use(CAI_ORDER_BOTH, CAI_ACCESS_READ));
  reads(x->data, c);
  end({given[0]}, c, use(CAI_ORDER_BOTH, CAI_ACCESS_READ));
  begin({given[1]}, d);
  writes(x->data, d);
}

// What the owner has kept comes before a tensor for the array's own stream.
SCENARIO(tensor_for_its_own_stream) {
  const Stream p = stream(), c = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_STREAM, p);
  writes(x->data, c);
  answered(cai_owner_used_on(x->owner, c, CAI_ACCESS_WRITE, nullptr));
  DLManagedTensorVersioned *tensor = nullptr;
  answered(cai_dlpack_write(x, p, &tensor, nullptr));
  writes(x->data, p);
}

void waits_for(const ArrowDeviceArray &column, Stream on) {
  if (!column.sync_event) return;
  MUST(gpu().cuStreamWaitEvent(handle(on), *static_cast<Handle *>(column.sync_event), 0));
}

SCENARIO(column_with_an_event) {
  const Stream p = stream(), c = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_STREAM, p);
  ArrowDeviceArray column{};
  writes(x->data, p);
  answered(cai_arrow_write(x, p, nullptr, &column, nullptr));
  waits_for(column, c);
  writes(x->data, c);
}

// After a kept use, and instead of a stream; for a consumer that does not know the owner.
SCENARIO(publish_by_event_after_uses) {
  const Stream p = stream(), q = stream(), c = stream(), d = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_NONE), *const y =
                                                             owned(memory(), CAI_STREAM_STREAM, q);
  writes(x->data, c);
  end({x}, c);
  writes(y->data, q);
  for (cai_array *const array : {x, y}) {
    cai_array borrowed = *publish_event(array, p);
    borrowed.owner = nullptr;
    begin({&borrowed}, d, use(CAI_ORDER_BEGIN));
    writes(array->data, d);
  }
}

// Who has the array already does not know of the event, but the owner does.
SCENARIO(publish_copy_by_event) {
  const Stream p = stream(), c = stream(), d = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_NONE);
  writes(x->data, p);
  cai_array borrowed = *publish_event(x, p);
  borrowed.owner = nullptr;
  begin({&borrowed}, c, use(CAI_ORDER_BEGIN));
  reads(x->data, c);
  begin({x}, d, use(CAI_ORDER_BEGIN));
  reads(x->data, d);
}

SCENARIO(reclaim_array_of_event) {
  const Stream p = stream(), q = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_NONE);
  writes(x->data, p);
  reclaim(publish_event(x, p), q);
  writes(x->data, q);
}

SCENARIO(reclaim_for_reading) {
  const Stream p = stream(), c = stream(), q = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_STREAM, p);
  writes(x->data, p);
  begin({x}, c);
  writes(x->data, c);
  end({x}, c);
  reclaim(x, q, CAI_ACCESS_READ);
  reads(x->data, q);
}

// Others are looked at in passing; what is complete by then has been waited for.
SCENARIO(release_on_stream) {
  const Stream f = stream();
  for (int round = 0; round < 3; ++round) {
    const Stream c = stream();
    cai_array *const x = owned_and_freed_on(f, pooled(), CAI_STREAM_NONE);
    writes(x->data, c);
    release_on(x, c);
  }
  answered(cai_drain(1, nullptr, nullptr));
}

SCENARIO(release_on_tells_owner) {
  const Stream c = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_NONE);
  cai_array_retain(x);
  x->owner->used_on = [](cai_owner *self, Stream on, std::uint32_t access, cai_error *error) {
    return cai_owner_used_on(self, on, access, error);
  };
  writes(x->data, c);
  release_on(x, c);
  const Stream d = stream();
  begin({x}, d);
  reads(x->data, d);
}

SCENARIO(release_on_stream_and_look) {
  const Stream p = stream(), c = stream(), d = stream(), f = stream();
  const auto release = [&] {
    cai_array *const x = owned_and_freed_on(f, pooled(), CAI_STREAM_NONE);
    writes(x->data, c);
    release_on(x, c);
  };
  cai_array *const y = owned(memory(), CAI_STREAM_NONE);
  writes(y->data, d);
  release();
  end({y}, d);
  release();
  begin({y}, p, use(CAI_ORDER_BEGIN));
  writes(y->data, p);
  end({y}, p);
  release();
  implied(0);  // p has waited for d
  reclaim(y, c);
  writes(y->data, c);
}

SCENARIO(synchronize_and_look) {
  const Stream c = stream(), d = stream(), f = stream();
  const Address shared = managed();
  cai_array *const x = owned_and_freed_on(f, pooled(), CAI_STREAM_NONE);
  writes(x->data, d);
  release_on(x, d);
  writes(shared, c);
  cai_stream *handle = nullptr;
  answered(cai_stream_wrap({CAI_DEVICE_CUDA, 0}, c, nullptr, nullptr, &handle, nullptr));
  answered(cai_stream_synchronize(handle, nullptr));
  host_reads(shared);
}

SCENARIO(release_many_on_streams) {
  constexpr int users = 10;
  const Stream f = stream();
  cai_array *const x = owned_and_freed_on(f, pooled(), CAI_STREAM_NONE);
  for (int user = 0; user < users; ++user) {
    const Stream c = stream();
    cai_array_retain(x);
    reads(x->data, c);
    release_on(x, c);
  }
  cai_array_release(x);
  answered(cai_drain(1, nullptr, nullptr));
}

SCENARIO(release_on_stream_with_foreign_owner) {
  struct Producer : cai_owner {
    Address data;
    Stream on;
  };
  const auto retain = [](cai_owner *) {};
  const auto release = [](cai_owner *self) {
    auto *const producer = static_cast<Producer *>(self);
    answered(gpu().cuMemFreeAsync(producer->data, handle(producer->on)));
  };
  const Stream c = stream();
  Array x(pooled(), CAI_STREAM_NONE);
  Producer producer{};
  producer.struct_size = 24;
  producer.retain = retain;
  producer.release = release;
  producer.data = x.array.data;
  producer.on = stream();
  x.array.owner = &producer;
  writes(x.array.data, c);
  release_on(&x.array, c);
  answered(cai_drain(1, nullptr, nullptr));
}

// The last holder lets go while a use is pending.
SCENARIO(drain_and_wait) {
  const Stream c = stream(), d = stream(non_blocking, context1), f = stream();
  for (const Stream on : {c, d}) {
    cai_array *const x = owned_and_freed_on(f, pooled(), CAI_STREAM_NONE);
    writes(x->data, on);
    end({x}, on);
    cai_array_release(x);
  }
  answered(cai_drain(1, nullptr, nullptr));
}

SCENARIO(drain_and_ask) {
  const Stream c = stream(), f = stream();
  cai_array *const x = owned_and_freed_on(f, pooled(), CAI_STREAM_NONE);
  writes(x->data, c);
  end({x}, c);
  cai_array_release(x);
  for (int64_t left = 1; left;) answered(cai_drain(0, &left, nullptr));
}

SCENARIO(owner_pending_and_wait) {
  const Stream c = stream(), d = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_NONE);
  writes(x->data, c);
  end({x}, c);
  int64_t left = 1;
  answered(cai_owner_pending(x->owner, 2, &left, nullptr));
  writes(x->data, d);
}

// An event could not be recorded, so the host waits in the context.
SCENARIO(owner_pending_and_wait_for_context) {
  const Stream p = stream(), d = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_STREAM, p);
  writes(x->data, p);
  end({x}, p);
  answered(gpu().simcuda_fail("cuEventRecord", 1, 999));
  int64_t left = 1;
  answered(cai_owner_pending(x->owner, 2, &left, nullptr));
  answered(gpu().simcuda_fail("cuEventRecord", 0, 0));
  writes(x->data, d);
}

// What is in order with the array's stream is kept when a call asks.
SCENARIO(owner_pending_of_what_is_marked) {
  const Stream p = stream(), d = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_STREAM, p);
  writes(x->data, p);
  end({x}, p);
  int64_t left = 1;
  answered(cai_owner_pending(x->owner, 2, &left, nullptr));
  writes(x->data, d);
}

// Memory that goes back in the order of its array's stream needs nothing kept.
SCENARIO(stream_ordered_owner) {
  const Stream p = stream(), c = stream();
  cai_array *const x = owned_and_freed_on(p, pooled(), CAI_STREAM_STREAM, p);
  x->owner->flags |= CAI_OWNER_STREAM_ORDERED;
  writes(x->data, p);
  begin({x}, c);
  reads(x->data, c);
  end({x}, c);
  cai_array_release(x);
}

// Work that is in order with the array's stream need not be in order with the memory's.
SCENARIO(release_of_what_is_marked) {
  const Stream p = stream(), f = stream();
  for (const Stream user : {p, Stream{1}}) {
    cai_array *const x = owned_and_freed_on(f, pooled(), CAI_STREAM_STREAM, user);
    writes(x->data, user);
    end({x}, user);
    cai_array_release(x);
    answered(cai_drain(1, nullptr, nullptr));
  }
}

SCENARIO(release_in_a_capture) {
  const Stream p = stream(), f = stream();
  cai_array *const x = owned_and_freed_on(f, pooled(), CAI_STREAM_STREAM, p);
  writes(x->data, p);
  end({x}, p);
  Handle graph = nullptr;
  constexpr int relaxed = 2;
  MUST(gpu().cuStreamBeginCapture_v2(handle(p), relaxed));
  cai_array_release(x);
  MUST(gpu().cuStreamEndCapture(handle(p), &graph));
  answered(cai_drain(1, nullptr, nullptr));
}

SCENARIO(release_without_memory) {
  const Stream p = stream(), f = stream();
  cai_array *const x = owned_and_freed_on(f, pooled(), CAI_STREAM_STREAM, p);
  writes(x->data, p);
  end({x}, p);
  allocations_reset();
  allocations_fail(0);
  cai_array_release(x);
}

// The owner's functions, called by code that has no array.
SCENARIO(owner_functions) {
  const Stream c = stream(), d = stream();
  for (const Stream waits : {d, Stream{0}}) {
    cai_array *const x = owned(managed(), CAI_STREAM_NONE);
    writes(x->data, c);
    answered(cai_owner_used_on(x->owner, c, CAI_ACCESS_WRITE, nullptr));
    answered(cai_owner_await_uses(x->owner, waits, CAI_ACCESS_WRITE, nullptr));
    waits ? writes(x->data, waits) : host_writes(x->data);
  }
}

// An owner that keeps uses by itself: here, in another owner.
struct Delegate : cai_owner {
  cai_owner *to;
};

cai_status delegate_used_on(cai_owner *self, uint64_t on, uint32_t access, cai_error *error) {
  return cai_owner_used_on(static_cast<Delegate *>(self)->to, on, access, error);
}

cai_status delegate_await(cai_owner *self, uint64_t on, uint32_t access, cai_error *error) {
  return cai_owner_await_uses(static_cast<Delegate *>(self)->to, on, access, error);
}

void delegate(Delegate &delegate, cai_owner *to) {
  delegate.struct_size = sizeof(cai_owner);
  delegate.retain = [](cai_owner *) {};
  delegate.release = [](cai_owner *) {};
  delegate.used_on = delegate_used_on;
  delegate.await_uses = delegate_await;
  delegate.to = to;
}

SCENARIO(column_of_an_owner_with_own_functions) {
  const Stream p = stream(), c = stream(), d = stream();
  Array x(memory(), CAI_STREAM_NONE);
  Delegate owner{};
  delegate(owner, owned(x.array.data, CAI_STREAM_NONE)->owner);
  x.array.owner = &owner;
  writes(x.array.data, c);
  end({&x.array}, c);
  ArrowDeviceArray column{};
  answered(cai_arrow_write(&x.array, p, nullptr, &column, nullptr));
  waits_for(column, d);
  writes(x.array.data, d);
}

SCENARIO(owner_with_own_functions) {
  const Stream p = stream(), c = stream(), d = stream();
  Array x(memory(), CAI_STREAM_NONE), y(memory(), CAI_STREAM_NONE);
  Delegate owners[2]{};
  for (Array *const array : {&x, &y}) {
    Delegate &owner = owners[array == &y];
    delegate(owner, owned(array->array.data, CAI_STREAM_NONE)->owner);
    array->array.owner = &owner;
    begin({&array->array}, c);
    writes(array->array.data, c);
    end({&array->array}, c);
  }
  begin({&x.array}, d, use(CAI_ORDER_BEGIN));
  writes(x.array.data, d);
  reclaim(&y.array, p);
  writes(y.array.data, p);
}

// Its array is in the host's memory, and so comes with no stream.
SCENARIO(host_array_of_an_owner_with_own_functions) {
  const Stream c = stream();
  Array x(managed(), CAI_STREAM_NONE);
  Delegate owner{};
  delegate(owner, owned(x.array.data, CAI_STREAM_NONE)->owner);
  x.array.device_type = CAI_DEVICE_CPU;
  x.array.owner = &owner;
  writes(x.array.data, c);
  answered(cai_owner_used_on(owner.to, c, CAI_ACCESS_WRITE, nullptr));
  answered(cai_array_sync_host(&x.array, nullptr));
  host_writes(x.array.data);
}

SCENARIO(owner_with_own_functions_is_told_of_event) {
  const Stream p = stream(), c = stream(), d = stream();
  Array x(memory(), CAI_STREAM_NONE);
  Delegate owner{};
  delegate(owner, owned(x.array.data, CAI_STREAM_NONE)->owner);
  x.array.owner = &owner;
  writes(x.array.data, p);
  cai_array borrowed = *publish_event(&x.array, p);
  borrowed.owner = nullptr;
  begin({&borrowed}, c, use(CAI_ORDER_BEGIN));
  reads(x.array.data, c);
  begin({&x.array}, d, use(CAI_ORDER_BEGIN));
  reads(x.array.data, d);
}

// Two uses in one capture, by streams that nothing else orders. The memory of the owner that keeps
// them is unknown, so they cannot be found by address.
SCENARIO(owner_with_own_functions_in_a_capture) {
  constexpr int relaxed = 2;  // for the scenario's own memory
  const Stream c = stream(), d = stream();
  Array x(memory(), CAI_STREAM_NONE);
  Delegate owner{};
  cai_owner kept{};
  const auto nothing = [](cai_owner *) {};
  answered(cai_owner_init(&kept, nothing, nothing, nullptr));
  delegate(owner, &kept);
  x.array.owner = &owner;
  answered(gpu().cuStreamBeginCapture_v2(handle(c), relaxed));
  answered(gpu().cuStreamWaitEvent(handle(d), recorded(c), 0));
  begin({&x.array}, c);
  writes(x.array.data, c);
  end({&x.array}, c);
  begin({&x.array}, d);
  writes(x.array.data, d);
  end({&x.array}, d);
  answered(gpu().cuStreamWaitEvent(handle(c), recorded(d), 0));
  Handle graph = nullptr, exec = nullptr;
  answered(gpu().cuStreamEndCapture(handle(c), &graph));
  if (!graph) return;
  answered(gpu().cuGraphInstantiateWithFlags(&exec, graph, 0));
  answered(gpu().cuGraphLaunch(exec, handle(c)));
  cai_owner_end(&kept, nothing);
}

// They are told of what is pending, whatever waits for it.
SCENARIO(owner_with_own_functions_is_told) {
  const Stream p = stream(), target = stream();
  Array x(memory(), CAI_STREAM_NONE), y(memory(), CAI_STREAM_NONE);
  Delegate owners[2]{};
  for (Array *const array : {&x, &y}) {
    Delegate &owner = owners[array == &y];
    delegate(owner, owned(array->array.data, CAI_STREAM_NONE)->owner);
    array->array.owner = &owner;
    writes(array->array.data, p);
  }
  static_cast<void>(publish(&x.array, {p}, target));
  implied(0);  // its holder goes later, and nobody frees the memory
  release_on(&y.array, p);
  for (Array *const array : {&x, &y}) {
    const Stream d = stream();
    begin({&array->array}, d, use(CAI_ORDER_BEGIN));
    writes(array->array.data, d);
  }
}

SCENARIO(owner_with_its_own_used_on_and_same_stream) {
  const Stream p = stream(), c = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_STREAM, p);
  x->owner->used_on = [](cai_owner *self, Stream on, std::uint32_t access, cai_error *error) {
    return cai_owner_used_on(self, on, access, error);
  };
  writes(x->data, c);
  answered(cai_owner_used_on(x->owner, c, CAI_ACCESS_WRITE, nullptr));
  const cai_array *const one = x;
  std::uint64_t named = 0;
  answered(cai_arrays_same_stream(&one, 1, &named, nullptr));
  writes(x->data, named);
}

SCENARIO(owner_with_own_functions_and_host) {
  const Stream c = stream();
  const Address data = managed();
  Array x(data, CAI_STREAM_NONE);
  Delegate owner{};
  delegate(owner, owned(data, CAI_STREAM_NONE)->owner);
  x.array.owner = &owner;
  for (int round = 0; round < 2; ++round) {
    writes(data, c);
    end({&x.array}, c, use(CAI_ORDER_END));
    if (round == 0) {
      begin({&x.array}, c, use(CAI_ORDER_HOST));
    } else {
      answered(cai_array_sync_host(&x.array, nullptr));
    }
    host_writes(data);
  }
}

}  // namespace
}  // namespace mutants
