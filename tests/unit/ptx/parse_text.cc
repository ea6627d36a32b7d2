// parse_well() also prints what it has parsed and parses that again: every test of the parser is one of the
// printer.
#include "parse_text.h"

#include "equivalent.h"
#include "ptx/printer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lemma::ptx {

std::string with_header(std::string_view text) {
  return fmt::format(".version 9.0\n.target sm_90a\n.address_size 64\n{}", text);
}

std::string kernel(std::string_view body) {
  return with_header(fmt::format(".entry k(.param .u64 p) {{ .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 "
                                 "%r<8>; .reg .b64 %rd<8>; .reg .b128 "
                                 "%q<2>; .reg .f32 %f<8>; .reg .f64 %fd<8>; .shared .b32 sh[16];\n{}\n}}\n",
                                 body));
}

ParseOutcome parse_text(std::string text) {
  return parse(std::make_shared<SourceText>("test.ptx", std::move(text)));
}

std::unique_ptr<Module> parse_well(std::string text) {
  ParseOutcome outcome = parse_text(std::move(text));
  EXPECT_TRUE(outcome.diagnostics.empty()) << render(outcome.diagnostics, *outcome.module->source);
  const std::string printed = print(*outcome.module);
  const ParseOutcome again = parse_text(printed);
  EXPECT_TRUE(again.diagnostics.empty()) << render(again.diagnostics, *again.module->source);
  EXPECT_EQ(difference(*outcome.module, *again.module), "") << printed;
  return std::move(outcome.module);
}

std::string messages(const std::string& text) {
  const ParseOutcome outcome = parse_text(text);
  std::string out;
  for (const Diagnostic& diagnostic : outcome.diagnostics) {
    const LineColumn at = outcome.module->source->line_column(diagnostic.range.begin);
    out += fmt::format("{}:{} {}: {}\n", at.line, at.column, diagnostic.id, diagnostic.message);
  }
  return out;
}

} // namespace lemma::ptx
