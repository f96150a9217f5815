// SPDX-License-Identifier: BSD-3-Clause
#include "hpp.hpp"

#include <cai/cai.hpp>

namespace {

cai::array arrays[MAX_ARRAYS + 1];
cai::use uses[MAX_USES];

// Turns what `body` throws into the stage's status.
template <class Body>
cai_status told(cai_error *error, Body &&body) {
  try {
    body();
    return CAI_OK;
  } catch (const cai::error &thrown) {
    *error = thrown.raw();
    return thrown.status();
  }
}

// The same if `make` makes an array.
template <class Make>
cai_status made(int array, const cai_array **out, cai_error *error, Make &&make) {
  return told(error, [&] {
    arrays[array] = make();
    *out = arrays[array].get();
  });
}

}  // namespace

const binding by_hpp = {
    .name = "cai.hpp",
    .own =
        [](int array, const cai_array *borrowed, std::uint32_t, void (*release)(void *),
           const cai_array **out, cai_error *error) {
          return made(array, out, error,
                      [&] { return cai::array::own(*borrowed, [release] { release(nullptr); }); });
        },
    .publish =
        [](int array, int copy, const std::uint64_t *streams, std::int32_t count,
           std::uint64_t target, const cai_array **out, cai_error *error) {
          return made(copy, out, error, [&] {
            const std::span pending(streams, static_cast<std::size_t>(count));
            return arrays[array].publish(pending, target);
          });
        },
    .publish_event =
        [](int array, int copy, std::uint64_t stream, const cai_array **out, cai_error *error) {
          return made(copy, out, error, [&] { return arrays[array].publish_event(stream); });
        },
    .reclaim =
        [](int array, std::uint64_t stream, std::uint32_t access, cai_error *error) {
          return told(error, [&] { arrays[array].reclaim(stream, access); });
        },
    .begin =
        [](int number, int array, std::uint64_t stream, std::uint32_t order, std::uint32_t access,
           cai_error *error) {
          const cai::array &it = arrays[array];
          const auto used = access == CAI_ACCESS_READ ? cai::reads(it) : cai::writes(it);
          return told(error,
                      [&] { uses[number] = cai::use(stream, used, cai::options{.order = order}); });
        },
    .end = [](int number, cai_error *error) { return told(error, [&] { uses[number].end(); }); },
    .release_on =
        [](int array, std::uint64_t stream, cai_error *error) {
          cai::array another = arrays[array];
          return told(error, [&] { another.release_on(stream); });
        },
    .same_stream =
        [](int array, std::uint64_t *stream, cai_error *error) {
          return told(error, [&] { *stream = cai::same_stream(arrays[array]).value_or(0); });
        },
    .sync_host = nullptr,
    .say = nullptr,
    .release = [](int array) { arrays[array].reset(); },
    .drain = nullptr,
};
