// The coordinates of a case: case.h says which there are.
#include "case.h"

#include <algorithm>
#include <iterator>

namespace textures {
namespace {

unsigned size_on(const Case& c, const std::string& axis) {
  const bool layered = c.shape == Shape::a1d || c.shape == Shape::a2d;
  if (axis == "x")
    return c.width;
  if (axis == "y")
    return std::max(c.height, 1u);
  if (axis == "l")
    return layered ? c.depth : std::max(c.depth / 6, 1u);
  return std::max(c.depth, 1u);
}

float coordinate(double texel, unsigned size, bool is_normalized) {
  return static_cast<float>(is_normalized ? texel / size : texel);
}

float neighbour(float value, int steps) {
  const float towards = steps < 0 ? -INFINITY : INFINITY;
  for (; steps; steps += steps < 0 ? 1 : -1)
    value = std::nextafterf(value, towards);
  return value;
}

float special(Random& random) {
  static constexpr uint32_t kFixed[] = {0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001,
                                        0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff,
                                        0x807fffff, 0x7f7fffff, 0xff7fffff, 0x4b800000, 0xcb800000,
                                        0x4f000000, 0xcf000000, 0x4effffff};
  const uint32_t kind = random.below(4);
  if (kind == 0)
    return float_of(kFixed[random.below(static_cast<uint32_t>(std::size(kFixed)))]);
  if (kind == 1)
    return random_float(random, -126, 127);
  if (kind == 2)
    return random_float(random, 8, 34);
  return float_of(random.bits());
}

// Beside a multiple of 1/512 of a texel, to which coordinates may be rounded.
float beside(Random& random, unsigned size, bool is_normalized) {
  const double texel =
      random.between(-512 * 2, 512 * 3) / 512.0 +
      (random.below(2) ? random.between(-2 * static_cast<int>(size), 3 * static_cast<int>(size)) : 0);
  return neighbour(coordinate(texel, size, is_normalized), random.between(-2, 2));
}

float uniform(Random& random, unsigned size, bool is_normalized) {
  return coordinate((random.unit() * 7 - 3) * size, size, is_normalized);
}

std::vector<float> lattice(Random& random, unsigned size, bool is_normalized) {
  std::vector<float> values;
  for (int k = -1536; k <= 2560; ++k)
    values.push_back(coordinate(k / 1024.0, size, is_normalized));
  for (int k = -768; k <= 768; ++k)
    values.push_back(coordinate(size + k / 512.0, size, is_normalized));
  for (int e = -149; e < 128; ++e)
    for (const uint32_t sign : {0u, 0x80000000u}) {
      const float power = std::ldexp(1.0f, e);
      values.push_back(float_of(bits_of(power) | sign));
      if (e >= -126)
        values.push_back(float_of(bits_of(power) | sign | (random.bits() & 0x7fffff)));
    }
  for (int i = 0; i < 1024; ++i)
    values.push_back(beside(random, size, is_normalized));
  for (int i = 0; i < 512; ++i)
    values.push_back(uniform(random, size, is_normalized));
  for (int i = 0; i < 128; ++i)
    values.push_back(special(random));
  return values;
}

float drawn(Random& random, unsigned size, bool is_normalized, unsigned kind) {
  switch (kind % 8) {
  case 0:
  case 1:
  case 2:
    return uniform(random, size, is_normalized);
  case 3:
  case 4:
    return beside(random, size, is_normalized);
  case 5:
    return coordinate((random.unit() * 1.5 - 0.25) * size, size, is_normalized);
  case 6:
    return neighbour(coordinate(random.between(-4096, 4096) / 1024.0, size, is_normalized),
                     random.between(-1, 1));
  default:
    return special(random);
  }
}

float inside(Random& random, unsigned size, bool is_normalized) {
  return coordinate(0.5 + random.unit() * (size - 1), size, is_normalized);
}

uint32_t whole(Random& random, unsigned size) {
  switch (random.below(8)) {
  case 0:
    return static_cast<uint32_t>(random.between(-3, 3));
  case 1:
    return size + static_cast<uint32_t>(random.between(-3, 3));
  case 2:
    return random.bits() >> random.below(32);
  case 3:
    return 0 - (random.bits() >> random.below(32));
  default:
    return random.below(size);
  }
}

uint32_t layer(Random& random, unsigned size, bool always_inside) {
  return always_inside || random.below(4) ? random.below(size) : whole(random, size);
}

void add_extra(const Case& c, Random& random, std::vector<uint32_t>& fetch) {
  if (c.instruction.find(".level") != std::string::npos || c.instruction.find(".grad") != std::string::npos) {
    for (int i = 0; i < 8; ++i)
      fetch.push_back(bits_of(random.below(4) ? random_float(random, -12, 8) : special(random)));
    return;
  }
  for (int i = 0; i < 8; ++i) // what is stored: numbers as often as patterns
    fetch.push_back(random.below(2) ? bits_of(random_float(random, -20, 20)) : random.bits());
}

std::vector<uint32_t> fetch_of(const Case& c, Random& random, const std::vector<std::vector<float>>& lattices,
                               unsigned number, unsigned kind) {
  std::vector<uint32_t> fetch;
  const std::vector<std::string> axes = coordinate_names(c.shape);
  const bool is_normalized = normalized(c);
  for (size_t i = 0; i < axes.size(); ++i) {
    const unsigned size = size_on(c, axes[i]);
    const bool integers = c.where == Where::whole || c.where == Where::bytes || c.where == Where::elements;
    if (axes[i] == "l" && !integers) {
      fetch.push_back(layer(random, size, c.where == Where::inside));
    } else if (integers) {
      const uint32_t at = whole(random, size);
      fetch.push_back(c.where == Where::bytes && axes[i] == "x" ? at * element_bytes(c) : at);
    } else if (c.where == Where::directions) {
      fetch.push_back(bits_of(random.below(16) ? random_float(random, -3, 0)
                                               : static_cast<float>(random.between(-2, 2)) / 2));
    } else if (c.where == Where::inside) {
      fetch.push_back(bits_of(inside(random, size, is_normalized)));
    } else if (c.where == Where::near) {
      fetch.push_back(bits_of(coordinate((random.unit() * 1.25 - 0.125) * size, size, is_normalized)));
    } else if (lattices.empty()) {
      fetch.push_back(bits_of(drawn(random, size, is_normalized, kind)));
    } else if (axes.size() == 1) {
      fetch.push_back(bits_of(lattices[i][number % lattices[i].size()]));
    } else {
      fetch.push_back(bits_of(lattices[i][random.below(static_cast<uint32_t>(lattices[i].size()))]));
    }
  }
  fetch.resize(4);
  add_extra(c, random, fetch);
  return fetch;
}

} // namespace

std::vector<uint32_t> kept_fetches(const Case& c) {
  Random random(c.name, 1);
  std::vector<std::vector<float>> lattices;
  size_t count = c.kept;
  if (c.where == Where::lattice)
    for (const std::string& axis : coordinate_names(c.shape))
      lattices.push_back(lattice(random, size_on(c, axis), normalized(c)));
  if (lattices.size() == 1)
    count = lattices[0].size();
  std::vector<uint32_t> fetches;
  for (unsigned i = 0; i < count; ++i) {
    const std::vector<uint32_t> fetch = fetch_of(c, random, lattices, i, 0);
    fetches.insert(fetches.end(), fetch.begin(), fetch.end());
  }
  return fetches;
}

std::vector<uint32_t> held_fetches(const Case& c, unsigned part) {
  Random random(c.name, 1000 + part);
  std::vector<uint32_t> fetches;
  for (unsigned i = 0; i < 1024; ++i) {
    const std::vector<uint32_t> fetch = fetch_of(c, random, {}, i, part);
    fetches.insert(fetches.end(), fetch.begin(), fetch.end());
  }
  return fetches;
}

} // namespace textures
