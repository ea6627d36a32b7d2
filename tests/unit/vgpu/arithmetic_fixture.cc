// A Rig is a decoded instruction and a frame made by hand. For each level of the host check2() runs warps of
// random and special operands through it; every fourth warp has lanes switched off, every eighth runs once
// more with source and destination in one register. Compiled code has more Variants: each source in the
// register of the destination, each source a constant, guards. Operands are those where arithmetic goes
// wrong: near one, near the least normal number, subnormal, special.
#include "arithmetic_fixture.h"

#include "isa/form.h"
#include "numeric/format.h"
#include "vgpu/code/decoder.h"
#include "vgpu/compiled/compiled_code.h"
#include "vgpu/compiled/generate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <optional>

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

// How an instruction's operands lie, beyond registers of their own.
struct Variant {
  int shared = -1;   // the source that is in the register of destination 0
  int constant = -1; // the source that is the same in all lanes, and known when code is compiled ...
  uint64_t bits = 0; // ... as these bits
  bool guarded = false;
  bool negated = false;
};

// A frame laid out by hand: operands one after the other, predicates as masks.
class Rig {
public:
  Rig(const ptx::Instruction& instruction, const Selection& selection, const CheckOptions& options,
      const Variant& variant = {})
      : selection_(selection), variant_(variant) {
    function_.instructions.push_back(instruction);
    DecodedInst in;
    in.source = 0;
    in.computes = true;
    in.handler = selection.handler;
    in.flags = selection.flags;
    in.width = selection.width;
    in.imm = options.lut >= 0 ? options.lut : selection.imm;
    const int dsts = options.dst_count != 0 ? options.dst_count : selection.dst_count;
    for (int i = 0; i < dsts; ++i)
      place(selection.dst[i], i == 0 ? options.dst_bytes : 0);
    for (int i = 0; i < selection.src_count; ++i)
      place(selection.src[i], i < int(options.src_bytes.size()) ? options.src_bytes[i] : 0);
    place(Type::pred, 0); // the guard
    in.guarded = variant.guarded;
    in.guard_negated = variant.negated;
    in.guard_offset = slots_.back().offset;
    if (variant.shared >= 0)
      slots_[dsts + variant.shared] = slots_[0];
    if (variant.constant >= 0)
      slots_[dsts + variant.constant].base = 1;
    const std::span<const Slot> operands = std::span(slots_).first(slots_.size() - 1);
    code_.set_operands(in, operands.first(dsts), operands.subspan(dsts));
    code_.insts.push_back(in);
    code_.function = &function_;
    for (int lane = 0; variant.constant >= 0 && lane < kWarpSize; ++lane)
      set(dsts + variant.constant, lane, variant.bits);
  }
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  int dst_count() const { return in().dst_count; }
  int src_count() const { return selection_.src_count; }
  Type src_type(int i) const { return selection_.src[i]; }
  int dst_bytes(int i) const { return slots_[i].bytes; }
  const Variant& variant() const { return variant_; }
  // Whether a source and destination 0 are of one size.
  bool may_share(int source) const { return slots_[dst_count() + source].bytes == slots_[0].bytes; }

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

  // Runs it by its handler, or by compile()'s code. Returns whether it is approximate.
  bool run(LaneMask active, Frame* frame) {
    Exec x = exec(active, frame);
    if (!code_of_host_.pages) {
      EXPECT_EQ(in().handler(x, in()), Step::next);
      return x.approximate;
    }
    const LaneMask guard = variant_.guarded ? guard_ ^ (variant_.negated ? kAllLanes : 0) : kAllLanes;
    std::memcpy(at(slots_.back()), &guard, sizeof(guard));
    x.mask = variant_.guarded && active % 2 == 0 ? kAllLanes : active;
    guard_ = active; // the next time
    const auto& entries =
        x.mask == kAllLanes ? code_of_host_.entries_for_all : code_of_host_.entries_for_some;
    const uint32_t step = reinterpret_cast<CompiledEntry>(entries[0].entry)(&x);
    EXPECT_EQ(step, static_cast<uint32_t>(Step::jumped));
    EXPECT_EQ(x.pc, 1u);
    EXPECT_EQ(x.executed, 1u);
    return x.approximate;
  }
  // The lanes that run() will execute it for.
  LaneMask executing(LaneMask active) const {
    if (!variant_.guarded)
      return active;
    return (active % 2 == 0 ? kAllLanes : active) & guard_;
  }

