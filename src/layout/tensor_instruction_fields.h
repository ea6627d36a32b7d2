// The fields of an instruction descriptor and the codes of its types, for what decodes it and for its rules.
//
// Not here: what they mean to the one who asks: tensor_instruction_descriptor.h. Tests:
// tests/unit/layout/tensor_instruction_descriptor_test.cc.
#pragma once

#include "layout/tensor_instruction_descriptor.h"

#include <algorithm>
#include <array>
#include <span>

namespace lemma::layout::instruction_fields {

// --- the fields

enum class Id : uint8_t {
  reserved,
  sparsity_selector,
  sparse,
  saturate,
  d_type,
  scale_b_id,
  a_type,
  b_type,
  negate_a,
  negate_b,
  transpose_a,
  transpose_b,
  n,
  scale_type,
  m,
  scale_a_id,
  max_shift,
  k_size
};

struct Field {
  Id id;
  std::string_view name;
  BitRange bits;
};

inline constexpr Field kPlain[] = {{Id::sparsity_selector, "sparsity selector", {0, 1}},
                                   {Id::sparse, "sparsity", {2, 2}},
                                   {Id::saturate, "saturate", {3, 3}},
                                   {Id::d_type, "type of D", {4, 5}},
                                   {Id::reserved, "reserved", {6, 6}},
                                   {Id::a_type, "type of A", {7, 9}},
                                   {Id::b_type, "type of B", {10, 12}},
                                   {Id::negate_a, "negate A", {13, 13}},
                                   {Id::negate_b, "negate B", {14, 14}},
                                   {Id::transpose_a, "transpose A", {15, 15}},
                                   {Id::transpose_b, "transpose B", {16, 16}},
                                   {Id::n, "N", {17, 22}},
                                   {Id::reserved, "reserved", {23, 23}},
                                   {Id::m, "M", {24, 28}},
                                   {Id::reserved, "reserved", {29, 29}},
                                   {Id::max_shift, "maximum shift", {30, 31}}};

inline constexpr Field kScaled[] = {{Id::reserved, "reserved", {0, 1}},
                                    {Id::sparse, "sparsity", {2, 2}},
                                    {Id::reserved, "reserved", {3, 3}},
                                    {Id::scale_b_id, "scale factor id of B", {4, 5}},
                                    {Id::reserved, "reserved", {6, 6}},
                                    {Id::a_type, "type of A", {7, 9}},
                                    {Id::b_type, "type of B", {10, 12}},
                                    {Id::negate_a, "negate A", {13, 13}},
                                    {Id::negate_b, "negate B", {14, 14}},
                                    {Id::transpose_a, "transpose A", {15, 15}},
                                    {Id::transpose_b, "transpose B", {16, 16}},
                                    {Id::n, "N", {17, 22}},
                                    {Id::scale_type, "type of the scale factors", {23, 23}},
                                    {Id::m, "M", {24, 28}},
                                    {Id::scale_a_id, "scale factor id of A", {29, 30}},
                                    {Id::k_size, "size of K", {31, 31}}};

inline std::span<const Field> fields_of(TensorKind kind) {
  return is_block_scaled(kind) ? std::span<const Field>(kScaled) : std::span<const Field>(kPlain);
}

// 0 where the kind has no such field.
inline uint32_t get(uint32_t bits, TensorKind kind, Id id) {
  for (const Field& field : fields_of(kind))
    if (field.id == id)
      return static_cast<uint32_t>(field.bits.of(bits));
  return 0;
}

// --- the types by their code

using F = TensorFormat;
inline constexpr std::array kF16 = {F::f16, F::bf16};
inline constexpr std::array kTf32 = {F::none, F::none, F::tf32};
inline constexpr std::array kF8F6F4 = {F::e4m3, F::e5m2, F::none, F::e2m3, F::e3m2, F::e2m1};
inline constexpr std::array kI8 = {F::u8, F::s8};
inline constexpr std::array kF4 = {F::none, F::e2m1};
inline constexpr std::array kDFloats = {F::f16, F::f32};
inline constexpr std::array kDF32 = {F::none, F::f32};
inline constexpr std::array kDS32 = {F::none, F::none, F::s32};

inline std::span<const F> operand_types(TensorKind kind) {
  switch (kind) {
  case TensorKind::f16:
    return kF16;
  case TensorKind::tf32:
    return kTf32;
  case TensorKind::f8f6f4:
  case TensorKind::mxf8f6f4:
    return kF8F6F4;
  case TensorKind::i8:
    return kI8;
  case TensorKind::mxf4:
  case TensorKind::mxf4nvf4:
    return kF4;
  }
  return {};
}

inline std::span<const F> d_types(TensorKind kind) {
  switch (kind) {
  case TensorKind::f16:
  case TensorKind::f8f6f4:
    return kDFloats;
  case TensorKind::i8:
    return kDS32;
  default:
    return kDF32;
  }
}

inline F format_of(std::span<const F> types, uint32_t code) {
  return code < types.size() ? types[code] : F::none;
}

inline uint32_t code_of(std::span<const F> types, F format) {
  return static_cast<uint32_t>(std::find(types.begin(), types.end(), format) - types.begin());
}

// Elements of A and B have four bits, and lie two in a byte.
inline bool is_f4(TensorKind kind) {
  return kind == TensorKind::mxf4 || kind == TensorKind::mxf4nvf4;
}

} // namespace lemma::layout::instruction_fields
