// Module-level syntax: header, files, sections, pragmas, aliases, variables.
#include "parse_text.h"
#include "ptx/debug_strings.h"

#include <gtest/gtest.h>

namespace lemma::ptx {
namespace {

const Variable& variable(const Module& module, std::string_view name) {
  for (const Variable& v : module.variables)
    if (v.name == name)
      return v;
  ADD_FAILURE() << name;
  return module.variables.front();
}

TEST(Module, Header) {
  const auto module = parse_well("// generated\n.version 8.10\n.target sm_100f, debug\n.address_size 64\n");
  EXPECT_EQ(module->version, (PtxVersion{8, 10}));
  EXPECT_EQ(module->targets, (std::vector<std::string>{"sm_100f", "debug"}));
  EXPECT_EQ(module->address_size_bits, 64);
  EXPECT_EQ(parse_well(".version 9.0 .target sm_90 .address_size 32")->address_size_bits, 32);
  EXPECT_EQ(parse_well(".version 9.0 .target sm_90")->address_size_bits, 64);
}

TEST(Module, FilesSectionsPragmas) {
  const auto module = parse_well(with_header(R"(
.file 1 "a b.cu"
.file	2 "/x/y.cuh", 1700000000, 4711
.pragma "nounroll", "nounroll all";
.section	.debug_abbrev
	{
.b8 1, 2 // }
.b32 $L__label+3
$L__label:
.b64 .debug_line
.b8 -1 .b64 $L__label-f .b16 0xffffU
	}
.section .debug_macinfo { .b8 0 }
)"));
  EXPECT_EQ(module->files.at(1).name, "a b.cu");
  EXPECT_EQ(module->files.at(2).timestamp, 1700000000u);
  EXPECT_EQ(module->files.at(2).size_bytes, 4711u);
  EXPECT_EQ(module->pragmas, (std::vector<std::string>{"nounroll", "nounroll all"}));
  ASSERT_EQ(module->sections.size(), 2u);
  EXPECT_EQ(module->sections[0].name, ".debug_abbrev");
  EXPECT_NE(module->sections[0].text.find("$L__label:"), std::string::npos);
  EXPECT_EQ(module->sections[1].text, " .b8 0 ");
}

TEST(Module, IntermediateSources) {
  const auto module = parse_well(with_header(R"(
.file 1 "a.tileir"
.nv_intermediate_source_section {
.code_block {
.ir_name: "TileIR"
.sourceFileName: 1
.source_begin
a { " /* .source_end b

  .source_endx
 .source_end
}
.code_block { .ir_name: "PTX" .sourceFileName: 1 .source_begin
.source_end
} }
.entry k() { ret; }
)"));
  ASSERT_EQ(module->intermediate_sources.size(), 2u);
  EXPECT_EQ(module->intermediate_sources[0].language, "TileIR");
  EXPECT_EQ(module->intermediate_sources[0].file, 1u);
  EXPECT_EQ(module->intermediate_sources[0].text, "a { \" /* .source_end b\n\n  .source_endx\n");
  EXPECT_EQ(module->intermediate_sources[1].text, "");
  EXPECT_EQ(module->functions.size(), 1u);
  const auto of = [](const std::string& text) { return messages(with_header(text)); };
  const std::string head =
      ".nv_intermediate_source_section { .code_block { .ir_name: \"a\" .sourceFileName: 1 ";
  EXPECT_EQ(of(head + ".source_begin\n.source_end\n} }"), "4:80 unknown-name: no .file 1 precedes\n");
  EXPECT_EQ(of(".file 1 \"a\" " + head + ".source_begin\n.entry k() { ret; }"),
            "4:94 syntax: no line '.source_end' follows\n");
  EXPECT_EQ(of(".file 1 \"a\" " + head + ".source_begin .source_end } }"),
            "4:94 syntax: '.source_begin' and a new line expected in a .code_block, not '.source_begin'\n");
  EXPECT_EQ(of(".nv_intermediate_source_section { .code_block { .sourceFileName: 1 } }"),
            "4:49 syntax: '.ir_name:' expected in a .code_block, not '.sourceFileName'\n");
}

TEST(Module, NamesOfInlinedFunctions) {
  const auto module = parse_well(with_header(R"(
.section .debug_str {
first:
.b8 102, 111, 111, 0
second:
.b16 0x6261 .b8 -1, 99, 0
.b8 100
}
)"));
  EXPECT_EQ(debug_string(*module, "first"), "foo");
  EXPECT_EQ(debug_string(*module, "first+1"), "oo");
  EXPECT_EQ(debug_string(*module, "first+4"), "ab\xff"
                                              "c");
  EXPECT_EQ(debug_string(*module, "second"), "ab\xff"
                                             "c");
  EXPECT_EQ(debug_string(*module, "second+5"), "d");
  EXPECT_EQ(debug_string(*module, "second+6"), "");
  EXPECT_EQ(debug_string(*module, "second+7000"), "");
  EXPECT_EQ(debug_string(*module, "third"), "");
}

TEST(Module, Alias) {
  const auto module = parse_well(with_header(".visible .func f { ret; } .func g; .alias g, f;"));
  EXPECT_EQ(module->aliases, (std::vector<Alias>{{"g", "f"}}));
  EXPECT_EQ(messages(with_header(".func g;\n.alias g, f;")), "5:11 unknown-name: there is no function 'f'\n");
}

TEST(Module, VariablesOfEachThread) {
  const auto module = parse_well(R"(.version 2.3
.target sm_20
.address_size 64
.reg .u32 %g<3>, one;
.local .align 8 .b8 scratch[16];
.func f () { .reg .u32 %r1; mov.u32 %r1, %g2; ret; }
.entry k () { .reg .u32 %r<2>, one; mov.u32 one, %g0; st.local.u32 [scratch], %r1; ret; }
)");
  EXPECT_EQ(module->thread_variables.registers.size(), 4u);
  EXPECT_EQ(module->thread_variables.variables.size(), 1u);
  const Function& f = module->functions[0];
  EXPECT_EQ(f.thread_registers, 4u);
  EXPECT_EQ(f.thread_variables, 1u);
  EXPECT_EQ(f.register_name(f.instructions[0].operands[1].reg), "%g2");
  const Function& k = module->functions[1];
  EXPECT_EQ(k.thread_variables, 1u);
  EXPECT_GE(k.instructions[0].operands[0].reg, k.thread_registers) << "its own `one` hides theirs";
}

TEST(Module, VariablesInEverySpace) {
  const auto module = parse_well(with_header(R"(
.visible .global .align 16 .b8 a[40];
.const .u32 b = 7;
.extern .shared .align 16 .b8 dyn[];
.weak .global .u64 c;
.common .global .f32 d;
.extern .global .v4 .f32 e;
.align 32 .global .s16 f, g[3];
.global .texref t;
.global .samplerref s = { addr_mode_0 = wrap, filter_mode = nearest };
.shared .b128 q;
)"));
  EXPECT_EQ(variable(*module, "a").linkage, Linkage::visible);
  EXPECT_EQ(variable(*module, "a").size_bytes, 40u);
  EXPECT_EQ(variable(*module, "a").align, 16u);
  EXPECT_EQ(variable(*module, "b").space, StateSpace::const_);
  EXPECT_EQ(variable(*module, "b").init.at(0).bits, 7u);
  EXPECT_TRUE(variable(*module, "dyn").is_array);
  EXPECT_EQ(variable(*module, "dyn").size_bytes, 0u);
  EXPECT_EQ(variable(*module, "dyn").linkage, Linkage::extern_);
  EXPECT_EQ(variable(*module, "c").linkage, Linkage::weak);
  EXPECT_EQ(variable(*module, "c").align, 8u); // natural
  EXPECT_EQ(variable(*module, "d").linkage, Linkage::common);
  EXPECT_EQ(variable(*module, "e").size_bytes, 16u);
  EXPECT_EQ(variable(*module, "e").align, 16u);
  EXPECT_EQ(variable(*module, "f").align, 32u);
  EXPECT_EQ(variable(*module, "g").align, 32u);
  EXPECT_EQ(variable(*module, "g").size_bytes, 6u);
  EXPECT_EQ(variable(*module, "t").type, Type::texref);
  EXPECT_EQ(variable(*module, "s").opaque_init, "{ addr_mode_0 = wrap, filter_mode = nearest }");
  EXPECT_EQ(variable(*module, "q").size_bytes, 16u);
}

TEST(Module, NumberedNames) {
  const auto module = parse_well(
      with_header(".global .u32 x<3>, y; .entry k { .shared .f32 q<2>; .reg .u32 r; mov.u32 r, q1; }"));
  EXPECT_EQ(module->variables.size(), 4u);
  EXPECT_EQ(variable(*module, "x2").size_bytes, 4u);
  EXPECT_EQ(module->functions[0].instructions[0].operands[1].symbol, 1u);
  EXPECT_EQ(messages(with_header(".global .u32 x1, x<3>;")), "4:18 duplicate: 'x1' is defined already\n");
}

TEST(Module, WarpSizeIsAnInteger) {
  const auto module =
      parse_well(with_header(".global .align WARP_SZ .b8 x[WARP_SZ]; .entry k() .maxntid WARP_SZ { ret; }"));
  EXPECT_EQ(module->variables[0].size_bytes, 32u);
  EXPECT_EQ(module->functions[0].bounds.maxntid[0], 32u);
}

TEST(Module, Attributes) {
  const auto module = parse_well(with_header(".global .attribute(.managed) .align 4 .u32 m;\n"
                                             ".global .attribute(.managed, .unified(19, 0x5f)) .u32 n;\n"
                                             ".func .attribute(.unified(1,2)) f { ret; }\n"));
  EXPECT_EQ(variable(*module, "m").attributes, (std::vector<std::string>{".managed"}));
  EXPECT_EQ(variable(*module, "n").attributes, (std::vector<std::string>{".managed", ".unified(19, 95)"}));
  EXPECT_EQ(module->functions[0].attributes, (std::vector<std::string>{".unified(1, 2)"}));
}

std::vector<uint64_t> bits(const Variable& v) {
  std::vector<uint64_t> out;
  for (const InitValue& value : v.init)
    out.push_back(value.bits);
  return out;
}

using Bits = std::vector<uint64_t>;

TEST(Module, Initializers) {
  const auto module = parse_well(with_header(R"(
.global .u32 a[4] = {1, 2};
.global .u32 b[] = {1, -2, 3};
.global .u32 c[][2] = {{1, 2}, {3}, {5, 6}};
.global .f32 d[2][2] = {{1.0}, {}};
.global .v4 .f32 e = {0f3f800000, 2.0, 3.0, 4.0};
.global .v2 .u16 f[3] = {{1, 2}, {3, 4}};
.global .b8 g[4] = {-1, 255, 256, 0x1ff};
.global .f64 h = 0d3ff8000000000000;
.global .u32 i[2] = {};
.global .b32 j[2] = {1.0, 2};
.const .align 4 .b8 k[2][2][2] = {{{1}, {2}}, {{3, 4}}};
)"));
  EXPECT_EQ(bits(variable(*module, "a")), (Bits{1, 2}));
  EXPECT_EQ(bits(variable(*module, "b")), (Bits{1, 0xfffffffe, 3}));
  EXPECT_EQ(variable(*module, "b").size_bytes, 12u);
  EXPECT_EQ(bits(variable(*module, "c")), (Bits{1, 2, 3, 0, 5, 6}));
  EXPECT_EQ(variable(*module, "c").dims, (std::vector<uint64_t>{3, 2}));
  EXPECT_EQ(bits(variable(*module, "d")), (Bits{0x3f800000, 0}));
  EXPECT_EQ(bits(variable(*module, "e")), (Bits{0x3f800000, 0x40000000, 0x40400000, 0x40800000}));
  EXPECT_EQ(bits(variable(*module, "f")), (Bits{1, 2, 3, 4}));
  EXPECT_EQ(bits(variable(*module, "g")), (Bits{255, 255, 0, 255}));
  EXPECT_EQ(bits(variable(*module, "h")), (Bits{0x3ff8000000000000}));
  EXPECT_EQ(bits(variable(*module, "i")), (Bits{}));
  EXPECT_EQ(bits(variable(*module, "j")), (Bits{0x3f800000, 2}));
  EXPECT_EQ(bits(variable(*module, "k")), (Bits{1, 0, 2, 0, 3, 4}));
}

TEST(Module, InitializersWithAddresses) {
  const auto module = parse_well(with_header(R"(
.global .u64 y[4];
.func f;
.global .u64 a[6] = {y, y+8, y+-8, generic(y), generic(y)+16, f};
.global .u8 m[4] = {0XFF(generic(y)), 0xFF00(y), 0xFF0000(generic(y)+3), 0xFF00000000000000(y+3)};
.global .u32 z = y;
)"));
  const auto& a = variable(*module, "a").init;
  EXPECT_EQ(a[0].symbol, "y");
  EXPECT_FALSE(a[0].generic);
  EXPECT_EQ(a[0].mask_shift, 64);
  EXPECT_EQ(a[1].addend, 8);
  EXPECT_EQ(a[2].addend, -8);
  EXPECT_TRUE(a[3].generic);
  EXPECT_EQ(a[4].addend, 16);
  EXPECT_EQ(a[5].symbol, "f");
  const auto& m = variable(*module, "m").init;
  EXPECT_TRUE(m[0].generic);
  EXPECT_EQ(m[0].mask_shift, 0);
  EXPECT_EQ(m[1].mask_shift, 8);
  EXPECT_EQ(m[2].mask_shift, 16);
  EXPECT_EQ(m[2].addend, 3);
  EXPECT_EQ(m[3].mask_shift, 56);
  EXPECT_EQ(m[3].addend, 3);
}

TEST(Module, ADeclarationAndItsDefinitionAreOne) {
  const auto module =
      parse_well(with_header(".extern .global .u32 x[];\n.global .u64 y = x;\n"
                             ".visible .global .u32 x[2] = {1, 2};\n.extern .global .u32 x[];\n"));
  ASSERT_EQ(module->variables.size(), 2u);
  EXPECT_EQ(module->variables[0].linkage, Linkage::visible);
  EXPECT_EQ(module->variables[0].size_bytes, 8u);
}

TEST(Module, AddressesThatGoRoundInACircle) {
  const auto module = parse_well(with_header(".extern .global .u64 x;\n.visible .global .u64 y = x;\n"
                                             ".visible .global .u64 x = y;\n"));
  EXPECT_EQ(module->variables[0].name, "x");
  EXPECT_EQ(module->variables[0].init.at(0).symbol, "y");
}

TEST(Module, VariableErrors) {
  const auto of = [](const char* text) { return messages(with_header(text)); };
  EXPECT_EQ(of(".global .u32 x; .global .u32 x;"), "4:30 duplicate: 'x' is defined already\n");
  EXPECT_EQ(of(".extern .global .u32 x; .global .u64 x;"),
            "4:38 duplicate: 'x' was declared with another type\n");
  EXPECT_EQ(of(".func x; .global .u32 x;"), "4:23 duplicate: 'x' is a function already\n");
  EXPECT_EQ(of(".global .align 3 .u32 x;"), "4:16 alignment: an alignment is a power of two, not 3\n");
  EXPECT_EQ(of(".global .u32 x[2] = {1,2,3};"),
            "4:26 initializer: more than the 2 values that belong here\n");
  EXPECT_EQ(of(".global .u32 x[2][2] = {1,2};"),
            "4:25 syntax: '{' expected before the values of an inner dimension, not '1'\n");
  EXPECT_EQ(of(".global .u32 x[2] = 3;"),
            "4:21 syntax: '{' expected before the values of an array or vector, not '3'\n");
  EXPECT_EQ(of(".global .u32 x = {3};"), "4:18 syntax: an operand expected here, not '{'\n");
  EXPECT_EQ(of(".global .u32 x[2] = {1,};"), "4:24 syntax: a value expected after ',', not '}'\n");
  EXPECT_EQ(of(".global .v2 .u32 x[2] = {{1},{3}};"), "4:28 initializer: a vector takes 2 values, not 1\n");
  EXPECT_EQ(of(".global .u64 x = y;"), "4:18 unknown-name: there is no symbol 'y'\n");
  EXPECT_EQ(of(".global .u64 y; .global .u8 x = 0xFFF(y);"),
            "4:33 initializer: a mask selects one byte: 0xFF, 0xFF00, ... 0xFF00000000000000\n");
  EXPECT_EQ(of(".global .u32 x[][] ;"), "4:18 array: only the first dimension may be left open\n");
  EXPECT_EQ(of(".global .u32 x[-1];"), "4:16 syntax: an integer expected for the dimension, not '-'\n");
  EXPECT_EQ(of(".global .u64 x[0xffffffffffffffff];"), "4:1 limit: the size of 'x' does not fit 64 bits\n");
  EXPECT_EQ(of(".global .u8 x; .global .b64 y = x;"), "4:33 initializer: a .b64 variable holds no address\n");
  EXPECT_EQ(of(".global .u8 x; .global .u8 y[2] = {0xFF(x), x};"),
            "4:45 initializer: a .u8 variable holds no address\n");
  EXPECT_EQ(of(".global .entry k { ret; }"), "4:9 unknown-directive: unknown directive '.entry'\n");
  EXPECT_EQ(of(".shared .u32 x = 3;"), "4:1 initializer: a .shared variable has no initial value\n");
  EXPECT_EQ(of(".extern .global .u32 x = 3;"),
            "4:1 initializer: an .extern variable is initialized where it is defined\n");
  EXPECT_EQ(of(".shared .attribute(.managed) .u32 x;"),
            "4:1 attribute: only .global variables have attributes\n");
  EXPECT_EQ(of(".global .u32 x<3> = 4;"), "4:19 syntax: ';' expected after the declaration, not '='\n");
  EXPECT_EQ(of(".global .u32 x<9999999>;"),
            "4:16 limit: the number of names is 9999999, more than 1000000\n");
  EXPECT_EQ(of(".global .u32 x<999999>;"), "4:14 limit: too many variables in one module\n");
  EXPECT_EQ(of(".reg .u32 x;"), "4:1 state-space: a .reg variable belongs into a function body\n");
  EXPECT_EQ(of(".global .u32 x"), "4:15 syntax: ';' expected after the declaration\n");
  EXPECT_EQ(of(".global .u32 x\n.global .u32 y;"), "4:15 syntax: ';' expected after the declaration\n");
  EXPECT_EQ(of(".global x;"), "4:9 syntax: a type expected in the declaration, not 'x'\n");
  EXPECT_EQ(of(".global .u32 _;"), "4:14 name: '_' is no name for a variable\n");
  EXPECT_EQ(of(".visible .extern .global .u32 x;"), "4:10 syntax: '.extern' after another linkage\n");
}

TEST(Module, HeaderErrors) {
  EXPECT_EQ(messages("version 9.0"),
            "1:1 syntax: '.version' expected at the beginning of a module, not 'version'\n");
  EXPECT_EQ(messages(".version 9\n.target sm_90"),
            "1:10 syntax: a version such as 9.0 expected after '.version', not '9'\n");
  EXPECT_EQ(messages(".version 9.0\n.func f;"),
            "2:1 syntax: '.target' expected after '.version', not '.func'\n");
  EXPECT_EQ(messages(with_header(".version 9.0")),
            "4:1 syntax: '.version' stands once, at the beginning of a module\n");
  EXPECT_EQ(messages(with_header(".address_size 48")),
            "4:15 address-size: an address has 32 or 64 bits, not 48\n");
  EXPECT_EQ(messages(with_header(".bogus x;")), "4:1 unknown-directive: unknown directive '.bogus'\n");
  EXPECT_EQ(messages(with_header("ret;")), "4:1 syntax: a directive expected at module scope, not 'ret'\n");
  EXPECT_EQ(messages(with_header(".file 1 \"a\"\n.file 1 \"b\"")),
            "5:7 duplicate: there is a file 1 already\n");
  const auto section = [](const char* text) {
    return messages(with_header(std::string(".section .debug_x { ") + text + " }"));
  };
  EXPECT_EQ(section(".u8 1"),
            "4:21 syntax: '.b8', '.b16', '.b32', '.b64', a label or '}' expected in a section, not '.u8'\n");
  EXPECT_EQ(section("L: .b8 L"), "4:28 section: a label stands in .b32 or .b64 data\n");
  EXPECT_EQ(section(".b8 300"), "4:25 number: the number does not fit .b8\n");
  EXPECT_EQ(section(".b16 -32769"), "4:26 number: the number does not fit .b16\n");
  EXPECT_EQ(section(".b8 1,"), "4:28 syntax: an integer expected for a section, not '}'\n");
  EXPECT_EQ(section("L .b8 1"), "4:23 syntax: ':' expected after the label, not '.b8'\n");
  EXPECT_EQ(messages(with_header(".section .debug_x { .b8 1")), "4:19 syntax: this '{' has no '}'\n");
  EXPECT_EQ(messages(with_header("/* abc")), "4:1 comment: the comment has no end\n");
  EXPECT_EQ(messages(with_header("é")), "4:1 character: stray byte 0xc3: PTX is ASCII text\n");
}

} // namespace
} // namespace lemma::ptx
