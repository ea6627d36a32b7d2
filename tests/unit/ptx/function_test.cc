// Functions: headers, parameters, launch bounds, scopes, labels, directives of bodies, line information.
#include "parse_text.h"

#include "ptx/printer.h"

#include <gtest/gtest.h>

namespace lemma::ptx {
namespace {

const Function& function(const Module& module, std::string_view name) {
  const Function* found = module.find_function(name);
  EXPECT_NE(found, nullptr) << name;
  return found ? *found : module.functions.front();
}

TEST(Function, Parameters) {
  const auto module = parse_well(with_header(R"(
.visible .entry k(
  .param .u64 .ptr .global .align 16 a,
  .param .u64 .ptr b,
  .param .align 8 .b8 c[64],
  .param .u64 .ptr .align 4 d,
  .param .v2 .f32 e,
  .align 8 .param .u32 f
) { ret; }
.func (.param .align 4 .b8 ret[12]) g(.param .b32 x) { ret; }
.func (.reg .u32 r) h(.reg .u32 a, .reg .f64 b) { mov.u32 r, a; ret; }
.func i() { ret; }
.func j { ret; }
)"));
  const auto& params = function(*module, "k").params;
  ASSERT_EQ(params.size(), 6u);
  EXPECT_TRUE(params[0].is_pointer);
  EXPECT_EQ(params[0].pointee_space, StateSpace::global);
  EXPECT_EQ(params[0].pointee_align, 16u);
  EXPECT_EQ(params[1].pointee_space, StateSpace::generic);
  EXPECT_EQ(params[2].size_bytes, 64u);
  EXPECT_EQ(params[2].align, 8u);
  EXPECT_EQ(params[3].pointee_align, 4u);
  EXPECT_EQ(params[4].size_bytes, 8u);
  EXPECT_EQ(params[5].align, 8u);
  EXPECT_TRUE(function(*module, "k").is_entry);
  EXPECT_EQ(function(*module, "k").linkage, Linkage::visible);
  EXPECT_EQ(function(*module, "g").returns.at(0).size_bytes, 12u);
  const Function& h = function(*module, "h");
  ASSERT_EQ(h.registers.size(), 3u);
  EXPECT_EQ(h.returns[0].reg, 0u);
  EXPECT_EQ(h.params[0].reg, 1u);
  EXPECT_EQ(h.params[1].reg, 2u);
  EXPECT_EQ(h.registers[2].type, Type::f64);
  EXPECT_EQ(h.instructions[0].operands[0].reg, 0u);
  EXPECT_EQ(h.instructions[0].operands[1].reg, 1u);
  EXPECT_TRUE(function(*module, "i").params.empty());
}

TEST(Function, LaunchBounds) {
  const auto module = parse_well(with_header(R"(
.entry a() .maxntid 128, 2 .minnctapersm 2 .maxnreg 64 { ret; }
.entry b() .reqntid 32 .reqnctapercluster 2, 1, 1 .explicitcluster { ret; }
.entry c() .maxclusterrank 8 .maxnctapersm 3 .pragma "x", "y"; { ret; }
.entry d() .reqntid 32 .blocksareclusters .reqnctapercluster 2 { ret; }
.func e() .noreturn .abi_preserve 8 .abi_preserve_control 2 { ret; }
)"));
  EXPECT_EQ(function(*module, "a").bounds.maxntid, (std::array<uint32_t, 3>{128, 2, 1}));
  EXPECT_EQ(function(*module, "a").bounds.minnctapersm, 2u);
  EXPECT_EQ(function(*module, "a").bounds.maxnreg, 64u);
  EXPECT_EQ(function(*module, "b").bounds.reqntid, (std::array<uint32_t, 3>{32, 1, 1}));
  EXPECT_EQ(function(*module, "b").bounds.reqnctapercluster, (std::array<uint32_t, 3>{2, 1, 1}));
  EXPECT_TRUE(function(*module, "b").bounds.explicit_cluster);
  EXPECT_EQ(function(*module, "c").bounds.maxclusterrank, 8u);
  EXPECT_EQ(function(*module, "c").bounds.maxnctapersm, 3u);
  EXPECT_EQ(function(*module, "c").pragmas, (std::vector<std::string>{"x", "y"}));
  EXPECT_TRUE(function(*module, "d").bounds.blocks_are_clusters);
  EXPECT_TRUE(function(*module, "e").bounds.noreturn);
  EXPECT_EQ(function(*module, "e").bounds.abi_preserve, 8u);
  EXPECT_EQ(function(*module, "e").bounds.abi_preserve_control, 2u);
}

TEST(Function, LanguagesAndMemoryOfACta) {
  const auto module = parse_well(with_header(R"(
.entry a() .minperctamemory 0 .language "CUDA C++" .maxntid 32 .language 3, "tile ir" { ret; }
.func b() .noreturn .language "PTX", 0xA { exit; }
.entry c() { ret; }
)"));
  EXPECT_EQ(function(*module, "a").bounds.min_per_cta_memory_bytes, 0u);
  EXPECT_EQ(function(*module, "a").languages, (std::vector<std::string>{"\"CUDA C++\"", "3", "\"tile ir\""}));
  EXPECT_EQ(function(*module, "b").languages, (std::vector<std::string>{"\"PTX\"", "0xA"}));
  EXPECT_FALSE(function(*module, "c").bounds.min_per_cta_memory_bytes);
  const auto of = [](const char* text) { return messages(with_header(text)); };
  EXPECT_EQ(of(".func f() .language \"klingon\" { ret; }"),
            "4:21 language: there is no language \"klingon\"\n");
  EXPECT_EQ(of(".func f() .language 11 { ret; }"), "4:21 limit: a language's number is 11, more than 10\n");
  EXPECT_EQ(of(".func f() .language 1 .noreturn { exit; }"),
            "4:23 syntax: the body expected after .language, not '.noreturn'\n");
  EXPECT_EQ(of(".func f() .pragma \"nounroll\"; { ret; }"),
            "4:1 directive-place: .pragma stands in the body of a .func, not before it\n");
}

TEST(Function, PlacesInALanguageBetween) {
  const auto module = parse_well(with_header(R"(
.file 1 "a.py"
.file 2 "a.tileir"
.entry k() {
.loc_intermediate 2 7 7
.loc 1 3 4
.loc_intermediate 2 5 6
bar.sync 0;
.loc 1 4 4
ret; }
)"));
  const Function& k = module->functions[0];
  const LineLocation& first = module->locations[k.instructions[0].location];
  EXPECT_EQ(first.line, 3u);
  EXPECT_EQ(first.intermediate_file, 2u);
  EXPECT_EQ(first.intermediate_line, 5u);
  EXPECT_EQ(first.intermediate_column, 6u);
  EXPECT_EQ(module->locations[k.instructions[1].location].intermediate_file, 0u);
  EXPECT_NE(print(*module).find(".loc\t1 3 4\n\t.loc_intermediate\t2 5 6\n"), std::string::npos);
}

TEST(Function, DeclarationsAreMergedInPlace) {
  const auto module = parse_well(with_header(R"(
.visible .func (.param .b32 r) f(.param .b32 x)
;
.extern .func (.param .b32 s) vprintf(.param .b64 a, .param .b64 b);
.extern .func __assertfail(.param .b64 a) .noreturn;
.func g { call f; ret; }
.func (.param .b32 q) f(.param .b32 y) { ret; }
.func f2; .func f2; .func f2 { ret; }
.entry e; .entry e { ret; }
)"));
  ASSERT_EQ(module->functions.size(), 6u);
  EXPECT_EQ(module->functions[0].name, "f");
  EXPECT_TRUE(module->functions[0].has_body);
  EXPECT_EQ(module->functions[0].params[0].name, "y");
  EXPECT_EQ(module->functions[0].linkage, Linkage::visible); // from the declaration
  EXPECT_FALSE(module->functions[1].has_body);
  EXPECT_TRUE(module->functions[2].bounds.noreturn);
  EXPECT_EQ(module->functions[3].instructions[0].operands[0].symbol, 0u);
}

TEST(Function, FunctionErrors) {
  const auto of = [](const char* text) { return messages(with_header(text)); };
  EXPECT_EQ(of(".func f { ret; } .func f { ret; }"), "4:24 duplicate: 'f' is defined already\n");
  EXPECT_EQ(of(".func f { ret; } .func f;"), "4:24 duplicate: 'f' is defined already\n");
  EXPECT_EQ(of(".func f; .func f(.param .b32 x) { ret; }"),
            "4:16 duplicate: 'f' was declared with other parameters\n");
  EXPECT_EQ(of(".extern .func f; .func f { ret; }"),
            "4:24 duplicate: 'f' was declared .extern: it has no body in this module\n");
  EXPECT_EQ(of(".entry k(.param .u64 p, .param .u64 p) { ret; }"),
            "4:25 duplicate: 'p' is declared already\n");
  EXPECT_EQ(of(".extern .func f { ret; }"), "4:9 linkage: a function with a body is not .extern\n");
  EXPECT_EQ(of(".common .func f;"), "4:9 linkage: a function is not .common\n");
  EXPECT_EQ(of(".entry k(.reg .u64 p) { ret; }"), "4:10 state-space: a kernel's parameter lives in .param\n");
  EXPECT_EQ(of(".func f(.param .u64 .ptr p);"), "4:9 pointer: .ptr describes parameters of a kernel only\n");
  EXPECT_EQ(of(".func f(.reg .u64 p[2]) { ret; }"), "4:9 state-space: an array parameter lives in .param\n");
  EXPECT_EQ(of(".entry k() .maxntid 32, 0 { ret; }"), "4:25 launch-bounds: a CTA's extent is at least 1\n");
  EXPECT_EQ(of(".entry k(.global .u64 p) { ret; }"),
            "4:10 state-space: a parameter lives in .param or .reg\n");
  EXPECT_EQ(of(".entry k() .maxntidd 3 { ret; }\n.func f;"),
            "4:12 unknown-directive: unknown directive '.maxntidd'\n");
  EXPECT_EQ(of(".func f { ret; { ret;\n.visible .func g { bra L; }"),
            "4:16 syntax: this '{' has no '}' before the next function\n"
            "5:24 unknown-label: there is no label 'L' in reach\n");
  EXPECT_EQ(of(".func f { ret; }}"), "4:17 syntax: a directive expected at module scope, not '}'\n");
  EXPECT_EQ(of(".func _ { ret; }"), "4:7 name: '_' is no name for a function's name\n");
  EXPECT_EQ(of(".func f { ret; "), "4:9 syntax: this '{' has no '}'\n");
}

TEST(Function, Registers) {
  const auto module =
      parse_well(kernel(".reg .b32 a, b<3>, %c; .reg .v4 .f32 %v; .reg .b128 %w; .reg .pred %t;\n"
                        ".reg .b32 %x01; .reg .f16x2 %y<0>;"));
  const Function& function = module->functions[0];
  const auto& registers = function.registers;
  const size_t base = 8 * 6 + 2;
  ASSERT_EQ(registers.size(), base + 9);
  EXPECT_EQ(function.register_name(base), "a");
  EXPECT_EQ(function.register_name(base + 3), "b2");
  EXPECT_EQ(function.register_name(base + 4), "%c");
  EXPECT_EQ(registers[base + 5].vector_elems, 4);
  EXPECT_EQ(registers[base + 6].type, Type::b128);
  EXPECT_EQ(registers[base + 7].type, Type::pred);
  EXPECT_EQ(function.register_name(base + 8), "%x01");
}

TEST(Function, RegisterErrors) {
  EXPECT_EQ(messages(kernel(".reg .b32 %r1;")), "5:11 duplicate: '%r1' is declared already in this scope\n");
  EXPECT_EQ(messages(kernel(".reg .f32 %r<2>;")), "5:11 duplicate: '%r' is declared already in this scope\n");
  EXPECT_EQ(messages(kernel(".reg .b32 p;")), "5:11 duplicate: 'p' is declared already in this scope\n");
  EXPECT_EQ(messages(kernel(".reg .b32 a<1000001>;")),
            "5:13 limit: the number of names is 1000001, more than 1000000\n");
  EXPECT_EQ(messages(kernel(".reg .b32 a<999999>;")),
            "5:11 limit: more than 1000000 registers in one function\n");
  EXPECT_EQ(messages(kernel(".reg .b32 a<-1>;")),
            "5:13 syntax: an integer expected for the number of names, not '-'\n");
  EXPECT_EQ(messages(kernel(".reg .b32 a b;")), "5:13 syntax: ';' expected after the declaration, not 'b'\n");
  std::string many = with_header("");
  for (int i = 0; i < 10; ++i)
    many += ".func f" + std::to_string(i) + " { .reg .b32 a<999999>; }\n";
  EXPECT_NE(messages(many).find("too many registers in one module"), std::string::npos);
}

TEST(Function, ScopesNestAndHideNames) {
  const auto module = parse_well(kernel(R"(
mov.b32 %r1, 1;
{ // callseq
  .reg .b32 temp_param_reg;
  .param .b32 param0;
  st.param.b32 [param0], %r1;
  { mov.b64 %rd1, 2; .reg .b64 %r1; mov.b64 %r1, 3; {} }
  mov.b32 %r1, 4;
}
{ .reg .pred p; setp.eq.s32 p, %r1, 1; @p bra L1; L1: }
mov.b32 %r1, 5;
)"));
  const Function& k = module->functions[0];
  ASSERT_EQ(k.scopes.size(), 5u);
  EXPECT_EQ(k.scopes[1].parent, 0u);
  EXPECT_EQ(k.scopes[1].begin, 1u);
  EXPECT_EQ(k.scopes[1].end, 5u);
  EXPECT_EQ(k.scopes[2].parent, 1u);
  EXPECT_EQ(k.scopes[2].begin, 2u);
  EXPECT_EQ(k.scopes[2].end, 4u);
  EXPECT_EQ(k.scopes[3].parent, 2u);
  EXPECT_EQ(k.scopes[3].begin, k.scopes[3].end);
  EXPECT_EQ(k.scopes[4].parent, 0u);
  const uint32_t outer = k.instructions[0].operands[0].reg;
  const uint32_t inner = k.instructions[3].operands[0].reg;
  EXPECT_EQ(k.registers[outer].type, Type::b32);
  EXPECT_EQ(k.registers[inner].type, Type::b64);
  EXPECT_EQ(k.instructions[4].operands[0].reg, outer);
  EXPECT_EQ(k.instructions[7].operands[0].reg, outer);
  EXPECT_EQ(k.variables.back().scope, 1u);
}

// A name that is used before an inner declaration of the same name keeps its meaning when printed and read
// again.
TEST(Function, ADeclarationHidesFromItsPlaceOn) {
  const auto module =
      parse_well(kernel("{ mov.b32 %r1, %r2; .reg .b32 %r1; mov.b32 %r1, 5; .reg .b32 %r2; }"));
  const auto& instructions = module->functions[0].instructions;
  EXPECT_NE(instructions[0].operands[0].reg, instructions[1].operands[0].reg);
}

TEST(Function, Labels) {
  const auto module = parse_well(kernel(R"(
bra L;
{ bra L; bra.uni OUT; L: mov.b32 %r1, 1; }
{ L: bra L; { bra L; } }
L: { bra L; { L: bra L; } }
bra END;
OUT: k: bra k;
END:
)"));
  const Function& k = module->functions[0];
  const auto target = [&](size_t i) { return k.labels[k.instructions[i].operands[0].symbol].target; };
  EXPECT_EQ(target(0), 6u); // the L of the body, which follows
  EXPECT_EQ(target(1), 3u); // the L behind it in the same scope
  EXPECT_EQ(target(2), 9u); // OUT
  EXPECT_EQ(target(4), 4u);
  EXPECT_EQ(target(5), 4u); // that of the scope around
  EXPECT_EQ(target(6), 6u);
  EXPECT_EQ(target(7), 7u);
  EXPECT_EQ(target(8), 10u); // the end of the body
  EXPECT_EQ(target(9), 9u);  // a label may have the name of the kernel
  EXPECT_EQ(k.labels.size(), 7u);
}

TEST(Function, LabelErrors) {
  EXPECT_EQ(messages(kernel("bra L;")), "5:5 unknown-label: there is no label 'L' in reach\n");
  EXPECT_EQ(messages(kernel("{ L: } bra L;")), "5:12 unknown-label: there is no label 'L' in reach\n");
  EXPECT_EQ(messages(kernel("L: L: ret;")), "5:4 duplicate: 'L' is declared already in this scope\n");
  EXPECT_EQ(messages(kernel("sh: ret;")), "5:1 duplicate: 'sh' is declared already in this scope\n");
  EXPECT_EQ(messages(kernel("bra %r1;")), "5:5 unknown-label: there is no label '%r1' in reach\n");
  EXPECT_EQ(messages(kernel("bra 3;")), "5:5 syntax: a label expected here, not '3'\n");
  EXPECT_EQ(messages(kernel("L: mov.b32 %r1, L;")),
            "5:17 operand: 'L' is a label: only a branch takes one\n");
  const ParseOutcome outcome = parse_text(kernel("LOOP: bra LOOQ;"));
  ASSERT_EQ(outcome.diagnostics.size(), 1u);
  ASSERT_EQ(outcome.diagnostics[0].notes.size(), 1u);
  EXPECT_EQ(outcome.diagnostics[0].notes[0].text, "LOOP");
}

TEST(Function, BranchTargets) {
  const auto module =
      parse_well(kernel("ts: .branchtargets A, B, A; brx.idx %r1, ts; A: mov.b32 %r1, 1; B:"));
  const Function& k = module->functions[0];
  ASSERT_EQ(k.target_lists.size(), 1u);
  EXPECT_FALSE(k.target_lists[0].is_call);
  EXPECT_EQ(k.target_lists[0].labels, (std::vector<uint32_t>{1, 2, 1}));
  EXPECT_EQ(k.instructions[0].operands[1].kind, OperandKind::targets);
  EXPECT_EQ(k.instructions[0].operands[1].symbol, 0u);
  EXPECT_EQ(messages(kernel("ts: .branchtargets A, B; A: ")),
            "5:23 unknown-label: there is no label 'B' in reach\n");
  EXPECT_EQ(messages(kernel(".branchtargets A;")), "5:1 syntax: '.branchtargets' needs a label before it\n");
}

TEST(Function, VariablesOfABody) {
  const auto module = parse_well(kernel(R"(
.local .align 8 .b8 depot[64], small;
{ .param .align 4 .b8 param0[8]; .shared .u32 tile[4][4]; .const .u32 c = 4; .global .u32 g[2] = {1, 2};
  .global .u64 addr = g; mov.u64 %rd1, g; }
mov.u64 %rd1, depot;
)"));
  const Function& k = module->functions[0];
  ASSERT_EQ(k.variables.size(), 8u); // with sh
  EXPECT_EQ(k.variables[1].align, 8u);
  EXPECT_EQ(k.variables[2].align, 8u);
  EXPECT_EQ(k.variables[4].size_bytes, 64u);
  EXPECT_EQ(k.variables[6].init[1].bits, 2u);
  EXPECT_EQ(k.variables[7].init[0].symbol, "g");
  EXPECT_EQ(k.instructions[0].operands[1].symbol, 6u);
  EXPECT_EQ(k.instructions[0].operands[1].symbol_scope, Operand::SymbolScope::function);
  EXPECT_EQ(messages(kernel(".extern .shared .b8 x[];")), "5:1 linkage: a name of a body has no linkage\n");
}

TEST(Function, PragmasStayWhereTheyAre) {
  const auto module =
      parse_well(kernel("mov.b32 %r1, 1; .pragma \"a\"; L: .pragma \"nounroll\"; M: mov.b32 %r1, 2; bra L;"));
  const auto& pragmas = module->functions[0].body_pragmas;
  ASSERT_EQ(pragmas.size(), 2u);
  EXPECT_EQ(pragmas[1].text, "nounroll");
  EXPECT_EQ(pragmas[1].position, 1u);
  EXPECT_EQ(pragmas[0].label, 0u);
  EXPECT_EQ(pragmas[1].label, 1u);
}

TEST(Function, Locations) {
  const auto module = parse_well(with_header(R"(
.file 1 "a.cu"
.func f { .loc 1 3 4
 ret; .loc 1 5 6 .loc 1 7 8, function_name $L__info_string0, inlined_at 1 5 6
 ret; .loc 2 1 1, function_name $L__info_string1+5, inlined_at 1 7 8 ret; }
.func g { ret; .loc 1 9 9 ret; }
.section .debug_str { $L__info_string0: .b8 95,0 $L__info_string1: .b8 95,0 }
)"));
  const auto location = [&](size_t f, size_t i) -> const LineLocation& {
    return module->locations[module->functions[f].instructions[i].location];
  };
  EXPECT_EQ(location(0, 0).line, 3u);
  EXPECT_EQ(location(0, 1).line, 7u);
  EXPECT_EQ(location(0, 1).inlined_function, "$L__info_string0");
  EXPECT_EQ(module->locations[location(0, 1).inlined_at].line, 5u);
  EXPECT_EQ(location(0, 2).inlined_function, "$L__info_string1+5");
  EXPECT_EQ(module->locations[location(0, 2).inlined_at].line, 7u);
  EXPECT_EQ(module->functions[1].instructions[0].location, kNone); // a function begins without
  EXPECT_EQ(location(1, 1).line, 9u);
  EXPECT_EQ(messages(kernel(".loc 1 2 3, function_name f, inlined_at 1 1 1")),
            "5:27 unknown-name: no section has a label 'f'\n5:30 location: no .loc 1 1 1 precedes\n");
  EXPECT_EQ(messages(kernel(".loc 1 1 1 .loc 1 2 3, function_name f, inlined_at 1 1 1")),
            "5:38 unknown-name: no section has a label 'f'\n");
}

} // namespace
} // namespace lemma::ptx
