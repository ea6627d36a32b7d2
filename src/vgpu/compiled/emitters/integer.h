// What the files of integer emitters share.
//
// Tests: tests/unit/vgpu/integer_test.cc, through compiled code.
#pragma once

#include "vgpu/compiled/emit.h"

#include <optional>

namespace lemma::vgpu {

// 2, 4 or 8 of an integer type with or without sign; 0: another type.
int bytes_of_integer(isa::Type type);

// Of three instructions of the host the one for lanes of so many bytes.
inline asmjit::InstId by_width(int bytes, asmjit::InstId of_16, asmjit::InstId of_32, asmjit::InstId of_64) {
  return bytes == 2 ? of_16 : bytes == 4 ? of_32 : of_64;
}

// x[0] = s + t or s - t, of s32, saturated; x are temporaries. Overwrites k5.
void saturated_sum(Emit& e, const std::array<x86::Zmm, 3>& x, const x86::Zmm& s, const x86::Zmm& t,
                   bool subtracts);

// A product of integers whose lanes are as wide as its factors', a part at a time.
class Product {
public:
  // Which one the instruction computes, by .lo or .hi and, of mul24 and mad24, of the low 24 bits. Its
  // temporaries are taken here.
  Product(Emit& e, const ptx::Instruction& instruction);
  // x = its part of s and t, which it is neither of.
  void part(const x86::Zmm& x, const x86::Zmm& s, const x86::Zmm& t);

private:
  void high_32(const x86::Zmm& x, const x86::Zmm& s, const x86::Zmm& t);
  void high_64(const x86::Zmm& x, const x86::Zmm& s, const x86::Zmm& t);

  Emit& e_;
  int bytes_;
  bool is_signed_, is_high_, is_of_24_;
  std::array<x86::Zmm, 4> y_;
};

// The emitters of opcodes that several families share.
bool emit_carry(Emit& e, const ptx::Instruction& i);            // carry.cc: with .cc, and of CC.CF
bool emit_float_arithmetic(Emit& e, const ptx::Instruction& i); // float.cc
template <Emitter... kEmitters>
bool either(Emit& e, const ptx::Instruction& i) {
  return (kEmitters(e, i) || ...);
}

} // namespace lemma::vgpu
