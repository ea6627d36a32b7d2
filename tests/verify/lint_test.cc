// One rule of lint a test: kernels that break it, and twins that do not. And silence on the PTX of examples,
// programs and Triton.
#include "ptx/parser.h"
#include "verify/lint.h"
#include "verify/verify.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace lemma::verify_test {
namespace {

std::unique_ptr<ptx::Module> module_of(const std::string& name, const std::string& text) {
  auto parsed = ptx::parse(std::make_shared<SourceText>(name, text));
  EXPECT_FALSE(has_errors(parsed.diagnostics)) << render(parsed.diagnostics, *parsed.module->source);
  const Diagnostics wrong = verify::verify(*parsed.module);
  EXPECT_FALSE(has_errors(wrong)) << render(wrong, *parsed.module->source);
  return std::move(parsed.module);
}

// "wgmma.wait: add.f32" a line: the id, and the opcode that the caret marks.
std::string lint_of(const std::string& body, const std::string& before = "",
                    const std::string& directives = "", const std::string& target = "sm_90a") {
  const auto module =
      module_of("lint.ptx", ".version 8.6\n.target " + target + "\n.address_size 64\n" + before +
                                ".visible .entry k(.param .u64 pout) " + directives + R"( {
.shared .align 1024 .b8 tile[4096];
.shared .align 8 .b64 bar;
.reg .pred %p<10>;
.reg .b32 %r<40>, %t, %a<8>, %m;
.reg .b64 %rd<40>, %out, %da, %db, %state, %map;
.reg .f32 %f<40>;
mov.u32 %t, %tid.x;
ld.param.u64 %out, [pout];
mov.u32 %m, bar;
mov.b64 %da, 0x4000004000010000;
mov.b64 %db, 0x4000004000010100;
)" + body + "\nret;\n}\n");
  std::string found;
  for (const Diagnostic& diagnostic : verify::lint(*module)) {
    EXPECT_EQ(diagnostic.severity, Severity::warning);
    std::string statement(module->source->slice(diagnostic.range));
    if (statement.starts_with("@"))
      statement = statement.substr(statement.find(' ') + 1);
    found +=
        fmt::format("{}: {}\n", diagnostic.id,
                    statement.substr(0, std::min(statement.find_first_of(" ;"), statement.find(".m64"))));
  }
  return found;
}

const std::string kFence = "wgmma.fence.sync.aligned;\n";
const std::string kMma =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %da, %db, 1, 1, 1, 0, 0;\n";
const std::string kMmaOfRegisters = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, "
                                    "{%a0, %a1, %a2, %a3}, %db, 1, 1, 1, 0;\n";
const std::string kWide = "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 "
                          "{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, %da, %db, 1, 1, 1, 0, 0;\n";
const std::string kCommit = "wgmma.commit_group.sync.aligned;\n";
const std::string kWait = "wgmma.wait_group.sync.aligned 0;\n";
const std::string kWait1 = "wgmma.wait_group.sync.aligned 1;\n";
const std::string kUse = "add.f32 %f9, %f0, %f1;\n";

TEST(Lint, AccumulatorsInFlight) {
  EXPECT_EQ(lint_of(kFence + kMma + kMma + kCommit + kWait + kUse), "");
  EXPECT_EQ(lint_of(kFence + kMma + kCommit + kUse + kWait), "wgmma.inflight: add.f32\n");
  EXPECT_EQ(lint_of(kFence + kMma + kCommit + "add.f32 %f0, %f9, %f9;\n" + kWait),
            "wgmma.inflight: add.f32\n");
  EXPECT_EQ(lint_of(kFence + kMma + kCommit + "mov.f32 %f9, %f0;\n" + kWait + kUse), "");
  EXPECT_EQ(lint_of(kFence + kMma + kCommit + "mov.f32 %f9, %f0;\nadd.f32 %f10, %f9, %f9;\n" + kWait),
            "wgmma.inflight: add.f32\n");
  EXPECT_EQ(lint_of(kFence + kMmaOfRegisters + kCommit + "add.u32 %a0, %a0, 1;\n" + kWait),
            "wgmma.inflight: add.u32\n");
  EXPECT_EQ(lint_of(kFence + kMmaOfRegisters + kCommit + "add.u32 %r0, %a0, 1;\n" + kWait), "");
  EXPECT_EQ(lint_of(kFence + kMma + kWide + kCommit + kWait),
            "wgmma.inflight: wgmma.mma_async.sync.aligned\n");
  // A path that waits counts, for its condition may be that of the product.
  EXPECT_EQ(lint_of(kFence + kMma + kCommit + "@%p0 bra SKIP;\n" + kWait + "SKIP:\n" + kUse), "");
}

