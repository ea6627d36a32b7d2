// The arithmetic of the matrix instructions: D = A * B + C for whole tiles, bit for bit.
//
// The PTX ISA leaves order and precision of the accumulation open; the hardware does not. A DotModel holds
// the few numbers by which the machines differ, and dot_model() knows them for each architecture. A DotPlan
// is made once of a model, the size of a product and how its matrices lie, and dot() computes by it. It does
// not know fragments, registers or memory: operands arrive as plain arrays, or as the blocks that registers
// are.
//
// The fused rule: every product is exact, with the exponent that is the sum of its operands' exponents (not
// normalized; a subnormal keeps its format's least exponent; a zero never has the largest exponent). All
// products of a step and the accumulator are aligned to the largest exponent among them and cut, toward zero,
// to F fractional bits, and none below 2^kLeastDigit; the sum of those is exact; it is normalized and rounded
// once to the result.
//
// PTX ISA: "Warp Level Matrix Multiply-Accumulate Instructions", "Asynchronous Warpgroup Level Matrix ...".
// The numbers are from MMA-Sim (Xie et al., arXiv:2511.10909) and from our own measurements on an H200.
// Tests: tests/unit/numeric/dot_test.cc.
#pragma once

#include "lemma/matrix_outputs.h"
#include "numeric/arch.h"
#include "numeric/dot_scratch.h"
#include "numeric/format.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace lemma::numeric {

// The exponent of the last digit that a fused sum has, however small its terms are. Measured on an H200 for
// bf16 and tf32 of mma and mma.sp, whose products alone are so small; assumed of other machines.
inline constexpr int kLeastDigit = -158;

// Which instruction asks. `mma` stands for wmma too.
enum class DotUnit : uint8_t { mma, wgmma, tcgen05 };

enum class DotScheme : uint8_t {
  fused, // the fused rule, K in steps of at most max_fused_k, each step's result the next one's accumulator
  split_quad, // two fused steps from zero, over k mod 4 in {0,1}, then {2,3}; C added last, IEEE round to
              // nearest even
  block_sums, // exact sums of 16 products, each times its two scales, then the fused rule over these and C
  fma_chain,  // one IEEE fma after another, k ascending, from C
  scalar_k4,  // f16 m8n8k4 where the machine has no such instruction: IEEE f32 arithmetic, nearest even; to
              // f32: fma over k ascending from +0, then + C; to f16: (C + k0,k1) + k2,k3, rounded at the end
  integer,    // exact, then 32-bit wrap or saturation
  xor_popc,   // number of set bits of a ^ b
  and_popc,   // number of set bits of a & b
};

struct DotModel {
  DotScheme scheme = DotScheme::fused;
  FloatFormat a = FloatFormat::f16;
  FloatFormat b = FloatFormat::f16;
  FloatFormat c = FloatFormat::f32;
  FloatFormat d = FloatFormat::f32;
  int fraction_bits = 25;                 // F; at most 40
  int max_fused_k = 0;                    // products of one fused step, or before a sum saturates; 0: all
  int kept_fraction_bits = 23;            // of an f32 result; the bits below are zero
  Rounding rounding = Rounding::rz;       // of a step's result; of each fma of a chain
  FloatFormat scale = FloatFormat::ue8m0; // block-scaled forms: format of the scales
  int scale_block = 0;                    // products that share a scale; 0: not block scaled
  IntegerFormat integer_a = IntegerFormat::s8;
  IntegerFormat integer_b = IntegerFormat::s8;
  bool satfinite = false; // integer: saturate the 32-bit result
  Evidence evidence = Evidence::assumed;

  friend bool operator==(const DotModel&, const DotModel&) = default;
};

// The operands by which machines differ.
enum class DotOperands : uint8_t {
  f16,
  bf16,
  tf32,
  f64,
  fp8,    // e4m3 and e5m2, in every pair
  f8f6f4, // every pair of narrow formats with an e2m3, e3m2 or e2m1
  mx_k32, // block scaled, 32 deep: mxf8f6f4
  mx_k64, // block scaled, 64 deep or more: mxf4 and mxf4nvf4
};

std::string_view to_string(DotOperands operands);

