// Instructions and their operands: every kind, guards, calls, and what is wrong with them.
#include "parse_text.h"

#include "isa/form.h"
#include "ptx/printer.h"

#include <gtest/gtest.h>

namespace lemma::ptx {
namespace {

// The first instruction of a kernel with this body, and the module that holds it.
struct One {
  std::unique_ptr<Module> module;
  const Instruction& instruction;
  const Operand& operand(size_t i) const { return instruction.operands[i]; }
};

One one(std::string_view body) {
  auto module = parse_well(kernel(body));
  const Instruction& instruction = module->functions[0].instructions.at(0);
  return {std::move(module), instruction};
}

TEST(Operand, Immediates) {
  const auto immediate = [](const char* text) {
    return one(std::string("mov.b64 %rd1, ") + text + ";").operand(1);
  };
  EXPECT_EQ(immediate("-5").bits, static_cast<uint64_t>(-5));
  EXPECT_EQ(immediate("-5").imm_kind, ImmKind::integer);
  EXPECT_EQ(immediate("5U").imm_kind, ImmKind::unsigned_integer);
  EXPECT_EQ(immediate("0x8000000000000000").imm_kind, ImmKind::unsigned_integer);
  EXPECT_EQ(immediate("-9223372036854775807-1").bits, uint64_t{1} << 63);
  EXPECT_EQ(immediate("-9223372036854775807-1").imm_kind, ImmKind::integer);
  EXPECT_EQ(immediate("5|3").bits, 7u);
  EXPECT_EQ(immediate("!5").bits, 0u);
  EXPECT_EQ(immediate("WARP_SZ").bits, 32u);
  EXPECT_EQ(immediate("1 ? 2 : 3").bits, 2u);
  EXPECT_EQ(one("mov.f32 %f1, 0f3f800000;").operand(1).imm_kind, ImmKind::f32);
  EXPECT_EQ(one("mov.f32 %f1, 1.5;").operand(1).imm_kind, ImmKind::f64);
  EXPECT_EQ(one("mov.f32 %f1, .5;").operand(1).bits, 0x3fe0000000000000u);
  EXPECT_EQ(one("mov.f64 %fd1, 0dBFF0000000000000;").operand(1).bits, 0xbff0000000000000u);
}

TEST(Operand, RegistersAndComponents) {
  const One v = one(".reg .v4 .f32 %v; add.f32 %v.x, %v.g, %v.w;");
  EXPECT_EQ(v.operand(0).component, 0);
  EXPECT_EQ(v.operand(1).component, 1);
  EXPECT_EQ(v.operand(2).component, 3);
  const One s = one("vadd.u32.u32.u32 %r1, %r2.b0, %r3.h1;");
  EXPECT_EQ(s.operand(1).component, 4);
  EXPECT_EQ(s.operand(2).component, 9);
  const One simd = one("vadd4.u32.u32.u32 %r1.b20, %r2.b7041, %r3, %r4;");
  EXPECT_EQ(simd.operand(0).component, isa::kByteList);
  EXPECT_EQ(simd.operand(0).bits, 0x120u);
  EXPECT_EQ(simd.operand(1).bits, 0x17041u);
  EXPECT_EQ(simd.operand(2).component, -1);
  const One halves = one("vset2.u32.s32.lt %r1.h10, %r2.h03, %r3, %r4;");
  EXPECT_EQ(halves.operand(0).component, isa::kHalfList);
  EXPECT_EQ(halves.operand(1).bits, 0x103u);
  const One negative = one("vmad.s32.s32.s32 %r1, -%r2.h1, %r3, -5;");
  EXPECT_TRUE(negative.operand(1).negated);
  EXPECT_EQ(negative.operand(1).component, 9);
  EXPECT_EQ(negative.operand(3).kind, OperandKind::imm);
  const One sum = one("add.u32 %r1, %r2+-4, %r3+(1<<4);");
  EXPECT_EQ(sum.operand(1).kind, OperandKind::reg);
  EXPECT_EQ(sum.operand(1).offset, -4);
  EXPECT_EQ(sum.operand(2).offset, 16);
  for (const One* printed : {&simd, &halves, &negative, &sum}) {
    const std::string text = print(*printed->module);
    EXPECT_EQ(print(*parse_well(text)), text);
  }
  EXPECT_NE(print(*simd.module).find("%r1.b20, %r2.b7041, %r3, %r4;"), std::string::npos)
      << print(*simd.module);
  EXPECT_NE(print(*negative.module).find("-%r2.h1, %r3, -5;"), std::string::npos) << print(*negative.module);
  EXPECT_NE(print(*sum.module).find("%r2+-4, %r3+16;"), std::string::npos) << print(*sum.module);
  const One p = one("setp.eq.and.b32 %p1, %r1, %r2, ! %p3;");
  EXPECT_TRUE(p.operand(3).negated);
  EXPECT_FALSE(p.operand(0).negated);
}

TEST(Operand, SpecialRegisters) {
  const std::pair<const char*, SpecialRegister> names[] = {
      {"%tid.x", SpecialRegister::tid_x},
      {"%laneid", SpecialRegister::laneid},
      {"%envreg3", SpecialRegister::envreg3},
      {"%cluster_ctarank", SpecialRegister::cluster_ctarank},
      {"%tid .y", SpecialRegister::tid_y}};
  for (const auto& [text, sreg] : names)
    EXPECT_EQ(one(std::string("mov.u32 %r1, ") + text + ";").operand(1).sreg, sreg) << text;
  EXPECT_EQ(one("mov.u64 %rd1, %clock64;").operand(1).sreg, SpecialRegister::clock64);
  EXPECT_EQ(one("mov.u64 %rd1, %globaltimer;").operand(1).sreg, SpecialRegister::globaltimer);
  const One whole = one("mov.u32 %r1, %tid;");
  ASSERT_EQ(whole.operand(1).elems.size(), 4u);
  EXPECT_EQ(whole.operand(1).elems[2].sreg, SpecialRegister::tid_z);
  // A register of the program hides a special one.
  EXPECT_EQ(one(".reg .u32 %laneid; mov.u32 %r1, %laneid;").operand(1).kind, OperandKind::reg);
}

TEST(Operand, Addresses) {
  const auto address = [](const char* text) {
    return one(std::string("ld.shared.b32 %r1, ") + text + ";").operand(1);
  };
  EXPECT_EQ(address("[%r2]").elems[0].kind, OperandKind::reg);
  EXPECT_EQ(address("[%r2+4*2-1+1]").offset, 8);
  EXPECT_EQ(address("[%r2+-4]").offset, -4);
  EXPECT_EQ(address("[%r2 + 0xffffffff]").offset, 0xffffffff);
  EXPECT_EQ(address("[sh]").elems[0].kind, OperandKind::symbol);
  EXPECT_EQ(address("[sh+8]").offset, 8);
  EXPECT_EQ(address("[sh+8]").elems[0].offset, 0);
  EXPECT_EQ(address("[sh+-8]").offset, -8);
  const Operand absolute = one("ld.local.b32 %r1, [(4+4)*2];").operand(1);
  EXPECT_EQ(absolute.elems[0].kind, OperandKind::imm);
  EXPECT_EQ(absolute.elems[0].bits, 16u);
  EXPECT_EQ(one("ld.param.u64 %rd1, [p];").operand(1).elems[0].symbol_scope, Operand::SymbolScope::param);
}

// ptxas makes the same code of ld.shared.b32 %r1, sh[2] and of [sh+8].
TEST(Operand, ElementsOfArrays) {
  const One load = one("ld.shared.b32 %r1, sh[1+1];");
  EXPECT_EQ(load.operand(1).kind, OperandKind::address);
  EXPECT_EQ(load.operand(1).offset, 8);
  EXPECT_EQ(load.operand(1).elems[0].offset, 0);
  EXPECT_EQ(one("st.shared.b32 sh[3], %r1;").operand(0).offset, 12);
  const One address = one("mov.u32 %r1, sh[2];");
  EXPECT_EQ(address.operand(1).kind, OperandKind::symbol);
  EXPECT_EQ(address.operand(1).offset, 8);
}

TEST(Operand, TensorAddresses) {
  const One load =
      one("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast"
          "::cluster [%r1], [%rd1, {%r2, %r3, %r4}], [%r5], {%h1}, %h2;");
  ASSERT_EQ(load.instruction.operands.size(), 5u);
  ASSERT_EQ(load.operand(1).elems.size(), 2u);
  EXPECT_EQ(load.operand(1).elems[0].kind, OperandKind::reg);
  EXPECT_EQ(load.operand(1).elems[1].kind, OperandKind::vector);
  EXPECT_EQ(load.operand(1).elems[1].elems.size(), 3u);
  EXPECT_EQ(load.operand(3).kind, OperandKind::vector);
  const One texture = one("tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, %rd2, {%f5, %f6}];");
  EXPECT_EQ(texture.operand(1).elems.size(), 3u);
}

TEST(Operand, Vectors) {
  const One pack = one("mov.b32 %r1, {%h1, %h2};");
  EXPECT_EQ(pack.operand(1).elems.size(), 2u);
  const One unpack = one("mov.b32 {%h1, _}, %r1;");
  EXPECT_EQ(unpack.operand(0).elems[1].kind, OperandKind::sink);
  EXPECT_EQ(one("mov.b128 %q1, {%rd1, %rd2};").operand(0).kind, OperandKind::reg);
  EXPECT_EQ(one("st.local.v2.b32 [%rd1], {%r1, 5};").operand(1).elems[1].kind, OperandKind::imm);
  const One mma =
      one("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, "
          "{%r5,%r6}, {%f1,%f2,%f3,%f4};");
  EXPECT_EQ(mma.instruction.operands.size(), 4u);
  EXPECT_EQ(mma.instruction.types(), (std::vector<Type>{Type::f32, Type::f16, Type::f16, Type::f32}));
}

TEST(Operand, VectorsOfOneElement) {
  EXPECT_EQ(one("ld.global.b32 { %r1 }, [%rd1];").operand(0).kind, OperandKind::reg);
  EXPECT_EQ(one("st.global.b32 [%rd1], {5};").operand(1).kind, OperandKind::imm);
  EXPECT_EQ(one("mov.b32 %r1, {%r2};").operand(1).kind, OperandKind::reg);
  EXPECT_EQ(one("mov.u32 %r1, {%r2};").operand(1).kind, OperandKind::vector); // which the verifier refuses
  EXPECT_EQ(one("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];").operand(0).kind,
            OperandKind::vector);
}

TEST(Operand, Pairs) {
  const One setp = one("setp.eq.s32 %p1|%p2, %r1, 3|4;");
  EXPECT_EQ(setp.operand(0).kind, OperandKind::pair);
  EXPECT_EQ(setp.operand(0).elems.size(), 2u);
  EXPECT_EQ(setp.operand(2).bits, 7u);
  EXPECT_EQ(one("setp.eq.s32 _|%p2, %r1, %r2;").operand(0).elems[0].kind, OperandKind::sink);
  EXPECT_EQ(one("setp.eq.s32 %p1|_, %r1, %r2;").operand(0).elems[1].kind, OperandKind::sink);
  EXPECT_EQ(one("shfl.sync.idx.b32 %r1|%p1, %r2, %r3, 31, -1;").operand(0).elems[1].kind, OperandKind::reg);
}

TEST(Operand, SymbolsAndFunctions) {
  const auto module =
      parse_well(with_header(".global .u32 table[8]; .func f { ret; }\n"
                             ".entry k { .reg .u64 a; mov.u64 a, table+8; mov.u64 a, f; mov.u64 a, k;"
                             " .shared .u32 table; mov.u64 a, table; }"));
  const auto& i = module->functions[1].instructions;
  EXPECT_EQ(i[0].operands[1].kind, OperandKind::symbol);
  EXPECT_EQ(i[0].operands[1].offset, 8);
  EXPECT_EQ(i[0].operands[1].symbol_scope, Operand::SymbolScope::module);
  EXPECT_EQ(i[1].operands[1].kind, OperandKind::function);
  EXPECT_EQ(i[1].operands[1].symbol, 0u);
  EXPECT_EQ(i[2].operands[1].symbol, 1u); // itself
  EXPECT_EQ(i[3].operands[1].symbol_scope, Operand::SymbolScope::function);
}

// A list is copied with all that is in it, and moved without.
TEST(Operand, Lists) {
  EXPECT_EQ(Operands().size(), 0u);
  EXPECT_TRUE(Operands(0).empty());
  Operands list(2);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[1].kind, OperandKind::none);
  list[1].kind = OperandKind::vector;
  list[1].elems = Operands(3);
  list[1].elems[2].bits = 7;
  Operands copy = list;
  list[1].elems[2].bits = 8;
  EXPECT_EQ(copy[1].elems[2].bits, 7u);
  EXPECT_EQ(copy.back().elems.size(), 3u);
  const Operand* const first = copy.begin();
  Operands moved = std::move(copy);
  EXPECT_EQ(moved.begin(), first);
  copy = moved;
  EXPECT_NE(copy.begin(), first);
  copy = Operands();
  EXPECT_EQ(moved.end() - moved.begin(), 2);
  std::vector<Operand> parts(2);
  parts[0].elems = Operands(1);
  const Operand* const child = parts[0].elems.begin();
  EXPECT_EQ(Operands::taken_from(parts)[0].elems.begin(), child);
}

TEST(Operand, Guards) {
  const auto module = parse_well(kernel("@%p1 mov.b32 %r1, 1; @!%p2 bra L; @ ! %p3 ret; L:"));
  const auto& i = module->functions[0].instructions;
  const Function& function = module->functions[0];
  EXPECT_EQ(function.register_name(i[0].guard.reg), "%p1");
  EXPECT_FALSE(i[0].guard.negated);
  EXPECT_EQ(function.register_name(i[1].guard.reg), "%p2");
  EXPECT_TRUE(i[1].guard.negated);
  EXPECT_EQ(function.register_name(i[2].guard.reg), "%p3");
  EXPECT_EQ(print(i[1], module->functions[0], *module), "@!%p2 bra L;");
}

TEST(Operand, Calls) {
  const auto module = parse_well(with_header(R"(
.func (.param .b32 r) f(.param .b32 x, .param .b32 y);
.func g;
.entry k() {
  .reg .b32 a; .reg .u64 fp; .param .b32 x0; .param .b32 r0;
  call (r0), f, (x0, 5);
  call.uni
  (a),
  f,
  (
  a,
  x0
  );
  call g;
  call.uni g, ();
  call (_), f, (a, a);
  proto : .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[16]) .noreturn;
  none : .callprototype ()_();
  bare : .callprototype _ .abi_preserve 3;
  call (r0), fp, (x0, x0), proto;
  call fp, none;
  call fp, (), bare;
  ct: .calltargets f, g;
  call (r0), fp, (x0, x0), ct;
}
)"));
  const Function& k = module->functions[2];
  const auto& i = k.instructions;
  ASSERT_EQ(i.size(), 9u);
  EXPECT_EQ(i[0].operands.size(), 3u);
  EXPECT_EQ(i[0].operands[0].kind, OperandKind::function);
  EXPECT_EQ(i[0].operands[1].elems.size(), 1u);
  EXPECT_EQ(i[0].operands[2].elems.size(), 2u);
  EXPECT_EQ(i[0].operands[2].elems[0].kind, OperandKind::symbol);
  EXPECT_EQ(i[0].operands[2].elems[1].kind, OperandKind::imm);
  EXPECT_TRUE(i[1].has(Qual::uni));
  EXPECT_TRUE(i[2].operands[1].elems.empty());
  EXPECT_EQ(i[4].operands[1].elems[0].kind, OperandKind::sink);
  ASSERT_EQ(i[5].operands.size(), 4u);
  EXPECT_EQ(i[5].operands[0].kind, OperandKind::reg);
  EXPECT_EQ(i[5].operands[3].kind, OperandKind::proto);
  EXPECT_EQ(i[5].operands[3].symbol, 0u);
  EXPECT_EQ(i[6].operands[3].symbol, 1u);
  EXPECT_EQ(i[7].operands[3].symbol, 2u);
  ASSERT_EQ(k.prototypes.size(), 3u);
  EXPECT_TRUE(k.prototypes[0].noreturn);
  EXPECT_EQ(k.prototypes[0].params[1].size_bytes, 16u);
  EXPECT_EQ(k.prototypes[2].abi_preserve, 3u);
  EXPECT_TRUE(k.target_lists.at(0).is_call);
  EXPECT_EQ(k.target_lists[0].names, (std::vector<std::string>{"f", "g"}));
}

TEST(Operand, LayoutOfTheTextIsFree) {
  const auto module =
      parse_well(kernel("add\n.s32 %r1,\n%r2 , // c\n %r3\n;mov.b32 %r1,%r2;mov.b32 %r2,%r1;"));
  EXPECT_EQ(module->functions[0].instructions.size(), 3u);
}

TEST(Operand, QualifiersArePrintedInTheOrderOfTheIsa) {
  ParseOutcome outcome = parse_text(kernel("add.ftz.rn.f32 %f1, %f2, %f3;"));
  EXPECT_FALSE(has_errors(outcome.diagnostics));
  ASSERT_EQ(outcome.diagnostics.size(), 1u); // and a warning says so
  EXPECT_EQ(outcome.diagnostics[0].severity, Severity::warning);
  const Function& k = outcome.module->functions[0];
  EXPECT_EQ(print(k.instructions[0], k, *outcome.module), "add.rn.ftz.f32 %f1, %f2, %f3;");
}

TEST(Operand, Errors) {
  const auto of = [](const char* body) { return messages(kernel(body)); };
  EXPECT_EQ(of("mov.b32 %r1, %r9;"), "5:14 unknown-name: there is no name '%r9'\n");
  EXPECT_EQ(of("@%q ret;"), "5:2 unknown-name: there is no predicate '%q'\n");
  EXPECT_EQ(of("@%r1 ret;"), "5:2 guard: '%r1' is no predicate register\n");
  EXPECT_EQ(of("@%p1 { ret; }"), "5:6 syntax: an opcode expected after the guard, not '{'\n");
  EXPECT_EQ(of("mov.b32 %r1, %r2.q;"),
            "5:17 component: the register is no vector and has no component '.q'\n");
  EXPECT_EQ(of("mov.b32 %r1, %r2.x;"),
            "5:17 component: the register is no vector and has no component '.x'\n");
  EXPECT_EQ(of(".reg .v2 .b32 v; mov.b32 %r1, v.z;"),
            "5:32 component: the register, a vector of 2, has no component '.z'\n");
  EXPECT_EQ(of("vadd2.u32.u32.u32 %r1, %r2.h84, %r3, %r4;"),
            "5:27 component: the register is no vector and has no component '.h84'\n");
  EXPECT_EQ(of("vmad.s32.s32.s32 %r1, !%r2, %r3, %r4;"), "5:23 operand: '!' negates a predicate register\n");
  EXPECT_EQ(of("ld.shared.b32 %r1, [%r2-4];"), "5:24 address: an offset is added\n");
  EXPECT_EQ(of("ld.shared.b32 %r1, [4+sh];"), "5:23 syntax: an operand expected here, not 'sh'\n");
  EXPECT_EQ(of("ld.shared.b32 %r1, [%r2+1.0];"), "5:25 constant: an offset is an integer\n");
  EXPECT_EQ(of("ld.shared.b32 %r1, [{%r1}];"), "5:21 syntax: a vector cannot stand here\n");
  EXPECT_EQ(of("ld.shared.b32 %r1, [k];"),
            "5:21 address: an address is a register, a variable or an integer\n");
  EXPECT_EQ(of("ld.shared.b32 %r1, sh[%r2];"),
            "5:23 array-index: an index in a register is not supported: compute the address\n");
  EXPECT_EQ(of(".shared .b32 one; ld.shared.b32 %r1, one[0];"),
            "5:41 array-index: 'one' is no array of one dimension\n");
  EXPECT_EQ(of("mov.b32 %r1, !sh;"), "5:14 operand: '!' negates a predicate register\n");
  EXPECT_EQ(of("mov.b32 %r1, sh|%r1;"), "5:16 syntax: ',' expected after the operand, not '|'\n");
  EXPECT_EQ(of("mov.b32 {%r1, %r2, 3;"), "5:21 syntax: '}' expected after the vector, not ';'\n");
  EXPECT_EQ(of("mov.b32 %r1, %r2"), "5:17 syntax: ';' expected after the instruction\n");
  EXPECT_EQ(of("mov.b32 %r1, %r2 %r3;"), "5:18 syntax: ';' expected after the instruction, not '%r3'\n");
  EXPECT_EQ(of("call 5;"), "5:6 syntax: a function or a register expected as the callee, not '5'\n");
  EXPECT_EQ(of("call nowhere;"), "5:6 unknown-name: there is no name 'nowhere'\n");
  EXPECT_EQ(of("call sh;"), "5:6 call: 'sh' is neither a function nor a register\n");
  EXPECT_EQ(of("call k, %r1;"), "5:9 call: '%r1' is no prototype and no list of targets\n");
  EXPECT_EQ(of(";"), "5:1 syntax: an instruction, a label or a directive expected in a body, not ';'\n");
  EXPECT_NE(of("foo.b32 %r1;").find("5:1 "), std::string::npos);
}

TEST(Operand, UnknownNamesAreSuggested) {
  const ParseOutcome range = parse_text(kernel("mov.b32 %r1, %r100;"));
  ASSERT_EQ(range.diagnostics.size(), 1u);
  ASSERT_EQ(range.diagnostics[0].notes.size(), 1u);
  EXPECT_EQ(range.diagnostics[0].notes[0].text, "%r0 .. %r7");
  const ParseOutcome name = parse_text(kernel(".reg .b32 counter; mov.b32 %r1, countr;"));
  ASSERT_EQ(name.diagnostics.size(), 1u);
  ASSERT_EQ(name.diagnostics[0].notes.size(), 1u);
  EXPECT_EQ(name.diagnostics[0].notes[0].text, "counter");
}

} // namespace
} // namespace lemma::ptx
