// SPDX-License-Identifier: BSD-3-Clause
// Textures: tex, tld4, and what is asked of them and of surfaces.
//
// Coordinates and weights are computed exactly, but for the weights of a linear filter, which have
// eight bits behind the point. Texels of weight 0 are not read.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "half.h"
#include "texel_access.h"

namespace simcuda::kernel {
namespace {

constexpr std::int64_t parts_of_texel = 256;
constexpr double farthest = 0x1p40;  // texels: beyond this all coordinates are the same

enum class Choice : std::uint16_t { base, level, gradients };
enum class Result : std::int64_t { bits, half, half_pairs };

// Where a lane reads in one dimension: between this texel and the next.
struct Position {
  std::int64_t texel = 0;
  double weight = 0;  // of the next
};

double within(double coordinate) {
  return coordinate == coordinate ? std::clamp(coordinate, -farthest, farthest) : 0;
}

double unfolded(double x, double size, const Texels &texels, unsigned dimension) {
  if (!texels.normalized) return within(x);
  if (!std::isfinite(x) && texels.beyond[dimension] == Beyond::wrap) x = 0;
  if (texels.beyond[dimension] == Beyond::wrap) x -= std::floor(x);
  return within(x * size);
}

Position position_of(double x, bool filtered) {
  if (!filtered) return {static_cast<std::int64_t>(std::floor(x)), 0};
  const auto parts =
      static_cast<std::int64_t>(std::floor((x - 0.5) * static_cast<double>(parts_of_texel) + 0.5));
  const std::int64_t texel =
      parts >= 0 ? parts / parts_of_texel : -((parts_of_texel - 1 - parts) / parts_of_texel);
  return {texel, static_cast<double>(parts - texel * parts_of_texel) /
                     static_cast<double>(parts_of_texel)};
}

// The texel that stands for one beyond the edges; -1: the border.
std::int64_t folded(std::int64_t texel, std::int64_t size, Beyond beyond) {
  if (texel >= 0 && texel < size) return texel;
  switch (beyond) {
    case Beyond::wrap:
      return (texel % size + size) % size;
    case Beyond::mirror: {
      const std::int64_t twice = 2 * size, at = (texel % twice + twice) % twice;
      return at < size ? at : twice - 1 - at;
    }
    case Beyond::clamp:
      return texel < 0 ? 0 : size - 1;
    case Beyond::border:
      break;
  }
  return -1;
}

double from_srgb(double value) {
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

// What some lanes of a warp read of one texture.
class Fetch {
 public:
  Fetch(Warp &warp, const Instruction &instruction, const Texels &texels, std::uint32_t lanes)
      : warp_(warp),
        instruction_(instruction),
        texels_(texels),
        geometry_(geometries[instruction.option]),
        lanes_(lanes) {
    instruction_.count = static_cast<std::uint8_t>(texels.channels);
    take_coordinates();
  }

  // All of a texel, added up with this weight.
  void sample(const TexelLevel &level, double share) {
    set_positions(level, texels_.filtered && instruction_.flag);
    for (unsigned corner = 0; corner < corners(); ++corner)
      read(level, corner, [&](unsigned lane, const std::byte *texel, double weight) {
        take(lane, texel, weight * share);
      });
  }

  // One channel of the four texels that a filter would use.
  void gather(const TexelLevel &level, unsigned channel) {
    set_positions(level, true);
    for (auto &of_lane : positions_)
      for (Position &position : of_lane) position.weight = 0;
    static constexpr unsigned order[] = {2, 3, 1, 0};  // from below on the left, against the clock
    for (unsigned n = 0; n < 4; ++n) {
      corner_offset_ = order[n];
      read(level, 0, [&](unsigned lane, const std::byte *texel, double) {
        if (texels_.reads_real())
          sums_[lane][n] = real_of(texel, channel);
        else
          bits_[lane][n] = integer_of(texel, channel);
      });
    }
  }

  // As the instruction's registers want it.
  std::uint32_t result(unsigned lane, unsigned channel) const {
    if (!texels_.reads_real()) return bits_[lane][channel];
    return std::bit_cast<std::uint32_t>(static_cast<float>(sums_[lane][channel]));
  }
  std::uint16_t half_result(unsigned lane, unsigned channel) const {
    return texels_.reads_real() ? to_half(sums_[lane][channel])
                                : static_cast<std::uint16_t>(bits_[lane][channel]);
  }

  void choose(std::uint32_t lanes) { lanes_ = lanes; }

 private:
  unsigned dimensions() const { return geometry_.cube ? 2 : geometry_.dimensions; }
  unsigned corners() const { return filtering_ ? 1u << dimensions() : 1; }

  void take_coordinates() {
    const Place32 *places = list_of(warp_, instruction_);
    each_active(lanes_, [&](unsigned k) {
      const auto *layers = warp_.lanes<std::uint32_t>(places[0]);
      layers_[k] = geometry_.layered ? layers[k] : 0;
      for (unsigned n = 0; n < geometry_.dimensions; ++n) {
        const Place32 place = places[n + geometry_.layered];
        coordinates_[k][n] = instruction_.flag
                                 ? static_cast<double>(warp_.lanes<float>(place)[k])
                                 : static_cast<double>(warp_.lanes<std::int32_t>(place)[k]);
      }
      if (geometry_.cube) project(k);
      const std::uint32_t most = std::max<std::uint32_t>(texels_.layers, 1) - 1;
      layers_[k] = std::min(layers_[k], most);
    });
  }

  // From a direction to a face, and to coordinates from 0 to 1 there.
  void project(unsigned lane) {
    double (&c)[3] = coordinates_[lane];
    const double x = c[0], y = c[1], z = c[2], ax = std::abs(x), ay = std::abs(y), az = std::abs(z);
    unsigned face;
    double major, s, t;
    if (ax >= ay && ax >= az) {
      face = x < 0;
      major = ax, s = x < 0 ? z : -z, t = -y;
    } else if (ay >= az) {
      face = 2 + (y < 0);
      major = ay, s = x, t = y < 0 ? -z : z;
    } else {
      face = 4 + (z < 0);
      major = az, s = z < 0 ? -x : x, t = -y;
    }
    const std::uint64_t layer = std::uint64_t{layers_[lane]} * faces_of_cube + face;
    layers_[lane] = static_cast<std::uint32_t>(std::min<std::uint64_t>(layer, UINT32_MAX));
    c[0] = (s / major + 1) / 2;
    c[1] = (t / major + 1) / 2;
  }

  void set_positions(const TexelLevel &level, bool filtering) {
    filtering_ = filtering;
    const double sizes[3] = {static_cast<double>(level.width), static_cast<double>(level.height),
                             static_cast<double>(level.depth)};
    each_active(lanes_, [&](unsigned k) {
      for (unsigned n = 0; n < dimensions(); ++n) {
        const double x = coordinates_[k][n];
        // Whole numbers are of texels.
        const double at = !instruction_.flag ? x
                          : geometry_.cube   ? within(x * sizes[n])
                                             : unfolded(x, sizes[n], texels_, n);
        positions_[k][n] = position_of(at, filtering);
      }
    });
  }

  // f(lane, texel, weight) for one corner of what each lane reads; texel is null: the border.
  template <class F>
  void read(const TexelLevel &level, unsigned corner, F f) {
    const std::int64_t sizes[3] = {level.width, level.height, level.depth};
    Request r{warp_, instruction_, 0, texels_.bytes(), Operation::load};
    double weights[lanes_of_warp] = {};
    std::uint32_t bordering = 0;
    each_active(lanes_, [&](unsigned k) {
      std::int64_t at[3] = {};
      bool inside = true;
      double weight = 1;
      for (unsigned n = 0; n < dimensions(); ++n) {
        const Position &position = positions_[k][n];
        const bool next = corner >> n & 1;
        weight *= next ? position.weight : 1 - position.weight;
        const Beyond beyond = texels_.linear_memory ? Beyond::border : beyond_of(n);
        at[n] = folded(position.texel + next + (corner_offset_ >> n & 1), sizes[n], beyond);
        inside &= at[n] >= 0;
      }
      weights[k] = weight;
      if (weight == 0) return;
      (inside ? r.mask : bordering) |= 1u << k;
      const auto slice = static_cast<std::uint64_t>(at[2]) + layers_[k];
      r.addresses[k] = level.address + slice * level.slice +
                       static_cast<std::uint64_t>(at[1]) * level.pitch +
                       static_cast<std::uint64_t>(at[0]) * texels_.bytes();
    });
    if (r.mask) {
      Reach found;
      reach_texels(r, found);
      each_active(r.mask, [&](unsigned k) { f(k, found.at[k], weights[k]); });
    }
    each_active(bordering, [&](unsigned k) { f(k, nullptr, weights[k]); });
  }

  Beyond beyond_of(unsigned dimension) const {
    const Beyond beyond = texels_.beyond[dimension];
    // Whole numbers are not from 0 to 1.
    return instruction_.flag || beyond == Beyond::border ? beyond : Beyond::clamp;
  }

  void take(unsigned lane, const std::byte *texel, double weight) {
    for (unsigned n = 0; n < 4; ++n)
      if (texels_.reads_real())
        sums_[lane][n] += weight * real_of(texel, n);
      else
        bits_[lane][n] = integer_of(texel, n);
  }

  // A channel that is not there is 0, or 1 if it is the last.
  double real_of(const std::byte *texel, unsigned channel) const {
    if (channel >= texels_.channels) return channel == 3;
    if (!texel) return texels_.border[channel];
    const double value = real_at(texels_.channel, texel + channel * bytes_of(texels_.channel));
    return texels_.srgb && channel < 3 ? from_srgb(value) : value;
  }
  std::uint32_t integer_of(const std::byte *texel, unsigned channel) const {
    if (channel >= texels_.channels) return channel == 3;
    if (!texel) {
      const auto whole = static_cast<std::int64_t>(within(texels_.border[channel]));
      return static_cast<std::uint32_t>(whole);
    }
    return integer_at(texels_.channel, texel + channel * bytes_of(texels_.channel));
  }

  Warp &warp_;
  Instruction instruction_;
  const Texels &texels_;
  const Geometry &geometry_;
  std::uint32_t lanes_;
  bool filtering_ = false;
  unsigned corner_offset_ = 0;
  std::uint32_t layers_[lanes_of_warp] = {};
  double coordinates_[lanes_of_warp][3] = {};
  Position positions_[lanes_of_warp][3] = {};
  double sums_[lanes_of_warp][4] = {};
  std::uint32_t bits_[lanes_of_warp][4] = {};
};

// How many times the texels of level 0 are nearer to each other than the lanes, as a power of 2.
double level_by_gradients(const Warp &w, const Texels &texels, const Place32 *gradients,
                          unsigned dimensions, unsigned lane) {
  const TexelLevel &level = texels.levels[0];
  const double sizes[3] = {static_cast<double>(level.width), static_cast<double>(level.height),
                           static_cast<double>(level.depth)};
  double farthest_apart = 0;
  for (unsigned direction = 0; direction < 2; ++direction) {
    double sum = 0;
    for (unsigned n = 0; n < dimensions; ++n) {
      const double change = w.lanes<float>(gradients[direction * dimensions + n])[lane] * sizes[n];
      sum += change * change;
    }
    farthest_apart = std::max(farthest_apart, std::sqrt(sum));
  }
  return std::log2(farthest_apart);
}

// The levels that each lane reads: this one and the next.
Position level_of(const Texels &texels, double wanted) {
  wanted += texels.level_bias;
  if (wanted != wanted) wanted = 0;
  wanted = std::max<double>(std::min<double>(wanted, texels.most_level), texels.least_level);
  const auto last = static_cast<double>(texels.levels.size() - 1);
  wanted = wanted > 0 ? std::min(wanted, last) : 0;  // not NaN either
  if (!texels.between_levels) return {static_cast<std::int64_t>(std::floor(wanted + 0.5)), 0};
  return position_of(wanted + 0.5, true);
}

void tex(Warp &w, const Instruction &i, std::uint32_t mask) {
  const Geometry &geometry = geometries[i.option];
  const Place32 *results = list_of(w, i) + geometry.coordinates();
  const auto result = static_cast<Result>(i.immediate);
  const Place32 *choice = results + (result == Result::half_pairs ? 2 : 4);
  each_handle(w, i.a, mask, false, [&](const Texels &texels, std::uint32_t lanes) {
    Fetch fetch(w, i, texels, lanes);
    Position levels[lanes_of_warp] = {};
    if (texels.levels.size() > 1 && static_cast<Choice>(i.option2) != Choice::base)
      each_active(lanes, [&](unsigned k) {
        levels[k] =
            level_of(texels, static_cast<Choice>(i.option2) == Choice::gradients
                                 ? level_by_gradients(w, texels, choice, geometry.dimensions, k)
                             : i.size ? static_cast<double>(w.lanes<std::int32_t>(choice[0])[k])
                                      : static_cast<double>(w.lanes<float>(choice[0])[k]));
      });
    // Lanes of the same levels together.
    for (std::uint32_t left = lanes; left;) {
      const Position first = levels[std::countr_zero(left)];
      std::uint32_t same = 0;
      each_active(left, [&](unsigned k) {
        same |= std::uint32_t{levels[k].texel == first.texel && levels[k].weight == first.weight}
                << k;
      });
      left &= ~same;
      fetch.choose(same);
      const auto level = static_cast<std::size_t>(first.texel);
      fetch.sample(texels.levels[level], 1 - first.weight);
      if (first.weight > 0) fetch.sample(texels.levels[level + 1], first.weight);
    }
    each_active(lanes, [&](unsigned k) {
      if (result == Result::half_pairs)
        for (unsigned n = 0; n < 2; ++n)
          w.lanes<std::uint32_t>(results[n])[k] =
              static_cast<std::uint32_t>(fetch.half_result(k, 2 * n)) |
              static_cast<std::uint32_t>(fetch.half_result(k, 2 * n + 1)) << 16;
      else if (result == Result::half)
        for (unsigned n = 0; n < 4; ++n)
          w.lanes<std::uint16_t>(results[n])[k] = fetch.half_result(k, n);
      else
        for (unsigned n = 0; n < 4; ++n) w.lanes<std::uint32_t>(results[n])[k] = fetch.result(k, n);
    });
  });
}

void tld4(Warp &w, const Instruction &i, std::uint32_t mask) {
  const Place32 *results = list_of(w, i) + geometries[i.option].coordinates();
  each_handle(w, i.a, mask, false, [&](const Texels &texels, std::uint32_t lanes) {
    Fetch fetch(w, i, texels, lanes);
    fetch.gather(texels.levels[0], i.option2);
    each_active(lanes, [&](unsigned k) {
      for (unsigned n = 0; n < 4; ++n) w.lanes<std::uint32_t>(results[n])[k] = fetch.result(k, n);
    });
  });
}

void bind_results(Lowering &l, Type type, std::size_t count, std::vector<Place32> &list) {
  const Operand &results = l.operand(0);
  if (results.kind != Operand::Kind::vector || results.parts.size() != count)
    l.refuse("a vector of " + std::to_string(count) + " is expected");
  for (const Operand &part : results.parts) list.push_back(l.write(part, type));
}

void select_tex(Lowering &l) {
  const Choice choice = l.take("level")  ? Choice::level
                        : l.take("grad") ? Choice::gradients
                                         : Choice::base;
  l.take("base");
  l.out.option2 = static_cast<std::uint16_t>(choice);
  const Geometry &geometry = take_geometry(l);
  const bool pairs = l.take("v2");
  if (!pairs && !l.take("v4")) l.refuse("its result is a vector");
  const Type type = l.type(), coordinate = l.type();
  if (pairs ? type != Type::f16x2
            : type != Type::u32 && type != Type::s32 && type != Type::f32 && type != Type::f16)
    l.refuse_type(type);
  if (coordinate != Type::f32 && (coordinate != Type::s32 || geometry.cube))
    l.refuse_type(coordinate);
  // Behind them there may be an offset, or a number that depths are compared with.
  const std::size_t wanted = choice == Choice::base ? 2 : choice == Choice::level ? 3 : 4;
  if (l.operands() > wanted) l.refuse("offsets and comparisons are not supported");
  l.expect_operands(wanted);
  std::vector<Place32> list;
  bind_texels(l, 1, geometry, coordinate, list);
  l.out.flag = coordinate == Type::f32;
  l.out.immediate = static_cast<std::int64_t>(pairs               ? Result::half_pairs
                                              : type == Type::f16 ? Result::half
                                                                  : Result::bits);
  bind_results(l,
               pairs               ? Type::b32
               : type == Type::f16 ? Type::b16
                                   : Type::b32,
               pairs ? 2 : 4, list);
  if (choice == Choice::level) {
    // Of the type of the coordinates.
    list.push_back(l.read(2, coordinate));
    l.out.size = coordinate == Type::s32;
  }
  for (std::size_t i = 2; choice == Choice::gradients && i < 4; ++i) {
    const Operand &given = l.operand(i);
    if (given.kind != Operand::Kind::vector || given.parts.size() < geometry.dimensions)
      l.refuse("a gradient is a vector with a number for each dimension");
    for (unsigned n = 0; n < geometry.dimensions; ++n)
      list.push_back(l.read(given.parts[n], Type::f32));
  }
  l.out.list = l.add_list(list);
  l.out.run = tex;
}

void select_tld4(Lowering &l) {
  constexpr std::string_view channels = "rgba";
  const auto channel = channels.find(l.take_next());
  if (channel > 3) l.refuse("the channel is missing");
  l.out.option2 = static_cast<std::uint16_t>(channel);
  const Geometry &geometry = take_geometry(l);
  if (geometry.dimensions != 2) l.refuse("only of two dimensions");
  if (!l.take("v4")) l.refuse("its result is a vector of 4");
  const Type type = l.type(), coordinate = l.type();
  if (type != Type::u32 && type != Type::s32 && type != Type::f32) l.refuse_type(type);
  if (coordinate != Type::f32) l.refuse_type(coordinate);
  if (l.operands() > 2) l.refuse("offsets and comparisons are not supported");
  l.expect_operands(2);
  std::vector<Place32> list;
  bind_texels(l, 1, geometry, coordinate, list);
  l.out.flag = true;
  bind_results(l, Type::b32, 4, list);
  l.out.list = l.add_list(list);
  l.out.run = tld4;
}

// What is asked of an object.
using Ask = std::uint32_t (*)(const Texels &texels, const TexelLevel &level);
struct Question {
  std::string_view name;
  bool of_surfaces, of_textures, of_levels;
  Ask ask;
};

template <unsigned dimension>
std::uint32_t mode_of(const Texels &texels, const TexelLevel &) {
  constexpr std::uint32_t numbers[] = {0, 3, 1, 4};  // of PTX: wrap, clamp, mirror, border
  return numbers[static_cast<unsigned>(texels.beyond[dimension])];
}

constexpr Question questions[] = {
    {"width", true, true, true, [](const Texels &, const TexelLevel &l) { return l.width; }},
    {"height", true, true, true, [](const Texels &, const TexelLevel &l) { return l.height; }},
    {"depth", true, true, true, [](const Texels &, const TexelLevel &l) { return l.depth; }},
    {"channel_data_type", true, true, false,
     [](const Texels &t, const TexelLevel &) { return data_type_of(t); }},
    {"channel_order", true, true, false,
     [](const Texels &t, const TexelLevel &) { return order_of(t); }},
    {"array_size", true, true, false, [](const Texels &t, const TexelLevel &) { return t.layers; }},
    {"memory_layout", true, false, false, [](const Texels &, const TexelLevel &) { return 0u; }},
    {"normalized_coords", false, true, false,
     [](const Texels &t, const TexelLevel &) { return std::uint32_t{t.normalized}; }},
    {"num_mipmap_levels", false, true, false,
     [](const Texels &t, const TexelLevel &) {
       return static_cast<std::uint32_t>(t.levels.size());
     }},
    {"filter_mode", false, true, false,
     [](const Texels &t, const TexelLevel &) { return std::uint32_t{t.filtered}; }},
    {"addr_mode_0", false, true, false, mode_of<0>},
    {"addr_mode_1", false, true, false, mode_of<1>},
    {"addr_mode_2", false, true, false, mode_of<2>},
};

void query(Warp &w, const Instruction &i, std::uint32_t mask) {
  std::uint32_t *d = w.lanes<std::uint32_t>(i.d);
  each_handle(w, i.a, mask, i.flag, [&](const Texels &texels, std::uint32_t lanes) {
    const auto last = static_cast<std::uint32_t>(texels.levels.size() - 1);
    each_active(lanes, [&](unsigned k) {
      const std::uint32_t level = i.size ? std::min(w.lanes<std::uint32_t>(i.b)[k], last) : 0;
      d[k] = questions[i.option].ask(texels, texels.levels[level]);
    });
  });
}

void select_query(Lowering &l) {
  l.out.flag = l.root == "suq";
  const bool level = !l.out.flag && l.take("level");
  const std::string_view name = l.take_next();
  const auto found = std::find_if(std::begin(questions), std::end(questions), [&](auto &each) {
    return each.name == name && (l.out.flag ? each.of_surfaces : each.of_textures);
  });
  if (found == std::end(questions) || (level && !found->of_levels))
    l.refuse("'" + std::string(name.substr(0, 80)) + "' cannot be asked here");
  l.out.option = static_cast<std::uint16_t>(found - std::begin(questions));
  if (!l.take("b32")) l.refuse("the answer is of the type .b32");
  l.expect_operands(level ? 3 : 2);
  l.out.d = l.write(0, Type::b32);
  bind_handle(l, 1);
  l.out.size = level;
  if (level) l.out.b = l.read(2, Type::u32);
  l.out.run = query;
}

// Whether a handle is of such an object; what is none is not an error here.
void is_type(Warp &w, const Instruction &i, std::uint32_t mask) {
  const std::uint64_t *handles = w.lanes<std::uint64_t>(i.a);
  std::uint32_t is = 0;
  each_active(mask, [&](unsigned k) {
    const Texels *texels = w.worker.launch.environment.texels(handles[k]);
    is |= std::uint32_t{texels && i.size && texels->is_surface == i.flag} << k;
  });
  std::uint32_t &d = w.bits(i.d);
  d = (d & ~mask) | is;
}

void select_is_type(Lowering &l) {
  l.out.flag = l.take("surfref");
  l.out.size = l.out.flag || l.take("texref");
  if (!l.out.size && !l.take("samplerref")) l.refuse("what it is to be is missing");
  l.expect_operands(2);
  l.out.d = l.write(0, Type::pred);
  l.out.a = l.read(1, Type::u64);
  l.out.run = is_type;
}

}  // namespace

bool select_texture(Lowering &l) {
  if (l.root == "tex") return select_tex(l), true;
  if (l.root == "tld4") return select_tld4(l), true;
  if (l.root == "txq" || l.root == "suq") return select_query(l), true;
  if (l.root == "istypep") return select_is_type(l), true;
  return false;
}

}  // namespace simcuda::kernel
