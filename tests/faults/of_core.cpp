// SPDX-License-Identifier: BSD-3-Clause
// cai.h, up to views: no driver, but for the writer's stream.
#include <array>

#include "../exchange/tensors.hpp"
#include "scenario.hpp"

namespace test::faults_of_core {
namespace {

// A masked array of a struct type, so that there is something of everything.
struct Rich {
  std::int64_t shape[2] = {4, 6}, strides[2] = {48, 8}, mask_strides[2] = {6, 1};
  cai_field inner[1] = {{"c", nullptr, nullptr, nullptr, 0, {'f', '<', 0, 0, 4, 0}, 0, 0, 0}};
  cai_field fields[2] = {{"a", "title", nullptr, nullptr, 0, {'i', '<', 0, 0, 4, 0}, 0, 0, 0},
                         {"b", nullptr, inner, nullptr, 4, {'V', '|', 0, 0, 4, 0}, 0, 1, 0}};
  Array mask{0x7F0000001000, CAI_STREAM_NONE};
  Array array{0x7F0000000000, CAI_STREAM_NONE};

  Rich() {
    mask.array.dtype = {'b', '|', 0, 0, 1, 0};
    mask.array.ndim = array.array.ndim = 2;
    mask.array.shape = array.array.shape = shape;
    mask.array.strides = mask_strides;
    array.array.strides = strides;
    array.array.dtype = {'V', '|', 0, 0, 8, 0};
    array.array.descr = fields;
    array.array.descr_count = 2;
    array.mask(mask);
  }
};

void tell_array(Trial &trial, const cai_array *array) {
  trial.tell(array->data, array->flags, array->ndim, array->stream_kind, array->descr_count);
  for (std::int32_t i = 0; i < array->ndim; ++i) trial.tell(array->shape[i], array->strides[i]);
  if (array->mask) tell_array(trial, array->mask);
}

// Calls what makes an array of a rich one.
template <class Make>
void making(Trial &trial, Make &&make) {
  const Rich rich;
  const Owned owned(rich.array.array);
  cai_array *out = nullptr;
  trial.call([&](cai_error *error) { return make(owned.get(), &out, error); }, out);
  tell_array(trial, out);
  cai_array_release(out);
}

cai_value number(std::uint64_t value) {
  cai_value made{};
  made.integer = value;
  made.form = CAI_FORM_INT;
  return made;
}
cai_value text(const char *characters) {
  cai_value made{};
  made.text = characters;
  made.length = static_cast<std::uint32_t>(std::strlen(characters));
  made.form = CAI_FORM_TEXT;
  return made;
}
template <std::size_t n>
cai_value list_of(const cai_value (&items)[n], std::uint8_t form = CAI_FORM_TUPLE) {
  cai_value made{};
  made.items = items;
  made.length = n;
  made.form = form;
  return made;
}

// A dict of two fields, with a mask.
struct Dict {
  cai_value extents[2] = {number(2), number(3)};
  cai_value data[2] = {number(0x7F0000000000), number(0)};
  cai_value mask_data[2] = {number(0x7F0000001000), number(0)};
  cai_value first[2] = {text("a"), text("<i4")}, second[2] = {text("b"), text("<f4")};
  cai_value fields[2] = {list_of(first), list_of(second)};
  cai_interface mask = of(mask_data, "|b1"), dict = of(data, "|V8");

  Dict() {
    dict.descr = list_of(fields, CAI_FORM_LIST);
    dict.mask.form = CAI_FORM_INTERFACE;
    dict.mask_interface = &mask;
  }
  Dict(const Dict &) = delete;
  Dict &operator=(const Dict &) = delete;

  cai_interface of(cai_value (&where)[2], const char *type) {
    where[1].form = CAI_FORM_BOOL;
    cai_interface made{};
    made.struct_size = sizeof made;
    made.dict.form = CAI_FORM_DICT;
    made.shape = list_of(extents);
    made.typestr = text(type);
    made.data = list_of(where);
    made.version = number(3);
    return made;
  }
};

void read_dict(Trial &trial, std::uint32_t mode, bool with_findings) {
  const Dict dict;
  alignas(8) std::array<unsigned char, 8192> storage;
  auto out = marked<cai_array>();
  static int findings;
  findings = 0;
  const auto count = [](void *, const cai_finding *) { ++findings; };
  trial.call(
      [&](cai_error *error) {
        return cai_interface_read(&dict.dict, mode, with_findings ? +count : nullptr, nullptr,
                                  storage.data(), storage.size(), &out, error);
      },
      out);
  tell_array(trial, &out);
}

int released;
void count_release(void *) {
  ++released;
}

}  // namespace

}  // namespace test::faults_of_core

