// wgmma as one operation of the four warps of a warpgroup: warps that come late, or never, or with something
// else; operations of one function that another waits for; many in flight.
#include "wgmma_kernel.h"

namespace lemma::vgpu {
namespace {

constexpr const char* kD = "{%f0, %f1, %f2, %f3}";

// Makes one warp late, by more instructions than a warp executes in a turn.
std::string delay(uint32_t warp, const std::string& name) {
  return fmt::format(R"(
  shr.u32 %r50, %t, 5;
  setp.ne.u32 %p5, %r50, {0};
  @%p5 bra PASS_{1};
  mov.u32 %r51, 30000;
SPIN_{1}:
  add.u32 %r51, %r51, -1;
  setp.ne.u32 %p6, %r51, 0;
  @%p6 bra SPIN_{1};
PASS_{1}:
)",
                     warp, name);
}

// Thread 0 overwrites A and B.
std::string overwrite() {
  std::string out = "setp.ne.u32 %p7, %t, 0;\n@%p7 bra KEPT;\nmov.b32 %r52, 0;\n";
  for (int at = 0; at < 4096; at += 16)
    out += fmt::format("st.shared.v4.b32 [%r0+{}], {{%r52, %r52, %r52, %r52}};\n", at);
  return out + "fence.proxy.async;\nKEPT:\n";
}

// --- Late warps ---

TEST(WgmmaGroup, AnyWarpsWaitIsForTheWholeOperation) {
  for (uint32_t warp = 0; warp < 4; ++warp)
    for (int place = 0; place < 4; ++place) {
      SCOPED_TRACE(fmt::format("warp {} late at {}", warp, place));
      const auto late_at = [&](int here) { return here == place ? delay(warp, "A") : std::string(); };
      expect_both(text({kPublish, late_at(0), kFence, late_at(1), mma(), late_at(2), kCommit, late_at(3),
                        kWait, overwrite(), kStore}),
                  17);
      expect_both(text({kPublish, late_at(0), kFence, late_at(1), mma(kRegistersOfA), mma(), late_at(2),
                        kCommit, late_at(3), kWait, overwrite(), kStore}),
                  33);
    }
}

// Measured on an H200.
TEST(WgmmaGroup, CommitWaitsUntilAllWarpsHaveComeToIt) {
  for (uint32_t warp = 0; warp < 4; ++warp)
    for (int place = 0; place < 3; ++place) {
      SCOPED_TRACE(fmt::format("warp {} late at {}", warp, place));
      const std::string here = delay(warp, "A") + ".shared .b32 flag;\n@!%p5 st.shared.u32 [flag], %r2;\n";
      const auto late_at = [&](int at) { return at == place ? here : std::string(); };
      const std::string kernel = text({kPublish, late_at(0), kFence, late_at(1), mma(), late_at(2), kCommit,
                                       "ld.volatile.shared.u32 %r60, [flag];\n", kWait,
                                       "st.global.v4.u32 [%rd9], {%r60, %r60, %r60, %r60};\n"});
      for (const AsyncMode mode : {AsyncMode::eager, AsyncMode::late})
        for (const uint32_t seen : run(kernel, mode).out)
          ASSERT_EQ(seen, 0x3c003c00u);
    }
}

TEST(WgmmaGroup, NobodyWaitsBeforeCommit) {
  // Warp 3 issues when it hears from warp 0, which has.
  const std::string after_issue = "shr.u32 %r50, %t, 5;\nsetp.eq.u32 %p5, %r50, 0;\n"
                                  "@%p5 st.volatile.shared.u32 [flag], %r2;\n";
  const std::string before_issue = ".shared .b32 flag;\nshr.u32 %r50, %t, 5;\nsetp.ne.u32 %p5, %r50, 3;\n"
                                   "@%p5 bra GO;\nPOLL:\nld.volatile.shared.u32 %r51, [flag];\n"
                                   "setp.ne.u32 %p6, %r51, %r2;\n@%p6 bra POLL;\nGO:\n";
  const std::string clear = ".shared .b32 flag;\nmov.b32 %r51, 0;\nst.shared.u32 [flag], %r51;\n";
  const std::string poll = before_issue.substr(before_issue.find('\n') + 1);
  expect_both(text({clear, kPublish, poll, kFence, mma(), after_issue, kCommit, kWait, kStore}), 17);
}

TEST(WgmmaGroup, WhatTouchesAccumulatorsBeforeCommitFindsThemEager) {
  // ptxas makes code for it that waits for the operation.
  const std::string moved = "mov.b32 %f8, %f0;\nmov.b32 %f9, %f1;\nmov.b32 %f10, %f2;\nmov.b32 %f11, %f3;\n";
  const std::string store = "st.global.v4.f32 [%rd9], {%f8, %f9, %f10, %f11};\n";
  for (uint32_t warp = 0; warp < 4; ++warp) {
    const std::string begin = text({kPublish, delay(warp, "A"), kFence, mma()});
    EXPECT_EQ(value_of(begin + moved + kCommit + kWait + store, AsyncMode::eager), 17);
    EXPECT_EQ(value_of(begin + mma("%rd1", "1", kOtherD) + moved + kCommit + kWait + store, AsyncMode::eager),
              17);
    EXPECT_EQ(value_of(begin + kStore + kCommit + kWait, AsyncMode::eager), 17);
    EXPECT_EQ(value_of(begin + "bra.uni NEXT;\nNEXT:\n" + moved + store, AsyncMode::eager), 17);
  }
}

// One buffer and one mbarrier: who has waited for the product fills the buffer again.
TEST(WgmmaGroup, PipelineOfOneBuffer) {
  const uint32_t f16[] = {0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700, 0x4800}; // 1 to 8
  std::vector<uint32_t> stages;
  for (const uint32_t value : f16) {
    stages.insert(stages.end(), 512, value << 16 | value);
    stages.insert(stages.end(), 512, 0x3c003c00);
  }
  const std::string fill = R"(
  mbarrier.arrive.expect_tx.shared.b64 _, [full], 4096;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%in], 4096, [full];
)";
  for (uint32_t warp = 0; warp < 4; ++warp)
    for (const AsyncMode mode : {AsyncMode::eager, AsyncMode::late}) {
      LaunchConfig config;
      config.block = {kGroup, 1, 1};
      config.async = mode;
      const std::string body =
          text({kSetup,
                ".shared .b64 full;\nsetp.eq.u32 %p1, %t, 0;\n@!%p1 bra START;\n"
                "mbarrier.init.shared.b64 [full], 1;\n",
                "START:\n", kPublish, "@!%p1 bra FILLED;\n", fill,
                "FILLED:\nmov.u32 %r60, 0;\nLOOP:\nand.b32 %r61, %r60, 1;\n",
                "WAIT:\nmbarrier.try_wait.parity.shared.b64 %p2, [full], %r61;\n@!%p2 bra WAIT;\n",
                delay(warp, "A"), kFence, mma(), kCommit, kWait,
                "add.u32 %r60, %r60, 1;\nsetp.eq.u32 %p3, %r60, 8;\n@%p3 bra DONE;\nadd.u64 %in, %in, 4096;\n"
                "@!%p1 bra LOOP;\n",
                fill, "bra LOOP;\nDONE:\n", kStore});
      const KernelRun done = run_body(body, config, size_t{kGroup} * kAccumulators, stages);
      EXPECT_EQ(fault_text(done.report), "");
      for (const uint32_t word : done.out)
        ASSERT_EQ(std::bit_cast<float>(word), 1 + 16 * 36) << "warp " << warp << " late";
    }
}