// One row of the table that dot_model() reads (dot_model.cc): what the machines from `first` to `last` do.
struct DotRule {
  Arch first = Arch::sm_70;
  Arch last = Arch::sm_120;
  DotUnit unit = DotUnit::mma;
  DotOperands operands = DotOperands::f16;
  int only_k = 0; // an instruction of just this depth, before the row of every depth; 0: every
  DotScheme scheme = DotScheme::fused;
  int fraction_bits = 0; // as in DotModel; 0 where the scheme has none
  int max_fused_k = 0;   // as in DotModel
  int kept_fraction_bits = 23;
  Evidence evidence = Evidence::published;
};

std::span<const DotRule> dot_rules();

// The model of a floating-point instruction of depth k; none where the machine has no such instruction. `a`
// and `b` are f16, bf16, tf32, f64 or a narrow format; `c` and `d` f16, f32 or f64.
std::optional<DotModel> dot_model(Arch arch, DotUnit unit, FloatFormat a, FloatFormat b, FloatFormat c,
                                  FloatFormat d, int k);
// The same with a sparse A (DotShape::k_b), k in columns of B: half of them have products, and a step
// takes as many products as one of the dense form does.
std::optional<DotModel> dot_model_sparse(Arch arch, DotUnit unit, FloatFormat a, FloatFormat b, FloatFormat c,
                                         FloatFormat d, int k);
// Block-scaled forms (`.block_scale`): k is that of the instruction (32: mxf8f6f4, 64: mxf4 and mxf4nvf4; 96,
// on sm_103: assumed to be as 64), scale_block the products that share a scale (16 or 32).
std::optional<DotModel> dot_model_block_scale(Arch arch, DotUnit unit, FloatFormat a, FloatFormat b,
                                              FloatFormat scale, int k, int scale_block);
// u8, s8, u4 and s4 operands, s32 accumulator; the same on every machine.
DotModel dot_model_integer(IntegerFormat a, IntegerFormat b, bool satfinite);
// b1 operands, s32 accumulator: `.xor.popc` or `.and.popc`.
DotModel dot_model_bits(DotScheme xor_or_and);

// Several products one after the other, each of the depth k and with the result of the one before as its C,
// are one product of their depths together where the model says so; its results are the same bits. Such a
// model of the one of depth k; the same model where there is none.
DotModel chainable(const DotModel& model, int k);
// Up to how many products dot() takes together by such a model for all of its outputs to take the vector
// loops that those of one do; 1 where it is not such a model.
int longest_chain(const DotModel& model, int k);

// The size of a product.
struct DotShape {
  int m = 0, n = 0;
  int k = 0;   // products of one output
  int k_b = 0; // columns of B, where a sparse A meets k of them; 0 or k: A is dense

  bool is_sparse() const { return k_b > k; }
  int columns_of_b() const { return is_sparse() ? k_b : k; }
  uint64_t outputs() const { return static_cast<uint64_t>(m) * static_cast<uint64_t>(n); }
};

// Which matrices lie in blocks. The others lie in rows, one after the other:
//   a [m][k], b [n][k_b] (K contiguous), c and d [m][n].
// An element takes 1 byte in formats of up to 8 bits (value in the low bits), 2 in 16-bit ones, 4 in tf32,
// f32 and s32, 8 in f64. b1 operands are uint32_t words of 32 elements, and k still counts elements.
//
// Blocks are what a warp's registers have of a matrix: 8 rows by 16 bytes, of f64 by 32. They are listed row
// eight after row eight: the one at row i and byte y of the row is [i / 8 * (bytes of a row / 16) + y / 16].
// Blocks of A and B lie along K, and rows of B are columns of D. Rows are a multiple of 8, their bytes of 16.
enum class DotBlocks : uint8_t {
  none,
  outputs, // c and d, both of one size
  all,     // and a and b, which is dense
};

// How the matrices of a product lie.
struct DotLayout {
  int row_stride = 0; // elements from a row of c and d to the next, where they lie in rows; 0: n
  DotBlocks blocks = DotBlocks::none;
  // Of every eight rows of B in blocks, D has as columns the even ones and then the odd ones, as in the
  // fragments of mma.sync with results of 4 bytes.
  bool even_columns_first = false;
};

