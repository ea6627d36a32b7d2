// How well bits are known: an instruction of each kind, on machines that differ; and that the records are of
// what the catalogue has.
#include "fidelity/fidelity.h"

#include "fidelity/recorded.h"
#include "isa/form.h"
#include "isa/machine.h"
#include "ptx/parser.h"

#include <gtest/gtest.h>

namespace lemma::fidelity {
namespace {

// Of the one instruction in a kernel with registers %r (32 bits), %rd, %f, %h (16 bits), %p.
Known known(const std::string& instruction, int sm) {
  const std::string text = ".version 8.7\n.target sm_" + std::to_string(sm) +
                           (sm == 90 || sm == 100 || sm == 120 ? "a" : "") +
                           "\n.address_size 64\n.visible .entry k() {\n.reg .b32 %r<200>; .reg .b64 %rd<4>; "
                           ".reg .f32 %f<200>; .reg .b16 %h<4>; .reg .pred %p<2>;\n" +
                           instruction + "\n}\n";
  const ptx::ParseOutcome outcome = ptx::parse(std::make_shared<SourceText>("k.ptx", text));
  EXPECT_TRUE(outcome.diagnostics.empty()) << render(outcome.diagnostics, *outcome.module->source);
  const auto& instructions = outcome.module->functions.at(0).instructions;
  EXPECT_EQ(instructions.size(), 1u);
  return how_known(instructions.at(0), sm);
}

constexpr const char* kMma =
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, "
    "{%r4,%r5}, {%f4,%f5,%f6,%f7};";
constexpr const char* kInteger = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r0,%r1,%r2,%r3}, "
                                 "{%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r10,%r11,%r12,%r13};";
constexpr const char* kSaturated =
    "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%r0,%r1,%r2,%r3}, "
    "{%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r10,%r11,%r12,%r13};";

TEST(Fidelity, OfWhatTheIsaDefinesIsExactEverywhere) {
  for (const int sm : {75, 80, 90, 120}) {
    const Known add = known("add.rn.f32 %f0, %f1, %f2;", sm);
    EXPECT_EQ(add.form, "add.rn.f32");
    EXPECT_EQ(add.fidelity, Fidelity::exact);
    EXPECT_EQ(add.evidence, "NVIDIA H200") << "asked about too";
  }
  EXPECT_EQ(known(kInteger, 80).fidelity, Fidelity::exact);
}

TEST(Fidelity, OfMatrixProductsIsTheModels) {
  EXPECT_EQ(known(kMma, 90).fidelity, Fidelity::recorded);
  EXPECT_EQ(known(kMma, 90).evidence, "NVIDIA H200");
  EXPECT_EQ(known(kMma, 80).fidelity, Fidelity::published);
  EXPECT_NE(known(kMma, 80).evidence, "");
  EXPECT_EQ(known(kSaturated, 80).fidelity, Fidelity::assumed);
  EXPECT_EQ(known(kSaturated, 90).fidelity, Fidelity::recorded);
  EXPECT_EQ(known("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r1];", 80).fidelity, Fidelity::exact);
}

// Nobody here has a machine with tensor memory: nothing of it is recorded.
TEST(Fidelity, OfTensorMemoryIsThatOfTheLeastKnownDescriptor) {
  const auto mma = [](const std::string& words, const std::string& more) {
    return known("tcgen05.mma" + words + " [%r0], %rd0, %rd1, %r1" + more + ";", 100);
  };
  const Known half = mma(".cta_group::1.kind::f16", ", %p0");
  EXPECT_EQ(half.form, "tcgen05.mma.cta_group::1.kind::f16");
  EXPECT_EQ(half.fidelity, Fidelity::published);
  EXPECT_NE(half.evidence.find("MMA-Sim"), std::string::npos);
  EXPECT_EQ(mma(".cta_group::1.kind::i8", ", %p0").fidelity, Fidelity::exact);
  EXPECT_EQ(mma(".cta_group::1.kind::mxf4.block_scale.scale_vec::2X", ", [%r2], [%r3], %p0").fidelity,
            Fidelity::published);
  EXPECT_EQ(known("tcgen05.mma.sp.cta_group::1.kind::f16 [%r0], %rd0, %rd1, [%r2], %r1, %p0;", 100).fidelity,
            Fidelity::assumed);
  const Known scaled = mma(".cta_group::1.kind::f16", ", %p0, 3");
  EXPECT_EQ(scaled.fidelity, Fidelity::assumed);
  EXPECT_NE(scaled.evidence.find("scale-input-d"), std::string::npos);
  EXPECT_EQ(known("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 64;", 100).fidelity,
            Fidelity::assumed);
  EXPECT_EQ(known("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r0}, [%r1];", 100).fidelity, Fidelity::exact);
}

TEST(Fidelity, OfApproximateFunctionsIsTheMachines) {
  const Known measured = known("ex2.approx.f32 %f0, %f1;", 90);
  EXPECT_EQ(measured.fidelity, Fidelity::recorded);
  EXPECT_EQ(measured.evidence, "NVIDIA H200");
  EXPECT_EQ(known("sin.2pi.approx.ftz.f32 %f0, %f1;", 90).fidelity, Fidelity::recorded);
  EXPECT_EQ(known("cos.2pi.approx.ftz.f32 %f0, %f1;", 80).fidelity, Fidelity::assumed);
  const Known assumed = known("ex2.approx.f32 %f0, %f1;", 80);
  EXPECT_EQ(assumed.fidelity, Fidelity::assumed);
  EXPECT_EQ(assumed.evidence, "as on sm_90, NVIDIA H200");
  EXPECT_EQ(known("div.full.f32 %f0, %f1, %f2;", 120).fidelity, Fidelity::assumed);
  EXPECT_EQ(known("div.rn.f32 %f0, %f1, %f2;", 120).fidelity, Fidelity::exact);
}

// Of forms that no case executes, where the ISA does not say all.
TEST(Fidelity, OfRandomBitsIsAssumed) {
  EXPECT_EQ(known("cvt.rs.f16x2.f32 %r0, %f0, %f1, %r1;", 100).fidelity, Fidelity::assumed);
  EXPECT_EQ(known("cvt.rn.f16x2.f32 %r0, %f0, %f1;", 100).fidelity, Fidelity::exact);
}

TEST(Fidelity, OfWhatIsTheMachinesOwnIsApproximate) {
  EXPECT_EQ(known("mov.u64 %rd0, %clock64;", 90).form, "mov.u64 %clock64");
  EXPECT_EQ(known("mov.u64 %rd0, %clock64;", 90).fidelity, Fidelity::approximate);
  EXPECT_EQ(known("mov.u32 %r0, %smid;", 90).fidelity, Fidelity::approximate);
  EXPECT_EQ(known("mov.u32 %r0, %tid.x;", 90).fidelity, Fidelity::exact);
  EXPECT_EQ(known("red.global.add.f32 [%rd0], %f0;", 90).fidelity, Fidelity::approximate);
  EXPECT_EQ(known("multimem.red.relaxed.gpu.global.add.f32 [%rd0], %f0;", 90).fidelity,
            Fidelity::approximate);
  EXPECT_EQ(known("activemask.b32 %r0;", 90).fidelity, Fidelity::approximate);
  EXPECT_EQ(known("red.global.add.u32 [%rd0], %r0;", 90).fidelity, Fidelity::exact);
}

TEST(Fidelity, IsTheModelsInAReportsWords) {
  EXPECT_EQ(fidelity_of(numeric::Evidence::measured), Fidelity::recorded);
  EXPECT_EQ(fidelity_of(numeric::Evidence::published), Fidelity::published);
  EXPECT_EQ(fidelity_of(numeric::Evidence::assumed), Fidelity::assumed);
}

TEST(Recorded, WhatAnH200CannotRunHasNoCases) {
  constexpr isa::Target kH200{90, 'a'};
  size_t recorded = 0;
  for (const isa::MatrixRow& row : isa::matrix_rows()) {
    const HardwareCheck check = checked_on_hardware(row);
    recorded += check.any();
    EXPECT_TRUE(isa::form_of(row).targets.contains(kH200) || !check.any()) << isa::syntax_of(row);
    for (const std::string& record : check.records) {
      const auto machine = isa::parse_target(record.substr(0, record.find('/')));
      ASSERT_TRUE(machine.has_value()) << record;
      EXPECT_TRUE(isa::form_of(row).targets.contains(*machine)) << isa::syntax_of(row);
    }
  }
  EXPECT_GT(recorded, 100u);
}

} // namespace
} // namespace lemma::fidelity
