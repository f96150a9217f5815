// SPDX-License-Identifier: BSD-3-Clause
// cai::memory, arrays of it and work on arrays, on every device; and through a manager that is a
// class.
#include <complex>
#include <numeric>
#include <thread>

#include "managers.hpp"

namespace test::memory_tests {
namespace {

static_assert(std::is_nothrow_copy_constructible_v<cai::memory>);
static_assert(std::is_nothrow_move_constructible_v<cai::memory>);
static_assert(std::is_nothrow_move_assignable_v<cai::memory>);
static_assert(std::is_nothrow_move_assignable_v<cai::descriptor>);
static_assert(!std::is_copy_constructible_v<cai::descriptor>);
static_assert(!std::is_copy_constructible_v<cai::defer_cleanup>);
static_assert(!std::is_move_constructible_v<cai::defer_cleanup>);
static_assert(cai::dtype_of<float>.kind == 'f' && cai::dtype_of<float>.itemsize == 4);
static_assert(cai::dtype_of<std::byte>.kind == 'u' && cai::dtype_of<std::byte>.byteorder == '|');
static_assert(cai::dtype_of<bool>.kind == 'b' && cai::dtype_of<std::int64_t>.kind == 'i');
static_assert(cai::dtype_of<std::complex<double>>.kind == 'c');
static_assert(!cai::element<std::string>);

using Dims = std::vector<std::int64_t>;

Dims list(std::span<const std::int64_t> values) {
  return {values.begin(), values.end()};
}

constexpr std::uint32_t linear_kinds[] = {
    CAI_KIND_DEFAULT, CAI_KIND_ASYNC,          CAI_KIND_PINNED, CAI_KIND_MAPPED,
    CAI_KIND_MANAGED, CAI_KIND_MANAGED_GLOBAL, CAI_KIND_HOST};

class OnMemory : public OnEach {};
ON_EACH_DEVICE(OnMemory);

TEST(Memory, NoneIsHeld) {
  const cai::memory none;
  EXPECT_FALSE(none);
  EXPECT_EQ(status_of([&] { static_cast<void>(none.info()); }), CAI_ERR_ARGUMENT);
  EXPECT_EQ(status_of([&] { static_cast<void>(none.host()); }), CAI_ERR_ARGUMENT);
  EXPECT_EQ(status_of([&] { static_cast<void>(none.view(0, 0)); }), CAI_ERR_ARGUMENT);
  EXPECT_EQ(status_of([&] { static_cast<void>(none.to_array<float>({1})); }), CAI_ERR_ARGUMENT);
  EXPECT_EQ(status_of([&] { static_cast<void>(cai::memory::of({})); }), CAI_ERR_ARGUMENT);
  EXPECT_EQ(status_of([&] { none.free(); }), CAI_ERR_ARGUMENT);
  EXPECT_EQ(status_of([] { static_cast<void>(cai::memory::find(64)); }), CAI_ERR_DEVICE);
  EXPECT_EQ(status_of([] { static_cast<void>(cai::item<float>({}, {0})); }), CAI_ERR_ARGUMENT);
  EXPECT_EQ(status_of([] { cai::fill({}, 1.0F); }), CAI_ERR_ARGUMENT);
  EXPECT_EQ(status_of([] { cai::copy({}, {}); }), CAI_ERR_ARGUMENT);
}

TEST_P(OnMemory, OfEveryKind) {
  for (const std::uint32_t kind : linear_kinds) {
    const cai::memory memory = cai::memory::alloc(device, {.size = 4096, .kind = kind});
    const cai_memory_info info = memory.info();
    EXPECT_EQ(info.kind, kind);
    EXPECT_EQ(memory.size(), 4096U);
    EXPECT_EQ(memory.data(), info.data);
    EXPECT_NE(memory.data(), 0U);
    EXPECT_EQ(memory.device(), device);
    if (cai::is_dereferenceable(device, kind)) {
      cai::stream::current(device).synchronize();
      const std::span<int> numbers = memory.host<int>();
      ASSERT_EQ(numbers.size(), 1024U);
      std::iota(numbers.begin(), numbers.end(), 0);
      EXPECT_EQ(memory.host().size(), 4096U);
      EXPECT_EQ(memory.view(4, 8).host<int>()[0], 1);
      const cai::memory odd = memory.view(5, 13);
      EXPECT_EQ(odd.host().size(), 8U);
      EXPECT_EQ(status_of([&] { static_cast<void>(odd.host<int>()); }), CAI_ERR_BOUNDS);
    } else {
      EXPECT_EQ(status_of([&] { static_cast<void>(memory.host()); }), CAI_ERR_UNSUPPORTED);
    }
  }
  EXPECT_EQ(
      status_of([&] { static_cast<void>(cai::memory::alloc(device, {.size = 1, .kind = 99})); }),
      CAI_ERR_VALUE);
  EXPECT_EQ(
      status_of([&] { static_cast<void>(cai::memory::alloc(device, {.size = 1, .align = 3})); }),
      CAI_ERR_VALUE);
}

TEST_P(OnMemory, OfNoSize) {
  const cai::memory none = cai::memory::alloc(device, {});
  EXPECT_TRUE(none);
  EXPECT_EQ(none.data(), 0U);
  EXPECT_TRUE(none.host().empty());
  EXPECT_EQ(cai::empty<float>({4, 0}, device).data(), 0U);
}

TEST_P(OnMemory, GivesTheHostNothingOnceItIsFreed) {
  for (const std::uint32_t kind : linear_kinds) {
    const cai::memory memory = cai::memory::alloc(device, {.size = 64, .kind = kind});
    const cai::memory part = memory.view(8, 16);
    memory.free();
    for (const cai::memory &freed : {memory, part}) {
      const cai_error raw = thrown([&] { static_cast<void>(freed.host()); });
      EXPECT_EQ(raw.status, CAI_ERR_STATE);
      EXPECT_STREQ(raw.message, "the memory was freed");
    }
  }
}

TEST_P(OnMemory, CountsItsHolders) {
  cai::memory first = cai::memory::alloc(device, {.size = 100});
  {
    const cai::memory copy = first, view = first.view(10, 60);
    EXPECT_EQ(copy, first);
    EXPECT_EQ(view.data(), first.data() + 10);
    EXPECT_EQ(view.size(), 50U);
    EXPECT_EQ(status_of([&] { static_cast<void>(first.view(10, 101)); }), CAI_ERR_BOUNDS);
    EXPECT_EQ(status_of([&] { view.free(); }), CAI_ERR_UNSUPPORTED);
    const auto [found, offset] = cai::memory::find(first.data() + 33);
    EXPECT_EQ(found, first);
    EXPECT_EQ(offset, 33U);
    first.reset();
    EXPECT_EQ(cai::usage(device).count, 1U);
    first = cai::memory::adopt(cai::memory::retain(copy.get()).release());
  }
  EXPECT_EQ(cai::usage(device).count, 1U);
  first.free();
  EXPECT_EQ(status_of([&] { first.free(); }), CAI_ERR_STATE);
  EXPECT_EQ(status_of([&] { static_cast<void>(first.view(0, 1)); }), CAI_ERR_STATE);
  EXPECT_EQ(cai::usage(device).count, 0U);
}

TEST_P(OnMemory, PinsTheHosts) {
  alignas(64) static std::array<int, 1024> numbers;
  int calls = 0;
  {
    const cai::memory plain = cai::memory::pin(device, std::span(numbers));
    EXPECT_EQ(plain.host<int>().data(), numbers.data());
    EXPECT_EQ(plain.size(), sizeof numbers);
  }
  cai_drain(1, nullptr, nullptr);  // unpinned, once the stream is idle
  {
    const cai::memory owned =
        cai::memory::pin(device, std::span(numbers), CAI_KIND_PINNED, 0, [&calls] { ++calls; });
    EXPECT_EQ(calls, 0);
  }
  cai_drain(1, nullptr, nullptr);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(status_of([&] {
              static_cast<void>(cai::memory::pin(device, std::span(numbers), CAI_KIND_DEFAULT, 0,
                                                 [&calls] { ++calls; }));
            }),
            CAI_ERR_VALUE);
  EXPECT_EQ(calls, 1);
}

TEST_P(OnMemory, WrapsSomebodyElses) {
  int calls = 0;
  const auto alive = std::make_shared<int>();
  const cai::memory theirs = cai::memory::alloc(device, {.size = 256});
  cai_memory_info info{};
  info.device = device;
  info.kind = CAI_KIND_DEFAULT;
  info.data = theirs.data();
  info.host = theirs.info().host;
  info.size = 256;
  {
    const cai::memory plain = cai::memory::wrap(info);
    EXPECT_EQ(plain.data(), theirs.data());
    EXPECT_NE(plain.info().flags & CAI_MEMORY_FOREIGN, 0U);
    const cai::memory owned = cai::memory::wrap(info, [&calls] { ++calls; });
    const cai::memory kept = cai::memory::wrap(info, alive);
    EXPECT_EQ(alive.use_count(), 2);
    const cai::array array = owned.to_array<std::uint8_t>({256});
    EXPECT_EQ(calls, 0);
  }
  cai_drain(1, nullptr, nullptr);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(alive.use_count(), 1);
  info.kind = 99;
  EXPECT_EQ(status_of([&] { static_cast<void>(cai::memory::wrap(info, [&calls] { ++calls; })); }),
            CAI_ERR_VALUE);
  EXPECT_EQ(calls, 1);
}

TEST_P(OnMemory, IsSharedWithAnotherProcess) {
  const cai::memory memory = cai::memory::alloc(device, {.size = 4096});
  if (device.is_cpu()) {
    EXPECT_EQ(status_of([&] { static_cast<void>(memory.share()); }), CAI_ERR_UNSUPPORTED);
    return;
  }
  const cai::shared_memory shared = memory.share();
  EXPECT_EQ(shared.handle.size, 4096U);
  EXPECT_EQ(shared.fd.get(), -1);  // plain memory needs no descriptor
  // A process does not open its own.
  EXPECT_EQ(status_of([&] {
              static_cast<void>(cai::memory::open(shared.handle, shared.fd.get(), device));
            }),
            CAI_ERR_STATE);
}

TEST_P(OnMemory, WorkOfTheCpuComesBeforeItIsRead) {
  const cai::stream thread(cai::device::cpu());
  const cai::array x = cai::zeros<int>({4}, device, {.kind = CAI_KIND_PINNED});
  thread.enqueue([] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); });
  cai::fill(x, 7, thread);
  EXPECT_EQ(cai::item<int>(x, {3}), 7);
  thread.enqueue([] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); });
  cai::fill(x, 8, thread);
  EXPECT_EQ(cai_array_sync_host(x.get(), nullptr), CAI_OK);
  EXPECT_EQ(*reinterpret_cast<const int *>(x.data()), 8);
}

