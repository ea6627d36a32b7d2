// MLIR programs: include/lemma/c/mlir.h. Where there is no MLIR every function says so.
#include "c_test.h"

namespace lemma {
namespace {

constexpr const char* kText = R"(
func.func @main(%data: memref<?xi32>, %add: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %data, %c0 : memref<?xi32>
  %device = gpu.alloc(%n) : memref<?xi32>
  gpu.memcpy %device, %data : memref<?xi32>, memref<?xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%x, %y, %z) in (%sx = %n, %sy = %c1, %sz = %c1) {
    %old = memref.load %device[%x] : memref<?xi32>
    %new = arith.addi %old, %add : i32
    memref.store %new, %device[%x] : memref<?xi32>
    gpu.terminator
  }
  gpu.memcpy %data, %device : memref<?xi32>, memref<?xi32>
  %first = memref.load %data[%c0] : memref<?xi32>
  return %first : i32
}
)";

TEST(CMlir, CompilesAndRuns) {
  const lemma_mlir_compiled* compiled = nullptr;
  const lemma_error* error = lemma_mlir_compile(kText, std::strlen(kText), nullptr, &compiled);
  if (error && error->kind == LEMMA_ERROR_UNAVAILABLE) {
    EXPECT_NE(std::string(error->text).find("built without MLIR"), std::string::npos);
    lemma_error_release(error);
    const lemma_mlir_ran* ran = nullptr;
    EXPECT_EQ(kind_of(lemma_mlir_run(kText, std::strlen(kText), nullptr, &ran)), LEMMA_ERROR_UNAVAILABLE);
    return;
  }
  ASSERT_EQ(said(error), "");
  EXPECT_NE(std::string(compiled->text->text).find(".entry main_kernel"), std::string::npos);
  ASSERT_EQ(compiled->kernel_count, 1u);
  const lemma_mlir_kernel& kernel = *compiled->kernels[0];
  const lemma_mlir_parameter* memref = nullptr;
  for (size_t i = 0; i < kernel.parameter_count; ++i)
    if (kernel.parameters[i]->is_memref)
      memref = kernel.parameters[i];
  ASSERT_TRUE(memref);
  EXPECT_STREQ(memref->type, "memref<?xi32>");
  ASSERT_EQ(lemma_mlir_memref_words(memref), 5u);
  uint64_t words[5] = {};
  const uint64_t shape[] = {4};
  EXPECT_OK(lemma_mlir_expand_memref(memref, 0x1000, 16, shape, 1, words));
  EXPECT_EQ(words[1], 0x1000u);
  EXPECT_EQ(words[3], 4u);
  EXPECT_EQ(kind_of(lemma_mlir_expand_memref(memref, 0x1000, 15, shape, 1, words)),
            LEMMA_ERROR_INVALID_ARGUMENT);
  lemma_mlir_compiled_release(compiled);

  EXPECT_TRUE(lemma_mlir_has_host_code(kText, std::strlen(kText)));
  int32_t data[4] = {1, 2, 3, 4}, add = 40;
  lemma_mlir_argument arguments[] = {LEMMA_SIZED(lemma_mlir_argument), LEMMA_SIZED(lemma_mlir_argument)};
  arguments[0].is_memory = 1;
  arguments[0].data = data;
  arguments[0].data_bytes = sizeof data;
  arguments[0].shape = shape;
  arguments[0].rank = 1;
  arguments[1].data = &add;
  arguments[1].data_bytes = sizeof add;
  std::string launched;
  lemma_mlir_run_options options = LEMMA_SIZED(lemma_mlir_run_options);
  options.arguments = arguments;
  options.argument_count = 2;
  options.user = &launched;
  options.launched = [](void* user, const char* kernel, const lemma_report* report) {
    *static_cast<std::string*>(user) += std::string(kernel) + " " + lemma_outcome_name(report->outcome);
  };
  const lemma_mlir_ran* ran = nullptr;
  ASSERT_OK(lemma_mlir_run(kText, std::strlen(kText), &options, &ran));
  EXPECT_EQ(ran->returned, 41);
  EXPECT_EQ(ran->stopped, nullptr);
  EXPECT_EQ(data[3], 44);
  EXPECT_EQ(launched, "main_kernel finished");
  lemma_mlir_ran_release(ran);
}

constexpr const char* kWrong = R"(
func.func private @printNewline()
func.func @main(%out: memref<4xi32>) {
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9000000 : index
  %one = arith.constant 1 : i32
  func.call @printNewline() : () -> ()
  %device = gpu.alloc() : memref<4xi32>
  %open = memref.cast %device : memref<4xi32> to memref<?xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%x, %y, %z) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    memref.store %one, %open[%c9] : memref<?xi32>
    gpu.terminator
  }
  return
}
)";

TEST(CMlir, AStopHasItsReport) {
  int32_t out[4] = {};
  lemma_mlir_argument argument = LEMMA_SIZED(lemma_mlir_argument);
  argument.is_memory = 1;
  argument.data = out;
  argument.data_bytes = sizeof out;
  std::string printed;
  lemma_mlir_run_options options = LEMMA_SIZED(lemma_mlir_run_options);
  options.arguments = &argument;
  options.argument_count = 1;
  options.user = &printed;
  options.print = [](void* user, const char* text, size_t bytes) {
    static_cast<std::string*>(user)->append(text, bytes);
  };
  const lemma_mlir_ran* ran = nullptr;
  if (const auto kind = kind_of(lemma_mlir_run(kWrong, std::strlen(kWrong), &options, &ran))) {
    ASSERT_EQ(*kind, LEMMA_ERROR_UNAVAILABLE);
    return;
  }
  ASSERT_TRUE(ran->stopped);
  EXPECT_EQ(ran->stopped->exit_status, 1);
  EXPECT_STREQ(ran->stopped->kernel, "main_kernel");
  ASSERT_TRUE(ran->stopped->report) << ran->stopped->text;
  EXPECT_EQ(ran->stopped->report->fault->kind, LEMMA_FAULT_OUT_OF_BOUNDS);
  EXPECT_EQ(ran->stopped->error, nullptr);
  EXPECT_EQ(printed, "\n");
  lemma_mlir_ran_release(ran);
}

} // namespace
} // namespace lemma