TEST(Lint, WaitsThatCoverTooLittle) {
  const auto loop = [](const std::string& in_loop, const std::string& at_end) {
    return lint_of("LOOP:\n" + kFence + kMma + kCommit + in_loop + "@%p0 bra LOOP;\n" + at_end + kUse);
  };
  EXPECT_EQ(loop(kWait1, kWait), "");
  EXPECT_EQ(loop(kWait1, ""), "wgmma.wait: add.f32\n");
  EXPECT_EQ(loop("", kWait), "");
  EXPECT_EQ(loop("", ""), "wgmma.inflight: add.f32\n");
  EXPECT_EQ(lint_of(kFence + kMma + kWait + kUse), "wgmma.wait: add.f32\n"); // not committed
  EXPECT_EQ(lint_of(kFence + kMma + kCommit + kCommit + kWait1 + kUse), "");
}

TEST(Lint, FencesOfRegisters) {
  EXPECT_EQ(lint_of(kMma + kCommit + kWait), "wgmma.fence: wgmma.mma_async.sync.aligned\n");
  EXPECT_EQ(lint_of(kFence + "add.f32 %f0, %f9, %f9;\n" + kMma + kCommit + kWait),
            "wgmma.fence: wgmma.mma_async.sync.aligned\n");
  EXPECT_EQ(lint_of("add.f32 %f0, %f9, %f9;\n" + kFence + kMma + kCommit + kWait), "");
  EXPECT_EQ(lint_of(kFence + "mov.f32 %f0, 0f00000000;\n" + kMma + kCommit + kWait), "");
  EXPECT_EQ(lint_of(kFence + "LOOP:\n" + kMma + kCommit + kWait + "mul.f32 %f0, %f0, %f9;\n@%p0 bra LOOP;\n"),
            "wgmma.fence: wgmma.mma_async.sync.aligned\n");
  EXPECT_EQ(lint_of("LOOP:\n" + kFence + kMma + kCommit + kWait + "mul.f32 %f0, %f0, %f9;\n@%p0 bra LOOP;\n"),
            "");
}

TEST(Lint, OneMissingFenceOrWaitIsOneFinding) {
  EXPECT_EQ(lint_of(kFence + kMma + kCommit + kUse + kUse), "wgmma.inflight: add.f32\n");
  EXPECT_EQ(lint_of(kFence + "add.f32 %f0, %f9, %f9;\n" + "add.f32 %f4, %f9, %f9;\n" + kWide + kWide +
                    kCommit + kWait),
            "wgmma.fence: wgmma.mma_async.sync.aligned\n");
}

TEST(Lint, ACallMayDoWhatIsMissing) {
  const std::string function =
      ".func settle() { wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; ret; }\n";
  EXPECT_EQ(lint_of(kFence + kMma + "call settle;\n" + kUse, function), "");
  EXPECT_EQ(lint_of("call settle;\n" + kMma + kCommit + kWait, function), "");
}

