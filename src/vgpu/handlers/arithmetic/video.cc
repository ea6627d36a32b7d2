// Video instructions: operations on bytes, halves and words of 32-bit registers, scalar (vadd vsub vabsdiff
// vmin vmax vshl vshr vmad vset) and SIMD (vadd2 ... vset4). Kernels and rows stand in video.inc; what the
// qualifiers and the selectors behind the operands say becomes a VideoPlan.
//
// As the ISA states them: sources are extended to 33 bits by their type, the operation gives 34 bits, .sat
// clamps to the part of d that is written, and the secondary operation is one of 33 bits. No GPU since sm_50
// has most of them. What ptxas 13 makes of them for sm_90 keeps to the ISA without .sat; with it, sums beyond
// 32 bits of .u32 wrap and negative values become the largest byte or half. It also compares the sums of .min
// and .max after cutting them to 32 bits, and multiplies .u32 of vmad as if signed where the upper half of
// the product shows.
//
// PTX ISA: "Video Instructions". Tests: tests/unit/vgpu/video_test.cc.
#include "vgpu/handlers/arithmetic/video.h"

#include "isa/form.h"
#include "vgpu/code/decoder.h"
#include "vgpu/handlers/arithmetic/select.h"

#include <immintrin.h>

namespace lemma::vgpu {
using isa::Opcode;
using isa::Qual;
using isa::Type;
} // namespace lemma::vgpu

#define LEMMA_KERNELS "vgpu/handlers/arithmetic/video.inc"
#include "vgpu/handlers/arithmetic/levels.inc"

namespace lemma::vgpu {
namespace {

const RowTable& table() {
  static const LeveledTables<RowTable> tables(LEMMA_FILLS);
  return tables.now();
}

// Elements of a SIMD instruction; 1: scalar.
int elements_of(Opcode opcode) {
  switch (isa::to_string(opcode).back()) {
  case '2':
    return 2;
  case '4':
    return 4;
  default:
    return 1;
  }
}

// The selector of an operand as digits, lowest first; `otherwise` where it has none.
uint16_t parts_of(const ptx::Instruction& instruction, size_t operand, uint16_t otherwise) {
  if (operand >= instruction.operands.size() || instruction.operands[operand].component < 0)
    return otherwise;
  const ptx::Operand& o = instruction.operands[operand];
  if (o.component < isa::kHalfList)
    return static_cast<uint16_t>(o.component);
  int bits = 0;
  while (o.bits >> bits > 1) // the 1 before the digits
    bits += 4;
  return static_cast<uint16_t>(o.bits & ((uint64_t{1} << bits) - 1));
}

// A bit for each element that the mask of d names: .h0, .b321.
uint8_t written_elements(const ptx::Instruction& instruction, int elements) {
  const int8_t component = instruction.operands.empty() ? int8_t{-1} : instruction.operands[0].component;
  if (component < 0)
    return static_cast<uint8_t>((1 << elements) - 1);
  if (component < isa::kHalfList)
    return static_cast<uint8_t>(1 << (component - (elements == 2 ? isa::kFirstHalf : isa::kFirstByte)));
  uint8_t written = 0;
  for (uint64_t digits = instruction.operands[0].bits; digits > 1; digits >>= 4)
    written |= static_cast<uint8_t>(1 << (digits & 15));
  return written;
}

bool is_negated(const ptx::Instruction& instruction, size_t operand) {
  return operand < instruction.operands.size() && instruction.operands[operand].negated;
}

VideoPlan plan_of(const ptx::Instruction& instruction) {
  VideoPlan plan;
  const int elements = elements_of(instruction.opcode);
  const size_t sources = instruction.types().size() - 2; // in `types`, after that of d where there is one
  // vset has no type of d: its .min and .max compare as the type of a says. The ISA calls them unsigned;
  // measured on an H200.
  plan.d_signed = instruction.type(0) == Type::s32;
  plan.a_signed = instruction.type(sources) == Type::s32;
  plan.b_signed = instruction.type(sources + 1) == Type::s32;
  plan.saturates = instruction.has(Qual::sat);
  switch (instruction.one_of({Qual::add, Qual::min, Qual::max})) {
  case Qual::add:
    plan.step = VideoStep::add;
    break;
  case Qual::min:
    plan.step = VideoStep::min;
    break;
  case Qual::max:
    plan.step = VideoStep::max;
    break;
  default:
    break;
  }
  if (elements == 1) {
    plan.written = static_cast<uint8_t>(parts_of(instruction, 0, 0));
    plan.a_parts = parts_of(instruction, 1, 0);
    plan.b_parts = parts_of(instruction, 2, 0);
  } else {
    plan.written = written_elements(instruction, elements);
    plan.a_parts = parts_of(instruction, 1, elements == 2 ? 0x10 : 0x3210);
    plan.b_parts = parts_of(instruction, 2, elements == 2 ? 0x32 : 0x7654);
  }
  if (instruction.opcode == Opcode::vmad) {
    plan.negates_product = is_negated(instruction, 1) != is_negated(instruction, 2);
    plan.negates_c = is_negated(instruction, 3);
    plan.adds_one = instruction.has(Qual::po);
    plan.shift = instruction.has(Qual::shr7) ? 7 : instruction.has(Qual::shr15) ? 15 : 0;
  }
  return plan;
}

} // namespace

bool pick_video(const ptx::Instruction& instruction, Selection& selection) {
  std::vector<Qual> quals;
  for (const Qual qual :
       {Qual::eq, Qual::ne, Qual::lt, Qual::le, Qual::gt, Qual::ge, Qual::clamp, Qual::wrap})
    if (instruction.has(qual))
      quals.push_back(qual);
  if (instruction.types().size() < 2 || !table().pick({instruction.opcode, {}, quals}, selection))
    return false;
  const VideoPlan plan = plan_of(instruction);
  selection.imm = plan.packed();
  selection.dst[0] = Type::b32;
  selection.src.fill(Type::b32);
  const bool takes_c = elements_of(instruction.opcode) > 1 || instruction.opcode == Opcode::vmad ||
                       plan.step != VideoStep::none || instruction.operands.size() > 3;
  selection.src_count = takes_c ? 3 : 2;
  return true;
}

void add_video_selectors(SelectorTable& selectors) {
  table().add_to(selectors);
}

} // namespace lemma::vgpu
