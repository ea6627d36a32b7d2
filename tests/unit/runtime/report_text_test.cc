// How reports and diagnostics look on a terminal. src/runtime/report_text.h.
#include "runtime/report_text.h"

#include <gtest/gtest.h>

namespace lemma::runtime {
namespace {

const SourceText& source() {
  static const SourceText text("k.ptx", ".entry k()\n{\n\tst.global.f32 [%rd4], %f1; // store\n\tret;\n}\n");
  return text;
}

Place store() {
  return {.ptx_line = 3,
          .instruction = "st.global.f32 [%rd4], %f1;",
          .file = "k.cu",
          .line = 17,
          .function = "k"};
}

TEST(ReportText, SaysNothingOfAGoodRun) {
  EXPECT_EQ(render_report(Report(), source()), "");
}

TEST(ReportText, ShowsAFault) {
  Report report;
  report.outcome = Outcome::fault;
  report.fault = Fault{.kind = FaultKind::out_of_bounds,
                       .message = "st.global of 4 bytes is outside every allocation",
                       .notes = {"nearest: arg 2 (out), 4096 bytes, ends 4 bytes before", "check the index"},
                       .place = store(),
                       .has_thread = true,
                       .cta = {3, 0, 1},
                       .warp = 2,
                       .lane = 31,
                       .address = 0x1f0000001000};
  EXPECT_EQ(render_report(report, source()),
            "k.ptx:3: fault[out of bounds]: st.global of 4 bytes is outside every allocation\n"
            " 3 | \tst.global.f32 [%rd4], %f1; // store\n"
            "   | \t^~~~~~~~~~~~~~~~~~~~~~~~~~\n"
            "  source:  k.cu:17, in k\n"
            "  where:   CTA 3,0,1, warp 2, lane 31\n"
            "  address: 0x00001f0000001000\n"
            "  nearest: arg 2 (out), 4096 bytes, ends 4 bytes before\n"
            "  note:    check the index\n");
}

TEST(ReportText, NamesTheCallsThatInlinedCodeCameInBy) {
  Report report;
  report.outcome = Outcome::fault;
  report.fault = Fault{.kind = FaultKind::trap, .message = "the kernel executed trap", .place = store()};
  Place& place = report.fault->place;
  place.file = "/usr/local/cuda/include/cub/scan.cuh";
  place.source_text = "in[i] += x;";
  place.inlined_function = "_ZN3cub4Scan3sumEPi";
  place.inlined_at = {{"/usr/local/cuda/include/cub/block.cuh", 30, "_ZN4BodyIiE3runEv", "scan.sum(in);"},
                      {"lib/body.cuh", 7, "_ZL4bodyPi", "Body<int>().run();"},
                      {"main.cu", 9, "_Z1kPi", "body(in);"}};
  const std::string text = render_report(report, source());
  EXPECT_NE(text.find("  source:     /usr/local/cuda/include/cub/scan.cuh:17, in cub::Scan::sum\n"
                      "              in[i] += x;\n"
                      "  inlined at: /usr/local/cuda/include/cub/block.cuh:30, in Body<int>::run\n"
                      "  inlined at: lib/body.cuh:7, in body\n"
                      "              Body<int>().run();\n"
                      "  inlined at: main.cu:9, in k\n"
                      "              body(in);\n"),
            std::string::npos)
      << text;
}

TEST(ReportText, NamesWhatIsUnsupportedAsSuch) {
  Report report;
  report.outcome = Outcome::unsupported;
  report.fault =
      Fault{.kind = FaultKind::unsupported, .message = "wgmma.mma_async is not modelled", .place = store()};
  EXPECT_EQ(render_report(report, source()).substr(0, 60),
            "k.ptx:3: unsupported: wgmma.mma_async is not modelled\n 3 | \t");
}

TEST(ReportText, ListsWhoWaits) {
  Report report;
  report.outcome = Outcome::fault;
  report.fault = Fault{.kind = FaultKind::deadlock, .message = "no warp can go on", .notes = {}, .place = {}};
  for (uint32_t warp = 0; warp < 20; ++warp)
    report.waiting.push_back({.place = store(),
                              .cta = {0, 0, 0},
                              .warp = warp,
                              .lanes = 0xf,
                              .reason = "barrier " + std::to_string(warp)});
  const std::string text = render_report(report, source());
  EXPECT_NE(text.find("k.ptx: fault[deadlock]: no warp can go on\n"), std::string::npos) << text;
  EXPECT_NE(text.find("k.ptx:3: waits: CTA 0,0,0, warp 15, lanes 0x0000000f: barrier 15\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("warp 16"), std::string::npos);
  EXPECT_NE(text.find("... and 4 more wait\n"), std::string::npos);
}

TEST(ReportText, TellsWarpsThatWaitForTheSameOnce) {
  Report report;
  report.outcome = Outcome::fault;
  report.fault = Fault{.kind = FaultKind::deadlock, .message = "no warp can go on", .notes = {}, .place = {}};
  for (uint32_t cta = 0; cta < 100; ++cta)
    for (uint32_t warp = 0; warp < 2; ++warp)
      report.waiting.push_back({.place = store(),
                                .cta = {cta, 0, 0},
                                .warp = warp,
                                .lanes = 0xffffffff,
                                .reason = warp ? "an mbarrier" : "barrier 0",
                                .notes = {"missing: warp 3 has exited"}});
  const std::string text = render_report(report, source());
  EXPECT_NE(text.find("k.ptx:3: waits: CTA 0,0,0, warp 0, lanes 0xffffffff, and 99 more: barrier 0\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("CTA 0,0,0, warp 1, lanes 0xffffffff, and 99 more: an mbarrier\n"), std::string::npos);
  EXPECT_NE(text.find("  missing: warp 3 has exited\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("more wait"), std::string::npos) << text;
}

TEST(ReportText, CountsUninitializedReads) {
  Report report;
  report.uninitialized.push_back(
      {.place = store(), .cta = {1, 0, 0}, .warp = 0, .lane = 5, .what = "register %f1", .count = 64});
  report.uninitialized_reads = 64;
  const std::string text = render_report(report, source());
  EXPECT_NE(text.find("k.ptx:3: warning[uninitialized]: reads register %f1, which was never written\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("CTA 1,0,0, warp 0, lane 5, and 63 more reads\n"), std::string::npos) << text;
  EXPECT_NE(text.find("k.ptx: 64 reads of what was never written\n"), std::string::npos) << text;
}

TEST(ReportText, TurnsDiagnosticsIntoMessages) {
  Diagnostic diagnostic;
  diagnostic.id = "shape";
  diagnostic.message = "no such shape";
  diagnostic.range = {14, 23};
  diagnostic.notes.push_back({"legal", "others"});
  const Message message = to_message(diagnostic, source());
  EXPECT_EQ(message.line, 3u);
  EXPECT_EQ(message.column, 2u);
  EXPECT_EQ(message.length, 9u);
  EXPECT_EQ(message.file, "k.ptx");
  EXPECT_EQ(message.notes.at(0).text, "others");
  EXPECT_EQ(message.rendered.substr(0, 38), "k.ptx:3:2: error[shape]: no such shape");
}

} // namespace
} // namespace lemma::runtime
