// SPDX-License-Identifier: BSD-3-Clause
// cai/adaptors.h: what fails there is told to cai_on_failure(), and is NULL.
#include "cai/adaptors.h"

#include "scenario.hpp"

namespace test::faults_of_adaptors {
namespace {

// A failure as the other functions return it: as it was reported.
cai_status as_told(const void *got, int before, cai_error *error) {
  if (got) return CAI_OK;
  EXPECT_EQ(Reports::all().count, before + 1) << "NULL, and nobody was told why";
  *error = Reports::all().last;
  return error->status;
}

// The table of what is out has many parts, each of which keeps some memory from the first time on.
void warm_up() {
  for (int times = 0; times < 1000; ++times) {
    cai_torch_free(cai_torch_alloc(256, 1, nullptr), 256, 1, nullptr);
  }
  EXPECT_EQ(cai_pending_flush(gpu1, nullptr), CAI_OK);
}

std::uint64_t out_on(cai_device device) {
  cai_usage usage{};
  usage.struct_size = sizeof usage;
  EXPECT_EQ(cai_memory_usage(device, &usage, nullptr), CAI_OK);
  return usage.count;
}

}  // namespace

}  // namespace test::faults_of_adaptors

namespace test {

std::vector<Scenario> adaptor_scenarios() {
  using namespace faults_of_adaptors;
  warm_up();
  return {
      {"cai_torch_alloc", "",
       [](Trial &trial) {
         void *block = nullptr;
         trial.call([&](cai_error *error) {
           const int before = Reports::all().count;
           block = cai_torch_alloc(1024, 1, nullptr);
           return as_told(block, before, error);
         });
         trial.tell(out_on(gpu1));
         cai_torch_free(block, 1024, 1, nullptr);
         trial.tell(out_on(gpu1));
       }},
      {"cai_torch_free", "",
       [](Trial &trial) {
         void *const block = cai_torch_alloc(1024, 1, nullptr);
         trial.call([&] { cai_torch_free(block, 1024, 1, nullptr); });
         trial.tell(out_on(gpu1));
       }},
      {"cai_torch_base", "",
       [](Trial &trial) {
         void *const block = cai_torch_alloc(1024, 1, nullptr);
         std::uint64_t size = 77;
         trial.call([&] {
           EXPECT_EQ(cai_torch_base(static_cast<char *>(block) + 5, &size), block);
           trial.tell(size);
         });
         cai_torch_free(block, 1024, 1, nullptr);
       }},
      {"cai_torch_record_stream", "",
       [](Trial &trial) {
         const OwnStream stream = make_stream(gpu1);
         void *const block = cai_torch_alloc(1024, 1, nullptr);
         trial.call([&] { cai_torch_record_stream(block, handle(cai_stream_value(stream))); });
         cai_torch_free(block, 1024, 1, nullptr);
         trial.tell(out_on(gpu1));
       }},
      {"cai_torch_init", "",
       [](Trial &trial) {
         const int before = Reports::all().count;
         trial.call([&] { cai_torch_init(2); });
         if (!trial.was_struck()) trial.tell(Reports::all().count - before);
       },
       Scenario::any_result},
      {"cai_torch_reset", "",
       [](Trial &trial) {
         cai_torch_free(cai_torch_alloc(1024, 1, nullptr), 1024, 1, nullptr);
         trial.call([&] { cai_torch_reset(); });
         trial.tell(out_on(gpu1));
       }},
      {"cai_cupy_alloc", "",
       [](Trial &trial) {
         void *block = nullptr;
         trial.call([&](cai_error *error) {
           const int before = Reports::all().count;
           block = cai_cupy_alloc(nullptr, 1024, 1);
           return as_told(block, before, error);
         });
         trial.tell(out_on(gpu1));
         cai_cupy_free(nullptr, block, 1);
         trial.tell(out_on(gpu1));
       }},
      {"cai_cupy_free", "",
       [](Trial &trial) {
         void *const block = cai_cupy_alloc(nullptr, 1024, 1);
         trial.call([&] { cai_cupy_free(nullptr, block, 1); });
         trial.tell(out_on(gpu1));
       }},
  };
}

}  // namespace test
