// Comparison and selection: set, setp, selp, slct, half precision included. Kernels and rows stand in
// compare.inc; here the comparison operators of the ISA are brought to the few relations that those compute.
//
// PTX ISA: "Comparison and Selection Instructions", "Half Precision Comparison Instructions".
// Tests: tests/unit/vgpu/compare_test.cc.
#include "numeric/half.h"
#include "vgpu/code/decoder.h"
#include "vgpu/handlers/arithmetic/select.h"

#include <immintrin.h>
#include <optional>
#include <type_traits>

namespace lemma::vgpu {

using isa::Opcode;
using isa::Qual;
using isa::Type;

namespace {

// DecodedInst::flags of set and setp.
constexpr uint8_t kCompareCombine = 3; // two bits: one of
constexpr uint8_t kCompareAnd = 1;
constexpr uint8_t kCompareOr = 2;
constexpr uint8_t kCompareXor = 3;
constexpr uint8_t kCompareComplement = 4;
constexpr uint8_t kCompareFtz = 8;

} // namespace
} // namespace lemma::vgpu

#define LEMMA_KERNELS "vgpu/handlers/arithmetic/compare.inc"
#include "vgpu/handlers/arithmetic/levels.inc"

namespace lemma::vgpu {
namespace {

const RowTable& table() {
  static const LeveledTables<RowTable> tables(LEMMA_FILLS);
  return tables.now();
}

// What a comparison operator computes: a relation, or its complement.
struct Operator {
  Qual qual;
  Qual relation;
  bool complement;
};
constexpr Operator kOperators[] = {
    {Qual::eq, Qual::eq, false}, {Qual::ne, Qual::ne, false},   {Qual::lt, Qual::lt, false},
    {Qual::le, Qual::le, false}, {Qual::gt, Qual::gt, false},   {Qual::ge, Qual::ge, false},
    {Qual::lo, Qual::lt, false}, {Qual::ls, Qual::le, false},   {Qual::hi, Qual::gt, false},
    {Qual::hs, Qual::ge, false}, {Qual::equ, Qual::ne, true},   {Qual::neu, Qual::eq, true},
    {Qual::ltu, Qual::ge, true}, {Qual::leu, Qual::gt, true},   {Qual::gtu, Qual::le, true},
    {Qual::geu, Qual::lt, true}, {Qual::num, Qual::num, false}, {Qual::nan, Qual::num, true},
};

struct Comparison {
  Qual relation = Qual::none;
  uint8_t flags = 0;
};

// Nothing if some qualifier is none of a comparison's.
std::optional<Comparison> comparison_of(const ptx::Instruction& instruction) {
  Comparison comparison;
  for (const Qual qual : instruction.quals()) {
    switch (qual) {
    case Qual::and_:
      comparison.flags |= kCompareAnd;
      continue;
    case Qual::or_:
      comparison.flags |= kCompareOr;
      continue;
    case Qual::xor_:
      comparison.flags |= kCompareXor;
      continue;
    case Qual::ftz:
      comparison.flags |= kCompareFtz;
      continue;
    default:
      break;
    }
    const Operator* found = nullptr;
    for (const Operator& op : kOperators)
      if (op.qual == qual)
        found = &op;
    if (found == nullptr)
      return std::nullopt;
    comparison.relation = found->relation;
    comparison.flags |= found->complement ? kCompareComplement : 0;
  }
  return comparison;
}

// What `set` writes for true.
struct SetResult {
  Type type;
  uint8_t bytes;
  uint32_t if_true; // of a packed comparison: in each half
};
constexpr SetResult kSetResults[] = {
    {Type::u32, 4, 0xffffffff}, {Type::s32, 4, 0xffffffff}, {Type::f32, 4, 0x3f800000},
    {Type::u16, 2, 0xffff},     {Type::s16, 2, 0xffff},     {Type::f16, 2, 0x3c00},
    {Type::bf16, 2, 0x3f80},    {Type::f16x2, 4, 0x3c00},   {Type::bf16x2, 4, 0x3f80},
};

bool set_result(Type type, Selection& selection) {
  const bool packed = selection.src[0] == Type::f16x2 || selection.src[0] == Type::bf16x2;
  for (const SetResult& result : kSetResults) {
    if (result.type != type)
      continue;
    selection.dst[0] = type;
    selection.width = result.bytes;
    selection.imm = packed ? result.if_true & 0xffff : result.if_true;
    return true;
  }
  return false;
}

} // namespace

bool pick_compare(const ptx::Instruction& instruction, Selection& selection) {
  const bool set = instruction.opcode == Opcode::set;
  if (!set && instruction.opcode != Opcode::setp)
    return table().pick(instruction, selection);
  const std::optional<Comparison> comparison = comparison_of(instruction);
  if (!comparison || instruction.types().empty())
    return false;
  const RowKey row(instruction.opcode, std::span(&instruction.types().back(), 1),
                   std::span(&comparison->relation, 1));
  if (!table().pick(row, selection))
    return false;
  selection.flags = comparison->flags;
  if ((comparison->flags & kCompareCombine) != 0)
    selection.src[selection.src_count++] = Type::pred;
  selection.dst[1] = Type::pred; // of p|q
  return !set || set_result(instruction.type(0), selection);
}

void add_compare_selectors(SelectorTable& selectors) {
  table().add_to(selectors);
}

} // namespace lemma::vgpu
