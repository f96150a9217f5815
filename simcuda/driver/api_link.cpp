// SPDX-License-Identifier: BSD-3-Clause
// The driver's linker of PTX. It makes an image from which modules and libraries are loaded.

#include "call.h"
#include "image.h"

namespace simcuda {

struct LinkState {
  CUlinkState handle = nullptr;
  JitOptions options;
  Texts texts;
  std::string image;  // once it is complete
};

namespace {

std::shared_ptr<LinkState> state_of(Session &s, CUlinkState handle) {
  return s.driver.link_states.get(handle);
}

void add(const char *symbol, LinkState &state, int type, const void *data, std::size_t size) {
  if (!data || !size || type < CU_JIT_INPUT_CUBIN || type > CU_JIT_INPUT_NVVM)
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  try {
    if (type > CU_JIT_INPUT_FATBINARY)
      throw BadImage{CUDA_ERROR_NO_BINARY_FOR_GPU,
                     "simcuda links PTX alone, not objects, archives or NVVM's code"};
    for (std::string &text : texts_of(data, size)) state.texts.push_back(std::move(text));
  } catch (const BadImage &bad) {
    refuse_image(symbol, bad, state.options);
  }
}

}  // namespace
}  // namespace simcuda

using namespace simcuda;

SIM_API CUresult cuLinkCreate_v2(unsigned count, int *options, void **values, CUlinkState *out) {
  return call(__func__, {count, options, values, out}, [&](Session &s) {
    required(out);
    s.current();
    auto state = std::make_shared<LinkState>();
    state->options = JitOptions(count, options, values);
    *out = s.driver.link_states.add(state);
  });
}

SIM_API CUresult cuLinkAddData_v2(CUlinkState state, int type, void *data, std::size_t size,
                                  const char *name, unsigned count, int *options, void **values) {
  return call(__func__, {state, type, data, size, name, count, options, values}, [&](Session &s) {
    const JitOptions checked(count, options, values);
    add("cuLinkAddData", *state_of(s, state), type, data, size);
  });
}

SIM_API CUresult cuLinkAddFile_v2(CUlinkState state, int type, const char *path, unsigned count,
                                  int *options, void **values) {
  return call(__func__, {state, type, path, count, options, values}, [&](Session &s) {
    const JitOptions checked(count, options, values);
    const std::string bytes = read_file(path);
    add("cuLinkAddFile", *state_of(s, state), type, bytes.data(), bytes.size());
  });
}

SIM_API CUresult cuLinkComplete(CUlinkState handle, void **image, std::size_t *size) {
  return call(__func__, {handle, image, size}, [&](Session &s) {
    required(image);
    auto state = state_of(s, handle);
    try {
      compile(state->texts);
    } catch (const BadImage &bad) {
      refuse_image("cuLinkComplete", bad, state->options);
    }
    state->image = linked_image(state->texts);
    *image = state->image.data();
    if (size) *size = state->image.size() + 1;  // with the terminating zero
  });
}

SIM_API CUresult cuLinkDestroy(CUlinkState handle) {
  return call(__func__, {handle}, [&](Session &s) {
    state_of(s, handle);
    s.driver.link_states.remove(handle);
  });
}

// The first forms, for clients that look symbols up by their plain names.
SIM_API CUresult cuLinkCreate(unsigned count, int *options, void **values, CUlinkState *out) {
  return cuLinkCreate_v2(count, options, values, out);
}

SIM_API CUresult cuLinkAddData(CUlinkState state, int type, void *data, std::size_t size,
                               const char *name, unsigned count, int *options, void **values) {
  return cuLinkAddData_v2(state, type, data, size, name, count, options, values);
}

SIM_API CUresult cuLinkAddFile(CUlinkState state, int type, const char *path, unsigned count,
                               int *options, void **values) {
  return cuLinkAddFile_v2(state, type, path, count, options, values);
}
