// SPDX-License-Identifier: BSD-3-Clause
// cai/memory.h: managers, memory of every kind, work on arrays, frees that are pending, and memory
// of another process.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "../exchange/tensors.hpp"
#include "../memory/managers.hpp"
#include "scenario.hpp"
#include "sharer.hpp"

namespace test::faults_of_memory {
namespace {

std::uint64_t out_on(cai_device device) {
  cai_usage usage{};
  usage.struct_size = sizeof usage;
  EXPECT_EQ(cai_memory_usage(device, &usage, nullptr), CAI_OK);
  return usage.count;
}

std::uint64_t stream_for(cai_device device) {
  return device.type == CAI_DEVICE_CUDA ? 1 : 0;
}

void allocate_kind(Trial &trial, cai_device device, std::uint32_t kind) {
  // A CPU stream would free pinned memory on its thread, at an unknown time.
  const OwnStream stream = device.type == CAI_DEVICE_CPU ? OwnStream() : make_stream(device);
  cai_request wanted = request(kind, 1024, stream);
  if (kind == CAI_KIND_CUDA_ARRAY) {
    wanted.channels = 1;
    wanted.dtype = bytes_type;
  }
  if (kind == CAI_KIND_PITCHED) wanted.rows = 3;
  cai_memory *out = nullptr;
  const std::uint64_t before = out_on(device);
  trial.call([&](cai_error *error) { return cai_memory_alloc(device, &wanted, &out, error); }, out);
  const cai_memory_info info = describe(out);
  trial.tell(info.kind, info.size, info.pitch, info.flags, out_on(device) - before);
  cai_memory_release(out);
  trial.tell(out_on(device) - before);
}

// Makes memory of another one.
template <class Make>
void making(Trial &trial, Make &&make) {
  cai_memory *out = nullptr;
  trial.call([&](cai_error *error) { return make(&out, error); }, out);
  const cai_memory_info info = describe(out);
  trial.tell(info.kind, info.size, info.flags);
  cai_memory_release(out);
}

void create_manager(Trial &trial, const char *name, const void *params, cai_manager *upstream) {
  cai_manager *out = nullptr;
  trial.call(
      [&](cai_error *error) {
        return cai_manager_create(name, params, gpu0, upstream, &out, error);
      },
      out);
  trial.tell(cai_manager_name(out));
  const cai_block block = allocate(out, 512);
  trial.tell(block.size);
  EXPECT_EQ(cai_manager_free(out, &block, CAI_KIND_DEFAULT, 1, nullptr), CAI_OK);
  cai_manager_release(out);
}

void ignore_line(void *, const char *, std::uint64_t) {}

// Of a manager around another one, while a block is allocated.
void end_wrapper(Trial &trial, const char *name, const void *params = nullptr) {
  const Manager upstream = make("default", gpu0);
  Manager manager = make(name, gpu0, params, upstream);
  const cai_block block = allocate(manager, 512);
  const int before = Reports::all().count;
  trial.call([&] { manager.end(); });
  trial.tell(Reports::all().count - before);
  EXPECT_EQ(cai_manager_free(upstream, &block, CAI_KIND_DEFAULT, 1, nullptr), CAI_OK);
}

void alloc_of(Trial &trial, const char *name, cai_device device, std::uint32_t kind,
              std::uint64_t stream) {
  const Manager manager = make(name, device);
  auto out = marked<cai_block>();
  trial.call(
      [&](cai_error *error) {
        return cai_manager_alloc(manager, 1024, 0, kind, stream, &out, error);
      },
      out);
  trial.tell(out.size, out.data % 256, out.host != 0);
  cai_error error{};
  EXPECT_EQ(cai_manager_free(manager, &out, kind, stream, &error), CAI_OK) << error.message;
}

void free_of(Trial &trial, const char *name, cai_device device, std::uint32_t kind) {
  const Manager manager = make(name, device);
  cai_block block{};
  EXPECT_EQ(cai_manager_alloc(manager, 1024, 0, kind, stream_for(device), &block, nullptr), CAI_OK);
  trial.call_once([&](cai_error *error) {
    return cai_manager_free(manager, &block, kind, stream_for(device), error);
  });
}

// The arrays to copy and fill: two of a GPU, one of the other, one of the host.
struct Arrays {
  OwnStream stream = make_stream(gpu0), queue = make_stream(cpu);
  OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, 4096, stream);
  OwnMemory beside = allocate(gpu0, CAI_KIND_ASYNC, 4096, stream);
  OwnMemory far = allocate(gpu1, CAI_KIND_DEFAULT, 4096);
  OwnMemory pinned = allocate(gpu0, CAI_KIND_PINNED, 4096, stream);
  OwnMemory host = allocate(cpu, CAI_KIND_DEFAULT, 4096);
  OwnMemory second_host = allocate(cpu, CAI_KIND_DEFAULT, 4096);
  OwnArray of_memory = array_of(memory, {64, 64}), of_beside = array_of(beside, {64, 64});
  OwnArray of_far = array_of(far, {64, 64}), of_pinned = array_of(pinned, {64, 64});
  OwnArray of_host = array_of(host, {64, 64}), of_second = array_of(second_host, {64, 64});
};

// The array of another owner, who knows less of it than libcai.
cai_array without_owner(const cai_array *array) {
  cai_array borrowed = *array;
  borrowed.owner = nullptr;
  return borrowed;
}
cai_array without_device(const cai_array *array) {
  cai_array borrowed = without_owner(array);
  borrowed.device_id = -1;
  return borrowed;
}

// The pattern for arrays: two fields, and a mask of one row.
struct Fielded {
  Fielded() {
    array.mask = &mask;
    array.descr = fields;
    array.descr_count = 2;
  }
  Fielded(const Fielded &) = delete;
  Fielded &operator=(const Fielded &) = delete;