  // False: an emitter wrote what the host does not have.
  bool compile(Frame* frame) {
    Exec x = exec(kAllLanes, frame);
    code_of_host_ = generate_one(code_, 0, x);
    return code_of_host_.pages != nullptr;
  }
  bool calls_handler() const { return code_of_host_.called != 0; }

private:
  const DecodedInst& in() const { return code_.insts[0]; }
  Exec exec(LaneMask active, Frame* frame) {
    Exec x;
    x.active = active;
    x.mask = active;
    x.bases[0] = frame_;
    x.bases[1] = frame_;
    x.frame = frame;
    x.code = &code_;
    x.compiled.end = UINT64_MAX;
    return x;
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
  const Variant variant_;
  ptx::Function function_;
  Code code_;
  Generated code_of_host_; // compile()
  LaneMask guard_ = 0x12345678;
  std::vector<Slot> slots_; // of the operands, and the guard's
  alignas(64) std::byte frame_[4096] = {};
  uint32_t used_ = 0;
};

std::string describe(std::string_view spelling, std::string_view level, const Variant& variant, int lane,
                     const std::vector<uint64_t>& sources) {
  std::string text = fmt::format("{} ({}", spelling, level);
  if (variant.shared >= 0)
    text += fmt::format(", source {} is the destination", variant.shared);
  if (variant.constant >= 0)
    text += fmt::format(", source {} is a constant", variant.constant);
  text += fmt::format("{}), lane {}:", variant.guarded ? ", guarded" : "", lane);
  for (const uint64_t source : sources)
    text += fmt::format(" {:#x}", source);
  return text;
}

uint64_t source_bits(const CheckOptions& options, int source, Type type, Random& random) {
  return options.source ? options.source(source, random()) & mask_of_type(type) : random_bits(type, random);
}

// One set of lanes. False after a difference.
bool run_case(std::string_view spelling, std::string_view level, Rig& rig, const CheckOptions& options,
              const Reference& reference, LaneMask active, Random& random) {
  std::vector<std::vector<uint64_t>> sources(kWarpSize);
  std::vector<std::array<uint64_t, 2>> before(kWarpSize);
  for (int lane = 0; lane < kWarpSize; ++lane) {
    for (int i = 0; i < rig.dst_count(); ++i)
      rig.set(i, lane, kUntouched);
    for (int i = 0; i < rig.src_count(); ++i) {
      const Type type = rig.src_type(i);
      if (i == rig.variant().constant) {
        sources[lane].push_back(rig.variant().bits & mask_of_type(type));
        continue;
      }
      const uint64_t bits = source_bits(options, i, type, random);
      const int width = i < int(options.src_bytes.size()) ? options.src_bytes[i] : 0;
      const uint64_t garbage = width != 0 ? random() & ~mask_of_type(type) : 0; // above the type: ignored
      rig.set(rig.dst_count() + i, lane, bits | garbage);
      sources[lane].push_back(bits);
    }
    for (int i = 0; i < rig.dst_count(); ++i)
      before[lane][i] = rig.get(i, lane);
  }
  const LaneMask executing = rig.executing(active);
  Frame frame;
  rig.run(active, &frame);
  for (int lane = 0; lane < kWarpSize; ++lane) {
    uint64_t expected[2] = {before[lane][0], before[lane][1]};
    if ((executing >> lane & 1) != 0)
      reference(sources[lane].data(), expected);
    for (int i = 0; i < rig.dst_count(); ++i) {
      const int bytes = rig.dst_bytes(i);
      const uint64_t mask = bytes == 0 ? 1 : bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * bytes) - 1;
      const uint64_t got = rig.get(i, lane);
      if (got != (expected[i] & mask)) {
        ADD_FAILURE() << describe(spelling, level, rig.variant(), lane, sources[lane])
                      << fmt::format("\n  destination {}: {:#x}, expected {:#x}{}", i, got,
                                     expected[i] & mask, (executing >> lane & 1) != 0 ? "" : " (inactive)");
        return false;
      }
    }
  }
  return true;
}

LaneMask random_lanes(int warp, Random& random) {
  return warp % 4 == 3 ? static_cast<LaneMask>(random()) : kAllLanes;
}

