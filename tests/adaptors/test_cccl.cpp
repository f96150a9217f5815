// SPDX-License-Identifier: BSD-3-Clause
// cai/cccl.hpp against the CCCL that pip provides: its concepts at compile time, and its
// any_resource at work on simcuda.
#include <cuda.h>
#include <dlfcn.h>
#include <cai/cccl.hpp>

#include <thread>
#include <vector>

#include "adaptors.h"

// CUDA's own header declares the driver's functions; they are found in simcuda's library.
#define OF_DRIVER(name) \
  const auto name##_ = reinterpret_cast<decltype(&name)>(dlsym(driver, QUOTED(name)))
#define QUOTED(name) TEXT(name)
#define TEXT(name) #name

namespace mr = cuda::mr;

// Today's concepts.
static_assert(mr::resource<cai::memory_resource>);
static_assert(mr::synchronous_resource<cai::memory_resource>);
static_assert(mr::resource_with<cai::memory_resource, mr::device_accessible>);
static_assert(!mr::resource_with<cai::memory_resource, mr::host_accessible>);
static_assert(
    mr::resource_with<cai::managed_memory_resource, mr::device_accessible, mr::host_accessible>);
static_assert(
    mr::resource_with<cai::mapped_memory_resource, mr::device_accessible, mr::host_accessible>);

// Those of CCCL 3.0, which are there no more: what they ask for.
template <class Resource>
concept resource_of_3_0 =
    requires(Resource &resource, void *pointer, std::size_t size, cuda::stream_ref stream) {
      { resource.allocate(size, size) } -> std::same_as<void *>;
      { resource.deallocate(pointer, size, size) } -> std::same_as<void>;
      { resource.allocate_async(size, size, stream) } -> std::same_as<void *>;
      { resource.deallocate_async(pointer, size, size, stream) } -> std::same_as<void>;
      requires std::equality_comparable<Resource>;
    };
static_assert(resource_of_3_0<cai::memory_resource>);

// A manager that gets its memory from a resource: cai_memory_find() does not find that.
static constexpr cai_manager_table nested = [] {
  cai_manager_table table{};
  table.struct_size = sizeof table;
  table.version = CAI_MANAGER_VERSION;
  table.name = "nested";
  table.create = [](const void *resource, cai_device, cai_manager *, void **self,
                    cai_error *) -> cai_status {
    *self = const_cast<void *>(resource);
    return CAI_OK;
  };
  table.destroy = [](void *) {};
  table.initialize = table.reset = [](void *, cai_error *) -> cai_status { return CAI_OK; };
  table.memalloc = [](void *self, uint64_t size, uint64_t align, uint32_t, uint64_t, cai_block *out,
                      cai_error *) -> cai_status {
    auto &resource = *static_cast<cai::memory_resource *>(self);
    *out = {address_of(resource.allocate_sync(size, align)), 0, size, 0};
    return CAI_OK;
  };
  table.memfree = [](void *self, const cai_block *block, uint64_t, cai_error *) -> cai_status {
    auto &resource = *static_cast<cai::memory_resource *>(self);
    resource.deallocate_sync(reinterpret_cast<void *>(block->data), block->size);
    return CAI_OK;
  };
  return table;
}();

static void hear_here(const cai_error &error) noexcept {
  hear(nullptr, &error);
}

