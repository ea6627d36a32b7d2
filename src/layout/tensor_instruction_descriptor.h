// The 32-bit instruction descriptor of tcgen05.mma: the shape, the types and what is done to the operands.
//
//   bits    kinds f16, tf32, f8f6f4, i8             kinds mxf8f6f4, mxf4, mxf4nvf4
//   0-1     sparsity selector                       0
//   2       1: A is sparse                          1: A is sparse
//   3       1: saturate, i8                         0
//   4-5     type of D: 0 f16, 1 f32, 2 s32          scale factor id of B
//   6       0                                       0
//   7-9     type of A                               type of A
//   10-12   type of B                               type of B
//   13, 14  1: negate A, B                          1: negate A, B
//   15, 16  1: A, B is MN-major ("transpose")       1: A, B is MN-major
//   17-22   N / 8                                   N / 8
//   23      0                                       type of the scale factors: 0 ue4m3, 1 ue8m0
//   24-28   M / 16                                  M / 16, of which only multiples of 128 are legal
//   29      0                                       29-30: scale factor id of A
//   30-31   .ws: largest shift of B 0, 8, 16, 32    31: 1: K is 96, kinds mxf4 and mxf4nvf4
//
//   kind              types by their code
//   f16               0 f16, 1 bf16
//   tf32              2 tf32
//   f8f6f4, mxf8f6f4  0 e4m3, 1 e5m2, 3 e2m3, 4 e3m2, 5 e2m1
//   i8                0 u8, 1 s8
//   mxf4, mxf4nvf4    1 e2m1
//
// M and N are those of both CTAs together under .cta_group::2. What M and N may be differs between sources;
// the rules here take what any of them takes: the ISA's table of shapes, and CUTLASS's assertions for K = 96.
// CUTLASS takes fewer N where A is in tensor memory, and the ISA does not.
//
// Not here: whether the target has the kind, .ws or K = 96; the rules that need a shared-memory descriptor
// (of tf32, a transposed operand has 128-byte swizzle with 32-byte atoms, other kinds never do:
// tensor_smem_descriptor.h); .kind::ti16.
//
// No hardware of ours has checked it. PTX ISA: "Instruction descriptor", "Matrix Shape", "Transpose and
// Negate operations", "Scale Factor A ID", "Sparsity selector". Tests:
// tests/unit/layout/tensor_instruction_descriptor_test.cc.
#pragma once

#include "layout/descriptor_field.h"

#include <optional>
#include <vector>

namespace lemma::layout {

enum class TensorKind : uint8_t { f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };

// Of the spelling of the qualifier, ".kind::f16"; none where it is none of these.
std::optional<TensorKind> tensor_kind(std::string_view qualifier);
std::string_view to_string(TensorKind kind);

constexpr bool is_block_scaled(TensorKind kind) {
  return kind >= TensorKind::mxf8f6f4;
}

// Of an element of A, B or D. `none`: the kind has no type of that code.
enum class TensorFormat : uint8_t { none, f16, bf16, tf32, e4m3, e5m2, e2m3, e3m2, e2m1, u8, s8, f32, s32 };
std::string_view to_string(TensorFormat format);

enum class ScaleFormat : uint8_t { ue4m3, ue8m0 }; // by their code
std::string_view to_string(ScaleFormat format);

// What the fields mean. Those that the kind does not have are as below.
struct TensorInstructionDescriptor {
  TensorKind kind{};
  uint32_t bits = 0; // all of them, for the rules of what is reserved
  uint32_t m = 0, n = 0;
  TensorFormat a{}, b{}, d{}; // D of a block-scaled kind is f32
  bool transpose_a = false, transpose_b = false;
  bool negate_a = false, negate_b = false;
  bool sparse = false;
  uint8_t sparsity_selector = 0;
  bool saturate = false;
  uint8_t max_shift = 0; // 0, 8, 16 or 32 columns
  uint8_t scale_a_id = 0, scale_b_id = 0;
  ScaleFormat scale{};
  bool k96 = false;

  static TensorInstructionDescriptor decode(uint32_t bits, TensorKind kind);
  // Of the fields, without `bits`. They must be ones that the kind has.
  uint32_t encode() const;

  // Elements of K that one instruction takes.
  uint32_t k() const;
};

// What the instruction says of itself.
struct TensorInstruction {
  uint32_t cta_group = 1;
  bool ws = false;
  bool sp = false;                 // tcgen05.mma.sp
  bool a_in_tensor_memory = false; // not in shared memory
  bool ashift = false;
  uint32_t scale_vec = 0; // .scale_vec::1X, 2X, 4X; .block32 of fp4 is 2, .block16 is 4; 0: not known
};

// The first rule that the descriptor breaks: the field, its bits, its value, and what is legal there. None:
// it breaks none.
std::optional<std::string> wrong(const TensorInstructionDescriptor& descriptor,
                                 const TensorInstruction& instruction);

// Every field in the order of the bits, those that must be 0 too.
std::vector<DescriptorField> explain(const TensorInstructionDescriptor& descriptor);

} // namespace lemma::layout
