// The rules of instruction descriptors of tcgen05.mma. Each function looks at some fields and returns the
// words for the first that is wrong, or none. See tensor_instruction_descriptor.h.
#include "layout/tensor_instruction_fields.h"

namespace lemma::layout {
namespace {

using namespace instruction_fields;

// "0 (f16), 1 (bf16)"
std::string legal_types(std::span<const F> types) {
  std::string text;
  for (size_t code = 0; code < types.size(); ++code)
    if (types[code] != F::none)
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", code, to_string(types[code]));
  return text;
}

struct Checked {
  const TensorInstructionDescriptor& d;
  const TensorInstruction& i;

  uint32_t code(Id id) const { return get(d.bits, d.kind, id); }
  std::string_view kind() const { return to_string(d.kind); }

  // "M (bits 24-28) is 96; legal for .kind::f16 with .cta_group::1: 64, 128"
  std::string broken(Id id, std::string_view value, std::string_view legal) const {
    const auto fields = fields_of(d.kind);
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.id == id; });
    return fmt::format("{} ({}) is {}; legal for {}: {}", field->name, field->bits.words(), value,
                       instruction_words(id), legal);
  }
  std::string broken(Id id, std::string_view legal) const {
    return broken(id, fmt::format("{}", code(id)), legal);
  }

private:
  // The kind, and what else of the instruction the rule looks at.
  std::string instruction_words(Id id) const {
    std::string text(kind());
    if (id == Id::m || id == Id::n)
      text += fmt::format("{} with .cta_group::{}{}{}{}", i.ws ? " .ws" : "", i.cta_group,
                          i.ashift ? ", .ashift" : "", i.sp ? ", sparse" : "", d.k96 ? ", K = 96" : "");
    return text;
  }
};

std::string wrong_reserved(const Checked& c) {
  for (const Field& field : fields_of(c.d.kind))
    if (const uint64_t value = field.bits.of(c.d.bits); field.id == Id::reserved && value)
      return fmt::format("reserved {} {} {:#b}; legal for {}: 0", field.bits.words(),
                         field.bits.first == field.bits.last ? "is" : "are", value, c.kind());
  return {};
}

std::string wrong_sparsity(const Checked& c) {
  if (c.d.sparse != c.i.sp)
    return c.broken(Id::sparse, c.i.sp ? "1, as the instruction is tcgen05.mma.sp"
                                       : "0, as the instruction is not tcgen05.mma.sp");
  const bool selects = c.d.kind == TensorKind::f16 || c.d.kind == TensorKind::tf32;
  if (c.d.sparse && !selects && c.code(Id::sparsity_selector))
    return c.broken(Id::sparsity_selector, "0");
  if (c.d.sparse && c.d.k96)
    return c.broken(Id::k_size, "0 where A is sparse");
  return {};
}

std::string wrong_types(const Checked& c) {
  const auto types = operand_types(c.d.kind);
  if (c.d.d == F::none)
    return c.broken(Id::d_type, legal_types(d_types(c.d.kind)));
  if (c.d.a == F::none)
    return c.broken(Id::a_type, legal_types(types));
  if (c.d.b == F::none)
    return c.broken(Id::b_type, legal_types(types));
  if (c.d.kind == TensorKind::f16 && c.d.d == F::f16 && c.d.a == F::bf16)
    return c.broken(Id::a_type, "1 (bf16)", "0 (f16), as D is f16");
  if (c.d.kind == TensorKind::f16 && c.d.d == F::f16 && c.d.b == F::bf16)
    return c.broken(Id::b_type, "1 (bf16)", "0 (f16), as D is f16");
  if (c.d.kind == TensorKind::mxf8f6f4 || c.d.kind == TensorKind::mxf4)
    if (c.d.scale != ScaleFormat::ue8m0)
      return c.broken(Id::scale_type, "0 (ue4m3)", "1 (ue8m0)");
  return {};
}

std::string wrong_modifiers(const Checked& c) {
  if (c.d.saturate && c.d.kind != TensorKind::i8)
    return c.broken(Id::saturate, "0");
  if (c.d.kind == TensorKind::i8)
    for (const Id id : {Id::negate_a, Id::negate_b})
      if (c.code(id))
        return c.broken(id, "0");
  if (is_f4(c.d.kind))
    for (const Id id : {Id::transpose_a, Id::transpose_b})
      if (c.code(id))
        return c.broken(id, "0");
  if (c.d.transpose_a && c.i.a_in_tensor_memory)
    return c.broken(Id::transpose_a, "0 where A is in tensor memory");
  if (c.d.max_shift && !c.i.ws)
    return c.broken(Id::max_shift, "0 without .ws");
  return {};
}

