// What the origins of %x are after a few instructions.
#include "ptx/origins.h"

#include "ptx/parser.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace lemma::ptx {
namespace {

struct Found {
  std::string address_of, made_from; // the variable's name; "-": a number; "?": several
};

Found origins_of_x(const std::string& body) {
  const auto parsed = parse(std::make_shared<SourceText>(
      "origins.ptx", ".version 8.6\n.target sm_90a\n.address_size 64\n"
                     ".entry k() {\n.reg .b32 %x, %r<5>;\n.reg .b64 %rd<5>;\n.reg .pred %p;\n"
                     ".shared .b32 a[64];\n.shared .b32 b[64];\n.local .b32 frame[4];\n" +
                         body + " ret;\n}\n"));
  EXPECT_FALSE(has_errors(parsed.diagnostics)) << render(parsed.diagnostics, *parsed.module->source);
  const auto name = [](const Origin& origin) {
    EXPECT_NE(origin.kind, Origin::Kind::unset);
    return origin.is_variable()                   ? std::string(origin.variable->name)
           : origin.kind == Origin::Kind::several ? "?"
                                                  : "-";
  };
  const Origins origins(*parsed.module, parsed.module->functions[0]);
  Operand x;
  x.kind = OperandKind::reg;
  x.reg = 0;
  return {name(origins.address_of(x)), name(origins.made_from(x))};
}

void expect(const std::string& body, const std::string& address_of, const std::string& made_from) {
  const Found found = origins_of_x(body);
  EXPECT_EQ(found.address_of, address_of) << body;
  EXPECT_EQ(found.made_from, made_from) << body;
}

TEST(Origins, of_an_address_stay_with_it_as_numbers_are_added) {
  expect("mov.u32 %x, a;", "a", "a");
  expect("mov.u32 %x, frame;", "frame", "frame");
  expect("mov.u32 %r0, a; add.u32 %x, %r0, %r1;", "a", "a");
  expect("mov.u32 %r0, a; sub.u32 %x, %r0, 4;", "a", "a");
  expect("mov.u32 %r0, a; xor.b32 %x, %r1, %r0;", "a", "a");
  expect("mov.u32 %r0, a; mad.lo.u32 %x, %r1, 4, %r0;", "a", "a");
  expect("mov.u32 %r0, a; cvt.u64.u32 %rd0, %r0; cvt.u32.u64 %x, %rd0;", "a", "a");
  expect("mov.u32 %r0, a; add.u32 %r1, %r0, 8; selp.b32 %x, %r0, %r1, %p;", "a", "a");
}

TEST(Origins, of_what_is_no_address_are_seen_by_made_from_alone) {
  expect("mov.u32 %r0, a; shr.u32 %x, %r0, 4;", "-", "a");
  expect("mov.u32 %r0, a; add.u32 %r1, %r0, 8; sub.u32 %x, %r1, %r0;", "-", "a");
  expect("mov.u32 %r0, a; mul.lo.u32 %x, %r0, 4;", "-", "a");
  expect("mov.u32 %x, a; mov.u32 %x, 7;", "?", "a");
}

TEST(Origins, of_two_variables_are_several) {
  expect("mov.u32 %r0, a; mov.u32 %r1, b; selp.b32 %x, %r0, %r1, %p;", "?", "?");
  expect("mov.u32 %r0, a; mov.u32 %r1, b; add.u32 %x, %r0, %r1;", "?", "?");
  expect("mov.u32 %x, a; @%p mov.u32 %x, b;", "?", "?");
  expect("mov.u32 %r0, a; mapa.shared::cluster.u32 %x, %r0, 1;", "-", "?");
}

TEST(Origins, of_what_memory_gives_and_of_what_nobody_writes_are_numbers) {
  expect("mov.u32 %r0, a; ld.shared.u32 %x, [%r0];", "-", "-");
  expect("add.u32 %x, %r0, 1;", "-", "-");
  expect("", "-", "-");
}

TEST(Origins, go_round_loops) {
  expect("mov.u32 %r0, a; L: add.u32 %x, %r0, 4; mov.u32 %r0, %x; @%p bra L;", "a", "a");
  expect("L: mov.u32 %x, %r0; add.u32 %r0, %r1, 4; mov.u32 %r1, a; @%p bra L;", "a", "a");
}

// Each register is written after it is read, so that a pass over the text brings the address one further.
TEST(Origins, are_several_where_passes_over_the_text_do_not_end) {
  std::string body;
  for (int i = 0; i < 100; ++i)
    body = (i == 0 ? "mov.u32 %r0, a; "
                   : "add.u32 %y" + std::to_string(i) + ", %y" + std::to_string(i - 1) + ", 0; ") +
           body;
  std::string registers = ".reg .b32 %y<100>; add.u32 %x, %y99, 0; ";
  expect(registers + body + "mov.u32 %y0, a;", "?", "?");
}

} // namespace
} // namespace lemma::ptx
