// Several mma as one product: the same bits as one after the other, which a guard on each makes them.
#include "vgpu/handlers/matrix/mma.h"

#include "kernel.h"
#include "numeric/hash.h"
#include "vgpu/code/code.h"
#include "vgpu/engine/observer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

namespace lemma::vgpu {
namespace {

// An instruction, and how many registers its fragments have.
struct Form {
  const char* spelling;
  const char* accumulator; // register type of C and D
  int d, a, b;
  uint32_t ordinary;      // bits that make ordinary numbers of whatever operands: kept of random words ...
  uint32_t set;           // ... and set; of f64 of the upper words
  bool takes_one = false; // one B is enough for a run

  bool of_f64() const { return std::string_view(accumulator) == ".f64"; }
  int bytes() const { return of_f64() ? 8 : 4; } // of a register
  size_t alone(size_t count) const { return takes_one ? 0 : count; }
};
constexpr Form kForms[] = {
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", ".f32", 4, 4, 2, 0x83ff83ff, 0x38003800},
    {"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", ".b32", 2, 4, 2, 0x83ff83ff, 0x38003800},
    {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", ".f32", 4, 2, 1, 0x83ff83ff, 0x38003800},
    {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", ".f32", 4, 4, 2, 0x807f807f, 0x3f003f00},
    {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", ".f32", 4, 4, 2, 0x807fffff, 0x3f000000},
    {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", ".f32", 4, 4, 2, 0x87878787, 0x30303030},
    {"mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", ".b32", 4, 4, 2, 0xffffffff, 0},
    {"mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32", ".b32", 4, 4, 2, 0x3fffffff, 0},
    {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", ".b32", 4, 4, 2, 0xffffffff, 0},
    {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", ".f64", 2, 1, 1, 0x800fffff, 0x3ff00000, true},
    {"mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", ".f64", 4, 4, 2, 0x800fffff, 0x3ff00000, true},
    {"wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64", ".f64", 2, 1, 1, 0x800fffff, 0x3ff00000, true},
    {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", ".f32", 8, 8, 8, 0x83ff83ff, 0x38003800, true},
    {"wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16", ".b32", 4, 8, 8, 0x83ff83ff, 0x38003800, true},
    {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32", ".f32", 8, 4, 4, 0x807f807f, 0x3f003f00,
     true},
    {"wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", ".f32", 8, 4, 4, 0x807fffff, 0x3f000000,
     true},
    {"wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32", ".b32", 8, 2, 2, 0xffffffff, 0, true},
    {"wmma.mma.sync.aligned.row.col.m32n8k16.f32.bf16.bf16.f32", ".f32", 8, 8, 2, 0x807f807f, 0x3f003f00},
};

// D[d] = A[a] * B[b] + C[c], by number of fragment.
struct Mma {
  int d, a, b, c;
};
using Steps = std::vector<Mma>;

// What else the kernel does than load everything, multiply and store all accumulators.
struct Around {
  bool loads_late = false;       // A and B where they are wanted first
  bool stores_last_ones = false; // of accumulators only those that no later step adds to
  int after = -1;                // the step after which ...
  std::string between = {};      // ... this stands
};

Steps grid(int rows, int columns, int c_after) {
  Steps steps;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      steps.push_back({i * columns + j, i, j, i * columns + j + c_after});
  return steps;
}

constexpr int kFragments = 20; // of each kind

std::string registers(char name, int fragment, int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += fmt::format("{}%{}{}", i ? ", " : "", name, fragment * count + i);
  return "{" + text + "}";
}

// Loads fragments of A, B and accumulators (twice as many, C and D), executes, stores all accumulators.
std::string kernel_of(const Form& form, const Steps& steps, bool apart, const Around& around = {}) {
  const int accumulators = 2 * kFragments * form.d, a = kFragments * form.a, b = kFragments * form.b;
  const int in_warp = 32 * form.bytes();
  std::string text = fmt::format(
      ".visible .entry k(.param .u64 p_out, .param .u64 p_in) {{\n .reg .pred %p<2>;\n .reg .b64 %rd<4>;\n"
      ".reg {} %d<{}>;\n .reg {} %a<{}>, %b<{}>;\n .reg .b32 %t;\n ld.param.u64 %rd0, [p_out];\n"
      "ld.param.u64 %rd1, [p_in];\n mov.u32 %t, %tid.x;\n mul.wide.u32 %rd2, %t, {};\n"
      "add.u64 %rd0, %rd0, %rd2;\n add.u64 %rd1, %rd1, %rd2;\n setp.lt.u32 %p0, %t, 64;\n",
      form.accumulator, accumulators, form.of_f64() ? ".f64" : ".b32", a, b, form.bytes());
  const auto is_c = [&](int fragment) {
    return std::any_of(steps.begin(), steps.end(), [&](const Mma& step) { return step.c == fragment; });
  };
  int at = 0;
  std::map<std::pair<char, int>, std::string> late; // loads of A's and B's registers
  for (const auto& [name, count] : {std::pair{'d', accumulators}, {'a', a}, {'b', b}})
    for (int i = 0; i < count; ++i, ++at) {
      const bool loads = name != 'd' || is_c(i / form.d);
      const std::string made =
          loads ? fmt::format("ld.global.b{} %{}{}, [%rd1+{}];\n", 8 * form.bytes(), name, i, in_warp * at)
                : fmt::format("mov.b{} %{}{}, 0;\n", 8 * form.bytes(), name, i);
      (around.loads_late && name != 'd' ? late[{name, i}] : text) += made;
    }
  const auto load_late = [&](char name, int fragment, int count) {
    for (int i = 0; i < count; ++i)
      text += std::exchange(late[{name, fragment * count + i}], {});
  };
  for (size_t i = 0; i < steps.size(); ++i) {
    const Mma& step = steps[i];
    load_late('a', step.a, form.a);
    load_late('b', step.b, form.b);
    text += fmt::format("{}{} {}, {}, {}, {};\n", apart ? "@%p0 " : "", form.spelling,
                        registers('d', step.d, form.d), registers('a', step.a, form.a),
                        registers('b', step.b, form.b), registers('d', step.c, form.d));
    if (static_cast<int>(i) == around.after)
      text += around.between;
  }
  const auto is_stored = [&](int fragment) {
    return !around.stores_last_ones || std::none_of(steps.begin(), steps.end(), [&](const Mma& step) {
      return step.c == fragment && step.d != fragment;
    });
  };
  for (int i = 0; i < accumulators; ++i)
    if (is_stored(i / form.d))
      text += fmt::format("st.global.{} [%rd0+{}], %d{};\n", form.accumulator + 1, in_warp * i, i);
  return text + "ret;\n}\n";
}

struct Ran {
  std::vector<uint32_t> out;
  uint64_t flops = 0, instructions = 0;
  size_t alone = 0; // mma that are no part of a run
};

Ran run(const Form& form, const Steps& steps, bool apart, bool ordinary, Observer* observer = nullptr,
        const Around& around = {}) {
  Kernel kernel(kernel_of(form, steps, apart, around));
  numeric::Random random(7);
  const size_t lanes = static_cast<size_t>(32 * form.bytes() / 4); // words of a register
  std::vector<uint32_t> in(lanes * static_cast<size_t>(kFragments * (2 * form.d + form.a + form.b)));
  const size_t accumulators = lanes * static_cast<size_t>(kFragments * 2 * form.d);
  for (size_t i = 0; i < in.size(); ++i) {
    in[i] = static_cast<uint32_t>(random.next());
    if (form.of_f64()) {
      if (i % 2 && (ordinary || i % 89))
        in[i] = (in[i] & form.ordinary) | form.set;
    } else if (i < accumulators && form.accumulator[1] == 'f') // numbers near one, but for a NaN now and then
      in[i] = ordinary || i % 97 ? (in[i] & 0x807fffff) | 0x3f800000 : in[i];
    else if (ordinary || i % 89)
      in[i] = (in[i] & form.ordinary) | form.set;
  }
  const uint64_t to = kernel.buffer(std::vector<uint32_t>(accumulators), "out");
  const uint64_t from = kernel.buffer(in, "in");
  if (observer)
    kernel.watch(*observer);
  const Report report = kernel.run({to, from});
  EXPECT_EQ(fault_text(report), "");
  Ran ran{kernel.read<uint32_t>(to, accumulators), *report.stats.matrix_flops,
          *report.stats.warp_instructions};
  for (const DecodedInst& inst : kernel.code().insts)
    ran.alone += inst.handler == run_mma;
  return ran;
}

void expect_as_one_by_one(const Form& form, const Steps& steps, size_t alone, const Around& around = {}) {
  SCOPED_TRACE(form.spelling);
  for (const bool ordinary : {true, false}) {
    const Ran together = run(form, steps, false, ordinary, nullptr, around),
              apart = run(form, steps, true, ordinary, nullptr, around);
    EXPECT_EQ(together.alone, alone);
    EXPECT_EQ(apart.alone, steps.size());
    EXPECT_TRUE(together.out == apart.out) << (ordinary ? "ordinary numbers" : "any bits");
    EXPECT_EQ(together.flops, apart.flops);
    EXPECT_EQ(together.instructions, apart.instructions);
  }
}

TEST(MmaRuns, AGridInPlaceIsOneProduct) {
  for (const Form& form : kForms)
    expect_as_one_by_one(form, grid(4, 4, 0), 0);
}

TEST(MmaRuns, DMayBeAnotherThanC) {
  for (const Form& form : kForms)
    expect_as_one_by_one(form, grid(2, 8, kFragments), 0);
}

TEST(MmaRuns, WhatIsNoGridGoesByRows) {
  // A0 meets B0 and B1, A1 meets B1 and B2.
  for (const Form& form : kForms)
    expect_as_one_by_one(form, {{0, 0, 0, 0}, {1, 0, 1, 1}, {2, 1, 1, 2}, {3, 1, 2, 3}}, 0);
}

TEST(MmaRuns, ThatShareNothingStayAlone) {
  for (const Form& form : kForms)
    expect_as_one_by_one(form, {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}}, form.alone(3));
}

TEST(MmaRuns, WhoReadsAResultBeginsAnother) {
  // The second half adds to the first's.
  Steps steps = grid(2, 2, 0);
  for (const Mma& step : grid(2, 2, 0))
    steps.push_back({step.d, step.a + 2, step.b + 2, step.c});
  for (const Form& form : kForms)
    expect_as_one_by_one(form, steps, 0);
  // Each adds to the one before.
  for (const Form& form : kForms)
    expect_as_one_by_one(form, {{0, 0, 0, 0}, {0, 0, 1, 0}, {0, 1, 0, 0}}, form.alone(3));
}

// As a block of K larger than an instruction's.
Steps deep(int rows, int columns, int steps) {
  Steps out;
  for (int step = 0; step < steps; ++step)
    for (const Mma& mma : grid(rows, columns, step == 0 ? kFragments : 0))
      out.push_back({mma.d, mma.a + step * rows, mma.b + step * columns, mma.c});
  return out;
}

TEST(MmaRuns, StepsAlongKAreOneProduct) {
  for (const Form& form : kForms)
    for (const int steps : {2, 4, 5, 9})
      expect_as_one_by_one(form, deep(2, 2, steps), 0);
}

// The same where each step has registers of its own, as compilers name them; the last one has the first C's.
Steps deep_by_name(int rows, int columns, int steps) {
  Steps out;
  for (int step = 0; step < steps; ++step)
    for (const Mma& mma : grid(rows, columns, 0)) {
      const int name = mma.d + step * rows * columns;
      const bool last = step + 1 == steps;
      out.push_back(
          {last ? mma.d : name + rows * columns, mma.a + step * rows, mma.b + step * columns, name});
    }
  return out;
}

// Into how many products has the code made its mma?
size_t products_of(const Form& form, const Steps& steps, const Around& around) {
  const Kernel kernel(kernel_of(form, steps, false, around));
  size_t firsts = 0;
  PlanId last;
  for (const DecodedInst& in : kernel.code().insts) {
    const isa::Opcode opcode = kernel.code().opcode_of(in);
    if (opcode == isa::Opcode::mma || opcode == isa::Opcode::wmma_mma)
      firsts += in.plan != std::exchange(last, in.plan);
  }
  return firsts;
}

TEST(MmaRuns, StepsHaveRegistersOfTheirOwn) {
  for (const Form& form : kForms)
    for (const bool loads_late : {false, true})
      for (const bool stores_last_ones : {false, true}) {
        const Around around{.loads_late = loads_late, .stores_last_ones = stores_last_ones};
        expect_as_one_by_one(form, deep_by_name(2, 2, 4), 0, around);
        if (form.of_f64() && stores_last_ones) {
          EXPECT_EQ(products_of(form, deep_by_name(2, 2, 4), around), 1u);
        }
      }
}

TEST(MmaRuns, LoadsOfTheNextStepStandBetween) {
  const Around around{.loads_late = true};
  for (const Form& form : kForms) {
    expect_as_one_by_one(form, grid(4, 4, 0), 0, around);
    expect_as_one_by_one(form, deep(2, 2, 4), 0, around);
    EXPECT_EQ(products_of(form, grid(4, 4, 0), around), 1u) << form.spelling;
  }
}

TEST(MmaRuns, WhoTouchesItsRegistersEndsARun) {
  const Form& form = kForms[9];
  ASSERT_TRUE(form.of_f64());
  for (const char* between :
       {"mov.f64 %a0, %a9;\n", "mov.f64 %b1, %b9;\n", "mov.f64 %d1, %d9;\n", "mov.f64 %d9, %d1;\n",
        "st.global.f64 [%rd0], %d2;\n", "@%p0 mov.f64 %a1, %b0;\n", "@%p0 st.global.f64 [%rd0+8], %d7;\n"})
    for (const int after : {2, 3, 5}) {
      SCOPED_TRACE(between);
      expect_as_one_by_one(form, deep(2, 2, 2), 0, {.after = after, .between = between});
    }
}

TEST(MmaRuns, ARunIsInterrupted) {
  // By other warps, and by a barrier.
  const Form& form = kForms[9];
  std::string between = "bar.sync 0;\n";
  for (int i = 0; i < 600; ++i)
    between += "add.u32 %t, %t, 1;\n";
  for (const int after : {0, 4, 6}) {
    std::vector<std::vector<uint32_t>> out;
    for (const bool apart : {false, true}) {
      Kernel kernel(kernel_of(form, deep(2, 2, 2), apart, {.after = after, .between = between}));
      kernel.config().block = {64, 1, 1};
      std::vector<double> in(size_t{64} * kFragments * (2 * 2 + 1 + 1));
      for (size_t i = 0; i < in.size(); ++i)
        in[i] = static_cast<double>(i % 61) / 8;
      const size_t words = size_t{64} * 2 * kFragments * 4;
      const uint64_t to = kernel.buffer(std::vector<uint32_t>(words), "out");
      EXPECT_EQ(fault_text(kernel.run({to, kernel.buffer(in, "in")})), "");
      out.push_back(kernel.read<uint32_t>(to, words));
    }
    EXPECT_TRUE(out[0] == out[1]) << after;
  }
}

TEST(MmaRuns, ARegisterInAnotherPlaceOfCIsNoProductInPlace) {
  // D's registers are C's in another order.
  const Form& form = kForms[0];
  Steps steps = grid(2, 2, 0);
  std::string text[2];
  for (const bool apart : {false, true}) {
    text[apart] = kernel_of(form, steps, apart);
    for (const char* d : {"{%d0, %d1, %d2, %d3}", "{%d4, %d5, %d6, %d7}"}) {
      const size_t at = text[apart].find(d);
      ASSERT_NE(at, std::string::npos);
      std::string turned = d;
      std::swap(turned[3], turned[13]);
      text[apart].replace(at, turned.size(), turned);
    }
  }
  std::vector<std::vector<uint32_t>> out;
  for (const std::string& of : text) {
    Kernel kernel(of);
    std::vector<uint32_t> in(size_t{32} * kFragments * (2 * 4 + 4 + 2), 0x3c003c00);
    for (size_t i = 0; i < in.size(); ++i)
      in[i] ^= static_cast<uint32_t>(i % 1021);
    const size_t words = size_t{32} * 2 * kFragments * 4;
    const uint64_t to = kernel.buffer(std::vector<uint32_t>(words), "out");
    EXPECT_EQ(fault_text(kernel.run({to, kernel.buffer(in, "in")})), "");
    out.push_back(kernel.read<uint32_t>(to, words));
  }
  EXPECT_TRUE(out[0] == out[1]);
}

TEST(MmaRuns, ChainsOfDifferentDepthAreSeveral) {
  // Two steps of the first row's, one of the second's.
  Steps steps = grid(2, 2, 0);
  for (const Mma& step : grid(1, 2, 0))
    steps.push_back({step.d, step.a + 2, step.b + 2, step.c});
  for (const Form& form : kForms)
    expect_as_one_by_one(form, steps, 0);
}

TEST(MmaRuns, AStepReadsNoOtherResult) {
  // The third adds to the first's D in another place; or to what was the first's C.
  expect_as_one_by_one(kForms[0], {{0, 0, 0, 4}, {1, 0, 1, 5}, {2, 1, 0, 0}, {3, 1, 1, 1}}, 0);
  expect_as_one_by_one(kForms[0], {{0, 0, 0, 4}, {1, 0, 1, 5}, {4, 1, 0, 4}, {5, 1, 1, 5}}, 0);
}

TEST(MmaRuns, WhoWritesWhatIsReadBeginsAnother) {
  // The third's D is the first's C.
  expect_as_one_by_one(kForms[0], {{0, 0, 0, 4}, {1, 0, 1, 5}, {4, 0, 2, 6}, {3, 0, 3, 7}}, 0);
  for (const Form& form : kForms)
    expect_as_one_by_one(form, {{0, 0, 0, 4}, {4, 0, 1, 5}}, form.alone(2));
}

TEST(MmaRuns, TheSamePairTwiceIsTwo) {
  expect_as_one_by_one(kForms[0], {{0, 0, 0, 0}, {1, 0, 1, 1}, {2, 0, 0, 2}, {3, 0, 1, 3}}, 0);
}

TEST(MmaRuns, LargeGridsAreSeveral) {
  // Eight fragments of A are the most.
  for (const Form& form : kForms)
    expect_as_one_by_one(form, grid(10, 2, 0), 0);
}

TEST(MmaRuns, OneOfThreeColumnsIsLeft) {
  for (const Form& form : kForms)
    expect_as_one_by_one(form, grid(4, 3, 0), form.alone(4));
}

// Its D is its A, or its B: then no product in place.
TEST(MmaRuns, WhoWritesItsOwnOperandsStaysAlone) {
  Form form = kForms[9];
  ASSERT_TRUE(form.of_f64());
  const auto text = [&](bool apart) {
    return fmt::format(".visible .entry k(.param .u64 p_out, .param .u64 p_in) {{\n .reg .pred %p<2>;\n"
                       ".reg .b64 %rd<4>;\n .reg .f64 %a<4>;\n .reg .b32 %t;\n ld.param.u64 %rd0, [p_out];\n"
                       "ld.param.u64 %rd1, [p_in];\n mov.u32 %t, %tid.x;\n mul.wide.u32 %rd2, %t, 8;\n"
                       "add.u64 %rd0, %rd0, %rd2;\n add.u64 %rd1, %rd1, %rd2;\n setp.lt.u32 %p0, %t, 64;\n"
                       "ld.global.f64 %a0, [%rd1];\n ld.global.f64 %a1, [%rd1+256];\n"
                       "{0}{1} {{%a0, %a1}}, {{%a0}}, {{%a1}}, {{%a0, %a1}};\n"
                       "{0}{1} {{%a1, %a0}}, {{%a0}}, {{%a1}}, {{%a1, %a0}};\n"
                       "st.global.f64 [%rd0], %a0;\n st.global.f64 [%rd0+256], %a1;\n ret;\n}}\n",
                       apart ? "@%p0 " : "", form.spelling);
  };
  std::vector<std::vector<double>> results;
  for (const bool apart : {false, true}) {
    Kernel kernel(text(apart));
    std::vector<double> in(64);
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<double>(i % 13) - 6;
    const uint64_t to = kernel.buffer(std::vector<double>(64), "out"), from = kernel.buffer(in, "in");
    EXPECT_EQ(fault_text(kernel.run({to, from})), "");
    results.push_back(kernel.read<double>(to, 64));
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(MmaRuns, WatchedTheyAreOneByOne) {
  AccessCounter nothing;
  const Steps steps = grid(4, 4, 0);
  EXPECT_TRUE(run(kForms[0], steps, false, true, &nothing).out == run(kForms[0], steps, true, true).out);
}

} // namespace
} // namespace lemma::vgpu