std::string wrong_m(const Checked& c) {
  std::vector<uint32_t> legal;
  if (c.i.ws)
    legal = {32, 64, 128};
  else if (!is_block_scaled(c.d.kind))
    legal = c.i.cta_group == 1 ? std::vector<uint32_t>{64, 128} : std::vector<uint32_t>{128, 256};
  else if (c.i.cta_group == 1)
    legal = {128};
  else
    legal = c.d.sparse ? std::vector<uint32_t>{256} : std::vector<uint32_t>{128, 256};
  if (c.i.ashift)
    std::erase(legal, 64u);
  if (std::find(legal.begin(), legal.end(), c.d.m) != legal.end())
    return {};
  return c.broken(Id::m, fmt::format("{}", c.d.m), fmt::format("{}", fmt::join(legal, ", ")));
}

// B of bytes that is MN-major has blocks of 16 columns in each CTA.
uint32_t transposed_step(const Checked& c) {
  const bool bytes =
      c.d.kind == TensorKind::f8f6f4 || c.d.kind == TensorKind::mxf8f6f4 || c.d.kind == TensorKind::i8;
  return bytes && c.d.transpose_b ? 16 * c.i.cta_group : 0;
}

std::string wrong_n(const Checked& c) {
  const uint32_t n = c.d.n;
  const auto broken = [&](std::string_view legal) { return c.broken(Id::n, fmt::format("{}", n), legal); };
  if (c.i.ws) {
    if (n == 64 || n == 128 || (n == 256 && !c.d.sparse))
      return {};
    return broken(c.d.sparse ? "64, 128" : "64, 128, 256");
  }
  const bool pair = c.i.cta_group == 2;
  if (const uint32_t step = transposed_step(c); step && (n < step || n > 256 || n % step))
    return broken(fmt::format("{} to 256 in steps of {}, as B is transposed and of 8 bits", step, step));
  if (c.d.kind == TensorKind::i8 && !pair) {
    const bool ok = n == 8 || n == 24 || (n >= 16 && n <= 256 && n % 16 == 0);
    return ok ? std::string() : broken("8, 24, and 16 to 256 in steps of 16");
  }
  const uint32_t step = c.d.kind == TensorKind::i8 ? 32 : pair || c.d.k96 ? 16 : 8;
  if (n >= step && n <= 256 && n % step == 0)
    return {};
  return broken(fmt::format("{} to 256 in steps of {}", step, step));
}

// The id is the first byte of the scale factors in their column. K = 96 has 3 of them, which go on in the
// next column, or 6.
std::string wrong_scale_ids(const Checked& c) {
  if (!is_f4(c.d.kind))
    return {};
  const uint32_t step = c.d.k96 ? (c.i.scale_vec == 4 ? 2 : 1) : c.i.scale_vec == 4 ? 4 : 2;
  const std::string_view legal = step == 1 ? "0, 1, 2, 3" : step == 2 ? "0, 2" : "0";
  for (const Id id : {Id::scale_a_id, Id::scale_b_id})
    if (c.code(id) % step)
      return c.broken(id,
                      fmt::format("{}{}", legal,
                                  c.i.scale_vec ? fmt::format(" with .scale_vec::{}X", c.i.scale_vec) : ""));
  return {};
}

std::string wrong_k(const Checked& c) {
  if (c.d.kind == TensorKind::mxf8f6f4 && c.code(Id::k_size))
    return c.broken(Id::k_size, "0");
  return {};
}

constexpr auto kRules = {wrong_reserved,  wrong_k, wrong_sparsity, wrong_types,
                         wrong_modifiers, wrong_m, wrong_n,        wrong_scale_ids};

} // namespace

std::optional<std::string> wrong(const TensorInstructionDescriptor& descriptor,
                                 const TensorInstruction& instruction) {
  for (const auto rule : kRules)
    if (std::string broken = rule({descriptor, instruction}); !broken.empty())
      return fmt::format("instruction descriptor {:#010x}: {}", descriptor.bits, broken);
  return std::nullopt;
}

} // namespace lemma::layout
