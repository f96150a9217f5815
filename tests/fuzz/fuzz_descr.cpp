// SPDX-License-Identifier: BSD-3-Clause
// Trees of raw values in the place of "descr", in a dict that is otherwise plain. The first byte
// says the mode, the next the item size, if no tree's own sum is to be met by chance.
#include "input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  fuzz::Input input(data, size);
  fuzz::Values values(input);
  const std::uint32_t mode = input.below(2) ? CAI_STRICT : CAI_LENIENT;
  const unsigned itemsize = 1 + input.below(40);
  cai_interface in{};
  in.struct_size = sizeof in;
  in.dict.form = CAI_FORM_DICT;
  in.version.form = CAI_FORM_INT;
  in.version.integer = 3;
  cai_value number{};
  number.form = CAI_FORM_INT;
  number.integer = 2;
  in.shape = values.items(CAI_FORM_TUPLE, {number});
  number.integer = 4096;
  in.data = values.items(CAI_FORM_TUPLE, {number, values.boolean()});
  in.typestr = values.stored(CAI_FORM_TEXT, "|V" + std::to_string(itemsize));
  in.descr = input.below(4) == 1 ? values.anything(6) : values.descr(6);
  if (input.below(16) == 1) {  // far too deep
    for (unsigned n = 20 * input.below(255); n > 0; --n) {
      in.descr = values.items(
          CAI_FORM_LIST,
          {values.items(CAI_FORM_TUPLE, {values.stored(CAI_FORM_TEXT, "n"), in.descr})});
    }
  }

  const fuzz::Storage storage(cai_interface_storage(&in));
  cai_array array;
  cai_error error;
  const cai_status status = cai_interface_read(&in, mode, nullptr, nullptr, storage.get(),
                                               storage.size(), &array, &error);
  if (status) {
    fuzz::require_error(status, error);
    MUST_HOLD(error.entry == CAI_ENTRY_DESCR &&
              (status == CAI_ERR_VALUE || status == CAI_ERR_TYPE));
  } else {
    fuzz::require_round_trip(array);
  }
  return 0;
}
