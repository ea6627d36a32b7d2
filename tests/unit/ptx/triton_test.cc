// Which modules are Triton's, on kernels with one thing changed each.
#include "ptx/triton.h"

#include "ptx/parser.h"
#include "support/diagnostic.h"

#include <gtest/gtest.h>

namespace lemma::ptx {
namespace {

std::string kernel(const std::string& directives = ".reqntid 128") {
  return ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(\n"
         ".param .u64 .ptr .global .align 1 k_param_0, .param .u32 k_param_1,\n"
         ".param .u64 .ptr .global .align 1 k_param_2, .param .u64 .ptr .global .align 1 k_param_3\n)\n" +
         directives + "\n{\nret;\n}\n";
}

bool is_triton(const std::string& text) {
  const auto parsed = parse(std::make_shared<SourceText>("k.ptx", text));
  EXPECT_FALSE(has_errors(parsed.diagnostics)) << text;
  return has_triton_programs(*parsed.module);
}

std::string with(std::string text, const std::string& what, const std::string& other) {
  return text.replace(text.find(what), what.size(), other);
}

TEST(Triton, IsKnownByWhatItDeclares) {
  EXPECT_TRUE(is_triton(kernel()));
  EXPECT_TRUE(is_triton(kernel(".reqntid 32, 1, 1")));
  EXPECT_TRUE(is_triton(kernel(".reqntid 384"))); // specialized warps
  EXPECT_FALSE(is_triton(kernel(".reqntid 100")));
  EXPECT_FALSE(is_triton(kernel(".reqntid 32, 4")));
  EXPECT_FALSE(is_triton(kernel(".maxntid 128")));
  EXPECT_FALSE(is_triton(kernel("")));
  EXPECT_FALSE(is_triton(with(kernel(), "k_param_1", "count")));
  EXPECT_FALSE(is_triton(with(kernel(), ".ptr .global .align 1 k_param_3", ".ptr .align 1 k_param_3")));
  EXPECT_FALSE(is_triton(with(kernel(), ".ptr .global .align 1 k_param_2", "k_param_2")));
}

TEST(Triton, HasNoProgramsWhereAProgramIsACluster) {
  EXPECT_FALSE(is_triton(kernel(".reqntid 128\n.explicitcluster\n.reqnctapercluster 2")));
}

} // namespace
} // namespace lemma::ptx
