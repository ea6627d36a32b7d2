// Which mul and add may be fused. The verdicts of the table are an H200's, where the results of each piece
// were compared with those of the virtual GPU (driver 580.159.04, whose compiler is ptxas 13.0): none that it
// fused may be missed.
#include "ptx/parser.h"
#include "verify/fusion.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace lemma::verify_test {
namespace {

enum class Verdict {
  fused,
  apart,   // the H200 computes mul and add, and it is not said that they may be fused
  allowed, // the H200 computes mul and add; it is said all the same, since another ptxas may find more
};
using enum Verdict;

struct Piece {
  const char* text; // from a, b, c, d to e, f, g, h, which are stored at the end
  Verdict verdict;
  const char* types; // that it was tried with: "all", "f32", or "ftz": f32, f16, f16x2
};

constexpr Piece kPieces[] = {
    {"mul.TY e,a,b; add.TY f,e,c; mov.LT e,d;", fused, "all"},
    {"mul.TY e,a,b; add.TY f,c,e; mov.LT e,d;", fused, "all"},
    {"mul.TY e,a,b; sub.TY f,e,c; mov.LT e,d;", fused, "all"},
    {"mul.TY e,a,b; sub.TY f,c,e; mov.LT e,d;", fused, "all"},
    {"mul.TY e,a,b; add.TY e,e,c;", fused, "all"},
    {"mul.TY e,a,b; add.TY f,e,c; add.TY g,e,d; mov.LT e,d;", fused, "all"},
    {"mul.TY e,a,b; mul.TY g,c,d; add.TY f,e,g; mov.LT e,d;", fused, "all"}, // of two products one is kept
    {"mul.TY e,a,b; mul.TY g,c,d; add.TY f,e,g; mov.LT g,d;", fused, "all"},
    {"mul.TY e,a,b; mov.LT g,e; add.TY f,g,c; mov.LT e,d; mov.LT g,d;", fused, "all"},
    {"neg.TY e,a; mul.TY e,e,b; add.TY f,e,c; mov.LT e,d;", fused, "all"},
    {"mul.TY e,a,b; add.TY f,e,c; mul.TY g,a,d; mov.LT g,d; mov.LT e,d;", fused, "all"},
    // How they round.
    {"mul.rn.TY e,a,b; add.TY f,e,c; mov.LT e,d;", apart, "all"},
    {"mul.TY e,a,b; add.rn.TY f,e,c; mov.LT e,d;", apart, "all"},
    {"mul.TY e,a,b; sub.rn.TY f,e,c; mov.LT e,d;", apart, "all"},
    {"mul.rz.TY e,a,b; add.TY f,e,c; mov.LT e,d;", apart, "f32"},
    {"mul.TY e,a,b; add.rz.TY f,e,c; mov.LT e,d;", apart, "f32"},
    {"mul.ftz.TY e,a,b; add.ftz.TY f,e,c; mov.LT e,d;", fused, "ftz"},
    {"mul.ftz.TY e,a,b; add.TY f,e,c; mov.LT e,d;", apart, "ftz"},
    {"mul.TY e,a,b; add.ftz.TY f,e,c; mov.LT e,d;", apart, "ftz"},
    {"mul.TY e,a,b; add.sat.TY f,e,c; mov.LT e,d;", fused, "ftz"},
    {"mul.ftz.TY e,a,b; add.ftz.sat.TY f,e,c; mov.LT e,d;", fused, "ftz"},
    {"mul.sat.TY e,a,b; add.TY f,e,c; mov.LT e,d;", apart, "ftz"},
    // Signs.
    {"mul.TY e,a,b; neg.TY e,e; add.TY f,e,c; mov.LT e,d;", fused, "f32"},
    {"mul.ftz.TY e,a,b; neg.TY e,e; add.ftz.TY f,e,c; mov.LT e,d;", fused, "ftz"},
    {"mul.TY e,a,b; neg.TY g,e; add.TY f,g,c; add.TY h,e,c; mov.LT e,d; mov.LT g,d;", fused, "f32"},
    {"mul.TY e,a,b; neg.ftz.TY e,e; add.TY f,e,c; mov.LT e,d;", allowed, "ftz"},
    {"mul.TY e,a,b; abs.TY e,e; add.TY f,e,c; mov.LT e,d;", apart, "all"},
    // What else takes the product.
    {"mul.TY e,a,b; add.TY f,e,c;", apart, "all"},
    {"mul.TY e,a,b; add.TY f,e,c; add.TY g,e,d;", apart, "all"},
    {"mul.TY e,a,b; neg.TY g,e; add.TY f,g,c; mov.LT e,d;", apart, "all"},
    {"mul.TY e,a,b; add.TY f,e,e; mov.LT e,d;", apart, "all"},
    {"mul.TY e,a,b; add.TY f,e,c; add.TY g,e,e; mov.LT e,d;", apart, "all"},
    {"mul.TY e,a,b; sub.TY f,e,e; mov.LT e,d;", apart, "all"},
    {"mul.TY e,a,b; fma.rn.TY f,a,b,e; mov.LT e,d;", apart, "all"},
    {"mul.TY e,a,b; add.TY f,e,c; setp.gt.TY q,e,d; mov.LT e,d; @q mov.LT e,c;", apart, "f32"},
    {"mul.TY e,a,b; add.TY f,e,c; setp.gt.TY q2,e,d; mov.LT e,d;", fused, "f32"}, // q2: nobody reads it
    {"mul.TY e,a,b; add.TY f,e,c; @q st.global.LT [p],e; mov.LT e,d;", apart, "all"},
    {"mul.TY e,a,b; selp.LT e,e,d,q; add.TY f,e,c; mov.LT e,d;", apart, "f32"},
    // Guards.
    {"mul.TY e,a,b; @q add.TY f,e,c; mov.LT e,d;", fused, "all"},
    {"@q mul.TY e,a,b; add.TY f,e,c; mov.LT e,d;", apart, "all"},
    {"@q mul.TY e,a,b; @q add.TY f,e,c; mov.LT e,d;", apart, "all"},
    {"mul.TY e,a,b; @q mov.LT e,d; add.TY f,e,c; mov.LT e,d;", apart, "all"},
    // Blocks.
    {"mul.TY e,a,b; bar.sync 0; add.TY f,e,c; mov.LT e,d;", fused, "all"},
    {"mul.TY e,a,b; bra.uni L; L: add.TY f,e,c; mov.LT e,d;", fused, "all"},
    {"L: ld.global.LT a,[p]; mul.TY e,a,b; add.TY f,f,e; add.u32 t,t,1; setp.lt.u32 q2,t,5; st.global.LT "
     "[p],f; @q2 bra L; "
     "mov.LT e,d;",
     fused, "all"},
    {"mov.LT e,c; L: add.TY f,f,e; ld.global.LT a,[p]; mul.TY e,a,b; add.u32 t,t,1; setp.lt.u32 q2,t,5; "
     "st.global.LT [p],f; @q2 bra L; mov.LT e,d;",
     fused, "f16x2"},
    {"mul.TY e,a,b; @q bra L; mov.LT c,d; L: add.TY f,e,c; mov.LT e,d;", allowed, "all"},
    {"mul.TY e,a,b; @q exit; add.TY f,e,c; mov.LT e,d;", allowed, "all"},
    {"mul.TY e,a,b; add.TY f,e,c; @q bra L; st.global.LT [p],e; membar.gl; L: mov.LT e,d;", apart, "all"},
    // Registers that are written again, in another block too, are others.
    {"mul.TY e,a,b; add.TY f,e,c; mul.TY e,c,d; add.TY g,e,b; mov.LT e,d;", fused, "all"},
    {"ld.global.LT e,[p]; st.global.LT [p],e; @q bra L; L: mul.TY e,a,b; add.TY f,e,c; mov.LT e,d;", fused,
     "f32"},
    // Divisions end with a multiplication. (Seen in code of ptxas 13.0.)
    {"div.full.f32 e,a,b; add.f32 f,e,c; mov.f32 e,d;", fused, "f32"},
    {"div.approx.ftz.f32 e,a,b; add.ftz.f32 f,c,e; mov.f32 e,d;", fused, "f32"},
    {"div.full.ftz.f32 e,a,b; add.f32 f,e,c; mov.f32 e,d;", apart, "f32"},
    {"div.rn.f32 e,a,b; add.f32 f,e,c; mov.f32 e,d;", apart, "f32"},
    {"rcp.approx.f32 e,a; sub.f32 f,c,e; mov.f32 e,d;", fused, "f32"},
    {"rcp.approx.ftz.f32 e,a; add.ftz.f32 f,e,c; mov.f32 e,d;", apart, "f32"},
    {"sqrt.approx.f32 e,a; add.f32 f,e,c; mov.f32 e,d;", apart, "f32"},
};

std::vector<std::string> types_of(const Piece& piece) {
  if (piece.types == std::string("all"))
    return {"f32", "f64", "f16", "bf16", "f16x2", "bf16x2"};
  if (piece.types == std::string("ftz"))
    return {"f32", "f16", "f16x2"};
  return {piece.types};
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

// Of a register, and of what is loaded and stored.
std::string word_of(const std::string& type) {
  return type[0] == 'f' && type.ends_with("16") ? "b16"
         : type.ends_with("16x2")               ? "b32"
         : type == "bf16"                       ? "b16"
                                                : type;
}

std::shared_ptr<ptx::Module> parsed(const std::string& text) {
  ptx::ParseOutcome outcome = ptx::parse(std::make_shared<SourceText>("fusion.ptx", text));
  EXPECT_FALSE(has_errors(outcome.diagnostics)) << text;
  return std::move(outcome.module);
}

std::string kernel(const std::string& type, const std::string& body, const std::string& target = "sm_90a") {
  const std::string word = word_of(type);
  const std::string before =
      fmt::format(".version 8.6\n.target {}\n.address_size 64\n.visible .entry k(.param .u64 at) {{\n"
                  ".reg .b64 p; .reg .pred q, q2; .reg .b32 t; .reg .{} a,b,c,d,e,f,g,h;\n"
                  "ld.param.u64 p,[at]; mov.u32 t,%tid.x; setp.gt.u32 q,t,40;\n"
                  "ld.global.LT a,[p]; ld.global.LT b,[p]; ld.global.LT c,[p]; ld.global.LT d,[p];\n"
                  "mov.LT e,a; mov.LT f,b; mov.LT g,c; mov.LT h,d;\n",
                  target, word);
  const std::string after =
      "\nst.global.LT [p],e; st.global.LT [p],f; st.global.LT [p],g; st.global.LT [p],h;\nret; }\n";
  return replaced(replaced(before + body + after, "TY", type), "LT", word);
}

TEST(Fusion, MissesNothingThatAnH200Fuses) {
  size_t tried = 0;
  for (const Piece& piece : kPieces)
    for (const std::string& type : types_of(piece)) {
      const auto module = parsed(kernel(type, piece.text));
      EXPECT_EQ(!verify::possible_fusions(*module).empty(), piece.verdict != apart)
          << type << ": " << piece.text;
      ++tried;
    }
  EXPECT_GE(tried, 200u);
}

// A product that something else takes, too, is kept; so not where nobody takes what that makes.
TEST(Fusion, GoesByWhatIsDead) {
  const auto fusions = [](const std::string& taken) {
    const auto module =
        parsed(".version 8.6\n.target sm_90a\n.address_size 64\n.entry k() {\n.reg .f32 a, b, c, e, f;\n"
               ".reg .b32 x, y, z;\nmov.f32 a, 0f3f800000; mov.f32 b, a; mov.f32 c, a;\n"
               "mul.f32 e, a, b;\nmov.b32 x, e;\n" +
               taken + "add.f32 f, e, c;\nst.global.f32 [0], f;\nst.global.b32 [0], z;\nret;\n}\n");
    return verify::possible_fusions(*module).size();
  };
  EXPECT_EQ(fusions("mov.b32 z, 0;\npopc.b32 y, x;\n"), 1u);
  EXPECT_EQ(fusions("popc.b32 z, x;\n"), 0u);
  EXPECT_EQ(fusions("add.u32 y, x, 1;\nmov.b32 z, 0;\n"), 1u);
  EXPECT_EQ(fusions("add.cc.u32 y, x, 1;\naddc.u32 z, 0, 0;\n"), 0u); // by the carry
}

TEST(Fusion, NamesEachSumOnceWithItsProduct) {
  const auto module =
      parsed(kernel("f32", "mul.f32 e,a,b;\nmul.f32 g,c,d;\nadd.f32 e,e,g;\nadd.f32 e,e,g;\nmov.f32 g,a;"));
  const auto found = verify::possible_fusions(*module);
  ASSERT_EQ(found.size(), 2u);
  const auto line = [&](uint32_t instruction) {
    return module->source->line_column(module->functions[0].instructions[instruction].range.begin).line;
  };
  EXPECT_EQ(line(found[0].product) + 2, line(found[0].sum));
  EXPECT_EQ(line(found[1].product) + 2, line(found[1].sum));
  const std::string text = render(verify::describe(*module, found[0]), *module->source);
  EXPECT_NE(text.find("fusion.ptx:11:1: warning[fusion]: ptxas may make one fma of this add.f32 and the "
                      "mul.f32 of line 9"),
            std::string::npos)
      << text;
}

// nvcc has made fma where it may: what it leaves takes products elsewhere too.
TEST(Fusion, FindsNothingInWhatNvccMakes) {
  size_t files = 0;
  for (const char* folder : {"tests/programs", "examples"})
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::string(LEMMA_SOURCE "/") + folder)) {
      if (entry.path().extension() != ".ptx")
        continue;
      std::ifstream file(entry.path());
      const auto module = parsed({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
      EXPECT_TRUE(verify::possible_fusions(*module).empty()) << entry.path();
      ++files;
    }
  EXPECT_GE(files, 50u);
}

// ptxas 13.0 fuses these even with .rn, in its code for sm_100a.
TEST(Fusion, OfPackedFloatsHoweverTheyRoundToNearest) {
  const auto pairs = [](const char* mul, const char* add) {
    const auto module = parsed(fmt::format(".version 8.6\n.target sm_100a\n.address_size 64\n.entry k() {{\n"
                                           ".reg .b64 a, b, c;\nmov.b64 a, 0; mov.b64 b, 0;\n"
                                           "{} c, a, b;\n{} a, c, b;\nst.global.b64 [0], a;\nret;\n}}\n",
                                           mul, add));
    return verify::possible_fusions(*module).size();
  };
  EXPECT_EQ(pairs("mul.rn.f32x2", "add.rn.f32x2"), 1u);
  EXPECT_EQ(pairs("mul.f32x2", "add.rn.f32x2"), 1u);
  EXPECT_EQ(pairs("mul.rz.f32x2", "add.rn.f32x2"), 0u);
  EXPECT_EQ(pairs("mul.rn.f32x2", "add.ftz.f32x2"), 0u);
}

// A register with many products and many later sums: in time that is not their product.
TEST(Fusion, TakesLinearTime) {
  constexpr int kMany = 20000;
  std::string body;
  for (int i = 0; i < kMany; ++i)
    body += fmt::format("@q bra M{0};\nM{0}: mul.f32 e,a,b;\n", i);
  for (int i = 0; i < kMany; ++i)
    body += fmt::format("@q bra S{0};\nS{0}: add.f32 f,e,f;\n", i);
  const auto module = parsed(kernel("f32", body + "mov.f32 e,d;"));
  EXPECT_EQ(verify::possible_fusions(*module).size(), static_cast<size_t>(kMany));
}

} // namespace
} // namespace lemma::verify_test
