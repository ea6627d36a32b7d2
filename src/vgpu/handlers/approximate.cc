// The approximate functions: sin, cos, ex2, lg2, tanh, rsqrt and the .approx and .full forms of rcp, sqrt and
// div, for f32, f64 and half precision. Hardware looks them up in tables; here they are computed well within
// the error that the ISA states, so that results are right but not the hardware's bits, and the launch's
// report says that such a function ran. Special values (zeros, infinities, NaN, subnormals under .ftz) are as
// the ISA says.
//
// PTX ISA: "Floating Point Instructions: div, rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh", "Half Precision
// Floating Point Instructions: tanh, ex2". Tests: tests/unit/vgpu/approximate_test.cc.
#include "numeric/arithmetic.h"
#include "numeric/convert.h"
#include "vgpu/decoder.h"
#include "vgpu/handlers/select.h"

#include <cmath>

namespace lemma::vgpu {
namespace {

using isa::Opcode;
using isa::Qual;
using isa::Type;
using numeric::FloatFormat;

float flush(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}
float canonical(float value) {
  return std::isnan(value) ? std::bit_cast<float>(0x7fffffffu) : value;
}

// Functions of f32, exact to the last bit or nearly so.
float rcp_of(float a) {
  return 1.0f / a;
}
float rsqrt_of(float a) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a)));
}
float tanh_of(float a) {
  return std::tanh(a);
}
float sqrt_of(float a) {
  return std::sqrt(a);
}
float sin_of(float a) {
  return std::sin(a);
}
float cos_of(float a) {
  return std::cos(a);
}
float lg2_of(float a) {
  return std::log2(a);
}
float ex2_of(float a) {
  return std::exp2(a);
}
float quotient(float a, float b) {
  return a / b;
}
// Divisors above 2^126 have a reciprocal that is flushed: finite / b = 0, infinity / b = NaN.
float approximate_quotient(float a, float b) {
  if (std::isfinite(b) && std::abs(b) > 0x1p126f)
    return std::isfinite(a) ? std::copysign(0.0f, a) * std::copysign(1.0f, b) : NAN;
  return a / b;
}

template <float (*kFunction)(float), bool kFtz>
Step run_f32(Exec& x, const DecodedInst& in) {
  const float* a = x.src<float>(in, 0);
  float* d = x.dst<float>(in);
  x.note_approximate();
  for_lanes(x.active, [&](int lane) {
    const float result = kFunction(kFtz ? flush(a[lane]) : a[lane]);
    d[lane] = canonical(kFtz ? flush(result) : result);
  });
  return Step::next;
}
template <float (*kFunction)(float, float), bool kFtz>
Step run2_f32(Exec& x, const DecodedInst& in) {
  const float *a = x.src<float>(in, 0), *b = x.src<float>(in, 1);
  float* d = x.dst<float>(in);
  x.note_approximate();
  for_lanes(x.active, [&](int lane) {
    const float result = kFunction(kFtz ? flush(a[lane]) : a[lane], kFtz ? flush(b[lane]) : b[lane]);
    d[lane] = canonical(kFtz ? flush(result) : result);
  });
  return Step::next;
}

// rcp.approx.ftz.f64, rsqrt.approx.ftz.f64: of the upper 32 bits, to the upper 32 bits.
template <bool kRoot>
Step run_upper_f64(Exec& x, const DecodedInst& in) {
  const uint64_t* a = x.src<uint64_t>(in, 0);
  uint64_t* d = x.dst<uint64_t>(in);
  constexpr uint64_t kMinNormal = uint64_t{1} << 52, kSign = uint64_t{1} << 63, kNan = 0x7fffffff'00000000;
  x.note_approximate();
  for_lanes(x.active, [&](int lane) {
    uint64_t upper = a[lane] & ~uint64_t{0xffffffff};
    if ((upper & ~kSign) < kMinNormal)
      upper &= kSign;
    const auto value = std::bit_cast<double>(upper);
    const double result = kRoot ? 1.0 / std::sqrt(value) : 1.0 / value;
    uint64_t bits = std::bit_cast<uint64_t>(result);
    if (std::isfinite(result))
      bits += 0x80000000; // to nearest
    if ((bits & ~kSign) < kMinNormal)
      bits &= kSign;
    d[lane] = std::isnan(result) ? kNan : bits & ~uint64_t{0xffffffff};
  });
  return Step::next;
}
Step run_rsqrt_f64(Exec& x, const DecodedInst& in) {
  const double* a = x.src<double>(in, 0);
  double* d = x.dst<double>(in);
  x.note_approximate();
  for_lanes(x.active, [&](int lane) { d[lane] = 1.0 / std::sqrt(a[lane]); });
  return Step::next;
}

