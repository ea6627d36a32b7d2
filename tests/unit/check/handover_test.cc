// Atomic operations that hand on what threads know are noted, and worked out when somebody asks: what is
// found is the same, and of many CTAs at few words it takes no more than the operations are.
// src/check/handover.h.
#include "findings.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace lemma::check {
namespace {

struct Found {
  std::string text;
  uint64_t steps = 0; // Handovers::steps()
};

Found run(const std::string& text, uint32_t ctas, bool notes) {
  vgpu::Kernel kernel(text);
  Checker checker;
  if (!notes)
    checker.hand_over_at_once();
  kernel.watch(checker);
  kernel.config().grid = {ctas, 1, 1};
  kernel.config().block = {64, 1, 1};
  kernel.config().workers = 1;
  kernel.config().check = true;
  const std::vector<uint32_t> zeros(4096);
  const uint64_t in = kernel.buffer(zeros, "in"), out = kernel.buffer(zeros, "out");
  EXPECT_EQ(vgpu::fault_text(kernel.run({in, out})), "");
  Found found{"", checker.sizes().handover_steps};
  for (const Finding& finding : checker.findings()) {
    const auto add = [&](const CheckedAccess& access) {
      found.text +=
          fmt::format("{} by CTA {}, warp {}, lane {}: {} {:#x}\n", access.place.instruction, access.cta[0],
                      access.warp, access.lane, access.what, access.address.value_or(0));
    };
    found.text += fmt::format("{} x{}: {}; {}\n{}", finding.id, finding.count, finding.message, finding.fix,
                              finding.rendered);
    add(finding.access);
    if (finding.earlier)
      add(*finding.earlier);
  }
  return found;
}

// Each thread draws numbers: %h. `body` has 32-bit registers %r0 to %r9, and %rd0 to %rd9.
std::string drawing(const std::string& body) {
  return R"(
.visible .entry k(.param .u64 p_in, .param .u64 p_out) {
  .reg .pred %p;
  .reg .b32 %h, %r<10>;
  .reg .b64 %in, %out, %rd<10>;
  .shared .align 4 .b8 tile[256];
  ld.param.u64 %in, [p_in];
  ld.param.u64 %out, [p_out];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %tid.x;
  mad.lo.u32 %h, %r0, 64, %r1;
  mad.lo.u32 %h, %h, 0x9e3779b1, 0x7f4a7c15;
)" + body +
         "  ret;\n}\n";
}
// `op` with %rd1 at one of so many words of a buffer that the thread draws.
std::string at(const char* buffer, int words, const std::string& op) {
  return fmt::format(
      "  mad.lo.u32 %h, %h, 1664525, 1013904223;\n  shr.u32 %r2, %h, 12;\n  rem.u32 %r2, %r2, {};\n"
      "  mad.wide.u32 %rd1, %r2, 4, {};\n  {}\n",
      words, buffer, op);
}
// ... by one thread of so many.
std::string now_and_then(int of, const std::string& op) {
  return fmt::format("  shr.u32 %r3, %h, 20;\n  rem.u32 %r3, %r3, {};\n  setp.eq.u32 %p, %r3, 0;\n  {}", of,
                     op);
}

constexpr const char* kAdd = "atom.global.gpu.acq_rel.add.u32 %r4, [%rd1], 1;";

std::string random_kernel(uint32_t seed) {
  std::mt19937 random(seed);
  const auto one_of = [&](int count) { return static_cast<int>(random() % static_cast<uint32_t>(count)); };
  const int words = 1 << one_of(6), places = 64 << one_of(5);
  std::string body;
  for (int i = 0, count = 3 + one_of(10); i < count; ++i)
    switch (one_of(16)) {
    case 0:
      body += "  bar.sync 0;\n";
      break;
    case 1:
      body += "  bar.warp.sync 0xffffffff;\n";
      break;
    case 2:
      body += at("%out", places, now_and_then(8, "@%p st.global.u32 [%rd1+512], %r1;"));
      break;
    case 3:
      body += at("%out", places, now_and_then(4, "@%p ld.global.u32 %r5, [%rd1+512];"));
      break;
    case 4:
      body += at("%in", words, "atom.global.gpu.acq_rel.add.u32 %r6, [%rd1], 1;\n  add.u32 %h, %h, %r6;");
      break;
    case 5:
      body += at("%in", words, "red.global.gpu.release.add.u32 [%rd1], 1;");
      break;
    case 6:
      body += at("%in", words, "atom.global.gpu.relaxed.add.u32 %r6, [%rd1], 1;");
      break;
    case 7:
      body += at("%in", words, "ld.global.gpu.acquire.u32 %r6, [%rd1];");
      break;
    case 8:
      body += at("%in", words, now_and_then(3, "@%p st.global.gpu.release.u32 [%rd1], 7;"));
      break;
    case 9:
      body += one_of(3) == 0 ? "  fence.sc.gpu;\n" : "  fence.acq_rel.gpu;\n";
      break;
    case 10:
      body += "  mad.wide.u32 %rd1, %r1, 4, %out;\n  st.global.u32 [%rd1], %r1;\n";
      break;
    case 11:
      body += at("%in", words, "atom.global.cta.acq_rel.add.u32 %r6, [%rd1], 1;");
      break;
    default:
      body += at("%in", words, one_of(4) ? kAdd : now_and_then(3, std::string("@%p ") + kAdd));
    }
  return drawing(body);
}

TEST(Handover, FindsTheSameAsWorkingOutAtOnce) {
  int with_findings = 0, without = 0;
  for (uint32_t seed = 1; seed <= 120; ++seed) {
    const std::string text = random_kernel(seed);
    const Found noted = run(text, 5, true), at_once = run(text, 5, false);
    ASSERT_EQ(noted.text, at_once.text) << seed << text;
    ++(noted.text.empty() ? without : with_findings);
  }
  EXPECT_GT(with_findings, 15);
  EXPECT_GT(without, 15);
}

// The last CTA reads what those before it have written, behind a counter.
std::string behind(const std::string& add) {
  return drawing(
      "  mad.wide.u32 %rd2, %r0, 4, %out;\n  setp.eq.u32 %p, %r1, 0;\n  @%p st.global.u32 [%rd2], 1;\n"
      "  mov.u64 %rd1, %in;\n  @%p " +
      add + "\n  @%p ld.global.u32 %r5, [%out];\n");
}

TEST(Handover, OrdersAsOften) {
  EXPECT_EQ(run(behind(kAdd), 4, true).text, "");
  EXPECT_TRUE(run(behind("atom.global.gpu.relaxed.add.u32 %r4, [%rd1], 1;"), 4, true)
                  .text.starts_with("race.global"));
}

// Nobody asks what precedes: no steps but for those by which counters forget what they need not remember.
TEST(Handover, TakesTimeInProportionToTheOperations) {
  std::string body;
  for (int i = 0; i < 4; ++i)
    body += at("%in", 32, kAdd) + "  bar.sync 0;\n";
  const std::string text = drawing(body);
  const auto steps_an_operation = [&](uint32_t ctas) {
    const Found found = run(text, ctas, true);
    EXPECT_EQ(found.text, "");
    return static_cast<double>(found.steps) / (ctas * 64 * 4);
  };
  const double few = steps_an_operation(8), many = steps_an_operation(128);
  EXPECT_LT(many, 2 * few + 8) << few;
}

} // namespace
} // namespace lemma::check
