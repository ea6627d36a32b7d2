// The fused rule (dot.h) in integers, and the schemes built on it.
//
// Operands are decoded once a tile to a signed significand and the exponent of its unit bit; then every
// output needs two short loops over K: one finds the largest exponent, one cuts and adds. A product p with
// exponent e is
//
//   p            the significand product, with fraction_a + fraction_b fraction bits
//   p << left    with F of them, left = F - fraction_a - fraction_b (a longer cut, if that is negative)
//   cut          by (largest - e) bits toward zero
//
// and the sum is an integer times 2^(largest - F). Zeros carry an exponent so small that it is never the
// largest. MMA-Sim gives a zero the exponent -126 instead. That differs where a zero's partner is so large,
// and every other term so small, that 2^-126 times the partner is the largest: 0 * 2^100 + 2^-60 keeps C here
// and loses it there. No hardware result of ours decides it.
//
// Tests: tests/unit/numeric/dot_test.cc.
#include "numeric/arithmetic.h"
#include "numeric/convert.h"
#include "numeric/dot_internal.h"

#include <algorithm>
#include <array>
#include <vector>

namespace lemma::numeric::internal {
namespace {

// Exponents that stand for the class of an element, beyond those of all numbers and of their sums.
constexpr int16_t kZeroExponent = -8000;
constexpr int16_t kInfinityExponent = 4000; // significand +1 or -1
constexpr int16_t kNanExponent = 8000;

struct Term {
  int32_t significand = 0; // signed, the fraction bits of its format
  int16_t exponent = kZeroExponent;
};

inline Term decode_term(const FormatTraits& t, uint64_t bits) {
  const uint64_t magnitude = (bits & t.magnitude_mask()) >> t.padding_bits;
  const bool negative = (bits & t.sign_mask()) != 0;
  const auto biased = static_cast<int>(magnitude >> t.mantissa_bits);
  if (magnitude == 0)
    return {};
  if (t.nan == NanEncoding::ieee && biased == t.max_biased_exponent()) {
    const bool infinity = (magnitude & ((uint64_t{1} << t.mantissa_bits) - 1)) == 0;
    return infinity ? Term{negative ? -1 : 1, kInfinityExponent} : Term{0, kNanExponent};
  }
  if (t.nan == NanEncoding::all_ones && magnitude == t.magnitude_mask() >> t.padding_bits)
    return {0, kNanExponent};
  const uint64_t fraction = magnitude & ((uint64_t{1} << t.mantissa_bits) - 1);
  const auto significand = static_cast<int32_t>(fraction | uint64_t{biased != 0} << t.mantissa_bits);
  return {negative ? -significand : significand, static_cast<int16_t>(std::max(biased, 1) - t.bias)};
}

// fp8 as the f16 it equals, so that a subnormal e4m3 is a normalized term.
const Term* fp8_terms_as_f16(FloatFormat format) {
  const auto build = [](FloatFormat from) {
    std::array<Term, 256> table;
    for (uint64_t bits = 0; bits < table.size(); ++bits)
      table[bits] = decode_term(traits(FloatFormat::f16), convert_float(FloatFormat::f16, from, bits));
    return table;
  };
  static const std::array<Term, 256> e4m3 = build(FloatFormat::e4m3), e5m2 = build(FloatFormat::e5m2);
  return format == FloatFormat::e4m3 ? e4m3.data() : e5m2.data();
}

// The rows of A or B, decoded; significands and exponents apart so that loops over K run on plain arrays. It
// is passed by value: the compiler then knows that writing bytes does not change where they are.
struct Operand {
  size_t rows, k;
  int32_t* significands; // [rows][k]
  int16_t* exponents;    // [rows][k]
  uint8_t* special;      // [rows]: holds a NaN or an infinity