  std::int64_t shape[2] = {2, 3}, row = 3;
  cai_field fields[2] = {field_of("a", 0, {'f', '<', 0, 0, 4, 0}),
                         field_of("b", 4, {'i', '>', 0, 0, 2, 0})};
  cai_array mask = like_of({'b', '|', 0, 0, 1, 0}, 1, &row);
  cai_array array = like_of({'V', '|', 0, 0, 6, 0}, 2, shape);
};

// Whatever the memory: what is at one place.
void tell_item(Trial &trial, const cai_array *array) {
  const std::int64_t last[] = {-1, -1};
  unsigned char byte = 0;
  cai_error error{};
  EXPECT_EQ(cai_array_item(array, last, &byte, &error), CAI_OK) << error.message;
  trial.tell(byte);
}

void copy(Trial &trial, const OwnArray Arrays::*from, const OwnArray Arrays::*to,
          const OwnStream Arrays::*stream) {
  const Arrays a;
  const unsigned char byte = 7;
  EXPECT_EQ(cai_array_fill(a.*from, &byte, nullptr, nullptr), CAI_OK);
  trial.call([&](cai_error *error) { return cai_array_copy(a.*from, a.*to, a.*stream, error); });
  tell_item(trial, a.*to);
}

// The mask of `to` becomes true: by the stream, the host, or the other GPU.
void copy_to_masked(Trial &trial, cai_device device) {
  const Arrays a;
  const std::int64_t shape[] = {64, 64};
  const cai_array mask = like_of({'b', '|', 0, 0, 1, 0}, 2, shape);
  cai_array like = like_of(bytes_type, 2, shape);
  like.mask = &mask;
  cai_array *out = nullptr;
  EXPECT_EQ(cai_array_empty_like(&like, device, nullptr, &out, nullptr), CAI_OK);
  const OwnArray to(out);
  cai_array to_elements = *out, to_mask = *out->mask;
  to_elements.mask = nullptr;
  to_elements.flags &= ~std::uint32_t{CAI_FLAG_MASKED};
  to_mask.owner = out->owner;
  const unsigned char seven = 7, no = 0;
  EXPECT_EQ(cai_array_fill(a.of_memory, &seven, nullptr, nullptr), CAI_OK);
  EXPECT_EQ(cai_array_fill(&to_mask, &no, nullptr, nullptr), CAI_OK);
  trial.call([&](cai_error *error) { return cai_array_copy(a.of_memory, to, a.stream, error); });
  tell_item(trial, &to_elements);
  tell_item(trial, &to_mask);
}

void fill(Trial &trial, const OwnArray Arrays::*array, const OwnStream Arrays::*stream) {
  const Arrays a;
  const unsigned char byte = 9;
  trial.call([&](cai_error *error) { return cai_array_fill(a.*array, &byte, a.*stream, error); });
  tell_item(trial, a.*array);
}

void item(Trial &trial, const OwnArray Arrays::*array) {
  const Arrays a;
  const unsigned char byte = 11;
  EXPECT_EQ(cai_array_fill(a.*array, &byte, nullptr, nullptr), CAI_OK);
  const std::int64_t index[] = {3, -1};
  unsigned char out = 77;
  trial.call([&](cai_error *error) { return cai_array_item(a.*array, index, &out, error); }, out);
  trial.tell(out);
}

// Of each kind, and one that was used on another stream.
template <class End>
void ending(Trial &trial, std::uint32_t kind, End &&end) {
  const OwnStream stream = make_stream(gpu0), other = make_stream(gpu0);
  OwnMemory memory = allocate(gpu0, kind, 4096, stream);
  EXPECT_EQ(cai_memory_record(memory, other, nullptr), CAI_OK);
  end(trial, memory);
}
void release(Trial &trial, OwnMemory &memory) {
  const std::uint64_t before = out_on(gpu0);
  trial.call([&] { memory.reset(); });
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  EXPECT_EQ(cai_pending_flush(gpu0, nullptr), CAI_OK);
  trial.tell(before - out_on(gpu0));
}
void free_now(Trial &trial, OwnMemory &memory) {
  const std::uint64_t before = out_on(gpu0);
  trial.call_once([&](cai_error *error) { return cai_memory_free(memory, error); });
  if (trial.status() != CAI_OK && !(describe(memory).flags & CAI_MEMORY_FREED)) {
    EXPECT_EQ(cai_memory_free(memory, nullptr), CAI_OK) << "it was not freed";
  }
  EXPECT_EQ(cai_memory_free(memory, nullptr), CAI_ERR_STATE);
  memory.reset();
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  EXPECT_EQ(cai_pending_flush(gpu0, nullptr), CAI_OK);
  trial.tell(before - out_on(gpu0));
}

// A free that is pending, and counts that it was done.
int frees;
cai_status count_free(void *, cai_error *) {
  ++frees;
  return CAI_OK;
}

void share(Trial &trial, bool by_pool) {
  const cai_pool_params params{sizeof params, CAI_POOL_EXPORTABLE, 0, 0, 0, 0};
  const Manager pool = by_pool ? make("pool", gpu0, &params) : Manager();
  cai_request wanted = request(by_pool ? CAI_KIND_ASYNC : CAI_KIND_DEFAULT, 4096);
  wanted.manager = pool;
  cai_memory *made = nullptr;
  MUST(cai_memory_alloc(gpu0, &wanted, &made, nullptr));
  const OwnMemory memory(made);
  auto out = marked<cai_ipc_handle>();
  std::int32_t fd = 77;
  trial.call([&](cai_error *error) { return cai_memory_share(memory, &out, &fd, error); }, out, fd);
  trial.tell(out.kind, out.size, out.offset, fd >= 0);
  if (fd >= 0) close(fd);
}

void open(Trial &trial, bool by_pool, std::uint32_t how) {
  const Sharer::Shared &shared = Sharer::one().shared(by_pool);
  const OwnStream stream = make_stream(gpu0);
  cai_memory *out = nullptr;
  trial.call(
      [&](cai_error *error) {
        return cai_memory_open(&shared.handle, shared.fd, gpu0, stream, how, &out, error);
      },
      out);
  {
    const OwnMemory memory(out);
    trial.tell(describe(memory).size, describe(memory).flags);
    tell_item(trial, array_of(memory, {64, 64}));
  }
}

const std::string &name_of_its_own() {
  static std::string name;
  static int number;
  return name = "faults-" + std::to_string(++number);
}

const cai_manager_table &some_table() {
  static const cai_manager_table table = [] {
    cai_manager_table made{};
    made.struct_size = sizeof made;
    made.version = CAI_MANAGER_VERSION;
    made.name = "faults";
    made.create = [](const void *, cai_device, cai_manager *, void **, cai_error *) {
      return cai_status{CAI_OK};
    };
    made.destroy = [](void *) {};
    made.initialize = made.reset = [](void *, cai_error *) { return cai_status{CAI_OK}; };
    made.memalloc = [](void *, std::uint64_t, std::uint64_t, std::uint32_t, std::uint64_t,
                       cai_block *, cai_error *) { return cai_status{CAI_ERR_UNSUPPORTED}; };
    made.memfree = [](void *, const cai_block *, std::uint64_t, cai_error *) {
      return cai_status{CAI_OK};
    };
    return made;
  }();
  return table;
}

}  // namespace

}  // namespace test::faults_of_memory

