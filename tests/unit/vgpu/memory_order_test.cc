// What instructions say about semantics and scope, with the ISA's defaults.
#include "vgpu/code/memory_order.h"

#include "ptx/parser.h"

#include <gtest/gtest.h>

#include <string>

namespace lemma::vgpu {
namespace {

// "acquire.gpu" of the first instruction of a kernel's body.
std::string order(const std::string& statement) {
  const auto source = std::make_shared<SourceText>("test.ptx", R"(
.version 8.3
.target sm_90a
.address_size 64
.visible .entry k() {
  .reg .b64 %a, %b;
  .reg .b32 %r, %s;
  .reg .pred %p;
  )" + statement + "\n  ret;\n}\n");
  const ptx::ParseOutcome parsed = ptx::parse(source);
  EXPECT_FALSE(has_errors(parsed.diagnostics)) << render(parsed.diagnostics, *source);
  if (has_errors(parsed.diagnostics))
    return {};
  const MemoryOrder order = order_of(parsed.module->functions[0].instructions[0]);
  return std::string(to_string(order.semantics)) + "." + to_string(order.scope);
}

TEST(MemoryOrder, QualifiersSay) {
  EXPECT_EQ(order("ld.acquire.gpu.global.u32 %r, [%a];"), "acquire.gpu");
  EXPECT_EQ(order("st.release.sys.global.u32 [%a], %r;"), "release.sys");
  EXPECT_EQ(order("ld.relaxed.cluster.global.u32 %r, [%a];"), "relaxed.cluster");
  EXPECT_EQ(order("ld.volatile.global.u32 %r, [%a];"), "volatile.sys");
  EXPECT_EQ(order("atom.acq_rel.cta.global.add.u32 %r, [%a], %s;"), "acq_rel.cta");
  EXPECT_EQ(order("fence.sc.gpu;"), "sc.gpu");
  EXPECT_EQ(order("membar.gl;"), "sc.gpu");
  EXPECT_EQ(order("membar.cta;"), "sc.cta");
  EXPECT_EQ(order("barrier.cluster.arrive.relaxed;"), "relaxed.cluster");
}

TEST(MemoryOrder, Defaults) {
  EXPECT_EQ(order("ld.global.u32 %r, [%a];"), "weak.none");
  EXPECT_EQ(order("st.weak.global.u32 [%a], %r;"), "weak.none");
  EXPECT_EQ(order("atom.global.add.u32 %r, [%a], %s;"), "relaxed.gpu");
  EXPECT_EQ(order("red.global.add.u32 [%a], %s;"), "relaxed.gpu");
  EXPECT_EQ(order("mbarrier.arrive.shared.b64 %b, [%r];"), "release.cta");
  EXPECT_EQ(order("mbarrier.test_wait.shared.b64 %p, [%r], %b;"), "acquire.cta");
  EXPECT_EQ(order("barrier.cluster.arrive;"), "release.cluster");
  EXPECT_EQ(order("barrier.cluster.wait;"), "acquire.cluster");
  EXPECT_EQ(order("bar.sync 0;"), "acq_rel.cta");
  EXPECT_EQ(order("cp.async.ca.shared.global [%r], [%a], 4;"), "weak.none");
  EXPECT_EQ(order("add.u32 %r, %r, %s;"), "weak.none");
}

} // namespace
} // namespace lemma::vgpu