  static size_t bytes(size_t rows, size_t k) {
    constexpr size_t kLine = 64; // of the cache
    const size_t of_arrays = rows * k * (sizeof(int32_t) + sizeof(int16_t)) + rows;
    return (of_arrays + kLine - 1) / kLine * kLine;
  }
  // From `at` on, so many bytes, which begin a line of the cache.
  Operand(std::byte* at, size_t row_count, size_t columns)
      : rows(row_count), k(columns), significands(reinterpret_cast<int32_t*>(at)),
        exponents(reinterpret_cast<int16_t*>(significands + rows * k)),
        special(reinterpret_cast<uint8_t*>(exponents + rows * k)) {
    std::fill_n(special, rows, uint8_t{0});
  }
  void set(size_t row, size_t column, Term term) {
    significands[row * k + column] = term.significand;
    exponents[row * k + column] = term.exponent;
    special[row] |= term.exponent >= kInfinityExponent;
  }
};

// The order in which dot() takes K: split_quad's two halves one after the other, else ascending.
std::vector<size_t> k_order(DotScheme scheme, size_t k_count) {
  std::vector<size_t> order(k_count);
  for (size_t k = 0; k < k_count; ++k)
    order[scheme == DotScheme::split_quad ? k / 4 * 2 + k % 2 + (k % 4 >= 2 ? k_count / 2 : 0) : k] = k;
  return order;
}

// The common case, compiled for each of the common formats so that the traits are constants.
template <FloatFormat format>
void decode_rows(const std::byte* array, Operand out) {
  for (size_t row = 0; row < out.rows; ++row)
    for (size_t k = 0; k < out.k; ++k)
      out.set(row, k,
              decode_term(traits(format), load_element(array, row * out.k + k, element_bytes(format))));
}

void decode_plainly(FloatFormat format, const std::byte* array, Operand out) {
  switch (format) {
  case FloatFormat::f16:
    return decode_rows<FloatFormat::f16>(array, out);
  case FloatFormat::bf16:
    return decode_rows<FloatFormat::bf16>(array, out);
  case FloatFormat::tf32:
    return decode_rows<FloatFormat::tf32>(array, out);
  default:
    for (size_t row = 0; row < out.rows; ++row)
      for (size_t k = 0; k < out.k; ++k)
        out.set(row, k,
                decode_term(traits(format), load_element(array, row * out.k + k, element_bytes(format))));
  }
}

// `order` may be empty: ascending. `scales` [rows][k / scale_block elements] may be null; only ue8m0 has no
// significand, so only it can be folded into the exponents.
void decode_operand(const DotModel& model, FloatFormat format, const std::byte* array,
                    const std::vector<size_t>& order, const uint8_t* scales, size_t scale_block,
                    Operand out) {
  // mma.sync of sm_90 treats fp8 as f16.
  const Term* terms = model.scheme == DotScheme::split_quad ? fp8_terms_as_f16(format) : nullptr;
  const FormatTraits t = traits(format);
  const int bytes = element_bytes(format);
  if (terms == nullptr && scales == nullptr && order.empty())
    return decode_plainly(format, array, out);
  for (size_t row = 0; row < out.rows; ++row)
    for (size_t k = 0; k < out.k; ++k) {
      const size_t from = order.empty() ? k : order[k];
      const uint64_t bits = load_element(array, row * out.k + from, bytes);
      Term term = terms != nullptr ? terms[bits] : decode_term(t, bits);
      if (scales != nullptr) {
        const uint8_t scale = scales[(row * out.k + from) / scale_block];
        if (scale == 0xff)
          term = {0, kNanExponent};
        else if (term.exponent > kZeroExponent && term.exponent < kInfinityExponent)
          term.exponent = static_cast<int16_t>(term.exponent + scale - 127);
      }
      out.set(row, k, term);
    }
}

// The row of B that meets row i of a sparse A.
void gather_row(const DotRows& rows, size_t i, const std::vector<size_t>& order, Operand b, size_t j,
                Operand out) {
  out.special[j] = b.special[j]; // perhaps of a column not taken; the slow path looks at each
  for (size_t k = 0; k < out.k; ++k) {
    const size_t column = rows.column(i, order[k]);
    out.significands[j * out.k + k] = b.significands[j * b.k + column];
    out.exponents[j * out.k + k] = b.exponents[j * b.k + column];
  }
}

// v / 2^bits toward zero, 0 <= bits <= 62.
int64_t cut(int64_t v, int bits) {
  return (v + ((v >> 63) & ((int64_t{1} << bits) - 1))) >> bits;
}

// The model's numbers as the loops want them.
struct Alignment {
  int fraction_bits;
  int left, longer;     // of products: shift left, or cut more
  int c_left, c_longer; // of the accumulator
};

Alignment alignment(const DotModel& model, FloatFormat accumulator) {
  const bool as_f16 = model.scheme == DotScheme::split_quad;
  const int product_bits = as_f16 ? 20 : traits(model.a).mantissa_bits + traits(model.b).mantissa_bits;
  const int left = model.fraction_bits - product_bits;
  const int c_left = model.fraction_bits - traits(accumulator).mantissa_bits;
  return {model.fraction_bits, std::max(left, 0), std::max(-left, 0), std::max(c_left, 0),
          std::max(-c_left, 0)};
}

// sum * 2^exponent in the result's format. Overflow is infinity even where the rounding is toward zero.
uint64_t round_result(const DotModel& model, int64_t sum, int exponent) {
  if (sum == 0)
    return 0; // +0, whatever the signs of what vanished
  const FormatTraits& t = traits(model.d);
  const bool sign = sum < 0;
  const uint64_t magnitude = sign ? 0 - static_cast<uint64_t>(sum) : static_cast<uint64_t>(sum);
  const int top = exponent + 63 - std::countl_zero(magnitude);
  if (top > t.bias)
    return encode_infinity(model.d, sign);
  uint64_t bits = 0;
  if (model.d == FloatFormat::f32 && model.rounding == Rounding::rz && top >= -126) {
    const uint64_t significand = magnitude << std::countl_zero(magnitude) >> 40;
    bits = (uint64_t{sign} << 31) + (static_cast<uint64_t>(top + 126) << 23) + significand;
  } else {
    bits = encode(model.d, {sign, exponent, magnitude}, {.rounding = model.rounding});
  }
  const int dropped = model.d == FloatFormat::f32 ? 23 - model.kept_fraction_bits : 0;
  bits = bits >> dropped << dropped;
  // A sum too small for the result is +0 as well: measured on an H200 for f16, where it rounds there from
  // below.
  return bits == t.sign_mask() ? 0 : bits;
}

// Of one output: a row of A and one of B.
struct Terms {
  const int32_t* a_significands;
  const int16_t* a_exponents;
  const int32_t* b_significands;
  const int16_t* b_exponents;
};

// Not inlined: beside what surrounds it there, the loops would lack registers.
[[gnu::noinline]] uint64_t step(const DotModel& model, const Alignment& align, const Terms& rows,
                                size_t begin, size_t end, Term c) {
  int16_t largest = std::max(c.exponent, static_cast<int16_t>(kLeastDigit + align.fraction_bits));
  for (size_t k = begin; k < end; ++k)
    largest = std::max(largest, static_cast<int16_t>(rows.a_exponents[k] + rows.b_exponents[k]));
  int64_t sum =
      cut(int64_t{c.significand} << align.c_left, std::min(largest - c.exponent + align.c_longer, 62));
  for (size_t k = begin; k < end; ++k) {
    const int exponent = rows.a_exponents[k] + rows.b_exponents[k];
    const int64_t product = int64_t{rows.a_significands[k]} * rows.b_significands[k] << align.left;
    sum += cut(product, std::min(largest - exponent + align.longer, 62));
  }
  return round_result(model, sum, largest - align.fraction_bits);
}

// NaN and infinity before any arithmetic; none if every term is finite after all.
std::optional<uint64_t> special_result(FloatFormat d, const Terms& rows, size_t begin, size_t end, Term c) {
  bool plus = false, minus = false;
  const auto take_infinity = [&](bool negative) { (negative ? minus : plus) = true; };
  if (c.exponent == kNanExponent)
    return encode_nan(d);
  if (c.exponent == kInfinityExponent)
    take_infinity(c.significand < 0);
  for (size_t k = begin; k < end; ++k) {
    const int16_t ea = rows.a_exponents[k], eb = rows.b_exponents[k];
    if (ea == kNanExponent || eb == kNanExponent)
      return encode_nan(d);
    if (ea != kInfinityExponent && eb != kInfinityExponent)
      continue;
    if (rows.a_significands[k] == 0 || rows.b_significands[k] == 0)
      return encode_nan(d);
    take_infinity((rows.a_significands[k] < 0) != (rows.b_significands[k] < 0));
  }
  if (plus && minus)
    return encode_nan(d);
  if (plus || minus)
    return encode_infinity(d, minus);
  return std::nullopt;
}

// One output: the steps over K, each from the one before.
class Output {
public:
  Output(const DotModel& model, size_t k_count)
      : model_(model), k_count_(k_count), step_k_(k_count),
        first_(alignment(model, widens_c(model) ? model.d : model.c)), later_(alignment(model, model.d)),
        c_traits_(traits(widens_c(model) ? model.d : model.c)), d_traits_(traits(model.d)) {
    if (model.scheme == DotScheme::split_quad)
      step_k_ = k_count / 2;
    else if (model.max_fused_k != 0)
      step_k_ = model.max_fused_k;
  }