TEST_P(OnMemory, ToArraysAndBack) {
  cai::memory memory = cai::memory::alloc(device, {.size = 4000});
  const cai::array x = memory.to_array<float>({10, 20}, 800);
  EXPECT_EQ(list(x.shape()), (Dims{10, 20}));
  EXPECT_EQ(list(x.strides()), (Dims{80, 4}));
  EXPECT_EQ(x.data(), memory.data() + 800);
  const std::int64_t shape[] = {20, 10}, strides[] = {4, 80};
  EXPECT_EQ(list(memory.to_array(cai::dtype_of<float>, shape, 0, strides).strides()),
            (Dims{4, 80}));
  EXPECT_EQ(status_of([&] {
              static_cast<void>(
                  memory.to_array(cai::dtype_of<float>, shape, 0, std::span(strides).first(1)));
            }),
            CAI_ERR_ARGUMENT);
  EXPECT_EQ(status_of([&] { static_cast<void>(memory.to_array<float>({1001})); }), CAI_ERR_BOUNDS);
  const auto [found, offset] = cai::memory::of(x.slice({cai::index(1)}));
  EXPECT_EQ(found, memory);
  EXPECT_EQ(offset, 880U);
  memory.reset();  // the array holds it
  EXPECT_EQ(cai::usage(device).count, 1U);
}