TEST(Lint, GroupsOfCopies) {
  const std::string copy = "cp.async.ca.shared.global [tile], [%out], 16;\n";
  const std::string commit = "cp.async.commit_group;\n", wait = "cp.async.wait_group 0;\n";
  EXPECT_EQ(lint_of(copy + commit + wait), "");
  EXPECT_EQ(lint_of(copy + "cp.async.wait_all;\n"), "");
  EXPECT_EQ(lint_of(copy + wait), "async.unwaited: cp.async.wait_group\n");
  EXPECT_EQ(lint_of(copy + commit), "async.unwaited: cp.async.ca.shared.global\n");
  EXPECT_EQ(lint_of(wait + copy + commit), "async.unwaited: cp.async.ca.shared.global\n");
  EXPECT_EQ(lint_of("LOOP:\n" + wait + copy + commit + "@%p0 bra LOOP;\n"), ""); // of the round before
  EXPECT_EQ(lint_of(copy + commit + "@%p0 bra SKIP;\n" + wait + "SKIP:\n"), "");
}

TEST(Lint, GroupsOfBulkCopies) {
  const std::string copy = "cp.async.bulk.global.shared::cta.bulk_group [%out], [%r30], 16;\n";
  const std::string commit = "cp.async.bulk.commit_group;\n", wait = "cp.async.bulk.wait_group.read 0;\n";
  EXPECT_EQ(lint_of(copy + commit + wait), "");
  EXPECT_EQ(lint_of(copy + wait), "async.unwaited: cp.async.bulk.wait_group.read\n");
  EXPECT_EQ(lint_of(copy + commit), "async.unwaited: cp.async.bulk.global.shared::cta.bulk_group\n");
}

TEST(Lint, ProxyFences) {
  const std::string store = "st.shared.u32 [tile], %t;\n", fence = "fence.proxy.async;\n",
                    sync = "bar.sync 0;\n";
  const std::string copy =
      "mov.u32 %r1, tile;\ncp.async.bulk.global.shared::cta.bulk_group [%out], [%r1], 16;\n"
      "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n";
  const std::string found = "race.proxy: cp.async.bulk.global.shared::cta.bulk_group\n";
  EXPECT_EQ(lint_of(store + fence + sync + copy), "");
  EXPECT_EQ(lint_of(store + sync + copy), found);
  EXPECT_EQ(lint_of(store + sync + "@%p0 bra SKIP;\n" + fence + "SKIP:\n" + copy), "");
  EXPECT_EQ(lint_of("mad.lo.u32 %r2, %t, 4, %r0;\nmov.u32 %r0, tile;\nadd.u32 %r3, %r0, 64;\nst.shared.u32 "
                    "[%r3], %t;\n" +
                    sync + copy),
            found);
  EXPECT_EQ(lint_of("wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [tile], "
                    "{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7};\n" +
                    sync + copy),
            found);
  // A in registers is no address, wherever it was loaded from.
  EXPECT_EQ(lint_of(store + sync +
                    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%a0, %a1, %a2, %a3}, [tile];\n" + kFence +
                    kMmaOfRegisters + kCommit + kWait),
            "");
  // What another operation writes is not what it reads, perhaps.
  EXPECT_EQ(
      lint_of(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%out], 16, [bar];\n" +
          store + sync + copy),
      "");
}

TEST(Lint, ClusterBarriers) {
  const std::string arrive = "barrier.cluster.arrive.aligned;\n", wait = "barrier.cluster.wait.aligned;\n";
  EXPECT_EQ(lint_of(arrive + wait + arrive + wait), "");
  EXPECT_EQ(lint_of(arrive + arrive + wait), "cluster.arrive: barrier.cluster.arrive.aligned\n");
  EXPECT_EQ(lint_of(arrive), "cluster.arrive: barrier.cluster.arrive.aligned\n");
  EXPECT_EQ(lint_of(wait), "cluster.arrive: barrier.cluster.wait.aligned\n");
  EXPECT_EQ(lint_of("@%p0 bra SKIP;\n" + arrive + "SKIP:\n@%p0 bra END;\n" + wait + "END:\n"), "");
}

