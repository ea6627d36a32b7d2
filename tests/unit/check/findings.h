// Kernels for the checker's tests, and what it finds in them, as text.
//
// Tests: order_test.cc, protocol_test.cc.
#pragma once

#include "check/checker.h"
#include "kernel.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>
#include <vector>

namespace lemma::check {

// In the order of their lines. `fault`: the id of the misuse that ended the run, if one did.
inline std::vector<Finding> all_findings_of(const std::string& text, uint32_t threads, uint32_t ctas,
                                            AsyncMode async, std::string& fault) {
  vgpu::Kernel kernel(text);
  Checker checker;
  kernel.watch(checker);
  kernel.config().grid = {ctas, 1, 1};
  kernel.config().block = {threads, 1, 1};
  kernel.config().workers = 1;
  if (text.find(".reqnctapercluster 2") != text.npos)
    kernel.config().cluster = {2, 1, 1};
  kernel.config().async = async;
  kernel.config().check = true;
  const std::vector<uint32_t> zeros(4096);
  const uint64_t in = kernel.buffer(zeros, "in"), out = kernel.buffer(zeros, "out");
  const Report report = kernel.run({in, out});
  if (report.fault && !report.fault->id.empty())
    fault = report.fault->id;
  else
    EXPECT_EQ(vgpu::fault_text(report), "");
  return checker.findings();
}

// "writes 4 bytes at 0x480: 0x7", then what came before it, of each finding.
inline std::vector<std::string> accesses_of(const std::string& text, uint32_t threads, uint32_t ctas = 1) {
  std::string fault;
  std::vector<std::string> texts;
  const auto add = [&](const CheckedAccess& access) {
    texts.push_back(access.what + (access.address ? fmt::format(" at {:#x}", *access.address) : "") +
                    (access.value.empty() ? "" : ": " + access.value));
  };
  for (const Finding& finding : all_findings_of(text, threads, ctas, AsyncMode::eager, fault)) {
    add(finding.access);
    if (finding.earlier)
      add(*finding.earlier);
  }
  return texts;
}

// "race.shared: st.shared.u32 ~ ld.shared.u32" a line, notes with "note " before; of a kernel that faults by
// a misuse "fault barrier.count".
inline std::string findings_of(const std::string& text, uint32_t threads, uint32_t ctas = 1,
                               AsyncMode async = AsyncMode::eager) {
  std::string fault;
  const std::vector<Finding> findings = all_findings_of(text, threads, ctas, async, fault);
  if (!fault.empty())
    return fmt::format("fault {}\n", fault);
  const auto opcode = [](const Place& place) {
    std::istringstream words(place.instruction);
    std::string word;
    while (words >> word && word.starts_with("@")) {
    }
    return word.substr(0, word.find(';'));
  };
  std::string found;
  for (const Finding& finding : findings) {
    const Place* first = &finding.access.place;
    const Place* second = finding.earlier ? &finding.earlier->place : first;
    if (second->ptx_line < first->ptx_line)
      std::swap(first, second);
    found += fmt::format("{}{}: {}", finding.is_note ? "note " : "", finding.id, opcode(*first));
    found += second != first ? fmt::format(" ~ {}\n", opcode(*second)) : "\n";
  }
  return found;
}

// Shared memory `tile` at %s, an mbarrier `bar`; %t the thread, %a its word of `tile`, %b the word of thread
// t ^ 32, %c that of t ^ 1; %in and %out global buffers. %p: thread 0.
inline std::string kernel(const std::string& body, const std::string& directives = "") {
  return ".visible .entry k(.param .u64 pin, .param .u64 pout) " + directives + R"( {
  .shared .align 1024 .b8 tile[4096];
  .shared .align 8 .b64 bar;
  .reg .b64 %in, %out, %g, %state;
  .reg .b32 %t, %s, %a, %b, %c, %m, %cta, %r<8>;
  .reg .f32 %f<4>;
  .reg .pred %p, %q, %w;
  mov.u32 %t, %tid.x;
  mov.u32 %cta, %ctaid.x;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %s, tile;
  mov.u32 %m, bar;
  mad.lo.u32 %a, %t, 4, %s;
  xor.b32 %r0, %t, 32;
  mad.lo.u32 %b, %r0, 4, %s;
  xor.b32 %r0, %t, 1;
  mad.lo.u32 %c, %r0, 4, %s;
  setp.eq.u32 %p, %t, 0;
  setp.lt.u32 %w, %t, 32;
)" + body +
         "\n  ret;\n}\n";
}

} // namespace lemma::check
