// What names of several modules come to mean, and which do not fit together.
#include "ptx/link.h"

#include "parse_text.h"
#include "ptx/printer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <initializer_list>

namespace lemma::ptx {
namespace {

using Texts = std::initializer_list<std::string_view>;

struct Linked {
  std::vector<std::unique_ptr<Module>> modules;
  LinkOutcome outcome;
  std::unique_ptr<Module> result; // of the printed text
};

constexpr std::string_view kProvided[] = {"vprintf"};

Linked link_texts(Texts texts) {
  Linked out;
  std::vector<const Module*> modules;
  for (const std::string_view text : texts) {
    ParseOutcome parsed = parse_text(with_header(text));
    EXPECT_TRUE(parsed.diagnostics.empty()) << text;
    modules.push_back(out.modules.emplace_back(std::move(parsed.module)).get());
  }
  out.outcome = link(modules, kProvided);
  if (out.outcome.diagnostics.empty())
    out.result = parse_well(print(out.outcome.module));
  return out;
}

// "module:line id: message" of each, one a line.
std::string complaints(Texts texts) {
  std::string out;
  const Linked linked = link_texts(texts);
  for (const LinkDiagnostic& each : linked.outcome.diagnostics)
    out += fmt::format("{}:{} {}: {}\n", each.module,
                       linked.modules[each.module]->source->line_column(each.diagnostic.range.begin).line,
                       each.diagnostic.id, each.diagnostic.message);
  return out;
}

const Variable* find_variable(const Module& module, std::string_view name) {
  for (const Variable& variable : module.variables)
    if (variable.name == name)
      return &variable;
  return nullptr;
}

constexpr std::string_view kCaller = R"(.extern .func (.param .b32 r) twice(.param .b32 x);
.visible .entry k() {
  .reg .b32 %r<2>;
  .param .b32 a;
  .param .b32 b;
  st.param.b32 [a], 1;
  call.uni (b), twice, (a);
  ret;
})";
constexpr std::string_view kCallee = R"(.visible .func (.param .b32 r) twice(.param .b32 x) { ret; })";

TEST(Link, ExternIsWhatAnotherDefines) {
  for (const Linked& linked : {link_texts({kCaller, kCallee}), link_texts({kCallee, kCaller})}) {
    ASSERT_TRUE(linked.result);
    ASSERT_EQ(linked.result->functions.size(), 2u);
    const Function* twice = linked.result->find_function("twice");
    ASSERT_TRUE(twice);
    EXPECT_TRUE(twice->has_body);
    EXPECT_EQ(twice->linkage, Linkage::visible);
    const Function* k = linked.result->find_function("k");
    const Operand& callee = k->instructions[1].operands[0];
    EXPECT_EQ(&linked.result->functions[callee.symbol], twice);
  }
}

TEST(Link, ProvidedFunctionsNeedNoDefinition) {
  const Linked linked =
      link_texts({".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);", kCallee});
  ASSERT_TRUE(linked.result);
  EXPECT_FALSE(linked.result->find_function("vprintf")->has_body);
}

TEST(Link, WhatNobodyDefinesIsNamed) {
  EXPECT_EQ(complaints({kCaller}), "0:4 unresolved: no module defines the function 'twice'\n");
  EXPECT_EQ(complaints({".extern .global .u32 n;", kCallee}),
            "0:4 unresolved: no module defines the variable 'n'\n");
}

TEST(Link, WeakGivesWay) {
  constexpr std::string_view weak = ".weak .global .u32 n = 1;", visible = ".visible .global .u32 n = 2;";
  const auto value = [&](Texts texts) {
    const Linked linked = link_texts(texts);
    EXPECT_TRUE(linked.result);
    EXPECT_EQ(linked.result->variables.size(), 1u);
    return linked.result->variables[0].init[0].bits;
  };
  EXPECT_EQ(value({weak, visible}), 2u);
  EXPECT_EQ(value({visible, weak}), 2u);
  EXPECT_EQ(value({weak, ".weak .global .u32 n = 3;"}), 1u);
  EXPECT_EQ(value({".extern .global .u32 n;", weak}), 1u);
}

TEST(Link, CommonIsAsLargeAsTheLargest) {
  const Linked linked = link_texts(
      {".common .global .align 16 .b8 n[4];", ".common .global .b8 n[64];", ".extern .global .b8 n[4];"});
  ASSERT_TRUE(linked.result);
  EXPECT_EQ(linked.result->variables[0].size_bytes, 64u);
  EXPECT_EQ(linked.result->variables[0].align, 16u);
  EXPECT_EQ(linked.result->variables[0].linkage, Linkage::common);
  const Linked defined = link_texts({".common .global .b8 n[4];", ".visible .global .b8 n[4] = {1};"});
  ASSERT_TRUE(defined.result);
  EXPECT_EQ(defined.result->variables[0].init.size(), 1u);
}

TEST(Link, TwoDefinitionsAreOneTooMany) {
  EXPECT_EQ(complaints({".visible .global .u32 n;", "\n.visible .global .u32 n;"}),
            "1:5 duplicate: 'n' is defined twice: here and at test.ptx:4\n");
  EXPECT_EQ(complaints({".visible .entry k() { ret; }", ".entry k() { ret; }"}),
            "1:4 duplicate: 'k' is defined twice: here and at test.ptx:4\n");
  EXPECT_EQ(complaints({".visible .global .u32 n;", ".visible .func n() { ret; }"}),
            "1:4 link: 'n' is a function here, and a variable at test.ptx:4\n");
}

TEST(Link, DeclarationsMustAgree) {
  EXPECT_EQ(complaints({kCallee, ".extern .func (.param .b32 r) twice(.param .b64 x);"}),
            "1:4 signature: 'twice' differs from test.ptx:4: parameter 0 has 8 bytes here, 4 there\n");
  EXPECT_EQ(complaints({kCallee, ".extern .func twice(.param .b32 x);"}),
            "1:4 signature: 'twice' differs from test.ptx:4: 0 return values here, 1 there\n");
  EXPECT_EQ(complaints({".visible .const .u32 n = 1;", ".extern .global .u32 n;"}),
            "1:4 signature: 'n' differs from test.ptx:4: .global here, .const there\n");
  EXPECT_EQ(complaints({".visible .global .u32 n;", ".extern .global .u64 n;"}),
            "1:4 signature: 'n' differs from test.ptx:4: 8 bytes here, 4 there\n");
}

// Names of a module's own stay apart, wherever they are named: addresses, initializers, tables of calls.
TEST(Link, OwnNamesAreRenamed) {
  constexpr std::string_view text = R"(.global .u32 n = {};
.func f() {{ ret; }}
.global .u64 table[2] = {{f, n}};
.visible .entry k{}() {{
  .reg .b64 %rd<3>;
  mov.u64 %rd1, n;
  mov.u64 %rd2, table;
  ld.global.u64 %rd2, [%rd2];
  calls: .calltargets f;
  call %rd2, (), calls;
  ret;
}})";
  const std::string first = fmt::format(text, 1, 1), second = fmt::format(text, 2, 2);
  const Linked linked = link_texts({first, second});
  ASSERT_TRUE(linked.result);
  const Module& module = *linked.result;
  ASSERT_TRUE(find_variable(module, "n") && find_variable(module, "n$1") && find_variable(module, "table$1"));
  EXPECT_EQ(find_variable(module, "n")->init[0].bits, 1u);
  EXPECT_EQ(find_variable(module, "n$1")->init[0].bits, 2u);
  EXPECT_EQ(find_variable(module, "table$1")->init[0].symbol, "f$1");
  EXPECT_EQ(find_variable(module, "table$1")->init[1].symbol, "n$1");
  const Function& k2 = *module.find_function("k2");
  EXPECT_EQ(module.variables[k2.instructions[0].operands[1].symbol].name, "n$1");
  EXPECT_EQ(k2.target_lists[0].names[0], "f$1");
  EXPECT_EQ(module.find_function("k1")->target_lists[0].names[0], "f");
}

