// SPDX-License-Identifier: BSD-3-Clause
// What a producer and a consumer do with an array through libcai, such that every order that libcai
// makes is needed: whatever it orders is followed by work that conflicts with what came before.
//
// A scenario runs in a process of its own, once for each of its calls that is dropped, and has the
// primary contexts of devices 0 and 1, that of 0 being current. It cleans nothing up.
#pragma once

#include <initializer_list>

#include "gpu.hpp"

namespace mutants {

using namespace test;
using Stream = std::uint64_t;

struct Scenario {
  const char *name;
  void (*run)();
  Scenario *next;
  static Scenario *first;

  Scenario(const char *named, void (*body)()) : name(named), run(body), next(first) {
    first = this;
  }
};

#define SCENARIO(name)                                       \
  static void scenario_##name();                             \
  static Scenario registered_##name(#name, scenario_##name); \
  static void scenario_##name()

// The answer of the driver, or of libcai, to the scenario itself: a failure is a result, too, of an
// earlier dropped call.
void answered(int result);

// The nth call of libcai's from here, 0 being the next, orders what is in order already, in a way
// that libcai cannot know of. The reason stands beside it; that no race comes of it is checked,
// too.
void implied(int nth);

// Likewise, but that what comes later is refused when it is dropped, and races with nothing.
void refuses_later(int nth);

// Whether nothing runs before a call waits for it: a query is not enough.
bool is_lazy();

int copy_to_host(void *to, Address from, std::size_t size, Stream on);

extern Handle context0, context1;

Stream stream(unsigned flags = non_blocking, Handle context = nullptr);
Address memory(Handle context = nullptr);
Address managed();
Address pooled();  // from the pool of device 0, and allocated for all
Handle recorded(Stream on);

constexpr std::size_t half = count / 2;
void writes(Address data, Stream on, std::size_t size = count);
void reads(Address data, Stream on);
void host_reads(Address managed);
void host_writes(Address managed);

// The public functions.
using Arrays = std::initializer_list<const cai_array *>;
cai_use_options use(std::uint32_t order, std::uint32_t access = CAI_ACCESS_DEFAULT,
                    std::uint32_t flags = 0);
void begin(Arrays arrays, Stream on, cai_use_options options = use(CAI_ORDER_BOTH));
void end(Arrays arrays, Stream on, cai_use_options options = use(CAI_ORDER_BOTH));
// For the last use: it is abandoned, or it is complete, perhaps after the host has waited.
void abandon();
void finish(bool wait);
void reclaim(const cai_array *array, Stream on, std::uint32_t access = CAI_ACCESS_DEFAULT);
// The view, which stays.
cai_array *publish(const cai_array *array, std::initializer_list<Stream> streams, Stream target);
cai_array *publish_event(const cai_array *array, Stream on);
void release_on(const cai_array *array, Stream on);

// An owned array of such memory, which goes back to its pool, on a stream, in the end.
cai_array *owned(Address data, std::uint32_t kind, Stream value = 0);
cai_array *owned_and_freed_on(Stream on, Address data, std::uint32_t kind, Stream value = 0);

}  // namespace mutants