  uint64_t operator()(const Terms& rows, uint64_t c_bits, bool special) const {
    const bool add_c_last = model_.scheme == DotScheme::split_quad;
    if (widens_c(model_))
      c_bits = convert_float(model_.d, model_.c, c_bits);
    Term c = add_c_last ? Term{} : decode_term(c_traits_, c_bits);
    const Alignment* align = &first_;
    uint64_t result = 0;
    for (size_t begin = 0; begin < k_count_; begin += step_k_) {
      const size_t end = std::min(begin + step_k_, k_count_);
      if (begin != 0) {
        c = decode_term(d_traits_, result);
        align = &later_;
      }
      std::optional<uint64_t> known;
      if (special || c.exponent >= kInfinityExponent)
        known = special_result(model_.d, rows, begin, end, c);
      result = known ? *known : step(model_, *align, rows, begin, end, c);
    }
    return add_c_last ? add(model_.d, result, c_bits) : result; // c and d have one format there
  }

private:
  const DotModel& model_;
  size_t k_count_, step_k_;
  Alignment first_, later_;
  FormatTraits c_traits_, d_traits_;
};

} // namespace

void dot_fused(const DotModel& model, const DotRows& rows, DotScratch& scratch) {
  const size_t m = rows.m, n = rows.n, k_count = rows.k, k_b = rows.k_b;
  const bool sparse = rows.a_index != nullptr;
  const size_t a_bytes = Operand::bytes(m, k_count), b_bytes = Operand::bytes(n, k_b);
  auto* const terms = scratch.make<std::byte>(DotScratch::Use::scalar,
                                              a_bytes + b_bytes + Operand::bytes(sparse ? n : 0, k_count));
  Operand a(terms, m, k_count), b(terms + a_bytes, n, k_b),
      gathered(terms + a_bytes + b_bytes, sparse ? n : 0, k_count);
  const std::vector<size_t> order = k_order(model.scheme, k_count);
  const bool natural = model.scheme == DotScheme::fused;
  // Scales are for so many products; of B that is more elements where A is sparse.
  const size_t block_a = model.scale_block, block_b = block_a * (k_b / k_count);
  decode_operand(model, model.a, rows.a, natural ? std::vector<size_t>{} : order, rows.scale_a, block_a, a);
  decode_operand(model, model.b, rows.b, natural || sparse ? std::vector<size_t>{} : order, rows.scale_b,
                 block_b, b);
  const Operand met = sparse ? gathered : b;

  const Output output(model, k_count);
  const int c_bytes = element_bytes(model.c), d_bytes = element_bytes(model.d);
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j) {
      if (sparse)
        gather_row(rows, i, order, b, j, gathered);
      const Terms of_output{&a.significands[i * k_count], &a.exponents[i * k_count],
                            &met.significands[j * k_count], &met.exponents[j * k_count]};
      const size_t at = i * rows.stride + j;
      const uint64_t c_bits = rows.c != nullptr ? load_element(rows.c, at, c_bytes) : 0;
      const uint64_t bits = output(of_output, c_bits, (a.special[i] | met.special[j]) != 0);
      store_element(rows.d, at, d_bytes, bits);
    }
}

