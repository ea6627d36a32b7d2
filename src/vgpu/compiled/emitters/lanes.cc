// Where lanes become narrower, or come from two registers, one permutation of both does it, by a list of
// elements in the pool: the host's own narrowing takes longer, and leaves halves to be joined.
#include "vgpu/compiled/emitters/lanes.h"

#include <cstring>

namespace lemma::vgpu {
namespace {

using Elements = std::array<int, kPartBytes / 2>;

// to[i] = element elements[i] of `low` and then `high`.
void permute_two(Emit& e, const x86::Zmm& to, const x86::Zmm& low, const x86::Zmm& high, int bytes,
                 const Elements& elements) {
  std::array<std::byte, kPartBytes> list{};
  for (int i = 0; i < kPartBytes / bytes; ++i) {
    const int64_t element = elements[static_cast<size_t>(i)];
    std::memcpy(&list[static_cast<size_t>(i * bytes)], &element, static_cast<size_t>(bytes));
  }
  e.a.vmovdqa64(to, e.vector(list));
  switch (bytes) {
  case 2:
    e.a.vpermi2w(to, low, high);
    break;
  case 4:
    e.a.vpermi2d(to, low, high);
    break;
  default:
    e.a.vpermi2q(to, low, high);
    break;
  }
}

} // namespace

void widen_part(Emit& e, const x86::Zmm& to, const Value& from, int part, int bytes, bool is_signed) {
  const int ratio = bytes / from.lane_bytes;
  const x86::Zmm source = from[part / ratio];
  const int piece = part % ratio;
  if (ratio == 4) {
    const x86::Xmm quarter = piece == 0 ? source.xmm() : to.xmm();
    if (piece != 0)
      e.a.vextracti32x4(quarter, source, piece);
    is_signed ? e.a.vpmovsxwq(to, quarter) : e.a.vpmovzxwq(to, quarter);
    return;
  }
  const x86::Ymm half = piece == 0 ? source.ymm() : to.ymm();
  if (piece != 0)
    e.a.vextracti64x4(half, source, 1);
  if (bytes == 4)
    is_signed ? e.a.vpmovsxwd(to, half) : e.a.vpmovzxwd(to, half);
  else
    is_signed ? e.a.vpmovsxdq(to, half) : e.a.vpmovzxdq(to, half);
}

void take_every_second(Emit& e, const x86::Zmm& to, const x86::Zmm& low, const x86::Zmm& high, int bytes,
                       bool odd) {
  Elements elements{};
  for (size_t i = 0; i < elements.size(); ++i)
    elements[i] = static_cast<int>(2 * i + odd);
  permute_two(e, to, low, high, bytes, elements);
}

void interleave(Emit& e, const x86::Zmm& to, const x86::Zmm& low, const x86::Zmm& high, int bytes,
                int second_half) {
  const int count = kPartBytes / bytes;
  Elements elements{};
  for (int i = 0; i < count; ++i)
    elements[static_cast<size_t>(i)] = i % 2 * count + second_half * count / 2 + i / 2;
  permute_two(e, to, low, high, bytes, elements);
}

Value temporaries(Emit& e, int lane_bytes) {
  Value value{.parts = parts_of(lane_bytes), .lane_bytes = lane_bytes};
  for (int part = 0; part < value.parts; ++part)
    value.part[static_cast<size_t>(part)] = e.temporary();
  return value;
}

void resize(Emit& e, const Value& to, const Value& from, bool is_signed) {
  if (to.lane_bytes == from.lane_bytes) {
    for (int part = 0; part < to.parts; ++part)
      e.a.vmovdqa64(to[part], from[part]);
  } else if (to.lane_bytes > from.lane_bytes) {
    for (int part = 0; part < to.parts; ++part)
      widen_part(e, to[part], from, part, to.lane_bytes, is_signed);
  } else if (to.lane_bytes * 4 == from.lane_bytes) {
    const x86::Zmm x = e.temporary(), y = e.temporary();
    take_every_second(e, x, from[0], from[1], 4, false);
    take_every_second(e, y, from[2], from[3], 4, false);
    take_every_second(e, to[0], x, y, 2, false);
  } else {
    for (int part = 0; part < to.parts; ++part)
      take_every_second(e, to[part], from[2 * part], from[2 * part + 1], to.lane_bytes, false);
  }
}

Value resized(Emit& e, const Value& from, int bytes, bool is_signed) {
  if (from.lane_bytes == bytes)
    return from;
  const Value to = temporaries(e, bytes);
  resize(e, to, from, is_signed);
  return to;
}

void part_of_mask(Emit& e, const x86::KReg& to, const x86::Gp& lanes, int lane_bytes, int part) {
  e.a.kmovd(to, lanes.r32());
  if (part != 0)
    e.a.kshiftrd(to, to, part * kPartBytes / lane_bytes);
}

void move_under(Emit& e, const x86::KReg& mask, int lane_bytes, const x86::Zmm& to, const x86::Zmm& from) {
  switch (lane_bytes) {
  case 2:
    e.a.k(mask).vmovdqu16(to, from);
    break;
  case 4:
    e.a.k(mask).vmovdqa32(to, from);
    break;
  default:
    e.a.k(mask).vmovdqa64(to, from);
    break;
  }
}

void fill(Emit& e, const x86::Zmm& to, int lane_bytes, uint64_t value) {
  if (value == 0)
    e.a.vpxord(to, to, to);
  else if (lane_bytes == 8)
    e.a.vpbroadcastq(to, e.number64(value));
  else
    e.a.vpbroadcastd(
        to, e.number32(static_cast<uint32_t>(lane_bytes == 2 ? value << 16 | (value & 0xffff) : value)));
}

} // namespace lemma::vgpu
