// SPDX-License-Identifier: BSD-3-Clause
// Copies and fills of random arrays, compared byte by byte with plain loops: between any two kinds
// of memory, on either side of the elements too.
#include <algorithm>
#include <numeric>
#include <random>

#include "memories.hpp"

namespace test::copy_tests {
namespace {

struct Place {
  cai_device device;
  std::uint32_t kind;
};

const Place places[] = {
    {cpu, CAI_KIND_DEFAULT}, {cpu, CAI_KIND_PINNED},          {gpu0, CAI_KIND_DEFAULT},
    {gpu0, CAI_KIND_ASYNC},  {gpu0, CAI_KIND_MANAGED},        {gpu0, CAI_KIND_MANAGED_GLOBAL},
    {gpu0, CAI_KIND_PINNED}, {gpu0, CAI_KIND_HOST},           {gpu1, CAI_KIND_DEFAULT},
    {gpu1, CAI_KIND_ASYNC},  {gpu1, CAI_KIND_MANAGED_GLOBAL}, {gpu1, CAI_KIND_MAPPED}};

bool is_for_host(const Place &place) {
  return place.device.type == CAI_DEVICE_CPU || place.kind == CAI_KIND_PINNED ||
         place.kind == CAI_KIND_MAPPED || place.kind == CAI_KIND_HOST;
}

std::mt19937 &random_bits() {
  static std::mt19937 bits(20261121);
  return bits;
}

int pick(int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random_bits());
}

Handle primary_of(cai_device device) {
  Handle context = nullptr;
  MUST(gpu().cuDevicePrimaryCtxRetain(&context, device.id));
  MUST(gpu().cuDevicePrimaryCtxRelease_v2(device.id));  // libcai holds it
  return context;
}

struct Shape {
  std::vector<std::int64_t> extents;
  std::uint32_t itemsize = 1;
};

Shape random_shape() {
  static constexpr std::uint32_t sizes[] = {1, 2, 3, 4, 5, 8, 12, 16};
  Shape shape;
  shape.itemsize = sizes[pick(0, 7)];
  const int ndim = pick(0, 5);
  for (int i = 0; i < ndim; ++i) shape.extents.push_back(pick(0, 40) == 0 ? 0 : pick(1, 6));
  return shape;
}

// An array within memory of its own, and the bytes that are expected there.
struct Side {
  Shape shape;
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;
  std::vector<unsigned char> expected;
  OwnMemory memory;
  OwnArray array;

  // `broadcasts`: some strides are 0.
  Side(Shape its_shape, const Place &place, bool broadcasts, cai_stream *stream)
      : shape(std::move(its_shape)), strides(shape.extents.size()) {
    lay_out(broadcasts);
    std::generate(expected.begin(), expected.end(),
                  [] { return static_cast<unsigned char>(pick(0, 255)); });
    memory = allocate(place.device, place.kind, expected.size(), stream);
    write();
    make_array();
  }

  std::int64_t at(const std::vector<std::int64_t> &index) const {
    return std::inner_product(index.begin(), index.end(), strides.begin(), offset);
  }

  // The contents of memory, once all work is done.
  std::vector<unsigned char> read() const {
    cai_error error{};
    EXPECT_EQ(cai_array_sync_host(array, &error), CAI_OK) << error.message;
    std::vector<unsigned char> bytes(expected.size());
    const cai_memory_info info = describe(memory);
    if (array->data == 0 && info.stream) {  // nothing is known to be pending on an empty array
      const With with(primary_of(info.device));
      MUST(gpu().cuStreamSynchronize(handle(info.stream)));
    }
    if (info.host) {
      std::memcpy(bytes.data(), handle(info.host), bytes.size());
    } else {
      const With with(primary_of(info.device));
      MUST(gpu().cuMemcpyDtoH_v2(bytes.data(), info.data, bytes.size()));
    }
    return bytes;
  }

 private:
  void lay_out(bool broadcasts) {
    std::vector<std::size_t> order(shape.extents.size());
    std::iota(order.begin(), order.end(), 0U);
    if (pick(0, 1)) std::shuffle(order.begin(), order.end(), random_bits());
    std::int64_t step = shape.itemsize, low = 0, high = shape.itemsize;
    for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
      const std::int64_t extent = std::max<std::int64_t>(shape.extents[*axis], 1);
      if (pick(0, 2) == 0) step += pick(0, 2) == 0 ? pick(0, 7) : shape.itemsize * pick(0, 3);
      std::int64_t stride = pick(0, 3) == 0 ? -step : step;
      if (broadcasts && pick(0, 3) == 0) stride = 0;
      strides[*axis] = stride;
      (stride < 0 ? low : high) += stride * (extent - 1);
      step *= extent;
    }
    offset = -low + pick(0, 9);
    expected.resize(static_cast<std::size_t>(offset + high + pick(0, 9)));
  }

  void write() const {
    const cai_memory_info info = describe(memory);
    if (info.host) {
      std::memcpy(handle(info.host), expected.data(), expected.size());
      return;
    }
    // Memory of the kind ASYNC begins in the order of its stream.
    static const auto copy = driver_function<int (*)(Address, const void *, std::size_t, Handle)>(
        "cuMemcpyHtoDAsync_v2");
    const With with(primary_of(info.device));
    MUST(copy(info.data, expected.data(), expected.size(), handle(info.stream)));
  }