// Half precision, one element or two in a lane.
template <double (*kFunction)(double), FloatFormat kFormat, bool kFtz>
uint16_t half_of(uint16_t a) {
  const uint64_t in = kFtz ? numeric::flush_subnormal(kFormat, a) : a;
  const uint64_t wide = numeric::convert_float(FloatFormat::f64, kFormat, in);
  const double result = kFunction(std::bit_cast<double>(wide));
  const uint64_t narrow = numeric::convert_float(kFormat, FloatFormat::f64, std::bit_cast<uint64_t>(result));
  return static_cast<uint16_t>(kFtz ? numeric::flush_subnormal(kFormat, narrow) : narrow);
}
template <double (*kFunction)(double), FloatFormat kFormat, bool kFtz, int kElements>
Step run_half(Exec& x, const DecodedInst& in) {
  const uint16_t* a = x.src<uint16_t>(in, 0);
  uint16_t* d = x.dst<uint16_t>(in);
  x.note_approximate();
  for_lanes(x.active, [&](int lane) {
    for (int i = lane * kElements; i < (lane + 1) * kElements; ++i)
      d[i] = half_of<kFunction, kFormat, kFtz>(a[i]);
  });
  return Step::next;
}
double ex2_of_double(double a) {
  return std::exp2(a);
}
double tanh_of_double(double a) {
  return std::tanh(a);
}

template <float (*kFunction)(float)>
void add_f32_rows(RowTable& t, Opcode opcode) {
  t.add(opcode, {Type::f32}, {Qual::approx}, run_f32<kFunction, false>, Type::f32, {Type::f32});
  t.add(opcode, {Type::f32}, {Qual::approx, Qual::ftz}, run_f32<kFunction, true>, Type::f32, {Type::f32});
}
template <float (*kFunction)(float, float)>
void add_div_rows(RowTable& t, Qual how) {
  const std::initializer_list<Type> srcs = {Type::f32, Type::f32};
  t.add(Opcode::div, {Type::f32}, {how}, run2_f32<kFunction, false>, Type::f32, srcs);
  t.add(Opcode::div, {Type::f32}, {how, Qual::ftz}, run2_f32<kFunction, true>, Type::f32, srcs);
}
template <double (*kFunction)(double)>
void add_half_rows(RowTable& t, Opcode opcode, bool bf16_is_ftz) {
  const auto add = [&](Type type, std::initializer_list<Qual> quals, Handler handler) {
    t.add(opcode, {type}, quals, handler, type, {type});
  };
  add(Type::f16, {Qual::approx}, run_half<kFunction, FloatFormat::f16, false, 1>);
  add(Type::f16x2, {Qual::approx}, run_half<kFunction, FloatFormat::f16, false, 2>);
  if (bf16_is_ftz) {
    add(Type::bf16, {Qual::approx, Qual::ftz}, run_half<kFunction, FloatFormat::bf16, true, 1>);
    add(Type::bf16x2, {Qual::approx, Qual::ftz}, run_half<kFunction, FloatFormat::bf16, true, 2>);
  } else {
    add(Type::bf16, {Qual::approx}, run_half<kFunction, FloatFormat::bf16, false, 1>);
    add(Type::bf16x2, {Qual::approx}, run_half<kFunction, FloatFormat::bf16, false, 2>);
  }
}

RowTable make_table() {
  RowTable t;
  add_f32_rows<rcp_of>(t, Opcode::rcp);
  add_f32_rows<sqrt_of>(t, Opcode::sqrt);
  add_f32_rows<rsqrt_of>(t, Opcode::rsqrt);
  add_f32_rows<sin_of>(t, Opcode::sin);
  add_f32_rows<cos_of>(t, Opcode::cos);
  add_f32_rows<lg2_of>(t, Opcode::lg2);
  add_f32_rows<ex2_of>(t, Opcode::ex2);
  t.add(Opcode::tanh, {Type::f32}, {Qual::approx}, run_f32<tanh_of, false>, Type::f32, {Type::f32});
  add_div_rows<approximate_quotient>(t, Qual::approx);
  add_div_rows<quotient>(t, Qual::full);
  const Type d = Type::f64;
  t.add(Opcode::rcp, {d}, {Qual::approx, Qual::ftz}, run_upper_f64<false>, d, {d});
  t.add(Opcode::rsqrt, {d}, {Qual::approx, Qual::ftz}, run_upper_f64<true>, d, {d});
  t.add(Opcode::rsqrt, {d}, {Qual::approx}, run_rsqrt_f64, d, {d});
  add_half_rows<ex2_of_double>(t, Opcode::ex2, true);
  add_half_rows<tanh_of_double>(t, Opcode::tanh, false);
  return t;
}

const RowTable& table() {
  static const RowTable rows = make_table();
  return rows;
}

} // namespace

bool pick_approximate(const ptx::Instruction& instruction, Selection& selection) {
  return table().pick(instruction, selection);
}

void add_approximate_selectors(SelectorTable& selectors) {
  table().add_to(selectors);
}

} // namespace lemma::vgpu