int main() {
  void *const driver = dlopen("libcuda.so.1", RTLD_NOW);
  OF_DRIVER(simcuda_races);
  OF_DRIVER(cuInit);
  OF_DRIVER(cuDevicePrimaryCtxRetain);
  OF_DRIVER(cuCtxSetCurrent);
  OF_DRIVER(cuStreamCreate);
  OF_DRIVER(cuStreamDestroy);
  OF_DRIVER(cuStreamSynchronize);
  OF_DRIVER(cuMemsetD8Async);
  OF_DRIVER(cuStreamBeginCapture);
  OF_DRIVER(cuStreamEndCapture);
  OF_DRIVER(cuGraphDestroy);
  CUcontext context = nullptr;
  CHECK(cuInit_(0) == 0 && cuDevicePrimaryCtxRetain_(&context, 0) == 0);
  CHECK(cuCtxSetCurrent_(context) == 0);
  cai::on_failure(hear_here);
  CHECK_OK(cai_on_failure(hear, nullptr, ERR));

  CUstream stream;
  CHECK(cuStreamCreate_(&stream, CU_STREAM_NON_BLOCKING) == 0);
  const cuda::stream_ref ours{stream};

  for (const char *name : {"default", "async", "pool"}) {
    check_context = name;
    cai_manager *made = nullptr;
    CHECK_OK(cai_manager_create(name, nullptr, gpu(0), nullptr, &made, ERR));
    cai::memory_resource resource{made};
    cai_manager_release(made);
    CHECK(resource.manager() == made && resource == cai::memory_resource{made});

    // Stream-ordered, through CCCL's own wrapper.
    mr::any_resource<mr::device_accessible> any{resource};
    for (int i = 0; i < 3; ++i) {
      void *const block = any.allocate(ours, BYTES, 512);
      CHECK(block && address_of(block) % 512 == 0 && usage_of(0).bytes == BYTES);
      CHECK(cuMemsetD8Async_(address_of(block), 1, BYTES, stream) == 0);
      any.deallocate(ours, block, BYTES, 512);
    }
    // Without a stream: for any stream, at once.
    void *const block = any.allocate_sync(BYTES, 256);
    CHECK(cuMemsetD8Async_(address_of(block), 1, BYTES, stream) == 0);
    CHECK(cuStreamSynchronize_(stream) == 0);
    any.deallocate_sync(block, BYTES, 256);

    // With the names of 3.0.
    void *const old = resource.allocate_async(BYTES, 256, ours);
    CHECK(cuMemsetD8Async_(address_of(old), 1, BYTES, stream) == 0);
    resource.deallocate_async(old, BYTES, 256, ours);
    resource.deallocate(resource.allocate(BYTES), BYTES);

    CHECK(resource.allocate(ours, 0) == nullptr);
    resource.deallocate(ours, nullptr, 0);
    CHECK(usage_of(0).count == 0 && simcuda_races_() == 0);
    CHECK_SILENT();
  }

  // Freed on another stream while its own is being captured, which allows no change of the stream:
  // the free comes after the work on both, once the capture has ended.
  check_context = "a capture";
  {
    CUstream second;
    CUgraph graph;
    CHECK(cuStreamCreate_(&second, CU_STREAM_NON_BLOCKING) == 0);
    cai_manager *made = nullptr;
    CHECK_OK(cai_manager_create("async", nullptr, gpu(0), nullptr, &made, ERR));
    cai::memory_resource resource{made};
    cai_manager_release(made);
    const auto begin = [&](CUstream each) {
      CHECK(cuStreamBeginCapture_(each, CU_STREAM_CAPTURE_MODE_RELAXED) == 0);
    };
    const auto end = [&](CUstream each) {
      CHECK(cuStreamEndCapture_(each, &graph) == 0 && cuGraphDestroy_(graph) == 0);
    };
    void *const block = resource.allocate(ours, BYTES);
    CHECK(cuStreamSynchronize_(stream) == 0);
    CHECK(cuMemsetD8Async_(address_of(block), 1, BYTES, second) == 0);
    begin(stream);
    resource.deallocate(cuda::stream_ref{second}, block, BYTES);
    CHECK_SILENT();
    end(stream);
    void *const next = resource.allocate(ours, BYTES);
    CHECK(cuMemsetD8Async_(address_of(next), 2, BYTES, stream) == 0);
    resource.deallocate(ours, next, BYTES);
    CHECK(cuStreamSynchronize_(stream) == 0 && cuStreamSynchronize_(second) == 0);
    CHECK_OK(cai_pending_flush(gpu(0), ERR));
    CHECK(usage_of(0).count == 0 && simcuda_races_() == 0);

    // Both are being captured: it is told, and the memory is kept rather than freed too early.
    void *const lost = resource.allocate(ours, BYTES);
    begin(stream);
    begin(second);
    resource.deallocate(cuda::stream_ref{second}, lost, BYTES);
    CHECK_TOLD(CAI_ERR_CAPTURE, "");
    end(stream);
    end(second);
    CHECK_OK(cai_pending_flush(gpu(0), ERR));
    CHECK(usage_of(0).count == 1);
    cai_memory *kept = nullptr;
    CHECK_OK(cai_memory_find(address_of(lost), &kept, nullptr, ERR));
    cai_memory_release(kept);
    cai_memory_release(kept);  // the reference that was kept
    CHECK(usage_of(0).count == 0 && cuStreamDestroy_(second) == 0);
  }

  // Threads, and another device.
  check_context = "threads";
  cai::memory_resource one{0}, other{1};
  CHECK(!(one == other));
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([resource = i % 2 ? other : one]() mutable {
        for (int round = 0; round < 200; ++round) {
          resource.deallocate_sync(resource.allocate_sync(64), 64);
        }
      });
    }
  }
  CHECK(usage_of(0).count == 0 && usage_of(1).count == 0);

  // The exception that callers in CCCL and RMM catch.
  check_context = "failures";
  bool thrown = false;
  try {
    (void)one.allocate(ours, std::size_t{1} << 60);
  } catch (const std::bad_alloc &error) {
    thrown = std::strlen(error.what()) > 0;
  }
  CHECK(thrown);
  thrown = false;
  try {
    (void)one.allocate(ours, BYTES, 3);  // no power of two
  } catch (const cai::error &error) {
    thrown = error.status() == CAI_ERR_VALUE;
  }
  CHECK(thrown);
  thrown = false;
  try {
    const cai::memory_resource none{9};
  } catch (const cai::error &error) {
    thrown = error.status() == CAI_ERR_DEVICE;
  }
  CHECK(thrown);
  CHECK_SILENT();
  void *const block = one.allocate(ours, BYTES);
  one.deallocate(ours, static_cast<char *>(block) + 256, BYTES);
  CHECK_TOLD(CAI_ERR_STATE, "freed already, or is not of a memory resource");
  one.deallocate(ours, block, BYTES);
  CHECK_SILENT();
  one.deallocate(ours, block, BYTES);
  CHECK_TOLD(CAI_ERR_STATE, "freed already");

  check_context = "inside a manager";
  {
    const auto make = [](const char *name, const void *params, cai_manager *upstream) {
      cai_manager *made = nullptr;
      CHECK_OK(cai_manager_create(name, params, gpu(0), upstream, &made, ERR));
      return made;
    };
    cai_manager *const source = make("default", nullptr, nullptr);
    cai_manager *const counter = make("statistics", nullptr, source);
    cai::memory_resource resource{counter};
    CHECK_OK(cai_manager_register("nested", &nested, ERR));
    cai_manager *const outer = make("nested", &resource, nullptr);
    cai_block given;
    CHECK_OK(cai_manager_alloc(outer, BYTES, 0, CAI_KIND_DEFAULT, 1, &given, ERR));
    CHECK_OK(cai_manager_free(outer, &given, CAI_KIND_DEFAULT, 1, ERR));
    cai_statistics counts{};
    counts.struct_size = sizeof counts;
    CHECK_OK(cai_manager_statistics(counter, &counts, ERR));
    CHECK(counts.count_total == 1 && counts.count == 0);
    CHECK_SILENT();
    for (cai_manager *const each : {outer, counter, source}) cai_manager_release(each);
  }

  // A reset frees all memory; the free that comes late is no failure.
  check_context = "device reset";
  {
    void *const dead = other.allocate_sync(BYTES);
    CHECK_OK(cai_device_reset(gpu(1), CAI_RESET_CONTEXT, ERR));
    other.deallocate_sync(dead, BYTES);
    CHECK_SILENT();
    cai::memory_resource anew{1};
    anew.deallocate_sync(anew.allocate_sync(BYTES), BYTES);
    CHECK_SILENT();
  }

  // Memory that the host uses.
  check_context = "host";
  cai::mapped_memory_resource mapped{0};
  auto *const bytes = static_cast<unsigned char *>(mapped.allocate_sync(BYTES));
  CHECK(cuMemsetD8Async_(address_of(bytes), 5, BYTES, CU_STREAM_LEGACY) == 0);
  CHECK(cuStreamSynchronize_(CU_STREAM_LEGACY) == 0);
  CHECK(bytes[0] == 5 && bytes[BYTES - 1] == 5);
  mapped.deallocate_sync(bytes, BYTES);
  CHECK(cuStreamDestroy_(stream) == 0);
  CHECK_SILENT();
  return CHECK_RESULT();
}
