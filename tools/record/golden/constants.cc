// Divisions by numbers that the assembler knows: it writes other code for them than for a divisor in a
// register. PTX ISA: "Floating Point Instructions: div".
#include "golden/fill.h"
#include "golden/templates.h"
#include "golden/thread_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace lemma::golden {
namespace {

using isa::Type;
using numeric::FloatFormat;

constexpr uint64_t kUnits = 4096;
constexpr size_t kConstantsPerCase = 16;

constexpr const char* kDivisions[] = {"div.approx.f32", "div.approx.ftz.f32", "div.full.f32",
                                      "div.full.ftz.f32"};

// Numbers that programs divide by, powers of two, ends of ranges, every special value, and some of any
// exponent.
std::vector<uint32_t> make_divisors() {
  std::vector<uint32_t> divisors;
  for (const float number : {3.0f,        5.0f,           6.0f,        7.0f,        9.0f,
                             10.0f,       11.0f,          12.0f,       13.0f,       100.0f,
                             127.0f,      255.0f,         448.0f,      1000.0f,     0.1f,
                             0.3f,        0.7f,           1.1f,        3.14159265f, 2.71828183f,
                             0.69314718f, 1.41421356f,    -3.0f,       -0.1f,       2.0f,
                             4.0f,        1024.0f,        0.5f,        0.125f,      -8.0f,
                             0x1p126f,    0x1p127f,       0x1.8p126f,  0x1.8p127f,  -0x1.4p127f,
                             0x1p-126f,   0x1p-127f,      0x1.8p-126f, 0x1p-149f,   0x1.fffffep-127f,
                             0x1p125f,    0x1.000002p126f})
    divisors.push_back(std::bit_cast<uint32_t>(number));
  for (const uint64_t bits : special_values(FloatFormat::f32))
    divisors.push_back(static_cast<uint32_t>(bits));
  numeric::Random random(1);
  while (divisors.size() % kConstantsPerCase || divisors.size() < 8 * kConstantsPerCase)
    divisors.push_back(static_cast<uint32_t>(random.next()));
  return divisors;
}

// One division by each of 16 numbers, which stand in the instruction or in registers that a mov writes.
Case make_case(std::string_view division, std::span<const uint32_t> divisors, size_t first,
               bool in_registers) {
  ThreadKernel kernel(fmt::format("{} by {} {} to {}", division, in_registers ? "registers" : "constants",
                                  first, first + divisors.size() - 1),
                      std::string(division));
  kernel.in("a", Type::f32, 32);
  for (size_t i = 0; i < divisors.size(); ++i) {
    kernel.out(fmt::format("d{}", i), Type::f32, 32);
    const std::string number = fmt::format("0f{:08X}", divisors[i]);
    if (in_registers) {
      kernel.declare(fmt::format(".reg .f32 %c{};", i));
      kernel.body(fmt::format("mov.f32 %c{}, {};", i, number));
      kernel.body(fmt::format("{} %d{}, %a, %c{};", division, i, i));
    } else {
      kernel.body(fmt::format("{} %d{}, %a, {};", division, i, number));
    }
  }
  Case c = kernel.finish(kUnits);
  c.fill = fill_each({values({.kind = Values::Kind::floating, .floating = FloatFormat::f32})});
  return c;
}

} // namespace

std::vector<Case> constant_cases(std::string_view) {
  const std::vector<uint32_t> divisors = make_divisors();
  std::vector<Case> cases;
  for (const std::string_view division : kDivisions)
    for (const bool in_registers : {false, true})
      for (size_t first = 0; first < divisors.size(); first += kConstantsPerCase)
        cases.push_back(
            make_case(division, std::span(divisors).subspan(first, kConstantsPerCase), first, in_registers));
  return cases;
}

} // namespace lemma::golden
