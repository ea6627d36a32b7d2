// What is too much for MLIR, told before it gets it.
#include "nvgpu/bounds.h"

#include "lemma/mlir.h"

#include <gtest/gtest.h>

namespace lemma::nvgpu {
namespace {

std::string repeated(std::string_view text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i)
    all += text;
  return all;
}

// The program is rejected, by a message of one line that has this in it.
void expect_rejected(const std::string& text, const std::string& why) {
  const auto compiled = compile_mlir(text, {.name = "p.mlir", .stage = MlirStage::nvgpu});
  ASSERT_FALSE(compiled) << text.substr(0, 200);
  EXPECT_EQ(compiled.error().kind, ErrorKind::rejected) << compiled.error().text;
  ASSERT_FALSE(compiled.error().messages.empty());
  const Message& message = compiled.error().messages[0];
  EXPECT_NE(message.text.find(why), std::string::npos) << message.text.substr(0, 500);
  EXPECT_LT(message.rendered.size(), 4000u);
}

void expect_accepted(const std::string& text) {
  const auto compiled = compile_mlir(text, {.name = "p.mlir", .stage = MlirStage::nvgpu});
  EXPECT_TRUE(compiled) << text.substr(0, 200) << (compiled ? "" : compiled.error().messages[0].rendered);
}

TEST(Bounds, Nesting) {
  struct Kind {
    std::string before, open, middle, close, after;
  };
  const Kind kinds[] = {
      {"func.func private @f(", "tuple<", "i32", ">", ")"},
      {"func.func private @f() attributes {a = ", "[", "1", "]", "}"},
      {"func.func private @f() attributes {a = ", "{b = ", "1", "}", "}"},
      {"func.func private @f() attributes {a = affine_map<(d0) -> (", "(", "d0", ")", ")>}"},
      {"", "module {\n", "", "}\n", ""},
      {"func.func @f() {\n", "scf.execute_region {\n", "", "scf.yield\n}\n", "return\n}"},
      {"func.func private @f() loc(", "fused[", "\"x\"", "]", ")"},
      {"func.func private @f() loc(", "callsite(\"x\" at ", "\"x\"", ")", ")"},
      {"func.func private @f(", "(", "i32", ") -> i32", ")"},
      {"func.func private @f() attributes {a = dense<", "[", "1", "]", "> : tensor<1xi32>}"},
  };
  for (const Kind& kind : kinds)
    for (const size_t depth : {kMaxNesting + 1, size_t{100'000}})
      expect_rejected(kind.before + repeated(kind.open, depth) + kind.middle + repeated(kind.close, depth) +
                          kind.after,
                      "more than 256 brackets are open here");
  expect_accepted("func.func private @f(" + repeated("tuple<", 100) + "i32" + repeated(">", 100) + ")");
  EXPECT_FALSE(check_text("\"" + repeated("(", 1000) + "\" // " + repeated("<", 1000) + "\n" +
                          repeated("() -> ()", 1000)));
  EXPECT_FALSE(check_text(repeated("affine_set<(d0) : (d0 >= 0)>", 1000)));
  const auto problem = check_text("x\n  " + repeated("[", 300));
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->line, 2u);
  EXPECT_EQ(problem->column, 3u + kMaxNesting);
}

TEST(Bounds, ChainsWithoutBrackets) {
  expect_rejected("#m = affine_map<(d0) -> (" + repeated("- ", 1'000'000) + "d0)>\n",
                  "more than 256 minus signs in a row");
  std::string chain = "!t0 = i32\n";
  for (int i = 1; i < 5000; ++i)
    chain += "!t" + std::to_string(i) + " = tuple<!t" + std::to_string(i - 1) + ">\n";
  const auto nested = compile_mlir(chain + "func.func private @f(!t4999)", {.stage = MlirStage::nvgpu});
  EXPECT_TRUE(nested || nested.error().kind == ErrorKind::rejected);
}

TEST(Bounds, LongNumbersAndShapes) {
  const std::string_view why = "a number or a shape of more than 1024 digits";
  for (const size_t digits : {1025, 1000000}) {
    expect_rejected("func.func private @f() attributes {a = " + repeated("9", digits) + "}",
                    std::string(why));
    expect_rejected("func.func private @f() attributes {a = 0x" + repeated("f", digits) + "}",
                    std::string(why));
    expect_rejected("func.func private @f(memref<" + repeated("1x", digits) + "f32>)", std::string(why));
    expect_rejected("func.func private @f(memref<" + repeated("? x ", digits) + "f32>)", std::string(why));
  }
  // Lists and strings of many digits are no numbers.
  expect_accepted("func.func private @f() attributes {a = [1" + repeated(", 1", 2000) + "]}");
  expect_accepted("func.func private @f() attributes {a = dense<\"0x" + repeated("01", 4096) +
                  "\"> : tensor<4096xi8>}");
}

TEST(Bounds, AliasesThatMultiply) {
  std::string text = "!t0 = i32\n";
  for (int i = 1; i < 60; ++i)
    text += "!t" + std::to_string(i) + " = tuple<!t" + std::to_string(i - 1) + ", !t" +
            std::to_string(i - 1) + ">\n";
  expect_rejected(text + "func.func private @f(!t59)", "with its aliases put in");
  std::string list = "#a0 = [1]\n";
  for (int i = 1; i < 60; ++i)
    list +=
        "#a" + std::to_string(i) + " = [#a" + std::to_string(i - 1) + ", #a" + std::to_string(i - 1) + "]\n";
  expect_rejected(list + "func.func private @f() attributes {a = #a59}", "with its aliases put in");
  // Many uses of a long alias, far from it, are no harm.
  std::string plain = "#map = affine_map<(d0, d1) -> (d0 floordiv 16, d1, d0 mod 16)>\n" +
                      repeated("// " + repeated("x", 997) + "\n", 1000);
  for (int i = 0; i < 20'000; ++i)
    plain += "func.func private @f" + std::to_string(i) + "() attributes {m = #map}\n";
  expect_accepted(plain);
}

TEST(Bounds, SizesOfTypes) {
  const auto type = [](const std::string& text) { return "func.func private @f(" + text + ")"; };
  const std::string many = "of more than 65536 elements is not compiled";
  expect_rejected(type("vector<65537xi1>"), many);
  expect_rejected(type("vector<4294967296x4294967296xf32>"), many);
  expect_rejected(type("!nvgpu.warpgroup.accumulator<fragmented = vector<6400000x25600xf32>>"), many);
  expect_rejected(type("tuple<i32, vector<1000000xf32>>"), many);
  expect_rejected(type("memref<2xvector<1000000xf32>>"), many);
  expect_rejected("func.func private @f() -> ((vector<99999x99999xf32>) -> i32)", many);
  expect_rejected("func.func @f() {\n%c = arith.constant dense<0> : vector<1000000xi32>\nreturn\n}", many);
  expect_rejected("gpu.module @m {\ngpu.func @k(%a: vector<65536x2xf16>) kernel {\ngpu.return\n}\n}", many);
  expect_rejected(type("i16000000"), "integers of more than 1024 bits");
  expect_rejected(type("vector<" + repeated("1x", 33) + "f32>"), "33 dimensions; legal: at most 32");
  expect_rejected(type("memref<" + repeated("1x", 500) + "f32>"), "500 dimensions");
  for (const char* memref : {"memref<4294967296x4294967296xf32>", "memref<9223372036854775807xf64>",
                             "memref<2x2xf32, strided<[9223372036854775807, 1]>>",
                             "memref<4xf32, strided<[1], offset: 9223372036854775807>>",
                             "memref<3xf32, strided<[-9223372036854775807]>>", "tensor<140737488355329xi8>"})
    expect_rejected(type(memref), "which no process can address");
  expect_rejected("memref.global @g : memref<1073741825xi8> = dense<1>", "has more than 1073741824 bytes");
  for (const char* fine :
       {"vector<256x256xf32>", "memref<?x0x4xf32>", "memref<1048576x1048576xf32>",
        "memref<4x4xf32, strided<[-4, 1], offset: 12>>", "memref<?x?xf32, strided<[?, ?], offset: ?>>"})
    expect_accepted(type(fine));
}

TEST(Bounds, CrashesAreErrors) {
  const auto crashed = run_guarded("p.mlir", [] { *static_cast<volatile int*>(nullptr) = 1; });
  ASSERT_FALSE(crashed);
  EXPECT_EQ(crashed.error().kind, ErrorKind::internal);
  EXPECT_NE(crashed.error().text.find("MLIR or LLVM crashed on p.mlir (Segmentation fault)"),
            std::string::npos)
      << crashed.error().text;
  bool ran = false;
  EXPECT_TRUE(run_guarded("p.mlir", [&] { ran = true; }));
  EXPECT_TRUE(ran);
}

} // namespace
} // namespace lemma::nvgpu
