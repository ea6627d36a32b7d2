// Opcodes of which all that they do is in their destinations, lane by lane, and follows from their sources
// alone. A carry (.cc, addc, subc, madc) is a source or a destination besides; predicates are made by setp,
// which is not among them.
//
// Tests: tests/unit/vgpu/launch_constants_test.cc, tests/unit/check/loaded_test.cc.
#pragma once

#include "isa/vocabulary.h"

namespace lemma::vgpu {

inline bool computes(isa::Opcode opcode) {
  using isa::Opcode;
  switch (opcode) {
  case Opcode::abs:
  case Opcode::add:
  case Opcode::addc:
  case Opcode::and_:
  case Opcode::bfe:
  case Opcode::bfi:
  case Opcode::bfind:
  case Opcode::bmsk:
  case Opcode::brev:
  case Opcode::clz:
  case Opcode::cnot:
  case Opcode::copysign:
  case Opcode::cos:
  case Opcode::cvt:
  case Opcode::cvt_pack:
  case Opcode::cvta:
  case Opcode::cvta_to:
  case Opcode::div:
  case Opcode::dp2a:
  case Opcode::dp4a:
  case Opcode::ex2:
  case Opcode::fma:
  case Opcode::fns:
  case Opcode::lg2:
  case Opcode::lop3:
  case Opcode::mad:
  case Opcode::mad24:
  case Opcode::madc:
  case Opcode::max:
  case Opcode::min:
  case Opcode::mov:
  case Opcode::mul:
  case Opcode::mul24:
  case Opcode::neg:
  case Opcode::not_:
  case Opcode::or_:
  case Opcode::popc:
  case Opcode::prmt:
  case Opcode::rcp:
  case Opcode::rem:
  case Opcode::rsqrt:
  case Opcode::sad:
  case Opcode::selp:
  case Opcode::set:
  case Opcode::shf:
  case Opcode::shl:
  case Opcode::shr:
  case Opcode::sin:
  case Opcode::slct:
  case Opcode::sqrt:
  case Opcode::sub:
  case Opcode::subc:
  case Opcode::szext:
  case Opcode::tanh:
  case Opcode::xor_:
    return true;
  default:
    return false;
  }
}

} // namespace lemma::vgpu