bool check_interpreted(std::string_view spelling, HostLevel level, const ptx::Instruction& instruction,
                       const Selection& selection, const CheckOptions& options, const Reference& reference) {
  Random random(std::hash<std::string_view>{}(spelling));
  Rig plain(instruction, selection, options), shared(instruction, selection, options, {.shared = 0});
  const bool shares = selection.src_count != 0 && plain.may_share(0);
  for (int warp = 0; warp < options.warps; ++warp) {
    const LaneMask active = random_lanes(warp, random);
    if (!run_case(spelling, to_string(level), plain, options, reference, active, random) ||
        (shares && warp % 8 == 5 &&
         !run_case(spelling, to_string(level), shared, options, reference, active, random)))
      return false;
  }
  return true;
}

// The plain one first.
std::vector<Variant> variants_of(const Rig& plain, const CheckOptions& options, Random& random) {
  constexpr int kConstants = 4; // of each source
  std::vector<Variant> variants = {{}, {.guarded = true}, {.guarded = true, .negated = true}};
  for (int i = 0; i < plain.src_count(); ++i) {
    if (plain.may_share(i))
      for (const bool guarded : {false, true})
        variants.push_back({.shared = i, .guarded = guarded});
    for (int n = 0; n < kConstants; ++n)
      variants.push_back({.constant = i,
                          .bits = source_bits(options, i, plain.src_type(i), random),
                          .guarded = n == kConstants - 1});
  }
  return variants;
}

// Where the instruction has an emitter. False after a difference.
bool check_compiled(std::string_view spelling, const ptx::Instruction& instruction,
                    const Selection& selection, const CheckOptions& options, const Reference& reference) {
  Random random(std::hash<std::string_view>{}(spelling));
  const Rig plain(instruction, selection, options);
  for (const Variant& variant : variants_of(plain, options, random)) {
    Rig rig(instruction, selection, options, variant);
    Frame frame;
    if (!rig.compile(&frame)) {
      ADD_FAILURE() << describe(spelling, "compiled", variant, 0, {}) << " is no code";
      return false;
    }
    if (rig.calls_handler())
      return true;
    const int warps = variant.shared < 0 && variant.constant < 0 ? options.warps : options.warps / 8 + 2;
    for (int warp = 0; warp < warps; ++warp)
      if (!run_case(spelling, "compiled", rig, options, reference, random_lanes(warp, random), random))
        return false;
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
    if (!check_interpreted(spelling, level, instruction, selection, options, reference))
      break;
    if (can_compile() && !check_compiled(spelling, instruction, selection, options, reference))
      break;
  }
  set_host_level(before);
}

bool has_emitter(std::string_view spelling, const CheckOptions& options) {
  ptx::Instruction instruction = instruction_of(spelling);
  if (!options.operands.empty())
    instruction.operands = ptx::Operands(options.operands);
  Selection selection;
  if (!pick_arithmetic(instruction, selection))
    return false;
  Rig rig(instruction, selection, options);
  Frame frame;
  return rig.compile(&frame) && !rig.calls_handler();
}

void check(std::string_view spelling, const Expected& reference, const CheckOptions& options) {
  check2(spelling, [&](const uint64_t* s, uint64_t* d) { d[0] = reference(s); }, options);
}

Machine::Machine() = default;

std::vector<uint64_t> Machine::run(std::string_view spelling,
                                   const std::vector<std::vector<uint64_t>>& sources) {
  std::vector<uint64_t> result(kWarpSize);
  const ptx::Instruction instruction = instruction_of(spelling);
  Selection selection;
  if (!pick_arithmetic(instruction, selection) || selection.src_count != sources.size()) {
    ADD_FAILURE() << "no row for " << spelling;
    return result;
  }
  Rig rig(instruction, selection, {}), compiled(instruction, selection, {});
  for (Rig* const each : {&rig, &compiled})
    for (int lane = 0; lane < kWarpSize; ++lane)
      for (size_t i = 0; i < sources.size(); ++i)
        each->set(each->dst_count() + int(i), lane, sources[i][lane]);
  if (can_compile()) {
    Frame copy;
    copy.carry = frame.carry;
    EXPECT_TRUE(compiled.compile(&copy)) << spelling;
    compiled.run(active, &copy);
    approximate |= rig.run(active, &frame);
    EXPECT_EQ(copy.carry, frame.carry) << spelling << " (compiled)";
    for (int lane = 0; lane < kWarpSize; ++lane)
      EXPECT_EQ(compiled.get(0, lane), rig.get(0, lane)) << spelling << " (compiled), lane " << lane;
  } else {
    approximate |= rig.run(active, &frame);
  }
  for (int lane = 0; lane < kWarpSize; ++lane)
    result[lane] = rig.get(0, lane);
  return result;
}

} // namespace lemma::vgpu