TEST_P(OnMemory, FillsCopiesAndReads) {
  for (const std::uint32_t kind : linear_kinds) {
    const cai::stream_guard guard{cai::stream(device)};
    const cai::request wanted{.kind = kind};
    const cai::array zeros = cai::zeros<std::int32_t>({3, 4}, device, wanted);
    EXPECT_EQ(cai::item<std::int32_t>(zeros, {2, -1}), 0);
    EXPECT_EQ(cai::first<std::int32_t>(cai::eval(zeros)), 0);
    {
      const cai::stream_guard made(device, CAI_MODE_ASYNC);
      const cai::stream current = cai::stream::current(device);
      const cai::array five = cai::empty<std::int32_t>({3, 4}, device, wanted);
      cai::fill(five, std::int32_t{5});
      cai::eval(five);
      EXPECT_FALSE(current.is_busy());
      EXPECT_EQ(cai::first<std::int32_t>(five), 5);
    }
    const cai::array x = cai::empty<std::int32_t>({3, 4}, device, wanted);
    cai::fill(x, 7);
    cai::fill(x.slice({cai::index(1)}), 8);
    cai::copy(x.slice({cai::range({}, {}, 2)}), zeros.slice({cai::range(1)}));
    EXPECT_EQ(cai::item<std::int32_t>(x, {1, 3}), 8);
    EXPECT_EQ(cai::item<std::int32_t>(zeros, {0, 0}), 0);
    EXPECT_EQ(cai::item<std::int32_t>(zeros, {1, 0}), 7);
    const cai::array host = cai::empty<std::int32_t>({3, 4});
    cai::copy(x, host);
    EXPECT_EQ(cai::item<std::int32_t>(host, {1, 0}), 8);
    cai::copy(host, zeros);
    EXPECT_EQ(cai::item<std::int32_t>(zeros, {1, 0}), 8);
  }
  const cai::stream mine(device);
  for (const std::uint32_t kind : linear_kinds) {
    const cai::array x = cai::zeros<int>({4}, device, {.kind = kind, .stream = mine});
    cai::fill(x, 7, mine);
    EXPECT_EQ(cai::item<int>(x, {3}), 7);
  }
  const cai::array x = cai::zeros<float>({4}, device, {.stream = mine});
  const cai::array y = cai::empty<float>({4}, device, {.stream = mine});
  cai::fill(x, 1.5F, mine);
  cai::copy(x, y, mine);
  mine.synchronize();
  EXPECT_EQ(cai::item<float>(y, {3}), 1.5F);
  for (const cai::device &other : every_device()) {
    if (other == device) continue;
    EXPECT_EQ(status_of([&] { cai::fill(x, 1.0F, cai::stream(other)); }), CAI_ERR_DEVICE);
    const cai::array there = cai::empty<float>({4}, other);
    cai::copy(y, there);
    EXPECT_EQ(cai::item<float>(there, {0}), 1.5F);
  }
}

