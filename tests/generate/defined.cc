// The frame of a defined program: what every thread loads before it begins, and stores in the end. See
// defined.h.
#include "generate/defined.h"

#include "generate/defined_writer.h"
#include "golden/values.h"

#include <fmt/format.h>

#include <cstring>

namespace lemma::generate {
namespace {

constexpr std::string_view kRegisters =
    "  .reg .b32 %r<12>, %t<4>, %c<4>, %own, %sh, %sum, %me;\n  .reg .b16 %h<6>, %v<4>;\n"
    "  .reg .b64 %d<6>, %u<4>, %g, %in, %loc;\n  .reg .pred %p<4>, %q<2>;\n  .reg .f32 %f<24>;\n  .reg .f64 "
    "%e<5>;\n  .reg .f16x2 %y<24>;\n"
    "  .local .align 16 .b8 loc[64];\n";

constexpr uint32_t kHalvesAt = 4 * kWordRegisters;
constexpr uint32_t kDoublesAt = 64;

std::string fill_local() {
  std::string out = "  mov.u64 %loc, loc;\n";
  for (int i = 0; i < 4; ++i)
    out += fmt::format("  st.local.v4.b32 [%loc+{}], {{%r{}, %r{}, %r{}, %r{}}};\n", 16 * i, i, i + 1, i + 2,
                       i + 3);
  return out;
}

std::string predicates() {
  std::string out;
  for (int i = 0; i < kPredicates; ++i)
    out += fmt::format("  and.b32 %t0, %r{0}, {1};\n  setp.ne.u32 %p{0}, %t0, 0;\n", i, 1 << i);
  return out;
}

std::string kernel_begin(std::string_view name) {
  std::string out =
      fmt::format(".visible .entry {0}(.param .u64 in, .param .u64 out)\n.reqntid {1}, 1, 1\n{{\n"
                  "  .shared .align 16 .b8 slots[{2}];\n  .shared .align 16 .b8 sums[32];\n{3}"
                  "  mov.u32 %me, %tid.x;\n  ld.param.u64 %in, [in];\n  cvta.to.global.u64 %in, %in;\n"
                  "  mad.wide.u32 %in, %me, {4}, %in;\n  ld.param.u64 %g, [out];\n"
                  "  cvta.to.global.u64 %g, %g;\n  mad.wide.u32 %g, %me, {5}, %g;\n"
                  "  add.u64 %g, %g, {6};\n",
                  name, DefinedProgram::kThreads, 16 * DefinedProgram::kThreads, kRegisters,
                  DefinedProgram::kInputBytes, DefinedProgram::kOutputBytes, DefinedProgram::kRegisterBytes);
  for (int i = 0; i < kWordRegisters; i += 4)
    out += fmt::format("  ld.global.v4.b32 {{%r{}, %r{}, %r{}, %r{}}}, [%in+{}];\n", i, i + 1, i + 2, i + 3,
                       4 * i);
  for (int i = 0; i < kHalfRegisters; ++i)
    out += fmt::format("  ld.global.b16 %h{}, [%in+{}];\n", i, kHalvesAt + 2 * i);
  for (int i = 0; i < kDoubleRegisters; i += 2)
    out += fmt::format("  ld.global.v2.b64 {{%d{}, %d{}}}, [%in+{}];\n", i, i + 1, kDoublesAt + 8 * i);
  out += predicates() + fill_local();
  out += "  mov.u32 %sh, slots;\n  mad.lo.u32 %own, %me, 16, %sh;\n  mov.u32 %sum, sums;\n"
         "  st.shared.v4.b32 [%own], {%r4, %r5, %r6, %r7};\n  and.b32 %t0, %me, 7;\n  mad.lo.u32 %t0, %t0, "
         "4, %sum;\n"
         "  setp.lt.u32 %q0, %me, 8;\n  @%q0 st.shared.b32 [%t0], %me;\n"
         "  st.global.v4.b32 [%g], {%r0, %r1, %r2, %r3};\n  st.global.v4.b32 [%g+16], {%r4, %r5, %r6, %r7};\n"
         "  st.global.v4.b32 [%g+32], {%r8, %r9, %r10, %r11};\n  st.global.v4.b32 [%g+48], {%r3, %r2, %r1, "
         "%r0};\n"
         "  bar.sync 0;\n";
  return out;
}

std::string kernel_end() {
  std::string out;
  const auto at = [](uint32_t offset) {
    return fmt::format("[%g+{}]",
                       static_cast<int>(offset) - static_cast<int>(DefinedProgram::kRegisterBytes));
  };
  for (int i = 0; i < kWordRegisters; i += 4)
    out += fmt::format("  st.global.v4.b32 {}, {{%r{}, %r{}, %r{}, %r{}}};\n",
                       at(static_cast<uint32_t>(4 * i)), i, i + 1, i + 2, i + 3);
  for (int i = 0; i < kHalfRegisters; ++i)
    out += fmt::format("  st.global.b16 {}, %h{};\n", at(static_cast<uint32_t>(kHalvesAt + 2 * i)), i);
  out += "  mov.b32 %t0, 0;\n";
  for (int i = 0; i < kPredicates; ++i)
    out += fmt::format("  selp.b32 %t1, {}, 0, %p{};\n  or.b32 %t0, %t0, %t1;\n", 1 << i, i);
  out += fmt::format("  st.global.b32 {}, %t0;\n", at(60));
  for (int i = 0; i < kDoubleRegisters; i += 2)
    out += fmt::format("  st.global.v2.b64 {}, {{%d{}, %d{}}};\n",
                       at(static_cast<uint32_t>(kDoublesAt + 8 * i)), i, i + 1);
  return out + "  ret;\n}\n";
}

// x = f(a, b, c): every register is made of the arguments.
std::string function_begin(std::string_view name) {
  std::string out =
      fmt::format(".func (.param .align 8 .b8 x[16]) {}(.param .b32 a, .param .b64 b, "
                  ".param .align 8 .b8 c[16])\n{{\n{}"
                  "  ld.param.b32 %r0, [a];\n  ld.param.b64 %d0, [b];\n  ld.param.v2.b32 {{%r1, %r2}}, [c];\n"
                  "  ld.param.b64 %d1, [c+8];\n",
                  name, kRegisters);
  for (int i = 3; i < kWordRegisters; ++i)
    out += fmt::format("  xor.b32 %r{}, %r{}, {};\n", i, i - 3, 0x01000193u * static_cast<uint32_t>(i));
  for (int i = 2; i < kDoubleRegisters; ++i)
    out += fmt::format("  xor.b64 %d{}, %d{}, {};\n", i, i - 2, 0x100000001b3u * static_cast<uint64_t>(i));
  for (int i = 0; i < kHalfRegisters; ++i)
    out += fmt::format("  cvt.u16.u32 %h{0}, %r{0};\n", i);
  return out + predicates() + fill_local();
}

constexpr std::string_view kFunctionEnd = "  xor.b32 %r0, %r0, %r5;\n  st.param.b32 [x], %r0;\n  xor.b64 "
                                          "%d0, %d0, %d3;\n  st.param.b64 [x+8], %d0;\n  ret;\n}\n";

void print(const std::vector<DefinedNode>& nodes, std::string& out) {
  for (const DefinedNode& node : nodes) {
    if (!node.live)
      continue;
    out += node.before;
    print(node.inner, out);
    out += node.between;
    print(node.other, out);
    out += node.after;
  }
}

void collect(std::vector<DefinedNode>& nodes, std::vector<DefinedNode*>& out) {
  for (DefinedNode& node : nodes)
    out.push_back(&node);
  for (DefinedNode& node : nodes) {
    collect(node.inner, out);
    collect(node.other, out);
  }
}

size_t count(const std::vector<DefinedNode>& nodes) {
  size_t sum = 0;
  for (const DefinedNode& node : nodes)
    if (node.live)
      sum += 1 + count(node.inner) + count(node.other);
  return sum;
}

// A word with numbers in it that make instructions go wrong, in one format or another.
uint64_t some_word(numeric::Random& random) {
  using numeric::FloatFormat;
  const auto pick = [&](auto values) { return values[random.below(values.size())]; };
  switch (random.below(8)) {
  case 0:
    return pick(golden::special_values(FloatFormat::f32)) | pick(golden::special_values(FloatFormat::f32))
                                                                << 32;
  case 1:
    return pick(golden::special_values(FloatFormat::f64));
  case 2: {
    uint64_t halves = 0;
    for (int i = 0; i < 4; ++i)
      halves = halves << 16 | pick(golden::special_values(i % 2 ? FloatFormat::f16 : FloatFormat::bf16));
    return halves;
  }
  case 3:
    return pick(golden::special_values(numeric::IntegerFormat::u32)) | random.below(64) << 32;
  case 4: // floats near one
    return (0x3f000000 | random.bits(24)) << 32 | 0x3f000000 | random.bits(25);
  case 5:
    return (uint64_t{0x3ff} << 52) ^ random.bits(53) ^ random.bits(1) << 63;
  default:
    return random.next();
  }
}

} // namespace

DefinedProgram::DefinedProgram(uint64_t seed) : seed_(seed), name_(fmt::format("k{}", seed)) {
  Rng rng(seed);
  const int functions = static_cast<int>(rng.below(3));
  for (int i = 0; i < functions; ++i) {
    DefinedWriter writer(rng, name_, false, i); // it calls those before it
    functions_.push_back({fmt::format("f{}_{}", name_, i), writer.block(2 + rng.below(6))});
  }
  nodes_ = DefinedWriter(rng, name_, true, functions).block(20 + rng.below(15));
}

std::vector<std::byte> DefinedProgram::inputs() const {
  numeric::Random random(seed_);
  std::vector<std::byte> bytes(size_t{kThreads} * kInputBytes);
  for (size_t at = 0; at < bytes.size(); at += 8) {
    const uint64_t word = some_word(random);
    std::memcpy(bytes.data() + at, &word, sizeof word);
  }
  return bytes;
}

std::string DefinedProgram::str() const {
  std::string out;
  for (const Body& function : functions_) {
    out += function_begin(function.name);
    print(function.nodes, out);
    out += kFunctionEnd;
  }
  out += kernel_begin(name_);
  print(nodes_, out);
  return out + kernel_end();
}

std::vector<DefinedNode*> DefinedProgram::nodes() {
  std::vector<DefinedNode*> out;
  collect(nodes_, out);
  for (Body& function : functions_)
    collect(function.nodes, out);
  return out;
}

size_t DefinedProgram::live_statements() const {
  size_t sum = count(nodes_);
  for (const Body& function : functions_)
    sum += count(function.nodes);
  return sum;
}

std::string DefinedProgram::module_of(std::span<const DefinedProgram> programs) {
  std::string out = ".version 8.7\n.target sm_90a\n.address_size 64\n\n";
  for (const DefinedProgram& program : programs)
    out += program.str() + "\n";
  return out;
}

std::string DefinedProgram::output_name(uint32_t offset) {
  if (offset >= kRegisterBytes)
    return fmt::format("scratch byte {}", offset - kRegisterBytes);
  if (offset >= kDoublesAt)
    return offset < kDoublesAt + 8 * kDoubleRegisters ? fmt::format("%d{}", (offset - kDoublesAt) / 8)
                                                      : "nothing";
  if (offset >= 60)
    return "%p0 to %p3";
  return offset < kHalvesAt ? fmt::format("%r{}", offset / 4) : fmt::format("%h{}", (offset - kHalvesAt) / 2);
}

} // namespace lemma::generate