// --- Warps that do not agree ---

// Warp 3 jumps to `there`.
std::string warp_3_to(const std::string& there) {
  return "shr.u32 %r50, %t, 5;\nsetp.eq.u32 %p5, %r50, 3;\n@%p5 bra " + there + ";\n";
}

TEST(WgmmaGroup, WarpsThatDoNotComeAreNamed) {
  for (const std::string& begin :
       {std::string(kFence) + mma() + kCommit, std::string(kFence) + mma() + kStore, std::string(kCommit)}) {
    const std::string kernel = text({kPublish, warp_3_to("OUT"), begin, kWait, "OUT:\n"});
    for (const AsyncMode mode : {AsyncMode::eager, AsyncMode::late}) {
      const KernelRun done = run(kernel, mode);
      if (mode == AsyncMode::late && begin.ends_with(kStore))
        continue; // nothing waits for it there
      EXPECT_SAYS(fault_text(done.report), "deadlock: nothing can move: 3 warps in 1 CTA wait for ever");
      ASSERT_EQ(done.report.waiting.size(), 3u);
      for (const Waiting& waiting : done.report.waiting) {
        EXPECT_EQ(waiting.reason, "the warpgroup of warps 0 to 3: 3 of 4 warps have come");
        EXPECT_EQ(waiting.notes, std::vector<std::string>{"missing: warp 3 has exited"});
      }
    }
  }
  const KernelRun waits =
      run(text({kPublish, warp_3_to("OUT"), kFence, mma(), kCommit, kWait, "OUT:\nbar.sync 0;\n"}),
          AsyncMode::eager);
  ASSERT_EQ(waits.report.waiting.size(), 4u);
  EXPECT_SAYS(waits.report.waiting[0].place.instruction, "wgmma.commit_group");
  ASSERT_EQ(waits.report.waiting[0].notes.size(), 1u);
  EXPECT_SAYS(waits.report.waiting[0].notes[0], "missing: warp 3 waits at line ");
}

