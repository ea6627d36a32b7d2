// A Rig is a decoded instruction and a frame made by hand. For each level of the host check2() runs warps of
// random and special operands through it; every fourth warp has lanes switched off, every eighth runs once
// more with source and destination in one register. Operands are those where arithmetic goes wrong: near one,
// near the least normal number, subnormal, special.
#include "arithmetic_fixture.h"

#include "isa/form.h"
#include "numeric/format.h"
#include "vgpu/code/decoder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

namespace lemma::vgpu {
namespace {

using isa::Type;

constexpr uint64_t kUntouched = 0xa5a5a5a5a5a5a5a5;

uint64_t mask_of_type(Type type) {
  const int bits = isa::bits_of(type);
  return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

// The element format behind a floating-point type, packed ones included.
numeric::FloatFormat element_format(Type type) {
  switch (type) {
  case Type::f16:
  case Type::f16x2:
    return numeric::FloatFormat::f16;
  case Type::bf16:
  case Type::bf16x2:
    return numeric::FloatFormat::bf16;
  case Type::f64:
    return numeric::FloatFormat::f64;
  case Type::e4m3x2:
    return numeric::FloatFormat::e4m3;
  case Type::e5m2x2:
    return numeric::FloatFormat::e5m2;
  default:
    return numeric::FloatFormat::f32;
  }
}

uint64_t random_element(const numeric::FormatTraits& t, uint64_t random) {
  const uint64_t bits = random & t.storage_mask();
  switch (random >> 60) {
  case 0:
  case 1:
  case 2: { // near one, so that sums cancel and products stay in range
    const uint64_t exponent = t.bias - 2 + (random >> 56 & 3);
    return (bits & ~t.infinity()) | exponent << t.fraction_field_bits();
  }
  case 3:
  case 4: { // near the smallest normal number
    const uint64_t exponent = random >> 56 & 3;
    return (bits & ~t.infinity()) | exponent << t.fraction_field_bits();
  }
  case 5: // subnormal
    return bits & ~t.infinity();
  case 6: { // half the exponent of the smallest: products land at the edge
    const uint64_t exponent = t.bias / 2 + (random >> 56 & 3);
    return (bits & ~t.infinity()) | exponent << t.fraction_field_bits();
  }
  default:
    return bits;
  }
}

uint64_t random_bits(Type type, Random& random) {
  const uint64_t r = random();
  const auto& special = special_bits(type);
  if (random() % 4 == 0)
    return special[r % special.size()];
  const uint64_t mask = mask_of_type(type);
  if (isa::is_float(type)) {
    const numeric::FormatTraits& t = numeric::traits(element_format(type));
    uint64_t bits = 0;
    for (int at = 0; at < isa::bits_of(type); at += t.storage_bits)
      bits |= random_element(t, random()) << at;
    return bits & mask;
  }
  switch (r >> 61) {
  case 0:
    return r & mask & 0xff;
  case 1: // around a power of two
    return ((uint64_t{1} << (r & 63)) + (r >> 8 & 3) - 1) & mask;
  default:
    return random() & mask;
  }
}

// A frame laid out by hand: operands one after the other, predicates as masks.
class Rig {
public:
  Rig(const Selection& selection, const CheckOptions& options) : selection_(selection) {
    in_.handler = selection.handler;
    in_.flags = selection.flags;
    in_.width = selection.width;
    in_.imm = options.lut >= 0 ? options.lut : selection.imm;
    const int dsts = options.dst_count != 0 ? options.dst_count : selection.dst_count;
    for (int i = 0; i < dsts; ++i)
      place(selection.dst[i], i == 0 ? options.dst_bytes : 0);
    for (int i = 0; i < selection.src_count; ++i)
      place(selection.src[i], i < int(options.src_bytes.size()) ? options.src_bytes[i] : 0);
    set_operands(static_cast<size_t>(dsts));
  }
  // Source 0 in the register of destination 0, if they are of one size.
  bool share() {
    Slot& source = slots_[in_.dst_count];
    if (source.bytes != slots_[0].bytes || selection_.src_count == 0)
      return false;
    source = slots_[0];
    set_operands(in_.dst_count);
    return true;
  }

  int dst_count() const { return in_.dst_count; }
  Type dst_type(int i) const { return selection_.dst[i]; }
  int dst_bytes(int i) const { return slots_[i].bytes; }

  void set(int operand, int lane, uint64_t bits) {
    const Slot& slot = slots_[operand];
    if (slot.bytes == 0) {
      uint32_t mask = 0;
      std::memcpy(&mask, at(slot), 4);
      mask = (mask & ~(1u << lane)) | uint32_t(bits & 1) << lane;
      std::memcpy(at(slot), &mask, 4);
    } else {
      std::memcpy(at(slot) + lane * slot.bytes, &bits, slot.bytes);
    }
  }
  uint64_t get(int operand, int lane) {
    const Slot& slot = slots_[operand];
    uint64_t bits = 0;
    if (slot.bytes == 0) {
      std::memcpy(&bits, at(slot), 4);
      return bits >> lane & 1;
    }
    std::memcpy(&bits, at(slot) + lane * slot.bytes, slot.bytes);
    return bits;
  }

  bool run(LaneMask active, Frame* frame) {
    Exec x;
    x.active = active;
    x.mask = active;
    x.bases[0] = frame_;
    x.bases[1] = frame_;
    x.frame = frame;
    x.code = &code_;
    EXPECT_EQ(in_.handler(x, in_), Step::next);
    return x.approximate;
  }

private:
  void set_operands(size_t dsts) {
    code_.set_operands(in_, std::span(slots_).first(dsts), std::span(slots_).subspan(dsts));
  }
  std::byte* at(const Slot& slot) { return frame_ + slot.offset; }
  void place(Type type, int bytes) {
    Slot slot;
    slot.offset = used_;
    slot.bytes = static_cast<uint8_t>(bytes != 0           ? bytes
                                      : type == Type::pred ? 0
                                                           : std::max(2, isa::bytes_of(type)));
    used_ += 64 + 32 * slot.bytes;
    ASSERT_LE(used_, sizeof(frame_));
    slots_.push_back(slot);
  }

  const Selection selection_;
  Code code_;
  DecodedInst in_;
  std::vector<Slot> slots_;
  alignas(64) std::byte frame_[4096] = {};
  uint32_t used_ = 0;
};

std::string describe(std::string_view spelling, HostLevel level, int lane,
                     const std::vector<uint64_t>& sources) {
  std::string text = fmt::format("{} ({}), lane {}:", spelling, to_string(level), lane);
  for (const uint64_t source : sources)
    text += fmt::format(" {:#x}", source);
  return text;
}

// One set of lanes. False after a difference.
bool run_case(std::string_view spelling, HostLevel level, const Selection& selection,
              const CheckOptions& options, const Reference& reference, bool share, LaneMask active,
              Random& random) {
  Rig rig(selection, options);
  if (share && !rig.share())
    return true;
  std::vector<std::vector<uint64_t>> sources(kWarpSize);
  std::vector<std::array<uint64_t, 2>> before(kWarpSize);
  for (int lane = 0; lane < kWarpSize; ++lane) {
    for (int i = 0; i < rig.dst_count(); ++i)
      rig.set(i, lane, kUntouched);
    for (int i = 0; i < selection.src_count; ++i) {
      const Type type = selection.src[i];
      const uint64_t bits =
          options.source ? options.source(i, random()) & mask_of_type(type) : random_bits(type, random);
      const int width = i < int(options.src_bytes.size()) ? options.src_bytes[i] : 0;
      const uint64_t garbage = width != 0 ? random() & ~mask_of_type(type) : 0; // above the type: ignored
      rig.set(rig.dst_count() + i, lane, bits | garbage);
      sources[lane].push_back(bits);
    }
    for (int i = 0; i < rig.dst_count(); ++i)
      before[lane][i] = rig.get(i, lane);
  }
  Frame frame;
  rig.run(active, &frame);
  for (int lane = 0; lane < kWarpSize; ++lane) {
    uint64_t expected[2] = {before[lane][0], before[lane][1]};
    if ((active >> lane & 1) != 0)
      reference(sources[lane].data(), expected);
    for (int i = 0; i < rig.dst_count(); ++i) {
      const int bytes = rig.dst_bytes(i);
      const uint64_t mask = bytes == 0 ? 1 : bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * bytes) - 1;
      const uint64_t got = rig.get(i, lane);
      if (got != (expected[i] & mask)) {
        ADD_FAILURE() << describe(spelling, level, lane, sources[lane])
                      << fmt::format("\n  destination {}: {:#x}, expected {:#x}{}", i, got,
                                     expected[i] & mask, (active >> lane & 1) != 0 ? "" : " (inactive)");
        return false;
      }
    }
  }
  return true;
}

} // namespace

uint64_t Random::operator()() { // splitmix64
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

const std::vector<uint64_t>& special_bits(Type type) {
  static std::vector<std::vector<uint64_t>> known(256);
  std::vector<uint64_t>& bits = known[static_cast<size_t>(type)];
  if (!bits.empty())
    return bits;
  const uint64_t mask = mask_of_type(type);
  if (!isa::is_float(type)) {
    const uint64_t top = mask ^ mask >> 1;
    bits = {0,        1,   2,       31 & mask,        32 & mask,     mask,
            mask - 1, top, top - 1, (top + 1) & mask, 0x8000 & mask, 0xff & mask};
    if (type == Type::pred)
      bits = {0, 1};
    return bits;
  }
  const numeric::FormatTraits& t = numeric::traits(element_format(type));
  const uint64_t one = uint64_t(t.bias) << t.fraction_field_bits(), infinity = t.infinity();
  const uint64_t half_quiet = infinity | uint64_t{1} << (t.fraction_field_bits() - 1);
  std::vector<uint64_t> elements = {0,
                                    1,
                                    2,
                                    t.min_normal() - 1,
                                    t.min_normal(),
                                    t.min_normal() + 1,
                                    one - 1,
                                    one,
                                    one + 1,
                                    t.max_finite(),
                                    infinity,
                                    infinity + 1,
                                    half_quiet,
                                    half_quiet + 5,
                                    t.magnitude_mask()};
  for (size_t i = 0, n = elements.size(); i < n; ++i)
    elements.push_back(elements[i] | t.sign_mask());
  for (size_t i = 0; i < elements.size(); ++i) {
    uint64_t packed = 0;
    for (int at = 0, k = 0; at < isa::bits_of(type); at += t.storage_bits, ++k)
      packed |= elements[(i * (k + 1) + 7 * k) % elements.size()] << at;
    bits.push_back(packed & mask);
  }
  return bits;
}

namespace {
isa::MatchCache& spellings() {
  static isa::MatchCache cache;
  return cache;
}
} // namespace

bool is_legal(std::string_view spelling) {
  Diagnostic error;
  return spellings().find(spelling, 0, error) != nullptr;
}

ptx::Instruction instruction_of(std::string_view spelling) {
  ptx::Instruction instruction;
  Diagnostic error;
  const isa::Match* match = spellings().find(spelling, 0, error);
  if (match == nullptr) {
    ADD_FAILURE() << spelling << ": " << error.message;
    return instruction;
  }
  instruction.opcode = match->opcode;
  instruction.binding = &match->bindings.front();
  if (instruction.opcode == isa::Opcode::lop3)
    instruction.operands = ptx::Operands(instruction.form()->operands.size()); // the immediate is the fifth
  return instruction;
}

void check2(std::string_view spelling, const Reference& reference, const CheckOptions& options) {
  ptx::Instruction instruction = instruction_of(spelling);
  if (!options.operands.empty())
    instruction.operands = ptx::Operands(options.operands);
  const HostLevel before = host_level();
  for (const HostLevel level : host_levels()) {
    set_host_level(level);
    Selection selection;
    if (!pick_arithmetic(instruction, selection)) {
      ADD_FAILURE() << "no row for " << spelling;
      break;
    }
    Random random(std::hash<std::string_view>{}(spelling));
    bool ok = true;
    for (int warp = 0; ok && warp < options.warps; ++warp) {
      const LaneMask active = warp % 4 == 3 ? static_cast<LaneMask>(random()) : kAllLanes;
      ok = run_case(spelling, level, selection, options, reference, false, active, random);
      if (ok && warp % 8 == 5)
        ok = run_case(spelling, level, selection, options, reference, true, active, random);
    }
  }
  set_host_level(before);
}

void check(std::string_view spelling, const Expected& reference, const CheckOptions& options) {
  check2(spelling, [&](const uint64_t* s, uint64_t* d) { d[0] = reference(s); }, options);
}

Machine::Machine() = default;

std::vector<uint64_t> Machine::run(std::string_view spelling,
                                   const std::vector<std::vector<uint64_t>>& sources) {
  std::vector<uint64_t> result(kWarpSize);
  Selection selection;
  if (!pick_arithmetic(instruction_of(spelling), selection) || selection.src_count != sources.size()) {
    ADD_FAILURE() << "no row for " << spelling;
    return result;
  }
  Rig rig(selection, {});
  for (int lane = 0; lane < kWarpSize; ++lane)
    for (size_t i = 0; i < sources.size(); ++i)
      rig.set(rig.dst_count() + int(i), lane, sources[i][lane]);
  approximate |= rig.run(active, &frame);
  for (int lane = 0; lane < kWarpSize; ++lane)
    result[lane] = rig.get(0, lane);
  return result;
}

} // namespace lemma::vgpu
