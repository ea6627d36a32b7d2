// The approximate functions of the PTX ISA, to the bit: what an sm_90 GPU's multi-function unit (MUFU)
// computes, and what ptxas makes around it of each PTX form.
//
// The unit is one quadratic interpolator with a table for each function. The upper bits of the reduced
// argument choose a row (C0, C1, C2), the lower bits are x, and in whole numbers
//
//   V = (C0 << a) + C1 * x + k * C2 * square(x) + R
//
// of which the lower bits are cut. square() is truncated too: of the partial products x[i] * x[j] * 2^(i+j)
// those below 2^18 are left out, without their carries.
//
//          tables in mufu/*.inc                mufu_lanes.inc
//   x --> range reduction --> row, x --> V --> exponent and sign --> scaling that ptxas adds --> result
//
// Measured on an H200, see checked_inputs(): every f32 form but those of turns on all inputs, every 16-bit
// form on all pairs of inputs. The tables of rcp, rsqrt, sin, ex2 and lg2 are those of NVIDIA's GPUs since
// 2006 (envytools, nvhw/sfu.c). Which machines have been asked: src/isa/machines.def.
//
// PTX ISA: "Floating Point Instructions: div, rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh", "Half Precision
// Floating Point Instructions: tanh, ex2". Tests: tests/unit/numeric/mufu_test.cc, tests/golden/mufu.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lemma::numeric {

// A PTX form; sin and cos have the same bits with .ftz and without.
enum class Mufu : uint8_t {
  rcp_f32,       // rcp.approx.f32
  rcp_ftz_f32,   // rcp.approx.ftz.f32
  sqrt_f32,      //
  sqrt_ftz_f32,  //
  rsqrt_f32,     //
  rsqrt_ftz_f32, //
  ex2_f32,       //
  ex2_ftz_f32,   //
  lg2_f32,       //
  lg2_ftz_f32,   //
  sin_f32,       // sin.approx{.ftz}.f32
  cos_f32,       //
  sin_turns_f32, // sin.2pi.approx.ftz.f32: of turns, not radians
  cos_turns_f32, //
  tanh_f32,      // tanh.approx.f32
  ex2_f16,       // ex2.approx.f16, .f16x2
  ex2_ftz_bf16,  // ex2.approx.ftz.bf16, .bf16x2
  tanh_f16,      //
  tanh_bf16,     //
  rcp_ftz_f64,   // rcp.approx.ftz.f64: of the upper 32 bits, to the upper 32 bits
  rsqrt_ftz_f64, //
  rsqrt_f64,     // rsqrt.approx.f64
  div_f32,       // div.approx.f32
  div_ftz_f32,   //
  div_full_f32,  // div.full.f32
  div_full_ftz_f32,
  // Divisions by a number that the assembler knows: it writes a multiplication by the reciprocal, which it
  // rounds to nearest, where the unit's may be off in the last bit.
  div_constant_f32,
  div_constant_ftz_f32,
  div_full_constant_f32,
  div_full_constant_ftz_f32,
};
inline constexpr int kMufuForms = 30;

// The form of a division whose divisor is known to the assembler; others as they are.
constexpr Mufu by_constant(Mufu form) {
  constexpr int kBetween = static_cast<int>(Mufu::div_constant_f32) - static_cast<int>(Mufu::div_f32);
  const bool is_division = form >= Mufu::div_f32 && form <= Mufu::div_full_ftz_f32;
  return is_division ? static_cast<Mufu>(static_cast<int>(form) + kBetween) : form;
}

// "rcp.approx.ftz.f32"
std::string_view to_string(Mufu form);

// On what inputs the bits have been compared with an H200's: "all 2^32 inputs". mufu_test.cc does it.
std::string_view checked_inputs(Mufu form);

// d[i] = form(a[i]), of divisions form(a[i], b[i]), for `count` elements of the form's type (uint16_t,
// uint32_t or uint64_t: bit patterns); `b` is not looked at otherwise. `d` may be `a` or `b`, else they do
// not overlap. The same bits at every level of the host.
void mufu(Mufu form, const void* a, const void* b, void* d, size_t count);

} // namespace lemma::numeric