TEST(WgmmaGroup, WarpsExecuteTheSameInstruction) {
  const std::string fault = fault_of(
      text({kFence, warp_3_to("OTHER"), mma(), kCommit, kWait, "ret;\nOTHER:\n", mma(), kCommit, kWait}));
  EXPECT_SAYS(fault, "of a warpgroup execute different instructions, at lines ");
  EXPECT_SAYS(fault, "(undefined behaviour)");
}

TEST(WgmmaGroup, WarpsGiveTheSameDescriptors) {
  const std::string third = "shr.u32 %r50, %t, 5;\nsetp.eq.u32 %p5, %r50, 2;\n";
  EXPECT_SAYS(fault_of(text({third, "@%p5 add.u64 %rd1, %rd1, 8;\n", kFence, mma()})),
              "and 2 of a warpgroup give wgmma.mma_async different descriptors of A: 0x0000001000080040 and "
              "0x0000001000080048 (undefined behaviour)");
  EXPECT_SAYS(fault_of(text({third, "@%p5 add.u64 %rd2, %rd2, 8;\n", kFence, mma()})),
              "and 2 of a warpgroup give wgmma.mma_async different descriptors of B: 0x00000010000800c0 and "
              "0x00000010000800c8 (undefined behaviour)");
  EXPECT_SAYS(fault_of(text({third, kFence, mma("%rd1", "%p5")})),
              "and 2 of a warpgroup give wgmma.mma_async different scale-d: false and true");
}

TEST(WgmmaGroup, WarpsIssueAsManyOperations) {
  const std::string fault =
      fault_of(text({warp_3_to("ONCE"), kFence, "@!%p5 ", mma(), "ONCE:\n", kFence, mma(), kCommit, kWait}));
  EXPECT_SAYS(fault, "execute different instructions");
  const std::string more = "shr.u32 %r50, %t, 5;\nsetp.eq.u32 %p5, %r50, 3;\n";
  const std::string numbers = fault_of(text({more, kFence, mma(), "@%p5 " + mma(), kCommit, kWait}));
  EXPECT_SAYS(numbers, "comes here after ");
  EXPECT_SAYS(numbers, "warp 3 ");
  EXPECT_SAYS(numbers, "of its warpgroup to wgmma.commit_group at line ");
}

TEST(WgmmaGroup, RegistersAreSetByAllWarpsAlike) {
  const std::string set = "setmaxnreg.dec.sync.aligned.u32 40;\n";
  const std::string end = "bar.sync 0;\n";
  expect_both(text({kPublish, set, end, set, kFence, mma(), kCommit, kWait, kStore}), 17);
  const auto other = [&](const std::string& by_warp_3) {
    return run(text({warp_3_to("OTHER"), set, "bra.uni END;\nOTHER:\n" + by_warp_3 + "END:\n", end}),
               AsyncMode::eager);
  };
  EXPECT_SAYS(fault_text(other("setmaxnreg.inc.sync.aligned.u32 48;\n").report),
              "of a warpgroup execute different setmaxnreg, for ");
  const KernelRun differing = other("setmaxnreg.dec.sync.aligned.u32 48;\n"); // as CUTLASS's attention does
  EXPECT_EQ(fault_text(differing.report), "");
  ASSERT_EQ(differing.report.warnings.size(), 1u);
  EXPECT_SAYS(differing.report.warnings[0], "of a warpgroup execute different setmaxnreg, for ");
  // The same once more, before the others have come, as Triton's kernels do: an H200 goes on.
  const KernelRun twice =
      run(text({kPublish, set, set, end, kFence, mma(), kCommit, kWait, kStore}), AsyncMode::eager);
  EXPECT_EQ(twice.out[0], std::bit_cast<uint32_t>(17.0f));
  ASSERT_EQ(twice.report.warnings.size(), 1u);
  EXPECT_SAYS(twice.report.warnings[0], "executes another setmaxnreg before all warps of its warpgroup");
  EXPECT_SAYS(fault_of(text({set, "setmaxnreg.dec.sync.aligned.u32 48;\n", end})),
              "executes another setmaxnreg");
  EXPECT_SAYS(fault_of(text({warp_3_to("END"), set, set, "bar.sync 1, 96;\n", set, "END:\n", end})),
              "executes another setmaxnreg before all warps of its warpgroup have executed the one at line ");
}

