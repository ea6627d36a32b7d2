// Descriptors as public data (lemma/descriptor.h): whose one is, then its fields and rules as src/layout has
// them.
#include "lemma/descriptor.h"

#include "inspect/availability.h"
#include "inspect/tensor_name.h"
#include "layout/smem_descriptor_fields.h"
#include "layout/tensor_column_mask.h"
#include "layout/tensor_smem_descriptor.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace lemma {
namespace inspect {
namespace {

std::vector<DescriptorField> fields_of(const std::vector<layout::DescriptorField>& from) {
  std::vector<DescriptorField> fields;
  for (const layout::DescriptorField& field : from)
    fields.push_back({std::string(field.name), field.bits, field.value, field.meaning});
  return fields;
}

DescriptorExplanation of_wgmma(uint64_t bits) {
  return {.what = "matrix descriptor of wgmma",
          .width = 64,
          .fields = fields_of(layout::explain_smem_descriptor(bits)),
          .problem = layout::foreign_smem_descriptor(bits).value_or(""),
          .product = {}};
}

DescriptorExplanation of_tensor_matrix(const DescriptorQuery& query, bool tf32) {
  constexpr std::string_view kOperands[] = {"matrix descriptor", "", "a-desc", "b-desc", "s-desc", ""};
  const std::string_view operand = kOperands[static_cast<size_t>(query.operand)];
  const auto descriptor = layout::TensorSmemDescriptor::decode(query.bits);
  return {.what = "matrix descriptor of tcgen05",
          .width = 64,
          .fields = fields_of(layout::explain(descriptor)),
          .problem = layout::wrong(descriptor, {.operand = operand, .mn_major = query.mn_major, .tf32 = tf32})
                         .value_or(""),
          .product = {}};
}

DescriptorExplanation of_instruction(const DescriptorQuery& query, TensorFamily family) {
  family.meaning.instruction.a_in_tensor_memory = query.a_in_tensor_memory;
  const auto descriptor =
      layout::TensorInstructionDescriptor::decode(static_cast<uint32_t>(query.bits), family.meaning.kind);
  DescriptorExplanation out{.what = fmt::format("instruction descriptor of {}", family.words),
                            .width = 32,
                            .fields = fields_of(layout::explain(descriptor)),
                            .problem = layout::wrong(descriptor, family.meaning.instruction).value_or(""),
                            .product = {}};
  if (out.problem.empty())
    out.product = spelling_of({.family = std::move(family), .descriptor = descriptor});
  return out;
}

// Of a product that has the largest M and allows the largest shift: what M and the instruction descriptor say
// of it is not known here.
DescriptorExplanation of_column_mask(uint64_t bits) {
  constexpr uint32_t kMostRows = 128, kMostShift = 32;
  const auto mask = layout::TensorColumnMask::decode(bits);
  return {.what = "zero-column mask of tcgen05.mma.ws",
          .width = 64,
          .fields = fields_of(layout::explain(mask)),
          .problem = layout::wrong(mask, kMostRows, kMostShift).value_or(""),
          .product = {}};
}

// Of "kind::f16" the first family that has it; of the name of a product its words.
Result<TensorFamily, std::string> find_family(std::string_view of) {
  for (const TensorFamily& family : tensor_families())
    if (layout::to_string(family.meaning.kind).substr(1) == of)
      return family;
  if (!of.starts_with(kTensorPrefix)) {
    std::string kinds;
    for (const TensorFamily& family : tensor_families()) {
      const std::string_view kind = layout::to_string(family.meaning.kind).substr(1);
      if (kinds.find(kind) == kinds.npos)
        kinds += fmt::format(", {}", kind);
    }
    return fail(
        fmt::format("no descriptor is of {}; legal: wgmma, tcgen05{}, a spelling of tcgen05.mma", of, kinds));
  }
  const auto named = find_tensor(of);
  return named ? Result<TensorFamily, std::string>(named->family) : fail(named.error());
}

} // namespace
} // namespace inspect

Result<DescriptorExplanation, Error> explain_descriptor(const DescriptorQuery& query) {
  using enum DescriptorOperand;
  const bool wide = query.bits > std::numeric_limits<uint32_t>::max();
  if (query.operand == zero_column_mask)
    return inspect::of_column_mask(query.bits);
  if (query.of.empty() && query.operand == any) {
    const bool is_tensor =
        layout::TensorSmemDescriptor::decode(query.bits).version == layout::TensorSmemDescriptor{}.version;
    if (!wide && !is_tensor)
      return inspect::wrong(
          fmt::format("{:#x} may be an instruction descriptor, whose kind says what its "
                      "fields mean, or a matrix descriptor of wgmma or tcgen05: say of which "
                      "it is",
                      query.bits));
    return is_tensor ? inspect::of_tensor_matrix(query, false) : inspect::of_wgmma(query.bits);
  }
  if (query.of == "wgmma")
    return inspect::of_wgmma(query.bits);
  if ((query.of.empty() || query.of == "tcgen05") && query.operand != idesc)
    return inspect::of_tensor_matrix(query, false);
  if (query.of.empty() || query.of == "tcgen05")
    return inspect::wrong("the fields of an instruction descriptor depend on its kind: say of which it is");
  auto family = inspect::find_family(query.of);
  if (!family)
    return inspect::wrong(std::move(family).error());
  if (query.operand == idesc || (query.operand == any && !wide)) {
    if (wide)
      return inspect::wrong(
          fmt::format("{:#x} has more than the 32 bits of an instruction descriptor", query.bits));
    return inspect::of_instruction(query, *std::move(family));
  }
  return inspect::of_tensor_matrix(query, family->meaning.kind == layout::TensorKind::tf32);
}

} // namespace lemma
