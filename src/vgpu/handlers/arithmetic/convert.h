// What the files of cvt share: the modifiers of an instruction, and the slow exact conversion that serves
// every pair for which there is no kernel.
//
// Tests: tests/unit/vgpu/convert_test.cc.
#pragma once

#include "numeric/convert.h"
#include "vgpu/handlers/arithmetic/select.h"

#include <optional>

namespace lemma::vgpu {

// DecodedInst::flags of the kernels of cvt, beside kFlagFtz, kFlagSat, kFlagRelu and kFlagSatfinite of
// select.h.
inline constexpr int kRoundingShift = 4;    // two bits: 0 rn, 1 rz, 2 rm, 3 rp, to an integer too
inline constexpr uint8_t kFlagRounded = 64; // a rounding was given

struct ConvertModifiers {
  isa::Qual rounding = isa::Qual::none;
  bool ftz = false;
  bool sat = false;
  bool relu = false;
  bool satfinite = false;
  bool scaled = false; // .scaled::n2::ue8m0: the last source has a factor for each element
  bool stochastic() const { return rounding == isa::Qual::rs; } // the last source has random bits

  uint8_t flags() const;
};
// Nothing if the instruction has a qualifier that is none of these.
std::optional<ConvertModifiers> modifiers_of(const ptx::Instruction& instruction);

// An element's format: floating point, integer, or fixed point (s2f6).
struct ElementFormat {
  bool is_float = false;
  bool is_fixed = false;
  numeric::FloatFormat floating{};
  numeric::IntegerFormat integer{};
  int elements = 1; // of the PTX type
  int bits = 0;     // that an element takes in a register: e2m3 takes 8
};
std::optional<ElementFormat> format_of(isa::Type type);

// The exact conversion of any pair, through src/numeric. Sources of one element each are packed, the first
// highest.
bool pick_numeric_conversion(isa::Type to, isa::Type from, int sources, const ConvertModifiers& modifiers,
                             Selection& selection);

} // namespace lemma::vgpu
