// Descriptors are drawn until the rules of src/layout find nothing wrong, and the last draw is taken if they
// never do: what a rule does not say, a descriptor may have.
#include "generate/hostile_tensor.h"

#include "isa/effects.h"
#include "isa/matrix_model.h"
#include "layout/tensor_instruction_fields.h"
#include "layout/tensor_memory.h"
#include "layout/tensor_smem_descriptor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lemma::generate {
namespace {

constexpr int kDraws = 64;

std::vector<isa::Qual> quals_of(const Text& text) {
  std::vector<isa::Qual> quals;
  for (const std::string& word : text.words)
    if (const auto qual = isa::parse_qual(word))
      quals.push_back(*qual);
  return quals;
}

bool is_tensor(const Text& text) {
  return isa::effects_of(text.form->opcode).has(isa::effect::tensor_memory);
}

} // namespace

HostileTensor some_tensor(Rng& rng) {
  HostileTensor tensor;
  tensor.columns = rng.chance(70) ? layout::kTensorColumns : 32u << rng.below(4);
  tensor.cta_group = rng.chance(80) ? 1 : 2;
  tensor.gives_back = rng.chance(85);
  return tensor;
}

size_t tensor_weight_of(std::string_view opcode) {
  if (opcode == "tcgen05.mma")
    return 6000;
  if (opcode.starts_with("tcgen05.mma.")) // .sp, .ws
    return 600;
  if (opcode == "tcgen05.ld" || opcode == "tcgen05.st" || opcode == "tcgen05.cp" ||
      opcode == "tcgen05.commit")
    return 3000;
  if (opcode.starts_with("tcgen05.wait") || opcode.starts_with("tcgen05.fence"))
    return 600;
  return opcode == "tcgen05.shift" ? 300 : 60; // others, alloc among them
}

bool is_of_other_group(const Text& text, const HostileTensor& tensor) {
  const std::string wanted = fmt::format("cta_group::{}", tensor.cta_group);
  return is_tensor(text) && std::ranges::any_of(text.words, [&](const std::string& word) {
           return word.starts_with("cta_group::") && word != wanted;
         });
}

bool is_of_warp(const Text& text) {
  return is_tensor(text) && isa::effects_of(text.form->opcode).has(isa::effect::by_warp);
}

std::string tensor_allocation(const HostileTensor& tensor) {
  return fmt::format(
      "  setp.lt.u32 %_first, %_lane, 32;\n  @!%_first bra ALLOCATED;\n  mov.u32 %_index, tslot;\n"
      "  tcgen05.alloc.cta_group::{}.sync.aligned.shared::cta.b32 [%_index], {};\nALLOCATED:\n",
      tensor.cta_group, tensor.columns);
}

std::string tensor_addresses() {
  return "  ld.shared.b32 %_taddr, [tslot];\n  setp.eq.u32 %_one, %_lane, 0;\n"
         "  setp.lt.u32 %_first, %_lane, 32;\n  and.b32 %_quarter, %_lane, 0x60;\n"
         "  shl.b32 %_quarter, %_quarter, 16;\n";
}

std::string tensor_deallocation(const HostileTensor& tensor) {
  return fmt::format("  bar.sync 0;\n  @!%_first bra GIVEN;\n"
                     "  tcgen05.dealloc.cta_group::{}.sync.aligned.b32 %_taddr, {};\nGIVEN:\n",
                     tensor.cta_group, tensor.columns);
}

std::string tensor_pointer(const std::string& reg, const Text& text, const HostileTensor& tensor, Rng& rng) {
  constexpr uint32_t kColumns[] = {0, 0, 0, 8, 16, 32, 64, 128, 256};
  const uint32_t column = rng.pick(kColumns) % tensor.columns;
  const uint32_t half = rng.chance(10) ? layout::TensorAddress{.lane = 16, .column = 0}.encode() : 0;
  std::string line = fmt::format("add.u32 {}, %_taddr, {:#x};", reg, column + half);
  if (is_of_warp(text) && !rng.chance(3))
    line += fmt::format("\n  add.u32 {0}, {0}, %_quarter;", reg);
  return line;
}

uint32_t some_instruction_descriptor(const Text& text, Rng& rng) {
  namespace fields = layout::instruction_fields;
  const auto words = isa::tensor_words(text.form->opcode, quals_of(text));
  if (!words)
    return static_cast<uint32_t>(rng.next());
  layout::TensorInstruction instruction = words->instruction;
  instruction.a_in_tensor_memory = text.operands[1].starts_with('[');
  layout::TensorInstructionDescriptor d;
  d.kind = words->kind;
  d.sparse = instruction.sp;
  for (int i = 0; i < kDraws; ++i) {
    constexpr uint32_t kRows[] = {32, 64, 64, 128, 128, 128, 256};
    d.m = rng.pick(kRows);
    d.n = 8 * (1 + static_cast<uint32_t>(rng.below(rng.chance(80) ? 8 : 32)));
    d.a = rng.pick(fields::operand_types(d.kind));
    d.b = rng.pick(fields::operand_types(d.kind));
    d.d = rng.pick(fields::d_types(d.kind));
    d.transpose_a = rng.chance(20);
    d.transpose_b = rng.chance(20);
    d.negate_a = rng.chance(20);
    d.negate_b = rng.chance(20);
    d.saturate = rng.chance(20);
    d.sparsity_selector = static_cast<uint8_t>(rng.below(4));
    d.max_shift = static_cast<uint8_t>(rng.chance(20) ? 8u << rng.below(3) : 0);
    d.scale = static_cast<layout::ScaleFormat>(rng.below(2));
    d.scale_a_id = static_cast<uint8_t>(rng.below(4));
    d.scale_b_id = static_cast<uint8_t>(rng.below(4));
    d.k96 = rng.chance(2) && fields::is_f4(d.kind);
    d.bits = d.encode();
    if (!layout::wrong(d, instruction))
      break;
  }
  return d.bits;
}

uint64_t some_matrix_descriptor(const Text& text, const std::string& operand, uint32_t idesc, Rng& rng) {
  const auto words = isa::tensor_words(text.form->opcode, quals_of(text));
  layout::TensorSmemUse use{.operand = operand};
  if (words) {
    const auto d = layout::TensorInstructionDescriptor::decode(idesc, words->kind);
    use.tf32 = words->kind == layout::TensorKind::tf32;
    use.mn_major = operand == "a-desc" ? d.transpose_a : operand == "b-desc" ? d.transpose_b : false;
  }
  layout::TensorSmemDescriptor d;
  for (int i = 0; i < kDraws; ++i) {
    using enum layout::SmemSwizzle;
    constexpr uint32_t kSvar = 1024, kChunks = 33;
    const auto bytes = [&] { return static_cast<uint32_t>(layout::kChunkBytes * rng.below(kChunks)); };
    d.start = kSvar + static_cast<uint32_t>(layout::kChunkBytes * rng.below(128));
    d.leading = bytes();
    d.stride = bytes();
    d.base_offset = static_cast<uint8_t>(rng.chance(20) ? rng.below(8) : 0);
    d.leading_is_address = rng.chance(2);
    d.swizzle = rng.pick(std::array{none, b128_32b_atoms, b128, b64, b32});
    d.bits = d.encode();
    if (!layout::wrong(d, use))
      break;
  }
  return d.bits;
}

} // namespace lemma::generate
