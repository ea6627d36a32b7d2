// Files that are no PTX are recognised by their content, and the message says what to do.
#include "parse_text.h"
#include "ptx/foreign.h"

#include <gtest/gtest.h>

namespace lemma::ptx {
namespace {

using namespace std::string_view_literals;

std::string what(std::string_view text) {
  const auto foreign = recognise_foreign(text);
  return foreign ? foreign->what : "";
}

TEST(Foreign, PtxIsNone) {
  for (const std::string_view text :
       {".version 9.0\n", "// #include\n/* define */ .version", ".entry k() {}",
        "   \n#line 1 \"k.cu\"\n.version 8.0", "version 8.0", "mov.u32 %r1, %r2;"})
    EXPECT_EQ(what(text), "") << text;
}

TEST(Foreign, Binaries) {
  std::string elf = "\x7f"
                    "ELF\x02\x01\x01" +
                    std::string(57, '\0');
  EXPECT_EQ(what(elf), "a program or an object file (ELF)");
  EXPECT_EQ(what(elf.substr(0, 6)), "a program or an object file (ELF)");
  elf[18] = static_cast<char>(190);
  EXPECT_EQ(what(elf), "a cubin, machine code of a GPU");
  EXPECT_EQ(what("\x50\xed\x55\xba\x01\x00\x10\x00"sv), "a fat binary of CUDA");
  EXPECT_EQ(what("BC\xc0\xde\x35\x14"sv), "LLVM bitcode");
  EXPECT_EQ(what("ML\xefR\x0d"sv), "MLIR bytecode");
  EXPECT_EQ(what("\x1f\x8b\x08"sv), "compressed by gzip");
  EXPECT_EQ(what("\xff\xfe.\0v\0"sv), "UTF-16 text");
  EXPECT_EQ(what("\xef\xbb\xbf.version 8.0"sv), "text behind a byte order mark");
  EXPECT_EQ(what(std::string(100, '\0')), "no text");
}

TEST(Foreign, Texts) {
  EXPECT_EQ(what("#include <cuda_fp16.h>\n"), "CUDA C++");
  EXPECT_EQ(what("// Adds.\n\nextern \"C\" __global__ void k() {}\n"), "CUDA C++");
  EXPECT_EQ(what("/*\n * Adds.\n */\n__global__ void k() {}\n"), "CUDA C++");
  EXPECT_EQ(what("; ModuleID = 'k'\nsource_filename = \"k\"\n"), "LLVM IR");
  EXPECT_EQ(what("\n@s = external addrspace(3) global i32\ndefine void @k() {\n"), "LLVM IR");
  EXPECT_EQ(what("// RUN: mlir-opt %s\nmodule attributes {gpu.container_module} {\n"), "MLIR");
  EXPECT_EQ(what("#blocked = #ttg.blocked<{}>\nmodule {"), "MLIR");
  EXPECT_EQ(what("!tile = memref<4xf32>\n"), "MLIR");
  EXPECT_EQ(what("import triton\n@triton.jit\ndef k(): pass\n"), "Python");
  EXPECT_EQ(what("Fatbin elf code:\n================\n"), "what cuobjdump prints");
}

TEST(Foreign, NothingIsThere) {
  EXPECT_EQ(what(""), "empty");
  EXPECT_EQ(what(" \n// nothing\n"), "empty but for white space and comments");
  EXPECT_EQ(messages(""), "1:1 not-ptx: this is no PTX: it is empty\n");
}

} // namespace
} // namespace lemma::ptx