TEST(Lint, DividedWarps) {
  const auto within = [](const std::string& condition, const std::string& what) {
    return lint_of(condition + "@!%p0 bra SKIP;\n" + what + "SKIP:\nadd.u32 %r9, %t, 1;\n");
  };
  const std::string sync = "bar.sync 0;\n", found = "barrier.divergent: bar.sync\n";
  EXPECT_EQ(within("setp.eq.u32 %p0, %t, 0;\n", sync), found);
  EXPECT_EQ(within("setp.lt.u32 %p0, %t, 48;\n", sync), found);
  EXPECT_EQ(within("setp.lt.u32 %p0, %t, 64;\n", sync), "");
  EXPECT_EQ(within("setp.gt.u32 %p0, %t, 31;\n", sync), "");
  EXPECT_EQ(within("setp.gt.u32 %p0, 48, %t;\n", sync), found);
  EXPECT_EQ(within("shr.u32 %r0, %t, 5;\nsetp.eq.u32 %p0, %r0, 1;\n", sync), "");
  EXPECT_EQ(within("and.b32 %r0, %t, 31;\nsetp.lt.u32 %p0, %r0, 16;\n", sync), found);
  EXPECT_EQ(within("mov.u32 %r0, %laneid;\nsetp.lt.u32 %p0, %r0, 32;\n", sync), "");
  EXPECT_EQ(within("setp.eq.u32 %p1, %t, 0;\nand.pred %p0, %p1, %p2;\n", sync), found);
  EXPECT_EQ(within("elect.sync _|%p0, 0xffffffff;\n", sync), found);
  EXPECT_EQ(within("setp.eq.u32 %p0, %r1, 0;\n", sync), ""); // who knows
  EXPECT_EQ(within("setp.eq.u32 %p0, %t, 0;\n", "barrier.sync 0;\n"), "");
  EXPECT_EQ(within("setp.lt.u32 %p0, %t, 16;\n", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [tile];\n"),
            "warp.aligned: ldmatrix.sync.aligned.m8n8.x1.shared.b16\n");
  EXPECT_EQ(lint_of("setp.eq.u32 %p0, %t, 0;\n@%p0 bar.sync 0;\n"), found);
  // The others are gone.
  EXPECT_EQ(lint_of("setp.ge.u32 %p0, %t, 40;\n@%p0 ret;\nbar.sync 0;\n"), "");
  EXPECT_EQ(lint_of("setp.lt.u32 %p0, %t, 48;\n@!%p0 bra SKIP;\nbar.sync 0;\nSKIP:\nadd.u32 %r9, %t, 1;\n",
                    "", ".reqntid 32"),
            "");
}

// nvcc lets thread 0 come by another way to what the threads of a warp do together.
TEST(Lint, WarpsThatMeetByTwoWays) {
  const auto kernel = [](const std::string& bound) {
    return "setp.ne.u32 %p0, %t, 0;\n@%p0 bra OTHERS;\nmbarrier.init.shared::cta.b64 [%m], 1;\nbra.uni "
           "TOGETHER;\n"
           "OTHERS:\nsetp.gt.u32 %p1, %t, " +
           bound +
           ";\n@%p1 bra PAST;\nTOGETHER:\n"
           "bar.warp.sync 0xffffffff;\nbarrier.sync.aligned 1, 32;\nPAST:";
  };
  EXPECT_EQ(lint_of(kernel("31")), "");
  EXPECT_EQ(lint_of(kernel("30")), "warp.mask: bar.warp.sync\nbarrier.divergent: barrier.sync.aligned\n");
}

// Where a branch asks for more than the thread, those that it lets through are some of those.
TEST(Lint, WarpsBehindCombinedConditions) {
  const auto kernel = [](const std::string& bound, const std::string& both) {
    return "ld.global.u32 %r0, [%out];\nsetp.eq.u32 %p2, %r0, 0;\nsetp.ne.u32 %p0, %t, 128;\n@%p0 bra "
           "OTHERS;\n"
           "bra.uni PAST;\nOTHERS:\nsetp.gt.u32 %p1, %t, " +
           bound + ";\n" + both + ".pred %p3, %p1, %p2;\n@%p3 bra PAST;\nbarrier.sync.aligned 1, 128;\nPAST:";
  };
  EXPECT_EQ(lint_of(kernel("127", "or")), "");
  EXPECT_EQ(lint_of(kernel("159", "or")), "barrier.divergent: barrier.sync.aligned\n");
  EXPECT_EQ(lint_of(kernel("127", "and")), "barrier.divergent: barrier.sync.aligned\n");
}

std::string tensor_lint_of(const std::string& body) {
  return lint_of("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%m], 32;\n" + body +
                     "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 32;\n",
                 ".shared .align 8 .b64 other;\n", "", "sm_100a");
}

const std::string kTensorLoad = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%t];\n";
const std::string kTensorStore = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%t], {%r1};\n";
const std::string kWaitLoad = "tcgen05.wait::ld.sync.aligned;\n",
                  kWaitStore = "tcgen05.wait::st.sync.aligned;\n";