// --- Functions ---

TEST(WgmmaGroup, FencesCommitsAndWaitsMayStandInFunctions) {
  const auto function = [](const char* name, const char* body) {
    return fmt::format(".func {}()\n{{\n.reg .b32 %pad<40>;\nmov.b32 %pad7, 5;\n{}ret;\n}}\n", name, body);
  };
  const std::string functions =
      function("fence", kFence) + function("commit", kCommit) + function("wait", kWait);
  expect_both(text({kPublish, "call fence;\n", mma(), kCommit, kWait, kStore}), 17, functions);
  expect_both(text({kPublish, kFence, mma(), "call commit;\n", kWait, kStore}), 17, functions);
  expect_both(text({kPublish, kFence, mma(), kCommit, "call wait;\n", kStore}), 17, functions);
  for (uint32_t warp = 0; warp < 4; ++warp)
    expect_both(text({kPublish, "call fence;\n", mma(), "call commit;\n", delay(warp, "A"), "call fence;\n",
                      mma(), "call commit;\n", "call wait;\n", kStore}),
                33, functions);
}

// A function that multiplies in registers of its own; what they were is its result.
std::string multiply(const std::string& end, const std::string& result = "%f3") {
  return text({".func (.reg .b32 %result) multiply(.reg .b64 %rd1, .reg .b64 %rd2)\n{\n.reg .b32 %f<4>;\n"
               "mov.b32 %f0, 0f3f800000;\nmov.b32 %f1, %f0;\nmov.b32 %f2, %f0;\nmov.b32 %f3, %f0;\n",
               kFence, mma(), end, "mov.b32 %result, " + result + ";\nret;\n}\n"});
}
constexpr const char* kCall = "call (%r60), multiply, (%rd1, %rd2);\nmov.b32 %f0, %r60;\nmov.b32 %f1, %r60;\n"
                              "mov.b32 %f2, %r60;\nmov.b32 %f3, %r60;\n";

TEST(WgmmaGroup, FunctionsMultiplyInTheirOwnRegisters) {
  for (uint32_t warp = 0; warp < 4; ++warp)
    expect_both(text({kPublish, delay(warp, "A"), kCall, kStore}), 17, multiply(text({kCommit, kWait})));
  // The caller's operation is in flight meanwhile.
  expect_both(text({kPublish, kFence, mma("%rd1", "1", kOtherD), kCommit, kCall, kWait, kStoreOther}), 17,
              multiply(text({kCommit, kWait})));
}

TEST(WgmmaGroup, AccumulatorsOfAFunctionThatHasReturnedAreAFault) {
  for (const std::string& commits : {std::string(kCommit), std::string()}) {
    const std::string callee = multiply(commits, "0f41880000"); // 17: who reads an accumulator waits for it
    const std::string after = text({commits.empty() ? kCommit : "", kWait, kStore});
    for (const std::string& between : {std::string(), std::string(kCall)}) {
      // Another activation of the function does not have the first one's registers.
      const std::string kernel = text({kPublish, kCall, between, after});
      EXPECT_EQ(value_of(kernel, AsyncMode::eager, callee), 17);
      expect_both(kernel, 17, multiply(commits));
      EXPECT_SAYS(
          fault_text(run(kernel, AsyncMode::late, kGroup, callee).report),
          "completes here, but function multiply, whose registers are its accumulators, has returned");
    }
  }
}

// --- Many operations ---

TEST(WgmmaGroup, EmptyGroupsCount) {
  expect_both(text({kPublish, kFence, mma(), kCommit, kCommit, "wgmma.wait_group.sync.aligned 1;\n", kStore}),
              17);
  expect_both(text({kPublish, kCommit, kWait, kFence, mma(), kCommit, kCommit, kCommit, kWait, kStore}), 17);
}

TEST(WgmmaGroup, ManyOperationsInFlight) {
  const auto loop = [](const std::string& body) {
    return "mov.u32 %r60, 0;\nLOOP:\n" + body +
           "add.u32 %r60, %r60, 1;\nsetp.lt.u32 %p3, %r60, 300;\n@%p3 bra LOOP;\n";
  };
  for (const uint32_t warp : {0, 3}) {
    expect_both(text({kPublish, kFence, delay(warp, "A"), loop(mma() + kCommit), kWait, kStore}),
                1 + 300 * 16);
    expect_both(text({kPublish, kFence, loop(mma()), delay(warp, "A"), kCommit, kWait, kStore}),
                1 + 300 * 16);
    expect_both(
        text({kPublish, kFence, loop(mma(kRegistersOfA) + kFence), delay(warp, "A"), kCommit, kWait, kStore}),
        1 + 300 * 16);
  }
  std::string straight;
  for (int i = 0; i < 300; ++i)
    straight += mma("%rd1", "1", i % 2 == 0 ? kD : kOtherD);
  expect_both(text({kPublish, delay(2, "A"), kFence, straight, kCommit, kWait, kStoreOther}), 1 + 150 * 16);
}