TEST_P(OnMemory, RefusesOtherTypesAndPlaces) {
  const cai::array x = cai::zeros<float>({3, 4}, device);
  EXPECT_EQ(status_of([&] { cai::fill(x, 1.0); }), CAI_ERR_VALUE);
  EXPECT_EQ(status_of([&] { cai::fill(x, 1); }), CAI_ERR_VALUE);
  const cai_error error = thrown([&] { static_cast<void>(cai::item<int>(x, {0, 0})); });
  EXPECT_EQ(error.status, CAI_ERR_VALUE);
  EXPECT_EQ(error.entry, CAI_ENTRY_TYPESTR);
  EXPECT_EQ(status_of([&] { static_cast<void>(cai::item<float>(x, {0})); }), CAI_ERR_ARGUMENT);
  EXPECT_EQ(thrown([&] { static_cast<void>(cai::item<float>(x, {0, 4})); }).index, 1);
  EXPECT_EQ(status_of([&] { cai::copy(x, cai::empty<float>({3, 5}, device)); }), CAI_ERR_VALUE);
  EXPECT_EQ(thrown([&] { static_cast<void>(cai::empty<float>({3, -4}, device)); }).index, 1);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(status_of([&] { static_cast<void>(cai::empty<float>({most, 2}, device)); }),
            CAI_ERR_VALUE);
  EXPECT_EQ(status_of([&] { static_cast<void>(cai::empty<float>({most / 4}, device)); }),
            CAI_ERR_MEMORY);
}