const std::string kTensorBefore = "tcgen05.fence::before_thread_sync;\n";
const std::string kTensorAfter = "tcgen05.fence::after_thread_sync;\n";
const std::string kProduct = "tcgen05.mma.cta_group::1.kind::f16 [%t], %da, %db, 0x08020010, %p0;\n";
const std::string kTensorCommit =
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];\n";
const std::string kWaitForIt =
    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra WAIT;\n";

TEST(Lint, TensorMemoryThatNobodyWaitsFor) {
  EXPECT_EQ(tensor_lint_of(kTensorLoad + kWaitLoad + kTensorStore + kWaitStore), "");
  EXPECT_EQ(tensor_lint_of(kWaitLoad + kTensorLoad),
            "async.unwaited: tcgen05.ld.sync.aligned.32x32b.x1.b32\n");
  EXPECT_EQ(tensor_lint_of(kTensorStore + kWaitLoad),
            "async.unwaited: tcgen05.st.sync.aligned.32x32b.x1.b32\n");
  EXPECT_EQ(tensor_lint_of(kProduct + kTensorCommit + kProduct),
            "async.unwaited: tcgen05.mma.cta_group::1.kind::f16\n");
  EXPECT_EQ(tensor_lint_of(kTensorStore + kTensorBefore + "bar.sync 0;\n" + kWaitStore),
            "async.unwaited: tcgen05.fence::before_thread_sync\n");
  EXPECT_EQ(tensor_lint_of("@%p0 bra PAST;\n" + kTensorStore + "PAST:\n" + kTensorBefore + "bar.sync 0;\n" +
                           kWaitStore),
            ""); // on one path alone
}

TEST(Lint, FencesOfTensorMemory) {
  EXPECT_EQ(tensor_lint_of(kProduct + kTensorCommit + kWaitForIt + kTensorAfter + kTensorLoad + kWaitLoad),
            "");
  EXPECT_EQ(tensor_lint_of(kTensorAfter + kProduct + kTensorCommit + kWaitForIt + kTensorLoad + kWaitLoad),
            "tcgen05.fence: tcgen05.ld.sync.aligned.32x32b.x1.b32\n");
  EXPECT_EQ(tensor_lint_of(kProduct + kTensorCommit + kWaitForIt + kTensorLoad + kWaitLoad),
            ""); // none at all
  const std::string wait =
      "OTHER: mbarrier.try_wait.parity.shared::cta.b64 %p1, [other], 0;\n@!%p1 bra OTHER;\n";
  const std::string arrive = "mbarrier.arrive.shared::cta.b64 %state, [other];\n";
  EXPECT_EQ(tensor_lint_of(kTensorLoad + kWaitLoad + kTensorBefore + arrive + wait + kTensorAfter), "");
  EXPECT_EQ(tensor_lint_of(kTensorLoad + kWaitLoad + arrive + wait + kTensorAfter),
            "tcgen05.fence: mbarrier.arrive.shared::cta.b64\n");
  // Of several in one variable it is not known which hands tensor memory on.
  EXPECT_EQ(
      tensor_lint_of(kTensorLoad + kWaitLoad + arrive + wait + kTensorAfter +
                     "MORE: mbarrier.try_wait.parity.shared::cta.b64 %p1, [other], 1;\n@!%p1 bra MORE;\n"),
      "");
}