// Sixteen products of e2m1 are summed exactly (quarters of one), multiplied by the significands of the two
// scales, and enter the fused rule with the sum of the scales' exponents, whatever the sum's own size.
void dot_block_sums(const DotModel& model, const DotRows& rows) {
  constexpr size_t kGroup = 16;
  const size_t m = rows.m, n = rows.n, k_count = rows.k, k_b = rows.k_b, stride = rows.stride,
               groups = k_count / kGroup;
  const size_t scales_per_row = k_count / model.scale_block;
  const FormatTraits scale_traits = traits(model.scale), c_traits = traits(model.c);
  const int sum_bits = 2 + 2 * scale_traits.mantissa_bits; // fraction bits of a group's scaled sum
  const int c_left = model.fraction_bits - c_traits.mantissa_bits;

  // Twice the value of an e2m1.
  const auto doubled = [](uint8_t bits) {
    constexpr int8_t magnitudes[] = {0, 1, 2, 3, 4, 6, 8, 12};
    return (bits & 8) != 0 ? -magnitudes[bits & 7] : magnitudes[bits & 7];
  };
  const auto scale_term = [&](uint8_t bits) {
    if (model.scale != FloatFormat::ue8m0)
      return decode_term(scale_traits, bits);
    return bits == 0xff ? Term{0, kNanExponent} : Term{1, static_cast<int16_t>(bits - 127)};
  };
  const auto* a = reinterpret_cast<const uint8_t*>(rows.a);
  const auto* b = reinterpret_cast<const uint8_t*>(rows.b);
  std::vector<Term> terms(groups);
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j) {
      const uint64_t c_bits =
          rows.c != nullptr ? load_element(rows.c, i * stride + j, element_bytes(model.c)) : 0;
      const Term c = decode_term(c_traits, c_bits);
      bool nan = c.exponent == kNanExponent;
      int16_t largest = c.exponent;
      for (size_t g = 0; g < groups; ++g) {
        int32_t sum = 0;
        for (size_t k = g * kGroup; k < (g + 1) * kGroup; ++k) {
          sum += doubled(a[i * k_count + k]) * doubled(b[j * k_b + rows.column(i, k)]);
        }
        const size_t block = g * kGroup / model.scale_block;
        const Term sa = scale_term(rows.scale_a[i * scales_per_row + block]);
        const Term sb = scale_term(rows.scale_b[j * scales_per_row + block]);
        nan |= sa.exponent == kNanExponent || sb.exponent == kNanExponent;
        terms[g] = {sum * sa.significand * sb.significand, static_cast<int16_t>(sa.exponent + sb.exponent)};
        largest = std::max(largest, terms[g].exponent);
      }
      uint64_t bits = 0;
      if (nan) {
        bits = encode_nan(model.d);
      } else if (c.exponent == kInfinityExponent) {
        bits = encode_infinity(model.d, c.significand < 0);
      } else {
        int64_t sum = cut(int64_t{c.significand} << c_left, std::min(largest - c.exponent, 62));
        for (const Term& term : terms)
          sum += cut(int64_t{term.significand} << (model.fraction_bits - sum_bits),
                     std::min(largest - term.exponent, 62));
        bits = round_result(model, sum, largest - model.fraction_bits);
      }
      store_element(rows.d, i * stride + j, element_bytes(model.d), bits);
    }
}

} // namespace lemma::numeric::internal