namespace test {

std::vector<Scenario> memory_scenarios() {
  using namespace faults_of_memory;
  return {
      {"cai_kind_name", "",
       [](Trial &trial) { trial.call([&] { trial.tell(cai_kind_name(CAI_KIND_PINNED)); }); }},
      {"cai_kind_parse", "",
       [](Trial &trial) {
         std::uint32_t kind = 77;
         trial.call([&](cai_error *error) { return cai_kind_parse(" Managed ", &kind, error); },
                    kind);
         trial.tell(kind);
       }},
      {"cai_is_dereferenceable", "",
       [](Trial &trial) {
         trial.call([&] { trial.tell(cai_is_dereferenceable(gpu0, CAI_KIND_PINNED)); });
       }},
      {"cai_manager_register", "",
       [](Trial &trial) {
         const std::string &name = name_of_its_own();
         trial.call([&](cai_error *error) {
           return cai_manager_register(name.c_str(), &some_table(), error);
         });
         trial.tell(cai_manager_name(make(name.c_str(), gpu0)));
       },
       Scenario::for_ever},
      {"cai_manager_create", "default",
       [](Trial &trial) { create_manager(trial, "default", nullptr, nullptr); }},
      {"cai_manager_create", "pool",
       [](Trial &trial) {
         const cai_pool_params params{sizeof params, CAI_POOL_INSTALL, 1 << 20, 0, UINT64_MAX, 0};
         create_manager(trial, "pool", &params, nullptr);
       }},
      {"cai_manager_create", "limiting",
       [](Trial &trial) {
         const Manager upstream = make("async", gpu0);
         const cai_limit_params params{sizeof params, 0, 1 << 20};
         create_manager(trial, "limiting", &params, upstream);
       }},
      {"cai_manager_create", "logging",
       [](Trial &trial) {
         const Manager upstream = make("default", gpu0);
         cai_log_params params{};
         params.struct_size = sizeof params;
         params.write = ignore_line;
         create_manager(trial, "logging", &params, upstream);
       }},
      {"cai_manager_create", "tracking",
       [](Trial &trial) { create_manager(trial, "tracking", nullptr, make("default", gpu0)); }},
      {"cai_manager_retain", "",
       [](Trial &trial) {
         const Manager manager = make("managed", gpu0);
         trial.call([&] { cai_manager_retain(manager); });
         cai_manager_release(manager);
         trial.tell(cai_manager_name(manager));
       }},
      {"cai_manager_release", "",
       [](Trial &trial) {
         const cai_pool_params params{sizeof params, CAI_POOL_INSTALL, 0, 0, 0, 0};
         Manager manager = make("pool", gpu0, &params);
         trial.call([&] { manager.end(); });
       }},
      {"cai_manager_release", "a pool in the place of one that is gone",
       [](Trial &trial) {
         const cai_pool_params params{sizeof params, CAI_POOL_INSTALL, 0, 0, 0, 0};
         Manager before = make("pool", gpu0, &params);
         Manager manager = make("pool", gpu0, &params);
         before.end();
         trial.call([&] { manager.end(); });
       }},
      {"cai_manager_release", "statistics", [](Trial &trial) { end_wrapper(trial, "statistics"); }},
      {"cai_manager_release", "limiting",
       [](Trial &trial) {
         const cai_limit_params params{sizeof params, 0, 1024};
         end_wrapper(trial, "limiting", &params);
       }},
      {"cai_manager_release", "tracking", [](Trial &trial) { end_wrapper(trial, "tracking"); }},
      {"cai_manager_name", "",
       [](Trial &trial) {
         const Manager manager = make("managed", gpu0);
         trial.call([&] { trial.tell(cai_manager_name(manager)); });
       }},
      {"cai_manager_device", "",
       [](Trial &trial) {
         const Manager manager = make("managed", gpu1);
         trial.call([&] { trial.tell(cai_manager_device(manager).id); });
       }},
      {"cai_manager_of", "",
       [](Trial &trial) {
         EXPECT_EQ(cai_manager_install(gpu1, nullptr, nullptr), CAI_OK);  // it is to be made anew
         cai_manager *out = nullptr;
         trial.call([&](cai_error *error) { return cai_manager_of(gpu1, &out, error); }, out);
         trial.tell(cai_manager_name(out));
         cai_manager_release(out);
       }},
      {"cai_manager_install", "",
       [](Trial &trial) {
         const Manager manager = make("managed", gpu1);
         trial.call([&](cai_error *error) { return cai_manager_install(gpu1, manager, error); });
         trial.tell(cai_manager_name(manager_of(gpu1)));
         EXPECT_EQ(cai_manager_install(gpu1, nullptr, nullptr), CAI_OK);
       }},
      {"cai_manager_choose", "",
       [](Trial &trial) {
         EXPECT_EQ(cai_manager_install(gpu1, nullptr, nullptr), CAI_OK);
         trial.call([&](cai_error *error) { return cai_manager_choose("managed", error); });
         trial.tell(cai_manager_name(manager_of(gpu1)));
         EXPECT_EQ(cai_manager_choose(nullptr, nullptr), CAI_OK);
         EXPECT_EQ(cai_manager_install(gpu1, nullptr, nullptr), CAI_OK);
       }},
      {"cai_manager_alloc", "default",
       [](Trial &trial) { alloc_of(trial, "default", gpu0, CAI_KIND_DEFAULT, 1); }},
      {"cai_manager_alloc", "async",
       [](Trial &trial) { alloc_of(trial, "async", gpu0, CAI_KIND_DEFAULT, 1); }},
      {"cai_manager_alloc", "pinned",
       [](Trial &trial) { alloc_of(trial, "default", gpu0, CAI_KIND_PINNED, 1); }},
      {"cai_manager_alloc", "of the CPU",
       [](Trial &trial) { alloc_of(trial, "host", cpu, CAI_KIND_DEFAULT, 0); }},
      {"cai_manager_free", "default",
       [](Trial &trial) { free_of(trial, "default", gpu0, CAI_KIND_DEFAULT); }},
      {"cai_manager_free", "pinned",
       [](Trial &trial) { free_of(trial, "default", gpu0, CAI_KIND_PINNED); }},
      {"cai_manager_free", "pool",
       [](Trial &trial) { free_of(trial, "pool", gpu0, CAI_KIND_ASYNC); }},
      {"cai_manager_free", "managed",
       [](Trial &trial) { free_of(trial, "default", gpu0, CAI_KIND_MANAGED); }},
      {"cai_manager_free", "of the CPU",
       [](Trial &trial) { free_of(trial, "host", cpu, CAI_KIND_DEFAULT); }},
      {"cai_manager_memory", "",
       [](Trial &trial) {
         const Manager manager = make("pool", gpu0);
         std::uint64_t free = 77, total = 77;
         trial.call(
             [&](cai_error *error) { return cai_manager_memory(manager, &free, &total, error); },
             free, total);
         trial.tell(total);
       }},
      {"cai_manager_trim", "",
       [](Trial &trial) {
         const Manager manager = make("pool", gpu0);
         trial.call([&](cai_error *error) { return cai_manager_trim(manager, 0, error); });
       }},
      {"cai_manager_statistics", "",
       [](Trial &trial) {
         const Manager manager = make("statistics", gpu0, nullptr, make("default", gpu0));
         auto out = marked<cai_statistics>();
         out.struct_size = sizeof out;
         trial.call([&](cai_error *error) { return cai_manager_statistics(manager, &out, error); },
                    out);
         trial.tell(out.count, out.bytes, out.failures);
       }},
      {"cai_manager_outstanding", "",
       [](Trial &trial) {
         const Manager manager = make("tracking", gpu0, nullptr, make("default", gpu0));
         const cai_block block = allocate(manager, 512), other = allocate(manager, 256);
         int seen = 0;
         trial.call(
             [&](cai_error *error) {
               return cai_manager_outstanding(
                   manager,
                   [](void *context, const cai_allocation *) { ++*static_cast<int *>(context); },
                   &seen, error);
             },
             seen);
         trial.tell(seen);
         for (const cai_block &each : {block, other}) {
           EXPECT_EQ(cai_manager_free(manager, &each, CAI_KIND_DEFAULT, 1, nullptr), CAI_OK);
         }
       }},
      {"cai_memory_alloc", "default",
       [](Trial &trial) { allocate_kind(trial, gpu0, CAI_KIND_DEFAULT); }},
      {"cai_memory_alloc", "async",
       [](Trial &trial) { allocate_kind(trial, gpu0, CAI_KIND_ASYNC); }},
      {"cai_memory_alloc", "pitched",
       [](Trial &trial) { allocate_kind(trial, gpu0, CAI_KIND_PITCHED); }},
      {"cai_memory_alloc", "pinned",
       [](Trial &trial) { allocate_kind(trial, gpu0, CAI_KIND_PINNED); }},
      {"cai_memory_alloc", "mapped",
       [](Trial &trial) { allocate_kind(trial, gpu0, CAI_KIND_MAPPED); }},
      {"cai_memory_alloc", "managed",
       [](Trial &trial) { allocate_kind(trial, gpu0, CAI_KIND_MANAGED); }},
      {"cai_memory_alloc", "CUDA array",
       [](Trial &trial) { allocate_kind(trial, gpu0, CAI_KIND_CUDA_ARRAY); }},
      {"cai_memory_alloc", "of the CPU",
       [](Trial &trial) { allocate_kind(trial, cpu, CAI_KIND_DEFAULT); }},
      {"cai_memory_alloc", "of the CPU, pinned",
       [](Trial &trial) { allocate_kind(trial, cpu, CAI_KIND_PINNED); }},
      {"cai_memory_pin", "",
       [](Trial &trial) {
         // What a failure leaves pinned could not be pinned again.
         alignas(4096) static unsigned char page[4096];
         static int ends;
         ends = 0;
         making(trial, [](cai_memory **out, cai_error *error) {
           return cai_memory_pin(
               gpu0, page, sizeof page, CAI_KIND_MAPPED, 0, [](void *) { ++ends; }, nullptr, out,
               error);
         });
         EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
         trial.tell(ends);
       }},
      {"cai_memory_wrap", "",
       [](Trial &trial) {
         static int ends;
         ends = 0;
         cai_memory_info info{};
         info.struct_size = sizeof info;
         info.device = gpu0;
         info.kind = CAI_KIND_DEFAULT;
         info.data = 0x7F0000000000;
         info.size = 4096;
         making(trial, [&](cai_memory **out, cai_error *error) {
           return cai_memory_wrap(&info, [](void *) { ++ends; }, nullptr, out, error);
         });
         EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
         trial.tell(ends);
       }},
      {"cai_memory_view", "",
       [](Trial &trial) {
         const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, 4096);
         making(trial, [&](cai_memory **out, cai_error *error) {
           return cai_memory_view(memory, 8, 16, out, error);
         });
       }},
      {"cai_memory_retain", "",
       [](Trial &trial) {
         const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, 4096);
         trial.call([&] { cai_memory_retain(memory); });
         cai_memory_release(memory);
         trial.tell(describe(memory).size);
       }},
      {"cai_memory_release", "default",
       [](Trial &trial) { ending(trial, CAI_KIND_DEFAULT, release); }},
      {"cai_memory_release", "async", [](Trial &trial) { ending(trial, CAI_KIND_ASYNC, release); }},
      {"cai_memory_release", "pinned",
       [](Trial &trial) { ending(trial, CAI_KIND_PINNED, release); }},
      {"cai_memory_free", "default",
       [](Trial &trial) { ending(trial, CAI_KIND_DEFAULT, free_now); }},
      {"cai_memory_free", "async", [](Trial &trial) { ending(trial, CAI_KIND_ASYNC, free_now); }},
      {"cai_memory_free", "pinned", [](Trial &trial) { ending(trial, CAI_KIND_PINNED, free_now); }},
      {"cai_memory_describe", "",
       [](Trial &trial) {
         const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, 4096);
         auto out = marked<cai_memory_info>();
         out.struct_size = sizeof out;
         trial.call([&](cai_error *error) { return cai_memory_describe(memory, &out, error); },
                    out);
         trial.tell(out.kind, out.size, out.flags);
       }},
      {"cai_memory_find", "",
       [](Trial &trial) {
         const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, 4096);
         cai_memory *out = nullptr;
         std::uint64_t offset = 77;
         trial.call(
             [&](cai_error *error) {
               return cai_memory_find(describe(memory).data + 5, &out, &offset, error);
             },
             out, offset);
         trial.tell(out == memory.get(), offset);
         cai_memory_release(out);
       }},
      {"cai_memory_validate", "",
       [](Trial &trial) {
         const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, 4096);
         const std::uint64_t data = describe(memory).data;
         trial.call([&](cai_error *error) {
           return cai_memory_validate(data, 4096, gpu0, CAI_KIND_DEFAULT, error);
         });
       }},
      {"cai_memory_set_stream", "",
       [](Trial &trial) {
         const OwnStream first = make_stream(gpu0), second = make_stream(gpu0);
         const OwnMemory memory = allocate(gpu0, CAI_KIND_ASYNC, 4096, first);
         trial.call([&](cai_error *error) { return cai_memory_set_stream(memory, second, error); });
         trial.tell(describe(memory).stream == cai_stream_value(second));
       }},
      {"cai_memory_record", "",
       [](Trial &trial) {
         const OwnStream stream = make_stream(gpu0);
         const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, 4096);
         trial.call([&](cai_error *error) { return cai_memory_record(memory, stream, error); });
       }},
      {"cai_memory_record", "of the CPU",
       [](Trial &trial) {
         const OwnStream stream = make_stream(cpu);
         const OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, 4096);
         trial.call([&](cai_error *error) { return cai_memory_record(memory, stream, error); });
       }},
      {"cai_memory_array", "",
       [](Trial &trial) {
         const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, 4096);
         const std::int64_t shape[] = {2, 3};
         cai_array *out = nullptr;
         trial.call(
             [&](cai_error *error) {
               return cai_memory_array(memory, 16, &bytes_type, 2, shape, nullptr, &out, error);
             },
             out);
         trial.tell(out->data - describe(memory).data, out->strides[0], out->stream_kind);
         cai_array_release(out);
       }},
      {"cai_memory_array_like", "with fields and a mask",
       [](Trial &trial) {
         const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, 4096);
         const Fielded like;
         cai_array *out = nullptr;
         trial.call(
             [&](cai_error *error) {
               return cai_memory_array_like(memory, 16, &like.array, 1024, &out, error);
             },
             out);
         trial.tell(out->mask->data - out->data, out->descr_count, out->flags);
         cai_array_release(out);
       }},
      {"cai_array_empty_like", "with fields and a mask",
       [](Trial &trial) {
         const Fielded like;
         cai_array *out = nullptr;
         trial.call(
             [&](cai_error *error) {
               return cai_array_empty_like(&like.array, gpu0, nullptr, &out, error);
             },
             out);
         trial.tell(out->mask->data - out->data, out->descr_count, out->flags);
         cai_array_release(out);
       }},
      {"cai_memory_of", "libcai's own",
       [](Trial &trial) {
         const Arrays a;
         cai_memory *out = nullptr;
         std::uint64_t offset = 77;
         trial.call(
             [&](cai_error *error) { return cai_memory_of(a.of_memory, &out, &offset, error); },
             out, offset);
         trial.tell(out == a.memory.get(), offset);
         cai_memory_release(out);
       }},
      {"cai_memory_of", "of another owner",
       [](Trial &trial) {
         const Arrays a;
         const Owned owned(without_owner(a.of_memory));
         cai_memory *out = nullptr;
         std::uint64_t offset = 77;
         trial.call([&](cai_error *error) { return cai_memory_of(owned, &out, &offset, error); },
                    out, offset);
         trial.tell(describe(out).kind, describe(out).size, offset);
         cai_memory_release(out);
       }},
      {"cai_array_copy", "on a GPU",
       [](Trial &trial) { copy(trial, &Arrays::of_memory, &Arrays::of_beside, &Arrays::stream); }},
      {"cai_array_copy", "from another GPU",
       [](Trial &trial) { copy(trial, &Arrays::of_far, &Arrays::of_memory, &Arrays::stream); }},
      {"cai_array_copy", "to the host",
       [](Trial &trial) { copy(trial, &Arrays::of_memory, &Arrays::of_host, &Arrays::stream); }},
      {"cai_array_copy", "from the host",
       [](Trial &trial) { copy(trial, &Arrays::of_host, &Arrays::of_memory, &Arrays::stream); }},
      {"cai_array_copy", "of the CPU",
       [](Trial &trial) { copy(trial, &Arrays::of_host, &Arrays::of_second, &Arrays::queue); }},
      {"cai_array_copy", "of pinned memory, by the CPU",
       [](Trial &trial) { copy(trial, &Arrays::of_pinned, &Arrays::of_second, &Arrays::queue); }},
      {"cai_array_copy", "to an array with a mask",
       [](Trial &trial) { copy_to_masked(trial, gpu0); }},
      {"cai_array_copy", "to an array of the CPU with a mask",
       [](Trial &trial) { copy_to_masked(trial, cpu); }},
      {"cai_array_copy", "to an array of another GPU with a mask",
       [](Trial &trial) { copy_to_masked(trial, gpu1); }},
      {"cai_array_fill", "on a GPU",
       [](Trial &trial) { fill(trial, &Arrays::of_memory, &Arrays::stream); }},
      {"cai_array_fill", "on a GPU that its owner does not know",
       [](Trial &trial) {
         const Arrays a;
         const Owned owned(without_device(a.of_memory));
         const unsigned char byte = 9;
         trial.call(
             [&](cai_error *error) { return cai_array_fill(owned, &byte, a.stream, error); });
         tell_item(trial, a.of_memory);
       }},
      {"cai_array_fill", "by the CPU",
       [](Trial &trial) { fill(trial, &Arrays::of_host, &Arrays::queue); }},
      {"cai_array_first", "of a GPU",
       [](Trial &trial) {
         const Arrays a;
         const unsigned char byte = 12;
         EXPECT_EQ(cai_array_fill(a.of_far, &byte, nullptr, nullptr), CAI_OK);
         unsigned char out = 77;
         trial.call([&](cai_error *error) { return cai_array_first(a.of_far, &out, error); }, out);
         trial.tell(out);
       }},
      {"cai_array_eval", "of a GPU",
       [](Trial &trial) {
         const Arrays a;
         const unsigned char byte = 12;
         EXPECT_EQ(cai_array_fill(a.of_memory, &byte, a.stream, nullptr), CAI_OK);
         trial.call([&](cai_error *error) { return cai_array_eval(a.of_memory, error); });
         tell_item(trial, a.of_memory);
       }},
      {"cai_array_host", "pinned",
       [](Trial &trial) {
         const Arrays a;
         std::uint64_t out = 77;
         trial.call([&](cai_error *error) { return cai_array_host(a.of_pinned, &out, error); },
                    out);
         trial.tell(out == describe(a.pinned).host);
       }},
      {"cai_array_host", "pinned, of another owner",
       [](Trial &trial) {
         const Arrays a;
         const cai_array borrowed = without_owner(a.of_pinned);
         std::uint64_t out = 77;
         trial.call([&](cai_error *error) { return cai_array_host(&borrowed, &out, error); }, out);
         trial.tell(out == describe(a.pinned).host);
       }},
      {"cai_array_item", "of a GPU", [](Trial &trial) { item(trial, &Arrays::of_far); }},
      {"cai_array_item", "of a GPU that its owner does not know",
       [](Trial &trial) {
         const Arrays a;
         const unsigned char byte = 11;
         EXPECT_EQ(cai_array_fill(a.of_far, &byte, nullptr, nullptr), CAI_OK);
         EXPECT_EQ(cai_array_eval(a.of_far, nullptr), CAI_OK);
         const Owned owned(without_device(a.of_far));
         const std::int64_t index[] = {3, -1};
         unsigned char out = 77;
         trial.call([&](cai_error *error) { return cai_array_item(owned, index, &out, error); },
                    out);
         trial.tell(out);
       }},
      {"cai_array_item", "of the CPU", [](Trial &trial) { item(trial, &Arrays::of_host); }},
      {"cai_memory_usage", "",
       [](Trial &trial) {
         auto out = marked<cai_usage>();
         out.struct_size = sizeof out;
         trial.call([&](cai_error *error) { return cai_memory_usage(gpu0, &out, error); }, out);
         trial.tell(out.count, out.bytes);
       }},
      {"cai_pending_add", "",
       [](Trial &trial) {
         frees = 0;
         trial.call([&](cai_error *error) {
           return cai_pending_add(gpu0, 64, count_free, nullptr, error);
         });
         EXPECT_EQ(cai_pending_flush(gpu0, nullptr), CAI_OK);
         trial.tell(frees);
       }},
      {"cai_pending_flush", "",
       [](Trial &trial) {
         frees = 0;
         EXPECT_EQ(cai_pending_add(gpu0, 64, count_free, nullptr, nullptr), CAI_OK);
         allocate(gpu0, CAI_KIND_DEFAULT, 4096).reset();
         trial.call([&](cai_error *error) { return cai_pending_flush(gpu0, error); });
         trial.tell(frees);
       }},
      {"cai_pending_defer", "",
       [](Trial &trial) {
         trial.call([&](cai_error *error) { return cai_pending_defer(gpu0, 1, error); });
         EXPECT_EQ(cai_pending_defer(gpu0, 0, nullptr), CAI_OK);
         trial.tell(cai_pending_defer(gpu0, 0, nullptr));
       }},
      {"cai_memory_share", "default", [](Trial &trial) { share(trial, false); }},
      {"cai_memory_share", "pool", [](Trial &trial) { share(trial, true); }},
      {"cai_memory_open", "direct", [](Trial &trial) { open(trial, false, CAI_OPEN_DIRECT); }},
      {"cai_memory_open", "staged", [](Trial &trial) { open(trial, false, CAI_OPEN_STAGED); }},
      {"cai_memory_open", "direct, of a pool",
       [](Trial &trial) { open(trial, true, CAI_OPEN_DIRECT); }},
      {"cai_memory_open", "staged, of a pool",
       [](Trial &trial) { open(trial, true, CAI_OPEN_STAGED); }},
  };
}

}  // namespace test