// Operations in a row on the same accumulators are one product, but where one does not go on: with other
// accumulators, A from elsewhere, scale-d false.
TEST(WgmmaGroup, ChainsEndWhereAnOperationDoesNotGoOn) {
  const std::string four = mma() + mma() + mma("%rd2", "1", kD, "%rd1") + mma();
  expect_both(text({kPublish, kFence, four, kCommit, kWait, kStore}), 1 + 4 * 16);
  expect_both(text({kPublish, kFence, four, mma(), four, kCommit, kWait, kStore}), 1 + 9 * 16);
  expect_both(
      text({kPublish, kFence, mma(), mma(kRegistersOfA), mma(kRegistersOfA), four, kCommit, kWait, kStore}),
      1 + 7 * 16);
  expect_both(text({kPublish, kFence, four, mma("%rd1", "0"), mma(), mma(), kCommit, kWait, kStore}), 3 * 16);
  expect_both(
      text({kPublish, kFence, mma(), mma(), mma("%rd1", "1", kOtherD), mma(), kCommit, kWait, kStore}),
      1 + 3 * 16);
  expect_both(
      text({kPublish, kFence, mma(), mma(), mma("%rd1", "1", kOtherD), mma(), kCommit, kWait, kStoreOther}),
      17);
}

// What is counted is counted for each operation.
TEST(WgmmaGroup, ChainsCountAsManyOperations) {
  const KernelRun done =
      run(text({kPublish, kFence, mma(), mma(), mma(), kCommit, kWait, kStore}), AsyncMode::eager);
  EXPECT_EQ(done.report.stats.matrix_flops, 3u * 2 * 64 * 8 * 16);
  EXPECT_EQ(done.report.stats.matrix_outputs->total(), 3u * 64 * 8);
}

TEST(WgmmaGroup, TwoWarpgroupsAreTwo) {
  LaunchConfig config;
  config.block = {2 * kGroup, 1, 1};
  for (const AsyncMode mode : {AsyncMode::eager, AsyncMode::late}) {
    config.async = mode;
    const KernelRun done = run_body(text({kSetup, kPublish, "setp.lt.u32 %p1, %t, 128;\n@%p1 bra FIRST;\n",
                                          delay(5, "A"), kFence, mma(), kCommit, kWait, "bar.sync 1, 128;\n",
                                          "FIRST:\n", kFence, mma(), mma(), kCommit, kWait, kStore}),
                                    config, size_t{2 * kGroup} * kAccumulators);
    EXPECT_EQ(fault_text(done.report), "");
    for (size_t i = 0; i < done.out.size(); ++i)
      ASSERT_EQ(std::bit_cast<float>(done.out[i]), i < done.out.size() / 2 ? 33 : 49);
  }
}

// --- Another CTA in the place of one that has ended ---

TEST(WgmmaGroup, EveryCtasUnwrittenSharedMemoryIsReported) {
  LaunchConfig config;
  config.block = {kGroup, 1, 1};
  config.grid = {3, 1, 1};
  config.deterministic = true;
  const std::string fill = "mov.u32 %r70, %ctaid.x;\nsetp.eq.u32 %p1, %r70, 0;\n";
  const std::string setup = R"(
  .shared .align 1024 .b8 smem[4096];
  mov.u32 %r0, smem;
  mad.lo.u32 %r1, %t, 16, %r0;
  mov.b32 %r2, 0x3c003c00;
  @%p1 st.shared.v4.b32 [%r1], {%r2, %r2, %r2, %r2};
  @%p1 st.shared.v4.b32 [%r1+2048], {%r2, %r2, %r2, %r2};
  shr.u32 %r3, %r0, 4;
  cvt.u64.u32 %rd0, %r3;
  or.b64 %rd1, %rd0, 0x1000080000;
  add.u64 %rd2, %rd1, 128;
)";
  const KernelRun done =
      run_body(text({fill, setup, kPublish, kFence, mma("%rd1", "0"), kCommit, kWait}), config);
  EXPECT_EQ(fault_text(done.report), "");
  EXPECT_SAYS(uninitialized_text(done.report), "shared memory of A");
  EXPECT_EQ(done.report.uninitialized_reads, 4u); // A and B, in two CTAs
}

} // namespace
} // namespace lemma::vgpu