namespace test {

std::vector<Scenario> core_scenarios() {
  using namespace faults_of_core;
  return {
      {"cai_version", "", [](Trial &trial) { trial.call([&] { trial.tell(cai_version()); }); }},
      {"cai_status_name", "",
       [](Trial &trial) { trial.call([&] { trial.tell(cai_status_name(CAI_ERR_CUDA)); }); }},
      {"cai_entry_name", "",
       [](Trial &trial) { trial.call([&] { trial.tell(cai_entry_name(CAI_ENTRY_DESCR)); }); }},
      {"cai_this_thread", "",
       [](Trial &trial) { trial.call([&] { trial.tell(cai_this_thread() != 0); }); }},
      {"cai_dtype_parse", "",
       [](Trial &trial) {
         auto out = marked<cai_dtype>();
         trial.call([&](cai_error *error) { return cai_dtype_parse("<M8[25s]", 8, &out, error); },
                    out);
         trial.tell(out.kind, out.byteorder, out.time_unit, out.itemsize, out.time_step);
       }},
      {"cai_dtype_format", "",
       [](Trial &trial) {
         const cai_dtype type{'M', '<', 0, CAI_TIME_S, 8, 25};
         auto out = marked<std::array<char, CAI_TYPESTR_SIZE>>();
         trial.call([&](cai_error *error) { return cai_dtype_format(&type, out.data(), error); },
                    out);
         trial.tell(out.data());
       }},
      {"cai_array_layout", "",
       [](Trial &trial) {
         const Rich rich;
         auto out = marked<cai_layout>();
         trial.call(
             [&](cai_error *error) { return cai_array_layout(&rich.array.array, &out, error); },
             out);
         trial.tell(out.size, out.nbytes, out.lo, out.hi, out.c_contiguous, out.f_contiguous);
       }},
      {"cai_array_validate", "",
       [](Trial &trial) {
         const Rich rich;
         trial.call([&](cai_error *error) { return cai_array_validate(&rich.array.array, error); });
       }},
      {"cai_interface_storage", "",
       [](Trial &trial) {
         const Dict dict;
         trial.call([&] { trial.tell(cai_interface_storage(&dict.dict)); });
       }},
      {"cai_interface_read", "lenient", [](Trial &trial) { read_dict(trial, CAI_LENIENT, false); }},
      {"cai_interface_read", "strict, with findings",
       [](Trial &trial) { read_dict(trial, CAI_STRICT, true); }},
      {"cai_interface_write_storage", "",
       [](Trial &trial) {
         const Rich rich;
         trial.call([&] { trial.tell(cai_interface_write_storage(&rich.array.array)); });
       }},
      {"cai_interface_write", "no stream",
       [](Trial &trial) {
         const Rich rich;
         alignas(8) std::array<unsigned char, 4096> storage;
         auto out = marked<cai_interface>();
         out.struct_size = sizeof out;
         trial.call(
             [&](cai_error *error) {
               return cai_interface_write(&rich.array.array, 3, storage.data(), storage.size(),
                                          &out, error);
             },
             out);
         trial.tell(out.shape.length, out.descr.length, out.mask.form, out.stream.form);
       }},
      {"cai_array_retain", "",
       [](Trial &trial) {
         Owned owned(0x7F0000000000, CAI_STREAM_NONE);
         trial.call([&] { (cai_array_retain)(owned.get()); });
         (cai_array_release)(owned.get());
         trial.tell(owned.ended());
       }},
      {"cai_array_release", "",
       [](Trial &trial) {
         Owned owned(0x7F0000000000, CAI_STREAM_NONE);
         trial.call([&] { (cai_array_release)(owned.get()); });
         owned.gone();
         trial.tell(owned.ended());
       }},
      {"cai_array_refuses", "",
       [](Trial &trial) {
         const Rich rich;
         trial.call([&] { trial.tell((cai_array_refuses)(&rich.array.array, CAI_FLAG_READONLY)); });
       }},
      {"cai_array_contiguous_nbytes", "",
       [](Trial &trial) {
         const Rich rich;
         trial.call([&] {
           const std::int64_t bytes = (cai_array_contiguous_nbytes)(&rich.array.array);
           trial.tell(static_cast<std::uint64_t>(bytes));
         });
       }},
      {"cai_array_own", "",
       [](Trial &trial) {
         const Rich rich;
         cai_array *out = nullptr;
         released = 0;
         trial.call(
             [&](cai_error *error) {
               return cai_array_own(&rich.array.array, count_release, nullptr, &out, error);
             },
             out);
         EXPECT_EQ(released, 0);
         tell_array(trial, out);
         cai_array_release(out);
         trial.tell(released);
       }},
      {"cai_array_slice", "",
       [](Trial &trial) {
         making(trial, [](const cai_array *array, cai_array **out, cai_error *error) {
           const cai_slice items[] = {{1, 3, 1, CAI_SLICE_RANGE, 0},
                                      {0, 0, 0, CAI_SLICE_NEWAXIS, 0},
                                      {-1, 0, -2, CAI_SLICE_RANGE | CAI_SLICE_NO_STOP, 0}};
           return cai_array_slice(array, items, 3, out, error);
         });
       }},
      {"cai_array_reshape", "",
       [](Trial &trial) {
         making(trial, [](const cai_array *array, cai_array **out, cai_error *error) {
           const std::int64_t shape[] = {2, -1, 3};
           return cai_array_reshape(array, shape, 3, out, error);
         });
       }},
      {"cai_array_transpose", "",
       [](Trial &trial) {
         making(trial, [](const cai_array *array, cai_array **out, cai_error *error) {
           return cai_array_transpose(array, nullptr, out, error);
         });
       }},
      {"cai_array_broadcast", "",
       [](Trial &trial) {
         making(trial, [](const cai_array *array, cai_array **out, cai_error *error) {
           const std::int64_t shape[] = {5, 4, 6};
           return cai_array_broadcast(array, shape, 3, out, error);
         });
       }},
      {"cai_owner_init", "",
       [](Trial &trial) {
         auto owner = marked<cai_owner>();
         const auto nothing = [](cai_owner *) {};
         trial.call(
             [&](cai_error *error) { return cai_owner_init(&owner, nothing, nothing, error); },
             owner);
         trial.tell(owner.struct_size, owner.flags, owner.used_on != nullptr);
       }},
  };
}

}  // namespace test