TEST(Lint, AllocationsOfTensorMemory) {
  EXPECT_EQ(tensor_lint_of(""), "");
  EXPECT_EQ(lint_of("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%m], 32;\n", "", "", "sm_100a"),
            "tcgen05.alloc: tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32\n");
  EXPECT_EQ(tensor_lint_of("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"
                           "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%m], 32;\n"),
            "tcgen05.alloc: tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32\n");
}

TEST(Lint, Membermasks) {
  const auto shuffle = [](const char* mask) {
    return fmt::format("shfl.sync.idx.b32 %r0, %t, 0, 31, {};\n", mask);
  };
  const std::string found = "warp.mask: shfl.sync.idx.b32\n";
  EXPECT_EQ(lint_of(shuffle("0xffffffff")), "");
  EXPECT_EQ(lint_of(shuffle("0xffff")), ""); // a CTA of 16 threads
  EXPECT_EQ(lint_of(shuffle("0")), found);
  EXPECT_EQ(lint_of(shuffle("-1") + shuffle("0xffff")), found);
  EXPECT_EQ(lint_of("mov.b32 %r5, -1;\nsetp.lt.u32 %p0, %t, 8;\n@!%p0 bra SKIP;\n" + shuffle("%r5") +
                    "SKIP:\nadd.u32 %r9, %t, 1;\n"),
            found);
  EXPECT_EQ(lint_of("setp.lt.u32 %p0, %t, 8;\n@!%p0 bra SKIP;\n" + shuffle("0xff") +
                    "SKIP:\nadd.u32 %r9, %t, 1;\n"),
            "");
}

TEST(Lint, MbarriersThatOthersUse) {
  const std::string init = "setp.eq.u32 %p0, %t, 0;\n@!%p0 bra SKIP;\nmbarrier.init.shared.b64 [bar], 1;\n";
  const std::string skip = "SKIP:\n", use = "mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;\n";
  EXPECT_EQ(lint_of(init + skip + "bar.sync 0;\n" + use), "");
  EXPECT_EQ(lint_of(init + skip + use), "mbarrier.init: mbarrier.init.shared.b64\n");
  EXPECT_EQ(lint_of(init + use + skip), ""); // the same thread
  EXPECT_EQ(lint_of(init + skip + "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 16;\n"),
            "mbarrier.init: mbarrier.init.shared.b64\n");
}

TEST(Lint, TellsWhereAndWhatIsMissing) {
  const auto module =
      module_of("k.ptx", ".version 8.0\n.target sm_90a\n.address_size 64\n.entry k() {\n.reg .f32 %f<10>;\n"
                         ".reg .b64 %da, %db;\n" +
                             kFence + kMma + kCommit + kUse + "ret;\n}\n");
  const Diagnostics found = verify::lint(*module);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "%f0 is read while the wgmma.mma_async of line 8 is in flight: no wait_group lies between");
  ASSERT_EQ(found[0].notes.size(), 2u);
  EXPECT_EQ(found[0].notes[0].label, "missing");
  EXPECT_EQ(found[0].notes[0].text, "wgmma.wait_group 0 after line 8");
}

TEST(Lint, IsSilentOnProgramsThatAreRight) {
  const std::filesystem::path source = LEMMA_SOURCE;
  // Programs of which --check finds something, too, or that show a misuse.
  const std::set<std::string> known = {"2373.ptx"}; // Triton unpacks f16 accumulators in flight
  size_t files = 0;
  for (const char* folder : {"examples", "tests/programs", "tests/triton", "tests/check"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source / folder)) {
      if (entry.path().extension() != ".ptx" || known.count(entry.path().filename()))
        continue;
      std::ifstream file(entry.path());
      const auto module = module_of(entry.path().filename(), {std::istreambuf_iterator<char>(file), {}});
      const Diagnostics found = verify::lint(*module);
      EXPECT_TRUE(found.empty()) << render(found, *module->source);
      ++files;
    }
  EXPECT_GT(files, 100u);
}

} // namespace
} // namespace lemma::verify_test