namespace internal {
class DotWay; // dot_internal.h
}

// What all products of one model, size and layout have in common: the way by which they are computed, at the
// level of instructions that the host has (dot_levels.h, when the plan is made), and what that way has to
// know. Ordinary numbers take vector loops; what holds others, such as a NaN, takes a slower way.
class DotPlan {
public:
  DotPlan() = default; // of nothing
  // The shape must fit the model: k a multiple of scale_block, of 16 for block_sums, of 4 for split_quad, of
  // 32 for b1, and at most 32768 for integers.
  DotPlan(const DotModel& model, const DotShape& shape, const DotLayout& layout = {});

  const DotModel& model() const { return model_; }
  const DotShape& shape() const { return shape_; }
  const DotLayout& layout() const { return layout_; }
  size_t row_stride() const { // of c and d in rows, in elements
    return static_cast<size_t>(layout_.row_stride != 0 ? layout_.row_stride : shape_.n);
  }
  const internal::DotWay* way() const { return way_.get(); } // null: the scalar code alone

private:
  DotModel model_;
  DotShape shape_;
  DotLayout layout_;
  std::shared_ptr<const internal::DotWay> way_;
};

// Where a matrix lies: the first of its rows or the list of its blocks, as the plan's layout has it. `Byte`:
// std::byte, const where the matrix is only read.
template <class Byte>
class DotPlace {
  using Element = std::conditional_t<std::is_const_v<Byte>, const void, void>;

public:
  DotPlace(std::nullptr_t) {}
  DotPlace(Element* rows) : at_(rows) {}
  // `pitch`: of A and B of f64, bytes from a row of a block to the next; 0: 32, as in registers.
  DotPlace(Byte* const* blocks, size_t pitch = 0) : at_(blocks), pitch_(pitch) {}

  explicit operator bool() const { return at_ != nullptr; }
  Byte* rows() const { return static_cast<Byte*>(const_cast<Element*>(at_)); }
  Byte* const* blocks() const { return static_cast<Byte* const*>(at_); }
  size_t pitch() const { return pitch_; }

private:
  const void* at_ = nullptr;
  size_t pitch_ = 0;
};

class ArrangedB;

// How many products at most make_chain() takes together.
inline constexpr int kMostInChain = 4;
// The plan of one product of this shape, that of two after each other as one, and so on: as many as
// longest_chain() allows, of a sparse A the one alone.
std::vector<DotPlan> make_chain(const DotModel& model, const DotShape& shape, const DotLayout& layout = {});

// The matrices of one product.
struct DotTile {
  DotPlace<const std::byte> a = nullptr, b = nullptr;
  DotPlace<const std::byte> c = nullptr; // null: +0
  DotPlace<std::byte> d = nullptr;       // may be c's where they have one format
  // One byte each: scale_a [m][k / scale_block], scale_b [n][k / scale_block].
  const uint8_t* scale_a = nullptr;
  const uint8_t* scale_b = nullptr;
  const uint8_t* a_index = nullptr; // [m][k] of a sparse A: the column of B that meets each stored element
  const ArrangedB* arranged_b = nullptr; // what b holds, arranged before; null: dot() does it
};

// The B of several products, brought once into the form in which the vector loops take it: that costs them as
// much as the product with a few rows of A.
class ArrangedB {
public:
  ArrangedB();
  ~ArrangedB();
  ArrangedB(ArrangedB&&) noexcept;
  ArrangedB& operator=(ArrangedB&&) noexcept;

  // Arranges tile.b, which lies in rows, and its scales, for products of this plan, and of plans that differ
  // from it in m and row_stride alone. Nothing is kept of `tile` itself. Where the loops would not profit,
  // nothing is arranged.
  void arrange(const DotPlan& plan, const DotTile& tile);

  struct Content; // dot_internal.h
  const Content& content() const { return *content_; }

private:
  std::unique_ptr<Content> content_;
};

// One product. Returns how many of its outputs took which way.
MatrixOutputs dot(const DotPlan& plan, const DotTile& tile, DotScratch& scratch);

} // namespace lemma::numeric