TEST(Link, AnOwnNameGivesWayToOneThatAllSee) {
  const Linked linked =
      link_texts({".global .u32 n = 1;", ".visible .global .u32 n = 2;", ".global .u32 n$1 = 3;"});
  ASSERT_TRUE(linked.result);
  EXPECT_EQ(find_variable(*linked.result, "n")->init[0].bits, 2u);
  EXPECT_EQ(find_variable(*linked.result, "n$1")->init[0].bits, 3u);
  EXPECT_EQ(find_variable(*linked.result, "n$2")->init[0].bits, 1u);
}

TEST(Link, DynamicSharedMemoryIsNoReference) {
  const Linked linked = link_texts(
      {".extern .shared .align 4 .b8 s[];", ".extern .shared .align 4 .b8 s[];\n.extern .shared .b8 t[];"});
  ASSERT_TRUE(linked.result);
  EXPECT_EQ(linked.result->variables.size(), 2u);
}

TEST(Link, LinesAndInlinedNamesAreKept) {
  constexpr std::string_view text = R"(.visible .entry k{0}() {{
  .loc 1 10 2
  .loc 2 3 4, function_name name0+1, inlined_at 1 10 2
  ret;
}}
.file 1 "{1}"
.file 2 "shared.cuh"
.section .debug_str
{{
name0:
.b8 102
.b8 0
}})";
  const Linked linked = link_texts({fmt::format(text, 1, "a.cu"), fmt::format(text, 2, "b.cu")});
  ASSERT_TRUE(linked.result);
  const Module& module = *linked.result;
  ASSERT_EQ(module.files.size(), 3u);
  const LineLocation& inlined = module.locations[module.find_function("k2")->instructions[0].location];
  EXPECT_EQ(module.files.at(inlined.file).name, "shared.cuh");
  EXPECT_EQ(inlined.inlined_function, "name0_1+1");
  EXPECT_EQ(module.files.at(module.locations[inlined.inlined_at].file).name, "b.cu");
  ASSERT_EQ(module.sections.size(), 1u);
  EXPECT_NE(module.sections[0].text.find("name0:"), std::string::npos);
  EXPECT_NE(module.sections[0].text.find("name0_1:"), std::string::npos);
}

