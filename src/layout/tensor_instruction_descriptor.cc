// Instruction descriptors of tcgen05.mma: from bits to fields and back, and into words. See
// tensor_instruction_descriptor.h.
#include "layout/tensor_instruction_fields.h"

#include <algorithm>
#include <iterator>

namespace lemma::layout {
namespace {

using namespace instruction_fields;

constexpr std::string_view kKinds[] = {".kind::f16",      ".kind::tf32", ".kind::f8f6f4",  ".kind::i8",
                                       ".kind::mxf8f6f4", ".kind::mxf4", ".kind::mxf4nvf4"};
constexpr std::string_view kFormats[] = {"none", "f16",  "bf16", "tf32", "e4m3", "e5m2", "e2m3",
                                         "e3m2", "e2m1", "u8",   "s8",   "f32",  "s32"};
constexpr uint8_t kShifts[] = {0, 8, 16, 32};

std::string type_words(F format) {
  return format == F::none ? "no type of this kind" : std::string(to_string(format));
}

std::string meaning(const TensorInstructionDescriptor& d, const Field& field) {
  const auto yes = [](bool value, std::string_view set, std::string_view clear) {
    return std::string(value ? set : clear);
  };
  switch (field.id) {
  case Id::reserved:
    return field.bits.of(d.bits) ? "must be 0" : "";
  case Id::sparsity_selector:
    return d.sparse ? fmt::format("{}", d.sparsity_selector) : "A is dense";
  case Id::sparse:
    return yes(d.sparse, "A is sparse", "A is dense");
  case Id::saturate:
    return yes(d.saturate, "D saturates", "D wraps");
  case Id::d_type:
    return type_words(d.d);
  case Id::scale_b_id:
    return fmt::format("byte {} of the column", d.scale_b_id);
  case Id::a_type:
    return type_words(d.a);
  case Id::b_type:
    return type_words(d.b);
  case Id::negate_a:
    return yes(d.negate_a, "-A", "A");
  case Id::negate_b:
    return yes(d.negate_b, "-B", "B");
  case Id::transpose_a:
    return yes(d.transpose_a, "M-major", "K-major");
  case Id::transpose_b:
    return yes(d.transpose_b, "N-major", "K-major");
  case Id::n:
    return fmt::format("{}", d.n);
  case Id::scale_type:
    return std::string(to_string(d.scale));
  case Id::m:
    return fmt::format("{}", d.m);
  case Id::scale_a_id:
    return fmt::format("byte {} of the column", d.scale_a_id);
  case Id::max_shift:
    return d.max_shift ? fmt::format("{} columns", d.max_shift) : "no shift";
  case Id::k_size:
    return fmt::format("K = {}", d.k());
  }
  return {};
}

} // namespace

std::optional<TensorKind> tensor_kind(std::string_view qualifier) {
  const auto found = std::find(std::begin(kKinds), std::end(kKinds), qualifier);
  if (found == std::end(kKinds))
    return std::nullopt;
  return static_cast<TensorKind>(found - std::begin(kKinds));
}

std::string_view to_string(TensorKind kind) {
  return kKinds[static_cast<size_t>(kind)];
}

std::string_view to_string(TensorFormat format) {
  return kFormats[static_cast<size_t>(format)];
}

std::string_view to_string(ScaleFormat format) {
  return format == ScaleFormat::ue4m3 ? "ue4m3" : "ue8m0";
}

TensorInstructionDescriptor TensorInstructionDescriptor::decode(uint32_t bits, TensorKind kind) {
  const auto of = [&](Id id) { return get(bits, kind, id); };
  const auto byte = [&](Id id) { return static_cast<uint8_t>(of(id)); };
  return {.kind = kind,
          .bits = bits,
          .m = of(Id::m) * 16,
          .n = of(Id::n) * 8,
          .a = format_of(operand_types(kind), of(Id::a_type)),
          .b = format_of(operand_types(kind), of(Id::b_type)),
          .d = is_block_scaled(kind) ? F::f32 : format_of(d_types(kind), of(Id::d_type)),
          .transpose_a = of(Id::transpose_a) != 0,
          .transpose_b = of(Id::transpose_b) != 0,
          .negate_a = of(Id::negate_a) != 0,
          .negate_b = of(Id::negate_b) != 0,
          .sparse = of(Id::sparse) != 0,
          .sparsity_selector = byte(Id::sparsity_selector),
          .saturate = of(Id::saturate) != 0,
          .max_shift = kShifts[of(Id::max_shift)],
          .scale_a_id = byte(Id::scale_a_id),
          .scale_b_id = byte(Id::scale_b_id),
          .scale = static_cast<ScaleFormat>(of(Id::scale_type)),
          .k96 = is_f4(kind) && of(Id::k_size) != 0};
}

uint32_t TensorInstructionDescriptor::encode() const {
  uint32_t encoded = 0;
  const auto put = [&](Id id, uint32_t value) {
    for (const Field& field : fields_of(kind))
      if (field.id == id)
        encoded |= value << field.bits.first;
  };
  put(Id::m, m / 16);
  put(Id::n, n / 8);
  put(Id::a_type, code_of(operand_types(kind), a));
  put(Id::b_type, code_of(operand_types(kind), b));
  put(Id::d_type, code_of(d_types(kind), d));
  put(Id::transpose_a, transpose_a);
  put(Id::transpose_b, transpose_b);
  put(Id::negate_a, negate_a);
  put(Id::negate_b, negate_b);
  put(Id::sparse, sparse);
  put(Id::sparsity_selector, sparsity_selector);
  put(Id::saturate, saturate);
  put(Id::max_shift, static_cast<uint32_t>(std::find(std::begin(kShifts), std::end(kShifts), max_shift) -
                                           std::begin(kShifts)));
  put(Id::scale_a_id, scale_a_id);
  put(Id::scale_b_id, scale_b_id);
  put(Id::scale_type, static_cast<uint32_t>(scale));
  put(Id::k_size, k96);
  return encoded;
}

uint32_t TensorInstructionDescriptor::k() const {
  if (k96)
    return 96;
  const uint32_t dense = kind == TensorKind::tf32 ? 8 : kind == TensorKind::f16 ? 16 : is_f4(kind) ? 64 : 32;
  return sparse ? 2 * dense : dense;
}

std::vector<DescriptorField> explain(const TensorInstructionDescriptor& descriptor) {
  std::vector<DescriptorField> list;
  for (const Field& field : fields_of(descriptor.kind))
    list.push_back(
        {field.name, field.bits.to_string(), field.bits.of(descriptor.bits), meaning(descriptor, field)});
  return list;
}

} // namespace lemma::layout
