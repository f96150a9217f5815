// SPDX-License-Identifier: BSD-3-Clause
// cai/dlpack.h and cai/arrow.h.
#include <array>

#include "../exchange/tensors.hpp"
#include "cai/arrow.h"
#include "scenario.hpp"

namespace test::faults_of_exchange {
namespace {

void tell_array(Trial &trial, const cai_array *array) {
  trial.tell(array->flags, array->device_id, array->ndim, array->stream_kind, array->stream);
  for (std::int32_t i = 0; i < array->ndim; ++i) trial.tell(array->shape[i], array->strides[i]);
}

template <class Tensor>
void own_tensor(Trial &trial) {
  Tensor tensor;
  cai_array *out = nullptr;
  trial.call([&](cai_error *error) { return own(tensor, 1, &out, error); }, out);
  EXPECT_EQ(tensor.deleted, 0);
  tell_array(trial, out);
  cai_array_release(out);
  trial.tell(tensor.deleted);
}

// An array of GPU memory whose device is not known, with a kept use; and another stream.
struct Source {
  OwnStream producer = make_stream(gpu0), consumer = make_stream(gpu0), other = make_stream(gpu0);
  OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, count, producer);
  std::uint64_t p = cai_stream_value(producer), c = cai_stream_value(consumer);
  Owned array{describe(memory).data, CAI_STREAM_STREAM, p};

  Source() {
    const cai_array *const arrays[] = {array};
    cai_use use{};
    EXPECT_EQ(cai_use_begin(&use, arrays, 1, cai_stream_value(other), nullptr, nullptr), CAI_OK);
    EXPECT_EQ(cai_use_end(&use, nullptr), CAI_OK);
  }
};

template <class Managed, class Write>
void write_tensor(Trial &trial, Write &&write) {
  const Source source;
  Managed *out = nullptr;
  trial.call([&](cai_error *error) { return write(source.array.get(), source.c, &out, error); },
             out);
  trial.tell(out->dl_tensor.device.device_id, out->dl_tensor.ndim, out->dl_tensor.shape[0]);
  out->deleter(out);
}

struct Column {
  ArrowSchema schema{};
  ArrowDeviceArray column{};
  const void *buffers[2] = {handle(0x7F0000001000), handle(0x7F0000000000)};
  int released = 0;

  Column() {
    schema.format = "i";
    schema.release = [](ArrowSchema *self) { self->release = nullptr; };
    column.array.length = 16;
    column.array.null_count = -1;
    column.array.n_buffers = 2;
    column.array.buffers = buffers;
    column.array.private_data = this;
    column.array.release = [](ArrowArray *self) {
      ++static_cast<Column *>(self->private_data)->released;
      self->release = nullptr;
    };
    column.device_type = ARROW_DEVICE_CUDA;
  }
};

}  // namespace

}  // namespace test::faults_of_exchange

namespace test {

std::vector<Scenario> exchange_scenarios() {
  using namespace faults_of_exchange;
  return {
      {"cai_dlpack_read", "",
       [](Trial &trial) {
         const Tensor tensor;
         std::array<std::int64_t, CAI_MAX_NDIM> strides;
         auto out = marked<cai_array>();
         trial.call(
             [&](cai_error *error) {
               return cai_dlpack_read(&tensor.tensor, 1, strides.data(), &out, error);
             },
             out);
         tell_array(trial, &out);
       }},
      {"cai_dlpack_own", "", own_tensor<Versioned>},
      {"cai_dlpack_own_legacy", "", own_tensor<Legacy>},
      {"cai_dlpack_write", "",
       [](Trial &trial) { write_tensor<DLManagedTensorVersioned>(trial, cai_dlpack_write); }},
      {"cai_dlpack_write_legacy", "",
       [](Trial &trial) { write_tensor<DLManagedTensor>(trial, cai_dlpack_write_legacy); }},
      {"cai_dlpack_lend", "",
       [](Trial &trial) {
         const Source source;
         std::array<std::int64_t, CAI_MAX_NDIM> strides;
         auto out = marked<DLTensor>();
         trial.call(
             [&](cai_error *error) {
               return cai_dlpack_lend(source.array, strides.data(), &out, error);
             },
             out);
         trial.tell(out.device.device_id, out.ndim, out.shape[0], strides[0]);
       }},
      {"cai_arrow_own", "",
       [](Trial &trial) {
         Column c;
         cai_array *out = nullptr;
         trial.call(
             [&](cai_error *error) { return cai_arrow_own(&c.schema, &c.column, &out, error); },
             out, c.column, c.schema);
         EXPECT_EQ(c.released, 0);
         tell_array(trial, out);
         tell_array(trial, out->mask);
         cai_array_release(out);
         trial.tell(c.released);
       }},
      {"cai_arrow_write", "of pinned memory of another owner",
       [](Trial &trial) {
         const OwnMemory memory = allocate(gpu0, CAI_KIND_PINNED, 64);
         const OwnArray known = array_of(memory, {64});
         cai_array borrowed = *known.get();
         borrowed.owner = nullptr;
         const Owned array(borrowed);
         auto schema = marked<ArrowSchema>();
         auto column = marked<ArrowDeviceArray>();
         trial.call(
             [&](cai_error *error) { return cai_arrow_write(array, 1, &schema, &column, error); },
             schema, column);
         trial.tell(column.array.buffers[1] == handle(describe(memory).host), column.device_type);
         schema.release(&schema);
         column.array.release(&column.array);
       }},
      {"cai_arrow_write", "",
       [](Trial &trial) {
         const Source source;
         auto schema = marked<ArrowSchema>();
         auto column = marked<ArrowDeviceArray>();
         trial.call(
             [&](cai_error *error) {
               return cai_arrow_write(source.array, source.c, &schema, &column, error);
             },
             schema, column);
         trial.tell(schema.format, column.array.length, column.device_id,
                    column.sync_event != nullptr);
         schema.release(&schema);
         column.array.release(&column.array);
       }},
  };
}

}  // namespace test