std::string target_of(std::string_view a, std::string_view b) {
  std::vector<std::unique_ptr<Module>> owned;
  std::vector<const Module*> modules;
  for (const std::string_view target : {a, b}) {
    owned.push_back(parse_text(fmt::format(".version 9.0\n.target {}\n.address_size 64\n", target)).module);
    modules.push_back(owned.back().get());
  }
  const LinkOutcome outcome = link(modules, {});
  return outcome.diagnostics.empty() ? outcome.module.targets[0] : outcome.diagnostics[0].diagnostic.message;
}

// Lines alone are kept, and .target debug asks for more.
TEST(Link, IsForNoDebugger) {
  const auto first = parse_text(".version 9.0\n.target sm_90, debug\n.address_size 64\n").module,
             second =
                 parse_text(".version 9.0\n.target sm_90, texmode_independent, debug\n.address_size 64\n")
                     .module;
  const Module* const modules[] = {first.get(), second.get()};
  EXPECT_EQ(link(modules, {}).module.targets, (std::vector<std::string>{"sm_90", "texmode_independent"}));
}

TEST(Link, TheLatestTargetThatRunsAll) {
  EXPECT_EQ(target_of("sm_80", "sm_90"), "sm_90");
  EXPECT_EQ(target_of("sm_90a", "sm_80"), "sm_90a");
  EXPECT_EQ(target_of("sm_90", "sm_90a"), "sm_90a");
  EXPECT_EQ(target_of("sm_90a", "sm_100"),
            "sm_100 and sm_90a are for different machines: sm_90a runs on sm_90 alone only");
}

} // namespace
} // namespace lemma::ptx
