// Steps of the instructions that addresses are made of; those of all others are not known. See lane_steps.h.
#include "vgpu/lane_steps.h"

#include "isa/vocabulary.h"

#include <cstdlib>

namespace lemma::vgpu {
namespace {

using isa::Opcode;
using isa::Qual;
using isa::Type;

constexpr int64_t kMost = int64_t{1} << 31; // a step above it is not followed: products do not overflow

bool is_whole_number(Type type) {
  const isa::TypeKind kind = isa::kind_of(type);
  return (isa::is_integer(type) || kind == isa::TypeKind::untyped) &&
         (isa::bits_of(type) == 32 || isa::bits_of(type) == 64);
}

// A positive constant among the sources of an instruction; 0: it is none.
int64_t constant_of(const ptx::Instruction& instruction, size_t source) {
  const ptx::Operand& operand = instruction.operands[1 + source];
  return operand.kind == ptx::OperandKind::imm && operand.bits < static_cast<uint64_t>(kMost)
             ? static_cast<int64_t>(operand.bits)
             : 0;
}

LaneStep scaled(const LaneStep& step, int64_t factor) {
  if (!step || std::abs(*step) > kMost || factor <= 0)
    return std::nullopt;
  return *step * factor;
}

LaneStep sum(const LaneStep& a, const LaneStep& b, int bits) {
  if (!a || !b || (bits == 64 && *a != 0 && *b != 0)) // both may have wrapped, in other lanes
    return std::nullopt;
  return *a + *b;
}

LaneStep negative(const LaneStep& step) {
  return step ? LaneStep(-*step) : step;
}

LaneStep step_of(const ptx::Instruction& instruction, std::span<const LaneStep> sources) {
  const bool is_wide = instruction.has(Qual::wide);
  const int bits = is_wide ? 64 : isa::bits_of(instruction.type());
  const auto times = [&]() -> LaneStep { // the first two sources
    if (sources[0] == 0 && sources[1] == 0)
      return 0;
    const int64_t right = constant_of(instruction, 1);
    return right > 0 ? scaled(sources[0], right) : scaled(sources[1], constant_of(instruction, 0));
  };
  switch (instruction.opcode) {
  case Opcode::mov:
  case Opcode::cvt:
  case Opcode::cvta:
  case Opcode::cvta_to:
    return sources[0];
  case Opcode::add:
    return sum(sources[0], sources[1], bits);
  case Opcode::sub:
    return sum(sources[0], negative(sources[1]), bits);
  case Opcode::shl: {
    const int64_t by = constant_of(instruction, 1);
    return by > 0 && by < 31 ? scaled(sources[0], int64_t{1} << by) : std::nullopt;
  }
  case Opcode::mul:
    return times();
  case Opcode::mad:
    return sum(times(), sources[2], bits);
  default:
    return std::nullopt;
  }
}

} // namespace

LaneStep step_of_result(const Code& code, const DecodedInst& in, std::span<const LaneStep> sources) {
  if (in.source == ptx::kNone || in.dst_count != 1)
    return std::nullopt;
  const ptx::Instruction& instruction = code.function->instructions[in.source];
  if (instruction.operands.size() != 1 + sources.size() || instruction.has(Qual::sat) ||
      instruction.has(Qual::hi))
    return std::nullopt;
  for (const Type type : instruction.types())
    if (!is_whole_number(type))
      return std::nullopt;
  LaneStep step = step_of(instruction, sources);
  if (step && in.ops[0].bytes == 4)
    step = static_cast<int32_t>(*step);
  return step && std::abs(*step) <= kMost ? step : std::nullopt;
}

} // namespace lemma::vgpu
