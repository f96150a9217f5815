// SPDX-License-Identifier: BSD-3-Clause
#include "scenario.hpp"

namespace mutants {

Handle context0, context1;

int copy_to_host(void *to, Address from, std::size_t size, Stream on) {
  static const auto copy =
      driver_function<int (*)(void *, Address, std::size_t, Handle)>("cuMemcpyDtoHAsync_v2");
  return copy(to, from, size, handle(on));
}

static int host_accesses(Address address, int writes) {
  static const auto access =
      driver_function<int (*)(const void *, std::uint64_t, int)>("simcuda_host_access");
  return access(handle(address), count, writes);
}

Stream stream(unsigned flags, Handle context) {
  const With with(context ? context : context0);
  Handle made = nullptr;
  MUST(gpu().cuStreamCreate(&made, flags));
  return value(made);
}

Address memory(Handle context) {
  const With with(context ? context : context0);
  Address made = 0;
  MUST(gpu().cuMemAlloc_v2(&made, count));
  return made;
}

Address managed() {
  Address made = 0;
  MUST(gpu().cuMemAllocManaged(&made, count, 1));
  return made;
}

Address pooled() {
  const Stream on = stream();
  Address made = 0;
  MUST(gpu().cuMemAllocAsync(&made, count, handle(on)));
  MUST(gpu().cuStreamSynchronize(handle(on)));
  return made;
}

Handle recorded(Stream on) {
  Handle event = nullptr;
  MUST(gpu().cuEventCreate(&event, 2));
  MUST(gpu().cuEventRecord(event, handle(on)));
  return event;
}

void writes(Address data, Stream on, std::size_t size) {
  answered(gpu().cuMemsetD8Async(data, 1, size, handle(on)));
}

void reads(Address data, Stream on) {
  answered(gpu().cuMemcpyDtoDAsync_v2(memory(), data, count, handle(on)));
}

void host_reads(Address address) {
  answered(host_accesses(address, 0));
}

void host_writes(Address address) {
  answered(host_accesses(address, 1));
}

cai_use_options use(std::uint32_t order, std::uint32_t access, std::uint32_t flags) {
  return {sizeof(cai_use_options), order, access, flags, nullptr};
}

namespace {
cai_use last_begun;
std::uint32_t last_order;
}  // namespace

void begin(Arrays arrays, Stream on, cai_use_options options) {
  const auto many = static_cast<int32_t>(arrays.size());
  last_order = options.order;
  answered(cai_use_begin(&last_begun, arrays.begin(), many, on, &options, nullptr));
}

void end(Arrays arrays, Stream on, cai_use_options options) {
  const auto many = static_cast<int32_t>(arrays.size());
  const bool has_begun = last_begun.state[0] == on && last_order == options.order;
  if (!has_begun || last_order == CAI_ORDER_END) {
    if (options.order == CAI_ORDER_BOTH) options.order = CAI_ORDER_END;
    answered(cai_use_begin(&last_begun, arrays.begin(), many, on, &options, nullptr));
  }
  answered(cai_use_end(&last_begun, nullptr));
}

void abandon() {
  cai_use_abandon(&last_begun);
}

void finish(bool wait) {
  answered(cai_use_finish(&last_begun, wait, nullptr));
}

void reclaim(const cai_array *array, Stream on, std::uint32_t access) {
  answered(cai_array_reclaim(array, on, access, nullptr));
}

cai_array *publish(const cai_array *array, std::initializer_list<Stream> streams, Stream target) {
  const auto many = static_cast<int32_t>(streams.size());
  cai_array *view = nullptr;
  answered(cai_array_publish(array, streams.begin(), many, target, &view, nullptr));
  return view;
}

cai_array *publish_event(const cai_array *array, Stream on) {
  cai_array *view = nullptr;
  answered(cai_array_publish_event(array, on, &view, nullptr));
  return view;
}

void release_on(const cai_array *array, Stream on) {
  answered(cai_array_release_on(array, on, nullptr));
}

namespace {

struct Freed {
  Address data;
  Stream on;
};

void free_memory(void *context) {
  auto *const freed = static_cast<Freed *>(context);
  answered(gpu().cuMemFreeAsync(freed->data, handle(freed->on)));
  delete freed;
}

}  // namespace

cai_array *owned(Address data, std::uint32_t kind, Stream value) {
  Array array(data, kind, value);
  cai_array *made = nullptr;
  answered(cai_array_own(&array.array, nullptr, nullptr, &made, nullptr));
  return made;
}

cai_array *owned_and_freed_on(Stream on, Address data, std::uint32_t kind, Stream value) {
  Array array(data, kind, value);
  cai_array *made = nullptr;
  answered(cai_array_own(&array.array, free_memory, new Freed{data, on}, &made, nullptr));
  return made;
}

}  // namespace mutants
