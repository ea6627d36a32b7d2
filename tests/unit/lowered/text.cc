// A kernel around the body, with registers of every kind. See text.h.
#include "text.h"

#include "lowered/lower.h"
#include "lowered/passes.h"
#include "lowered/print.h"
#include "ptx/parser.h"
#include "verify/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

namespace lemma::lowered {

std::string lowered(const std::string& body, const Around& around, std::string_view pass,
                    std::initializer_list<std::string_view> before) {
  const std::string text = ".version 8.6\n.target sm_90a\n.address_size 64\n" + around.before +
                           "\n.entry k(" + around.parameters +
                           ") {\n.reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n"
                           ".reg .f32 %f<9>, %acc<8>, %more<8>;\n.reg .f64 %d<9>;\n.reg .v2 .b32 %v;\n"
                           ".reg .b128 %q;\n" +
                           body + "\n}\n";
  const auto parsed = ptx::parse(std::make_shared<SourceText>("lowered.ptx", text));
  EXPECT_FALSE(has_errors(parsed.diagnostics)) << render(parsed.diagnostics, *parsed.module->source);
  const Diagnostics wrong = verify::verify(*parsed.module);
  EXPECT_FALSE(has_errors(wrong)) << render(wrong, *parsed.module->source);
  Function function = lower(*parsed.module, parsed.module->functions.back(), 90);
  std::vector<std::string_view> wanted(before);
  if (!pass.empty())
    wanted.push_back(pass);
  for (const std::string_view name : wanted) {
    const auto chosen = std::ranges::find(passes(), name, &Pass::name);
    EXPECT_NE(chosen, passes().end()) << "no pass " << name;
    if (chosen != passes().end())
      chosen->run(function);
  }
  const std::string printed = print(function);
  return printed.substr(printed.find('\n') + 1);
}

} // namespace lemma::lowered
