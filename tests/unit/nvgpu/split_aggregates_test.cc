// LLVM IR before and after split_aggregates(): loops that carry a structure, structures in structures, what
// takes a whole one.
#include "nvgpu/split_aggregates.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <string>

namespace lemma::nvgpu {
namespace {

// The module's text with its functions split; a failure, and empty, if either is not valid IR.
std::string split(const std::string& text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(text, problem, context);
  if (!module) {
    ADD_FAILURE() << problem.getMessage().str();
    return {};
  }
  for (llvm::Function& function : *module)
    split_aggregates(function);
  std::string wrong, printed;
  llvm::raw_string_ostream wrong_stream(wrong), stream(printed);
  EXPECT_FALSE(llvm::verifyModule(*module, &wrong_stream)) << wrong;
  module->print(stream, nullptr);
  return printed;
}

size_t count(const std::string& text, const std::string& part) {
  size_t number = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1))
    ++number;
  return number;
}

TEST(SplitAggregatesTest, ALoopCarriesScalars) {
  const std::string text = split(R"(
    declare {float, i32} @step(float, i32)
    define float @f(float %x, i1 %again) {
    entry:
      %with_x = insertvalue {float, i32} poison, float %x, 0
      %begun = insertvalue {float, i32} %with_x, i32 7, 1
      br label %loop
    loop:
      %sum = phi {float, i32} [%begun, %entry], [%next, %loop]
      %a = extractvalue {float, i32} %sum, 0
      %b = extractvalue {float, i32} %sum, 1
      %next = call {float, i32} @step(float %a, i32 %b)
      br i1 %again, label %loop, label %done
    done:
      %result = phi {float, i32} [%next, %loop]
      %value = extractvalue {float, i32} %result, 0
      ret float %value
    })");
  EXPECT_EQ(count(text, "phi {"), 0) << text;
  EXPECT_EQ(count(text, "phi float"), 2) << text;
  EXPECT_EQ(count(text, "insertvalue"), 0) << text;
  EXPECT_EQ(count(text, "[ %x, %entry ]"), 1) << text;
  EXPECT_EQ(count(text, "[ 7, %entry ]"), 1) << text;
  EXPECT_EQ(count(text, "extractvalue"), 2) << "beside the call, once each:\n" << text;
}

TEST(SplitAggregatesTest, StructuresInStructures) {
  const std::string text = split(R"(
    declare {float, {i32, i64}} @make()
    define i64 @f(i1 %first, {i32, i64} %inner) {
    entry:
      br i1 %first, label %left, label %right
    left:
      %made = call {float, {i32, i64}} @make()
      br label %join
    right:
      %partly = insertvalue {float, {i32, i64}} poison, {i32, i64} %inner, 1
      br label %join
    join:
      %both = phi {float, {i32, i64}} [%made, %left], [%partly, %right]
      %value = extractvalue {float, {i32, i64}} %both, 1, 1
      ret i64 %value
    })");
  EXPECT_EQ(count(text, "phi {"), 0) << text;
  EXPECT_NE(text.find("phi i64"), text.npos) << text;
}

TEST(SplitAggregatesTest, WhatTakesAWholeStructureGetsOne) {
  const std::string text = split(R"(
    declare void @take({float, i32})
    define void @f({float, i32} %x, {float, i32} %y, i1 %first) {
    entry:
      br i1 %first, label %join, label %other
    other:
      br label %join
    join:
      %both = phi {float, i32} [%x, %entry], [%y, %other]
      call void @take({float, i32} %both)
      ret void
    })");
  EXPECT_EQ(count(text, "phi {"), 0) << text;
  EXPECT_EQ(count(text, "insertvalue"), 2) << text;
}

// Each is the other's incoming value.
TEST(SplitAggregatesTest, PhisThatSwap) {
  const std::string text = split(R"(
    define float @f({float} %x, {float} %y, i1 %again) {
    entry:
      br label %loop
    loop:
      %a = phi {float} [%x, %entry], [%b, %loop]
      %b = phi {float} [%y, %entry], [%a, %loop]
      br i1 %again, label %loop, label %done
    done:
      %value = extractvalue {float} %a, 0
      ret float %value
    })");
  EXPECT_EQ(count(text, "phi {"), 0) << text;
  EXPECT_EQ(count(text, "phi float"), 2) << text;
}

} // namespace
} // namespace lemma::nvgpu
