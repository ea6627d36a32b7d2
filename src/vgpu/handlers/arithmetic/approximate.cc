// The approximate functions: sin, cos, ex2, lg2, tanh, rsqrt and the .approx and .full forms of rcp, sqrt and
// div, for f32, f64 and half precision. What they compute stands in numeric/mufu.h: the bits of an sm_90 GPU.
// On another machine a launch's report says that they are assumed to be the same there.
//
// PTX ISA: "Floating Point Instructions: div, rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh", "Half Precision
// Floating Point Instructions: tanh, ex2". Tests: tests/unit/vgpu/approximate_test.cc.
#include "numeric/mufu.h"
#include "vgpu/code/decoder.h"
#include "vgpu/handlers/arithmetic/select.h"

#include <array>

namespace lemma::vgpu {
namespace {

using isa::Opcode;
using isa::Qual;
using isa::Type;
using numeric::Mufu;

// kElements of the form's type lie in each lane of a register of type Lane.
template <Mufu kForm, class Lane, size_t kElements>
Step run(Exec& x, const DecodedInst& in) {
  const Lane* a = x.src<Lane>(in, 0);
  const Lane* b = in.op_count - in.dst_count > 1 ? x.src<Lane>(in, 1) : nullptr;
  x.note_approximate();
  if (x.active == kAllLanes) { // the destination may be a source: each lane is read before it is written
    numeric::mufu(kForm, a, b, x.dst<Lane>(in), kElements * kWarpSize);
    return Step::next;
  }
  alignas(64) Lane results[kWarpSize];
  numeric::mufu(kForm, a, b, results, kElements * kWarpSize);
  keep_active(x.dst<Lane>(in), results, x.active);
  return Step::next;
}

template <Mufu kForm>
void add_f32(RowTable& t, Opcode opcode, std::initializer_list<Qual> quals) {
  t.add(opcode, {Type::f32}, quals, run<kForm, uint32_t, 1>, Type::f32, {Type::f32});
}
template <Mufu kForm>
void add_f64(RowTable& t, Opcode opcode, std::initializer_list<Qual> quals) {
  t.add(opcode, {Type::f64}, quals, run<kForm, uint64_t, 1>, Type::f64, {Type::f64});
}
template <Mufu kForm>
void add_division(RowTable& t, std::initializer_list<Qual> quals) {
  t.add(Opcode::div, {Type::f32}, quals, run<kForm, uint32_t, 1>, Type::f32, {Type::f32, Type::f32},
        Modes::none, run<numeric::by_constant(kForm), uint32_t, 1>);
}
template <Mufu kForm>
void add_halves(RowTable& t, Opcode opcode, Type one, Type two, std::initializer_list<Qual> quals) {
  t.add(opcode, {one}, quals, run<kForm, uint16_t, 1>, one, {one});
  t.add(opcode, {two}, quals, run<kForm, uint32_t, 2>, two, {two});
}

RowTable make_table() {
  RowTable t;
  constexpr Qual approx = Qual::approx, full = Qual::full, ftz = Qual::ftz;
  add_f32<Mufu::rcp_f32>(t, Opcode::rcp, {approx});
  add_f32<Mufu::rcp_ftz_f32>(t, Opcode::rcp, {approx, ftz});
  add_f32<Mufu::sqrt_f32>(t, Opcode::sqrt, {approx});
  add_f32<Mufu::sqrt_ftz_f32>(t, Opcode::sqrt, {approx, ftz});
  add_f32<Mufu::rsqrt_f32>(t, Opcode::rsqrt, {approx});
  add_f32<Mufu::rsqrt_ftz_f32>(t, Opcode::rsqrt, {approx, ftz});
  add_f32<Mufu::ex2_f32>(t, Opcode::ex2, {approx});
  add_f32<Mufu::ex2_ftz_f32>(t, Opcode::ex2, {approx, ftz});
  add_f32<Mufu::lg2_f32>(t, Opcode::lg2, {approx});
  add_f32<Mufu::lg2_ftz_f32>(t, Opcode::lg2, {approx, ftz});
  add_f32<Mufu::sin_f32>(t, Opcode::sin, {approx});
  add_f32<Mufu::sin_f32>(t, Opcode::sin, {approx, ftz});
  add_f32<Mufu::cos_f32>(t, Opcode::cos, {approx});
  add_f32<Mufu::cos_f32>(t, Opcode::cos, {approx, ftz});
  add_f32<Mufu::sin_turns_f32>(t, Opcode::sin, {Qual::_2pi, approx, ftz});
  add_f32<Mufu::cos_turns_f32>(t, Opcode::cos, {Qual::_2pi, approx, ftz});
  add_f32<Mufu::tanh_f32>(t, Opcode::tanh, {approx});
  add_division<Mufu::div_f32>(t, {approx});
  add_division<Mufu::div_ftz_f32>(t, {approx, ftz});
  add_division<Mufu::div_full_f32>(t, {full});
  add_division<Mufu::div_full_ftz_f32>(t, {full, ftz});
  add_f64<Mufu::rcp_ftz_f64>(t, Opcode::rcp, {approx, ftz});
  add_f64<Mufu::rsqrt_ftz_f64>(t, Opcode::rsqrt, {approx, ftz});
  add_f64<Mufu::rsqrt_f64>(t, Opcode::rsqrt, {approx});
  add_halves<Mufu::ex2_f16>(t, Opcode::ex2, Type::f16, Type::f16x2, {approx});
  add_halves<Mufu::ex2_ftz_bf16>(t, Opcode::ex2, Type::bf16, Type::bf16x2, {approx, ftz});
  add_halves<Mufu::tanh_f16>(t, Opcode::tanh, Type::f16, Type::f16x2, {approx});
  add_halves<Mufu::tanh_bf16>(t, Opcode::tanh, Type::bf16, Type::bf16x2, {approx});
  return t;
}

const RowTable& table() {
  static const RowTable table = make_table();
  return table;
}

} // namespace

bool pick_approximate(const ptx::Instruction& instruction, Selection& selection) {
  return table().pick(instruction, selection);
}

void add_approximate_selectors(SelectorTable& selectors) {
  table().add_to(selectors);
}

} // namespace lemma::vgpu