  void make_array() {
    const cai_dtype dtype{'V', '|', 0, 0, shape.itemsize, 0};
    cai_array *made = nullptr;
    cai_error error{};
    ASSERT_EQ(cai_memory_array(memory, static_cast<std::uint64_t>(offset), &dtype,
                               static_cast<std::int32_t>(shape.extents.size()),
                               shape.extents.data(), strides.data(), &made, &error),
              CAI_OK)
        << error.message;
    array = OwnArray(made);
  }
};

template <class Body>
void for_each_index(const Shape &shape, Body &&body) {
  std::vector<std::int64_t> index(shape.extents.size());
  for (const std::int64_t extent : shape.extents) {
    if (extent == 0) return;
  }
  while (true) {
    body(index);
    std::size_t axis = index.size();
    while (axis > 0 && ++index[axis - 1] == shape.extents[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

class Random : public Memories {
 protected:
  OwnStream on0 = make_stream(gpu0), on1 = make_stream(gpu1), on_cpu = make_stream(cpu);

  cai_stream *stream_of(const Place &place) const {
    const int which = pick(0, 1);
    if (place.device.type == CAI_DEVICE_CPU) return which ? on_cpu.get() : nullptr;
    return which ? stream_of(place.device) : nullptr;
  }

  // Any stream that may copy, or none.
  cai_stream *copier_of(const Place &from, const Place &to) const {
    std::vector<cai_stream *> streams{nullptr};
    // Managed memory of one stream is for that stream and the host.
    if (from.kind == CAI_KIND_MANAGED || to.kind == CAI_KIND_MANAGED) return nullptr;
    for (const Place &place : {from, to}) {
      if (place.device.type == CAI_DEVICE_CUDA) streams.push_back(stream_of(place.device));
    }
    if (is_for_host(from) && is_for_host(to)) streams.push_back(on_cpu);
    return streams[static_cast<std::size_t>(pick(0, static_cast<int>(streams.size()) - 1))];
  }

 private:
  cai_stream *stream_of(cai_device device) const { return device.id ? on1.get() : on0.get(); }
};

std::string text(const Side &side) {
  std::string out = "itemsize " + std::to_string(side.shape.itemsize);
  for (std::size_t i = 0; i < side.strides.size(); ++i) {
    out += ", " + std::to_string(side.shape.extents[i]) + " by " + std::to_string(side.strides[i]);
  }
  return out;
}

TEST_F(Random, Copies) {
  int copied = 0;
  for (const Place &from_place : places) {
    for (const Place &to_place : places) {
      for (int round = 0; round < 8; ++round) {
        const Shape shape = random_shape();
        Side from(shape, from_place, true, stream_of(from_place));
        Side to(shape, to_place, false, stream_of(to_place));
        SCOPED_TRACE(text(from) + " to " + text(to));
        for_each_index(shape, [&](const std::vector<std::int64_t> &index) {
          std::memcpy(&to.expected[static_cast<std::size_t>(to.at(index))],
                      &from.expected[static_cast<std::size_t>(from.at(index))], shape.itemsize);
          ++copied;
        });
        cai_stream *const stream = copier_of(from_place, to_place);
        ASSERT_OK(cai_array_copy(from.array, to.array, stream, error));
        ASSERT_OK(cai_stream_synchronize(on_cpu, error));
        ASSERT_EQ(to.read(), to.expected);
        ASSERT_EQ(from.read(), from.expected);
      }
    }
  }
  EXPECT_GT(copied, 10000);
}

TEST_F(Random, Fills) {
  for (const Place &place : places) {
    for (int round = 0; round < 60; ++round) {
      const Shape shape = random_shape();
      Side side(shape, place, false, stream_of(place));
      SCOPED_TRACE(text(side));
      std::vector<unsigned char> value(shape.itemsize);
      const int period = pick(0, 2) == 0 ? static_cast<int>(shape.itemsize) : 1 << pick(0, 2);
      for (std::size_t i = 0; i < value.size(); ++i) {
        const auto before = static_cast<std::size_t>(period);
        value[i] = i < before ? static_cast<unsigned char>(pick(0, 255)) : value[i - before];
      }
      for_each_index(shape, [&](const std::vector<std::int64_t> &index) {
        std::copy(value.begin(), value.end(), side.expected.begin() + side.at(index));
      });
      ASSERT_OK(cai_array_fill(side.array, value.data(), nullptr, error));
      ASSERT_EQ(side.read(), side.expected);
    }
  }
}

TEST_F(Random, Items) {
  for (const Place &place : places) {
    for (int round = 0; round < 20; ++round) {
      const Shape shape = random_shape();
      const Side side(shape, place, true, stream_of(place));
      SCOPED_TRACE(text(side));
      for_each_index(shape, [&](const std::vector<std::int64_t> &index) {
        if (pick(0, 9)) return;
        std::vector<std::int64_t> asked = index;
        for (std::size_t i = 0; i < asked.size(); ++i) {
          if (pick(0, 1)) asked[i] -= shape.extents[i];
        }
        std::vector<unsigned char> item(shape.itemsize);
        ASSERT_OK(cai_array_item(side.array, asked.data(), item.data(), error));
        ASSERT_TRUE(std::equal(item.begin(), item.end(), side.expected.begin() + side.at(index)));
      });
    }
  }
}

}  // namespace
}  // namespace test::copy_tests