// A struct that the caller has filled in, and then an array of another device's.
TEST_P(OnMemory, AsAnotherOneIs) {
  const std::int64_t shape[] = {2, 3};
  cai_field fields[2]{};
  fields[0].name = "a";
  fields[0].dtype = cai::dtype_of<float>;
  fields[1].name = "b";
  fields[1].offset = 4;
  fields[1].dtype = cai::dtype_of<std::int16_t>;
  cai_array mask{};
  mask.abi_major = CAI_ABI_MAJOR;
  mask.dtype = cai::dtype_of<bool>;
  mask.ndim = 1;
  mask.shape = &shape[1];
  cai_array given = mask;
  given.dtype = {'V', '|', 0, 0, 6, 0};
  given.ndim = 2;
  given.shape = shape;
  given.descr = fields;
  given.descr_count = 2;
  given.mask = &mask;
  const cai::array x = cai::empty_like(given, device);
  EXPECT_STREQ(x.get()->descr[1].name, "b");
  EXPECT_EQ(x.get()->mask->shape[0], 3);
  for (const cai::device &other : every_device()) {
    const cai::array y = cai::empty_like(*x.get(), other, {.size = 1});  // the size does not count
    cai::copy(x, y);
    EXPECT_EQ(y.get()->descr_count, 2U);
    EXPECT_EQ(y.get()->mask->ndim, 1);
  }
  const cai::memory memory = cai::memory::alloc(device, {.size = 64});
  const cai::array z = memory.to_array_like(given, 8, 48);
  EXPECT_EQ(z.get()->mask->data - z.data(), 40U);
  const cai_error error = thrown([&] { static_cast<void>(memory.to_array_like(given, 8, 62)); });
  EXPECT_EQ(error.entry, CAI_ENTRY_MASK);
  EXPECT_EQ(error.status, CAI_ERR_BOUNDS);
}

TEST_P(OnMemory, InPaddedRows) {
  const cai::array x = cai::empty<float>({2, 3, 5}, device, {.kind = CAI_KIND_PITCHED});
  EXPECT_EQ(x.strides()[1] % 256, 0);
  EXPECT_EQ(x.strides()[0], 3 * x.strides()[1]);
  cai::fill(x, 2.5F);
  EXPECT_EQ(cai::item<float>(x, {1, 2, 4}), 2.5F);
  const cai::array one = cai::zeros<float>({}, device, {.kind = CAI_KIND_PITCHED});
  EXPECT_EQ(cai::item<float>(one, {}), 0.0F);
}

TEST_P(OnMemory, ComesBackInTheOrderOfStreams) {
  Barrier barrier;
  const cai::stream own(device), other(device);
  cai::memory memory =
      cai::memory::alloc(device, {.size = 64, .kind = CAI_KIND_ASYNC, .stream = own});
  other.follow(own);
  other.enqueue(barrier.work());
  memory.record(other);
  memory.set_stream(other);
  memory.reset();  // waits for nothing
  EXPECT_TRUE(other.is_busy());
  barrier.open();
  EXPECT_EQ(status_of([&] { cai::memory::alloc(device, {.size = 1}).set_stream({}); }),
            CAI_ERR_ARGUMENT);
}

// The class below, the wrappers around it, memory and arrays above.
TEST_P(OnMemory, OfAManagerThatIsAClass) {
  Asked &asked = Asked::now();
  asked.forget();
  const cai::manager before = cai::manager::of(device);
  {
    const cai::manager chain = cai::manager::tracking(
        cai::manager::limiting(cai::manager::counting(full(device)), 1 << 20));
    chain.install();
    cai::memory memory = cai::memory::alloc(device, {.size = 1000});
    EXPECT_EQ(asked.out, 1);
    EXPECT_EQ(chain.outstanding().size(), 1U);
    EXPECT_EQ(chain.statistics().bytes, 1000U);
    const cai::array x = cai::zeros<double>({50}, device, {.manager = chain});
    EXPECT_EQ(asked.out, 2);
    EXPECT_EQ(cai::item<double>(x, {49}), 0.0);
    const cai::memory host =
        cai::memory::alloc(device, {.size = 100, .kind = CAI_KIND_HOST, .manager = chain});
    EXPECT_EQ(asked.hosts, 1);

    asked.failing = true;
    const cai_error error =
        thrown([&] { static_cast<void>(cai::memory::alloc(device, {.size = 1})); });
    asked.failing = false;
    EXPECT_EQ(error.status, CAI_ERR_ARGUMENT);
    EXPECT_NE(std::string(error.message).find("the manager is broken"), std::string::npos);
    EXPECT_EQ(cai::usage(device).count, 3U);
    memory.free();
    before.install();
  }
  device.synchronize();
  cai_drain(1, nullptr, nullptr);
  cai::flush_pending(device);
  EXPECT_EQ(asked.out, 0);
  EXPECT_EQ(asked.hosts, 0);
  EXPECT_EQ(asked.alive, 0);
}

}  // namespace
}  // namespace test::memory_tests
